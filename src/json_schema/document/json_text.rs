//! JSON text (RFC 8259) as a tree of values.
//!
//! A reader of our own, because errors need line and column, numbers must stay the decimals that
//! were written (section 6), and a repeated key must not be lost silently.

use crate::error::{Error, ErrorKind, Result, line_column};
use crate::json_schema::document::{Document, MAX_DEPTH, Members, Value, ValueId, too_deep};

/// Bytes that a text may have: values are numbered with 31 bits.
const MAX_TEXT_BYTES: usize = (1 << 31) - 1;

/// Reads one value, and nothing else, into a document.
pub(crate) fn parse(text: &str, document: &mut Document) -> Result<ValueId> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(Error::new(ErrorKind::Limit, "the schema is longer than 2 GiB"));
    }
    JsonParser { text, at: 0, document }.whole()
}

struct JsonParser<'a> {
    text: &'a str,
    at: usize,
    document: &'a mut Document,
}

impl JsonParser<'_> {
    fn whole(&mut self) -> Result<ValueId> {
        self.blank();
        let root = self.value(0)?;
        self.blank();
        if self.at < self.text.len() {
            return Err(self.expected("the end of the text"));
        }
        Ok(root)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn error_at(&self, at: usize, message: String) -> Error {
        let (line, column) = line_column(self.text.as_bytes(), at);
        Error::new(ErrorKind::Schema, message).at_line_column(line, column)
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.text[self.at..].chars().next() {
            Some(c) => format!("found `{}`", c.escape_debug()),
            None => "the text ends".into(),
        };
        let error = self.error_at(self.at, format!("not JSON: expected {what}, {found}"));
        match self.habit(what) {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    /// A construct of other notations at this place, and how JSON has it.
    fn habit(&self, expected: &str) -> Option<&'static str> {
        let rest = &self.text[self.at..];
        let before = self.text[..self.at].trim_end_matches([' ', '\t', '\n', '\r']);
        let word =
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        Some(match (rest.chars().next()?, word) {
            ('}' | ']', _) if before.ends_with(',') => "no comma stands after the last one",
            ('\'', _) => "texts and keys stand in double quotes",
            ('/', _) if rest.starts_with("//") || rest.starts_with("/*") => {
                "JSON has no comments; `$comment` is a keyword for them"
            }
            ('#', _) => "JSON has no comments; `$comment` is a keyword for them",
            ('\u{feff}', _) => "remove the byte order mark",
            ('.', _) => "write a 0 before the point",
            ('+', _) => "leave the plus sign out",
            ('0'..='9', _) if before.ends_with('0') && before.len() == self.at => {
                "leave the zeros at the front of the number out"
            }
            ('"' | '{' | '[' | '-' | '0'..='9', _) if expected.starts_with("`,`") => {
                "a comma stands between members and between items"
            }
            (_, "True") => "write `true`",
            (_, "False") => "write `false`",
            (_, "None" | "undefined" | "nil") => "write `null`",
            (_, "NaN" | "Infinity") => "JSON has no such number",
            (_, key) if !key.is_empty() && rest[key.len()..].trim_start().starts_with(':') => {
                "keys stand in double quotes"
            }
            _ => return None,
        })
    }

    fn value(&mut self, depth: usize) -> Result<ValueId> {
        if depth > MAX_DEPTH {
            let (line, column) = line_column(self.text.as_bytes(), self.at);
            return Err(too_deep().at_line_column(line, column));
        }
        let start = self.at as u32;
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Value::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.number()?),
            _ => self.word()?,
        };
        Ok(self.document.push(value, start))
    }

    fn word(&mut self) -> Result<Value> {
        let words =
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in words {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.expected("a value"))
    }

    fn array(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut items = Vec::new();
        self.blank();
        if self.take(b']') {
            return Ok(Value::Array(items.into()));
        }
        loop {
            self.blank();
            items.push(self.value(depth + 1)?);
            self.blank();
            if self.take(b']') {
                return Ok(Value::Array(items.into()));
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut members = Members::default();
        self.blank();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.blank();
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key in double quotes"));
            }
            let key = self.string()?;
            self.blank();
            if !self.take(b':') {
                return Err(self.expected("`:`"));
            }
            self.blank();
            let value = self.value(depth + 1)?;
            if !members.insert(key, value) {
                self.at = start;
                let key = self.string()?;
                let message = format!("the key \"{}\" is written twice", key.escape_debug());
                return Err(self.error_at(start, message).with_help("write it once"));
            }
            self.blank();
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    fn digits(&mut self) -> Result<()> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.expected("a digit")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Box<str>> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        Ok(self.text[start..self.at].into())
    }

    fn string(&mut self) -> Result<Box<str>> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = plain(rest.as_bytes()) else {
                self.at = self.text.len();
                return Err(self.expected("`\"`"));
            };
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    // Most have no escapes.
                    if out.is_empty() {
                        return Ok(rest[..plain].into());
                    }
                    out.push_str(&rest[..plain]);
                    return Ok(out.into());
                }
                _ => out.push_str(&rest[..plain]),
            }
            match self.peek() {
                Some(b'\\') => out.push(self.escape()?),
                _ => {
                    let error = self.expected("an escape for a control character");
                    return Err(
                        error.with_help("write `\\n` for the end of a line, `\\t` for a tab")
                    );
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        self.at += 2;
        Ok(match self.text.as_bytes().get(start + 1) {
            Some(&c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.hex()?;
                let low = if (0xD800..0xDC00).contains(&first) && self.take(b'\\') {
                    if !self.take(b'u') {
                        return Err(self.expected("`u`"));
                    }
                    Some(self.hex()?)
                } else {
                    None
                };
                let units = [first, low.unwrap_or(0)];
                let units = &units[..1 + usize::from(low.is_some())];
                match char::decode_utf16(units.iter().copied()).next() {
                    Some(Ok(c)) => c,
                    _ => {
                        let message = "not JSON text: half of a surrogate pair stands alone";
                        return Err(self.error_at(start, message.into()));
                    }
                }
            }
            _ => {
                self.at = start + 1;
                let error = self.expected("one of `\"\\/bfnrtu` after a backslash");
                return Err(error.with_help("write a backslash that is meant as two: `\\\\`"));
            }
        })
    }

    fn hex(&mut self) -> Result<u16> {
        let digits = self.text.get(self.at..self.at + 4);
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let Some(digits) = digits else { return Err(self.expected("four hexadecimal digits")) };
        self.at += 4;
        Ok(u16::from_str_radix(digits, 16).unwrap_or(0))
    }
}

/// The number of bytes of a string before its end, an escape or a byte that must be escaped.
fn plain(text: &[u8]) -> Option<usize> {
    /// Bytes that are tested together.
    const WIDTH: usize = 32;
    let special = |b: u8| (b == b'"') | (b == b'\\') | (b < b' ');
    let blocks = text.chunks_exact(WIDTH);
    let plain = blocks.take_while(|block| !block.iter().fold(false, |any, &b| any | special(b)));
    let from = plain.count() * WIDTH;
    Some(from + text[from..].iter().position(|&b| special(b))?)
}
