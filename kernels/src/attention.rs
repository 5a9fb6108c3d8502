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

use crate::block::{BLOCK_POSITIONS, BlockLayout};
use crate::exponential::exp;

/// Query vectors (rows times query heads of one key-value head) of a task: they share the keys and
/// values that it reads.
const TASK_QUERIES: usize = 24;

/// Products of a query's number and a key's below which all tasks (about 30 µs) run on the calling
/// thread: a second one takes about 10 µs to begin.
const MIN_PARALLEL_PRODUCTS: usize = 1 << 20;

/// Rows of one sequence in a packed batch. Their keys and values are in the cache already.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The first row in the batch.
    pub row: usize,
    /// The number of rows; at least one.
    pub rows: usize,
    /// The positions of the sequence before the first row.
    pub at: usize,
    /// The parent of each row but the first, counted from the first row, if the rows are a tree; empty
    /// if each row follows the one before.
    pub parents: &'a [usize],
    /// The blocks of the sequence, in order: 16 positions each, up to the last row.
    pub blocks: &'a [&'a [f32]],
}

/// The attention of all rows in one layer: `queries` and the result are (rows, heads, width), where
/// `heads` is a multiple of the key-value heads. The time is in proportion to the positions that rows
/// see, and is shared by threads.
///
/// ```
/// use maskwright_kernels::{BlockLayout, Segment, attend};
/// let layout = BlockLayout { kv_heads: 1, width: 2 };
/// let mut block = vec![0.0; layout.len(1)];
/// layout.write(&mut block, 0, 0, &[1.0, 0.0], &[10.0, 20.0]);
/// layout.write(&mut block, 0, 1, &[1.0, 0.0], &[30.0, 40.0]);
/// let segment = Segment { row: 0, rows: 2, at: 0, parents: &[], blocks: &[&block] };
/// // The first row sees itself; the second one sees two equal keys, and takes the mean.
/// let y = attend(1, layout, 0, &[0.5, 1.0, 0.5, 1.0], &[segment]);
/// assert_eq!(y, [10.0, 20.0, 20.0, 30.0]);
/// ```
///
/// Batch-invariant: a row of the result depends on its query and on the positions that it sees alone.
/// Panics if a segment has fewer blocks than positions, or more rows than there are queries.
pub fn attend(
    heads: usize,
    layout: BlockLayout,
    layer: usize,
    queries: &[f32],
    segments: &[Segment<'_>],
) -> Vec<f32> {
    let group = heads / layout.kv_heads;
    let rows_of_task = (TASK_QUERIES / group).max(1);
    let mut tasks = Vec::new();
    let mut products = 0;
    for segment in segments {
        for from in (0..segment.rows).step_by(rows_of_task) {
            let to = segment.rows.min(from + rows_of_task);
            products += (to - from) * (segment.at + to) * heads * layout.width;
            for kv_head in 0..layout.kv_heads {
                tasks.push(Task { group, layout, layer, queries, segment, from, to, kv_head });
            }
        }
    }
    let arch = Arch::new();
    let results: Vec<Vec<f32>> = if products < MIN_PARALLEL_PRODUCTS {
        tasks.iter().map(|task| arch.dispatch(*task)).collect()
    } else {
        tasks.par_iter().map(|task| arch.dispatch(*task)).collect()
    };
    let mut all = vec![0.0; queries.len()];
    let (row_len, part_len) = (heads * layout.width, group * layout.width);
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
    /// Query heads of a key-value head.
    group: usize,
    layout: BlockLayout,
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
        let Self { group, segment, from, to, .. } = self;
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
        for (numbers, sum) in result.chunks_exact_mut(self.layout.width).zip(sums) {
            numbers.iter_mut().for_each(|number| *number /= sum);
        }
        result
    }
}

impl Task<'_> {
    /// The query vectors, row after row, divided by the root of their width.
    fn scaled_queries(&self) -> Vec<f32> {
        let BlockLayout { kv_heads, width } = self.layout;
        let part = self.group * width;
        let scale = 1.0 / (width as f32).sqrt();
        let row = |row: usize| {
            let at = ((self.segment.row + row) * kv_heads + self.kv_head) * part;
            self.queries[at..at + part].iter().map(move |number| number * scale)
        };
        (self.from..self.to).flat_map(row).collect()
    }

    /// The keys of a block: (width, positions).
    #[inline(always)]
    fn keys(&self, block: usize) -> &[f32] {
        &self.segment.blocks[block][self.layout.keys(self.layer, self.kv_head)]
    }

    /// The values of a block: (positions, width).
    #[inline(always)]
    fn values(&self, block: usize) -> &[f32] {
        &self.segment.blocks[block][self.layout.values(self.layer, self.kv_head)]
    }

    /// Writes the products of all queries with all keys: (queries, stride).
    #[inline(always)]
    fn score<S: Simd>(&self, simd: S, queries: &[f32], stride: usize, scores: &mut [f32]) {
        let width = self.layout.width;
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
        let width = self.layout.width;
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
        let width = self.task.layout.width;
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
        let width = self.task.layout.width;
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
        // In ascending order, not in lanes: a node of a tree has zeros between its ancestors, which
        // would move them to other lanes than those of the path alone.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn rows_of_a_tree_see_their_ancestors() {
        // 0 ── 1 ── 3,  0 ── 2 ── 4, and 5 below 3.
        let segment = Segment { row: 0, rows: 6, at: 2, parents: &[0, 0, 1, 2, 3], blocks: &[] };
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

    /// A cache with a random key and value at each position of two sequences that share the first 16,
    /// random queries, and their segments: a chunk, and a tree.
    struct Batch {
        heads: usize,
        layout: BlockLayout,
        blocks: [Vec<Vec<f32>>; 2],
        queries: Vec<f32>,
    }

    /// The batch that some rows are read in.
    #[derive(PartialEq)]
    enum Beside {
        Nothing,
        Tree,
    }

    const LAYERS: usize = 2;
    const LAYER: usize = 1;
    /// Positions before the rows, and rows: (a chunk, a tree).
    const ROWS: [(usize, usize); 2] = [(19, 30), (16, 6)];
    /// 0 ── 1 ── 3 ── 5,  0 ── 2 ── 4.
    const PARENTS: [usize; 5] = [0, 0, 1, 2, 3];

    impl Batch {
        fn random(heads: usize, layout: BlockLayout) -> Self {
            let mut random = Random(7);
            let mut sequence = |(at, rows): (usize, usize)| {
                let mut blocks = vec![vec![0.0; layout.len(LAYERS)]; (at + rows).div_ceil(16)];
                for position in 0..at + rows {
                    let (block, position) = (&mut blocks[position / 16], position % 16);
                    let row_len = layout.kv_heads * layout.width;
                    let (keys, values) = (random.numbers(row_len), random.numbers(row_len));
                    layout.write(block, LAYER, position, &keys, &values);
                }
                blocks
            };
            let mut blocks = ROWS.map(&mut sequence);
            blocks[1][0] = blocks[0][0].clone();
            let queries = random.numbers((ROWS[0].1 + ROWS[1].1) * heads * layout.width);
            Self { heads, layout, blocks, queries }
        }

        /// The attention of some rows of the first sequence, beside nothing or the tree.
        fn attend(&self, from: usize, to: usize, beside: Beside) -> Vec<f32> {
            let row_len = self.heads * self.layout.width;
            let blocks = self.blocks.each_ref().map(|b| b.iter().map(Vec::as_slice).collect());
            let blocks: [Vec<&[f32]>; 2] = blocks;
            let (rows, tree_rows) = (to - from, ROWS[1].1);
            let mut queries = self.queries[from * row_len..to * row_len].to_vec();
            let at = ROWS[0].0 + from;
            let mut segments = vec![Segment { row: 0, rows, at, parents: &[], blocks: &blocks[0] }];
            if beside == Beside::Tree {
                queries.extend_from_slice(&self.queries[ROWS[0].1 * row_len..]);
                let (at, parents, blocks) = (ROWS[1].0, &PARENTS, &blocks[1]);
                segments.push(Segment { row: rows, rows: tree_rows, at, parents, blocks });
            }
            attend(self.heads, self.layout, LAYER, &queries, &segments)
        }

        /// The attention of one query vector to some positions of a sequence, in `f64`.
        fn exact(&self, sequence: usize, query: &[f32], head: usize, seen: &[usize]) -> Vec<f64> {
            let BlockLayout { kv_heads, width } = self.layout;
            let kv_head = head / (self.heads / kv_heads);
            let number = |position: usize, index: usize| {
                f64::from(self.blocks[sequence][position / 16][index])
            };
            let key = |position: usize, dimension: usize| {
                let from = self.layout.keys(LAYER, kv_head).start;
                number(position, from + dimension * 16 + position % 16)
            };
            let value = |position: usize, dimension: usize| {
                let from = self.layout.values(LAYER, kv_head).start;
                number(position, from + position % 16 * width + dimension)
            };
            let weight = |&position: &usize| {
                let product = |d: usize| f64::from(query[d]) * key(position, d);
                ((0..width).map(product).sum::<f64>() / (width as f64).sqrt()).exp()
            };
            let sum: f64 = seen.iter().map(weight).sum();
            let mean = |d: usize| seen.iter().map(|p| weight(p) * value(*p, d)).sum::<f64>() / sum;
            (0..width).map(mean).collect()
        }

        fn assert_close(&self, rows: &[f32], first: usize, sequence: usize, seen: &[Vec<usize>]) {
            let BlockLayout { width, .. } = self.layout;
            for (row, seen) in seen.iter().enumerate() {
                for head in 0..self.heads {
                    let at = (row * self.heads + head) * width;
                    let query = &self.queries[first * self.heads * width + at..][..width];
                    let exact = self.exact(sequence, query, head, seen);
                    for (number, exact) in rows[at..at + width].iter().zip(exact) {
                        let error = (f64::from(*number) - exact).abs();
                        assert!(error < 1e-6, "{error:e} at row {row}, head {head}");
                    }
                }
            }
        }
    }

    /// Widths that fill no register, one, and several; a head of its own for each query, and shared.
    const SHAPES: [(usize, BlockLayout); 4] = [
        (3, BlockLayout { kv_heads: 3, width: 5 }),
        (4, BlockLayout { kv_heads: 2, width: 16 }),
        (10, BlockLayout { kv_heads: 2, width: 72 }),
        (2, BlockLayout { kv_heads: 1, width: 1 }),
    ];

    #[test]
    fn results_are_close_to_the_exact_means() {
        for (heads, layout) in SHAPES {
            let batch = Batch::random(heads, layout);
            let y = batch.attend(0, ROWS[0].1, Beside::Tree);
            let (chunk, tree) = y.split_at(ROWS[0].1 * heads * layout.width);
            let causal: Vec<Vec<usize>> =
                (0..ROWS[0].1).map(|row| (0..=ROWS[0].0 + row).collect()).collect();
            batch.assert_close(chunk, 0, 0, &causal);
            let path = |nodes: &[usize]| (0..16).chain(nodes.iter().map(|n| 16 + n)).collect();
            let paths: [&[usize]; 6] =
                [&[0], &[0, 1], &[0, 2], &[0, 1, 3], &[0, 2, 4], &[0, 1, 3, 5]];
            let paths: Vec<Vec<usize>> = paths.into_iter().map(path).collect();
            batch.assert_close(tree, ROWS[0].1, 1, &paths);
        }
    }

    #[test]
    fn a_row_is_the_same_in_every_chunk_and_batch() {
        for (heads, layout) in SHAPES {
            let batch = Batch::random(heads, layout);
            let row_len = heads * layout.width;
            let rows = ROWS[0].1;
            let all = batch.attend(0, rows, Beside::Tree);
            for n in [1, 2, 3, 7, 16, 30] {
                for from in (0..rows).step_by(n) {
                    let to = rows.min(from + n);
                    let part = batch.attend(from, to, Beside::Nothing);
                    assert_eq!(part, all[from * row_len..to * row_len], "{n} from {from}");
                }
            }
        }
    }

    #[test]
    fn no_rows_have_no_attention() {
        assert!(attend(2, BlockLayout { kv_heads: 1, width: 4 }, 0, &[], &[]).is_empty());
    }
}
