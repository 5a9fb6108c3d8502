//! Schema documents: JSON values in one arena, each with its place in the text.
//!
//! One arena holds the schema and the documents supplied with it, so that a value is one small id
//! whichever of them it belongs to. The metaschemas are an arena of their own, made once in a
//! process when one of them is first reached. Numbers stay the text that was written.

pub(crate) mod canonical_text;
pub(crate) mod closing;
pub(crate) mod draft;
pub(crate) mod hints;
pub(crate) mod json_text;
pub(crate) mod metaschemas;
pub(crate) mod references;
pub(crate) mod resources;
pub(crate) mod uri;

use std::sync::{LazyLock, OnceLock};

use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result, line_column};

/// The metaschemas of all drafts, parsed when one is first needed.
static METASCHEMAS: LazyLock<Document> =
    LazyLock::new(|| Document::builtin(metaschemas::TEXTS.iter().copied()));

/// Levels of nesting that a document may have.
pub(crate) const MAX_DEPTH: usize = 256;

/// Members up to which an object is searched one by one; a larger one has a hash index.
const MAX_SCANNED_MEMBERS: usize = 16;

/// A bit that is set in the ids of values of the metaschemas.
const BUILTIN: u32 = 1 << 31;

/// A value of a [`Document`] or of the metaschemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ValueId(u32);

impl ValueId {
    /// Whether the value belongs to a metaschema.
    pub(crate) fn is_builtin(self) -> bool {
        self.0 & BUILTIN != 0
    }

    /// The id as a number, for messages.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The id with this [`number`](Self::number).
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }

    fn index(self) -> usize {
        (self.0 & !BUILTIN) as usize
    }
}

/// A JSON value; a number is the text that was written.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Box<str>),
    String(Box<str>),
    Array(Box<[ValueId]>),
    Object(Members),
}

/// The members of an object, in the order written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    list: Vec<(Box<str>, ValueId)>,
    index: FxHashMap<Box<str>, u32>,
}

impl Members {
    pub(crate) fn none() -> &'static Self {
        static NONE: LazyLock<Members> = LazyLock::new(Members::default);
        &NONE
    }

    pub(crate) fn get(&self, key: &str) -> Option<ValueId> {
        if self.list.len() <= MAX_SCANNED_MEMBERS {
            return self.list.iter().find(|(name, _)| &**name == key).map(|&(_, value)| value);
        }
        self.index.get(key).map(|&i| self.list[i as usize].1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, ValueId)> + '_ {
        self.list.iter().map(|(key, value)| (&**key, *value))
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a member; false if the key is there already.
    pub(crate) fn insert(&mut self, key: Box<str>, value: ValueId) -> bool {
        if self.get(&key).is_some() {
            return false;
        }
        if self.list.len() == MAX_SCANNED_MEMBERS {
            let known = self.list.iter().enumerate();
            self.index.extend(known.map(|(i, (key, _))| (key.clone(), i as u32)));
        }
        if self.list.len() >= MAX_SCANNED_MEMBERS {
            self.index.insert(key.clone(), self.list.len() as u32);
        }
        self.list.push((key, value));
        true
    }

    /// Adds a member, or gives the one of that key another value; its place.
    fn set(&mut self, key: &str, value: ValueId) -> u32 {
        match self.list.iter().position(|(name, _)| &**name == key) {
            Some(place) => {
                self.list[place].1 = value;
                place as u32
            }
            None => {
                self.insert(key.into(), value);
                self.list.len() as u32 - 1
            }
        }
    }
}

#[derive(Clone, Debug)]
struct ValueEntry {
    value: Value,
    parent: Option<ValueId>,
    /// The index among the items or members of the parent.
    index: u32,
    /// The byte at which the value starts in its text.
    start: u32,
}

/// A text of the arena.
#[derive(Clone, Debug)]
struct DocumentText {
    /// The URI under which it was supplied; the schema itself has none.
    uri: Option<Box<str>>,
    text: Option<SourceText>,
    root: ValueId,
}

/// Bytes between two places of a text whose line and column are stored.
const LINE_INDEX_STEP: usize = 4096;

#[derive(Clone, Debug)]
struct SourceText {
    text: Box<str>,
    /// Line and column of every [`LINE_INDEX_STEP`]th byte, once one was asked for.
    counted: OnceLock<Vec<(usize, usize)>>,
}

impl SourceText {
    fn new(text: &str) -> Self {
        Self { text: text.into(), counted: OnceLock::new() }
    }

    /// Line and column of a byte, both from 1.
    fn line_column(&self, byte: usize) -> (usize, usize) {
        let from = |place: (usize, usize), bytes: &[u8], byte| match line_column(bytes, byte) {
            (1, further) => (place.0, place.1 + further - 1),
            (further, column) => (place.0 + further - 1, column),
        };
        let counted = self.counted.get_or_init(|| {
            let mut places = vec![(1, 1)];
            for chunk in self.text.as_bytes().chunks(LINE_INDEX_STEP) {
                places.push(from(places[places.len() - 1], chunk, chunk.len()));
            }
            places
        });
        let chunk = (byte / LINE_INDEX_STEP).min(counted.len() - 1);
        let bytes = self.text.as_bytes().get(chunk * LINE_INDEX_STEP..).unwrap_or_default();
        from(counted[chunk], bytes, byte - chunk * LINE_INDEX_STEP)
    }
}

/// A schema and the documents supplied with it: all of their values in one arena.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    entries: Vec<ValueEntry>,
    /// In the order of their values; a root is the last value of its text.
    sources: Vec<DocumentText>,
    builtin: bool,
    /// Whether a keyword occurs whose meaning depends on the dynamic scope.
    dynamic: bool,
    /// The number of values read from texts; values with ids from here on were added. `None` if none
    /// was.
    written: Option<u32>,
    /// The URI of the schema itself, if it has one beside its `$id`.
    base: Option<Box<str>>,
}

/// The number of values in a value, down to the greatest depth.
fn count(value: &serde_json::Value, depth: usize) -> usize {
    match value {
        _ if depth > MAX_DEPTH => 1,
        serde_json::Value::Array(items) => {
            1 + items.iter().map(|item| count(item, depth + 1)).sum::<usize>()
        }
        serde_json::Value::Object(map) => {
            1 + map.values().map(|value| count(value, depth + 1)).sum::<usize>()
        }
        _ => 1,
    }
}

impl Document {
    /// Parses JSON text (RFC 8259), which must be one value and nothing else.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut document = Self::default();
        // Values are seldom shorter, with their keys.
        document.entries.reserve(text.len() / 16);
        let root = json_text::parse(text, &mut document)?;
        document.sources.push(DocumentText { uri: None, text: Some(SourceText::new(text)), root });
        Ok(document)
    }

    /// Takes a value that another reader has parsed; it has no lines and columns.
    pub(crate) fn from_value(value: &serde_json::Value) -> Result<Self> {
        let mut document = Self::default();
        document.entries.reserve(count(value, 0));
        let root = document.copy(value, 0)?;
        document.sources.push(DocumentText { uri: None, text: None, root });
        Ok(document)
    }

    /// The arena of the metaschemas, given by URI and text.
    pub(crate) fn builtin<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let mut document = Self { builtin: true, ..Self::default() };
        for (uri, text) in texts {
            // Texts of our own, which a test parses.
            let _ = document.supply(uri, text);
        }
        document
    }

    /// Adds a document that references may lead to.
    pub(crate) fn supply(&mut self, uri: &str, text: &str) -> Result<()> {
        let root = json_text::parse(text, self).map_err(|error| error.in_file(uri))?;
        self.sources.push(DocumentText {
            uri: Some(uri.into()),
            text: Some(SourceText::new(text)),
            root,
        });
        Ok(())
    }

    /// Adds a document that another reader has parsed.
    pub(crate) fn supply_value(&mut self, uri: &str, value: &serde_json::Value) -> Result<()> {
        let root = self.copy(value, 0)?;
        self.sources.push(DocumentText { uri: Some(uri.into()), text: None, root });
        Ok(())
    }

    fn copy(&mut self, value: &serde_json::Value, depth: usize) -> Result<ValueId> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let value = match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(b) => Value::Bool(*b),
            serde_json::Value::Number(number) => Value::Number(number.to_string().into()),
            serde_json::Value::String(text) => Value::String(text.as_str().into()),
            serde_json::Value::Array(items) => {
                let items = items.iter().map(|item| self.copy(item, depth + 1));
                Value::Array(items.collect::<Result<_>>()?)
            }
            serde_json::Value::Object(map) => {
                let mut members = Members::default();
                for (key, value) in map {
                    let value = self.copy(value, depth + 1)?;
                    members.insert(key.as_str().into(), value);
                }
                Value::Object(members)
            }
        };
        Ok(self.push(value, 0))
    }

    /// Adds a value whose items or members are there already.
    pub(crate) fn push(&mut self, value: Value, start: u32) -> ValueId {
        let bit = if self.builtin { BUILTIN } else { 0 };
        let id = ValueId(self.entries.len() as u32 | bit);
        let adopt = |entries: &mut Vec<ValueEntry>, index: usize, child: ValueId| {
            let child = &mut entries[child.index()];
            (child.parent, child.index) = (Some(id), index as u32);
        };
        match &value {
            Value::Array(items) => {
                for (index, &child) in items.iter().enumerate() {
                    adopt(&mut self.entries, index, child);
                }
            }
            Value::Object(members) => {
                for (index, (key, child)) in members.iter().enumerate() {
                    adopt(&mut self.entries, index, child);
                    self.dynamic |= matches!(key, "$dynamicAnchor" | "$recursiveAnchor");
                }
            }
            _ => {}
        }
        self.entries.push(ValueEntry { value, parent: None, index: 0, start });
        id
    }

    /// Adds a keyword that is `false` to a schema. What the schema says by that keyword has no meaning in its dialect.
    fn add_false(&mut self, schema: ValueId, keyword: &str) {
        self.written.get_or_insert(self.entries.len() as u32);
        let start = self.start(schema);
        let value = self.push(Value::Bool(false), start);
        let Value::Object(members) = &mut self.entries[schema.index()].value else { return };
        let index = members.set(keyword, value);
        let entry = &mut self.entries[value.index()];
        (entry.parent, entry.index) = (Some(schema), index);
    }

    /// Whether a value stands in no text.
    pub(crate) fn is_added(&self, id: ValueId) -> bool {
        !id.is_builtin() && self.written.is_some_and(|written| id.0 >= written)
    }

    /// The values in it.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The root of the schema.
    pub(crate) fn root(&self) -> ValueId {
        self.sources.first().map_or(ValueId(0), |source| source.root)
    }

    /// The supplied documents: URI and root.
    pub(crate) fn supplied(&self) -> impl Iterator<Item = (&str, ValueId)> {
        self.sources.iter().filter_map(|source| Some((source.uri.as_deref()?, source.root)))
    }

    /// Sets the URI of the schema itself.
    pub(crate) fn set_base(&mut self, uri: &str) {
        self.base = Some(uri.into());
    }

    /// The URI of the document with this root: the one that it was supplied under.
    pub(crate) fn base(&self, root: ValueId) -> Option<&str> {
        if root == self.root() { self.base.as_deref() } else { self.source(root).uri.as_deref() }
    }

    /// Whether the meaning of this value, as a schema, may depend on the dynamic scope.
    pub(crate) fn is_dynamic(&self, id: ValueId) -> bool {
        id.is_builtin() || self.dynamic
    }

    fn arena(&self, id: ValueId) -> &Self {
        if id.is_builtin() && !self.builtin { &METASCHEMAS } else { self }
    }

    fn entry(&self, id: ValueId) -> &ValueEntry {
        &self.arena(id).entries[id.index()]
    }

    fn source(&self, id: ValueId) -> &DocumentText {
        let id = self.parent(id).filter(|_| self.is_added(id)).unwrap_or(id);
        let sources = &self.arena(id).sources;
        let after = sources.partition_point(|source| source.root < id);
        &sources[after.min(sources.len() - 1)]
    }

    pub(crate) fn value(&self, id: ValueId) -> &Value {
        &self.entry(id).value
    }

    pub(crate) fn parent(&self, id: ValueId) -> Option<ValueId> {
        self.entry(id).parent
    }

    /// The members, if it is an object.
    pub(crate) fn members(&self, id: ValueId) -> Option<&Members> {
        match self.value(id) {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// A member of an object.
    pub(crate) fn get(&self, id: ValueId, key: &str) -> Option<ValueId> {
        self.members(id)?.get(key)
    }

    /// The text, if it is a string.
    pub(crate) fn string(&self, id: ValueId) -> Option<&str> {
        match self.value(id) {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// All texts of the schema and the documents supplied with it, names of members aside.
    pub(crate) fn strings(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match &entry.value {
            Value::String(text) => Some(&**text),
            _ => None,
        })
    }

    /// The key or index under which a value stands in its parent.
    pub(crate) fn key(&self, id: ValueId) -> Option<&str> {
        let entry = self.entry(id);
        match self.value(entry.parent?) {
            Value::Object(members) => Some(&members.list[entry.index as usize].0),
            _ => None,
        }
    }

    /// The JSON pointer of a value in its document (RFC 6901).
    pub(crate) fn pointer(&self, id: ValueId) -> String {
        let mut tokens = Vec::new();
        let mut at = id;
        while let Some(parent) = self.parent(at) {
            tokens.push(match self.key(at) {
                Some(key) => key.replace('~', "~0").replace('/', "~1"),
                None => self.entry(at).index.to_string(),
            });
            at = parent;
        }
        tokens.iter().rev().fold(String::new(), |pointer, token| pointer + "/" + token)
    }

    /// A value as a reference would name it: `#/a/b`, with the URI of a supplied document.
    pub(crate) fn reference_to(&self, id: ValueId) -> String {
        format!("{}#{}", self.source(id).uri.as_deref().unwrap_or_default(), self.pointer(id))
    }

    /// The value at a JSON pointer below `from`.
    pub(crate) fn at_pointer(&self, from: ValueId, pointer: &str) -> Option<ValueId> {
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

    /// The byte at which a value starts in its text; 0 if it was read from none.
    pub(crate) fn start(&self, at: ValueId) -> u32 {
        self.entry(at).start
    }

    /// Line and column of a value, both from 1, where its text is known.
    pub(crate) fn line_column(&self, at: ValueId) -> Option<(usize, usize)> {
        Some(self.source(at).text.as_ref()?.line_column(self.entry(at).start as usize))
    }

    /// An error of a kind at a value: pointer, line and column where the text is known, and the
    /// URI of a supplied document.
    pub(crate) fn error(&self, kind: ErrorKind, at: ValueId, message: impl Into<String>) -> Error {
        let mut error = Error::new(kind, message).at_pointer(self.pointer(at));
        if let Some((line, column)) = self.line_column(at) {
            error = error.at_line_column(line, column);
        }
        match &self.source(at).uri {
            Some(uri) => error.in_file(&**uri),
            None => error,
        }
    }

    /// Gives an error about a limit the place of a value, if it has none.
    pub(crate) fn with_place(&self, error: Error, at: Option<ValueId>) -> Error {
        let known = error.place().pointer.is_some() || error.kind() != ErrorKind::Limit;
        match at {
            Some(at) if !known => self.error(error.kind(), at, error.message()).wrapping(&error),
            _ => error,
        }
    }
}

pub(crate) fn too_deep() -> Error {
    Error::new(ErrorKind::Limit, format!("JSON is nested more than {MAX_DEPTH} levels deep"))
        .with_help("move inner schemas to `$defs`, and refer to them by `$ref`")
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
    fn lines_are_counted_once() {
        let text: String = (0..5_000).map(|i| if i % 7 == 0 { "é\n" } else { "ü " }).collect();
        let known = SourceText::new(&text);
        for byte in (0..=text.len()).step_by(97).chain([
            0,
            LINE_INDEX_STEP - 1,
            LINE_INDEX_STEP,
            LINE_INDEX_STEP + 1,
        ]) {
            assert_eq!(known.line_column(byte), line_column(text.as_bytes(), byte), "{byte}");
        }
        assert_eq!(SourceText::new("").line_column(0), (1, 1));
    }

    #[test]
    fn errors_say_where() {
        let table = [
            ("", "line 1, column 1: not JSON: expected a value, the text ends"),
            (
                "{\"a\": 1,\n \"a\": 2}",
                "line 2, column 2: the key \"a\" is written twice; write it once",
            ),
            (
                "[1 2]",
                "line 1, column 4: not JSON: expected `,` or `]`, found `2`; a comma stands between \
                 members and between items",
            ),
            (
                "{\"a\": 1,\n}",
                "line 2, column 1: not JSON: expected a key in double quotes, found `}`; no comma \
                 stands after the last one",
            ),
            (
                "{'a': 1}",
                "line 1, column 2: not JSON: expected a key in double quotes, found `\\'`; texts and \
                 keys stand in double quotes",
            ),
            ("[True]", "line 1, column 2: not JSON: expected a value, found `T`; write `true`"),
            (
                "\"\\d\"",
                "line 1, column 3: not JSON: expected one of `\"\\/bfnrtu` after a backslash, found \
                 `d`; write a backslash that is meant as two: `\\\\`",
            ),
            (
                "\"\\ud800\"",
                "line 1, column 2: not JSON text: half of a surrogate pair stands alone",
            ),
            (
                "01",
                "line 1, column 2: not JSON: expected the end of the text, found `1`; leave the \
                 zeros at the front of the number out",
            ),
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
