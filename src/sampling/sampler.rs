//! One sequence's sampler: the settings, its random numbers, and what it has written so far.

use std::hash::{BuildHasher, RandomState};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rustc_hash::FxHashMap;

use super::steps::{self, Candidate};
use super::{SamplingParams, params};
use crate::error::{Error, ErrorKind, Result};
use crate::vocab::TokenMask;

/// What came of one [`Sampler::draw`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The token drawn.
    pub token: u32,
    /// Its probability in the distribution that it was drawn from, after every step; 1 if greedy.
    pub probability: f64,
    /// Natural logarithm of its probability among the allowed tokens by the model alone, before
    /// penalties, temperature and truncation.
    pub logprob: f64,
    /// How many tokens the mask allowed (of those with a logit above −∞).
    pub allowed: usize,
    /// How many of them the truncations left; 1 if greedy.
    pub nucleus: usize,
}

/// Draws the tokens of one sequence. The same seed and the same logits give the same tokens, on
/// every platform and in every version of this crate: the random numbers are ChaCha8's key stream
/// (the seed, little-endian, is the start of an otherwise zero key), 64 bits to a draw of which the
/// upper 53 become the point on the line that [`steps::pick`] describes. A greedy draw takes none.
#[derive(Clone, Debug)]
pub struct Sampler {
    params: SamplingParams,
    seed: u64,
    random: ChaCha8Rng,
    /// How often each token stands in the text so far; 0 if only the prompt has it.
    counts: FxHashMap<u32, u32>,
    /// Scratch of `draw`, kept for its memory.
    candidates: Vec<Candidate>,
}

impl Sampler {
    /// A sampler at the start of a text. Errors as [`SamplingParams::validate`] does.
    pub fn new(params: &SamplingParams) -> Result<Self> {
        params.validate()?;
        // The standard library's hash keys come from the system's random numbers.
        let seed = params.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Ok(Self {
            params: params.clone(),
            seed,
            random: ChaCha8Rng::from_seed(key),
            counts: FxHashMap::default(),
            candidates: Vec::new(),
        })
    }

    /// The seed in use, given or fresh.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Tells what the repetition penalty counts besides the text itself.
    pub fn accept_prompt(&mut self, tokens: &[u32]) {
        for &token in tokens {
            self.counts.entry(token).or_insert(0);
        }
    }

    /// Adds a token to the text so far, drawn here or not.
    pub fn accept(&mut self, token: u32) {
        *self.counts.entry(token).or_insert(0) += 1;
    }

    /// Draws the next token from one logit per token id, all of them allowed without a mask. The
    /// text so far does not change: call [`accept`](Self::accept).
    ///
    /// Errors as [`steps::allow`] does.
    pub fn draw(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Result<Draw> {
        let candidates = &mut self.candidates;
        steps::allow(logits, mask, candidates)?;
        let allowed = candidates.len();
        let model = steps::log_sum_exp(candidates);

        let SamplingParams { repetition_penalty, frequency_penalty, presence_penalty, .. } =
            self.params;
        let written = || self.counts.iter().filter(|&(_, &n)| n > 0).map(|(&token, &n)| (token, n));
        if repetition_penalty != 1.0 {
            let seen = self.counts.keys().copied();
            steps::repetition_penalty(candidates, seen, params::exact(repetition_penalty));
        }
        if frequency_penalty != 0.0 {
            steps::frequency_penalty(candidates, written(), params::exact(frequency_penalty));
        }
        if presence_penalty != 0.0 {
            let seen = written().map(|(token, _)| token);
            steps::presence_penalty(candidates, seen, params::exact(presence_penalty));
        }

        let chosen = if self.params.temperature == 0.0 {
            let best = steps::greedy(candidates);
            candidates.retain(|c| Some(c.token) == best.map(|b| b.token));
            best.map(|c| (c, 1.0))
        } else {
            let SamplingParams { temperature, top_k, top_p, min_p, .. } = self.params;
            steps::temperature(candidates, params::exact(temperature));
            if let Some(k) = top_k.filter(|&k| k > 0) {
                steps::top_k(candidates, k);
            }
            if top_p < 1.0 {
                steps::top_p(candidates, params::exact(top_p));
            }
            if min_p > 0.0 {
                steps::min_p(candidates, params::exact(min_p));
            }
            // 53 bits are what an f64 below 1 can hold evenly spaced.
            let u = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            steps::pick(candidates, u)
        };
        // `allow` errors on an empty list and no step removes the most probable candidate.
        let (chosen, probability) = chosen.ok_or_else(|| {
            Error::new(ErrorKind::Sampling, "draw step: no candidate is left to draw from")
        })?;
        let logprob = f64::from(logits[chosen.token as usize]) - model;
        let (token, nucleus) = (chosen.token, candidates.len());
        Ok(Draw { token, probability, logprob, allowed, nucleus })
    }
}
