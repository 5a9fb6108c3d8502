//! JSON Schema where every spelling counts: a name is the same however it is escaped.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use crate::common::accepts_by_masks;
use maskwright::json_schema::{Options, PropertyOrder, Spelling, Whitespace};
use maskwright::{Compiler, Constraint, Vocabulary};
use serde_json::{Value, json};

/// All bytes, and tokens that begin, cross and end names.
fn constraint(schema: &Value, order: PropertyOrder) -> Constraint {
    let longer =
        [r#"{"\u00"#, r"\u006", r#"63""#, r#"1": "#, r#"\u0061": 1"#, r#""a": "#, r#", ""#];
    let longer = longer.map(|token| Some(token.as_bytes().to_vec()));
    let tokens = (0..=255).map(|byte| Some(vec![byte])).chain(longer).collect();
    let mut options = Options::default();
    options.spelling = Spelling::Any;
    options.property_order = order;
    options.whitespace = Whitespace::Any;
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    compiler.with_json_options(options).json_schema(schema).unwrap()
}

fn check(schema: &Value, order: PropertyOrder, accepted: &[&str], rejected: &[&str]) {
    let constraint = constraint(schema, order);
    for text in accepted {
        assert!(accepts_by_masks(&constraint, text), "{schema} must accept {text}");
    }
    for text in rejected {
        assert!(!accepts_by_masks(&constraint, text), "{schema} must reject {text}");
    }
}

#[test]
fn names_may_be_escaped() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}, "ac": {"type": "null"},
        "é\"": {"const": "/"}}, "required": ["a"], "additionalProperties": {"type": "boolean"}});
    let accepted = [
        r#"{"\u0061": 1, "a\u0063": null}"#,
        r#"{"a": 1, "\u0061\u0063" :null, "\u00E9\u0022": "\/"}"#,
        r#"{"a": 1, "\u0061\u0061": true}"#,
    ];
    let rejected = [
        r#"{"\u0061": null}"#,
        r#"{"\u0061": 1, "a": 1}"#,
        r#"{"a": 1, "\u0061": 1}"#,
        r#"{"a": 1, "\u0061\u0063": true}"#,
        r#"{"a": 1, "b": true, "\u0062": true}"#,
        r#"{"\u0062": true}"#,
    ];
    check(&schema, PropertyOrder::Any, &accepted, &rejected);
    let moved = r#"{"ac": null, "\u0061": 1}"#;
    check(&schema, PropertyOrder::Any, &[moved], &[]);
    check(&schema, PropertyOrder::Schema, &accepted, &[&rejected[..], &[moved]].concat());
}

#[test]
fn names_of_listed_values_may_be_escaped() {
    let schema = json!({"enum": [{"a": 1, "b": [{"c": null}]}, {"": 2}]});
    check(
        &schema,
        PropertyOrder::Any,
        &[r#"{"b": [{"\u0063": null}], "\u0061": 1.0}"#, r#"{"": 2}"#],
        &[r#"{"\u0061": 1}"#, r#"{"\u0061": 1, "a": 1, "b": [{"c": null}]}"#],
    );
}

/// Names in any spelling: as required members, and where members are counted.
#[test]
fn escaped_names_count_as_the_names_they_are() {
    let schema = json!({"type": "object", "properties": {"a": true, "b": true}, "maxProperties": 1,
        "anyOf": [{"required": ["a"]}, {"properties": {"b": {"const": 1}}, "required": ["b"]}]});
    check(
        &schema,
        PropertyOrder::Any,
        &[r#"{"\u0061": 0}"#, r#"{"\u0062": 1}"#],
        &[r#"{"\u0062": 0}"#, r#"{"\u0061": 0, "b": 1}"#, "{}"],
    );
}

/// "A JSON number without a fraction or exponent part" (draft 4, Core, section 3.5).
#[test]
fn minus_zero_is_an_integer_without_a_fraction() {
    let draft = "http://json-schema.org/draft-04/schema#";
    let integer = json!({"$schema": draft, "type": "integer"});
    check(&integer, PropertyOrder::Any, &["-0", "0", "-5"], &["-0.0", "0.0", "0e0"]);
    let other = json!({"$schema": draft, "type": "number", "not": {"type": "integer"}});
    check(&other, PropertyOrder::Any, &["-0.0", "0.5", "0e0"], &["-0", "0", "-5"]);
}
