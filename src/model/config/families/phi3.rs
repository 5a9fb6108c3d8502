//! Phi-3, Phi-3.5 and Phi-4: fused weights, a part of each head rotated, LongRoPE.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, MlpConfig, ProjectionLayout};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    max_position_embeddings: 4096,
    eps: 1e-5,
    // As the `transformers` library reads older files.
    rope: RopeDefaults {
        reads_partial: true,
        aliases: &[("su", "longrope"), ("yarn", "longrope")],
        // The class has this default, which counts before what stands in `rope_scaling`.
        original: Some(4096),
        ..RopeDefaults::LLAMA
    },
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    // Phi-4-mini states 1: all layers are of one kind.
    fields.must_be([("full_attn_mod", 1.into())])?;
    let window = fields.size("sliding_window")?;
    for layer in &mut config.decoder.layers {
        layer.attention.projections = ProjectionLayout::Fused;
        layer.attention.window = window;
        if let MlpConfig::Gated(mlp) = &mut layer.mlp {
            mlp.is_fused = true;
        }
    }
    Ok(config)
}
