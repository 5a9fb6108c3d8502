//! LFM2, Granite 4, Mamba: models that keep the state of a sequence in a value of its own.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use candle_transformers::models::{granitemoehybrid, lfm2, mamba, mamba2};

use super::architecture::{AdaptedArchitecture, settings};
use super::weights::AdaptedNames;
use crate::model::kv_cache::{AdaptedModel, AdaptedSequence, Stride};

pub(super) const GRANITE_HYBRID: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "granitemoehybrid",
    names: AdaptedNames { has_head: false, ..AdaptedNames::LLAMA },
    load: |values, weights| {
        let device = weights.device().clone();
        let config = settings::<granitemoehybrid::GraniteMoeHybridConfig>(values)?;
        let config = config.into_config(false);
        let empty =
            granitemoehybrid::GraniteMoeHybridCache::new(true, DType::F32, &config, &device)?;
        let model = Arc::new(granitemoehybrid::GraniteMoeHybrid::load(weights, &config)?);
        let begin = Box::new(move || {
            sequence(&model, empty.clone(), |model, tokens, position, cache| {
                model.forward(&tokens.unsqueeze(0)?, position, cache)
            })
        });
        Ok(Arc::new(ExternalState { begin, device, stride: Stride::Any }))
    },
};

pub(super) const LFM2: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "lfm2",
    names: AdaptedNames::LLAMA,
    load: |values, weights| {
        let device = weights.device().clone();
        let mut config = settings::<lfm2::Lfm2Config>(values)?.into_config(false);
        // The constructor guesses it.
        config.intermediate_size = settings::<FeedForwardWidth>(values)?.intermediate_size;
        // It holds the tables of rotary positions, too.
        let empty = lfm2::Cache::new(true, DType::F32, &config, &device)?;
        let model = Arc::new(lfm2::Model::new(&config, weights)?);
        let begin = Box::new(move || {
            sequence(&model, empty.clone(), |model, tokens, position, cache| {
                model.forward(&tokens.unsqueeze(0)?, position, cache)
            })
        });
        // In a pass over several tokens, convolutions see zeros in place of the tokens before them.
        Ok(Arc::new(ExternalState { begin, device, stride: Stride::AnyAtFirst }))
    },
};

#[derive(serde::Deserialize)]
struct FeedForwardWidth {
    intermediate_size: usize,
}

pub(super) const MAMBA: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "mamba",
    names: AdaptedNames {
        embedding: "backbone.embeddings.weight",
        embedding_alias: "backbone.embedding.weight",
        has_head: false,
    },
    load: |values, weights| {
        let config: mamba::Config = settings(values)?;
        let device = weights.device().clone();
        let model = Arc::new(mamba::Model::new(&config, weights.pp("backbone"))?);
        let on = device.clone();
        let begin = Box::new(move || {
            let state = mamba::State::new(1, &config, DType::F32, &on)?;
            sequence(&model, state, |model, token, _, state| model.forward(token, state))
        });
        Ok(Arc::new(ExternalState { begin, device, stride: Stride::One }))
    },
};

pub(super) const MAMBA2: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "mamba2",
    names: AdaptedNames {
        embedding: "backbone.embeddings.weight",
        embedding_alias: "backbone.embeddings.weight",
        has_head: false,
    },
    load: |values, weights| {
        let config: mamba2::Config = settings(values)?;
        let device = weights.device().clone();
        let model = Arc::new(mamba2::Model::new(&config, weights.pp("backbone"))?);
        let on = device.clone();
        let begin = Box::new(move || {
            let state = mamba2::State::new(1, &config, DType::F32, &on)?;
            sequence(&model, state, |model, token, _, state| model.forward(token, state))
        });
        // Its pass over several tokens begins with zeros before them, and takes memory in proportion to
        // chunk · chunk · heads · state.
        Ok(Arc::new(ExternalState { begin, device, stride: Stride::One }))
    },
};

/// Makes the empty state of a sequence.
type BeginWithState = dyn Fn() -> Result<Box<dyn AdaptedSequence>> + Send + Sync;

struct ExternalState {
    begin: Box<BeginWithState>,
    device: Device,
    stride: Stride,
}

impl AdaptedModel for ExternalState {
    fn begin(&self) -> Result<Box<dyn AdaptedSequence>> {
        (self.begin)()
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn stride(&self) -> Stride {
        self.stride
    }
}

/// Reads tokens (n) from a position on.
type ReadTokens<M, S> = fn(&M, &Tensor, usize, &mut S) -> Result<Tensor>;

struct StatefulSequence<M, S> {
    model: Arc<M>,
    state: S,
    read: ReadTokens<M, S>,
}

fn sequence<M: Send + Sync + 'static, S: Send + Sync + 'static>(
    model: &Arc<M>,
    state: S,
    read: ReadTokens<M, S>,
) -> Result<Box<dyn AdaptedSequence>> {
    Ok(Box::new(StatefulSequence { model: Arc::clone(model), state, read }))
}

impl<M: Send + Sync, S: Send + Sync> AdaptedSequence for StatefulSequence<M, S> {
    fn read(&mut self, tokens: &Tensor, position: usize) -> Result<Tensor> {
        (self.read)(&self.model, tokens, position, &mut self.state)
    }
}
