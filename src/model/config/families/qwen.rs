//! Qwen2 and 2.5, Qwen3: a window from some layer on, if a switch says so.

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, HeadNorm, HeadNormExtent};
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults =
    Defaults { kv_heads: Some(32), max_position_embeddings: 32_768, ..Defaults::LLAMA };

/// Biases on queries, keys and values.
pub(super) fn read_qwen2(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    for layer in &mut config.decoder.layers {
        layer.attention.qkv_bias = true;
    }
    read_switched_windows(&mut config, fields)?;
    stay_within_chunk(&mut config, fields)?;
    Ok(config)
}

/// Norms of queries and keys.
pub(super) fn read_qwen3(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &Defaults { head_dim: Some(128), ..DEFAULTS })?;
    plain::read_attention_bias(&mut config, fields)?;
    add_head_norms(&mut config, HeadNormExtent::Head);
    read_switched_windows(&mut config, fields)?;
    stay_within_chunk(&mut config, fields)?;
    Ok(config)
}

/// The models for a million tokens cut longer texts into chunks ("dual chunk attention", An et al. 2024); within
/// the first chunk their attention is the usual one, and no text may be longer here.
pub(super) fn stay_within_chunk(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    const KEY: &str = "dual_chunk_attention_config";
    if let Some(object) = fields.object(KEY)? {
        let at = fields.pointer(KEY);
        let chunks = ConfigFields::new(object, &at);
        let local = chunks.integer("local_size", 0)?.unwrap_or(1024);
        let chunk = chunks.size("chunk_size")?.unwrap_or(8192).saturating_sub(local).max(1);
        config.max_position_embeddings = config.max_position_embeddings.min(chunk);
    }
    Ok(())
}

/// Norms of queries and keys like those of the layers.
pub(super) fn add_head_norms(config: &mut Config, extent: HeadNormExtent) {
    for layer in &mut config.decoder.layers {
        layer.attention.head_norm =
            Some(HeadNorm { norm: layer.norm, extent, is_after_rope: false });
    }
}

/// The window of the layers that have one; none if windows are switched off.
pub(super) fn switched_window(fields: &ConfigFields<'_>) -> Result<Option<usize>> {
    if !fields.flag("use_sliding_window")?.unwrap_or(false) {
        // Whatever it says: 0 in files that the library wrote.
        fields.ignore(&["sliding_window"]);
        return Ok(None);
    }
    if fields.has("sliding_window") { fields.size("sliding_window") } else { Ok(Some(4096)) }
}

fn read_switched_windows(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    let window = switched_window(fields)?;
    let from = fields.integer("max_window_layers", 0)?.unwrap_or(28);
    plain::read_windows(config, fields, window, |layer| window.is_some() && layer >= from)
}
