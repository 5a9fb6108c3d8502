//! Errors about `config.json`.

use serde_json::Value;

use crate::error::{Error, ErrorKind};

/// An error about the model's configuration.
pub(super) fn config_error(message: &str) -> Error {
    Error::new(ErrorKind::Model, message)
}

/// An error about a key whose value is not supported.
pub(super) fn refused(key: &str, value: &Value, why: &str) -> Error {
    config_error(&format!("`{key}`: {} {why}", shown(value)))
        .at_pointer(format!("/{key}"))
        .with_help("models of this type without it are supported")
}

/// A value as JSON for a message, cut off where it is long.
pub(super) fn shown(value: &Value) -> String {
    /// In characters; enough to recognise a value.
    const MAX_SHOWN: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
