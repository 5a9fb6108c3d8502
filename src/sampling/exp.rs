//! The exponential function by a table, several times faster than the standard library's.
//!
//! e^−x is the table's entry of the nearest multiple of 1/32, times a short series of what remains:
//! e^−2.51 = `TABLE[80]` · e^(80/32 − 2.51). A *band* is the range of exponents whose nearest entry
//! is the same; a *depth* is how far an exponent lies below the greatest, in bands unless a name says
//! nats or octaves.

use std::sync::LazyLock;

/// Table entries for one unit of the exponent.
pub(crate) const BANDS_PER_UNIT: f64 = 32.0;
/// Depth in nats (units of the exponent) beyond which terms are left out of sums: 2^24 terms of e^−56
/// are below the precision of an `f64` beside the greatest term, which is 1.
pub(crate) const EXP_REACH_NATS: usize = 56;
/// Bands within [`EXP_REACH_NATS`].
const BANDS: usize = EXP_REACH_NATS * BANDS_PER_UNIT as usize;
/// Entries of the table, those from [`BANDS`] on being 0: a power of two, so that an index is cut
/// down to it by a mask.
pub(crate) const TABLE_SIZE: usize = BANDS.next_power_of_two();

/// The depth of the first entry that is 0, in bands.
pub(crate) const BEYOND_TABLE: f64 = BANDS as f64;

/// Entry `k` is e^(−k / [`BANDS_PER_UNIT`]), 0 from [`BANDS`] on.
pub(super) static TABLE: LazyLock<[f64; TABLE_SIZE]> = LazyLock::new(|| {
    std::array::from_fn(|k| if k < BANDS { (-(k as f64) / BANDS_PER_UNIT).exp() } else { 0.0 })
});

/// e^x for `x` of 0 or less, with a relative error below 1e-15; beyond the table's reach by the
/// standard library.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let depth = -x * BANDS_PER_UNIT;
    // NaN is the standard library's, too.
    if depth.is_nan() || depth >= BEYOND_TABLE - 1.0 {
        return x.exp();
    }
    let near = TABLE[(depth + 0.5) as usize % TABLE_SIZE];
    let r = x + ((depth + 0.5) as usize) as f64 / BANDS_PER_UNIT;
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0));
    near * (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * tail))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_exponential() {
        assert_eq!(exp(0.0), 1.0);
        for i in 0..400_000 {
            let x = -f64::from(i) * 1.7e-4;
            let error = (exp(x) / x.exp() - 1.0).abs();
            assert!(error < 1e-15, "{x}: {error}");
        }
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(-800.0), 0.0);
    }
}
