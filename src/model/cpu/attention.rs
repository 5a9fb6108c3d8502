//! Attention of packed rows over a paged KV cache.
//!
//! Vaswani et al. 2017, "Attention Is All You Need", with grouped queries (Ainslie et al. 2023) and
//! pages as in vLLM (Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving
//! with PagedAttention"). A task is some rows of one sequence and one key-value head, whose keys and
//! values it reads once for all of these rows and for all query heads that share the head:
//!
//! ```text
//! scores   (query, position)   = q · k    16 positions of a block are the lanes of a register
//! weights  (query, position)   = exp(score − greatest score), 0 where the query may not look
//! result   (query, dimension)  = Σ weight · v, position after position, divided by Σ weight
//! ```
//!
//! Every sum runs over dimensions or positions in ascending order, whatever is computed beside it.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::model::kv_cache::{BLOCK_POSITIONS, BlockTable};

/// Query vectors (rows times query heads of one key-value head) of a task: they share the keys and
/// values that it reads.
const TASK_QUERIES: usize = 24;

/// Scores below which all tasks run on the calling thread: a second thread takes about 10 µs to
/// begin.
const MIN_PARALLEL_SCORES: usize = 4096;

/// The heads of an attention layer.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct AttentionShape {
    pub(in crate::model) heads: usize,
    pub(in crate::model) kv_heads: usize,
    /// Numbers of one head.
    pub(in crate::model) width: usize,
}

/// Rows of one sequence in a packed batch. Their keys and values are in the cache already.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Segment<'a> {
    /// The first row in the batch.
    pub(in crate::model) row: usize,
    pub(in crate::model) rows: usize,
    /// The positions of the sequence before the first row.
    pub(in crate::model) at: usize,
    /// The parent of each row but the first, counted from the first row, if the rows are a tree; empty
    /// if each row follows the one before.
    pub(in crate::model) parents: &'a [usize],
    pub(in crate::model) blocks: &'a BlockTable,
}

/// The attention of all rows: `queries` and the result are (rows, heads, width).
pub(in crate::model) fn attend(
    shape: AttentionShape,
    layer: usize,
    queries: &[f32],
    segments: &[Segment<'_>],
) -> Vec<f32> {
    let group = shape.heads / shape.kv_heads;
    let rows_of_task = (TASK_QUERIES / group).max(1);
    let mut tasks = Vec::new();
    let mut scores = 0;
    for segment in segments {
        for from in (0..segment.rows).step_by(rows_of_task) {
            let to = segment.rows.min(from + rows_of_task);
            scores += (to - from) * (segment.at + to) * shape.heads;
            for kv_head in 0..shape.kv_heads {
                tasks.push(Task { shape, layer, queries, segment, from, to, kv_head });
            }
        }
    }
    let arch = Arch::new();
    let results: Vec<Vec<f32>> = if scores < MIN_PARALLEL_SCORES {
        tasks.iter().map(|task| arch.dispatch(*task)).collect()
    } else {
        tasks.par_iter().map(|task| arch.dispatch(*task)).collect()
    };
    let mut all = vec![0.0; queries.len()];
    let (row_len, part_len) = (shape.heads * shape.width, group * shape.width);
    for (task, result) in tasks.iter().zip(results) {
        for (row, part) in (task.from..task.to).zip(result.chunks_exact(part_len)) {
            let at = (task.segment.row + row) * row_len + task.kv_head * part_len;
            all[at..at + part_len].copy_from_slice(part);
        }
    }
    all
}

/// Some rows of a segment and one key-value head.
#[derive(Clone, Copy)]
struct Task<'a> {
    shape: AttentionShape,
    layer: usize,
    queries: &'a [f32],
    segment: &'a Segment<'a>,
    from: usize,
    to: usize,
    kv_head: usize,
}

impl WithSimd for Task<'_> {
    /// (rows, query heads of the key-value head, width).
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let Self { shape, segment, from, to, .. } = self;
        let group = shape.heads / shape.kv_heads;
        let queries = self.scaled_queries();
        let positions = segment.at + to;
        let stride = positions.next_multiple_of(BLOCK_POSITIONS);
        let mut weights = vec![0.0; (to - from) * group * stride];
        self.score(simd, &queries, stride, &mut weights);
        let mut sums = Vec::with_capacity((to - from) * group);
        for (i, row) in weights.chunks_exact_mut(stride).enumerate() {
            let row_number = from + i / group;
            hide_other_branches(segment, row_number, row);
            sums.push(simd.vectorize(Softmax { row, visible: segment.at + row_number + 1 }));
        }
        let mut result = vec![0.0; queries.len()];
        self.mix_values(simd, &weights, stride, &mut result);
        for (numbers, sum) in result.chunks_exact_mut(shape.width).zip(sums) {
            numbers.iter_mut().for_each(|number| *number /= sum);
        }
        result
    }
}

impl Task<'_> {
    /// The query vectors, row after row, divided by the root of their width.
    fn scaled_queries(&self) -> Vec<f32> {
        let AttentionShape { heads, kv_heads, width } = self.shape;
        let part = heads / kv_heads * width;
        let scale = 1.0 / (width as f32).sqrt();
        let row = |row: usize| {
            let at = (self.segment.row + row) * heads * width + self.kv_head * part;
            self.queries[at..at + part].iter().map(move |number| number * scale)
        };
        (self.from..self.to).flat_map(row).collect()
    }

    /// The keys of a block: (width, positions).
    #[inline(always)]
    fn keys(&self, block: usize) -> &[f32] {
        self.segment.blocks.keys(block, self.layer, self.kv_head)
    }

    /// The values of a block: (positions, width).
    #[inline(always)]
    fn values(&self, block: usize) -> &[f32] {
        self.segment.blocks.values(block, self.layer, self.kv_head)
    }

    /// Writes the products of all queries with all keys: (queries, stride).
    #[inline(always)]
    fn score<S: Simd>(&self, simd: S, queries: &[f32], stride: usize, scores: &mut [f32]) {
        let width = self.shape.width;
        let count = queries.len() / width;
        let blocks = stride / BLOCK_POSITIONS;
        let mut query = 0;
        while query < count {
            let several = count - query >= 4;
            let mut block = 0;
            while block < blocks {
                let mut tile = ScoreTile { task: self, queries, query, block, stride, scores };
                block += match (several, blocks - block) {
                    (true, 4..) => tile.write::<S, 4, 4>(simd),
                    (true, _) => tile.write::<S, 4, 1>(simd),
                    (false, 4..) => tile.write::<S, 1, 4>(simd),
                    (false, _) => tile.write::<S, 1, 1>(simd),
                };
            }
            query += if several { 4 } else { 1 };
        }
    }

    /// Adds the values of all positions, weighted, to the result: (queries, width).
    #[inline(always)]
    fn mix_values<S: Simd>(&self, simd: S, weights: &[f32], stride: usize, result: &mut [f32]) {
        let width = self.shape.width;
        let count = result.len() / width;
        let registers = S::as_simd_f32s(&self.values(0)[..width]).0.len();
        let mut query = 0;
        while query < count {
            let several = count - query >= 4;
            let mut register = 0;
            while register < registers {
                let mut tile = MixTile { task: self, weights, stride, query, register, result };
                register += match (several, registers - register) {
                    (true, 4..) => tile.add::<S, 4, 4>(simd),
                    (true, _) => tile.add::<S, 4, 1>(simd),
                    (false, 4..) => tile.add::<S, 1, 4>(simd),
                    (false, _) => tile.add::<S, 1, 1>(simd),
                };
            }
            query += if several { 4 } else { 1 };
        }
        let lanes = size_of::<S::f32s>() / size_of::<f32>();
        let rest = registers * lanes;
        for (query, result) in result.chunks_exact_mut(width).enumerate() {
            for (position, weight) in self.weights_of(weights, stride, query).iter().enumerate() {
                let values = self.values(position / BLOCK_POSITIONS);
                let at = position % BLOCK_POSITIONS * width;
                for (sum, value) in result[rest..].iter_mut().zip(&values[at + rest..at + width]) {
                    *sum += weight * value;
                }
            }
        }
    }

    /// The weights of one query, for the positions that are written.
    #[inline(always)]
    fn weights_of<'a>(&self, weights: &'a [f32], stride: usize, query: usize) -> &'a [f32] {
        &weights[query * stride..query * stride + self.segment.at + self.to]
    }
}

/// Some queries and some blocks of keys.
struct ScoreTile<'a> {
    task: &'a Task<'a>,
    queries: &'a [f32],
    query: usize,
    block: usize,
    stride: usize,
    scores: &'a mut [f32],
}

impl ScoreTile<'_> {
    /// Writes the scores of `Q` queries with `B` blocks. Returns `B`.
    #[inline(always)]
    fn write<S: Simd, const Q: usize, const B: usize>(&mut self, simd: S) -> usize {
        let width = self.task.shape.width;
        let queries: [&[f32]; Q] = std::array::from_fn(|i| {
            let at = (self.query + i) * width;
            &self.queries[at..at + width]
        });
        let keys: [&[S::f32s]; B] =
            std::array::from_fn(|i| S::as_simd_f32s(self.task.keys(self.block + i)).0);
        let registers = keys[0].len() / width;
        for register in 0..registers {
            let mut lanes = [[simd.splat_f32s(0.0); B]; Q];
            for dimension in 0..width {
                let keys: [S::f32s; B] =
                    std::array::from_fn(|i| keys[i][dimension * registers + register]);
                for (lanes, query) in lanes.iter_mut().zip(queries) {
                    let query = simd.splat_f32s(query[dimension]);
                    for (sum, keys) in lanes.iter_mut().zip(keys) {
                        *sum = simd.mul_add_f32s(query, keys, *sum);
                    }
                }
            }
            for (i, lanes) in lanes.iter().enumerate() {
                for (j, lanes) in lanes.iter().enumerate() {
                    let at = (self.query + i) * self.stride + (self.block + j) * BLOCK_POSITIONS;
                    let row = &mut self.scores[at..at + BLOCK_POSITIONS];
                    S::as_mut_simd_f32s(row).0[register] = *lanes;
                }
            }
        }
        B
    }
}

/// Some queries and some registers of a value vector.
struct MixTile<'a> {
    task: &'a Task<'a>,
    weights: &'a [f32],
    stride: usize,
    query: usize,
    register: usize,
    result: &'a mut [f32],
}

impl MixTile<'_> {
    /// Adds up the values for `Q` queries and `V` registers. Returns `V`.
    #[inline(always)]
    fn add<S: Simd, const Q: usize, const V: usize>(&mut self, simd: S) -> usize {
        let width = self.task.shape.width;
        let weights: [&[f32]; Q] = std::array::from_fn(|i| {
            self.task.weights_of(self.weights, self.stride, self.query + i)
        });
        let mut lanes = [[simd.splat_f32s(0.0); V]; Q];
        for (block, from) in (0..weights[0].len()).step_by(BLOCK_POSITIONS).enumerate() {
            let to = weights[0].len().min(from + BLOCK_POSITIONS);
            for (values, position) in self.task.values(block).chunks_exact(width).zip(from..to) {
                let values = &S::as_simd_f32s(values).0[self.register..self.register + V];
                for (lanes, weights) in lanes.iter_mut().zip(weights) {
                    let weight = simd.splat_f32s(weights[position]);
                    for (sum, values) in lanes.iter_mut().zip(values) {
                        *sum = simd.mul_add_f32s(weight, *values, *sum);
                    }
                }
            }
        }
        for (i, lanes) in lanes.iter().enumerate() {
            let at = (self.query + i) * width;
            let row = S::as_mut_simd_f32s(&mut self.result[at..at + width]).0;
            row[self.register..self.register + V].copy_from_slice(lanes);
        }
        V
    }
}

/// Hides the rows of a tree that are no ancestors of a row.
fn hide_other_branches(segment: &Segment<'_>, row: usize, scores: &mut [f32]) {
    if segment.parents.is_empty() {
        return;
    }
    let tree = &mut scores[segment.at..segment.at + row];
    let mut node = row;
    while node > 0 {
        let parent = segment.parents[node - 1];
        tree[parent + 1..node].fill(f32::NEG_INFINITY);
        node = parent;
    }
}

/// Turns the scores of the first positions of a row into weights, the others into 0, and adds the
/// weights up.
struct Softmax<'a> {
    row: &'a mut [f32],
    /// The number of positions up to and including the row's own.
    visible: usize,
}

impl WithSimd for Softmax<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f32 {
        let (seen, unseen) = self.row.split_at_mut(self.visible);
        unseen.fill(0.0);
        let greatest = greatest(seen);
        for score in seen.iter_mut() {
            *score = exp(*score - greatest);
        }
        seen.iter().sum()
    }
}

/// The greatest of some numbers, found in lanes: the order of comparisons does not matter.
#[inline(always)]
fn greatest(numbers: &[f32]) -> f32 {
    let greater = |a: f32, b: f32| if a > b { a } else { b };
    let mut lanes = [f32::NEG_INFINITY; 16];
    let chunks = numbers.chunks_exact(16);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane = greater(*lane, *number);
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, greater)
}

/// e to the x, for x up to 0, within two units in the last place; 0 below −87, where the power is
/// the least normal number. A polynomial (Cephes, `expf`), so that loops of it run on registers.
#[inline(always)]
fn exp(x: f32) -> f32 {
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
    fn rows_of_a_tree_see_their_ancestors() {
        let table = BlockTable::default();
        // 0 ── 1 ── 3,  0 ── 2 ── 4, and 5 below 3.
        let segment = Segment { row: 0, rows: 6, at: 2, parents: &[0, 0, 1, 2, 3], blocks: &table };
        let hidden = |row: usize| {
            let mut scores = vec![0.0; 16];
            hide_other_branches(&segment, row, &mut scores);
            (0..16).filter(|&i| scores[i] != 0.0).collect::<Vec<_>>()
        };
        assert_eq!(hidden(0), [0; 0]);
        assert_eq!(hidden(1), [0; 0]);
        assert_eq!(hidden(2), [3]);
        assert_eq!(hidden(3), [4]);
        assert_eq!(hidden(4), [3, 5]);
        assert_eq!(hidden(5), [4, 6]);
    }
}
