//! The forward pass on the CPU: the kernels of `maskwright_kernels` on buffers of `f32`, without
//! tensors in between.
//!
//! ```text
//! stream ─ norm ─ q, k, v ─ norm and rotate q and k ─ write k and v ─ attend ─ output ─ norm ─┐
//!    └───────────────────────────────────── + ───────────────────────────────────────────────┘ …
//! ```
//!
//! Buffers are (rows, width), a row for each token, and are used again in every layer. Queries, keys
//! and values are one round of threads, and so are gate and up. The pass runs inside rayon's pool, so
//! that a product waits for no other thread to wake.

use candle_core::Result;
use maskwright_kernels::{self as kernels, Scoring, Segment};

use super::Decoder;
use super::attention::Projections;
use super::feed_forward::{Inner, feed_forward};
use super::layer::DecoderLayer;
use super::linear::Vector;
use super::norm::Norm;
use super::operations::{norm, products, split};
use super::per_layer_embeddings::PerLayerEmbeddings;
use super::rotary::Angles;
use super::rows::Rows;
use crate::model::batch::Chunk;
use crate::model::config::decoder::AttentionTemperature;

/// Reads the tokens of all chunks: see [`Decoder::forward`]. Returns (rows with logits, vocab_size).
pub(super) fn forward(decoder: &Decoder, chunks: &mut [Chunk<'_>]) -> Result<Vec<f32>> {
    // A scope only so as to run inside the pool.
    rayon::scope(|_| Pass::new(decoder, chunks)?.run(decoder, chunks))
}

/// The buffers of a pass.
struct Pass {
    rows: Rows,
    angles: Vec<Angles>,
    /// The stream that layers add to.
    stream: Vec<f32>,
    /// (rows, layers · width); empty in models without.
    per_layer_embeddings: Vec<f32>,
    normed: Vec<f32>,
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    /// Queries or keys before their norm.
    heads: Vec<f32>,
    /// The output of attention, or of the feed-forward part.
    output: Vec<f32>,
    /// The same before its norm.
    raw: Vec<f32>,
    inner: Inner,
}

impl Pass {
    fn new(decoder: &Decoder, chunks: &mut [Chunk<'_>]) -> Result<Self> {
        let rows = Rows::new(chunks);
        for chunk in chunks.iter_mut() {
            let (from, to) = (chunk.cache.len(), chunk.cache.len() + chunk.tokens.len());
            chunk.cache.table()?.reserve(from, to)?;
        }
        let hidden = decoder.config.hidden_size;
        let mut stream = vec![0.0; rows.len() * hidden];
        let tokens: Vec<u32> = chunks.iter().flat_map(|chunk| chunk.tokens).copied().collect();
        for (row, token) in stream.chunks_exact_mut(hidden).zip(&tokens) {
            decoder.embedding.read(*token as usize, row)?;
        }
        scale(&mut stream, decoder.config.decoder.embedding_scale);
        if let Some(positions) = &decoder.positions {
            let mut vector = vec![0.0; hidden];
            for (row, position) in stream.chunks_exact_mut(hidden).zip(&rows.positions) {
                positions.read(*position, &mut vector)?;
                kernels::add(row, &vector);
            }
        }
        let per_layer_embeddings = match &decoder.per_layer_embeddings {
            Some(weights) => per_layer_embeddings(weights, &tokens, &stream, hidden)?,
            None => Vec::new(),
        };
        let angles = decoder.rotary.angles(&rows.turns(chunks));
        let normed = vec![0.0; stream.len()];
        let [queries, keys, values, heads, output, raw] = Default::default();
        let inner = Inner::default();
        Ok(Self {
            rows,
            angles,
            stream,
            per_layer_embeddings,
            normed,
            queries,
            keys,
            values,
            heads,
            output,
            raw,
            inner,
        })
    }

    fn run(mut self, decoder: &Decoder, chunks: &mut [Chunk<'_>]) -> Result<Vec<f32>> {
        for (index, layer) in decoder.layers.iter().enumerate() {
            self.attend(decoder, layer, index, chunks)?;
            self.feed_forward(layer)?;
            self.add_per_layer_embedding(decoder, layer, index)?;
            if let Some(scalar) = layer.scalar {
                kernels::scale(&mut self.stream, scalar);
            }
        }
        for chunk in chunks.iter_mut() {
            chunk.cache.advance(chunk.tokens.len());
        }
        let hidden = decoder.config.hidden_size;
        let mut wanted = Vec::new();
        for row in self.rows.with_logits(chunks) {
            wanted.extend_from_slice(&self.stream[row * hidden..(row + 1) * hidden]);
        }
        let mut normed = vec![0.0; wanted.len()];
        norm(&decoder.norm, &wanted, &mut normed)?;
        let mut logits = Vec::new();
        products(&normed, &mut [(&decoder.logits, &mut logits)])?;
        scale(&mut logits, decoder.config.decoder.logit_scale);
        if let Some(cap) = decoder.config.decoder.logit_soft_cap {
            kernels::soft_cap(&mut logits, cap as f32);
        }
        Ok(logits)
    }

    fn attend(
        &mut self,
        decoder: &Decoder,
        layer: &DecoderLayer,
        index: usize,
        chunks: &mut [Chunk<'_>],
    ) -> Result<()> {
        let (attention, config) = (&layer.attention, &layer.config.attention);
        let kv = attention.kv;
        match &layer.before_attention {
            Some(before) => norm(before, &self.stream, &mut self.normed)?,
            None => self.normed.copy_from_slice(&self.stream),
        }
        self.project(&attention.projections, config.heads * kv.width, kv.kv_heads * kv.width)?;
        let has_own_kv = config.kv_of_layer.is_none();
        let turns_first = config.head_norm.is_some_and(|norm| norm.is_after_rope);
        let Self { queries, keys, values, heads, angles, .. } = self;
        for (x, by) in [(&mut *queries, &attention.query_norm), (&mut *keys, &attention.key_norm)] {
            let rotary = decoder.rotary.of_layer(index);
            let turn = |x: &mut [f32]| {
                let Some((kind, rope)) = rotary else { return };
                let Angles { cosines, sines } = &angles[kind];
                let pairs = rope.frequencies.len();
                kernels::rotate(x, kv.width, pairs, rope.pairs, cosines, sines);
            };
            if turns_first {
                turn(x);
            }
            norm_heads(by.as_ref(), x, heads)?;
            if let Some(bound) = config.clip_qkv {
                kernels::clamp(x, bound as f32);
            }
            if !turns_first {
                turn(x);
            }
        }
        if let Some(tuning) = config.temperature_tuning {
            tune_temperature(tuning, &self.rows.positions, queries, config.heads * kv.width);
        }
        norm_heads(attention.value_norm.as_ref(), values, heads)?;
        if let Some(bound) = config.clip_qkv {
            kernels::clamp(values, bound as f32);
        }
        let kv_width = kv.kv_heads * kv.width;
        for (chunk, (from, to)) in chunks.iter_mut().zip(self.rows.bounds()) {
            let (at, part) = (chunk.cache.len(), from * kv_width..to * kv_width);
            if has_own_kv {
                let (keys, values) = (&self.keys[part.clone()], &self.values[part]);
                chunk.cache.table()?.write(kv, at, keys, values)?;
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
        let scoring = Scoring {
            scale: config.scale as f32,
            soft_cap: config.soft_cap.map(|cap| cap as f32),
            window: config.window,
            sinks: attention.sinks.as_ref().map_or(Ok(&[][..]), Vector::numbers)?,
        };
        let queries = &self.queries;
        let attended = kernels::attend(config.heads, kv, scoring, queries, &segments);
        products(&attended, &mut [(&attention.output, &mut self.output)])?;
        self.norm_output(layer.after_attention.as_ref())?;
        if !layer.config.norms.is_parallel {
            self.add_output(layer);
        } else {
            // Added after the feed-forward part has read the stream.
            std::mem::swap(&mut self.queries, &mut self.output);
        }
        Ok(())
    }

    /// The queries, and the keys and values unless they are another layer's, of the normed stream.
    fn project(&mut self, projections: &Projections, q_len: usize, kv_len: usize) -> Result<()> {
        let Self { normed, queries, keys, values, heads: fused, .. } = self;
        match projections {
            Projections::Separate { queries: q, keys: k, values: Some(v) } => {
                products(normed, &mut [(q, queries), (k, keys), (v, values)])
            }
            Projections::Separate { queries: q, keys: k, values: None } => {
                products(normed, &mut [(q, queries), (k, keys)])?;
                values.clone_from(keys);
                Ok(())
            }
            Projections::Fused(all) => {
                products(normed, &mut [(all, fused)])?;
                split(fused, &mut [(q_len, queries), (kv_len, keys), (kv_len, values)]);
                Ok(())
            }
            Projections::Queries(q) => {
                keys.clear();
                values.clear();
                products(normed, &mut [(q, queries)])
            }
        }
    }

    fn feed_forward(&mut self, layer: &DecoderLayer) -> Result<()> {
        match &layer.before_mlp {
            Some(before) => norm(before, &self.stream, &mut self.normed)?,
            // What attention read.
            None if layer.config.norms.is_parallel => {}
            None => self.normed.copy_from_slice(&self.stream),
        }
        let Self { stream, normed, output, inner, .. } = self;
        feed_forward(&layer.mlp, stream, normed, inner, output)?;
        self.norm_output(layer.after_mlp.as_ref())?;
        self.add_output(layer);
        if layer.config.norms.is_parallel {
            std::mem::swap(&mut self.queries, &mut self.output);
            self.add_output(layer);
        }
        Ok(())
    }

    /// Adds the per-layer embedding of a layer to the stream, through its gate.
    fn add_per_layer_embedding(
        &mut self,
        decoder: &Decoder,
        layer: &DecoderLayer,
        index: usize,
    ) -> Result<()> {
        let (Some(all), Some(own)) = (&decoder.per_layer_embeddings, &layer.per_layer_input) else {
            return Ok(());
        };
        let width = all.config.width;
        let Self { stream, per_layer_embeddings, output, inner, .. } = self;
        products(stream, &mut [(&own.gate, &mut inner.gate)])?;
        inner.up.clear();
        for row in per_layer_embeddings.chunks_exact(all.layers * width) {
            inner.up.extend_from_slice(&row[index * width..(index + 1) * width]);
        }
        kernels::gate(&mut inner.gate, &inner.up, all.config.activation);
        products(&inner.gate, &mut [(&own.projection, output)])?;
        self.norm_output(Some(&own.norm))?;
        kernels::add(&mut self.stream, &self.output);
        Ok(())
    }

    fn norm_output(&mut self, by: Option<&Norm>) -> Result<()> {
        let Some(by) = by else { return Ok(()) };
        std::mem::swap(&mut self.output, &mut self.raw);
        self.output.resize(self.raw.len(), 0.0);
        norm(by, &self.raw, &mut self.output)
    }

    fn add_output(&mut self, layer: &DecoderLayer) {
        match layer.config.residual_scale {
            1.0 => kernels::add(&mut self.stream, &self.output),
            scale => kernels::add_scaled(&mut self.stream, &self.output, scale as f32),
        }
    }
}

/// The per-layer embeddings, (rows, layers · width), of tokens and their embeddings.
fn per_layer_embeddings(
    weights: &PerLayerEmbeddings,
    tokens: &[u32],
    embeddings: &[f32],
    hidden: usize,
) -> Result<Vec<f32>> {
    let all = weights.layers * weights.config.width;
    let mut projected = Vec::new();
    products(embeddings, &mut [(&weights.projection, &mut projected)])?;
    kernels::scale(&mut projected, (hidden as f64).powf(-0.5) as f32);
    let mut normed = vec![0.0; projected.len()];
    norm(&weights.norm, &projected, &mut normed)?;
    let mut of_token = vec![0.0; all];
    let root = (weights.config.width as f64).sqrt() as f32;
    for (row, token) in normed.chunks_exact_mut(all).zip(tokens) {
        weights.table.read(*token as usize, &mut of_token)?;
        kernels::add_scaled(row, &of_token, root);
    }
    kernels::scale(&mut normed, std::f32::consts::FRAC_1_SQRT_2);
    Ok(normed)
}

/// Norms queries, keys or values in place. `free` is a buffer of any length.
fn norm_heads(by: Option<&Norm>, x: &mut Vec<f32>, free: &mut Vec<f32>) -> Result<()> {
    let Some(by) = by else { return Ok(()) };
    free.resize(x.len(), 0.0);
    norm(by, x, free)?;
    std::mem::swap(x, free);
    Ok(())
}

/// Multiplies the queries of each row with the factor of its position.
fn tune_temperature(
    tuning: AttentionTemperature,
    positions: &[usize],
    queries: &mut [f32],
    row_len: usize,
) {
    for (row, position) in queries.chunks_exact_mut(row_len).zip(positions) {
        let steps = (position / tuning.original) as f64;
        kernels::scale(row, (1.0 + tuning.beta * steps.ln_1p()) as f32);
    }
}

fn scale(x: &mut [f32], factor: f64) {
    if factor != 1.0 {
        kernels::scale(x, factor as f32);
    }
}
