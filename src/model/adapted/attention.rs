//! Helium and OLMo: decoders of attention layers, which hold their keys and values themselves.

use std::sync::Arc;

use candle_core::{Device, Result, Tensor};
use candle_transformers::models::{helium, olmo};

use super::architecture::{AdaptedArchitecture, settings};
use super::weights::AdaptedNames;
use crate::model::kv_cache::{AdaptedModel, AdaptedSequence, Stride};

pub(super) const HELIUM: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "helium",
    names: AdaptedNames::LLAMA,
    load: |values, weights| {
        let device = weights.device().clone();
        let model = helium::Model::new(&settings(values)?, weights)?;
        let read = helium::Model::forward;
        Ok(Arc::new(SelfContained { model, device, stride: Stride::Any, read }))
    },
};

pub(super) const OLMO: AdaptedArchitecture = AdaptedArchitecture {
    model_type: "olmo",
    names: AdaptedNames::LLAMA,
    load: |values, weights| {
        let device = weights.device().clone();
        let model = olmo::Model::new(&settings(values)?, weights)?;
        let read = olmo::Model::forward;
        Ok(Arc::new(SelfContained { model, device, stride: Stride::Any, read }))
    },
};

/// A model that holds the state of a sequence in itself. Its clones share the weights.
#[derive(Clone)]
pub(super) struct SelfContained<M> {
    /// As an [`AdaptedModel`] it has read nothing; as an [`AdaptedSequence`] it holds the state of its sequence.
    pub(super) model: M,
    pub(super) device: Device,
    pub(super) stride: Stride,
    /// Reads (1, n) tokens from a position on.
    pub(super) read: fn(&mut M, &Tensor, usize) -> Result<Tensor>,
}

impl<M: Clone + Send + Sync + 'static> AdaptedModel for SelfContained<M> {
    fn begin(&self) -> Result<Box<dyn AdaptedSequence>> {
        Ok(Box::new(self.clone()))
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn stride(&self) -> Stride {
        self.stride
    }
}

impl<M: Send + Sync> AdaptedSequence for SelfContained<M> {
    fn read(&mut self, tokens: &Tensor, position: usize) -> Result<Tensor> {
        (self.read)(&mut self.model, &tokens.unsqueeze(0)?, position)
    }
}
