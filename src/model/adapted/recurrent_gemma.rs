//! RecurrentGemma: gated linear recurrences, and attention within a window.
//!
//! The `transformers` library multiplies embeddings by √width rounded to 16 bits (√2560 = 50.596… becomes 50.5), and
//! candle-transformers by √width. The embedding is also the matrix of the logits, so both it and the norm before
//! the logits are changed: logits = (norm / r) · (embedding · r), with r = rounded / √width.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use candle_transformers::models::recurrent_gemma;
use serde_json::Value;

use super::architecture::{AdaptedArchitecture, settings};
use super::attention::SelfContained;
use super::weights::AdaptedNames;
use crate::model::kv_cache::{AdaptedModel, Stride};

const EMBEDDING: &str = "model.embed_tokens.weight";
const LAST_NORM: &str = "model.final_norm.weight";

pub(super) const RECURRENT_GEMMA: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "recurrent_gemma",
    names: AdaptedNames { embedding: EMBEDDING, embedding_alias: EMBEDDING, has_head: false },
    load,
};

fn load(values: &Value, weights: VarBuilder<'static>) -> Result<Arc<dyn AdaptedModel>> {
    let config: recurrent_gemma::Config = settings(values)?;
    let device = weights.device().clone();
    let scale = (config.hidden_size as f64).sqrt();
    let ratio = half::bf16::from_f64(scale).to_f64() / scale;
    let rounded: Box<dyn SimpleBackend> = Box::new(RoundedScale { weights, ratio });
    let weights = VarBuilder::from_backend(rounded, DType::F32, device.clone());
    let model = recurrent_gemma::Model::new(&config, weights.pp("model"))?;
    let read = recurrent_gemma::Model::forward;
    // Several tokens at once do not fit the convolutions of a sequence that has begun.
    Ok(Arc::new(SelfContained { model, device, stride: Stride::AnyAtFirst, read }))
}

/// The tensors with the rounded factor of embeddings.
struct RoundedScale {
    weights: VarBuilder<'static>,
    ratio: f64,
}

impl SimpleBackend for RoundedScale {
    fn get(&self, shape: Shape, name: &str, _: Init, _: DType, _: &Device) -> Result<Tensor> {
        let tensor = self.weights.get(shape, name)?;
        match name {
            EMBEDDING => tensor * self.ratio,
            // Its factors are 1 + w.
            LAST_NORM => tensor.affine(1.0 / self.ratio, 1.0 / self.ratio - 1.0),
            _ => Ok(tensor),
        }
    }

    fn get_unchecked(&self, name: &str, dtype: DType, _: &Device) -> Result<Tensor> {
        self.weights.get_unchecked_dtype(name, dtype)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.weights.contains_tensor(name)
    }
}
