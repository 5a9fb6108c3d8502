//! The syntax tree that all dialects parse into.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// A pattern over code points. Groups and captures are gone: they do not change the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// One code point of a set; the empty set matches nothing.
    Class(ClassUnicode),
    /// One after the other; none at all is the empty string.
    Concat(Vec<Pattern>),
    /// Any one of these; the first one that matches is preferred.
    Alternate(Vec<Pattern>),
    /// `min` to `max` times, `None` for no bound; `greedy`: rather more often than less.
    Repeat { body: Box<Pattern>, min: u32, max: Option<u32>, greedy: bool },
    /// A condition on the text around a position.
    Look { look: Assertion, at: AssertionSource },
    /// A group whose first match is never given back. `greedy`: whether the body is one greedy
    /// repeat.
    Atomic { body: Box<Pattern>, greedy: bool, at: AssertionSource },
}

/// A condition on the text around a position; it consumes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Assertion {
    /// Nothing comes before.
    Start,
    /// Nothing comes after.
    End,
    /// The text after begins with a match, or does not.
    Ahead { body: Box<Pattern>, negated: bool },
    /// The text before ends with a match, or does not.
    Behind { body: Box<Pattern>, negated: bool },
}

/// An assertion's byte in the pattern and its name, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssertionSource {
    pub(crate) byte: usize,
    pub(crate) name: &'static str,
}

/// Equal patterns match the same, wherever their parts stand.
impl PartialEq for AssertionSource {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AssertionSource {}

impl Pattern {
    /// Whether a quantifier prefers fewer repeats, outside conditions on the text around.
    pub(crate) fn is_lazy(&self) -> bool {
        match self {
            Self::Class(_) | Self::Look { .. } | Self::Atomic { .. } => false,
            Self::Concat(parts) | Self::Alternate(parts) => parts.iter().any(Self::is_lazy),
            Self::Repeat { body, min, max, greedy } => {
                !greedy && *max != Some(*min) || body.is_lazy()
            }
        }
    }

    /// Whether a condition on the text around stands in it.
    pub(crate) fn looks_around(&self) -> bool {
        match self {
            Self::Class(_) => false,
            Self::Look { .. } => true,
            Self::Concat(parts) | Self::Alternate(parts) => parts.iter().any(Self::looks_around),
            Self::Repeat { body, .. } | Self::Atomic { body, .. } => body.looks_around(),
        }
    }

    /// Whether an atomic group or a possessive repeat stands in it.
    pub(crate) fn is_atomic(&self) -> bool {
        match self {
            Self::Atomic { .. } => true,
            Self::Class(_) | Self::Look { .. } => false,
            Self::Concat(parts) | Self::Alternate(parts) => parts.iter().any(Self::is_atomic),
            Self::Repeat { body, .. } => body.is_atomic(),
        }
    }

    pub(crate) fn empty() -> Self {
        Self::Concat(Vec::new())
    }

    pub(crate) fn char(c: char) -> Self {
        Self::Class(class_of([(c, c)]))
    }

    /// One code point from `first` to `last`.
    pub(crate) fn range(first: char, last: char) -> Self {
        Self::Class(class_of([(first, last)]))
    }

    /// `min` to `max` times, rather more often than less.
    pub(crate) fn greedy(body: Self, min: u32, max: Option<u32>) -> Self {
        Self::Repeat { body: Box::new(body), min, max, greedy: true }
    }

    pub(crate) fn look(look: Assertion, at: AssertionSource) -> Self {
        Self::Look { look, at }
    }

    pub(crate) fn ahead(body: Self, negated: bool, at: AssertionSource) -> Self {
        Self::look(Assertion::Ahead { body: Box::new(body), negated }, at)
    }

    pub(crate) fn behind(body: Self, negated: bool, at: AssertionSource) -> Self {
        Self::look(Assertion::Behind { body: Box::new(body), negated }, at)
    }

    /// At the start of the text or just after one of `breaks`.
    pub(crate) fn line_start(breaks: ClassUnicode, at: AssertionSource) -> Self {
        let after = Self::behind(Self::Class(breaks), false, at);
        Self::Alternate(vec![Self::look(Assertion::Start, at), after])
    }

    /// At the end of the text or just before one of `breaks`.
    pub(crate) fn line_end(breaks: ClassUnicode, at: AssertionSource) -> Self {
        let before = Self::ahead(Self::Class(breaks), false, at);
        Self::Alternate(vec![Self::look(Assertion::End, at), before])
    }

    /// Between a character of `word` and one outside or the text's edge; negated, anywhere else.
    pub(crate) fn word_boundary(word: &ClassUnicode, negated: bool, at: AssertionSource) -> Self {
        let side = |before: bool, after: bool| {
            let behind = Self::behind(Self::Class(word.clone()), !before, at);
            Self::Concat(vec![behind, Self::ahead(Self::Class(word.clone()), !after, at)])
        };
        Self::Alternate(vec![side(true, negated), side(false, !negated)])
    }
}

/// A class from ranges, both ends included.
pub(crate) fn class_of(ranges: impl IntoIterator<Item = (char, char)>) -> ClassUnicode {
    ClassUnicode::new(ranges.into_iter().map(|(a, b)| ClassUnicodeRange::new(a, b)))
}
