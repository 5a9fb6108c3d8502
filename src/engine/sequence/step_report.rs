//! Reports of single steps: how a token was chosen, and what the model wanted.

use super::Sequence;
use crate::engine::response::{Step, Wanted};
use crate::error::Result;
use crate::sampling::{Draw, Pressure, steps};
use crate::vocabulary::{TokenMask, Vocabulary};

/// Least number of tokens that the model held most probable in the report of a traced step.
const WANTED_TOKENS: usize = 5;

/// The facts of a step beside the draw itself.
#[derive(Clone, Copy)]
pub(crate) struct DrawCircumstances {
    /// Whether the constraint left no choice about the token's text.
    pub(crate) forced: bool,
    /// Whether a ban or a list of tokens yielded to the constraint.
    pub(crate) yielded: bool,
    /// Time to compute the mask, in microseconds.
    pub(crate) mask_us: f64,
}

impl Sequence {
    /// Adds a draw to the summary, if the request asks for one. Returns its report, if the request
    /// asks for steps.
    pub(crate) fn report(
        &mut self,
        row: &[f32],
        draw: Draw,
        circumstances: DrawCircumstances,
    ) -> Result<Option<Step>> {
        self.pressure.yielded += usize::from(circumstances.yielded);
        if !self.request.is_measured() {
            return Ok(None);
        }
        let pressure = Pressure::measure(row, &self.mask, draw.token)?;
        self.pressure.add(&pressure);
        self.pressure.forced += usize::from(circumstances.forced);
        if self.request.is_traced() {
            self.describe(row, draw, pressure, circumstances).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The report of a draw, with numbers over all tokens, allowed or not.
    fn describe(
        &self,
        row: &[f32],
        draw: Draw,
        pressure: Pressure,
        circumstances: DrawCircumstances,
    ) -> Result<Step> {
        let DrawCircumstances { forced, yielded, mask_us } = circumstances;
        let vocabulary = self.runner.vocabulary();
        let Draw { token, probability, allowed, nucleus, .. } = draw;
        let best = |row: &[f32], mask: Option<&TokenMask>, n| -> Result<Vec<(u32, f64)>> {
            let mut candidates = Vec::new();
            if n > 0 {
                steps::allow(row, mask, &mut candidates)?;
            }
            Ok(steps::top_log_probabilities(&candidates, n))
        };
        let wanted = |(token, logprob): (u32, f64)| Wanted {
            token,
            text: shown(vocabulary, token),
            probability: logprob.exp(),
            allowed: self.mask.contains(token),
        };
        let wanted_tokens = WANTED_TOKENS.max(self.request.top_logprobs);
        let all = if self.request.trace {
            // As for the draw, what is no number counts as -inf where it is not allowed.
            let is_wanted = |(token, &logit): (usize, &f32)| {
                let is_number = !logit.is_nan() && logit != f32::INFINITY;
                if is_number || self.mask.contains(token as u32) {
                    logit
                } else {
                    f32::NEG_INFINITY
                }
            };
            let row: Vec<f32> = row.iter().enumerate().map(is_wanted).collect();
            best(&row, None, wanted_tokens)?
        } else {
            Vec::new()
        };
        Ok(Step {
            token,
            text: shown(vocabulary, token),
            probability,
            logprob: pressure.logprob,
            raw_logprob: pressure.raw_logprob,
            allowed,
            nucleus,
            allowed_mass: pressure.allowed_mass,
            argmax_masked: pressure.argmax_masked,
            forced,
            yielded,
            wanted: all.into_iter().map(wanted).collect(),
            top_logprobs: best(row, Some(&self.mask), self.request.top_logprobs)?,
            text_start: self.output.len(),
            mask_us,
        })
    }
}

/// A token as text: its bytes with U+FFFD for stray ones, or a special token's name.
fn shown(vocabulary: &Vocabulary, token: u32) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => vocabulary.token_name(token).into_owned(),
    }
}
