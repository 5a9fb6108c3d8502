//! The exponential function and what is made of it.

/// e to the x, for x up to 0, within two units in the last place; 0 below −87, where the power is
/// the least normal number. A polynomial (Cephes, `expf`), so that loops of it run on registers.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// 1.5 · 2²³: adding it rounds to a whole number, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = x - n * LN2_HIGH - n * LN2_LOW;
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p * r + c;
    }
    let power = f32::from_bits((rounded.to_bits() << 23).wrapping_add(1.0_f32.to_bits()));
    let y = (p * r * r + r + 1.0) * power;
    if x < -87.0 { 0.0 } else { y }
}

/// The hyperbolic tangent within four units in the last place (Cephes, `tanhf`).
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let square = x * x;
    let mut p = -5.704_988_7e-3;
    for c in [2.063_909e-2, -5.373_971_5e-2, 1.333_144_2e-1, -3.333_328e-1] {
        p = p * square + c;
    }
    let near = p * square * x + x;
    let power = exp(-2.0 * x.abs());
    let far = ((1.0 - power) / (1.0 + power)).copysign(x);
    if x.abs() < 0.625 { near } else { far }
}

/// 1 / (1 + e⁻ˣ).
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    // The power of the negative magnitude, which does not overflow.
    let power = exp(-x.abs());
    if x < 0.0 { power / (1.0 + power) } else { 1.0 / (1.0 + power) }
}

/// The error function, within 6·10⁻⁷ (Abramowitz and Stegun 1964, "Handbook of Mathematical Functions",
/// 7.1.26).
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let mut p = 1.061_405_4;
    for c in [-1.453_152, 1.421_413_8, -0.284_496_74, 0.254_829_6] {
        p = p * t + c;
    }
    (1.0 - p * t * exp(-x * x)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_within_two_units_in_the_last_place() {
        let mut worst: f64 = 0.0;
        for i in 0..=870_000 {
            let x = i as f32 * -1e-4;
            let exact = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - exact).abs() / exact);
        }
        assert!(worst < 2.0 * f64::from(f32::EPSILON), "{worst:e}");
        assert_eq!((exp(0.0), exp(-87.5), exp(f32::NEG_INFINITY)), (1.0, 0.0, 0.0));
    }

    #[test]
    fn hyperbolic_tangents_are_within_four_units_in_the_last_place() {
        let mut worst: f64 = 0.0;
        for i in (-200_000..=200_000).filter(|i| *i != 0) {
            let x = i as f32 * 1e-4;
            let exact = f64::from(x).tanh();
            worst = worst.max((f64::from(tanh(x)) - exact).abs() / exact.abs());
        }
        assert!(worst < 4.0 * f64::from(f32::EPSILON), "{worst:e}");
        assert_eq!((tanh(0.0), tanh(100.0), tanh(-100.0)), (0.0, 1.0, -1.0));
    }

    #[test]
    fn error_functions_are_close_to_the_exact_ones() {
        // The series 2/√π · Σ (−1)ⁿ x²ⁿ⁺¹ / (n! (2n + 1)) holds to 1e-9 here.
        let exact = |x: f64| {
            let (mut power, mut sum) = (x, x);
            for n in 1..120 {
                power *= -x * x / f64::from(n);
                sum += power / f64::from(2 * n + 1);
            }
            sum * std::f64::consts::FRAC_2_SQRT_PI
        };
        let mut worst: f64 = 0.0;
        for i in -30_000..=30_000 {
            let x = i as f32 * 1e-4;
            worst = worst.max((f64::from(erf(x)) - exact(f64::from(x))).abs());
        }
        assert!(worst < 6e-7, "{worst:e}");
        assert_eq!((erf(10.0), erf(-10.0)), (1.0, -1.0));
    }
}
