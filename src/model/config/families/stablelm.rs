//! StableLM: LayerNorm, a quarter of each head rotated, perhaps parallel parts.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, NormKind, NormPlaces};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(32),
    max_position_embeddings: 4096,
    eps_key: "layer_norm_eps",
    eps: 1e-5,
    norm: NormKind::LayerWithBias,
    rope: RopeDefaults { partial: 0.25, reads_partial: true, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    // Names of the first files for what others say, too.
    let partial = fields.get("partial_rotary_factor").cloned();
    fields.must_be([
        ("norm_eps", config.decoder.norm.eps.into()),
        ("rope_pct", partial.unwrap_or(DEFAULTS.rope.partial.into())),
        ("rotary_scaling_factor", 1.into()),
    ])?;
    let bias = fields.flag("use_qkv_bias")?.unwrap_or(false);
    let is_parallel = fields.flag("use_parallel_residual")?.unwrap_or(false);
    for layer in &mut config.decoder.layers {
        layer.attention.qkv_bias = bias;
        if is_parallel {
            layer.norms = NormPlaces::PARALLEL;
        }
    }
    Ok(config)
}
