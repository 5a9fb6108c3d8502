//! Weights of 16 bits, `f16` or `bf16`, in panels of 16 columns.
//!
//! A word of a column holds two consecutive numbers of k, so that a shift or a mask makes a register of `f32` of
//! each, without another order of lanes:
//!
//! ```text
//! k0, k1:  c0 c1 … c15      word = bits of k0 | bits of k1 << 16
//! k2, k3:  c0 c1 … c15
//! ```
//!
//! A `bf16` is the upper half of an `f32`. An `f16` moved to where an `f32` has its exponent and fraction
//! reads as a number 2¹¹² times smaller. Infinities and NaN would become finite this way:
//! [`HalfPanels::of_f16`] refuses a matrix that holds one, which is then packed as `f32`.
//!
//! A single row multiplies registers where they are made: each weight is used once, and the way through the cache
//! costs more than the product. Operations and their order are the same as of several rows.

use std::ops::Range;

use half::{bf16, f16};
use pulp::Simd;
use rayon::prelude::*;

use crate::linear::PANEL;
use crate::prefetch::Line;

/// The kind of the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum HalfKind {
    F16,
    BF16,
}

/// A matrix of 16-bit numbers in panels of 16 columns; the last is filled up with zeros, and so is an odd k.
#[derive(Clone, Debug)]
pub(crate) struct HalfPanels {
    kind: HalfKind,
    k: usize,
    /// (panels, k / 2, 16).
    words: Vec<[u32; PANEL]>,
}

/// Some panels.
#[derive(Clone, Copy)]
pub(crate) struct HalfSlice<'a> {
    panels: &'a HalfPanels,
    /// The first panel.
    from: usize,
}

impl HalfPanels {
    /// Packs a matrix (columns, k), unless a number of it is not finite.
    pub(crate) fn of_f16(weights: &[f16], k: usize) -> Option<Self> {
        let is_finite = weights.par_iter().all(|number| number.is_finite());
        is_finite.then(|| Self { kind: HalfKind::F16, k, words: words(weights, k, f16::to_bits) })
    }

    /// Packs a matrix (columns, k).
    pub(crate) fn of_bf16(weights: &[bf16], k: usize) -> Self {
        Self { kind: HalfKind::BF16, k, words: words(weights, k, bf16::to_bits) }
    }

    pub(crate) fn slice(&self, from: usize) -> HalfSlice<'_> {
        HalfSlice { panels: self, from }
    }

    /// Writes the weights of a column.
    pub(crate) fn read(&self, column: usize, y: &mut [f32]) {
        let words = &self.words[column / PANEL * self.k.div_ceil(2)..];
        for (k, y) in y.iter_mut().enumerate().take(self.k) {
            let bits = (words[k / 2][column % PANEL] >> (k % 2 * 16)) as u16;
            *y = match self.kind {
                HalfKind::F16 => f16::from_bits(bits).to_f32(),
                HalfKind::BF16 => bf16::from_bits(bits).to_f32(),
            };
        }
    }
}

/// The words of a matrix (columns, k).
fn words<T: Copy + Sync>(weights: &[T], k: usize, bits: fn(T) -> u16) -> Vec<[u32; PANEL]> {
    if k == 0 {
        return Vec::new();
    }
    let (columns, pairs) = (weights.len() / k, k.div_ceil(2));
    let mut all = vec![[0; PANEL]; columns.div_ceil(PANEL) * pairs];
    all.par_chunks_mut(pairs).zip(weights.par_chunks(PANEL * k)).for_each(|(panel, rows)| {
        for (column, row) in rows.chunks_exact(k).enumerate() {
            for (words, pair) in panel.iter_mut().zip(row.chunks(2)) {
                let bits = |number: Option<&T>| number.map_or(0, |number| u32::from(bits(*number)));
                words[column] = bits(pair.first()) | bits(pair.get(1)) << 16;
            }
        }
    });
    all
}

impl<'a> HalfSlice<'a> {
    /// Writes the numbers of a panel from the number `from` of k on, which is even: (numbers, 16).
    #[inline(always)]
    pub(crate) fn widen<S: Simd, const N: usize>(
        self,
        simd: S,
        panel: usize,
        from: usize,
        y: &mut [f32],
    ) {
        match self.panels.kind {
            HalfKind::F16 => self.widen_kind::<S, N, false>(simd, panel, from, y),
            HalfKind::BF16 => self.widen_kind::<S, N, true>(simd, panel, from, y),
        }
    }

    #[inline(always)]
    fn widen_kind<S: Simd, const N: usize, const IS_BF16: bool>(
        self,
        simd: S,
        panel: usize,
        from: usize,
        y: &mut [f32],
    ) {
        let words = &self.words(panel)[from / 2..];
        for (words, y) in words.iter().zip(y.chunks_mut(2 * PANEL)) {
            let words = S::as_simd_u32s(words).0;
            let y = S::as_mut_simd_f32s(y).0;
            for n in 0..N {
                let (first, second) = numbers::<S, IS_BF16>(simd, words[n]);
                y[n] = first;
                // The last pair of an odd k has one number.
                if let Some(y) = y.get_mut(N + n) {
                    *y = second;
                }
            }
        }
    }

    /// Writes the product of a row with the first panels, for as many columns as `y` holds. A panel has `N`
    /// registers.
    #[inline(always)]
    pub(crate) fn multiply_row<S: Simd, const N: usize>(self, simd: S, x: &[f32], y: &mut [f32]) {
        match self.panels.kind {
            HalfKind::F16 => self.multiply_row_of_kind::<S, N, false>(simd, x, y),
            HalfKind::BF16 => self.multiply_row_of_kind::<S, N, true>(simd, x, y),
        }
    }

    #[inline(always)]
    fn multiply_row_of_kind<S: Simd, const N: usize, const IS_BF16: bool>(
        self,
        simd: S,
        x: &[f32],
        y: &mut [f32],
    ) {
        let mut panel = 0;
        let mut rest = y;
        while !rest.is_empty() {
            // Eight sums side by side: so many that none waits for the one before it.
            let together = match N {
                1 if rest.len() > 7 * PANEL => 8,
                2 if rest.len() > 3 * PANEL => 4,
                4 if rest.len() > PANEL => 2,
                _ => 1,
            };
            let (y, others) = rest.split_at_mut(rest.len().min(together * PANEL));
            match together {
                8 => self.multiply::<S, N, 8, IS_BF16>(simd, panel, x, y),
                4 => self.multiply::<S, N, 4, IS_BF16>(simd, panel, x, y),
                2 => self.multiply::<S, N, 2, IS_BF16>(simd, panel, x, y),
                _ => self.multiply::<S, N, 1, IS_BF16>(simd, panel, x, y),
            }
            panel += together;
            rest = others;
        }
    }

    /// Writes the product of a row with `P` panels. Loops, because closures with many instructions of a register
    /// are not inlined.
    #[inline(always)]
    fn multiply<S: Simd, const N: usize, const P: usize, const IS_BF16: bool>(
        self,
        simd: S,
        panel: usize,
        x: &[f32],
        y: &mut [f32],
    ) {
        let pairs = x.len().div_ceil(2);
        let words: [&[[u32; PANEL]]; P] = std::array::from_fn(|p| &self.words(panel + p)[..pairs]);
        let mut sums = [[simd.splat_f32s(0.0); N]; P];
        for (index, x) in x.chunks(2).enumerate() {
            let first_x = simd.splat_f32s(x[0]);
            let second_x = x.get(1).map(|x| simd.splat_f32s(*x));
            for p in 0..P {
                let words = S::as_simd_u32s(&words[p][index]).0;
                for n in 0..N {
                    let (first, second) = numbers::<S, IS_BF16>(simd, words[n]);
                    sums[p][n] = simd.mul_add_f32s(first_x, first, sums[p][n]);
                    if let Some(x) = second_x {
                        sums[p][n] = simd.mul_add_f32s(x, second, sums[p][n]);
                    }
                }
            }
        }
        let mut numbers = [0.0; PANEL];
        for (sums, y) in sums.iter().zip(y.chunks_mut(PANEL)) {
            S::as_mut_simd_f32s(&mut numbers).0.copy_from_slice(sums);
            y.copy_from_slice(&numbers[..y.len()]);
        }
    }

    /// The cache lines of a range of k of a panel; empty beyond the last panel.
    pub(crate) fn lines(self, panel: usize, part: Range<usize>) -> &'a [Line] {
        let start = (self.from + panel) * self.panels.k.div_ceil(2);
        let words = start + part.start / 2..start + part.end.div_ceil(2);
        bytemuck::cast_slice(self.panels.words.get(words).unwrap_or(&[]))
    }

    /// The words of a panel.
    fn words(self, panel: usize) -> &'a [[u32; PANEL]] {
        let pairs = self.panels.k.div_ceil(2);
        &self.panels.words[(self.from + panel) * pairs..][..pairs]
    }
}

/// The first and the second number of each word.
#[inline(always)]
fn numbers<S: Simd, const IS_BF16: bool>(simd: S, words: S::u32s) -> (S::f32s, S::f32s) {
    let first = simd.wrapping_dyn_shl_u32s(words, simd.splat_u32s(16));
    let second = simd.and_u32s(words, simd.splat_u32s(0xffff_0000));
    if IS_BF16 {
        return (simd.transmute_f32s_u32s(first), simd.transmute_f32s_u32s(second));
    }
    (widen_half(simd, first), widen_half(simd, second))
}

/// The numbers of half precision whose bits are the upper ones of each lane.
#[inline(always)]
fn widen_half<S: Simd>(simd: S, bits: S::u32s) -> S::f32s {
    /// 2¹¹².
    const FACTOR: f32 = f32::from_bits((127 + 112) << 23);
    let sign = simd.and_u32s(bits, simd.splat_u32s(0x8000_0000));
    let rest = simd.wrapping_dyn_shr_u32s(bits, simd.splat_u32s(3));
    let rest = simd.and_u32s(rest, simd.splat_u32s(0x0fff_e000));
    let small = simd.transmute_f32s_u32s(simd.or_u32s(sign, rest));
    simd.mul_f32s(small, simd.splat_f32s(FACTOR))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::{PackedWeights, WeightSlice, linear};
    use crate::random::Random;

    #[test]
    fn products_have_the_bits_of_those_with_wide_weights() {
        // Odd lengths, columns that fill no panel and no tile.
        for (k, columns) in [(1, 1), (2, 3), (7, 16), (33, 150), (1030, 37), (1031, 260)] {
            let mut random = Random(3);
            let (x, w) = (random.numbers(9 * k), random.numbers(columns * k));
            let half: Vec<f16> = w.iter().map(|x| f16::from_f32(*x)).collect();
            let brain: Vec<bf16> = w.iter().map(|x| bf16::from_f32(*x)).collect();
            for (narrow, wide) in [
                (WeightSlice::F16(&half), half.iter().map(|x| x.to_f32()).collect::<Vec<f32>>()),
                (WeightSlice::BF16(&brain), brain.iter().map(|x| x.to_f32()).collect()),
            ] {
                let narrow = PackedWeights::new(narrow, k);
                let expected = PackedWeights::new(WeightSlice::F32(&wide), k);
                for rows in [1, 2, 9] {
                    let x = &x[..rows * k];
                    assert_eq!(linear(x, &narrow), linear(x, &expected), "{k} {columns} {rows}");
                }
                let mut row = vec![0.0; k];
                for (column, expected) in wide.chunks_exact(k).enumerate() {
                    narrow.read(column, &mut row);
                    assert_eq!(row, expected);
                }
            }
        }
    }

    #[test]
    fn all_numbers_of_half_precision_are_what_they_are() {
        let is_finite = |number: &f16| number.is_finite();
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(is_finite).collect();
        let packed = PackedWeights::new(WeightSlice::F16(&all), 1);
        let expected: Vec<f32> = all.iter().map(|number| number.to_f32()).collect();
        assert_eq!(linear(&[1.0], &packed), expected);
        assert_eq!(linear(&[1.0; 2], &packed), [&expected[..]; 2].concat());
    }

    #[test]
    fn infinities_and_nan_are_themselves() {
        let half = [f16::INFINITY, f16::ONE, f16::NAN];
        let y = linear(&[2.0], &PackedWeights::new(WeightSlice::F16(&half), 1));
        assert!(y[..2] == [f32::INFINITY, 2.0] && y[2].is_nan());
        let brain = [bf16::NEG_INFINITY, bf16::ONE, bf16::NAN];
        let y = linear(&[2.0], &PackedWeights::new(WeightSlice::BF16(&brain), 1));
        assert!(y[..2] == [f32::NEG_INFINITY, 2.0] && y[2].is_nan());
    }
}
