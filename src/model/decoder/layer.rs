//! A decoder layer: its norms, attention and feed-forward part, and their weights.

use maskwright_kernels::{Activation, BlockLayout};

use super::attention::Attention;
use super::beside_experts::GatedBesideExperts;
use super::experts::Experts;
use super::gated::Gated;
use super::linear::{Linear, Vector};
use super::norm::Norm;
use super::per_layer_embeddings::PerLayerInput;
use crate::error;
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::{DecoderConfig, LayerConfig, MlpConfig};

/// Attention and a feed-forward part, each with its norms.
#[derive(Clone, Debug)]
pub(super) struct DecoderLayer {
    pub(super) config: LayerConfig,
    pub(super) before_attention: Option<Norm>,
    pub(super) attention: Attention,
    pub(super) after_attention: Option<Norm>,
    pub(super) before_mlp: Option<Norm>,
    pub(super) mlp: Mlp,
    pub(super) after_mlp: Option<Norm>,
    /// The part that adds the per-layer embedding.
    pub(super) per_layer_input: Option<PerLayerInput>,
    /// The factor of the stream at the end.
    pub(super) scalar: Option<f32>,
}

impl DecoderLayer {
    /// Takes the layer of a name out of a checkpoint. `kv` is the place of its keys and values.
    pub(super) fn load(
        config: &LayerConfig,
        decoder: &DecoderConfig,
        hidden: usize,
        weights: &Weights,
        name: &str,
        kv: BlockLayout,
    ) -> error::Result<Self> {
        let norm = |tensor: Option<&str>| {
            let load =
                |tensor| Norm::load(config.norm, weights, &format!("{name}.{tensor}"), hidden);
            tensor.map(load).transpose()
        };
        let input =
            |embeddings| PerLayerInput::load(embeddings, config.norm, hidden, weights, name);
        let scalar = |tensor: &str| -> error::Result<f32> {
            let scalar = Vector::load(weights, &format!("{name}.{tensor}"), 1)?;
            let numbers = scalar.numbers().map_err(crate::model::candle_error::candle_error)?;
            Ok(numbers.first().copied().unwrap_or(1.0))
        };
        Ok(Self {
            before_attention: norm(config.norms.before_attention)?,
            attention: Attention::load(&config.attention, decoder, hidden, weights, name, kv)?,
            after_attention: norm(config.norms.after_attention)?,
            before_mlp: norm(config.norms.before_mlp)?,
            mlp: Mlp::load(config, decoder, hidden, weights, name)?,
            after_mlp: norm(config.norms.after_mlp)?,
            per_layer_input: decoder.per_layer_embeddings.map(input).transpose()?,
            scalar: config.scalar.map(scalar).transpose()?,
            config: config.clone(),
        })
    }
}

/// The feed-forward part.
#[derive(Clone, Debug)]
pub(super) enum Mlp {
    Gated(Gated),
    Plain { up: Linear, down: Linear, activation: Activation },
    Experts(Box<Experts>),
    GatedBesideExperts(Box<GatedBesideExperts>),
}

impl Mlp {
    fn load(
        layer: &LayerConfig,
        decoder: &DecoderConfig,
        hidden: usize,
        weights: &Weights,
        name: &str,
    ) -> error::Result<Self> {
        let names = &decoder.names;
        let inside = |projection: &str| format!("{name}.{projection}");
        let gated = |config| {
            let projections = [names.gate, names.up, names.down].map(inside);
            Gated::load(config, hidden, weights, &projections, &inside(names.gate_up))
        };
        match layer.mlp {
            MlpConfig::Gated(config) => gated(config).map(Self::Gated),
            MlpConfig::Plain { inner, activation, bias } => {
                let load = if decoder.has_transposed_matrices {
                    Linear::load_transposed
                } else {
                    Linear::load
                };
                Ok(Self::Plain {
                    up: load(weights, &inside(names.up), (inner, hidden), bias)?,
                    down: load(weights, &inside(names.down), (hidden, inner), bias)?,
                    activation,
                })
            }
            MlpConfig::Experts(config) => {
                let experts = Experts::load(config, hidden, weights, name)?;
                Ok(Self::Experts(Box::new(experts)))
            }
            MlpConfig::GatedBesideExperts(config, experts) => {
                let experts = Experts::load(experts, hidden, weights, name)?;
                let parts = (gated(config)?, experts);
                let both = GatedBesideExperts::load(parts, layer.norm, hidden, weights, name)?;
                Ok(Self::GatedBesideExperts(Box::new(both)))
            }
        }
    }
}
