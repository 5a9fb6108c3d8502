//! Grammar dialects, parsed into a [`Grammar`].
//!
//! Five notations are read: GBNF (llama.cpp), Lark as llguidance and XGrammar users write it, the
//! EBNF of the W3C's XML specification, that of ISO/IEC 14977, and ABNF (RFC 5234 with RFC 7405).
//! All mean the same kind of thing, a language of texts: there is no hidden lexer, no longest
//! match and no priority. Errors name line and column, and [`Error::excerpt`](crate::Error::excerpt)
//! shows the line with a caret.
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

mod abnf;
mod dialect;
mod environment;
mod gbnf;
mod iso;
mod lark;
mod library;
mod lowering;
mod macros;
mod rules;
mod text;
mod tokens;
mod w3c;

pub use dialect::Dialect;
pub use environment::Environment;
pub use library::{BuiltIn, GRAMMARS, builtin};

use crate::error::Result;
use crate::grammar::Grammar;

/// Parses a grammar of a dialect.
///
/// Errors name line and column, both from 1, and what would be accepted there.
pub fn parse(text: &str, dialect: Dialect, environment: &dyn Environment) -> Result<Grammar> {
    match dialect {
        Dialect::Gbnf => gbnf::parse(text, environment),
        Dialect::Lark => lark::parse(text, environment),
        Dialect::W3c => w3c::parse(text, environment),
        Dialect::Iso => iso::parse(text, environment),
        Dialect::Abnf => abnf::parse(text, environment),
    }
}

/// Parses a GBNF grammar whose start is the rule `root`.
///
/// Errors name line and column, both from 1, and what would be accepted there.
pub fn gbnf(text: &str) -> Result<Grammar> {
    parse(text, Dialect::Gbnf, &())
}
