//! Linear layers, matrices and vectors: the weights of a decoder.

use std::sync::Arc;

use candle_core::{CpuStorage, DType, Error, Result, Storage, Tensor};
use maskwright_kernels::{PackedWeights, WeightSlice};

use crate::error;
use crate::model::candle_error::candle_error;
use crate::model::checkpoint::{MatrixData, Weights};

/// y = x · Wᵀ + b, with W as (out, in).
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) weight: Matrix,
    pub(super) bias: Option<Vector>,
}

/// A weight matrix (out, in), as the products of its device want it.
#[derive(Clone, Debug)]
pub(super) enum Matrix {
    /// On the CPU, of `f32`, `f16`, `bf16` or quantised.
    Packed(Arc<PackedWeights>),
    /// On other devices.
    Tensor(Tensor),
}

impl Matrix {
    /// Takes the matrix of this name and shape (out, in) out of a checkpoint.
    pub(super) fn load(
        weights: &Weights,
        name: &str,
        (output, input): (usize, usize),
    ) -> error::Result<Self> {
        match weights.matrix(name, [output, input])? {
            MatrixData::Tensor(weight) => Self::new(weight),
            MatrixData::Blocks(format, blocks) => {
                let blocks = WeightSlice::Blocks(format, &blocks);
                Ok(Self::Packed(Arc::new(PackedWeights::new(blocks, input))))
            }
        }
    }

    /// Packs a matrix (out, in) on the CPU.
    pub(super) fn new(weight: Tensor) -> error::Result<Self> {
        if weight.device().is_cpu() {
            pack(&weight).map(|packed| Self::Packed(Arc::new(packed))).map_err(candle_error)
        } else {
            Ok(Self::Tensor(weight.contiguous().map_err(candle_error)?))
        }
    }

    /// Writes a row, on the CPU.
    pub(super) fn read(&self, row: usize, y: &mut [f32]) -> Result<()> {
        self.packed()?.read(row, y);
        Ok(())
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

/// A bias, the weights of a norm, or sinks.
#[derive(Clone, Debug)]
pub(super) enum Vector {
    /// On the CPU.
    Numbers(Arc<[f32]>),
    /// On other devices.
    Tensor(Tensor),
}

impl Vector {
    /// Takes the vector of this name and length out of a checkpoint.
    pub(super) fn load(weights: &Weights, name: &str, len: usize) -> error::Result<Self> {
        Self::new(weights.get(name, &[len])?).map_err(candle_error)
    }

    pub(super) fn new(tensor: Tensor) -> Result<Self> {
        if tensor.device().is_cpu() {
            // Processors compute in `f32`.
            let numbers = tensor.to_dtype(DType::F32)?.to_vec1::<f32>()?;
            Ok(Self::Numbers(numbers.into()))
        } else {
            Ok(Self::Tensor(tensor))
        }
    }

    /// The vector plus 1, in `f32` on every device.
    pub(super) fn plus_one(self) -> error::Result<Self> {
        match self {
            Self::Numbers(numbers) => {
                Ok(Self::Numbers(numbers.iter().map(|number| number + 1.0).collect()))
            }
            Self::Tensor(tensor) => {
                let plus_one = || tensor.to_dtype(DType::F32)? + 1.0;
                plus_one().map(Self::Tensor).map_err(candle_error)
            }
        }
    }

    /// The numbers on the CPU.
    pub(super) fn numbers(&self) -> Result<&[f32]> {
        match self {
            Self::Numbers(numbers) => Ok(numbers),
            Self::Tensor(_) => Err(Error::msg("the weights are not on the CPU")),
        }
    }

    /// The tensor on another device.
    pub(super) fn tensor(&self) -> Result<&Tensor> {
        match self {
            Self::Numbers(_) => Err(Error::msg("the weights are on the CPU")),
            Self::Tensor(tensor) => Ok(tensor),
        }
    }
}

impl Linear {
    /// Takes a layer's tensors, `name.weight` (out, in) and `name.bias`, out of a checkpoint.
    pub(super) fn load(
        weights: &Weights,
        name: &str,
        (output, input): (usize, usize),
        bias: bool,
    ) -> error::Result<Self> {
        let weight = Matrix::load(weights, &format!("{name}.weight"), (output, input))?;
        let load = || Vector::load(weights, &format!("{name}.bias"), output);
        Ok(Self { weight, bias: bias.then(load).transpose()? })
    }

    /// The same of a matrix that lies as (in, out), unless the checkpoint is a GGUF file.
    pub(super) fn load_transposed(
        weights: &Weights,
        name: &str,
        (output, input): (usize, usize),
        bias: bool,
    ) -> error::Result<Self> {
        if weights.is_gguf() {
            return Self::load(weights, name, (output, input), bias);
        }
        let weight = weights.get(&format!("{name}.weight"), &[input, output])?;
        let weight = Matrix::new(weight.t().map_err(candle_error)?)?;
        let load = || Vector::load(weights, &format!("{name}.bias"), output);
        Ok(Self { weight, bias: bias.then(load).transpose()? })
    }

    /// A layer of a matrix (out, in) and perhaps a bias.
    pub(super) fn of_tensors(weight: Tensor, bias: Option<Tensor>) -> error::Result<Self> {
        let bias = bias.map(Vector::new).transpose().map_err(candle_error)?;
        Ok(Self { weight: Matrix::new(weight)?, bias })
    }

    /// The layer's output for each row of `x`, on devices other than the CPU: (rows, in) to
    /// (rows, out).
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.matmul(&self.weight.tensor()?.t()?)?;
        match &self.bias {
            None => Ok(y),
            Some(bias) => y.broadcast_add(bias.tensor()?),
        }
    }
}
