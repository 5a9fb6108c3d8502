//! The `jsonschema` crate as a judge of texts.
//!
//! Where it differs from the specifications it is brought to what they say:
//! - `.` in a pattern is no line terminator, of which ECMA-262 has four (section 12.3; 22.2.2.7,
//!   `CharacterClassEscape` and `.`); the crate leaves out the line feed alone. Patterns are
//!   rewritten before it sees them.
//! - Which texts are patterns (the format `regex`) is no regular language: it is an annotation to
//!   the engine, which `maskwright lint` says, and therefore here.
//! - A label of a host name may have hyphens as its third and fourth characters (RFC 1123, section
//!   2.1); the crate refuses all of them, as IDNA refuses those that are none of its own.

use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use jsonschema::Draft;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A schema that the crate has compiled.
pub struct Validator(jsonschema::Validator);

impl Validator {
    /// `None` where the crate does not take the schema. Without `$schema` it is read by the newest
    /// draft that takes it.
    pub fn new(schema: &Value, formats: bool) -> Option<Self> {
        let schema = &with_ecma_dots(schema, false);
        let build = |options: jsonschema::ValidationOptions| {
            let options = options
                .with_format("hostname", |text: &str| {
                    HOSTNAME.is_valid(&hyphens_apart(text).into())
                })
                .with_format("regex", |_: &str| true)
                .with_format("email", |text: &str| {
                    let domain = text.rfind('@').map_or(0, |at| at + 1);
                    let text = format!("{}{}", &text[..domain], hyphens_apart(&text[domain..]));
                    EMAIL.is_valid(&text.into())
                });
            options.should_validate_formats(formats).build(schema).ok()
        };
        let drafts = match schema.get("$schema") {
            Some(_) => &[][..],
            None => &[Draft::Draft202012, Draft::Draft7, Draft::Draft4],
        };
        let found = match drafts {
            [] => build(jsonschema::options()),
            drafts => {
                drafts.iter().find_map(|&draft| build(jsonschema::options().with_draft(draft)))
            }
        };
        found.map(Self)
    }

    /// Checks that the text is JSON without repeated keys, and valid; the error says why it is not.
    pub fn judge(&self, text: &str) -> Result<(), String> {
        parse::<OneOfEachKey>(text)?;
        let value: Value = parse(text)?;
        self.0.validate(&value).map_err(|e| {
            let message: String = e.to_string().chars().take(300).collect();
            format!("{message} (at {:?}, {})", e.instance_path().to_string(), e.schema_path())
        })
    }
}

/// The text as JSON, nested as deep as a few thousand bytes allow.
fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, String> {
    let mut from = serde_json::Deserializer::from_str(text);
    from.disable_recursion_limit();
    let value = T::deserialize(&mut from).map_err(|e| e.to_string())?;
    from.end().map_err(|e| e.to_string())?;
    Ok(value)
}

static HOSTNAME: LazyLock<jsonschema::Validator> = LazyLock::new(|| of_format("hostname"));
static EMAIL: LazyLock<jsonschema::Validator> = LazyLock::new(|| of_format("email"));

fn of_format(name: &str) -> jsonschema::Validator {
    let schema = serde_json::json!({ "format": name });
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&schema).unwrap_or_else(|e| panic!("{e}"))
}

/// A host name with a letter instead of the first of two hyphens at a label's third and fourth
/// place; those that announce Punycode stay.
fn hyphens_apart(name: &str) -> String {
    let label = |label: &str| match label.as_bytes() {
        [b'x' | b'X', b'n' | b'N', ..] => label.to_owned(),
        [_, _, b'-', b'-', ..] if label.is_char_boundary(2) => {
            format!("{}x{}", &label[..2], &label[3..])
        }
        _ => label.to_owned(),
    };
    name.split('.').map(label).collect::<Vec<_>>().join(".")
}

/// The schema, or the schemas by their names, with the dots of its patterns written out.
fn with_ecma_dots(schema: &Value, by_name: bool) -> Value {
    let members = match schema {
        Value::Array(items) => {
            return items.iter().map(|item| with_ecma_dots(item, false)).collect();
        }
        Value::Object(members) => members,
        scalar => return scalar.clone(),
    };
    let named = ["properties", "$defs", "definitions", "dependentSchemas", "dependencies"];
    let member = |(key, value): (&String, &Value)| match (key.as_str(), value) {
        _ if by_name => (key.clone(), with_ecma_dots(value, false)),
        ("pattern", Value::String(pattern)) => (key.clone(), ecma_dots(pattern).into()),
        ("patternProperties", Value::Object(patterns)) => {
            let patterns = patterns.iter();
            let patterns =
                patterns.map(|(key, value)| (ecma_dots(key), with_ecma_dots(value, false)));
            (key.clone(), Value::Object(patterns.collect()))
        }
        ("const" | "enum" | "default" | "examples", value) => (key.clone(), value.clone()),
        (name, value) => (key.clone(), with_ecma_dots(value, named.contains(&name))),
    };
    Value::Object(members.iter().map(member).collect())
}

/// A pattern whose dots are no line terminators.
fn ecma_dots(pattern: &str) -> String {
    let (mut out, mut class, mut escaped) = (String::new(), false, false);
    for c in pattern.chars() {
        match c {
            '.' if !class && !escaped => out += r"[^\n\r\u2028\u2029]",
            c => out.push(c),
        }
        class = match c {
            '[' if !escaped => true,
            ']' if !escaped => false,
            _ => class,
        };
        escaped = c == '\\' && !escaped;
    }
    out
}

/// A value no object of which has a key twice.
struct OneOfEachKey;

impl<'de> Deserialize<'de> for OneOfEachKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keys)
    }
}

struct Keys;

impl<'de> Visitor<'de> for Keys {
    type Value = OneOfEachKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OneOfEachKey, A::Error> {
        let mut seen: HashSet<String> = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            // How serde_json hands over a number with all its digits.
            if key == "$serde_json::private::Number" {
                map.next_value::<String>()?;
                continue;
            }
            map.next_value::<OneOfEachKey>()?;
            if !seen.insert(key.clone()) {
                return Err(serde::de::Error::custom(format!("the key {key:?} is repeated")));
            }
        }
        Ok(OneOfEachKey)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOfEachKey, A::Error> {
        while seq.next_element::<OneOfEachKey>()?.is_some() {}
        Ok(OneOfEachKey)
    }

    fn visit_unit<E>(self) -> Result<OneOfEachKey, E> {
        Ok(OneOfEachKey)
    }

    fn visit_bool<E>(self, _: bool) -> Result<OneOfEachKey, E> {
        Ok(OneOfEachKey)
    }

    fn visit_str<E>(self, _: &str) -> Result<OneOfEachKey, E> {
        Ok(OneOfEachKey)
    }

    fn visit_u64<E>(self, _: u64) -> Result<OneOfEachKey, E> {
        Ok(OneOfEachKey)
    }

    fn visit_i64<E>(self, _: i64) -> Result<OneOfEachKey, E> {
        Ok(OneOfEachKey)
    }

    fn visit_f64<E>(self, _: f64) -> Result<OneOfEachKey, E> {
        Ok(OneOfEachKey)
    }
}
