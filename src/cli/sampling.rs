//! The options of the sampling chain.

use crate::error::Result;
use crate::sampling::SamplingParams;

/// How the next token is drawn from what the constraint allows.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sampling")]
pub(super) struct SamplingArgs {
    /// 0 takes the most probable token, higher values draw more evenly [default: 0; 1 where
    /// --top-k, --top-p, --min-p or --seed asks for a draw]
    #[arg(long, allow_negative_numbers = true, value_name = "T")]
    temperature: Option<f32>,
    /// Draws from the K most probable tokens only
    #[arg(long, value_name = "K")]
    top_k: Option<usize>,
    /// Draws from the smallest set of tokens whose probabilities reach P
    #[arg(long, allow_negative_numbers = true, value_name = "P")]
    top_p: Option<f32>,
    /// Draws from tokens at least P times as probable as the most probable one
    #[arg(long, allow_negative_numbers = true, value_name = "P")]
    min_p: Option<f32>,
    /// Makes tokens of prompt and text less probable where above 1
    #[arg(long, allow_negative_numbers = true, value_name = "R", default_value = "1")]
    repetition_penalty: f32,
    /// Taken off a token's logit for each time it was written
    #[arg(long, allow_negative_numbers = true, value_name = "F", default_value = "0")]
    frequency_penalty: f32,
    /// Taken off a token's logit once it was written
    #[arg(long, allow_negative_numbers = true, value_name = "F", default_value = "0")]
    presence_penalty: f32,
    /// Makes the draws repeatable
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl SamplingArgs {
    /// The settings, each within its range.
    pub(super) fn params(&self) -> Result<SamplingParams> {
        let Self { temperature, top_k, top_p, min_p, seed, .. } = *self;
        let draws = top_k.is_some() || top_p.is_some() || min_p.is_some() || seed.is_some();
        let params = SamplingParams {
            temperature: temperature.unwrap_or(if draws { 1.0 } else { 0.0 }),
            top_k,
            top_p: top_p.unwrap_or(1.0),
            min_p: min_p.unwrap_or(0.0),
            repetition_penalty: self.repetition_penalty,
            frequency_penalty: self.frequency_penalty,
            presence_penalty: self.presence_penalty,
            seed,
            ..SamplingParams::default()
        };
        params.validate()?;
        Ok(params)
    }
}
