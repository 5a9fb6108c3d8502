//! Sums of a whole row's exponentials, many times faster than one call of `exp` for each.

use std::sync::LazyLock;

use super::scan::{self, BLOCK};

/// Table entries for one unit of the exponent.
const GRAIN: f64 = 32.0;
/// Exponentials below e^-REACH are left out of sums: 2^24 of them are less than an `f64` notices
/// beside the greatest, which is 1.
const REACH: usize = 56;
/// Entries of the table, and bands of a [`Spectrum`].
const BANDS: usize = REACH * GRAIN as usize;

/// A depth, in bands, beyond any table.
const BEYOND: f64 = 1e6;
/// 1.5 · 2^52: added to a number below 2^31, it leaves the nearest integer in the last 32 bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// e^(-k / GRAIN).
static TABLE: LazyLock<[f64; BANDS]> =
    LazyLock::new(|| std::array::from_fn(|k| (-(k as f64) / GRAIN).exp()));

/// The allowed logits of a row by how far they lie below the greatest: in bands of a 32nd.
#[derive(Clone, Debug)]
pub(super) struct Spectrum {
    /// The sum of the exponentials in each band, the greatest logit's being 1.
    weights: Vec<f64>,
    /// The number of tokens in each band.
    counts: Vec<u32>,
}

/// A row, what is allowed of it, the greatest logit of each block, and the temperature that divides
/// the logits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) logits: &'a [f32],
    pub(super) words: &'a [u32],
    pub(super) maxima: &'a [f32],
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

    /// The sum of e^(logit / temperature − top) over the allowed tokens, none of them above `top`,
    /// with a relative error below 1e-12.
    pub(super) fn sum_of_exponentials(&self, top: f64) -> f64 {
        let mut sums = [0.0; 4];
        self.weigh(top, |band, weight| sums[band % 4] += weight);
        sums.iter().sum()
    }

    /// The same sum by bands.
    pub(super) fn spectrum(&self, top: f64) -> Spectrum {
        let (mut weights, mut counts) = (vec![0.0; BANDS], vec![0; BANDS]);
        self.weigh(top, |band, weight| {
            weights[band] += weight;
            counts[band] += 1;
        });
        Spectrum { weights, counts }
    }

    /// Calls `each` with the band and the exponential of every allowed token down to the table's
    /// reach: the table's entry times a short series of what remains. The arithmetic is done for
    /// whole blocks, in loops without a branch that become vector instructions.
    fn weigh(&self, top: f64, mut each: impl FnMut(usize, f64)) {
        let table = &*TABLE;
        let (inverse, top) = (GRAIN / self.temperature, top * GRAIN);
        let (mut bands, mut series) = ([0; BLOCK], [0.0; BLOCK]);
        let least = self.down_to(top / GRAIN, REACH as f64);
        for (_, block, words) in scan::blocks(self.logits, self.words, self.maxima, least) {
            for ((&logit, band), series) in block.iter().zip(&mut bands).zip(&mut series) {
                let depth = top - f64::from(logit) * inverse;
                // Beyond the table, and −∞ with it. NaN cannot be: only allowed ones count.
                let depth = if depth < BEYOND { depth } else { BEYOND };
                // The nearest integer is in the last bits of the sum.
                let rounded = depth + ROUND;
                *band = rounded.to_bits() as u32;
                // At most 1/64: the next term of the series is below 1e-13.
                let r = ((rounded - ROUND) - depth) * (1.0 / GRAIN);
                *series =
                    1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r / 120.0))));
            }
            scan::for_each(block, words, |at, _| {
                let band = bands[at] as usize;
                if let Some(near) = table.get(band) {
                    each(band, near * series[at]);
                }
            });
        }
    }
}

/// e^x for `x` of 0 or less, with a relative error below 1e-15: several times faster than the
/// standard library's where the table reaches.
#[inline]
pub(super) fn exp(x: f64) -> f64 {
    let depth = -x * GRAIN;
    // Of 0 it is 1, and of NaN as of all beyond the table what the standard library says.
    let Some(near) = (depth < BEYOND).then(|| TABLE.get((depth + 0.5) as usize)).flatten() else {
        return x.exp();
    };
    let r = x + ((depth + 0.5) as usize) as f64 / GRAIN;
    let tail = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0));
    near * (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * tail))))
}

impl Spectrum {
    /// The sum of all bands.
    pub(super) fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// How far below the greatest logit the bands lie that together weigh `weight`; beyond any
    /// logit if all do not.
    pub(super) fn reach_of_weight(&self, weight: f64) -> f64 {
        let mut sum = 0.0;
        let full = self.weights.iter().position(|w| {
            sum += w;
            sum >= weight
        });
        reach(full)
    }

    /// The same for a number of tokens.
    pub(super) fn reach_of_count(&self, count: usize) -> f64 {
        let mut sum = 0;
        let full = self.counts.iter().position(|&n| {
            sum += n as usize;
            sum >= count
        });
        reach(full)
    }
}

/// The far end of the band after this one, where a sum that rounding left short would end.
fn reach(band: Option<usize>) -> f64 {
    band.map_or(f64::INFINITY, |band| (band as f64 + 1.5) / GRAIN)
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
        let best = scan::scan(&logits, &words, &mut maxima).best.map(|b| f64::from(b.1));
        let top = best.unwrap();
        for temperature in [0.05, 0.7, 1.0, 30.0] {
            let row = Row { logits: &logits, words: &words, maxima: &maxima, temperature };
            let top = top / temperature;
            let allowed = |i: &usize| words[i / 32] >> (i % 32) & 1 == 1;
            let each = (0..300).filter(allowed).map(|i| f64::from(logits[i]) / temperature - top);
            let expected: f64 = each.map(f64::exp).sum();
            assert!((row.sum_of_exponentials(top) / expected - 1.0).abs() < 1e-12);
            assert!((row.spectrum(top).total() / expected - 1.0).abs() < 1e-12);
        }
    }
}
