//! What stands between values.

use super::options::Whitespace;
use crate::error::{Error, ErrorKind, Result};
use crate::regex::{self, Language, Languages, Utf8};

/// Blanks that flexible white space may have on one line.
const BLANKS: u32 = 64;

/// The texts around values, with the gaps beside them: one terminal each, since what is one is read
/// at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Punctuation {
    pub(super) gap: Language,
    pub(super) open_object: Language,
    pub(super) open_array: Language,
    pub(super) end_object: Language,
    pub(super) end_array: Language,
    pub(super) close_object: Language,
    pub(super) close_array: Language,
    pub(super) comma: Language,
    pub(super) colon: Language,
}

impl Punctuation {
    /// Errors if white space is a pattern that matches something else.
    pub(super) fn new(l: &mut Languages, whitespace: &Whitespace) -> Result<Self> {
        let gap = gap(l, whitespace)?;
        Ok(Self::around(l, gap))
    }

    /// With flexible white space.
    pub(super) fn flexible(l: &mut Languages) -> Self {
        let gap = flexible(l);
        Self::around(l, gap)
    }

    fn around(l: &mut Languages, gap: Language) -> Self {
        let mut with_gap = |before: bool, text: &[u8], after: bool| {
            let text = l.literal(text);
            let gap_if = |there| if there { gap } else { Language::EPSILON };
            l.concat([gap_if(before), text, gap_if(after)])
        };
        Self {
            gap,
            open_object: with_gap(false, b"{", true),
            open_array: with_gap(false, b"[", true),
            end_object: with_gap(false, b"}", false),
            end_array: with_gap(false, b"]", false),
            close_object: with_gap(true, b"}", false),
            close_array: with_gap(true, b"]", false),
            comma: with_gap(true, b",", true),
            colon: with_gap(true, b":", true),
        }
    }
}

/// What may stand in a gap.
fn gap(l: &mut Languages, whitespace: &Whitespace) -> Result<Language> {
    let space = l.byte_set([b' ', b'\t', b'\n', b'\r'].into_iter().collect());
    Ok(match whitespace {
        Whitespace::Compact => Language::EPSILON,
        Whitespace::Any => l.repeat(space, 0, None),
        Whitespace::Pattern(pattern) => white_space(l, pattern, space)?,
        Whitespace::Flexible => flexible(l),
    })
}

/// At most one line break, and a bounded number of blanks on each line.
fn flexible(l: &mut Languages) -> Language {
    let blank = l.byte_set([b' ', b'\t'].into_iter().collect());
    let blanks = l.repeat(blank, 0, Some(BLANKS));
    let line_break = l.literals([&b"\n"[..], b"\r\n"]);
    let next_line = l.concat([line_break, blanks]);
    let next_line = l.repeat(next_line, 0, Some(1));
    l.concat([blanks, next_line])
}

/// The white space that a pattern matches, all of which must be JSON's.
fn white_space(l: &mut Languages, pattern: &str, space: Language) -> Result<Language> {
    let whole = regex::Options::default();
    let error = |message: &str| {
        let message = format!("the white space pattern {pattern:?}: {message}");
        Error::new(ErrorKind::Request, message)
    };
    let gap = regex::parse(l, pattern, whole, &Utf8).map_err(|e| error(e.message()))?;
    let blanks = l.repeat(space, 0, None);
    let other = l.difference(gap, blanks);
    if l.is_live(other)? {
        let help = "use blanks, tabs, line feeds and carriage returns";
        return Err(error("it matches more than JSON's white space").with_help(help));
    }
    match l.is_live(gap)? {
        true => Ok(gap),
        false => Err(error("it matches nothing").with_help("let it match the empty text")),
    }
}
