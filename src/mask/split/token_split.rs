//! The data of a split: its key, the tokens that stay inside, and the tails of those that leave.

use std::sync::Arc;

use super::exit_tails::{ExitTails, TokenExit};
use crate::regular::{ByteSet, Language};
use crate::vocabulary::{TokenMask, Vocabulary};

/// The ends of a terminal that a split has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SplitEnds {
    All,
    /// Only ends not followed by a word byte. Identifiers could end before any letter, but what
    /// follows rarely starts with one.
    OutsideWords,
}

/// The state of a terminal, and the ends that its split has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitState {
    pub(crate) state: Language,
    pub(crate) ends: SplitEnds,
}

/// The state of a terminal and the node of the vocabulary's trie below which tokens are split.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitStart {
    pub(crate) state: Language,
    pub(crate) node: u32,
    pub(crate) ends: SplitEnds,
}

impl SplitStart {
    /// The same without the node.
    pub(crate) fn split_state(self) -> SplitState {
        SplitState { state: self.state, ends: self.ends }
    }
}

/// The key of a split in the cache that all constraints of a compiler share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SplitKey {
    /// The fingerprint of the terminal's state.
    pub(crate) state: u128,
    pub(crate) node: u32,
    pub(crate) ends: SplitEnds,
}

/// The tokens that a terminal state allows by itself, and where the others leave the terminal.
#[derive(Debug)]
pub(crate) struct TokenSplit {
    /// Tokens that can be read within the terminal, whole.
    pub(crate) inside: TokenMask,
    /// The tails after the exits.
    pub(crate) tails: Arc<ExitTails>,
    pub(in crate::mask) exits: Arc<[TokenExit]>,
    /// If the continuation begins with one of these bytes, the exits are incomplete (ends within
    /// words are left out): ask again with [`SplitEnds::All`].
    pub(crate) word_bytes: ByteSet,
    /// The node of the vocabulary's trie below which the tokens stand.
    pub(crate) node: u32,
}

impl TokenSplit {
    pub(in crate::mask) fn new(vocabulary: &Vocabulary, draft: SplitDraft, node: u32) -> Self {
        let SplitDraft { inside, exits, word_bytes, .. } = draft;
        let tails = ExitTails::new(vocabulary, &exits, node);
        Self { inside, tails: tails.into(), exits: exits.into(), word_bytes, node }
    }

    /// A split at the root that was made from this one and shares its tails where they are the same.
    pub(in crate::mask) fn derived(&self, vocabulary: &Vocabulary, draft: SplitDraft) -> Self {
        if draft.exits[..] != self.exits[..] {
            return Self::new(vocabulary, draft, 0);
        }
        let (tails, exits) = (Arc::clone(&self.tails), Arc::clone(&self.exits));
        let SplitDraft { inside, word_bytes, .. } = draft;
        Self { inside, tails, exits, word_bytes, node: 0 }
    }

    pub(in crate::mask) fn memory_bytes(&self) -> usize {
        size_of_val(self.inside.words()) + self.tails.memory_bytes() + size_of_val(&*self.exits)
    }
}

/// A split while it is being made.
#[derive(Debug)]
pub(in crate::mask) struct SplitDraft {
    pub(in crate::mask) inside: TokenMask,
    pub(in crate::mask) exits: Vec<TokenExit>,
    pub(in crate::mask) word_bytes: ByteSet,
    /// Nodes and bytes that were looked at, and tokens that were found inside: what the split would
    /// cost to make again.
    pub(in crate::mask) work: usize,
}

impl SplitDraft {
    pub(in crate::mask) fn empty(vocabulary: &Vocabulary) -> Self {
        let (exits, word_bytes) = (Vec::new(), ByteSet::EMPTY);
        Self { inside: TokenMask::new(vocabulary.len()), exits, word_bytes, work: 0 }
    }
}

/// Fewer word bytes than this are letters of a suffix or of a keyword, not the rest of a word.
const MIN_WORD_BYTES: usize = 10;

/// Of the bytes with which a terminal may go on where it may end, those of words, if it reads words.
pub(crate) fn word_bytes(bytes: ByteSet) -> ByteSet {
    let word = (0..=u8::MAX).filter(|&b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80);
    let word: ByteSet = word.filter(|&byte| bytes.contains(byte)).collect();
    if word.len() < MIN_WORD_BYTES { ByteSet::EMPTY } else { word }
}
