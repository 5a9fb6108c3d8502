//! What was computed of a vocabulary by any constraint, bounded in bytes.
//!
//! Where there is too much, what has stood there longest goes, little by little, unless it was asked
//! for since (the clock of page replacement, Corbató 1968): forgetting all at once takes as long as
//! hundreds of masks, and what follows computes it again.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;

use super::{ReadingKey, Slice, SliceKey};
use crate::mask::runs::{Runs, RunsKey};
use crate::mask::terminal_tokens::TerminalTokens;
use crate::regular::ByteSet;

/// Values by key; of each: was it asked for since it came, or since it was last spared?
#[derive(Debug)]
struct Kept<K, V>(FxHashMap<K, (V, AtomicBool)>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<K: Eq + Hash, V> Kept<K, V> {
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

    /// Is it new?
    fn insert(&mut self, key: K, value: V) -> bool {
        self.0.insert(key, (value, AtomicBool::new(false))).is_none()
    }

    /// Was it asked for? From now on, it was not.
    fn spare(&mut self, key: &K) -> bool {
        self.0.get_mut(key).is_some_and(|(_, used)| std::mem::take(used.get_mut()))
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key).map(|(value, _)| value)
    }
}

/// What something is known by.
#[derive(Clone, Debug)]
enum Key {
    Slice(SliceKey),
    Reading(ReadingKey),
    Runs(RunsKey),
    Units(u128),
    Longest(ByteSet),
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    slices: Kept<SliceKey, Option<Arc<Slice>>>,
    readings: Kept<ReadingKey, Arc<TerminalTokens>>,
    runs: Kept<RunsKey, Arc<Runs>>,
    /// By fingerprint: how many of a unit begin in a token at most.
    units: Kept<u128, u32>,
    /// Of a set, the most bytes that stand side by side in a token.
    longest: Kept<ByteSet, u32>,
    /// In the order in which they came, or were spared.
    order: VecDeque<Key>,
    /// Of all but runs.
    bytes: usize,
    /// Of runs, when they were last counted: they grow as they are asked.
    runs_bytes: usize,
    /// What has come since then.
    uncounted: usize,
}

/// Of a small value, with its key and its place in the order.
const SMALL: usize = 128;

fn slice_bytes(slice: Option<&Slice>) -> usize {
    SMALL + slice.map_or(0, Slice::bytes)
}

fn reading_bytes(key: &ReadingKey, reading: &TerminalTokens) -> usize {
    SMALL + reading.bytes() + size_of_val(&*key.2)
}

impl Known {
    pub(crate) fn slice(&self, key: &SliceKey) -> Option<&Option<Arc<Slice>>> {
        self.slices.get(key)
    }

    pub(crate) fn reading(&self, key: &ReadingKey) -> Option<&Arc<TerminalTokens>> {
        self.readings.get(key)
    }

    pub(crate) fn runs(&self, key: &RunsKey) -> Option<&Arc<Runs>> {
        self.runs.get(key)
    }

    pub(crate) fn units(&self, key: u128) -> Option<u32> {
        self.units.get(&key).copied()
    }

    pub(crate) fn longest(&self, set: &ByteSet) -> Option<u32> {
        self.longest.get(set).copied()
    }

    pub(crate) fn all_longest(&self) -> impl Iterator<Item = (&ByteSet, u32)> {
        self.longest.values().map(|(set, &longest)| (set, longest))
    }

    pub(crate) fn add_slice(&mut self, key: SliceKey, slice: Option<Arc<Slice>>, limit: usize) {
        let bytes = slice_bytes(slice.as_deref());
        if self.slices.insert(key, slice) {
            self.note(Key::Slice(key), bytes, limit);
        }
    }

    pub(crate) fn add_reading(
        &mut self,
        key: ReadingKey,
        reading: Arc<TerminalTokens>,
        limit: usize,
    ) {
        let bytes = reading_bytes(&key, &reading);
        if self.readings.insert(key.clone(), reading) {
            self.note(Key::Reading(key), bytes, limit);
        }
    }

    pub(crate) fn add_runs(&mut self, key: RunsKey, runs: Arc<Runs>, limit: usize) {
        self.runs_bytes += runs.bytes();
        if self.runs.insert(key, runs) {
            self.note(Key::Runs(key), SMALL, limit);
        }
    }

    pub(crate) fn add_units(&mut self, key: u128, units: u32, limit: usize) {
        if self.units.insert(key, units) {
            self.note(Key::Units(key), SMALL, limit);
        }
    }

    pub(crate) fn add_longest(&mut self, set: ByteSet, longest: u32, limit: usize) {
        if self.longest.insert(set, longest) {
            self.note(Key::Longest(set), SMALL, limit);
        }
    }

    /// What other limits do not change: sets, and runs.
    pub(crate) fn lasting(&self) -> Self {
        let mut lasting = Self::default();
        for (&set, longest) in self.all_longest() {
            lasting.add_longest(set, longest, usize::MAX);
        }
        for (&key, runs) in self.runs.values() {
            lasting.add_runs(key, Arc::clone(runs), usize::MAX);
        }
        lasting
    }

    /// So many bytes have come: others go where they are too many.
    fn note(&mut self, key: Key, bytes: usize, limit: usize) {
        const COUNT_EVERY: usize = 512;
        /// So many are spared at most before one goes that was asked for.
        const SPARED: usize = 64;
        self.bytes += bytes;
        self.uncounted += 1;
        if self.uncounted > COUNT_EVERY {
            self.uncounted = 0;
            self.runs_bytes = self.runs.values().map(|(_, runs)| runs.bytes()).sum();
        }
        let mut spared = 0;
        while self.bytes.saturating_add(self.runs_bytes) > limit {
            let Some(key) = self.order.pop_front() else { break };
            if spared < SPARED && self.spare(&key) {
                spared += 1;
                self.order.push_back(key);
            } else {
                self.forget(&key);
            }
        }
        self.order.push_back(key);
    }

    fn spare(&mut self, key: &Key) -> bool {
        match key {
            Key::Slice(key) => self.slices.spare(key),
            Key::Reading(key) => self.readings.spare(key),
            Key::Runs(key) => self.runs.spare(key),
            Key::Units(key) => self.units.spare(key),
            Key::Longest(set) => self.longest.spare(set),
        }
    }

    fn forget(&mut self, key: &Key) {
        self.bytes -= match key {
            Key::Slice(key) => slice_bytes(self.slices.remove(key).flatten().as_deref()),
            Key::Reading(key) => {
                self.readings.remove(key).map_or(0, |reading| reading_bytes(key, &reading))
            }
            Key::Runs(key) => {
                let bytes = self.runs.remove(key).map_or(0, |runs| runs.bytes());
                self.runs_bytes = self.runs_bytes.saturating_sub(bytes);
                SMALL
            }
            Key::Units(key) => {
                self.units.remove(key);
                SMALL
            }
            Key::Longest(set) => {
                self.longest.remove(set);
                SMALL
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays() {
        let mut known = Known::default();
        let limit = 10 * SMALL;
        for key in 0..1_000 {
            known.add_units(key, key as u32, limit);
            assert_eq!(known.units(0), Some(0), "{key}");
            assert!(known.bytes <= limit && known.order.len() <= 10);
        }
        let left: Vec<u128> = (0..1_000).filter(|&key| known.units(key).is_some()).collect();
        assert_eq!(left, [0, 991, 992, 993, 994, 995, 996, 997, 998, 999]);
    }

    #[test]
    fn bytes_are_those_of_what_is_there() {
        let mut known = Known::default();
        for key in 0..100u128 {
            known.add_units(key % 7, 1, usize::MAX);
            known.add_slice((key % 5, 0, false), None, usize::MAX);
            known.add_longest(ByteSet::single(key as u8 % 3), 2, usize::MAX);
        }
        assert_eq!((known.bytes, known.order.len()), (15 * SMALL, 15));
        known.add_units(1_000, 1, SMALL);
        assert_eq!((known.bytes, known.order.len()), (SMALL, 1));
    }
}
