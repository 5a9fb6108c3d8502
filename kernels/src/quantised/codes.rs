//! Registers of `f32` from registers of words with codes.
//!
//! A number is made of a word by a shift, a mask, and the bits of 2²³, below which lies an integer's value:
//! nothing is rounded before code · scale + offset is, once.

use pulp::Simd;

use super::panels::{HALF, place};
use crate::linear::PANEL;

/// The bits of 2²³ in single precision. The numbers from there to 2²⁴ are the integers.
const INTEGERS: u32 = 0x4b00_0000;

/// The constants of codes with `LOW` lower and `HIGH` further bits, which are integers or, if `E2M1`,
/// floating-point numbers.
pub(super) struct Codes<S: Simd, const LOW: u32, const HIGH: u32, const E2M1: bool> {
    simd: S,
    low_mask: S::u32s,
    high_mask: S::u32s,
    low_shift: S::u32s,
    high_shift: S::u32s,
    integers: S::u32s,
    zero: S::f32s,
}

impl<S: Simd, const LOW: u32, const HIGH: u32, const E2M1: bool> Codes<S, LOW, HIGH, E2M1> {
    #[inline(always)]
    pub(super) fn new(simd: S) -> Self {
        Self {
            simd,
            low_mask: simd.splat_u32s((1 << LOW) - 1),
            high_mask: simd.splat_u32s(if HIGH == 1 { 1 << LOW } else { (1 << HIGH) - 1 }),
            low_shift: simd.splat_u32s(LOW),
            high_shift: simd.splat_u32s(HIGH),
            integers: simd.splat_u32s(INTEGERS),
            zero: simd.splat_f32s(f32::from_bits(INTEGERS)),
        }
    }

    /// The `n`-th register of lower bits: the `index`-th word of half a unit.
    #[inline(always)]
    pub(super) fn low<const HALF_INDEX: usize>(
        &self,
        words: &[[u32; PANEL]],
        index: usize,
        n: usize,
    ) -> S::u32s {
        let of_word = 32 / LOW as usize;
        // Halves of units begin with words.
        let (word, _) = place(HALF_INDEX * HALF + index * of_word, LOW);
        S::as_simd_u32s(&words[word]).0[n]
    }

    /// The `n`-th register of further bits of half a unit, where [`number`](Self::number) takes them.
    #[inline(always)]
    pub(super) fn high<const HALF_INDEX: usize>(
        &self,
        words: &[[u32; PANEL]],
        n: usize,
    ) -> S::u32s {
        let simd = self.simd;
        if HIGH == 0 {
            return simd.splat_u32s(0);
        }
        let (word, shift) = place(HALF_INDEX * HALF, HIGH);
        let high = S::as_simd_u32s(&words[LOW as usize + word]).0[n];
        // One bit of each number leaves room to shift it beside the lower bits once for all.
        match HIGH {
            1 if shift > LOW => simd.wrapping_dyn_shr_u32s(high, simd.splat_u32s(shift - LOW)),
            1 => simd.wrapping_dyn_shl_u32s(high, simd.splat_u32s(LOW - shift)),
            _ => high,
        }
    }

    /// The words after one number.
    #[inline(always)]
    pub(super) fn next(&self, low: S::u32s, high: S::u32s) -> (S::u32s, S::u32s) {
        let simd = self.simd;
        let low = simd.wrapping_dyn_shr_u32s(low, self.low_shift);
        match HIGH {
            0 => (low, high),
            _ => (low, simd.wrapping_dyn_shr_u32s(high, self.high_shift)),
        }
    }

    /// The numbers of the lowest codes: [`BlockFormat::number`](super::BlockFormat::number).
    #[inline(always)]
    pub(super) fn number(&self, low: S::u32s, high: S::u32s) -> S::f32s {
        let simd = self.simd;
        let mut code = simd.and_u32s(low, self.low_mask);
        if HIGH > 0 {
            let mut further = simd.and_u32s(high, self.high_mask);
            if HIGH > 1 {
                further = simd.wrapping_dyn_shl_u32s(further, self.low_shift);
            }
            code = simd.or_u32s(code, further);
        }
        if E2M1 {
            return self.floating(code);
        }
        let float = simd.transmute_f32s_u32s(simd.or_u32s(code, self.integers));
        simd.sub_f32s(float, self.zero)
    }

    /// Codes of a sign and three bits, whose numbers are 0, 1, 2, 3, 4, 6, 8, 12.
    #[inline(always)]
    fn floating(&self, code: S::u32s) -> S::f32s {
        let simd = self.simd;
        let (none, four, six) = (simd.splat_f32s(0.0), simd.splat_f32s(4.0), simd.splat_f32s(6.0));
        let sign = simd.and_u32s(code, simd.splat_u32s(8));
        let sign = simd.wrapping_dyn_shl_u32s(sign, simd.splat_u32s(28));
        let index = simd.and_u32s(code, simd.splat_u32s(7));
        let index = simd.transmute_f32s_u32s(simd.or_u32s(index, self.integers));
        let index = simd.sub_f32s(index, self.zero);
        // The steps double at 4 and at 6.
        let beyond_4 = simd.max_f32s(simd.sub_f32s(index, four), none);
        let beyond_6 = simd.max_f32s(simd.sub_f32s(index, six), none);
        let number =
            simd.add_f32s(simd.add_f32s(index, beyond_4), simd.add_f32s(beyond_6, beyond_6));
        simd.transmute_f32s_u32s(simd.or_u32s(simd.transmute_u32s_f32s(number), sign))
    }
}
