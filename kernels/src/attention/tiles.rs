//! Register tiles of attention: some queries with some blocks of keys, or with some registers of values,
//! so that each register that is loaded is used several times.

use pulp::Simd;

use super::Task;
use crate::block::BLOCK_POSITIONS;

/// Some queries and some blocks of keys.
pub(super) struct ScoreTile<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) queries: &'a [f32],
    pub(super) query: usize,
    pub(super) block: usize,
    pub(super) stride: usize,
    pub(super) scores: &'a mut [f32],
}

impl ScoreTile<'_> {
    /// Writes the scores of `Q` queries with `B` blocks. Returns `B`.
    #[inline(always)]
    pub(super) fn write<S: Simd, const Q: usize, const B: usize>(&mut self, simd: S) -> usize {
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
pub(super) struct MixTile<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) weights: &'a [f32],
    pub(super) stride: usize,
    pub(super) query: usize,
    pub(super) register: usize,
    pub(super) result: &'a mut [f32],
}

impl MixTile<'_> {
    /// Adds up the values for `Q` queries and `V` registers. Returns `V`.
    #[inline(always)]
    pub(super) fn add<S: Simd, const Q: usize, const V: usize>(&mut self, simd: S) -> usize {
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
