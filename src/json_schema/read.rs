//! Arguments in a style, read back as JSON.
//!
//! A style does not say of each value what it is: `<parameter=n>5</parameter>` is a number or the
//! string `5`. The schema decides, as it does where servers read such messages: of the readings
//! that the schema accepts at this place, JSON comes before a string. A text that the schema
//! accepts in no reading is read nonetheless, as a string where it may be one.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::document::canonical_text::canonical;
use super::number::Decimal;
use super::options::Options;
use super::schema::Schema;
use super::set::{Set, Sets};
use super::style::{GAP, Notation, Strip, ValueSign, Written};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};

/// Levels of nesting that are read.
const MAX_DEPTH: usize = 128;

impl Schema {
    /// The JSON of arguments that are written in the style of the options. Numbers and nested JSON
    /// stay as they are written.
    ///
    /// Errors if the text is not in the style, or names an argument twice.
    ///
    /// ```
    /// use maskwright::json_schema::{Options, Schema, Style};
    /// let schema = Schema::from_text(r#"{"properties": {"id": {"type": "string"}}}"#)?;
    /// let mut options = Options::default();
    /// options.style = Style::named("qwen_xml")?;
    /// let text = "<parameter=id>\n5\n</parameter>\n<parameter=days>\n3\n</parameter>";
    /// assert_eq!(schema.read_arguments(text, &options)?, r#"{"id":"5","days":3}"#);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn read_arguments(&self, text: &str, options: &Options) -> Result<String> {
        let Some(style) = options.style.notation() else {
            let value: &RawValue = serde_json::from_str(text.trim())
                .map_err(|error| Error::new(ErrorKind::Request, format!("no JSON: {error}")))?;
            return Ok(value.get().to_owned());
        };
        let schema = self.clone().with_resources(&options.resources)?;
        let mut sets = Sets::new(&schema.document, options);
        let root = sets.schema(schema.document.root())?;
        let mut reader = StyleReader { style, sets };
        let (json, end) = reader.object(text, root, "", 0)?;
        match text[end..].trim_matches(is_space) {
            "" => Ok(json),
            _ => Err(reader.error(text, end, "something follows the arguments")),
        }
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// The JSON of a value and the offset behind it, with what ends it.
type Read = (String, usize);

struct StyleReader<'d> {
    style: &'d Notation,
    sets: Sets<'d>,
}

impl StyleReader<'_> {
    fn error(&self, text: &str, at: usize, what: &str) -> Error {
        let shown: String = text[at..].chars().take(20).collect();
        let message = format!("arguments in the style `{}`: {what}: {shown:?}", self.style.name);
        Error::new(ErrorKind::Request, message).at_byte(at)
    }

    /// An object from an offset on, with its signs and what ends it.
    fn object_at(
        &mut self,
        text: &str,
        at: usize,
        set: Set,
        end: &str,
        depth: usize,
    ) -> Result<Read> {
        deadline::check()?;
        let style = self.style;
        let signs = &style.object;
        let close = [&signs.end, end].concat();
        let mut at = self.expect(text, at, &signs.begin)?;
        let mut members: Vec<(String, String)> = Vec::new();
        loop {
            let closed = after_sign(text, at, &close);
            if let Some(closed) = closed.filter(|_| !close.is_empty()) {
                at = closed;
                break;
            }
            let between = if members.is_empty() { "" } else { &signs.between };
            let next = after_sign(text, at, between);
            let next = next.and_then(|next| after_sign(text, next, &spaced(&signs.member)));
            let Some(next) = next else {
                if close.is_empty() {
                    break;
                }
                return Err(self.error(text, at, "neither an argument nor the end"));
            };
            let named = text[next..].find(&*signs.named);
            let Some(named) = named else {
                return Err(self.error(text, next, "a name without its end"));
            };
            let key = &text[next..next + named];
            let from = next + named + signs.named.len();
            let value_set = self.member_set(set, key)?;
            let (value, behind) =
                self.value(text, from, value_set, &style.member_end(key), depth + 1)?;
            let key = serde_json::Value::from(key).to_string();
            if members.iter().any(|(known, _)| *known == key) {
                return Err(self.error(text, next, "an argument that is there already"));
            }
            members.push((key, value));
            at = behind;
        }
        let members: Vec<String> =
            members.iter().map(|(key, value)| format!("{key}:{value}")).collect();
        Ok((format!("{{{}}}", members.join(",")), at))
    }

    fn object(&mut self, text: &str, set: Set, end: &str, depth: usize) -> Result<Read> {
        let at = text.len() - text.trim_start_matches(is_space).len();
        self.object_at(text, at, set, end, depth)
    }

    /// An array in the style from an offset on, with its signs and what ends it.
    fn array(&mut self, text: &str, at: usize, set: Set, end: &str, depth: usize) -> Result<Read> {
        deadline::check()?;
        let style = self.style;
        let signs = &style.array;
        let close = [&signs.end, end].concat();
        let mut at = self.expect(text, at, &signs.begin)?;
        let mut items: Vec<String> = Vec::new();
        loop {
            if let Some(closed) = after_sign(text, at, &close) {
                return Ok((format!("[{}]", items.join(",")), closed));
            }
            let between = if items.is_empty() { "" } else { &signs.between };
            let next = self.expect(text, at, between)?;
            let next = self.expect(text, next, &spaced(&signs.item))?;
            let item_set = self.item_set(set, items.len())?;
            let (item, behind) = self.value(text, next, item_set, &style.item_end, depth + 1)?;
            items.push(item);
            at = behind;
        }
    }

    /// The offset behind a sign.
    fn expect(&self, text: &str, at: usize, sign: &str) -> Result<usize> {
        let missing = || self.error(text, at, &format!("{sign:?} is missing"));
        after_sign(text, at, sign).ok_or_else(missing)
    }

    /// A value from an offset on, with its signs and what ends it.
    fn value(&mut self, text: &str, at: usize, set: Set, end: &str, depth: usize) -> Result<Read> {
        if depth > MAX_DEPTH {
            return Err(self.error(text, at, "nested too deep"));
        }
        let style = self.style;
        let signs = &style.values;
        let mut string = None;
        let mut found: Vec<Read> = Vec::new();
        for (starts, sign) in [
            (&b"{"[..], &signs.object),
            (b"[", &signs.array),
            (b"n", &signs.null),
            (b"tf", &signs.boolean),
            (b"-0123456789", &signs.number),
            (b"\"", &signs.string),
        ] {
            let Some(from) = after_sign(text, at, &sign.open) else { continue };
            match sign.written {
                Written::Json => found.extend(json(text, from, starts, sign, end)),
                Written::Text => string = string_at(text, from, sign, end),
                Written::Style => {
                    let end = [&sign.close, end].concat();
                    let read = match starts {
                        b"{" => self.object_at(text, from, set, &end, depth),
                        _ => self.array(text, from, set, &end, depth),
                    };
                    found.extend(read.ok());
                }
            }
        }
        found.extend(string.clone());
        for read in &found {
            if self.holds(set, &read.0)? {
                return Ok(read.clone());
            }
        }
        // What the schema rejects is a string, if it may be one.
        let any = string.or_else(|| found.into_iter().next());
        any.ok_or_else(|| self.error(text, at, "a value that is none"))
    }

    /// Whether a set holds a value.
    fn holds(&mut self, set: Set, json: &str) -> Result<bool> {
        if json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            let shape = self.sets.shape(set)?;
            let Some(number) = Decimal::parse(json) else { return Ok(false) };
            let languages = &mut self.sets.languages;
            return self.sets.numbers.contains(languages, shape.numbers, &number, json);
        }
        let Some(value) = canonical(json.as_bytes()) else { return Ok(false) };
        let value = self.sets.text(&value);
        let both = self.sets.and([set, value]);
        Ok(!self.sets.is_empty(both)?)
    }

    /// The values that a member with this key may have in the objects of a set.
    fn member_set(&mut self, set: Set, key: &str) -> Result<Set> {
        let shape = self.sets.shape(set)?;
        let spelled = self.sets.strings.spell(key);
        let mut all = Vec::new();
        for object in &shape.objects {
            if let Some(named) = object.named.iter().find(|named| *named.key == *key) {
                all.push(named.set);
                continue;
            }
            for other in self.sets.other_keys(object)? {
                if self.sets.languages.matches(other.keys, &spelled)? {
                    all.push(other.set);
                }
            }
        }
        if !shape.listed.is_empty() {
            all.push(Set::ANY);
        }
        Ok(self.sets.or(all))
    }

    /// The values that an item at this index may have in the arrays of a set.
    fn item_set(&mut self, set: Set, index: usize) -> Result<Set> {
        let shape = self.sets.shape(set)?;
        let mut all: Vec<Set> = shape.arrays.iter().map(|array| array.item(index)).collect();
        if !shape.listed.is_empty() {
            all.push(Set::ANY);
        }
        Ok(self.sets.or(all))
    }
}

/// A sign with a gap before it.
fn spaced(sign: &str) -> String {
    format!("{GAP}{sign}")
}

/// The offset behind a sign; any whitespace may stand in its gaps.
fn after_sign(text: &str, at: usize, sign: &str) -> Option<usize> {
    let mut at = at;
    for (part, literal) in sign.split(GAP).enumerate() {
        let rest = &text[at..];
        let rest = if part > 0 { rest.trim_start_matches(is_space) } else { rest };
        at = text.len() - rest.strip_prefix(literal)?.len();
    }
    Some(at)
}

/// A JSON value that begins with one of these bytes, with its last sign and what ends it.
fn json(text: &str, at: usize, starts: &[u8], sign: &ValueSign, end: &str) -> Option<Read> {
    let rest = text[at..].trim_start_matches(is_space);
    if !starts.contains(rest.as_bytes().first()?) {
        return None;
    }
    let from = text.len() - rest.len();
    let value = <&RawValue>::deserialize(&mut serde_json::Deserializer::from_str(rest)).ok()?;
    let behind = from + value.get().len();
    let close = [&sign.close, end].concat();
    Some((value.get().to_owned(), after_sign(text, behind, &close)?))
}

/// A string as it is, up to its last sign and what ends it.
fn string_at(text: &str, at: usize, sign: &ValueSign, end: &str) -> Option<Read> {
    let close = [&sign.close, end].concat();
    let length = text[at..].find(&*close)?;
    let value = &text[at..at + length];
    let value = match sign.strip {
        Strip::Nothing => value,
        Strip::Line => {
            let value = value.strip_prefix('\n').unwrap_or(value);
            value.strip_suffix('\n').unwrap_or(value)
        }
        Strip::Blank => value.trim_matches(is_space),
    };
    Some((serde_json::Value::from(value).to_string(), at + length + close.len()))
}
