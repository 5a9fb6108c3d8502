//! Attention windows: `sliding_window` and `layer_types`.

use serde_json::json;

use super::super::architectures::Windows;
use super::gguf_model::{ArchitectureKeys, GgufModel, Members};
use crate::error::Result;

/// Sets the window, the layers that have it, and what they make of a model type.
pub(super) fn set(source: &GgufModel<'_>, layers: usize, config: &mut Members) -> Result<()> {
    /// The window of Gemma 2, which its first files do not state.
    const OF_GEMMA2: usize = 4096;
    const WINDOW: &str = "attention.sliding_window";
    let GgufModel { keys, architecture, .. } = source;
    let window = keys.size(WINDOW)?.filter(|window| *window > 0);
    match (&architecture.windows, window) {
        (Windows::Never, Some(_)) => Err(keys.refused(WINDOW, "is not known of this architecture")),
        (Windows::Never, None) => Ok(()),
        (Windows::All, window) => {
            if architecture.model_type == "llama" && window.is_some() {
                // Llama's own layers have none: the layers are Mistral's.
                config.set("model_type", json!("mistral"));
            }
            if architecture.model_type != "llama" || window.is_some() {
                config.set("sliding_window", json!(window));
            }
            Ok(())
        }
        (Windows::AllButEvery(period), mut window) => {
            match architecture.model_type {
                "gemma2" => window = window.or(Some(OF_GEMMA2)),
                // Layers with a window alone have rotary positions.
                "cohere2" | "gemma4_text" | "gpt_oss" if window.is_none() => {
                    return Err(keys.missing(WINDOW));
                }
                "olmo2" if window.is_none() => return Ok(()),
                "olmo2" => config.set("model_type", json!("olmo3")),
                _ => {}
            }
            let types = layer_types(keys, layers, *period, window)?;
            config.set("sliding_window", json!(window));
            config.set("layer_types", json!(types));
            Ok(())
        }
    }
}

/// `layer_types` of a `config.json`.
fn layer_types(
    keys: &ArchitectureKeys<'_>,
    layers: usize,
    period: usize,
    window: Option<usize>,
) -> Result<Vec<&'static str>> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let key = keys.key(PATTERN);
    let windowed: Vec<bool> = match keys.metadata.flags(&key) {
        Ok(Some(flags)) => flags,
        // An integer is another period; 0 stands for all layers.
        Ok(None) | Err(_) => {
            let period = keys.size(PATTERN)?.unwrap_or(period);
            (0..layers).map(|layer| period == 0 || (layer + 1) % period != 0).collect()
        }
    };
    if windowed.len() < layers {
        return Err(keys.refused(PATTERN, &format!("does not say it of all {layers} layers")));
    }
    let type_of = |windowed: &bool| {
        if *windowed && window.is_some() { "sliding_attention" } else { "full_attention" }
    };
    Ok(windowed[..layers].iter().map(type_of).collect())
}
