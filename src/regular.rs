//! Regular languages of byte strings, closed under and, or and not, and the patterns that name
//! them.
//!
//! [`Languages`] is the algebra; [`parse()`] reads a pattern, of Rust's `regex` crate or of
//! ECMA-262, as a [`Language`]; [`CodePoints`] says how the pattern's characters are spelled in
//! bytes. For the meaning of a whole JSON Schema string, intersect and complement what several
//! patterns give; the complement of a pattern is meant within [`any_text`].
//!
//! ```
//! use maskwright::regex::{self, Anchoring, Dialect, Languages, Options, Utf8, any_text};
//! let mut l = Languages::new();
//! let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
//! let starts = regex::parse(&mut l, "^[a-z]", options, &Utf8)?;
//! let digit = regex::parse(&mut l, r"\d", options, &Utf8)?;
//! let text = any_text(&mut l, &Utf8);
//! let no_digit = l.difference(text, digit);
//! let both = l.intersect([starts, no_digit]);
//! assert!(l.matches(both, "né".as_bytes())?);
//! assert!(!l.matches(both, b"n1")? && !l.matches(both, b"n\xFF")?);
//! # Ok::<(), maskwright::Error>(())
//! ```

pub(crate) mod automaton;
mod byte_set;
mod compile;
mod contexts;
mod ecma;
mod ecma_class;
mod ecma_syntax;
mod extensions;
mod languages;
mod listed;
mod parse;
mod pattern;
mod quotation;
mod rust_syntax;
mod spelled;
mod spelling;
mod text_sets;
mod triggers;

pub use byte_set::ByteSet;
pub(crate) use ecma_syntax::Syntax;
pub use languages::{Language, Languages, Row};
pub(crate) use languages::{MOST_SPELLED, OrdinaryText, Spans, Tables, Unit};
pub(crate) use listed::listed;
pub(crate) use parse::check;
pub use parse::{Anchoring, Dialect, Options, parse};
pub use quotation::QuoteBy;
pub(crate) use quotation::{quotation, quotation_automaton};
pub(crate) use spelled::spelled;
pub use spelling::{AnyJsonString, CodePoints, JsonString, Utf8, any_text};
pub(crate) use text_sets::{TextPlace, TextSet, TextSets};
pub(crate) use triggers::Triggers;
