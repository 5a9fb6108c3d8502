//! Lark's notation (Lark's grammar reference), with llguidance's additions (its
//! `docs/syntax.md`).
//!
//! Small names are rules, capital names are terminals; the text is what `start` derives. Rules are
//! made of names, strings, ranges `"a".."z"`, patterns `/…/imsux`, groups, `[optional]` parts, `?`,
//! `*`, `+`, `~n`, `~n..m`, `{m,n}`, templates `sep{item, ","}`, special tokens `<|name|>`, `<[7]>`,
//! `<[7-9,12]>`, `<[^7]>`, `<[*]>`, `%json {…}`, `%lark {…}`, `%regex {…}` and other grammars `@name`.
//! In terminals `&` is *and* and `~x` is *not*. `%import common.NAME` knows Lark's own library,
//! `%ignore` what may stand before, between and after the terminals of rules.
//!
//! The meaning is that of Lark's Earley parser with its `dynamic_complete` lexer: every way to cut
//! the text into terminals counts. Priorities choose between parses of one text and never make a
//! text accepted or not, so they are read and mean nothing; so do aliases, `!`, `?` and `_` of
//! names, and captures. `[lazy]` and `[suffix=…]` of a rule do matter: its text is a shortest match.
//! Patterns are in the syntax of Rust's `regex` crate with look-around.

mod ast;
mod common;
mod lower;
mod substring;
mod syntax;

use super::environment::Environment;
use super::text::Text;
use crate::error::Result;
use crate::grammar::Grammar;

pub(super) fn parse(text: &str, environment: &dyn Environment) -> Result<Grammar> {
    parse_nested(text, environment, 0)
}

/// How deep `%lark {…}` may nest.
const EMBEDDING: usize = 8;

fn parse_nested(text: &str, environment: &dyn Environment, depth: usize) -> Result<Grammar> {
    let mut parser = syntax::Parser::new(Text::new(text));
    let file = parser.file()?;
    lower::lower(&parser.text, &file, environment, depth)
}
