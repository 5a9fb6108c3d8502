//! The queue of a best-first search over states that now and then takes the oldest.

use super::expression::Language;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Every so many-th state that a search looks at is the oldest that it has met.
const OLDEST_EVERY: usize = 4;

/// States that a search has met and not looked at yet.
#[derive(Default)]
pub(crate) struct SearchQueue {
    /// In the order in which they were met; `None` once they were taken.
    met: Vec<Option<Language>>,
    /// By how little they promise to need, then from the newest on.
    best: BinaryHeap<(Reverse<u32>, usize)>,
    /// All before it were taken.
    oldest: usize,
    /// How many were taken.
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
