//! Values as Python's `str` writes them, which is what Jinja2 prints.

use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{Error, Value};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::python_json::float;

/// The text of a value: `True`, `None`, `1e-05`, `['a', {'b': 1}]`; a text is itself.
pub(super) fn text(value: &Value) -> Result<String, Error> {
    if value.kind() == ValueKind::String {
        return Ok(value.to_string());
    }
    let mut out = String::new();
    write(&mut out, value)?;
    Ok(out)
}

/// Whether the text is another than the one that MiniJinja prints.
pub(super) fn differs(value: &Value) -> bool {
    match value.kind() {
        ValueKind::Bool | ValueKind::None | ValueKind::Seq | ValueKind::Map => true,
        ValueKind::Number => !value.is_integer(),
        _ => false,
    }
}

/// Writes a value as it stands in a list: a text is quoted.
fn write(out: &mut String, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::None => out.push_str("None"),
        ValueKind::Number if !value.is_integer() => {
            out.push_str(&float(f64::try_from(value.clone())?))
        }
        ValueKind::String => quote(out, &value.to_string()),
        ValueKind::Seq => {
            out.push('[');
            for (index, item) in value.try_iter()?.enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write(out, &item)?;
            }
            out.push(']');
        }
        ValueKind::Map => {
            out.push('{');
            for (index, key) in value.try_iter()?.enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                write(out, &key)?;
                out.push_str(": ");
                write(out, &value.get_item(&key)?)?;
            }
            out.push('}');
        }
        _ => out.push_str(&value.to_string()),
    }
    Ok(())
}

/// Writes a text in quotes, single ones unless it holds such and no double ones.
fn quote(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => match u32::from(c) {
                code @ ..=0xFF => out.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xFFFF => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push(quote);
}

/// Whether Python writes a character as it is: all but controls, separators other than the blank, and what Unicode does
/// not assign.
fn is_printable(c: char) -> bool {
    static OTHERS: LazyLock<Vec<(char, char)>> =
        LazyLock::new(|| match regex_syntax::parse(r"[\p{Z}\p{C}--\x20]").map(Hir::into_kind) {
            Ok(HirKind::Class(Class::Unicode(class))) => {
                class.iter().map(|range| (range.start(), range.end())).collect()
            }
            _ => Vec::new(),
        });
    let after = OTHERS.partition_point(|range| range.0 <= c);
    after.checked_sub(1).is_none_or(|at| OTHERS[at].1 < c)
}

#[cfg(test)]
mod tests {
    use minijinja::value::Serde;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_by_python() -> Result<(), Error> {
        for (value, expected) in [
            (json!("it's \n"), "it's \n"),
            (json!(true), "True"),
            (json!(null), "None"),
            (json!(1e-7), "1e-07"),
            (json!(10), "10"),
            (json!(["a", "it's", "\"'", 1e16, [null]]), r#"['a', "it's", '"\'', 1e+16, [None]]"#),
            (json!({ "a": { "b": false }, "c": "\u{1}\n" }), r"{'a': {'b': False}, 'c': '\x01\n'}"),
            (json!([]), "[]"),
            (
                json!(["\u{a0}é\u{3000}", "👨\u{200d}👩\u{f0000}"]),
                r"['\xa0é\u3000', '👨\u200d👩\U000f0000']",
            ),
        ] {
            assert_eq!(text(&Value::from(Serde(&value)))?, expected);
        }
        Ok(())
    }
}
