//! Compiled constraints by what they were compiled from, bounded in bytes.
//!
//! A key that is being compiled is in the cache already: other threads that ask for it wait for the one
//! compilation. Failures are not kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use maskwright::{Constraint, Error};

/// The text of a spec and the tokens that end a text.
pub(crate) type Key = (String, Vec<u32>);

type Cell = Arc<OnceLock<Result<Constraint, Error>>>;

struct Entry {
    cell: Cell,
    /// The time of the last use, counted in uses.
    used: u64,
}

#[derive(Default)]
struct Entries {
    by_key: HashMap<Key, Entry>,
    uses: u64,
    hits: u64,
    misses: u64,
}

/// The cache.
pub(crate) struct Cache {
    max_bytes: usize,
    entries: Mutex<Entries>,
}

impl Cache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    /// The constraint of a key, compiled once however many threads ask.
    pub(crate) fn get(
        &self,
        key: Key,
        compile: impl FnOnce() -> Result<Constraint, Error>,
    ) -> Result<Constraint, Error> {
        if self.max_bytes == 0 {
            return compile();
        }
        let cell = self.cell(&key);
        let made = cell.get_or_init(compile).clone();
        match &made {
            Ok(_) => self.evict(&key),
            Err(_) => self.forget(&key, &cell),
        }
        made
    }

    fn cell(&self, key: &Key) -> Cell {
        let mut entries = self.lock();
        entries.uses += 1;
        let used = entries.uses;
        if let Some(entry) = entries.by_key.get_mut(key) {
            entry.used = used;
            let cell = Arc::clone(&entry.cell);
            entries.hits += 1;
            return cell;
        }
        entries.misses += 1;
        let cell = Cell::default();
        entries.by_key.insert(key.clone(), Entry { cell: Arc::clone(&cell), used });
        cell
    }

    fn forget(&self, key: &Key, cell: &Cell) {
        let mut entries = self.lock();
        if entries.by_key.get(key).is_some_and(|entry| Arc::ptr_eq(&entry.cell, cell)) {
            entries.by_key.remove(key);
        }
    }

    /// Drops those that were not used for longest until the rest fits; the one of `key` goes last.
    fn evict(&self, key: &Key) {
        let mut entries = self.lock();
        let mut sizes: Vec<(u64, usize, Key)> = entries
            .by_key
            .iter()
            .filter_map(|(key, entry)| {
                let constraint = entry.cell.get()?.as_ref().ok()?;
                Some((entry.used, constraint.cache_bytes() + key.0.len(), key.clone()))
            })
            .collect();
        let mut bytes: usize = sizes.iter().map(|(_, size, _)| size).sum();
        sizes.sort_unstable_by_key(|(used, _, of)| (of == key, *used));
        for (_, size, key) in sizes {
            if bytes <= self.max_bytes {
                break;
            }
            entries.by_key.remove(&key);
            bytes -= size;
        }
    }

    /// Entries, bytes, hits and misses.
    pub(crate) fn info(&self) -> (usize, usize, u64, u64) {
        let entries = self.lock();
        let bytes = entries.by_key.iter().map(|(key, entry)| {
            let made = entry.cell.get().and_then(|made| made.as_ref().ok());
            made.map_or(0, |constraint| constraint.cache_bytes() + key.0.len())
        });
        (entries.by_key.len(), bytes.sum(), entries.hits, entries.misses)
    }

    pub(crate) fn clear(&self) {
        self.lock().by_key.clear();
    }

    /// Entries are consistent after each statement.
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
