//! JSON as Python writes it, with `Infinity` and `-Infinity` where JSON has no number: they are read as
//! strings. Used for `config.json` and for the configuration files beside a tokenizer.
//!
//! `"time_step_limit": [0.0, Infinity]` of Mamba-2 is read as `[0.0, "Infinity"]`, so that each reader of a key
//! decides whether it takes one.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Reads JSON, perhaps with infinities. Errors as for JSON.
pub(crate) fn read_with_infinities<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(bytes).or_else(|error| {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        serde_json::from_str(&quoted(text)).map_err(|_| error)
    })
}

/// The text with each infinity outside of strings as a string.
fn quoted(text: &str) -> Cow<'_, str> {
    const NAMES: [&str; 2] = ["-Infinity", "Infinity"];
    if !text.contains(NAMES[1]) {
        return Cow::Borrowed(text);
    }
    let (mut quoted, mut rest, mut is_in_string) = (String::new(), text, false);
    while let Some(first) = rest.chars().next() {
        let name = NAMES.iter().find(|name| !is_in_string && rest.starts_with(**name));
        if let Some(name) = name {
            quoted.extend(["\"", name, "\""]);
            rest = &rest[name.len()..];
            continue;
        }
        let is_escape = is_in_string && first == '\\';
        is_in_string ^= first == '"';
        let taken: String = rest.chars().take(if is_escape { 2 } else { 1 }).collect();
        rest = &rest[taken.len()..];
        quoted.push_str(&taken);
    }
    Cow::Owned(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_outside_of_strings_become_strings() {
        for (text, expected) in [
            (
                r#"{"a": [0.0, Infinity], "b": -Infinity}"#,
                r#"{"a": [0.0, "Infinity"], "b": "-Infinity"}"#,
            ),
            (
                r#"{"Infinity": "\"Infinity\\", "é": Infinity}"#,
                r#"{"Infinity": "\"Infinity\\", "é": "Infinity"}"#,
            ),
            (r#"["\\", Infinity"#, r#"["\\", "Infinity""#),
            ("[1]", "[1]"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
