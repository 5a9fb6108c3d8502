//! Bounds on what a user's input can make the engine do.

/// Limits of a constraint. Reaching one of the first four is an error of kind
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
    /// Bytes that the caches of one constraint may hold before they are emptied.
    pub cache_bytes: usize,
    /// Bytes of vocabulary slices that the constraints of one compiler share.
    pub slice_bytes: usize,
    /// A terminal state gets a slice of the vocabulary if more nodes of the trie than this can be
    /// reached within it; a smaller one is walked as fast as it is looked up.
    pub slice_nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            grammar_size: 1 << 20,
            language_states: 1 << 20,
            states_per_step: 20_000,
            depth: 10_000,
            cache_bytes: 256 << 20,
            slice_bytes: 256 << 20,
            slice_nodes: 256,
        }
    }
}
