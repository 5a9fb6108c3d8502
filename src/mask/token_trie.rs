//! Tries of tokens and of the tails of tokens.

use std::sync::Arc;

use super::split::TokenSplit;
use super::split::{LeavingTokens, RepeatSplit};
use super::trie_cursor::RunCondition;
use crate::vocabulary::{Trie, Vocabulary};

/// A trie of tokens or of their tails.
#[derive(Clone, Debug)]
pub(crate) enum TokenTrie {
    Vocabulary,
    /// The tails of the tokens that leave the runs of a unit; in truth one trie for each byte at which
    /// they leave, made when it is asked for.
    Departures(Arc<RepeatSplit>),
    /// The tails of those that leave at one byte.
    DeparturesAt(Arc<LeavingTokens>),
    /// The tails of the tokens that leave a slice's terminal.
    Slice(Arc<TokenSplit>),
    /// The tails of tokens behind many cursors.
    Gathered(Arc<Trie>),
}

impl TokenTrie {
    /// The trie itself.
    pub(super) fn trie<'a>(&'a self, vocabulary: &'a Vocabulary) -> &'a Trie {
        match self {
            Self::DeparturesAt(leaving) => &leaving.tails,
            Self::Slice(slice) => &slice.tails,
            Self::Gathered(tails) => tails,
            Self::Vocabulary | Self::Departures(..) => vocabulary.trie(),
        }
    }

    /// Whether a token, by its index in the trie, satisfies a condition other than
    /// [`RunCondition::Text`].
    pub(super) fn satisfies(&self, condition: RunCondition, index: usize) -> bool {
        match (self, condition) {
            (Self::DeparturesAt(leaving), RunCondition::Units(min, max)) => {
                (min..=max).contains(&leaving.runs[index].units.into())
            }
            _ => true,
        }
    }
}
