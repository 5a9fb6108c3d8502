//! The tensors of a checkpoint for the models of candle-transformers.
//!
//! A [`VarBuilder`] that asks our checkpoint keeps account of the tensors that a model takes, so that those which are
//! left over are refused, and keeps the first error whole, which candle's are not. It holds the tensors that
//! were taken, so that a model can be made again without the checkpoint.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use rustc_hash::FxHashMap;

use crate::error::{self, Error, ErrorKind};
use crate::model::adapted_error::adapted_error;
use crate::model::checkpoint::Weights;
use crate::model::config::Config;
use crate::model::decoder::BUFFERS;

/// The matrix of the logits, where it is not the embedding.
const HEAD: &str = "lm_head.weight";

/// The names of tensors of a model type.
#[derive(Clone, Copy)]
pub(super) struct AdaptedNames {
    /// The embedding in the checkpoint.
    pub(super) embedding: &'static str,
    /// The embedding where candle-transformers names it otherwise.
    pub(super) embedding_alias: &'static str,
    /// Whether logits can have another matrix than the embedding.
    pub(super) has_head: bool,
}

impl AdaptedNames {
    /// Those of most.
    pub(super) const LLAMA: Self = Self {
        embedding: "model.embed_tokens.weight",
        embedding_alias: "model.embed_tokens.weight",
        has_head: true,
    };
}

/// A checkpoint, of which a model of candle-transformers is made.
pub(super) struct AdaptedWeights {
    shared: Arc<Mutex<TakenTensors>>,
    names: AdaptedNames,
}

struct TakenTensors {
    /// `None` after all tensors were taken.
    weights: Option<Weights>,
    taken: FxHashMap<String, Tensor>,
    /// The first error.
    error: Option<Error>,
}

/// Asks the checkpoint for tensors.
struct Backend {
    shared: Arc<Mutex<TakenTensors>>,
    names: AdaptedNames,
}

fn lock(shared: &Mutex<TakenTensors>) -> MutexGuard<'_, TakenTensors> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AdaptedWeights {
    pub(super) fn new(weights: Weights, names: AdaptedNames) -> Self {
        let shared =
            TakenTensors { weights: Some(weights), taken: FxHashMap::default(), error: None };
        Self { shared: Arc::new(Mutex::new(shared)), names }
    }

    /// The tensors, for the constructors of candle-transformers.
    pub(super) fn builder(&self, device: &Device) -> VarBuilder<'static> {
        let backend = Backend { shared: Arc::clone(&self.shared), names: self.names };
        VarBuilder::from_backend(Box::new(backend), DType::F32, device.clone())
    }

    /// The model that was made of them. Errors if that failed, on tensors that it has not taken, and on a matrix
    /// of logits other than the one that it computes with.
    pub(super) fn finish<T>(self, loaded: error::Result<T>, config: &Config) -> error::Result<T> {
        let mut shared = lock(&self.shared);
        let (first, weights) = (shared.error.take(), shared.weights.take());
        let model = loaded.map_err(|error| first.unwrap_or(error))?;
        let Some(weights) = weights else { return Ok(model) };
        let uses_embedding = config.tie_word_embeddings || !self.names.has_head;
        let embedding = self.names.embedding;
        if uses_embedding {
            if !config.tie_word_embeddings && !weights.has(HEAD) {
                weights.get(HEAD, &[config.vocab_size, config.hidden_size])?;
            }
            if weights.has(HEAD) && !weights.are_equal(embedding, HEAD)? {
                let feature = format!("a `{HEAD}` that differs from `{embedding}` is");
                return Err(adapted_error(ErrorKind::Model, &config.model_type, &feature)
                    .in_file(weights.file_of(HEAD))
                    .with_help(if self.names.has_head {
                        "set `tie_word_embeddings` to false in config.json to use it"
                    } else {
                        "candle-transformers would use the embedding instead and compute other logits"
                    }));
            }
        }
        weights.refuse_left_over(|name| {
            BUFFERS.iter().any(|end| name.ends_with(end)) || (uses_embedding && name == HEAD)
        })?;
        Ok(model)
    }
}

impl TakenTensors {
    fn take(&mut self, name: &str, stored: &str, shape: &[usize]) -> Result<Tensor> {
        if let Some(tensor) = self.taken.get(name) {
            return Ok(tensor.clone());
        }
        let Some(weights) = &self.weights else {
            candle_core::bail!("there is no tensor `{name}`");
        };
        let tensor = weights.get(stored, shape).map_err(|error| {
            let message = error.to_string();
            self.error.get_or_insert(error);
            candle_core::Error::Msg(message)
        })?;
        self.taken.insert(name.to_owned(), tensor.clone());
        Ok(tensor)
    }
}

impl Backend {
    /// The name in the checkpoint.
    fn stored<'n>(&self, name: &'n str) -> &'n str {
        if name == self.names.embedding_alias { self.names.embedding } else { name }
    }
}

impl SimpleBackend for Backend {
    fn get(&self, shape: Shape, name: &str, _: Init, _: DType, _: &Device) -> Result<Tensor> {
        lock(&self.shared).take(name, self.stored(name), shape.dims())
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        // None of the models asks so.
        candle_core::bail!("the shape of tensor `{name}` is not known")
    }

    fn contains_tensor(&self, name: &str) -> bool {
        let shared = lock(&self.shared);
        let stored = self.stored(name);
        shared.taken.contains_key(name) || shared.weights.as_ref().is_some_and(|w| w.has(stored))
    }
}
