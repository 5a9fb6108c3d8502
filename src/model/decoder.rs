//! The decoder: embedding, layers of attention and feed-forward parts, logits, as its
//! [description](super::config::decoder) says.
//!
//! One skeleton serves all model families; what a family lacks is absent from its layers. Weights
//! have the names and layouts of Hugging Face's checkpoints.
//!
//! A pass reads tokens of any number of sequences, packed: activations are (rows, width), a row for each
//! token. Only attention knows which rows belong together ([`rows`]).
//!
//! On the CPU the pass is that of [`cpu`], on buffers of `f32` whatever the dtype of the weights: a row
//! computes the same whatever the other rows. Other devices compute with candle's tensors ([`tensors`]).

mod cpu;
mod experts;
mod gated;
mod layer;
mod linear;
mod rotary;
mod rows;
mod tensors;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};

use super::batch::Chunk;
use super::checkpoint::Weights;
use super::config::Config;
use super::config::decoder::Prefixes;
use super::kv_cache::{BlockPool, CacheShape, KvCache, SharedBlock};
use crate::error::{self, Error, ErrorKind};
use layer::{DecoderLayer, Norm};
use linear::{Linear, Matrix};
use rotary::RotaryTables;

/// A decoder with its weights.
#[derive(Clone, Debug)]
pub(super) struct Decoder {
    embedding: Matrix,
    layers: Vec<DecoderLayer>,
    norm: Norm,
    logits: Linear,
    rotary: RotaryTables,
    config: Config,
    /// The dtype of the weights.
    dtype: DType,
    device: Device,
    /// The blocks of its caches, on the CPU.
    pool: Option<Arc<BlockPool>>,
}

impl Decoder {
    /// Takes the weights out of a checkpoint. Errors on missing, misshapen and left-over tensors, and on
    /// layers that the device cannot compute.
    pub(super) fn load(
        config: &Config,
        weights: Weights,
        dtype: DType,
        device: &Device,
    ) -> error::Result<Self> {
        let description = &config.decoder;
        let prefixes = prefixes(config, &weights);
        let embedding_name = format!("{}embed_tokens.weight", prefixes.decoder);
        let head_name = format!("{}lm_head.weight", prefixes.head);
        let (vocab, hidden) = (config.vocab_size, config.hidden_size);
        let embedding = Matrix::load(&weights, &embedding_name, (vocab, hidden))?;
        let tied = config.tie_word_embeddings;
        if tied && weights.has(&head_name) && !weights.are_equal(&embedding_name, &head_name)? {
            let message =
                format!("`{head_name}` differs from `{embedding_name}`, which config.json ties");
            return Err(Error::new(ErrorKind::Model, message)
                .in_file(weights.file_of(&head_name))
                .with_help(
                    "set `tie_word_embeddings` to false in config.json to use it, or take it out",
                ));
        }
        let logits = if tied {
            Linear::new(embedding.clone())
        } else {
            Linear::new(Matrix::load(&weights, &head_name, (vocab, hidden))?)
        };
        let rotary = RotaryTables::new(&description.layers);
        let layer = |(index, layer)| {
            let name = format!("{}layers.{index}", prefixes.decoder);
            DecoderLayer::load(layer, hidden, &weights, &name)
        };
        let layers = description.layers.iter().enumerate().map(layer);
        let layers = layers.collect::<error::Result<_>>()?;
        let norm_name = format!("{}norm", prefixes.decoder);
        let norm = Norm::load(description.norm, &weights, &norm_name, hidden)?;
        weights.refuse_left_over(|name| {
            // Older checkpoints store the rotary frequencies; tied ones sometimes the weight twice.
            name.ends_with(".rotary_emb.inv_freq")
                || (tied && name == head_name)
                || description.other_parts.iter().any(|part| name.starts_with(part))
        })?;
        let (config, device) = (config.clone(), device.clone());
        let pool = device.is_cpu().then(|| BlockPool::new(cache_shape(&config)));
        Ok(Self { embedding, layers, norm, logits, rotary, config, dtype, device, pool })
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
        if !self.device.is_cpu() {
            return tensors::forward(self, chunks);
        }
        let rows = chunks.iter().map(Chunk::wanted).sum::<usize>();
        let logits = cpu::forward(self, chunks)?;
        Tensor::from_vec(logits, (rows, self.config.vocab_size), &self.device)
    }

    /// The same model with its first layers only. Shares their weights.
    pub(super) fn first_layers(&self, layers: usize) -> Self {
        let mut config = self.config.clone();
        config.num_hidden_layers = layers;
        config.decoder.layers.truncate(layers);
        let layers = self.layers[..layers.min(self.layers.len())].to_vec();
        let pool = self.pool.as_ref().map(|_| BlockPool::new(cache_shape(&config)));
        Self { layers, config, pool, ..self.clone() }
    }
}

/// The beginnings of the checkpoint's names.
fn prefixes(config: &Config, weights: &Weights) -> Prefixes {
    let all = config.decoder.prefixes;
    let is_used =
        |prefixes: &&Prefixes| weights.has(&format!("{}embed_tokens.weight", prefixes.decoder));
    let first = all.first().copied().unwrap_or(Prefixes { decoder: "model.", head: "" });
    all.iter().find(is_used).copied().unwrap_or(first)
}

/// The sizes of a model's cache. All layers have the same number and width of heads.
fn cache_shape(config: &Config) -> CacheShape {
    let layers = &config.decoder.layers;
    let first = layers.first().map(|layer| &layer.attention);
    CacheShape {
        layers: layers.len(),
        heads: first.map_or(1, |attention| attention.kv_heads),
        width: first.map_or(1, |attention| attention.width),
    }
}
