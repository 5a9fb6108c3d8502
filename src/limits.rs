//! Bounds on what a user's input can make the engine do.

use std::time::Duration;

use crate::deadline;
use crate::error::Result;

/// Limits of a constraint. Reaching one of the first six is an error of kind
/// [`Limit`](crate::ErrorKind::Limit) that names it; caches over theirs are emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Nodes of a grammar in normal form.
    pub grammar_size: usize,
    /// States of regular terminals, all terminals of one constraint together.
    pub language_states: usize,
    /// Parallel items (terminal state and stack set) after any one byte.
    pub states_per_step: usize,
    /// Nested rule calls that are not in tail position: how deep a document may nest.
    pub depth: usize,
    /// How long it may take to compile a constraint; `None` for as long as it takes.
    pub time_per_constraint: Option<Duration>,
    /// How long any one call of a matcher may take: a mask, a token, a search for the end. After
    /// an error the matcher is where it was, and what was found out so far is kept.
    pub time_per_mask: Option<Duration>,
    /// Bytes that the caches of one constraint may hold before they are emptied.
    pub cache_bytes: usize,
    /// Bytes of vocabulary slices that the constraints of one compiler share.
    pub slice_bytes: usize,
    /// A terminal state gets a slice of the vocabulary if more nodes of the trie than this can be
    /// reached within it; a smaller one is walked as fast as it is looked up.
    pub slice_nodes: usize,
}

impl Limits {
    /// Compiles something, in the time that it may take.
    pub(crate) fn compiling<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        deadline::within("time_per_constraint", self.time_per_constraint, run)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            grammar_size: 1 << 20,
            language_states: 1 << 20,
            states_per_step: 20_000,
            depth: 10_000,
            time_per_constraint: Some(Duration::from_secs(30)),
            time_per_mask: Some(Duration::from_secs(10)),
            cache_bytes: 256 << 20,
            slice_bytes: 64 << 20,
            slice_nodes: 256,
        }
    }
}
