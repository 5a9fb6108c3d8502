//! Helium and OLMo: decoders of attention layers.

use maskwright_kernels::RotaryPairs;
use serde_json::json;

use super::settings::{
    AttentionModel, read_attention, require_default, require_heads_of_stream, with,
};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::families::plain::Defaults;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const HELIUM: Defaults = Defaults {
    kv_heads: Some(20),
    head_dim: Some(128),
    max_position_embeddings: 4096,
    eps: 1e-8,
    rope: RopeDefaults { theta: 100_000.0, pairs: RotaryPairs::Neighbours, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

/// Helium: Llama with rotary pairs of neighbours.
pub(super) fn read_helium(fields: &ConfigFields<'_>) -> Result<Config> {
    let inner = fields.required("intermediate_size", 1)?;
    let model = read_attention(fields, &HELIUM, inner)?;
    require_heads_of_stream(fields, &model)?;
    let AttentionModel { config, values, .. } = model;
    require_default(fields, [("attention_bias", json!(false))])?;
    let values = with(
        values,
        json!({
            "attention_bias": false,
            "mlp_bias": fields.flag("mlp_bias")?.unwrap_or(false),
            // Read by nothing.
            "bos_token_id": 0,
            "eos_token_id": 0,
        }),
    );
    Ok(Config { adapted: Some(values), ..config })
}

/// OLMo: norms without weights, and bounds on queries, keys and values.
pub(super) fn read_olmo(fields: &ConfigFields<'_>) -> Result<Config> {
    let inner = fields.required("intermediate_size", 1)?;
    let model = read_attention(fields, &Defaults::LLAMA, inner)?;
    require_heads_of_stream(fields, &model)?;
    let AttentionModel { config, values, .. } = model;
    let values = with(
        values,
        json!({
            "attention_bias": fields.flag("attention_bias")?.unwrap_or(false),
            "clip_qkv": fields.positive("clip_qkv")?,
        }),
    );
    Ok(Config { adapted: Some(values), ..config })
}
