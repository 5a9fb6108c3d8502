//! Limits of the rewriting, and the errors where they are reached.

use crate::error::{Error, ErrorKind};

/// Copies of rules and loops that a rewritten grammar may have. Each is a rule that is normalised
/// and compiled later on.
pub(super) const MAX_COPIES: usize = 20_000;
/// Pairs of terminal state and monitor that a search may visit: one row of 256 bytes each.
pub(super) const MAX_PAIRS: usize = 100_000;
/// Turns of a counted repeat that are written one by one.
pub(super) const MAX_UNROLLED_TURNS: u32 = 1_000;

pub(super) fn too_many_cases() -> Error {
    Error::new(
        ErrorKind::Limit,
        "a lazy rule and what else may begin in its place combine into too many cases",
    )
    .with_help("let free text stand behind the last call, as in `start: tool* TEXT`")
}

/// A node that only grammars of a [`Source`](crate::grammar::source::Source) hold, which no lazy
/// rule can stand beside.
pub(super) fn made_on_demand() -> Error {
    Error::new(ErrorKind::Grammar, "a lazy rule stands beside rules that are made as they are read")
}
