//! Canonical texts of JSON values: equal values have equal texts.
//!
//! Numbers are written exactly in scientific form and members sorted by key: `{"b": 1.0, "a": 10}`
//! is `{"a":1e1,"b":1e0}`.

use std::sync::Arc;

use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::number::Decimal;

/// A value as a canonical text.
pub(crate) type CanonicalText = Arc<str>;

/// The canonical text of a JSON text; `None` if it cannot be read.
pub(crate) fn canonical(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let document = Document::parse(text).ok()?;
    let mut out = String::new();
    write_canonical(&document, document.root(), &mut out)?;
    Some(out)
}

/// Writes the canonical text of a value; `None` if a string cannot be written.
pub(crate) fn write_canonical(document: &Document, value: ValueId, out: &mut String) -> Option<()> {
    match document.value(value) {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(literal) => match Decimal::parse(literal) {
            Some(number) if number.is_zero() => out.push_str("0e0"),
            Some(number) => {
                out.push_str(if number.is_negative() { "-" } else { "" });
                let (digits, power) = number.scientific();
                let digits = std::str::from_utf8(digits).ok()?;
                let (first, rest) = digits.split_at(1);
                let point = if rest.is_empty() { "" } else { "." };
                out.push_str(&format!("{first}{point}{rest}e{power}"));
            }
            None => out.push_str(literal),
        },
        Value::String(text) => out.push_str(&serde_json::to_string(&**text).ok()?),
        Value::Array(items) => {
            out.push('[');
            for (i, &item) in items.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                write_canonical(document, item, out)?;
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&str, ValueId)> = members.iter().collect();
            members.sort_unstable();
            out.push('{');
            for (i, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                out.push_str(&serde_json::to_string(key).ok()?);
                out.push(':');
                write_canonical(document, value, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}
