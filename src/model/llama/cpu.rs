//! The forward pass on the CPU: the kernels of `maskwright_kernels` on buffers of `f32`, without
//! tensors in between.
//!
//! ```text
//! stream ─ norm ─ q, k, v ─ turn q and k ─ write k and v ─ attend ─ output ─┐
//!    └────────────────────────────── + ──────────────────────────────────────┘ …
//! ```
//!
//! Buffers are (rows, width), a row for each token, and are used again in every layer. Queries, keys
//! and values are one round of threads, and so are gate and up. The pass runs inside rayon's pool, so
//! that a product waits for no other thread to wake.

use std::ops::Deref;

use candle_core::{CpuStorage, DType, Error, Result, Storage as TensorStorage, Tensor};
use maskwright_kernels::{self as kernels, Product, Segment};

use super::attention::{Attention, Rows};
use super::linear::Linear;
use super::{DecoderBlock, Llama, RmsNorm};
use crate::model::batch::Chunk;
use crate::model::kv_cache::Storage;

/// Reads the tokens of all chunks: see [`Llama::forward`]. Returns (rows with logits, vocab_size).
pub(super) fn forward(llama: &Llama, chunks: &mut [Chunk<'_>]) -> Result<Vec<f32>> {
    // A scope only so as to run inside the pool.
    rayon::scope(|_| Pass::new(llama, chunks)?.run(llama, chunks))
}

/// The buffers of a pass.
struct Pass {
    rows: Rows,
    /// (rows, head width / 2).
    cosines: Vec<f32>,
    sines: Vec<f32>,
    /// The stream that layers add to.
    stream: Vec<f32>,
    normed: Vec<f32>,
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
    /// The output of attention, or of the feed-forward part.
    output: Vec<f32>,
}

impl Pass {
    fn new(llama: &Llama, chunks: &mut [Chunk<'_>]) -> Result<Self> {
        let rows = Rows::new(chunks);
        for chunk in chunks.iter_mut() {
            let (from, to) = (chunk.cache.len(), chunk.cache.len() + chunk.tokens.len());
            if let Storage::Paged(table) = chunk.cache.storage() {
                table.reserve(from, to);
            }
        }
        let hidden = llama.config.hidden_size;
        let mut stream = vec![0.0; rows.len() * hidden];
        let embedding = llama.embedding.packed()?;
        let tokens = chunks.iter().flat_map(|chunk| chunk.tokens);
        for (row, token) in stream.chunks_exact_mut(hidden).zip(tokens) {
            embedding.read(*token as usize, row);
        }
        let (cosines, sines) = llama.rope.numbers(&rows.positions);
        let normed = vec![0.0; stream.len()];
        let [queries, keys, values, gate, up, output] = Default::default();
        Ok(Self { rows, cosines, sines, stream, normed, queries, keys, values, gate, up, output })
    }

    fn run(mut self, llama: &Llama, chunks: &mut [Chunk<'_>]) -> Result<Vec<f32>> {
        for (layer, block) in llama.blocks.iter().enumerate() {
            self.attend(block, layer, chunks)?;
            self.feed_forward(block)?;
        }
        for chunk in chunks.iter_mut() {
            chunk.cache.advance(chunk.tokens.len());
        }
        let hidden = llama.config.hidden_size;
        let mut wanted = Vec::new();
        for row in self.rows.with_logits(chunks) {
            wanted.extend_from_slice(&self.stream[row * hidden..(row + 1) * hidden]);
        }
        let mut normed = vec![0.0; wanted.len()];
        norm(&llama.norm, &wanted, &mut normed)?;
        let mut logits = Vec::new();
        products(&normed, &mut [(&llama.logits, &mut logits)])?;
        Ok(logits)
    }

    fn attend(
        &mut self,
        block: &DecoderBlock,
        layer: usize,
        chunks: &mut [Chunk<'_>],
    ) -> Result<()> {
        let Attention { queries, keys, values, output, heads, kv } = &block.attention;
        norm(&block.attention_norm, &self.stream, &mut self.normed)?;
        let projections =
            &mut [(queries, &mut self.queries), (keys, &mut self.keys), (values, &mut self.values)];
        products(&self.normed, projections)?;
        for heads in [&mut self.queries, &mut self.keys] {
            kernels::rotate(heads, kv.width, &self.cosines, &self.sines);
        }
        let kv_width = kv.kv_heads * kv.width;
        for (chunk, (from, to)) in chunks.iter_mut().zip(self.rows.bounds()) {
            let (at, part) = (chunk.cache.len(), from * kv_width..to * kv_width);
            if let Storage::Paged(table) = chunk.cache.storage() {
                table.write(layer, at, &self.keys[part.clone()], &self.values[part]);
            }
        }
        let blocks: Vec<Vec<&[f32]>> = chunks.iter().map(|chunk| chunk.cache.blocks()).collect();
        let segments: Vec<Segment<'_>> = chunks
            .iter()
            .zip(&blocks)
            .zip(self.rows.bounds())
            .map(|((chunk, blocks), (from, to))| Segment {
                row: from,
                rows: to - from,
                at: chunk.cache.len(),
                parents: chunk.parents,
                blocks,
            })
            .collect();
        let attended = kernels::attend(*heads, *kv, layer, &self.queries, &segments);
        products(&attended, &mut [(output, &mut self.output)])?;
        kernels::add(&mut self.stream, &self.output);
        Ok(())
    }

    fn feed_forward(&mut self, block: &DecoderBlock) -> Result<()> {
        norm(&block.mlp_norm, &self.stream, &mut self.normed)?;
        let mlp = &block.mlp;
        products(&self.normed, &mut [(&mlp.gate, &mut self.gate), (&mlp.up, &mut self.up)])?;
        kernels::gate_by_silu(&mut self.gate, &self.up);
        products(&self.gate, &mut [(&mlp.down, &mut self.output)])?;
        kernels::add(&mut self.stream, &self.output);
        Ok(())
    }
}

fn norm(norm: &RmsNorm, x: &[f32], y: &mut [f32]) -> Result<()> {
    kernels::rms_norm(x, numbers(&norm.weight).f32()?, norm.eps, y);
    Ok(())
}

/// The outputs of several layers for the rows of `x`.
fn products(x: &[f32], layers: &mut [(&Linear, &mut Vec<f32>)]) -> Result<()> {
    let mut products = Vec::with_capacity(layers.len());
    for (layer, y) in layers.iter_mut() {
        products.push(Product { weights: layer.weight.packed()?, y });
    }
    kernels::linear_into(x, &mut products);
    for (layer, y) in layers {
        if let Some(bias) = &layer.bias {
            kernels::add_bias(y, &bias.to_dtype(DType::F32)?.to_vec1::<f32>()?);
        }
    }
    Ok(())
}

/// The numbers of a tensor on the CPU, which is contiguous as it was loaded.
struct Numbers<G> {
    /// The read lock of the storage.
    storage: G,
    from: usize,
    to: usize,
}

/// The numbers of a tensor.
fn numbers(tensor: &Tensor) -> Numbers<impl Deref<Target = TensorStorage>> {
    let (storage, layout) = tensor.storage_and_layout();
    let from = layout.start_offset();
    let to = from + layout.shape().elem_count();
    Numbers { storage, from, to }
}

impl<G: Deref<Target = TensorStorage>> Numbers<G> {
    fn f32(&self) -> Result<&[f32]> {
        match &*self.storage {
            TensorStorage::Cpu(CpuStorage::F32(numbers)) => Ok(&numbers[self.from..self.to]),
            _ => Err(Error::msg("the weights of a norm are f32 on the CPU")),
        }
    }
}
