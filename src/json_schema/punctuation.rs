//! Brackets, commas and colons with the whitespace around them.

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::layout::{Indentation, Layout};
use crate::json_schema::options::{Gaps, Whitespace};
use crate::json_schema::style::Notation;
use crate::regular;
use crate::regular::{Language, Languages, Utf8};

/// Blanks that flexible whitespace may have on one line.
const BLANKS: u32 = 64;
/// Blanks and tabs by which a line may be indented for each level.
const MAX_INDENTATION: usize = 1000;

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
    /// The signs of a style, with what ends the object or array.
    pub(crate) fn styled(style: &Notation, end: &str, mut sign: impl FnMut(&str) -> T) -> Self {
        let mut signs = |begin: &str, first: &str, between: &str, close: &str| {
            let mut sign = |texts: [&str; 2]| sign(&texts.concat());
            let optional = |text: &str, sign: T| (!text.is_empty()).then_some(sign);
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

    pub(crate) fn map<U>(self, mut f: impl FnMut(T) -> U) -> Punctuation<U> {
        Punctuation {
            object: self.object.map(&mut f),
            array: self.array.map(&mut f),
            colon: self.colon.map(&mut f),
        }
    }
}

/// Separators that are the caller's choice, and what stands beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Separators {
    /// The text of each gap of [`Layout::Gaps`].
    pub(crate) gap: Language,
    comma: Language,
    colon: Language,
    /// The text by which a level of [`Indentation::Own`] is indented.
    indentation: Box<str>,
}

impl Separators {
    /// A comma, a colon, and a gap around them.
    pub(crate) fn with_gap(l: &mut Languages, gap: Language) -> Self {
        let [comma, colon] = [&b","[..], b":"].map(|text| l.literal(text));
        Self { gap, comma, colon, indentation: Box::default() }
    }
}

impl Punctuation {
    /// Punctuation in a layout.
    ///
    /// While the style of a text is not decided only its brackets count.
    pub(crate) fn new(l: &mut Languages, layout: Layout, separators: &Separators) -> Self {
        let (comma, colon) = match layout {
            Layout::Gaps => return Self::with_gaps(l, separators),
            Layout::Plain => (", ", ": "),
            Layout::Indented(..) => (",", ": "),
            _ => (",", ":"),
        };
        let line = layout.line(&separators.indentation).unwrap_or_default();
        let end_line = layout.end_line(&separators.indentation).unwrap_or_default();
        let (comma, colon) = match layout {
            Layout::Indented(Indentation::Own, _) => (separators.comma, separators.colon),
            _ => (l.literal(comma.as_bytes()), l.literal(colon.as_bytes())),
        };
        let mut literal = |texts: [&str; 2]| l.literal(texts.concat().as_bytes());
        let next_line = literal([&line, ""]);
        let [object, array] = [("{", "}"), ("[", "]")].map(|(open, close)| ContainerSigns {
            open: Some(literal([open, ""])),
            begin: literal([open, &line]),
            first: (!line.is_empty()).then_some(next_line),
            end: Some(literal([close, ""])),
            close: Some(literal([&end_line, close])),
            comma,
        });
        let comma = l.concat([comma, next_line]);
        let [object, array] = [object, array].map(|signs| ContainerSigns { comma, ..signs });
        Self { object, array, colon: Some(colon) }
    }

    fn with_gaps(l: &mut Languages, separators: &Separators) -> Self {
        let Separators { gap, comma, colon, .. } = *separators;
        let [comma, colon] = [comma, colon].map(|separator| l.concat([gap, separator, gap]));
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
                comma,
            }
        });
        Self { object, array, colon: Some(colon) }
    }
}

/// The separators that a caller chose.
///
/// Errors if they are given as patterns that match something else than a sign with whitespace, or
/// if a line is indented by anything else or by more than [`MAX_INDENTATION`].
pub(crate) fn separators(l: &mut Languages, whitespace: &Whitespace) -> Result<Separators> {
    let Whitespace::Separated { gaps, item_separator, key_separator } = whitespace else {
        let gap = gap(l, whitespace)?;
        return Ok(Separators::with_gap(l, gap));
    };
    let (gap, indentation) = match gaps {
        Gaps::Nothing => (Language::EPSILON, ""),
        Gaps::Pattern(pattern) => (white_space(l, pattern)?, ""),
        Gaps::Lines(text) if text.len() > MAX_INDENTATION => {
            let message = format!("lines are indented by {} characters for each level", text.len());
            let error = Error::new(ErrorKind::Request, message);
            return Err(error.with_help(format!("indent by at most {MAX_INDENTATION}")));
        }
        Gaps::Lines(text) if text.bytes().all(|byte| matches!(byte, b' ' | b'\t')) => {
            (Language::EPSILON, &**text)
        }
        Gaps::Lines(text) => {
            let message = format!("lines are indented by {text:?}, which is no white space");
            let error = Error::new(ErrorKind::Request, message);
            return Err(error.with_help("use blanks and tabs"));
        }
    };
    Ok(Separators {
        gap,
        comma: within(l, "item separator", item_separator, ",")?,
        colon: within(l, "key separator", key_separator, ":")?,
        indentation: indentation.into(),
    })
}

/// Errors as [`separators`] does, before anything is compiled.
pub(crate) fn check_whitespace(whitespace: &Whitespace) -> Result<()> {
    separators(&mut Languages::new(), whitespace).map(drop)
}

fn space(l: &mut Languages) -> Language {
    l.byte_set([b' ', b'\t', b'\n', b'\r'].into_iter().collect())
}

/// The text of each gap, where that does not depend on the place.
fn gap(l: &mut Languages, whitespace: &Whitespace) -> Result<Language> {
    Ok(match whitespace {
        Whitespace::Any => {
            let space = space(l);
            l.repeat(space, 0, None)
        }
        Whitespace::Pattern(pattern) => white_space(l, pattern)?,
        Whitespace::Flexible => flexible(l),
        Whitespace::Tidy
        | Whitespace::Plain
        | Whitespace::Compact
        | Whitespace::Indent2
        | Whitespace::Indent4
        | Whitespace::IndentTab
        | Whitespace::Separated { .. } => Language::EPSILON,
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

/// The white space that a pattern matches.
fn white_space(l: &mut Languages, pattern: &str) -> Result<Language> {
    within(l, "white space pattern", pattern, "")
}

/// The texts that a pattern matches, which are a sign with JSON's white space around it; other
/// white space, such as `\s` has, is left out.
///
/// Errors if it matches anything else, or nothing.
fn within(l: &mut Languages, name: &str, pattern: &str, sign: &str) -> Result<Language> {
    let whole = regular::Options::default();
    let error = |message: &str| {
        let message = format!("the {name} {pattern:?}: {message}");
        Error::new(ErrorKind::Request, message)
    };
    let parse = |l: &mut Languages, pattern: &str| {
        regular::parse(l, pattern, whole, &Utf8).map_err(|e| error(e.message()))
    };
    let matched = parse(l, pattern)?;
    let known = parse(l, &format!(r"\s*{sign}\s*"))?;
    let other = l.difference(matched, known);
    if l.is_live(other)? {
        let message = match sign {
            "" => "it matches more than JSON's white space".to_owned(),
            sign => format!("it matches more than `{sign}` with JSON's white space around it"),
        };
        let help = "use blanks, tabs, line feeds and carriage returns";
        return Err(error(&message).with_help(help));
    }
    let space = space(l);
    let (space, sign) = (l.repeat(space, 0, None), l.literal(sign.as_bytes()));
    let written = l.concat([space, sign, space]);
    let matched = l.intersect([matched, written]);
    if l.is_live(matched)? {
        Ok(matched)
    } else {
        Err(error("it matches nothing").with_help("let it match the sign alone, or the empty text"))
    }
}
