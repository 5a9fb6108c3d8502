//! A tensor as it lies in a file.

use std::borrow::Cow;
use std::path::Path;

use candle_core::{DType, Device, Result, Tensor};
use maskwright_kernels::BlockFormat;

/// The numbers of a tensor: the encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    /// Numbers of this dtype, little-endian.
    Plain(DType),
    /// Quantised blocks, along the last dimension.
    Blocks(BlockFormat),
}

/// Encoded numbers.
pub(crate) struct EncodedNumbers<'a> {
    pub(crate) kind: NumberKind,
    pub(crate) bytes: Cow<'a, [u8]>,
}

/// A tensor in a file.
pub(crate) struct StoredTensor<'a> {
    /// Its name in the file.
    pub(crate) name: &'a str,
    pub(crate) path: &'a Path,
    /// The dimensions, the one whose numbers lie side by side last.
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: EncodedNumbers<'a>,
}

impl<'a> EncodedNumbers<'a> {
    pub(crate) fn new(kind: NumberKind, bytes: Cow<'a, [u8]>) -> Self {
        Self { kind, bytes }
    }

    pub(crate) fn from_f32(numbers: impl Iterator<Item = f32>) -> Self {
        let bytes = numbers.flat_map(f32::to_le_bytes).collect();
        Self { kind: NumberKind::Plain(DType::F32), bytes: Cow::Owned(bytes) }
    }

    /// The numbers in single precision.
    pub(crate) fn to_f32(&self) -> Vec<f32> {
        let two = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
        match self.kind {
            NumberKind::Plain(DType::F16) => {
                let numbers = self.bytes.chunks_exact(2).map(two);
                numbers.map(|bits| half::f16::from_bits(bits).to_f32()).collect()
            }
            NumberKind::Plain(DType::BF16) => {
                let numbers = self.bytes.chunks_exact(2).map(two);
                numbers.map(|bits| half::bf16::from_bits(bits).to_f32()).collect()
            }
            NumberKind::Plain(_) => {
                let numbers = self.bytes.chunks_exact(4);
                numbers.map(|n| f32::from_le_bytes([n[0], n[1], n[2], n[3]])).collect()
            }
            NumberKind::Blocks(format) => {
                let blocks = self.bytes.len() / format.bytes();
                let mut numbers = vec![0.0; blocks * format.weights()];
                format.read(&self.bytes, &mut numbers);
                numbers
            }
        }
    }

    /// The tensor in the dtype of the file; of quantised blocks in single precision.
    pub(crate) fn to_tensor(&self, shape: &[usize], device: &Device) -> Result<Tensor> {
        match self.kind {
            NumberKind::Plain(dtype) => Tensor::from_raw_buffer(&self.bytes, dtype, shape, device),
            NumberKind::Blocks(_) => Tensor::from_vec(self.to_f32(), shape, device),
        }
    }
}
