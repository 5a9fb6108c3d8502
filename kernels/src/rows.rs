//! Operations on each row of a batch: norms, rotary positions, gates, sums.
//!
//! A row is computed alone, so that it does not matter which rows are beside it. Sums run in 16 lanes,
//! whatever the registers of the machine. Threads share rows, where there are enough of them.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::exponential::exp;

/// Numbers below which rows are computed by the calling thread: about 30 µs of work.
const MIN_PARALLEL_NUMBERS: usize = 1 << 17;

/// Lanes of a sum.
const LANES: usize = 16;

/// Divides each row by the root of the mean of its squares, plus `eps`, and multiplies it with the
/// weights (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"). Rows are as long as
/// `weight`; `y` is as long as `x`.
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

/// Turns each head of each row by the angles of its position, in place: rotary positions (Su et al.
/// 2021, "RoFormer"). `x` is (rows, heads, width); `cosines` and `sines` are (rows, width / 2), for the
/// pairs of the dimensions i and i + width / 2.
///
/// ```
/// let mut x = [1.0, 2.0, 3.0, 4.0];
/// // A quarter of a turn of the first pair.
/// maskwright_kernels::rotate(&mut x, 4, &[0.0, 1.0], &[1.0, 0.0]);
/// assert_eq!(x, [-3.0, 2.0, 1.0, 4.0]);
/// ```
pub fn rotate(x: &mut [f32], width: usize, cosines: &[f32], sines: &[f32]) {
    struct Turn<'a>(&'a mut [f32], usize, &'a [f32], &'a [f32]);
    impl WithSimd for Turn<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Self(x, width, cosines, sines) = self;
            for head in x.chunks_exact_mut(width) {
                let (first, second) = head.split_at_mut(width / 2);
                let pairs = first.iter_mut().zip(second).zip(cosines.iter().zip(sines));
                for ((a, b), (cos, sin)) in pairs {
                    (*a, *b) = (*a * cos - *b * sin, *a * sin + *b * cos);
                }
            }
        }
    }
    let half = width / 2;
    let rows = cosines.len().checked_div(half).unwrap_or(0);
    let row_len = x.len().checked_div(rows).unwrap_or(0);
    for_each_row(x, row_len, |row, x| {
        let angles = row * half..(row + 1) * half;
        Arch::new().dispatch(Turn(x, width, &cosines[angles.clone()], &sines[angles]));
    });
}

/// Replaces each gate by silu(gate) · up, where silu(x) is x / (1 + e⁻ˣ) (Shazeer 2020, "GLU Variants
/// Improve Transformer").
///
/// ```
/// let mut gate = [0.0, 200.0, -200.0];
/// maskwright_kernels::gate_by_silu(&mut gate, &[5.0, 0.5, 1.0]);
/// assert_eq!(gate, [0.0, 100.0, -0.0]);
/// ```
pub fn gate_by_silu(gate: &mut [f32], up: &[f32]) {
    struct Gate<'a>(&'a mut [f32], &'a [f32]);
    impl WithSimd for Gate<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            for (gate, up) in self.0.iter_mut().zip(self.1) {
                let x = *gate;
                // The power of the negative magnitude, which does not overflow.
                let power = exp(-x.abs());
                let sigmoid = if x < 0.0 { power } else { 1.0 } / (1.0 + power);
                *gate = x * sigmoid * up;
            }
        }
    }
    // Numbers are independent: rows are parts of any length.
    const PART: usize = 1 << 14;
    for_each_row(gate, PART, |part, gate| {
        let up = &up[part * PART..part * PART + gate.len()];
        Arch::new().dispatch(Gate(gate, up));
    });
}

/// Adds `y` to `x`, number by number.
pub fn add(x: &mut [f32], y: &[f32]) {
    const PART: usize = 1 << 14;
    for_each_row(x, PART, |part, x| {
        let y = &y[part * PART..part * PART + x.len()];
        x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
    });
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
    fn gates_are_close_to_the_exact_ones() {
        let gate: Vec<f32> = (-20_000..200_000).map(|i| i as f32 * 1e-3).collect();
        let up = Random(4).numbers(gate.len());
        let mut y = gate.clone();
        gate_by_silu(&mut y, &up);
        for ((x, up), y) in gate.iter().zip(&up).zip(&y) {
            let x = f64::from(*x);
            let exact = x / (1.0 + (-x).exp()) * f64::from(*up);
            assert!((f64::from(*y) - exact).abs() <= 1e-6 * exact.abs(), "{x}: {y}, {exact}");
        }
    }

    #[test]
    fn heads_turn_by_the_angles_of_their_rows() {
        let (rows, heads, width) = (300, 9, 64);
        let x = Random(5).numbers(rows * heads * width);
        let angle = |row: usize, i: usize| (row * (i + 1)) as f64 * 0.01;
        let table = |f: fn(f64) -> f64| -> Vec<f32> {
            let row = |row| (0..width / 2).map(move |i| f(angle(row, i)) as f32);
            (0..rows).flat_map(row).collect()
        };
        let mut y = x.clone();
        rotate(&mut y, width, &table(f64::cos), &table(f64::sin));
        for (index, y) in y.iter().enumerate() {
            let (row, i) = (index / (heads * width), index % width);
            let (sin, cos) = angle(row, i % (width / 2)).sin_cos();
            let x = |at: usize| f64::from(x[at]);
            let exact = if i < width / 2 {
                x(index) * cos - x(index + width / 2) * sin
            } else {
                x(index) * cos + x(index - width / 2) * sin
            };
            assert!((f64::from(*y) - exact).abs() < 1e-6);
        }
    }

    #[test]
    fn sums_are_sums() {
        let mut x = vec![1.0; 200_001];
        let y: Vec<f32> = (0..200_001).map(|i| i as f32).collect();
        add(&mut x, &y);
        assert!(x.iter().zip(&y).all(|(x, y)| *x == y + 1.0));
        let mut x = vec![1.0; 6];
        add_bias(&mut x, &[1.0, 2.0, 3.0]);
        assert_eq!(x, [2.0, 3.0, 4.0, 2.0, 3.0, 4.0]);
    }
}
