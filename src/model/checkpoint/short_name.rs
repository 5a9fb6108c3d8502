//! Names of files and tensors in messages.

use std::borrow::Cow;

/// A name for a message, cut off where it is long.
pub(super) fn short(name: &str) -> Cow<'_, str> {
    /// In characters; no real name is longer.
    const MAX_SHOWN: usize = 80;
    match name.char_indices().nth(MAX_SHOWN) {
        None => Cow::Borrowed(name),
        Some((at, _)) => Cow::Owned(format!("{}…", &name[..at])),
    }
}
