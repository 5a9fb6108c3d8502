//! Errors of JSON files.

use crate::error::{Error, ErrorKind};

/// A vocabulary error from a JSON error, with line and column as its place rather than in its text.
pub(crate) fn json_error(e: &serde_json::Error) -> Error {
    let text = e.to_string();
    let place = format!(" at line {} column {}", e.line(), e.column());
    let message = text.strip_suffix(&place).unwrap_or(&text);
    let error = Error::new(ErrorKind::Vocabulary, message);
    match e.line() {
        0 => error,
        line => error.at_line_column(line, e.column()),
    }
}
