//! The settings of a sampler and their ranges.

use std::collections::BTreeMap;

use super::chain_step::ChainStep;
use crate::error::{Error, ErrorKind, Result};

/// The settings of a [`Sampler`](super::Sampler). The default draws from the model's own
/// distribution over the allowed tokens. The struct is flat, since users set its fields by these
/// names; they are in the order in which their steps run.
///
/// Names and ranges are those of the OpenAI API reference, of Hugging Face's generation config and
/// of llama.cpp. The reference lets a temperature be 2 at most; it may be above that here, as in
/// vLLM and llama.cpp, because min-p was made for it.
///
/// More than 12 fields: one a parameter of the request.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingParams {
    /// Only these tokens may be drawn, as far as the mask allows one of them; empty allows all.
    pub allowed_token_ids: Vec<u32>,
    /// These tokens may not be drawn, as far as the mask allows another one.
    pub banned_token_ids: Vec<u32>,
    /// Added to the logits of single tokens; finite numbers. OpenAI's range is -100 to 100.
    pub logit_bias: BTreeMap<u32, f32>,
    /// Makes tokens of the prompt and of the text so far less probable (above 1) or more probable
    /// (below 1). Above 0; 1 is off.
    pub repetition_penalty: f32,
    /// Taken off a token's logit once for each time it stands in the text so far, the prompt not
    /// counted. From -2 to 2; 0 is off.
    pub frequency_penalty: f32,
    /// Taken off a token's logit if it stands in the text so far, the prompt not counted. From -2
    /// to 2; 0 is off.
    pub presence_penalty: f32,
    /// The three penalties look at this many last tokens of prompt and text; `None` at all. Named
    /// as in llama.cpp.
    pub repeat_last_n: Option<usize>,
    /// The tokens that the three penalties count.
    pub penalty_scope: PenaltyScope,
    /// Counts text that the constraint forced, too. Off by default: JSON's own punctuation is then
    /// never penalised for having been written.
    pub penalize_forced: bool,
    /// Strength of DRY, which lowers the logits of tokens that would continue a repetition. At
    /// least 0; 0 is off.
    pub dry_multiplier: f32,
    /// Factor by which each further repeated token multiplies DRY's penalty. At least 1.
    pub dry_base: f32,
    /// The longest repetition that DRY lets pass, in tokens. At least 1.
    pub dry_allowed_length: usize,
    /// DRY looks at this many last tokens of prompt and text; `None` at all.
    pub dry_penalty_last_n: Option<usize>,
    /// Tokens that contain one of these texts end a repetition for DRY and are never penalised by
    /// it. The caller must find them and pass their ids to
    /// [`Sampler::break_dry_at`](super::Sampler::break_dry_at); the engine does.
    pub dry_sequence_breakers: Vec<String>,
    /// Keeps logits at most this many standard deviations below the greatest. At least 0; 0 is off.
    pub top_n_sigma: f32,
    /// Divides the logits: below 1 sharper, above 1 flatter, 0 greedy. At least 0.
    pub temperature: f32,
    /// Keeps this many most probable tokens; `None` or 0 keeps all.
    pub top_k: Option<usize>,
    /// Keeps the smallest set of most probable tokens that holds this much probability, and never
    /// fewer than one token. From 0 to 1; 1 keeps all.
    pub top_p: f32,
    /// Keeps tokens at least this share as probable as the most probable one. From 0 to 1; 0 keeps
    /// all.
    pub min_p: f32,
    /// Locally typical sampling: keeps the tokens whose surprise (−ln p) is nearest to the entropy, as
    /// few as hold this much probability, and never fewer than one. From 0 to 1; 1 keeps all.
    pub typical_p: f32,
    /// Probability with which XTC removes the top choices at a step. From 0 to 1; 0 is off.
    pub xtc_probability: f32,
    /// Least probability of a top choice for XTC. From 0 to 1; above 0.5 there is
    /// never more than one, and XTC does nothing.
    pub xtc_threshold: f32,
    /// Mirostat's version: 0 is off, 2 is the one that there is.
    pub mirostat: u8,
    /// The surprise that mirostat steers to, in bits. At least 0.
    pub mirostat_tau: f32,
    /// Learning rate of mirostat. At least 0.
    pub mirostat_eta: f32,
    /// The steps in the order in which they run, each at most once. A step that is left out does
    /// not run; it is an error to leave out one that another field switches on.
    pub samplers: Vec<ChainStep>,
    /// Seed of the random numbers; `None` takes a fresh one, which
    /// [`Sampler::seed`](super::Sampler::seed) returns.
    pub seed: Option<u64>,
}

/// The tokens that the repetition, frequency and presence penalties count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PenaltyScope {
    /// As each was published: repetition in prompt and text, frequency and presence in the text.
    #[default]
    Published,
    /// The prompt only.
    Prompt,
    /// The text only.
    Output,
    /// Prompt and text.
    All,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            allowed_token_ids: Vec::new(),
            banned_token_ids: Vec::new(),
            logit_bias: BTreeMap::new(),
            repetition_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            repeat_last_n: None,
            penalty_scope: PenaltyScope::default(),
            penalize_forced: false,
            dry_multiplier: 0.0,
            dry_base: 1.75,
            dry_allowed_length: 2,
            dry_penalty_last_n: None,
            dry_sequence_breakers: ["\n", ":", "\"", "*"].map(str::to_owned).to_vec(),
            top_n_sigma: 0.0,
            temperature: 1.0,
            top_k: None,
            top_p: 1.0,
            min_p: 0.0,
            typical_p: 1.0,
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            mirostat: 0,
            mirostat_tau: 5.0,
            mirostat_eta: 0.1,
            samplers: ChainStep::DEFAULT_ORDER.to_vec(),
            seed: None,
        }
    }
}

impl SamplingParams {
    /// Always the most probable allowed token.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// The first step that is switched on and must know every allowed token: a truncation.
    /// Rejection sampling ([`Sampler::draw_checked`](super::Sampler::draw_checked)) excludes those,
    /// but for temperature 0, at which they do nothing.
    pub fn first_truncation(&self) -> Option<ChainStep> {
        self.samplers.iter().copied().find(|step| self.switches_on(*step) && step.is_truncation())
    }

    /// Gives the settings of a step the values at which it does nothing.
    #[cfg(feature = "server")]
    pub(crate) fn switch_off(&mut self, step: ChainStep) {
        // Temperature 0 needs no step.
        if !self.switches_on(step) {
            return;
        }
        let off = Self::default();
        match step {
            ChainStep::LogitBias => self.logit_bias = off.logit_bias,
            ChainStep::RepetitionPenalty => self.repetition_penalty = off.repetition_penalty,
            ChainStep::FrequencyPenalty => self.frequency_penalty = off.frequency_penalty,
            ChainStep::PresencePenalty => self.presence_penalty = off.presence_penalty,
            ChainStep::Dry => self.dry_multiplier = off.dry_multiplier,
            ChainStep::TopNSigma => self.top_n_sigma = off.top_n_sigma,
            ChainStep::Temperature => self.temperature = off.temperature,
            ChainStep::TopK => self.top_k = off.top_k,
            ChainStep::TopP => self.top_p = off.top_p,
            ChainStep::MinP => self.min_p = off.min_p,
            ChainStep::TypicalP => self.typical_p = off.typical_p,
            ChainStep::Xtc => self.xtc_probability = off.xtc_probability,
            ChainStep::Mirostat => self.mirostat = off.mirostat,
        }
    }

    /// Whether the step is switched on by its settings.
    pub(super) fn switches_on(&self, step: ChainStep) -> bool {
        match step {
            ChainStep::LogitBias => !self.logit_bias.is_empty(),
            ChainStep::RepetitionPenalty => self.repetition_penalty != 1.0,
            ChainStep::FrequencyPenalty => self.frequency_penalty != 0.0,
            ChainStep::PresencePenalty => self.presence_penalty != 0.0,
            ChainStep::Dry => self.dry_multiplier > 0.0,
            ChainStep::TopNSigma => self.top_n_sigma > 0.0,
            // Greedy choice needs no step.
            ChainStep::Temperature => self.temperature != 1.0 && self.temperature != 0.0,
            ChainStep::TopK => self.top_k.is_some_and(|k| k > 0),
            ChainStep::TopP => self.top_p < 1.0,
            ChainStep::MinP => self.min_p > 0.0,
            ChainStep::TypicalP => self.typical_p < 1.0,
            ChainStep::Xtc => self.xtc_probability > 0.0,
            ChainStep::Mirostat => self.mirostat != 0,
        }
    }

    /// Errors with the field and its range if a number is out of range or not a number, and with
    /// the step if the order has one twice or lacks one that is switched on.
    pub fn validate(&self) -> Result<()> {
        const ANY: f32 = f32::MAX;
        const UNIT: &str = "a number from 0 to 1";
        const FROM_0: &str = "a number from 0 up";
        let above_zero = f32::from_bits(1);
        let ranges = [
            ("repetition_penalty", self.repetition_penalty, above_zero, ANY, "a number above 0"),
            ("frequency_penalty", self.frequency_penalty, -2.0, 2.0, "a number from -2 to 2"),
            ("presence_penalty", self.presence_penalty, -2.0, 2.0, "a number from -2 to 2"),
            ("dry_multiplier", self.dry_multiplier, 0.0, ANY, FROM_0),
            ("dry_base", self.dry_base, 1.0, ANY, "a number from 1 up"),
            ("top_n_sigma", self.top_n_sigma, 0.0, ANY, FROM_0),
            ("temperature", self.temperature, 0.0, ANY, FROM_0),
            ("top_p", self.top_p, 0.0, 1.0, UNIT),
            ("min_p", self.min_p, 0.0, 1.0, UNIT),
            ("typical_p", self.typical_p, 0.0, 1.0, UNIT),
            ("xtc_probability", self.xtc_probability, 0.0, 1.0, UNIT),
            ("xtc_threshold", self.xtc_threshold, 0.0, 1.0, UNIT),
            ("mirostat_tau", self.mirostat_tau, 0.0, ANY, FROM_0),
            ("mirostat_eta", self.mirostat_eta, 0.0, ANY, FROM_0),
        ];
        for (field, value, low, high, range) in ranges {
            if !value.is_finite() || value < low || value > high {
                return Err(out_of_range(field, value, range));
            }
        }
        if let Some(bias) = self.logit_bias.values().find(|bias| !bias.is_finite()) {
            let range = "finite numbers, such as -100 to 100; what must not be drawn goes into \
                         `banned_token_ids`";
            return Err(out_of_range("logit_bias", bias, range));
        }
        if self.dry_allowed_length == 0 {
            return Err(out_of_range("dry_allowed_length", 0, "a number from 1 up"));
        }
        if !matches!(self.mirostat, 0 | 2) {
            return Err(out_of_range("mirostat", self.mirostat, "0, or 2 for the second version"));
        }
        self.validate_order()
    }

    fn validate_order(&self) -> Result<()> {
        let error = |message: String, help: &str| {
            Err(Error::new(ErrorKind::Sampling, message).with_help(help).at_field("samplers"))
        };
        for (i, step) in self.samplers.iter().enumerate() {
            if self.samplers[..i].contains(step) {
                return error(format!("`samplers` has `{step}` twice"), "name each step once");
            }
        }
        for step in ChainStep::DEFAULT_ORDER {
            if self.switches_on(step) && !self.samplers.contains(&step) {
                let message = format!("`{step}` is set, and `samplers` leaves its step out");
                return error(message, "add the step, or leave the setting at its default");
            }
        }
        Ok(())
    }
}

fn out_of_range(field: &'static str, value: impl std::fmt::Display, range: &str) -> Error {
    let message = format!("`{field}` is {value}, out of its range");
    Error::new(ErrorKind::Sampling, message).with_help(format!("write {range}")).at_field(field)
}

/// The decimal number that the user wrote, as the nearest `f64`: 0.6 and not the 0.60000002…
/// that `f32` made of it, which would put a seventh of ten equal tokens into a nucleus of 0.6.
pub(super) fn exact(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
