//! JSON text as a [`Value`]. Repeated keys, and numbers that a `Value` would change, are refused.
//!
//! `serde_json` keeps the last of two members with the same key and drops the others without a word, and it
//! rounds numbers of more than 64 bits or 17 digits. What a user wrote is honoured or refused, so the text of
//! requests and of files on the command line goes through this reader. (Schemas that are given as text have a
//! reader of their own, `json_schema/document/json_text.rs`, which keeps numbers as they are written.)

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Error, ErrorKind, Result};

/// UTF-8's byte order mark, which some editors and clients put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Parses one JSON value, after an optional byte order mark.
///
/// Errors with line and column if the text is not JSON, or has a number that a [`Value`] rounds; and besides with
/// the JSON pointer of the member if an object has two members with the same key.
pub fn parse(text: impl AsRef<[u8]>) -> Result<Value> {
    parse_with(text.as_ref(), None)
}

/// [`parse`] of a request, whose own fields hold settings in double precision: fractions with more digits are as
/// near to them there as the sender meant.
#[cfg(any(feature = "server", test))]
pub(crate) fn parse_request(text: impl AsRef<[u8]>) -> Result<Value> {
    parse_with(text.as_ref(), Some(1))
}

/// [`parse`]; fractions are not checked up to this depth.
fn parse_with(text: &[u8], setting_depth: Option<usize>) -> Result<Value> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let repeated = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let parsed = ValueSeed { path: &Path::Root, repeated: &repeated }.deserialize(&mut reader);
    let parsed = parsed.and_then(|value| reader.end().map(|()| value)).map_err(|error| {
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
                let error = match message {
                    "recursion limit exceeded" => {
                        Error::new(ErrorKind::Request, "it is nested more than 127 levels deep")
                            .with_help("parts of a schema can stand in `$defs`, for `$ref` to name")
                    }
                    message => Error::new(ErrorKind::Request, message),
                };
                // serde_json counts lines from 1, and has none for an error without a place.
                if line == 0 { error } else { error.at_line_column(line, column.max(1)) }
            }
        }
    })?;
    check_numbers(text, setting_depth)?;
    Ok(parsed)
}

/// Digits that a double-precision number always has room for (IEEE 754).
const SURE_DIGITS: usize = 15;

/// Digits that tell each double from all others.
const DOUBLE_DIGITS: usize = 17;

/// Errors at the first number of a JSON text that a [`Value`] would round, but for fractions up to a depth.
fn check_numbers(text: &[u8], setting_depth: Option<usize>) -> Result<()> {
    let is_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let (mut at, mut depth) = (0, 0);
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'"' => string_len(&text[at..]),
            b'[' | b'{' => {
                depth += 1;
                1
            }
            b']' | b'}' => {
                depth -= 1;
                1
            }
            b'0'..=b'9' | b'-' => {
                let len = text[at..].iter().take_while(|byte| is_number(byte)).count();
                let number = String::from_utf8_lossy(&text[at..at + len]);
                let is_setting = setting_depth.is_some_and(|most| depth <= most)
                    && number.contains(['.', 'e', 'E']);
                if let Some(rounded) = rounded(&number).filter(|_| !is_setting) {
                    let line = text[..at].split(|&byte| byte == b'\n');
                    let (lines, column) = line.fold((0, 0), |(n, _), line| (n + 1, line.len()));
                    let message = format!("the number {number} would be read as {rounded}");
                    return Err(Error::new(ErrorKind::Request, message)
                        .at_line_column(lines, column + 1)
                        .with_help("write one of at most 64 bits, or with at most 17 digits"));
                }
                len
            }
            _ => 1,
        };
    }
    Ok(())
}

/// The length of the string at the beginning of a text, with its quotes.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    at
}

/// The number that a [`Value`] would hold instead of this one.
fn rounded(number: &str) -> Option<String> {
    if number.len() <= SURE_DIGITS && !number.contains(['e', 'E']) {
        return None;
    }
    let held = serde_json::from_str::<Number>(number).ok()?.to_string();
    let (kept, written) = (decimal(&held)?, decimal(number));
    // Of the doubles there is one for so many digits, which may be written with others.
    let is_double = number.contains(['.', 'e', 'E'])
        && !kept.1.is_empty()
        && written.as_ref().is_some_and(|(_, digits, _)| digits.len() <= DOUBLE_DIGITS);
    (Some(kept) != written && !is_double).then_some(held)
}

/// The digits of a number without zeros at either end, and the power of ten of the last of them, so that numbers
/// of one value are equal.
fn decimal(number: &str) -> Option<(bool, String, i64)> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole.trim_start_matches('-'), fraction].concat();
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some((false, String::new(), 0));
    }
    let zeros = (digits.len() - digits.trim_end_matches('0').len()) as i64;
    let exponent = exponent.parse::<i64>().ok()?.checked_add(zeros - fraction.len() as i64)?;
    Some((whole.starts_with('-'), significant.to_owned(), exponent))
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
    fn numbers_are_read_as_they_are_written_or_refused() {
        for number in [
            "0.30000000000000004",
            "18446744073709551615",
            "-9223372036854775808",
            "1e30",
            "100.000000000000000000000",
            "1E+2",
            "0e999999999999999999",
            "-0.0",
            "3.4028234663852886e38",
            "5e-324",
            "1000000000000000000000000",
        ] {
            assert!(parse(number).is_ok(), "{number}");
        }
        // As Python and Rust print doubles: with the digits that tell one from others.
        let mut bits = 0x3ff0_0000_dead_beef_u64;
        for _ in 0..10_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = f64::from_bits(bits);
            if number.is_finite() && (1e-30..1e30).contains(&number.abs()) {
                let parsed = parse(number.to_string()).unwrap();
                assert_eq!(parsed.as_f64(), Some(number));
            }
        }
        for (number, held) in [
            ("18446744073709551616", "1.8446744073709552e+19"),
            ("0.1234567890123456789", "0.12345678901234568"),
            ("123456789012345678901e2", "1.2345678901234568e+22"),
            ("1e-400", "0.0"),
            ("1e-99999999999999999999", "0.0"),
        ] {
            let text = format!("{{\"a\": \"\\\"1e-400\",\n \"b\": [{number}]}}");
            let error = parse(text).unwrap_err().to_string();
            let says = format!("line 2, column 8: the number {number} would be read as {held}");
            assert!(error.starts_with(&says), "{error}");
        }
        let setting = |number: &str| parse_request(format!("{{\"a\": {number}}}"));
        assert_eq!(setting("0.69999999999999995559").unwrap()["a"], 0.7);
        assert!(setting("18446744073709551616").is_err());
        assert!(setting("[0.69999999999999995559]").is_err());
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
        let nested = |levels: usize| parse("[".repeat(levels) + &"]".repeat(levels));
        assert!(nested(127).is_ok());
        assert!(nested(128).unwrap_err().to_string().contains("more than 127 levels"));
        assert!(
            parse("[".repeat(100_000)).unwrap_err().to_string().contains("more than 127 levels")
        );
    }
}
