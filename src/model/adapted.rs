//! Models of candle-transformers, for model types that our decoder does not cover.
//!
//! Each file makes the models of some types from their settings
//! ([`Config::adapted`](super::config::Config)) and from the checkpoint ([`AdaptedWeights`]), and says how a sequence is
//! read. Passes read one sequence after the other.
//!
//! Weights are `f32`: some of these models compute positions in the dtype of the weights, which 16 bits do
//! not hold.

mod architecture;
mod attention;
mod external_state;
mod rebuilt;
mod recurrent_gemma;
mod weights;

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use serde_json::Value;

use super::adapted_error::adapted_error;
use super::batch::Chunk;
use super::candle_error::candle_error;
use super::checkpoint::Weights;
use super::config::Config;
use super::kv_cache::{AdaptedModel, KvCache};
use crate::error::{self, ErrorKind};
use architecture::AdaptedArchitecture;
use weights::AdaptedWeights;

/// A model of candle-transformers with its weights.
#[derive(Clone, Debug)]
pub(super) struct Adapted {
    model: Arc<dyn AdaptedModel>,
    model_type: String,
    vocab_size: usize,
}

/// All of them.
const ARCHITECTURES: &[AdaptedArchitecture] = &[
    rebuilt::DEEPSEEK_V2,
    rebuilt::GPT_BIGCODE,
    external_state::GRANITE_HYBRID,
    attention::HELIUM,
    external_state::LFM2,
    external_state::MAMBA,
    external_state::MAMBA2,
    attention::OLMO,
    recurrent_gemma::RECURRENT_GEMMA,
];

impl Adapted {
    /// Takes the weights out of a checkpoint. Errors on missing, misshapen and left-over tensors, and on
    /// another dtype than `f32`.
    pub(super) fn load(
        config: &Config,
        settings: &Value,
        weights: Weights,
        dtype: DType,
        device: &Device,
    ) -> error::Result<Self> {
        let model_type = config.model_type.as_str();
        if dtype != DType::F32 {
            let feature = format!("the dtype `{}` is", dtype.as_str());
            return Err(
                adapted_error(ErrorKind::Model, model_type, &feature).with_help("use `f32`")
            );
        }
        let mut all = ARCHITECTURES.iter();
        let architecture = all
            .find(|architecture| architecture.model_type == model_type)
            .ok_or_else(|| adapted_error(ErrorKind::Model, model_type, "layers are"))?;
        let weights = AdaptedWeights::new(weights, architecture.names);
        let loaded = (architecture.load)(settings, weights.builder(device));
        let model = weights.finish(loaded.map_err(candle_error), config)?;
        Ok(Self { model, model_type: model_type.to_owned(), vocab_size: config.vocab_size })
    }

    pub(super) fn model_type(&self) -> &str {
        &self.model_type
    }

    /// The device that it runs on.
    pub(super) fn device(&self) -> &Device {
        self.model.device()
    }

    /// A cache for one sequence.
    pub(super) fn new_cache(&self) -> KvCache {
        KvCache::adapted(&self.model)
    }

    /// Reads the tokens of all chunks, one chunk after the other, and returns the logits that they want, chunk
    /// after chunk: (rows, vocab_size), `f32`.
    pub(super) fn forward(&self, chunks: &mut [Chunk<'_>]) -> Result<Tensor> {
        let mut rows = Vec::new();
        for chunk in chunks {
            let cache = chunk.cache.adapted_state()?;
            if !cache.is_of(&self.model) {
                candle_core::bail!("the cache is another model's");
            }
            rows.extend(cache.read(chunk.tokens, chunk.logits)?);
            chunk.cache.advance(chunk.tokens.len());
        }
        if rows.is_empty() {
            return Tensor::zeros((0, self.vocab_size), DType::F32, self.model.device());
        }
        Tensor::stack(&rows, 0)
    }
}
