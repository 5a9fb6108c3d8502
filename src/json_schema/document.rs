//! Schema text as a tree that remembers where each value stands.
//!
//! A reader of our own, because errors need line and column, numbers must stay the decimals that
//! were written (RFC 8259, section 6), and a repeated key must not be lost silently.

use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result, line_column};

/// Nesting that a document may have.
const DEPTH: usize = 256;

/// Objects with more members than this are searched by hash.
const SCAN: usize = 16;

/// A value of a [`Document`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ValueId(u32);

/// What a value is; numbers are the text that was written.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(Box<str>),
    String(Box<str>),
    Array(Box<[ValueId]>),
    Object(Members),
}

/// The members of an object, in the order written.
#[derive(Clone, Debug, Default)]
pub(super) struct Members {
    list: Vec<(Box<str>, ValueId)>,
    index: FxHashMap<Box<str>, u32>,
}

impl Members {
    pub(super) fn get(&self, key: &str) -> Option<ValueId> {
        if self.list.len() <= SCAN {
            return self.list.iter().find(|(name, _)| &**name == key).map(|&(_, value)| value);
        }
        self.index.get(key).map(|&i| self.list[i as usize].1)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, ValueId)> + '_ {
        self.list.iter().map(|(key, value)| (&**key, *value))
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a member; false if the key is there already.
    fn insert(&mut self, key: Box<str>, value: ValueId) -> bool {
        if self.get(&key).is_some() {
            return false;
        }
        if self.list.len() == SCAN {
            let known = self.list.iter().enumerate();
            self.index.extend(known.map(|(i, (key, _))| (key.clone(), i as u32)));
        }
        if self.list.len() >= SCAN {
            self.index.insert(key.clone(), self.list.len() as u32);
        }
        self.list.push((key, value));
        true
    }
}

#[derive(Clone, Debug)]
struct Entry {
    value: Value,
    parent: Option<ValueId>,
    start: u32,
}

/// A parsed document: all of its values in one arena.
#[derive(Clone, Debug)]
pub(super) struct Document {
    entries: Vec<Entry>,
    text: Option<Box<str>>,
    root: ValueId,
}

impl Document {
    /// Parses JSON text (RFC 8259), which must be one value and nothing else.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if u32::try_from(text.len()).is_err() {
            return Err(Error::new(ErrorKind::Limit, "the schema is longer than 4 GiB"));
        }
        let mut parser = Parser { text, at: 0, entries: Vec::new() };
        let root = parser.document()?;
        let entries = parser.entries;
        let mut document = Self { entries, text: Some(text.into()), root };
        document.link();
        Ok(document)
    }

    /// Takes a value that another reader has parsed; it has no lines and columns.
    pub(super) fn from_value(value: &serde_json::Value) -> Result<Self> {
        let mut entries = Vec::new();
        let root = copy(value, &mut entries, 0)?;
        let mut document = Self { entries, text: None, root };
        document.link();
        Ok(document)
    }

    fn link(&mut self) {
        for i in 0..self.entries.len() {
            let parent = Some(ValueId(i as u32));
            let children: Vec<ValueId> = match &self.entries[i].value {
                Value::Array(items) => items.to_vec(),
                Value::Object(members) => members.iter().map(|(_, child)| child).collect(),
                _ => continue,
            };
            for child in children {
                self.entries[child.0 as usize].parent = parent;
            }
        }
    }

    pub(super) fn root(&self) -> ValueId {
        self.root
    }

    pub(super) fn value(&self, id: ValueId) -> &Value {
        &self.entries[id.0 as usize].value
    }

    pub(super) fn parent(&self, id: ValueId) -> Option<ValueId> {
        self.entries[id.0 as usize].parent
    }

    /// The members, if it is an object.
    pub(super) fn members(&self, id: ValueId) -> Option<&Members> {
        match self.value(id) {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// A member of an object.
    pub(super) fn get(&self, id: ValueId, key: &str) -> Option<ValueId> {
        self.members(id)?.get(key)
    }

    /// The text, if it is a string.
    pub(super) fn string(&self, id: ValueId) -> Option<&str> {
        match self.value(id) {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The JSON pointer of a value (RFC 6901).
    pub(super) fn pointer(&self, id: ValueId) -> String {
        let mut tokens = Vec::new();
        let mut at = id;
        while let Some(parent) = self.parent(at) {
            match self.value(parent) {
                Value::Array(items) => {
                    let index = items.iter().position(|&item| item == at).unwrap_or(0);
                    tokens.push(index.to_string());
                }
                Value::Object(members) => {
                    let key = members.iter().find(|&(_, child)| child == at).map_or("", |m| m.0);
                    tokens.push(key.replace('~', "~0").replace('/', "~1"));
                }
                _ => {}
            }
            at = parent;
        }
        tokens.iter().rev().fold(String::new(), |pointer, token| pointer + "/" + token)
    }

    /// The value at a JSON pointer below `from`.
    pub(super) fn at_pointer(&self, from: ValueId, pointer: &str) -> Option<ValueId> {
        if pointer.is_empty() {
            return Some(from);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(from, |at, token| {
            match self.value(at) {
                Value::Object(members) => {
                    if token.contains('~') {
                        members.get(&token.replace("~1", "/").replace("~0", "~"))
                    } else {
                        members.get(token)
                    }
                }
                // An index has no leading zero and no sign.
                Value::Array(items)
                    if token == "0" || !token.starts_with('0') && !token.starts_with('+') =>
                {
                    items.get(token.parse::<usize>().ok()?).copied()
                }
                _ => None,
            }
        })
    }

    /// An error of a kind at a value: pointer, and line and column where the text is known.
    pub(super) fn error(&self, kind: ErrorKind, at: ValueId, message: impl Into<String>) -> Error {
        let error = Error::new(kind, message).at_pointer(self.pointer(at));
        match &self.text {
            Some(text) => {
                let (line, column) = line_column(text, self.entries[at.0 as usize].start as usize);
                error.at_line_column(line, column)
            }
            None => error,
        }
    }
}

fn copy(value: &serde_json::Value, entries: &mut Vec<Entry>, depth: usize) -> Result<ValueId> {
    if depth > DEPTH {
        return Err(too_deep());
    }
    let value = match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(b) => Value::Bool(*b),
        serde_json::Value::Number(number) => Value::Number(number.to_string().into()),
        serde_json::Value::String(text) => Value::String(text.as_str().into()),
        serde_json::Value::Array(items) => {
            let items = items.iter().map(|item| copy(item, entries, depth + 1));
            Value::Array(items.collect::<Result<_>>()?)
        }
        serde_json::Value::Object(map) => {
            let mut members = Members::default();
            for (key, value) in map {
                let value = copy(value, entries, depth + 1)?;
                members.insert(key.as_str().into(), value);
            }
            Value::Object(members)
        }
    };
    let id = ValueId(entries.len() as u32);
    entries.push(Entry { value, parent: None, start: 0 });
    Ok(id)
}

fn too_deep() -> Error {
    Error::new(ErrorKind::Limit, format!("JSON is nested more than {DEPTH} levels deep"))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    entries: Vec<Entry>,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<ValueId> {
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
        let (line, column) = line_column(self.text, at);
        Error::new(ErrorKind::Schema, message).at_line_column(line, column)
    }

    fn expected(&self, what: &str) -> Error {
        let found = match self.text[self.at..].chars().next() {
            Some(c) => format!("found `{}`", c.escape_debug()),
            None => "the text ends".into(),
        };
        self.error_at(self.at, format!("not JSON: expected {what}, {found}"))
    }

    fn value(&mut self, depth: usize) -> Result<ValueId> {
        if depth > DEPTH {
            let (line, column) = line_column(self.text, self.at);
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
        let id = ValueId(self.entries.len() as u32);
        self.entries.push(Entry { value, parent: None, start });
        Ok(id)
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
            if !members.insert(key.clone(), value) {
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
            let plain = rest.bytes().position(|b| b == b'"' || b == b'\\' || b < b' ');
            let Some(plain) = plain else {
                self.at = self.text.len();
                return Err(self.expected("`\"`"));
            };
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out.into());
                }
                Some(b'\\') => out.push(self.escape()?),
                _ => return Err(self.expected("an escape for a control character")),
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
                return Err(self.expected("one of `\"\\/bfnrtu` after a backslash"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_pointer() {
        let d = Document::parse(r#"{"a": [1, {"b/c~": "x\ud83d\ude00"}]}"#).unwrap();
        let v = d.at_pointer(d.root(), "/a/1/b~1c~0").unwrap();
        assert_eq!(d.string(v), Some("x😀"));
        assert_eq!(d.pointer(v), "/a/1/b~1c~0");
        assert!(d.at_pointer(d.root(), "/a/01").is_none());
        assert!(d.at_pointer(d.root(), "a").is_none());
    }

    #[test]
    fn errors_say_where() {
        let table = [
            ("", "line 1, column 1: not JSON: expected a value, the text ends"),
            (
                "{\"a\": 1,\n \"a\": 2}",
                "line 2, column 2: the key \"a\" is written twice; write it once",
            ),
            ("[1 2]", "line 1, column 4: not JSON: expected `,` or `]`, found `2`"),
            (
                "\"\\ud800\"",
                "line 1, column 2: not JSON text: half of a surrogate pair stands alone",
            ),
            ("01", "line 1, column 2: not JSON: expected the end of the text, found `1`"),
            (
                "\"\\u00g0\"",
                "line 1, column 4: not JSON: expected four hexadecimal digits, found `0`",
            ),
        ];
        for (text, message) in table {
            assert_eq!(Document::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(Document::parse(&deep).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn large_objects_are_found_by_hash() {
        let members: Vec<String> = (0..100).map(|i| format!("\"k{i}\": {i}")).collect();
        let d = Document::parse(&format!("{{{}}}", members.join(","))).unwrap();
        for i in 0..100 {
            assert!(d.get(d.root(), &format!("k{i}")).is_some());
        }
        assert!(d.get(d.root(), "k100").is_none());
    }
}
