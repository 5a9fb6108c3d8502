//! [`GrammarText`]: a cursor over the text of a grammar, with the lexical pieces that notations
//! share and errors that name line and column.

use std::cell::Cell;

use crate::error::{Error, ErrorKind, Result};

/// Nesting of groups; bounds, with [`MAX_REPEATS`] for each of them, the depth of the native stack.
pub(super) const MAX_NESTING: usize = 200;

/// Repeats of one item: `a*+?` has three.
pub(super) const MAX_REPEATS: usize = 8;
/// The greatest bound of a repeat: beyond it counters grow, and no text needs them.
const MAX_REPEAT: u32 = 1_000_000;
/// The greatest code point.
pub(super) const MAX_CODE_POINT: u32 = 0x10_FFFF;

/// Whether line breaks count as blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineBreaks {
    /// A line break ends what is being read.
    Keep,
    /// A line break is skipped like a blank.
    Skip,
}

/// One of several grammars that stand one after the other in one text.
#[derive(Clone, Debug)]
pub(super) struct TextSection {
    /// The byte offset of its beginning.
    pub(super) start: usize,
    /// Its name in messages; none for the grammar that was given.
    pub(super) name: Option<String>,
}

/// The text of a grammar and the place that is being read. Grammars that belong together, by
/// imports, are one text of several sections: a byte offset says in which of them it lies.
pub(super) struct GrammarText<'a> {
    text: &'a str,
    /// Ascending; the first begins at 0.
    sections: &'a [TextSection],
    /// Byte offset, always between two characters.
    pub(super) at: usize,
    /// The number of open groups.
    depth: usize,
    /// The byte offset that was converted last, with its line and column. Conversions are close to
    /// each other, so counting from here is cheaper than counting from the start of the text.
    last_position: Cell<(usize, usize, usize)>,
}

impl<'a> GrammarText<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self::with_sections(text, &[])
    }

    /// Several grammars, to be read from the beginning of the last one.
    pub(super) fn with_sections(text: &'a str, sections: &'a [TextSection]) -> Self {
        let start = sections.last().map_or(0, |last| last.start);
        Self { text, sections, at: start, depth: 0, last_position: Cell::new((start, 1, 1)) }
    }

    /// The section of a byte offset: its name, its beginning, and its text.
    fn section(&self, at: usize) -> (Option<&str>, usize, &'a str) {
        let after = self.sections.partition_point(|section| section.start <= at);
        let end = self.sections.get(after).map_or(self.text.len(), |next| next.start);
        match after.checked_sub(1).map(|index| &self.sections[index]) {
            Some(TextSection { start, name }) => (name.as_deref(), *start, &self.text[*start..end]),
            None => (None, 0, &self.text[..end]),
        }
    }

    /// An error at a byte offset, with its line and a caret.
    pub(super) fn error(&self, at: usize, message: impl Into<String>) -> Error {
        let (line, column) = self.line_column(at);
        let (name, start, text) = self.section(at);
        let error = Error::new(ErrorKind::Grammar, message)
            .at_line_column(line, column)
            .with_excerpt(text, at - start);
        match name {
            Some(name) => error.in_file(name),
            None => error,
        }
    }

    /// The error of an embedded text (a pattern, a schema), at the place where it is embedded.
    pub(super) fn embed(&self, at: usize, error: &Error) -> Error {
        let inner = match (error.place().byte, &error.place().pointer) {
            (_, Some(pointer)) if !pointer.is_empty() => format!("at {pointer}: "),
            (Some(byte), _) => format!("byte {byte}: "),
            _ => String::new(),
        };
        self.error(at, format!("{inner}{}", error.message())).wrapping(error)
    }

    /// Line and column, both from 1, of a byte offset between two characters.
    pub(super) fn line_column(&self, at: usize) -> (usize, usize) {
        let (_, start, section) = self.section(at);
        let (mut from, mut line, mut column) = self.last_position.get();
        if !(start..start + section.len()).contains(&from) {
            (from, line, column) = (start, 1, 1);
        }
        let passed = &self.text[from.min(at)..from.max(at)];
        let breaks = passed.matches('\n').count();
        if at >= from {
            line += breaks;
            column = match passed.rsplit_once('\n') {
                Some((_, last)) => last.chars().count() + 1,
                None => column + passed.chars().count(),
            };
        } else {
            line -= breaks;
            column = match breaks {
                0 => column - passed.chars().count(),
                _ => {
                    let before = &self.text[start..at];
                    before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1
                }
            };
        }
        self.last_position.set((at, line, column));
        (line, column)
    }

    /// The text that is still to be read.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The text between two byte offsets.
    pub(super) fn between(&self, from: usize, to: usize) -> &'a str {
        &self.text[from..to]
    }

    /// The next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character, or the end, for a message.
    pub(super) fn found(&self) -> String {
        self.peek().map_or("the end".into(), |c| format!("`{c}`"))
    }

    /// Reads the next character.
    pub(super) fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Whether `text` comes next.
    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Reads `text` if it comes next; whether it did.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Reads characters as long as they are of a kind.
    pub(super) fn take_while(&mut self, kind: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !kind(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Skips to the end of the line, without the line break.
    pub(super) fn skip_line(&mut self) {
        self.take_while(|c| c != '\n' && c != '\r');
    }

    /// Reads a text between `open`, which comes next, and `close`; an error if it is not closed.
    pub(super) fn skip_enclosed(&mut self, open: &str, close: &str, what: &str) -> Result<&'a str> {
        let start = self.at;
        self.at += open.len();
        let rest = self.rest();
        match rest.find(close) {
            Some(end) => {
                self.at += end + close.len();
                Ok(&rest[..end])
            }
            None => Err(self
                .error(start, format!("the {what} is not closed"))
                .with_help(format!("end it with `{close}`"))),
        }
    }

    /// Reads a string between two quotes, the first of which comes next; an error if it is not closed in its line.
    pub(super) fn quoted(&mut self, quote: char) -> Result<&'a str> {
        let start = self.at;
        let quote = quote.to_string();
        let text = self.skip_enclosed(&quote, &quote, "string")?;
        if text.contains('\n') {
            return Err(self
                .error(start, "the string is not closed")
                .with_help(format!("end it with `{quote}` in its line")));
        }
        Ok(text)
    }

    /// Enters a group that begins here with `open`.
    pub(super) fn enter(&mut self, open: &str) -> Result<()> {
        if self.depth == MAX_NESTING {
            let message = format!("groups nest more than {MAX_NESTING} deep");
            return Err(self
                .error(self.at, message)
                .with_help("give the inner groups rules of their own"));
        }
        self.at += open.len();
        self.depth += 1;
        Ok(())
    }

    /// Leaves the group that began at `start`.
    pub(super) fn leave(&mut self, close: &str, start: usize) -> Result<()> {
        self.depth -= 1;
        if self.eat(close) {
            return Ok(());
        }
        let (line, column) = self.line_column(start);
        Err(self
            .error(self.at, format!("expected `{close}`, found {}", self.found()))
            .with_help(format!("close the group of line {line}, column {column}")))
    }

    /// Whether a group is open.
    pub(super) fn in_group(&self) -> bool {
        self.depth > 0
    }

    /// Skips space within a rule, by the notation's `skip_space`. In a group a line break is a
    /// blank; outside it ends the rule, unless the next line goes on with `|`.
    pub(super) fn skip_inner_space(&mut self, skip_space: fn(&mut Self, LineBreaks)) {
        if self.in_group() {
            skip_space(self, LineBreaks::Skip);
            return;
        }
        skip_space(self, LineBreaks::Keep);
        if matches!(self.peek(), Some('\n' | '\r')) {
            let before = self.at;
            skip_space(self, LineBreaks::Skip);
            if self.peek() != Some('|') {
                self.at = before;
            }
        }
    }

    /// A decimal number that bounds a repeat.
    pub(super) fn bound(&mut self) -> Result<u32> {
        let start = self.at;
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.error(start, "expected a number"));
        }
        match digits.parse() {
            Ok(number) if number <= MAX_REPEAT => Ok(number),
            _ => Err(self.error(start, format!("a bound may be {MAX_REPEAT} at most"))),
        }
    }

    /// A code point in exactly so many hexadecimal digits; `start` is the place of the escape.
    pub(super) fn hex(&mut self, digits: usize, start: usize) -> Result<u32> {
        let code = self.rest().get(..digits);
        let code = code.filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match code {
            Some(code) if code <= MAX_CODE_POINT => {
                self.at += digits;
                Ok(code)
            }
            _ => {
                Err(self
                    .error(start, format!("expected {digits} hexadecimal digits of a character")))
            }
        }
    }

    /// A code point as a character of a literal.
    pub(super) fn character(&self, code: u32, at: usize) -> Result<char> {
        char::from_u32(code).ok_or_else(|| match code {
            0xD800..=0xDFFF => self.error(at, "a surrogate is no character"),
            _ => self.error(at, "no such character").with_help("the last one is U+10FFFF"),
        })
    }

    /// Ranges of code points between brackets, the first of which is here; after `^` the code
    /// points outside them. A bracket right after the first closes it: a class may be empty.
    pub(super) fn class(
        &mut self,
        character: fn(&mut Self) -> Result<u32>,
    ) -> Result<Vec<(u32, u32)>> {
        let start = self.at;
        self.at += 1;
        let negated = self.eat("^");
        let mut ranges = Vec::new();
        while !self.eat("]") {
            let at = self.at;
            self.check_class_goes_on(start)?;
            let first = character(self)?;
            let mut last = first;
            if self.starts_with("-") && !self.starts_with("-]") {
                self.at += 1;
                self.check_class_goes_on(start)?;
                last = character(self)?;
            }
            if last < first {
                // Where no bracket follows on the line, the class was to end before the `-`.
                let line = self.between(start, self.at).contains(['\n', '\r']);
                let rest = self.rest().lines().next().unwrap_or_default();
                if line || !rest.contains(']') {
                    return Err(self.unclosed_class(start));
                }
                return Err(self.error(at, "the range ends before it begins"));
            }
            ranges.push((first, last));
        }
        Ok(if negated { complement(ranges) } else { ranges })
    }

    /// Errors at the end of the text, which leaves a class open.
    fn check_class_goes_on(&self, start: usize) -> Result<()> {
        match self.peek() {
            Some(_) => Ok(()),
            None => Err(self.unclosed_class(start)),
        }
    }

    fn unclosed_class(&self, start: usize) -> Error {
        self.error(start, "the class is not closed").with_help("end it with `]`")
    }

    /// Errors if the least number of times exceeds the greatest.
    pub(super) fn check_bounds(&self, min: u32, max: Option<u32>, at: usize) -> Result<()> {
        match max {
            Some(max) if max < min => {
                Err(self.error(at, "the least number of times exceeds the greatest"))
            }
            _ => Ok(()),
        }
    }
}

/// The code points outside these ranges.
fn complement(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let (mut gaps, mut next) = (Vec::new(), 0);
    for (first, last) in ranges {
        if first > next {
            gaps.push((next, first - 1));
        }
        next = next.max(last + 1);
    }
    if next <= MAX_CODE_POINT {
        gaps.push((next, MAX_CODE_POINT));
    }
    gaps
}
