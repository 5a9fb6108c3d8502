//! The chain of one sampler: the steps that are switched on, with their settings and their state.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::random_stream::RandomStream;
use crate::sampling::chain_step::ChainStep;
use crate::sampling::fast::MaximaPrecision;
use crate::sampling::params::{PenaltyScope, SamplingParams, exact};
use crate::sampling::penalty_history::PenaltyHistory;
use crate::sampling::steps::{self, Candidate};

/// Lower temperatures are this one: there the most probable token alone is drawn, and depths below it are still exact.
const MIN_TEMPERATURE: f64 = 1e-10;

/// The steps that are switched on, with their settings.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    params: SamplingParams,
    /// The steps that are switched on, in order.
    steps: Vec<ChainStep>,
    /// The tokens that penalties count.
    pub(super) history: PenaltyHistory,
    /// Mirostat's greatest surprise at the next draw, in bits.
    max_surprise: f64,
}

impl Chain {
    /// The chain at the start of a text. The settings are valid.
    pub(super) fn new(params: &SamplingParams) -> Self {
        let on = |step: &ChainStep| params.switches_on(*step);
        Self {
            steps: params.samplers.iter().copied().filter(on).collect(),
            history: PenaltyHistory::new(params.repeat_last_n),
            max_surprise: 2.0 * exact(params.mirostat_tau),
            params: params.clone(),
        }
    }

    /// Sets the temperature; the state of all steps stays.
    pub(super) fn set_temperature(&mut self, temperature: f32) {
        if self.params.temperature == temperature {
            return;
        }
        self.params.temperature = temperature;
        let Self { params, steps, .. } = self;
        steps.clear();
        steps.extend(params.samplers.iter().copied().filter(|&step| params.switches_on(step)));
        // A grammar may set a temperature where the order of the request has no place for one.
        let has_place = params.samplers.contains(&ChainStep::Temperature);
        if !has_place && params.switches_on(ChainStep::Temperature) {
            steps.push(ChainStep::Temperature);
        }
    }

    pub(super) fn params(&self) -> &SamplingParams {
        &self.params
    }

    pub(super) fn steps(&self) -> &[ChainStep] {
        &self.steps
    }

    /// Mirostat's greatest surprise at the next draw, in bits.
    pub(super) fn max_surprise(&self) -> f64 {
        self.max_surprise
    }

    #[cfg(feature = "model")]
    pub(super) fn set_max_surprise(&mut self, max_surprise: f64) {
        self.max_surprise = max_surprise;
    }

    /// Whether a draw takes the most probable token.
    pub(super) fn is_greedy(&self) -> bool {
        self.params.temperature == 0.0
    }

    /// Whether some step changes single logits.
    pub(super) fn has_bias_or_penalty(&self) -> bool {
        self.steps.iter().any(|step| step.is_bias_or_penalty())
    }

    /// Whether some step counts tokens of the history.
    pub(super) fn counts_history(&self) -> bool {
        self.steps.iter().any(|&step| step.is_bias_or_penalty() && step != ChainStep::LogitBias)
    }

    /// The number of *local* steps at the chain's head, which treat each token by itself. They need
    /// no list of the tokens that none of them changes.
    pub(super) fn local_steps(&self) -> usize {
        let is_local =
            |step: &&ChainStep| step.is_bias_or_penalty() || **step == ChainStep::Temperature;
        self.steps.iter().take_while(is_local).count()
    }

    /// Whether all steps are local, so that every allowed token can be drawn.
    pub(super) fn is_local(&self) -> bool {
        self.local_steps() == self.steps.len()
    }

    /// The precision of the maxima that the first truncation needs.
    pub(super) fn maxima_precision(&self) -> MaximaPrecision {
        match self.steps.get(self.local_steps()) {
            Some(ChainStep::TopK | ChainStep::TopP) if !self.is_greedy() => MaximaPrecision::Exact,
            _ => MaximaPrecision::UpperBounds,
        }
    }

    /// The tokens whose logits a step may change, ascending.
    pub(super) fn changing(&self) -> BTreeSet<u32> {
        let mut tokens: BTreeSet<u32> = self.params.logit_bias.keys().copied().collect();
        if self.counts_history() {
            tokens.extend(self.history.counted(PenaltyScope::All).map(|counted| counted.0));
        }
        if self.steps.contains(&ChainStep::Dry) {
            tokens.extend(self.repetitions().into_keys());
        }
        tokens
    }

    /// DRY's repetitions (`PenaltyHistory::repetitions`).
    fn repetitions(&self) -> FxHashMap<u32, usize> {
        self.history.repetitions(self.params.dry_penalty_last_n)
    }

    /// Runs the local steps on changed candidates. Returns the temperature that divides the others'
    /// logits.
    pub(super) fn run_local_steps(&self, changed: &mut [Candidate]) -> f64 {
        let mut temperature = 1.0;
        for &step in &self.steps[..self.local_steps()] {
            if step == ChainStep::Temperature {
                temperature = self.temperature();
            }
            self.adjust(step, changed);
        }
        temperature
    }

    /// The temperature that logits are divided by.
    fn temperature(&self) -> f64 {
        exact(self.params.temperature).max(MIN_TEMPERATURE)
    }

    /// Runs the steps that change single logits, wherever they stand in the chain.
    pub(super) fn run_adjusting_steps(&self, changed: &mut [Candidate]) {
        for &step in self.steps.iter().filter(|step| step.is_bias_or_penalty()) {
            self.adjust(step, changed);
        }
    }

    /// Runs one step that changes logits: of the penalties, or the temperature.
    fn adjust(&self, step: ChainStep, candidates: &mut [Candidate]) {
        let params = &self.params;
        let counted = |published| {
            let scope = match params.penalty_scope {
                PenaltyScope::Published => published,
                scope => scope,
            };
            self.history.counted(scope)
        };
        match step {
            ChainStep::LogitBias => {
                let biases = params.logit_bias.iter().map(|(&token, &bias)| (token, exact(bias)));
                steps::logit_bias(candidates, biases);
            }
            ChainStep::RepetitionPenalty => {
                let seen = counted(PenaltyScope::All).map(|counted| counted.0);
                steps::repetition_penalty(candidates, seen, exact(params.repetition_penalty));
            }
            ChainStep::FrequencyPenalty => {
                let penalty = exact(params.frequency_penalty);
                steps::frequency_penalty(candidates, counted(PenaltyScope::Output), penalty);
            }
            ChainStep::PresencePenalty => {
                let seen = counted(PenaltyScope::Output).map(|counted| counted.0);
                steps::presence_penalty(candidates, seen, exact(params.presence_penalty));
            }
            ChainStep::Dry => {
                let (multiplier, base) = (exact(params.dry_multiplier), exact(params.dry_base));
                let settings = (multiplier, base, params.dry_allowed_length);
                steps::dry(candidates, self.repetitions(), settings);
            }
            ChainStep::Temperature => steps::temperature(candidates, self.temperature()),
            // Truncations, which `run` has taken.
            ChainStep::TopNSigma
            | ChainStep::TopK
            | ChainStep::TopP
            | ChainStep::MinP
            | ChainStep::TypicalP
            | ChainStep::Xtc
            | ChainStep::Mirostat => {}
        }
    }

    /// Runs one step on a list, whatever it is.
    pub(super) fn run(
        &self,
        step: ChainStep,
        candidates: &mut Vec<Candidate>,
        random: &mut RandomStream,
    ) {
        let params = &self.params;
        match step {
            ChainStep::TopNSigma => steps::top_n_sigma(candidates, exact(params.top_n_sigma)),
            ChainStep::TopK => steps::top_k(candidates, params.top_k.unwrap_or(usize::MAX)),
            ChainStep::TopP => steps::top_p(candidates, exact(params.top_p)),
            ChainStep::MinP => steps::min_p(candidates, exact(params.min_p)),
            ChainStep::TypicalP => steps::typical_p(candidates, exact(params.typical_p)),
            ChainStep::Xtc => {
                let (chance, threshold) =
                    (exact(params.xtc_probability), exact(params.xtc_threshold));
                if random.fraction() < chance {
                    steps::xtc(candidates, threshold);
                }
            }
            ChainStep::Mirostat => steps::mirostat(candidates, self.max_surprise),
            ChainStep::LogitBias
            | ChainStep::RepetitionPenalty
            | ChainStep::FrequencyPenalty
            | ChainStep::PresencePenalty
            | ChainStep::Dry
            | ChainStep::Temperature => self.adjust(step, candidates),
        }
    }

    /// Lowers mirostat's greatest surprise by `mirostat_eta` times the excess of the drawn token's surprise
    /// over the target.
    pub(super) fn steer(&mut self, probability: f64) {
        if self.steps.contains(&ChainStep::Mirostat) {
            let excess = -probability.log2() - exact(self.params.mirostat_tau);
            self.max_surprise -= exact(self.params.mirostat_eta) * excess;
        }
    }
}
