//! DeepSeek-V2 and GPT-BigCode: models that hold the state of a sequence and cannot be cloned. Each sequence
//! has one of its own, made of the same tensors.

use std::sync::Arc;

use candle_core::{Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{bigcode, deepseek2};
use serde_json::Value;

use super::architecture::{AdaptedArchitecture, settings};
use super::weights::AdaptedNames;
use crate::model::kv_cache::{AdaptedModel, AdaptedSequence, Stride};

pub(super) const DEEPSEEK_V2: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "deepseek_v2",
    names: AdaptedNames::LLAMA,
    load: |values, weights| {
        Rebuilt::load(values, weights, |values, weights| {
            let model = deepseek2::DeepSeekV2::new(&settings(values)?, weights)?;
            Ok(Box::new(RebuiltSequence { model, read: deepseek2::DeepSeekV2::forward }))
        })
    },
};

pub(super) const GPT_BIGCODE: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "gpt_bigcode",
    names: AdaptedNames {
        embedding: "transformer.wte.weight",
        embedding_alias: "transformer.wte.weight",
        has_head: false,
    },
    load: |values, weights| {
        Rebuilt::load(values, weights, |values, weights| {
            let config = settings::<BigCodeConfig>(values)?.into();
            let model = bigcode::GPTBigCode::load(weights, config)?;
            Ok(Box::new(RebuiltSequence { model, read: bigcode::GPTBigCode::forward }))
        })
    },
};

/// Settings of GPT-BigCode, whose own are not read from JSON.
#[derive(serde::Deserialize)]
struct BigCodeConfig {
    vocab_size: usize,
    max_position_embeddings: usize,
    num_hidden_layers: usize,
    hidden_size: usize,
    layer_norm_epsilon: f64,
    n_inner: usize,
    num_attention_heads: usize,
}

impl From<BigCodeConfig> for bigcode::Config {
    fn from(config: BigCodeConfig) -> Self {
        Self {
            vocab_size: config.vocab_size,
            max_position_embeddings: config.max_position_embeddings,
            num_hidden_layers: config.num_hidden_layers,
            hidden_size: config.hidden_size,
            layer_norm_epsilon: config.layer_norm_epsilon,
            n_inner: Some(config.n_inner),
            num_attention_heads: config.num_attention_heads,
            multi_query: true,
            use_cache: true,
        }
    }
}

/// Makes the model of a sequence of settings and tensors.
type Rebuild = fn(&Value, VarBuilder<'static>) -> Result<Box<dyn AdaptedSequence>>;

struct Rebuilt {
    values: Value,
    /// The tensors, which it holds since they were first asked for.
    weights: VarBuilder<'static>,
    begin: Rebuild,
}

struct RebuiltSequence<M> {
    model: M,
    /// Reads (1, n) tokens from a position on.
    read: fn(&mut M, &Tensor, usize) -> Result<Tensor>,
}

impl Rebuilt {
    fn load(
        values: &Value,
        weights: VarBuilder<'static>,
        begin: Rebuild,
    ) -> Result<Arc<dyn AdaptedModel>> {
        // Takes all tensors.
        begin(values, weights.clone())?;
        Ok(Arc::new(Self { values: values.clone(), weights, begin }))
    }
}

impl AdaptedModel for Rebuilt {
    fn begin(&self) -> Result<Box<dyn AdaptedSequence>> {
        (self.begin)(&self.values, self.weights.clone())
    }

    fn device(&self) -> &Device {
        self.weights.device()
    }

    fn stride(&self) -> Stride {
        Stride::Any
    }
}

impl<M: Send + Sync> AdaptedSequence for RebuiltSequence<M> {
    fn read(&mut self, tokens: &Tensor, position: usize) -> Result<Tensor> {
        (self.read)(&mut self.model, &tokens.unsqueeze(0)?, position)
    }
}
