//! A cursor over a pattern's text, with the flags in force there.

/// The modifiers in force (ECMA-262, section 22.2.1, `RegularExpressionModifiers`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) dot_all: bool,
}

/// A position in a pattern's text.
pub(crate) struct PatternCursor<'a> {
    pub(crate) text: &'a str,
    /// Byte of the next character.
    pub(crate) at: usize,
    pub(crate) flags: Flags,
}

impl<'a> PatternCursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, flags: Flags::default() }
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Skips `expected` if it comes next; returns whether it did.
    pub(crate) fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }
}
