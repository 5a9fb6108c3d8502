//! Ernie 4.5 (dense): neighbouring pairs turn, one switch for all biases.

use maskwright_kernels::RotaryPairs;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, MlpConfig};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(2),
    head_dim: Some(128),
    max_position_embeddings: 131_072,
    eps: 1e-5,
    is_tied: true,
    rope: RopeDefaults { theta: 500_000.0, pairs: RotaryPairs::Neighbours, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    let bias = fields.flag("use_bias")?.unwrap_or(false);
    for layer in &mut config.decoder.layers {
        layer.attention.qkv_bias = bias;
        layer.attention.output_bias = bias;
        if let MlpConfig::Gated(mlp) = &mut layer.mlp {
            mlp.bias = bias;
        }
    }
    Ok(config)
}
