//! A row of logits under a mask, seen after the temperature.
//!
//! Every method reads the row block by block and skips the blocks whose greatest logit, known from
//! the first scan ([`row_scan`]), cannot matter. The allowed tokens are in two parts: those whose
//! logit no step has changed are in this row; those that a bias or a penalty has touched are
//! *changed* candidates, which the caller has taken out of the mask and passes as a list beside the
//! row.

use super::block_exp::{ROUND_TO_INTEGER, block_exponentials};
use super::row_scan::{self, BLOCK, LaneMaxima};
use crate::sampling::exp::{BANDS_PER_UNIT, BEYOND_TABLE, EXP_REACH_NATS, exp};
use crate::sampling::steps::{self, Candidate};

/// Least number of allowed tokens of a block whose exponentials are computed for the block as a
/// whole; for fewer, single ones cost less.
const MIN_VECTOR_TOKENS: usize = 16;

/// A row of logits, its mask, the greatest logits of each block, and the temperature that divides
/// the logits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaskedRow<'a> {
    /// One logit for each token id.
    pub(crate) logits: &'a [f32],
    /// The words of the mask.
    pub(crate) words: &'a [u32],
    /// Upper bounds of the allowed logits of each block.
    pub(crate) maxima: &'a [LaneMaxima],
    /// Above 0.
    pub(crate) temperature: f64,
}

impl MaskedRow<'_> {
    /// The least logit of the row that lies at most `distance` (in nats) below `start` after the
    /// temperature, minus a little, so that rounding leaves no token out.
    pub(crate) fn down_to(&self, start: f64, distance: f64) -> f32 {
        let least = (start - distance) * self.temperature;
        let least = least - least.abs() * 1e-6 - 1e-30;
        (least as f32).clamp(f32::MIN, f32::MAX)
    }

    /// Calls `each` with every allowed token from `least` on and its logit, ascending.
    pub(crate) fn for_each_from(&self, least: f32, mut each: impl FnMut(u32, f32)) {
        for (start, block, words) in row_scan::blocks(self.logits, self.words, self.maxima, least) {
            row_scan::for_each_from(block, words, least, |at, logit| {
                // Vocabularies are far smaller than u32::MAX.
                each((start + at) as u32, logit);
            });
        }
    }

    /// A token as a candidate, its logit divided by the temperature.
    pub(crate) fn candidate(&self, token: u32, logit: f32) -> Candidate {
        Candidate { token, logit: f64::from(logit) / self.temperature }
    }

    /// The candidates of a block, the changed ones among them, in order of token id.
    pub(crate) fn block(&self, index: usize, changed: &[Candidate]) -> Vec<Candidate> {
        let start = index * BLOCK;
        let tokens = start..self.logits.len().min(start + BLOCK);
        let words = &self.words[start / row_scan::WORD..tokens.end.div_ceil(row_scan::WORD)];
        let mut candidates = Vec::with_capacity(BLOCK);
        row_scan::for_each(&self.logits[tokens.clone()], words, |at, logit| {
            candidates.push(self.candidate((start + at) as u32, logit));
        });
        candidates.extend(changed.iter().filter(|c| tokens.contains(&(c.token as usize))));
        candidates.sort_unstable_by_key(|c| c.token);
        candidates
    }

    /// Appends the allowed tokens from the logit `least` on and all changed candidates (ascending)
    /// to `candidates`, in order of token id.
    pub(crate) fn list(&self, least: f32, changed: &[Candidate], candidates: &mut Vec<Candidate>) {
        let mut changed = changed.iter().copied().peekable();
        self.for_each_from(least, |token, logit| {
            while let Some(before) = changed.next_if(|c| c.token < token) {
                candidates.push(before);
            }
            if logit != f32::NEG_INFINITY {
                candidates.push(self.candidate(token, logit));
            }
        });
        candidates.extend(changed);
    }

    /// Appends the candidates that are not less probable than `last`, among the row's tokens only
    /// those from the logit `least` on.
    pub(crate) fn list_down_to(
        &self,
        last: &Candidate,
        least: f32,
        changed: &[Candidate],
        candidates: &mut Vec<Candidate>,
    ) {
        self.list(least.max(self.down_to(last.logit, 0.0)), changed, candidates);
        candidates.retain(|c| steps::by_probability(c, last).is_le());
    }

    /// The sum of e^(logit / temperature − `max_logit`) over the allowed tokens, none of them above
    /// `max_logit`, with a relative error below 1e-12.
    pub(crate) fn sum_of_exponentials(&self, max_logit: f64) -> f64 {
        let mut sums = [0.0; 4];
        self.weigh(max_logit, |_, bands, weights| {
            for (band, weight) in bands.iter().zip(weights) {
                sums[(band % 4) as usize] += weight;
            }
        });
        sums.iter().sum()
    }

    /// The standard deviation of the `count` candidates, none of them above `max_logit`.
    pub(crate) fn deviation(&self, (max_logit, count): (f64, usize), changed: &[Candidate]) -> f64 {
        let count = count as f64;
        let of_all = |term: &dyn Fn(f64) -> f64| changed.iter().map(|c| term(c.logit)).sum::<f64>();
        let distances =
            self.sum(max_logit, |distance| distance) + of_all(&|logit| logit - max_logit);
        let mean = max_logit + distances / count;
        let squares = self.sum(mean, |distance| distance * distance)
            + of_all(&|logit| (logit - mean).powi(2));
        (squares / count).sqrt()
    }

    /// The sum of a term of every allowed logit's distance from `start`, after the temperature.
    fn sum(&self, start: f64, term: impl Fn(f64) -> f64) -> f64 {
        let (inverse, mut sums) = (1.0 / self.temperature, [0.0; 4]);
        for (_, block, words) in row_scan::blocks(self.logits, self.words, self.maxima, f32::MIN) {
            let block = row_scan::masked(block, words);
            for lanes in block.as_chunks::<4>().0 {
                for (logit, sum) in lanes.iter().zip(&mut sums) {
                    let distance = f64::from(*logit) * inverse - start;
                    *sum += if *logit >= f32::MIN { term(distance) } else { 0.0 };
                }
            }
        }
        sums.iter().sum()
    }

    /// A lower bound of the logits of the `k` most probable tokens: the `k`-th of the blocks'
    /// maxima, which must be exact. −∞ if there are fewer maxima.
    pub(crate) fn least_of_most_probable(&self, k: usize) -> f32 {
        let mut maxima = self.maxima.as_flattened().to_vec();
        match k.checked_sub(1) {
            Some(last) if last < maxima.len() => {
                *maxima.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1
            }
            _ => f32::NEG_INFINITY,
        }
    }

    /// Calls `each` with the first token, the bands and the exponentials of every block with a
    /// token within the table's reach. Forbidden tokens and tokens beyond reach have the weight 0.
    pub(crate) fn weigh(
        &self,
        max_logit: f64,
        mut each: impl FnMut(usize, &[u32; BLOCK], &[f64; BLOCK]),
    ) {
        let (inverse, max_logit_bands) =
            (BANDS_PER_UNIT / self.temperature, max_logit * BANDS_PER_UNIT);
        let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
        let least = self.down_to(max_logit_bands / BANDS_PER_UNIT, EXP_REACH_NATS as f64);
        for (start, block, words) in row_scan::blocks(self.logits, self.words, self.maxima, least) {
            if <&[u32; 4]>::try_from(words)
                .is_ok_and(|words| row_scan::count(words) < MIN_VECTOR_TOKENS)
            {
                weights = [0.0; BLOCK];
                row_scan::for_each(block, words, |at, logit| {
                    let depth = max_logit_bands - f64::from(logit) * inverse;
                    bands[at] = (depth.min(BEYOND_TABLE) + ROUND_TO_INTEGER).to_bits() as u32;
                    weights[at] = exp(-depth / BANDS_PER_UNIT);
                });
                each(start, &bands, &weights);
                continue;
            }
            block_exponentials(
                &row_scan::masked(block, words),
                inverse,
                max_logit_bands,
                &mut bands,
                &mut weights,
            );
            each(start, &bands, &weights);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_block_exponentials() {
        let logits: Vec<f32> = (0..300).map(|i| ((i * 7919) % 1000) as f32 / 37.0 - 20.0).collect();
        let words = [u32::MAX, 0x5555_5555, 0, u32::MAX, 3, 1 << 31, 7, 7, 7, 0xFFF];
        let mut maxima = Vec::new();
        let best = row_scan::scan(&logits, &words, &mut maxima, row_scan::MaximaPrecision::Exact)
            .best
            .map(|b| f64::from(b.1));
        let max_logit = best.unwrap();
        for temperature in [0.05, 0.7, 1.0, 30.0] {
            let row = MaskedRow { logits: &logits, words: &words, maxima: &maxima, temperature };
            let max_logit = max_logit / temperature;
            let allowed = |i: &usize| words[i / 32] >> (i % 32) & 1 == 1;
            let each =
                (0..300).filter(allowed).map(|i| f64::from(logits[i]) / temperature - max_logit);
            let expected: f64 = each.map(f64::exp).sum();
            assert!((row.sum_of_exponentials(max_logit) / expected - 1.0).abs() < 1e-12);
        }
    }
}
