//! The schema of an answer, as an application would write it: what may be null, which format a string has, and what stands
//! for a fact that the text lacks and the schema requires.

use rand::RngExt;
use serde_json::{Map, Value, json};

use super::words::{Words, one_in};

/// The treatment in lessons of values that are absent from the text, and of those that may be.
#[derive(Clone, Copy, Debug)]
pub struct Requirements {
    /// The share of absent facts that are required, in percent: they have a stand-in, the others are null.
    pub required_percent: u32,
    /// Whether facts that the text tells may be null, too, in some schemas.
    pub says_nullable: bool,
}

impl Requirements {
    /// Every absent fact is null, and nothing else may be.
    pub const NULL: Self = Self { required_percent: 0, says_nullable: false };
    /// Every absent fact is required.
    pub const REQUIRED: Self = Self { required_percent: 100, says_nullable: false };
    /// Some of each kind.
    pub const MIXED: Self = Self { required_percent: 35, says_nullable: true };
}

/// The name of the value's type in JSON Schema.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::Array(_) => "array",
        _ => "string",
    }
}

/// A function tool as OpenAI's API writes it, none of its parameters required.
pub fn tool_object(name: &str, description: &str, properties: Map<String, Value>) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "additionalProperties": false,
            },
        },
    })
}

/// A schema of such answers, which says of the keys in `fields` what it says there. Some nulls of the answer become
/// what stands for them where null is not allowed.
pub fn schema_of(
    words: &mut Words<'_>,
    answer: &mut Value,
    fields: &Map<String, Value>,
    requirements: Requirements,
) -> Value {
    let mut schema = plain_schema(answer, fields);
    each_field(&mut schema, answer, &mut |schema, value| {
        say_format(words, schema, value);
        if value.is_null() && words.rng.random_range(0..100) < requirements.required_percent {
            *value = stand_in(schema);
        }
    });
    // If only absent facts might be null, that alone would tell them.
    let nullable_percent = match words.rng.random_range(0..20) {
        0..=4 if requirements.says_nullable => 100,
        5..=9 if requirements.says_nullable => 50,
        _ if has_null(answer) => 100,
        _ => 0,
    };
    each_field(&mut schema, answer, &mut |schema, value| {
        if value.is_null() || words.rng.random_range(0..100) < nullable_percent {
            allow_null(schema);
        }
    });
    schema
}

fn plain_schema(answer: &Value, fields: &Map<String, Value>) -> Value {
    match answer {
        Value::Object(members) => {
            let properties: Map<String, Value> = members
                .iter()
                .map(|(key, value)| match fields.get(key) {
                    Some(schema) => (key.clone(), schema.clone()),
                    None => (key.clone(), plain_schema(value, fields)),
                })
                .collect();
            json!({ "type": "object", "properties": properties })
        }
        Value::Array(items) => {
            let items = items.first().map_or(json!({}), |item| plain_schema(item, fields));
            json!({ "type": "array", "items": items })
        }
        value => json!({ "type": json_type(value) }),
    }
}

/// Calls `change` with each field that is no object, outside of arrays, and its schema.
fn each_field(
    schema: &mut Value,
    answer: &mut Value,
    change: &mut impl FnMut(&mut Value, &mut Value),
) {
    let Some(members) = answer.as_object_mut() else { return };
    for (key, value) in members {
        let Some(schema) = schema["properties"].get_mut(key) else { continue };
        if value.is_object() {
            each_field(schema, value, change);
        } else {
            change(schema, value);
        }
    }
}

fn has_null(answer: &Value) -> bool {
    match answer {
        Value::Null => true,
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

/// At times says the format or the least length that the string has.
fn say_format(words: &mut Words<'_>, schema: &mut Value, value: &Value) {
    if schema["type"] != "string" || !schema["enum"].is_null() {
        return;
    }
    let format = match value {
        // As its kind has it; a told one, as the value is.
        Value::String(text) if is_date(text) => json!("date"),
        Value::String(text) if text.contains('@') => json!("email"),
        Value::Null => schema["format"].clone(),
        _ => Value::Null,
    };
    let members = schema.as_object_mut().expect("a schema of strings has members");
    members.remove("format");
    if !format.is_null() && one_in(words.rng, 2) {
        members.insert("format".to_owned(), format);
    } else if one_in(words.rng, if value.is_null() { 4 } else { 12 }) && value != "" {
        members.insert("minLength".to_owned(), json!(1));
    }
}

/// Whether it reads `2031-05-17`.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// A stand-in for an absent value that the schema requires; null if it has to be one of a list.
fn stand_in(schema: &Value) -> Value {
    if !schema["enum"].is_null() {
        return Value::Null;
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(0),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("string") => match schema["format"].as_str() {
            Some("email") => json!("unknown@unknown.invalid"),
            Some("date") => json!("1970-01-01"),
            _ if !schema["minLength"].is_null() => json!("unknown"),
            _ => json!(""),
        },
        _ => Value::Null,
    }
}

fn allow_null(schema: &mut Value) {
    if let Value::String(of_type) = &schema["type"] {
        schema["type"] = json!([of_type, "null"]);
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.push(Value::Null);
    }
}

/// Says formats of the tools' parameters as of fields. At times makes the tools strict, as OpenAI's API means it: a parameter
/// that may be absent is required and may be null, so that calls have null where they would leave it out.
pub fn finish_tools(
    words: &mut Words<'_>,
    tools: &mut [Value],
    answer: &mut Value,
    requirements: Requirements,
) {
    let is_strict = requirements.says_nullable && one_in(words.rng, 6);
    for tool in tools {
        let function = &mut tool["function"];
        let name = function["name"].clone();
        let Some(properties) = function["parameters"]["properties"].as_object_mut() else {
            continue;
        };
        let calls = match &mut *answer {
            Value::Array(calls) => calls.iter_mut().collect(),
            call => vec![call],
        };
        let mut calls: Vec<&mut Map<String, Value>> = calls
            .into_iter()
            .filter(|call| call["name"] == name)
            .filter_map(|call| call["arguments"].as_object_mut())
            .collect();
        for (key, schema) in properties.iter_mut() {
            let given = calls.first().and_then(|arguments| arguments.get(key));
            say_format(words, schema, given.unwrap_or(&Value::Null));
            let is_absent = calls.iter().any(|arguments| !arguments.contains_key(key));
            if is_strict && (is_absent || one_in(words.rng, 3)) {
                allow_null(schema);
            }
        }
        for arguments in calls.iter_mut().filter(|_| is_strict) {
            let given = std::mem::take(*arguments);
            for key in properties.keys() {
                let value = given.get(key).cloned().unwrap_or_default();
                arguments.insert(key.clone(), value);
            }
        }
    }
}
