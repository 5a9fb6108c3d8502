//! Where in a pattern's text, and what of the text before still matters.

use std::cmp::Ordering;

use super::properties::PropertyPrefix;
use crate::regular::syntax::identifiers::{PART, START, has_any_of};

/// What is known of a text that may become a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PatternState {
    /// Groups that were opened, by what they can be referred to, as far as that matters.
    pub(crate) captures: u32,
    /// The greatest number that is referred to, if there are not as many groups yet; or 0.
    pub(crate) referred: u32,
    /// The groups that are open, outermost first: may each be repeated?
    pub(crate) open: Vec<bool>,
    /// The names of groups, sorted.
    pub(crate) names: Vec<GroupName>,
    /// Names that are referred to, and not there yet; sorted.
    pub(crate) wanted: Vec<Vec<u32>>,
    pub(crate) mode: SyntaxPosition,
}

/// The name of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupName {
    /// So many groups are open around it, those that were closed since not counted.
    pub(crate) depth: u32,
    /// Does it stand in the alternative that is being read, and not in one before?
    pub(crate) here: bool,
    pub(crate) text: Vec<u32>,
}

/// A place in the syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyntaxPosition {
    /// Between terms; may the last one be repeated?
    Term {
        repeats: bool,
    },
    /// After a quantifier, which `?` may follow.
    Repeated,
    /// After `\0`, which no digit may follow.
    Zero,
    /// In a reference by number.
    Number(u32),
    /// After `{` and digits, zeros before others left out: were there any?
    Least {
        digits: Vec<u8>,
        any: bool,
    },
    /// After `{n,`: the digits of `n`; how many of the other number, zeros before them left out,
    /// and how these compare with as many of `n`. One digit more than `n` has stands for all.
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
    /// In a class; right after its `[`?
    Class {
        first: bool,
        at: ClassPosition,
        tail: OpenEscape,
    },
    /// After a backslash; must it be the low half of a surrogate pair?
    Escape {
        then: EscapeTarget,
        tail: OpenEscape,
        forced: bool,
    },
    /// After `\c`.
    Control(EscapeTarget),
    /// After `\x` and so many digits of this value.
    Hex(EscapeTarget, u32, u32),
    /// After `\u` and so many digits of this value.
    Unicode {
        then: EscapeTarget,
        tail: OpenEscape,
        forced: bool,
        count: u32,
        value: u32,
    },
    /// After `\u{`: a number, and if it has digits yet.
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

/// Where in a class. A member is a code point, or a set, which is no end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClassPosition {
    /// No range begins with what stands before.
    Fresh,
    After(Option<u32>),
    /// After a member and a hyphen.
    Hyphen(Option<u32>),
}

/// What the last escape in a class leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenEscape {
    Nothing,
    /// `\0`, which no digit may follow.
    Zero,
    /// The high half of a surrogate pair, if the low half follows. Does it end a range?
    High {
        unit: u32,
        ends: bool,
    },
}

/// What an escape stands for.
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

    pub(crate) fn accepts(&self) -> bool {
        let done = self.open.is_empty() && self.wanted.is_empty() && self.referred == 0;
        done && match self.mode {
            SyntaxPosition::Term { .. } | SyntaxPosition::Repeated | SyntaxPosition::Zero => true,
            SyntaxPosition::Number(number) => number <= self.captures,
            _ => false,
        }
    }

    /// Does any character from `first` to `last`, none of which is ASCII, lead on?
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
