//! Pattern text in, [`Language`] out.

use super::pattern::Pattern;
use super::spelling::CodePoints;
use super::{Language, Languages, compile, ecma, rust_syntax};
use crate::error::{Error, ErrorKind, Result};

/// How deep the groups of a pattern may nest.
pub(crate) const NEST_LIMIT: u32 = 250;

/// Whose syntax a pattern is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// That of Rust's `regex` crate: `\d` and `\w` are Unicode's, `(?i)` and its kind. Beyond it,
    /// look-around of any length, and atomic groups and possessive repeats `*+` and `++` where they
    /// do not change the language.
    #[default]
    Rust,
    /// ECMA-262 with the `u` flag (section 22.2 of the 2025 edition), as JSON Schema patterns are
    /// meant. Beyond it, what JSON Schemas in the wild contain and every engine that takes it
    /// reads alike: escapes of characters that need none (`\-`, `\_`, `\@`), a brace, bracket or
    /// hyphen that can only stand for itself (as in Annex B.1.2), `(?P<name>…)` and leading flags
    /// `(?i)`, `(?m)`, `(?s)`.
    Ecma,
}

/// Must the whole text match, or some part of it?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Anchoring {
    /// The pattern matches the whole text, as if written `^(?:…)$`.
    #[default]
    Whole,
    /// The pattern is found somewhere in the text, as JSON Schema's `pattern` means it.
    Search,
}

/// How to read a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// Its syntax.
    pub dialect: Dialect,
    /// What of the text it must match.
    pub anchoring: Anchoring,
}

/// Reads a pattern as the language of all texts that it accepts, in their spelling.
///
/// Anchors, word boundaries, lookahead and lookbehind are exact wherever they stand, except
/// that a lookbehind cannot hold what looks ahead. Backreferences have no regular meaning. Either
/// is an error that names the byte of the pattern.
///
/// ```
/// use maskwright::regex::{self, Anchoring, Dialect, JsonString, Languages, Options};
/// let mut l = Languages::new();
/// let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
/// let no_admin = regex::parse(&mut l, r"^(?!admin$)\w+$", options, &JsonString)?;
/// assert!(l.matches(no_admin, b"administrator")? && !l.matches(no_admin, b"admin")?);
/// let newline = regex::parse(&mut l, r"a\s", options, &JsonString)?;
/// assert!(l.matches(newline, br"what a\nday")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn parse(
    languages: &mut Languages,
    pattern: &str,
    options: Options,
    spelling: &dyn CodePoints,
) -> Result<Language> {
    let tree: Pattern = match options.dialect {
        Dialect::Rust => rust_syntax::parse(pattern)?,
        Dialect::Ecma => ecma::parse(pattern)?,
    };
    compile::compile(languages, &tree, options.anchoring, spelling)
}

/// Reads a pattern without making a language of it: says what is wrong with its syntax.
pub(crate) fn check(pattern: &str, dialect: Dialect) -> Result<()> {
    match dialect {
        Dialect::Rust => rust_syntax::parse(pattern).map(drop),
        Dialect::Ecma => ecma::parse(pattern).map(drop),
    }
}

/// An error at a byte of the pattern.
pub(crate) fn error(byte: usize, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Regex, message).at_byte(byte)
}
