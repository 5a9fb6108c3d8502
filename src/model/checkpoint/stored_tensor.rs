//! A tensor as it lies in a file.

use std::borrow::Cow;
use std::ops::BitAnd;
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

    /// The index of the first number that is infinite or NaN; of quantised blocks, of the first block whose
    /// scale is.
    pub(crate) fn first_damaged(&self) -> Option<usize> {
        match self.kind {
            NumberKind::Plain(DType::F16) => {
                first_not_finite(&self.bytes, 0x7c00, u16::from_le_bytes)
            }
            NumberKind::Plain(DType::BF16) => {
                first_not_finite(&self.bytes, 0x7f80, u16::from_le_bytes)
            }
            NumberKind::Plain(_) => first_not_finite(&self.bytes, 0x7f80_0000, u32::from_le_bytes),
            NumberKind::Blocks(format) => format.first_damaged(&self.bytes),
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

/// The index of the first number of `N` bytes whose bits `exponent` are all set: an infinity or NaN.
fn first_not_finite<T, const N: usize>(
    bytes: &[u8],
    exponent: T,
    number: fn([u8; N]) -> T,
) -> Option<usize>
where
    T: Copy + Default + Ord + BitAnd<Output = T>,
{
    /// Numbers whose greatest exponent is found without a branch.
    const AT_ONCE: usize = 1024;
    let (numbers, _) = bytes.as_chunks::<N>();
    let is_damaged = |numbers: &[[u8; N]]| {
        let exponents = numbers.iter().map(|&bytes| number(bytes) & exponent);
        exponents.fold(T::default(), Ord::max) == exponent
    };
    let chunk = numbers.chunks(AT_ONCE).position(is_damaged)?;
    let rest = &numbers[chunk * AT_ONCE..];
    let inside = rest.iter().position(|number| is_damaged(std::slice::from_ref(number)))?;
    Some(chunk * AT_ONCE + inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_not_finite_are_found() {
        for at in [0, 1, 1023, 1024, 2999] {
            for bad in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let with = |bad: f32| (0..3000).map(move |i| if i == at { bad } else { -1.5e4 });
                let found = |dtype, bytes: Vec<u8>| {
                    EncodedNumbers::new(NumberKind::Plain(dtype), bytes.into()).first_damaged()
                };
                for (bad, expected) in [(bad, Some(at)), (f32::MIN_POSITIVE, None)] {
                    let wide = with(bad).flat_map(f32::to_le_bytes).collect();
                    assert_eq!(found(DType::F32, wide), expected);
                    let half = with(bad).flat_map(|x| half::f16::from_f32(x).to_le_bytes());
                    assert_eq!(found(DType::F16, half.collect()), expected);
                    let brain = with(bad).flat_map(|x| half::bf16::from_f32(x).to_le_bytes());
                    assert_eq!(found(DType::BF16, brain.collect()), expected);
                }
            }
        }
    }
}
