//! Reading a row of logits under the words of a mask, as fast as memory gives it.
//!
//! A row is read in blocks of [`BLOCK`] tokens, four words of the mask. A block is a plain loop over
//! lanes, which the compiler turns into vector instructions; where the mask forbids some of it, −∞
//! is added there. The greatest logit of each lane is kept, so that later passes skip blocks without
//! what they look for.

/// Tokens in one block.
pub(super) const BLOCK: usize = 128;
/// Tokens in one word of the mask.
pub(super) const WORD: usize = 32;
/// Logits in one vector of the processor that every machine has.
const LANES: usize = 4;
/// Independent sums and maxima, so that no addition waits for the one before it.
const CHAINS: usize = 4;

/// Logits that are worked on at once.
type Lanes = [f32; LANES];
/// The greatest allowed logits of a block: lane `i` holds that of tokens `i`, `i + 4`, …; −∞ where
/// there is none.
pub(super) type Maxima = Lanes;

const NOTHING: Maxima = [f32::NEG_INFINITY; LANES];

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

/// Reads the logits that `words` allow, bits beyond the logits being zero. `maxima` becomes those of
/// each block.
pub(super) fn scan(logits: &[f32], words: &[u32], maxima: &mut Vec<Maxima>) -> Scan {
    maxima.clear();
    maxima.resize(logits.len().div_ceil(BLOCK), NOTHING);
    let mut scan = Scan { best: None, allowed: 0, broken: None };
    let (blocks, rest) = logits.as_chunks::<BLOCK>();
    // The words of a last, shorter block may be as many as a whole one's.
    let (block_words, rest_words) = words.split_at(blocks.len() * (BLOCK / WORD));
    let (block_words, _) = block_words.as_chunks::<{ BLOCK / WORD }>();
    let mut sums = [[0.0; LANES]; CHAINS];
    for ((block, words), max) in blocks.iter().zip(block_words).zip(maxima.iter_mut()) {
        let count = count(words);
        scan.allowed += count;
        match count {
            0 => {}
            BLOCK => *max = whole_block(block, &mut sums),
            _ => *max = partial_block(block, words, &mut sums),
        }
    }
    let mut careful = !is_finite(sums);
    if let (false, Some(max)) = (rest.is_empty(), maxima.last_mut()) {
        for_each(rest, rest_words, |at, logit| {
            scan.allowed += 1;
            careful |= !logit.is_finite();
            let max = &mut max[at % LANES];
            *max = if logit > *max { logit } else { *max };
        });
    }
    // The sums are finite only where every term is; where they are not, each block is looked at.
    if careful {
        for (index, (block, words)) in split(logits, words).enumerate() {
            look_closely(index * BLOCK, block, words, &mut maxima[index], &mut scan);
        }
    }
    let lanes = maxima.iter().fold(NOTHING, |best, max| greater(*max, best));
    let best = lanes.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    // Not `contains`, which would look at one lane after the other.
    let holds = |max: &Maxima| max.iter().fold(false, |any, max| any | (*max == best));
    if best > f32::NEG_INFINITY
        && let Some(index) = maxima.iter().position(holds)
        && let Some((block, words)) = split(logits, words).nth(index)
    {
        for_each(block, words, |at, logit| {
            if logit == best && scan.best.is_none() {
                // Vocabularies are far smaller than u32::MAX.
                scan.best = Some(((index * BLOCK + at) as u32, logit));
            }
        });
    }
    scan
}

/// Blocks with their words, the last of them perhaps shorter.
fn split<'a>(logits: &'a [f32], words: &'a [u32]) -> impl Iterator<Item = (&'a [f32], &'a [u32])> {
    logits.chunks(BLOCK).zip(words.chunks(BLOCK / WORD))
}

/// The tokens that four words allow.
pub(super) fn count(words: &[u32; BLOCK / WORD]) -> usize {
    if *words == [u32::MAX; BLOCK / WORD] {
        return BLOCK;
    }
    // Two counts of twice the width: not every processor has an instruction for it.
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << WORD;
    let ones = pair(words[0], words[1]).count_ones() + pair(words[2], words[3]).count_ones();
    ones as usize
}

fn greater(a: Lanes, b: Lanes) -> Lanes {
    // NaN in `a` is passed over.
    std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
}

fn plus(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|i| a[i] + b[i])
}

/// The maxima of a block that is allowed as a whole; its logits are added to `sums`.
#[inline(always)] // a call costs as much as the work
fn whole_block(block: &[f32; BLOCK], sums: &mut [Lanes; CHAINS]) -> Maxima {
    let mut maxima = [NOTHING; CHAINS];
    let mut local = *sums;
    for lanes in block.as_chunks::<LANES>().0.as_chunks::<CHAINS>().0 {
        for i in 0..CHAINS {
            maxima[i] = greater(lanes[i], maxima[i]);
            local[i] = plus(local[i], lanes[i]);
        }
    }
    *sums = local;
    fold(maxima)
}

/// What four lanes are given for four bits of a mask: −∞ where it forbids.
const FORBIDDEN: [Lanes; 16] = {
    let mut table = [[0.0; LANES]; 16];
    let mut i = 0;
    while i < 16 * LANES {
        if ((i / LANES) >> (i % LANES)) & 1 == 0 {
            table[i / LANES][i % LANES] = f32::NEG_INFINITY;
        }
        i += 1;
    }
    table
};

/// The maxima of the allowed logits of a block. All of its logits are added to `sums`: where one
/// that is forbidden is not finite, the block is looked at again for nothing.
#[inline(always)]
fn partial_block(block: &[f32; BLOCK], words: &[u32], sums: &mut [Lanes; CHAINS]) -> Maxima {
    let mut maxima = [NOTHING; CHAINS];
    let mut local = *sums;
    for (part, &word) in block.as_chunks::<LANES>().0.as_chunks::<8>().0.iter().zip(words) {
        for (i, &lanes) in part.iter().enumerate() {
            let forbidden = FORBIDDEN[(word >> (i * LANES) & 15) as usize];
            maxima[i % CHAINS] = greater(plus(lanes, forbidden), maxima[i % CHAINS]);
            local[i % CHAINS] = plus(local[i % CHAINS], lanes);
        }
    }
    *sums = local;
    fold(maxima)
}

/// A block with −∞ for what is forbidden (NaN, where that is NaN or +∞), and behind its end.
pub(super) fn masked(block: &[f32], words: &[u32]) -> [f32; BLOCK] {
    let mut masked = [f32::NEG_INFINITY; BLOCK];
    masked[..block.len()].copy_from_slice(block);
    if words != [u32::MAX; BLOCK / WORD] {
        for (part, word) in masked.as_chunks_mut::<LANES>().0.chunks_mut(8).zip(words) {
            for (i, lanes) in part.iter_mut().enumerate() {
                *lanes = plus(*lanes, FORBIDDEN[(word >> (i * LANES) & 15) as usize]);
            }
        }
    }
    masked
}

fn fold(maxima: [Lanes; CHAINS]) -> Maxima {
    greater(greater(maxima[0], maxima[1]), greater(maxima[2], maxima[3]))
}

fn is_finite(sums: [Lanes; CHAINS]) -> bool {
    sums.as_flattened().iter().sum::<f32>().is_finite()
}

/// Takes a block token by token, where something in it is not finite.
fn look_closely(start: usize, block: &[f32], words: &[u32], maxima: &mut Maxima, scan: &mut Scan) {
    if let Ok(block) = <&[f32; BLOCK]>::try_from(block) {
        let mut sums = [[0.0; LANES]; CHAINS];
        whole_block(block, &mut sums);
        if is_finite(sums) {
            return;
        }
    }
    *maxima = NOTHING;
    for_each(block, words, |at, logit| {
        let max = &mut maxima[at % LANES];
        *max = if logit > *max { logit } else { *max };
        if logit == f32::NEG_INFINITY {
            scan.allowed -= 1;
        } else if logit.is_nan() || logit == f32::INFINITY {
            scan.broken.get_or_insert((start + at) as u32);
        }
    });
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

/// [`for_each`] for the logits from `least` on: a word of them is compared at once.
pub(super) fn for_each_from(
    block: &[f32],
    words: &[u32],
    least: f32,
    mut each: impl FnMut(usize, f32),
) {
    for (index, (part, &word)) in block.chunks(WORD).zip(words).enumerate() {
        let bits = match <&[f32; WORD]>::try_from(part) {
            Ok(part) => at_least(part, least),
            Err(_) => u32::MAX,
        };
        for_each_bit(bits & word, |bit| {
            if part[bit] >= least {
                each(index * WORD + bit, part[bit]);
            }
        });
    }
}

/// The bit of each lane of a word.
const BITS: [[u32; LANES]; WORD / LANES] = {
    let mut table = [[0; LANES]; WORD / LANES];
    let mut i = 0;
    while i < WORD {
        table[i / LANES][i % LANES] = 1 << i;
        i += 1;
    }
    table
};

/// A bit for each logit from `least` on.
#[inline(always)]
fn at_least(part: &[f32; WORD], least: f32) -> u32 {
    let mut found = [0; LANES];
    for (lanes, bits) in part.as_chunks::<LANES>().0.iter().zip(&BITS) {
        for i in 0..LANES {
            found[i] |= if lanes[i] >= least { bits[i] } else { 0 };
        }
    }
    found[0] | found[1] | found[2] | found[3]
}

/// The blocks of a row with their first token, their logits and their words, of those whose
/// greatest logit is at least `least`.
pub(super) fn blocks<'a>(
    logits: &'a [f32],
    words: &'a [u32],
    maxima: &'a [Maxima],
    least: f32,
) -> impl Iterator<Item = (usize, &'a [f32], &'a [u32])> {
    split(logits, words)
        .zip(maxima)
        .enumerate()
        .filter(move |(_, (_, max))| max.iter().fold(false, |any, &max| any | (max >= least)))
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
