//! One error type for the whole crate: kind, message, place, cure.
//!
//! An [`Error`] is built by the reader that knows what is wrong and completed on its way up by those
//! that know where:
//!
//! ```
//! use maskwright::{Error, ErrorKind, LimitName};
//! let error = Error::new(ErrorKind::Limit, "the grammar needs more than 9 nodes")
//!     .with_limit(LimitName::GrammarSize) // the limit that was reached
//!     .with_help("simplify it, or raise the limit `grammar_size`") // the cure
//!     .at_line_column(3, 7) // the place
//!     .in_file("calc.lark");
//! assert_eq!(
//!     error.to_string(),
//!     "calc.lark:3:7: the grammar needs more than 9 nodes; simplify it, or raise the limit \
//!      `grammar_size`"
//! );
//! assert_eq!(error.limit(), Some(LimitName::GrammarSize));
//! assert_eq!(error.place().line_column, Some((3, 7)));
//! ```
//!
//! Invariants: a message has no final full stop and quotes what it names in backticks; it displays
//! on one line, whatever it quotes. Programs branch on [`kind`](Error::kind), on
//! [`limit`](Error::limit) and on the parts of [`place`](Error::place), never on words.

mod constraint_part;
mod limit_name;
mod text_position;
mod wording;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use constraint_part::ConstraintPart;
pub use limit_name::LimitName;
pub use text_position::{caret_excerpt, line_column};
pub(crate) use wording::{listed, shortened};

use wording::write_message;

/// Shorthand for a result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Kind of an [`Error`]: the input or the stage that it is about, coarse enough to branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A tokenizer or vocabulary file cannot be used for exact masks.
    Vocabulary,
    /// A regular expression does not parse, or has no regular meaning.
    Regex,
    /// A grammar does not parse, or refers to what it does not define.
    Grammar,
    /// A JSON Schema is malformed, or uses a keyword that cannot be enforced.
    Schema,
    /// A constraint that no text satisfies.
    Unsatisfiable,
    /// A limit was reached; [`Error::limit`] names it, where it is one that can be raised.
    Limit,
    /// A token or byte that the constraint does not allow here.
    Rejected,
    /// Logits or sampling parameters that no token can be drawn from.
    Sampling,
    /// A model folder or checkpoint that cannot be loaded or run, or that computes what is no
    /// number.
    Model,
    /// A request whose fields are out of range or not supported.
    Request,
    /// A prompt that leaves no room in the model's context.
    Context,
    /// A file that cannot be read or written.
    Io,
}

/// The place of an [`Error`] in the user's input. Every part is optional: a schema given as a value
/// has no file, a regex has no JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The file, where one was read.
    pub file: Option<PathBuf>,
    /// Line and column, both from 1, columns in characters.
    pub line_column: Option<(usize, usize)>,
    /// JSON pointer (RFC 6901) of the keyword; the root is the empty string.
    pub pointer: Option<String>,
    /// Byte offset from 0.
    pub byte: Option<usize>,
    /// Rule of the grammar that a rejected text was in. Not displayed.
    pub rule: Option<String>,
    /// Field of a [`Request`](crate::Request) or of sampling parameters that is out of range. Not
    /// displayed: the message names it.
    pub field: Option<&'static str>,
}

/// An error: what was wrong, where, and what would be accepted. Displayed on one line.
///
/// ```
/// use maskwright::{Error, ErrorKind};
/// let e = Error::new(ErrorKind::Schema, "`maxLength` must be a non-negative integer")
///     .at_pointer("/properties/name/maxLength")
///     .with_help("write a number such as 20");
/// assert_eq!(
///     e.to_string(),
///     "at /properties/name/maxLength: `maxLength` must be a non-negative integer; \
///      write a number such as 20"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    place: Place,
    help: Option<String>,
    excerpt: Option<String>,
    limit: Option<LimitName>,
    source: Option<Source>,
}

/// Error of another library that caused this one. Two are equal if they read the same.
#[derive(Clone, Debug)]
struct Source(Arc<dyn std::error::Error + Send + Sync>);

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for Source {}

impl Error {
    /// An error of a kind, with a message that says what was wrong and no final full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            place: Place::default(),
            help: None,
            excerpt: None,
            limit: None,
            source: None,
        }))
    }

    /// Adds the cure: what would be accepted instead.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Adds the limit that was reached.
    #[must_use]
    pub fn with_limit(mut self, limit: LimitName) -> Self {
        self.0.limit = Some(limit);
        self
    }

    /// Adds the error of another library that is the cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.0.source = Some(Source(Arc::from(source.into())));
        self
    }

    /// Takes over cure, limit and source of an error whose message this one repeats in other words
    /// or at another place.
    #[must_use]
    pub(crate) fn wrapping(mut self, inner: &Self) -> Self {
        self.0.help = inner.0.help.clone().or(self.0.help);
        self.0.limit = inner.0.limit.or(self.0.limit);
        self.0.source = inner.0.source.clone().or(self.0.source);
        self
    }

    /// Adds the file, unless one is known already (the innermost reader knows best).
    #[must_use]
    pub fn in_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.0.place.file.get_or_insert_with(|| file.into());
        self
    }

    /// Adds line and column, both from 1.
    #[must_use]
    pub fn at_line_column(mut self, line: usize, column: usize) -> Self {
        self.0.place.line_column = Some((line, column));
        self
    }

    /// Adds the JSON pointer of the keyword.
    #[must_use]
    pub fn at_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.0.place.pointer = Some(pointer.into());
        self
    }

    /// Adds the JSON pointer of the value around the one that the error is about, whose own pointer goes on from
    /// there; that of another file stays.
    #[must_use]
    pub(crate) fn below_pointer(mut self, outer: &str) -> Self {
        if self.0.place.file.is_none() {
            let inner = self.0.place.pointer.take().unwrap_or_default();
            self.0.place.pointer = Some(format!("{outer}{inner}"));
        }
        self
    }

    /// Adds the byte offset, from 0.
    #[must_use]
    pub fn at_byte(mut self, byte: usize) -> Self {
        self.0.place.byte = Some(byte);
        self
    }

    /// Adds the rule of a grammar.
    #[must_use]
    pub(crate) fn at_rule(mut self, rule: impl Into<String>) -> Self {
        self.0.place.rule = Some(rule.into());
        self
    }

    /// Adds the field of a request.
    #[must_use]
    pub(crate) fn at_field(mut self, field: &'static str) -> Self {
        self.0.place.field = Some(field);
        self
    }

    /// Adds the line of a text and a caret under one of its bytes, unless there is one already
    /// (the innermost reader knows best).
    #[must_use]
    pub(crate) fn with_excerpt(mut self, text: &str, byte: usize) -> Self {
        self.0.excerpt.get_or_insert_with(|| caret_excerpt(text, byte));
        self
    }

    /// Kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Message alone, without place and cure.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Place in the user's input.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The cure, where one is known.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The limit that was reached, where it is one that can be raised.
    pub fn limit(&self) -> Option<LimitName> {
        self.0.limit
    }

    /// The line that is wrong and, on a second line, a caret under the place; for errors of texts
    /// with lines, such as grammars.
    pub fn excerpt(&self) -> Option<&str> {
        self.0.excerpt.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { message, place, help, .. } = &*self.0;
        let file = place.file.as_ref().map(|file| file.display().to_string());
        let file = file.as_deref().map(shortened);
        match (file, place.line_column) {
            (Some(file), Some((line, column))) => write!(f, "{file}:{line}:{column}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some((line, column))) => write!(f, "line {line}, column {column}: ")?,
            (None, None) => {}
        }
        if let Some(pointer) = &place.pointer {
            match pointer.as_str() {
                "" => write!(f, "at the root: ")?,
                pointer => write!(f, "at {}: ", shortened(pointer))?,
            }
        }
        if let Some(byte) = place.byte {
            write!(f, "byte {byte}: ")?;
        }
        write_message(f, message)?;
        match help {
            Some(help) => {
                f.write_str("; ")?;
                write_message(f, help)
            }
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let Source(source) = self.0.source.as_ref()?;
        Some(&**source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_from_the_outside_in() {
        let e = Error::new(ErrorKind::Schema, "no").at_line_column(3, 7).at_pointer("/a");
        assert_eq!(e.to_string(), "line 3, column 7: at /a: no");
        assert_eq!(e.clone().in_file("s.json").to_string(), "s.json:3:7: at /a: no");
        assert_eq!(e.in_file("s.json").in_file("other").place().file, Some("s.json".into()));
    }

    #[test]
    fn what_is_quoted_stays_on_one_line() {
        let e = Error::new(ErrorKind::Grammar, "unknown `\n`").with_help("a\r\tb\u{1}");
        assert_eq!(e.to_string(), r"unknown `\n`; a\r\tb\u{1}");
    }

    #[test]
    fn long_messages_are_cut() {
        let e = Error::new(ErrorKind::Schema, "x".repeat(99_999))
            .at_pointer(format!("/{}", "a".repeat(9_999)))
            .in_file("b".repeat(9_999))
            .with_help("y".repeat(99_999));
        assert!(e.to_string().len() < 10_000);
    }

    #[test]
    fn a_cause_is_a_source() {
        use std::error::Error as _;
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let e = Error::new(ErrorKind::Io, "cannot read").with_source(missing());
        let source = e.source().and_then(|source| source.downcast_ref::<std::io::Error>());
        assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
        assert_eq!(e, e.clone());
        assert_ne!(e, Error::new(ErrorKind::Io, "cannot read"));
    }

    #[test]
    fn a_wrapper_takes_over_limit_cure_and_source() {
        let inner = Error::new(ErrorKind::Limit, "too deep")
            .with_limit(LimitName::Depth)
            .with_help("nest less")
            .with_source(std::fmt::Error);
        let outer = Error::new(ErrorKind::Limit, "t: too deep").wrapping(&inner);
        assert_eq!(outer.to_string(), "t: too deep; nest less");
        assert_eq!(outer.limit(), Some(LimitName::Depth));
        assert!(std::error::Error::source(&outer).is_some());
    }
}
