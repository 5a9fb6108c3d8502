//! Errors are values: what was wrong, where, and what would be accepted.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// Shorthand for a result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The room that an [`Error`] comes from, coarse enough to branch on.
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
    /// A limit was reached; the message names it.
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

/// Where an [`Error`] was found. Every part is optional: a schema given as a value has no file,
/// a regex has no JSON pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, where one was read.
    pub file: Option<PathBuf>,
    /// Line and column, both from 1, columns in characters.
    pub line_column: Option<(usize, usize)>,
    /// JSON pointer (RFC 6901) of the keyword; the root is the empty string.
    pub pointer: Option<String>,
    /// Byte offset from 0.
    pub byte: Option<usize>,
}

/// What was wrong, where, and what would be accepted; displayed on one line.
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
}

impl Error {
    /// An error of a kind, with a message that says what was wrong and no final full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let (message, place) = (message.into(), Place::default());
        Self(Box::new(Inner { kind, message, place, help: None, excerpt: None }))
    }

    /// Adds the cure: what would be accepted instead.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
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

    /// Adds the byte offset, from 0.
    #[must_use]
    pub fn at_byte(mut self, byte: usize) -> Self {
        self.0.place.byte = Some(byte);
        self
    }

    /// Adds the line of a text and a caret under one of its bytes, unless there is one already
    /// (the innermost reader knows best).
    #[must_use]
    pub(crate) fn with_excerpt(mut self, text: &str, byte: usize) -> Self {
        self.0.excerpt.get_or_insert_with(|| caret(text, byte));
        self
    }

    /// The room it comes from.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was wrong, without place and cure.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Where it was found.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// The cure, where one is known.
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
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
        on_one_line(f, &within(message, MOST_OF_A_MESSAGE))?;
        match help {
            Some(help) => {
                f.write_str("; ")?;
                on_one_line(f, &within(help, MOST_OF_A_MESSAGE))
            }
            None => Ok(()),
        }
    }
}

/// Characters of a name, a path or a pointer that a message repeats at most.
const MOST_OF_A_NAME: usize = 240;

/// Characters of a message that are shown at most, and of a cure: whoever makes one lists and
/// shortens what it repeats, and this is for what was forgotten.
const MOST_OF_A_MESSAGE: usize = 1_200;

/// Names that a message lists at most.
const MOST_NAMES: usize = 20;

/// A name as a message repeats it: a long one without its middle.
///
/// ```text
/// aaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaaaa
/// ```
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    within(name, MOST_OF_A_NAME)
}

/// A text of so many characters at most: of a longer one the beginning and, half as long, the end.
fn within(text: &str, most: usize) -> Cow<'_, str> {
    // A text of so few bytes has no more characters.
    if text.len() <= most || text.char_indices().nth(most).is_none() {
        return text.into();
    }
    let last = most / 3;
    let cut = |(at, _): (usize, char)| at;
    let start = text.char_indices().nth(most - last - 1).map_or(text.len(), cut);
    let end = text.char_indices().rev().nth(last - 1).map_or(0, cut);
    format!("{}…{}", &text[..start], &text[end..]).into()
}

/// Names as a message lists them, each shortened, with commas between: of many the first ones, and
/// how many there are besides.
///
/// ```text
/// a, b, c … and 99,997 more
/// ```
pub(crate) fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let mut names = names.into_iter();
    let mut list = String::new();
    for (index, name) in names.by_ref().take(MOST_NAMES).enumerate() {
        if index > 0 {
            list.push_str(", ");
        }
        list.push_str(&shortened(name.as_ref()));
    }
    match names.count() {
        0 => {}
        more => list.push_str(&format!(" … and {} more", grouped(more))),
    }
    list
}

/// A number with its digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Messages quote their input, in which lines may end.
fn on_one_line(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.split_inclusive(char::is_control).try_for_each(|part| {
        let end = part.chars().next_back().filter(|c| c.is_control());
        f.write_str(part.trim_end_matches(char::is_control))?;
        end.map_or(Ok(()), |end| write!(f, "{}", end.escape_default()))
    })
}

impl std::error::Error for Error {}

/// Line and column (both from 1, columns in characters) of a byte offset in a text.
pub(crate) fn line_column(text: &[u8], byte: usize) -> (usize, usize) {
    let before = &text[..byte.min(text.len())];
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let column = before[start..].iter().filter(|&&b| b & 0xC0 != 0x80).count() + 1;
    (line, column)
}

/// The line of a text that holds a byte, and a caret under that byte, as two lines. Of a long line
/// only what is near is shown; blanks stand for controls.
pub(crate) fn caret(text: &str, byte: usize) -> String {
    /// How many characters are shown before the place, and from it on.
    const NEAR: usize = 60;
    let byte = byte.min(text.len());
    let byte = (0..=byte).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let before = text[..byte].rsplit('\n').next().unwrap_or_default();
    let after = text[byte..].split('\n').next().unwrap_or_default();
    let mut start: Vec<char> = before.chars().rev().take(NEAR + 1).collect();
    if start.len() > NEAR {
        start[NEAR] = '…';
    }
    start.reverse();
    let end: String = after.chars().take(NEAR).collect();
    let more = if after.chars().nth(NEAR).is_some() { "…" } else { "" };
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = start.iter().copied().chain(end.chars()).map(visible).collect();
    format!("{}{more}\n{}^", line.trim_end(), " ".repeat(start.len()))
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
    fn long_names_and_lists_are_cut() {
        let long = format!("{}é{}", "a".repeat(3_000), "b".repeat(3_000));
        let short = shortened(&long);
        assert_eq!(short.chars().count(), MOST_OF_A_NAME);
        assert!(short.starts_with("aaa") && short.ends_with("bbb") && short.contains("a…b"));
        let exact = "é".repeat(MOST_OF_A_NAME);
        assert_eq!(shortened(&exact), exact);
        assert_eq!(shortened(&(exact + "é")).chars().count(), MOST_OF_A_NAME);

        assert_eq!(listed(["a", "b"]), "a, b");
        assert_eq!(listed([""; 0]), "");
        let many: Vec<String> = (0..1_234_567).map(|i| i.to_string()).collect();
        let list = listed(&many);
        assert!(list.starts_with("0, 1, 2, ") && list.ends_with(", 19 … and 1,234,547 more"));

        let e = Error::new(ErrorKind::Schema, "x".repeat(99_999))
            .at_pointer(format!("/{long}"))
            .in_file(long)
            .with_help("y".repeat(99_999));
        assert!(e.to_string().len() < 10_000);
    }

    #[test]
    fn a_caret_stands_under_its_character() {
        assert_eq!(caret("a\n\té b\nc", 5), " é b\n  ^");
        assert_eq!(caret("ab", 2), "ab\n  ^");
        assert_eq!(caret("", 7), "\n^");
        let long = "x".repeat(200);
        let shown = caret(&long, 100);
        let (line, mark) = shown.split_once('\n').unwrap();
        assert_eq!(line.chars().count(), 122);
        assert_eq!(mark.chars().count(), 62);
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_column("é\nüb".as_bytes(), 5), (2, 2));
        assert_eq!(line_column(b"", 0), (1, 1));
        assert_eq!(line_column(b"a", 9), (1, 2));
    }
}
