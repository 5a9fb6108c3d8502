//! Files that are damaged or say what is not understood: one error each, which names the file.

use std::path::Path;

use candle_core::quantized::gguf_file::Value;
use candle_core::quantized::{GgmlDType, QTensor};
use maskwright::ErrorKind;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::{load, metadata, numbers, path, quantised, small, write};

pub(super) fn refused(path: &Path, part: &str) {
    let error = load(path).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(part), "{part}: {text}");
    assert!(error.help().is_some() && !text.contains('\n'), "no cure: {text}");
    assert!(matches!(error.kind(), ErrorKind::Model | ErrorKind::Vocabulary), "{text}");
    assert!(text.contains(path.file_name().unwrap().to_str().unwrap()), "no file: {text}");
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let (tensors, _) = small(GgmlDType::Q8_0);
    let with = |key: &str, value: Option<Value>| {
        let mut metadata = metadata();
        metadata.retain(|(own, _)| own != key);
        metadata.extend(value.map(|value| (key.to_owned(), value)));
        write("refused.gguf", &metadata, &tensors)
    };
    let text = |text: &str| Some(Value::String(text.to_owned()));
    for (key, value, part) in [
        ("general.architecture", text("mamba"), "the architecture `mamba`"),
        ("general.architecture", None, "general.architecture"),
        ("llama.logit_scale", Some(Value::F32(2.0)), "`llama.logit_scale`"),
        ("llama.attention.clamp_kqv", Some(Value::F32(2.0)), "`llama.attention.clamp_kqv`"),
        ("llama.block_count", None, "`llama.block_count`"),
        ("llama.block_count", Some(Value::U32(1)), "blk.1."),
        ("llama.block_count", Some(Value::U32(1 << 20)), "more layers than the file has tensors"),
        (
            "llama.attention.head_count_kv",
            Some(Value::Array(vec![Value::U32(4); 3])),
            "`llama.attention.head_count_kv` is said of 3 layers, and the model has 2",
        ),
        (
            "llama.rope.dimension_count",
            Some(Value::U32(16)),
            "the metadata `llama.rope.dimension_count`, in config.json `partial_rotary_factor`",
        ),
        ("llama.embedding_length", Some(Value::U64(1 << 40)), "no tensor is so wide"),
        ("llama.attention.key_length", Some(Value::U32(1 << 30)), "no tensor is so wide"),
        ("llama.block_count", text("2"), "`llama.block_count` is not an integer"),
        ("llama.feed_forward_length", Some(Value::U32(500)), "blk.0.ffn_gate.weight"),
        ("llama.attention.value_length", Some(Value::U32(8)), "`llama.attention.value_length`"),
        ("llama.rope.scaling.type", text("longrope"), "`llama.rope.scaling.type` is `longrope`"),
        ("tokenizer.ggml.model", text("bert"), "`bert`"),
        ("tokenizer.ggml.model", None, "tokenizer.ggml.model"),
        ("tokenizer.ggml.pre", text("unheard-of"), "the pre-tokenizer `unheard-of`"),
        ("tokenizer.ggml.pre", None, "does not say how text is cut into words"),
        ("tokenizer.ggml.merges", None, "`tokenizer.ggml.merges`"),
        ("tokenizer.ggml.tokens", None, "`tokenizer.ggml.tokens`"),
        ("split.count", Some(Value::U16(3)), "`split.count`"),
        ("split.count", Some(Value::U64(1 << 40)), "`split.count`"),
        ("llama.rope.dimension_count", Some(Value::U32(64)), "`llama.rope.dimension_count`"),
        ("llama.rope.scaling.yarn_ext_factor", Some(Value::F32(0.5)), "yarn_ext_factor"),
        ("llama.attention.layer_norm_rms_epsilon", None, "layer_norm_rms_epsilon"),
        ("general.alignment", Some(Value::U32(0)), "`general.alignment`"),
        ("general.alignment", Some(Value::U32(3)), "is 3, which is no power of 2"),
        ("general.type", text("mmproj"), "its `general.type` is `mmproj`"),
    ] {
        refused(&with(key, value), part);
    }
    let mut twice = metadata();
    twice.push(("llama.block_count".to_owned(), Value::U32(2)));
    refused(&write("refused.gguf", &twice, &tensors), "`llama.block_count` is there twice");
    load(&with("no.such.key", text("x"))).unwrap();
}

#[test]
fn tensors_that_are_missing_left_over_or_misshapen_are_refused_by_name() {
    let write = |tensors: &[(String, QTensor)]| write("tensors.gguf", &metadata(), tensors);
    let norm = || quantised(&numbers(256, 1), &[256], GgmlDType::F32);
    let (mut tensors, _) = small(GgmlDType::F32);
    load(&write(&tensors)).unwrap();
    tensors.push(("blk.0.ssm_a.weight".to_owned(), norm()));
    refused(&write(&tensors), "tensor `blk.0.ssm_a.weight` has no place");
    tensors.pop();
    let last = tensors.pop().unwrap();
    refused(&write(&tensors), "there is no tensor `blk.1.ffn_down.weight`");
    tensors.push((last.0, norm()));
    refused(
        &write(&tensors),
        "tensor `blk.1.ffn_down.weight` is [256], the metadata says [256, 512]",
    );
}

#[test]
fn damage_is_one_error() {
    let (tensors, _) = small(GgmlDType::Q4_0);
    let good = write("good.gguf", &metadata(), &tensors);
    load(&good).unwrap();
    let good = std::fs::read(good).unwrap();
    let path = path("damaged.gguf");
    let refused = |bytes: &[u8], part: &str| {
        std::fs::write(&path, bytes).unwrap();
        refused(&path, part);
    };
    // Cut in the header, in metadata, in the directory, in the data.
    for len in (0..64).chain((64..good.len()).step_by(997)).chain([good.len() - 1]) {
        refused(&good[..len], "");
    }
    let with = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    refused(&with(0, b"GGML"), "not a GGUF file");
    refused(&with(4, &[9, 0, 0, 0]), "version 9");
    refused(&with(4, &[0, 0, 0, 3]), "big-endian");
    for at in [8, 16] {
        for count in [1 << 63, u64::MAX, 1 << 40] {
            refused(&with(at, &u64::to_le_bytes(count)), "damaged");
        }
    }
    let find = |name: &str| {
        good.windows(name.len()).position(|part| part == name.as_bytes()).unwrap() + name.len()
    };
    // A matrix: two dimensions, a type, an offset.
    let tensor = find("blk.0.attn_q.weight");
    refused(&with(tensor, &[200, 0, 0, 0]), "200 dimensions");
    refused(&with(tensor + 4, &u64::to_le_bytes(1 << 62)), "blk.0.attn_q.weight");
    refused(&with(tensor + 4, &[0; 8]), "blk.0.attn_q.weight");
    refused(&with(tensor + 12, &u64::to_le_bytes(u64::MAX)), "blk.0.attn_q.weight");
    refused(&with(tensor + 20, &[16, 0, 0, 0]), "IQ2_XXS");
    refused(&with(tensor + 20, &[99, 0, 0, 0]), "number 99");
    for offset in [u64::MAX, 1 << 40, good.len() as u64] {
        refused(&with(tensor + 24, &u64::to_le_bytes(offset)), "end beyond the file");
    }
    // The data of another tensor, and between two.
    for offset in [0_u64, 32, 7] {
        refused(&with(tensor + 24, &u64::to_le_bytes(offset)), "the data of tensor `blk.0.attn_q");
    }
    // An array of strings: its type, the elements' type, their number.
    let tokens = find("tokenizer.ggml.tokens");
    refused(&with(tokens + 8, &u64::to_le_bytes(1 << 63)), "damaged");
    refused(&with(tokens + 4, &[77, 0, 0, 0]), "damaged");
}

#[test]
fn blocks_without_a_finite_scale_are_refused_by_the_name_of_their_tensor() {
    for (format, dtype) in super::FORMATS {
        let (tensors, _) = small(dtype);
        let good = std::fs::read(write("scales.gguf", &metadata(), &tensors)).unwrap();
        let (_, matrix) = tensors.iter().find(|(name, _)| name == "blk.1.attn_v.weight").unwrap();
        let data = matrix.data().unwrap();
        let at = good.windows(data.len()).position(|part| part == &data[..]).unwrap();
        let half = match format {
            maskwright_kernels::BlockFormat::Q2_K => 80,
            maskwright_kernels::BlockFormat::Q3_K => 108,
            maskwright_kernels::BlockFormat::Q6_K => 208,
            _ => 0,
        };
        for bits in [0x7c00_u16, 0xfc00, 0x7e01] {
            let mut bad = good.clone();
            let block = at + 5 * format.bytes() + half;
            bad[block..block + 2].copy_from_slice(&bits.to_le_bytes());
            let path = path("scales.gguf");
            std::fs::write(&path, bad).unwrap();
            refused(&path, "tensor `blk.1.attn_v.weight` is damaged: block 5 has no finite scale");
        }
    }
}

/// Bytes of the header changed at random, and numbers in it replaced by great ones. Loading ends with an
/// error or a model, and reserves no memory for what is not there.
#[test]
fn random_damage_of_the_header_ends_in_an_error_or_a_model() {
    let (tensors, _) = small(GgmlDType::Q4_0);
    let good = std::fs::read(write("fuzzed-good.gguf", &metadata(), &tensors)).unwrap();
    let last = b"blk.1.ffn_down.weight";
    let header = good.windows(last.len()).rposition(|part| part == last).unwrap() + last.len() + 32;
    let rounds: u64 = std::env::var("MASKWRIGHT_GGUF_DAMAGES").map_or(300, |n| n.parse().unwrap());
    let path = path("fuzzed.gguf");
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut errors = 0;
    for _ in 0..rounds {
        let mut bad = good.clone();
        for _ in 0..1 + random.next_u32() % 3 {
            let at = random.next_u32() as usize % header;
            match random.next_u32() % 4 {
                0 => bad[at] ^= 1 << (random.next_u32() % 8),
                1 => bad[at] = random.next_u32() as u8,
                2 => {
                    let number = u64::MAX >> (random.next_u32() % 64);
                    bad[at..at + 8].copy_from_slice(&number.to_le_bytes());
                }
                _ => bad.truncate(at.max(header / 2)),
            }
            if bad.len() < header + 8 {
                break;
            }
        }
        std::fs::write(&path, bad).unwrap();
        if let Err(error) = load(&path) {
            errors += 1;
            let text = error.to_string();
            assert!(!text.contains('\n') && text.contains("fuzzed.gguf"), "{text}");
        }
    }
    assert!(errors > rounds / 2, "{errors} of {rounds}");
}
