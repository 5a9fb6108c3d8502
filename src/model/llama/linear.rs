//! Linear layers.

use candle_core::{Result, Tensor};

use crate::error;
use crate::model::checkpoint::Weights;

/// y = x · Wᵀ + b, with W as (out, in).
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) weight: Tensor,
    pub(super) bias: Option<Tensor>,
}

impl Linear {
    /// A layer without bias.
    pub(super) fn new(weight: Tensor) -> Self {
        Self { weight, bias: None }
    }

    /// Takes a layer's tensors out of a checkpoint.
    pub(super) fn load(
        weights: &Weights,
        name: &str,
        (input, output): (usize, usize),
        bias: bool,
    ) -> error::Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &[output, input])?;
        let bias = bias.then(|| weights.get(&format!("{name}.bias"), &[output])).transpose()?;
        Ok(Self { weight, bias })
    }

    /// The layer's output for each row of `x`, on devices other than the CPU: (rows, in) to
    /// (rows, out).
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.matmul(&self.weight.t()?)?;
        match &self.bias {
            None => Ok(y),
            Some(bias) => y.broadcast_add(bias),
        }
    }
}
