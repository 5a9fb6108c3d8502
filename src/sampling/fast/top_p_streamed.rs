//! Top-p where much of a long row stays: draws from the nucleus without a list of it.
//!
//! A flat distribution may have a nucleus of 100,000 tokens. Here no list of it is made:
//!
//! 1. **Bracket.** Every sixteenth block is weighed. The sample's cumulative weights give two bands
//!    of logits between which the nucleus ends, four standard errors to each side.
//! 2. **Pass.** One pass weighs every token in `f64`, sums for each block the tokens above the
//!    upper band, and lists the tokens between the bands.
//! 3. **Select.** Among those the last token of the nucleus is selected by weighted quickselect.
//! 4. **Draw.** The point of the draw is looked for among the blocks' sums; one block is walked.
//!
//! Why it is exact: the sums of step 2 are of all tokens, so they show whether the nucleus really
//! ends between the bands. If it does, the token selected in step 3 is the one at which
//! [`steps::top_p`] ends. If the sample misled, the result is `None` and the caller lists
//! ([`top_p_listed`](super::top_p_listed)). Where all tokens between the bands have one logit, they
//! are counted instead of listed.

use super::band_table::{BandTable, ENTRIES};
use super::block_line::block_at;
use super::masked_row::MaskedRow;
use super::row_scan::{self, BLOCK};
use crate::sampling::exp::exp;
use crate::sampling::steps::{self, Candidate, CandidateKey};
use crate::sampling::weighted_select::select_by_weight;

/// Distance of the blocks of the sample: one block of this number is weighed in advance.
const SAMPLE_INTERVAL: usize = 16;
/// Number of greatest logits that are weighed exactly instead of by the sample: a row's weight may
/// lie on few tokens.
const EXACT_GREATEST_LOGITS: usize = 512;
/// Half the width of the bracket in standard errors of the sample.
const BRACKET_STANDARD_ERRORS: f64 = 4.0;
/// Relative error of sums in `f64`.
const ROUNDING: f64 = 1e-12;
/// At most one token in this many may lie deeper than the table reaches; each costs a call of `exp`.
const TOKENS_PER_DEEP_TOKEN: usize = 16;
/// At most one token of this number of sampled tokens may lie in the bracket; for more, listing
/// costs less.
const TOKENS_PER_BRACKETED_TOKEN: usize = 4;

/// Scratch memory of the search, kept between draws.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamedTopP {
    table: Option<BandTable>,
    /// The weight of each block's tokens in the nucleus.
    blocks: Vec<f64>,
    /// Tokens in the bracket with their weights.
    between: Vec<(CandidateKey, f64)>,
    /// Bands, logits and weights of the sample's tokens.
    sample: Vec<(u32, f32, f64)>,
    /// The sample's weight by bands.
    spectrum: Vec<f64>,
}

/// A nucleus, described by its last token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NucleusBound {
    /// The least probable token that stays.
    pub(crate) last: Candidate,
    /// The number of tokens that stay.
    pub(crate) count: usize,
    /// The sum of their exponentials.
    pub(crate) sum: f64,
}

/// Two bands, both included, between which the nucleus ends; counted from the uppermost band.
#[derive(Clone, Copy, Debug)]
struct BandBracket {
    high: u32,
    low: u32,
    /// The only logit between them, if the sample has one.
    only_logit: Option<f32>,
}

/// The sums of one pass over a row.
#[derive(Clone, Copy, Debug, Default)]
struct PassSums {
    /// The weight of all candidates.
    total: f64,
    /// The weight of those above the bracket.
    above: f64,
    /// The number of those above the bracket.
    count: usize,
    /// The number of those inside the bracket.
    inside: usize,
}

/// The scale of the logits in the list's keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyScale {
    BeforeTemperature,
    AfterTemperature,
}

impl StreamedTopP {
    /// Finds the nucleus of probability `p` of the row and the changed candidates. `best` is the
    /// row's greatest logit; no candidate is above `max_logit`, whose exponential counts as 1. `None` if
    /// the nucleus is not wide, or if the sample misled.
    pub(crate) fn find(
        &mut self,
        row: &MaskedRow<'_>,
        (max_logit, best): (f64, f32),
        changed: &[Candidate],
        p: f64,
    ) -> Option<NucleusBound> {
        let mut table = self.table.take().unwrap_or_else(BandTable::empty);
        let kept = if table.fit(row.temperature, best, sampled_least(row)) {
            self.search(row, &mut table, changed, p)
        } else {
            None
        };
        let scale = (table.start - max_logit).exp();
        self.blocks.iter_mut().for_each(|weight| *weight *= scale);
        self.table = Some(table);
        kept.map(|kept| NucleusBound { sum: kept.sum * scale, ..kept })
    }

    /// Bracket, pass and selection. Exponentials count from the table's start.
    fn search(
        &mut self,
        row: &MaskedRow<'_>,
        table: &mut BandTable,
        changed: &[Candidate],
        p: f64,
    ) -> Option<NucleusBound> {
        let bracket = self.bracket(row, table, changed, p)?;
        table.divide(bracket.high);
        let mut sums = self.pass(row, table, bracket)?;
        let scale = self.add_changed(row, table, bracket, changed, &mut sums)?;
        let wanted = p * sums.total - sums.above;
        if wanted <= 0.0 {
            return None;
        }
        let (last, between) = match bracket.only_logit {
            Some(logit) => self.select_equal(row, table, (logit, sums.inside), wanted)?,
            None => {
                let (last, between) = self.select(wanted)?;
                let last = match scale {
                    KeyScale::BeforeTemperature => row.candidate(last.token, last.logit as f32),
                    KeyScale::AfterTemperature => last,
                };
                (last, between)
            }
        };
        let sum = self.blocks.iter().sum();
        Some(NucleusBound { last, count: sums.count + between, sum })
    }

    /// Weighs every token of the row, sums those above the bracket for each block, and lists those
    /// inside unless they have one logit. `None` if too many tokens lie deeper than the table
    /// reaches.
    fn pass(
        &mut self,
        row: &MaskedRow<'_>,
        table: &BandTable,
        BandBracket { high, low, only_logit }: BandBracket,
    ) -> Option<PassSums> {
        self.between.clear();
        self.blocks.clear();
        self.blocks.resize(row.logits.len().div_ceil(BLOCK), 0.0);
        let (mut sums, mut deep) = (PassSums::default(), 0);
        let (mut bands, mut series) = ([0; BLOCK], [0.0; BLOCK]);
        let least = if table.is_short { f32::MIN } else { table.floor };
        for (start, block, words) in row_scan::blocks(row.logits, row.words, row.maxima, least) {
            let copy;
            let block = match <&[f32; BLOCK]>::try_from(block) {
                Ok(block) if *words == row_scan::ALL_ALLOWED => block,
                _ => {
                    copy = row_scan::masked(block, words);
                    &copy
                }
            };
            table.read(block, &mut bands, &mut series);
            let [all, above] = table.sums(&bands, &series);
            sums.total += all;
            sums.above += above;
            self.blocks[start / BLOCK] = above;
            sums.count += bands.iter().map(|&band| u32::from(band < high)).sum::<u32>() as usize;
            for (index, part) in bands.as_chunks::<{ row_scan::WORD }>().0.iter().enumerate() {
                let found = row_scan::bits_of(part, |band| band.wrapping_sub(high) <= low - high);
                sums.inside += found.count_ones() as usize;
                if only_logit.is_some() {
                    continue;
                }
                row_scan::for_each_bit(found, |bit| {
                    let at = index * row_scan::WORD + bit;
                    // Vocabularies are far smaller than u32::MAX.
                    let c = Candidate { token: (start + at) as u32, logit: f64::from(block[at]) };
                    self.between.push((CandidateKey::new(&c), table.weight(bands[at], series[at])));
                });
            }
            let is_deep = |(&logit, &band): (&f32, &u32)| {
                (band as usize == table.count) & (logit >= f32::MIN)
            };
            // A fold, not `any`, so that the loop has no branch.
            let tokens = || block.iter().zip(&bands);
            if table.is_short && tokens().fold(false, |any, token| any | is_deep(token)) {
                for (&logit, _) in tokens().filter(|token| is_deep(*token)) {
                    deep += 1;
                    sums.total += exp(row.candidate(0, logit).logit - table.start);
                }
                if deep > row.logits.len() / TOKENS_PER_DEEP_TOKEN {
                    return None;
                }
            }
        }
        Some(sums)
    }

    /// Adds the changed candidates to the sums, the blocks and the list. Their logits are after the
    /// temperature; if one is listed, the keys of the others are converted. `None` if rounding
    /// leaves open which band one is in, or if one disproves that the bracket has a single logit.
    fn add_changed(
        &mut self,
        row: &MaskedRow<'_>,
        table: &BandTable,
        BandBracket { high, low, only_logit }: BandBracket,
        changed: &[Candidate],
        sums: &mut PassSums,
    ) -> Option<KeyScale> {
        let mut scale = KeyScale::BeforeTemperature;
        for c in changed {
            let weight = (c.logit - table.start).exp();
            let depth = table.depth(c.logit * row.temperature)?;
            sums.total += weight;
            if depth < f64::from(high) - 0.5 {
                sums.above += weight;
                sums.count += 1;
                self.blocks[c.token as usize / BLOCK] += weight;
            } else if depth < f64::from(low) + 0.5 {
                if only_logit.is_some() {
                    return None;
                }
                sums.inside += 1;
                if scale == KeyScale::BeforeTemperature {
                    scale = KeyScale::AfterTemperature;
                    for (key, _) in &mut self.between {
                        let Candidate { token, logit } = key.candidate();
                        *key = CandidateKey::new(&row.candidate(token, logit as f32));
                    }
                }
                self.between.push((CandidateKey::new(c), weight));
            }
        }
        Some(scale)
    }

    /// The bracket that the sample gives; `None` if it is too wide, or reaches the first token.
    fn bracket(
        &mut self,
        row: &MaskedRow<'_>,
        table: &BandTable,
        changed: &[Candidate],
        p: f64,
    ) -> Option<BandBracket> {
        let cut = row.least_of_most_probable(EXACT_GREATEST_LOGITS);
        let mut known: f64 = changed.iter().map(|c| (c.logit - table.start).exp()).sum();
        row.for_each_from(cut.next_up(), |token, logit| {
            known += (row.candidate(token, logit).logit - table.start).exp();
        });
        self.sample.clear();
        self.spectrum.clear();
        self.spectrum.resize(ENTRIES, 0.0);
        let mut total = known;
        let (mut bands, mut series) = ([0; BLOCK], [0.0; BLOCK]);
        for block in sampled(row) {
            table.read(&block, &mut bands, &mut series);
            for ((&logit, &band), &series) in block.iter().zip(&bands).zip(&series) {
                let weight = table.weight(band, series) * SAMPLE_INTERVAL as f64;
                if weight > 0.0 && logit <= cut {
                    self.spectrum[band as usize % ENTRIES] += weight;
                    self.sample.push((band, logit, weight));
                    total += weight;
                }
            }
        }
        let wanted = p * total - known;
        // The last band of the table, if the sample ends before.
        let reaches = |mut wanted: f64| {
            let band = self.spectrum[..table.count].iter().position(|weight| {
                wanted -= weight;
                wanted <= 0.0
            });
            // Bands are far fewer than u32::MAX.
            band.unwrap_or(table.count - 1) as u32
        };
        let end = reaches(wanted);
        let deviation = |&(band, _, weight): &(u32, f32, f64)| {
            let inside = if band < end { 1.0 } else { 0.0 };
            (weight * (inside - p)).powi(2)
        };
        let error = BRACKET_STANDARD_ERRORS * self.sample.iter().map(deviation).sum::<f64>().sqrt();
        if wanted <= error {
            return None;
        }
        let (high, low) = (reaches(wanted - error), reaches(wanted + error));
        let between = || self.sample.iter().filter(|(band, ..)| (high..=low).contains(band));
        let first = between().next().map(|(_, logit, _)| *logit);
        let only_logit = first.filter(|first| between().all(|(_, logit, _)| logit == first));
        if only_logit.is_none()
            && between().count() > self.sample.len() / TOKENS_PER_BRACKETED_TOKEN
        {
            return None;
        }
        Some(BandBracket { high, low, only_logit })
    }

    /// Selects the token in the bracket at which the sum reaches `wanted`; returns it with the
    /// number of tokens of the bracket that stay, and adds their weights to their blocks.
    fn select(&mut self, wanted: f64) -> Option<(Candidate, usize)> {
        let (last, _) = select_by_weight(&mut self.between, wanted)?;
        let mut count = 0;
        for (key, weight) in self.between.iter().filter(|(key, _)| *key <= last) {
            count += 1;
            self.blocks[key.token() as usize / BLOCK] += weight;
        }
        Some((last.candidate(), count))
    }

    /// [`select`](Self::select) for a bracket of `inside` tokens with one logit: the lowest ids
    /// stay. `None` if there are other tokens of that logit.
    fn select_equal(
        &mut self,
        row: &MaskedRow<'_>,
        table: &BandTable,
        (logit, inside): (f32, usize),
        wanted: f64,
    ) -> Option<(Candidate, usize)> {
        let weight = (row.candidate(0, logit).logit - table.start).exp();
        // Nine of ten equal ones have nine tenths, whatever the last bits of the sums say.
        let count = (wanted / weight * (1.0 - ROUNDING)).ceil() as usize;
        let (mut equal, mut last) = (0, 0);
        for (start, block, words) in row_scan::blocks(row.logits, row.words, row.maxima, logit) {
            let block = row_scan::masked(block, words);
            for (index, part) in block.as_chunks::<{ row_scan::WORD }>().0.iter().enumerate() {
                let found = row_scan::bits_of(part, |other| other == logit);
                let (before, here) = (equal, found.count_ones() as usize);
                equal += here;
                self.blocks[start / BLOCK] +=
                    here.min(count.saturating_sub(before)) as f64 * weight;
                if (before + 1..=equal).contains(&count) {
                    let mut rank = before;
                    row_scan::for_each_bit(found, |bit| {
                        rank += 1;
                        if rank == count {
                            last = (start + index * row_scan::WORD + bit) as u32;
                        }
                    });
                }
            }
        }
        // The sample may have missed others.
        (equal == inside && (1..=equal).contains(&count))
            .then(|| (row.candidate(last, logit), count))
    }

    /// The token of the nucleus at a point of the line of [`steps::pick`], with its exponential.
    pub(crate) fn at(
        &self,
        row: &MaskedRow<'_>,
        kept: &NucleusBound,
        (max_logit, changed): (f64, &[Candidate]),
        point: f64,
    ) -> Option<(u32, f64)> {
        let (block, rest) = block_at(&self.blocks, point)?;
        let mut candidates = row.block(block, changed);
        candidates.retain(|c| steps::by_probability(c, &kept.last).is_le());
        let (chosen, weight) = steps::at_point(&candidates, max_logit, rest)?;
        Some((chosen.token, weight))
    }
}

/// The blocks of the sample, with −∞ for forbidden tokens.
fn sampled(row: &MaskedRow<'_>) -> impl Iterator<Item = [f32; BLOCK]> {
    let blocks =
        row_scan::blocks(row.logits, row.words, row.maxima, f32::MIN).step_by(SAMPLE_INTERVAL);
    blocks.map(|(_, block, words)| row_scan::masked(block, words))
}

/// The least logit of the sample.
fn sampled_least(row: &MaskedRow<'_>) -> f32 {
    let finite = |logit: &f32| *logit >= f32::MIN;
    sampled(row).flatten().filter(finite).fold(f32::MAX, f32::min)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::sampling::fast::row_scan::MaximaPrecision;
    use crate::vocabulary::TokenMask;

    /// The nucleus and the draws are those of [`steps`], on rows from level to steep, with ties,
    /// masks, changed tokens and deep ones.
    #[test]
    fn a_wide_nucleus_is_what_the_plain_step_keeps() {
        let mut rng = ChaCha8Rng::seed_from_u64(21);
        let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let (mut wide, mut found) = (StreamedTopP::default(), 0);
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
            let scan = row_scan::scan(&logits, mask.words(), &mut maxima, MaximaPrecision::Exact);
            let row =
                MaskedRow { logits: &logits, words: mask.words(), maxima: &maxima, temperature };
            let best = scan.best.unwrap().1;
            let of_row = f64::from(best) / temperature;
            let max_logit = changed.iter().map(|c| c.logit).fold(of_row, f64::max);
            let mut plain = Vec::new();
            row.list(f32::NEG_INFINITY, &changed, &mut plain);
            steps::top_p(&mut plain, p);
            let Some(kept) = wide.find(&row, (max_logit, best), &changed, p) else { continue };
            found += 1;
            let mut listed = Vec::new();
            row.list_down_to(&kept.last, f32::MIN, &changed, &mut listed);
            assert_eq!((listed.len(), kept.count), (plain.len(), plain.len()), "{round} {kept:?}");
            assert_eq!(listed, plain, "{round}");
            for point in [0.0, uniform(), uniform(), 1.0 - 1e-9] {
                let (expected, probability) = steps::pick(&plain, point).unwrap();
                let drawn = wide.at(&row, &kept, (max_logit, &changed), point * kept.sum).unwrap();
                assert_eq!(drawn.0, expected.token, "{round}");
                assert!((drawn.1 / kept.sum / probability - 1.0).abs() < 1e-11, "{round}");
            }
        }
        assert!(found > 60, "{found}");
    }
}
