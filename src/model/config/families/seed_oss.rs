//! Seed-OSS: Llama with biases on queries, keys and values.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(8),
    head_dim: Some(128),
    max_position_embeddings: 524_288,
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    plain::read_mlp_bias(&mut config, fields)?;
    let qkv_bias = fields.flag("attention_bias")?.unwrap_or(true);
    let output_bias = fields.flag("attention_out_bias")?.unwrap_or(false);
    for layer in &mut config.decoder.layers {
        layer.attention.qkv_bias = qkv_bias;
        layer.attention.output_bias = output_bias;
    }
    Ok(config)
}
