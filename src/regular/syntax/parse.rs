//! Patterns as text in, languages out.

use super::options::{Dialect, Options};
use super::pattern::Pattern;
use super::{compile, ecma, python, rust};
use crate::error::Result;
use crate::regular::encoding::CodePoints;
use crate::regular::{Language, Languages};

/// Reads a pattern as the language of all texts that it accepts, in their spelling.
///
/// Anchors, word boundaries, lookahead and lookbehind are exact wherever they stand, except
/// that a lookbehind cannot hold what looks ahead. Backreferences have no regular meaning. Either
/// is an error that names the byte of the pattern.
///
/// ```
/// use maskwright::regular::{self, Anchoring, Dialect, JsonString, Languages, Options};
/// let mut l = Languages::new();
/// let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
/// let no_admin = regular::parse(&mut l, r"^(?!admin$)\w+$", options, &JsonString)?;
/// assert!(l.matches(no_admin, b"administrator")? && !l.matches(no_admin, b"admin")?);
/// let newline = regular::parse(&mut l, r"a\s", options, &JsonString)?;
/// assert!(l.matches(newline, br"what a\nday")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn parse(
    languages: &mut Languages,
    pattern: &str,
    options: Options,
    spelling: &dyn CodePoints,
) -> Result<Language> {
    let tree = parse_pattern(pattern, options.dialect)?;
    compile::compile(languages, &tree, options.anchoring, spelling)
}

/// Checks the syntax of a pattern without compiling it.
pub(crate) fn check(pattern: &str, dialect: Dialect) -> Result<()> {
    parse_pattern(pattern, dialect).map(drop)
}

/// The syntax tree of a pattern.
pub(crate) fn parse_pattern(pattern: &str, dialect: Dialect) -> Result<Pattern> {
    match dialect {
        Dialect::Rust => rust::parse(pattern),
        Dialect::Ecma => ecma::parse(pattern),
        Dialect::Python => python::parse(pattern),
    }
}
