//! Packed masks: unions of shared token sets and short lists.
//!
//! A row of bits for 200,000 tokens takes 25 kB. Most masks differ from one that is known in a few
//! hundred tokens, so a mask is kept as references to the known sets and a list of the rest, and
//! written as a row when it is asked for. Inside a JSON string: one base (the tokens of string
//! characters), and a list of the tokens with a closing quote.

use std::sync::Arc;

use smallvec::SmallVec;

use super::split::RepeatSplit;
use super::split::TokenSplit;
use crate::vocabulary::{TokenMask, Vocabulary};

/// A shared set of tokens.
#[derive(Clone, Debug)]
pub(crate) enum MaskBase {
    /// Tokens consisting of at most this many units of the repeat.
    Repeat(Arc<RepeatSplit>, u32),
    /// The tokens that stay inside a terminal.
    Split(Arc<TokenSplit>),
    /// The tokens that a set of tokens does not exclude.
    Complement(Arc<TokenMask>),
}

impl MaskBase {
    /// The set as a mask, unless it is small.
    fn mask(&self) -> Option<&TokenMask> {
        match self {
            Self::Repeat(repeat, units) => repeat.mask(*units),
            Self::Split(split) => Some(&split.inside),
            Self::Complement(tokens) => Some(tokens),
        }
    }

    /// Whether its terminal is read from the start of tokens, not from somewhere inside them.
    pub(crate) fn is_at_token_start(&self) -> bool {
        match self {
            Self::Repeat(repeat, _) => repeat.node == 0,
            Self::Split(split) => split.node == 0,
            // There is no terminal, and its tokens are no text.
            Self::Complement(_) => false,
        }
    }

    /// Appends its tokens.
    pub(crate) fn append_tokens(&self, to: &mut Vec<u32>) {
        match self {
            Self::Repeat(repeat, units) => to.extend_from_slice(repeat.inside(*units)),
            Self::Split(split) => to.extend(split.inside.iter()),
            Self::Complement(tokens) => to.extend(tokens.iter()),
        }
    }

    /// Adds its tokens to a mask.
    pub(super) fn allow_in(&self, to: &mut TokenMask) {
        match self.mask() {
            Some(mask) => to.union_with(mask),
            None => self.tokens().iter().for_each(|&token| to.allow(token)),
        }
    }

    /// The tokens of a set that excludes some.
    pub(crate) fn complement(&self) -> Option<&TokenMask> {
        match self {
            Self::Complement(tokens) => Some(tokens),
            Self::Repeat(..) | Self::Split(_) => None,
        }
    }

    /// The tokens one by one, where there is no mask of them.
    fn tokens(&self) -> &[u32] {
        match self {
            Self::Repeat(repeat, units) => repeat.inside(*units),
            Self::Split(_) | Self::Complement(_) => &[],
        }
    }
}

/// A list of tokens, in any order, with a mask of them if they are many.
#[derive(Clone, Debug)]
pub(super) struct TokenList {
    pub(super) tokens: Arc<[u32]>,
    mask: Option<Arc<TokenMask>>,
}

impl TokenList {
    /// More tokens than this are written faster as a mask.
    const MAX_WITHOUT_MASK: usize = 1_000;

    /// `None` for no tokens.
    pub(super) fn new(tokens: Vec<u32>, vocabulary: &Vocabulary) -> Option<Self> {
        if tokens.is_empty() {
            return None;
        }
        let mask = (tokens.len() > Self::MAX_WITHOUT_MASK).then(|| {
            let mut mask = TokenMask::new(vocabulary.len());
            tokens.iter().for_each(|&token| mask.allow(token));
            Arc::new(mask)
        });
        Some(Self { tokens: tokens.into(), mask })
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let mask = self.mask.as_ref().map_or(0, |mask| size_of_val(mask.words()));
        size_of_val(&*self.tokens) + mask
    }
}

/// A mask as the union of bases, lists and tokens, less the excluded tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedMask {
    pub(super) bases: SmallVec<[MaskBase; 2]>,
    pub(super) lists: SmallVec<[TokenList; 4]>,
    pub(super) tokens: Box<[u32]>,
    /// Tokens that stand in the other parts and are not allowed.
    pub(super) excluded: Box<[u32]>,
}

impl PackedMask {
    /// The shared sets.
    pub(crate) fn bases(&self) -> &[MaskBase] {
        &self.bases
    }

    /// The tokens that stand in no base, some of them more than once.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u32> + '_ {
        let lists = self.lists.iter().flat_map(|list| list.tokens.iter());
        let all = lists.chain(&*self.tokens).copied();
        all.filter(|token| !self.excluded.contains(token))
    }

    /// The tokens that are also in another mask, unless they are excluded in a list.
    pub(super) fn intersection(&self, others: &TokenMask) -> Vec<u32> {
        let mut found: Vec<u32> = self.tokens().filter(|&token| others.contains(token)).collect();
        for base in &self.bases {
            let Some(mask) = base.mask() else {
                found.extend(base.tokens().iter().filter(|&&token| others.contains(token)));
                continue;
            };
            for (word, (a, b)) in (0u32..).zip(mask.words().iter().zip(others.words())) {
                let mut both = a & b;
                while both != 0 {
                    found.push(32 * word + both.trailing_zeros());
                    both &= both - 1;
                }
            }
        }
        found
    }

    /// The parts of which there is no mask.
    fn unmasked_lists(&self) -> impl Iterator<Item = &[u32]> {
        let few = self.bases.iter().filter(|base| base.mask().is_none()).map(MaskBase::tokens);
        let lists = self.lists.iter().filter(|list| list.mask.is_none());
        few.chain(lists.map(|list| &*list.tokens)).chain([&*self.tokens])
    }

    /// Writes the mask, over whatever was there.
    pub(crate) fn write(&self, words: &mut [u32]) {
        let mut first = true;
        let many = self.lists.iter().filter_map(|list| list.mask.as_deref());
        for mask in self.bases.iter().filter_map(MaskBase::mask).chain(many) {
            if first {
                words.copy_from_slice(mask.words());
            } else {
                words.iter_mut().zip(mask.words()).for_each(|(to, from)| *to |= from);
            }
            first = false;
        }
        if first {
            words.fill(0);
        }
        for list in self.unmasked_lists() {
            for &token in list {
                // Tokens are smaller than the vocabulary is long.
                words[token as usize / 32] |= 1 << (token % 32);
            }
        }
        for &token in &*self.excluded {
            words[token as usize / 32] &= !(1 << (token % 32));
        }
    }

    /// Approximate memory, in bytes, shared sets and lists not counted.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.tokens) + size_of_val(&*self.excluded) + 32
    }
}
