//! JSON Schema: what `unevaluatedProperties` and `unevaluatedItems` leave over.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::json_schema::{Options, Schema};

/// Asserts that the schema accepts exactly those of the texts.
fn check(schema: &str, accepted: &[&str], rejected: &[&str]) {
    let grammar = Schema::from_text(schema).and_then(|s| s.grammar(&Options::default()));
    let grammar = grammar.unwrap_or_else(|e| panic!("{schema}: {e}"));
    crate::common::check(&grammar, schema, accepted, rejected);
}

#[test]
fn every_branch_that_accepts_contributes() {
    check(
        r#"{"type": "object", "properties": {"a": true}, "anyOf": [
            {"properties": {"b": {"const": 1}}}, {"properties": {"c": {"const": 1}}}],
            "unevaluatedProperties": false}"#,
        &["{}", r#"{"a": 0}"#, r#"{"b": 1}"#, r#"{"c": 1}"#, r#"{"b": 1, "c": 1}"#],
        &[
            r#"{"b": 2}"#,
            r#"{"c": 2}"#,
            r#"{"b": 2, "c": 1}"#,
            r#"{"b": 1, "c": 2}"#,
            r#"{"d": 1}"#,
        ],
    );
}

#[test]
fn what_fails_contributes_nothing() {
    check(
        r#"{"type": "object", "if": {"properties": {"k": {"const": 1}}, "required": ["k"]},
            "then": {"properties": {"a": true}}, "else": {"properties": {"b": true}},
            "unevaluatedProperties": false}"#,
        &["{}", r#"{"k": 1}"#, r#"{"k": 1, "a": 0}"#, r#"{"b": 0}"#],
        &[r#"{"k": 2}"#, r#"{"k": 1, "b": 0}"#, r#"{"a": 0}"#],
    );
    check(
        r#"{"type": "object", "not": {"not": {"properties": {"a": true}}},
            "unevaluatedProperties": false}"#,
        &["{}"],
        &[r#"{"a": 1}"#],
    );
    check(
        r#"{"type": "object", "properties": {"k": true}, "dependentSchemas": {"k": {"properties":
            {"a": true}}}, "unevaluatedProperties": false}"#,
        &["{}", r#"{"k": 0}"#, r#"{"k": 0, "a": 0}"#],
        &[r#"{"a": 0}"#, r#"{"k": 0, "b": 0}"#],
    );
}

/// A choice for each of many conditions would be more than anyone could follow.
#[test]
fn many_conditions_contribute_each_by_itself() {
    let conditions: Vec<String> = (0..16)
        .map(|i| {
            format!(
                r#"{{"if": {{"required": ["a{i}"]}}, "then": {{"properties": {{"a{i}": true,
                    "b{i}": true}}}}}}"#
            )
        })
        .collect();
    let conditions = conditions.join(", ");
    check(
        &format!(
            r#"{{"type": "object", "allOf": [{conditions}], "unevaluatedProperties": false}}"#
        ),
        &["{}", r#"{"a0": 0}"#, r#"{"a0": 0, "b0": 0, "a15": 0, "b15": 0}"#],
        &[r#"{"b0": 0}"#, r#"{"a0": 0, "b1": 0}"#, r#"{"c": 0}"#],
    );
    check(
        &format!(
            r##"{{"$defs": {{"all": {{"allOf": [{conditions}]}}}}, "type": "object", "$ref": "#/$defs/all",
                "properties": {{"c": true}}, "unevaluatedProperties": false}}"##
        ),
        &["{}", r#"{"c": 0}"#, r#"{"c": 0, "a7": 0, "b7": 0}"#],
        &[r#"{"b7": 0}"#, r#"{"d": 0}"#],
    );
}

#[test]
fn references_contribute_and_cousins_do_not() {
    check(
        r##"{"$defs": {"base": {"type": "object", "properties": {"a": {"type": "null"}},
            "oneOf": [{"required": ["x"], "properties": {"x": true}},
                      {"required": ["y"], "properties": {"y": true}}]}},
            "$ref": "#/$defs/base", "properties": {"b": true}, "unevaluatedProperties": false}"##,
        &[r#"{"b": 0, "x": 1}"#, r#"{"a": null, "y": 1}"#],
        &[r#"{"b": 0}"#, r#"{"x": 1, "y": 1}"#, r#"{"x": 1, "z": 1}"#, r#"{"a": 1, "x": 1}"#],
    );
    check(
        r#"{"type": "object", "allOf": [{"properties": {"a": true}}, {"unevaluatedProperties": false}]}"#,
        &["{}"],
        &[r#"{"a": 1}"#],
    );
}

#[test]
fn what_is_left_over_has_a_schema() {
    check(
        r#"{"type": "object", "patternProperties": {"^x": true},
            "unevaluatedProperties": {"type": "null"}}"#,
        &[r#"{"xa": 1}"#, r#"{"a": null}"#],
        &[r#"{"a": 1}"#],
    );
    check(
        r#"{"not": {"type": "object", "properties": {"a": true}, "unevaluatedProperties": false}}"#,
        &["1", r#"{"b": 1}"#, r#"{"a": 1, "b": 1}"#],
        &["{}", r#"{"a": 1}"#],
    );
}

#[test]
fn items() {
    check(
        r#"{"type": "array", "prefixItems": [true], "anyOf": [{"prefixItems": [true, {"const": 1}]},
            {"type": "array"}], "unevaluatedItems": {"type": "null"}}"#,
        &["[]", "[5]", "[5, 1]", "[5, null]", "[5, 1, null]"],
        &["[5, 2]", "[5, 1, 1]"],
    );
    let contains = |draft: &str| {
        format!(
            r#"{{"$schema": "https://json-schema.org/draft/{draft}/schema", "type": "array",
            "contains": {{"type": "string"}}, "unevaluatedItems": {{"type": "null"}}}}"#
        )
    };
    check(&contains("2020-12"), &[r#"["a"]"#, r#"[null, "a", "b"]"#], &["[1]", r#"["a", 1]"#]);
    let grammar = Schema::from_text(&contains("2019-09")).unwrap().grammar(&Options::default());
    assert_eq!(grammar.unwrap_err().kind(), maskwright::ErrorKind::Unsatisfiable);
}

/// A part with branches keeps what it says of the other aspect.
#[test]
fn members_and_items_are_left_over_side_by_side() {
    check(
        r#"{"allOf": [{"anyOf": [{"properties": {"a": true}, "required": ["a"]},
                {"properties": {"b": true}}], "prefixItems": [true], "unevaluatedItems": false}],
            "unevaluatedProperties": false}"#,
        &["[1]", "1", r#"{"a": 1}"#, r#"{"b": 1}"#],
        &["[1, 2]", r#"{"c": 1}"#],
    );
    check(
        r#"{"allOf": [{"anyOf": [{"prefixItems": [{"const": 1}], "minItems": 1},
                {"prefixItems": [true, true]}], "properties": {"a": true},
                "unevaluatedProperties": false}], "unevaluatedItems": false}"#,
        &["[1]", "[2, 3]", r#"{"a": 1}"#],
        &["[1, 2, 3]", r#"{"x": 1}"#],
    );
}
