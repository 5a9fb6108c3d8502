//! Products of rows with a weight matrix: y = x · Wᵀ, with x (rows, k), W (columns, k), y
//! (rows, columns).
//!
//! Weights are [packed](PackedWeights) once, when a model is loaded: 16 columns side by side, so that
//! the lanes of a register are columns of the result.
//!
//! ```text
//! W, row-major      c0: k0 k1 k2 …        packed      k0: c0 c1 … c15
//!                   c1: k0 k1 k2 …                    k1: c0 c1 … c15
//!                   …                                 …
//! ```
//!
//! A register of sums takes one number of x times 16 weights after the other, k in ascending order: no
//! sum runs across lanes, and the order is the same for any number of rows. The weights of a tile (up to
//! 64 KiB where there are several rows, see [`K_PART`]) are read from memory once for all rows and stay in
//! the second-level cache meanwhile; 16-bit ones are first widened to `f32`. Threads share the columns, and
//! no sum is shared by two threads. (Goto and van de Geijn 2008, "Anatomy of High-Performance Matrix
//! Multiplication", pack for each product; weights do not change.)

use std::ops::Range;

use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::half_panels::{HalfPanels, HalfSlice};
use crate::prefetch::{Line, prefetch};
use crate::quantised::{
    BlockFormat, QuantisedActivations, QuantisedPanels, QuantisedTask, UNIT, quantise_rows,
};

/// Columns that lie side by side.
pub(crate) const PANEL: usize = 16;

/// Length of the part of k that one pass over the rows covers: the weights of a tile of four AVX-512
/// registers (64 KiB) stay in the second-level cache, beside those that are asked for.
const K_PART: usize = 256;

/// Greatest number of panels of one task: few enough that all threads end together.
const TASK_PANELS: usize = 8;

/// Tasks per thread where x has one row: fewer, since each task starts new streams of weights.
const TASKS_PER_THREAD_ONE_ROW: usize = 4;

/// Tasks per thread where x has several rows: more, so that no thread ends long after the others.
const TASKS_PER_THREAD: usize = 8;

/// Rows of one task where there are enough for all threads: each task then writes whole rows of the
/// result, and reads all weights, which costs little beside so many multiplications.
const TASK_ROWS: usize = 64;

/// Multiplications below which a product (about 30 µs) is not worth a second thread, which takes about
/// 10 µs to begin.
const MIN_PARALLEL_MULTIPLICATIONS: usize = 1 << 21;

/// Rows from which on the next weights are asked for while these are multiplied. Fewer rows wait for weights
/// all the time.
const MIN_PREFETCH_ROWS: usize = 4;

/// Multiplications that take as long as loading one weight from memory, which a product does once for all rows.
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
    /// Quantised blocks, those of a row one after the other; `k` is a multiple of a block's weights.
    Blocks(BlockFormat, &'a [u8]),
}

/// A weight matrix (columns = out_features, k = in_features) in panels of 16 columns; the last is filled up
/// with zeros.
#[derive(Clone, Debug)]
pub struct PackedWeights {
    numbers: Packed,
    columns: usize,
    k: usize,
}

/// (panels, k, 16).
#[derive(Clone, Debug)]
enum Packed {
    F32(Vec<f32>),
    Half(HalfPanels),
    Quantised(QuantisedPanels),
}

/// A part of packed numbers.
#[derive(Clone, Copy)]
enum PackedSlice<'a> {
    F32(&'a [f32]),
    Half(HalfSlice<'a>),
}

impl<'a> PackedSlice<'a> {
    /// The cache lines of a range of k of a panel; empty beyond the last panel.
    fn lines(self, panel: usize, k: usize, part: Range<usize>) -> &'a [Line] {
        match self {
            Self::F32(numbers) => {
                let start = panel * k * PANEL;
                let numbers = numbers.get(start + part.start * PANEL..start + part.end * PANEL);
                bytemuck::cast_slice(numbers.unwrap_or(&[])).as_chunks().0
            }
            Self::Half(panels) => panels.lines(panel, part),
        }
    }
}

impl PackedWeights {
    /// Packs a matrix whose rows, the columns of products, have `k` numbers each. O(columns · k), on all
    /// threads.
    pub fn new(weights: WeightSlice<'_>, k: usize) -> Self {
        let numbers = match weights {
            WeightSlice::F32(weights) => Packed::F32(packed(weights, k)),
            WeightSlice::F16(weights) => match HalfPanels::of_f16(weights, k) {
                Some(panels) => Packed::Half(panels),
                None => {
                    let wide: Vec<f32> = weights.iter().map(|number| number.to_f32()).collect();
                    Packed::F32(packed(&wide, k))
                }
            },
            WeightSlice::BF16(weights) => Packed::Half(HalfPanels::of_bf16(weights, k)),
            WeightSlice::Blocks(format, blocks) => {
                Packed::Quantised(QuantisedPanels::new(format, blocks, k))
            }
        };
        let len = match weights {
            WeightSlice::F32(weights) => weights.len(),
            WeightSlice::F16(weights) => weights.len(),
            WeightSlice::BF16(weights) => weights.len(),
            WeightSlice::Blocks(format, blocks) => blocks.len() / format.bytes() * format.weights(),
        };
        Self { numbers, columns: len.checked_div(k).unwrap_or(0), k }
    }

    /// The number of columns of products (out_features).
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The length of a row of x (in_features).
    pub fn k(&self) -> usize {
        self.k
    }

    /// Writes the `k` weights of a column as `f32`: a row of the matrix that was packed.
    pub fn read(&self, column: usize, y: &mut [f32]) {
        match &self.numbers {
            Packed::Quantised(panels) => panels.read(column, y),
            Packed::Half(panels) => panels.read(column, y),
            Packed::F32(numbers) => {
                let from = column / PANEL * PANEL * self.k + column % PANEL;
                let numbers = numbers[from..].iter().step_by(PANEL);
                y.iter_mut().take(self.k).zip(numbers).for_each(|(y, number)| *y = *number);
            }
        }
    }

    fn is_quantised(&self) -> bool {
        matches!(self.numbers, Packed::Quantised(_))
    }

    fn panels(&self) -> usize {
        self.columns.div_ceil(PANEL)
    }

    /// The product of the rows of `x`, as tasks for so many panels each; `y` is (rows, columns).
    fn tasks<'a>(
        &'a self,
        x: Rows<'a>,
        y: &'a mut [f32],
        panels: usize,
    ) -> impl Iterator<Item = AnyTask<'a>> {
        let mut places: Vec<Vec<&mut [f32]>> = Vec::new();
        places.resize_with(self.panels().div_ceil(panels), Vec::new);
        for row in y.chunks_mut(self.columns) {
            for (place, part) in places.iter_mut().zip(row.chunks_mut(panels * PANEL)) {
                place.push(part);
            }
        }
        places.into_iter().enumerate().map(move |(i, y)| self.task(x, i * panels, y))
    }

    /// The product of the rows of `x` with the panels from `panel` on, as many as `y` has columns: (rows, columns).
    fn task<'a>(&'a self, x: Rows<'a>, panel: usize, y: Vec<&'a mut [f32]>) -> AnyTask<'a> {
        let k = self.k;
        let panels = match &self.numbers {
            Packed::Quantised(all) => {
                return AnyTask::Quantised(QuantisedTask {
                    x: x.quantised,
                    panels: all.slice(panel),
                    y,
                });
            }
            Packed::F32(numbers) => PackedSlice::F32(&numbers[panel * PANEL * k..]),
            Packed::Half(all) => PackedSlice::Half(all.slice(panel)),
        };
        AnyTask::Numbers(PanelTask { x: x.numbers, panels, y, k })
    }
}

/// Rows of x.
#[derive(Clone, Copy)]
struct Rows<'a> {
    /// (rows, k).
    numbers: &'a [f32],
    /// (rows, k / 32), where a matrix is quantised.
    quantised: &'a [QuantisedActivations],
}

impl<'a> Rows<'a> {
    /// Parts of so many numbers.
    fn chunks(self, numbers: usize) -> impl Iterator<Item = Self> {
        let quantised = self.quantised.chunks(numbers / UNIT + usize::from(numbers < UNIT));
        let quantised = quantised.chain(std::iter::repeat(Default::default()));
        self.numbers
            .chunks(numbers)
            .zip(quantised)
            .map(|(numbers, quantised)| Rows { numbers, quantised })
    }
}

/// A part of a product, of weights of any kind.
enum AnyTask<'a> {
    Numbers(PanelTask<'a>),
    Quantised(QuantisedTask<'a>),
}

impl AnyTask<'_> {
    fn run(self, arch: Arch) {
        match self {
            Self::Numbers(task) => arch.dispatch(task),
            Self::Quantised(task) => task.run(arch),
        }
    }
}

/// The numbers of a matrix (columns, k) as (panels, k, 16).
fn packed<T: Copy + Default + Send + Sync>(weights: &[T], k: usize) -> Vec<T> {
    if k == 0 {
        return Vec::new();
    }
    let columns = weights.len() / k;
    let mut all = vec![T::default(); columns.div_ceil(PANEL) * PANEL * k];
    all.par_chunks_mut(PANEL * k).zip(weights.par_chunks(PANEL * k)).for_each(|(panel, rows)| {
        for (column, row) in rows.chunks_exact(k).enumerate() {
            for (place, number) in panel[column..].iter_mut().step_by(PANEL).zip(row) {
                *place = *number;
            }
        }
    });
    all
}

/// A weight matrix, and where its product is to go.
#[derive(Debug)]
pub struct Product<'a> {
    /// (columns, k).
    pub weights: &'a PackedWeights,
    /// (rows, columns); its length becomes that of the product.
    pub y: &'a mut Vec<f32>,
}

/// The product of the rows of `x` with a weight matrix: (rows, columns).
///
/// Batch-invariant: a row of the result depends on its row of `x` alone.
pub fn linear(x: &[f32], weights: &PackedWeights) -> Vec<f32> {
    let mut y = Vec::new();
    linear_into(x, &mut [Product { weights, y: &mut y }]);
    y
}

/// The products of the rows of `x` with several weight matrices of one `k`, in one round of threads: see
/// [`linear`].
pub fn linear_into(x: &[f32], products: &mut [Product<'_>]) {
    let k = products.first().map_or(0, |product| product.weights.k);
    let rows = x.len().checked_div(k).unwrap_or(0);
    let mut columns = 0;
    for Product { weights, y } in products.iter_mut() {
        columns += weights.columns;
        let len = rows * weights.columns;
        if y.capacity() < len {
            // Zeros of the system: threads touch the memory first where they write their parts.
            **y = vec![0.0; len];
        }
        y.resize(len, 0.0);
    }
    if rows == 0 || columns == 0 {
        return;
    }
    let arch = Arch::new();
    let is_quantised = |product: &Product<'_>| product.weights.is_quantised();
    let quantised = if products.iter().any(is_quantised) { quantise_rows(x) } else { Vec::new() };
    let x = Rows { numbers: x, quantised: &quantised };
    let is_parallel =
        (rows + MULTIPLICATIONS_OF_A_LOAD) * columns * k >= MIN_PARALLEL_MULTIPLICATIONS;
    let threads = if is_parallel { rayon::current_num_threads() } else { 1 };
    let (task_rows, task_panels) = if !is_parallel {
        (rows, usize::MAX)
    } else if rows >= TASK_ROWS * threads {
        (TASK_ROWS, usize::MAX)
    } else {
        let tasks = threads * if rows == 1 { TASKS_PER_THREAD_ONE_ROW } else { TASKS_PER_THREAD };
        (rows, columns.div_ceil(PANEL).div_ceil(tasks).clamp(1, TASK_PANELS))
    };
    let mut tasks = Vec::new();
    for Product { weights, y } in products.iter_mut().filter(|product| product.weights.columns > 0)
    {
        let panels = weights.panels().min(task_panels);
        for (x, y) in x.chunks(task_rows * k).zip(y.chunks_mut(task_rows * weights.columns)) {
            tasks.extend(weights.tasks(x, y, panels));
        }
    }
    if is_parallel {
        tasks.into_par_iter().for_each(|task| task.run(arch));
    } else {
        tasks.into_iter().for_each(|task| task.run(arch));
    }
}

/// The product of all rows with some panels.
struct PanelTask<'a> {
    x: &'a [f32],
    panels: PackedSlice<'a>,
    /// A part of each row.
    y: Vec<&'a mut [f32]>,
    k: usize,
}

impl PanelTask<'_> {
    fn columns(&self) -> usize {
        self.y.first().map_or(0, |row| row.len())
    }
}

impl WithSimd for PanelTask<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        // One row is bound by memory, and more streams of weights hide its latency.
        let rows = self.x.len() / self.k;
        let most = if rows == 1 { 8 } else { 4 };
        match lanes {
            16 => self.run::<S, 1>(simd, most),
            // From four rows on, four registers of columns would take more sums than AVX2 has registers.
            8 => self.run::<S, 2>(simd, if rows >= 4 { 2 } else { most }),
            4 => self.run::<S, 4>(simd, most),
            _ => self.run::<S, 16>(simd, 16),
        }
    }
}

impl PanelTask<'_> {
    /// All tiles, for a panel of `N` registers; a tile has up to `most` registers of columns.
    #[inline(always)]
    fn run<S: Simd, const N: usize>(mut self, simd: S, most: usize) {
        let (rows, k) = (self.x.len() / self.k, self.k);
        if let PackedSlice::Half(panels) = self.panels
            && rows == 1
        {
            for row in self.y {
                panels.multiply_row::<S, N>(simd, self.x, row);
            }
            return;
        }
        let panels = self.columns().div_ceil(PANEL);
        let tile = (most / N).max(1);
        let mut widened = match self.panels {
            PackedSlice::F32(_) => Vec::new(),
            PackedSlice::Half(_) => vec![0.0; tile * PANEL * K_PART.min(k)],
        };
        // Weights of one row are read once: they need not stay in a cache.
        let k_part = if rows == 1 { k } else { K_PART };
        let mut panel = 0;
        while panel < panels {
            let count = if panels - panel < tile { 1 } else { tile };
            for k_from in (0..k).step_by(k_part) {
                let part = KPart { panel, from: k_from, to: k.min(k_from + k_part) };
                match count {
                    8 => self.tile::<S, N, 8>(simd, part, &mut widened),
                    4 => self.tile::<S, N, 4>(simd, part, &mut widened),
                    2 => self.tile::<S, N, 2>(simd, part, &mut widened),
                    _ => self.tile::<S, N, 1>(simd, part, &mut widened),
                }
            }
            panel += count;
        }
    }

    /// Adds the products of all rows with `P` panels and a part of k.
    #[inline(always)]
    fn tile<S: Simd, const N: usize, const P: usize>(
        &mut self,
        simd: S,
        part: KPart,
        widened: &mut [f32],
    ) {
        let (k, len) = (self.k, (part.to - part.from) * PANEL);
        let start = |i: usize| (part.panel + i) * k * PANEL + part.from * PANEL;
        let slices: [&[f32]; P] = match self.panels {
            PackedSlice::F32(numbers) => {
                std::array::from_fn(|i| &numbers[start(i)..start(i) + len])
            }
            PackedSlice::Half(panels) => {
                for (i, wide) in widened.chunks_exact_mut(len).take(P).enumerate() {
                    panels.widen::<S, N>(simd, part.panel + i, part.from, wide);
                }
                let widened = &*widened;
                std::array::from_fn(|i| &widened[i * len..(i + 1) * len])
            }
        };
        let weights: [&[[S::f32s; N]]; P] =
            slices.map(|slice| S::as_simd_f32s(slice).0.as_chunks::<N>().0);
        let rows = self.x.len() / k;
        let mut ahead: [&[Line]; P] = [&[]; P];
        if rows >= MIN_PREFETCH_ROWS {
            // The part after this one, or the first of the next panels.
            let (next, at) = if part.to < k { (part.panel, part.to) } else { (part.panel + P, 0) };
            for (i, ahead) in ahead.iter_mut().enumerate() {
                *ahead = self.panels.lines(next + i, k, at..k.min(at + K_PART));
            }
        }
        let mut row = 0;
        while row < rows {
            let mut tile = Tile { task: self, part, row };
            let most = match P * N {
                0..=4 => 6,
                5..=8 => 2,
                _ => 1,
            };
            // The rows in as few tiles as they fit into, none much smaller than another: a tile of few
            // sums waits for each addition to end. 16 rows are 6, 5 and 5.
            let left = rows - row;
            let tiles = left.div_ceil(most);
            let wanted: [&[Line]; P] = std::array::from_fn(|i| {
                let wanted;
                (wanted, ahead[i]) = ahead[i].split_at(ahead[i].len() / tiles);
                wanted
            });
            row += match left.div_ceil(tiles) {
                6 if P * N <= 4 => tile.add::<S, N, P, 6>(simd, weights, wanted),
                5 if P * N <= 4 => tile.add::<S, N, P, 5>(simd, weights, wanted),
                4 if P * N <= 4 => tile.add::<S, N, P, 4>(simd, weights, wanted),
                3 if P * N <= 4 => tile.add::<S, N, P, 3>(simd, weights, wanted),
                2 if P * N <= 8 => tile.add::<S, N, P, 2>(simd, weights, wanted),
                _ => tile.add::<S, N, P, 1>(simd, weights, wanted),
            };
        }
    }
}

/// A part of k of the panels from `panel` on.
#[derive(Clone, Copy)]
struct KPart {
    panel: usize,
    from: usize,
    to: usize,
}

/// The rows from `row` on, with a part of some panels.
struct Tile<'a, 'b> {
    task: &'a mut PanelTask<'b>,
    part: KPart,
    row: usize,
}

impl Tile<'_, '_> {
    /// Adds the products of `R` rows with `P` panels of `N` registers, and asks for some lines. Returns `R`.
    #[inline(always)]
    fn add<S: Simd, const N: usize, const P: usize, const R: usize>(
        &mut self,
        simd: S,
        weights: [&[[S::f32s; N]]; P],
        wanted: [&[Line]; P],
    ) -> usize {
        let PanelTask { x, y, k, .. } = &mut *self.task;
        let y = &mut y[self.row..self.row + R];
        let KPart { panel, from, to } = self.part;
        let len = to - from;
        let x: [&[f32]; R] = std::array::from_fn(|i| {
            let start = (self.row + i) * *k + from;
            &x[start..start + len]
        });
        let weights: [&[[S::f32s; N]]; P] = std::array::from_fn(|i| &weights[i][..len]);
        let mut sums = [[[simd.splat_f32s(0.0); N]; P]; R];
        let mut buffer = [0.0; PANEL];
        if from > 0 {
            for (y, sums) in y.iter().zip(&mut sums) {
                for (j, sums) in sums.iter_mut().enumerate() {
                    let y = &y[(panel + j) * PANEL..];
                    // The last panel may have fewer columns.
                    let y = y.first_chunk::<PANEL>().unwrap_or_else(|| {
                        buffer[..y.len()].copy_from_slice(y);
                        &buffer
                    });
                    sums.copy_from_slice(S::as_simd_f32s(y).0);
                }
            }
        }
        // The loop adds to a copy, of which nobody takes a reference, so that the compiler keeps it in registers.
        // With the original, each addition of a large tile also wrote its sum to memory, at half the rate.
        let mut registers = sums;
        for p in 0..len {
            // Tiles of fewer rows are those of products that ask for nothing.
            if R > 2 {
                for lines in wanted {
                    if let Some(line) = lines.get(p) {
                        prefetch(line);
                    }
                }
            }
            // Loops, because closures with many instructions of a register are not inlined.
            for i in 0..R {
                let x = simd.splat_f32s(x[i][p]);
                for j in 0..P {
                    for n in 0..N {
                        let sum = &mut registers[i][j][n];
                        *sum = simd.mul_add_f32s(x, weights[j][p][n], *sum);
                    }
                }
            }
        }
        sums = registers;
        for (y, sums) in y.iter_mut().zip(&sums) {
            for (j, sums) in sums.iter().enumerate() {
                let y = &mut y[(panel + j) * PANEL..];
                if let Some(y) = y.first_chunk_mut::<PANEL>() {
                    S::as_mut_simd_f32s(y).0.copy_from_slice(sums);
                } else {
                    S::as_mut_simd_f32s(&mut buffer).0.copy_from_slice(sums);
                    y.copy_from_slice(&buffer[..y.len()]);
                }
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
        // Widths that fill no register, parts of k, columns that fill no tile, tasks by columns and by
        // rows.
        for (k, columns) in [(1, 1), (5, 3), (24, 260), (67, 9), (1024, 33), (1100, 300), (2100, 8)]
        {
            let (x, w) = (numbers(270 * k, 1), numbers(columns * k, 2));
            let packed = PackedWeights::new(WeightSlice::F32(&w), k);
            let all = linear(&x, &packed);
            for (row, x) in x.chunks_exact(k).enumerate() {
                for (column, w) in w.chunks_exact(k).enumerate() {
                    let exact: f64 =
                        x.iter().zip(w).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                    let near = f64::from(all[row * columns + column]) - exact;
                    assert!(near.abs() < 1e-4, "{k} {columns}: {near} at {row}, {column}");
                }
            }
            for rows in [1, 2, 3, 4, 5, 6, 7, 13, 61, 200] {
                for from in [0, 270 - rows] {
                    let y = linear(&x[from * k..(from + rows) * k], &packed);
                    assert_eq!(y, all[from * columns..(from + rows) * columns], "{k} {rows}");
                }
            }
        }
    }

    #[test]
    fn nothing_times_anything_is_nothing() {
        assert!(linear(&[], &PackedWeights::new(WeightSlice::F32(&[1.0]), 1)).is_empty());
        assert!(linear(&[], &PackedWeights::new(WeightSlice::F32(&[]), 0)).is_empty());
    }

    #[test]
    fn rows_of_the_matrix_are_read_as_they_were_packed() {
        let (k, columns) = (7, 35);
        let w = numbers(columns * k, 5);
        let half: Vec<f16> = w.iter().copied().map(f16::from_f32).collect();
        let packed = [
            PackedWeights::new(WeightSlice::F32(&w), k),
            PackedWeights::new(WeightSlice::F16(&half), k),
        ];
        for (column, expected) in w.chunks_exact(k).enumerate() {
            let mut row = vec![0.0; k];
            packed[0].read(column, &mut row);
            assert_eq!(row, expected);
            packed[1].read(column, &mut row);
            let half = &half[column * k..(column + 1) * k];
            assert!(row.iter().zip(half).all(|(wide, narrow)| *wide == narrow.to_f32()));
        }
    }
}
