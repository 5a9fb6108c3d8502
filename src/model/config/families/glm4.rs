//! GLM-4: half of each head rotated in neighbouring pairs, gate and up fused; in the series 0414 norms around each
//! part.

use maskwright_kernels::RotaryPairs;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, MlpConfig, NormPlaces};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(2),
    head_dim: Some(128),
    max_position_embeddings: 131_072,
    eps: 1.5625e-7,
    rope: RopeDefaults {
        partial: 0.5,
        reads_partial: true,
        pairs: RotaryPairs::Neighbours,
        ..RopeDefaults::LLAMA
    },
    ..Defaults::LLAMA
};

const NORMS: NormPlaces = NormPlaces {
    before_attention: Some("input_layernorm"),
    after_attention: Some("post_self_attn_layernorm"),
    before_mlp: Some("post_attention_layernorm"),
    after_mlp: Some("post_mlp_layernorm"),
    is_parallel: false,
};

/// GLM-4 of the first series: a norm before each part.
pub(super) fn read_glm(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = read_glm4(fields)?;
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::PRE;
    }
    Ok(config)
}

/// GLM-4 of the series 0414.
pub(super) fn read_glm4(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    // Of queries, keys and values alone.
    let bias = fields.flag("attention_bias")?.unwrap_or(true);
    for layer in &mut config.decoder.layers {
        layer.norms = NORMS;
        layer.attention.qkv_bias = bias;
        if let MlpConfig::Gated(mlp) = &mut layer.mlp {
            mlp.is_fused = true;
        }
    }
    Ok(config)
}
