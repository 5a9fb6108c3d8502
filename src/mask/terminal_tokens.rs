//! The tokens of one terminal: those that a terminal's state allows from some cursors, and the
//! cursors at which the terminal may end.
//!
//! This is a matter of the terminal and the vocabulary, not of the grammar around the terminal. So
//! the result is shared by all constraints of a compiler, by the state's fingerprint.
//!
//! Example: the state `[a-z]*"` at the start of all tokens, with the tokens `ab`, `a",`, `":`, `7`:
//!
//! ```text
//! tokens  ab            (inside to its last byte)
//! exits   , of `a",`    : of `":`     (after the quote, with the rest of a token left)
//! ```

use std::sync::Arc;

use smallvec::SmallVec;

use super::packed_mask::{MaskBase, TokenList};
use super::split::{SplitEnds, TrieId};
use super::token_trie::TokenTrie;
use super::trie_cursor::TrieCursor;
use crate::regular::{ByteSet, Language};
use crate::vocabulary::{TokenMask, Vocabulary};

/// The bytes with which the continuation of a terminal may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Continuation {
    /// The continuation starts with no byte that could start another unit of the terminal's last
    /// repeat, so the repeat is read greedily.
    UnlikeUnit,
    /// Any.
    Any,
}

/// A question to a [`TerminalReader`](super::terminal_reader::TerminalReader).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TerminalQuery {
    pub(super) state: Language,
    /// Whether it is a JSON string.
    pub(super) is_json_string: bool,
    pub(super) continuation: Continuation,
    pub(super) ends: SplitEnds,
    /// Whether other constraints may have the same state; not where it depends on what was written
    /// before.
    pub(super) is_shareable: bool,
}

/// The tokens that a terminal's state allows from some cursors, and the cursors at which it may end.
#[derive(Debug)]
pub(crate) struct TerminalTokens {
    /// Tokens in no base.
    pub(super) lists: SmallVec<[TokenList; 1]>,
    /// Those of them with a comma.
    pub(super) with_comma: Box<[u32]>,
    pub(super) bases: SmallVec<[MaskBase; 1]>,
    /// The cursors at which it may end, with some of a token left.
    pub(super) exits: Box<[TrieCursor]>,
    /// The tries of the exits.
    pub(super) tries: Box<[(TrieId, TokenTrie)]>,
    /// Valid only if the continuation begins with none of these bytes, which could begin another
    /// unit. Otherwise ask again with [`Continuation::Any`].
    pub(super) unit_first_bytes: ByteSet,
    /// If the continuation begins with one of these bytes, the exits are incomplete (ends within
    /// words are left out): ask again with [`SplitEnds::All`].
    pub(super) word_bytes: ByteSet,
    /// Tokens that are listed or stand in a base, but must be read in full to know.
    pub(super) uncertain: Box<[u32]>,
}

impl TerminalTokens {
    /// The tokens that the same terminal allows from all the cursors of several sets.
    pub(super) fn union(parts: &[Arc<Self>]) -> Self {
        fn all<T: Clone>(parts: &[Arc<TerminalTokens>], of: fn(&TerminalTokens) -> &[T]) -> Vec<T> {
            parts.iter().flat_map(|part| of(part)).cloned().collect()
        }
        let bytes = |of: fn(&Self) -> &ByteSet| {
            parts.iter().fold(ByteSet::EMPTY, |bytes, part| bytes.union(of(part)))
        };
        let mut exits = all(parts, |part| &part.exits);
        exits.sort_unstable();
        exits.dedup();
        let mut tries = all(parts, |part| &part.tries);
        tries.sort_unstable_by_key(|&(id, _)| id);
        tries.dedup_by_key(|&mut (id, _)| id);
        Self {
            lists: all(parts, |part| &part.lists).into(),
            with_comma: all(parts, |part| &part.with_comma).into(),
            bases: all(parts, |part| &part.bases).into(),
            exits: exits.into(),
            tries: tries.into(),
            unit_first_bytes: bytes(|part| &part.unit_first_bytes),
            word_bytes: bytes(|part| &part.word_bytes),
            uncertain: all(parts, |part| &part.uncertain).into(),
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let gathered = self.tries.iter().map(|(_, tokens)| match tokens {
            TokenTrie::Gathered(trie) => trie.memory_bytes(),
            // The vocabulary's, or shared with others.
            _ => size_of::<(TrieId, TokenTrie)>(),
        });
        let exits = self.exits.len() * size_of::<TrieCursor>() + gathered.sum::<usize>();
        let lists = self.lists.iter().map(TokenList::memory_bytes).sum::<usize>();
        let tokens = lists + size_of_val(&*self.with_comma) + size_of_val(&*self.uncertain);
        size_of::<Self>() + tokens + exits
    }
}

/// The tokens that the terminal reads to their last bytes.
#[derive(Clone, Copy)]
pub(super) struct TokensReadWhole<'a> {
    pub(super) listed: &'a [u32],
    pub(super) bases: &'a [MaskBase],
}

impl TokensReadWhole<'_> {
    pub(super) fn mask(self, vocabulary: &Vocabulary) -> TokenMask {
        let mut mask = TokenMask::new(vocabulary.len());
        self.listed.iter().for_each(|&token| mask.allow(token));
        self.bases.iter().for_each(|base| base.allow_in(&mut mask));
        mask
    }
}

/// Terminal tokens while they are collected.
#[derive(Debug)]
pub(super) struct TerminalTokensBuilder {
    pub(super) tokens: Vec<u32>,
    pub(super) bases: SmallVec<[MaskBase; 1]>,
    pub(super) exits: Vec<TrieCursor>,
    pub(super) unit_first_bytes: ByteSet,
    pub(super) word_bytes: ByteSet,
    pub(super) uncertain: Vec<u32>,
    /// Trie nodes that may still be visited.
    pub(super) node_budget: usize,
}

impl Default for TerminalTokensBuilder {
    fn default() -> Self {
        Self::with_budget(usize::MAX)
    }
}

impl TerminalTokensBuilder {
    /// Nothing yet; a walk may visit so many nodes.
    pub(super) fn with_budget(node_budget: usize) -> Self {
        let (tokens, bases, exits, uncertain) = Default::default();
        let (unit_first_bytes, word_bytes) = (ByteSet::EMPTY, ByteSet::EMPTY);
        Self { tokens, bases, exits, unit_first_bytes, word_bytes, uncertain, node_budget }
    }

    /// Adds everything of another.
    pub(super) fn append(&mut self, mut other: Self) {
        self.tokens.append(&mut other.tokens);
        self.bases.append(&mut other.bases);
        self.exits.append(&mut other.exits);
        self.uncertain.append(&mut other.uncertain);
        self.unit_first_bytes = self.unit_first_bytes.union(&other.unit_first_bytes);
        self.word_bytes = self.word_bytes.union(&other.word_bytes);
    }
}
