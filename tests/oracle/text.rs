//! Languages in the syntax of the front ends, where there is one.

use super::language::{Expr, Grammar};

/// A grammar in GBNF.
pub(crate) fn gbnf(grammar: &Grammar) -> Option<String> {
    let text = grammar.to_string();
    // How the readable form shows what GBNF cannot say: no strings at all, and, not, and bytes
    // that are no characters.
    let foreign = ["∅", "&", "!", "<=", "\\x"].iter().any(|sign| text.contains(sign));
    (!foreign).then_some(text)
}

/// An expression as a regex.
pub(crate) fn regex(expr: &Expr) -> Option<String> {
    let all = |parts: &[Expr]| parts.iter().map(regex).collect::<Option<Vec<String>>>();
    match expr {
        Expr::Class(bytes) if bytes.is_empty() => None,
        Expr::Class(bytes) => Some(format!("[{}]", ascii(bytes)?)),
        Expr::Literal(bytes) => String::from_utf8(bytes.clone()).ok(),
        Expr::Concat(parts) => Some(all(parts)?.concat()),
        Expr::Union(parts) if parts.is_empty() => None,
        Expr::Union(parts) => Some(format!("(?:{})", all(parts)?.join("|"))),
        Expr::And(_) | Expr::Not(_) => None,
        Expr::Repeat(part, min, max) => {
            let part = regex(part)?;
            let bounds = match (min, max) {
                (0, None) => "*".into(),
                (1, None) => "+".into(),
                (0, Some(1)) => "?".into(),
                (min, None) => format!("{{{min},}}"),
                (min, Some(max)) if min == max => format!("{{{min}}}"),
                (min, Some(max)) => format!("{{{min},{max}}}"),
            };
            Some(format!("(?:{part}){bounds}"))
        }
    }
}

/// Bytes that are characters one by one.
fn ascii(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii())
}
