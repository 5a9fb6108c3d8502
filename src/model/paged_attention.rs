//! Attention over a paged KV cache on a device, and the writing of keys and values into it (Kwon et al. 2023,
//! "Efficient Memory Management for Large Language Model Serving with PagedAttention").
//!
//! The cache of a layer is two tensors, keys and values, of (blocks · heads · 16, width). A *slot* is the place
//! of a position of a sequence: 16 times its block, and its place in it. Of each slot and head there is a row:
//!
//! ```text
//! slot  = block · 16 + position mod 16         block = table[position / 16]
//! row   = (block · heads + head) · 16 + position mod 16
//! ```
//!
//! On NVIDIA GPUs both are kernels (`kernels.cu`); on the CPU both are computed here, plainly: it is what the
//! kernels are compared with.

#[cfg(feature = "cuda")]
mod cuda;

use candle_core::{CpuStorage, CustomOp1, DType, InplaceOp1, Layout, Result, Shape, Tensor, bail};
use maskwright_kernels::BLOCK_POSITIONS;

/// The greatest width of a head that the kernels compute. Widths are even.
pub(super) const MAX_WIDTH: usize = 256;

/// The rows of some slots, slot after slot, each with all of its heads.
pub(super) fn rows_by_position(slots: &[u32], kv_heads: usize) -> Vec<u32> {
    let heads = 0..kv_heads as u32;
    let rows = slots.iter().flat_map(|&slot| heads.clone().map(move |head| (slot, head)));
    rows.map(|(slot, head)| row(slot, head, kv_heads)).collect()
}

/// The rows of some slots, head after head, each with all of its slots.
pub(super) fn rows_by_head(slots: &[u32], kv_heads: usize) -> Vec<u32> {
    let rows = (0..kv_heads as u32).flat_map(|head| slots.iter().map(move |&slot| (slot, head)));
    rows.map(|(slot, head)| row(slot, head, kv_heads)).collect()
}

fn row(slot: u32, head: u32, kv_heads: usize) -> u32 {
    let positions = BLOCK_POSITIONS as u32;
    (slot / positions * kv_heads as u32 + head) * positions + slot % positions
}

/// Writes numbers (n, heads · width) into a cache in place, each row into the slot of `slots` (n), `u32`.
/// The slots must be in the cache.
pub(super) fn store(
    cache: &Tensor,
    numbers: &Tensor,
    slots: &Tensor,
    kv_heads: usize,
) -> Result<()> {
    let (numbers, slots) = (numbers.contiguous()?, slots.clone());
    if numbers.dims2()? != (slots.dims1()?, kv_heads * cache.dim(1)?) {
        bail!("{:?} for {:?} slots of {kv_heads} heads", numbers.shape(), slots.shape());
    }
    if (numbers.dtype(), slots.dtype()) != (cache.dtype(), DType::U32) {
        bail!("{:?} at {:?} in a cache of {:?}", numbers.dtype(), slots.dtype(), cache.dtype());
    }
    cache.inplace_op1(&Store { numbers, slots, kv_heads })
}

/// Numbers, and the slots for them.
struct Store {
    numbers: Tensor,
    slots: Tensor,
    kv_heads: usize,
}

impl InplaceOp1 for Store {
    fn name(&self) -> &'static str {
        "store"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let CpuStorage::F32(cache) = storage else { bail!("on the CPU a cache is f32") };
        let (_, width) = layout.shape().dims2()?;
        let slots = self.slots.to_vec1::<u32>()?;
        let numbers = self.numbers.flatten_all()?.to_vec1::<f32>()?;
        let rows = rows_by_position(&slots, self.kv_heads);
        for (row, numbers) in rows.into_iter().zip(numbers.chunks_exact(width)) {
            let from = layout.start_offset() + row as usize * width;
            cache[from..from + width].copy_from_slice(numbers);
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, cache: &mut candle_core::CudaStorage, layout: &Layout) -> Result<()> {
        cuda::store(self, cache, layout)
    }
}

/// The parameters by which one layer turns q · k into attention weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttentionParams {
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    /// Of products of queries and keys.
    pub(super) scale: f64,
    pub(super) soft_cap: Option<f64>,
    /// The positions that a row sees, with its own.
    pub(super) window: Option<usize>,
}

/// Rows of any sequences, and the positions that each of them sees.
#[derive(Clone, Debug)]
pub(super) struct PagedRows {
    /// The blocks of each row's sequence, with any more after them: (rows, blocks), `u32`.
    pub(super) tables: Tensor,
    /// The positions of its sequence up to each row's own, with it: (rows), `u32`.
    pub(super) lengths: Tensor,
    /// The greatest of the lengths.
    pub(super) longest: usize,
}

impl PagedRows {
    /// The attention of queries (rows, heads · width) over a layer's keys and values: the same shape and dtype.
    /// Sums are in `f32`.
    pub(super) fn attend(
        &self,
        queries: &Tensor,
        keys: &Tensor,
        values: &Tensor,
        params: AttentionParams,
    ) -> Result<Tensor> {
        let (rows, width) = (queries.dim(0)?, keys.dim(1)?);
        let shapes = (queries.dim(1)?, self.tables.dim(0)?, self.lengths.dims1()?);
        if shapes != (params.heads * width, rows, rows) || keys.shape() != values.shape() {
            bail!("attention of {:?} over {:?}: {shapes:?}", queries.shape(), keys.shape());
        }
        let (keys, values, rows) = (keys.clone(), values.clone(), self.clone());
        queries.contiguous()?.apply_op1_no_bwd(&Attend { keys, values, rows, params })
    }
}

/// The keys and values that queries look at.
struct Attend {
    keys: Tensor,
    values: Tensor,
    rows: PagedRows,
    params: AttentionParams,
}

impl CustomOp1 for Attend {
    fn name(&self) -> &'static str {
        "attend"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (CpuStorage::F32(queries), Some((from, to))) = (storage, layout.contiguous_offsets())
        else {
            bail!("on the CPU queries are contiguous f32")
        };
        let AttentionParams { heads, kv_heads, scale, soft_cap, window } = self.params;
        let (keys, values) = (self.keys.to_vec2::<f32>()?, self.values.to_vec2::<f32>()?);
        let tables = self.rows.tables.to_vec2::<u32>()?;
        let lengths = self.rows.lengths.to_vec1::<u32>()?;
        if lengths.iter().any(|length| *length as usize > self.rows.longest) {
            bail!("a row is longer than {}", self.rows.longest);
        }
        let width = self.keys.dim(1)?;
        let mut output = Vec::with_capacity(to - from);
        for (index, query) in queries[from..to].chunks_exact(width).enumerate() {
            let (table, head) = (&tables[index / heads], index % heads);
            let length = lengths[index / heads] as usize;
            let first = window.map_or(0, |window| length.saturating_sub(window));
            let row = |position: usize| {
                let block = table[position / BLOCK_POSITIONS] as usize;
                let slot = block * BLOCK_POSITIONS + position % BLOCK_POSITIONS;
                row(slot as u32, (head / (heads / kv_heads)) as u32, kv_heads) as usize
            };
            let score = |position: usize| {
                let products = query.iter().zip(&keys[row(position)]);
                let sum: f64 = products.map(|(q, k)| f64::from(*q) * f64::from(*k)).sum();
                soft_cap.map_or(sum * scale, |cap| (sum * scale / cap).tanh() * cap)
            };
            let scores: Vec<f64> = (first..length).map(score).collect();
            let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
            let total: f64 = weights.iter().sum();
            let mut sums = vec![0.0; width];
            for (position, weight) in (first..length).zip(&weights) {
                for (sum, value) in sums.iter_mut().zip(&values[row(position)]) {
                    *sum += weight * f64::from(*value);
                }
            }
            output.extend(sums.into_iter().map(|sum| (sum / total) as f32));
        }
        Ok((CpuStorage::F32(output), layout.shape().clone()))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        queries: &candle_core::CudaStorage,
        layout: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        cuda::attend(self, queries, layout)
    }
}

#[cfg(test)]
mod tests;
