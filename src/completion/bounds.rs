//! Bounds on completions, and the errors where there are none.

use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};

/// A bound on the tokens that complete a text; the end token is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokensToFinish {
    /// A number of tokens that is enough to complete the text.
    pub tokens: u32,
    /// Whether it is the least such number.
    pub exact: bool,
}

/// The error that a budget is too small.
pub(super) fn too_few(needed: u32, left: u32) -> Error {
    let message = format!("{left} tokens are left, and {needed} are needed to complete the text");
    Error::new(ErrorKind::Limit, message)
        .with_help(format!("{needed} is enough: allow more tokens, or ask for less"))
        .with_limit(LimitName::MaxTokens)
}

/// The error that no completion was found.
pub(super) fn no_bound() -> Error {
    let message = "no way to complete the text was found within the search's limits";
    Error::new(ErrorKind::Limit, message).with_help("go on without a budget of tokens")
}

/// No result instead of the error of a limit: a text that is too complex to be searched is no way to
/// the end. The error that time is over stays an error.
pub(super) fn within_limits<T>(found: Result<Option<T>>) -> Result<Option<T>> {
    match found {
        Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => Ok(None),
        found => found,
    }
}
