//! Regular expressions without a dialect, which are read as ECMA-262's.

use serde_json::{Value, json};

use crate::server::api_error::ApiError;

/// A formula whose regular expressions are ECMA-262's where it does not say otherwise, as in XGrammar,
/// the usual engine of vLLM and SGLang.
///
/// Errors if a pattern whose dialect is not named has in a class what is characters in ECMA-262 and more in
/// Rust's dialect, since a client of another engine may mean either.
pub(super) fn in_ecma(field: &str, formula: Value) -> Result<Value, ApiError> {
    let Value::Object(mut members) = formula else { return Ok(formula) };
    for key in ["allOf", "anyOf"] {
        if let Some(Value::Array(parts)) = members.get_mut(key) {
            for part in parts {
                *part = in_ecma(field, part.take())?;
            }
        }
    }
    if let Some(part) = members.get_mut("not") {
        *part = in_ecma(field, part.take())?;
    }
    let pattern = ["regex", "search"].iter().find_map(|key| members.get(*key));
    if let Some(pattern) = pattern.filter(|_| !members.contains_key("regex_dialect")) {
        if let Some(operator) = pattern.as_str().and_then(class_operator) {
            let message = format!(
                "has `{operator}` in a class, which is no more than its characters in ECMA-262; name the \
                 `regex_dialect`: \"rust\", whose classes have it, or \"ecma\""
            );
            return Err(ApiError::field(field, message));
        }
        members.insert("regex_dialect".to_owned(), json!("ecma"));
    }
    Ok(Value::Object(members))
}

/// The first operator or named class of Rust's character classes that stands in a class of a pattern, but
/// `--`, which as characters would be a range that counts down or one of no use.
fn class_operator(pattern: &str) -> Option<&str> {
    let (mut in_class, mut at) = (false, 0);
    while let Some(c) = pattern[at..].chars().next() {
        let rest = &pattern[at..];
        match c {
            '\\' => at += rest.chars().nth(1).map_or(0, char::len_utf8),
            '[' if in_class => {
                let name = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]"));
                match name {
                    Some((name, _))
                        if name.bytes().all(|b| b.is_ascii_lowercase() || b == b'^') =>
                    {
                        return Some(&rest[..name.len() + 4]);
                    }
                    _ => {}
                }
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class && (rest.starts_with("&&") || rest.starts_with("~~")) => {
                return Some(&rest[..2]);
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}
