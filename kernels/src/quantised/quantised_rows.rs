//! Quantised activations: 16-bit integers with a scale for each 32 numbers of a row.
//!
//! A number x of a unit of 32 becomes q = x · 32767 / m, rounded to the nearest integer, where m is the
//! greatest absolute value among them; x is then q · m / 32767 with an error of at most m / 65534. (ggml quantises
//! to 8 bits: steps 258 times as wide.)
//!
//! ```text
//! x   0.5   −1.0   0.25  …     m = 1
//! q   16384 −32767 8192  …     scale = 1 / 32767
//! ```
//!
//! *Invariant.* A unit depends on its own 32 numbers alone, and each step is one IEEE operation: the integers
//! are the same on all processors, and for any number of rows.

/// Numbers of a unit: neighbouring activations of a row that share a scale. Weights are packed in units of
/// as many numbers of k.
pub(crate) const UNIT: usize = 32;

/// Half of a unit: numbers of the smallest group of weights with a scale of their own.
pub(super) const HALF: usize = UNIT / 2;

/// The greatest integer.
const GREATEST: f32 = 32767.0;

/// Where m is below this, numbers are multiplied by [`LIFT`] first, so that [`GREATEST`] / m is finite.
const LIFTED_BELOW: f32 = f32::from_bits((127 - 90) << 23);

/// 2¹⁰⁰.
const LIFT: f32 = f32::from_bits((127 + 100) << 23);

/// 1.5 · 2²³: near it all numbers of `f32` are integers, so adding it rounds to the nearest integer, ties to even.
const INTEGERS: f32 = 12_582_912.0;

/// A unit of a row of activations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantisedActivations {
    /// Two integers each, the first in the lower 16 bits.
    pub(super) pairs: [u32; HALF],
    /// The sums of the integers of the first and of the second half.
    pub(super) sums: [i32; 2],
    /// The value of the integer 1. NaN if the unit holds an infinity or a NaN.
    pub(super) scale: f32,
}

impl QuantisedActivations {
    /// The sum of the integers of one of so many groups, 1 or 2.
    #[inline(always)]
    pub(super) fn sum(&self, group: usize, groups: usize) -> i32 {
        match groups {
            1 => self.sums[0] + self.sums[1],
            _ => self.sums[group],
        }
    }
}

/// Quantises some rows, whose length is a multiple of 32, to units: (rows, k / 32).
pub(crate) fn quantise_rows(x: &[f32]) -> Vec<QuantisedActivations> {
    x.as_chunks::<UNIT>().0.iter().map(quantise).collect()
}

#[inline(always)]
fn quantise(x: &[f32; UNIT]) -> QuantisedActivations {
    // The bits of absolute values are ordered as the values are, with infinity and NaN above all finite ones.
    let absolutes = x.map(|x| x.to_bits() & 0x7fff_ffff);
    let greatest = f32::from_bits(absolutes.into_iter().fold(0, u32::max));
    if greatest == 0.0 || !greatest.is_finite() {
        // The scale is 0 · 0 = 0, or NaN.
        return QuantisedActivations { pairs: [0; HALF], sums: [0; 2], scale: greatest * 0.0 };
    }
    let lift = if greatest < LIFTED_BELOW { LIFT } else { 1.0 };
    let factor = GREATEST / (greatest * lift);
    // |x| · factor is at most 32767 · (1 + 2⁻²⁴)², which is rounded to 32767.
    let integers = x.map(|x| {
        let rounded = (x * lift) * factor + INTEGERS;
        rounded.to_bits().wrapping_sub(INTEGERS.to_bits()) as i32
    });
    let sum = |half: &[i32]| half.iter().sum();
    let mut pairs = [0; HALF];
    for (pair, [first, second]) in pairs.iter_mut().zip(integers.as_chunks().0) {
        *pair = (*first as u32 & 0xffff) | (*second as u32) << 16;
    }
    QuantisedActivations {
        pairs,
        sums: [sum(&integers[..HALF]), sum(&integers[HALF..])],
        scale: greatest / GREATEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn integers(unit: &QuantisedActivations) -> Vec<i32> {
        let halves = |pair: &u32| [i32::from(*pair as i16), i32::from((pair >> 16) as i16)];
        unit.pairs.iter().flat_map(halves).collect()
    }

    #[test]
    fn integers_are_the_numbers_within_half_a_step() {
        let mut random = Random(11);
        for power in [-149, -140, -126, -110, -91, -90, -89, -30, 0, 30, 126] {
            let factor = 2_f64.powi(power);
            let x: Vec<f32> = random
                .numbers(64)
                .into_iter()
                .map(|x| (f64::from(x) * 2.0 * factor) as f32)
                .collect();
            for (x, unit) in x.chunks_exact(UNIT).zip(quantise_rows(&x)) {
                let greatest = x.iter().fold(0.0, |greatest: f32, x| greatest.max(x.abs()));
                let integers = integers(&unit);
                assert_eq!(unit.sums[0], integers[..HALF].iter().sum::<i32>());
                assert_eq!(unit.sums[1], integers[HALF..].iter().sum::<i32>());
                assert!(integers.iter().all(|q| q.abs() <= 32767));
                for (x, q) in x.iter().zip(integers) {
                    let step = f64::from(greatest) / 32767.0;
                    let error = (f64::from(q) * step - f64::from(*x)).abs();
                    assert!(error <= 0.505 * step, "{power}: {x} is {q} steps of {step}");
                    // The scale itself is a number of single precision, or one below the normal ones.
                    let of_scale = (f64::from(unit.scale) - step).abs();
                    assert!(of_scale <= step * 2_f64.powi(-24) + 2_f64.powi(-150));
                }
            }
        }
    }

    #[test]
    fn the_greatest_number_is_the_greatest_integer() {
        let mut x = [0.0; UNIT];
        (x[3], x[17]) = (-1.5, 0.75);
        let unit = quantise_rows(&x)[0];
        assert_eq!((integers(&unit)[3], integers(&unit)[17]), (-32767, 16384));
        assert_eq!(unit.scale, 1.5 / 32767.0);
        assert_eq!(quantise_rows(&[0.0; UNIT])[0].scale, 0.0);
    }

    #[test]
    fn infinities_and_nan_give_a_scale_of_nan() {
        for bad in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
            let mut x = [1.0; 2 * UNIT];
            x[40] = bad;
            let units = quantise_rows(&x);
            assert!(units[0].scale > 0.0 && units[1].scale.is_nan(), "{bad}");
        }
    }
}
