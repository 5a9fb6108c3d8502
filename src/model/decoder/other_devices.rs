//! The refusal of what the pass with tensors does not compute: models that run on the CPU alone.

use crate::error::{Error, ErrorKind, Result};
use crate::model::config::decoder::{DecoderConfig, LayerConfig, MlpConfig, ProjectionLayout};
use crate::model::paged_attention::MAX_WIDTH;

/// Errors if a decoder has a part that is computed on the CPU alone.
pub(super) fn refuse(decoder: &DecoderConfig) -> Result<()> {
    let of_decoder = decoder.per_layer_embeddings.map(|_| "per-layer embeddings");
    let of_layers = || decoder.layers.iter().find_map(part_of_layer);
    match of_decoder.or_else(of_layers) {
        None => Ok(()),
        Some(part) => {
            let message = format!("{part} are computed on the CPU alone");
            Err(Error::new(ErrorKind::Model, message).with_help("use `--device cpu`"))
        }
    }
}

/// The part of a layer that is computed on the CPU alone.
fn part_of_layer(layer: &LayerConfig) -> Option<&'static str> {
    let attention = &layer.attention;
    let parts = [
        (
            matches!(layer.mlp, MlpConfig::Experts(_) | MlpConfig::GatedBesideExperts(..)),
            "mixtures of experts",
        ),
        (attention.sinks.is_some(), "attention sinks"),
        (attention.kv_of_layer.is_some(), "layers that share keys and values (KV sharing)"),
        (
            attention.projections == ProjectionLayout::ValuesAreKeys,
            "keys that serve as values (`attention_k_eq_v`)",
        ),
        (attention.value_norm.is_some(), "norms of values"),
        (attention.clip_qkv.is_some(), "bounds of queries, keys and values (`clip_qkv`)"),
        (
            attention.temperature_tuning.is_some(),
            "queries with attention temperature tuning (`llama_4_scaling_beta`)",
        ),
        (layer.scalar.is_some(), "factors of layers (`layer_scalar`)"),
        (attention.width > MAX_WIDTH || attention.width % 2 == 1, "heads of odd or great width"),
    ];
    parts.into_iter().find(|(is_there, _)| *is_there).map(|(_, name)| name)
}
