//! Errors at a place of a pattern, and the limit that all parsers share.

use crate::error::{Error, ErrorKind};

/// Groups within groups that a pattern may have: parsers and the compiler recurse into them.
pub(crate) const MAX_NESTED_GROUPS: u32 = 250;

/// An error at a byte of the pattern.
pub(crate) fn error_at(byte: usize, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Regex, message).at_byte(byte)
}
