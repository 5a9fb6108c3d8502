//! Brackets, commas and colons with the whitespace around them.

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::layout::Layout;
use crate::json_schema::options::Whitespace;
use crate::json_schema::style::{self, Notation};
use crate::regular;
use crate::regular::{Language, Languages, Utf8};

/// Blanks that flexible whitespace may have on one line.
const BLANKS: u32 = 64;

/// The texts around the members or items of a value in one layout: one terminal each, since what
/// is one terminal is read at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContainerSigns<T> {
    /// A bracket after which the closing one may come; none in a style without.
    pub(crate) open: Option<T>,
    /// The same where a member or item follows for certain, with the gap before it.
    pub(crate) begin: T,
    /// The gap between an opening bracket and the first member or item, if that bracket's terminal
    /// does not hold it.
    pub(crate) first: Option<T>,
    /// The closing bracket after nothing; none in a style without.
    pub(crate) end: Option<T>,
    /// The closing bracket after members or items.
    pub(crate) close: Option<T>,
    pub(crate) comma: T,
}

/// The signs of objects and arrays in one layout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Punctuation<T = Language> {
    pub(crate) object: ContainerSigns<T>,
    pub(crate) array: ContainerSigns<T>,
    /// The sign between a key and its value, if the key does not hold it.
    pub(crate) colon: Option<T>,
}

impl<T: Copy> ContainerSigns<T> {
    fn map<U>(self, mut f: impl FnMut(T) -> U) -> ContainerSigns<U> {
        ContainerSigns {
            open: self.open.map(&mut f),
            begin: f(self.begin),
            first: self.first.map(&mut f),
            end: self.end.map(&mut f),
            close: self.close.map(&mut f),
            comma: f(self.comma),
        }
    }
}

impl<T: Copy> Punctuation<T> {
    pub(crate) fn map<U>(self, mut f: impl FnMut(T) -> U) -> Punctuation<U> {
        Punctuation {
            object: self.object.map(&mut f),
            array: self.array.map(&mut f),
            colon: self.colon.map(&mut f),
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
            Layout::Plain => (", ", ": "),
            Layout::Indented(..) => (",", ": "),
            _ => (",", ":"),
        };
        let line = layout.line().unwrap_or_default();
        let end_line = layout.end_line().unwrap_or_default();
        let mut literal = |texts: [&str; 2]| l.literal(texts.concat().as_bytes());
        let [object, array] = [("{", "}"), ("[", "]")].map(|(open, close)| ContainerSigns {
            open: Some(literal([open, ""])),
            begin: literal([open, &line]),
            first: layout.line().map(|line| literal([&line, ""])),
            end: Some(literal([close, ""])),
            close: Some(literal([&end_line, close])),
            comma: literal([comma, &line]),
        });
        Self { object, array, colon: Some(literal([colon, ""])) }
    }

    fn with_gaps(l: &mut Languages, gap: Language) -> Self {
        let mut with_gap = |before: bool, text: &str, after: bool| {
            let text = l.literal(text.as_bytes());
            let gap_if = |there| if there { gap } else { Language::EPSILON };
            l.concat([gap_if(before), text, gap_if(after)])
        };
        let [object, array] = [("{", "}"), ("[", "]")].map(|(open, close)| {
            let open = with_gap(false, open, true);
            ContainerSigns {
                open: Some(open),
                begin: open,
                first: None,
                end: Some(with_gap(false, close, false)),
                close: Some(with_gap(true, close, false)),
                comma: with_gap(true, ",", true),
            }
        });
        Self { object, array, colon: Some(with_gap(true, ":", true)) }
    }

    /// The signs of a style, with what ends the object or array.
    pub(crate) fn styled(l: &mut Languages, style: &Notation, end: &str, gap: Language) -> Self {
        let mut signs = |begin: &str, first: &str, between: &str, close: &str| {
            let mut sign = |texts: [&str; 2]| style::sign(l, &texts.concat(), gap);
            let optional = |text: &str, sign: Language| (!text.is_empty()).then_some(sign);
            let closing = [close, end].concat();
            let close = sign([close, end]);
            ContainerSigns {
                open: optional(begin, sign([begin, ""])),
                begin: sign([begin, first]),
                first: optional(first, sign([first, ""])),
                end: optional(&closing, close),
                close: optional(&closing, close),
                comma: sign([between, first]),
            }
        };
        let (object, array) = (&style.object, &style.array);
        Self {
            object: signs(&object.begin, &object.member, &object.between, &object.end),
            array: signs(&array.begin, &array.item, &array.between, &array.end),
            colon: None,
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
