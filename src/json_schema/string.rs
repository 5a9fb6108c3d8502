//! Sets of strings, as regular languages of their canonical spelling in JSON.

use super::document::ValueId;
use super::set::Sets;
use crate::error::Result;
use crate::regex::{ByteSet, Language, Languages};

/// The languages that all string sets are made of; without quotes.
#[derive(Clone, Debug)]
pub(super) struct Strings {
    /// Every text.
    pub(super) any: Language,
    /// Every text of one code point.
    pub(super) char: Language,
}

impl Strings {
    pub(super) fn new(l: &mut Languages) -> Self {
        let mut plain: ByteSet = (0x20..0x80).collect();
        plain = plain.intersection(&ByteSet::single(b'"').complement());
        plain = plain.intersection(&ByteSet::single(b'\\').complement());
        let mut parts = vec![l.byte_set(plain)];
        for c in ('\0'..' ').chain(['"', '\\']) {
            let spelled = spell(c.encode_utf8(&mut [0; 4]));
            parts.push(l.literal(&spelled));
        }
        for [a, b, c, d] in [
            [(0xC2, 0xDF), (0x80, 0xBF), (0, 0), (0, 0)],
            [(0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF), (0, 0)],
            [(0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF), (0, 0)],
            [(0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF), (0, 0)],
            [(0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF), (0, 0)],
            [(0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
            [(0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
            [(0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)],
        ] {
            let ranges = [a, b, c, d].into_iter().filter(|r: &(u8, u8)| r.0 > 0);
            let bytes: Vec<_> = ranges.map(|(a, b)| l.byte_range(a, b)).collect();
            parts.push(l.concat(bytes));
        }
        let char = l.union(parts);
        let any = l.repeat(char, 0, None);
        Self { any, char }
    }

    /// The canonical spelling of a text, without quotes.
    pub(super) fn spell(&self, text: &str) -> Vec<u8> {
        spell(text)
    }

    /// Texts of so many code points.
    pub(super) fn of_length(&self, l: &mut Languages, min: u32, max: Option<u32>) -> Language {
        l.repeat(self.char, min, max)
    }
}

/// Escapes only what must be, in the short form where JSON has one (RFC 8259, section 7).
fn spell(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        let short = match c {
            '"' | '\\' => Some(c),
            '\u{8}' => Some('b'),
            '\u{c}' => Some('f'),
            '\n' => Some('n'),
            '\r' => Some('r'),
            '\t' => Some('t'),
            _ => None,
        };
        match short {
            Some(short) => out.extend([b'\\', short as u8]),
            None if c < ' ' => out.extend(format!("\\u{:04x}", c as u32).bytes()),
            None => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    out
}

impl Sets<'_> {
    /// The texts that a `pattern` matches somewhere.
    pub(super) fn pattern(&mut self, at: ValueId) -> Result<Language> {
        let message = "`pattern` is not supported yet";
        Err(self.document.error(crate::ErrorKind::Schema, at, message))
    }

    /// The keys that a pattern of `patternProperties` matches; `at` is its schema.
    pub(super) fn key_pattern(&mut self, at: ValueId) -> Result<Language> {
        self.pattern(at)
    }
}
