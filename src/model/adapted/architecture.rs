//! A model type of candle-transformers: its names, and how its model is made.

use std::sync::Arc;

use candle_core::Result;
use candle_nn::VarBuilder;
use serde_json::Value;

use super::weights::AdaptedNames;
use crate::model::kv_cache::AdaptedModel;

/// A model type: the names of its tensors, and the function that makes a model of settings and weights.
pub(super) struct AdaptedArchitecture {
    pub(super) model_type: &'static str,
    pub(super) names: AdaptedNames,
    pub(super) load: fn(&Value, VarBuilder<'static>) -> Result<Arc<dyn AdaptedModel>>,
}

/// Settings in the form that candle-transformers reads.
pub(super) fn settings<T: serde::de::DeserializeOwned>(values: &Value) -> Result<T> {
    serde_json::from_value(values.clone()).map_err(candle_core::Error::wrap)
}
