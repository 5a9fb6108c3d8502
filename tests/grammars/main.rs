//! Grammar dialects, each by its own document, and the grammars that come with the program: each
//! accepts and rejects what its examples say, and agrees with a real parser of its format.
#![allow(clippy::unwrap_used)]

mod abnf;
mod bounds;
mod captures;
mod gbnf;
mod iso;
mod large;
mod lark;
mod lark_indentation;
mod lark_modules;
mod lark_parameters;
mod lazy;
mod library;
mod look_around;
mod parsers;
mod readers;
mod schemas;
mod start;
mod w3c;

use maskwright::ebnf::Dialect;
use maskwright::{Compiler, Constraint, Matcher, Vocabulary};

/// Every byte is a token; then an end token and three special ones.
fn compiler() -> Compiler {
    let tokens = (0..=255u8).map(|b| Some(vec![b])).chain(std::iter::repeat_n(None, 4)).collect();
    let special = [(256, "</s>"), (257, "<tool>"), (258, "<|think|>"), (259, "<end>")];
    Compiler::new(Vocabulary::from_tokens(tokens, &special, &[256]).unwrap())
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

/// Accepts a text token by token, one for each byte.
fn accept_tokens(matcher: &mut Matcher, text: &str) {
    for byte in text.bytes() {
        matcher.accept(byte.into()).unwrap();
    }
}

/// Grammars with texts that they accept and texts that they reject.
fn judge(dialect: Dialect, cases: &[(&str, &[&str], &[&str])]) {
    for (grammar, yes, no) in cases {
        let constraint = compiler().grammar(grammar, dialect).unwrap_or_else(|error| {
            panic!("{grammar}\n{error}\n{}", error.excerpt().unwrap_or(""))
        });
        for (texts, expected) in [(yes, true), (no, false)] {
            for text in *texts {
                assert_eq!(accepts(&constraint, text), expected, "{grammar}\non {text:?}");
            }
        }
    }
}

/// Grammars that are refused, with line, column and a part of the message.
fn refuse(dialect: Dialect, cases: &[(&str, (usize, usize), &str)]) {
    for (grammar, place, message) in cases {
        let error = compiler().grammar(grammar, dialect).expect_err(grammar);
        let shown = format!("{grammar}\n{error}\n{}", error.excerpt().unwrap_or(""));
        assert_eq!(error.place().line_column, Some(*place), "{shown}");
        assert!(error.to_string().contains(message), "{shown}");
        let caret = error.excerpt().unwrap().lines().last().unwrap().to_owned();
        assert!(caret.trim_start() == "^" && caret.chars().count() == place.1, "{shown}");
    }
}
