//! [`Bounds`]: the size of texts.

/// The size of texts.
///
/// A text that is drawn is always within them. For each alternative the walk knows the least number of
/// bytes, and of nested calls, to the end, and takes none that would exceed an upper bound. For grammars,
/// patterns and choices this number is exact, so that where any text keeps `max_bytes` one is found
/// without a second try. For schemas it is a lower bound that grows as texts visit the schema; once a
/// text has come to a dead end, the length of the shortest text that a search finds takes its place. For
/// `min_bytes` the walk has only an upper estimate of the bytes to come. So a text may have to be begun
/// again; after 400 attempts drawing is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// No text is shorter.
    pub min_bytes: usize,
    /// No text is longer.
    pub max_bytes: usize,
    /// The most calls of rules that may be open at once, tail calls not counted; a counted repeat, and a part
    /// with a token budget or a captured text, count as calls. `None` for no bound.
    pub max_depth: Option<usize>,
}

impl Default for Bounds {
    /// Up to 200 bytes.
    fn default() -> Self {
        Self { min_bytes: 0, max_bytes: 200, max_depth: None }
    }
}
