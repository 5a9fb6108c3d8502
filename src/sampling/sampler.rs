//! One sequence's sampler: the settings, its random numbers, and what it has written so far.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rustc_hash::FxHashMap;

use super::exponential::{Line, Row};
use super::history::History;
use super::nucleus::{self, Nucleus};
use super::order::ChainStep;
use super::params::exact;
use super::parts::{Keep, Part};
use super::scan::{self, Ends, Maxima, Scan};
use super::steps::{self, Candidate};
use super::wide::Kept;
use super::{PenaltyScope, SamplingParams};
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::TokenMask;

/// What came of one [`Sampler::draw`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    /// The token drawn.
    pub token: u32,
    /// Its probability in the distribution that it was drawn from, after every step; 1 if greedy.
    pub probability: f64,
    /// How many tokens the mask and the lists allowed (of those with a logit above −∞).
    pub allowed: usize,
    /// How many of them the truncations left; 1 if greedy.
    pub nucleus: usize,
    /// Did the list of allowed or of banned tokens leave nothing of the mask, so that it was not
    /// applied?
    pub yielded: bool,
}

/// Random numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(ChaCha8Rng);

impl Random {
    /// The next one, from 0 and below 1: 53 bits are what an `f64` there can hold evenly spaced.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Rows of at most so many allowed tokens take no short cut.
const SHORT: usize = 1024;

/// Draws the tokens of one sequence. The same seed and the same logits give the same tokens, on
/// every platform and in every version of this crate: the random numbers are ChaCha8's key stream
/// (the seed, little-endian, is the start of an otherwise zero key), 64 bits to a number of which
/// the upper 53 become a fraction below 1. A draw takes one, the point on the line that
/// [`steps::pick`] describes; XTC, where it is on, takes one before; a greedy draw takes none.
///
/// Where the first truncation lets most tokens go, the others are never looked at singly; where
/// one lets many stay, none of them is listed: sums over blocks tell where a draw falls. The
/// outcome is that of the plain steps.
#[derive(Clone, Debug)]
pub struct Sampler {
    params: SamplingParams,
    /// The steps that are switched on, in order.
    chain: Vec<ChainStep>,
    seed: u64,
    pub(super) random: Random,
    /// For estimates, so that no draw depends on whether one was asked for.
    pub(super) weigher: Random,
    history: History,
    /// Mirostat's greatest surprise at the next draw, in bits.
    surprise: f64,
    /// Scratch of `draw`, kept for its memory.
    pub(super) scratch: Scratch,
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// What the first part of the chain left of the row.
    pub(super) words: Vec<u32>,
    pub(super) maxima: Vec<Maxima>,
    candidates: Vec<Candidate>,
    nucleus: nucleus::Scratch,
}

/// Nothing of a draw is left to the next one: beams and drafts, which clone often, copy no memory.
impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The allowed tokens of a row, in three parts: words and a scan of those whose logit is the
/// model's own, and candidates of those that a step has changed.
pub(super) struct Allowed {
    pub(super) scan: Scan,
    pub(super) changed: Vec<Candidate>,
    yielded: bool,
}

/// What the chain leaves to draw from.
enum Left {
    /// The candidates in the scratch; where it is known without another look, the greatest logit with
    /// the sum of all exponentials from there on.
    Listed(Option<(f64, f64)>),
    /// A nucleus of which there is no list, in a row that these tokens have changed; its greatest
    /// logit, and the temperature.
    Wide { kept: Kept, top: f64, changed: Vec<Candidate>, temperature: f64 },
    /// A part of such a row of which there is no list either.
    Part { part: Part, top: f64, changed: Vec<Candidate>, temperature: f64 },
}

impl Sampler {
    /// A sampler at the start of a text. Errors as [`SamplingParams::validate`] does.
    pub fn new(params: &SamplingParams) -> Result<Self> {
        params.validate()?;
        // The standard library's hash keys come from the system's random numbers.
        let seed = params.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut weigher = ChaCha8Rng::from_seed(key);
        weigher.set_stream(u64::MAX);
        let on = |step: &ChainStep| params.switches_on(*step);
        Ok(Self {
            chain: params.samplers.iter().copied().filter(on).collect(),
            seed,
            random: Random(ChaCha8Rng::from_seed(key)),
            weigher: Random(weigher),
            history: History::new(params.repeat_last_n),
            surprise: 2.0 * exact(params.mirostat_tau),
            scratch: Scratch::default(),
            params: params.clone(),
        })
    }

    /// The seed in use, given or fresh.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Does a penalty look at which tokens were forced?
    pub fn asks_what_is_forced(&self) -> bool {
        let counts = |step: &ChainStep| step.adjusts() && *step != ChainStep::LogitBias;
        !self.params.penalize_forced && self.chain.iter().any(counts)
    }

    /// Says which tokens end a repetition for DRY: those whose text has one of the
    /// [`dry_sequence_breakers`](SamplingParams::dry_sequence_breakers).
    pub fn break_dry_at(&mut self, tokens: impl IntoIterator<Item = u32>) {
        self.history.set_breakers(tokens);
    }

    /// Tells the prompt, before the text.
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
        if count > SHORT && self.prefix() == self.chain.len() {
            let (token, probability) = self.draw_from_all(logits, allowed)?;
            return Ok(Draw { token, probability, allowed: count, nucleus: count, yielded });
        }
        let left = self.truncate(logits, allowed);
        let u = self.uniform();
        let Scratch { words, maxima, candidates, nucleus } = &self.scratch;
        let (picked, nucleus) = match left {
            Left::Listed(None) => {
                let picked = steps::pick(candidates, u);
                (picked.map(|(c, probability)| (c.token, probability)), candidates.len())
            }
            Left::Listed(Some((top, total))) => {
                let picked = steps::at_point(candidates, top, u * total);
                (picked.map(|(c, weight)| (c.token, weight / total)), candidates.len())
            }
            Left::Wide { kept, top, changed, temperature } => {
                let row = Row { logits, words, maxima, temperature };
                let picked = nucleus.wide.at(&row, &kept, (top, &changed), u * kept.sum);
                (picked.map(|(token, weight)| (token, weight / kept.sum)), kept.count)
            }
            Left::Part { part, top, changed, temperature } => {
                let row = Row { logits, words, maxima, temperature };
                let picked = part.at(&row, (top, &changed), u * part.sum);
                (picked.map(|(token, weight)| (token, weight / part.sum)), part.count)
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
        let Scratch { words, maxima, candidates, .. } = &mut self.scratch;
        match left {
            Left::Listed(_) => {}
            Left::Wide { kept, changed, temperature, .. } => {
                let row = Row { logits, words, maxima, temperature };
                row.list_kept(&kept.last, f32::MIN, &changed, candidates);
            }
            Left::Part { part, changed, temperature, .. } => {
                let row = Row { logits, words, maxima, temperature };
                row.list_part(part.keep(), &changed, candidates);
            }
        }
        let candidates = &self.scratch.candidates;
        let whole = steps::log_sum_exp(candidates);
        Ok(candidates.iter().map(|c| (c.token, (c.logit - whole).exp())).collect())
    }

    /// The `n` most probable tokens after the steps that change logits, with the natural logarithms
    /// of their probabilities among all that are allowed; best first. What beam search goes by. And
    /// whether a list of tokens yielded, as in [`Draw::yielded`].
    ///
    /// Errors as `draw` does.
    pub fn most_probable(
        &mut self,
        logits: &[f32],
        mask: Option<&TokenMask>,
        n: usize,
    ) -> Result<(Vec<(u32, f64)>, bool)> {
        let Allowed { mut changed, yielded, .. } = self.allow(logits, mask)?;
        for &step in self.chain.iter().filter(|step| step.adjusts()) {
            self.adjust(step, &mut changed);
        }
        let Scratch { words, maxima, .. } = &self.scratch;
        let row = Row { logits, words, maxima, temperature: 1.0 };
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
        let Allowed { scan, changed, yielded } = self.allow(logits, mask)?;
        let allowed = scan.allowed + changed.len();
        let target = self.distribution(logits, mask)?;
        let of = |distribution: &[(u32, f64)], token: u32| {
            let found = distribution.binary_search_by_key(&token, |row| row.0);
            found.map_or(0.0, |i| distribution[i].1)
        };
        let (p, q) = (of(&target, drafted), of(drafted_from, drafted));
        let token = match self.uniform() * q < p {
            true => drafted,
            false => {
                let beyond = |&(token, p): &(u32, f64)| (p - of(drafted_from, token)).max(0.0);
                let whole: f64 = target.iter().map(beyond).sum();
                let mut rest = self.uniform() * whole;
                let point = target.iter().find(|row| {
                    rest -= beyond(row);
                    rest < 0.0
                });
                // Rounding may leave nothing beyond: then both are the same distribution.
                point.map_or(drafted, |row| row.0)
            }
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
        fork.random.0.set_stream(stream);
        fork.random.0.set_word_pos(0);
        fork
    }

    fn steer(&mut self, probability: f64) {
        if self.chain.contains(&ChainStep::Mirostat) {
            let excess = -probability.log2() - exact(self.params.mirostat_tau);
            self.surprise -= exact(self.params.mirostat_eta) * excess;
        }
    }

    /// The next random number, from 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        self.random.fraction()
    }

    pub(super) fn params(&self) -> &SamplingParams {
        &self.params
    }

    /// The first part of the chain: what is allowed, and what single tokens' logits become.
    pub(super) fn allow(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Result<Allowed> {
        let yielded = self.fill_words(logits.len(), mask)?;
        let ends = self.ends();
        let mut changed = Vec::new();
        let mut broken = None;
        if self.chain.iter().any(|step| step.adjusts()) {
            for token in self.changing() {
                let Some(&logit) = logits.get(token as usize) else { continue };
                let (word, bit) = (&mut self.scratch.words[token as usize / 32], 1 << (token % 32));
                if *word & bit == 0 {
                    continue;
                }
                *word &= !bit;
                if logit.is_nan() || logit == f32::INFINITY {
                    broken.get_or_insert(token);
                } else if logit != f32::NEG_INFINITY {
                    changed.push(Candidate { token, logit: f64::from(logit) });
                }
            }
        }
        let scan = scan::scan(logits, &self.scratch.words, &mut self.scratch.maxima, ends);
        if let Some(token) = scan.broken.into_iter().chain(broken).min() {
            return Err(steps::broken(token, logits[token as usize]));
        }
        if scan.best.is_none() && changed.is_empty() {
            return Err(steps::nothing_allowed(mask.map_or(logits.len(), TokenMask::count)));
        }
        Ok(Allowed { scan, changed, yielded })
    }

    /// The words of the mask, less what the lists forbid. Says whether one of the lists yielded.
    fn fill_words(&mut self, width: usize, mask: Option<&TokenMask>) -> Result<bool> {
        let words = &mut self.scratch.words;
        words.clear();
        match mask {
            None => words.extend_from_slice(TokenMask::all(width).words()),
            Some(mask) if mask.len() != width => {
                return Err(steps::wrong_width(mask.len(), width));
            }
            Some(mask) => words.extend_from_slice(mask.words()),
        }
        let (allowed, banned) = (&self.params.allowed_token_ids, &self.params.banned_token_ids);
        let mut yielded = false;
        if !allowed.is_empty() {
            let mut list = TokenMask::new(width);
            allowed.iter().for_each(|&token| list.allow(token));
            yielded |= !intersect(words, &list);
        }
        if !banned.is_empty() {
            let mut list = TokenMask::all(width);
            banned.iter().for_each(|&token| list.deny(token));
            yielded |= !intersect(words, &list);
        }
        Ok(yielded)
    }

    /// Every token whose logit a step may change by itself, ascending.
    fn changing(&self) -> BTreeSet<u32> {
        let mut tokens: BTreeSet<u32> = self.params.logit_bias.keys().copied().collect();
        if self.chain.iter().any(|&step| step.adjusts() && step != ChainStep::LogitBias) {
            tokens.extend(self.history.counted(PenaltyScope::All).map(|counted| counted.0));
        }
        if self.chain.contains(&ChainStep::Dry) {
            tokens.extend(self.repetitions().into_keys());
        }
        tokens
    }

    fn repetitions(&self) -> FxHashMap<u32, usize> {
        self.history.repetitions(self.params.dry_penalty_last_n)
    }

    /// The most probable token after the steps that change logits; equal ones by the lower id.
    fn greedy(&self, Allowed { scan, mut changed, .. }: Allowed) -> Result<u32> {
        for &step in self.chain.iter().filter(|step| step.adjusts()) {
            self.adjust(step, &mut changed);
        }
        let unchanged =
            scan.best.map(|(token, logit)| Candidate { token, logit: f64::from(logit) });
        let best = steps::greedy(&changed).into_iter().chain(unchanged);
        Ok(best.min_by(steps::by_probability).ok_or_else(nothing_left)?.token)
    }

    /// How many steps at the chain's head look at one token at a time: they need no list of the
    /// tokens that none of them changes.
    fn prefix(&self) -> usize {
        let alone = |step: &&ChainStep| step.adjusts() || **step == ChainStep::Temperature;
        self.chain.iter().take_while(alone).count()
    }

    /// What a scan must find out for the first step that truncates.
    fn ends(&self) -> Ends {
        match self.chain.get(self.prefix()) {
            Some(ChainStep::TopK | ChainStep::TopP) if self.params.temperature != 0.0 => {
                Ends::Exact
            }
            _ => Ends::Bounds,
        }
    }

    /// Runs the steps of [`prefix`](Self::prefix) on the changed tokens. What is returned is what
    /// the others' logits are divided by.
    pub(super) fn adjust_changed(&self, changed: &mut [Candidate]) -> f64 {
        let mut temperature = 1.0;
        for &step in &self.chain[..self.prefix()] {
            if step == ChainStep::Temperature {
                temperature = exact(self.params.temperature);
            }
            self.adjust(step, changed);
        }
        temperature
    }

    /// A token where no step truncates, with its probability.
    fn draw_from_all(&mut self, logits: &[f32], allowed: Allowed) -> Result<(u32, f64)> {
        let Allowed { scan, mut changed, .. } = allowed;
        let temperature = self.adjust_changed(&mut changed);
        let u = self.uniform();
        let Scratch { words, maxima, .. } = &self.scratch;
        let row = Row { logits, words, maxima, temperature };
        let line = Line::new(&row, greatest(&scan, &changed, temperature), changed);
        let (token, weight) = line.at(u * line.length()).ok_or_else(nothing_left)?;
        Ok((token, weight / line.length()))
    }

    /// Runs the chain up to the draw.
    fn truncate(&mut self, logits: &[f32], allowed: Allowed) -> Left {
        let Allowed { scan, mut changed, .. } = allowed;
        let temperature = self.adjust_changed(&mut changed);
        let prefix = self.prefix();
        let first = self.chain.get(prefix).copied().filter(|_| scan.allowed > SHORT);
        let excludes =
            first == Some(ChainStep::Xtc) && self.uniform() < exact(self.params.xtc_probability);
        let mut candidates = std::mem::take(&mut self.scratch.candidates);
        let Scratch { words, maxima, nucleus, .. } = &mut self.scratch;
        candidates.clear();
        let row = Row { logits, words, maxima, temperature };
        let top = greatest(&scan, &changed, temperature);
        let mut rest = prefix;
        let mut known = None;
        // What the first step keeps, where it is known without a list.
        let part = match first {
            Some(ChainStep::TopK) if changed.is_empty() => {
                let k = self.params.top_k.unwrap_or(usize::MAX);
                (row.least_of_most_probable(k) == f32::NEG_INFINITY).then(|| row.first_of(k))
            }
            Some(ChainStep::TypicalP) => row.typical(top, &changed, exact(self.params.typical_p)),
            Some(ChainStep::Xtc) if !excludes => Some(Keep::Between(None, None)),
            Some(ChainStep::Xtc) => {
                row.without_top_choices(top, &changed, exact(self.params.xtc_threshold))
            }
            Some(ChainStep::Mirostat) => best(&scan, &changed, temperature)
                .map(|best| row.surprising(best, &changed, self.surprise)),
            _ => None,
        };
        if let Some(keep) = part {
            if prefix + 1 == self.chain.len() {
                let part = row.part(top, &changed, keep);
                self.scratch.candidates = candidates;
                return Left::Part { part, top, changed, temperature };
            }
            row.list_part(&keep, &changed, &mut candidates);
            rest += 1;
        }
        match first.filter(|_| part.is_none()) {
            Some(ChainStep::TopP) => {
                let (p, count) = (exact(self.params.top_p), scan.allowed + changed.len());
                rest += 1;
                match row.nucleus((top, count), &changed, p, nucleus, &mut candidates) {
                    Nucleus::Listed(total) => known = total.map(|total| (top, total)),
                    Nucleus::Wide(kept) if rest == self.chain.len() => {
                        self.scratch.candidates = candidates;
                        return Left::Wide { kept, top, changed, temperature };
                    }
                    Nucleus::Wide(kept) => {
                        // The most probable token stays, so what the next step removes is known.
                        let next = self.chain.get(rest).filter(|step| **step == ChainStep::MinP);
                        let least = reach(&row, top, next.copied(), &self.params);
                        row.list_kept(&kept.last, least, &changed, &mut candidates);
                    }
                }
            }
            Some(ChainStep::TopNSigma) => {
                let count = scan.allowed + changed.len();
                let deviation = row.deviation((top, count), &changed);
                let reach = exact(self.params.top_n_sigma) * deviation;
                row.list(row.down_to(top, reach), &changed, &mut candidates);
                candidates.retain(|c| top - c.logit <= reach);
                rest += 1;
            }
            Some(ChainStep::Xtc) => {
                row.list(f32::NEG_INFINITY, &changed, &mut candidates);
                steps::xtc(&mut candidates, exact(self.params.xtc_threshold));
                rest += 1;
            }
            first if part.is_none() => {
                let least = reach(&row, top, first, &self.params);
                row.list(least, &changed, &mut candidates);
            }
            _ => {}
        }
        for i in rest..self.chain.len() {
            known = None;
            self.step(self.chain[i], &mut candidates);
        }
        self.scratch.candidates = candidates;
        Left::Listed(known)
    }

    /// One step that changes logits.
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
            ChainStep::Temperature => steps::temperature(candidates, exact(params.temperature)),
            _ => {}
        }
    }

    /// One step, whatever it is.
    fn step(&mut self, step: ChainStep, candidates: &mut Vec<Candidate>) {
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
                if self.uniform() < chance {
                    steps::xtc(candidates, threshold);
                }
            }
            ChainStep::Mirostat => steps::mirostat(candidates, self.surprise),
            _ => self.adjust(step, candidates),
        }
    }
}

/// The most probable token after them.
fn best(scan: &Scan, changed: &[Candidate], temperature: f64) -> Option<Candidate> {
    let unchanged =
        scan.best.map(|(token, logit)| Candidate { token, logit: f64::from(logit) / temperature });
    unchanged.into_iter().chain(steps::greedy(changed)).min_by(steps::by_probability)
}

/// The greatest logit after the steps that look at one token at a time.
pub(super) fn greatest(scan: &Scan, changed: &[Candidate], temperature: f64) -> f64 {
    let unchanged = scan.best.map(|(_, logit)| f64::from(logit) / temperature);
    let changed = steps::greedy(changed).map(|c| c.logit);
    unchanged.into_iter().chain(changed).fold(f64::NEG_INFINITY, f64::max)
}

/// A logit below which the step `first` removes every token that none has changed.
fn reach(row: &Row<'_>, top: f64, first: Option<ChainStep>, params: &SamplingParams) -> f32 {
    match first {
        Some(ChainStep::TopK) => row.least_of_most_probable(params.top_k.unwrap_or(usize::MAX)),
        Some(ChainStep::MinP) => row.down_to(top, -exact(params.min_p).ln()),
        _ => f32::NEG_INFINITY,
    }
}

/// Keeps what the list allows too, unless that is nothing. Says whether it did.
fn intersect(words: &mut [u32], list: &TokenMask) -> bool {
    let some = words.iter().zip(list.words()).any(|(word, list)| word & list != 0);
    if some {
        words.iter_mut().zip(list.words()).for_each(|(word, list)| *word &= list);
    }
    some
}

fn nothing_left() -> Error {
    Error::new(ErrorKind::Sampling, "draw step: no candidate is left to draw from")
}
