//! States of the automaton of ECMA-262 patterns: the position in the syntax, and what of the text
//! before still matters.

use std::cmp::Ordering;

use super::properties::PropertyPrefix;
use crate::regular::syntax::identifiers::{PART, START, has_any_of};

/// A state: the facts about the text so far that decide how it may continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternState {
    /// Number of groups that can be referred to, up to the greatest number that may be.
    pub(crate) captures: u32,
    /// The greatest number that is referred to, or 0 once there are as many groups.
    pub(crate) referred: u32,
    /// Open groups, outermost first: whether each may be repeated.
    pub(crate) open: Vec<bool>,
    /// Names of groups, sorted.
    pub(crate) names: Vec<GroupName>,
    /// Names that are referred to and not declared yet, sorted.
    pub(crate) wanted: Vec<Vec<u32>>,
    pub(crate) mode: SyntaxPosition,
}

/// The name of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupName {
    /// Number of open groups around it that are still open.
    pub(crate) depth: u32,
    /// Whether it stands in the alternative that is being read, not in an earlier one.
    pub(crate) here: bool,
    pub(crate) text: Vec<u32>,
}

/// A position in the syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxPosition {
    /// Between terms. `repeats`: whether the last term may be repeated.
    Term {
        repeats: bool,
    },
    /// After a quantifier, which `?` may follow.
    Repeated,
    /// After `\0`, which no digit may follow.
    Zero,
    /// In a reference by number.
    Number(u32),
    /// After `{` and digits, without leading zeros. `any`: whether there were any.
    Least {
        digits: Vec<u8>,
        any: bool,
    },
    /// After `{n,`: the digits of `n`; the number of digits of the other bound, without leading
    /// zeros, and how these compare with as many of `n`. One digit more than `n` has stands for all
    /// greater numbers.
    Most {
        least: Vec<u8>,
        read: usize,
        order: Ordering,
        any: bool,
    },
    /// After `(`.
    Group,
    /// After `(?`.
    Mark,
    /// After `(?<`.
    Behind,
    /// Within the flags of a group, each a bit.
    Flags {
        on: u8,
        off: u8,
        minus: bool,
    },
    /// After `\k`.
    NameMark,
    /// In a group's name.
    GroupName {
        declares: bool,
        read: Vec<u32>,
    },
    /// In a class. `first`: whether right after its `[`.
    Class {
        first: bool,
        at: ClassPosition,
        tail: OpenEscape,
    },
    /// After a backslash. `forced`: whether it must be the low half of a surrogate pair.
    Escape {
        then: EscapeTarget,
        tail: OpenEscape,
        forced: bool,
    },
    /// After `\c`.
    Control(EscapeTarget),
    /// After `\x` and a number of digits of this value.
    Hex(EscapeTarget, u32, u32),
    /// After `\u` and a number of digits of this value.
    Unicode {
        then: EscapeTarget,
        tail: OpenEscape,
        forced: bool,
        count: u32,
        value: u32,
    },
    /// After `\u{`. `any`: whether there were digits.
    Braced {
        then: EscapeTarget,
        any: bool,
        value: u32,
    },
    /// After `\p` or `\P`.
    PropertyMark(EscapeTarget),
    Property(EscapeTarget, PropertyPrefix),
    /// After the high half of a surrogate pair whose low half must follow.
    Pair {
        then: EscapeTarget,
        high: u32,
    },
}

/// A position in a class. A member is a code point, or `None` for a set, which cannot end a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClassPosition {
    /// Before a member that no range begins with.
    Fresh,
    /// After a member.
    After(Option<u32>),
    /// After a member and a hyphen.
    Hyphen(Option<u32>),
}

/// An escape in a class that the next characters may still change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenEscape {
    Nothing,
    /// `\0`, which no digit may follow.
    Zero,
    /// The high half of a surrogate pair, which the low half may follow. `ends`: whether it ends a
    /// range.
    High {
        unit: u32,
        ends: bool,
    },
}

/// The place that an escape is written at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EscapeTarget {
    /// A term.
    Term,
    /// A member of a class.
    ClassMember,
    /// The end of a range, at least this.
    RangeEnd(u32),
    /// A character of a name.
    GroupName { declares: bool, read: Vec<u32> },
}

impl PatternState {
    /// The state before any character.
    pub(crate) fn start() -> Self {
        Self {
            captures: 0,
            referred: 0,
            open: Vec::new(),
            names: Vec::new(),
            wanted: Vec::new(),
            mode: SyntaxPosition::Term { repeats: false },
        }
    }

    /// Whether the text so far is a pattern.
    pub(crate) fn accepts(&self) -> bool {
        let done = self.open.is_empty() && self.wanted.is_empty() && self.referred == 0;
        done && match self.mode {
            SyntaxPosition::Term { .. } | SyntaxPosition::Repeated | SyntaxPosition::Zero => true,
            SyntaxPosition::Number(number) => number <= self.captures,
            _ => false,
        }
    }

    /// Whether any character from `first` to `last`, none of which is ASCII, has a successor.
    pub(crate) fn reads_beyond(&self, first: u32, last: u32) -> bool {
        match &self.mode {
            SyntaxPosition::Term { .. }
            | SyntaxPosition::Repeated
            | SyntaxPosition::Zero
            | SyntaxPosition::Number(_)
            | SyntaxPosition::Group => true,
            SyntaxPosition::Class { at: ClassPosition::Hyphen(end), .. } => {
                end.is_some_and(|end| last >= end)
            }
            SyntaxPosition::Class { .. } => true,
            SyntaxPosition::Behind => has_any_of(&START, first, last),
            SyntaxPosition::GroupName { read, .. } => {
                has_any_of(if read.is_empty() { &START } else { &PART }, first, last)
            }
            _ => false,
        }
    }
}
