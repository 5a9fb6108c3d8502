//! JSON as text, for the parts of an answer that are kept: a tree of values takes ten to forty times the memory.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// A value as JSON text.
pub(super) fn json_text(value: &impl Serialize) -> Box<RawValue> {
    // Errors only for maps whose keys are no strings, of which no answer has any.
    to_raw_value(value).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
