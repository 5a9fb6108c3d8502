//! The rest of the chain: truncations, by a fast path where the row is long.
//!
//! Only the first truncation of a chain can take a fast path, for the ones after it work on what it
//! left. Where it is also the last step, not even what it left is listed ([`TruncatedRow`]).

use super::allowed_row::AllowedRow;
use super::{Sampler, SamplerScratch, nothing_left};
use crate::error::Result;
use crate::sampling::SamplingParams;
use crate::sampling::chain_step::ChainStep;
use crate::sampling::fast::{
    BlockLine, KeptRange, MaskedRow, NucleusBound, RangeWeights, RowScan, TopP, logit_ranges, top_p,
};
use crate::sampling::params::exact;
use crate::sampling::steps::{self, Candidate};

/// Greatest number of allowed tokens of a row that takes no fast path: listing costs less.
pub(super) const MAX_PLAIN_TOKENS: usize = 1024;

/// The candidates that the chain leaves to draw from.
pub(super) enum TruncatedRow {
    /// They are listed in the scratch. With the greatest logit and the sum of all exponentials from
    /// there, where both are known already.
    Listed(Option<(f64, f64)>),
    /// A nucleus that is not listed, in a row with these changed candidates and this temperature; `top`
    /// is the greatest logit.
    Nucleus { bound: NucleusBound, top: f64, changed: Vec<Candidate>, temperature: f64 },
    /// A range of such a row that is not listed.
    Range { range: RangeWeights, top: f64, changed: Vec<Candidate>, temperature: f64 },
}

impl Sampler {
    /// Draws a token where no step truncates; returns it with its probability.
    pub(super) fn draw_from_all(
        &mut self,
        logits: &[f32],
        allowed: AllowedRow,
    ) -> Result<(u32, f64)> {
        let AllowedRow { scan, mut changed, .. } = allowed;
        let temperature = self.adjust_changed(&mut changed);
        let u = self.uniform();
        let SamplerScratch { words, maxima, .. } = &self.scratch;
        let row = MaskedRow { logits, words, maxima, temperature };
        let line = BlockLine::new(&row, greatest(&scan, &changed, temperature), changed);
        let (token, weight) = line.at(u * line.length()).ok_or_else(nothing_left)?;
        Ok((token, weight / line.length()))
    }

    /// Runs the chain up to the draw.
    pub(super) fn truncate(&mut self, logits: &[f32], allowed: AllowedRow) -> TruncatedRow {
        let AllowedRow { scan, mut changed, .. } = allowed;
        let temperature = self.adjust_changed(&mut changed);
        let prefix = self.prefix();
        let first = self.chain.get(prefix).copied().filter(|_| scan.allowed > MAX_PLAIN_TOKENS);
        let excludes =
            first == Some(ChainStep::Xtc) && self.uniform() < exact(self.params.xtc_probability);
        let mut candidates = std::mem::take(&mut self.scratch.candidates);
        let SamplerScratch { words, maxima, nucleus, .. } = &mut self.scratch;
        candidates.clear();
        let row = MaskedRow { logits, words, maxima, temperature };
        let top = greatest(&scan, &changed, temperature);
        let mut rest = prefix;
        let mut known = None;
        // What the first truncation keeps, where that is known without a list.
        let range = match first {
            Some(ChainStep::TopK) if changed.is_empty() => {
                let k = self.params.top_k.unwrap_or(usize::MAX);
                (row.least_of_most_probable(k) == f32::NEG_INFINITY)
                    .then(|| logit_ranges::top_k(&row, k))
            }
            Some(ChainStep::TypicalP) => {
                logit_ranges::typical_p(&row, top, &changed, exact(self.params.typical_p))
            }
            Some(ChainStep::Xtc) if !excludes => Some(KeptRange::Between(None, None)),
            Some(ChainStep::Xtc) => {
                logit_ranges::xtc(&row, top, &changed, exact(self.params.xtc_threshold))
            }
            Some(ChainStep::Mirostat) => best(&scan, &changed, temperature)
                .map(|best| logit_ranges::mirostat(&row, best, &changed, self.surprise)),
            _ => None,
        };
        if let Some(keep) = range {
            if prefix + 1 == self.chain.len() {
                let range = logit_ranges::weigh(&row, top, &changed, keep);
                self.scratch.candidates = candidates;
                return TruncatedRow::Range { range, top, changed, temperature };
            }
            logit_ranges::list(&row, &keep, &changed, &mut candidates);
            rest += 1;
        }
        match first.filter(|_| range.is_none()) {
            Some(ChainStep::TopP) => {
                let (p, count) = (exact(self.params.top_p), scan.allowed + changed.len());
                rest += 1;
                match top_p(&row, (top, count), &changed, p, nucleus, &mut candidates) {
                    TopP::Listed(total) => known = total.map(|total| (top, total)),
                    TopP::Streamed(bound) if rest == self.chain.len() => {
                        self.scratch.candidates = candidates;
                        return TruncatedRow::Nucleus { bound, top, changed, temperature };
                    }
                    TopP::Streamed(bound) => {
                        // The most probable token stays, so what min-p removes is known.
                        let next = self.chain.get(rest).filter(|step| **step == ChainStep::MinP);
                        let least = least_kept_logit(&row, top, next.copied(), &self.params);
                        row.list_down_to(&bound.last, least, &changed, &mut candidates);
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
            first if range.is_none() => {
                let least = least_kept_logit(&row, top, first, &self.params);
                row.list(least, &changed, &mut candidates);
            }
            _ => {}
        }
        for i in rest..self.chain.len() {
            known = None;
            self.step(self.chain[i], &mut candidates);
        }
        self.scratch.candidates = candidates;
        TruncatedRow::Listed(known)
    }

    /// Runs one step on a list.
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

/// The most probable candidate after the steps of [`prefix`](Sampler::prefix).
fn best(scan: &RowScan, changed: &[Candidate], temperature: f64) -> Option<Candidate> {
    let unchanged =
        scan.best.map(|(token, logit)| Candidate { token, logit: f64::from(logit) / temperature });
    unchanged.into_iter().chain(steps::greedy(changed)).min_by(steps::by_probability)
}

/// The greatest logit after the steps of [`prefix`](Sampler::prefix).
pub(super) fn greatest(scan: &RowScan, changed: &[Candidate], temperature: f64) -> f64 {
    let unchanged = scan.best.map(|(_, logit)| f64::from(logit) / temperature);
    let changed = steps::greedy(changed).map(|c| c.logit);
    unchanged.into_iter().chain(changed).fold(f64::NEG_INFINITY, f64::max)
}

/// A logit below which the step `first` removes every unchanged token.
fn least_kept_logit(
    row: &MaskedRow<'_>,
    top: f64,
    first: Option<ChainStep>,
    params: &SamplingParams,
) -> f32 {
    match first {
        Some(ChainStep::TopK) => row.least_of_most_probable(params.top_k.unwrap_or(usize::MAX)),
        Some(ChainStep::MinP) => row.down_to(top, -exact(params.min_p).ln()),
        _ => f32::NEG_INFINITY,
    }
}
