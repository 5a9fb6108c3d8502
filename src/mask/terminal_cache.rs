//! The memo tables of a [`TerminalReader`](super::terminal_reader::TerminalReader).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cursor_sets::{CursorSetId, CursorSets};
use super::json_captures::JsonStrings;
use super::split::{RepeatSplit, TrieId};
use super::split::{SplitEnds, TokenSplit};
use super::split_cache::SplitCache;
use super::terminal_tokens::{TerminalQuery, TerminalTokens};
use super::token_trie::TokenTrie;
use super::trie_cursor::{TrieCursor, VOCABULARY};
use crate::regular::{ByteSet, Language, SpanMemo};

/// The structure of a terminal's state, by which its tokens are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateStructure {
    /// A repeat of a unit, `min` to `max` times, then `rest`, which begins unlike the unit.
    UnitRepeat { unit: Language, min: u32, max: u32, rest: Language },
    /// A text of JSON characters, every prefix of which can be completed to one of `text`, then a
    /// quote.
    JsonText { text: Language },
    /// Few first bytes: a walk visits little of the trie.
    Narrow,
    /// Anything else.
    Wide,
}

/// The tokens by which a string with exclusions differs from one without, where these are few.
pub(super) type FewTokens = Option<Arc<[u32]>>;

/// A JSON string whose language lacks some strings, such as the names that a schema knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct StringWithExclusions {
    /// The same terminal without exclusions, but for the empty string where a character must come.
    pub(super) without_exclusions: Language,
    /// The text between the quotes, with exclusions.
    pub(super) text: Language,
    /// Whether the opening quote still comes.
    pub(super) has_opening_quote: bool,
}

/// Facts about states of terminals.
#[derive(Debug, Default)]
pub(super) struct StateFacts {
    /// By state, and whether it is a JSON string.
    pub(super) structures: FxHashMap<(Language, bool), StateStructure>,
    /// Whether every text of characters is a prefix of a text of the language.
    pub(super) accepts_every_prefix: FxHashMap<Language, bool>,
    /// Whether the language can be the unit of a [`RepeatSplit`].
    pub(super) is_unit: FxHashMap<Language, bool>,
    /// The bytes with which a word goes on at a possible end.
    pub(super) word_continuations: FxHashMap<Language, ByteSet>,
    /// States without the bounds that no token can reach.
    pub(super) widened: FxHashMap<Language, Language>,
    /// The most strings of a unit that begin in one token.
    pub(super) max_units: FxHashMap<Language, u32>,
    /// By text, and whether the opening quote still comes.
    pub(super) exclusions: FxHashMap<(Language, bool), Option<StringWithExclusions>>,
    pub(super) spans: SpanMemo,
}

/// Memo of splits, so that the compiler's shared cache is locked once for each.
#[derive(Debug, Default)]
pub(super) struct SplitMemo {
    /// By unit and node of the vocabulary's trie.
    pub(super) repeats: FxHashMap<(Language, u32), Arc<RepeatSplit>>,
    /// The tails of tokens that leave a repeat, by the id of its split and a byte.
    pub(super) repeat_tails: FxHashMap<(TrieId, u8), TrieId>,
    /// By state, node of the vocabulary's trie, and the ends that are listed.
    pub(super) by_state: FxHashMap<(Language, u32, SplitEnds), Option<Arc<TokenSplit>>>,
    /// By text, trie and node: the tokens in which the text comes to an excluded end.
    pub(super) excluded_tokens: FxHashMap<(Language, TrieId, u32), FewTokens>,
}

/// Everything that one constraint remembers of terminals and tokens. The grammar plays no part.
#[derive(Debug)]
pub(crate) struct TerminalCache {
    /// The tables of all constraints of a compiler.
    pub(super) shared: Arc<SplitCache>,
    pub(super) json: JsonStrings,
    /// The length of the vocabulary's longest token, in bytes.
    pub(super) longest_token: u32,
    pub(super) cursor_sets: CursorSets,
    pub(super) tries: FxHashMap<TrieId, TokenTrie>,
    /// With the set of the exits.
    pub(super) tokens: FxHashMap<(TerminalQuery, CursorSetId), (Arc<TerminalTokens>, CursorSetId)>,
    pub(super) facts: StateFacts,
    pub(super) splits: SplitMemo,
    /// Buffers of walks: nodes to be visited, each with the state there and its first bytes.
    pub(super) pending_buffers: Vec<Vec<(u32, Language, ByteSet)>>,
    /// Bytes of `tokens` and of the lists in `splits`.
    pub(super) token_bytes: usize,
}

impl TerminalCache {
    /// Nothing remembered yet.
    pub(super) fn new(shared: Arc<SplitCache>, json: JsonStrings, longest_token: u32) -> Self {
        Self {
            shared,
            json,
            longest_token,
            cursor_sets: CursorSets::default(),
            tries: FxHashMap::from_iter([(VOCABULARY, TokenTrie::Vocabulary)]),
            tokens: FxHashMap::default(),
            facts: StateFacts::default(),
            splits: SplitMemo::default(),
            pending_buffers: Vec::new(),
            token_bytes: 0,
        }
    }

    /// Starts again with nothing remembered.
    pub(super) fn forget(&mut self) {
        *self = Self::new(Arc::clone(&self.shared), self.json, self.longest_token);
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let (facts, splits) = (&self.facts, &self.splits);
        let large = facts.structures.len()
            + facts.word_continuations.len()
            + facts.widened.len()
            + facts.exclusions.len()
            + splits.by_state.len()
            + splits.repeats.len()
            + splits.excluded_tokens.len();
        let small = facts.accepts_every_prefix.len()
            + facts.is_unit.len()
            + facts.spans.len()
            + self.tries.len();
        self.token_bytes
            + self.cursor_sets.memory_bytes()
            + self.tokens.len() * 128
            + large * 48
            + small * 32
    }

    /// Adds a trie of tokens unless it is known.
    pub(super) fn add_trie(&mut self, id: TrieId, trie: impl FnOnce() -> TokenTrie) -> TrieId {
        self.tries.entry(id).or_insert_with(trie);
        id
    }

    /// The trie in which a cursor stands.
    pub(super) fn trie_of(&self, cursor: TrieCursor) -> TokenTrie {
        // Every trie is added before a cursor in it is made.
        self.tries.get(&cursor.trie).cloned().unwrap_or(TokenTrie::Vocabulary)
    }
}
