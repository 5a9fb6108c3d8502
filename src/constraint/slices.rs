//! Slices of the vocabulary by terminal state.
//!
//! In most states of most terminals nearly every token either stays inside the terminal from its
//! first byte to its last, or is rejected. Which ones do depends on the terminal's state and the
//! vocabulary alone, never on the grammar around it. So that part of a mask is computed once and
//! shared by all constraints of a compiler. What leaves the terminal on the way (a quote and what
//! follows it) is grouped by its *tail*, the bytes after the terminal's end: a few hundred tails
//! stand for thousands of tokens, and only they are walked with the grammar at hand.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::limits::Limits;
use super::runs::{self, Runs, RunsKey};
use crate::error::Result;
use crate::regex::{Language, Languages};
use crate::vocab::{TokenMask, Trie, Vocabulary};

/// The tokens that a terminal state allows by itself, and the ways out of it.
#[derive(Debug)]
pub(super) struct Slice {
    /// Tokens that can be read within the terminal, whole.
    pub(super) inside: TokenMask,
    /// For every other token and every place inside it where the terminal may end: what follows
    /// that place, with the token's id.
    pub(super) tails: Trie,
}

/// The slices of one vocabulary, by fingerprint of the terminal state; bounded in bytes.
#[derive(Debug)]
pub(super) struct Slices {
    known: Mutex<Known>,
    limit: usize,
    worthwhile: usize,
}

#[derive(Debug, Default)]
struct Known {
    slices: FxHashMap<u128, Option<Arc<Slice>>>,
    runs: runs::Known,
    bytes: usize,
}

impl Slices {
    pub(super) fn new(limits: &Limits) -> Self {
        let (limit, worthwhile) = (limits.slice_bytes, limits.slice_nodes);
        Self { known: Mutex::default(), limit, worthwhile }
    }

    /// The slice of a terminal state; `None` if the state is not worth one.
    pub(super) fn get(
        &self,
        fingerprint: u128,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
    ) -> Result<Option<Arc<Slice>>> {
        if let Some(known) = self.lock().slices.get(&fingerprint) {
            return Ok(known.clone());
        }
        // Made without the lock: two threads may make the same slice, which is harmless.
        let slice = Slice::new(vocabulary, languages, state, self.worthwhile)?.map(Arc::new);
        let bytes = 64 + slice.as_ref().map_or(0, |slice| slice.bytes());
        let mut known = self.lock();
        if known.bytes + bytes > self.limit {
            *known = Known::default();
        }
        known.bytes += bytes;
        known.slices.insert(fingerprint, slice.clone());
        Ok(slice)
    }

    /// The runs of a unit below a node of the trie.
    pub(super) fn runs(
        &self,
        key: RunsKey,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        unit: Language,
    ) -> Result<Arc<Runs>> {
        if let Some(known) = self.lock().runs.get(&key) {
            return Ok(Arc::clone(known));
        }
        let runs = Arc::new(Runs::new(vocabulary, languages, unit, key.1 as usize)?);
        let mut known = self.lock();
        if known.bytes + runs.bytes() > self.limit {
            *known = Known::default();
        }
        known.bytes += runs.bytes();
        known.runs.insert(key, Arc::clone(&runs));
        Ok(runs)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        // Consistent between any two operations.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slice {
    /// One pass over the part of the trie that the terminal lets through, without a grammar.
    fn new(
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
        worthwhile: usize,
    ) -> Result<Option<Self>> {
        let trie = vocabulary.trie();
        let mut states = vec![state];
        let mut reached = 0;
        let mut inside = TokenMask::new(vocabulary.len());
        let mut exits = Vec::new();
        for byte in languages.first_bytes(state)?.iter() {
            let Some(first) = trie.first(byte) else { continue };
            let end = trie.nodes()[first].subtree_end as usize;
            let mut node = first;
            while node < end {
                let at = trie.nodes()[node];
                let depth = usize::from(at.depth);
                states.truncate(depth);
                let next = languages.row(states[depth - 1])?[usize::from(at.byte)];
                if next == Language::EMPTY {
                    node = at.subtree_end as usize;
                    continue;
                }
                states.push(next);
                reached += 1;
                trie.tokens(node).iter().for_each(|&token| inside.allow(token));
                if languages.is_nullable(next) {
                    exits.push(node);
                }
                node += 1;
            }
        }
        if reached <= worthwhile {
            return Ok(None);
        }
        let mut tails: Vec<(&[u8], u32)> = Vec::new();
        for node in exits {
            let depth = usize::from(trie.nodes()[node].depth);
            for &token in trie.subtree_tokens(node) {
                if !inside.contains(token)
                    && let Some(tail) = vocabulary.token_bytes(token).and_then(|b| b.get(depth..))
                    && !tail.is_empty()
                {
                    tails.push((tail, token));
                }
            }
        }
        tails.sort_unstable();
        Ok(Some(Self { inside, tails: Trie::from_sorted(tails) }))
    }

    fn bytes(&self) -> usize {
        size_of_val(self.inside.words())
            + size_of_val(self.tails.nodes())
            + size_of_val(self.tails.ids())
    }
}
