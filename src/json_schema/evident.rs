//! Schemas that evidently have a value, by their text alone.
//!
//! Most schemas of real documents do: `{"type": "string"}`, or an object that requires only what is
//! evident itself. They need not be unfolded to know it.

use super::document::{Document, Members, Value, ValueId};

/// Levels of required members that are followed.
const DEEPEST: u32 = 8;

/// Keywords that take no value away.
const REMARKS: [&str; 16] = [
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
    "$id",
    "id",
    "definitions",
    "$defs",
    // These are looked at where members are required.
    "properties",
    "required",
];

/// Is it evident that some value satisfies the schema? No means perhaps.
pub(super) fn has_value(document: &Document, schema: ValueId) -> bool {
    evident(document, schema, 0)
}

fn evident(document: &Document, schema: ValueId, depth: u32) -> bool {
    let members = match document.value(schema) {
        Value::Bool(allowed) => return *allowed,
        Value::Object(members) if depth < DEEPEST => members,
        _ => return false,
    };
    // By type: does every keyword that speaks of it leave some value, whatever the others say?
    let (mut string, mut number, mut array, mut object) = (true, true, true, true);
    let (mut bounds, mut names) = (0, true);
    let (mut kind, mut listed) = (None, None);
    for (keyword, value) in members.iter() {
        match keyword {
            "type" => match document.value(value) {
                Value::String(name) => kind = Some(&**name),
                _ => return false,
            },
            "enum" | "const" if listed.is_none() => listed = Some(value),
            "minLength" | "maxLength" => bounds += 1,
            "minimum" => match document.value(value) {
                Value::Number(least) if matches!(&**least, "0" | "1") => bounds += 1,
                _ => number = false,
            },
            "maximum" | "multipleOf" | "exclusiveMinimum" | "exclusiveMaximum" => number = false,
            "pattern" | "format" => string = false,
            "items" | "additionalItems" | "prefixItems" | "maxItems" | "uniqueItems" => {}
            "minItems" | "contains" => array = false,
            "additionalProperties" => {}
            "patternProperties" | "propertyNames" | "maxProperties" => names = false,
            "minProperties" => object = false,
            _ if REMARKS.contains(&keyword) => {}
            _ => return false,
        }
    }
    (string, number) = (string && bounds < 2, number && bounds < 2);
    let required = members.get("required");
    if let Some(listed) = listed {
        let alone = string && number && array && object && names && bounds == 0;
        return alone && required.is_none() && lists(document, listed, kind);
    }
    match kind {
        // Nothing that is read here speaks of null.
        None | Some("null" | "boolean") => true,
        Some("string") => string,
        Some("number" | "integer") => number,
        Some("array") => array,
        Some("object") => {
            object && required.is_none_or(|r| names && are_evident(document, members, r, depth))
        }
        Some(_) => false,
    }
}

/// Are all required members named, and evident?
fn are_evident(document: &Document, schema: &Members, required: ValueId, depth: u32) -> bool {
    let Value::Array(required) = document.value(required) else { return false };
    let Some(properties) = schema.get("properties").and_then(|at| document.members(at)) else {
        return required.is_empty();
    };
    required.iter().all(|&name| {
        let member = document.string(name).and_then(|name| properties.get(name));
        member.is_some_and(|member| evident(document, member, depth + 1))
    })
}

/// Is a value of a type among those that are listed?
fn lists(document: &Document, listed: ValueId, kind: Option<&str>) -> bool {
    let values = match document.value(listed) {
        Value::Array(values) => &values[..],
        _ => return false,
    };
    values.iter().any(|&value| {
        matches!(
            (document.value(value), kind),
            (_, None)
                | (Value::String(_), Some("string"))
                | (Value::Bool(_), Some("boolean"))
                | (Value::Null, Some("null"))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn tell(schema: &str) -> bool {
        let document = Document::parse(schema).unwrap();
        has_value(&document, document.root())
    }

    #[test]
    fn what_is_evident_is_so() {
        for schema in [
            "true",
            "{}",
            r#"{"type": "string", "maxLength": 3}"#,
            r#"{"type": "integer", "minimum": 0}"#,
            r#"{"enum": [1]}"#,
            r#"{"type": "string", "enum": [1, "a"]}"#,
            r#"{"type": "array", "items": false}"#,
            r#"{"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}"#,
        ] {
            assert!(tell(schema), "{schema}");
        }
    }

    #[test]
    fn the_rest_is_looked_into() {
        for schema in [
            "false",
            r#"{"type": "string", "minLength": 4, "maxLength": 3}"#,
            r#"{"type": "string", "pattern": "a"}"#,
            r#"{"type": "number", "minimum": 1, "maximum": 0}"#,
            r#"{"type": "integer", "multipleOf": 0.3, "minimum": 0}"#,
            r#"{"type": "array", "minItems": 1, "items": false}"#,
            r#"{"type": "string", "enum": [1]}"#,
            r#"{"enum": []}"#,
            r#"{"enum": ["a"], "maxLength": 0}"#,
            r#"{"not": {}}"#,
            r##"{"$ref": "#"}"##,
            r#"{"type": "object", "required": ["a"], "additionalProperties": false}"#,
            r#"{"type": "object", "properties": {"a": false}, "required": ["a"]}"#,
            r#"{"type": "object", "properties": {"a": true}, "required": ["a"], "maxProperties": 0}"#,
        ] {
            assert!(!tell(schema), "{schema}");
        }
    }
}
