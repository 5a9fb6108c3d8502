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

mod attention;
mod beside_experts;
mod biased_routing;
mod cpu;
mod experts;
mod feed_forward;
mod gated;
mod layer;
mod linear;
mod mxfp4;
mod norm;
mod operations;
mod other_devices;
mod per_layer_embeddings;
mod rotary;
mod rows;
mod tensors;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};

use super::batch::Chunk;
use super::checkpoint::Weights;
use super::config::Config;
use super::config::decoder::{LearnedPositions, Prefixes};
use super::kv_cache::{BlockPool, CacheShape, KvCache, SharedBlock};
use crate::error::{self, Error, ErrorKind};
use layer::DecoderLayer;
use linear::{Linear, Matrix, Vector};
use norm::Norm;
use per_layer_embeddings::PerLayerEmbeddings;
use rotary::RotaryTables;

/// The ends of names of tensors that older checkpoints store and no model learns: rotary frequencies, and
/// masks.
pub(super) const BUFFERS: [&str; 5] = [
    ".rotary_emb.inv_freq",
    ".attention.bias",
    ".attention.masked_bias",
    ".attn.bias",
    ".attn.masked_bias",
];

/// A decoder with its weights.
#[derive(Clone, Debug)]
pub(super) struct Decoder {
    embedding: Matrix,
    /// A vector of each position.
    positions: Option<Matrix>,
    per_layer_embeddings: Option<PerLayerEmbeddings>,
    layers: Vec<DecoderLayer>,
    norm: Norm,
    logits: Linear,
    rotary: RotaryTables,
    config: Config,
    /// The dtype of the weights.
    dtype: DType,
    device: Device,
    /// The blocks of its caches.
    pool: Arc<BlockPool>,
    /// The beginnings of the names of tensors that are of other parts than the decoder.
    left_out: Vec<&'static str>,
}

impl Decoder {
    /// Takes the weights out of a checkpoint. Errors on missing, misshapen and left-over tensors, and on
    /// layers that the device cannot compute. Tells after each layer how many are loaded.
    pub(super) fn load(
        config: &Config,
        weights: Weights,
        (dtype, device): (DType, &Device),
        loaded: &mut dyn FnMut(usize),
    ) -> error::Result<Self> {
        let description = &config.decoder;
        if !device.is_cpu() {
            other_devices::refuse(description)?;
        }
        let names = &description.names;
        let prefixes = prefixes(config, &weights);
        let prefix = prefixes.decoder;
        let embedding_name = format!("{prefix}{}.weight", names.embedding);
        let head_name = format!("{}{}.weight", prefixes.head, names.head);
        let (vocab, hidden) = (config.vocab_size, config.hidden_size);
        let embedding = Matrix::load(&weights, &embedding_name, (vocab, hidden))?;
        let is_other_head = config.tie_word_embeddings
            && weights.has(&head_name)
            && !weights.are_equal(&embedding_name, &head_name)?;
        if is_other_head && !description.is_tie_assumed {
            let message =
                format!("`{head_name}` differs from `{embedding_name}`, which config.json ties");
            return Err(Error::new(ErrorKind::Model, message)
                .in_file(weights.file_of(&head_name))
                .with_help(
                    "set `tie_word_embeddings` to false in config.json to use it, or take it out",
                ));
        }
        let tied = config.tie_word_embeddings && !is_other_head;
        let head = format!("{}{}", prefixes.head, names.head);
        let logits = if tied {
            let bias = || Vector::load(&weights, &format!("{head}.bias"), vocab);
            let bias = description.head_bias.then(bias).transpose()?;
            Linear { weight: embedding.clone(), bias }
        } else {
            Linear::load(&weights, &head, (vocab, hidden), description.head_bias)?
        };
        let positions = |positions: LearnedPositions| {
            let name = format!("{prefix}{}.weight", positions.name);
            Matrix::load(&weights, &name, (positions.count, hidden))
        };
        let positions = description.learned_positions.map(positions).transpose()?;
        let load = |sizes| {
            let shape = (description.layers.len(), hidden);
            PerLayerEmbeddings::load(sizes, shape, description.norm, &weights, prefix)
        };
        let per_layer_embeddings = description.per_layer_embeddings.map(load).transpose()?;
        let rotary = RotaryTables::new(&description.layers);
        let (shape, places) = cache_shape(config);
        let layer = |(index, layer)| {
            let name = format!("{prefix}{}.{index}", names.layers);
            let kv = shape.layers()[places[index]];
            let layer = DecoderLayer::load(layer, description, hidden, &weights, &name, kv)?;
            loaded(index + 1);
            Ok(layer)
        };
        let layers = description.layers.iter().enumerate().map(layer);
        let layers = layers.collect::<error::Result<_>>()?;
        let norm_name = format!("{prefix}{}", names.norm);
        let norm = Norm::load(description.norm, &weights, &norm_name, hidden)?;
        let has_part = |part: &&&str| weights.any(|name| name.starts_with(**part));
        let left_out = description.other_parts.iter().filter(has_part).copied().collect();
        let unused = unused_keys_and_values(config, prefix);
        weights.refuse_left_over(|name| {
            // A tied weight is sometimes stored twice.
            BUFFERS.iter().any(|end| name.ends_with(end))
                || (tied && name == head_name)
                || description.other_parts.iter().any(|part| name.starts_with(part))
                || unused.iter().any(|beginning| name.starts_with(beginning))
                || is_of_mtp_layer(config, prefix, name)
        })?;
        let (config, device) = (config.clone(), device.clone());
        let pool = BlockPool::new(shape, dtype, &device);
        Ok(Self {
            embedding,
            positions,
            per_layer_embeddings,
            layers,
            norm,
            logits,
            rotary,
            config,
            dtype,
            device,
            pool,
            left_out,
        })
    }

    /// The beginnings of the names of tensors that are of other parts than the decoder.
    pub(super) fn left_out(&self) -> &[&'static str] {
        &self.left_out
    }

    /// A cache for one sequence.
    pub(super) fn new_cache(&self) -> KvCache {
        KvCache::paged(&self.pool)
    }

    /// The cache of a sequence that begins with these blocks. `None` if one is of another model.
    pub(super) fn cache_of(&self, blocks: &[SharedBlock]) -> Option<KvCache> {
        KvCache::of(&self.pool, blocks)
    }

    /// The same model with another pool of blocks.
    pub(super) fn with_own_pool(self) -> Self {
        let pool = BlockPool::new(cache_shape(&self.config).0, self.dtype, &self.device);
        Self { pool, ..self }
    }

    /// The blocks of its caches.
    pub(super) fn pool(&self) -> &BlockPool {
        &self.pool
    }

    /// The device that it runs on.
    pub(super) fn device(&self) -> &Device {
        &self.device
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
        let pool = BlockPool::new(cache_shape(&config).0, self.dtype, &self.device);
        Self { layers, config, pool, ..self.clone() }
    }
}

/// The beginnings of the checkpoint's names.
fn prefixes(config: &Config, weights: &Weights) -> Prefixes {
    let (all, embedding) = (config.decoder.prefixes, config.decoder.names.embedding);
    let is_used =
        |prefixes: &&Prefixes| weights.has(&format!("{}{embedding}.weight", prefixes.decoder));
    let first = all.first().copied().unwrap_or(Prefixes { decoder: "model.", head: "" });
    all.iter().find(is_used).copied().unwrap_or(first)
}

/// The sizes of a model's cache, and the place in it that each layer uses.
fn cache_shape(config: &Config) -> (CacheShape, Vec<usize>) {
    let (mut heads, mut places) = (Vec::new(), Vec::new());
    for layer in &config.decoder.layers {
        let attention = &layer.attention;
        places.push(match attention.kv_of_layer {
            // An earlier layer.
            Some(source) => places[source],
            None => {
                heads.push((attention.kv_heads, attention.width));
                heads.len() - 1
            }
        });
    }
    (CacheShape::new(heads), places)
}

/// Whether a tensor is of a multi-token-prediction (MTP) layer, after the last decoder layer.
fn is_of_mtp_layer(config: &Config, prefix: &str, name: &str) -> bool {
    let description = &config.decoder;
    let from = description.layers.len();
    let layers = format!("{prefix}{}.", description.names.layers);
    // Tensors of a GGUF file that other layers have not keep their names.
    let inside = name.strip_prefix(&layers).or_else(|| name.strip_prefix("blk."));
    let layer = inside.and_then(|name| name.split('.').next()?.parse::<usize>().ok());
    layer.is_some_and(|layer| (from..from + description.mtp_layers).contains(&layer))
}

/// The beginnings of the names of tensors that some files hold for layers that use the keys and values of
/// another one.
fn unused_keys_and_values(config: &Config, prefix: &str) -> Vec<String> {
    let names = &config.decoder.names;
    let mut unused = Vec::new();
    for (index, layer) in config.decoder.layers.iter().enumerate() {
        if layer.attention.kv_of_layer.is_some() {
            for name in [names.keys, names.values, names.key_norm] {
                unused.push(format!("{prefix}{}.{index}.{name}.", names.layers));
            }
        }
    }
    unused
}
