//! [`Bounds`]: the size of texts.

/// The size of texts.
///
/// A text that is drawn always keeps them. The upper bounds steer the walk by the least number of
/// bytes (of nested calls) that every alternative takes to the end. For grammars, patterns and
/// choices this number is exact, so that where any text keeps `max_bytes` one is found without a
/// second try. For schemas it is a lower bound that grows as texts visit the schema; once a
/// text has come to a dead end, they are steered by the shortest text that is found instead. The
/// lower bound on bytes is steered by an estimate from above. So texts may be begun again, and
/// after 400 beginnings in vain drawing is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// No text is shorter.
    pub min_bytes: usize,
    /// No text is longer.
    pub max_bytes: usize,
    /// Rules that call each other: no more may be open at once, those left out whose call ends the
    /// caller. Without a bound if `None`.
    pub max_depth: Option<usize>,
}

impl Default for Bounds {
    /// Up to 200 bytes.
    fn default() -> Self {
        Self { min_bytes: 0, max_bytes: 200, max_depth: None }
    }
}
