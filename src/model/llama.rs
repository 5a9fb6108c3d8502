//! The Llama family: embedding, decoder blocks of attention and feed-forward, logits.
//!
//! Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models" (RMSNorm before each
//! block, SwiGLU, rotary positions), with grouped-query attention (Ainslie et al. 2023) and, where
//! the configuration says so, Llama 3's rotary scaling, biases (Qwen2) and tied embeddings. Weights
//! have the names and layouts of Hugging Face's checkpoints.
//!
//! A pass reads tokens of any number of sequences, packed: activations are (rows, width) tensors, a
//! row for each token. Only attention knows which rows belong together ([`attention`]).
//!
//! On the CPU the pass is that of [`cpu`], on buffers of `f32` whatever the dtype of the weights: a row
//! computes the same whatever the other rows. Other devices compute with candle's tensors.

mod attention;
mod cpu;
mod linear;
mod rotary;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::{rms_norm, silu};

use super::batch::Chunk;
use super::candle_error::candle_error;
use super::checkpoint::Weights;
use super::config::Config;
use super::kv_cache::{BlockPool, CacheShape, KvCache, SharedBlock};
use crate::error::{self, Error, ErrorKind};
use attention::{Attention, Positions};
use linear::{Linear, Matrix};
use rotary::RotaryFrequencies;

const EMBEDDING: &str = "model.embed_tokens.weight";
/// The weight of the logits, where it is not the embedding's.
const HEAD: &str = "lm_head.weight";

/// A decoder with its weights.
#[derive(Clone, Debug)]
pub(super) struct Llama {
    embedding: Matrix,
    blocks: Vec<DecoderBlock>,
    norm: RmsNorm,
    logits: Linear,
    rope: RotaryFrequencies,
    config: Config,
    /// The dtype of the weights.
    dtype: DType,
    device: Device,
    /// The blocks of its caches, on the CPU.
    pool: Option<Arc<BlockPool>>,
}

impl Llama {
    /// Takes the weights out of a checkpoint. Errors on missing, misshapen and left-over tensors.
    pub(super) fn load(
        config: &Config,
        weights: Weights,
        dtype: DType,
        device: &Device,
    ) -> error::Result<Self> {
        let (vocab, hidden) = (config.vocab_size, config.hidden_size);
        let embedding = Matrix::load(&weights, EMBEDDING, [vocab, hidden])?;
        let tied = config.tie_word_embeddings;
        if tied && weights.has(HEAD) && !weights.are_equal(EMBEDDING, HEAD)? {
            let message = format!("`{HEAD}` differs from `{EMBEDDING}`, which config.json ties");
            return Err(Error::new(ErrorKind::Model, message)
                .in_file(weights.file_of(HEAD))
                .with_help(
                    "set `tie_word_embeddings` to false in config.json to use it, or take it out",
                ));
        }
        let logits = if tied {
            Linear::new(embedding.clone())
        } else {
            Linear::load(&weights, "lm_head", (hidden, vocab), false)?
        };
        let blocks = (0..config.num_hidden_layers)
            .map(|layer| DecoderBlock::load(config, &weights, &format!("model.layers.{layer}")))
            .collect::<error::Result<_>>()?;
        let norm = RmsNorm::load(config, &weights, "model.norm")?;
        weights.refuse_left_over(|name| {
            // Older checkpoints store the rotary frequencies; tied ones sometimes the weight twice.
            name.ends_with(".rotary_emb.inv_freq") || (tied && name == HEAD)
        })?;
        let (rope, config, device) =
            (RotaryFrequencies::new(config), config.clone(), device.clone());
        let pool = device.is_cpu().then(|| BlockPool::new(cache_shape(&config)));
        Ok(Self { embedding, blocks, norm, logits, rope, config, dtype, device, pool })
    }

    /// A cache for one sequence.
    pub(super) fn new_cache(&self) -> Result<KvCache> {
        match &self.pool {
            Some(pool) => Ok(KvCache::paged(pool)),
            None => KvCache::contiguous(cache_shape(&self.config), self.dtype, &self.device),
        }
    }

    /// The cache of a sequence that begins with these blocks. `None` if one is of another model.
    pub(super) fn cache_of(&self, blocks: &[SharedBlock]) -> Result<Option<KvCache>> {
        match &self.pool {
            _ if blocks.is_empty() => self.new_cache().map(Some),
            Some(pool) => Ok(KvCache::of(pool, blocks)),
            None => Ok(None),
        }
    }

    /// The same model with another pool of blocks.
    pub(super) fn with_own_pool(self) -> Self {
        let pool = self.pool.as_ref().map(|_| BlockPool::new(cache_shape(&self.config)));
        Self { pool, ..self }
    }

    /// The blocks of its caches, on the CPU.
    pub(super) fn pool(&self) -> Option<&BlockPool> {
        self.pool.as_deref()
    }

    /// Reads the tokens of all chunks (at least one each, ids below `vocab_size`), each after
    /// those of its cache. Returns the logits after the tokens for which a chunk wants them, chunk
    /// after chunk: (rows, vocab_size), `f32`, on the device.
    pub(super) fn forward(&self, chunks: &mut [Chunk<'_>]) -> Result<Tensor> {
        let vocab = self.config.vocab_size;
        if self.device.is_cpu() {
            let logits = cpu::forward(self, chunks)?;
            return Tensor::from_vec(logits, (wanted_rows(chunks), vocab), &self.device);
        }
        let tokens: Vec<u32> = chunks.iter().flat_map(|chunk| chunk.tokens).copied().collect();
        let positions = Positions::new(chunks, &self.rope, self.dtype, &self.device)?;
        let tokens = Tensor::from_vec(tokens, positions.rows.len(), &self.device)?;
        let mut x = self.embedding.tensor()?.embedding(&tokens)?;
        for (layer, block) in self.blocks.iter().enumerate() {
            x = block.forward(&x, &positions, layer, chunks)?;
        }
        for chunk in chunks.iter_mut() {
            chunk.cache.advance(chunk.tokens.len());
        }
        let wanted = positions.rows.with_logits(chunks);
        if wanted.is_empty() {
            return Tensor::zeros((0, vocab), DType::F32, &self.device);
        }
        let x = if wanted.len() == positions.rows.len() {
            x
        } else {
            // Rows are far fewer than u32::MAX.
            let wanted: Vec<u32> = wanted.into_iter().map(|row| row as u32).collect();
            let n = wanted.len();
            x.index_select(&Tensor::from_vec(wanted, n, &self.device)?, 0)?
        };
        self.logits.forward(&self.norm.forward(&x.contiguous()?)?)?.to_dtype(DType::F32)
    }

    /// The same model with its first blocks only. Shares their weights.
    pub(super) fn first_blocks(&self, blocks: usize) -> Self {
        let config = Config { num_hidden_layers: blocks, ..self.config.clone() };
        let blocks = self.blocks[..blocks.min(self.blocks.len())].to_vec();
        let pool = self.pool.as_ref().map(|_| BlockPool::new(cache_shape(&config)));
        Self { blocks, config, pool, ..self.clone() }
    }
}

/// The sizes of a model's cache.
fn cache_shape(config: &Config) -> CacheShape {
    CacheShape {
        layers: config.num_hidden_layers,
        heads: config.num_key_value_heads,
        width: config.head_dim,
    }
}

/// The number of rows of logits that the chunks want.
fn wanted_rows(chunks: &[Chunk<'_>]) -> usize {
    chunks.iter().map(Chunk::wanted).sum()
}

/// Attention and feed-forward, each on the normalised stream and added back to it.
#[derive(Clone, Debug)]
struct DecoderBlock {
    attention_norm: RmsNorm,
    attention: Attention,
    mlp_norm: RmsNorm,
    mlp: Mlp,
}

impl DecoderBlock {
    fn load(config: &Config, weights: &Weights, name: &str) -> error::Result<Self> {
        Ok(Self {
            attention_norm: RmsNorm::load(config, weights, &format!("{name}.input_layernorm"))?,
            attention: Attention::load(config, weights, &format!("{name}.self_attn"))?,
            mlp_norm: RmsNorm::load(config, weights, &format!("{name}.post_attention_layernorm"))?,
            mlp: Mlp::load(config, weights, &format!("{name}.mlp"))?,
        })
    }

    fn forward(
        &self,
        x: &Tensor,
        positions: &Positions,
        layer: usize,
        chunks: &mut [Chunk<'_>],
    ) -> Result<Tensor> {
        let normed = self.attention_norm.forward(x)?;
        let x = (x + self.attention.forward(&normed, positions, layer, chunks)?)?;
        &x + self.mlp.forward(&self.mlp_norm.forward(&x)?)?
    }
}

/// SwiGLU (Shazeer 2020, "GLU Variants Improve Transformer").
#[derive(Clone, Debug)]
struct Mlp {
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl Mlp {
    fn load(config: &Config, weights: &Weights, name: &str) -> error::Result<Self> {
        let (hidden, inner, bias) = (config.hidden_size, config.intermediate_size, config.mlp_bias);
        Ok(Self {
            gate: Linear::load(weights, &format!("{name}.gate_proj"), (hidden, inner), bias)?,
            up: Linear::load(weights, &format!("{name}.up_proj"), (hidden, inner), bias)?,
            down: Linear::load(weights, &format!("{name}.down_proj"), (inner, hidden), bias)?,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.down.forward(&(silu(&self.gate.forward(x)?)? * self.up.forward(x)?)?)
    }
}

/// Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
#[derive(Clone, Debug)]
struct RmsNorm {
    weight: Tensor,
    eps: f32,
}

impl RmsNorm {
    fn load(config: &Config, weights: &Weights, name: &str) -> error::Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &[config.hidden_size])?;
        // Processors compute in `f32`.
        let dtype = if weight.device().is_cpu() { DType::F32 } else { weight.dtype() };
        let weight = weight.to_dtype(dtype).map_err(candle_error)?;
        Ok(Self { weight, eps: config.rms_norm_eps as f32 })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        rms_norm(x, &self.weight, self.eps)
    }
}
