//! Random strings of compiled schemas are valid, says an independent validator.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::Constraint;
use maskwright::json_schema::{Options, Schema};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SCHEMAS: &[&str] = &[
    r#"{"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}, "age": {"type":
        "integer", "minimum": 0, "maximum": 150}}, "required": ["name"], "additionalProperties": false}"#,
    r#"{"type": "number", "minimum": -0.25, "exclusiveMaximum": 12.5}"#,
    r#"{"type": "number", "multipleOf": 0.25, "maximum": 30, "minimum": -30}"#,
    r#"{"type": "integer", "multipleOf": 7, "exclusiveMinimum": -100, "maximum": 1000}"#,
    r#"{"type": "array", "items": {"enum": [1, "a", null, [2], {"b": 1}]}, "maxItems": 4}"#,
    r#"{"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}],
        "items": {"type": "integer", "maximum": 9, "minimum": 0}, "minItems": 1, "maxItems": 5}"#,
    r##"{"$defs": {"t": {"type": "object", "properties": {"v": {"type": "boolean"}, "l": {"$ref": "#/$defs/t"},
        "r": {"$ref": "#/$defs/t"}}, "required": ["v"], "additionalProperties": false}}, "$ref": "#/$defs/t"}"##,
    r#"{"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}}, "required": ["a"],
        "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]},
        "else": {"properties": {"b": {"const": true}}}, "additionalProperties": false}"#,
    r#"{"oneOf": [{"type": "integer", "minimum": 3, "maximum": 20}, {"multipleOf": 2, "type": "integer",
        "minimum": 0, "maximum": 30}, {"type": "string", "maxLength": 2}]}"#,
    r#"{"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties":
        {"a": {"type": "null"}, "b": {"type": "null"}}, "additionalProperties": false}"#,
    r#"{"type": "string", "pattern": "^[a-c]+$", "not": {"pattern": "ab|ca"}, "maxLength": 6}"#,
    r#"{"type": "object", "patternProperties": {"^a": {"type": "null"}, "b$": {"type": ["null", "boolean"]}},
        "additionalProperties": false, "maxProperties": 1}"#,
    r#"{"type": "string", "format": "date"}"#,
    r#"{"type": "string", "format": "time"}"#,
    r#"{"type": "string", "format": "ipv4"}"#,
    r#"{"type": "string", "format": "uuid"}"#,
    r#"{"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 3}, "contains": {"const": 2},
        "maxItems": 4}"#,
    r#"{"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}, "c": {"type": "boolean"}},
        "additionalProperties": false, "minProperties": 2, "dependentRequired": {"a": ["c"]}}"#,
    r#"{"not": {"type": ["object", "array", "string"]}, "anyOf": [{"maximum": 3}, {"type": "null"}]}"#,
];

/// A random string of the language, or `None` if none was finished in time.
fn sample(constraint: &Constraint, random: &mut impl Rng) -> Option<String> {
    let mut matcher = constraint.matcher();
    let mut text = Vec::new();
    for _ in 0..300 {
        let bytes: Vec<u8> = matcher.mask().unwrap().iter().map(|token| token as u8).collect();
        if matcher.is_accepting() && (bytes.is_empty() || random.random_bool(0.3)) {
            return String::from_utf8(text).ok();
        }
        // White space is not what is tested, and closing brackets end the walk sooner.
        let closing: Vec<u8> = bytes.iter().copied().filter(|b| b"\"]}".contains(b)).collect();
        let solid: Vec<u8> = bytes.iter().copied().filter(|b| !b" \t\r\n".contains(b)).collect();
        let from = match random.random_range(0..10) {
            0..4 if !closing.is_empty() => &closing,
            _ if !solid.is_empty() && random.random_bool(0.95) => &solid,
            _ => &bytes,
        };
        let byte = from[random.random_range(0..from.len())];
        matcher.accept_bytes(&[byte]).unwrap();
        text.push(byte);
    }
    None
}

#[test]
fn random_strings_are_valid() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for text in SCHEMAS {
        let grammar = Schema::from_text(text).unwrap().grammar(&Options::default());
        let grammar = grammar.unwrap_or_else(|e| panic!("{text}: {e}"));
        let schema = serde_json::from_str(text).unwrap();
        let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        let constraint = crate::common::by_bytes(&grammar);
        let mut finished = 0;
        for _ in 0..60 {
            let Some(sample) = sample(&constraint, &mut random) else { continue };
            finished += 1;
            let value: serde_json::Value =
                serde_json::from_str(&sample).unwrap_or_else(|e| panic!("{sample}: {e}"));
            assert!(validator.is_valid(&value), "{sample} is not valid for {text}");
        }
        assert!(finished > 10, "{finished} of 60 finished for {text}");
    }
}
