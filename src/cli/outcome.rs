//! Answers of subcommands that ended without an error.

/// Answer of a subcommand that ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Exit code 0.
    Success,
    /// Exit code 1: the text is not accepted by the constraint.
    NotAccepted,
}
