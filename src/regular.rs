//! Regular languages of byte strings, closed under intersection, union and complement, and the
//! patterns that name them.
//!
//! [`Languages`] is the algebra; [`parse()`] reads a pattern of a [`Dialect`] (Rust's `regex` crate,
//! ECMA-262, Python's `re`) as a [`Language`]; [`CodePoints`] is the encoding of the pattern's
//! characters in bytes.
//! For the meaning of a whole JSON Schema string, intersect and complement the languages of several
//! patterns; the complement of a pattern is meant within [`any_text`].
//!
//! | part | what it is |
//! |---|---|
//! | `languages` | the arena of expressions, derivatives, automata and their analyses |
//! | `encoding` | code points in bytes: UTF-8 and JSON strings |
//! | `syntax` | patterns as text |
//! | `automaton`, `computed_automata` | automata that compute their states |
//! | `marked_text` | terminals that look at the text around them |
//! | `shared_conditions` | conditions on the text around that several terminals have |
//! | `triggers` | free text up to a trigger string |
//! | `hash_consing` | hashes of tables that intern values |
//!
//! ```
//! use maskwright::regular::{self, Anchoring, Dialect, Languages, Options, Utf8, any_text};
//! let mut l = Languages::new();
//! let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
//! let starts = regular::parse(&mut l, "^[a-z]", options, &Utf8)?;
//! let digit = regular::parse(&mut l, r"\d", options, &Utf8)?;
//! let text = any_text(&mut l, &Utf8);
//! let no_digit = l.difference(text, digit);
//! let both = l.intersect([starts, no_digit]);
//! assert!(l.matches(both, "né".as_bytes())?);
//! assert!(!l.matches(both, b"n1")? && !l.matches(both, b"n\xFF")?);
//! # Ok::<(), maskwright::Error>(())
//! ```

pub(crate) mod automaton;
mod byte_set;
mod computed_automata;
mod encoding;
pub(crate) mod hash_consing;
mod languages;
pub(crate) mod marked_text;
pub(crate) mod shared_conditions;
mod syntax;
mod triggers;

pub use byte_set::ByteSet;
pub(crate) use computed_automata::ordinary_text::OrdinaryText;
pub use computed_automata::{ChoiceList, QuoteBy};
pub(crate) use computed_automata::{
    EcmaPatterns, TextPlace, TextSet, TextSets, any_of, list_of_many, listed, ordinary_text,
    quotation, quotation_automaton, spelled,
};
pub use encoding::{AnyJsonString, CodePoints, JsonString, Utf8, any_text};
pub(crate) use languages::span::SpanMemo;
pub(crate) use languages::widening::RepeatedUnit;
pub(crate) use languages::witness::MAX_WITNESS_BYTES;
pub(crate) use languages::{
    Checkpoint, SharedResults, arena_copy, compact, computed_parts, every_prefix, lengths, product,
    span, structure, table_automaton, unit_bounds, variables, widening, witness, witness_length,
};
pub use languages::{Language, Languages, Row};
pub use syntax::{Anchoring, Dialect, Options, parse};
pub(crate) use syntax::{
    EdgeConditions, Pattern, check, compile_pattern, compile_preferred, compile_with_context,
    parse_pattern,
};
pub(crate) use triggers::Triggers;
