//! The Llama family: embedding, decoder blocks of attention and feed-forward, logits.
//!
//! Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models" (RMSNorm before each
//! block, SwiGLU, rotary positions), with grouped-query attention (Ainslie et al. 2023) and, where
//! the configuration says so, Llama 3's rotary scaling, biases (Qwen2) and tied embeddings. Weights
//! have the names and layouts of Hugging Face's checkpoints.
//!
//! One sequence at a time: activations are (positions, width) tensors.

mod rotary;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::rope;

use super::checkpoint::Weights;
use super::config::Config;
use super::kv_cache::{KvCache, LayerCache};
use crate::error::{self, Error, ErrorKind};
use rotary::RotaryFrequencies;

const EMBEDDING: &str = "model.embed_tokens.weight";
/// The weight of the logits, where it is not the embedding's.
const HEAD: &str = "lm_head.weight";

/// A decoder with its weights.
#[derive(Clone, Debug)]
pub(super) struct Llama {
    embedding: Tensor,
    blocks: Vec<Block>,
    norm: RmsNorm,
    logits: Linear,
    rope: RotaryFrequencies,
    config: Config,
    dtype: DType,
    device: Device,
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
        let embedding = weights.get(EMBEDDING, &[vocab, hidden])?;
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
            Linear { weight: embedding.clone(), bias: None }
        } else {
            Linear::load(&weights, "lm_head", (hidden, vocab), false)?
        };
        let blocks = (0..config.num_hidden_layers)
            .map(|layer| Block::load(config, &weights, &format!("model.layers.{layer}")))
            .collect::<error::Result<_>>()?;
        let norm = RmsNorm::load(config, &weights, "model.norm")?;
        weights.refuse_left_over(|name| {
            // Older checkpoints store the rotary frequencies; tied ones sometimes the weight twice.
            name.ends_with(".rotary_emb.inv_freq") || (tied && name == HEAD)
        })?;
        let (rope, config, device) =
            (RotaryFrequencies::new(config), config.clone(), device.clone());
        Ok(Self { embedding, blocks, norm, logits, rope, config, dtype, device })
    }

    /// A cache for one sequence.
    pub(super) fn new_cache(&self) -> Result<KvCache> {
        let heads = (self.config.num_key_value_heads, self.config.head_dim);
        KvCache::new(self.config.num_hidden_layers, heads, self.dtype, &self.device)
    }

    /// Reads `tokens` (at least one, ids below `vocab_size`) after those of the cache, and
    /// returns the logits of the token after the last: (vocab_size), `f32`, on the device.
    pub(super) fn forward(&self, tokens: &[u32], cache: &mut KvCache) -> Result<Tensor> {
        let (at, n) = (cache.len(), tokens.len());
        let positions = Positions {
            at,
            rope: self.rope.at(at, n, self.dtype, &self.device)?,
            attention_mask: causal_mask(at, n, &self.device)?,
        };
        let x = self.read(tokens, &positions, cache)?;
        self.logits(&x.narrow(0, n - 1, 1)?)?.squeeze(0)
    }

    /// Reads a tree of tokens: `parents` has one for each token but the first, the place of an
    /// earlier one, after which it stands. Returns the logits of the token after each:
    /// (tokens, vocab_size), `f32`, on the device.
    pub(super) fn forward_tree(
        &self,
        tokens: &[u32],
        parents: &[usize],
        cache: &mut KvCache,
    ) -> Result<Tensor> {
        let (at, n) = (cache.len(), tokens.len());
        let mut depths = vec![0u32; n];
        for (i, &parent) in parents.iter().enumerate() {
            depths[i + 1] = depths[parent] + 1;
        }
        let deepest = depths.iter().max().map_or(0, |&depth| depth as usize);
        let (cos, sin) = self.rope.at(at, deepest + 1, self.dtype, &self.device)?;
        let depths = Tensor::from_vec(depths, n, &self.device)?;
        let positions = Positions {
            at,
            rope: (cos.index_select(&depths, 0)?, sin.index_select(&depths, 0)?),
            attention_mask: tree_mask(at, parents, &self.device)?,
        };
        let x = self.read(tokens, &positions, cache)?;
        self.logits(&x)
    }

    fn read(&self, tokens: &[u32], positions: &Positions, cache: &mut KvCache) -> Result<Tensor> {
        let mut x = self.embedding.embedding(&Tensor::new(tokens, &self.device)?)?;
        for (block, layer) in self.blocks.iter().zip(cache.layers()) {
            x = block.forward(&x, positions, layer)?;
        }
        cache.advance(tokens.len());
        Ok(x)
    }

    fn logits(&self, x: &Tensor) -> Result<Tensor> {
        self.logits.forward(&self.norm.forward(&x.contiguous()?)?)?.to_dtype(DType::F32)
    }

    /// The same model with its first blocks only. Shares their weights.
    pub(super) fn first_blocks(&self, blocks: usize) -> Self {
        let config = Config { num_hidden_layers: blocks, ..self.config.clone() };
        let blocks = self.blocks[..blocks.min(self.blocks.len())].to_vec();
        Self { blocks, config, ..self.clone() }
    }
}

/// The positions of a forward pass, the same in every block.
struct Positions {
    /// The first position.
    at: usize,
    /// Cosines and sines: (positions, head width / 2).
    rope: (Tensor, Tensor),
    /// Attention mask: 0 where a position may look, −∞ where not; (positions, all positions up to
    /// the last). `None` for a single position, which may look everywhere.
    attention_mask: Option<Tensor>,
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
    if n == 1 {
        return Ok(None);
    }
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

/// Attention and feed-forward, each on the normalised stream and added back to it.
#[derive(Clone, Debug)]
struct Block {
    attention_norm: RmsNorm,
    attention: Attention,
    mlp_norm: RmsNorm,
    mlp: Mlp,
}

impl Block {
    fn load(config: &Config, weights: &Weights, name: &str) -> error::Result<Self> {
        Ok(Self {
            attention_norm: RmsNorm::load(config, weights, &format!("{name}.input_layernorm"))?,
            attention: Attention::load(config, weights, &format!("{name}.self_attn"))?,
            mlp_norm: RmsNorm::load(config, weights, &format!("{name}.post_attention_layernorm"))?,
            mlp: Mlp::load(config, weights, &format!("{name}.mlp"))?,
        })
    }

    fn forward(&self, x: &Tensor, positions: &Positions, cache: &mut LayerCache) -> Result<Tensor> {
        let x =
            (x + self.attention.forward(&self.attention_norm.forward(x)?, positions, cache)?)?;
        &x + self.mlp.forward(&self.mlp_norm.forward(&x)?)?
    }
}

/// Grouped-query attention with rotary positions.
#[derive(Clone, Debug)]
struct Attention {
    queries: Linear,
    keys: Linear,
    values: Linear,
    output: Linear,
    heads: usize,
    kv_heads: usize,
    width: usize,
}

impl Attention {
    fn load(config: &Config, weights: &Weights, name: &str) -> error::Result<Self> {
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
            kv_heads,
            width,
        })
    }

    fn forward(&self, x: &Tensor, positions: &Positions, cache: &mut LayerCache) -> Result<Tensor> {
        let n = x.dim(0)?;
        let q = self.rotate(&self.by_head(&self.queries.forward(x)?, self.heads)?, positions)?;
        let k = self.rotate(&self.by_head(&self.keys.forward(x)?, self.kv_heads)?, positions)?;
        let v = self.by_head(&self.values.forward(x)?, self.kv_heads)?;
        let (k, v) = cache.append(positions.at, &k, &v)?;

        // The query heads that share a key-value head lie one after the other: as rows of one
        // matrix they need no copies of keys and values.
        let rows = (self.kv_heads, self.heads / self.kv_heads * n, self.width);
        let q = (q.reshape(rows)? / (self.width as f64).sqrt())?;
        let scores = q.matmul(&k.t()?)?.to_dtype(DType::F32)?;
        let scores = match &positions.attention_mask {
            None => scores,
            Some(mask) => scores
                .reshape((self.heads, n, positions.at + n))?
                .broadcast_add(mask)?
                .reshape(scores.shape())?,
        };
        let weights = softmax_last_dim(&scores)?.to_dtype(v.dtype())?;
        let y = weights.matmul(&v)?.reshape((self.heads, n, self.width))?;
        let y = y.transpose(0, 1)?.reshape((n, self.heads * self.width))?;
        self.output.forward(&y)
    }

    /// (positions, heads · width) to (heads, positions, width).
    fn by_head(&self, x: &Tensor, heads: usize) -> Result<Tensor> {
        x.reshape((x.dim(0)?, heads, self.width))?.transpose(0, 1)?.contiguous()
    }

    fn rotate(&self, x: &Tensor, positions: &Positions) -> Result<Tensor> {
        let (cos, sin) = &positions.rope;
        rope(&x.unsqueeze(0)?, cos, sin)?.squeeze(0)
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

/// y = x · Wᵀ + b, with W as (out, in).
#[derive(Clone, Debug)]
struct Linear {
    weight: Tensor,
    bias: Option<Tensor>,
}

impl Linear {
    fn load(
        weights: &Weights,
        name: &str,
        (input, output): (usize, usize),
        bias: bool,
    ) -> error::Result<Self> {
        let weight = weights.get(&format!("{name}.weight"), &[output, input])?;
        let bias = bias.then(|| weights.get(&format!("{name}.bias"), &[output])).transpose()?;
        Ok(Self { weight, bias })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = x.matmul(&self.weight.t()?)?;
        match &self.bias {
            None => Ok(y),
            Some(bias) => y.broadcast_add(bias),
        }
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
        Ok(Self { weight, eps: config.rms_norm_eps as f32 })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        rms_norm(x, &self.weight, self.eps)
    }
}
