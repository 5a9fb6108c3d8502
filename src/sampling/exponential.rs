//! Sums of a whole row's exponentials, many times faster than one call of `exp` for each.

use std::sync::LazyLock;

use super::scan::{self, BLOCK, Maxima};
use super::steps::{self, Candidate};

/// Table entries for one unit of the exponent.
pub(super) const GRAIN: f64 = 32.0;
/// Exponentials below e^-REACH are left out of sums: 2^24 of them are less than an `f64` notices
/// beside the greatest, which is 1.
pub(super) const REACH: usize = 56;
/// Bands of a row's exponentials.
const BANDS: usize = REACH * GRAIN as usize;
/// Entries of the table, those from [`BANDS`] on being 0: a power of two, so that an index is cut
/// down to it by a mask.
pub(super) const TABLE_SIZE: usize = BANDS.next_power_of_two();

/// A block in which fewer tokens are allowed is not worked on as a whole.
const FEW: usize = 16;
/// A depth, in bands, beyond all that count.
pub(super) const BEYOND: f64 = BANDS as f64;
/// 1.5 · 2^52: added to a number below 2^31, it leaves the nearest integer in the last 32 bits.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0;

/// e^(-k / GRAIN).
static TABLE: LazyLock<[f64; TABLE_SIZE]> = LazyLock::new(|| {
    std::array::from_fn(|k| if k < BANDS { (-(k as f64) / GRAIN).exp() } else { 0.0 })
});

/// A row, what is allowed of it, the greatest logit of each block, and the temperature that divides
/// the logits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) logits: &'a [f32],
    pub(super) words: &'a [u32],
    pub(super) maxima: &'a [Maxima],
    pub(super) temperature: f64,
}

impl Row<'_> {
    /// The least logit that lies at most `reach` below `top` once divided by the temperature; a
    /// little less, so that rounding leaves none out.
    pub(super) fn down_to(&self, top: f64, reach: f64) -> f32 {
        let least = (top - reach) * self.temperature;
        let least = least - least.abs() * 1e-6 - 1e-30;
        (least as f32).clamp(f32::MIN, f32::MAX)
    }

    /// Calls `each` with every allowed token from `least` on and its logit, ascending.
    pub(super) fn for_each_from(&self, least: f32, mut each: impl FnMut(u32, f32)) {
        for (start, block, words) in scan::blocks(self.logits, self.words, self.maxima, least) {
            scan::for_each_from(block, words, least, |at, logit| {
                // Vocabularies are far smaller than u32::MAX.
                each((start + at) as u32, logit);
            });
        }
    }

    /// A token as the chain sees it after the temperature.
    pub(super) fn candidate(&self, token: u32, logit: f32) -> Candidate {
        Candidate { token, logit: f64::from(logit) / self.temperature }
    }

    /// The allowed tokens of a block and the changed ones (not allowed by the words), in order of
    /// token id.
    pub(super) fn block(&self, index: usize, changed: &[Candidate]) -> Vec<Candidate> {
        let start = index * BLOCK;
        let tokens = start..self.logits.len().min(start + BLOCK);
        let words = &self.words[start / scan::WORD..tokens.end.div_ceil(scan::WORD)];
        let mut candidates = Vec::with_capacity(BLOCK);
        scan::for_each(&self.logits[tokens.clone()], words, |at, logit| {
            candidates.push(self.candidate((start + at) as u32, logit));
        });
        candidates.extend(changed.iter().filter(|c| tokens.contains(&(c.token as usize))));
        candidates.sort_unstable_by_key(|c| c.token);
        candidates
    }

    /// Fills `candidates` with the allowed tokens from `least` on, and the changed ones (ascending,
    /// and not allowed by the words), in order of token id.
    pub(super) fn list(&self, least: f32, changed: &[Candidate], candidates: &mut Vec<Candidate>) {
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

    /// The sum of e^(logit / temperature − top) over the allowed tokens, none of them above `top`,
    /// with a relative error below 1e-12.
    pub(super) fn sum_of_exponentials(&self, top: f64) -> f64 {
        let mut sums = [0.0; 4];
        self.weigh(top, |_, bands, weights| {
            for (band, weight) in bands.iter().zip(weights) {
                sums[(band % 4) as usize] += weight;
            }
        });
        sums.iter().sum()
    }

    /// The standard deviation of the `count` allowed logits and the changed ones, none of them above
    /// `top`.
    pub(super) fn deviation(&self, (top, count): (f64, usize), changed: &[Candidate]) -> f64 {
        let count = count as f64;
        let of_all = |term: &dyn Fn(f64) -> f64| changed.iter().map(|c| term(c.logit)).sum::<f64>();
        let distances = self.sum(top, |distance| distance) + of_all(&|logit| logit - top);
        let mean = top + distances / count;
        let squares = self.sum(mean, |distance| distance * distance)
            + of_all(&|logit| (logit - mean).powi(2));
        (squares / count).sqrt()
    }

    /// The sum of a term of every allowed logit's distance from `start`, once it is divided by the
    /// temperature.
    fn sum(&self, start: f64, term: impl Fn(f64) -> f64) -> f64 {
        let (inverse, mut sums) = (1.0 / self.temperature, [0.0; 4]);
        for (_, block, words) in scan::blocks(self.logits, self.words, self.maxima, f32::MIN) {
            let block = scan::masked(block, words);
            for lanes in block.as_chunks::<4>().0 {
                for (logit, sum) in lanes.iter().zip(&mut sums) {
                    let distance = f64::from(*logit) * inverse - start;
                    *sum += if *logit >= f32::MIN { term(distance) } else { 0.0 };
                }
            }
        }
        sums.iter().sum()
    }

    /// A logit that no logit of the `k` most probable tokens is below: some `k` tokens reach it. −∞
    /// where the maxima tell nothing of so many.
    pub(super) fn least_of_most_probable(&self, k: usize) -> f32 {
        let mut maxima = self.maxima.as_flattened().to_vec();
        match k.checked_sub(1) {
            Some(last) if last < maxima.len() => {
                *maxima.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1
            }
            _ => f32::NEG_INFINITY,
        }
    }

    /// Calls `each` with the first token, the bands and the exponentials of every block that has
    /// some within the table's reach; what is forbidden or beyond reach has the weight 0.
    fn weigh(&self, top: f64, mut each: impl FnMut(usize, &[u32; BLOCK], &[f64; BLOCK])) {
        let (inverse, top) = (GRAIN / self.temperature, top * GRAIN);
        let (mut bands, mut weights) = ([0; BLOCK], [0.0; BLOCK]);
        let least = self.down_to(top / GRAIN, REACH as f64);
        for (start, block, words) in scan::blocks(self.logits, self.words, self.maxima, least) {
            if <&[u32; 4]>::try_from(words).is_ok_and(|words| scan::count(words) < FEW) {
                weights = [0.0; BLOCK];
                scan::for_each(block, words, |at, logit| {
                    let depth = top - f64::from(logit) * inverse;
                    bands[at] = (depth.min(BEYOND) + ROUND).to_bits() as u32;
                    weights[at] = exp(-depth / GRAIN);
                });
                each(start, &bands, &weights);
                continue;
            }
            exponentials(&scan::masked(block, words), inverse, top, &mut bands, &mut weights);
            each(start, &bands, &weights);
        }
    }
}

/// The bands and the exponentials of a block of logits, `inverse` and `top` being given in bands:
/// the table's entry times a short series of what remains. In loops without a branch, which become
/// vector instructions; −∞, NaN and what is beyond the table's reach have the weight 0.
#[inline(always)]
pub(super) fn exponentials(
    logits: &[f32; BLOCK],
    inverse: f64,
    top: f64,
    bands: &mut [u32; BLOCK],
    weights: &mut [f64; BLOCK],
) {
    for ((&logit, band), series) in logits.iter().zip(bands.iter_mut()).zip(weights.iter_mut()) {
        let depth = top - f64::from(logit) * inverse;
        // −∞ is beyond, and so is what forbidden NaN becomes.
        let depth = if depth < BEYOND { depth } else { BEYOND };
        // The nearest integer is in the last bits of the sum.
        let rounded = depth + ROUND;
        *band = rounded.to_bits() as u32;
        // At most 1/64: the next term of the series is below 1e-13.
        let r = ((rounded - ROUND) - depth) * (1.0 / GRAIN);
        *series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r / 120.0))));
    }
    let table = &*TABLE;
    for (&band, weight) in bands.iter().zip(weights) {
        *weight *= table[band as usize % TABLE_SIZE];
    }
}

/// The line that [`steps::pick`] describes, without a list of all tokens: it is measured block by
/// block, and where a point lies, one block is walked.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    row: Row<'a>,
    top: f64,
    /// Ascending, and not allowed by the row's words.
    changed: Vec<Candidate>,
    removed: Vec<u32>,
    /// Of each block.
    lengths: Vec<f64>,
}

impl<'a> Line<'a> {
    /// Measures the line of a row and its changed tokens, none of them above `top`.
    pub(super) fn new(row: &Row<'a>, top: f64, changed: Vec<Candidate>) -> Self {
        let mut lengths = vec![0.0; row.logits.len().div_ceil(BLOCK)];
        row.weigh(top, |start, _, weights| lengths[start / BLOCK] = weights.iter().sum());
        for c in &changed {
            lengths[c.token as usize / BLOCK] += exp(c.logit - top);
        }
        Self { row: *row, top, changed, removed: Vec::new(), lengths }
    }

    pub(super) fn length(&self) -> f64 {
        self.lengths.iter().sum()
    }

    /// The token at a point and its share of the line; `None` only where nothing is left.
    pub(super) fn at(&self, point: f64) -> Option<(u32, f64)> {
        let (block, rest) = block_at(&self.lengths, point)?;
        let (chosen, weight) = steps::at_point(&self.block(block), self.top, rest)?;
        Some((chosen.token, weight))
    }

    /// Takes a token out.
    pub(super) fn remove(&mut self, token: u32) {
        self.removed.push(token);
        let index = token as usize / BLOCK;
        // Summed anew, so that a block without tokens is exactly empty.
        self.lengths[index] = self.block(index).iter().map(|c| exp(c.logit - self.top)).sum();
    }

    fn block(&self, index: usize) -> Vec<Candidate> {
        let mut candidates = self.row.block(index, &self.changed);
        candidates.retain(|c| !self.removed.contains(&c.token));
        candidates
    }
}

/// The block in which a point of the line lies, and how far from the block's beginning; `None` only
/// where all are empty.
pub(super) fn block_at(lengths: &[f64], point: f64) -> Option<(usize, f64)> {
    let mut rest = point;
    let mut found = None;
    for (index, length) in lengths.iter().enumerate().filter(|(_, len)| **len > 0.0) {
        // Where rounding leaves the line shorter than the point, its last block is walked.
        found = Some((index, rest));
        if *length > rest {
            break;
        }
        rest -= length;
    }
    found
}

/// e^x for `x` of 0 or less, with a relative error below 1e-15: several times faster than the
/// standard library's where the table reaches.
#[inline]
pub(super) fn exp(x: f64) -> f64 {
    let depth = -x * GRAIN;
    // Of NaN as of all beyond the table it is what the standard library says.
    if depth.is_nan() || depth >= BEYOND - 1.0 {
        return x.exp();
    }
    let near = TABLE[(depth + 0.5) as usize % TABLE_SIZE];
    let r = x + ((depth + 0.5) as usize) as f64 / GRAIN;
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0));
    near * (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * tail))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_exponential() {
        assert_eq!(exp(0.0), 1.0);
        for i in 0..400_000 {
            let x = -f64::from(i) * 1.7e-4;
            let error = (exp(x) / x.exp() - 1.0).abs();
            assert!(error < 1e-15, "{x}: {error}");
        }
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(-800.0), 0.0);
    }

    #[test]
    fn sums_are_those_of_the_exponentials() {
        let logits: Vec<f32> = (0..300).map(|i| ((i * 7919) % 1000) as f32 / 37.0 - 20.0).collect();
        let words = [u32::MAX, 0x5555_5555, 0, u32::MAX, 3, 1 << 31, 7, 7, 7, 0xFFF];
        let mut maxima = Vec::new();
        let best = scan::scan(&logits, &words, &mut maxima, scan::Ends::Exact)
            .best
            .map(|b| f64::from(b.1));
        let top = best.unwrap();
        for temperature in [0.05, 0.7, 1.0, 30.0] {
            let row = Row { logits: &logits, words: &words, maxima: &maxima, temperature };
            let top = top / temperature;
            let allowed = |i: &usize| words[i / 32] >> (i % 32) & 1 == 1;
            let each = (0..300).filter(allowed).map(|i| f64::from(logits[i]) / temperature - top);
            let expected: f64 = each.map(f64::exp).sum();
            assert!((row.sum_of_exponentials(top) / expected - 1.0).abs() < 1e-12);
        }
    }
}
