//! A vocabulary of bytes and of the special tokens of several model families, and messages in it.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::{Compiler, Constraint, Vocabulary};

/// Names of special tokens, ids from 256 up.
pub(crate) const SPECIAL: &[&str] = &[
    "</s>",
    "[TOOL_CALLS]",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<|channel|>",
    "<|message|>",
    "<|end|>",
    "<|start|>",
    "<|constrain|>",
    "[THINK]",
    "[/THINK]",
];

pub(crate) fn compiler() -> Compiler {
    let bytes = (0..=255u8).map(|b| Some(vec![b]));
    let tokens = bytes.chain(std::iter::repeat_n(None, SPECIAL.len())).collect();
    let special: Vec<(u32, &str)> = (256..).zip(SPECIAL.iter().copied()).collect();
    Compiler::new(Vocabulary::from_tokens(tokens, &special, &[256]).unwrap())
}

/// Text in which names of special tokens stand for them, one character or token a piece.
pub(crate) fn pieces(mut text: &str) -> Vec<(&str, Option<u32>)> {
    let mut pieces = Vec::new();
    while let Some(c) = text.chars().next() {
        let special = SPECIAL.iter().position(|name| text.starts_with(name));
        let end = special.map_or(c.len_utf8(), |at| SPECIAL[at].len());
        pieces.push((&text[..end], special.map(|at| 256 + at as u32)));
        text = &text[end..];
    }
    pieces
}

/// Reads a text in which names of special tokens stand for them.
pub(crate) fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    let read = pieces(text).into_iter().all(|(text, special)| match special {
        Some(id) => matcher.accept(id).is_ok(),
        None => matcher.accept_bytes(text.as_bytes()).is_ok(),
    });
    read && matcher.is_accepting()
}
