//! Exponentials of logits by bands, for temperatures and ranges of logits that are known in
//! advance.
//!
//! A band holds logits that round to the same multiple of a power of two. So a logit is its band's
//! middle plus a remainder *without any rounding*, and its exponential is the table's entry of the
//! band times a short series of the remainder. The second number of each entry is the same above a
//! dividing band and 0 below it, so that one pass sums all tokens and those above the division.

use super::row_scan::BLOCK;
use crate::sampling::exp::EXP_REACH_NATS;

/// Least number of bands to a unit of the exponent: the series is exact to 1e-13 then.
const MIN_BANDS_PER_UNIT: f64 = 128.0;
/// Entries of the table; those beyond [`EXP_REACH_NATS`] are 0. A power of two, so that an index is
/// bounded by a mask.
pub(super) const ENTRIES: usize =
    (EXP_REACH_NATS * 2 * MIN_BANDS_PER_UNIT as usize + 2).next_power_of_two();
/// Number of bands over which the logits of a row are spread, if they lie closer together.
const SPREAD_BANDS: f64 = 2048.0;
/// Number of entries for which the exponential is called once; the others are products.
const STRIDE: usize = 64;
/// 1.5 · 2^23. Added to a number below 2^22, it leaves the nearest integer in the last bits.
const ROUND_TO_INTEGER: f32 = 12_582_912.0;
/// Upper bound of numbers that [`ROUND_TO_INTEGER`] rounds.
const MAX_ROUNDED: f32 = 4_194_303.0;
/// Greatest number of bands to a unit of the logits.
const MAX_BANDS_PER_LOGIT: f64 = (1u64 << 40) as f64;

/// A table of exponentials by bands, counted down from the greatest logit's. The exponential of the
/// uppermost band's middle is 1. Relative error below 1e-13.
#[derive(Clone, Debug)]
pub(super) struct BandTable {
    /// For each band: its exponential, and the same if it lies above the division, else 0.
    table: Box<[[f64; 2]; ENTRIES]>,
    /// The temperature of the entries; 0 before the first call of [`fit`](Self::fit).
    temperature: f64,
    /// Number of entries that are not 0.
    pub(super) count: usize,
    /// Whether the table ends before [`EXP_REACH_NATS`], so that deeper tokens must be weighed singly.
    pub(super) is_short: bool,
    /// Bands to a unit of the logits, a power of two.
    bands: f32,
    /// The uppermost band, counted from the logit 0.
    uppermost_band: f32,
    /// The bits of `uppermost_band` after rounding.
    uppermost_bits: u32,
    /// The middle of the uppermost band after the temperature.
    pub(super) start: f64,
    /// Logits up to this one are in the first band that is 0.
    pub(super) floor: f32,
    /// Coefficients of the series.
    coefficients: [f64; 4],
}

impl BandTable {
    /// A table that must be fitted.
    pub(super) fn empty() -> Self {
        Self {
            table: Box::new([[0.0; 2]; ENTRIES]),
            temperature: 0.0,
            count: 0,
            is_short: false,
            bands: 1.0,
            uppermost_band: 0.0,
            uppermost_bits: 0,
            start: 0.0,
            floor: 0.0,
            coefficients: [0.0; 4],
        }
    }

    /// Fits the bands to a row with logits up to `best`, most of them not below `least`. Returns
    /// whether that is possible: not if logits are huge or the temperature is tiny.
    pub(super) fn fit(&mut self, temperature: f64, best: f32, least: f32) -> bool {
        let fineness = (MIN_BANDS_PER_UNIT / temperature).log2().ceil().exp2();
        let (best, least) = (f64::from(best), f64::from(least).min(f64::from(best)));
        let spread = (SPREAD_BANDS / (best - least).max(f64::MIN_POSITIVE)).log2().floor().exp2();
        let most = best.abs().max(least.abs()).max(f64::from(f32::MIN_POSITIVE));
        let room = ((f64::from(MAX_ROUNDED) - ENTRIES as f64) / most).log2().floor().exp2();
        let bands = spread.min(room).min(MAX_BANDS_PER_LOGIT).max(fineness);
        if !(1.0 / MAX_BANDS_PER_LOGIT..=MAX_BANDS_PER_LOGIT).contains(&bands) || bands > room {
            return false;
        }
        if self.temperature != temperature || f64::from(self.bands) != bands {
            self.fill(temperature, bands);
        }
        let uppermost = (best * bands).round_ties_even();
        self.uppermost_band = uppermost as f32;
        self.uppermost_bits = (self.uppermost_band + ROUND_TO_INTEGER).to_bits();
        self.start = uppermost / bands / temperature;
        self.floor = (self.uppermost_band - self.count as f32) / self.bands;
        true
    }

    /// Computes the entries.
    fn fill(&mut self, temperature: f64, bands: f64) {
        (self.temperature, self.bands) = (temperature, bands as f32);
        // A band's width, in units of the exponent.
        let width = 1.0 / (bands * temperature);
        let band_count = (EXP_REACH_NATS as f64 / width).ceil();
        self.is_short = band_count >= (ENTRIES - 1) as f64;
        self.count = if self.is_short { ENTRIES - 1 } else { band_count as usize };
        let steps: [f64; STRIDE] = std::array::from_fn(|i| (-(i as f64) * width).exp());
        for (index, entries) in self.table[..self.count].chunks_mut(STRIDE).enumerate() {
            let first = (-((index * STRIDE) as f64) * width).exp();
            entries.iter_mut().zip(&steps).for_each(|(entry, step)| *entry = [first * step; 2]);
        }
        self.table[self.count..].fill([0.0; 2]);
        let inverse = 1.0 / temperature;
        let square = inverse * inverse;
        self.coefficients = [inverse, square / 2.0, square * inverse / 6.0, square * square / 24.0];
    }

    /// Sets the division: bands above `band` are summed apart from now on.
    pub(super) fn divide(&mut self, band: u32) {
        let (above, others) = self.table.split_at_mut(band as usize);
        above.iter_mut().for_each(|entry| entry[1] = entry[0]);
        others.iter_mut().for_each(|entry| entry[1] = 0.0);
    }

    /// The depth of a logit in bands, with a fraction; `None` if rounding leaves open which of two
    /// bands it is in.
    pub(super) fn depth(&self, logit: f64) -> Option<f64> {
        let depth = f64::from(self.uppermost_band) - logit * f64::from(self.bands);
        ((depth.fract().abs() - 0.5).abs() > 1e-6).then_some(depth)
    }

    /// Computes band and series of each logit of a block, in loops that become vector instructions.
    /// −∞, and NaN of forbidden tokens, are in a band that is 0.
    #[inline(always)]
    pub(super) fn read(
        &self,
        block: &[f32; BLOCK],
        bands: &mut [u32; BLOCK],
        series: &mut [f64; BLOCK],
    ) {
        let mut remainders = [0.0f32; BLOCK];
        let inverse = 1.0 / self.bands;
        for ((&logit, band), remainder) in block.iter().zip(bands).zip(&mut remainders) {
            let logit = if logit > self.floor { logit } else { self.floor };
            let rounded = logit * self.bands + ROUND_TO_INTEGER;
            *band = self.uppermost_bits.wrapping_sub(rounded.to_bits());
            // Exact, all being multiples of the logit's last bit.
            *remainder = logit - (rounded - ROUND_TO_INTEGER) * inverse;
        }
        let [a, b, c, d] = self.coefficients;
        for (&remainder, series) in remainders.iter().zip(series) {
            let r = f64::from(remainder);
            *series = 1.0 + r * (a + r * (b + r * (c + r * d)));
        }
    }

    /// The exponential of a logit from its band and series.
    pub(super) fn weight(&self, band: u32, series: f64) -> f64 {
        series * self.table[band as usize % ENTRIES][0]
    }

    /// The sum of a block's exponentials, and of those above the division.
    #[inline(always)]
    pub(super) fn sums(&self, bands: &[u32; BLOCK], series: &[f64; BLOCK]) -> [f64; 2] {
        /// Independent sums, so that no addition waits for the one before it.
        const CHAINS: usize = 4;
        let mut sums = [[0.0; 2]; CHAINS];
        for (bands, series) in
            bands.as_chunks::<CHAINS>().0.iter().zip(series.as_chunks::<CHAINS>().0)
        {
            for i in 0..CHAINS {
                let entry = self.table[bands[i] as usize % ENTRIES];
                sums[i] = [sums[i][0] + series[i] * entry[0], sums[i][1] + series[i] * entry[1]];
            }
        }
        std::array::from_fn(|i| sums.iter().map(|sum| sum[i]).sum())
    }
}
