//! Top-p over a long row of which few tokens stay: lists them and sums the others roughly.
//!
//! Some blocks tell above which logit the nucleus lies. What is above is listed and summed in `f64`;
//! of what is below, a sum in `f32` is enough, three times faster, as long as its error cannot move
//! the nucleus's end. Where it could, or the blocks misled, the row is divided again where it is
//! certain: below a share of (1 − p) / n of all n tokens' weight no token has a place in the
//! nucleus, since all of them together weigh less than 1 − p. Where that leaves the end open, too,
//! all is summed in `f64`. So what is kept is what [`steps::top_p`] keeps. Where the blocks tell that
//! much stays, [`super::wide`] does it without a list.

use super::exponential::{BEYOND, GRAIN, ROUND, Row, TABLE_SIZE, exp, exponentials};
use super::scan::{self, BLOCK, Maxima};
use super::steps::{self, Candidate};
use super::wide::{Kept, Wide};

/// Relative error of [`Row::roughly_below`]: 3e-6 for three roundings of an exponent of at most 24
/// octaves, 2e-7 for what the series leaves out, 8e-7 for the roundings of series and sums.
const ROUGHNESS: f64 = 4e-6;
/// Twice the error of what lies deeper, up to 126 octaves, for each token: 2e-5 times 2^-24.
const NOTHING: f64 = 2.4e-12;
/// Relative error of sums in `f64`, of a million terms and more.
const ROUNDING: f64 = 1e-11;

/// Of so many blocks one tells where the nucleus may end.
const SAMPLE: usize = 64;
/// The part of the weight outside of the nucleus that is summed roughly: the greater, the fewer
/// tokens are listed, and the more often the error leaves the end open.
const OUTSIDE: f64 = 0.5;

/// From so many tokens on a nucleus is not listed, if it need not be.
const MANY: usize = 12_000;

/// Scratch.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// Tokens of a row that are not below some logit, ascending, with their logits.
    above: Vec<(u32, f32)>,
    pub(super) wide: Wide,
}

/// A nucleus that was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Nucleus {
    /// It is listed; the sum of its exponentials, unless it is all there is.
    Listed(Option<f64>),
    /// It is not.
    Wide(Kept),
}

/// A sum, and how far off it may be.
#[derive(Clone, Copy, Debug)]
struct Rough {
    sum: f64,
    error: f64,
}

impl Row<'_> {
    /// Finds the most probable of the row's `count` allowed tokens and the changed ones (ascending,
    /// and not allowed by the words) whose probabilities sum to `p`; fills `candidates` with them, in
    /// order of token id, unless they are too many. None is above `top`, from where on exponentials
    /// count. The row's maxima are exact.
    pub(super) fn nucleus(
        &self,
        (top, count): (f64, usize),
        changed: &[Candidate],
        p: f64,
        Scratch { above, wide }: &mut Scratch,
        candidates: &mut Vec<Candidate>,
    ) -> Nucleus {
        let known = self.weight_of_maxima(top, changed);
        let proven = self.down_to(top, -((1.0 - p) * known / count as f64).ln());
        let guessed = self.likely_below(top, (1.0 - p) * known).max(proven);
        if self.likely_count(guessed) > MANY
            && let Some(kept) = wide.find(self, (top, self.best()), changed, p)
        {
            return Nucleus::Wide(kept);
        }
        for least in [guessed, proven, f32::MIN] {
            above.clear();
            self.for_each_from(least, |token, logit| above.push((token, logit)));
            let below = self.roughly_below(least, top);
            if let Some((last, sum)) = self.end(above, below, top, changed, p) {
                self.keep(above, last, changed, candidates);
                return Nucleus::Listed(Some(sum));
            }
        }
        self.list(f32::NEG_INFINITY, changed, candidates);
        Nucleus::Listed(None)
    }

    /// How many tokens should not be below a logit, as far as some blocks tell of all.
    fn likely_count(&self, least: f32) -> usize {
        let blocks = scan::blocks(self.logits, self.words, self.maxima, least).step_by(SAMPLE);
        let mut count = 0;
        for (_, block, words) in blocks {
            scan::for_each_from(block, words, least, |_, _| count += SAMPLE);
        }
        count
    }

    /// Fills `candidates` with what is not less probable than `last` and not below `least`.
    pub(super) fn list_kept(
        &self,
        last: &Candidate,
        least: f32,
        changed: &[Candidate],
        candidates: &mut Vec<Candidate>,
    ) {
        self.list(least.max(self.down_to(last.logit, 0.0)), changed, candidates);
        candidates.retain(|c| steps::by_probability(c, last).is_le());
    }

    /// A weight that the whole row's is not less than.
    fn weight_of_maxima(&self, top: f64, changed: &[Candidate]) -> f64 {
        let (best, mut sum) = (self.best(), 0.0);
        for maxima in self.maxima.as_flattened().chunks(BLOCK) {
            let mut block = [f32::NEG_INFINITY; BLOCK];
            block[..maxima.len()].copy_from_slice(maxima);
            sum += roughly(&block, best, self.octaves(), f32::INFINITY);
        }
        // Less than it can be off by.
        sum * self.weight(best, top) * (1.0 - 10.0 * ROUGHNESS)
            + changed.iter().map(|c| exp(c.logit - top)).sum::<f64>()
    }

    /// A logit below which a part of `outside` should lie, the weight outside of the nucleus: as
    /// far as some blocks tell of all. −∞ where they hold too little.
    fn likely_below(&self, top: f64, outside: f64) -> f32 {
        let (inverse, start) = (GRAIN / self.temperature, top * GRAIN);
        let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
        let mut spectrum = [0.0; TABLE_SIZE];
        let all = scan::blocks(self.logits, self.words, self.maxima, f32::MIN);
        for (_, block, words) in all.step_by(SAMPLE) {
            let block = scan::masked(block, words);
            exponentials(&block, inverse, start, &mut bands, &mut weights);
            for (&band, weight) in bands.iter().zip(&weights) {
                spectrum[band as usize % TABLE_SIZE] += weight;
            }
        }
        let mut rest = outside * OUTSIDE / SAMPLE as f64;
        let reached = spectrum.iter().rposition(|weight| {
            rest -= weight;
            rest < 0.0
        });
        reached.map_or(f32::NEG_INFINITY, |band| self.down_to(top, (band as f64 + 0.5) / GRAIN))
    }

    /// The sum of the exponentials of the allowed logits below `end`.
    fn roughly_below(&self, end: f32, top: f64) -> Rough {
        if end <= f32::MIN {
            return Rough { sum: 0.0, error: 0.0 };
        }
        let (best, inverse, mut sum) = (self.best(), self.octaves(), 0.0);
        for (_, block, words) in scan::blocks(self.logits, self.words, self.maxima, f32::MIN) {
            sum += match <&[f32; BLOCK]>::try_from(block) {
                Ok(block) if *words == scan::WHOLE => roughly(block, best, inverse, end),
                _ => roughly(&scan::masked(block, words), best, inverse, end),
            };
        }
        let weight = self.weight(best, top);
        let error = (sum * ROUGHNESS + self.logits.len() as f64 * NOTHING) * weight;
        Rough { sum: sum * weight, error }
    }

    /// The greatest allowed logit that no step has changed.
    fn best(&self) -> f32 {
        let greater = |a: Maxima, b: &Maxima| std::array::from_fn(|i| a[i].max(b[i]));
        let best: Maxima = self.maxima.iter().fold([f32::NEG_INFINITY; 4], greater);
        best.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }

    /// The inverse of the temperature, in octaves.
    fn octaves(&self) -> f32 {
        (std::f64::consts::LOG2_E / self.temperature) as f32
    }

    fn weight(&self, logit: f32, top: f64) -> f64 {
        exp(f64::from(logit) / self.temperature - top)
    }

    /// The last token of the nucleus, with the sum of its exponentials; `None` where the error
    /// leaves it open, or all tokens stay. Only the tokens of one band are sorted.
    fn end(
        &self,
        above: &[(u32, f32)],
        below: Rough,
        top: f64,
        changed: &[Candidate],
        p: f64,
    ) -> Option<(Candidate, f64)> {
        let (inverse, start) = (GRAIN / self.temperature, top * GRAIN);
        let mut spectrum = [0.0; TABLE_SIZE];
        let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
        for tokens in above.chunks(BLOCK) {
            let mut block = [f32::NEG_INFINITY; BLOCK];
            block.iter_mut().zip(tokens).for_each(|(slot, (_, logit))| *slot = *logit);
            exponentials(&block, inverse, start, &mut bands, &mut weights);
            for (&band, weight) in bands.iter().zip(&weights) {
                spectrum[band as usize % TABLE_SIZE] += weight;
            }
        }
        let band_of = |c: &Candidate| ((top - c.logit) * GRAIN).min(BEYOND).round() as usize;
        for c in changed {
            spectrum[band_of(c)] += exp(c.logit - top);
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
            let mut ranked: Vec<_> =
                changed.iter().copied().filter(|c| band_of(c) == band).collect();
            let end = self.down_to(top, (band as f64 + 1.0) / GRAIN);
            let above_it = self.down_to(top, (band as f64 - 1.0) / GRAIN);
            for &(token, logit) in above {
                if !(end..=above_it).contains(&logit) {
                    continue;
                }
                let depth = start - f64::from(logit) * inverse;
                if (depth.min(BEYOND) + ROUND).to_bits() as u32 == band as u32 {
                    ranked.push(self.candidate(token, logit));
                }
            }
            ranked.sort_unstable_by(steps::by_probability);
            for c in ranked {
                sum += exp(c.logit - top);
                if sum >= least {
                    return (sum >= wanted).then_some((c, sum));
                }
            }
        }
        None
    }

    /// Fills `candidates` with what is not less probable than `last`.
    fn keep(
        &self,
        above: &[(u32, f32)],
        last: Candidate,
        changed: &[Candidate],
        candidates: &mut Vec<Candidate>,
    ) {
        let stays = |c: &Candidate| steps::by_probability(c, &last).is_le();
        let least = self.down_to(last.logit, 0.0);
        let mut changed = changed.iter().copied().filter(stays).peekable();
        let near = above.iter().filter(|(_, logit)| *logit >= least);
        for c in near.map(|&(token, logit)| self.candidate(token, logit)).filter(stays) {
            while let Some(before) = changed.next_if(|changed| changed.token < c.token) {
                candidates.push(before);
            }
            candidates.push(c);
        }
        candidates.extend(changed);
    }
}

/// The sum of e^(logit − best) in `f32`, of a block's logits below `end`, once they are divided by
/// the temperature; `inverse` is that of the temperature, in octaves. A loop without a branch,
/// which becomes vector instructions: a power of two, whose exponent is an integer, times a short
/// series.
#[inline(always)]
fn roughly(block: &[f32; BLOCK], best: f32, inverse: f32, end: f32) -> f64 {
    const LANES: usize = 16;
    /// 1.5 · 2^23: added to a number below 2^22, it leaves the nearest integer in the last bits.
    const ROUND: f32 = 12_582_912.0;
    /// What is deeper counts as much as this, next to nothing: −∞, and what forbidden NaN becomes.
    const DEEPEST: f32 = 126.0;
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
            let depth = (best - logit) * inverse;
            let depth = if depth < DEEPEST { depth } else { DEEPEST };
            let rounded = depth + ROUND;
            let r = (rounded - ROUND) - depth;
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

    use super::super::rows::with_row;
    use super::*;

    /// What the plain step keeps of a row, and what the short cut keeps.
    fn both(of: (u64, usize, f64, f64), p: f64, check: impl Fn(Vec<Candidate>, Vec<Candidate>)) {
        with_row(of, |row, top, changed, all| {
            let end = row.down_to(top, 3.0);
            let below = row.roughly_below(end, top);
            let unchanged = all.iter().filter(|c| changed.iter().all(|x| x.token != c.token));
            let exact: f64 = unchanged
                .filter(|c| row.logits[c.token as usize] < end)
                .map(|c| (c.logit - top).exp())
                .sum();
            assert!((below.sum - exact).abs() <= below.error, "{below:?} {exact}");
            let (mut plain, mut kept) = (all.to_vec(), Vec::new());
            let counted = (top, all.len());
            let found = row.nucleus(counted, changed, p, &mut Scratch::default(), &mut kept);
            steps::top_p(&mut plain, p);
            if let Nucleus::Wide(wide) = found {
                row.list_kept(&wide.last, f32::MIN, changed, &mut kept);
                assert_eq!(wide.count, kept.len());
                let sum: f64 = kept.iter().map(|c| (c.logit - top).exp()).sum();
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
