//! A gated feed-forward part: that of a layer, or an expert.

use super::linear::Linear;
use crate::error;
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::GatedConfig;

/// A gated feed-forward part (Shazeer 2020, "GLU Variants Improve Transformer").
#[derive(Clone, Debug)]
pub(super) struct Gated {
    pub(super) config: GatedConfig,
    /// Gate and up: two layers, or one with both side by side.
    pub(super) inputs: Vec<Linear>,
    pub(super) down: Linear,
}

impl Gated {
    /// Loads the layers `gate`, `up` and `down`, or `fused` in place of the first two.
    pub(super) fn load(
        config: GatedConfig,
        hidden: usize,
        weights: &Weights,
        [gate, up, down]: &[String; 3],
        fused: &str,
    ) -> error::Result<Self> {
        let GatedConfig { inner, bias, is_fused, .. } = config;
        let linear = |name: &str, shape| Linear::load(weights, name, shape, bias);
        let inputs = if is_fused {
            vec![linear(fused, (2 * inner, hidden))?]
        } else {
            vec![linear(gate, (inner, hidden))?, linear(up, (inner, hidden))?]
        };
        Ok(Self { config, inputs, down: linear(down, (hidden, inner))? })
    }
}
