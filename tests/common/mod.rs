//! Shared parts of several tests: a slow matcher written from the definition, and JSON text as
//! `json.dumps` writes it.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

pub(crate) mod suite;

use maskwright::grammar::Grammar;
use maskwright::{Compiler, Constraint, Vocabulary};
use serde_json::Value;

/// Every byte is a token.
pub(crate) fn byte_compiler() -> Compiler {
    let tokens = (0..=255u8).map(|b| Some(vec![b])).collect();
    Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap())
}

/// The constraint of a grammar, byte by byte.
pub(crate) fn by_bytes(grammar: &Grammar) -> Constraint {
    byte_compiler().compile(grammar.clone()).unwrap()
}

pub(crate) fn accepts(constraint: &Constraint, text: &str) -> bool {
    rejected_at(constraint, text).is_none()
}

/// The offset of the first byte that cannot be read; the length if the text only ends early.
pub(crate) fn rejected_at(constraint: &Constraint, text: &str) -> Option<usize> {
    let mut matcher = constraint.matcher();
    let rejected = |(_, byte): &(usize, u8)| matcher.accept_bytes(&[*byte]).is_err();
    if let Some((at, _)) = text.bytes().enumerate().find(rejected) {
        return Some(at);
    }
    (!matcher.is_accepting()).then_some(text.len())
}

/// Asserts that the grammar of a schema accepts exactly those of the texts.
pub(crate) fn check(grammar: &Grammar, schema: &str, accepted: &[&str], rejected: &[&str]) {
    let constraint = by_bytes(grammar);
    for text in accepted {
        assert_eq!(rejected_at(&constraint, text), None, "{schema} must accept {text}");
    }
    for text in rejected {
        assert!(!accepts(&constraint, text), "{schema} must reject {text}");
    }
}

/// Whether a text is accepted. It is read byte by byte; before each, the mask equals the tokens
/// that are accepted, and
/// something is, unless the text is complete.
pub(crate) fn accepts_by_masks(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    for &byte in text.as_bytes() {
        let mask = matcher.mask().unwrap().clone();
        assert!(!mask.is_empty() || matcher.is_accepting(), "a dead end before {byte} of {text}");
        for token in 0..constraint.vocabulary().len() as u32 {
            let accepted = matcher.clone().accept(token).is_ok();
            assert_eq!(mask.contains(token), accepted, "token {token} before {byte} of {text}");
        }
        if matcher.accept_bytes(&[byte]).is_err() {
            return false;
        }
    }
    matcher.is_accepting()
}

/// As Python's `json.dumps(value, ensure_ascii=False)` writes it.
pub(crate) fn dumps(value: &Value) -> String {
    let mut out = String::new();
    dump(value, &mut out);
    out
}

fn dump(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (None, None, Some(f)) => *out += &python_float(f),
            _ => *out += &number.to_string(),
        },
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                *out += if i > 0 { ", " } else { "" };
                dump(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                *out += if i > 0 { ", " } else { "" };
                *out += &Value::String(key.clone()).to_string();
                *out += ": ";
                dump(value, out);
            }
            out.push('}');
        }
        scalar => *out += &scalar.to_string(),
    }
}

/// `repr(float)`: shortest digits, an exponent below 1e-4 and from 1e16 on.
fn python_float(f: f64) -> String {
    let text = format!("{f:e}");
    let (mantissa, power) = text.split_once('e').unwrap();
    let power: i32 = power.parse().unwrap();
    if (-4..16).contains(&power) || f == 0.0 {
        let fixed = format!("{f}");
        return if fixed.contains('.') { fixed } else { fixed + ".0" };
    }
    format!("{mantissa}e{power:+03}")
}
