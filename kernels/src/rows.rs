//! Operations on each row of a batch: norms, rotary positions, gates, sums.
//!
//! A row is computed alone, so that it does not matter which rows are beside it. Sums run in 16 lanes,
//! whatever the registers of the machine. Threads share rows, where there are enough of them.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::exponential::{erf, sigmoid, tanh};

/// Numbers below which rows are computed by the calling thread: about 30 µs of work.
const MIN_PARALLEL_NUMBERS: usize = 1 << 17;

/// Lanes of a sum.
const LANES: usize = 16;

/// RMSNorm: y = x / √(mean(x²) + eps) · weight for each row (Zhang and Sennrich 2019, "Root Mean Square
/// Layer Normalization"). Rows are as long as `weight`; `y` is as long as `x`.
///
/// ```
/// let mut y = [0.0; 4];
/// maskwright_kernels::rms_norm(&[3.0, 3.0, -2.0, 2.0], &[1.0, 0.5], 0.0, &mut y);
/// assert_eq!(y, [1.0, 0.5, -1.0, 0.5]);
/// ```
pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, y: &mut [f32]) {
    struct Norm<'a>(&'a [f32], &'a [f32], f32, &'a mut [f32]);
    impl WithSimd for Norm<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Self(x, weight, eps, y) = self;
            let mut lanes = [0.0; LANES];
            let chunks = x.chunks_exact(LANES);
            let mut rest = 0.0;
            for number in chunks.remainder() {
                rest += number * number;
            }
            for chunk in chunks {
                for (lane, number) in lanes.iter_mut().zip(chunk) {
                    *lane += number * number;
                }
            }
            let sum = lanes.iter().sum::<f32>() + rest;
            let scale = 1.0 / (sum / x.len() as f32 + eps).sqrt();
            for ((y, x), weight) in y.iter_mut().zip(x).zip(weight) {
                *y = x * scale * weight;
            }
        }
    }
    let len = weight.len();
    for_each_row(y, len, |row, y| {
        Arch::new().dispatch(Norm(&x[row * len..(row + 1) * len], weight, eps, y));
    });
}

/// LayerNorm without bias: y = (x − mean(x)) / √(var(x) + eps) · weight for each row (Ba et al. 2016,
/// "Layer Normalization"); var is the population variance. Rows are as long as `weight`; `y` is as long
/// as `x`.
///
/// ```
/// let mut y = [0.0; 2];
/// maskwright_kernels::layer_norm(&[3.0, 5.0], &[1.0, 0.5], 0.0, &mut y);
/// assert_eq!(y, [-1.0, 0.5]);
/// ```
pub fn layer_norm(x: &[f32], weight: &[f32], eps: f32, y: &mut [f32]) {
    let len = weight.len();
    for_each_row(y, len, |row, y| {
        let x = &x[row * len..(row + 1) * len];
        let mean = in_lanes(x, |x| x) / len as f32;
        let variance = in_lanes(x, |x| (x - mean) * (x - mean)) / len as f32;
        let scale = 1.0 / (variance + eps).sqrt();
        for ((y, x), weight) in y.iter_mut().zip(x).zip(weight) {
            *y = (x - mean) * scale * weight;
        }
    });
}

/// The sum of a function of each number, in lanes.
fn in_lanes(x: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let chunks = x.chunks_exact(LANES);
    let rest: f32 = chunks.remainder().iter().map(|x| f(*x)).sum();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane += f(*x);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

/// The pairs of dimensions of a head that are rotated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotaryPairs {
    /// i and i + half of the rotated dimensions.
    Halves,
    /// 2 · i and 2 · i + 1.
    Neighbours,
}

/// Rotates the first dimensions of each head of each row by the angles of its position, in place: rotary
/// positions (Su et al. 2021, "RoFormer"). `x` is (rows, heads, width); `cosines` and `sines` are (rows,
/// pairs), where twice the pairs are at most the width.
///
/// ```
/// use maskwright_kernels::{RotaryPairs, rotate};
/// let mut x = [1.0, 2.0, 3.0, 4.0];
/// // A quarter of a turn of the first pair.
/// rotate(&mut x, 4, 2, RotaryPairs::Halves, &[0.0, 1.0], &[1.0, 0.0]);
/// assert_eq!(x, [-3.0, 2.0, 1.0, 4.0]);
/// rotate(&mut x, 4, 1, RotaryPairs::Neighbours, &[0.0], &[1.0]);
/// assert_eq!(x, [-2.0, -3.0, 1.0, 4.0]);
/// ```
pub fn rotate(
    x: &mut [f32],
    width: usize,
    pairs: usize,
    kind: RotaryPairs,
    cosines: &[f32],
    sines: &[f32],
) {
    struct Turn<'a>(&'a mut [f32], usize, RotaryPairs, &'a [f32], &'a [f32]);
    impl WithSimd for Turn<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Self(x, width, kind, cosines, sines) = self;
            let angles = cosines.iter().zip(sines);
            for head in x.chunks_exact_mut(width) {
                let turned = &mut head[..2 * cosines.len()];
                match kind {
                    RotaryPairs::Halves => {
                        let (first, second) = turned.split_at_mut(cosines.len());
                        let pairs = first.iter_mut().zip(second).zip(angles.clone());
                        for ((a, b), (cos, sin)) in pairs {
                            (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                        }
                    }
                    RotaryPairs::Neighbours => {
                        let pairs = turned.as_chunks_mut().0.iter_mut().zip(angles.clone());
                        for ([a, b], (cos, sin)) in pairs {
                            (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                        }
                    }
                }
            }
        }
    }
    let rows = cosines.len().checked_div(pairs).unwrap_or(0);
    let row_len = x.len().checked_div(rows).unwrap_or(0);
    if row_len == 0 {
        return;
    }
    for_each_row(x, row_len, |row, x| {
        let angles = row * pairs..(row + 1) * pairs;
        Arch::new().dispatch(Turn(x, width, kind, &cosines[angles.clone()], &sines[angles]));
    });
}

/// A function of each number inside a feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// x / (1 + e⁻ˣ).
    Silu,
    /// The normal distribution's x · Φ(x), by its approximation with a hyperbolic tangent (Hendrycks and
    /// Gimpel 2016, "Gaussian Error Linear Units").
    GeluTanh,
    /// The normal distribution's x · Φ(x) itself.
    Gelu,
    /// The part above 0: x, or 0 for x below.
    Relu,
    /// The square of what is above 0 (So et al. 2021, "Primer").
    SquaredRelu,
    /// gate · sigmoid(slope · gate) · (up + 1), where first gate = min(gate, limit) and
    /// up = clamp(up, −limit, limit) (gpt-oss).
    ClampedSwish {
        /// The bound.
        limit: f32,
        /// The factor in the exponent; 1.702 in gpt-oss.
        slope: f32,
    },
}

impl Activation {
    #[inline(always)]
    fn of(self, x: f32) -> f32 {
        /// √(2 / π).
        const ROOT: f32 = 0.797_884_6;
        match self {
            Self::Silu => x * sigmoid(x),
            Self::GeluTanh => 0.5 * x * (1.0 + tanh(ROOT * (x + 0.044_715 * x * x * x))),
            Self::Gelu => 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)),
            Self::Relu => x.max(0.0),
            Self::SquaredRelu => x.max(0.0) * x.max(0.0),
            Self::ClampedSwish { limit, slope } => {
                let x = x.min(limit);
                x * sigmoid(slope * x)
            }
        }
    }

    /// The other factor of a gate.
    #[inline(always)]
    fn factor(self, up: f32) -> f32 {
        match self {
            Self::ClampedSwish { limit, .. } => up.clamp(-limit, limit) + 1.0,
            Self::Silu | Self::GeluTanh | Self::Gelu | Self::Relu | Self::SquaredRelu => up,
        }
    }
}

/// Replaces each gate by activation(gate) · up (Shazeer 2020, "GLU Variants Improve Transformer").
///
/// ```
/// use maskwright_kernels::{Activation, gate};
/// let mut x = [0.0, 200.0, -200.0];
/// gate(&mut x, &[5.0, 0.5, 1.0], Activation::Silu);
/// assert_eq!(x, [0.0, 100.0, -0.0]);
/// ```
pub fn gate(gate: &mut [f32], up: &[f32], activation: Activation) {
    struct Gate<'a>(&'a mut [f32], &'a [f32], Activation);
    impl WithSimd for Gate<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Self(gate, up, activation) = self;
            // Each loop knows its function, so that it runs on registers.
            macro_rules! each {
                ($activation:expr) => {
                    for (gate, up) in gate.iter_mut().zip(up) {
                        *gate = $activation.of(*gate) * $activation.factor(*up);
                    }
                };
            }
            match activation {
                Activation::Silu => each!(Activation::Silu),
                Activation::GeluTanh => each!(Activation::GeluTanh),
                Activation::Gelu => each!(Activation::Gelu),
                Activation::Relu => each!(Activation::Relu),
                Activation::SquaredRelu => each!(Activation::SquaredRelu),
                Activation::ClampedSwish { limit, slope } => {
                    each!(Activation::ClampedSwish { limit, slope });
                }
            }
        }
    }
    // Numbers are independent: rows are parts of any length.
    const PART: usize = 1 << 14;
    for_each_row(gate, PART, |part, gate| {
        let up = &up[part * PART..part * PART + gate.len()];
        Arch::new().dispatch(Gate(gate, up, activation));
    });
}

/// Replaces each number by activation(number).
pub fn activate(x: &mut [f32], activation: Activation) {
    const PART: usize = 1 << 14;
    for_each_row(x, PART, |_, x| x.iter_mut().for_each(|x| *x = activation.of(*x)));
}

/// Replaces each number x by cap · tanh(x / cap), which is between −cap and cap.
pub fn soft_cap(x: &mut [f32], cap: f32) {
    const PART: usize = 1 << 14;
    for_each_row(x, PART, |_, x| x.iter_mut().for_each(|x| *x = tanh(*x / cap) * cap));
}

/// Multiplies each number with a factor.
pub fn scale(x: &mut [f32], factor: f32) {
    x.iter_mut().for_each(|x| *x *= factor);
}

/// Adds `y`, times a factor, to `x`, number by number.
pub fn add_scaled(x: &mut [f32], y: &[f32], factor: f32) {
    x.iter_mut().zip(y).for_each(|(x, y)| *x += y * factor);
}

/// Adds `y` to `x`, number by number.
pub fn add(x: &mut [f32], y: &[f32]) {
    const PART: usize = 1 << 14;
    for_each_row(x, PART, |part, x| {
        let y = &y[part * PART..part * PART + x.len()];
        x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
    });
}

/// Bounds each number by −`bound` and `bound`.
pub fn clamp(x: &mut [f32], bound: f32) {
    x.iter_mut().for_each(|x| *x = x.clamp(-bound, bound));
}

/// Adds `bias` to each row of `x`.
pub fn add_bias(x: &mut [f32], bias: &[f32]) {
    for row in x.chunks_exact_mut(bias.len().max(1)) {
        row.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
    }
}

/// Calls a function with each row and its index, on several threads if there is enough to do.
fn for_each_row(x: &mut [f32], row_len: usize, f: impl Fn(usize, &mut [f32]) + Sync + Send) {
    let row_len = row_len.max(1);
    if x.len() < MIN_PARALLEL_NUMBERS {
        x.chunks_mut(row_len).enumerate().for_each(|(row, x)| f(row, x));
    } else {
        x.par_chunks_mut(row_len).enumerate().for_each(|(row, x)| f(row, x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn rows_are_close_to_the_exact_ones_and_the_same_alone() {
        for (rows, len) in [(1, 1), (3, 17), (5, 64), (300, 576)] {
            let mut random = Random(3);
            let (x, weight) = (random.numbers(rows * len), random.numbers(len));
            let mut all = vec![0.0; x.len()];
            rms_norm(&x, &weight, 1e-5, &mut all);
            for (x, y) in x.chunks_exact(len).zip(all.chunks_exact(len)) {
                let mut alone = vec![0.0; len];
                rms_norm(x, &weight, 1e-5, &mut alone);
                assert_eq!(alone, y);
                let squares: f64 = x.iter().map(|x| f64::from(*x).powi(2)).sum();
                let scale = 1.0 / (squares / len as f64 + 1e-5).sqrt();
                for ((x, weight), y) in x.iter().zip(&weight).zip(y) {
                    let exact = f64::from(*x) * scale * f64::from(*weight);
                    assert!((f64::from(*y) - exact).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn layer_norms_are_close_to_the_exact_ones() {
        for (rows, len) in [(1, 2), (3, 17), (5, 64)] {
            let mut random = Random(3);
            let (x, weight) = (random.numbers(rows * len), random.numbers(len));
            let mut all = vec![0.0; x.len()];
            layer_norm(&x, &weight, 1e-5, &mut all);
            for (x, y) in x.chunks_exact(len).zip(all.chunks_exact(len)) {
                let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / len as f64;
                let squares: f64 = x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum();
                let scale = 1.0 / (squares / len as f64 + 1e-5).sqrt();
                for ((x, weight), y) in x.iter().zip(&weight).zip(y) {
                    let exact = (f64::from(*x) - mean) * scale * f64::from(*weight);
                    assert!((f64::from(*y) - exact).abs() < 1e-6);
                }
            }
        }
    }

    /// The error function by its series, and 1 where that does not converge.
    fn erf_by_series(x: f64) -> f64 {
        if x.abs() > 4.5 {
            return x.signum();
        }
        let (mut power, mut sum) = (x, x);
        for n in 1..200 {
            power *= -x * x / f64::from(n);
            sum += power / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    #[test]
    fn gates_are_close_to_the_exact_ones() {
        let silu = |x: f64, slope: f64| x / (1.0 + (-slope * x).exp());
        let exact = |activation, x: f64, up: f64| match activation {
            Activation::Silu => silu(x, 1.0) * up,
            Activation::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
                0.5 * x * (1.0 + inner.tanh()) * up
            }
            Activation::Gelu => 0.5 * x * (1.0 + erf_by_series(x / 2.0_f64.sqrt())) * up,
            Activation::Relu => x.max(0.0) * up,
            Activation::SquaredRelu => x.max(0.0).powi(2) * up,
            Activation::ClampedSwish { limit, slope } => {
                let limit = f64::from(limit);
                silu(x.min(limit), f64::from(slope)) * (up.clamp(-limit, limit) + 1.0)
            }
        };
        let x: Vec<f32> = (-20_000..200_000).map(|i| i as f32 * 1e-3).collect();
        let up = Random(4).numbers(x.len());
        for activation in [
            Activation::Silu,
            Activation::GeluTanh,
            Activation::Gelu,
            Activation::Relu,
            Activation::SquaredRelu,
            Activation::ClampedSwish { limit: 0.25, slope: 1.702 },
        ] {
            let mut y = x.clone();
            gate(&mut y, &up, activation);
            let mut alone = x.clone();
            activate(&mut alone, activation);
            for (((x, up), y), alone) in x.iter().zip(&up).zip(&y).zip(&alone) {
                let exact = exact(activation, f64::from(*x), f64::from(*up));
                // Far below 0 GELU is the difference of nearly equal numbers.
                let error = (f64::from(*y) - exact).abs();
                let least = if activation == Activation::Gelu { 2e-6 } else { 2e-7 };
                assert!(error <= 2e-6 * exact.abs() + least, "{activation:?} {x}: {y}, {exact}");
                assert_eq!(alone * activation.factor(*up), *y);
            }
        }
        let mut x = [0.5, -3.0, 60.0];
        soft_cap(&mut x, 30.0);
        let exact = [0.5_f64, -3.0, 60.0].map(|x| (x / 30.0).tanh() * 30.0);
        assert!(x.iter().zip(exact).all(|(x, exact)| (f64::from(*x) - exact).abs() < 1e-5));
    }

    #[test]
    fn heads_turn_by_the_angles_of_their_rows() {
        let (rows, heads, width) = (300, 9, 64);
        let x = Random(5).numbers(rows * heads * width);
        let angle = |row: usize, i: usize| (row * (i + 1)) as f64 * 0.01;
        for pairs in [32, 24] {
            let table = |f: fn(f64) -> f64| -> Vec<f32> {
                let row = |row| (0..pairs).map(move |i| f(angle(row, i)) as f32);
                (0..rows).flat_map(row).collect()
            };
            for kind in [RotaryPairs::Halves, RotaryPairs::Neighbours] {
                let mut y = x.clone();
                rotate(&mut y, width, pairs, kind, &table(f64::cos), &table(f64::sin));
                for (index, y) in y.iter().enumerate() {
                    let (row, i) = (index / (heads * width), index % width);
                    // The pair, whether it is its first number, and the place of the other.
                    let (pair, is_first, step) = match kind {
                        RotaryPairs::Halves => (i % pairs, i < pairs, pairs),
                        RotaryPairs::Neighbours => (i / 2, i % 2 == 0, 1),
                    };
                    let (sin, cos) = angle(row, pair).sin_cos();
                    let x = |at: usize| f64::from(x[at]);
                    let exact = if i >= 2 * pairs {
                        x(index)
                    } else if is_first {
                        x(index) * cos - x(index + step) * sin
                    } else {
                        x(index) * cos + x(index - step) * sin
                    };
                    assert!((f64::from(*y) - exact).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn sums_are_sums() {
        let mut x = vec![1.0; 200_001];
        let y: Vec<f32> = (0..200_001).map(|i| i as f32).collect();
        add(&mut x, &y);
        assert!(x.iter().zip(&y).all(|(x, y)| *x == y + 1.0));
        add_scaled(&mut x, &y, 0.5);
        scale(&mut x, 2.0);
        assert!(x.iter().zip(&y).all(|(x, y)| *x == 3.0 * y + 2.0));
        let mut x = [-3.0, 0.5, 2.0];
        clamp(&mut x, 1.0);
        assert_eq!(x, [-1.0, 0.5, 1.0]);
        let mut x = vec![1.0; 6];
        add_bias(&mut x, &[1.0, 2.0, 3.0]);
        assert_eq!(x, [2.0, 3.0, 4.0, 2.0, 3.0, 4.0]);
    }
}
