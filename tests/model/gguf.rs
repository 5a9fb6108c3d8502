//! Models in GGUF files: the same tokens and logits as from a model folder, and one error for each kind
//! of damage. Files are written by candle's writer, or by hand.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod blocks;
mod converter;
mod damage;
mod families;
mod mxfp4;
mod parts;
mod rearranged;
mod routed;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use maskwright::model::{Message, Model, ModelOptions, ModelSource, SpecialNames};
use maskwright_kernels::BlockFormat;
use serde_json::json;

use crate::model_support::{Tensors, shared, write_model};

fn load(path: &Path) -> maskwright::Result<Model> {
    Model::load(&ModelOptions { source: path.to_str().unwrap().parse()?, ..Default::default() })
}

fn logits(model: &Model, tokens: &[u32]) -> Vec<f32> {
    let mut cache = model.new_cache_for(tokens.len()).unwrap();
    model.forward(tokens, &mut cache).unwrap().to_vec().unwrap()
}

#[test]
fn stories_from_gguf_are_those_from_safetensors() {
    let Some(folder) = shared("models/stories260K") else { return };
    let (gguf, folder) =
        (load(&folder.join("stories260K-f32.gguf")).unwrap(), load(&folder).unwrap());
    assert_eq!(gguf.name(), "stories260K-f32");
    for text in ["", "Once upon a time", " Zoo, 東京!\n  two", "He said: </s> \u{1f600}"] {
        let (a, b) = (gguf.tokenizer(), folder.tokenizer());
        let tokens = a.encode_prompt(text, true).unwrap();
        assert_eq!(tokens, b.encode_prompt(text, true).unwrap(), "{text:?}");
        assert_eq!(logits(&gguf, &tokens), logits(&folder, &tokens), "{text:?}");
    }
    assert_eq!(gguf.vocabulary().end_tokens(), folder.vocabulary().end_tokens());
    for id in 0..512 {
        assert_eq!(gguf.vocabulary().token_bytes(id), folder.vocabulary().token_bytes(id), "{id}");
    }
}

const FORMATS: [(BlockFormat, GgmlDType); 10] = [
    (BlockFormat::Q4_0, GgmlDType::Q4_0),
    (BlockFormat::Q4_1, GgmlDType::Q4_1),
    (BlockFormat::Q5_0, GgmlDType::Q5_0),
    (BlockFormat::Q5_1, GgmlDType::Q5_1),
    (BlockFormat::Q8_0, GgmlDType::Q8_0),
    (BlockFormat::Q2_K, GgmlDType::Q2K),
    (BlockFormat::Q3_K, GgmlDType::Q3K),
    (BlockFormat::Q4_K, GgmlDType::Q4K),
    (BlockFormat::Q5_K, GgmlDType::Q5K),
    (BlockFormat::Q6_K, GgmlDType::Q6K),
];

/// Numbers from −0.5 to 0.5.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..n).map(|_| next()).collect()
}

fn quantised(numbers: &[f32], shape: &[usize], dtype: GgmlDType) -> QTensor {
    let tensor = Tensor::from_slice(numbers, shape, &Device::Cpu).unwrap();
    QTensor::quantize(&tensor, dtype).unwrap()
}

/// A Llama with 260 tokens, one for each byte and `<|end|>`.
struct SmallLlama {
    hidden: usize,
    inner: usize,
    heads: usize,
    kv_heads: usize,
    layers: usize,
}

/// Two layers, grouped heads, and rows of one block of the greatest format.
const SHAPE: SmallLlama = SmallLlama { hidden: 256, inner: 512, heads: 8, kv_heads: 4, layers: 2 };

impl SmallLlama {
    /// llama.cpp's name, Hugging Face's name, shape.
    fn tensors(&self) -> Vec<(String, String, Vec<usize>)> {
        let &Self { hidden, inner, heads, kv_heads, layers } = self;
        let kv = hidden / heads * kv_heads;
        let mut all = vec![
            ("token_embd".to_owned(), "model.embed_tokens".to_owned(), vec![260, hidden]),
            ("output_norm".to_owned(), "model.norm".to_owned(), vec![hidden]),
            ("output".to_owned(), "lm_head".to_owned(), vec![260, hidden]),
        ];
        for layer in 0..layers {
            for (own, name, shape) in [
                ("attn_norm", "input_layernorm", vec![hidden]),
                ("attn_q", "self_attn.q_proj", vec![hidden, hidden]),
                ("attn_k", "self_attn.k_proj", vec![kv, hidden]),
                ("attn_v", "self_attn.v_proj", vec![kv, hidden]),
                ("attn_output", "self_attn.o_proj", vec![hidden, hidden]),
                ("ffn_norm", "post_attention_layernorm", vec![hidden]),
                ("ffn_gate", "mlp.gate_proj", vec![inner, hidden]),
                ("ffn_up", "mlp.up_proj", vec![inner, hidden]),
                ("ffn_down", "mlp.down_proj", vec![hidden, inner]),
            ] {
                let own = format!("blk.{layer}.{own}");
                all.push((own, format!("model.layers.{layer}.{name}"), shape));
            }
        }
        all
    }
}

/// The metadata of a small Llama with the tokens of single bytes.
fn metadata() -> Vec<(String, Value)> {
    let &SmallLlama { hidden, inner, heads, kv_heads, layers } = &SHAPE;
    let text = |text: &str| Value::String(text.to_owned());
    let mut all: Vec<(String, Value)> = [
        ("general.architecture", text("llama")),
        ("general.name", text("small")),
        ("llama.context_length", Value::U32(256)),
        ("llama.embedding_length", Value::U32(hidden as u32)),
        ("llama.block_count", Value::U32(layers as u32)),
        ("llama.feed_forward_length", Value::U32(inner as u32)),
        ("llama.attention.head_count", Value::U32(heads as u32)),
        ("llama.attention.head_count_kv", Value::U32(kv_heads as u32)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("llama.rope.dimension_count", Value::U32((hidden / heads) as u32)),
        ("llama.rope.freq_base", Value::F32(10000.0)),
        ("llama.vocab_size", Value::U32(260)),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    all.extend(tokenizer_metadata());
    all
}

/// A tokenizer of single bytes and `<|end|>`, and a chat template.
fn tokenizer_metadata() -> Vec<(String, Value)> {
    let printable = |b: u32| matches!(b, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
    let mut spare = 0x100..;
    let mut tokens: Vec<Value> = (0..256)
        .map(|b| if printable(b) { b } else { spare.next().unwrap() })
        .map(|c| Value::String(char::from_u32(c).unwrap().to_string()))
        .collect();
    tokens.push(Value::String("<|end|>".to_owned()));
    tokens.extend(["[PAD1]", "[PAD2]", "qz"].map(|token| Value::String(token.to_owned())));
    let kinds = (0..260).map(|id| match id {
        256 => Value::I32(3),
        257 | 258 => Value::I32(5),
        _ => Value::I32(1),
    });
    let text = |text: &str| Value::String(text.to_owned());
    [
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.pre", text("gpt-2")),
        ("tokenizer.ggml.tokens", Value::Array(tokens)),
        ("tokenizer.ggml.token_type", Value::Array(kinds.collect())),
        ("tokenizer.ggml.merges", Value::Array(vec![text("q z")])),
        ("tokenizer.ggml.eos_token_id", Value::U32(256)),
        ("tokenizer.chat_template", text("{% for m in messages %}{{ m.content }}{% endfor %}>")),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect()
}

/// Rows of heads as llama.cpp's converter orders them: (heads, 2, width / 2) becomes (heads, width / 2,
/// 2).
fn interleaved(numbers: &[f32], rows: usize, heads: usize) -> Vec<f32> {
    let (row, half) = (numbers.len() / rows, rows / heads / 2);
    let mut out = Vec::new();
    for head in 0..heads {
        for i in 0..half {
            for j in 0..2 {
                let from = (head * 2 * half + j * half + i) * row;
                out.extend_from_slice(&numbers[from..from + row]);
            }
        }
    }
    out
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn write(name: &str, metadata: &[(String, Value)], tensors: &[(String, QTensor)]) -> PathBuf {
    let path = path(name);
    let metadata: Vec<_> = metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
    gguf_file::write(&mut BufWriter::new(File::create(&path).unwrap()), &metadata, &tensors)
        .unwrap();
    path
}

/// The tensors of the small Llama in a GGUF file, matrices of this type, and the numbers that they hold
/// as a folder has them.
fn small(dtype: GgmlDType) -> (Vec<(String, QTensor)>, Tensors) {
    let (mut own, mut plain) = (Vec::new(), Tensors::new());
    for (seed, (gguf, name, shape)) in (1..).zip(SHAPE.tensors()) {
        let count: usize = shape.iter().product();
        let scaled: Vec<f32> = numbers(count, seed).iter().map(|x| x * 0.3 + 0.01).collect();
        let dtype = if shape.len() == 1 { GgmlDType::F32 } else { dtype };
        let held = quantised(&scaled, &shape, dtype).dequantize(&Device::Cpu).unwrap();
        let held: Vec<f32> = held.flatten_all().unwrap().to_vec1().unwrap();
        let heads = match gguf.rsplit('.').next() {
            Some("attn_q") => Some(SHAPE.heads),
            Some("attn_k") => Some(SHAPE.kv_heads),
            _ => None,
        };
        let order = |x: &[f32]| heads.map_or(x.to_vec(), |heads| interleaved(x, shape[0], heads));
        own.push((format!("{gguf}.weight"), quantised(&order(&scaled), &shape, dtype)));
        plain.insert(format!("{name}.weight"), (shape, held));
    }
    (own, plain)
}

#[test]
fn quantised_models_are_within_a_ten_thousandth_of_their_numbers() {
    let &SmallLlama { hidden, inner, heads, kv_heads, layers } = &SHAPE;
    let config = json!({
        "model_type": "llama", "hidden_size": hidden, "intermediate_size": inner, "vocab_size": 260,
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv_heads,
        "rms_norm_eps": 1e-5, "max_position_embeddings": 256, "eos_token_id": 256,
    });
    for (format, dtype) in FORMATS {
        let (own, plain) = small(dtype);
        let gguf = load(&write(&format!("small-{format:?}.gguf"), &metadata(), &own)).unwrap();
        let folder = write_model(&format!("small-{format:?}"), &config, &plain, "F32", 1);
        let folder = load(&folder).unwrap();
        let tokens = gguf.tokenizer().encode_prompt("Jove: ab\n é", true).unwrap();
        assert_eq!(tokens, folder.tokenizer().encode_prompt("Jove: ab\n é", true).unwrap());
        let (own, expected) = (logits(&gguf, &tokens), logits(&folder, &tokens));
        let greatest = expected.iter().fold(0.0, |greatest: f32, x| greatest.max(x.abs()));
        let worst =
            own.iter().zip(&expected).fold(0.0, |worst: f32, (a, b)| worst.max((a - b).abs()));
        assert!(worst <= 1e-4 * greatest, "{format:?}: {}", worst / greatest);
        // The same bits token by token.
        let mut cache = gguf.new_cache_for(tokens.len()).unwrap();
        let mut one_by_one = Vec::new();
        for token in tokens {
            one_by_one = gguf.forward(&[token], &mut cache).unwrap().to_vec().unwrap();
        }
        assert_eq!(one_by_one, own[own.len() - one_by_one.len()..], "{format:?}");
        assert!(gguf.has_chat_template());
    }
}

#[test]
fn tokenizers_encode_as_llama_cpp_does() {
    for (name, exceptions) in [("gpt-2", 0), ("llama-spm", 0), ("phi-3", 0)] {
        let Some(vocabulary) = shared(&format!("gguf/ggml-vocab-{name}.gguf")) else { return };
        let model = with_vocabulary_of(&vocabulary, &format!("vocab-{name}.gguf"), |_| ());
        let vectors = |ending: &str| {
            let mut name = vocabulary.clone().into_os_string();
            name.push(ending);
            std::fs::read_to_string(name).unwrap()
        };
        let (texts, ids) = (vectors(".inp"), vectors(".out"));
        let mut differing = Vec::new();
        for (text, ids) in texts.split("\n__ggml_vocab_test__\n").zip(ids.lines()) {
            let expected: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
            let tokens = model.tokenizer().encode_prompt(text, false).unwrap();
            if tokens != expected {
                differing.push((text.to_owned(), tokens, expected));
            }
        }
        assert!(differing.len() == exceptions, "{name}: {differing:?}");
    }
}

/// As llama.cpp has it, which adds the token where texts begin with one and the template does not write it.
#[test]
fn conversations_begin_with_one_bos_token() {
    let Some(vocabulary) = shared("gguf/ggml-vocab-llama-spm.gguf") else { return };
    for (name, adds, template, count) in [
        ("added", true, "{{ messages[0].content }}", 1),
        ("written", true, "{{ bos_token }}{{ messages[0].content }}", 1),
        ("spelled", true, "<s>{{ messages[0].content }}", 1),
        ("none", false, "{{ messages[0].content }}", 0),
    ] {
        let model = with_vocabulary_of(&vocabulary, &format!("chat-bos-{name}.gguf"), |all| {
            all.retain(|(key, _)| {
                key != "tokenizer.chat_template" && !key.ends_with("add_bos_token")
            });
            let template = Value::String(template.to_owned());
            all.push(("tokenizer.chat_template".to_owned(), template));
            all.push(("tokenizer.ggml.add_bos_token".to_owned(), Value::Bool(adds)));
        });
        let messages = [Message::new("user", "Hello")];
        let tokens = model.encode_chat(&messages, None, SpecialNames::AsText).unwrap();
        assert_eq!(tokens.iter().filter(|&&token| token == 1).count(), count, "{name}");
        assert_eq!(tokens.first() == Some(&1), count == 1, "{name}");
    }
}

/// Old files leave out what llama.cpp knows, and the first ones of Gemma 4 say that texts have no BOS token.
#[test]
fn texts_of_sentence_piece_begin_with_a_bos_token() {
    let Some(vocabulary) = shared("gguf/ggml-vocab-llama-spm.gguf") else { return };
    let expected = [1, 15043];
    let model = with_vocabulary_of(&vocabulary, "no-ids.gguf", |all| {
        all.retain(|(key, _)| !key.ends_with("_token_id") && !key.ends_with("_token"));
    });
    assert_eq!(model.tokenizer().encode_prompt("Hello", true).unwrap(), expected);
    assert!(model.vocabulary().end_tokens().contains(&2));
    let model = with_vocabulary_of(&vocabulary, "gemma4-bos.gguf", |all| {
        all.retain(|(key, _)| key != "tokenizer.ggml.model" && !key.ends_with("add_bos_token"));
        all.push(("tokenizer.ggml.model".to_owned(), Value::String("gemma4".to_owned())));
        all.push(("tokenizer.ggml.add_bos_token".to_owned(), Value::Bool(false)));
        all.push(("tokenizer.ggml.merges".to_owned(), Value::Array(Vec::new())));
    });
    let tokens = model.tokenizer().encode_prompt("Hello", true).unwrap();
    assert_eq!(tokens[0], 1, "{tokens:?}");
}

#[test]
fn settings_of_generation_are_in_the_file() {
    let settings = [
        ("temp", Value::F32(0.7)),
        ("top_k", Value::I32(64)),
        ("top_p", Value::F32(0.95)),
        ("penalty_repeat", Value::F32(1.1)),
        ("xtc_probability", Value::F32(0.5)),
        ("mirostat", Value::I32(0)),
    ];
    let mut all = metadata();
    all.extend(settings.map(|(name, value)| (format!("general.sampling.{name}"), value)));
    let suppressed = vec![Value::I32(97), Value::I32(100_000)];
    all.push(("tokenizer.ggml.suppress_tokens".to_owned(), Value::Array(suppressed)));
    let (tensors, _) = small(GgmlDType::Q8_0);
    let model = load(&write("sampling.gguf", &all, &tensors)).unwrap();
    let config = model.generation_config().unwrap();
    assert_eq!((config.temperature, config.top_k, config.top_p), (Some(0.7), Some(64), Some(0.95)));
    assert_eq!((config.min_p, config.repetition_penalty), (None, Some(1.1)));
    // Those that the vocabulary has.
    assert_eq!(config.suppress_tokens, [97]);
    assert!(config.draws());
    assert_eq!(config.not_honoured(), ["general.sampling.xtc_probability"]);
    let silent = load(&write("silent.gguf", &metadata(), &tensors)).unwrap();
    assert!(!silent.generation_config().unwrap().draws());
}

/// Keys of an encoder of pictures say nothing of the text part, and tokens of turns are special whatever type they have.
#[test]
fn files_with_slips_of_their_makers_are_read() {
    let mut all = metadata();
    all.push(("llama.vision.block_count".to_owned(), Value::U32(27)));
    all.push(("llama.mm.tokens_per_image".to_owned(), Value::U32(256)));
    // What says that it is off.
    all.push(("llama.attn_logit_softcapping".to_owned(), Value::F32(0.0)));
    all.push(("llama.attention.causal".to_owned(), Value::Bool(true)));
    for (key, value) in &mut all {
        if let ("tokenizer.ggml.tokens", Value::Array(tokens)) = (key.as_str(), value) {
            tokens[259] = Value::String("<end_of_turn>".to_owned());
        }
    }
    all.retain(|(key, _)| key != "tokenizer.ggml.merges");
    all.push(("tokenizer.ggml.merges".to_owned(), Value::Array(Vec::new())));
    let (tensors, _) = small(GgmlDType::Q8_0);
    // Plain text, and a token of the user's.
    for kind in [1, 4] {
        for (key, value) in &mut all {
            if let ("tokenizer.ggml.token_type", Value::Array(kinds)) = (key.as_str(), value) {
                kinds[259] = Value::I32(kind);
            }
        }
        let model = load(&write(&format!("slips-{kind}.gguf"), &all, &tensors)).unwrap();
        let ids = model.tokenizer().encode_prompt("a<end_of_turn>", false).unwrap();
        assert_eq!(ids.last(), Some(&259));
        assert!(model.vocabulary().end_tokens().contains(&259));
    }
    all.push(("llama.rope.scaling.alpha".to_owned(), Value::F32(2.0)));
    let error = load(&write("not-off.gguf", &all, &tensors)).unwrap_err().to_string();
    assert!(error.contains("`llama.rope.scaling.alpha`") && error.contains("not known"), "{error}");
    all.pop();
    all.retain(|(key, _)| key != "tokenizer.ggml.pre");
    let error = load(&write("no-pre.gguf", &all, &tensors)).unwrap_err().to_string();
    assert!(error.contains("tokenizer.ggml.pre") && error.contains("newer file"), "{error}");
}

/// A model without layers with the tokenizer of a file that holds no weights.
fn with_vocabulary_of(
    vocabulary: &Path,
    name: &str,
    edit: impl FnOnce(&mut Vec<(String, Value)>),
) -> Model {
    let content = gguf_file::Content::read(&mut File::open(vocabulary).unwrap()).unwrap();
    let Value::Array(tokens) = &content.metadata["tokenizer.ggml.tokens"] else { panic!() };
    let count = tokens.len();
    let mut all: Vec<(String, Value)> =
        content.metadata.into_iter().filter(|(key, _)| key.starts_with("tokenizer.")).collect();
    all.extend(metadata().into_iter().filter(|(key, _)| !key.starts_with("tokenizer.")));
    all.retain(|(key, _)| key != "llama.vocab_size");
    edit(&mut all);
    let (mut tensors, _) = small(GgmlDType::Q8_0);
    let zeros = vec![0.0; count * SHAPE.hidden];
    for tensor in tensors
        .iter_mut()
        .filter(|(name, _)| name == "token_embd.weight" || name == "output.weight")
    {
        tensor.1 = quantised(&zeros, &[count, SHAPE.hidden], GgmlDType::Q8_0);
    }
    load(&write(name, &all, &tensors)).unwrap()
}

#[test]
fn the_source_of_a_model_is_told_by_its_ending() {
    assert_eq!("a/b.gguf".parse::<ModelSource>().unwrap(), ModelSource::Gguf("a/b.gguf".into()));
    assert_eq!("./a/b".parse::<ModelSource>().unwrap(), ModelSource::Folder("./a/b".into()));
    // Or by its first bytes, as in the stores of other programs.
    let blob = path("sha256-0123");
    std::fs::write(&blob, b"GGUF\x03\0\0\0").unwrap();
    let source = blob.to_str().unwrap().parse::<ModelSource>().unwrap();
    assert_eq!(source, ModelSource::Gguf(blob));
}
