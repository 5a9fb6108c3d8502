//! Linear layers.

use std::sync::Arc;

use candle_core::{CpuStorage, Error, Result, Storage, Tensor};
use maskwright_kernels::{PackedWeights, WeightSlice};

use crate::error;
use crate::model::candle_error::candle_error;
use crate::model::checkpoint::{MatrixData, Weights};

/// y = x · Wᵀ + b, with W as (out, in).
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) weight: Matrix,
    pub(super) bias: Option<Tensor>,
}

/// A weight matrix (out, in), as the products of its device want it.
#[derive(Clone, Debug)]
pub(super) enum Matrix {
    /// On the CPU, of `f32`, `f16` or `bf16`.
    Packed(Arc<PackedWeights>),
    /// On other devices.
    Tensor(Tensor),
}

impl Matrix {
    /// Packs a matrix on the CPU.
    fn new(weight: Tensor) -> error::Result<Self> {
        if weight.device().is_cpu() {
            pack(&weight).map(|packed| Self::Packed(Arc::new(packed))).map_err(candle_error)
        } else {
            Ok(Self::Tensor(weight))
        }
    }

    /// Takes a matrix (out, in) out of a checkpoint.
    pub(super) fn load(weights: &Weights, name: &str, shape: [usize; 2]) -> error::Result<Self> {
        match weights.matrix(name, shape)? {
            MatrixData::Tensor(weight) => Self::new(weight),
            MatrixData::Blocks(format, blocks) => {
                let blocks = WeightSlice::Blocks(format, &blocks);
                Ok(Self::Packed(Arc::new(PackedWeights::new(blocks, shape[1]))))
            }
        }
    }

    /// The numbers on the CPU.
    pub(super) fn packed(&self) -> Result<&PackedWeights> {
        match self {
            Self::Packed(weights) => Ok(weights),
            Self::Tensor(_) => Err(Error::msg("the weights are not on the CPU")),
        }
    }

    /// The tensor on another device.
    pub(super) fn tensor(&self) -> Result<&Tensor> {
        match self {
            Self::Packed(_) => Err(Error::msg("the weights are on the CPU")),
            Self::Tensor(weight) => Ok(weight),
        }
    }
}

fn pack(weight: &Tensor) -> Result<PackedWeights> {
    let k = weight.dim(1)?;
    let weight = weight.contiguous()?;
    let (storage, layout) = weight.storage_and_layout();
    let from = layout.start_offset();
    let part = from..from + layout.shape().elem_count();
    let numbers = match &*storage {
        Storage::Cpu(CpuStorage::F32(numbers)) => WeightSlice::F32(&numbers[part]),
        Storage::Cpu(CpuStorage::F16(numbers)) => WeightSlice::F16(&numbers[part]),
        Storage::Cpu(CpuStorage::BF16(numbers)) => WeightSlice::BF16(&numbers[part]),
        _ => return Err(Error::msg("weights on the CPU are f32, f16 or bf16")),
    };
    Ok(PackedWeights::new(numbers, k))
}

impl Linear {
    /// A layer without bias.
    pub(super) fn new(weight: Matrix) -> Self {
        Self { weight, bias: None }
    }

    /// Takes a layer's tensors out of a checkpoint.
    pub(super) fn load(
        weights: &Weights,
        name: &str,
        (input, output): (usize, usize),
        bias: bool,
    ) -> error::Result<Self> {
        let weight = Matrix::load(weights, &format!("{name}.weight"), [output, input])?;
        let bias = bias.then(|| weights.get(&format!("{name}.bias"), &[output])).transpose()?;
        Ok(Self { weight, bias })
    }

    /// The layer's output for each row of `x`, on devices other than the CPU: (rows, in) to
    /// (rows, out).
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.matmul(&self.weight.tensor()?.t()?)?;
        match &self.bias {
            None => Ok(y),
            Some(bias) => y.broadcast_add(bias),
        }
    }
}
