//! The queue of a best-first search that now and then takes the oldest state.
//!
//! The best state finds long strings that many patterns narrow soon; the oldest finds short strings
//! where the estimate misleads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::expression::Language;

/// Period in takes: one take in this number takes the oldest state instead of the best.
const OLDEST_EVERY: usize = 4;

/// States that a search has met and not looked at yet.
#[derive(Default)]
pub(crate) struct SearchQueue {
    /// States in the order in which they were met; `None` once taken.
    met: Vec<Option<Language>>,
    /// Indices into `met` by estimated distance, the newest first among equals.
    best: BinaryHeap<(Reverse<u32>, usize)>,
    /// All states of `met` before this index were taken.
    oldest: usize,
    /// Number of takes.
    taken: usize,
}

impl SearchQueue {
    pub(crate) fn push(&mut self, effort: u32, state: Language) {
        self.best.push((Reverse(effort), self.met.len()));
        self.met.push(Some(state));
    }

    pub(crate) fn pop(&mut self) -> Option<Language> {
        self.taken += 1;
        loop {
            let at = match self.taken % OLDEST_EVERY {
                0 => {
                    self.oldest += 1;
                    self.oldest - 1
                }
                _ => self.best.pop()?.1,
            };
            if let Some(state) = self.met.get_mut(at)?.take() {
                return Some(state);
            }
        }
    }
}
