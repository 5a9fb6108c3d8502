//! Exponentials of a whole block of logits in loops that become vector instructions.

use super::row_scan::BLOCK;
use crate::sampling::exp::{BANDS_PER_UNIT, BEYOND_TABLE, TABLE, TABLE_SIZE};

/// 1.5 · 2^52. Added to a number below 2^31, it leaves the nearest integer in the last 32 bits.
pub(crate) const ROUND_TO_INTEGER: f64 = 6_755_399_441_055_744.0;

/// Computes band and exponential of each logit of a block: e^((logit · `inverse` −
/// `max_logit_bands`) / [`BANDS_PER_UNIT`]), where `inverse` is the number of bands to a unit of the
/// logits and `max_logit_bands` the greatest logit in bands. Relative error below 1e-13. −∞, NaN and
/// exponents beyond the table get the weight 0.
#[inline(always)]
pub(crate) fn block_exponentials(
    logits: &[f32; BLOCK],
    inverse: f64,
    max_logit_bands: f64,
    bands: &mut [u32; BLOCK],
    weights: &mut [f64; BLOCK],
) {
    for ((&logit, band), series) in logits.iter().zip(bands.iter_mut()).zip(weights.iter_mut()) {
        let depth = max_logit_bands - f64::from(logit) * inverse;
        // The comparison is false for −∞ and NaN.
        let depth = if depth < BEYOND_TABLE { depth } else { BEYOND_TABLE };
        // The nearest integer is in the last bits of the sum.
        let rounded = depth + ROUND_TO_INTEGER;
        *band = rounded.to_bits() as u32;
        // At most 1/64: the next term of the series is below 1e-13.
        let r = ((rounded - ROUND_TO_INTEGER) - depth) * (1.0 / BANDS_PER_UNIT);
        *series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r / 120.0))));
    }
    let table = &*TABLE;
    for (&band, weight) in bands.iter().zip(weights) {
        *weight *= table[band as usize % TABLE_SIZE];
    }
}
