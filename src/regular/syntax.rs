//! Regular expressions as text: from a pattern to the [`Language`](super::Language) that it names.
//!
//! ```text
//! "(?i)a+\\b"  ── rust / ecma / python ──►  Pattern  ── compile ──►  Language
//! ```
//!
//! Three parsers ([`rust`] for the syntax of the `regex` crate, [`ecma`] for ECMA-262, [`python`] for
//! Python's `re`) produce one syntax tree over code points, [`pattern::Pattern`]. [`compile`] turns the tree into a language over
//! bytes: classes by an [encoding](super::CodePoints), lookbehinds by tracking the text before a
//! position, lookaheads by intersection with what follows.

mod compile;
mod ecma;
mod edge_conditions;
mod options;
mod parse;
mod pattern;
mod pattern_cursor;
mod pattern_error;
mod python;
mod rust;

pub(crate) use compile::{compile as compile_pattern, compile_preferred, compile_with_context};
pub(crate) use ecma::identifiers;
pub(crate) use edge_conditions::EdgeConditions;
pub use options::{Anchoring, Dialect, Options};
pub use parse::parse;
pub(crate) use parse::{check, parse_pattern};
pub(crate) use pattern::Pattern;
