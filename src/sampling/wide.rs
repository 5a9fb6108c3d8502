//! Top-p where much of a long row stays: draws from the nucleus without a list of it.
//!
//! A part of the blocks tells between which two bands of logits the nucleus ends, a few standard
//! errors apart. Then one pass over the row weighs every token in `f64`, sums what lies above for
//! each block, and lists what lies between. Of that list the last token of the nucleus is selected,
//! so what is kept is what [`steps::top_p`] keeps; the point of a draw is looked for among the
//! blocks' sums. Where the sample misled, which the sums show, the caller takes the other way
//! ([`super::nucleus`]).

use super::exponential::{REACH, Row, block_at, exp};
use super::scan::{self, BLOCK};
use super::select::{Key, reach};
use super::steps::{self, Candidate};

/// Of so many blocks one is looked at in advance.
const SAMPLE: usize = 16;
/// As many of the greatest logits are no matter of the sample: a row's weight may lie on few tokens.
const HEAVY: usize = 512;
/// Standard errors of the sample between which the nucleus is taken to end.
const ERRORS: f64 = 4.0;
/// Bands to a unit of the exponent, at least.
const FINENESS: f64 = 128.0;
/// Entries of the table, those beyond the reach being 0.
const ENTRIES: usize = (REACH * 2 * FINENESS as usize + 2).next_power_of_two();
/// Bands over which a row is spread that lies closer together.
const SPREAD: f64 = 2048.0;
/// Entries of the table that are computed by a product with one of the entries before.
const STRIDE: usize = 64;
/// Relative error of sums.
const ROUNDING: f64 = 1e-12;
/// 1.5 · 2^23: added to a number below 2^22, it leaves the nearest integer in the last bits.
const ROUND: f32 = 12_582_912.0;
/// Numbers below this are rounded by [`ROUND`].
const ROUNDED: f32 = 4_194_303.0;
/// Bands to a unit of the logits, at most.
const MOST_BANDS: f64 = (1u64 << 40) as f64;
/// Of so many tokens one may lie deeper than the table reaches.
const DEEP: usize = 16;
/// Of so many tokens one may lie between the two bands.
const FEW: usize = 4;

/// Exponentials of logits by bands, from the middle of the uppermost one on: the entry of a band's
/// middle, times a series of what remains. Relative error below 1e-13.
#[derive(Clone, Debug)]
struct Grid {
    /// Of each band from the uppermost one down: its exponential, and the same above a band, else 0.
    table: Box<[[f64; 2]; ENTRIES]>,
    /// Of which temperature the table is; 0 of none.
    temperature: f64,
    /// Bands that are not 0.
    count: usize,
    /// Does the table end within the reach of what counts?
    short: bool,
    /// Bands to a unit of the logits, a power of two: so a logit is its band's middle and what
    /// remains without any rounding.
    bands: f32,
    /// The uppermost band, as a number and as the bits of that after rounding.
    top: f32,
    top_bits: u32,
    /// The middle of that band, divided by the temperature.
    start: f64,
    /// What is not above this is in the first band that is 0.
    floor: f32,
    /// Of the series.
    coefficients: [f64; 4],
}

/// What is worked with; kept for its memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Wide {
    grid: Option<Grid>,
    /// The weight that each block has in the nucleus.
    blocks: Vec<f64>,
    /// Tokens between the two bands by their logits, with their weights.
    between: Vec<(Key, f64)>,
    /// Bands, logits and weights of the sample.
    sample: Vec<(u32, f32, f64)>,
    /// The sample's weight by bands.
    spectrum: Vec<f64>,
}

/// What is known of a nucleus.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// The least probable token that stays.
    pub(super) last: Candidate,
    /// How many stay.
    pub(super) count: usize,
    /// The sum of their exponentials.
    pub(super) sum: f64,
}

/// Two bands between which the nucleus ends, both included, counted from the uppermost one.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    high: u32,
    low: u32,
    /// The one logit that there is between them, as far as the sample tells.
    alike: Option<f32>,
}

impl Wide {
    /// Finds the nucleus of the row's allowed tokens, up to the logit `best`, and the changed ones,
    /// none of them above `top`, from where on exponentials count. `None` where it is not wide, or where the sample misled.
    pub(super) fn find(
        &mut self,
        row: &Row<'_>,
        (top, best): (f64, f32),
        changed: &[Candidate],
        p: f64,
    ) -> Option<Kept> {
        let mut grid = self.grid.take().unwrap_or_else(Grid::empty);
        let kept = match grid.fit(row.temperature, best, sampled_least(row)) {
            true => self.search(row, &mut grid, changed, p),
            false => None,
        };
        let scale = (grid.start - top).exp();
        self.blocks.iter_mut().for_each(|weight| *weight *= scale);
        self.grid = Some(grid);
        kept.map(|kept| Kept { sum: kept.sum * scale, ..kept })
    }

    fn search(
        &mut self,
        row: &Row<'_>,
        grid: &mut Grid,
        changed: &[Candidate],
        p: f64,
    ) -> Option<Kept> {
        let Bracket { high, low, alike } = self.bracket(row, grid, changed, p)?;
        grid.divide(high);
        self.between.clear();
        self.blocks.clear();
        self.blocks.resize(row.logits.len().div_ceil(BLOCK), 0.0);
        let (mut total, mut above, mut count, mut inside, mut deep) = (0.0, 0.0, 0, 0, 0);
        let (mut bands, mut series) = ([0; BLOCK], [0.0; BLOCK]);
        let least = if grid.short { f32::MIN } else { grid.floor };
        for (start, block, words) in scan::blocks(row.logits, row.words, row.maxima, least) {
            let copy;
            let block = match <&[f32; BLOCK]>::try_from(block) {
                Ok(block) if *words == scan::WHOLE => block,
                _ => {
                    copy = scan::masked(block, words);
                    &copy
                }
            };
            grid.read(block, &mut bands, &mut series);
            let [all, over] = grid.sums(&bands, &series);
            total += all;
            above += over;
            self.blocks[start / BLOCK] = over;
            count += bands.iter().map(|&band| u32::from(band < high)).sum::<u32>() as usize;
            for (index, part) in bands.as_chunks::<{ scan::WORD }>().0.iter().enumerate() {
                let found = scan::bits_of(part, |band| band.wrapping_sub(high) <= low - high);
                inside += found.count_ones() as usize;
                if alike.is_some() {
                    continue;
                }
                scan::for_each_bit(found, |bit| {
                    let at = index * scan::WORD + bit;
                    // Vocabularies are far smaller than u32::MAX.
                    let c = Candidate { token: (start + at) as u32, logit: f64::from(block[at]) };
                    self.between.push((Key::new(&c), grid.weight(bands[at], series[at])));
                });
            }
            let is_deep =
                |(&logit, &band): (&f32, &u32)| (band as usize == grid.count) & (logit >= f32::MIN);
            // Not `any`, which would look at one after the other.
            let tokens = || block.iter().zip(&bands);
            if grid.short && tokens().fold(false, |any, token| any | is_deep(token)) {
                for (&logit, _) in tokens().filter(|token| is_deep(*token)) {
                    deep += 1;
                    total += exp(row.candidate(0, logit).logit - grid.start);
                }
                if deep > row.logits.len() / DEEP {
                    return None;
                }
            }
        }
        // Before the temperature, as long as they need not be compared with changed ones.
        let mut of_model = true;
        for c in changed {
            let weight = (c.logit - grid.start).exp();
            let depth = grid.depth(c.logit * row.temperature)?;
            total += weight;
            if depth < f64::from(high) - 0.5 {
                above += weight;
                count += 1;
                self.blocks[c.token as usize / BLOCK] += weight;
            } else if depth < f64::from(low) + 0.5 {
                if alike.is_some() {
                    return None;
                }
                inside += 1;
                if std::mem::take(&mut of_model) {
                    for (key, _) in &mut self.between {
                        let Candidate { token, logit } = key.candidate();
                        *key = Key::new(&row.candidate(token, logit as f32));
                    }
                }
                self.between.push((Key::new(c), weight));
            }
        }
        let wanted = p * total - above;
        if wanted <= 0.0 {
            return None;
        }
        let (last, between) = match alike {
            Some(logit) => self.count_alike(row, grid, (logit, inside), wanted)?,
            None => self.select(wanted)?,
        };
        let last = match of_model && alike.is_none() {
            true => row.candidate(last.token, last.logit as f32),
            false => last,
        };
        Some(Kept { last, count: count + between, sum: self.blocks.iter().sum() })
    }

    /// The bands between which the nucleus ends, as far as some blocks tell.
    fn bracket(
        &mut self,
        row: &Row<'_>,
        grid: &Grid,
        changed: &[Candidate],
        p: f64,
    ) -> Option<Bracket> {
        let cut = row.least_of_most_probable(HEAVY);
        let mut known: f64 = changed.iter().map(|c| (c.logit - grid.start).exp()).sum();
        row.for_each_from(cut.next_up(), |token, logit| {
            known += (row.candidate(token, logit).logit - grid.start).exp();
        });
        self.sample.clear();
        self.spectrum.clear();
        self.spectrum.resize(ENTRIES, 0.0);
        let mut total = known;
        let (mut bands, mut series) = ([0; BLOCK], [0.0; BLOCK]);
        for block in sampled(row) {
            grid.read(&block, &mut bands, &mut series);
            for ((&logit, &band), &series) in block.iter().zip(&bands).zip(&series) {
                let weight = grid.weight(band, series) * SAMPLE as f64;
                if weight > 0.0 && logit <= cut {
                    self.spectrum[band as usize % ENTRIES] += weight;
                    self.sample.push((band, logit, weight));
                    total += weight;
                }
            }
        }
        let wanted = p * total - known;
        // Where the sample ends before, the last band of the table.
        let reaches = |mut wanted: f64| {
            let band = self.spectrum[..grid.count].iter().position(|weight| {
                wanted -= weight;
                wanted <= 0.0
            });
            // Bands are far fewer than u32::MAX.
            band.unwrap_or(grid.count - 1) as u32
        };
        let end = reaches(wanted);
        let deviation = |&(band, _, weight): &(u32, f32, f64)| {
            let inside = if band < end { 1.0 } else { 0.0 };
            (weight * (inside - p)).powi(2)
        };
        let error = ERRORS * self.sample.iter().map(deviation).sum::<f64>().sqrt();
        if wanted <= error {
            return None;
        }
        let (high, low) = (reaches(wanted - error), reaches(wanted + error));
        let between = || self.sample.iter().filter(|(band, ..)| (high..=low).contains(band));
        let first = between().next().map(|(_, logit, _)| *logit);
        let alike = first.filter(|first| between().all(|(_, logit, _)| logit == first));
        if alike.is_none() && between().count() > self.sample.len() / FEW {
            return None;
        }
        Some(Bracket { high, low, alike })
    }

    /// The token between the two bands with which the sum reaches what is wanted, and how many stay of
    /// those between; their weights are added to their blocks.
    fn select(&mut self, wanted: f64) -> Option<(Candidate, usize)> {
        let (last, _) = reach(&mut self.between, wanted)?;
        let mut count = 0;
        for (key, weight) in self.between.iter().filter(|(key, _)| *key <= last) {
            count += 1;
            self.blocks[key.token() as usize / BLOCK] += weight;
        }
        Some((last.candidate(), count))
    }

    /// The same for as many tokens that all have one logit: those of the lowest ids stay.
    fn count_alike(
        &mut self,
        row: &Row<'_>,
        grid: &Grid,
        (logit, inside): (f32, usize),
        wanted: f64,
    ) -> Option<(Candidate, usize)> {
        let weight = (row.candidate(0, logit).logit - grid.start).exp();
        // Nine of ten equal ones have nine tenths, whatever the last bits of the sums say.
        let count = (wanted / weight * (1.0 - ROUNDING)).ceil() as usize;
        let (mut equal, mut last) = (0, 0);
        for (start, block, words) in scan::blocks(row.logits, row.words, row.maxima, logit) {
            let block = scan::masked(block, words);
            for (index, part) in block.as_chunks::<{ scan::WORD }>().0.iter().enumerate() {
                let found = scan::bits_of(part, |other| other == logit);
                let (before, here) = (equal, found.count_ones() as usize);
                equal += here;
                self.blocks[start / BLOCK] +=
                    here.min(count.saturating_sub(before)) as f64 * weight;
                if (before + 1..=equal).contains(&count) {
                    let mut rank = before;
                    scan::for_each_bit(found, |bit| {
                        rank += 1;
                        if rank == count {
                            last = (start + index * scan::WORD + bit) as u32;
                        }
                    });
                }
            }
        }
        // The sample may have missed others.
        (equal == inside && (1..=equal).contains(&count))
            .then(|| (row.candidate(last, logit), count))
    }

    /// The token at a point of the line on which each token of the nucleus, in order of token id, has
    /// its exponential from `top` on for length, with that.
    pub(super) fn at(
        &self,
        row: &Row<'_>,
        kept: &Kept,
        (top, changed): (f64, &[Candidate]),
        point: f64,
    ) -> Option<(u32, f64)> {
        let (block, rest) = block_at(&self.blocks, point)?;
        let mut candidates = row.block(block, changed);
        candidates.retain(|c| steps::by_probability(c, &kept.last).is_le());
        let (chosen, weight) = steps::at_point(&candidates, top, rest)?;
        Some((chosen.token, weight))
    }
}

/// The blocks that are looked at in advance, −∞ standing for what is forbidden.
fn sampled(row: &Row<'_>) -> impl Iterator<Item = [f32; BLOCK]> {
    let blocks = scan::blocks(row.logits, row.words, row.maxima, f32::MIN).step_by(SAMPLE);
    blocks.map(|(_, block, words)| scan::masked(block, words))
}

/// The least logit of these.
fn sampled_least(row: &Row<'_>) -> f32 {
    let finite = |logit: &f32| *logit >= f32::MIN;
    sampled(row).flatten().filter(finite).fold(f32::MAX, f32::min)
}

impl Grid {
    fn empty() -> Self {
        Self {
            table: Box::new([[0.0; 2]; ENTRIES]),
            temperature: 0.0,
            count: 0,
            short: false,
            bands: 1.0,
            top: 0.0,
            top_bits: 0,
            start: 0.0,
            floor: 0.0,
            coefficients: [0.0; 4],
        }
    }

    /// Divides logits into bands, up to `best`, most of them not below `least`. Says whether the logits can be divided into bands: not where they are huge, or
    /// the temperature tiny.
    fn fit(&mut self, temperature: f64, best: f32, least: f32) -> bool {
        let fineness = (FINENESS / temperature).log2().ceil().exp2();
        let (best, least) = (f64::from(best), f64::from(least).min(f64::from(best)));
        let spread = (SPREAD / (best - least).max(f64::MIN_POSITIVE)).log2().floor().exp2();
        let most = best.abs().max(least.abs()).max(f64::from(f32::MIN_POSITIVE));
        let room = ((f64::from(ROUNDED) - ENTRIES as f64) / most).log2().floor().exp2();
        let bands = spread.min(room).min(MOST_BANDS).max(fineness);
        if !(1.0 / MOST_BANDS..=MOST_BANDS).contains(&bands) || bands > room {
            return false;
        }
        if self.temperature != temperature || f64::from(self.bands) != bands {
            self.fill(temperature, bands);
        }
        let uppermost = (best * bands).round_ties_even();
        self.top = uppermost as f32;
        self.top_bits = (self.top + ROUND).to_bits();
        self.start = uppermost / bands / temperature;
        self.floor = (self.top - self.count as f32) / self.bands;
        true
    }

    fn fill(&mut self, temperature: f64, bands: f64) {
        (self.temperature, self.bands) = (temperature, bands as f32);
        // A band's width, in units of the exponent.
        let width = 1.0 / (bands * temperature);
        let whole = (REACH as f64 / width).ceil();
        self.short = whole >= (ENTRIES - 1) as f64;
        self.count = if self.short { ENTRIES - 1 } else { whole as usize };
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

    /// From here on what lies above this band is summed apart.
    fn divide(&mut self, band: u32) {
        let (above, others) = self.table.split_at_mut(band as usize);
        above.iter_mut().for_each(|entry| entry[1] = entry[0]);
        others.iter_mut().for_each(|entry| entry[1] = 0.0);
    }

    /// How many bands lie above a logit, with what is left of a band; `None` where it is next to the
    /// border of two.
    fn depth(&self, logit: f64) -> Option<f64> {
        let depth = f64::from(self.top) - logit * f64::from(self.bands);
        ((depth.fract().abs() - 0.5).abs() > 1e-6).then_some(depth)
    }

    /// The bands of a block's logits, and the series of what remains. Loops without a branch, which
    /// become vector instructions; −∞, and NaN that the mask forbids, are in the band that is 0.
    #[inline(always)]
    fn read(&self, block: &[f32; BLOCK], bands: &mut [u32; BLOCK], series: &mut [f64; BLOCK]) {
        let mut remainders = [0.0f32; BLOCK];
        let inverse = 1.0 / self.bands;
        for ((&logit, band), remainder) in block.iter().zip(bands).zip(&mut remainders) {
            let logit = if logit > self.floor { logit } else { self.floor };
            let rounded = logit * self.bands + ROUND;
            *band = self.top_bits.wrapping_sub(rounded.to_bits());
            // Exact, all being multiples of the logit's last bit.
            *remainder = logit - (rounded - ROUND) * inverse;
        }
        let [a, b, c, d] = self.coefficients;
        for (&remainder, series) in remainders.iter().zip(series) {
            let r = f64::from(remainder);
            *series = 1.0 + r * (a + r * (b + r * (c + r * d)));
        }
    }

    fn weight(&self, band: u32, series: f64) -> f64 {
        series * self.table[band as usize % ENTRIES][0]
    }

    /// The sum of a block's exponentials, and of those above the division.
    #[inline(always)]
    fn sums(&self, bands: &[u32; BLOCK], series: &[f64; BLOCK]) -> [f64; 2] {
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

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::super::scan::Ends;
    use super::*;
    use crate::vocabulary::TokenMask;

    /// What is kept, and what is drawn, is what the plain steps keep and draw, on rows from level to
    /// steep, with ties, masks, changed tokens and deep ones.
    #[test]
    fn a_wide_nucleus_is_what_the_plain_step_keeps() {
        let mut rng = ChaCha8Rng::seed_from_u64(21);
        let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (mut wide, mut found) = (Wide::default(), 0);
        let deviations = [0.0, 1e-6, 1e-3, 0.1, 1.0, 2.0, 3.0, 6.0];
        for round in 0..96 {
            let width = 20_000 + (uniform() * 40_000.0) as usize;
            let deviation = deviations[round % 8];
            // Logits with eight bits of precision have many ties.
            let coarse = round % 3 == 0;
            let shift = [0.0, 30.0, -200.0][round % 5 % 3];
            let logits: Vec<f32> = (0..width)
                .map(|token| {
                    let (a, b) = (1.0 - uniform(), uniform());
                    let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
                    let logit = (deviation * normal + shift) as f32;
                    match token % 1013 {
                        7 if round % 4 == 1 => logit - 20.0,
                        9 if round % 4 == 1 => f32::NEG_INFINITY,
                        _ if coarse => f32::from_bits(logit.to_bits() & 0xFFFF_0000),
                        _ => logit,
                    }
                })
                .collect();
            let temperature = 0.3 + 1.7 * uniform();
            let p = [uniform(), 0.9, 0.95, 0.999][round % 4];
            let share = if round % 2 == 0 { 2.0 } else { 0.8 };
            let mut mask = TokenMask::new(width);
            (0..width as u32).filter(|_| uniform() < share).for_each(|token| mask.allow(token));
            let mut changed = Vec::new();
            let changes = if round % 5 < 2 { 0 } else { 997 };
            for token in (0..width as u32).filter(|token| changes > 0 && token % changes == 5) {
                mask.deny(token);
                let logit =
                    (f64::from(logits[token as usize]) + 4.0 * uniform() - 3.0) / temperature;
                changed.push(Candidate { token, logit });
            }
            changed.retain(|c| c.logit.is_finite());
            let mut maxima = Vec::new();
            let scan = scan::scan(&logits, mask.words(), &mut maxima, Ends::Exact);
            let row = Row { logits: &logits, words: mask.words(), maxima: &maxima, temperature };
            let best = scan.best.unwrap().1;
            let of_row = f64::from(best) / temperature;
            let top = changed.iter().map(|c| c.logit).fold(of_row, f64::max);
            let mut plain = Vec::new();
            row.list(f32::NEG_INFINITY, &changed, &mut plain);
            steps::top_p(&mut plain, p);
            let Some(kept) = wide.find(&row, (top, best), &changed, p) else { continue };
            found += 1;
            let mut listed = Vec::new();
            row.list_kept(&kept.last, f32::MIN, &changed, &mut listed);
            assert_eq!((listed.len(), kept.count), (plain.len(), plain.len()), "{round} {kept:?}");
            assert_eq!(listed, plain, "{round}");
            for point in [0.0, uniform(), uniform(), 1.0 - 1e-9] {
                let (expected, probability) = steps::pick(&plain, point).unwrap();
                let drawn = wide.at(&row, &kept, (top, &changed), point * kept.sum).unwrap();
                assert_eq!(drawn.0, expected.token, "{round}");
                assert!((drawn.1 / kept.sum / probability - 1.0).abs() < 1e-11, "{round}");
            }
        }
        assert!(found > 60, "{found}");
    }
}
