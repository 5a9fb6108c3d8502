//! Keywords of other notations, of other drafts and of habit, and what JSON Schema has for them.

use crate::json_schema::document::{Document, Value, ValueId};

/// Keywords that no draft from 4 to 2020-12 has, with what says the same.
const FOREIGN: &[(&str, &str)] = &[
    ("nullable", "it is OpenAPI's; here null is a type: `\"type\": [\"…\", \"null\"]`"),
    (
        "discriminator",
        "it is OpenAPI's; here a member with a `const` of its own in each branch tells them apart",
    ),
    ("example", "it is OpenAPI's; here `examples` is a list of values"),
    ("components", "it is OpenAPI's; a `$ref` may lead into it, and `$defs` is the usual place"),
    ("divisibleBy", "it is of draft 3; write `multipleOf`"),
    ("extends", "it is of draft 3; write `allOf`"),
    ("disallow", "it is of draft 3; write `not`"),
    ("optional", "members are optional unless `required` lists them"),
    ("min", "write `minimum`, `minLength`, `minItems` or `minProperties`"),
    ("max", "write `maximum`, `maxLength`, `maxItems` or `maxProperties`"),
    ("length", "write `minLength` and `maxLength`"),
    ("size", "write `minItems` and `maxItems`, or `minLength` and `maxLength`"),
    ("minSize", "write `minItems`, or `minLength`"),
    ("maxSize", "write `maxItems`, or `maxLength`"),
    ("range", "write `minimum` and `maximum`"),
    ("regex", "write `pattern`"),
    ("regexp", "write `pattern`"),
    ("match", "write `pattern`"),
    ("values", "write `enum`"),
    ("options", "write `enum`"),
    ("choices", "write `enum`"),
    ("allowedValues", "write `enum`"),
    ("unique", "write `uniqueItems`"),
    ("fields", "write `properties`"),
    ("attributes", "write `properties`"),
    ("ref", "write `$ref`"),
    ("defs", "write `$defs`"),
    ("comment", "write `$comment`"),
    ("strict", "it is OpenAI's, beside the schema; here `additionalProperties` says it"),
];

/// What says the same as a keyword that no draft has.
pub(crate) fn instead(keyword: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(known, _)| *known == keyword).map(|(_, words)| *words)
}

/// Where the schema is in what wraps it for a tool or a format of answers; `None` for a schema.
pub(crate) fn wrapped(document: &Document, root: ValueId) -> Option<ValueId> {
    let named = |at| document.get(at, "name").is_some_and(|name| document.string(name).is_some());
    let inside = |at: ValueId| {
        let inner = ["parameters", "schema", "input_schema", "inputSchema"];
        let inner = inner.iter().find_map(|key| document.get(at, key));
        inner.filter(|&inner| named(at) && document.members(inner).is_some())
    };
    let outer = ["function", "json_schema"].iter().find_map(|key| document.get(root, key));
    outer.and_then(inside).or_else(|| inside(root))
}

/// Does a value look like a schema: an object with a keyword that constrains or refers?
pub(crate) fn looks_like_a_schema(document: &Document, at: ValueId) -> bool {
    ["type", "properties", "items", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"]
        .iter()
        .any(|keyword| document.get(at, keyword).is_some())
}

/// Formats that other notations have, with what says the same.
pub(crate) fn format_instead(name: &str) -> Option<&'static str> {
    Some(match name {
        "int32" => "`\"minimum\": -2147483648, \"maximum\": 2147483647` says it",
        "int64" => "`\"minimum\": -9223372036854775808, \"maximum\": 9223372036854775807` says it",
        "float" | "double" => "`\"type\": \"number\"` says as much as JSON has",
        "password" => "it is for forms",
        "byte" | "base64" => "a `pattern` such as `^[A-Za-z0-9+/]*=*$` says it",
        "phone" | "tel" => "a `pattern` such as `^\\\\+[0-9]{6,15}$` says it",
        "color" => "a `pattern` such as `^#[0-9A-Fa-f]{6}$` says it",
        "url" => "did you mean `uri`?",
        "datetime" | "timestamp" => "did you mean `date-time`?",
        "mail" => "did you mean `email`?",
        "guid" => "did you mean `uuid`?",
        "ip" | "ip-address" => "did you mean `ipv4`?",
        "host-name" | "domain" => "did you mean `hostname`?",
        _ => return None,
    })
}

/// A number, a text, … in words short enough for a message.
pub(crate) fn shown(document: &Document, at: ValueId) -> String {
    match document.value(at) {
        Value::Null => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Number(literal) => literal.to_string(),
        Value::String(text) => {
            let short: String = text.chars().take(30).collect();
            format!("\"{}\"", short.escape_debug())
        }
        Value::Array(_) => "this array".into(),
        Value::Object(_) => "this object".into(),
    }
}
