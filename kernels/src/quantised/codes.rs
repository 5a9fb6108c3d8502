//! Registers of pairs of 16-bit codes from registers of words with codes.
//!
//! A word of a column holds one code of each pair in its lower half and the other in its upper half, so that a
//! shift and a mask make a pair, and the further bits come with a second shift and mask:
//!
//! ```text
//! 4 bits      k7  k5  k3  k1 │ k6  k4  k2  k0      >> 4 & 0x000f_000f   gives   k3 │ k2
//! ```

use pulp::Simd;

use super::integer_products::IntegerProducts;
use crate::linear::PANEL;

/// The constants of codes with `LOW` lower and `HIGH` further bits, which are numbers or, if `HAS_TABLE`, stand
/// for those of a table.
pub(super) struct Codes<'a, S: Simd, const LOW: u32, const HIGH: u32, const HAS_TABLE: bool> {
    simd: S,
    low_mask: S::u32s,
    high_mask: S::u32s,
    table: &'a [u8; 16],
}

impl<'a, S: IntegerProducts, const LOW: u32, const HIGH: u32, const HAS_TABLE: bool>
    Codes<'a, S, LOW, HIGH, HAS_TABLE>
{
    /// Pairs of a word of lower bits.
    pub(super) const PAIRS: usize = 16 / LOW as usize;

    #[inline(always)]
    pub(super) fn new(simd: S, table: &'a [u8; 16]) -> Self {
        let both = |bits: u32| simd.splat_u32s(bits | bits << 16);
        Self {
            simd,
            low_mask: both((1 << LOW) - 1),
            high_mask: both(((1 << HIGH) - 1) << LOW),
            table,
        }
    }

    /// The `n`-th register of further bits for the pairs of a word of lower bits, where
    /// [`numbers`](Self::numbers) takes them. No bit of these pairs is lost: they lie below bit
    /// 16 + LOW + 16 / LOW · HIGH ≤ 28.
    #[inline(always)]
    pub(super) fn high(&self, words: &[[u32; PANEL]], word: usize, n: usize) -> S::u32s {
        let simd = self.simd;
        if HIGH == 0 {
            return simd.splat_u32s(0);
        }
        let bit = word * Self::PAIRS * HIGH as usize;
        let high = S::as_simd_u32s(&words[LOW as usize + bit / 16]).0[n];
        let bit = (bit % 16) as u32;
        match bit.checked_sub(LOW) {
            Some(0) => high,
            Some(right) => simd.wrapping_dyn_shr_u32s(high, simd.splat_u32s(right)),
            None => simd.wrapping_dyn_shl_u32s(high, simd.splat_u32s(LOW - bit)),
        }
    }

    /// The numbers of the first pair.
    #[inline(always)]
    pub(super) fn numbers(&self, low: S::u32s, high: S::u32s) -> S::u32s {
        let simd = self.simd;
        let codes = simd.and_u32s(low, self.low_mask);
        if HAS_TABLE {
            return simd.look_up(self.table, codes);
        }
        match HIGH {
            0 => codes,
            _ => simd.or_u32s(codes, simd.and_u32s(high, self.high_mask)),
        }
    }

    /// The words after one pair.
    #[inline(always)]
    pub(super) fn next(&self, low: S::u32s, high: S::u32s) -> (S::u32s, S::u32s) {
        let simd = self.simd;
        let low = simd.shift_right::<LOW>(low);
        match HIGH {
            0 => (low, high),
            _ => (low, simd.shift_right::<HIGH>(high)),
        }
    }
}
