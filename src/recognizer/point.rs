//! The instructions of a program.

use super::item::{KeyChoiceId, PointId};
use crate::grammar::{RuleId, SourceTag};
use crate::regular::Language;

/// A part of one of the program's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// A set of tokens, by a part of the program's list of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TokenSpan {
    /// The listed tokens.
    OneOf(Span),
    /// All tokens but the listed ones, which are ascending and hold every id that is no token.
    Except(Span),
}

/// One instruction of a program: read something or branch, then go on at another point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// No instruction: [`RETURN`](super::item::RETURN), [`ACCEPT`](super::item::ACCEPT), and the
    /// placeholder of a hole, or of a loop while its body is compiled.
    Sentinel,
    /// Read a string of a language, then go on.
    Regular { language: Language, next: PointId },
    /// Read one token of a set, then go on.
    Special { tokens: TokenSpan, next: PointId },
    /// Go to a rule's body, which returns to `next`.
    Call { rule: RuleId, next: PointId },
    /// Any of these points.
    Fork(Span),
    /// `body` (which returns here) `min` to `max` times, then go on.
    Repeat { body: PointId, min: u32, max: u32, next: PointId },
    /// `body` (which returns here), then `next`: a part with attributes. At most `max` tokens spell it;
    /// with `u32::MAX` it has no bound, only a temperature (`PointTable::temperatures`).
    Budget { body: PointId, max: u32, next: PointId },
    /// Read a key of the choice with this number, then go on where that key leads.
    KeyChoice(KeyChoiceId),
    /// Read a string of a language, then go on where that string leads.
    Capture { language: Language, tag: SourceTag },
    /// `body` (which returns here), then go on where the text that it has read leads.
    Scope { body: PointId, tag: SourceTag },
}

/// The point after a captured string, as far as it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaptureTarget {
    /// Not made yet: the source must be asked.
    Unknown,
    /// The string is not allowed after all.
    Refused,
    At(PointId),
}
