//! Mixtures of experts: Shazeer et al. 2017, "Outrageously Large Neural Networks", with the routing of
//! Mixtral (Jiang et al. 2024).
//!
//! On the CPU each expert computes the rows that chose it, together. A row adds up its experts in
//! ascending order, so that it does not matter which rows are beside it.

use super::gated::Gated;
use super::linear::Linear;
use crate::error;
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::{ExpertWeighting, ExpertsConfig};

/// Some gated parts and the router that chooses among them.
#[derive(Clone, Debug)]
pub(super) struct Experts {
    pub(super) config: ExpertsConfig,
    pub(super) router: Linear,
    pub(super) experts: Vec<Gated>,
}

impl Experts {
    pub(super) fn load(
        config: ExpertsConfig,
        hidden: usize,
        weights: &Weights,
        layer: &str,
    ) -> error::Result<Self> {
        let names = config.names;
        let router = format!("{layer}.{}", names.router);
        let router = Linear::load(weights, &router, (config.count, hidden), false)?;
        let expert = |index: usize| {
            let name = |projection| format!("{layer}.{}.{index}.{projection}", names.experts);
            Gated::load(config.expert, hidden, weights, &names.projections.map(name), "")
        };
        let experts = (0..config.count).map(expert).collect::<error::Result<_>>()?;
        Ok(Self { config, router, experts })
    }

    /// The chosen experts of a row by its scores, in ascending order, and their weights.
    pub(super) fn choose(&self, scores: &[f32]) -> Vec<(usize, f32)> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        // Of equal scores the first.
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let greatest = order.first().map_or(0.0, |&first| scores[first]);
        let power = |expert: usize| (scores[expert] - greatest).exp();
        let chosen = &order[..self.config.chosen.min(order.len())];
        let sum: f32 = match self.config.weighting {
            ExpertWeighting::OfAll => order.iter().map(|&expert| power(expert)).sum(),
            ExpertWeighting::OfChosen => chosen.iter().map(|&expert| power(expert)).sum(),
        };
        let mut chosen: Vec<(usize, f32)> =
            chosen.iter().map(|&expert| (expert, power(expert) / sum)).collect();
        chosen.sort_unstable_by_key(|(expert, _)| *expert);
        chosen
    }
}
