//! Top-p over a long row that keeps few tokens: lists those and sums the others roughly.
//!
//! A peaked distribution has a nucleus of a few tokens among 150,000. The weight of the others
//! matters only as a total:
//!
//! 1. A sample of blocks gives a logit above which the nucleus should lie.
//! 2. Tokens above it are listed and summed in `f64`; those below are summed in `f32`, three times
//!    faster, with a bound of the error.
//! 3. If the error cannot move the nucleus's end, that is the result: the set that [`steps::top_p`]
//!    keeps.
//! 4. Otherwise the same is tried from a logit that is certain: a token below the share (1 − p) / n
//!    of the weight of all n tokens is outside the nucleus, since all such tokens together weigh
//!    less than 1 − p. If that leaves the end open, too, all is summed in `f64`.
//!
//! Where the sample shows that much stays, [`top_p_streamed`](super::top_p_streamed) does it
//! without a list.

use super::block_exp::{ROUND_TO_INTEGER, block_exponentials};
use super::masked_row::MaskedRow;
use super::row_scan::{self, BLOCK, LaneMaxima};
use super::top_p_streamed::{NucleusBound, StreamedTopP};
use crate::sampling::exp::{BANDS_PER_UNIT, BEYOND_TABLE, TABLE_SIZE, exp};
use crate::sampling::steps::{self, Candidate};

/// Relative error of [`roughly_below`]: 3e-6 for three roundings of an exponent of at most 24
/// octaves, 2e-7 for what the series leaves out, 8e-7 for the roundings of series and sums.
const ROUGH_RELATIVE_ERROR: f64 = 4e-6;
/// Absolute error that [`roughly_below`] adds for each token below 24 octaves, twice: 2e-5 · 2^-24.
const DEEP_TOKEN_ERROR: f64 = 2.4e-12;
/// Relative error of sums in `f64`, of a million terms and more.
const ROUNDING: f64 = 1e-11;

/// Distance of the blocks of the sample.
const SAMPLE_INTERVAL: usize = 64;
/// Share of the weight outside the nucleus that is to be summed roughly: the greater, the fewer
/// tokens are listed, and the more often the error leaves the end open.
const ROUGH_SHARE: f64 = 0.5;

/// Number of tokens from which a nucleus is streamed instead of listed, if that is possible.
const MAX_LISTED_TOKENS: usize = 12_000;

/// Buffers of [`top_p`], kept from one draw to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct TopPScratch {
    /// Listed tokens with their logits, ascending by token.
    above: Vec<(u32, f32)>,
    pub(crate) streamed: StreamedTopP,
}

/// The result of [`top_p`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum TopP {
    /// The nucleus is in the list; the sum of its exponentials, unless all tokens stay.
    Listed(Option<f64>),
    /// The nucleus is not listed.
    Streamed(NucleusBound),
}

/// A sum with a bound of its error.
#[derive(Clone, Copy, Debug)]
struct ApproximateSum {
    sum: f64,
    error: f64,
}

/// Finds the nucleus of probability `p` among the `count` candidates: the row's tokens and the
/// changed ones. Appends it to `candidates`, in order of token id, unless it is streamed. No
/// candidate is above `max_logit`, whose exponential counts as 1. The row's maxima are exact.
pub(crate) fn top_p(
    row: &MaskedRow<'_>,
    (max_logit, count): (f64, usize),
    changed: &[Candidate],
    p: f64,
    TopPScratch { above, streamed }: &mut TopPScratch,
    candidates: &mut Vec<Candidate>,
) -> TopP {
    let known = weight_of_maxima(row, max_logit, changed);
    let proven = row.down_to(max_logit, -((1.0 - p) * known / count as f64).ln());
    let guessed = likely_below(row, max_logit, (1.0 - p) * known).max(proven);
    if likely_count(row, guessed) > MAX_LISTED_TOKENS
        && let Some(kept) = streamed.find(row, (max_logit, greatest_logit(row)), changed, p)
    {
        return TopP::Streamed(kept);
    }
    for least in [guessed, proven, f32::MIN] {
        above.clear();
        row.for_each_from(least, |token, logit| above.push((token, logit)));
        let below = roughly_below(row, least, max_logit);
        if let Some((last, sum)) = nucleus_end(row, above, below, max_logit, changed, p) {
            list_nucleus(row, above, last, changed, candidates);
            return TopP::Listed(Some(sum));
        }
    }
    row.list(f32::NEG_INFINITY, changed, candidates);
    TopP::Listed(None)
}

/// An estimate, by the sample, of the number of tokens from a logit on.
fn likely_count(row: &MaskedRow<'_>, least: f32) -> usize {
    let blocks =
        row_scan::blocks(row.logits, row.words, row.maxima, least).step_by(SAMPLE_INTERVAL);
    let mut count = 0;
    for (_, block, words) in blocks {
        row_scan::for_each_from(block, words, least, |_, _| count += SAMPLE_INTERVAL);
    }
    count
}

/// A lower bound of the weight of all candidates: that of the blocks' maxima.
fn weight_of_maxima(row: &MaskedRow<'_>, max_logit: f64, changed: &[Candidate]) -> f64 {
    let (best, mut sum) = (greatest_logit(row), 0.0);
    for maxima in row.maxima.as_flattened().chunks(BLOCK) {
        let mut block = [f32::NEG_INFINITY; BLOCK];
        block[..maxima.len()].copy_from_slice(maxima);
        sum += roughly(&block, best, octaves_per_logit(row), f32::INFINITY);
    }
    // The factor covers the error of the rough sum.
    sum * weight(row, best, max_logit) * (1.0 - 10.0 * ROUGH_RELATIVE_ERROR)
        + changed.iter().map(|c| exp(c.logit - max_logit)).sum::<f64>()
}

/// An estimate, by the sample, of the logit below which [`ROUGH_SHARE`] of `outside` lies, the
/// weight outside the nucleus. −∞ if the sample holds less.
fn likely_below(row: &MaskedRow<'_>, max_logit: f64, outside: f64) -> f32 {
    let (inverse, start) = (BANDS_PER_UNIT / row.temperature, max_logit * BANDS_PER_UNIT);
    let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
    let mut spectrum = [0.0; TABLE_SIZE];
    let all = row_scan::blocks(row.logits, row.words, row.maxima, f32::MIN);
    for (_, block, words) in all.step_by(SAMPLE_INTERVAL) {
        let block = row_scan::masked(block, words);
        block_exponentials(&block, inverse, start, &mut bands, &mut weights);
        for (&band, weight) in bands.iter().zip(&weights) {
            spectrum[band as usize % TABLE_SIZE] += weight;
        }
    }
    let mut rest = outside * ROUGH_SHARE / SAMPLE_INTERVAL as f64;
    let reached = spectrum.iter().rposition(|weight| {
        rest -= weight;
        rest < 0.0
    });
    reached.map_or(f32::NEG_INFINITY, |band| {
        row.down_to(max_logit, (band as f64 + 0.5) / BANDS_PER_UNIT)
    })
}

/// The sum of the exponentials of the allowed logits below `end`.
fn roughly_below(row: &MaskedRow<'_>, end: f32, max_logit: f64) -> ApproximateSum {
    if end <= f32::MIN {
        return ApproximateSum { sum: 0.0, error: 0.0 };
    }
    let (best, inverse, mut sum) = (greatest_logit(row), octaves_per_logit(row), 0.0);
    for (_, block, words) in row_scan::blocks(row.logits, row.words, row.maxima, f32::MIN) {
        sum += match <&[f32; BLOCK]>::try_from(block) {
            Ok(block) if *words == row_scan::ALL_ALLOWED => roughly(block, best, inverse, end),
            _ => roughly(&row_scan::masked(block, words), best, inverse, end),
        };
    }
    let weight = weight(row, best, max_logit);
    let error = (sum * ROUGH_RELATIVE_ERROR + row.logits.len() as f64 * DEEP_TOKEN_ERROR) * weight;
    ApproximateSum { sum: sum * weight, error }
}

/// The greatest allowed logit that no step has changed.
fn greatest_logit(row: &MaskedRow<'_>) -> f32 {
    let greater = |a: LaneMaxima, b: &LaneMaxima| std::array::from_fn(|i| a[i].max(b[i]));
    let best: LaneMaxima = row.maxima.iter().fold([f32::NEG_INFINITY; 4], greater);
    best.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// The number of octaves (powers of two) to a unit of the logits.
fn octaves_per_logit(row: &MaskedRow<'_>) -> f32 {
    (std::f64::consts::LOG2_E / row.temperature) as f32
}

/// The exponential of a logit.
fn weight(row: &MaskedRow<'_>, logit: f32, max_logit: f64) -> f64 {
    exp(f64::from(logit) / row.temperature - max_logit)
}

/// The last token of the nucleus and the sum of the nucleus's exponentials; `None` if the error
/// leaves it open, or if all tokens stay. Sorts only the tokens of one band.
fn nucleus_end(
    row: &MaskedRow<'_>,
    above: &[(u32, f32)],
    below: ApproximateSum,
    max_logit: f64,
    changed: &[Candidate],
    p: f64,
) -> Option<(Candidate, f64)> {
    let (inverse, start) = (BANDS_PER_UNIT / row.temperature, max_logit * BANDS_PER_UNIT);
    let mut spectrum = [0.0; TABLE_SIZE];
    let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
    for tokens in above.chunks(BLOCK) {
        let mut block = [f32::NEG_INFINITY; BLOCK];
        block.iter_mut().zip(tokens).for_each(|(slot, (_, logit))| *slot = *logit);
        block_exponentials(&block, inverse, start, &mut bands, &mut weights);
        for (&band, weight) in bands.iter().zip(&weights) {
            spectrum[band as usize % TABLE_SIZE] += weight;
        }
    }
    let band_of =
        |c: &Candidate| ((max_logit - c.logit) * BANDS_PER_UNIT).min(BEYOND_TABLE).round() as usize;
    for c in changed {
        spectrum[band_of(c)] += exp(c.logit - max_logit);
    }
    let total = spectrum.iter().sum::<f64>() + below.sum;
    let error = match below.error {
        0.0 => 0.0,
        error => error + total * ROUNDING,
    };
    let (least, wanted) = (p * (total - error), p * (total + error));
    let mut sum = 0.0;
    let first = spectrum.iter().position(|weight| {
        let reached = sum + weight >= least;
        sum += if reached { 0.0 } else { *weight };
        reached
    })?;
    // Rounding may put the end into the next band.
    for band in first..TABLE_SIZE {
        let mut ranked: Vec<_> = changed.iter().copied().filter(|c| band_of(c) == band).collect();
        let end = row.down_to(max_logit, (band as f64 + 1.0) / BANDS_PER_UNIT);
        let above_it = row.down_to(max_logit, (band as f64 - 1.0) / BANDS_PER_UNIT);
        for &(token, logit) in above {
            if !(end..=above_it).contains(&logit) {
                continue;
            }
            let depth = start - f64::from(logit) * inverse;
            if (depth.min(BEYOND_TABLE) + ROUND_TO_INTEGER).to_bits() as u32 == band as u32 {
                ranked.push(row.candidate(token, logit));
            }
        }
        ranked.sort_unstable_by(steps::by_probability);
        for c in ranked {
            sum += exp(c.logit - max_logit);
            if sum >= least {
                return (sum >= wanted).then_some((c, sum));
            }
        }
    }
    None
}

/// Appends the listed and changed candidates that are not less probable than `last`.
fn list_nucleus(
    row: &MaskedRow<'_>,
    above: &[(u32, f32)],
    last: Candidate,
    changed: &[Candidate],
    candidates: &mut Vec<Candidate>,
) {
    let stays = |c: &Candidate| steps::by_probability(c, &last).is_le();
    let least = row.down_to(last.logit, 0.0);
    let mut changed = changed.iter().copied().filter(stays).peekable();
    let near = above.iter().filter(|(_, logit)| *logit >= least);
    for c in near.map(|&(token, logit)| row.candidate(token, logit)).filter(stays) {
        while let Some(before) = changed.next_if(|changed| changed.token < c.token) {
            candidates.push(before);
        }
        candidates.push(c);
    }
    candidates.extend(changed);
}

/// The sum in `f32` of 2^((logit − `best`) · `inverse`) over a block's logits below `end`, where
/// `inverse` is the number of octaves to a unit of the logits. A loop that becomes vector
/// instructions: a power of two with an integer exponent, times a short series.
#[inline(always)]
fn roughly(block: &[f32; BLOCK], best: f32, inverse: f32, end: f32) -> f64 {
    const LANES: usize = 16;
    /// 1.5 · 2^23: added to a number below 2^22, it leaves the nearest integer in the last bits.
    const ROUND: f32 = 12_582_912.0;
    /// The depth that stands for all greater ones, for −∞ and for NaN of forbidden tokens.
    const MAX_DEPTH_OCTAVES: f32 = 126.0;
    /// Exponent bias of `f32`.
    const BIAS: u32 = 127;
    /// ln 2, to the power of k, by k factorial.
    const SERIES: [f32; 7] = [
        1.0,
        std::f32::consts::LN_2,
        0.240_226_5,
        0.055_504_11,
        0.009_618_129,
        0.001_333_356,
        1.540_353e-4,
    ];
    let mut sums = [0.0f32; LANES];
    for lanes in block.as_chunks::<LANES>().0 {
        for (&logit, sum) in lanes.iter().zip(&mut sums) {
            let octaves = (best - logit) * inverse;
            let octaves = if octaves < MAX_DEPTH_OCTAVES { octaves } else { MAX_DEPTH_OCTAVES };
            let rounded = octaves + ROUND;
            let r = (rounded - ROUND) - octaves;
            let [a, b, c, d, e, f, g] = SERIES;
            let series = a + r * (b + r * (c + r * (d + r * (e + r * (f + r * g)))));
            let power = f32::from_bits(BIAS.wrapping_sub(rounded.to_bits()) << 23);
            *sum += if logit < end { series * power } else { 0.0 };
        }
    }
    sums.iter().map(|&sum| f64::from(sum)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sampling::fast::test_rows::with_row;

    /// Hands to `check` the nucleus by the definition and by the fast path.
    fn both(of: (u64, usize, f64, f64), p: f64, check: impl Fn(Vec<Candidate>, Vec<Candidate>)) {
        with_row(of, |row, max_logit, changed, all| {
            let end = row.down_to(max_logit, 3.0);
            let below = roughly_below(row, end, max_logit);
            let unchanged = all.iter().filter(|c| changed.iter().all(|x| x.token != c.token));
            let exact: f64 = unchanged
                .filter(|c| row.logits[c.token as usize] < end)
                .map(|c| (c.logit - max_logit).exp())
                .sum();
            assert!((below.sum - exact).abs() <= below.error, "{below:?} {exact}");
            let (mut plain, mut kept) = (all.to_vec(), Vec::new());
            let counted = (max_logit, all.len());
            let found = top_p(row, counted, changed, p, &mut TopPScratch::default(), &mut kept);
            steps::top_p(&mut plain, p);
            if let TopP::Streamed(wide) = found {
                row.list_down_to(&wide.last, f32::MIN, changed, &mut kept);
                assert_eq!(wide.count, kept.len());
                let sum: f64 = kept.iter().map(|c| (c.logit - max_logit).exp()).sum();
                assert!((wide.sum / sum - 1.0).abs() < 1e-12, "{wide:?} {sum}");
            }
            check(plain, kept);
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn a_nucleus_is_what_the_plain_step_keeps(
            seed in any::<u64>(),
            width in 1100usize..9000,
            deviation in 0.0f64..8.0,
            p in 0.0f64..1.0,
            temperature in 0.05f64..30.0,
        ) {
            both((seed, width, deviation, temperature), p, |plain, kept| assert_eq!(plain, kept));
        }
    }

    #[test]
    fn a_wide_and_level_row_needs_the_exact_sum() {
        // Each token's share is less than the rough sum's error.
        let (width, p) = (400_000, 0.5);
        both((1, width, 1e-7, 1.0), p, |plain, kept| {
            assert_eq!(plain.len(), kept.len());
            assert_eq!(plain, kept);
        });
    }
}
