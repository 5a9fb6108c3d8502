//! The head of the chain: mask, lists of tokens, and the steps that treat each token by itself.
//!
//! The result is a row in two parts. Tokens that no bias or penalty touches stay where they are, in
//! the row of logits under the mask; the few that one touches are taken out of the mask and become
//! *changed* candidates. So a penalty costs time in proportion to the tokens of the text, not to
//! the vocabulary.

use super::chain::Chain;
use super::scratch::SamplerScratch;
use crate::error::Result;
use crate::sampling::fast::{LaneMaxima, MaskedRow, RowScan, row_scan};
use crate::sampling::params::SamplingParams;
use crate::sampling::steps::{self, Candidate};
use crate::vocabulary::TokenMask;

/// The allowed tokens of a row, before any step.
pub(super) struct AllowedRow {
    /// Of the unchanged tokens, which the scratch's words allow.
    pub(super) scan: RowScan,
    /// Tokens whose logit a step may change, ascending.
    pub(super) changed: Vec<Candidate>,
    /// As in [`Draw::yielded`](super::Draw::yielded).
    pub(super) yielded: bool,
}

/// The allowed tokens of a row after the local steps.
pub(super) struct AdjustedRow {
    /// Of the unchanged tokens, before the temperature.
    pub(super) scan: RowScan,
    /// Changed candidates, ascending.
    pub(super) changed: Vec<Candidate>,
    /// The temperature that divides the unchanged tokens' logits.
    pub(super) temperature: f64,
    /// The greatest logit of all.
    pub(super) max_logit: f64,
}

impl AllowedRow {
    /// Applies the mask and the lists, and takes the tokens that a step may change out of the row.
    /// Fills the scratch's words and maxima.
    pub(super) fn new(
        chain: &Chain,
        logits: &[f32],
        mask: Option<&TokenMask>,
        scratch: &mut SamplerScratch,
    ) -> Result<Self> {
        let SamplerScratch { words, maxima, .. } = scratch;
        let yielded = fill_words(chain.params(), logits.len(), mask, words)?;
        let mut changed = Vec::new();
        let mut invalid = None;
        if chain.has_bias_or_penalty() {
            for token in chain.changing() {
                let Some(&logit) = logits.get(token as usize) else { continue };
                let (word, bit) = (&mut words[token as usize / 32], 1 << (token % 32));
                if *word & bit == 0 {
                    continue;
                }
                *word &= !bit;
                if logit.is_nan() || logit == f32::INFINITY {
                    invalid.get_or_insert(token);
                } else if logit != f32::NEG_INFINITY {
                    changed.push(Candidate { token, logit: f64::from(logit) });
                }
            }
        }
        let scan = row_scan::scan(logits, words, maxima, chain.maxima_precision());
        if let Some(token) = scan.broken.into_iter().chain(invalid).min() {
            return Err(steps::invalid_logit(token, logits[token as usize]));
        }
        if scan.best.is_none() && changed.is_empty() {
            return Err(steps::nothing_allowed(mask.map_or(logits.len(), TokenMask::count)));
        }
        Ok(Self { scan, changed, yielded })
    }

    /// The number of allowed tokens.
    pub(super) fn count(&self) -> usize {
        self.scan.allowed + self.changed.len()
    }

    /// Runs the local steps.
    pub(super) fn adjust(self, chain: &Chain) -> AdjustedRow {
        let Self { scan, mut changed, .. } = self;
        let temperature = chain.run_local_steps(&mut changed);
        let unchanged = scan.best.map(|(_, logit)| f64::from(logit) / temperature);
        let greatest_changed = steps::greedy(&changed).map(|c| c.logit);
        let logits = unchanged.into_iter().chain(greatest_changed);
        let max_logit = logits.fold(f64::NEG_INFINITY, f64::max);
        AdjustedRow { scan, changed, temperature, max_logit }
    }

    /// The most probable token after the steps that change logits; of equal ones the lowest id.
    pub(super) fn greedy(self, chain: &Chain) -> Result<u32> {
        let Self { scan, mut changed, .. } = self;
        chain.run_adjusting_steps(&mut changed);
        let best = most_probable(&scan, &changed, 1.0);
        Ok(best.ok_or_else(steps::nothing_to_draw)?.token)
    }
}

impl AdjustedRow {
    /// The number of allowed tokens.
    pub(super) fn count(&self) -> usize {
        self.scan.allowed + self.changed.len()
    }

    /// The row of the unchanged tokens.
    pub(super) fn unchanged<'a>(
        &self,
        logits: &'a [f32],
        words: &'a [u32],
        maxima: &'a [LaneMaxima],
    ) -> MaskedRow<'a> {
        MaskedRow { logits, words, maxima, temperature: self.temperature }
    }

    /// The most probable candidate.
    pub(super) fn most_probable(&self) -> Option<Candidate> {
        most_probable(&self.scan, &self.changed, self.temperature)
    }
}

/// The most probable of the unchanged and the changed candidates.
pub(super) fn most_probable(
    scan: &RowScan,
    changed: &[Candidate],
    temperature: f64,
) -> Option<Candidate> {
    let unchanged =
        scan.best.map(|(token, logit)| Candidate { token, logit: f64::from(logit) / temperature });
    unchanged.into_iter().chain(steps::greedy(changed)).min_by(steps::by_probability)
}

/// Fills `words` with the mask less what the lists forbid. Returns whether a list yielded.
fn fill_words(
    params: &SamplingParams,
    width: usize,
    mask: Option<&TokenMask>,
    words: &mut Vec<u32>,
) -> Result<bool> {
    words.clear();
    match mask {
        None => words.extend_from_slice(TokenMask::all(width).words()),
        Some(mask) if mask.len() != width => {
            return Err(steps::mask_of_wrong_width(mask.len(), width));
        }
        Some(mask) => words.extend_from_slice(mask.words()),
    }
    let (allowed, banned) = (&params.allowed_token_ids, &params.banned_token_ids);
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

/// Intersects the words with a list, unless that leaves nothing. Returns whether it did.
fn intersect(words: &mut [u32], list: &TokenMask) -> bool {
    let some = words.iter().zip(list.words()).any(|(word, list)| word & list != 0);
    if some {
        words.iter_mut().zip(list.words()).for_each(|(word, list)| *word &= list);
    }
    some
}
