//! The sampler of one sequence: a chain of steps, random numbers, and the tokens written so far.
//!
//! ```text
//! logits, mask ─▶ AllowedRow ─ local steps ─▶ AdjustedRow ─ truncations ─▶ TruncatedRow ─ pick ─▶ Draw
//! ```

mod allowed_row;
mod chain;
mod random_stream;
mod rejection;
mod scratch;
mod truncation;

use std::hash::{BuildHasher, RandomState};

use super::fast::{MaskedRow, logit_ranges};
use super::params::SamplingParams;
use super::steps;
use crate::error::Result;
use crate::vocabulary::TokenMask;
use allowed_row::{AdjustedRow, AllowedRow};
use chain::Chain;
use random_stream::RandomStream;
use scratch::SamplerScratch;
use truncation::{MAX_PLAIN_TOKENS, TruncatedRow, draw_from_all, truncate};

pub use rejection::Checked;

/// The result of [`Sampler::draw`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The token drawn.
    pub token: u32,
    /// Its probability in the distribution that it was drawn from, after every step; 1 if greedy.
    pub probability: f64,
    /// The number of tokens that the mask and the lists allowed, of those with a logit above −∞.
    pub allowed: usize,
    /// The number of them that the truncations left; 1 if greedy.
    pub nucleus: usize,
    /// Whether the list of allowed or of banned tokens would have left nothing of the mask, and was
    /// not applied.
    pub yielded: bool,
}

/// Draws the tokens of one sequence. The same seed and the same logits give the same tokens, on
/// every platform and in every version of this crate: the random numbers are ChaCha8's key stream
/// (the seed, little-endian, is the start of an otherwise zero key), 64 bits to a number of which
/// the upper 53 become a fraction below 1. A draw takes one, the point on the line that
/// [`steps::pick`] describes; XTC, where it is on, takes one before; a greedy draw takes none.
///
/// A draw from n logits takes O(n) and, on rows of more than 1024 allowed tokens, no list of them:
/// fast paths compute the same as [`steps`].
#[derive(Clone, Debug)]
pub struct Sampler {
    chain: Chain,
    seed: u64,
    random: RandomStream,
    /// Random numbers of estimates: no draw depends on whether an estimate was asked for.
    estimate_random: RandomStream,
    scratch: SamplerScratch,
}

impl Sampler {
    /// A sampler at the start of a text. Errors as [`SamplingParams::validate`] does.
    pub fn new(params: &SamplingParams) -> Result<Self> {
        params.validate()?;
        // The standard library's hash keys come from the system's random numbers.
        let seed = params.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        Ok(Self {
            chain: Chain::new(params),
            seed,
            random: RandomStream::new(seed, 0),
            estimate_random: RandomStream::new(seed, u64::MAX),
            scratch: SamplerScratch::default(),
        })
    }

    /// The seed in use, given or fresh.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether a penalty depends on which tokens were forced: then
    /// [`accept_forced`](Self::accept_forced) must be called for those.
    pub fn asks_what_is_forced(&self) -> bool {
        !self.chain.params().penalize_forced && self.chain.counts_history()
    }

    /// Sets the tokens that end a repetition for DRY: those whose text contains one of the
    /// [`dry_sequence_breakers`](SamplingParams::dry_sequence_breakers).
    pub fn break_dry_at(&mut self, tokens: impl IntoIterator<Item = u32>) {
        self.chain.history.set_breakers(tokens);
    }

    /// Sets the temperature of the draws that follow; 0 takes the most probable token. Negative
    /// numbers and those that are not finite change nothing.
    pub fn set_temperature(&mut self, temperature: f32) {
        if temperature.is_finite() && temperature >= 0.0 {
            self.chain.set_temperature(temperature);
        }
    }

    /// Mirostat's state: for a caller that takes a draw back.
    #[cfg(feature = "model")]
    pub(crate) fn steering(&self) -> f64 {
        self.chain.max_surprise()
    }

    /// Restores mirostat's state before a draw that was taken back.
    #[cfg(feature = "model")]
    pub(crate) fn set_steering(&mut self, steering: f64) {
        self.chain.set_max_surprise(steering);
    }

    /// Adds the tokens of the prompt, before any token of the text.
    pub fn accept_prompt(&mut self, tokens: &[u32]) {
        tokens.iter().for_each(|&token| self.chain.history.push_prompt(token));
    }

    /// Adds a token to the text so far, drawn here or not.
    pub fn accept(&mut self, token: u32) {
        self.chain.history.push(token);
    }

    /// [`accept`](Self::accept) for a token about which the constraint left no choice: no penalty
    /// counts it, unless the settings say so.
    pub fn accept_forced(&mut self, token: u32) {
        if self.chain.params().penalize_forced {
            self.chain.history.push(token);
        } else {
            self.chain.history.push_exempt(token);
        }
    }

    /// Draws the next token from one logit per token id, all of them allowed without a mask. The
    /// text so far does not change: call [`accept`](Self::accept).
    ///
    /// Mirostat's greatest surprise starts at twice its target. After each draw it is lowered by
    /// `mirostat_eta` times the difference of the drawn token's surprise, among the candidates, and
    /// the target.
    ///
    /// Errors as [`steps::allow`] does.
    pub fn draw(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Result<Draw> {
        let allowed = self.allow(logits, mask)?;
        let (count, yielded) = (allowed.count(), allowed.yielded);
        if self.chain.is_greedy() {
            let token = allowed.greedy(&self.chain)?;
            return Ok(Draw { token, probability: 1.0, allowed: count, nucleus: 1, yielded });
        }
        let Self { chain, random, scratch, .. } = self;
        if count > MAX_PLAIN_TOKENS && chain.is_local() {
            let (token, probability) = draw_from_all(chain, random, logits, allowed, scratch)?;
            return Ok(Draw { token, probability, allowed: count, nucleus: count, yielded });
        }
        let truncated = truncate(chain, random, logits, allowed, scratch);
        let u = random.fraction();
        let SamplerScratch { words, maxima, candidates, top_p } = &*scratch;
        let (picked, nucleus) = match truncated {
            TruncatedRow::Listed(None) => {
                let picked = steps::pick(candidates, u);
                (picked.map(|(c, probability)| (c.token, probability)), candidates.len())
            }
            TruncatedRow::Listed(Some((max_logit, total))) => {
                let picked = steps::at_point(candidates, max_logit, u * total);
                (picked.map(|(c, weight)| (c.token, weight / total)), candidates.len())
            }
            TruncatedRow::Nucleus {
                bound,
                row: AdjustedRow { changed, temperature, max_logit, .. },
            } => {
                let row = MaskedRow { logits, words, maxima, temperature };
                let picked = top_p.streamed.at(&row, &bound, (max_logit, &changed), u * bound.sum);
                (picked.map(|(token, weight)| (token, weight / bound.sum)), bound.count)
            }
            TruncatedRow::Range {
                range,
                row: AdjustedRow { changed, temperature, max_logit, .. },
            } => {
                let row = MaskedRow { logits, words, maxima, temperature };
                let picked = range.at(&row, (max_logit, &changed), u * range.sum);
                (picked.map(|(token, weight)| (token, weight / range.sum)), range.count)
            }
        };
        // The mask step errors on an empty list and no step removes the last candidate.
        let (token, probability) = picked.ok_or_else(steps::nothing_to_draw)?;
        self.chain.steer(probability);
        Ok(Draw { token, probability, allowed: count, nucleus, yielded })
    }

    /// The distribution that [`draw`](Self::draw) would draw from: tokens, ascending, with their
    /// probabilities. Takes a random number where XTC is on.
    ///
    /// Errors as `draw` does.
    pub fn distribution(
        &mut self,
        logits: &[f32],
        mask: Option<&TokenMask>,
    ) -> Result<Vec<(u32, f64)>> {
        let allowed = self.allow(logits, mask)?;
        let Self { chain, random, scratch, .. } = self;
        if chain.is_greedy() {
            return Ok(vec![(allowed.greedy(chain)?, 1.0)]);
        }
        let truncated = truncate(chain, random, logits, allowed, scratch);
        let SamplerScratch { words, maxima, candidates, .. } = scratch;
        match truncated {
            TruncatedRow::Listed(_) => {}
            TruncatedRow::Nucleus { bound, row } => {
                let unchanged = row.unchanged(logits, words, maxima);
                unchanged.list_down_to(&bound.last, f32::MIN, &row.changed, candidates);
            }
            TruncatedRow::Range { range, row } => {
                let unchanged = row.unchanged(logits, words, maxima);
                logit_ranges::list(&unchanged, range.keep(), &row.changed, candidates);
            }
        }
        let candidates = &self.scratch.candidates;
        let log_sum_exp = steps::log_sum_exp(candidates);
        Ok(candidates.iter().map(|c| (c.token, (c.logit - log_sum_exp).exp())).collect())
    }

    /// The `n` most probable tokens after the steps that change logits, best first, each with the
    /// natural logarithm of its probability among all allowed tokens; and whether a list of tokens
    /// yielded, as in [`Draw::yielded`]. Beam search uses it.
    ///
    /// Errors as `draw` does.
    pub fn most_probable(
        &mut self,
        logits: &[f32],
        mask: Option<&TokenMask>,
        n: usize,
    ) -> Result<(Vec<(u32, f64)>, bool)> {
        let AllowedRow { mut changed, yielded, .. } = self.allow(logits, mask)?;
        self.chain.run_adjusting_steps(&mut changed);
        let SamplerScratch { words, maxima, .. } = &self.scratch;
        let row = MaskedRow { logits, words, maxima, temperature: 1.0 };
        let mut candidates = Vec::new();
        row.list(f32::NEG_INFINITY, &changed, &mut candidates);
        Ok((steps::top_log_probabilities(&candidates, n), yielded))
    }

    /// Accepts or replaces a token that a draft model drew from the distribution q, `drafted_from`
    /// (tokens, ascending, with their probabilities). The result has exactly the distribution p
    /// that [`draw`](Self::draw) draws from: the token is accepted with probability min(1, p/q),
    /// otherwise replaced by a draw from max(0, p − q), normalised (Leviathan et al. 2023, "Fast
    /// Inference from Transformers via Speculative Decoding", section 2.3). Takes one random
    /// number, another if the token is replaced, and that of XTC where it is on.
    ///
    /// ```
    /// use maskwright::sampling::{Sampler, SamplingParams};
    /// let params = SamplingParams { seed: Some(1), ..Default::default() };
    /// let (mut draft, mut target) = (Sampler::new(&params)?.fork(1), Sampler::new(&params)?);
    /// let from = draft.distribution(&[0.0, 1.0, 2.0], None)?;
    /// let guess = draft.draw(&[0.0, 1.0, 2.0], None)?.token;
    /// let drawn = target.verify(&[2.0, 1.0, 0.0], None, guess, &from)?;
    /// assert!(drawn.token < 3);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as `draw` does.
    pub fn verify(
        &mut self,
        logits: &[f32],
        mask: Option<&TokenMask>,
        drafted: u32,
        drafted_from: &[(u32, f64)],
    ) -> Result<Draw> {
        let row = self.allow(logits, mask)?;
        let (allowed, yielded) = (row.count(), row.yielded);
        let target = self.distribution(logits, mask)?;
        let of = |distribution: &[(u32, f64)], token: u32| {
            let found = distribution.binary_search_by_key(&token, |row| row.0);
            found.map_or(0.0, |i| distribution[i].1)
        };
        let (p, q) = (of(&target, drafted), of(drafted_from, drafted));
        let token = if self.uniform() * q < p {
            drafted
        } else {
            let beyond = |&(token, p): &(u32, f64)| (p - of(drafted_from, token)).max(0.0);
            let total: f64 = target.iter().map(beyond).sum();
            let mut rest = self.uniform() * total;
            let point = target.iter().find(|row| {
                rest -= beyond(row);
                rest < 0.0
            });
            // Rounding may leave nothing beyond: then both are the same distribution, and any token that
            // can be drawn will do.
            let probable = || target.iter().max_by(|a, b| a.1.total_cmp(&b.1));
            point.or_else(probable).map_or(drafted, |row| row.0)
        };
        let probability = of(&target, token);
        // As where a token is drawn.
        if !self.chain.is_greedy() {
            self.chain.steer(probability);
        }
        Ok(Draw { token, probability, allowed, nucleus: target.len(), yielded })
    }

    /// The same sampler with another stream of random numbers of the same seed, for a draft model.
    #[must_use]
    pub fn fork(&self, stream: u64) -> Self {
        let mut fork = self.clone();
        fork.random.restart(stream);
        fork
    }

    /// The next random number, from 0 up to and excluding 1.
    pub fn uniform(&mut self) -> f64 {
        self.random.fraction()
    }

    fn allow(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Result<AllowedRow> {
        AllowedRow::new(&self.chain, logits, mask, &mut self.scratch)
    }
}
