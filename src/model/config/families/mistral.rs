//! Mistral: a window in all layers, unless `sliding_window` is `null`.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults =
    Defaults { kv_heads: Some(8), max_position_embeddings: 4096 * 32, ..Defaults::LLAMA };

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    let window = match fields.size("sliding_window")? {
        None if !fields.has("sliding_window") => Some(4096),
        window => window,
    };
    for layer in &mut config.decoder.layers {
        layer.attention.window = window;
    }
    Ok(config)
}
