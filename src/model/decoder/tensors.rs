//! The forward pass on devices other than the CPU, with candle's tensors.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i};
use maskwright_kernels::{Activation, BlockLayout};

use super::Decoder;
use super::attention::{Attention, Projections, are_neighbours};
use super::gated::Gated;
use super::layer::{DecoderLayer, Mlp};
use super::norm::Norm;
use super::rows::Rows;
use crate::model::batch::Chunk;
use crate::model::config::decoder::{AttentionConfig, NormKind};
use crate::model::kv_cache::{LayerCache, Storage};

/// Reads the tokens of all chunks: see [`Decoder::forward`].
pub(super) fn forward(decoder: &Decoder, chunks: &mut [Chunk<'_>]) -> Result<Tensor> {
    let (vocab, device) = (decoder.config.vocab_size, &decoder.device);
    let description = &decoder.config.decoder;
    let tokens: Vec<u32> = chunks.iter().flat_map(|chunk| chunk.tokens).copied().collect();
    let mut pass = TensorPass::new(decoder, chunks)?;
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
        x = pass.layer(decoder, layer, index, &x, chunks)?;
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
    soft_cap(logits, description.logit_soft_cap)
}

/// The parts of a pass that all layers share.
struct TensorPass {
    rows: Rows,
    /// Cosines and sines of each kind of rotary positions: (rows, pairs).
    angles: Vec<(Tensor, Tensor)>,
    /// The attention masks by window, each with the mask of each chunk: 0 where a row may look, −∞ where
    /// not; (rows, all positions up to the last). `None` where a row may look everywhere.
    masks: Vec<(Option<usize>, Vec<Option<Tensor>>)>,
    device: Device,
}

impl TensorPass {
    fn new(decoder: &Decoder, chunks: &[Chunk<'_>]) -> Result<Self> {
        let rows = Rows::new(chunks);
        let tensor = |numbers: Vec<f32>| {
            let shape = (rows.len(), numbers.len() / rows.len());
            Tensor::from_vec(numbers, shape, &decoder.device)?.to_dtype(decoder.dtype)
        };
        let angles = decoder.rotary.angles(&rows.turns(chunks)).into_iter();
        let angles = angles
            .map(|angles| Ok((tensor(angles.cosines)?, tensor(angles.sines)?)))
            .collect::<Result<_>>()?;
        Ok(Self { rows, angles, masks: Vec::new(), device: decoder.device.clone() })
    }

    fn layer(
        &mut self,
        decoder: &Decoder,
        layer: &DecoderLayer,
        index: usize,
        x: &Tensor,
        chunks: &mut [Chunk<'_>],
    ) -> Result<Tensor> {
        let normed = maybe_norm(layer.before_attention.as_ref(), x)?;
        let attended = self.attention(decoder, layer, index, &normed, chunks)?;
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
        &mut self,
        decoder: &Decoder,
        layer: &DecoderLayer,
        index: usize,
        x: &Tensor,
        chunks: &mut [Chunk<'_>],
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
        self.make_masks(config.window, chunks)?;
        let masks = self.masks.iter().find(|(window, _)| *window == config.window);
        let masks = masks.map(|(_, masks)| masks.as_slice()).unwrap_or_default();
        let mut parts = Vec::with_capacity(chunks.len());
        for ((chunk, (from, to)), mask) in chunks.iter_mut().zip(self.rows.bounds()).zip(masks) {
            let at = chunk.cache.len();
            let rows = |x: &Tensor, heads| by_head(&x.narrow(0, from, to - from)?, heads, width);
            let (q, k, v) = (rows(&q, config.heads)?, rows(&k, kv_heads)?, rows(&v, kv_heads)?);
            let Storage::Contiguous(layers) = chunk.cache.storage() else { continue };
            let cache = &mut layers[index];
            parts.push(attend_to(attention, config, &q, (&k, &v), at, mask.as_ref(), cache)?);
        }
        attention.output.forward(&Tensor::cat(&parts, 0)?)
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
        let turning = 2 * config.frequencies.len();
        let heads_first = x.reshape((rows, heads, width))?.transpose(0, 1)?;
        let part = heads_first.narrow(2, 0, turning)?.contiguous()?.unsqueeze(0)?;
        let turned = if are_neighbours(config.pairs) {
            rope_i(&part, cosines, sines)?
        } else {
            rope(&part, cosines, sines)?
        };
        let turned = turned.squeeze(0)?;
        let turned = if turning == width {
            turned
        } else {
            Tensor::cat(&[&turned, &heads_first.narrow(2, turning, width - turning)?], 2)?
        };
        turned.transpose(0, 1)?.reshape((rows, heads * width))
    }

    /// Makes the masks of a window, unless they are there.
    fn make_masks(&mut self, window: Option<usize>, chunks: &[Chunk<'_>]) -> Result<()> {
        if self.masks.iter().any(|(known, _)| *known == window) {
            return Ok(());
        }
        let mut masks = Vec::with_capacity(chunks.len());
        for (chunk, (from, to)) in chunks.iter().zip(self.rows.bounds()) {
            masks.push(mask(chunk, &self.rows.positions[from..to], window, &self.device)?);
        }
        self.masks.push((window, masks));
        Ok(())
    }
}

/// The mask of a chunk: a row sees all positions before the chunk, itself and its ancestors, as far as its
/// window reaches.
fn mask(
    chunk: &Chunk<'_>,
    positions: &[usize],
    window: Option<usize>,
    device: &Device,
) -> Result<Option<Tensor>> {
    let (at, n) = (chunk.cache.len(), positions.len());
    if n == 1 && window.is_none_or(|window| at < window) {
        return Ok(None);
    }
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
    Tensor::from_vec(mask, (n, at + n), device).map(Some)
}

/// The attention of one sequence: (positions, heads · width).
fn attend_to(
    attention: &Attention,
    config: &AttentionConfig,
    q: &Tensor,
    (k, v): (&Tensor, &Tensor),
    at: usize,
    mask: Option<&Tensor>,
    cache: &mut LayerCache,
) -> Result<Tensor> {
    let (heads, BlockLayout { kv_heads, width, .. }) = (config.heads, attention.kv);
    let n = q.dim(1)?;
    let (k, v) = cache.append(at, k, v)?;
    // The query heads that share a key-value head lie one after the other: as rows of one
    // matrix they need no copies of keys and values.
    let rows = (kv_heads, heads / kv_heads * n, width);
    let q = (q.reshape(rows)? * config.scale)?;
    let scores = soft_cap(q.matmul(&k.t()?)?.to_dtype(DType::F32)?, config.soft_cap)?;
    let mut scores = scores.reshape((heads, n, at + n))?;
    if let Some(mask) = mask {
        scores = scores.broadcast_add(mask)?;
    }
    let weights = softmax_last_dim(&scores)?;
    let weights = weights.reshape((kv_heads, heads / kv_heads * n, at + n))?.to_dtype(v.dtype())?;
    let y = weights.matmul(&v)?.reshape((heads, n, width))?;
    y.transpose(0, 1)?.reshape((n, heads * width))
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

fn soft_cap(x: Tensor, cap: Option<f64>) -> Result<Tensor> {
    match cap {
        None => Ok(x),
        Some(cap) => (x / cap)?.tanh()? * cap,
    }
}
