//! Top-k of many tokens, typical-p, XTC and mirostat over a long row, without a list of it.
//!
//! Each of these truncations keeps a range of logits:
//!
//! | step | range |
//! |---|---|
//! | top-k | from the k-th most probable token up |
//! | typical-p | around the expected surprise |
//! | XTC | from the least probable top choice down |
//! | mirostat | up to a surprise, and the most probable token |
//!
//! The range's ends follow from sums over the row and from the few tokens near an end, which are
//! compared one by one as the definitions in [`steps`] compare them. Then one pass sums for each
//! block what it has in the range, and a draw walks one block. No row is sorted or copied.

use super::block_exp::block_exponentials;
use super::block_line::block_at;
use super::masked_row::MaskedRow;
use super::row_scan::{self, BLOCK};
use crate::sampling::exp::{BANDS_PER_UNIT, exp};
use crate::sampling::steps::{self, Candidate, CandidateKey};
use crate::sampling::weighted_select::select_by_weight;

/// Bands of distances from the expected surprise.
const DISTANCE_BANDS: usize = 4096;
/// Bands of distances to one unit (nat).
const DISTANCE_BANDS_PER_UNIT: f64 = 64.0;
/// A depth below the greatest logit at which every exponential is 0.
const WEIGHTLESS_DEPTH_NATS: f64 = 1e6;
/// Least XTC threshold for this fast path: at most 1 / threshold tokens reach it, a thousand here, and
/// they are listed.
const MIN_STREAMED_XTC_THRESHOLD: f64 = 1e-3;
/// Number of ranks of logits: those of one rank agree in their upper 16 bits.
const LOGIT_RANKS: usize = 1 << 16;

/// The candidates that a truncation keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeptRange {
    /// From the first to the last in order of probability, both included; `None` for no bound.
    Between(Option<Candidate>, Option<Candidate>),
    /// Candidates whose surprise is no farther from the expected one (`entropy`) than the last's.
    Typical { log_sum_exp: f64, entropy: f64, last: (u64, CandidateKey) },
    /// Candidates whose surprise is at most `max_bits`, and the most probable one.
    SurpriseAtMost { log_sum_exp: f64, max_bits: f64, best: Candidate },
}

/// A kept range with the sums of its blocks.
#[derive(Clone, Debug)]
pub(crate) struct RangeWeights {
    keep: KeptRange,
    /// The weight of each block's tokens in the range.
    blocks: Vec<f64>,
    /// The number of candidates in the range.
    pub(crate) count: usize,
    /// The sum of their exponentials.
    pub(crate) sum: f64,
}

impl KeptRange {
    /// Whether a candidate is kept.
    pub(crate) fn keeps(&self, c: &Candidate) -> bool {
        match self {
            Self::Between(first, last) => {
                first.is_none_or(|first| steps::by_probability(c, &first).is_ge())
                    && last.is_none_or(|last| steps::by_probability(c, &last).is_le())
            }
            Self::Typical { log_sum_exp, entropy, last } => {
                typicality_order(c, *log_sum_exp, *entropy) <= *last
            }
            Self::SurpriseAtMost { log_sum_exp, max_bits, best } => {
                let bits = (log_sum_exp - c.logit) / std::f64::consts::LN_2;
                c.token == best.token || bits <= *max_bits
            }
        }
    }

    /// The least and the greatest logit of the range, up to rounding.
    fn ends(&self) -> (f64, f64) {
        match self {
            Self::Between(first, last) => (
                last.map_or(f64::NEG_INFINITY, |c| c.logit),
                first.map_or(f64::INFINITY, |c| c.logit),
            ),
            Self::Typical { log_sum_exp, entropy, last } => {
                let max_distance = f64::from_bits(last.0);
                (log_sum_exp - entropy - max_distance, log_sum_exp - entropy + max_distance)
            }
            Self::SurpriseAtMost { log_sum_exp, max_bits, best } => {
                (best.logit.min(log_sum_exp - max_bits * std::f64::consts::LN_2), f64::INFINITY)
            }
        }
    }
}

/// The distance of a candidate's surprise from the expected one, as bits that are ordered as the
/// distances are; equal ones by probability.
fn typicality_order(c: &Candidate, log_sum_exp: f64, entropy: f64) -> (u64, CandidateKey) {
    ((log_sum_exp - c.logit - entropy).abs().to_bits(), CandidateKey::new(c))
}

/// Sums the kept candidates for each block. No candidate is above `max_logit`, whose exponential
/// counts as 1.
pub(crate) fn weigh(
    row: &MaskedRow<'_>,
    max_logit: f64,
    changed: &[Candidate],
    keep: KeptRange,
) -> RangeWeights {
    let (low, high) = keep.ends();
    // Logits inside are kept, logits that are not near are not; those between are compared singly.
    let inside = (above(row, low), below(row, high));
    // −∞ stands for forbidden tokens.
    let near = (below(row, low).max(f32::MIN), above(row, high));
    let is_inside = |logit: f32| (logit > inside.0) & (logit < inside.1);
    let is_near = |logit: f32| (logit >= near.0) & (logit <= near.1);
    let (inverse, start) = (BANDS_PER_UNIT / row.temperature, max_logit * BANDS_PER_UNIT);
    let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
    let mut blocks = vec![0.0; row.logits.len().div_ceil(BLOCK)];
    let mut count = 0;
    for (first, block, words) in row_scan::blocks(row.logits, row.words, row.maxima, near.0) {
        let mut block = row_scan::masked(block, words);
        let (mut inside_count, mut near_count) = (0u32, 0u32);
        for &logit in &block {
            inside_count += u32::from(is_inside(logit));
            near_count += u32::from(is_near(logit));
        }
        let mut kept = inside_count as usize;
        if near_count != inside_count {
            for (at, logit) in block.iter_mut().enumerate() {
                if is_inside(*logit) {
                    continue;
                }
                // Vocabularies are far smaller than u32::MAX.
                let candidate = || row.candidate((first + at) as u32, *logit);
                if is_near(*logit) && keep.keeps(&candidate()) {
                    kept += 1;
                } else {
                    *logit = f32::NEG_INFINITY;
                }
            }
        } else if inside_count as usize != BLOCK {
            for logit in &mut block {
                *logit = if is_inside(*logit) { *logit } else { f32::NEG_INFINITY };
            }
        }
        if kept > 0 {
            block_exponentials(&block, inverse, start, &mut bands, &mut weights);
            blocks[first / BLOCK] = sum(&weights);
            count += kept;
        }
    }
    for c in changed.iter().filter(|c| keep.keeps(c)) {
        blocks[c.token as usize / BLOCK] += exp(c.logit - max_logit);
        count += 1;
    }
    RangeWeights { keep, sum: blocks.iter().sum(), blocks, count }
}

/// Appends the kept candidates, in order of token id.
pub(crate) fn list(
    row: &MaskedRow<'_>,
    keep: &KeptRange,
    changed: &[Candidate],
    candidates: &mut Vec<Candidate>,
) {
    row.list(row.down_to(keep.ends().0, 0.0), changed, candidates);
    candidates.retain(|c| keep.keeps(c));
}

/// The range of [`steps::top_k`] over the row's tokens; there must be no changed candidates.
pub(crate) fn top_k(row: &MaskedRow<'_>, k: usize) -> KeptRange {
    let all = || row_scan::blocks(row.logits, row.words, row.maxima, f32::MIN);
    let mut counts = vec![0u32; LOGIT_RANKS];
    for (_, block, words) in all() {
        for &logit in &row_scan::masked(block, words) {
            // Forbidden tokens have −∞, or NaN where their logit is NaN or +∞.
            if logit >= f32::MIN {
                counts[rank(logit)] += 1;
            }
        }
    }
    let mut above = 0;
    let end = counts.iter().position(|&count| {
        let reached = above + count as usize >= k;
        above += if reached { 0 } else { count as usize };
        reached
    });
    let Some(end) = end else { return KeptRange::Between(None, None) };
    let mut keys = Vec::new();
    for (start, block, words) in all() {
        for (at, &logit) in row_scan::masked(block, words).iter().enumerate() {
            if logit >= f32::MIN && rank(logit) == end {
                keys.push(CandidateKey::new(&row.candidate((start + at) as u32, logit)));
            }
        }
    }
    let last = (k - above).saturating_sub(1).min(keys.len().saturating_sub(1));
    if keys.is_empty() {
        KeptRange::Between(None, None)
    } else {
        KeptRange::Between(None, Some(keys.select_nth_unstable(last).1.candidate()))
    }
}

/// The range of [`steps::typical_p`]; `None` if it must be found by a list.
pub(crate) fn typical_p(
    row: &MaskedRow<'_>,
    max_logit: f64,
    changed: &[Candidate],
    p: f64,
) -> Option<KeptRange> {
    let inverse = 1.0 / row.temperature;
    let (mut total, mut weighted_depths) = (0.0, 0.0);
    let mut products = [0.0; BLOCK];
    for_each_block(row, max_logit, |block, weights| {
        for ((&logit, &weight), product) in block.iter().zip(weights).zip(&mut products) {
            let nats = max_logit - f64::from(logit) * inverse;
            // Deeper tokens and forbidden ones have the weight 0.
            let nats = if nats < WEIGHTLESS_DEPTH_NATS { nats } else { WEIGHTLESS_DEPTH_NATS };
            *product = weight * nats;
        }
        total += sum(weights);
        weighted_depths += sum(&products);
    });
    for c in changed {
        let weight = exp(c.logit - max_logit);
        total += weight;
        weighted_depths += weight * (max_logit - c.logit).min(WEIGHTLESS_DEPTH_NATS);
    }
    let (log_sum_exp, entropy) = (max_logit + total.ln(), total.ln() + weighted_depths / total);
    let band = |x: f64| ((log_sum_exp - x - entropy).abs() * DISTANCE_BANDS_PER_UNIT) as usize;
    let mut weights_of = vec![0.0; DISTANCE_BANDS];
    for_each_block(row, max_logit, |block, weights| {
        for (&logit, &weight) in block.iter().zip(weights) {
            weights_of[band(f64::from(logit) * inverse).min(DISTANCE_BANDS - 1)] += weight;
        }
    });
    for c in changed {
        weights_of[band(c.logit).min(DISTANCE_BANDS - 1)] += exp(c.logit - max_logit);
    }
    let mut rest = p * total;
    let end = weights_of.iter().position(|&weight| {
        let reached = weight >= rest;
        rest -= if reached { 0.0 } else { weight };
        reached
    });
    let end = end.filter(|&end| end < DISTANCE_BANDS - 1)?;
    let mut found: Vec<((u64, CandidateKey), f64)> = Vec::new();
    let mut find = |c: Candidate| {
        found.push((typicality_order(&c, log_sum_exp, entropy), exp(c.logit - max_logit)));
    };
    // The band is one range of logits above the expected one and one below.
    let [near, far] = [end, end + 1].map(|band| band as f64 / DISTANCE_BANDS_PER_UNIT);
    let range = |low: f64, high: f64| (below(row, low), above(row, high));
    let expected = log_sum_exp - entropy;
    let (above, below) =
        (range(expected + near, expected + far), range(expected - far, expected - near));
    let is_near = |logit: f32| {
        ((logit >= above.0) & (logit <= above.1)) | ((logit >= below.0) & (logit <= below.1))
    };
    for (start, block, words) in row_scan::blocks(row.logits, row.words, row.maxima, below.0) {
        let block = row_scan::masked(block, words);
        for (index, part) in block.as_chunks::<{ row_scan::WORD }>().0.iter().enumerate() {
            row_scan::for_each_bit(row_scan::bits_of(part, is_near), |bit| {
                if band(f64::from(part[bit]) * inverse) == end {
                    let token = start + index * row_scan::WORD + bit;
                    find(row.candidate(token as u32, part[bit]));
                }
            });
        }
    }
    changed.iter().filter(|c| band(c.logit) == end).for_each(|c| find(*c));
    let (last, _) = select_by_weight(&mut found, rest)?;
    Some(KeptRange::Typical { log_sum_exp, entropy, last })
}

/// The range of [`steps::xtc`]; `None` if it must be found by a list.
pub(crate) fn xtc(
    row: &MaskedRow<'_>,
    max_logit: f64,
    changed: &[Candidate],
    threshold: f64,
) -> Option<KeptRange> {
    if threshold < MIN_STREAMED_XTC_THRESHOLD {
        return None;
    }
    let least = threshold * sum_of_all(row, max_logit, changed);
    let mut tops = Vec::new();
    row.list(row.down_to(max_logit, -least.ln()), changed, &mut tops);
    tops.retain(|c| (c.logit - max_logit).exp() >= least);
    Some(KeptRange::Between(tops.into_iter().max_by(steps::by_probability), None))
}

/// The range of [`steps::mirostat`]; `best` is the most probable candidate.
pub(crate) fn mirostat(
    row: &MaskedRow<'_>,
    best: Candidate,
    changed: &[Candidate],
    max_bits: f64,
) -> KeptRange {
    let log_sum_exp = best.logit + sum_of_all(row, best.logit, changed).ln();
    KeptRange::SurpriseAtMost { log_sum_exp, max_bits, best }
}

/// The sum of all candidates' exponentials.
fn sum_of_all(row: &MaskedRow<'_>, max_logit: f64, changed: &[Candidate]) -> f64 {
    row.sum_of_exponentials(max_logit)
        + changed.iter().map(|c| exp(c.logit - max_logit)).sum::<f64>()
}

/// Calls `each` with the logits and the exponentials of every block with an allowed token.
/// Forbidden tokens have the logit −∞ or NaN and the weight 0.
fn for_each_block(
    row: &MaskedRow<'_>,
    max_logit: f64,
    mut each: impl FnMut(&[f32; BLOCK], &[f64; BLOCK]),
) {
    let (inverse, start) = (BANDS_PER_UNIT / row.temperature, max_logit * BANDS_PER_UNIT);
    let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
    for (_, block, words) in row_scan::blocks(row.logits, row.words, row.maxima, f32::MIN) {
        let block = row_scan::masked(block, words);
        block_exponentials(&block, inverse, start, &mut bands, &mut weights);
        each(&block, &weights);
    }
}

/// A little less than the logit that becomes `end` by the temperature.
fn below(row: &MaskedRow<'_>, end: f64) -> f32 {
    if end.is_finite() { row.down_to(end, 0.0) } else { end as f32 }
}

/// A little more than the logit that becomes `end` by the temperature.
fn above(row: &MaskedRow<'_>, end: f64) -> f32 {
    -below(row, -end)
}

/// The sum of a block's weights by independent sums, which need not wait for each other.
fn sum(weights: &[f64; BLOCK]) -> f64 {
    let mut sums = [0.0; 8];
    for lanes in weights.as_chunks::<8>().0 {
        sums.iter_mut().zip(lanes).for_each(|(sum, weight)| *sum += weight);
    }
    sums.iter().sum()
}

/// The rank of a logit: greater logits have lesser ranks.
fn rank(logit: f32) -> usize {
    let bits = (logit + 0.0).to_bits();
    let descending = if bits >> 31 == 1 { bits } else { !bits & !(1 << 31) };
    (descending >> 16) as usize
}

impl RangeWeights {
    /// The kept token at a point of the line of [`steps::pick`], with its exponential.
    pub(crate) fn at(
        &self,
        row: &MaskedRow<'_>,
        (max_logit, changed): (f64, &[Candidate]),
        point: f64,
    ) -> Option<(u32, f64)> {
        let (block, rest) = block_at(&self.blocks, point)?;
        let mut candidates = row.block(block, changed);
        candidates.retain(|c| self.keep.keeps(c));
        let (chosen, weight) = steps::at_point(&candidates, max_logit, rest)?;
        Some((chosen.token, weight))
    }

    /// The range.
    pub(crate) fn keep(&self) -> &KeptRange {
        &self.keep
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sampling::fast::test_rows::with_row;

    fn assert_same(
        row: &MaskedRow<'_>,
        (max_logit, changed): (f64, &[Candidate]),
        keep: KeptRange,
        expected: &[Candidate],
    ) {
        let mut listed = Vec::new();
        list(row, &keep, changed, &mut listed);
        assert_eq!(listed, expected, "{keep:?}");
        let part = weigh(row, max_logit, changed, keep);
        let sum: f64 = expected.iter().map(|c| (c.logit - max_logit).exp()).sum();
        assert_eq!(part.count, expected.len(), "{keep:?}");
        assert!((part.sum / sum - 1.0).abs() < 1e-11, "{keep:?} {} {sum}", part.sum);
        for u in [0.0, 0.3, 0.999] {
            let point = u * part.sum;
            let (token, _) = part.at(row, (max_logit, changed), point).unwrap();
            let (plain, _) = steps::at_point(expected, max_logit, point).unwrap();
            // Sums in another order may differ by the last bits at a border.
            let near = |token| expected.iter().position(|c| c.token == token).unwrap();
            assert!(near(token).abs_diff(near(plain.token)) <= 1);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn a_part_is_what_the_plain_step_keeps(
            seed in any::<u64>(),
            width in 1100usize..9000,
            deviation in 0.0f64..8.0,
            p in 0.0f64..1.0,
            temperature in 0.05f64..30.0,
        ) {
            with_row((seed, width, deviation, temperature), |row, max_logit, changed, all| {
                let mut plain = all.to_vec();
                steps::typical_p(&mut plain, p);
                if let Some(keep) = typical_p(row, max_logit, changed, p) {
                    assert_same(row, (max_logit, changed), keep, &plain);
                }
                for threshold in [p, p / 100.0] {
                    let mut plain = all.to_vec();
                    steps::xtc(&mut plain, threshold);
                    if let Some(keep) = xtc(row, max_logit, changed, threshold) {
                        assert_same(row, (max_logit, changed), keep, &plain);
                    }
                }
                let mut plain = all.to_vec();
                let best = steps::greedy(all).unwrap();
                let most = p * 20.0 - 1.0;
                steps::mirostat(&mut plain, most);
                assert_same(row, (max_logit, changed), mirostat(row, best, changed, most), &plain);
                if changed.is_empty() {
                    let k = 1 + (p * 1.1 * all.len() as f64) as usize;
                    let mut plain = all.to_vec();
                    steps::top_k(&mut plain, k);
                    assert_same(row, (max_logit, changed), top_k(row, k), &plain);
                }
            });
        }
    }
}
