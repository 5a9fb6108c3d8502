//! Linear layers.

use candle_core::{CpuStorage, Error, Result, Storage, Tensor};
use maskwright_kernels::{self as kernels, WeightSlice};

use crate::error;
use crate::model::checkpoint::Weights;

/// y = x · Wᵀ + b, with W as (out, in).
#[derive(Clone, Debug)]
pub(super) struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
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

    /// The layer's output for each row of `x`: (rows, in) to (rows, out), in the dtype of `x`.
    pub(super) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = if x.device().is_cpu() {
            product_on_cpu(x, &self.weight)?
        } else {
            x.matmul(&self.weight.t()?)?
        };
        match &self.bias {
            None => Ok(y),
            Some(bias) => y.broadcast_add(&bias.to_dtype(y.dtype())?),
        }
    }
}

/// x · Wᵀ for `f32` rows.
fn product_on_cpu(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (rows, k) = x.dims2()?;
    let columns = weight.dim(0)?;
    let (storage, layout) = weight.storage_and_layout();
    let Storage::Cpu(numbers) = &*storage else {
        return Err(Error::msg("weights and activations are on different devices"));
    };
    let from = layout.start_offset();
    let to = from + layout.shape().elem_count();
    // Weights are kept as they were loaded: contiguous.
    let weights = match numbers {
        CpuStorage::F32(numbers) => WeightSlice::F32(&numbers[from..to]),
        CpuStorage::F16(numbers) => WeightSlice::F16(&numbers[from..to]),
        CpuStorage::BF16(numbers) => WeightSlice::BF16(&numbers[from..to]),
        _ => return Err(Error::msg("weights are f32, f16 or bf16")),
    };
    let y = with_numbers(x, |x| kernels::linear(x, weights, k))?;
    Tensor::from_vec(y, (rows, columns), x.device())
}

/// Call a function with the `f32` numbers of a tensor on the CPU, row-major.
pub(super) fn with_numbers<T>(x: &Tensor, f: impl FnOnce(&[f32]) -> T) -> Result<T> {
    let x = x.contiguous()?;
    let (storage, layout) = x.storage_and_layout();
    match &*storage {
        Storage::Cpu(CpuStorage::F32(numbers)) => {
            let from = layout.start_offset();
            Ok(f(&numbers[from..from + layout.shape().elem_count()]))
        }
        _ => Err(Error::msg("the numbers are not f32 on the CPU")),
    }
}
