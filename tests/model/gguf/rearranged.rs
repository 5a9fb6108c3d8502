//! Architectures whose tensors the converter stacks, takes apart or transposes, and others of the same years:
//! as in [`families`](super::families), files like those of the converter (compared with it in the same way,
//! and llama.cpp's logits on them with ours) give bit for bit the logits of safetensors.

use candle_core::quantized::gguf_file::Value;
use candle_core::quantized::{GgmlDType, QTensor};

use super::converter::ConvertedModel;
use super::{load, logits, quantised, routed, write};
use crate::families::Case;
use crate::model_support::write_model;

/// The families, and llama.cpp's name of each.
const READ: [(&str, &str); 17] = [
    ("cohere", "command-r"),
    ("gemma", "gemma"),
    ("gemma4_text", "gemma4"),
    ("glm", "chatglm"),
    ("gpt2", "gpt2"),
    ("gpt_neox", "gptneox"),
    ("gpt_oss", "gpt-oss"),
    ("granitemoe", "granitemoe"),
    ("granitemoeshared", "granitemoe"),
    ("hunyuan_v1_dense", "hunyuan-dense"),
    ("ministral3", "mistral3"),
    ("olmo3", "olmo2"),
    ("olmoe", "olmoe"),
    ("phi", "phi2"),
    ("qwen2_moe", "qwen2moe"),
    ("stablelm", "stablelm"),
    ("starcoder2", "starcoder2"),
];

#[test]
fn rearranged_architectures_have_bit_for_bit_the_logits_of_safetensors() {
    let mut families = std::collections::BTreeSet::new();
    for case in Case::all() {
        let mut all = READ.iter().chain(routed::FAMILIES);
        let known = all.find(|(model_type, _)| *model_type == case.model_type());
        let Some((model_type, architecture)) = known else { continue };
        // What files of the converter do not say.
        let config = &case.value["config"];
        if config["quantization_config"].is_object() || !config["moe_layer_end_index"].is_null() {
            continue;
        }
        families.insert(*model_type);
        let source = ConvertedModel::of(&case);
        let name = format!("rearranged-{}.gguf", case.name);
        let gguf = load(&write(&name, &source.metadata(architecture), &source.own_tensors()));
        let gguf = gguf.unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let name = format!("rearranged-{}", case.name);
        let folder = write_model(&name, &source.config, &source.tensors, "F32", 1);
        let folder = load(&folder).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let tokens = case.tokens();
        for count in [1, 13, tokens.len()] {
            let (own, expected) =
                (logits(&gguf, &tokens[..count]), logits(&folder, &tokens[..count]));
            assert!(expected.iter().all(|x| x.is_finite()));
            let is_same = own.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(is_same, "{}: {:?} {:?}", case.name, &own[..4], &expected[..4]);
        }
    }
    assert_eq!(families.len(), READ.len() + routed::FAMILIES.len(), "{families:?}");
}

/// The metadata of a GGUF file.
type Metadata = Vec<(String, Value)>;

/// The tensors of a GGUF file by name.
type Tensors = Vec<(String, QTensor)>;

/// The model of a case, and its file.
fn case(name: &str) -> (ConvertedModel, Metadata, Tensors) {
    let case = Case::all().into_iter().find(|case| case.name == name).unwrap();
    let source = ConvertedModel::of(&case);
    let (_, architecture) =
        READ.iter().find(|(model_type, _)| *model_type == source.model_type).unwrap();
    let (metadata, tensors) = (source.metadata(architecture), source.own_tensors());
    (source, metadata, tensors)
}

/// Older files have queries, keys and values in one tensor, whatever the architecture.
#[test]
fn queries_keys_and_values_in_one_tensor_are_taken_apart() {
    for name in ["phi", "ministral3", "stablelm-parallel"] {
        let (_, metadata, tensors) = case(name);
        let apart = load(&write(&format!("apart-{name}.gguf"), &metadata, &tensors)).unwrap();
        let numbers = |tensor: &QTensor| -> Vec<f32> {
            let flat = tensor.dequantize(&candle_core::Device::Cpu).unwrap().flatten_all();
            flat.unwrap().to_vec1().unwrap()
        };
        let mut fused = std::collections::BTreeMap::new();
        let mut others = Vec::new();
        // In the order of queries, keys, values.
        for part in ["attn_q", "attn_k", "attn_v", ""] {
            for (name, tensor) in &tensors {
                let (stem, kind) = name.rsplit_once('.').unwrap();
                let (before, last) = stem.rsplit_once('.').unwrap_or(("", stem));
                if last == part {
                    let dims = tensor.shape().dims().to_vec();
                    let name = format!("{before}.attn_qkv.{kind}");
                    let (shape, all) =
                        fused.entry(name).or_insert(([&[0], &dims[1..]].concat(), vec![]));
                    shape[0] += dims[0];
                    all.extend(numbers(tensor));
                } else if part.is_empty() && !["attn_q", "attn_k", "attn_v"].contains(&last) {
                    let tensor = quantised(&numbers(tensor), tensor.shape().dims(), GgmlDType::F32);
                    others.push((name.clone(), tensor));
                }
            }
        }
        assert!(fused.len() >= 3);
        let fused = fused.into_iter();
        others.extend(fused.map(|(n, (shape, x))| (n, quantised(&x, &shape, GgmlDType::F32))));
        let fused = load(&write(&format!("fused-{name}.gguf"), &metadata, &others)).unwrap();
        let tokens = [3, 5, 8, 200, 17];
        assert_eq!(logits(&fused, &tokens), logits(&apart, &tokens), "{name}");
    }
}

#[test]
fn what_these_architectures_do_not_compute_is_refused_by_name() {
    let text = |text: &str| Some(Value::String(text.to_owned()));
    for (name, key, value, part) in [
        ("gpt_oss", "general.architecture", text("hunyuan-vl"), "the architecture `hunyuan-vl`"),
        ("gpt_oss", "gpt-oss.attention.sliding_window", None, "sliding_window"),
        ("gpt_oss", "gpt-oss.expert_count", None, "`gpt-oss.expert_count`"),
        ("gpt_oss", "gpt-oss.expert_weights_scale", Some(Value::F32(2.0)), "expert_weights_scale"),
        ("olmoe", "olmoe.attention.clamp_kqv", Some(Value::F32(8.0)), "clamp_kqv"),
        ("gemma", "gemma.attention.sliding_window", Some(Value::U32(9)), "sliding_window"),
        ("gemma4", "gemma4.attention.value_length_swa", Some(Value::U32(2)), "value_length_swa"),
        (
            "gemma4",
            "gemma4.feed_forward_length",
            Some(Value::Array(vec![Value::I32(8), Value::I32(9), Value::I32(9), Value::I32(9)])),
            "feed_forward_length",
        ),
        ("gemma4", "gemma4.rope.scaling.factor", Some(Value::F32(4.0)), "rope.scaling.type"),
        ("gpt_neox", "gptneox.use_parallel_residual", None, "use_parallel_residual"),
        ("gpt2", "gpt2.rope.freq_base", Some(Value::F32(1e4)), "`gpt2.rope.freq_base`"),
        ("granitemoe", "granitemoe.logit_scale", None, "logit_scale"),
        ("cohere", "cohere.x", None, ""),
    ] {
        let (_, mut metadata, tensors) = case(name);
        metadata.retain(|(own, _)| own != key);
        metadata.extend(value.map(|value| (key.to_owned(), value)));
        let path = write("refused-rearranged.gguf", &metadata, &tensors);
        if part.is_empty() {
            load(&path).unwrap();
        } else {
            super::damage::refused(&path, part);
        }
    }
    let (_, metadata, mut tensors) = case("cohere");
    tensors.push((
        "blk.0.attn_q_norm.weight".to_owned(),
        quantised(&[1.0; 24], &[6, 4], GgmlDType::F32),
    ));
    let path = write("refused-norms.gguf", &metadata, &tensors);
    super::damage::refused(&path, "tensor `blk.0.attn_q_norm.weight`");
    let (_, metadata, mut tensors) = case("gemma4");
    for (name, tensor) in &mut tensors {
        if name == "rope_freqs.weight" {
            let count = tensor.shape().elem_count();
            *tensor = quantised(&vec![2.0; count], &[count], GgmlDType::F32);
        }
    }
    super::damage::refused(
        &write("refused-factors.gguf", &metadata, &tensors),
        "rope_freqs.weight",
    );
}
