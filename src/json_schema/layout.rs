//! The whitespace of a value, by the style of its text and how deep it is nested.
//!
//! A text in tidy whitespace has one of five styles from its beginning to its end, as `json.dumps`
//! writes them: plain (`{"a": [1, 2]}`), compact (`{"a":[1,2]}`), or one member or item a line,
//! indented by two blanks, four blanks or a tab for each level. The first gap in which styles
//! differ chooses one, so the language is the union of five, and scalars and empty containers are
//! the same text in all of them.
//!
//! Rules of a schema are made when a text enters them, and a rule is named by what it accepts *and*
//! by its layout. Plain and compact values are alike at every depth and share their rules;
//! indented ones have rules of their own at each depth that texts come to. What styles have in
//! common is read once:
//!
//! | read so far | layouts in parallel |
//! |---|---|
//! | `{` | undecided: `}`, a key on the same line, or one of three gaps |
//! | `{"a"` | one line: its colon chooses between plain and compact |
//! | `[` | plain and compact, up to the first gap; or one of three gaps |
//! | `{"a": ` or `[\n  ` | one |

use crate::json_schema::options::{Gaps, Whitespace};

/// Indentation of one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Indentation {
    TwoBlanks,
    FourBlanks,
    Tab,
    /// The caller's text, with the caller's separators.
    Own,
}

impl Indentation {
    /// Those of the styles.
    pub(crate) const ALL: [Self; 3] = [Self::TwoBlanks, Self::FourBlanks, Self::Tab];

    fn unit(self, own: &str) -> &str {
        match self {
            Self::TwoBlanks => "  ",
            Self::FourBlanks => "    ",
            Self::Tab => "\t",
            Self::Own => own,
        }
    }
}

/// The arrangement of whitespace in a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Layout {
    /// Every gap of the text holds the same: what the caller's choice of whitespace says.
    #[default]
    Gaps,
    /// In any style: the value is the whole text.
    Undecided,
    /// Plain or compact: an object that is the whole text, after its opening bracket.
    OneLine,
    /// A blank after each comma and colon.
    Plain,
    /// No whitespace.
    Compact,
    /// A line for each member or item; the value begins at this depth.
    Indented(Indentation, u32),
    /// An object or array in a style of its own, with what ends it.
    Styled(StyleEndId),
    /// A value in such an object or array, with what ends it.
    StyledValue(StyleEndId),
}

/// The text after a value in a style, by its number in the emitter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct StyleEndId(pub(crate) u32);

impl Layout {
    /// The layouts of a whole text that are one style, the shortest first.
    pub(crate) const STYLES: [Self; 5] = [
        Self::Compact,
        Self::Plain,
        Self::Indented(Indentation::TwoBlanks, 0),
        Self::Indented(Indentation::FourBlanks, 0),
        Self::Indented(Indentation::Tab, 0),
    ];

    /// The styles of a text on one line.
    pub(crate) const ONE_LINE: [Self; 2] = [Self::Compact, Self::Plain];

    /// The layout of a whole text.
    pub(crate) fn of(whitespace: &Whitespace) -> Self {
        match whitespace {
            Whitespace::Tidy => Self::Undecided,
            Whitespace::Plain => Self::Plain,
            Whitespace::Compact => Self::Compact,
            Whitespace::Indent2 => Self::Indented(Indentation::TwoBlanks, 0),
            Whitespace::Indent4 => Self::Indented(Indentation::FourBlanks, 0),
            Whitespace::IndentTab => Self::Indented(Indentation::Tab, 0),
            Whitespace::Separated { gaps: Gaps::Lines(_), .. } => {
                Self::Indented(Indentation::Own, 0)
            }
            Whitespace::Flexible
            | Whitespace::Any
            | Whitespace::Pattern(_)
            | Whitespace::Separated { .. } => Self::Gaps,
        }
    }

    /// The layout of what stands in a value of this layout.
    pub(crate) fn inside(self) -> Self {
        match self {
            Self::Indented(unit, depth) => Self::Indented(unit, depth + 1),
            layout => layout,
        }
    }

    /// The line end and indentation before a member or item of a value of this layout, if it has
    /// lines; `own` is the indentation of the caller's.
    pub(crate) fn line(self, own: &str) -> Option<String> {
        self.inside().end_line(own)
    }

    /// The same before the closing bracket.
    pub(crate) fn end_line(self, own: &str) -> Option<String> {
        match self {
            Self::Indented(unit, depth) => {
                Some(format!("\n{}", unit.unit(own).repeat(depth as usize)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_by_depth() {
        let layout = Layout::Indented(Indentation::TwoBlanks, 0);
        assert_eq!(layout.line("").as_deref(), Some("\n  "));
        assert_eq!(layout.end_line("").as_deref(), Some("\n"));
        assert_eq!(layout.inside().line("").as_deref(), Some("\n    "));
        assert_eq!(Layout::Plain.inside().line(""), None);
        let own = Layout::Indented(Indentation::Own, 1);
        assert_eq!(own.line(" \t").as_deref(), Some("\n \t \t"));
    }
}
