//! Brackets, commas and colons with the whitespace around them.

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::layout::Layout;
use crate::json_schema::options::Whitespace;
use crate::regular;
use crate::regular::{Language, Languages, Utf8};

/// Blanks that flexible whitespace may have on one line.
const BLANKS: u32 = 64;

/// The texts around the members and items of a value in one layout: one terminal each, since what
/// is one terminal is read at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Punctuation<T = Language> {
    /// A bracket after which the closing one may come.
    pub(crate) open_object: T,
    pub(crate) open_array: T,
    /// The same where a member or item follows for certain, with the gap before it.
    pub(crate) begin_object: T,
    pub(crate) begin_array: T,
    /// The gap between an opening bracket and the first member or item, if that bracket's terminal
    /// does not hold it.
    pub(crate) first: Option<T>,
    /// Closing brackets after nothing, and after members or items.
    pub(crate) end_object: T,
    pub(crate) end_array: T,
    pub(crate) close_object: T,
    pub(crate) close_array: T,
    pub(crate) comma: T,
    pub(crate) colon: T,
}

impl<T: Copy> Punctuation<T> {
    pub(crate) fn map<U>(self, mut f: impl FnMut(T) -> U) -> Punctuation<U> {
        Punctuation {
            open_object: f(self.open_object),
            open_array: f(self.open_array),
            begin_object: f(self.begin_object),
            begin_array: f(self.begin_array),
            first: self.first.map(&mut f),
            end_object: f(self.end_object),
            end_array: f(self.end_array),
            close_object: f(self.close_object),
            close_array: f(self.close_array),
            comma: f(self.comma),
            colon: f(self.colon),
        }
    }
}

impl Punctuation {
    /// Punctuation in a layout; `gap` is what stands in each gap of [`Layout::Gaps`].
    ///
    /// While the style of a text is not decided only its brackets count.
    pub(crate) fn new(l: &mut Languages, layout: Layout, gap: Language) -> Self {
        let (comma, colon) = match layout {
            Layout::Gaps => return Self::with_gaps(l, gap),
            Layout::Compact | Layout::Undecided | Layout::OneLine => (",", ":"),
            Layout::Plain => (", ", ": "),
            Layout::Indented(..) => (",", ": "),
        };
        let line = layout.line().unwrap_or_default();
        let end_line = layout.end_line().unwrap_or_default();
        let mut literal = |texts: [&str; 2]| l.literal(texts.concat().as_bytes());
        Self {
            open_object: literal(["{", ""]),
            open_array: literal(["[", ""]),
            begin_object: literal(["{", &line]),
            begin_array: literal(["[", &line]),
            first: layout.line().map(|line| literal([&line, ""])),
            end_object: literal(["}", ""]),
            end_array: literal(["]", ""]),
            close_object: literal([&end_line, "}"]),
            close_array: literal([&end_line, "]"]),
            comma: literal([comma, &line]),
            colon: literal([colon, ""]),
        }
    }

    fn with_gaps(l: &mut Languages, gap: Language) -> Self {
        let mut with_gap = |before: bool, text: &[u8], after: bool| {
            let text = l.literal(text);
            let gap_if = |there| if there { gap } else { Language::EPSILON };
            l.concat([gap_if(before), text, gap_if(after)])
        };
        let [open_object, open_array] = [&b"{"[..], b"["].map(|text| with_gap(false, text, true));
        Self {
            open_object,
            open_array,
            begin_object: open_object,
            begin_array: open_array,
            first: None,
            end_object: with_gap(false, b"}", false),
            end_array: with_gap(false, b"]", false),
            close_object: with_gap(true, b"}", false),
            close_array: with_gap(true, b"]", false),
            comma: with_gap(true, b",", true),
            colon: with_gap(true, b":", true),
        }
    }
}

/// The text of each gap, where that does not depend on the place.
///
/// Errors if it is given as a pattern that matches something else than whitespace.
pub(crate) fn gap(l: &mut Languages, whitespace: &Whitespace) -> Result<Language> {
    let space = l.byte_set([b' ', b'\t', b'\n', b'\r'].into_iter().collect());
    Ok(match whitespace {
        Whitespace::Any => l.repeat(space, 0, None),
        Whitespace::Pattern(pattern) => white_space(l, pattern, space)?,
        Whitespace::Flexible => flexible(l),
        Whitespace::Tidy
        | Whitespace::Plain
        | Whitespace::Compact
        | Whitespace::Indent2
        | Whitespace::Indent4
        | Whitespace::IndentTab => Language::EPSILON,
    })
}

/// At most one line break, and a bounded number of blanks on each line.
pub(crate) fn flexible(l: &mut Languages) -> Language {
    let blank = l.byte_set([b' ', b'\t'].into_iter().collect());
    let blanks = l.repeat(blank, 0, Some(BLANKS));
    let line_break = l.literals([&b"\n"[..], b"\r\n"]);
    let next_line = l.concat([line_break, blanks]);
    let next_line = l.repeat(next_line, 0, Some(1));
    l.concat([blanks, next_line])
}

/// The white space that a pattern matches; all of it must be JSON's.
fn white_space(l: &mut Languages, pattern: &str, space: Language) -> Result<Language> {
    let whole = regular::Options::default();
    let error = |message: &str| {
        let message = format!("the white space pattern {pattern:?}: {message}");
        Error::new(ErrorKind::Request, message)
    };
    let gap = regular::parse(l, pattern, whole, &Utf8).map_err(|e| error(e.message()))?;
    let blanks = l.repeat(space, 0, None);
    let other = l.difference(gap, blanks);
    if l.is_live(other)? {
        let help = "use blanks, tabs, line feeds and carriage returns";
        return Err(error("it matches more than JSON's white space").with_help(help));
    }
    if l.is_live(gap)? {
        Ok(gap)
    } else {
        Err(error("it matches nothing").with_help("let it match the empty text"))
    }
}
