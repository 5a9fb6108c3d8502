//! What both dialects parse into: a pattern over code points.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// A pattern. Groups, captures and greediness are gone: they do not change the language.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    /// One code point of a set; the empty set matches nothing.
    Class(ClassUnicode),
    /// One after the other; none at all is the empty string.
    Concat(Vec<Pattern>),
    /// Any one of these.
    Alternate(Vec<Pattern>),
    /// `min` to `max` times, `None` for no bound.
    Repeat { body: Box<Pattern>, min: u32, max: Option<u32> },
    /// A condition on the text around a position.
    Look { look: Look, at: AssertionSource },
    /// What the body matched first is never given back; `greedy` if the body is one greedy repeat.
    Atomic { body: Box<Pattern>, greedy: bool, at: AssertionSource },
}

/// A condition on the text around a position; it consumes nothing.
#[derive(Clone, Debug)]
pub(crate) enum Look {
    /// Nothing comes before.
    Start,
    /// Nothing comes after.
    End,
    /// What comes after begins with a match, or does not.
    Ahead { body: Box<Pattern>, negated: bool },
    /// What comes before ends with a match, or does not.
    Behind { body: Box<Pattern>, negated: bool },
}

/// Where an assertion stands and what its author calls it; for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AssertionSource {
    pub(crate) byte: usize,
    pub(crate) name: &'static str,
}

impl Pattern {
    pub(crate) fn empty() -> Self {
        Self::Concat(Vec::new())
    }

    pub(crate) fn char(c: char) -> Self {
        Self::Class(class_of([(c, c)]))
    }

    pub(crate) fn look(look: Look, at: AssertionSource) -> Self {
        Self::Look { look, at }
    }

    pub(crate) fn ahead(body: Self, negated: bool, at: AssertionSource) -> Self {
        Self::look(Look::Ahead { body: Box::new(body), negated }, at)
    }

    pub(crate) fn behind(body: Self, negated: bool, at: AssertionSource) -> Self {
        Self::look(Look::Behind { body: Box::new(body), negated }, at)
    }

    /// At the start of the text or just after one of `breaks`.
    pub(crate) fn line_start(breaks: ClassUnicode, at: AssertionSource) -> Self {
        let after = Self::behind(Self::Class(breaks), false, at);
        Self::Alternate(vec![Self::look(Look::Start, at), after])
    }

    /// At the end of the text or just before one of `breaks`.
    pub(crate) fn line_end(breaks: ClassUnicode, at: AssertionSource) -> Self {
        let before = Self::ahead(Self::Class(breaks), false, at);
        Self::Alternate(vec![Self::look(Look::End, at), before])
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
