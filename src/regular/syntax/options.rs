//! Options of a pattern: its dialect, and how much of a text it must match.

use std::str::FromStr;

use crate::error::{Error, ErrorKind};

/// The syntax of a pattern.
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
    /// Python's `re` for texts: `\d`, `\w` and `\s` are Unicode's, `$` also stands before a line
    /// feed that ends the text, and a `[` in a class is a character. Beyond it, lookbehinds of any
    /// length, and `(?<name>…)`.
    Python,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rust, Self::Ecma, Self::Python];

    /// The pattern with flags for all of it, in front of its own.
    pub(crate) fn with_flags(self, flags: &str, pattern: &str) -> String {
        let own = pattern.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
        match own.filter(|(own, _)| own.bytes().all(|flag| flag.is_ascii_alphabetic())) {
            // ECMA-262 has flags of groups alone.
            _ if self == Self::Ecma => format!("(?{flags}:{pattern})"),
            Some((own, rest)) => {
                let others: String = flags.chars().filter(|&flag| !own.contains(flag)).collect();
                format!("(?{others}{own}){rest}")
            }
            None => format!("(?{flags}){pattern}"),
        }
    }

    /// Its name: `rust`, `ecma` or `python`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Ecma => "ecma",
            Self::Python => "python",
        }
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name).ok_or_else(|| {
            Error::new(ErrorKind::Regex, format!("`{name}` is no dialect of regular expressions"))
                .with_help("known are rust, ecma, python")
        })
    }
}

/// The part of a text that a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Anchoring {
    /// The pattern matches the whole text, as if written `^(?:…)$`.
    #[default]
    Whole,
    /// The pattern is found somewhere in the text, as JSON Schema's `pattern` means it.
    Search,
}

/// Options of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Options {
    /// Its syntax.
    pub dialect: Dialect,
    /// The part of the text that it must match.
    pub anchoring: Anchoring,
}
