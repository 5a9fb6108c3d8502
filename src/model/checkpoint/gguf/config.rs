//! The shape and the constants of a model in the metadata of a GGUF file, as a `config.json`.
//!
//! The result goes through the reader of `config.json`, which refuses what it does not know. Here a key of
//! the architecture that is neither read nor known to be harmless is refused, so that none is dropped.

mod experts;
mod families;
mod gemma4;
mod gguf_model;
mod rope;
mod windows;

use std::cell::RefCell;

use serde_json::{Value, json};

use super::architectures::Architecture;
use super::directory::Directory;
use super::metadata::Metadata;
use super::parts::Parts;
use crate::error::{Error, ErrorKind, Result};
use gguf_model::{ArchitectureKeys, GgufModel, Members};

/// Members of a `config.json`, each with the key of an architecture that says it, without the prefix.
const MEMBERS: [(&str, &str); 26] = [
    ("hidden_size", "embedding_length"),
    ("num_hidden_layers", "block_count"),
    ("num_attention_heads", "attention.head_count"),
    ("num_key_value_heads", "attention.head_count_kv"),
    ("head_dim", "attention.key_length"),
    ("intermediate_size", "feed_forward_length"),
    ("max_position_embeddings", "context_length"),
    ("rope_theta", "rope.freq_base"),
    ("rotary_emb_base", "rope.freq_base"),
    ("partial_rotary_factor", "rope.dimension_count"),
    ("rotary_pct", "rope.dimension_count"),
    ("original_max_position_embeddings", "rope.scaling.original_context_length"),
    ("rope_scaling", "rope.scaling"),
    ("rope_parameters", "rope.scaling"),
    ("rms_norm_eps", "attention.layer_norm_rms_epsilon"),
    ("sliding_window", "attention.sliding_window"),
    ("num_experts", "expert_count"),
    ("num_local_experts", "expert_count"),
    ("n_routed_experts", "expert_count"),
    ("moe_num_experts", "expert_count"),
    ("num_experts_per_tok", "expert_used_count"),
    ("moe_intermediate_size", "expert_feed_forward_length"),
    ("routed_scaling_factor", "expert_weights_scale"),
    ("n_group", "expert_group_count"),
    ("topk_group", "expert_group_used_count"),
    ("norm_topk_prob", "expert_weights_norm"),
];

/// The key of an architecture, without its prefix, that says a member of a `config.json`.
pub(super) fn key_of_member(member: &str) -> Option<&'static str> {
    MEMBERS.iter().find(|(name, _)| *name == member).map(|(_, key)| *key)
}

/// The object of a `config.json`.
pub(super) fn config_json(
    metadata: &Metadata<'_>,
    architecture: &Architecture,
    directory: &Directory,
    parts: &Parts,
) -> Result<Value> {
    let keys =
        ArchitectureKeys { metadata, prefix: architecture.prefix(), read: RefCell::default() };
    let source = GgufModel { keys, architecture, directory, parts };
    let keys = &source.keys;
    let Some(vocab) = directory.find("token_embd.weight").and_then(|t| t.shape.first()) else {
        return Err(Error::new(ErrorKind::Model, "there is no tensor `token_embd.weight`")
            .with_help("the file may hold a vocabulary alone, or be cut short"));
    };
    let mut config = Members::default();
    let (hidden, heads) =
        (keys.required("embedding_length")?, keys.required("attention.head_count")?);
    // Multi-token-prediction (MTP) layers at the end, for speculation.
    let mtp_layers = match architecture.model_type {
        "bailing_moe_v2" | "glm4_moe" => keys.size("nextn_predict_layers")?.unwrap_or(0),
        _ => 0,
    };
    let layers = keys.required("block_count")?.saturating_sub(mtp_layers);
    if layers > directory.tensors.len() {
        let reason = format!("is {layers}: more layers than the file has tensors");
        return Err(keys.damaged("block_count", &reason));
    }
    config.set("model_type", json!(architecture.model_type));
    config.set("vocab_size", json!(vocab));
    config.set("hidden_size", json!(hidden));
    config.set("num_hidden_layers", json!(layers));
    config.set("num_attention_heads", json!(heads));
    config.set("max_position_embeddings", json!(source.context()?));
    let head_width = keys.size("attention.key_length")?.unwrap_or(hidden / heads);
    for (name, size) in [("embedding_length", hidden), ("attention.key_length", head_width)] {
        if size > directory.greatest_dimension() {
            return Err(keys.damaged(name, &format!("is {size}: no tensor is so wide")));
        }
    }
    if keys.size("attention.value_length")?.is_some_and(|width| width != head_width) {
        return Err(keys.refused("attention.value_length", "differs from `attention.key_length`"));
    }
    let (own, name) = architecture.eps;
    config.set(name, json!(keys.required_number(own)?));
    let is_tied = directory.find("output.weight").is_none();
    config.set("tie_word_embeddings", json!(is_tied));
    for (name, stems) in architecture.biases {
        let has_bias = stems.iter().any(|stem| source.has_in_layer(&format!("{stem}.bias")));
        config.set(name, json!(has_bias));
    }
    for number in architecture.numbers {
        match keys.number(number.own)? {
            Some(value) => config.set(number.name, json!(value)),
            None if number.is_required => return Err(keys.missing(number.own)),
            None => {}
        }
    }
    if let Some(id) = metadata.token_id("bos")? {
        config.set("bos_token_id", json!(id));
    }
    // Ends of a text, of a turn, of a message.
    let ends = ["eos", "eot", "eom"].map(|name| metadata.token_id(name));
    let ends: Vec<Option<usize>> = ends.into_iter().collect::<Result<_>>()?;
    let mut ends: Vec<usize> = ends.into_iter().flatten().collect();
    ends.dedup();
    config.set("eos_token_id", json!(ends));
    windows::set(&source, layers, &mut config)?;
    if architecture.model_type == "gemma4_text" {
        gemma4::set(&source, (layers, head_width), &mut config)?;
    } else {
        let kv_heads = keys.size("attention.head_count_kv")?.unwrap_or(heads);
        config.set("num_key_value_heads", json!(kv_heads));
        config.set("intermediate_size", json!(keys.required("feed_forward_length")?));
        config.set("head_dim", json!(head_width));
        families::set(&source, (layers, hidden / heads, head_width), &mut config)?;
        rope::set(&source, head_width, &mut config)?;
    }
    experts::set(&source, mtp_layers, &mut config)?;
    keys.refuse_others()?;
    Ok(Value::Object(config.0))
}
