//! A gated part and a mixture of experts beside each other (Gemma 4): both read the stream by norms of
//! their own, and their sum, each again after a norm, is the feed-forward part's output.

use super::experts::Experts;
use super::gated::Gated;
use super::linear::Vector;
use super::norm::Norm;
use crate::error;
use crate::model::candle_error::candle_error;
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::NormConfig;

/// A gated part, a mixture of experts, and their norms.
#[derive(Clone, Debug)]
pub(super) struct GatedBesideExperts {
    pub(super) gated: Gated,
    pub(super) after_gated: Norm,
    pub(super) experts: Experts,
    pub(super) before_experts: Norm,
    pub(super) after_experts: Norm,
    /// The norm of what the router reads, with its factors.
    pub(super) before_router: Norm,
}

impl GatedBesideExperts {
    pub(super) fn load(
        (gated, experts): (Gated, Experts),
        norm: NormConfig,
        hidden: usize,
        weights: &Weights,
        layer: &str,
    ) -> error::Result<Self> {
        let load = |tensor: &str| Norm::load(norm, weights, &format!("{layer}.{tensor}"), hidden);
        let scale = Vector::load(weights, &format!("{layer}.router.scale"), hidden)?;
        let scale = scale.numbers().map_err(candle_error)?;
        let root = (hidden as f64).powf(-0.5) as f32;
        let count = experts.config.count;
        let of_experts = format!("{layer}.router.per_expert_scale");
        let scales = Some(weights.numbers(&of_experts, &[count])?);
        Ok(Self {
            gated,
            after_gated: load("post_feedforward_layernorm_1")?,
            experts: Experts { scales, ..experts },
            before_experts: load("pre_feedforward_layernorm_2")?,
            after_experts: load("post_feedforward_layernorm_2")?,
            before_router: Norm::with_weights(norm, scale.iter().map(|number| number * root)),
        })
    }
}
