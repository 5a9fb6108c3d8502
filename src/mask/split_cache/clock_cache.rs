//! The store of a split cache: values by key, bounded in bytes, with CLOCK eviction (page
//! replacement, Corbató 1968).
//!
//! When the cache is full, the oldest entries are evicted, except those that were used since they were
//! inserted or last examined. Dropping everything at once would take as long as hundreds of masks, and
//! it would all be computed again.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::TerminalKey;
use crate::mask::split::repeats::{RepeatKey, RepeatSplit};
use crate::mask::split::{SplitKey, TokenSplit};
use crate::mask::terminal_tokens::TerminalTokens;
use crate::regular::ByteSet;

/// Values by key, each with its CLOCK reference bit: whether it was asked for since it was inserted, or
/// since eviction last spared it.
#[derive(Debug)]
struct ClockMap<K, V>(FxHashMap<K, (V, AtomicBool)>);

impl<K, V> Default for ClockMap<K, V> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Eq + Hash, V> ClockMap<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        let (value, used) = self.0.get(key)?;
        // Written to only where that changes something: the memory is shared.
        if !used.load(Ordering::Relaxed) {
            used.store(true, Ordering::Relaxed);
        }
        Some(value)
    }

    fn values(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, (value, _))| (key, value))
    }

    /// Adds a value; whether the key is new.
    fn insert(&mut self, key: K, value: V) -> bool {
        self.0.insert(key, (value, AtomicBool::new(false))).is_none()
    }

    /// Clears a value's reference bit; returns whether it was set.
    fn spare(&mut self, key: &K) -> bool {
        self.0.get_mut(key).is_some_and(|(_, used)| std::mem::take(used.get_mut()))
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key).map(|(value, _)| value)
    }
}

/// A key of any map.
#[derive(Clone, Debug)]
enum AnyKey {
    Split(SplitKey),
    TerminalTokens(TerminalKey),
    RepeatSplit(RepeatKey),
    MaxRepeats(u128),
    MaxRun(ByteSet),
}

/// Splits and other values that constraints share.
#[derive(Debug, Default)]
pub(crate) struct ClockCache {
    splits: ClockMap<SplitKey, Option<Arc<TokenSplit>>>,
    terminal_tokens: ClockMap<TerminalKey, Arc<TerminalTokens>>,
    repeat_splits: ClockMap<RepeatKey, Arc<RepeatSplit>>,
    /// By the fingerprint of a unit: its most repeats in a token.
    max_repeats: ClockMap<u128, u32>,
    /// Of a set, an upper bound on how many of its bytes stand in a row in a token.
    max_runs: ClockMap<ByteSet, u32>,
    /// In the order in which they came, or were spared.
    order: VecDeque<AnyKey>,
    /// Of all but repeat splits.
    bytes: usize,
    /// Of repeat splits, when they were last counted: they grow as they are asked.
    repeat_bytes: usize,
    /// Values that have come since then.
    uncounted: usize,
}

/// Bytes of a small value, with its key and its place in the order.
const SMALL_BYTES: usize = 128;

/// Insertions after which the bytes of repeat splits are counted again.
const COUNT_EVERY: usize = 512;

/// Entries that one round of eviction spares; it then evicts used entries, too, so that its time is bounded.
const MAX_SPARED: usize = 64;

fn split_bytes(split: Option<&TokenSplit>) -> usize {
    SMALL_BYTES + split.map_or(0, TokenSplit::memory_bytes)
}

fn terminal_tokens_bytes(key: &TerminalKey, tokens: &TerminalTokens) -> usize {
    SMALL_BYTES + tokens.memory_bytes() + size_of_val(&*key.cursors)
}

impl ClockCache {
    pub(crate) fn split(&self, key: &SplitKey) -> Option<&Option<Arc<TokenSplit>>> {
        self.splits.get(key)
    }

    pub(crate) fn terminal_tokens(&self, key: &TerminalKey) -> Option<&Arc<TerminalTokens>> {
        self.terminal_tokens.get(key)
    }

    pub(crate) fn repeat_split(&self, key: &RepeatKey) -> Option<&Arc<RepeatSplit>> {
        self.repeat_splits.get(key)
    }

    pub(crate) fn max_repeats(&self, key: u128) -> Option<u32> {
        self.max_repeats.get(&key).copied()
    }

    pub(crate) fn max_run(&self, set: &ByteSet) -> Option<u32> {
        self.max_runs.get(set).copied()
    }

    pub(crate) fn all_max_runs(&self) -> impl Iterator<Item = (&ByteSet, u32)> {
        self.max_runs.values().map(|(set, &run)| (set, run))
    }

    pub(crate) fn add_split(
        &mut self,
        key: SplitKey,
        split: Option<Arc<TokenSplit>>,
        limit: usize,
    ) {
        let bytes = split_bytes(split.as_deref());
        if self.splits.insert(key, split) {
            self.note(AnyKey::Split(key), bytes, limit);
        }
    }

    pub(crate) fn add_terminal_tokens(
        &mut self,
        key: TerminalKey,
        tokens: Arc<TerminalTokens>,
        limit: usize,
    ) {
        let bytes = terminal_tokens_bytes(&key, &tokens);
        if self.terminal_tokens.insert(key.clone(), tokens) {
            self.note(AnyKey::TerminalTokens(key), bytes, limit);
        }
    }

    pub(crate) fn add_repeat_split(
        &mut self,
        key: RepeatKey,
        split: Arc<RepeatSplit>,
        limit: usize,
    ) {
        let bytes = split.memory_bytes();
        if self.repeat_splits.insert(key, split) {
            self.repeat_bytes += bytes;
            self.note(AnyKey::RepeatSplit(key), SMALL_BYTES, limit);
        }
    }

    pub(crate) fn add_max_repeats(&mut self, key: u128, most: u32, limit: usize) {
        if self.max_repeats.insert(key, most) {
            self.note(AnyKey::MaxRepeats(key), SMALL_BYTES, limit);
        }
    }

    pub(crate) fn add_max_run(&mut self, set: ByteSet, run: u32, limit: usize) {
        if self.max_runs.insert(set, run) {
            self.note(AnyKey::MaxRun(set), SMALL_BYTES, limit);
        }
    }

    /// A copy with the values that other limits do not change: runs of sets, and repeat splits.
    pub(crate) fn lasting(&self) -> Self {
        let mut lasting = Self::default();
        for (&set, run) in self.all_max_runs() {
            lasting.add_max_run(set, run, usize::MAX);
        }
        for (&key, split) in self.repeat_splits.values() {
            lasting.add_repeat_split(key, Arc::clone(split), usize::MAX);
        }
        lasting
    }

    /// Notes that a value of so many bytes has come, and evicts others where they are too many.
    fn note(&mut self, key: AnyKey, bytes: usize, limit: usize) {
        self.bytes += bytes;
        self.uncounted += 1;
        if self.uncounted > COUNT_EVERY {
            self.uncounted = 0;
            self.repeat_bytes =
                self.repeat_splits.values().map(|(_, split)| split.memory_bytes()).sum();
        }
        let mut spared = 0;
        while self.bytes.saturating_add(self.repeat_bytes) > limit {
            let Some(key) = self.order.pop_front() else { break };
            if spared < MAX_SPARED && self.spare(&key) {
                spared += 1;
                self.order.push_back(key);
            } else {
                self.evict(&key);
            }
        }
        self.order.push_back(key);
    }

    fn spare(&mut self, key: &AnyKey) -> bool {
        match key {
            AnyKey::Split(key) => self.splits.spare(key),
            AnyKey::TerminalTokens(key) => self.terminal_tokens.spare(key),
            AnyKey::RepeatSplit(key) => self.repeat_splits.spare(key),
            AnyKey::MaxRepeats(key) => self.max_repeats.spare(key),
            AnyKey::MaxRun(set) => self.max_runs.spare(set),
        }
    }

    fn evict(&mut self, key: &AnyKey) {
        self.bytes -= match key {
            AnyKey::Split(key) => split_bytes(self.splits.remove(key).flatten().as_deref()),
            AnyKey::TerminalTokens(key) => self
                .terminal_tokens
                .remove(key)
                .map_or(0, |tokens| terminal_tokens_bytes(key, &tokens)),
            AnyKey::RepeatSplit(key) => {
                let bytes = self.repeat_splits.remove(key).map_or(0, |split| split.memory_bytes());
                self.repeat_bytes = self.repeat_bytes.saturating_sub(bytes);
                SMALL_BYTES
            }
            AnyKey::MaxRepeats(key) => {
                self.max_repeats.remove(key);
                SMALL_BYTES
            }
            AnyKey::MaxRun(set) => {
                self.max_runs.remove(set);
                SMALL_BYTES
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mask::split::SplitEnds;

    #[test]
    fn what_is_asked_for_stays() {
        let mut known = ClockCache::default();
        let limit = 10 * SMALL_BYTES;
        for key in 0..1_000 {
            known.add_max_repeats(key, key as u32, limit);
            assert_eq!(known.max_repeats(0), Some(0), "{key}");
            assert!(known.bytes <= limit && known.order.len() <= 10);
        }
        let left: Vec<u128> = (0..1_000).filter(|&key| known.max_repeats(key).is_some()).collect();
        assert_eq!(left, [0, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
    }

    #[test]
    fn bytes_are_those_of_what_is_there() {
        let mut known = ClockCache::default();
        for key in 0..100u128 {
            known.add_max_repeats(key % 7, 1, usize::MAX);
            let split = SplitKey { state: key % 5, node: 0, ends: SplitEnds::OutsideWords };
            known.add_split(split, None, usize::MAX);
            known.add_max_run(ByteSet::single(key as u8 % 3), 2, usize::MAX);
        }
        assert_eq!((known.bytes, known.order.len()), (15 * SMALL_BYTES, 15));
        known.add_max_repeats(1_000, 1, SMALL_BYTES);
        assert_eq!((known.bytes, known.order.len()), (SMALL_BYTES, 1));
    }
}
