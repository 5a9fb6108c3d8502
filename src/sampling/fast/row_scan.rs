//! Reading a row of logits under a mask at the speed of memory.
//!
//! A row is read in blocks of [`BLOCK`] tokens, four words of the mask. A block is a loop over
//! lanes without branches, which the compiler turns into vector instructions; −∞ is added to the
//! logits that the mask forbids. The greatest logit of each lane of each block is kept, so that
//! later passes skip the blocks that hold nothing they look for.
//!
//! NaN and +∞ are found without a test of each logit: the logits are summed, and only if the sum is
//! not finite are they read one by one.

/// Tokens in one block.
pub(crate) const BLOCK: usize = 128;
/// Tokens in one word of the mask.
pub(crate) const WORD: usize = 32;
/// Logits in one vector of the processor that every machine has.
const LANES: usize = 4;
/// Independent sums and maxima, so that no addition waits for the one before it.
const CHAINS: usize = 4;

/// The words of a block that is allowed as a whole.
pub(crate) const ALL_ALLOWED: [u32; BLOCK / WORD] = [u32::MAX; BLOCK / WORD];
/// Least number of allowed tokens of a block that is read as a whole; fewer are read one by one.
const MIN_VECTOR_TOKENS: usize = 8;
/// Blocks that are read exactly after one whose upper bound was above the greatest logit so far, while
/// its allowed logits were not: where the model prefers forbidden tokens, bounds seldom rule a block out.
const EXACT_BLOCKS_AFTER_MISS: usize = 16;

/// Logits of one vector.
type Lanes = [f32; LANES];
/// The greatest allowed logits of a block, or bounds above them: lane `i` holds that of tokens `i`,
/// `i + 4`, …; −∞ where there is none.
pub(crate) type LaneMaxima = Lanes;

const NOTHING: LaneMaxima = [f32::NEG_INFINITY; LANES];

/// The result of one pass over the allowed logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowScan {
    /// The greatest allowed logit and the lowest token that has it; `None` if all are −∞.
    pub(crate) best: Option<(u32, f32)>,
    /// Allowed tokens with a logit above −∞.
    pub(crate) allowed: usize,
    /// The first allowed token whose logit is NaN or +∞.
    pub(crate) broken: Option<u32>,
}

/// The precision of the maxima of a block that is allowed in part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MaximaPrecision {
    /// The greatest allowed logits.
    Exact,
    /// Upper bounds: the greatest logits of the whole block, forbidden ones included, unless they
    /// must be known for the row's greatest. Takes half the time.
    UpperBounds,
}

/// Reads the logits that `words` allow (bits beyond the logits are zero) and fills `maxima` with
/// those of each block.
pub(crate) fn scan(
    logits: &[f32],
    words: &[u32],
    maxima: &mut Vec<LaneMaxima>,
    precision: MaximaPrecision,
) -> RowScan {
    maxima.clear();
    maxima.resize(logits.len().div_ceil(BLOCK), NOTHING);
    let mut scan = RowScan { best: None, allowed: 0, broken: None };
    let mut best = GreatestLogit { logit: f32::NEG_INFINITY, block: 0 };
    let (blocks, rest) = logits.as_chunks::<BLOCK>();
    // The words of a last, shorter block may be as many as a whole one's.
    let (block_words, rest_words) = words.split_at(blocks.len() * (BLOCK / WORD));
    let (block_words, _) = block_words.as_chunks::<{ BLOCK / WORD }>();
    let mut sums = [[0.0; LANES]; CHAINS];
    let mut exact_blocks = 0;
    for (index, ((block, words), max)) in
        blocks.iter().zip(block_words).zip(maxima.iter_mut()).enumerate()
    {
        let count = count(words);
        scan.allowed += count;
        match count {
            0 => continue,
            BLOCK => *max = whole_block(block, &mut sums),
            1..MIN_VECTOR_TOKENS => for_each(block, words, |at, logit| {
                sums[0][at % LANES] += logit;
                raise(max, at, logit);
            }),
            _ if precision == MaximaPrecision::Exact || exact_blocks > 0 => {
                *max = partial_block(block, words, &mut sums);
                exact_blocks -= usize::from(exact_blocks > 0);
            }
            _ => {
                *max = whole_block(block, &mut sums);
                if !best.is_below(max) {
                    continue;
                }
                *max = partial_block(block, words, &mut [[0.0; LANES]; CHAINS]);
                exact_blocks = if best.is_below(max) { 0 } else { EXACT_BLOCKS_AFTER_MISS };
            }
        }
        best.meet(index, max);
    }
    let mut careful = !is_finite(sums);
    if let (false, Some(max)) = (rest.is_empty(), maxima.last_mut()) {
        for_each(rest, rest_words, |at, logit| {
            scan.allowed += 1;
            careful |= !logit.is_finite();
            raise(max, at, logit);
        });
        best.meet(blocks.len(), max);
    }
    // Sums are finite only if every term is.
    if careful {
        best = GreatestLogit { logit: f32::NEG_INFINITY, block: 0 };
        for (index, (block, words)) in split(logits, words).enumerate() {
            look_closely(index * BLOCK, block, words, &mut maxima[index], &mut scan);
            best.meet(index, &maxima[index]);
        }
    }
    if best.logit > f32::NEG_INFINITY
        && let Some((block, words)) = split(logits, words).nth(best.block)
    {
        for_each(block, words, |at, logit| {
            if logit == best.logit && scan.best.is_none() {
                // Vocabularies are far smaller than u32::MAX.
                scan.best = Some(((best.block * BLOCK + at) as u32, logit));
            }
        });
    }
    scan
}

/// The greatest logit so far and the first block that has it.
#[derive(Clone, Copy, Debug)]
struct GreatestLogit {
    logit: f32,
    block: usize,
}

impl GreatestLogit {
    fn is_below(&self, max: &LaneMaxima) -> bool {
        // Not `any`, which would look at one lane after the other.
        max.iter().fold(false, |any, max| any | (*max > self.logit))
    }

    #[inline(always)]
    fn meet(&mut self, block: usize, max: &LaneMaxima) {
        if self.is_below(max) {
            *self = Self { logit: max.iter().copied().fold(self.logit, f32::max), block };
        }
    }
}

/// Raises a block's maxima to a logit; NaN does not count.
fn raise(max: &mut LaneMaxima, at: usize, logit: f32) {
    let max = &mut max[at % LANES];
    *max = if logit > *max { logit } else { *max };
}

/// The blocks with their words; the last one may be shorter.
fn split<'a>(logits: &'a [f32], words: &'a [u32]) -> impl Iterator<Item = (&'a [f32], &'a [u32])> {
    logits.chunks(BLOCK).zip(words.chunks(BLOCK / WORD))
}

/// The number of tokens that four words allow.
pub(crate) fn count(words: &[u32; BLOCK / WORD]) -> usize {
    if *words == ALL_ALLOWED {
        return BLOCK;
    }
    // Two counts of twice the width: not every processor has an instruction for it.
    let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << WORD;
    let ones = pair(words[0], words[1]).count_ones() + pair(words[2], words[3]).count_ones();
    ones as usize
}

/// The greater number of each lane; NaN in `a` does not count.
fn greater(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
}

fn plus(a: Lanes, b: Lanes) -> Lanes {
    std::array::from_fn(|i| a[i] + b[i])
}

/// The maxima of a block that is allowed as a whole. Adds its logits to `sums`.
#[inline(always)] // a call costs as much as the work
fn whole_block(block: &[f32; BLOCK], sums: &mut [Lanes; CHAINS]) -> LaneMaxima {
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

/// For each byte of a mask, what is added to its eight logits: −∞ where it forbids, else 0.
static FORBIDDEN: [[Lanes; 2]; 256] = {
    let mut table = [[[0.0; LANES]; 2]; 256];
    let mut i = 0;
    while i < 256 * 8 {
        if ((i / 8) >> (i % 8)) & 1 == 0 {
            table[i / 8][i % 8 / LANES][i % LANES] = f32::NEG_INFINITY;
        }
        i += 1;
    }
    table
};

/// The maxima of the allowed logits of a block. Adds all of its logits to `sums`, so that a
/// forbidden one that is not finite costs another pass, nothing more.
#[inline(always)]
fn partial_block(block: &[f32; BLOCK], words: &[u32], sums: &mut [Lanes; CHAINS]) -> LaneMaxima {
    let mut maxima = [NOTHING; CHAINS];
    let mut local = *sums;
    for (part, &word) in block.as_chunks::<LANES>().0.as_chunks::<8>().0.iter().zip(words) {
        let bytes = word.to_le_bytes();
        for (i, &lanes) in part.iter().enumerate() {
            let forbidden = FORBIDDEN[bytes[i / 2] as usize][i % 2];
            maxima[i % CHAINS] = greater(plus(lanes, forbidden), maxima[i % CHAINS]);
            local[i % CHAINS] = plus(local[i % CHAINS], lanes);
        }
    }
    *sums = local;
    fold(maxima)
}

/// A copy of a block with −∞ for forbidden tokens (NaN if their logit is NaN or +∞) and after its
/// end.
pub(crate) fn masked(block: &[f32], words: &[u32]) -> [f32; BLOCK] {
    let mut masked = [f32::NEG_INFINITY; BLOCK];
    masked[..block.len()].copy_from_slice(block);
    if words != ALL_ALLOWED {
        for (part, word) in masked.as_chunks_mut::<LANES>().0.chunks_mut(8).zip(words) {
            let bytes = word.to_le_bytes();
            for (i, lanes) in part.iter_mut().enumerate() {
                *lanes = plus(*lanes, FORBIDDEN[bytes[i / 2] as usize][i % 2]);
            }
        }
    }
    masked
}

fn fold(maxima: [Lanes; CHAINS]) -> LaneMaxima {
    greater(greater(maxima[0], maxima[1]), greater(maxima[2], maxima[3]))
}

fn is_finite(sums: [Lanes; CHAINS]) -> bool {
    sums.as_flattened().iter().sum::<f32>().is_finite()
}

/// Reads a block token by token, unless all of its allowed logits are known to be finite: corrects
/// the number of allowed tokens, notes NaN and +∞, and makes the maxima exact.
fn look_closely(
    start: usize,
    block: &[f32],
    words: &[u32],
    maxima: &mut LaneMaxima,
    scan: &mut RowScan,
) {
    if let (Ok(block), Ok(words)) = (<&[f32; BLOCK]>::try_from(block), words.try_into())
        && matches!(count(words), 0 | BLOCK)
    {
        let mut sums = [[0.0; LANES]; CHAINS];
        whole_block(block, &mut sums);
        if is_finite(sums) {
            return;
        }
    }
    *maxima = NOTHING;
    for_each(block, words, |at, logit| {
        raise(maxima, at, logit);
        if logit == f32::NEG_INFINITY {
            scan.allowed -= 1;
        } else if logit.is_nan() || logit == f32::INFINITY {
            scan.broken.get_or_insert((start + at) as u32);
        }
    });
}

/// Calls `each` with the offset in the block and the logit of every allowed token, ascending.
pub(crate) fn for_each(block: &[f32], words: &[u32], mut each: impl FnMut(usize, f32)) {
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

/// Calls `each` with the index of every bit that is set, ascending.
pub(crate) fn for_each_bit(word: u32, mut each: impl FnMut(usize)) {
    let mut rest = word;
    while rest != 0 {
        each(rest.trailing_zeros() as usize);
        rest &= rest - 1;
    }
}

/// [`for_each`] for the logits from `least` on, compared 32 at a time.
pub(crate) fn for_each_from(
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
    bits_of(part, |logit| logit >= least)
}

/// A bit for each number that `found` accepts.
#[inline(always)]
pub(crate) fn bits_of<T: Copy>(part: &[T; WORD], found: impl Fn(T) -> bool) -> u32 {
    let mut all = [0; LANES];
    for (lanes, bits) in part.as_chunks::<LANES>().0.iter().zip(&BITS) {
        for i in 0..LANES {
            all[i] |= if found(lanes[i]) { bits[i] } else { 0 };
        }
    }
    all[0] | all[1] | all[2] | all[3]
}

/// The blocks of a row whose maxima reach `least`, each with its first token, its logits and its
/// words.
pub(crate) fn blocks<'a>(
    logits: &'a [f32],
    words: &'a [u32],
    maxima: &'a [LaneMaxima],
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
    use crate::vocabulary::TokenMask;

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
            let mut maxima = Vec::new();
            let bounded = scan(&row, mask.words(), &mut maxima, MaximaPrecision::UpperBounds);
            for (token, logit) in mask.iter().map(|t| (t as usize, row[t as usize])) {
                let bound = maxima[token / BLOCK][token % LANES];
                prop_assert!(logit.is_nan() || logit <= bound);
            }
            let found = scan(&row, mask.words(), &mut maxima, MaximaPrecision::Exact);
            if found.broken.is_none() {
                prop_assert_eq!(bounded, found);
            }
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
