//! [`Lint`] and its [`Finding`]s.

use std::fmt;

use crate::error::Error;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// The keyword is enforced: no text that breaks it is ever written.
    Enforced,
    /// The keyword says something to people; nothing is enforced.
    Annotation,
    /// The keyword has no effect in its place.
    Ignored,
    /// The order in which members are written.
    Order,
    /// The author probably meant something else.
    Hint,
    /// The reason that generation would be slow, or that compiling may fail on larger schemas of
    /// the kind.
    Cost,
    /// The reason that the schema is refused.
    Error,
}

impl FindingKind {
    /// One lower-case word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Annotation => "annotation",
            Self::Ignored => "ignored",
            Self::Order => "order",
            Self::Hint => "hint",
            Self::Cost => "cost",
            Self::Error => "error",
        }
    }
}

/// One thing worth knowing about a place in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// JSON pointer of the keyword or schema; the root is the empty string.
    pub pointer: String,
    /// Line and column, both from 1, if the schema was given as text.
    pub line_column: Option<(usize, usize)>,
    /// The kind.
    pub kind: FindingKind,
    /// In words, without a final full stop.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.line_column {
            write!(f, "{line}:{column}: ")?;
        }
        let pointer = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "{pointer}: {}: {}", self.kind.name(), self.message)
    }
}

/// All findings about a schema, and the size of its texts.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Lint {
    /// In the order of the document.
    pub findings: Vec<Finding>,
    /// No accepted text has fewer bytes (without white space). `None` if there is no text.
    pub least_bytes: Option<u64>,
    /// No accepted text has more bytes (without white space). `None` if there is no such bound, or
    /// none that is soon found.
    pub most_bytes: Option<u64>,
    /// The reason that the schema is refused, if it is.
    pub error: Option<Error>,
}
