//! Per-layer embeddings (Gemma 3n and 4): a vector of each token for each layer, which the layer adds to
//! the stream through a gate.
//!
//! ```text
//! vector = (table[token] · √width + norm(project(embedding) / √hidden)) / √2
//! stream = stream + norm(project(activation(gate(stream)) · vector))
//! ```

use super::linear::{Linear, Matrix};
use super::norm::Norm;
use crate::error;
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::{NormConfig, PerLayerEmbeddingsConfig};

/// The weights that make the vectors of all layers.
#[derive(Clone, Debug)]
pub(super) struct PerLayerEmbeddings {
    pub(super) config: PerLayerEmbeddingsConfig,
    /// The layers of the whole model.
    pub(super) layers: usize,
    /// (tokens, layers · width).
    pub(super) table: Matrix,
    /// (layers · width, hidden).
    pub(super) projection: Linear,
    pub(super) norm: Norm,
}

impl PerLayerEmbeddings {
    /// Takes the tensors whose names begin with `prefix` out of a checkpoint.
    pub(super) fn load(
        config: PerLayerEmbeddingsConfig,
        (layers, hidden): (usize, usize),
        norm: NormConfig,
        weights: &Weights,
        prefix: &str,
    ) -> error::Result<Self> {
        let all = layers * config.width;
        let table = format!("{prefix}embed_tokens_per_layer.weight");
        let projection = format!("{prefix}per_layer_model_projection");
        let norm_name = format!("{prefix}per_layer_projection_norm");
        Ok(Self {
            config,
            layers,
            table: Matrix::load(weights, &table, (config.tokens, all))?,
            projection: Linear::load(weights, &projection, (all, hidden), false)?,
            norm: Norm::load(norm, weights, &norm_name, config.width)?,
        })
    }
}

/// The weights by which a layer adds its vector.
#[derive(Clone, Debug)]
pub(super) struct PerLayerInput {
    pub(super) gate: Linear,
    pub(super) projection: Linear,
    pub(super) norm: Norm,
}

impl PerLayerInput {
    pub(super) fn load(
        config: PerLayerEmbeddingsConfig,
        norm: NormConfig,
        hidden: usize,
        weights: &Weights,
        layer: &str,
    ) -> error::Result<Self> {
        let linear =
            |name: &str, shape| Linear::load(weights, &format!("{layer}.{name}"), shape, false);
        let norm_name = format!("{layer}.post_per_layer_input_norm");
        Ok(Self {
            gate: linear("per_layer_input_gate", (config.width, hidden))?,
            projection: linear("per_layer_projection", (hidden, config.width))?,
            norm: Norm::load(norm, weights, &norm_name, hidden)?,
        })
    }
}
