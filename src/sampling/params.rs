//! What a user may set, and within which ranges.

use crate::error::{Error, ErrorKind, Result};

/// The settings of a [`Sampler`](super::Sampler); the default draws from the model's own
/// distribution over the allowed tokens.
///
/// The ranges are those of the OpenAI API reference and of Hugging Face's generation config, with
/// one exception: a temperature above 2 is accepted, because min-p was made for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingParams {
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
    /// Makes tokens of the prompt and of the text so far less probable (above 1) or more probable
    /// (below 1). Above 0; 1 is off.
    pub repetition_penalty: f32,
    /// Taken off a token's logit once for each time it stands in the text so far, the prompt not
    /// counted. From -2 to 2; 0 is off.
    pub frequency_penalty: f32,
    /// Taken off a token's logit if it stands in the text so far, the prompt not counted. From -2
    /// to 2; 0 is off.
    pub presence_penalty: f32,
    /// Where the random numbers start; `None` takes a fresh seed, which
    /// [`Sampler::seed`](super::Sampler::seed) tells.
    pub seed: Option<u64>,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: None,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            seed: None,
        }
    }
}

impl SamplingParams {
    /// Always the most probable allowed token.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, ..Self::default() }
    }

    /// Errors with the field and its range if a number is out of range or not a number.
    pub fn validate(&self) -> Result<()> {
        let infinite = f32::INFINITY;
        let above_zero = f32::from_bits(1);
        let ranges = [
            ("temperature", self.temperature, 0.0, infinite, "a number from 0 up"),
            ("top_p", self.top_p, 0.0, 1.0, "a number from 0 to 1"),
            ("min_p", self.min_p, 0.0, 1.0, "a number from 0 to 1"),
            (
                "repetition_penalty",
                self.repetition_penalty,
                above_zero,
                infinite,
                "a number above 0",
            ),
            ("frequency_penalty", self.frequency_penalty, -2.0, 2.0, "a number from -2 to 2"),
            ("presence_penalty", self.presence_penalty, -2.0, 2.0, "a number from -2 to 2"),
        ];
        for (field, value, low, high, range) in ranges {
            if !value.is_finite() || value < low || value > high {
                let message = format!("`{field}` is {value}, out of its range");
                let help = format!("write {range}");
                return Err(Error::new(ErrorKind::Sampling, message).with_help(help));
            }
        }
        Ok(())
    }
}

/// The decimal number that was written, as near as `f64` holds it: 0.6 and not the 0.60000002…
/// that `f32` made of it, which would put a seventh of ten equal tokens into a nucleus of 0.6.
pub(super) fn exact(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
