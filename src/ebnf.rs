//! Grammar notations, parsed into a [`Grammar`].
//!
//! Five notations are read: GBNF (llama.cpp), Lark as llguidance and XGrammar users write it, the
//! EBNF of the W3C's XML specification, that of ISO/IEC 14977, and ABNF (RFC 5234 with RFC 7405).
//! All mean the same kind of thing, a language of texts: there is no hidden lexer, no longest match
//! and no priority, but for Lark's ignored text (longest match) and lazy rules (precedence). Errors
//! name line and column, and [`Error::excerpt`](crate::Error::excerpt) shows the line with a caret.
//!
//! ```
//! use maskwright::ebnf::{self, Dialect};
//! let grammar = ebnf::gbnf(r#"root ::= "a" root "b" | """#)?;
//! assert_eq!(grammar.rules().len(), 1);
//! let error = ebnf::gbnf("root ::= item\n").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "line 1, column 10: rule `item` is used but never defined; define it as `item ::= …`"
//! );
//! assert_eq!(error.excerpt(), Some("root ::= item\n         ^"));
//! let grammar = ebnf::parse("greeting = \"hello\" 1*3(\" \" name)\nname = 1*ALPHA", Dialect::Abnf, &())?;
//! assert_eq!(grammar.rules().len(), 1);
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! # From text to grammar
//!
//! ```text
//! grammar_text ──► notation/*.rs ──► rule_table ──► left_factoring ──► lowering ──► Grammar
//!    cursor           parser       names, RuleExpr     (Lark only)    terminals merged
//! ```
//!
//! # Adding a notation
//!
//! 1. Write its parser as `notation/NAME.rs` with the function `parse(text, environment)`, and name
//!    the standard and every deviation in its head. All but the syntax is shared: names, patterns,
//!    literals and errors for undefined rules come from the rule table.
//! 2. Add a variant to [`Dialect`] (its name is also the ending of its files; teach
//!    [`Dialect::guess`] its signs) and an arm to `notation::parse`.
//! 3. Add `tests/grammars/NAME.rs`: texts in and out of the language, and every error with its line
//!    and column.

mod dialect;
mod environment;
mod expression;
mod grammar_text;
mod left_factoring;
mod library;
mod lowering;
mod notation;
mod rule_table;
mod similar_name;
mod special_tokens;

pub use dialect::Dialect;
pub use environment::{Environment, NamedGrammar};
pub use library::{BuiltIn, GRAMMARS, builtin};
pub(crate) use notation::{choices_grammar, grammar_by_name};
#[cfg(feature = "server")]
pub(crate) use similar_name::most_similar;

use crate::error::Result;
use crate::grammar::Grammar;

/// Parses a grammar of a dialect.
///
/// Errors name line and column, both from 1, and what would be accepted there.
pub fn parse(text: &str, dialect: Dialect, environment: &dyn Environment) -> Result<Grammar> {
    notation::parse(text, dialect, environment)
}

/// Parses a GBNF grammar whose start is the rule `root`.
///
/// Errors name line and column, both from 1, and what would be accepted there.
pub fn gbnf(text: &str) -> Result<Grammar> {
    parse(text, Dialect::Gbnf, &())
}
