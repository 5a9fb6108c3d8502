//! Errors of candle as errors of this crate.

use crate::error::{Error, ErrorKind};

/// An error of candle's, which no input should cause.
pub(super) fn candle_error(error: candle_core::Error) -> Error {
    let text = error.to_string();
    // Debug builds of candle add a backtrace.
    let line = text.lines().next().unwrap_or_default();
    Error::new(ErrorKind::Model, format!("the model cannot run: {line}"))
}
