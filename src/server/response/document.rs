//! Typed events about a JSON document while it is written, for clients that show it as it grows.
//!
//! ```text
//! {"name": "Ad    ──►  {"path": "", "type": "object", "delta": "", "complete": false}
//!                      {"path": "/name", "type": "string", "delta": "Ad", "complete": false}
//! a", "age": 36   ──►  {"path": "/name", "type": "string", "delta": "a", "complete": true}
//!                      {"path": "/age", "type": "number", "delta": "36", "complete": false}
//! }               ──►  {"path": "/age", "type": "number", "delta": "", "complete": true}
//!                      {"path": "", "type": "object", "delta": "", "complete": true}
//! ```
//!
//! The reader holds no more than the open containers and the scalar that is being read. It does not
//! trust the text: from where it is no JSON, all of it is reported as the type `text`.

use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::json_string::{StringReader, StringState};
use crate::tools::MessagePart;

/// Longest path in bytes; what lies deeper is reported as text. Each event repeats its path, so that this
/// bounds the size of a stream by the length of its text.
const MAX_PATH_BYTES: usize = 4096;

/// Readers of the documents of one choice: its text, and the arguments of the call that is being
/// written.
#[derive(Debug, Default)]
pub(super) struct ChoiceDocuments {
    text: DocumentReader,
    /// The index of the last call, and the reader of its arguments unless they are a plain text.
    call: Option<(usize, DocumentReader)>,
    calls: usize,
}

impl ChoiceDocuments {
    /// The events of a part of the message; `is_custom` says that it belongs to a tool which takes a
    /// text instead of arguments.
    pub(super) fn read(&mut self, part: &MessagePart, is_custom: bool) -> Vec<Value> {
        match part {
            MessagePart::Text(text) => self.text.read(text),
            MessagePart::Reasoning(_) => Vec::new(),
            MessagePart::Call { .. } => {
                let events = self.end_call();
                self.call = (!is_custom).then(|| (self.calls, DocumentReader::default()));
                self.calls += 1;
                events
            }
            MessagePart::Arguments(text) => match &mut self.call {
                Some((index, reader)) => of_call(*index, reader.read(text)),
                None => Vec::new(),
            },
        }
    }

    /// The events of the end.
    pub(super) fn finish(&mut self) -> Vec<Value> {
        let mut events = self.text.finish();
        events.extend(self.end_call());
        events
    }

    fn end_call(&mut self) -> Vec<Value> {
        match self.call.take() {
            Some((index, mut reader)) => of_call(index, reader.finish()),
            None => Vec::new(),
        }
    }
}

/// The events with the index of the call that they are about.
fn of_call(index: usize, mut events: Vec<Value>) -> Vec<Value> {
    events.iter_mut().for_each(|event| event["tool_call"] = json!(index));
    events
}

/// Reader of one document.
#[derive(Debug, Default)]
struct DocumentReader {
    state: State,
    open: Vec<Container>,
    /// The path of the value that is being read, as a JSON pointer.
    path: String,
    /// The part of the scalar that was not reported yet.
    delta: String,
    events: Vec<Value>,
}

/// A container that has not ended.
#[derive(Debug)]
struct Container {
    /// The length of its own path.
    path: usize,
    /// The index of its current item; `None` for objects.
    index: Option<usize>,
}

/// The part of a document that comes next.
#[derive(Debug, Default)]
enum State {
    #[default]
    Value,
    /// An item, or the end of an array without items.
    ItemOrEnd,
    Key,
    /// A key, or the end of an object without members.
    KeyOrEnd,
    InKey(StringReader, String),
    Colon,
    InString(StringReader),
    /// The number as far as it is written.
    InNumber(String),
    /// The rest of `true`, `false` or `null`, which is reported when it is whole.
    InLiteral(&'static str, usize),
    AfterValue,
    /// The text is no JSON.
    Text,
}

impl DocumentReader {
    /// The events of more of the text.
    fn read(&mut self, mut text: &str) -> Vec<Value> {
        while !text.is_empty() {
            let before = self.delta.len();
            match self.step(text) {
                Some(rest) => text = rest,
                None => {
                    // What it has read of the piece is told as text, with the rest.
                    self.delta.truncate(before);
                    self.tell_begun();
                    self.state = State::Text;
                    self.path.truncate(self.open.last().map_or(0, |container| container.path));
                    self.delta.push_str(text);
                    break;
                }
            }
        }
        self.tell_begun();
        std::mem::take(&mut self.events)
    }

    /// Tells the part of a value that goes on.
    fn tell_begun(&mut self) {
        let kind = match self.state {
            State::InString(_) => "string",
            State::InNumber(_) => "number",
            State::Text => "text",
            _ => return,
        };
        if !self.delta.is_empty() {
            self.tell(kind, false);
        }
    }

    /// The events of the end of the text.
    fn finish(&mut self) -> Vec<Value> {
        match &self.state {
            State::InNumber(number) if is_number(number) => self.tell("number", true),
            State::Text => self.tell("text", true),
            _ => {}
        }
        std::mem::take(&mut self.events)
    }

    /// Reads a piece of a text that is not empty; returns what is left of it, or `None` if it is no
    /// JSON from its beginning.
    fn step<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        match &mut self.state {
            State::Text => None,
            State::InString(reader) => match reader.read(text, &mut self.delta) {
                StringState::Open => Some(""),
                StringState::Closed(length) => {
                    self.tell("string", true);
                    self.state = State::AfterValue;
                    Some(&text[length..])
                }
                StringState::Invalid => None,
            },
            State::InKey(reader, key) => match reader.read(text, key) {
                StringState::Open if key.len() > MAX_PATH_BYTES => None,
                StringState::Open => Some(""),
                StringState::Closed(length) => {
                    self.path.push('/');
                    self.path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    self.state = State::Colon;
                    (self.path.len() <= MAX_PATH_BYTES).then_some(&text[length..])
                }
                StringState::Invalid => None,
            },
            State::InNumber(number) => {
                let end = text.find(|c| !is_of_number(c)).unwrap_or(text.len());
                number.push_str(&text[..end]);
                self.delta.push_str(&text[..end]);
                if end < text.len() {
                    if !is_number(number) {
                        return None;
                    }
                    self.tell("number", true);
                    self.state = State::AfterValue;
                }
                Some(&text[end..])
            }
            State::InLiteral(literal, read) => {
                if literal.as_bytes().get(*read) != text.as_bytes().first() {
                    return None;
                }
                *read += 1;
                if *read == literal.len() {
                    let kind = if *literal == "null" { "null" } else { "boolean" };
                    self.delta.push_str(literal);
                    self.tell(kind, true);
                    self.state = State::AfterValue;
                }
                Some(&text[1..])
            }
            _ => self.structure(text),
        }
    }

    /// Reads white space, a structural character or the first character of a value.
    fn structure<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let first = text.chars().next()?;
        let rest = &text[first.len_utf8()..];
        if matches!(first, ' ' | '\t' | '\n' | '\r') {
            return Some(rest);
        }
        match (&self.state, first) {
            (State::Key | State::KeyOrEnd, '"') => {
                self.state = State::InKey(StringReader::default(), String::new());
                Some(rest)
            }
            (State::Colon, ':') => {
                self.state = State::Value;
                Some(rest)
            }
            (State::KeyOrEnd, '}') | (State::ItemOrEnd, ']') => self.close().then_some(rest),
            (State::AfterValue, '}' | ']') => {
                let is_array = self.open.last()?.index.is_some();
                (is_array == (first == ']') && self.close()).then_some(rest)
            }
            (State::AfterValue, ',') => {
                let container = self.open.last_mut()?;
                self.path.truncate(container.path);
                match &mut container.index {
                    None => self.state = State::Key,
                    Some(index) => {
                        *index += 1;
                        self.path.push_str(&format!("/{index}"));
                        self.state = State::Value;
                    }
                }
                Some(rest)
            }
            (State::Value | State::ItemOrEnd, _) => self.begin(first, text),
            _ => None,
        }
    }

    /// Begins a value with its first character; returns what is left of the text.
    fn begin<'t>(&mut self, first: char, text: &'t str) -> Option<&'t str> {
        if matches!(self.state, State::ItemOrEnd) {
            self.path.push_str("/0");
        }
        if self.path.len() > MAX_PATH_BYTES {
            return None;
        }
        match first {
            '{' | '[' => {
                let is_array = first == '[';
                self.tell(if is_array { "array" } else { "object" }, false);
                let container = Container { path: self.path.len(), index: is_array.then_some(0) };
                self.open.push(container);
                self.state = if is_array { State::ItemOrEnd } else { State::KeyOrEnd };
            }
            '"' => self.state = State::InString(StringReader::default()),
            't' => self.state = State::InLiteral("true", 1),
            'f' => self.state = State::InLiteral("false", 1),
            'n' => self.state = State::InLiteral("null", 1),
            '-' | '0'..='9' => {
                self.state = State::InNumber(String::new());
                return Some(text);
            }
            _ => return None,
        }
        Some(&text[1..])
    }

    /// Ends the innermost container; returns whether there is one.
    fn close(&mut self) -> bool {
        let Some(Container { path, index }) = self.open.pop() else { return false };
        self.path.truncate(path);
        self.tell(if index.is_some() { "array" } else { "object" }, true);
        self.state = State::AfterValue;
        true
    }

    /// Reports the value at the path, with the part of it that was not reported yet.
    fn tell(&mut self, kind: &str, complete: bool) {
        let delta = std::mem::take(&mut self.delta);
        self.events.push(json!({
            "path": self.path, "type": kind, "delta": delta, "complete": complete,
        }));
    }
}

/// Whether a character may be part of a number.
fn is_of_number(c: char) -> bool {
    matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E')
}

/// Whether a text is a whole number of JSON, of any size.
fn is_number(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a text that is read in pieces of so many characters.
    fn events(text: &str, size: usize) -> Vec<Value> {
        let mut reader = DocumentReader::default();
        let chars: Vec<char> = text.chars().collect();
        let mut events: Vec<Value> = chars
            .chunks(size)
            .flat_map(|piece| reader.read(&piece.iter().collect::<String>()))
            .collect();
        events.extend(reader.finish());
        events
    }

    /// Path, type and text of each value that is reported complete, in this order.
    fn values(events: &[Value]) -> Vec<(String, String, String)> {
        let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let mut open: Vec<(String, String, String)> = Vec::new();
        let mut complete = Vec::new();
        for event in events {
            let (path, kind) = (text(event, "path"), text(event, "type"));
            let at = open.iter().position(|(p, k, _)| (p, k) == (&path, &kind));
            let at = at.unwrap_or_else(|| {
                open.push((path, kind, String::new()));
                open.len() - 1
            });
            open[at].2 += &text(event, "delta");
            if event["complete"] == true {
                complete.push(open.remove(at));
            }
        }
        complete
    }

    #[test]
    fn text_that_is_no_json_is_told_once() {
        for text in ["01 abc", "-x", "\"a\tb", "nul!"] {
            for size in 1..8 {
                let told = events(text, size);
                let deltas = told.iter().filter_map(|event| event["delta"].as_str());
                // A literal is told when it is whole, so that its first letters may be missing.
                let all: String = deltas.collect();
                assert!(text.ends_with(&all) && all.len() + 4 > text.len(), "{text} {size}: {all}");
            }
        }
    }

    #[test]
    fn values_are_told_by_path_however_the_text_is_cut() {
        let text = r#" {"a/b": [1, -2.5e3, {"~": "x\u00e9\n"}, [], {}], "": true, "n" : null,
            "big": 1e999}"#;
        let expected = [
            ("/a~1b/0", "number", "1"),
            ("/a~1b/1", "number", "-2.5e3"),
            ("/a~1b/2/~0", "string", "xé\n"),
            ("/a~1b/2", "object", ""),
            ("/a~1b/3", "array", ""),
            ("/a~1b/4", "object", ""),
            ("/a~1b", "array", ""),
            ("/", "boolean", "true"),
            ("/n", "null", "null"),
            ("/big", "number", "1e999"),
            ("", "object", ""),
        ];
        for size in 1..80 {
            let values = values(&events(text, size));
            let values: Vec<_> =
                values.iter().map(|(p, k, t)| (p.as_str(), k.as_str(), t.as_str())).collect();
            assert_eq!(values, expected, "{size}");
        }
    }

    #[test]
    fn values_are_complete_at_once() {
        let mut reader = DocumentReader::default();
        let event = |path: &str, kind: &str, delta: &str, complete: bool| json!({ "path": path, "type": kind, "delta": delta, "complete": complete });
        assert_eq!(
            reader.read(r#"{"a": "x"#),
            [event("", "object", "", false), event("/a", "string", "x", false)]
        );
        assert_eq!(reader.read("\""), [event("/a", "string", "", true)]);
        assert_eq!(reader.read(r#", "b": fals"#), [] as [Value; 0]);
        assert_eq!(reader.read("e"), [event("/b", "boolean", "false", true)]);
        assert_eq!(reader.read("}"), [event("", "object", "", true)]);
        let mut number = DocumentReader::default();
        assert_eq!(number.read("12"), [event("", "number", "12", false)]);
        assert_eq!(number.finish(), [event("", "number", "", true)]);
    }

    #[test]
    fn the_rest_of_what_is_no_json_is_text() {
        for (text, path, rest) in [
            ("Hello", "", "Hello"),
            ("{\"a\": 1} and", "", "and"),
            ("{\"a\": [1, }", "/a", "}"),
            ("{\"a\": 01}", "", "}"),
            ("]", "", "]"),
            ("[1}", "", "}"),
            ("trust", "", "st"),
        ] {
            let last = values(&events(text, 1)).pop();
            assert_eq!(last, Some((path.to_owned(), "text".to_owned(), rest.to_owned())), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let events = events(&"[".repeat(MAX_PATH_BYTES), 7);
        let longest = events.iter().filter_map(|event| event["path"].as_str()).map(str::len).max();
        assert!(longest <= Some(MAX_PATH_BYTES), "{longest:?}");
        assert_eq!(events.last().map(|event| &event["type"]), Some(&json!("text")));
    }
}
