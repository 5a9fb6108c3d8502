//! The keys of `config.json`, and the treatment of each.
//!
//! A key is
//!
//! - *read* by its family ([`families`](super::families)); the reader keeps account of that,
//! - *harmless* ([`HARMLESS`]): the `transformers` library computes the same logits whatever it
//!   says,
//! - an *extra* ([`EXTRAS`]) that changes the logits and is refused unless its value switches it
//!   off, or
//! - unknown: refused if its name contains a word of what a model computes ([`TELLING`]), ignored
//!   otherwise.
//!
//! The lists were made from the configurations of all families and what they inherit from
//! `PreTrainedConfig` in transformers 5, from the code of these models, of masks and of caches, and from
//! keys that earlier versions wrote.

use serde_json::Value;

use super::errors::{config_error, refused, shown};
use super::fields::ConfigFields;
use crate::error::{Error, Result};

/// Keys with [`TELLING`] names that do not change the logits: settings of training (dropout,
/// initial values), choices among implementations, and choices of what is returned.
const HARMLESS: &[&str] = &[
    "attention_dropout",
    "attention_probs_dropout_prob",
    "attention_implementation",
    // Scores are computed in f32.
    "attention_softmax_in_fp32",
    "scale_attention_softmax_in_fp32",
    "attn_dropout",
    "attn_implementation",
    "attn_pdrop",
    "embd_pdrop",
    "experts_implementation",
    "flash_attn",
    "flash_attention",
    "use_flash_attention",
    "use_flash_attention_2",
    "use_flash_attn",
    "use_var_len_flash_attn",
    "head_dim_originally",
    "initializer_range",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "max_sequence_length",
    // Without a switch that turns it on.
    "max_window_layers",
    "num_experts_per_tok",
    "output_attentions",
    "output_router_logits",
    "pretraining_tp",
    "resid_pdrop",
    "residual_dropout",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "tie_last_hidden_states",
    "unsloth_fixed",
    "unsloth_version",
    "use_cache",
];

/// Extras, each with the values that switch it off besides the [usual ones](is_off).
const EXTRAS: &[(&str, &[f64])] = &[
    ("quantization_config", &[]),
    ("compression_config", &[]),
    ("quantization", &[]),
    ("partial_rotary_factor", &[1.0]),
    ("num_local_experts", &[0.0, 1.0]),
    ("num_experts", &[0.0, 1.0]),
    ("n_routed_experts", &[0.0, 1.0]),
    ("rotary_pct", &[1.0]),
    ("rope_ratio", &[1.0]),
    ("logit_scale", &[1.0]),
    ("logits_scaling", &[1.0]),
    ("embedding_multiplier", &[1.0]),
    ("residual_multiplier", &[1.0]),
    ("scale_emb", &[1.0]),
    ("per_layer_config", &[]),
    ("kv_sharing_modes", &[]),
    ("num_kv_shared_layers", &[0.0]),
    ("no_rope_layer_interval", &[0.0]),
    ("add_cross_attention", &[]),
    ("attention_chunk_size", &[]),
    ("query_pre_attn_scalar", &[]),
    ("clip_qkv", &[]),
    ("chunk_size_feed_forward", &[0.0]),
];

/// Words in the names of keys that change what a model computes.
const TELLING: &[&str] = &[
    "alibi",
    "atten",
    "attn",
    "bias",
    "capping",
    "causal",
    "chunk",
    "clip",
    "expert",
    "lora",
    "moe",
    "multiplier",
    "mup",
    "norm",
    "ntk",
    "position",
    "quant",
    "residual",
    "rope",
    "rotary",
    "router",
    "scal",
    "sink",
    "softcap",
    "sparse",
    "window",
];

/// The same for models that candle-transformers computes, whose layers are of more kinds than our
/// decoder's.
const TELLING_OF_ADAPTED: &[&str] = &[
    "block",
    "conv",
    "expand",
    "gate",
    "group",
    "head",
    "kernel",
    "layer",
    "lru",
    "mamba",
    "rank",
    "rms",
    "shared",
    "ssm",
    "state",
    "time_step",
    "topk",
];

/// Errors on the first key that would change the logits and was not read. `is_adapted` for a model that
/// candle-transformers computes.
pub(super) fn refuse_unread(fields: &ConfigFields<'_>, is_adapted: bool) -> Result<()> {
    let more = if is_adapted { TELLING_OF_ADAPTED } else { &[] };
    for (key, value) in fields.object {
        if is_off(value) || key.starts_with('_') || fields.was_read(key) {
            continue;
        }
        if let Some((_, off)) = EXTRAS.iter().find(|(name, _)| name == key) {
            if value.as_f64().is_some_and(|number| off.contains(&number)) {
                continue;
            }
            let pointer = fields.pointer(key);
            return Err(match value.get("quant_method").and_then(Value::as_str) {
                Some(method) => quantised(key, method).at_pointer(pointer),
                None => refused(key, value, "is not supported").at_pointer(pointer),
            });
        }
        let known = HARMLESS.contains(&key.as_str());
        let lower = key.to_ascii_lowercase();
        let is_telling = TELLING.iter().chain(more).any(|part| lower.contains(part));
        if !known && is_telling && !lower.contains("dropout") {
            return Err(config_error(&format!(
                "`{}`: {}: this key is not known",
                key,
                shown(value)
            ))
            .at_pointer(fields.pointer(key))
            .with_help(
                "take it out of the file if it changes nothing of what the model computes",
            ));
        }
    }
    Ok(())
}

/// The error for weights that are quantised by a method.
fn quantised(key: &str, method: &str) -> Error {
    config_error(&format!("`{key}`: weights that are quantised by `{method}` are not supported"))
        .with_help(
            "load the model that they were made from (bf16, f16 or f32), or a GGUF file of it: quantised weights are \
             supported there",
        )
}

/// Whether a value switches its key's feature off.
fn is_off(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}
