//! The sampler of one sequence: settings, random numbers, and the tokens written so far.

mod allowed_row;
mod random_stream;
mod rejection;
mod truncation;

use std::hash::{BuildHasher, RandomState};

use super::chain_step::ChainStep;
use super::fast::{LaneMaxima, MaskedRow, TopPScratch, logit_ranges};
use super::params::{SamplingParams, exact};
use super::penalty_history::PenaltyHistory;
use super::steps::{self, Candidate};
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::TokenMask;
use allowed_row::AllowedRow;
use random_stream::RandomStream;
use truncation::{MAX_PLAIN_TOKENS, TruncatedRow};

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
/// A draw from n logits takes O(n) and, on rows of more than 1024 allowed tokens, no list of them: fast
/// paths compute what the [`steps`] define.
#[derive(Clone, Debug)]
pub struct Sampler {
    params: SamplingParams,
    /// The steps that are switched on, in order.
    chain: Vec<ChainStep>,
    seed: u64,
    random: RandomStream,
    /// Random numbers of estimates: no draw depends on whether an estimate was asked for.
    estimate_random: RandomStream,
    history: PenaltyHistory,
    /// Mirostat's greatest surprise at the next draw, in bits.
    surprise: f64,
    scratch: SamplerScratch,
}

/// Scratch memory of draws, kept from one to the next.
#[derive(Debug, Default)]
struct SamplerScratch {
    /// The mask, less the lists and the changed candidates.
    words: Vec<u32>,
    /// The maxima of the row's blocks.
    maxima: Vec<LaneMaxima>,
    candidates: Vec<Candidate>,
    nucleus: TopPScratch,
}

/// No draw reads what another one left, so a clone is empty: beams and drafts clone often.
impl Clone for SamplerScratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Sampler {
    /// A sampler at the start of a text. Errors as [`SamplingParams::validate`] does.
    pub fn new(params: &SamplingParams) -> Result<Self> {
        params.validate()?;
        // The standard library's hash keys come from the system's random numbers.
        let seed = params.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        let on = |step: &ChainStep| params.switches_on(*step);
        Ok(Self {
            chain: params.samplers.iter().copied().filter(on).collect(),
            seed,
            random: RandomStream::new(seed, 0),
            estimate_random: RandomStream::new(seed, u64::MAX),
            history: PenaltyHistory::new(params.repeat_last_n),
            surprise: 2.0 * exact(params.mirostat_tau),
            scratch: SamplerScratch::default(),
            params: params.clone(),
        })
    }

    /// The seed in use, given or fresh.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether a penalty depends on which tokens were forced: then [`accept_forced`](Self::accept_forced)
    /// must be called for those.
    pub fn asks_what_is_forced(&self) -> bool {
        let counts = |step: &ChainStep| step.adjusts() && *step != ChainStep::LogitBias;
        !self.params.penalize_forced && self.chain.iter().any(counts)
    }

    /// Sets the tokens that end a repetition for DRY: those whose text contains one of the
    /// [`dry_sequence_breakers`](SamplingParams::dry_sequence_breakers).
    pub fn break_dry_at(&mut self, tokens: impl IntoIterator<Item = u32>) {
        self.history.set_breakers(tokens);
    }

    /// Adds the tokens of the prompt, before any token of the text.
    pub fn accept_prompt(&mut self, tokens: &[u32]) {
        tokens.iter().for_each(|&token| self.history.push_prompt(token));
    }

    /// Adds a token to the text so far, drawn here or not.
    pub fn accept(&mut self, token: u32) {
        self.history.push(token, false);
    }

    /// [`accept`](Self::accept) for a token about which the constraint left no choice: no penalty
    /// counts it, unless the settings say so.
    pub fn accept_forced(&mut self, token: u32) {
        self.history.push(token, !self.params.penalize_forced);
    }

    /// Draws the next token from one logit per token id, all of them allowed without a mask. The
    /// text so far does not change: call [`accept`](Self::accept).
    ///
    /// Mirostat's greatest surprise starts at twice its target and, after each draw, goes down by
    /// `mirostat_eta` times what the drawn token's surprise among the candidates exceeds the target
    /// by.
    ///
    /// Errors as [`steps::allow`] does.
    pub fn draw(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Result<Draw> {
        let allowed = self.allow(logits, mask)?;
        let (count, yielded) = (allowed.scan.allowed + allowed.changed.len(), allowed.yielded);
        if self.params.temperature == 0.0 {
            let token = self.greedy(allowed)?;
            return Ok(Draw { token, probability: 1.0, allowed: count, nucleus: 1, yielded });
        }
        if count > MAX_PLAIN_TOKENS && self.prefix() == self.chain.len() {
            let (token, probability) = self.draw_from_all(logits, allowed)?;
            return Ok(Draw { token, probability, allowed: count, nucleus: count, yielded });
        }
        let left = self.truncate(logits, allowed);
        let u = self.uniform();
        let SamplerScratch { words, maxima, candidates, nucleus } = &self.scratch;
        let (picked, nucleus) = match left {
            TruncatedRow::Listed(None) => {
                let picked = steps::pick(candidates, u);
                (picked.map(|(c, probability)| (c.token, probability)), candidates.len())
            }
            TruncatedRow::Listed(Some((top, total))) => {
                let picked = steps::at_point(candidates, top, u * total);
                (picked.map(|(c, weight)| (c.token, weight / total)), candidates.len())
            }
            TruncatedRow::Nucleus { bound, top, changed, temperature } => {
                let row = MaskedRow { logits, words, maxima, temperature };
                let picked = nucleus.streamed.at(&row, &bound, (top, &changed), u * bound.sum);
                (picked.map(|(token, weight)| (token, weight / bound.sum)), bound.count)
            }
            TruncatedRow::Range { range, top, changed, temperature } => {
                let row = MaskedRow { logits, words, maxima, temperature };
                let picked = range.at(&row, (top, &changed), u * range.sum);
                (picked.map(|(token, weight)| (token, weight / range.sum)), range.count)
            }
        };
        // The mask step errors on an empty list and no step removes the last candidate.
        let (token, probability) = picked.ok_or_else(nothing_left)?;
        self.steer(probability);
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
        if self.params.temperature == 0.0 {
            return Ok(vec![(self.greedy(allowed)?, 1.0)]);
        }
        let left = self.truncate(logits, allowed);
        let SamplerScratch { words, maxima, candidates, .. } = &mut self.scratch;
        match left {
            TruncatedRow::Listed(_) => {}
            TruncatedRow::Nucleus { bound, changed, temperature, .. } => {
                let row = MaskedRow { logits, words, maxima, temperature };
                row.list_down_to(&bound.last, f32::MIN, &changed, candidates);
            }
            TruncatedRow::Range { range, changed, temperature, .. } => {
                let row = MaskedRow { logits, words, maxima, temperature };
                logit_ranges::list(&row, range.keep(), &changed, candidates);
            }
        }
        let candidates = &self.scratch.candidates;
        let whole = steps::log_sum_exp(candidates);
        Ok(candidates.iter().map(|c| (c.token, (c.logit - whole).exp())).collect())
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
        for &step in self.chain.iter().filter(|step| step.adjusts()) {
            self.adjust(step, &mut changed);
        }
        let SamplerScratch { words, maxima, .. } = &self.scratch;
        let row = MaskedRow { logits, words, maxima, temperature: 1.0 };
        let mut candidates = Vec::new();
        row.list(f32::NEG_INFINITY, &changed, &mut candidates);
        Ok((steps::top_log_probabilities(&candidates, n), yielded))
    }

    /// Takes or replaces a token that was drawn from the distribution `drafted_from`, so that what
    /// comes out has exactly the distribution that [`draw`](Self::draw) draws from: taken with
    /// probability min(1, p/q), otherwise drawn from what p has beyond q (Leviathan et al. 2023,
    /// section 2.3). Takes one random number, or two where the token is replaced.
    ///
    /// Errors as `draw` does.
    pub fn verify(
        &mut self,
        logits: &[f32],
        mask: Option<&TokenMask>,
        drafted: u32,
        drafted_from: &[(u32, f64)],
    ) -> Result<Draw> {
        let AllowedRow { scan, changed, yielded } = self.allow(logits, mask)?;
        let allowed = scan.allowed + changed.len();
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
            let whole: f64 = target.iter().map(beyond).sum();
            let mut rest = self.uniform() * whole;
            let point = target.iter().find(|row| {
                rest -= beyond(row);
                rest < 0.0
            });
            // Rounding may leave nothing beyond: then both are the same distribution.
            point.map_or(drafted, |row| row.0)
        };
        let probability = of(&target, token);
        self.steer(probability);
        Ok(Draw { token, probability, allowed, nucleus: target.len(), yielded })
    }

    /// The same sampler with other random numbers of the same seed: another stream of the cipher.
    /// A draft model draws with these.
    #[must_use]
    pub fn fork(&self, stream: u64) -> Self {
        let mut fork = self.clone();
        fork.random.restart(stream);
        fork
    }

    /// Lowers mirostat's greatest surprise by what the drawn token's exceeded the target.
    fn steer(&mut self, probability: f64) {
        if self.chain.contains(&ChainStep::Mirostat) {
            let excess = -probability.log2() - exact(self.params.mirostat_tau);
            self.surprise -= exact(self.params.mirostat_eta) * excess;
        }
    }

    /// The next random number, from 0 up to and excluding 1.
    pub fn uniform(&mut self) -> f64 {
        self.random.fraction()
    }

    fn params(&self) -> &SamplingParams {
        &self.params
    }

    /// The most probable token after the steps that change logits; of equal ones the lowest id.
    fn greedy(&self, AllowedRow { scan, mut changed, .. }: AllowedRow) -> Result<u32> {
        for &step in self.chain.iter().filter(|step| step.adjusts()) {
            self.adjust(step, &mut changed);
        }
        let unchanged =
            scan.best.map(|(token, logit)| Candidate { token, logit: f64::from(logit) });
        let best = steps::greedy(&changed).into_iter().chain(unchanged);
        Ok(best.min_by(steps::by_probability).ok_or_else(nothing_left)?.token)
    }
}

/// An error for a list without candidates, which the steps never leave.
pub(super) fn nothing_left() -> Error {
    Error::new(ErrorKind::Sampling, "draw step: no candidate is left to draw from")
}
