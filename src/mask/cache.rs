//! The masks of one constraint, and everything from which they are composed.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::hot_masks::HotMasks;
use super::json_captures::JsonStrings;
use super::packed_mask::PackedMask;
use super::split_cache::SplitCache;
use super::terminal_cache::TerminalCache;
use crate::grammar::source::KeySigns;
use crate::recognizer::{ByteCoverage, ConfigId, Item, PointId, Recognizer, StackId, TokenSpan};
use crate::vocabulary::{TokenMask, Vocabulary};

/// Masks by configuration, and the memo tables from which they are composed.
#[derive(Debug)]
pub(crate) struct MaskCache {
    pub(super) terminals: TerminalCache,
    masks: FxHashMap<ConfigId, Arc<PackedMask>>,
    pub(crate) hot: HotMasks,
    /// The items that a point with its stacks leads to.
    pub(super) items_after: FxHashMap<(PointId, StackId), Arc<[Item]>>,
    /// The tokens of sets that exclude some.
    pub(super) complements: FxHashMap<TokenSpan, Arc<TokenMask>>,
    /// By widened configuration: see [`ComposedMask::closing_tokens`](super::builder::ComposedMask).
    pub(super) closing_tokens: FxHashMap<ConfigId, Option<u64>>,
    /// Tokens whose validity may depend on a captured key that is no JSON string
    /// ([`key_tokens`](Self::key_tokens)); `None` until asked for.
    key_tokens: Option<TokenMask>,
    /// Bytes of `masks`, `items_after` and `complements`.
    pub(super) entry_bytes: usize,
}

impl MaskCache {
    /// Nothing remembered yet; `shared` are the tables of all constraints of a compiler.
    pub(crate) fn new(
        shared: Arc<SplitCache>,
        recognizer: &mut Recognizer,
        coverage: &ByteCoverage,
    ) -> Self {
        let character = recognizer.program.json_character;
        let json = JsonStrings::new(character, &mut recognizer.languages);
        Self {
            terminals: TerminalCache::new(shared, json, coverage.longest),
            masks: FxHashMap::default(),
            hot: HotMasks::default(),
            items_after: FxHashMap::default(),
            complements: FxHashMap::default(),
            closing_tokens: FxHashMap::default(),
            key_tokens: None,
            entry_bytes: 0,
        }
    }

    /// The tokens that hold the end of a captured key and, after it, the end of its member.
    pub(super) fn key_tokens(&mut self, vocabulary: &Vocabulary, signs: &[KeySigns]) -> &TokenMask {
        self.key_tokens.get_or_insert_with(|| {
            let mut tokens = TokenMask::new(vocabulary.len());
            let find = |text: &[u8], sign: &[u8]| {
                text.windows(sign.len()).position(|part| part == sign).map(|at| at + sign.len())
            };
            for &id in vocabulary.trie().ids() {
                let text = vocabulary.token_bytes(id).unwrap_or_default();
                let depends = |signs: &KeySigns| {
                    find(text, &signs.named)
                        .is_some_and(|named| find(&text[named..], &signs.end).is_some())
                };
                if signs.iter().any(depends) {
                    tokens.allow(id);
                }
            }
            tokens
        })
    }

    /// The mask of a configuration, if it was computed before.
    #[inline]
    pub(crate) fn known(&self, id: ConfigId) -> Option<Arc<PackedMask>> {
        self.masks.get(&id).map(Arc::clone)
    }

    /// Remembers the mask of a configuration.
    pub(super) fn insert(&mut self, id: ConfigId, mask: &Arc<PackedMask>) {
        self.entry_bytes += mask.memory_bytes();
        self.masks.insert(id, Arc::clone(mask));
    }

    /// Approximate memory, in bytes, hot masks not counted.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.terminals.memory_bytes()
            + self.entry_bytes
            + (self.masks.len() + self.closing_tokens.len()) * 128
    }

    /// Starts again with nothing remembered.
    pub(crate) fn forget(&mut self) {
        self.terminals.forget();
        self.masks = FxHashMap::default();
        self.items_after = FxHashMap::default();
        self.complements = FxHashMap::default();
        self.closing_tokens = FxHashMap::default();
        self.entry_bytes = 0;
        self.hot.forget();
    }
}
