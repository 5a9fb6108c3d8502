//! Reading a row of logits under the words of a mask, as fast as memory gives it.
//!
//! A row is read in blocks of [`BLOCK`] tokens, four words of the mask. Where all are allowed, a
//! block is two plain loops over lanes, which the compiler turns into vector instructions; its
//! greatest logit is kept, so that later passes skip blocks without what they look for.

/// Tokens in one block.
pub(super) const BLOCK: usize = 128;
/// Tokens in one word of the mask.
const WORD: usize = 32;
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
        let (max, sum, count) = if block.len() == BLOCK && words == [u32::MAX; BLOCK / WORD] {
            let (max, sum) = whole_block(block);
            (max, sum, BLOCK)
        } else {
            partial_block(block, words)
        };
        scan.allowed += count;
        // A sum is finite only where every term is; where it is not, each is looked at.
        if !sum.is_finite() {
            for_each(block, words, |at, logit| {
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
fn whole_block(block: &[f32]) -> (f32, f32) {
    let (mut max, mut sum) = ([f32::NEG_INFINITY; LANES], [0.0; LANES]);
    for lanes in block.chunks_exact(LANES) {
        for i in 0..LANES {
            max[i] = if lanes[i] > max[i] { lanes[i] } else { max[i] };
            sum[i] += lanes[i];
        }
    }
    fold(max, sum)
}

fn fold(max: [f32; LANES], sum: [f32; LANES]) -> (f32, f32) {
    let max = max.into_iter().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    (max, sum.iter().sum())
}

/// Maximum, sum and number of the allowed logits.
fn partial_block(block: &[f32], words: &[u32]) -> (f32, f32, usize) {
    let (mut max, mut sum, mut count) = (f32::NEG_INFINITY, 0.0, 0);
    for (part, &word) in block.chunks(WORD).zip(words) {
        count += word.count_ones() as usize;
        let (word_max, word_sum) = match (word.count_ones(), <&[f32; WORD]>::try_from(part)) {
            (0, _) => continue,
            (5.., Ok(part)) => masked_word(part, word),
            _ => sparse_word(part, word),
        };
        max = if word_max > max { word_max } else { max };
        sum += word_sum;
    }
    (max, sum, count)
}

/// Every bit of a word by itself: a table, for shifts by a different count in each lane are no
/// vector instruction everywhere.
const BITS: [u32; WORD] = {
    let mut bits = [0; WORD];
    let mut i = 0;
    while i < WORD {
        bits[i] = 1 << i;
        i += 1;
    }
    bits
};

fn masked_word(part: &[f32; WORD], word: u32) -> (f32, f32) {
    const NOTHING: u32 = f32::NEG_INFINITY.to_bits();
    let (mut max, mut sum) = ([f32::NEG_INFINITY; LANES], [0.0; LANES]);
    for (lanes, bits) in part.chunks_exact(LANES).zip(BITS.chunks_exact(LANES)) {
        for i in 0..LANES {
            let keep = if word & bits[i] == bits[i] { u32::MAX } else { 0 };
            let kept = lanes[i].to_bits() & keep;
            let x = f32::from_bits(kept | (NOTHING & !keep));
            max[i] = if x > max[i] { x } else { max[i] };
            sum[i] += f32::from_bits(kept);
        }
    }
    fold(max, sum)
}

fn sparse_word(part: &[f32], word: u32) -> (f32, f32) {
    let (mut max, mut sum) = (f32::NEG_INFINITY, 0.0);
    for_each_bit(word, |bit| {
        max = if part[bit] > max { part[bit] } else { max };
        sum += part[bit];
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
