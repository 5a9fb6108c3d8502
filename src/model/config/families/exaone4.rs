//! EXAONE 4: norms after each part, norms of queries and keys, no positions in full-attention layers.

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{Config, HeadNormExtent, LayerConfig, NormPlaces};
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults = Defaults { kv_heads: Some(32), eps: 1e-5, ..Defaults::LLAMA };

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read_without_rope(fields, &DEFAULTS)?;
    add_head_norms(&mut config, HeadNormExtent::Head);
    let stated = fields.size("sliding_window")?;
    let window = if fields.has("sliding_window") { stated } else { Some(4096) };
    // Also written as letters, beside `layer_types`.
    let pattern = match fields.get("sliding_window_pattern") {
        None => 4,
        Some(_) if fields.get("layer_types").is_some() => 4,
        Some(_) => fields.size("sliding_window_pattern")?.unwrap_or(4),
    };
    let has_window = |layer: usize| window.is_some() && !(layer + 1).is_multiple_of(pattern);
    plain::read_windows(&mut config, fields, window, has_window)?;
    let turns = |layer: &LayerConfig| window.is_none() || layer.attention.window.is_some();
    let turns: Vec<bool> = config.decoder.layers.iter().map(turns).collect();
    plain::set_rope(&mut config, fields, &DEFAULTS.rope, |layer| turns[layer])?;
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::POST;
    }
    Ok(config)
}
