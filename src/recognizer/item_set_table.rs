//! The sets of items that a walk over a trie meets, as a deterministic automaton made on demand.
//!
//! A vocabulary has some hundred thousand trie nodes, but a walk meets few sets of items, and most nodes
//! step from a set by a byte that was read there before. Such a node costs one look-up instead of a step of
//! each item. (In a vocabulary of 128,000 tokens, near the end of a
//! rule's token budget: 3 to 8 ms a walk, 25 to 150 without the table.)

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::item::Item;

/// Sets that are kept; each takes a row of 1 KiB. Beyond that, the table starts again with the sets between
/// the root and the node being read.
const MAX_SETS: usize = 2_048;

/// The number of a set in the table.
pub(super) type ItemSetId = u32;

/// Entry of a row: this byte was not read yet.
const UNREAD: ItemSetId = u32::MAX;

/// Entry of a row: no item reads this byte.
const REJECTED: ItemSetId = u32::MAX - 1;

/// A set after a byte, as far as the table knows it.
pub(super) enum KnownStep {
    /// The byte was not read there yet.
    Unread,
    /// No item reads the byte.
    Rejected,
    /// The items after the byte.
    To(ItemSetId),
}

/// The sets, their successors by byte, and the walk's verdict on each.
#[derive(Debug, Default)]
pub(super) struct ItemSetTable {
    ids: FxHashMap<Arc<[Item]>, ItemSetId>,
    sets: Vec<Arc<[Item]>>,
    rows: Vec<[ItemSetId; 256]>,
    /// Whether the walk takes the tokens that end in a set, where it has asked.
    verdicts: Vec<Option<bool>>,
}

impl ItemSetTable {
    /// The number of a set, which is added unless it is known. `path` holds sets that stay; their numbers
    /// change where the table starts again.
    pub(super) fn add(&mut self, items: &[Item], path: &mut [ItemSetId]) -> ItemSetId {
        if let Some(&id) = self.ids.get(items) {
            return id;
        }
        if self.sets.len() >= MAX_SETS.max(2 * path.len()) {
            let kept: Vec<_> = path.iter().map(|&id| self.items(id)).collect();
            *self = Self::default();
            for (id, set) in path.iter_mut().zip(kept) {
                *id = self.insert(set);
            }
        }
        self.insert(items.into())
    }

    fn insert(&mut self, set: Arc<[Item]>) -> ItemSetId {
        if let Some(&id) = self.ids.get(&set) {
            return id;
        }
        let id = self.sets.len() as ItemSetId;
        self.ids.insert(Arc::clone(&set), id);
        self.sets.push(set);
        self.rows.push([UNREAD; 256]);
        self.verdicts.push(None);
        id
    }

    /// The items of a set.
    pub(super) fn items(&self, id: ItemSetId) -> Arc<[Item]> {
        Arc::clone(&self.sets[id as usize])
    }

    /// Where a byte leads, as far as that is known.
    pub(super) fn step(&self, from: ItemSetId, byte: u8) -> KnownStep {
        match self.rows[from as usize][usize::from(byte)] {
            UNREAD => KnownStep::Unread,
            REJECTED => KnownStep::Rejected,
            to => KnownStep::To(to),
        }
    }

    /// Remembers where a byte leads; `None` if no item reads it.
    pub(super) fn remember_step(&mut self, from: ItemSetId, byte: u8, to: Option<ItemSetId>) {
        self.rows[from as usize][usize::from(byte)] = to.unwrap_or(REJECTED);
    }

    /// Whether the walk takes the tokens that end in a set, if it has decided that.
    pub(super) fn verdict(&self, id: ItemSetId) -> Option<bool> {
        self.verdicts[id as usize]
    }

    /// Remembers whether the walk takes the tokens that end in a set.
    pub(super) fn remember_verdict(&mut self, id: ItemSetId, is_taken: bool) {
        self.verdicts[id as usize] = Some(is_taken);
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::{BOTTOM, NO_TEXT};
    use super::*;
    use crate::regular::Language;

    fn set(point: u32) -> [Item; 1] {
        [Item { point, state: Language::EPSILON, stack: BOTTOM, text: NO_TEXT }]
    }

    /// Beyond its limit the table forgets all but the path, and goes on with right numbers.
    #[test]
    fn a_full_table_keeps_the_path() {
        let mut table = ItemSetTable::default();
        let mut path = [table.add(&set(0), &mut []), 0];
        path[1] = table.add(&set(1), &mut path[..1]);
        table.remember_step(path[0], b'a', Some(path[1]));
        table.remember_verdict(path[1], true);
        for point in 2..MAX_SETS as u32 + 5 {
            let id = table.add(&set(point), &mut path);
            assert_eq!(*table.items(id), set(point));
            assert!(table.sets.len() <= MAX_SETS);
        }
        assert_eq!((&*table.items(path[0]), &*table.items(path[1])), (&set(0)[..], &set(1)[..]));
        assert!(matches!(table.step(path[0], b'a'), KnownStep::Unread));
        assert_eq!(table.verdict(path[1]), None);
    }
}
