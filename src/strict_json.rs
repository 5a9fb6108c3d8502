//! JSON text as a [`Value`], with repeated keys refused.
//!
//! `serde_json` keeps the last of two members with the same key and drops the others without a
//! word. What a user wrote is honoured or refused, so the text of requests and of files on the
//! command line goes through this reader. (Schemas that are given as text have a reader of their
//! own, `json_schema/document/json_text.rs`, which also keeps numbers as they are written.)

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Error, ErrorKind, Result};

/// UTF-8's byte order mark, which some editors and clients put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Parses one JSON value, after an optional byte order mark.
///
/// Errors with line and column if the text is not JSON, and besides with the JSON pointer of the
/// member if an object has two members with the same key.
pub fn parse(text: impl AsRef<[u8]>) -> Result<Value> {
    let text = text.as_ref();
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let repeated = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let parsed = ValueSeed { path: &Path::Root, repeated: &repeated }.deserialize(&mut reader);
    parsed.and_then(|value| reader.end().map(|()| value)).map_err(|error| {
        // In serde_json's words, without the place at their end.
        let (line, column) = (error.line(), error.column());
        match repeated.take() {
            Some(pointer) => Error::new(ErrorKind::Request, "the key is written twice")
                .at_line_column(line, column)
                .at_pointer(pointer)
                .with_help("write it once"),
            None => {
                let message = error.to_string();
                let place = format!(" at line {line} column {column}");
                let message = message.strip_suffix(&place).unwrap_or(&message);
                let error = Error::new(ErrorKind::Request, message);
                // serde_json counts lines from 1, and has none for an error without a place.
                if line == 0 { error } else { error.at_line_column(line, column.max(1)) }
            }
        }
    })
}

/// The way from the root to the value that is being read.
enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl Path<'_> {
    /// As a JSON pointer (RFC 6901).
    fn pointer(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Member(parent, key) => {
                format!("{}/{}", parent.pointer(), key.replace('~', "~0").replace('/', "~1"))
            }
            Self::Item(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

/// Reads one value; `repeated` receives the pointer of the first repeated key.
struct ValueSeed<'a> {
    path: &'a Path<'a>,
    repeated: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> std::result::Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Value, E> {
        // JSON has no number that is not finite.
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> std::result::Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = Path::Item(self.path, list.len());
            let seed = ValueSeed { path: &path, repeated: self.repeated };
            match items.next_element_seed(seed)? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> std::result::Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let path = Path::Member(self.path, &key);
            if object.contains_key(&key) {
                self.repeated.borrow_mut().get_or_insert_with(|| path.pointer());
                return Err(A::Error::custom("the key is written twice"));
            }
            let seed = ValueSeed { path: &path, repeated: self.repeated };
            let value = members.next_value_seed(seed)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_serde_json_reads() {
        for text in [
            r#"{"a": [1, -2, 3.5, 1e30, true, false, null, "x\u0041"], "b": {"a": {}}, "": []}"#,
            "12345678901234567890",
            " [ ] ",
        ] {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
        assert_eq!(parse("\u{feff}[1]").unwrap(), serde_json::json!([1]));
    }

    #[test]
    fn errors_say_where() {
        for (text, says) in [
            (r#"{"a": 1, "\u0061": 2}"#, "line 1, column 17: at /a: the key is written twice; "),
            (
                "{\"x\": [0, {\"b/~\": 1,\n \"b/~\": 1}]}",
                "line 2, column 6: at /x/1/b~1~0: the key is written twice; write it once",
            ),
            ("", "line 1, column 1: EOF while parsing a value"),
            ("[1] 2", "line 1, column 5: trailing characters"),
            ("\u{feff}", "line 1, column 1: EOF while parsing a value"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(says), "{text}: {error}");
        }
        assert!(parse("[".repeat(100_000)).unwrap_err().to_string().contains("recursion limit"));
    }
}
