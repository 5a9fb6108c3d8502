//! The token mask: one bit for each token, in the layout that inference engines share.

use std::fmt;

/// The tokens allowed at one step: `ceil(len / 32)` words of 32 bits, where token `t` is bit
/// `t % 32` of word `t / 32` (the layout of vLLM, XGrammar and llguidance, so that a host can take
/// the words as they are).
///
/// The bits of the last word beyond [`len`](Self::len) are zero. An id at or beyond `len` is no
/// token: allowing or denying it does nothing, and it is never contained.
///
/// ```
/// use maskwright::TokenMask;
/// let mut mask = TokenMask::new(40);
/// mask.allow(3);
/// mask.allow(32);
/// assert_eq!(mask.words(), [0b1000, 1]);
/// assert_eq!(mask.iter().collect::<Vec<_>>(), [3, 32]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TokenMask {
    words: Vec<u32>,
    len: usize,
}

impl TokenMask {
    /// A mask over `len` tokens that allows none.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(32)], len }
    }

    /// A mask over `len` tokens that allows every one.
    pub fn all(len: usize) -> Self {
        let mut mask = Self { words: vec![u32::MAX; len.div_ceil(32)], len };
        if let Some(last) = mask.words.last_mut()
            && !len.is_multiple_of(32)
        {
            *last = (1 << (len % 32)) - 1;
        }
        mask
    }

    /// The number of tokens that the mask covers, allowed or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The words, `ceil(len / 32)` of them, in the order of token ids.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The words, to be written in place. The bits beyond [`len`](Self::len) must stay zero:
    /// [`count`](Self::count) and [`iter`](Self::iter) would take them for tokens.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Allows a token.
    pub fn allow(&mut self, id: u32) {
        if (id as usize) < self.len {
            self.words[id as usize / 32] |= 1 << (id % 32);
        }
    }

    /// Denies a token.
    pub fn deny(&mut self, id: u32) {
        if (id as usize) < self.len {
            self.words[id as usize / 32] &= !(1 << (id % 32));
        }
    }

    /// Allows all that another mask of the same length allows.
    pub fn union_with(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }

    /// Denies every token.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Whether the mask allows a token. O(1).
    pub fn contains(&self, id: u32) -> bool {
        self.words.get(id as usize / 32).is_some_and(|word| word >> (id % 32) & 1 == 1)
    }

    /// The number of allowed tokens. O(words).
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the mask allows no token. O(words).
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The ids of the allowed tokens, ascending. O(words + allowed tokens).
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.words).flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(index * 32 + bit)
            })
        })
    }
}

impl fmt::Debug for TokenMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenMask({} of {} tokens)", self.count(), self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_leaves_the_bits_beyond_its_length_zero() {
        for len in [0, 1, 31, 32, 33, 64, 100] {
            let mask = TokenMask::all(len);
            assert_eq!(mask.count(), len);
            assert_eq!(mask.words().len(), len.div_ceil(32));
            assert_eq!(mask.is_empty(), len == 0);
        }
    }

    #[test]
    fn ids_beyond_the_length_are_no_tokens() {
        let mut mask = TokenMask::new(33);
        for id in [33, 63, 64, u32::MAX] {
            mask.allow(id);
            assert!(mask.is_empty() && !mask.contains(id));
            mask.deny(id);
        }
    }

    proptest! {
        #[test]
        fn behaves_as_a_set(len in 1usize..200, ops in prop::collection::vec((0u32..250, any::<bool>()), 0..100)) {
            let mut mask = TokenMask::new(len);
            let mut set = std::collections::BTreeSet::new();
            for (id, allow) in ops {
                if allow { mask.allow(id);
                        if (id as usize) < len {
                            set.insert(id);
                        } } else { mask.deny(id);
                        set.remove(&id); }
                prop_assert_eq!(mask.contains(id), set.contains(&id));
            }
            prop_assert_eq!(mask.count(), set.len());
            prop_assert!(mask.iter().eq(set.iter().copied()));
            mask.clear();
            prop_assert!(mask.is_empty());
        }
    }
}
