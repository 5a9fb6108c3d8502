//! The forward pass on devices other than the CPU, with candle's tensors and the kernels of
//! [`paged_attention`](crate::model::paged_attention).

use std::sync::MutexGuard;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i, rope_thd};
use maskwright_kernels::{Activation, BlockLayout};

use super::Decoder;
use super::attention::{Projections, are_neighbours};
use super::gated::Gated;
use super::layer::{DecoderLayer, Mlp};
use super::norm::Norm;
use super::rows::Rows;
use crate::model::batch::Chunk;
use crate::model::config::decoder::{AttentionConfig, LayerConfig, NormKind};
use crate::model::kv_cache::{DeviceBlocks, DeviceLayer};
use crate::model::paged_attention::{AttentionParams, PagedRows, rows_by_head, store};

/// Reads the tokens of all chunks: see [`Decoder::forward`].
pub(super) fn forward(decoder: &Decoder, chunks: &mut [Chunk<'_>]) -> Result<Tensor> {
    let (vocab, device) = (decoder.config.vocab_size, &decoder.device);
    let description = &decoder.config.decoder;
    let tokens: Vec<u32> = chunks.iter().flat_map(|chunk| chunk.tokens).copied().collect();
    let pass = TensorPass::new(decoder, chunks)?;
    let tokens = Tensor::from_vec(tokens, pass.rows.len(), device)?;
    let embedded = decoder.embedding.tensor()?.embedding(&tokens)?;
    let mut x = scaled(embedded, description.embedding_scale)?;
    if let Some(positions) = &decoder.positions {
        // Positions are far fewer than u32::MAX.
        let at: Vec<u32> = pass.rows.positions.iter().map(|position| *position as u32).collect();
        let at = Tensor::from_vec(at, pass.rows.len(), device)?;
        x = (x + positions.tensor()?.embedding(&at)?)?;
    }
    for (index, layer) in decoder.layers.iter().enumerate() {
        x = pass.layer(decoder, layer, index, &x)?;
    }
    for chunk in chunks.iter_mut() {
        chunk.cache.advance(chunk.tokens.len());
    }
    let wanted = pass.rows.with_logits(chunks);
    if wanted.is_empty() {
        return Tensor::zeros((0, vocab), DType::F32, device);
    }
    let x = if wanted.len() == pass.rows.len() {
        x
    } else {
        // Rows are far fewer than u32::MAX.
        let wanted: Vec<u32> = wanted.into_iter().map(|row| row as u32).collect();
        let n = wanted.len();
        x.index_select(&Tensor::from_vec(wanted, n, device)?, 0)?
    };
    let logits = decoder.logits.forward(&norm(&decoder.norm, &x.contiguous()?)?)?;
    let logits = scaled(logits.to_dtype(DType::F32)?, description.logit_scale)?;
    soft_cap_of(logits, description.logit_soft_cap)
}

/// The parts of a pass that all layers share.
struct TensorPass<'a> {
    rows: Rows,
    /// Cosines and sines of each kind of rotary positions: (rows, pairs).
    angles: Vec<(Tensor, Tensor)>,
    /// The slot of each row in the cache: (rows), `u32`.
    slots: Tensor,
    runs: Vec<AttentionRun>,
    blocks: MutexGuard<'a, DeviceBlocks>,
}

impl<'a> TensorPass<'a> {
    fn new(decoder: &'a Decoder, chunks: &mut [Chunk<'_>]) -> Result<Self> {
        let rows = Rows::new(chunks);
        let mut slots = Vec::with_capacity(rows.len());
        for chunk in chunks.iter_mut() {
            let (from, to) = (chunk.cache.len(), chunk.cache.len() + chunk.tokens.len());
            let table = chunk.cache.table()?;
            table.reserve(from, to)?;
            slots.extend((from..to).map(|position| table.slot(position)));
        }
        // After all room is reserved: it is as large as what was taken.
        let Some(blocks) = decoder.pool.device_blocks()? else {
            candle_core::bail!("the blocks of the cache are on the CPU");
        };
        let tensor = |numbers: Vec<f32>| {
            let shape = (rows.len(), numbers.len() / rows.len());
            Tensor::from_vec(numbers, shape, &decoder.device)?.to_dtype(decoder.dtype)
        };
        let angles = decoder.rotary.angles(&rows.turns(chunks)).into_iter();
        let angles = angles
            .map(|angles| Ok((tensor(angles.cosines)?, tensor(angles.sines)?)))
            .collect::<Result<_>>()?;
        let slots = Tensor::from_vec(slots, rows.len(), &decoder.device)?;
        let runs = runs(decoder, chunks, &rows)?;
        Ok(Self { rows, angles, slots, runs, blocks })
    }

    fn layer(
        &self,
        decoder: &Decoder,
        layer: &DecoderLayer,
        index: usize,
        x: &Tensor,
    ) -> Result<Tensor> {
        let normed = maybe_norm(layer.before_attention.as_ref(), x)?;
        let attended = self.attention(decoder, layer, index, &normed)?;
        let attended = maybe_norm(layer.after_attention.as_ref(), &attended)?;
        let attended = scaled(attended, layer.config.residual_scale)?;
        let with_attention = (x + attended)?;
        let read = match &layer.before_mlp {
            Some(before) if layer.config.norms.is_parallel => norm(before, x)?,
            Some(before) => norm(before, &with_attention)?,
            None if layer.config.norms.is_parallel => normed,
            None => with_attention.clone(),
        };
        let fed = maybe_norm(layer.after_mlp.as_ref(), &mlp(&layer.mlp, &read)?)?;
        with_attention + scaled(fed, layer.config.residual_scale)?
    }

    fn attention(
        &self,
        decoder: &Decoder,
        layer: &DecoderLayer,
        index: usize,
        x: &Tensor,
    ) -> Result<Tensor> {
        let (attention, config) = (&layer.attention, &layer.config.attention);
        let BlockLayout { kv_heads, width, .. } = attention.kv;
        let (q, k, v) = match &attention.projections {
            Projections::Separate { queries, keys, values: Some(values) } => {
                (queries.forward(x)?, keys.forward(x)?, values.forward(x)?)
            }
            Projections::Fused(all) => {
                let fused = all.forward(x)?;
                let (q, kv) = (config.heads * width, kv_heads * width);
                let part = |from, n| fused.narrow(1, from, n)?.contiguous();
                (part(0, q)?, part(q, kv)?, part(q + kv, kv)?)
            }
            // Refused when the model is loaded.
            Projections::Separate { .. } | Projections::Queries(_) => {
                return Err(candle_core::Error::msg("attention has queries, keys and values"));
            }
        };
        let is_after = config.head_norm.is_some_and(|norm| norm.is_after_rope);
        let (query_norm, key_norm) = (attention.query_norm.as_ref(), attention.key_norm.as_ref());
        let turned = |x: &Tensor, by: Option<&Norm>, heads: usize| {
            if is_after {
                return head_norm(
                    &self.turned(decoder, index, x, heads, width)?,
                    by,
                    heads * width,
                );
            }
            self.turned(decoder, index, &head_norm(x, by, heads * width)?, heads, width)
        };
        let (q, k) = (turned(&q, query_norm, config.heads)?, turned(&k, key_norm, kv_heads)?);
        let cache = &self.blocks.layers()[index];
        store(&cache.keys, &k, &self.slots, kv_heads)?;
        store(&cache.values, &v, &self.slots, kv_heads)?;
        let parts = self.runs.iter().map(|run| run.attend(&q, cache, config));
        let attended = match &*parts.collect::<Result<Vec<_>>>()? {
            [all] => all.clone(),
            parts => Tensor::cat(parts, 0)?,
        };
        attention.output.forward(&attended)
    }

    /// Queries or keys (rows, heads · width), turned by their positions.
    fn turned(
        &self,
        decoder: &Decoder,
        index: usize,
        x: &Tensor,
        heads: usize,
        width: usize,
    ) -> Result<Tensor> {
        let (rows, x) = (x.dim(0)?, x.clone());
        let Some((kind, config)) = decoder.rotary.of_layer(index) else { return Ok(x) };
        let (cosines, sines) = &self.angles[kind];
        let rotary_dim = 2 * config.frequencies.len();
        if rotary_dim == width && !are_neighbours(config.pairs) {
            let by_row = x.reshape((1, rows, heads, width))?;
            return rope_thd(&by_row, cosines, sines)?.reshape((rows, heads * width));
        }
        let heads_first = x.reshape((rows, heads, width))?.transpose(0, 1)?;
        let part = heads_first.narrow(2, 0, rotary_dim)?.contiguous()?.unsqueeze(0)?;
        let turned = if are_neighbours(config.pairs) {
            rope_i(&part, cosines, sines)?
        } else {
            rope(&part, cosines, sines)?
        };
        let turned = turned.squeeze(0)?;
        let turned = if rotary_dim == width {
            turned
        } else {
            Tensor::cat(&[&turned, &heads_first.narrow(2, rotary_dim, width - rotary_dim)?], 2)?
        };
        turned.transpose(0, 1)?.reshape((rows, heads * width))
    }
}

/// Rows that follow each other, whose attention is computed together.
struct AttentionRun {
    from: usize,
    to: usize,
    access: KvAccess,
}

/// The way in which rows read keys and values.
enum KvAccess {
    /// By the paged kernel, out of the blocks: rows that each see all of their sequence up to them, of one
    /// sequence or of many.
    Paged(PagedRows),
    /// By matrix products: rows of one sequence, over all of its keys and values in one piece.
    Gathered {
        /// The positions of the sequence, with those of the rows.
        len: usize,
        /// The rows of the cache for each number of heads that layers have.
        cache_rows: Vec<(usize, Tensor)>,
        /// The masks for each window that layers have.
        masks: Vec<(Option<usize>, Tensor)>,
    },
}

/// Rows of one sequence up to which the paged kernel is used: it reads keys and values again for each row.
/// More rows gather them once and use matrix products.
const MAX_PAGED_KERNEL_ROWS: usize = 8;

/// Cuts the rows of a pass into runs.
fn runs(decoder: &Decoder, chunks: &mut [Chunk<'_>], rows: &Rows) -> Result<Vec<AttentionRun>> {
    let mut runs = Vec::new();
    let mut paged: Vec<(usize, (usize, usize))> = Vec::new();
    for (index, bounds) in rows.bounds().enumerate() {
        if chunks[index].parents.is_empty() && bounds.1 - bounds.0 <= MAX_PAGED_KERNEL_ROWS {
            paged.push((index, bounds));
            continue;
        }
        if !paged.is_empty() {
            runs.push(paged_run(decoder, chunks, &std::mem::take(&mut paged))?);
        }
        let (from, to) = bounds;
        let access = gathered(decoder, &mut chunks[index], &rows.positions[from..to])?;
        runs.push(AttentionRun { from, to, access });
    }
    if !paged.is_empty() {
        runs.push(paged_run(decoder, chunks, &paged)?);
    }
    Ok(runs)
}

/// The run of the rows of these chunks (index; from, to).
fn paged_run(
    decoder: &Decoder,
    chunks: &mut [Chunk<'_>],
    paged: &[(usize, (usize, usize))],
) -> Result<AttentionRun> {
    let (mut tables, mut lengths) = (Vec::new(), Vec::new());
    for &(index, (from, to)) in paged {
        let cache = &mut chunks[index].cache;
        let at = cache.len();
        let table: Vec<u32> = cache.table()?.indices().collect();
        for row in 0..to - from {
            // Positions are far fewer than u32::MAX.
            lengths.push((at + row + 1) as u32);
            tables.push(table.clone());
        }
    }
    let blocks = tables.iter().map(Vec::len).max().unwrap_or(0);
    for table in &mut tables {
        table.resize(blocks, 0);
    }
    let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
    let count = lengths.len();
    let device = &decoder.device;
    let tables = Tensor::from_vec(tables.concat(), (count, blocks), device)?;
    let lengths = Tensor::from_vec(lengths, count, device)?;
    let from = paged.first().map_or(0, |(_, (from, _))| *from);
    let access = KvAccess::Paged(PagedRows { tables, lengths, longest });
    Ok(AttentionRun { from, to: from + count, access })
}

/// The keys and values for the rows of a chunk at these positions.
fn gathered(decoder: &Decoder, chunk: &mut Chunk<'_>, positions: &[usize]) -> Result<KvAccess> {
    let (device, layers) = (&decoder.device, &decoder.config.decoder.layers);
    let len = chunk.cache.len() + positions.len();
    let table = chunk.cache.table()?;
    let slots: Vec<u32> = (0..len).map(|position| table.slot(position)).collect();
    let mut cache_rows: Vec<(usize, Tensor)> = Vec::new();
    let mut masks: Vec<(Option<usize>, Tensor)> = Vec::new();
    for LayerConfig { attention, .. } in layers {
        let (heads, window) = (attention.kv_heads, attention.window);
        if cache_rows.iter().all(|(known, _)| *known != heads) {
            let rows = rows_by_head(&slots, heads);
            cache_rows.push((heads, Tensor::from_vec(rows, heads * len, device)?));
        }
        if masks.iter().all(|(known, _)| *known != window) {
            masks.push((window, mask(chunk, positions, window, device)?));
        }
    }
    Ok(KvAccess::Gathered { len, cache_rows, masks })
}

impl AttentionRun {
    /// The attention of its rows among queries (rows, heads · width): the same width.
    fn attend(
        &self,
        queries: &Tensor,
        cache: &DeviceLayer,
        config: &AttentionConfig,
    ) -> Result<Tensor> {
        let AttentionConfig { heads, kv_heads, scale, soft_cap, window, .. } = *config;
        let q = queries.narrow(0, self.from, self.to - self.from)?;
        let (len, cache_rows, masks) = match &self.access {
            KvAccess::Paged(rows) => {
                let params = AttentionParams { heads, kv_heads, scale, soft_cap, window };
                return rows.attend(&q, &cache.keys, &cache.values, params);
            }
            KvAccess::Gathered { len, cache_rows, masks } => (*len, cache_rows, masks),
        };
        let cache_rows = cache_rows.iter().find(|(known, _)| *known == kv_heads);
        let mask = masks.iter().find(|(known, _)| *known == window);
        let Some(((_, cache_rows), (_, mask))) = cache_rows.zip(mask) else {
            candle_core::bail!("a layer is none of the configuration");
        };
        let (n, width) = (q.dim(0)?, cache.keys.dim(1)?);
        let all =
            |cache: &Tensor| cache.index_select(cache_rows, 0)?.reshape((kv_heads, len, width));
        let (k, v) = (all(&cache.keys)?, all(&cache.values)?);
        // The query heads that share a key-value head lie one after the other: as rows of one
        // matrix they need no copies of keys and values.
        let rows = (kv_heads, heads / kv_heads * n, width);
        let q = (by_head(&q, heads, width)?.reshape(rows)? * scale)?;
        let scores = soft_cap_of(q.matmul(&k.t()?)?.to_dtype(DType::F32)?, soft_cap)?;
        let scores = scores.reshape((heads, n, len))?.broadcast_add(mask)?;
        let weights = softmax_last_dim(&scores)?;
        let weights =
            weights.reshape((kv_heads, heads / kv_heads * n, len))?.to_dtype(v.dtype())?;
        let y = weights.matmul(&v)?.reshape((heads, n, width))?;
        y.transpose(0, 1)?.reshape((n, heads * width))
    }
}

/// The mask of a chunk: a row sees all positions before the chunk, itself and its ancestors, as far as its
/// window reaches: 0 there and −∞ elsewhere, (rows, all positions up to the last).
fn mask(
    chunk: &Chunk<'_>,
    positions: &[usize],
    window: Option<usize>,
    device: &Device,
) -> Result<Tensor> {
    let (at, n) = (chunk.cache.len(), positions.len());
    let window = window.unwrap_or(usize::MAX);
    let mut mask = vec![f32::NEG_INFINITY; n * (at + n)];
    for (i, row) in mask.chunks_mut(at + n).enumerate() {
        let from = (positions[i] + 1).saturating_sub(window);
        row[from.min(at)..at].fill(0.0);
        let mut above = Some(i);
        while let Some(token) = above {
            if positions[token] >= from {
                row[at + token] = 0.0;
            }
            let parent = |index: usize| chunk.parents.get(index).copied().unwrap_or(index);
            above = token.checked_sub(1).map(parent);
        }
    }
    Tensor::from_vec(mask, (n, at + n), device)
}

/// (positions, heads · width) to (heads, positions, width).
fn by_head(x: &Tensor, heads: usize, width: usize) -> Result<Tensor> {
    x.reshape((x.dim(0)?, heads, width))?.transpose(0, 1)?.contiguous()
}

fn mlp(mlp: &Mlp, x: &Tensor) -> Result<Tensor> {
    match mlp {
        Mlp::Gated(gated) => {
            let (gate, up) = gate_and_up(gated, x)?;
            gated.down.forward(&(activated(&gate, gated.config.activation)? * up)?)
        }
        Mlp::Plain { up, down, activation } => {
            down.forward(&activated(&up.forward(x)?, *activation)?)
        }
        Mlp::Experts(_) | Mlp::GatedBesideExperts(_) => {
            Err(candle_core::Error::msg("experts are computed on the CPU alone"))
        }
    }
}

fn gate_and_up(mlp: &Gated, x: &Tensor) -> Result<(Tensor, Tensor)> {
    match mlp.inputs.as_slice() {
        [gate, up] => Ok((gate.forward(x)?, up.forward(x)?)),
        all => {
            let mut both = x.clone();
            for linear in all {
                both = linear.forward(x)?;
            }
            let part = |from| both.narrow(1, from, mlp.config.inner)?.contiguous();
            Ok((part(0)?, part(mlp.config.inner)?))
        }
    }
}

fn activated(x: &Tensor, activation: Activation) -> Result<Tensor> {
    match activation {
        Activation::Silu => silu(x),
        Activation::GeluTanh => x.gelu(),
        Activation::Gelu => x.gelu_erf(),
        Activation::Relu => x.relu(),
        Activation::SquaredRelu => x.relu()?.sqr(),
        Activation::ClampedSwish { .. } => {
            Err(candle_core::Error::msg("clamped gates are computed on the CPU alone"))
        }
    }
}

/// Queries or keys (rows, `row_len`) after a norm of each head, or of all of them.
fn head_norm(x: &Tensor, by: Option<&Norm>, row_len: usize) -> Result<Tensor> {
    let Some(by) = by else { return Ok(x.clone()) };
    let (rows, len) = (x.dim(0)?, by.weight.tensor()?.dim(0)?);
    norm(by, &x.reshape((rows * row_len / len, len))?)?.reshape((rows, row_len))
}

fn maybe_norm(by: Option<&Norm>, x: &Tensor) -> Result<Tensor> {
    match by {
        Some(by) => norm(by, x),
        None => Ok(x.clone()),
    }
}

/// The norm of each row, in the dtype of the norm's weights.
fn norm(norm: &Norm, x: &Tensor) -> Result<Tensor> {
    let weight = norm.weight.tensor()?;
    let wide = x.to_dtype(weight.dtype())?.contiguous()?;
    let y = match norm.kind {
        NormKind::Rms | NormKind::RmsPlusOne => rms_norm(&wide, weight, norm.eps)?,
        NormKind::Layer | NormKind::LayerWithBias => {
            let wide = wide.to_dtype(DType::F32)?;
            let centred = wide.broadcast_sub(&wide.mean_keepdim(1)?)?;
            let variance = (centred.sqr()?.mean_keepdim(1)? + f64::from(norm.eps))?;
            let y = centred.broadcast_div(&variance.sqrt()?)?;
            let y = y.broadcast_mul(&weight.to_dtype(DType::F32)?)?;
            match &norm.bias {
                Some(bias) => y.broadcast_add(&bias.tensor()?.to_dtype(DType::F32)?)?,
                None => y,
            }
        }
    };
    y.to_dtype(x.dtype())
}

fn scaled(x: Tensor, factor: f64) -> Result<Tensor> {
    if factor == 1.0 { Ok(x) } else { x * factor }
}

fn soft_cap_of(x: Tensor, cap: Option<f64>) -> Result<Tensor> {
    match cap {
        None => Ok(x),
        Some(cap) => (x / cap)?.tanh()? * cap,
    }
}
