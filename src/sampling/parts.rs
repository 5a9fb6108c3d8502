//! Truncations of a long row without a list of it: top-k of many tokens, typical-p, XTC, mirostat.
//!
//! What each of them keeps is a range of logits. Where the range ends follows from sums over the row
//! and from the few tokens near an end, which are looked at singly; then one pass sums for each block
//! what it has in the range, and a draw looks into one block. So what is kept is what the plain steps
//! keep ([`steps`]), and no row is sorted or copied.

use super::exponential::{GRAIN, Row, block_at, exp, exponentials};
use super::scan::{self, BLOCK};
use super::select::{Key, reach};
use super::steps::{self, Candidate};

/// Bands of distances from the expected surprise, in all and to a unit.
const NEAR: usize = 4096;
const TO_A_UNIT: f64 = 64.0;
/// A depth beyond all that have a weight.
const DEEP: f64 = 1e6;
/// Below this threshold XTC's top choices may be too many to be listed.
const LEAST_THRESHOLD: f64 = 1e-3;
/// Ranks of logits: those of one rank have the upper 16 bits in common.
const RANKS: usize = 1 << 16;

/// What a truncation keeps.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    /// From the first to the last, in order of probability; from the most or to the least probable
    /// where none is named.
    Between(Option<Candidate>, Option<Candidate>),
    /// What is not farther from the expected surprise than the last: `order` of [`steps::typical_p`].
    Near { whole: f64, entropy: f64, last: (u64, Key) },
    /// What surprises by at most so many bits, and the most probable token.
    Surprising { whole: f64, most: f64, top: Candidate },
}

/// What was kept of a row.
#[derive(Clone, Debug)]
pub(super) struct Part {
    keep: Keep,
    /// The weight that each block has in it.
    blocks: Vec<f64>,
    /// How many tokens it has.
    pub(super) count: usize,
    /// The sum of their exponentials.
    pub(super) sum: f64,
}

impl Keep {
    pub(super) fn keeps(&self, c: &Candidate) -> bool {
        match self {
            Self::Between(first, last) => {
                first.is_none_or(|first| steps::by_probability(c, &first).is_ge())
                    && last.is_none_or(|last| steps::by_probability(c, &last).is_le())
            }
            Self::Near { whole, entropy, last } => order(c, *whole, *entropy) <= *last,
            Self::Surprising { whole, most, top } => {
                c.token == top.token || (whole - c.logit) / std::f64::consts::LN_2 <= *most
            }
        }
    }

    /// The least and the greatest logit that is kept, up to rounding.
    fn ends(&self) -> (f64, f64) {
        match self {
            Self::Between(first, last) => (
                last.map_or(f64::NEG_INFINITY, |c| c.logit),
                first.map_or(f64::INFINITY, |c| c.logit),
            ),
            Self::Near { whole, entropy, last } => {
                let reach = f64::from_bits(last.0);
                (whole - entropy - reach, whole - entropy + reach)
            }
            Self::Surprising { whole, most, top } => {
                (top.logit.min(whole - most * std::f64::consts::LN_2), f64::INFINITY)
            }
        }
    }
}

/// How far a candidate's surprise is from the expected one, as numbers that are ordered so; equal
/// ones by probability.
fn order(c: &Candidate, whole: f64, entropy: f64) -> (u64, Key) {
    ((whole - c.logit - entropy).abs().to_bits(), Key::new(c))
}

impl Row<'_> {
    /// Weighs what is kept of the row's allowed tokens and the changed ones (ascending, and not allowed
    /// by the words), none of them above `top`, from where on exponentials count.
    pub(super) fn part(&self, top: f64, changed: &[Candidate], keep: Keep) -> Part {
        let (low, high) = keep.ends();
        // All that lies inside is kept, and nothing outside of what is near; about what is near and not
        // inside each token is asked.
        let inside = (self.above(low), self.below(high));
        // −∞ is no logit, but what stands for what is forbidden.
        let near = (self.below(low).max(f32::MIN), self.above(high));
        let is_inside = |logit: f32| (logit > inside.0) & (logit < inside.1);
        let is_near = |logit: f32| (logit >= near.0) & (logit <= near.1);
        let (inverse, start) = (GRAIN / self.temperature, top * GRAIN);
        let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
        let mut blocks = vec![0.0; self.logits.len().div_ceil(BLOCK)];
        let mut count = 0;
        for (first, block, words) in scan::blocks(self.logits, self.words, self.maxima, near.0) {
            let mut block = scan::masked(block, words);
            let (mut whole, mut open) = (0u32, 0u32);
            for &logit in &block {
                whole += u32::from(is_inside(logit));
                open += u32::from(is_near(logit));
            }
            let mut kept = whole as usize;
            if open != whole {
                for (at, logit) in block.iter_mut().enumerate() {
                    if is_inside(*logit) {
                        continue;
                    }
                    // Vocabularies are far smaller than u32::MAX.
                    let candidate = || self.candidate((first + at) as u32, *logit);
                    if is_near(*logit) && keep.keeps(&candidate()) {
                        kept += 1;
                    } else {
                        *logit = f32::NEG_INFINITY;
                    }
                }
            } else if whole as usize != BLOCK {
                for logit in &mut block {
                    *logit = if is_inside(*logit) { *logit } else { f32::NEG_INFINITY };
                }
            }
            if kept > 0 {
                exponentials(&block, inverse, start, &mut bands, &mut weights);
                blocks[first / BLOCK] = sum(&weights);
                count += kept;
            }
        }
        for c in changed.iter().filter(|c| keep.keeps(c)) {
            blocks[c.token as usize / BLOCK] += exp(c.logit - top);
            count += 1;
        }
        Part { keep, sum: blocks.iter().sum(), blocks, count }
    }

    /// Fills `candidates` with what is kept, in order of token id.
    pub(super) fn list_part(
        &self,
        keep: &Keep,
        changed: &[Candidate],
        candidates: &mut Vec<Candidate>,
    ) {
        self.list(self.down_to(keep.ends().0, 0.0), changed, candidates);
        candidates.retain(|c| keep.keeps(c));
    }

    /// What [`steps::top_k`] keeps of the allowed tokens, if no step has changed one.
    pub(super) fn first_of(&self, k: usize) -> Keep {
        let all = || scan::blocks(self.logits, self.words, self.maxima, f32::MIN);
        let mut counts = vec![0u32; RANKS];
        for (_, block, words) in all() {
            for &logit in &scan::masked(block, words) {
                // −∞ stands for what is forbidden, NaN for what is NaN besides.
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
        let Some(end) = end else { return Keep::Between(None, None) };
        let mut keys = Vec::new();
        for (start, block, words) in all() {
            for (at, &logit) in scan::masked(block, words).iter().enumerate() {
                if logit >= f32::MIN && rank(logit) == end {
                    keys.push(Key::new(&self.candidate((start + at) as u32, logit)));
                }
            }
        }
        let last = (k - above).saturating_sub(1).min(keys.len().saturating_sub(1));
        match keys.is_empty() {
            true => Keep::Between(None, None),
            false => Keep::Between(None, Some(keys.select_nth_unstable(last).1.candidate())),
        }
    }

    /// What [`steps::typical_p`] keeps; `None` where that must be found by a list.
    pub(super) fn typical(&self, top: f64, changed: &[Candidate], p: f64) -> Option<Keep> {
        let inverse = 1.0 / self.temperature;
        let (mut total, mut depths) = (0.0, 0.0);
        let mut products = [0.0; BLOCK];
        self.for_each_block(top, |block, weights| {
            for ((&logit, &weight), product) in block.iter().zip(weights).zip(&mut products) {
                let depth = top - f64::from(logit) * inverse;
                // What is deeper has the weight 0, and so has what is forbidden.
                *product = weight * if depth < DEEP { depth } else { DEEP };
            }
            total += sum(weights);
            depths += sum(&products);
        });
        for c in changed {
            let weight = exp(c.logit - top);
            total += weight;
            depths += weight * (top - c.logit).min(DEEP);
        }
        let (whole, entropy) = (top + total.ln(), total.ln() + depths / total);
        let band = |x: f64| ((whole - x - entropy).abs() * TO_A_UNIT) as usize;
        let mut weights_of = vec![0.0; NEAR];
        self.for_each_block(top, |block, weights| {
            for (&logit, &weight) in block.iter().zip(weights) {
                weights_of[band(f64::from(logit) * inverse).min(NEAR - 1)] += weight;
            }
        });
        for c in changed {
            weights_of[band(c.logit).min(NEAR - 1)] += exp(c.logit - top);
        }
        let mut rest = p * total;
        let end = weights_of.iter().position(|&weight| {
            let reached = weight >= rest;
            rest -= if reached { 0.0 } else { weight };
            reached
        });
        let end = end.filter(|&end| end < NEAR - 1)?;
        let mut found: Vec<((u64, Key), f64)> = Vec::new();
        let mut find = |c: Candidate| {
            found.push((order(&c, whole, entropy), exp(c.logit - top)));
        };
        // The band is one range of logits above the expected one and one below.
        let [near, far] = [end, end + 1].map(|band| band as f64 / TO_A_UNIT);
        let range = |low: f64, high: f64| (self.below(low), self.above(high));
        let expected = whole - entropy;
        let (above, below) =
            (range(expected + near, expected + far), range(expected - far, expected - near));
        let is_near = |logit: f32| {
            ((logit >= above.0) & (logit <= above.1)) | ((logit >= below.0) & (logit <= below.1))
        };
        for (start, block, words) in scan::blocks(self.logits, self.words, self.maxima, below.0) {
            let block = scan::masked(block, words);
            for (index, part) in block.as_chunks::<{ scan::WORD }>().0.iter().enumerate() {
                scan::for_each_bit(scan::bits_of(part, is_near), |bit| {
                    if band(f64::from(part[bit]) * inverse) == end {
                        let token = start + index * scan::WORD + bit;
                        find(self.candidate(token as u32, part[bit]));
                    }
                });
            }
        }
        changed.iter().filter(|c| band(c.logit) == end).for_each(|c| find(*c));
        let (last, _) = reach(&mut found, rest)?;
        Some(Keep::Near { whole, entropy, last })
    }

    /// What [`steps::xtc`] keeps; `None` where that must be found by a list.
    pub(super) fn without_top_choices(
        &self,
        top: f64,
        changed: &[Candidate],
        threshold: f64,
    ) -> Option<Keep> {
        if threshold < LEAST_THRESHOLD {
            return None;
        }
        let least = threshold * self.total(top, changed);
        let mut tops = Vec::new();
        self.list(self.down_to(top, -least.ln()), changed, &mut tops);
        tops.retain(|c| (c.logit - top).exp() >= least);
        Some(Keep::Between(tops.into_iter().max_by(steps::by_probability), None))
    }

    /// What [`steps::mirostat`] keeps; `best` is the most probable token.
    pub(super) fn surprising(&self, best: Candidate, changed: &[Candidate], most: f64) -> Keep {
        let whole = best.logit + self.total(best.logit, changed).ln();
        Keep::Surprising { whole, most, top: best }
    }

    /// The sum of all exponentials.
    fn total(&self, top: f64, changed: &[Candidate]) -> f64 {
        self.sum_of_exponentials(top) + changed.iter().map(|c| exp(c.logit - top)).sum::<f64>()
    }

    /// Calls `each` with the logits and the exponentials of every block of which something is allowed;
    /// what is forbidden has a logit of −∞ or NaN, and the weight 0.
    fn for_each_block(&self, top: f64, mut each: impl FnMut(&[f32; BLOCK], &[f64; BLOCK])) {
        let (inverse, start) = (GRAIN / self.temperature, top * GRAIN);
        let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
        for (_, block, words) in scan::blocks(self.logits, self.words, self.maxima, f32::MIN) {
            let block = scan::masked(block, words);
            exponentials(&block, inverse, start, &mut bands, &mut weights);
            each(&block, &weights);
        }
    }

    /// A little less than the logit that is `end` once divided by the temperature.
    fn below(&self, end: f64) -> f32 {
        if end.is_finite() { self.down_to(end, 0.0) } else { end as f32 }
    }

    /// A little more than that logit.
    fn above(&self, end: f64) -> f32 {
        -self.below(-end)
    }
}

/// A sum of several sums, which need not wait for each other.
fn sum(weights: &[f64; BLOCK]) -> f64 {
    let mut sums = [0.0; 8];
    for lanes in weights.as_chunks::<8>().0 {
        sums.iter_mut().zip(lanes).for_each(|(sum, weight)| *sum += weight);
    }
    sums.iter().sum()
}

/// Greater logits have lesser ranks.
fn rank(logit: f32) -> usize {
    let bits = (logit + 0.0).to_bits();
    let descending = if bits >> 31 == 1 { bits } else { !bits & !(1 << 31) };
    (descending >> 16) as usize
}

impl Part {
    /// The token at a point of the line on which each token that is kept, in order of token id, has its
    /// exponential from `top` on for length, with that.
    pub(super) fn at(
        &self,
        row: &Row<'_>,
        (top, changed): (f64, &[Candidate]),
        point: f64,
    ) -> Option<(u32, f64)> {
        let (block, rest) = block_at(&self.blocks, point)?;
        let mut candidates = row.block(block, changed);
        candidates.retain(|c| self.keep.keeps(c));
        let (chosen, weight) = steps::at_point(&candidates, top, rest)?;
        Some((chosen.token, weight))
    }

    pub(super) fn keep(&self) -> &Keep {
        &self.keep
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::rows::with_row;
    use super::*;

    fn assert_same(
        row: &Row<'_>,
        (top, changed): (f64, &[Candidate]),
        keep: Keep,
        expected: &[Candidate],
    ) {
        let mut listed = Vec::new();
        row.list_part(&keep, changed, &mut listed);
        assert_eq!(listed, expected, "{keep:?}");
        let part = row.part(top, changed, keep);
        let sum: f64 = expected.iter().map(|c| (c.logit - top).exp()).sum();
        assert_eq!(part.count, expected.len(), "{keep:?}");
        assert!((part.sum / sum - 1.0).abs() < 1e-11, "{keep:?} {} {sum}", part.sum);
        for u in [0.0, 0.3, 0.999] {
            let point = u * part.sum;
            let (token, _) = part.at(row, (top, changed), point).unwrap();
            let (plain, _) = steps::at_point(expected, top, point).unwrap();
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
            with_row((seed, width, deviation, temperature), |row, top, changed, all| {
                let mut plain = all.to_vec();
                steps::typical_p(&mut plain, p);
                if let Some(keep) = row.typical(top, changed, p) {
                    assert_same(row, (top, changed), keep, &plain);
                }
                for threshold in [p, p / 100.0] {
                    let mut plain = all.to_vec();
                    steps::xtc(&mut plain, threshold);
                    if let Some(keep) = row.without_top_choices(top, changed, threshold) {
                        assert_same(row, (top, changed), keep, &plain);
                    }
                }
                let mut plain = all.to_vec();
                let best = steps::greedy(all).unwrap();
                let most = p * 20.0 - 1.0;
                steps::mirostat(&mut plain, most);
                assert_same(row, (top, changed), row.surprising(best, changed, most), &plain);
                if changed.is_empty() {
                    let k = 1 + (p * 1.1 * all.len() as f64) as usize;
                    let mut plain = all.to_vec();
                    steps::top_k(&mut plain, k);
                    assert_same(row, (top, changed), row.first_of(k), &plain);
                }
            });
        }
    }
}
