//! The rest of the chain: truncations, by a fast path where the row is long.
//!
//! Only the first truncation of a chain can take a fast path, for the ones after it work on what it
//! left. Where it is also the last step, not even what it left is listed ([`TruncatedRow`]).

use super::allowed_row::{AdjustedRow, AllowedRow};
use super::chain::Chain;
use super::random_stream::RandomStream;
use super::scratch::SamplerScratch;
use crate::error::Result;
use crate::sampling::chain_step::ChainStep;
use crate::sampling::fast::{
    BlockLine, KeptRange, MaskedRow, NucleusBound, RangeWeights, TopP, logit_ranges, top_p,
};
use crate::sampling::params::{SamplingParams, exact};
use crate::sampling::steps;

/// Greatest number of allowed tokens of a row that takes no fast path: listing costs less.
pub(super) const MAX_PLAIN_TOKENS: usize = 1024;

/// The candidates that the chain leaves to draw from.
pub(super) enum TruncatedRow {
    /// They are listed in the scratch. With the greatest logit and the sum of all exponentials from
    /// there, where both are known already.
    Listed(Option<(f64, f64)>),
    /// A nucleus of a row that is not listed.
    Nucleus { bound: NucleusBound, row: AdjustedRow },
    /// A range of a row that is not listed.
    Range { range: RangeWeights, row: AdjustedRow },
}

/// Draws a token where no step truncates; returns it with its probability.
pub(super) fn draw_from_all(
    chain: &Chain,
    random: &mut RandomStream,
    logits: &[f32],
    allowed: AllowedRow,
    scratch: &SamplerScratch,
) -> Result<(u32, f64)> {
    let adjusted = allowed.adjust(chain);
    let row = adjusted.unchanged(logits, &scratch.words, &scratch.maxima);
    let line = BlockLine::new(&row, adjusted.max_logit, adjusted.changed);
    let point = random.fraction() * line.length();
    let (token, weight) = line.at(point).ok_or_else(steps::nothing_to_draw)?;
    Ok((token, weight / line.length()))
}

/// Runs the chain up to the draw.
pub(super) fn truncate(
    chain: &Chain,
    random: &mut RandomStream,
    logits: &[f32],
    allowed: AllowedRow,
    scratch: &mut SamplerScratch,
) -> TruncatedRow {
    let adjusted = allowed.adjust(chain);
    let SamplerScratch { words, maxima, candidates, top_p: top_p_scratch } = scratch;
    candidates.clear();
    let (params, steps) = (chain.params(), chain.steps());
    let (max_logit, changed) = (adjusted.max_logit, &adjusted.changed[..]);
    let row = adjusted.unchanged(logits, words, maxima);
    let mut rest = chain.local_steps();
    let is_long = adjusted.scan.allowed > MAX_PLAIN_TOKENS;
    let first = steps.get(rest).copied().filter(|_| is_long);
    let excludes =
        first == Some(ChainStep::Xtc) && random.fraction() < exact(params.xtc_probability);
    let mut known = None;
    if let Some(range) = first.and_then(|step| kept_range(chain, step, excludes, &adjusted, &row)) {
        rest += 1;
        if rest == steps.len() {
            let range = logit_ranges::weigh(&row, max_logit, changed, range);
            return TruncatedRow::Range { range, row: adjusted };
        }
        logit_ranges::list(&row, &range, changed, candidates);
    } else {
        match first {
            Some(ChainStep::TopP) => {
                rest += 1;
                let start = (max_logit, adjusted.count());
                match top_p(&row, start, changed, exact(params.top_p), top_p_scratch, candidates) {
                    TopP::Listed(total) => known = total.map(|total| (max_logit, total)),
                    TopP::Streamed(bound) if rest == steps.len() => {
                        return TruncatedRow::Nucleus { bound, row: adjusted };
                    }
                    TopP::Streamed(bound) => {
                        // The most probable token stays, so what min-p removes is known.
                        let next = steps.get(rest).filter(|step| **step == ChainStep::MinP);
                        let least = least_kept_logit(&row, max_logit, next.copied(), params);
                        row.list_down_to(&bound.last, least, changed, candidates);
                    }
                }
            }
            Some(ChainStep::TopNSigma) => {
                rest += 1;
                let deviation = row.deviation((max_logit, adjusted.count()), changed);
                let max_distance = exact(params.top_n_sigma) * deviation;
                row.list(row.down_to(max_logit, max_distance), changed, candidates);
                candidates.retain(|c| max_logit - c.logit <= max_distance);
            }
            Some(ChainStep::Xtc) => {
                rest += 1;
                row.list(f32::NEG_INFINITY, changed, candidates);
                steps::xtc(candidates, exact(params.xtc_threshold));
            }
            first => {
                row.list(least_kept_logit(&row, max_logit, first, params), changed, candidates)
            }
        }
    }
    for &step in &steps[rest..] {
        known = None;
        chain.run(step, candidates, random);
    }
    TruncatedRow::Listed(known)
}

/// The range that the first truncation of a long row keeps, where it is one that can be found
/// without a list. `excludes` says whether XTC removes top choices at this draw.
fn kept_range(
    chain: &Chain,
    step: ChainStep,
    excludes: bool,
    adjusted: &AdjustedRow,
    row: &MaskedRow<'_>,
) -> Option<KeptRange> {
    let (params, max_logit, changed) = (chain.params(), adjusted.max_logit, &adjusted.changed[..]);
    match step {
        ChainStep::TopK if changed.is_empty() => {
            let k = params.top_k.unwrap_or(usize::MAX);
            let is_few = row.least_of_most_probable(k) != f32::NEG_INFINITY;
            (!is_few).then(|| logit_ranges::top_k(row, k))
        }
        ChainStep::TypicalP => {
            logit_ranges::typical_p(row, max_logit, changed, exact(params.typical_p))
        }
        ChainStep::Xtc if !excludes => Some(KeptRange::Between(None, None)),
        ChainStep::Xtc => logit_ranges::xtc(row, max_logit, changed, exact(params.xtc_threshold)),
        ChainStep::Mirostat => adjusted
            .most_probable()
            .map(|best| logit_ranges::mirostat(row, best, changed, chain.max_surprise())),
        _ => None,
    }
}

/// A logit below which the step `first` removes every unchanged token.
fn least_kept_logit(
    row: &MaskedRow<'_>,
    max_logit: f64,
    first: Option<ChainStep>,
    params: &SamplingParams,
) -> f32 {
    match first {
        Some(ChainStep::TopK) => row.least_of_most_probable(params.top_k.unwrap_or(usize::MAX)),
        Some(ChainStep::MinP) => row.down_to(max_logit, -exact(params.min_p).ln()),
        _ => f32::NEG_INFINITY,
    }
}
