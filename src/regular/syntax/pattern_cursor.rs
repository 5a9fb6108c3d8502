//! A cursor over a pattern's text, with the flags in force there.

/// The modifiers in force (ECMA-262, section 22.2.1, `RegularExpressionModifiers`; Python's flags).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multiline: bool,
    pub(crate) dot_all: bool,
    /// Classes such as `\w`, and letters of either case, are ASCII's (Python alone).
    pub(crate) ascii: bool,
    /// Blanks and comments between the parts of a pattern mean nothing (Python alone).
    pub(crate) verbose: bool,
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

/// The number written in the first `digits` bytes of `text`, all hexadecimal digits.
pub(crate) fn hexadecimal(text: &str, digits: usize) -> Option<u32> {
    let text = text.get(..digits)?;
    let all = text.bytes().all(|b| b.is_ascii_hexdigit());
    if all { u32::from_str_radix(text, 16).ok() } else { None }
}
