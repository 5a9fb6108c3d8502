//! Tables of a vocabulary that splits are made with, for all terminals alike.

use std::cmp::Reverse;

use super::byte_groups::{EdgeBytes, groups_below};
use super::byte_shapes::ShapeTrie;
use super::character_boundaries::CharacterBoundaries;
use super::walk::{GroupedTrie, TokenWalk};
use super::{SplitDraft, SplitStart, SplitState};
use crate::deadline;
use crate::error::Result;
use crate::mask::strategies::{Strategies, Strategy};
use crate::regular::Languages;
use crate::vocabulary::{IndexReader, Trie, Vocabulary};

/// The tokens of most characters that are listed.
const MAX_LISTED_LONG_TOKENS: usize = 2_048;

/// Tokens of no more bytes than this are never listed among the longest.
const MAX_UNLISTED_BYTES: usize = 16;

#[derive(Debug)]
pub(crate) struct SplitTables {
    pub(in crate::mask) shapes: ShapeTrie,
    /// Of each node of the vocabulary's trie, the groups of the bytes below it.
    bytes_below: Box<[u64]>,
    /// The length of the longest token, in bytes.
    longest: u16,
    /// The tokens of most characters, those of most first.
    longest_tokens: Box<[u32]>,
    pub(in crate::mask) boundaries: CharacterBoundaries,
    pub(in crate::mask) strategies: Strategies,
}

impl SplitTables {
    pub(in crate::mask) fn new(vocabulary: &Vocabulary, strategies: Strategies) -> Self {
        Self::of(ShapeTrie::new(vocabulary), vocabulary, strategies)
    }

    /// As read from an index; `None` if that has no trie of shapes of this vocabulary's tokens.
    pub(in crate::mask) fn decode(
        from: &mut IndexReader<'_>,
        vocabulary: &Vocabulary,
        strategies: Strategies,
    ) -> Option<Self> {
        let shapes = ShapeTrie::of(Trie::decode(from, vocabulary.len())?);
        Some(Self::of(shapes, vocabulary, strategies))
    }

    fn of(shapes: ShapeTrie, vocabulary: &Vocabulary, strategies: Strategies) -> Self {
        let depths = shapes.trie().nodes().iter().map(|node| node.depth);
        Self {
            longest: depths.max().unwrap_or(0),
            bytes_below: groups_below(vocabulary.trie(), EdgeBytes::Plain),
            longest_tokens: longest_tokens(vocabulary),
            boundaries: CharacterBoundaries::new(vocabulary),
            shapes,
            strategies,
        }
    }

    /// The length of the longest token, in bytes.
    pub(in crate::mask) fn longest(&self) -> u16 {
        self.longest
    }

    /// The vocabulary's trie with the groups of its bytes.
    pub(in crate::mask) fn bytes<'a>(&'a self, vocabulary: &'a Vocabulary) -> GroupedTrie<'a> {
        GroupedTrie { trie: vocabulary.trie(), groups_below: &self.bytes_below }
    }

    /// The tokens of more characters than this; `None` if more of them exist than are listed.
    pub(in crate::mask) fn longer_tokens(
        &self,
        vocabulary: &Vocabulary,
        most: u32,
    ) -> Option<&[u32]> {
        let longer = |token: &u32| characters(vocabulary, *token) > most as usize;
        let count = self.longest_tokens.partition_point(longer);
        (count < MAX_LISTED_LONG_TOKENS && most as usize >= MAX_UNLISTED_BYTES)
            .then(|| &self.longest_tokens[..count])
    }

    /// A walk from a state at the start of tokens.
    pub(in crate::mask) fn walk<'a>(
        &self,
        vocabulary: &'a Vocabulary,
        languages: &'a mut Languages,
        from: SplitState,
    ) -> TokenWalk<'a> {
        TokenWalk::new(vocabulary, languages, from, self.longest, self.strategies)
    }

    /// The split from a state below a node: by shapes where the state treats the bytes of a class
    /// alike, otherwise by bytes.
    pub(in crate::mask) fn split_below(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        start: SplitStart,
    ) -> Result<SplitDraft> {
        let node = start.node;
        let first = languages.first_bytes(start.state)?;
        let mut walk = self.walk(vocabulary, languages, start.split_state());
        let bytes = self.bytes(vocabulary);
        if self.strategies.has(Strategy::ByteShapes)
            && let Some(at) = self.shapes.same_node(vocabulary, node)
        {
            self.shapes.walk_children(vocabulary, &mut walk, at, bytes, node, first)?;
            return Ok(walk.finish());
        }
        for child in bytes.trie.children(node as usize, first.bits()) {
            deadline::check()?;
            walk.read_subtree(bytes, child)?;
            walk.clear_ends();
        }
        Ok(walk.finish())
    }
}

/// The tokens of most characters, those of most first.
fn longest_tokens(vocabulary: &Vocabulary) -> Box<[u32]> {
    let long = |&&token: &&u32| {
        vocabulary.token_bytes(token).is_some_and(|b| b.len() > MAX_UNLISTED_BYTES)
    };
    let tokens = vocabulary.trie().ids().iter().filter(long);
    let mut tokens: Vec<(Reverse<usize>, u32)> =
        tokens.map(|&token| (Reverse(characters(vocabulary, token)), token)).collect();
    tokens.sort_unstable();
    tokens.truncate(MAX_LISTED_LONG_TOKENS);
    tokens.into_iter().map(|(_, token)| token).collect()
}

/// The characters that begin in a token: its bytes that are no continuation bytes.
fn characters(vocabulary: &Vocabulary, token: u32) -> usize {
    let bytes = vocabulary.token_bytes(token).unwrap_or_default();
    bytes.iter().filter(|&&byte| !matches!(byte, 0x80..=0xBF)).count()
}
