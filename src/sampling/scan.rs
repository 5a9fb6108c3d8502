//! Reading a row of logits under the words of a mask, as fast as memory gives it.
//!
//! A row is read in blocks of [`BLOCK`] tokens, four words of the mask. Where all are allowed, a
//! block is two plain loops over lanes, which the compiler turns into vector instructions; its
//! greatest logit is kept, so that later passes skip blocks without what they look for.

/// Tokens in one block.
pub(super) const BLOCK: usize = 128;
/// Tokens in one word of the mask.
const WORD: usize = 32;
/// From so many allowed tokens on, all of a block are read.
const DENSE: usize = 24;
/// Independent sums and maxima, so that no addition waits for the one before it.
const LANES: usize = 8;

/// What one reading of the allowed logits tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scan {
    /// The greatest allowed logit and the lowest token that has it; `None` if all are −∞.
    pub(super) best: Option<(u32, f32)>,
    /// Allowed tokens with a logit above −∞.
    pub(super) allowed: usize,
    /// The first allowed token whose logit is NaN or +∞.
    pub(super) broken: Option<u32>,
}

/// Reads the logits that `words` allow, bits beyond the logits being zero. `maxima` becomes the
/// greatest allowed logit of each block, −∞ where there is none.
pub(super) fn scan(logits: &[f32], words: &[u32], maxima: &mut Vec<f32>) -> Scan {
    maxima.clear();
    let (mut best, mut best_block) = (f32::NEG_INFINITY, None);
    let mut scan = Scan { best: None, allowed: 0, broken: None };
    for (index, (block, words)) in logits.chunks(BLOCK).zip(words.chunks(BLOCK / WORD)).enumerate()
    {
        let count = match words == [u32::MAX; BLOCK / WORD] {
            true => BLOCK,
            false => words.iter().map(|word| word.count_ones() as usize).sum(),
        };
        scan.allowed += count;
        let (mut max, sum) = match <&[f32; BLOCK]>::try_from(block) {
            Ok(block) if count == BLOCK => whole_block(block),
            Ok(block) if count >= DENSE => dense_block(block, words),
            _ => sparse_block(block, words),
        };
        // A sum is finite only where every term is; where it is not, each is looked at.
        if !sum.is_finite() {
            max = f32::NEG_INFINITY;
            for_each(block, words, |at, logit| {
                max = if logit > max { logit } else { max };
                if logit == f32::NEG_INFINITY {
                    scan.allowed -= 1;
                } else if logit.is_nan() || logit == f32::INFINITY {
                    // Vocabularies are far smaller than u32::MAX.
                    scan.broken.get_or_insert((index * BLOCK + at) as u32);
                }
            });
        }
        if max > best {
            (best, best_block) = (max, Some(index));
        }
        maxima.push(max);
    }
    if let Some(index) = best_block {
        let (start, words) = (index * BLOCK, &words[index * (BLOCK / WORD)..]);
        let block = &logits[start..logits.len().min(start + BLOCK)];
        for_each(block, words, |at, logit| {
            if logit == best && scan.best.is_none() {
                scan.best = Some(((start + at) as u32, logit));
            }
        });
    }
    scan
}

/// Maximum and sum. NaN is in the sum, not in the maximum.
fn whole_block(block: &[f32; BLOCK]) -> (f32, f32) {
    let (mut max, mut sum) = ([f32::NEG_INFINITY; LANES], [0.0; LANES]);
    for lanes in block.chunks_exact(LANES) {
        for i in 0..LANES {
            max[i] = if lanes[i] > max[i] { lanes[i] } else { max[i] };
            sum[i] += lanes[i];
        }
    }
    fold(max, sum)
}

/// Halves as often as there are halves: no step waits for all before it.
fn fold(mut max: [f32; LANES], mut sum: [f32; LANES]) -> (f32, f32) {
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            max[i] = if max[i + width] > max[i] { max[i + width] } else { max[i] };
            sum[i] += sum[i + width];
        }
        width /= 2;
    }
    (max[0], sum[0])
}

/// What four lanes are given for four bits of a mask: −∞ where it forbids.
const FORBIDDEN: [[f32; 4]; 16] = {
    let mut table = [[0.0; 4]; 16];
    let mut i = 0;
    while i < 64 {
        if ((i / 4) >> (i % 4)) & 1 == 0 {
            table[i / 4][i % 4] = f32::NEG_INFINITY;
        }
        i += 1;
    }
    table
};

/// Maximum of the allowed logits, and the sum of all: where that is not finite, the block is looked
/// at again.
fn dense_block(block: &[f32; BLOCK], words: &[u32]) -> (f32, f32) {
    let (mut max, mut sum) = ([f32::NEG_INFINITY; LANES], [0.0; LANES]);
    for (part, word) in block.chunks_exact(WORD).zip(words) {
        for (i, lanes) in part.chunks_exact(LANES).enumerate() {
            let bits = word >> (i * LANES);
            let low = &FORBIDDEN[(bits & 15) as usize];
            let high = &FORBIDDEN[(bits >> 4 & 15) as usize];
            for k in 0..4 {
                let (a, b) = (lanes[k] + low[k], lanes[k + 4] + high[k]);
                max[k] = if a > max[k] { a } else { max[k] };
                max[k + 4] = if b > max[k + 4] { b } else { max[k + 4] };
            }
            for k in 0..LANES {
                sum[k] += lanes[k];
            }
        }
    }
    fold(max, sum)
}

/// Maximum and sum of the allowed logits, one by one.
fn sparse_block(block: &[f32], words: &[u32]) -> (f32, f32) {
    let (mut max, mut sum) = (f32::NEG_INFINITY, 0.0);
    for_each(block, words, |_, logit| {
        max = if logit > max { logit } else { max };
        sum += logit;
    });
    (max, sum)
}

/// Calls `each` with the place in the block and the logit of every allowed token, ascending.
pub(super) fn for_each(block: &[f32], words: &[u32], mut each: impl FnMut(usize, f32)) {
    for (index, (part, &word)) in block.chunks(WORD).zip(words).enumerate() {
        if word == u32::MAX && part.len() == WORD {
            for (bit, &logit) in part.iter().enumerate() {
                each(index * WORD + bit, logit);
            }
        } else {
            for_each_bit(word, |bit| each(index * WORD + bit, part[bit]));
        }
    }
}

fn for_each_bit(word: u32, mut each: impl FnMut(usize)) {
    let mut rest = word;
    while rest != 0 {
        each(rest.trailing_zeros() as usize);
        rest &= rest - 1;
    }
}

/// [`for_each`] for the logits from `least` on, of which a block should hold few: eight are compared
/// at once.
pub(super) fn for_each_from(
    block: &[f32],
    words: &[u32],
    least: f32,
    mut each: impl FnMut(usize, f32),
) {
    for (index, lanes) in block.chunks(LANES).enumerate() {
        let bits = words[index * LANES / WORD] >> (index * LANES % WORD);
        let any = lanes.iter().fold(false, |any, &logit| any | (logit >= least));
        if any && bits as u8 != 0 {
            for (lane, &logit) in lanes.iter().enumerate() {
                if logit >= least && bits >> lane & 1 == 1 {
                    each(index * LANES + lane, logit);
                }
            }
        }
    }
}

/// The blocks of a row with their first token, their logits and their words, of those whose
/// greatest logit is at least `least`.
pub(super) fn blocks<'a>(
    logits: &'a [f32],
    words: &'a [u32],
    maxima: &'a [f32],
    least: f32,
) -> impl Iterator<Item = (usize, &'a [f32], &'a [u32])> {
    logits
        .chunks(BLOCK)
        .zip(words.chunks(BLOCK / WORD))
        .zip(maxima)
        .enumerate()
        .filter(move |(_, (_, max))| **max >= least)
        .map(|(index, ((block, words), _))| (index * BLOCK, block, words))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vocab::TokenMask;

    proptest! {
        #[test]
        fn a_scan_is_what_a_plain_loop_sees(
            seed in prop::collection::vec((-9i32..9, 0u32..12), 1..400),
            dense in 0u32..12,
        ) {
            let special = [f32::NEG_INFINITY, f32::NAN, f32::INFINITY];
            let row: Vec<f32> = seed
                .iter()
                .enumerate()
                .map(|(i, s)| if i % 97 == 96 { special[i / 97 % 3] } else { s.0 as f32 })
                .collect();
            let mut mask = TokenMask::new(row.len());
            (0..).zip(&seed).filter(|(_, s)| s.1 <= dense).for_each(|(id, _)| mask.allow(id));
            let found = scan(&row, mask.words(), &mut Vec::new());
            let allowed: Vec<(u32, f32)> = mask.iter().map(|t| (t, row[t as usize])).collect();
            let broken = allowed.iter().find(|(_, x)| x.is_nan() || *x == f32::INFINITY);
            prop_assert_eq!(found.broken, broken.map(|b| b.0));
            let finite: Vec<_> = allowed.iter().filter(|(_, x)| *x != f32::NEG_INFINITY).collect();
            prop_assert_eq!(found.allowed, finite.len());
            if found.broken.is_none() {
                let best = finite.iter().copied().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
                prop_assert_eq!(found.best, best);
            }
        }
    }
}
