//! Attention of a packed batch.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;
use candle_nn::rotary_emb::rope;
use maskwright_kernels::BlockLayout;

use super::linear::Linear;
use super::rotary::RotaryFrequencies;
use crate::error;
use crate::model::batch::{Chunk, LogitRows};
use crate::model::checkpoint::Weights;
use crate::model::config::Config;
use crate::model::kv_cache::{LayerCache, Storage};

/// The rows of a forward pass and their positions, the same in every block.
pub(super) struct Rows {
    /// The first row of each chunk, and the number of all rows.
    starts: Vec<usize>,
    /// The position of each row in its sequence.
    pub(super) positions: Vec<usize>,
}

impl Rows {
    /// A row for each token of the chunks.
    pub(super) fn new(chunks: &[Chunk<'_>]) -> Self {
        let (mut starts, mut positions) = (vec![0], Vec::new());
        for chunk in chunks {
            let first = positions.len();
            positions.push(chunk.cache.len());
            for row in 1..chunk.tokens.len() {
                let parent = chunk.parents.get(row - 1).copied().unwrap_or(row - 1);
                positions.push(positions[first + parent] + 1);
            }
            starts.push(positions.len());
        }
        Self { starts, positions }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The rows of each chunk: from, to.
    pub(super) fn bounds(&self) -> impl Iterator<Item = (usize, usize)> {
        self.starts.windows(2).map(|bounds| (bounds[0], bounds[1]))
    }

    /// The rows after which logits are wanted.
    pub(super) fn with_logits(&self, chunks: &[Chunk<'_>]) -> Vec<usize> {
        let rows = chunks.iter().zip(self.bounds()).flat_map(|(chunk, (from, to))| {
            let from = match chunk.logits {
                LogitRows::None => to,
                LogitRows::Last => to - 1,
                LogitRows::All => from,
            };
            from..to
        });
        rows.collect()
    }
}

/// The positions of a pass on a device other than the CPU.
pub(super) struct Positions {
    pub(super) rows: Rows,
    /// Cosines and sines: (rows, head width / 2).
    rope: (Tensor, Tensor),
    /// The attention mask of each chunk: 0 where a row may look, −∞ where not; (rows, all positions up
    /// to the last). `None` for a single row, which may look everywhere.
    masks: Vec<Option<Tensor>>,
}

impl Positions {
    pub(super) fn new(
        chunks: &[Chunk<'_>],
        frequencies: &RotaryFrequencies,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let rows = Rows::new(chunks);
        let mask = |chunk: &Chunk<'_>| match chunk.parents {
            [] => causal_mask(chunk.cache.len(), chunk.tokens.len(), device),
            parents => tree_mask(chunk.cache.len(), parents, device),
        };
        let masks = chunks.iter().map(mask).collect::<Result<_>>()?;
        let rope = frequencies.at(&rows.positions, dtype, device)?;
        Ok(Self { rows, rope, masks })
    }
}

/// A position sees itself and all before it.
fn causal_mask(at: usize, n: usize, device: &Device) -> Result<Option<Tensor>> {
    if n == 1 {
        return Ok(None);
    }
    let may_look = |from: usize, to: usize| if to <= at + from { 0.0 } else { f32::NEG_INFINITY };
    let mask: Vec<f32> =
        (0..n).flat_map(|from| (0..at + n).map(move |to| may_look(from, to))).collect();
    Tensor::from_vec(mask, (n, at + n), device).map(Some)
}

/// A node sees all positions before the tree, itself and its ancestors.
fn tree_mask(at: usize, parents: &[usize], device: &Device) -> Result<Option<Tensor>> {
    let n = parents.len() + 1;
    let mut mask = vec![f32::NEG_INFINITY; n * (at + n)];
    for (i, row) in mask.chunks_mut(at + n).enumerate() {
        row[..at].fill(0.0);
        let mut above = Some(i);
        while let Some(token) = above {
            row[at + token] = 0.0;
            above = token.checked_sub(1).map(|index| parents[index]);
        }
    }
    Tensor::from_vec(mask, (n, at + n), device).map(Some)
}

/// Grouped-query attention with rotary positions.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    pub(super) queries: Linear,
    pub(super) keys: Linear,
    pub(super) values: Linear,
    pub(super) output: Linear,
    pub(super) heads: usize,
    pub(super) kv: BlockLayout,
}

impl Attention {
    pub(super) fn load(config: &Config, weights: &Weights, name: &str) -> error::Result<Self> {
        let (heads, kv_heads) = (config.num_attention_heads, config.num_key_value_heads);
        let (hidden, width) = (config.hidden_size, config.head_dim);
        let linear = |projection: &str, shape, bias| {
            Linear::load(weights, &format!("{name}.{projection}"), shape, bias)
        };
        Ok(Self {
            queries: linear("q_proj", (hidden, heads * width), config.qkv_bias)?,
            keys: linear("k_proj", (hidden, kv_heads * width), config.qkv_bias)?,
            values: linear("v_proj", (hidden, kv_heads * width), config.qkv_bias)?,
            output: linear("o_proj", (heads * width, hidden), config.output_bias)?,
            heads,
            kv: BlockLayout { kv_heads, width },
        })
    }

    /// Writes the keys and values of all rows to the caches, and attends, on devices other than the CPU.
    pub(super) fn forward(
        &self,
        x: &Tensor,
        positions: &Positions,
        layer: usize,
        chunks: &mut [Chunk<'_>],
    ) -> Result<Tensor> {
        let q = self.rotate(&self.queries.forward(x)?, self.heads, positions)?;
        let k = self.rotate(&self.keys.forward(x)?, self.kv.kv_heads, positions)?;
        let v = self.values.forward(x)?;
        let y = self.attend((&q, &k, &v), positions, layer, chunks)?;
        self.output.forward(&y)
    }

    /// Turns the heads of each row by its position: (rows, heads · width).
    fn rotate(&self, x: &Tensor, heads: usize, positions: &Positions) -> Result<Tensor> {
        let rows = x.dim(0)?;
        let (cos, sin) = &positions.rope;
        let by_head = x.reshape((rows, heads, self.kv.width))?.transpose(0, 1)?.contiguous()?;
        let turned = rope(&by_head.unsqueeze(0)?, cos, sin)?.squeeze(0)?;
        turned.transpose(0, 1)?.reshape((rows, heads * self.kv.width))
    }

    fn attend(
        &self,
        (q, k, v): (&Tensor, &Tensor, &Tensor),
        positions: &Positions,
        layer: usize,
        chunks: &mut [Chunk<'_>],
    ) -> Result<Tensor> {
        let mut parts = Vec::with_capacity(chunks.len());
        let bounds = positions.rows.bounds().zip(&positions.masks);
        for (chunk, ((from, to), mask)) in chunks.iter_mut().zip(bounds) {
            let (at, n) = (chunk.cache.len(), to - from);
            let rows = |x: &Tensor, heads| self.by_head(&x.narrow(0, from, n)?, heads);
            let (q, k, v) =
                (rows(q, self.heads)?, rows(k, self.kv.kv_heads)?, rows(v, self.kv.kv_heads)?);
            let Storage::Contiguous(layers) = chunk.cache.storage() else { continue };
            parts.push(self.attend_to(&q, (&k, &v), at, mask.as_ref(), &mut layers[layer])?);
        }
        Tensor::cat(&parts, 0)
    }

    /// The attention of one sequence: (positions, heads · width).
    fn attend_to(
        &self,
        q: &Tensor,
        (k, v): (&Tensor, &Tensor),
        at: usize,
        mask: Option<&Tensor>,
        cache: &mut LayerCache,
    ) -> Result<Tensor> {
        let (heads, BlockLayout { kv_heads, width }) = (self.heads, self.kv);
        let n = q.dim(1)?;
        let (k, v) = cache.append(at, k, v)?;
        // The query heads that share a key-value head lie one after the other: as rows of one
        // matrix they need no copies of keys and values.
        let rows = (kv_heads, heads / kv_heads * n, width);
        let q = (q.reshape(rows)? / (width as f64).sqrt())?;
        let scores = q.matmul(&k.t()?)?.to_dtype(DType::F32)?;
        let scores = match mask {
            None => scores,
            Some(mask) => {
                scores.reshape((heads, n, at + n))?.broadcast_add(mask)?.reshape(scores.shape())?
            }
        };
        let weights = softmax_last_dim(&scores)?.to_dtype(v.dtype())?;
        let y = weights.matmul(&v)?.reshape((heads, n, width))?;
        y.transpose(0, 1)?.reshape((n, heads * width))
    }

    /// (positions, heads · width) to (heads, positions, width).
    fn by_head(&self, x: &Tensor, heads: usize) -> Result<Tensor> {
        x.reshape((x.dim(0)?, heads, self.kv.width))?.transpose(0, 1)?.contiguous()
    }
}
