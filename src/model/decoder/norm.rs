//! Norms.

use super::linear::Vector;
use crate::error;
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::{NormConfig, NormKind};

/// A norm: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"; Ba et al. 2016, "Layer
/// Normalization".
#[derive(Clone, Debug)]
pub(super) struct Norm {
    /// The weights, 1 added where the formula says so.
    pub(super) weight: Vector,
    pub(super) bias: Option<Vector>,
    pub(super) kind: NormKind,
    pub(super) eps: f32,
}

impl Norm {
    /// Takes `name.weight`, and `name.bias` where the kind has one, out of a checkpoint.
    pub(super) fn load(
        config: NormConfig,
        weights: &Weights,
        name: &str,
        len: usize,
    ) -> error::Result<Self> {
        let mut weight = Vector::load(weights, &format!("{name}.weight"), len)?;
        if config.kind == NormKind::RmsPlusOne {
            weight = weight.plus_one()?;
        }
        let bias = || Vector::load(weights, &format!("{name}.bias"), len);
        let bias = (config.kind == NormKind::LayerWithBias).then(bias).transpose()?;
        Ok(Self { weight, bias, kind: config.kind, eps: config.eps as f32 })
    }

    /// A norm with these weights, on the CPU.
    pub(super) fn with_weights(config: NormConfig, weights: impl IntoIterator<Item = f32>) -> Self {
        let weight = Vector::Numbers(weights.into_iter().collect());
        Self { weight, bias: None, kind: config.kind, eps: config.eps as f32 }
    }
}
