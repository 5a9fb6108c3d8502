//! The parts of a constraint that messages name.

use std::fmt;

use super::wording::shortened;

/// A named part of a constraint: a keyword of a JSON Schema, or a rule of a grammar.
///
/// Displayed in the words of a message, in which a long name is shortened;
/// [`as_str`](Self::as_str) is the whole name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConstraintPart {
    /// A keyword of a JSON Schema, by its JSON pointer (RFC 6901).
    Keyword(String),
    /// A rule of a grammar, by its name.
    Rule(String),
}

impl ConstraintPart {
    /// The part that an origin of the intermediate form names. Origins of keywords are JSON pointers,
    /// which begin with a slash; no notation allows that in the name of a rule.
    pub(crate) fn from_origin(origin: String) -> Self {
        if origin.starts_with('/') { Self::Keyword(origin) } else { Self::Rule(origin) }
    }

    /// The JSON pointer, or the name of the rule.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Keyword(name) | Self::Rule(name) => name,
        }
    }

    /// The JSON pointer of a keyword.
    pub fn keyword(&self) -> Option<&str> {
        match self {
            Self::Keyword(pointer) => Some(pointer),
            Self::Rule(_) => None,
        }
    }

    /// The name of a grammar's rule.
    pub fn rule(&self) -> Option<&str> {
        match self {
            Self::Rule(name) => Some(name),
            Self::Keyword(_) => None,
        }
    }
}

impl fmt::Display for ConstraintPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortened(self.as_str()))
    }
}
