//! `x-guidance`: options that a schema brings along, as llguidance reads them.
//!
//! An object at the root of a schema says how its values are written. What it says replaces the
//! caller's options; what it does not say stays theirs.
//!
//! ```text
//! {"x-guidance": {"item_separator": "\\s{0,2},\\s{0,2}", "whitespace_flexible": false}, "type": …}
//! no whitespace but around commas, and there at most two on each side
//! ```
//!
//! | member | meaning |
//! |---|---|
//! | `whitespace_flexible` | any whitespace in each gap (true, the default) or none |
//! | `whitespace_pattern` | a pattern for one gap, which may also be empty |
//! | `item_separator`, `key_separator` | patterns, with gaps on both sides |
//! | `coerce_one_of`, `lenient` | `oneOf` is read as `anyOf` |
//! | `json_allowed_escapes` | characters that may follow a backslash |
//! | `json_allow_general_unicode_escapes` | characters may be escaped that need not be |
//!
//! Where one of the first four stands, the others have their defaults. `lenient` says nothing else,
//! since nothing else would be refused.
//!
//! Source: llguidance, `docs/json_schema.md`.

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::options::{Gaps, OneOf, Options, Spelling, Whitespace};

/// The member of a schema's root.
const KEY: &str = "x-guidance";

/// Any whitespace of JSON.
const ANY_WHITESPACE: &str = "[ \\t\\n\\r]*";

/// The escapes that llguidance allows unless a schema says otherwise.
const ESCAPES: &str = "nrbtf\\\"u";

/// The members that say how whitespace is written.
#[derive(Default)]
struct Spacing<'d> {
    /// Whether one of them is there.
    given: bool,
    compact: bool,
    pattern: Option<&'d str>,
    item_separator: Option<&'d str>,
    key_separator: Option<&'d str>,
}

/// The options with what the schema says of them.
///
/// Errors if `x-guidance` has a member without a meaning, or a value of the wrong kind.
pub(crate) fn apply(document: &Document, mut options: Options) -> Result<Options> {
    let Some(at) = document.get(document.root(), KEY) else { return Ok(options) };
    let Some(members) = document.members(at) else {
        return Err(document.error(ErrorKind::Schema, at, format!("`{KEY}` must be an object")));
    };
    let mut spacing = Spacing::default();
    let (mut escapes, mut general, mut at_least) = (None, false, None);
    for (key, at) in members.iter() {
        match key {
            "whitespace_flexible" => spacing.compact = !flag(document, key, at)?,
            "whitespace_pattern" => spacing.pattern = text(document, key, at)?,
            "item_separator" => spacing.item_separator = text(document, key, at)?,
            "key_separator" => spacing.key_separator = text(document, key, at)?,
            // Either of them is enough.
            "coerce_one_of" | "lenient" => {
                let is_enough = flag(document, key, at)? || at_least == Some(true);
                at_least = Some(is_enough);
            }
            "json_allowed_escapes" => escapes = text(document, key, at)?,
            "json_allow_general_unicode_escapes" => general = flag(document, key, at)?,
            _ => {
                let message = format!("`{KEY}` has no member `{key}`");
                let error = document.error(ErrorKind::Schema, at, message);
                return Err(error.with_help(
                    "known are whitespace_flexible, whitespace_pattern, item_separator, \
                     key_separator, coerce_one_of, lenient, json_allowed_escapes and \
                     json_allow_general_unicode_escapes",
                ));
            }
        }
        spacing.given |= key.starts_with("whitespace") || key.ends_with("separator");
    }
    if spacing.given {
        options.whitespace = spacing.whitespace();
    }
    if let Some(at_least) = at_least {
        options.one_of = if at_least { OneOf::AtLeast } else { OneOf::Exactly };
    }
    if escapes.is_some() || general {
        let with_codes = |known: String| {
            if general && !known.contains('u') { known + "u" } else { known }
        };
        let known = options.escapes.take().map(with_codes);
        let escapes = escapes.map(str::to_owned).or(known).unwrap_or_else(|| ESCAPES.to_owned());
        if general && options.spelling == Spelling::Canonical {
            options.spelling = Spelling::Escapes;
        }
        options.escapes = Some(escapes);
    }
    Ok(options)
}

impl Spacing<'_> {
    fn whitespace(&self) -> Whitespace {
        let gaps = match self.pattern {
            Some(pattern) => Gaps::Pattern(format!("(?:{pattern})?")),
            None if self.compact => Gaps::Nothing,
            None => Gaps::Pattern(ANY_WHITESPACE.to_owned()),
        };
        Whitespace::Separated {
            gaps,
            item_separator: self.item_separator.unwrap_or(",").to_owned(),
            key_separator: self.key_separator.unwrap_or(":").to_owned(),
        }
    }
}

fn wrong(document: &Document, key: &str, at: ValueId, wanted: &str) -> Error {
    document.error(ErrorKind::Schema, at, format!("`{key}` of `{KEY}` must be {wanted}"))
}

fn flag(document: &Document, key: &str, at: ValueId) -> Result<bool> {
    match document.value(at) {
        &Value::Bool(flag) => Ok(flag),
        _ => Err(wrong(document, key, at, "a boolean")),
    }
}

/// A text; `None` for null.
fn text<'d>(document: &'d Document, key: &str, at: ValueId) -> Result<Option<&'d str>> {
    match document.value(at) {
        Value::Null if matches!(key, "whitespace_pattern" | "json_allowed_escapes") => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(wrong(document, key, at, "a string")),
    }
}
