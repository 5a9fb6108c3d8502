//! Products of rows with a weight matrix: y = x · Wᵀ, with x (rows, k), W (columns, k), y
//! (rows, columns), all row-major.
//!
//! Weights are read once for all rows of a batch, in tiles that stay in registers. Narrow weights
//! are widened to `f32`, a tile at a time, into a buffer that stays in the first-level cache. Threads
//! share the columns, and no sum is shared by two threads.

use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Length of the part of k that one pass over the tiles covers, so that a tile's rows of both
/// matrices fit the first-level cache (4 rows of 4 KiB). The sums of the parts are added in order.
const K_PART: usize = 1024;

/// Rows that are computed before the next columns: 240 KiB of x, which fit the second-level cache.
const ROW_PART: usize = 60;

/// Greatest number of columns of one task: its weights fit the second-level cache.
const TASK_COLUMNS: usize = 128;

/// Multiplications below which a product (about 30 µs) is not worth a second thread, which takes about
/// 10 µs to begin.
const MIN_PARALLEL_MULTIPLICATIONS: usize = 1 << 21;

/// Multiplications in the time that a weight takes to come from memory.
const MULTIPLICATIONS_OF_A_LOAD: usize = 8;

/// The numbers of a weight matrix (columns, k), row-major.
#[derive(Clone, Copy, Debug)]
pub enum WeightSlice<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// IEEE half precision.
    F16(&'a [f16]),
    /// The upper half of a single-precision number.
    BF16(&'a [bf16]),
}

impl<'a> WeightSlice<'a> {
    /// The number of numbers.
    pub fn len(self) -> usize {
        match self {
            Self::F32(weights) => weights.len(),
            Self::F16(weights) => weights.len(),
            Self::BF16(weights) => weights.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Writes the row of this index, of `y.len()` numbers, as `f32`.
    pub fn read_row(self, row: usize, y: &mut [f32]) {
        self.part(row * y.len(), (row + 1) * y.len()).widen(y);
    }

    /// The numbers as `f32`.
    #[inline(always)]
    fn widen(self, y: &mut [f32]) {
        match self {
            Self::F32(numbers) => y.copy_from_slice(numbers),
            Self::F16(numbers) => {
                half::slice::HalfFloatSliceExt::convert_to_f32_slice(numbers, y);
            }
            Self::BF16(numbers) => {
                for (wide, narrow) in y.iter_mut().zip(numbers) {
                    *wide = f32::from_bits(u32::from(narrow.to_bits()) << 16);
                }
            }
        }
    }

    /// A part of the numbers.
    fn part(self, from: usize, to: usize) -> Self {
        match self {
            Self::F32(weights) => Self::F32(&weights[from..to]),
            Self::F16(weights) => Self::F16(&weights[from..to]),
            Self::BF16(weights) => Self::BF16(&weights[from..to]),
        }
    }
}

/// A weight matrix, and where its product is to go.
#[derive(Debug)]
pub struct Product<'a> {
    /// (columns, k).
    pub weights: WeightSlice<'a>,
    /// (rows, columns); its length becomes that of the product.
    pub y: &'a mut Vec<f32>,
}

/// The product of the rows of `x` with a weight matrix: (rows, columns). `k` is the length of a row
/// of both.
///
/// Batch-invariant: a row of the result depends on its row of `x` alone.
pub fn linear(x: &[f32], weights: WeightSlice<'_>, k: usize) -> Vec<f32> {
    let mut y = Vec::new();
    linear_into(x, k, &mut [Product { weights, y: &mut y }]);
    y
}

/// The products of the rows of `x` with several weight matrices, in one round of threads: see
/// [`linear`].
pub fn linear_into(x: &[f32], k: usize, products: &mut [Product<'_>]) {
    let rows = x.len().checked_div(k).unwrap_or(0);
    let mut columns = 0;
    for Product { weights, y } in products.iter_mut() {
        let n = weights.len().checked_div(k).unwrap_or(0);
        columns += n;
        y.resize(rows * n, 0.0);
    }
    if rows == 0 || columns == 0 {
        return;
    }
    let arch = Arch::new();
    let is_parallel =
        (rows + MULTIPLICATIONS_OF_A_LOAD) * columns * k >= MIN_PARALLEL_MULTIPLICATIONS;
    if !is_parallel {
        for Product { weights, y } in products.iter_mut() {
            arch.dispatch(ColumnTask { x, weights: *weights, y, k });
        }
        return;
    }
    let per_task = columns.div_ceil(rayon::current_num_threads() * 4).next_multiple_of(8);
    let per_task = per_task.min(TASK_COLUMNS);
    if rows == 1 {
        let tasks: Vec<ColumnTask<'_>> = products
            .iter_mut()
            .flat_map(|Product { weights, y }| {
                let weights = *weights;
                y.chunks_mut(per_task).enumerate().map(move |(i, y)| {
                    let from = i * per_task;
                    let weights = weights.part(from * k, (from + y.len()) * k);
                    ColumnTask { x, weights, y, k }
                })
            })
            .collect();
        tasks.into_par_iter().for_each(|task| arch.dispatch(task));
        return;
    }
    let tasks: Vec<(usize, WeightSlice<'_>, usize)> = products
        .iter()
        .enumerate()
        .flat_map(|(product, Product { weights, .. })| {
            let (weights, n) = (*weights, weights.len() / k);
            (0..n).step_by(per_task).map(move |from| {
                let to = n.min(from + per_task);
                (product, weights.part(from * k, to * k), from)
            })
        })
        .collect();
    let parts: Vec<Vec<f32>> = tasks
        .par_iter()
        .map(|(_, weights, _)| {
            let mut y = vec![0.0; rows * (weights.len() / k)];
            arch.dispatch(ColumnTask { x, weights: *weights, y: &mut y, k });
            y
        })
        .collect();
    for ((product, _, from), part) in tasks.into_iter().zip(parts) {
        let y = &mut *products[product].y;
        let (n, width) = (y.len() / rows, part.len() / rows);
        for (row, numbers) in part.chunks_exact(width).enumerate() {
            y[row * n + from..row * n + from + width].copy_from_slice(numbers);
        }
    }
}

/// The product of all rows with some columns.
struct ColumnTask<'a> {
    x: &'a [f32],
    weights: WeightSlice<'a>,
    /// (rows, columns of this task).
    y: &'a mut [f32],
    k: usize,
}

impl WithSimd for ColumnTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, weights, y, k } = self;
        let (rows, columns) = (x.len() / k, weights.len() / k);
        // One row is bound by memory, and more streams of weights hide its latency; a tile of many
        // rows fills the registers.
        let tile_columns = if rows < 6 { 8 } else { 4 };
        let mut widened = match weights {
            WeightSlice::F32(_) => Vec::new(),
            _ => vec![0.0; tile_columns * K_PART.min(k)],
        };
        for k_from in (0..k).step_by(K_PART) {
            let k_to = k.min(k_from + K_PART);
            for row_from in (0..rows).step_by(ROW_PART) {
                let row_to = rows.min(row_from + ROW_PART);
                let mut column = 0;
                while column < columns {
                    let n = if columns - column < tile_columns { 1 } else { tile_columns };
                    let slices = TileSlices { x, k, k_from, k_to, column };
                    let tile = WeightTile::new(slices, weights, n, &mut widened);
                    let mut sums = TileSums { y: &mut *y, columns, column, first: k_from == 0 };
                    let mut row = row_from;
                    while row < row_to {
                        row += match (row_to - row, n) {
                            (6.., 4) => tile.add::<S, 6, 4>(simd, row, &mut sums),
                            (2.., 4) => tile.add::<S, 2, 4>(simd, row, &mut sums),
                            (_, 4) => tile.add::<S, 1, 4>(simd, row, &mut sums),
                            (3.., 8) => tile.add::<S, 3, 8>(simd, row, &mut sums),
                            (2.., 8) => tile.add::<S, 2, 8>(simd, row, &mut sums),
                            (_, 8) => tile.add::<S, 1, 8>(simd, row, &mut sums),
                            (4.., _) => tile.add::<S, 4, 1>(simd, row, &mut sums),
                            _ => tile.add::<S, 1, 1>(simd, row, &mut sums),
                        };
                    }
                    column += n;
                }
            }
        }
    }
}

/// Where a tile lies: some columns from `column` on, and the part of k from `k_from` to `k_to`.
#[derive(Clone, Copy)]
struct TileSlices<'a> {
    x: &'a [f32],
    k: usize,
    k_from: usize,
    k_to: usize,
    column: usize,
}

/// The `f32` weights of a tile.
struct WeightTile<'a> {
    slices: TileSlices<'a>,
    /// Rows of `stride` numbers, of which the first of the tile begins at 0.
    weights: &'a [f32],
    stride: usize,
}

/// The numbers that a tile adds to.
struct TileSums<'a> {
    y: &'a mut [f32],
    columns: usize,
    column: usize,
    /// Whether this is the first part of k: sums begin here.
    first: bool,
}

impl<'a> WeightTile<'a> {
    /// The tile of `n` columns. Narrow weights are widened into the buffer.
    #[inline(always)]
    fn new(
        slices: TileSlices<'a>,
        weights: WeightSlice<'a>,
        n: usize,
        widened: &'a mut [f32],
    ) -> Self {
        let TileSlices { k, k_from, k_to, column, .. } = slices;
        let stride = k_to - k_from;
        if let WeightSlice::F32(weights) = weights {
            return Self { slices, weights: &weights[column * k + k_from..], stride: k };
        }
        for (i, row) in widened[..n * stride].chunks_exact_mut(stride).enumerate() {
            let from = (column + i) * k + k_from;
            weights.part(from, from + stride).widen(row);
        }
        Self { slices, weights: widened, stride }
    }

    /// Adds the products of `R` rows of x from `row` on with the `C` columns. Returns `R`.
    #[inline(always)]
    fn add<S: Simd, const R: usize, const C: usize>(
        &self,
        simd: S,
        row: usize,
        sums: &mut TileSums<'_>,
    ) -> usize {
        let TileSlices { x, k, k_from, k_to, .. } = self.slices;
        let x: [_; R] = std::array::from_fn(|i| {
            S::as_simd_f32s(&x[(row + i) * k + k_from..(row + i) * k + k_to])
        });
        let w: [_; C] = std::array::from_fn(|i| {
            let from = i * self.stride;
            S::as_simd_f32s(&self.weights[from..from + k_to - k_from])
        });
        let len = x[0].0.len();
        let x_registers: [&[S::f32s]; R] = std::array::from_fn(|i| &x[i].0[..len]);
        let w_registers: [&[S::f32s]; C] = std::array::from_fn(|i| &w[i].0[..len]);
        let mut lanes = [[simd.splat_f32s(0.0); C]; R];
        for p in 0..len {
            let columns: [S::f32s; C] = std::array::from_fn(|i| w_registers[i][p]);
            for (lanes, x) in lanes.iter_mut().zip(x_registers) {
                for (sum, column) in lanes.iter_mut().zip(columns) {
                    *sum = simd.mul_add_f32s(x[p], column, *sum);
                }
            }
        }
        for (i, lanes) in lanes.iter().enumerate() {
            for (j, lanes) in lanes.iter().enumerate() {
                let mut sum = simd.reduce_sum_f32s(*lanes);
                for (a, b) in x[i].1.iter().zip(w[j].1) {
                    sum += a * b;
                }
                let y = &mut sums.y[(row + i) * sums.columns + sums.column + j];
                *y = if sums.first { sum } else { *y + sum };
            }
        }
        R
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn numbers(n: usize, seed: u64) -> Vec<f32> {
        Random(seed).numbers(n)
    }

    #[test]
    fn rows_are_the_same_alone_and_together_and_close_to_the_exact_sum() {
        // Widths that fill no register, parts of k, columns that fill no tile, a task for a thread.
        for (k, columns) in [(1, 1), (5, 3), (24, 260), (67, 9), (1024, 33), (1100, 300), (2100, 8)]
        {
            let (x, w) = (numbers(70 * k, 1), numbers(columns * k, 2));
            let all = linear(&x, WeightSlice::F32(&w), k);
            for (row, x) in x.chunks_exact(k).enumerate() {
                for (column, w) in w.chunks_exact(k).enumerate() {
                    let exact: f64 =
                        x.iter().zip(w).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    let near = f64::from(all[row * columns + column]) - exact;
                    assert!(near.abs() < 1e-4, "{k} {columns}: {near} at {row}, {column}");
                }
            }
            for rows in [1, 2, 3, 4, 5, 6, 7, 13, 61] {
                for from in [0, 70 - rows] {
                    let y = linear(&x[from * k..(from + rows) * k], WeightSlice::F32(&w), k);
                    assert_eq!(y, all[from * columns..(from + rows) * columns], "{k} {rows}");
                }
            }
        }
    }

    #[test]
    fn narrow_weights_are_the_numbers_that_they_hold() {
        let (k, columns) = (1030, 37);
        let (x, w) = (numbers(9 * k, 3), numbers(columns * k, 4));
        let half: Vec<f16> = w.iter().copied().map(f16::from_f32).collect();
        let wide: Vec<f32> = half.iter().copied().map(f16::to_f32).collect();
        let expected = linear(&x, WeightSlice::F32(&wide), k);
        assert_eq!(linear(&x, WeightSlice::F16(&half), k), expected);
        let brain: Vec<bf16> = w.iter().copied().map(bf16::from_f32).collect();
        let wide: Vec<f32> = brain.iter().copied().map(bf16::to_f32).collect();
        let expected = linear(&x, WeightSlice::F32(&wide), k);
        assert_eq!(linear(&x, WeightSlice::BF16(&brain), k), expected);
    }

    #[test]
    fn nothing_times_anything_is_nothing() {
        assert!(linear(&[], WeightSlice::F32(&[1.0]), 1).is_empty());
        assert!(linear(&[], WeightSlice::F32(&[]), 0).is_empty());
    }
}
