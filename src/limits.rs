//! Limits: bounds on what a user's input can make the engine do.
//!
//! Most loops whose length an input decides count against one of them. Reaching a limit is an error of
//! kind [`Limit`](crate::ErrorKind::Limit) whose [`limit`](crate::Error::limit) is the [`LimitName`];
//! caches over their limits are emptied instead. Recursion depth and a few searches are bounded by
//! constants (`MAX_…`), whose errors name no limit. To add a limit: a field of [`Limits`] with its
//! default, a [`LimitName`] if reaching it is an error, and a row in the table of
//! `constraint/named_limit.rs`, which a test compares with the struct.

use std::time::Duration;

use crate::deadline;
use crate::error::Result;

pub(crate) use crate::error::LimitName;

/// Limits of a constraint. Reaching one of the first six is an error of kind
/// [`Limit`](crate::ErrorKind::Limit) that names it, as it is where a search for captures reaches
/// `cache_bytes`; caches over their limits are emptied.
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
    /// Longest time to compile a constraint; `None` for no limit.
    pub time_per_constraint: Option<Duration>,
    /// Longest time of any one call of a matcher: a mask, a token, a search for the end; `None` for
    /// no limit. After an error the matcher is where it was, and what was found out so far is kept.
    pub time_per_mask: Option<Duration>,
    /// Bytes that the caches of one constraint may hold. Beyond it masks are evicted and new texts
    /// begin with fresh memory; a search for captures that needs more is an error.
    pub cache_bytes: usize,
    /// Bytes of token splits that the constraints of one compiler share.
    pub split_bytes: usize,
    /// Work (trie nodes and bytes read, plus tokens found inside) above which the token split of a
    /// terminal state is kept. A state whose split takes less is walked each time instead.
    pub split_nodes: usize,
}

impl Limits {
    /// Runs a compilation within [`time_per_constraint`](Self::time_per_constraint).
    pub(crate) fn compiling<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        deadline::within(LimitName::TimePerConstraint, self.time_per_constraint, run)
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
            split_bytes: 64 << 20,
            split_nodes: 256,
        }
    }
}
