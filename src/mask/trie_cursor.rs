//! Cursors: positions inside tokens, as nodes of tries.
//!
//! While a mask is composed, some bytes of some tokens are read and the others are not. A cursor is a
//! node of a trie: the unread *tails* of its tokens lie below the node. The trie is the vocabulary's, or
//! one of tails alone, in which tokens are keyed by their unread bytes: `lo",` and `x",` are both at
//! `",` in the trie of the tokens that leave a JSON string at its closing quote.

use super::split::TrieId;
use crate::regular::Language;

/// The vocabulary's trie.
pub(super) const VOCABULARY: TrieId = 0;

/// A condition on the part of a token that stands before its tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RepeatCondition {
    Any,
    /// It has at least and at most so many units.
    Units(u32, u32),
    /// It is a text of this language, from this byte of the token on.
    Text(Language, u32),
}

/// A position inside tokens: their unread tails lie below this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TrieCursor {
    pub(super) trie: TrieId,
    pub(super) node: u32,
    pub(super) condition: RepeatCondition,
}

impl TrieCursor {
    /// The start of all tokens.
    pub(super) const TOKEN_START: Self = Self::root(VOCABULARY);

    /// The root of a trie.
    pub(super) const fn root(trie: TrieId) -> Self {
        Self { trie, node: 0, condition: RepeatCondition::Any }
    }

    /// Whether it means the same to all constraints of a compiler.
    pub(super) fn is_shareable(&self) -> bool {
        !matches!(self.condition, RepeatCondition::Text(..))
    }
}
