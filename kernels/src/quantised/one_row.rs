//! The product of one row with quantised panels: a strategy for decoding one sequence.
//!
//! Several rows want the weights as `f32` in the cache, because each is used again. A single row uses each
//! once, so it is multiplied where it was made, in a register: the same operations in the same order, and
//! the same bits, without the way through memory.

use pulp::{NullaryFnOnce, Simd};

use super::block_format::BlockFormat;
use super::codes::Codes;
use super::panels::{HALF, QuantisedPanels, QuantisedSlice, Scales, UNIT};
use crate::linear::PANEL;

impl QuantisedSlice<'_> {
    /// Writes the product of a row with the first panels, for as many columns as `y` holds. A panel has
    /// `N` registers.
    #[inline(always)]
    pub(crate) fn multiply_row<S: Simd, const N: usize>(self, simd: S, x: &[f32], y: &mut [f32]) {
        let mut panel = self.from;
        // Four sums side by side: so many that none waits for the one before it.
        let mut rest = y;
        while !rest.is_empty() {
            let together = match N {
                1 if rest.len() > 3 * PANEL => 4,
                2 if rest.len() > PANEL => 2,
                _ => 1,
            };
            let (y, others) = rest.split_at_mut(rest.len().min(together * PANEL));
            match together {
                4 => self.dispatch::<S, N, 4>(simd, panel, x, y),
                2 => self.dispatch::<S, N, 2>(simd, panel, x, y),
                _ => self.dispatch::<S, N, 1>(simd, panel, x, y),
            }
            panel += together;
            rest = others;
        }
    }

    #[inline(always)]
    fn dispatch<S: Simd, const N: usize, const P: usize>(
        self,
        simd: S,
        panel: usize,
        x: &[f32],
        y: &mut [f32],
    ) {
        let panels = self.panels;
        if panels.format == BlockFormat::MXFP4 {
            return simd.vectorize(OneRow::<S, N, P, 4, 0, true> { simd, panels, panel, x, y });
        }
        match panels.format.bits() {
            (8, _) => simd.vectorize(OneRow::<S, N, P, 8, 0, false> { simd, panels, panel, x, y }),
            (4, 0) => simd.vectorize(OneRow::<S, N, P, 4, 0, false> { simd, panels, panel, x, y }),
            (4, 1) => simd.vectorize(OneRow::<S, N, P, 4, 1, false> { simd, panels, panel, x, y }),
            (4, _) => simd.vectorize(OneRow::<S, N, P, 4, 2, false> { simd, panels, panel, x, y }),
            (_, 0) => simd.vectorize(OneRow::<S, N, P, 2, 0, false> { simd, panels, panel, x, y }),
            (_, _) => simd.vectorize(OneRow::<S, N, P, 2, 1, false> { simd, panels, panel, x, y }),
        }
    }
}

/// The product of a row with `P` panels of `N` registers.
struct OneRow<
    'a,
    S,
    const N: usize,
    const P: usize,
    const LOW: u32,
    const HIGH: u32,
    const E2M1: bool,
> {
    simd: S,
    panels: &'a QuantisedPanels,
    panel: usize,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl<S: Simd, const N: usize, const P: usize, const LOW: u32, const HIGH: u32, const E2M1: bool>
    NullaryFnOnce for OneRow<'_, S, N, P, LOW, HIGH, E2M1>
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, panels, panel, x, y } = self;
        let (bits, group) = ((LOW + HIGH) as usize, panels.format.group());
        let of_panel = panels.k / UNIT * bits;
        let words: [&[[u32; PANEL]]; P] =
            std::array::from_fn(|p| &panels.words[(panel + p) * of_panel..][..of_panel]);
        let mut sums = [[simd.splat_f32s(0.0); N]; P];
        for (unit, x) in x.as_chunks::<UNIT>().0.iter().enumerate() {
            let words: [&[[u32; PANEL]]; P] =
                std::array::from_fn(|p| &words[p][unit * bits..(unit + 1) * bits]);
            let (first, second) = x.split_at(HALF);
            let k = unit * UNIT;
            let mut scales: [Scales; P] =
                std::array::from_fn(|p| panels.scale_and_offset(panel + p, k));
            add::<S, N, P, LOW, HIGH, E2M1, 0>(simd, words, &scales, first, &mut sums);
            if group == HALF {
                scales = std::array::from_fn(|p| panels.scale_and_offset(panel + p, k + HALF));
            }
            add::<S, N, P, LOW, HIGH, E2M1, 1>(simd, words, &scales, second, &mut sums);
        }
        let mut numbers = [0.0; PANEL];
        for (sums, y) in sums.iter().zip(y.chunks_mut(PANEL)) {
            S::as_mut_simd_f32s(&mut numbers).0.copy_from_slice(sums);
            y.copy_from_slice(&numbers[..y.len()]);
        }
    }
}

/// Adds the products with 16 numbers of the row: the first or the second half of a unit. Loops, because
/// closures with many instructions of a register are not inlined.
#[inline(always)]
fn add<
    S: Simd,
    const N: usize,
    const P: usize,
    const LOW: u32,
    const HIGH: u32,
    const E2M1: bool,
    const HALF_INDEX: usize,
>(
    simd: S,
    words: [&[[u32; PANEL]]; P],
    scales: &[Scales; P],
    x: &[f32],
    sums: &mut [[S::f32s; N]; P],
) {
    let codes = Codes::<S, LOW, HIGH, E2M1>::new(simd);
    let of_word = 32 / LOW as usize;
    let none = simd.splat_u32s(0);
    let mut high = [[none; N]; P];
    for (p, high) in high.iter_mut().enumerate() {
        for (n, high) in high.iter_mut().enumerate() {
            *high = codes.high::<HALF_INDEX>(words[p], n);
        }
    }
    for index in 0..HALF / of_word {
        let mut low = [[none; N]; P];
        for (p, low) in low.iter_mut().enumerate() {
            for (n, low) in low.iter_mut().enumerate() {
                *low = codes.low::<HALF_INDEX>(words[p], index, n);
            }
        }
        for k in 0..of_word {
            let x = simd.splat_f32s(x[index * of_word + k]);
            for p in 0..P {
                let scale = S::as_simd_f32s(&scales[p].scale).0;
                let offset = S::as_simd_f32s(&scales[p].offset).0;
                for n in 0..N {
                    let number = codes.number(low[p][n], high[p][n]);
                    let weight = simd.mul_add_f32s(number, scale[n], offset[n]);
                    sums[p][n] = simd.mul_add_f32s(x, weight, sums[p][n]);
                    (low[p][n], high[p][n]) = codes.next(low[p][n], high[p][n]);
                }
            }
        }
    }
}
