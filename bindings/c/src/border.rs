//! The way across the border: results and panics become return values and errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use maskwright::{ErrorKind, Result};

use crate::error::{Error, put};

/// Runs the body of a function. Returns what it returns, or `failed` with the error put where the caller
/// wants it.
///
/// State that a panic leaves behind is a matcher's or a cache's: they are dropped as they are, and
/// every call checks what it reads from them, so unwinding through them is safe.
pub(crate) fn border<T>(failed: T, error: *mut *mut Error, body: impl FnOnce() -> Result<T>) -> T {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let message = "an internal error of the library";
        Err(maskwright::Error::new(ErrorKind::Limit, message).with_help("please report it"))
    });
    result.unwrap_or_else(|reason| {
        put(error, reason);
        failed
    })
}

/// Runs a body that cannot fail but for a panic or a NULL, for which it returns `failed`.
pub(crate) fn quietly<T>(failed: T, body: impl FnOnce() -> Result<T>) -> T {
    border(failed, std::ptr::null_mut(), body)
}
