//! The head of the chain: mask, lists of tokens, and the steps that change single logits.
//!
//! The result is a row in two parts. Tokens that no bias or penalty touches stay where they are, in
//! the row of logits under the mask; the few that one touches are taken out of the mask and become
//! *changed* candidates. So a penalty costs time in proportion to the tokens of the text, not to the
//! vocabulary.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Sampler;
use crate::error::Result;
use crate::sampling::chain_step::ChainStep;
use crate::sampling::fast::{MaximaPrecision, RowScan, row_scan};
use crate::sampling::params::{PenaltyScope, exact};
use crate::sampling::steps::{self, Candidate};
use crate::vocabulary::TokenMask;

/// The allowed tokens of a row.
pub(super) struct AllowedRow {
    /// Of the tokens with the model's own logit, which the scratch's words allow.
    pub(super) scan: RowScan,
    /// Tokens whose logit a step changes, ascending.
    pub(super) changed: Vec<Candidate>,
    /// As in [`Draw::yielded`](super::Draw::yielded).
    pub(super) yielded: bool,
}

impl Sampler {
    /// Applies the mask and the lists, and takes the tokens that a step may change out of the row.
    pub(super) fn allow(&mut self, logits: &[f32], mask: Option<&TokenMask>) -> Result<AllowedRow> {
        let yielded = self.fill_words(logits.len(), mask)?;
        let precision = self.maxima_precision();
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
        let scan = row_scan::scan(logits, &self.scratch.words, &mut self.scratch.maxima, precision);
        if let Some(token) = scan.broken.into_iter().chain(broken).min() {
            return Err(steps::invalid_logit(token, logits[token as usize]));
        }
        if scan.best.is_none() && changed.is_empty() {
            return Err(steps::nothing_allowed(mask.map_or(logits.len(), TokenMask::count)));
        }
        Ok(AllowedRow { scan, changed, yielded })
    }

    /// Fills the scratch with the words of the mask less what the lists forbid. Returns whether a list
    /// yielded.
    fn fill_words(&mut self, width: usize, mask: Option<&TokenMask>) -> Result<bool> {
        let words = &mut self.scratch.words;
        words.clear();
        match mask {
            None => words.extend_from_slice(TokenMask::all(width).words()),
            Some(mask) if mask.len() != width => {
                return Err(steps::mask_of_wrong_width(mask.len(), width));
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

    /// The tokens whose logits a step may change, ascending.
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

    /// DRY's repetitions (`PenaltyHistory::repetitions`).
    fn repetitions(&self) -> FxHashMap<u32, usize> {
        self.history.repetitions(self.params.dry_penalty_last_n)
    }

    /// The number of steps at the chain's head that treat each token by itself. They need no list of the
    /// tokens that none of them changes.
    pub(super) fn prefix(&self) -> usize {
        let alone = |step: &&ChainStep| step.adjusts() || **step == ChainStep::Temperature;
        self.chain.iter().take_while(alone).count()
    }

    /// The precision of the maxima that the first truncation needs.
    fn maxima_precision(&self) -> MaximaPrecision {
        match self.chain.get(self.prefix()) {
            Some(ChainStep::TopK | ChainStep::TopP) if self.params.temperature != 0.0 => {
                MaximaPrecision::Exact
            }
            _ => MaximaPrecision::UpperBounds,
        }
    }

    /// Runs the steps of [`prefix`](Self::prefix) on the changed candidates. Returns the temperature
    /// that divides the others' logits.
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

    /// Runs one step that changes logits.
    pub(super) fn adjust(&self, step: ChainStep, candidates: &mut [Candidate]) {
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
}

/// Intersects the words with a list, unless that leaves nothing. Returns whether it did.
fn intersect(words: &mut [u32], list: &TokenMask) -> bool {
    let some = words.iter().zip(list.words()).any(|(word, list)| word & list != 0);
    if some {
        words.iter_mut().zip(list.words()).for_each(|(word, list)| *word &= list);
    }
    some
}
