//! Cohere's Command R: LayerNorm and parallel parts; Command R7B: a window in three of four layers, which
//! alone know positions.

use maskwright_kernels::RotaryPairs;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, NormKind, NormPlaces};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    max_position_embeddings: 8192,
    eps_key: "layer_norm_eps",
    eps: 1e-5,
    is_tied: true,
    norm: NormKind::Layer,
    rope: RopeDefaults { pairs: RotaryPairs::Neighbours, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

const COHERE: Defaults =
    Defaults { rope: RopeDefaults { theta: 500_000.0, ..DEFAULTS.rope }, ..DEFAULTS };

/// Command R. Norms of single heads, which the largest have, are refused as an unknown key.
pub(super) fn read_cohere(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &COHERE)?;
    read_trained_context(&mut config, fields)?;
    plain::read_attention_bias(&mut config, fields)?;
    config.decoder.logit_scale = fields.positive("logit_scale")?.unwrap_or(0.0625);
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::PARALLEL;
    }
    Ok(config)
}

/// The published files state in `model_max_length` what the model was trained on, and less in the usual key,
/// which bounds dynamic scaling.
fn read_trained_context(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    if !fields.has("rope_scaling") {
        let trained = fields.size("model_max_length")?.unwrap_or(0);
        config.max_position_embeddings = config.max_position_embeddings.max(trained);
    }
    Ok(())
}

/// Command R7B.
pub(super) fn read_cohere2(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read_without_rope(fields, &DEFAULTS)?;
    plain::read_attention_bias(&mut config, fields)?;
    let pattern = fields.size("sliding_window_pattern")?.unwrap_or(4);
    let stated = fields.size("sliding_window")?;
    let window = if fields.has("sliding_window") { stated } else { Some(4096) };
    plain::read_windows(&mut config, fields, window, |layer| (layer + 1) % pattern != 0)?;
    let windowed: Vec<bool> =
        config.decoder.layers.iter().map(|layer| layer.attention.window.is_some()).collect();
    plain::set_rope(&mut config, fields, &DEFAULTS.rope, |layer| windowed[layer])?;
    config.decoder.logit_scale = fields.positive("logit_scale")?.unwrap_or(0.0625);
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::PARALLEL;
    }
    Ok(config)
}
