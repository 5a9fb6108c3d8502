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

mod softmax;
mod tiles;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use self::softmax::Softmax;
use self::tiles::{MixTile, ScoreTile};
use crate::block::{BLOCK_POSITIONS, BlockLayout};

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
    /// Tokens of the sequence already in the cache before the first row (past length).
    pub at: usize,
    /// The parent of each row but the first, counted from the first row, if the rows are a tree; empty
    /// if each row follows the one before.
    pub parents: &'a [usize],
    /// The blocks of the sequence, in order: 16 positions each, up to the last row.
    pub blocks: &'a [&'a [f32]],
}

/// The parameters by which one layer turns q · k into attention weights.
#[derive(Clone, Copy, Debug)]
pub struct Scoring<'a> {
    /// The factor of products, usually one over the root of the width.
    pub scale: f32,
    /// The bound c in c · tanh(score / c), if scores have one (Gemma 2).
    pub soft_cap: Option<f32>,
    /// The number of last positions that a row sees, its own among them; `None` for all.
    pub window: Option<usize>,
    /// Attention sinks (heads): logits that take part in the softmax and have no value (gpt-oss); empty
    /// for none.
    pub sinks: &'a [f32],
}

impl Scoring<'_> {
    /// Scores divided by √width, the dimension of a head, and nothing else.
    pub fn plain(width: usize) -> Self {
        Self { scale: 1.0 / (width as f32).sqrt(), soft_cap: None, window: None, sinks: &[] }
    }
}

/// The attention of all rows in the layer of a layout: `queries` and the result are (rows, heads, width), where
/// `heads` is a multiple of the key-value heads. The time is in proportion to the positions that rows
/// see, and is shared by threads.
///
/// ```
/// use maskwright_kernels::{BlockLayout, Scoring, Segment, attend};
/// let layout = BlockLayout { start: 0, kv_heads: 1, width: 2 };
/// let mut block = vec![0.0; layout.len()];
/// layout.write(&mut block, 0, &[1.0, 0.0], &[10.0, 20.0]);
/// layout.write(&mut block, 1, &[1.0, 0.0], &[30.0, 40.0]);
/// let segment = Segment { row: 0, rows: 2, at: 0, parents: &[], blocks: &[&block] };
/// // The first row sees itself; the second one sees two equal keys, and takes the mean.
/// let y = attend(1, layout, Scoring::plain(2), &[0.5, 1.0, 0.5, 1.0], &[segment]);
/// assert_eq!(y, [10.0, 20.0, 20.0, 30.0]);
/// ```
///
/// Batch-invariant: a row of the result depends only on its query and on the positions that it sees.
/// Panics if a segment has fewer blocks than positions, or more rows than there are queries.
pub fn attend(
    heads: usize,
    layout: BlockLayout,
    scoring: Scoring<'_>,
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
            let first_block = first_visible(segment, from, scoring.window) / BLOCK_POSITIONS;
            let positions = segment.at + to - first_block * BLOCK_POSITIONS;
            products += (to - from) * positions * heads * layout.width;
            for kv_head in 0..layout.kv_heads {
                tasks.push(Task {
                    group,
                    layout,
                    scoring,
                    queries,
                    segment,
                    from,
                    to,
                    first_block,
                    kv_head,
                });
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
    scoring: Scoring<'a>,
    queries: &'a [f32],
    segment: &'a Segment<'a>,
    from: usize,
    to: usize,
    /// The first block that a row of the task sees a position of.
    first_block: usize,
    kv_head: usize,
}

impl WithSimd for Task<'_> {
    /// (rows, query heads of the key-value head, width).
    type Output = Vec<f32>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
        let Self { group, segment, from, to, .. } = self;
        let queries = self.scaled_queries();
        let positions = segment.at + to - self.first_block * BLOCK_POSITIONS;
        let stride = positions.next_multiple_of(BLOCK_POSITIONS);
        let mut weights = vec![0.0; (to - from) * group * stride];
        self.score(simd, &queries, stride, &mut weights);
        let mut sums = Vec::with_capacity((to - from) * group);
        for (i, row) in weights.chunks_exact_mut(stride).enumerate() {
            let row_number = from + i / group;
            let first = self.first_block * BLOCK_POSITIONS;
            hide(segment, row_number, self.scoring.window, first, row);
            let visible = segment.at + row_number + 1 - first;
            let sink = self.scoring.sinks.get(self.kv_head * group + i % group).copied();
            let soft_cap = self.scoring.soft_cap;
            sums.push(simd.vectorize(Softmax { row, visible, soft_cap, sink }));
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
    /// The query vectors, row after row, times the scale.
    fn scaled_queries(&self) -> Vec<f32> {
        let BlockLayout { kv_heads, width, .. } = self.layout;
        let part = self.group * width;
        let scale = self.scoring.scale;
        let row = |row: usize| {
            let at = ((self.segment.row + row) * kv_heads + self.kv_head) * part;
            self.queries[at..at + part].iter().map(move |number| number * scale)
        };
        (self.from..self.to).flat_map(row).collect()
    }

    /// The keys of a block, counted from the first visible one: (width, positions).
    #[inline(always)]
    fn keys(&self, block: usize) -> &[f32] {
        &self.segment.blocks[self.first_block + block][self.layout.keys(self.kv_head)]
    }

    /// The values of a block, counted from the first visible one: (positions, width).
    #[inline(always)]
    fn values(&self, block: usize) -> &[f32] {
        &self.segment.blocks[self.first_block + block][self.layout.values(self.kv_head)]
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
        let positions = self.segment.at + self.to - self.first_block * BLOCK_POSITIONS;
        &weights[query * stride..query * stride + positions]
    }
}

/// The first place of the cache that a row from `from` on may see.
fn first_visible(segment: &Segment<'_>, from: usize, window: Option<usize>) -> usize {
    let Some(window) = window else { return 0 };
    // In a chain, row `from` has the earliest position. In a draft tree any row may stand just below the
    // root, so the root's position bounds the window.
    let earliest = if segment.parents.is_empty() { from } else { 0 };
    (segment.at + earliest + 1).saturating_sub(window)
}

/// Hides from a row what is not an ancestor of it in a tree, and what lies before its window. `scores`
/// begins at the place `first` of the cache.
fn hide(
    segment: &Segment<'_>,
    row: usize,
    window: Option<usize>,
    first: usize,
    scores: &mut [f32],
) {
    let window = window.unwrap_or(usize::MAX);
    let at = segment.at;
    if segment.parents.is_empty() {
        let before = (at + row + 1).saturating_sub(window);
        scores[..before.saturating_sub(first)].fill(f32::NEG_INFINITY);
        return;
    }
    // The nodes on the way to the root, of which the window holds the nearest.
    let (mut node, mut seen) = (row, 1);
    while node > 0 {
        let parent = segment.parents[node - 1];
        let visible_from = if seen < window { parent + 1 } else { 0 };
        scores[at + visible_from - first..at + node - first].fill(f32::NEG_INFINITY);
        if seen >= window {
            break;
        }
        (node, seen) = (parent, seen + 1);
    }
    let before = (at + seen).saturating_sub(window).min(at);
    scores[..before.saturating_sub(first)].fill(f32::NEG_INFINITY);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn rows_of_a_tree_see_their_ancestors() {
        // 0 ── 1 ── 3,  0 ── 2 ── 4, and 5 below 3.
        let segment = Segment { row: 0, rows: 6, at: 2, parents: &[0, 0, 1, 2, 3], blocks: &[] };
        let hidden_from = |row: usize, window: Option<usize>| {
            let mut scores = vec![0.0; 16];
            hide(&segment, row, window, 0, &mut scores);
            (0..16).filter(|&i| scores[i] != 0.0).collect::<Vec<_>>()
        };
        let hidden = |row| hidden_from(row, None);
        // Node 5 is the third below the root, which is at position 2.
        assert_eq!(hidden_from(5, Some(5)), [0, 4, 6]);
        assert_eq!(hidden_from(5, Some(3)), [0, 1, 2, 4, 6]);
        assert_eq!(hidden_from(5, Some(1)), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(hidden_from(0, Some(2)), [0]);
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
        rule: Rule,
    }

    /// The scoring of a test.
    #[derive(Clone, Copy)]
    struct Rule {
        scale: f32,
        soft_cap: Option<f32>,
        window: Option<usize>,
        /// The score of the sink of each head, if there are sinks.
        sink: Option<f32>,
    }

    const RULES: [Rule; 4] = [
        Rule { scale: 0.3, soft_cap: None, window: None, sink: None },
        Rule { scale: 2.0, soft_cap: Some(0.7), window: Some(20), sink: None },
        Rule { scale: 1.0, soft_cap: None, window: Some(4), sink: Some(0.4) },
        Rule { scale: 1.0, soft_cap: None, window: Some(1), sink: Some(-3.0) },
    ];

    /// The batch that some rows are read in.
    #[derive(PartialEq)]
    enum Beside {
        Nothing,
        Tree,
    }

    /// Positions before the rows, and rows: (a chunk, a tree).
    const ROWS: [(usize, usize); 2] = [(19, 30), (16, 6)];
    /// 0 ── 1 ── 3 ── 5,  0 ── 2 ── 4.
    const PARENTS: [usize; 5] = [0, 0, 1, 2, 3];

    impl Batch {
        fn random(heads: usize, layout: BlockLayout, rule: Rule) -> Self {
            let mut random = Random(7);
            let mut sequence = |(at, rows): (usize, usize)| {
                let mut blocks = vec![vec![0.0; layout.end()]; (at + rows).div_ceil(16)];
                for position in 0..at + rows {
                    let (block, position) = (&mut blocks[position / 16], position % 16);
                    let row_len = layout.kv_heads * layout.width;
                    let (keys, values) = (random.numbers(row_len), random.numbers(row_len));
                    layout.write(block, position, &keys, &values);
                }
                blocks
            };
            let mut blocks = ROWS.map(&mut sequence);
            blocks[1][0] = blocks[0][0].clone();
            let queries = random.numbers((ROWS[0].1 + ROWS[1].1) * heads * layout.width);
            Self { heads, layout, blocks, queries, rule }
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
            let Rule { scale, soft_cap, window, sink } = self.rule;
            let sinks: Vec<f32> = sink.map_or(vec![], |sink| vec![sink; self.heads]);
            let scoring = Scoring { scale, soft_cap, window, sinks: &sinks };
            attend(self.heads, self.layout, scoring, &queries, &segments)
        }

        /// The attention of one query vector to some positions of a sequence, in `f64`.
        fn exact(&self, sequence: usize, query: &[f32], head: usize, seen: &[usize]) -> Vec<f64> {
            let BlockLayout { kv_heads, width, .. } = self.layout;
            let kv_head = head / (self.heads / kv_heads);
            let number = |position: usize, index: usize| {
                f64::from(self.blocks[sequence][position / 16][index])
            };
            let key = |position: usize, dimension: usize| {
                let from = self.layout.keys(kv_head).start;
                number(position, from + dimension * 16 + position % 16)
            };
            let value = |position: usize, dimension: usize| {
                let from = self.layout.values(kv_head).start;
                number(position, from + position % 16 * width + dimension)
            };
            let weight = |&position: &usize| {
                let product = |d: usize| f64::from(query[d]) * key(position, d);
                let score = (0..width).map(product).sum::<f64>() * f64::from(self.rule.scale);
                match self.rule.soft_cap.map(f64::from) {
                    None => score.exp(),
                    Some(cap) => ((score / cap).tanh() * cap).exp(),
                }
            };
            // `seen` is the path to the row, whose last positions are in the window.
            let window = self.rule.window.unwrap_or(usize::MAX).min(seen.len());
            let seen = &seen[seen.len() - window..];
            let sink = self.rule.sink.map_or(0.0, |sink| f64::from(sink).exp());
            let sum = seen.iter().map(weight).sum::<f64>() + sink;
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

    /// Widths that fill no register, one, and several; a head of its own for each query, and shared; layers
    /// that are first in a block, and not.
    const SHAPES: [(usize, BlockLayout); 4] = [
        (3, BlockLayout { start: 64, kv_heads: 3, width: 5 }),
        (4, BlockLayout { start: 64, kv_heads: 2, width: 16 }),
        (10, BlockLayout { start: 64, kv_heads: 2, width: 72 }),
        (2, BlockLayout { start: 0, kv_heads: 1, width: 1 }),
    ];

    #[test]
    fn results_are_close_to_the_exact_means() {
        for ((heads, layout), rule) in SHAPES.into_iter().flat_map(|s| RULES.map(|r| (s, r))) {
            let batch = Batch::random(heads, layout, rule);
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
        for ((heads, layout), rule) in SHAPES.into_iter().flat_map(|s| RULES.map(|r| (s, r))) {
            let batch = Batch::random(heads, layout, rule);
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
        assert!(
            attend(2, BlockLayout { start: 0, kv_heads: 1, width: 4 }, Scoring::plain(4), &[], &[])
                .is_empty()
        );
    }
}
