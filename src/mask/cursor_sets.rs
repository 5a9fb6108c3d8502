//! Hash-consed sets of cursors.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::trie_cursor::TrieCursor;

/// A hash-consed set of cursors.
pub(super) type CursorSetId = u32;

/// The empty set.
pub(super) const NO_CURSORS: CursorSetId = 0;

/// The starts of all tokens.
pub(super) const TOKEN_STARTS: CursorSetId = 1;

/// Sets of cursors and their unions.
#[derive(Debug)]
pub(super) struct CursorSets {
    /// Each sorted.
    sets: Vec<Arc<[TrieCursor]>>,
    ids: FxHashMap<Arc<[TrieCursor]>, CursorSetId>,
    unions: FxHashMap<(CursorSetId, CursorSetId), CursorSetId>,
    /// Bytes of the sets.
    set_bytes: usize,
}

impl Default for CursorSets {
    fn default() -> Self {
        let none: Arc<[TrieCursor]> = [].into();
        let starts: Arc<[TrieCursor]> = [TrieCursor::TOKEN_START].into();
        Self {
            sets: vec![Arc::clone(&none), Arc::clone(&starts)],
            ids: FxHashMap::from_iter([(none, NO_CURSORS), (starts, TOKEN_STARTS)]),
            unions: FxHashMap::default(),
            set_bytes: 0,
        }
    }
}

impl CursorSets {
    /// The cursors of a set.
    pub(super) fn cursors(&self, id: CursorSetId) -> &Arc<[TrieCursor]> {
        &self.sets[id as usize]
    }

    /// The set of these cursors, without duplicates.
    pub(super) fn intern(&mut self, cursors: &mut [TrieCursor]) -> CursorSetId {
        cursors.sort_unstable();
        if let Some(&id) = self.ids.get(&*cursors) {
            return id;
        }
        let cursors: Arc<[TrieCursor]> = (&*cursors).into();
        self.set_bytes += size_of_val(&*cursors) + 96;
        self.sets.push(Arc::clone(&cursors));
        let id = self.sets.len() as CursorSetId - 1;
        self.ids.insert(cursors, id);
        id
    }

    /// The union of two sets.
    pub(super) fn union(&mut self, a: CursorSetId, b: CursorSetId) -> CursorSetId {
        if a == b {
            return a;
        }
        if let Some(&known) = self.unions.get(&(a, b)) {
            return known;
        }
        let mut cursors = self.sets[a as usize].to_vec();
        cursors.extend_from_slice(&self.sets[b as usize]);
        // Of two that are sorted: stable sorting merges them.
        cursors.sort();
        cursors.dedup();
        let both = self.intern(&mut cursors);
        self.unions.insert((a, b), both);
        both
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.set_bytes + self.unions.len() * 48
    }
}
