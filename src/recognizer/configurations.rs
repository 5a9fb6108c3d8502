//! Hash-consed configurations, and a memo table of the tokens read from them.
//!
//! Configurations exist at token boundaries only: inside a token, items are stepped without being
//! interned. So a mask that was computed once is found again by the configuration's id.

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use super::item::{ConfigId, Item};
use crate::regular::hash_consing::{short_hash, spread};

/// A configuration with unbounded budgets in the place of those that are open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WidenedConfig {
    pub(crate) config: ConfigId,
    /// The least tokens that any of these budgets has left.
    pub(crate) least_tokens_left: u32,
}

/// Hash-consed sets of items, laid out one after the other.
#[derive(Debug, Default)]
pub(super) struct Configurations {
    items: Vec<Item>,
    /// By configuration: the index in `items` at which its items end.
    ends: Vec<usize>,
    /// By hash, which is kept so that growing looks at no items.
    ids: HashTable<(u32, ConfigId)>,
    /// The successors of configurations by tokens read before.
    successors: FxHashMap<(ConfigId, u32), ConfigId>,
    /// Widened configurations, by configuration.
    widened: FxHashMap<ConfigId, WidenedConfig>,
}

impl Configurations {
    /// The items of a configuration.
    #[inline]
    pub(super) fn items(&self, id: ConfigId) -> &[Item] {
        let index = id.0 as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[index]]
    }

    /// The configuration of these items, sorted and without duplicates.
    pub(super) fn intern(&mut self, items: &[Item]) -> ConfigId {
        let short = short_hash(items);
        let same = |&(other, id): &(u32, ConfigId)| other == short && self.items(id) == items;
        if let Some(&(_, id)) = self.ids.find(spread(short), same) {
            return id;
        }
        let id = ConfigId(self.ends.len() as u32);
        self.items.extend_from_slice(items);
        self.ends.push(self.items.len());
        self.ids.insert_unique(spread(short), (short, id), |&(short, _)| spread(short));
        id
    }

    /// The successor by a token, if the token was read there before.
    #[inline]
    pub(super) fn successor(&self, from: ConfigId, token: u32) -> Option<ConfigId> {
        self.successors.get(&(from, token)).copied()
    }

    /// Remembers the successor by a token.
    pub(super) fn remember_successor(&mut self, from: ConfigId, token: u32, next: ConfigId) {
        self.successors.insert((from, token), next);
    }

    /// The configuration with unbounded budgets, if it is known.
    pub(super) fn widened(&self, id: ConfigId) -> Option<WidenedConfig> {
        self.widened.get(&id).copied()
    }

    /// Remembers the configuration with unbounded budgets.
    pub(super) fn remember_widened(&mut self, id: ConfigId, widened: WidenedConfig) {
        self.widened.insert(id, widened);
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.items.len() * size_of::<Item>()
            + self.ends.len() * 24
            + (self.successors.len() + self.widened.len()) * 24
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_are_one_configuration() {
        let item = |text| Item { text, ..Item::accept() };
        let mut configurations = Configurations::default();
        let ids: Vec<_> =
            (0..1000).map(|n| configurations.intern(&[item(n), item(n + 1)])).collect();
        let none = configurations.intern(&[]);
        for (n, &id) in (0..1000).zip(&ids) {
            assert_eq!(configurations.items(id), [item(n), item(n + 1)]);
            assert_eq!(configurations.intern(&[item(n), item(n + 1)]), id);
        }
        assert!(configurations.items(none).is_empty() && !ids.contains(&none));
        assert_eq!(configurations.successor(none, 7), None);
        configurations.remember_successor(none, 7, ids[3]);
        assert_eq!(configurations.successor(none, 7), Some(ids[3]));
    }
}
