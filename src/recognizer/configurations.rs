//! Configurations, each once, and where tokens lead from them.

use std::hash::{BuildHasher as _, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};

use super::stepping::Item;

/// A configuration, by identity within its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ConfigId(u32);

/// Hash-consed sets of items, laid out one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configs {
    items: Vec<Item>,
    /// Where the items of each end.
    ends: Vec<usize>,
    /// By hash, which is kept so that growing looks at no items.
    ids: HashTable<(u32, ConfigId)>,
    /// What was read before: configuration and token.
    after: FxHashMap<(ConfigId, u32), ConfigId>,
}

impl Configs {
    /// The items of a configuration.
    #[inline]
    pub(crate) fn items(&self, id: ConfigId) -> &[Item] {
        let index = id.0 as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[index]]
    }

    /// The configuration of these items, sorted and without duplicates.
    pub(crate) fn intern(&mut self, items: &[Item]) -> ConfigId {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(items);
        let short = (hash ^ hash >> 32) as u32;
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

    /// Where a token leads, if it was read there before.
    #[inline]
    pub(crate) fn after(&self, from: ConfigId, token: u32) -> Option<ConfigId> {
        self.after.get(&(from, token)).copied()
    }

    /// Remembers where a token leads.
    pub(crate) fn remember(&mut self, from: ConfigId, token: u32, next: ConfigId) {
        self.after.insert((from, token), next);
    }

    /// About how many bytes they take.
    pub(crate) fn bytes(&self) -> usize {
        self.items.len() * size_of::<Item>() + self.ends.len() * 24 + self.after.len() * 24
    }
}

/// Of 32 bits 64, of which both ends count.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recognizer::gss::BOTTOM;
    use crate::recognizer::program::ACCEPT;

    #[test]
    fn equal_items_are_one_configuration() {
        let item = |text| Item { text, ..Item::border(ACCEPT, BOTTOM) };
        let mut configs = Configs::default();
        let ids: Vec<_> = (0..1000).map(|n| configs.intern(&[item(n), item(n + 1)])).collect();
        let none = configs.intern(&[]);
        for (n, &id) in (0..1000).zip(&ids) {
            assert_eq!(configs.items(id), [item(n), item(n + 1)]);
            assert_eq!(configs.intern(&[item(n), item(n + 1)]), id);
        }
        assert!(configs.items(none).is_empty() && !ids.contains(&none));
        assert_eq!(configs.after(none, 7), None);
        configs.remember(none, 7, ids[3]);
        assert_eq!(configs.after(none, 7), Some(ids[3]));
    }
}
