//! Limits of the rewriting, and the errors where they are reached.

use crate::error::{Error, ErrorKind};

/// Copies of rules and loops that a rewritten grammar may have. Each is a rule that is normalised
/// and compiled later on.
pub(super) const MAX_COPIES: usize = 20_000;
/// Pairs of terminal state and monitor that a search may visit: one row of 256 bytes each.
pub(super) const MAX_PAIRS: usize = 100_000;
/// Iterations of a counted repeat that are written one by one.
pub(super) const MAX_UNROLLED_ITERATIONS: u32 = 1_000;

/// The error for bytes that are read as marks beside conditions on the text around.
pub(super) fn bytes_beside_marks() -> Error {
    let message =
        "a terminal of bytes that are no text stands beside one that looks at the text around it";
    Error::new(ErrorKind::Grammar, message)
        .with_help("write either without: as text, or without look-around")
}

pub(super) fn too_many_cases() -> Error {
    Error::new(
        ErrorKind::Limit,
        "look-around (`\\b`, `(?=…)`, `(?!…)`), lazy rules and the terminals that may stand beside them combine into \
         too many cases",
    )
    .with_help(
        "use look-around in fewer terminals, or at their edges alone and alike (about 50 different conditions on letters \
         is the most), let patterns look less far, and let free text come after the last lazy rule, as in `start: tool* \
         TEXT`",
    )
}

/// A node that only grammars of a [`Source`](crate::grammar::source::Source) hold, which no lazy
/// rule can stand beside.
pub(super) fn made_on_demand() -> Error {
    Error::new(
        ErrorKind::Grammar,
        "a lazy rule or look-around stands beside rules that are made as they are read",
    )
}
