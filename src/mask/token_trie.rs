//! Tries of tokens and of the tails of tokens.

use std::sync::Arc;

use super::split::{ExitTails, RepeatExits, RepeatSplit};
use super::trie_cursor::RepeatCondition;
use crate::vocabulary::{Trie, Vocabulary};

/// A trie of tokens or of their tails.
#[derive(Clone, Debug)]
pub(crate) enum TokenTrie {
    Vocabulary,
    /// The tails of the tokens that leave a repeat. Stands for one lazily built trie per exit byte;
    /// [`RepeatTailsAt`](Self::RepeatTailsAt) is such a trie.
    RepeatTails(Arc<RepeatSplit>),
    /// The tails of the tokens that leave a repeat at one exit byte.
    RepeatTailsAt(Arc<RepeatExits>),
    /// The tails of the tokens that leave a terminal, less those below nodes of the vocabulary's trie.
    Tails(Arc<ExitTails>),
    /// The tails of tokens after many cursors.
    Gathered(Arc<Trie>),
}

impl TokenTrie {
    /// The trie itself.
    pub(super) fn trie<'a>(&'a self, vocabulary: &'a Vocabulary) -> &'a Trie {
        match self {
            Self::RepeatTailsAt(exits) => &exits.tails,
            Self::Tails(tails) => &tails.trie,
            Self::Gathered(tails) => tails,
            Self::Vocabulary | Self::RepeatTails(..) => vocabulary.trie(),
        }
    }

    /// Whether a token, by its index in the trie, satisfies a condition other than
    /// [`RepeatCondition::Text`].
    pub(super) fn satisfies(&self, condition: RepeatCondition, index: usize) -> bool {
        match (self, condition) {
            (Self::RepeatTailsAt(exits), RepeatCondition::Units(min, max)) => {
                (min..=max).contains(&exits.runs[index].units.into())
            }
            _ => true,
        }
    }
}
