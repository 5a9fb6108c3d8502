//! The network of a model: our decoder, or one of candle-transformers.

use candle_core::{DType, Device, Tensor};

#[cfg(feature = "candle-transformers")]
use super::adapted::Adapted;
#[cfg(feature = "candle-transformers")]
use super::adapted_error::adapted_error;
use super::batch::Chunk;
use super::checkpoint::Weights;
use super::config::Config;
use super::decoder::Decoder;
use super::kv_cache::{BlockPool, KvCache, SharedBlock};
use crate::error;
#[cfg(feature = "candle-transformers")]
use crate::error::ErrorKind;

/// The network that computes logits.
#[derive(Clone, Debug)]
pub(super) enum Network {
    Own(Box<Decoder>),
    #[cfg(feature = "candle-transformers")]
    Adapted(Adapted),
}

impl Network {
    /// Takes the weights out of a checkpoint. Errors on missing, misshapen and left-over tensors, and on
    /// what the device cannot compute. `progress` is called with the number of layers that are loaded.
    pub(super) fn load(
        config: &Config,
        weights: Weights,
        (dtype, device): (DType, &Device),
        progress: &mut dyn FnMut(usize),
    ) -> error::Result<Self> {
        #[cfg(feature = "candle-transformers")]
        if let Some(settings) = &config.adapted {
            let adapted = Adapted::load(config, settings, weights, dtype, device)?;
            progress(config.num_hidden_layers);
            return Ok(Self::Adapted(adapted));
        }
        Decoder::load(config, weights, (dtype, device), progress)
            .map(|decoder| Self::Own(Box::new(decoder)))
    }

    /// The beginnings of the names of tensors that are of other parts than the network.
    pub(super) fn left_out(&self) -> &[&'static str] {
        match self {
            Self::Own(decoder) => decoder.left_out(),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(_) => &[],
        }
    }

    /// A cache for one sequence.
    pub(super) fn new_cache(&self) -> KvCache {
        match self {
            Self::Own(decoder) => decoder.new_cache(),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(adapted) => adapted.new_cache(),
        }
    }

    /// The cache of a sequence that begins with these blocks. `None` if one is of another model.
    pub(super) fn cache_of(&self, blocks: &[SharedBlock]) -> Option<KvCache> {
        match self {
            Self::Own(decoder) => decoder.cache_of(blocks),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(adapted) => blocks.is_empty().then(|| adapted.new_cache()),
        }
    }

    /// The same network with another pool of blocks.
    pub(super) fn with_own_pool(&self) -> Self {
        match self {
            Self::Own(decoder) => Self::Own(Box::new(Decoder::clone(decoder).with_own_pool())),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(adapted) => Self::Adapted(adapted.clone()),
        }
    }

    /// The device that it runs on.
    pub(super) fn device(&self) -> &Device {
        match self {
            Self::Own(decoder) => decoder.device(),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(adapted) => adapted.device(),
        }
    }

    /// The blocks of its caches. `None` for models of candle-transformers.
    pub(super) fn pool(&self) -> Option<&BlockPool> {
        match self {
            Self::Own(decoder) => Some(decoder.pool()),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(_) => None,
        }
    }

    /// Reads the tokens of all chunks (at least one each, ids below `vocab_size`), each after
    /// those of its cache. Returns the logits after the tokens for which a chunk wants them, chunk
    /// after chunk: (rows, vocab_size), `f32`, on the device.
    pub(super) fn forward(&self, chunks: &mut [Chunk<'_>]) -> candle_core::Result<Tensor> {
        match self {
            Self::Own(decoder) => decoder.forward(chunks),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(adapted) => adapted.forward(chunks),
        }
    }

    /// The same network with its first layers only. Shares their weights.
    ///
    /// Errors if it is of candle-transformers.
    pub(super) fn first_layers(&self, layers: usize) -> error::Result<Self> {
        match self {
            Self::Own(decoder) => Ok(Self::Own(Box::new(decoder.first_layers(layers)))),
            #[cfg(feature = "candle-transformers")]
            Self::Adapted(adapted) => {
                let error =
                    adapted_error(ErrorKind::Model, adapted.model_type(), "draft models are");
                Err(error.with_help("leave out the draft model"))
            }
        }
    }
}
