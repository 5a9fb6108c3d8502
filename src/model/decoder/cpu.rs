//! The forward pass on the CPU: the kernels of `maskwright_kernels` on buffers of `f32`, without
//! tensors in between.
//!
//! ```text
//! stream ─ norm ─ q, k, v ─ norm and turn q and k ─ write k and v ─ attend ─ output ─ norm ─┐
//!    └───────────────────────────────────── + ─────────────────────────────────────────────┘ …
//! ```
//!
//! Buffers are (rows, width), a row for each token, and are used again in every layer. Queries, keys
//! and values are one round of threads, and so are gate and up. The pass runs inside rayon's pool, so
//! that a product waits for no other thread to wake.

use candle_core::Result;
use maskwright_kernels::{self as kernels, Product, Scoring, Segment};

use super::Decoder;
use super::experts::Experts;
use super::gated::Gated;
use super::layer::{Attention, DecoderLayer, Mlp, Norm};
use super::linear::Linear;
use super::rotary::Angles;
use super::rows::Rows;
use crate::model::batch::Chunk;
use crate::model::config::decoder::NormKind;
use crate::model::kv_cache::Storage;

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

/// The buffers inside a feed-forward part.
#[derive(Default)]
struct Inner {
    fused: Vec<f32>,
    gate: Vec<f32>,
    up: Vec<f32>,
}

impl Pass {
    fn new(decoder: &Decoder, chunks: &mut [Chunk<'_>]) -> Result<Self> {
        let rows = Rows::new(chunks);
        for chunk in chunks.iter_mut() {
            let (from, to) = (chunk.cache.len(), chunk.cache.len() + chunk.tokens.len());
            if let Storage::Paged(table) = chunk.cache.storage() {
                table.reserve(from, to);
            }
        }
        let hidden = decoder.config.hidden_size;
        let mut stream = vec![0.0; rows.len() * hidden];
        let tokens = chunks.iter().flat_map(|chunk| chunk.tokens);
        for (row, token) in stream.chunks_exact_mut(hidden).zip(tokens) {
            decoder.embedding.read(*token as usize, row)?;
        }
        scale(&mut stream, decoder.config.decoder.embedding_scale);
        let angles = decoder.rotary.angles(&rows.positions);
        let normed = vec![0.0; stream.len()];
        let [queries, keys, values, heads, output, raw] = Default::default();
        let inner = Inner::default();
        Ok(Self { rows, angles, stream, normed, queries, keys, values, heads, output, raw, inner })
    }

    fn run(mut self, decoder: &Decoder, chunks: &mut [Chunk<'_>]) -> Result<Vec<f32>> {
        for (index, layer) in decoder.layers.iter().enumerate() {
            self.attend(decoder, layer, index, chunks)?;
            self.feed_forward(layer)?;
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
        self.project(attention, config.heads)?;
        for (heads, by) in
            [(&mut self.queries, &attention.query_norm), (&mut self.keys, &attention.key_norm)]
        {
            if let Some(by) = by {
                self.heads.resize(heads.len(), 0.0);
                norm(by, heads, &mut self.heads)?;
                std::mem::swap(heads, &mut self.heads);
            }
            if let Some((kind, rope)) = decoder.rotary.of_layer(index) {
                let Angles { cosines, sines } = &self.angles[kind];
                let pairs = rope.frequencies.len();
                kernels::rotate(heads, kv.width, pairs, rope.pairs, cosines, sines);
            }
        }
        let kv_width = kv.kv_heads * kv.width;
        for (chunk, (from, to)) in chunks.iter_mut().zip(self.rows.bounds()) {
            let (at, part) = (chunk.cache.len(), from * kv_width..to * kv_width);
            if let Storage::Paged(table) = chunk.cache.storage() {
                table.write(index, at, &self.keys[part.clone()], &self.values[part]);
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
            sinks: &[],
        };
        let queries = &self.queries;
        let attended = kernels::attend(config.heads, kv, index, scoring, queries, &segments);
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

    /// The queries, keys and values of the normed stream.
    fn project(&mut self, attention: &Attention, heads: usize) -> Result<()> {
        let Self { normed, queries, keys, values, heads: fused, .. } = self;
        match attention.projections.as_slice() {
            [q, k, v] => products(normed, &mut [(q, queries), (k, keys), (v, values)]),
            all => {
                for linear in all {
                    products(normed, &mut [(linear, fused)])?;
                }
                let kv = attention.kv;
                let (q, kv) = (heads * kv.width, kv.kv_heads * kv.width);
                split(fused, &mut [(q, queries), (kv, keys), (kv, values)]);
                Ok(())
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
        let Self { normed, output, inner, .. } = self;
        match &layer.mlp {
            Mlp::Gated(mlp) => gated(mlp, normed, inner, output)?,
            Mlp::Plain { up, down, activation } => {
                products(normed, &mut [(up, &mut inner.up)])?;
                kernels::activate(&mut inner.up, *activation);
                products(&inner.up, &mut [(down, output)])?;
            }
            Mlp::Experts(mlp) => mixture(mlp, normed, inner, output)?,
        }
        self.norm_output(layer.after_mlp.as_ref())?;
        self.add_output(layer);
        if layer.config.norms.is_parallel {
            std::mem::swap(&mut self.queries, &mut self.output);
            self.add_output(layer);
        }
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

/// down(activation(gate · x) * (up · x)) of some rows.
fn gated(mlp: &Gated, x: &[f32], inner: &mut Inner, y: &mut Vec<f32>) -> Result<()> {
    let Inner { fused, gate, up } = inner;
    match mlp.inputs.as_slice() {
        [first, second] => products(x, &mut [(first, gate), (second, up)])?,
        all => {
            for linear in all {
                products(x, &mut [(linear, fused)])?;
            }
            split(fused, &mut [(mlp.config.inner, gate), (mlp.config.inner, up)]);
        }
    }
    kernels::gate(gate, up, mlp.config.activation);
    products(gate, &mut [(&mlp.down, y)])
}

/// The weighted sum of the chosen experts of each row.
fn mixture(mlp: &Experts, x: &[f32], inner: &mut Inner, y: &mut Vec<f32>) -> Result<()> {
    let mut scores = Vec::new();
    products(x, &mut [(&mlp.router, &mut scores)])?;
    let rows = scores.len() / mlp.config.count;
    let hidden = x.len().checked_div(rows).unwrap_or(0);
    let chosen: Vec<Vec<(usize, f32)>> =
        scores.chunks_exact(mlp.config.count).map(|scores| mlp.choose(scores)).collect();
    y.clear();
    y.resize(x.len(), 0.0);
    let (mut some, mut result) = (Vec::new(), Vec::new());
    for (index, expert) in mlp.experts.iter().enumerate() {
        let weight = |(row, chosen): (usize, &Vec<(usize, f32)>)| {
            chosen.iter().find(|(expert, _)| *expert == index).map(|(_, weight)| (row, *weight))
        };
        let users: Vec<(usize, f32)> = chosen.iter().enumerate().filter_map(weight).collect();
        if users.is_empty() {
            continue;
        }
        some.clear();
        for (row, _) in &users {
            some.extend_from_slice(&x[row * hidden..(row + 1) * hidden]);
        }
        gated(expert, &some, inner, &mut result)?;
        for ((row, weight), part) in users.into_iter().zip(result.chunks_exact(hidden)) {
            kernels::add_scaled(&mut y[row * hidden..(row + 1) * hidden], part, weight);
        }
    }
    Ok(())
}

/// Splits rows into parts of these widths.
fn split(x: &[f32], parts: &mut [(usize, &mut Vec<f32>)]) {
    let width: usize = parts.iter().map(|(width, _)| width).sum();
    parts.iter_mut().for_each(|(_, part)| part.clear());
    for row in x.chunks_exact(width.max(1)) {
        let mut from = 0;
        for (width, part) in parts.iter_mut() {
            part.extend_from_slice(&row[from..from + *width]);
            from += *width;
        }
    }
}

fn scale(x: &mut [f32], factor: f64) {
    if factor != 1.0 {
        kernels::scale(x, factor as f32);
    }
}

fn norm(norm: &Norm, x: &[f32], y: &mut [f32]) -> Result<()> {
    let weight = norm.weight.numbers()?;
    match norm.kind {
        NormKind::Rms | NormKind::RmsPlusOne => kernels::rms_norm(x, weight, norm.eps, y),
        NormKind::Layer => kernels::layer_norm(x, weight, norm.eps, y),
    }
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
            kernels::add_bias(y, bias.numbers()?);
        }
    }
    Ok(())
}
