//! OLMo 2 and 3: norms after each part, and norms over all heads of queries and keys; in OLMo 3 a window in
//! three of four layers, whose rotary positions are not scaled.

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{Config, HeadNormExtent, NormPlaces};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults { eps: 1e-5, ..Defaults::LLAMA };

/// The rotary positions of OLMo 3's full-attention layers, and of those with a window.
const FULL: RopeDefaults =
    RopeDefaults { theta: 500_000.0, layer_type: Some("full_attention"), ..RopeDefaults::LLAMA };
const WINDOWED: RopeDefaults =
    // As the `transformers` library reads files, the base beside the objects is of the others alone.
    RopeDefaults { theta_key: "", layer_type: Some("sliding_attention"), ..FULL };

/// OLMo 2.
pub(super) fn read_olmo2(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    read_common(&mut config, fields)?;
    Ok(config)
}

/// OLMo 3.
pub(super) fn read_olmo3(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read_without_rope(fields, &DEFAULTS)?;
    read_common(&mut config, fields)?;
    let stated = fields.size("sliding_window")?;
    let window = if fields.has("sliding_window") { stated } else { Some(4096) };
    plain::read_windows(&mut config, fields, window, |layer| !(layer + 1).is_multiple_of(4))?;
    let windowed: Vec<bool> =
        config.decoder.layers.iter().map(|layer| layer.attention.window.is_some()).collect();
    plain::set_rope(&mut config, fields, &FULL, |layer| !windowed[layer])?;
    plain::set_rope(&mut config, fields, &WINDOWED, |layer| windowed[layer])?;
    Ok(config)
}

fn read_common(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    plain::read_attention_bias(config, fields)?;
    add_head_norms(config, HeadNormExtent::AllHeads);
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::POST;
    }
    Ok(())
}
