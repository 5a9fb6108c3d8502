//! Keywords and formats of other notations, and their counterparts in JSON Schema.

use crate::json_schema::document::{Document, Value, ValueId};

/// Keywords that no draft from 4 to 2020-12 has, with their counterparts in words.
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

/// The counterpart of a keyword that no draft has, in words.
pub(super) fn instead(keyword: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(known, _)| *known == keyword).map(|(_, words)| *words)
}

/// The schema inside a tool definition or response format that wraps it; `None` if nothing does.
pub(super) fn wrapped(document: &Document, root: ValueId) -> Option<ValueId> {
    let named = |at| document.get(at, "name").is_some_and(|name| document.string(name).is_some());
    let inside = |at: ValueId| {
        let inner = ["parameters", "schema", "input_schema", "inputSchema"];
        let inner = inner.iter().find_map(|key| document.get(at, key));
        inner.filter(|&inner| named(at) && document.members(inner).is_some())
    };
    let outer = ["function", "json_schema"].iter().find_map(|key| document.get(root, key));
    outer.and_then(inside).or_else(|| inside(root))
}

/// Whether a value looks like a schema: an object with a keyword that constrains or refers.
pub(super) fn looks_like_a_schema(document: &Document, at: ValueId) -> bool {
    ["type", "properties", "items", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"]
        .iter()
        .any(|keyword| document.get(at, keyword).is_some())
}

/// The counterpart of a format of other notations, in words.
pub(super) fn format_instead(name: &str) -> Option<&'static str> {
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

/// A value, shortened for a message.
pub(super) fn shown(document: &Document, at: ValueId) -> String {
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
