//! Keywords that apply further schemas to the same value: references, and, or, not, conditions.

use maskwright::json_schema::{Options, PropertyOrder};
use maskwright::{Compiler, ErrorKind, Vocabulary};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::{check, error};

#[test]
fn siblings_intersect() {
    check(
        r##"{"$defs": {"short": {"type": "string", "maxLength": 2}}, "$ref": "#/$defs/short",
            "minLength": 1}"##,
        &[r#""a""#, r#""ab""#],
        &[r#""""#, r#""abc""#, "1"],
    );
    check(
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "minLength": 1,
            "definitions": {"short": {"type": "string", "maxLength": 2}},
            "properties": {"a": {"$ref": "#/definitions/short", "minLength": 1}}, "type": "object"}"##,
        &[r#"{"a": ""}"#],
        &[r#"{"a": "abc"}"#],
    );
    check(
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
            "anyOf": [{"properties": {"a": {"minimum": 5}}}, {"required": ["b"]}]}"#,
        &[r#"{"a": 5}"#, r#"{"a": 1, "b": null}"#],
        &["{}", r#"{"a": 1}"#, r#"{"a": "x", "b": 1}"#],
    );
    check(
        r#"{"allOf": [{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"maximum": 3},
            "b": {"type": "null"}}, "required": ["a"]}], "type": "object"}"#,
        &[r#"{"a": 2}"#, r#"{"a": 1, "b": null}"#, r#"{"a": "x"}"#],
        &[r#"{"a": 0}"#, r#"{"a": 4}"#, r#"{"b": null}"#],
    );
    check(
        r#"{"allOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]},
                      {"anyOf": [{"type": "integer"}, {"type": "null"}]}]}"#,
        &["1"],
        &[r#""a""#, "null", "1.5"],
    );
    check(
        r#"{"items": {"minimum": 3}, "allOf": [{"items": {"maximum": 4}, "minItems": 1}],
            "type": "array"}"#,
        &["[3, 4]"],
        &["[]", "[2]", "[3, 5]"],
    );
}

#[test]
fn additional_properties_see_only_their_own_siblings() {
    check(
        r#"{"type": "object", "properties": {"a": true},
            "allOf": [{"properties": {"b": true}, "additionalProperties": {"type": "null"}}]}"#,
        &[r#"{"a": null, "b": 1}"#, r#"{"c": null}"#],
        &[r#"{"a": 1}"#, r#"{"c": 1}"#],
    );
}

#[test]
fn recursion() {
    check(
        r##"{"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}},
            "required": ["v"], "additionalProperties": false}"##,
        &[r#"{"v": 1}"#, r#"{"next": {"next": {"v": 1}, "v": 2}, "v": 3}"#],
        &[r#"{"next": {}, "v": 1}"#, r#"{"next": 1, "v": 1}"#],
    );
    // Two recursive schemas at once: the product is recursive too.
    check(
        r##"{"$defs": {
                "list": {"type": "object", "properties": {"next": {"$ref": "#/$defs/list"},
                    "v": {"type": "integer"}}, "additionalProperties": false},
                "even": {"properties": {"next": {"$ref": "#/$defs/odd"}}},
                "odd": {"properties": {"next": {"$ref": "#/$defs/even"}}, "required": ["next"]}},
            "allOf": [{"$ref": "#/$defs/list"}, {"$ref": "#/$defs/even"}]}"##,
        &["{}", r#"{"next": {"next": {}}}"#, r#"{"v": 1}"#],
        &[r#"{"next": {}}"#, r#"{"next": {"next": {"next": {}}}}"#, r#"{"next": {"v": 1}}"#],
    );
}

#[test]
fn what_requires_itself_has_no_value() {
    let e = error(r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}"##);
    assert_eq!(e.kind(), ErrorKind::Unsatisfiable);
    // Where it is optional, it is left out; where an alternative ends, that is taken.
    check(
        r##"{"$defs": {"x": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}},
            "required": ["x"]}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/x"}},
            "additionalProperties": false}"##,
        &["{}"],
        &[r#"{"a": {}}"#, r#"{"a""#],
    );
    check(
        r##"{"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}, "minItems": 1}]}"##,
        &["null", "[null, [null]]"],
        &["[]", "[[]]"],
    );
}

#[test]
fn not() {
    check(
        r#"{"not": {"type": ["string", "object", "array"]}}"#,
        &["1", "null"],
        &[r#""a""#, "{}", "[]"],
    );
    check(r#"{"type": "string", "not": {"enum": ["a", "b"]}}"#, &[r#""c""#, r#""""#], &[r#""a""#]);
    check(r#"{"type": "integer", "not": {"minimum": 3}}"#, &["2"], &["3", "4"]);
    check(
        r#"{"type": "object", "not": {"required": ["a", "b"]}}"#,
        &["{}", r#"{"a": 1}"#, r#"{"b": 1}"#],
        &[r#"{"a": 1, "b": 1}"#],
    );
    check(
        r#"{"type": "object", "not": {"properties": {"a": {"type": "string"}}, "required": ["b"]}}"#,
        &["{}", r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#],
        &[r#"{"a": "x", "b": 1}"#, r#"{"b": 1}"#],
    );
    check(
        r#"{"type": "object", "not": {"additionalProperties": {"type": "string"}}}"#,
        &[r#"{"a": 1}"#, r#"{"a": "x", "b": 1}"#, r#"{"a": 1, "b": "x"}"#],
        &["{}", r#"{"a": "x"}"#],
    );
}

#[test]
fn not_of_arrays() {
    check(
        r#"{"type": "array", "not": {"items": {"type": "string"}}}"#,
        &["[1]", r#"["a", 1]"#, r#"[1, "a"]"#],
        &["[]", r#"["a"]"#],
    );
    check(
        r#"{"type": "array", "not": {"prefixItems": [{"const": 1}], "minItems": 1}}"#,
        &["[]", "[2]", "[2, 1]"],
        &["[1]", "[1, 2]"],
    );
    check(
        r#"{"type": "array", "contains": {"const": 1}, "maxItems": 3}"#,
        &["[1]", "[2, 1]", "[2, 3, 1]", "[1, 1]"],
        &["[]", "[2]", "[2, 3, 4]", "[1, 2, 3, 4]"],
    );
    check(
        r#"{"anyOf": [{"type": "null"}, {"type": "array", "maxItems": 1, "allOf":
            [{"contains": {"const": 1}}, {"contains": {"const": 2}}]}]}"#,
        &["null"],
        &["[1]", "[2]", "["],
    );
    let e = error(
        r#"{"type": "array", "maxItems": 1, "allOf":
            [{"contains": {"const": 1}}, {"contains": {"const": 2}}]}"#,
    );
    assert_eq!(e.kind(), ErrorKind::Unsatisfiable);
    check(r#"{"type": "array", "not": {"contains": {"const": 1}}}"#, &["[]", "[2]"], &["[2, 1]"]);
    check(
        r#"{"type": "array", "not": {"const": [1, 2]}}"#,
        &["[1]", "[2, 2]", "[1, 2, 3]"],
        &["[1, 2]"],
    );
}

#[test]
fn exactly_one() {
    check(r#"{"oneOf": [{"type": "integer"}, {"minimum": 2}]}"#, &["1", "2.5"], &["3", "1.5"]);
    check(
        r#"{"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]}"#,
        &[r#"{"a": 1}"#, r#"{"b": 1}"#],
        &["{}", r#"{"a": 1, "b": 1}"#],
    );
    check(
        r##"{"$defs": {"tree": {"oneOf": [{"type": "integer"},
                {"type": "object", "properties": {"kind": {"const": "pair"}, "l": {"$ref": "#/$defs/tree"},
                 "r": {"$ref": "#/$defs/tree"}}, "required": ["kind", "l"], "additionalProperties": false},
                {"type": "object", "properties": {"kind": {"const": "one"}, "l": {"$ref": "#/$defs/tree"}},
                 "required": ["kind"]}]}}, "$ref": "#/$defs/tree"}"##,
        &["1", r#"{"kind": "pair", "l": 1}"#, r#"{"kind": "one", "l": {"kind": "one"}}"#],
        &[r#"{"kind": "pair"}"#, r#"{"kind": "two"}"#, r#"{"kind": "one", "l": {"kind": "pair"}}"#],
    );
    check(
        r#"{"oneOf": [{"type": "string"}, {"type": "string"}, {"type": "null"}]}"#,
        &["null"],
        &[r#""a""#],
    );
}

/// Branches that say much the same of the same members: which of them hold together is followed as
/// one condition.
#[test]
fn exactly_one_of_many_objects_alike() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut options = Options::default();
    options.property_order = PropertyOrder::Any;
    let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(bytes, &[], &[]).unwrap();
    let compiler = Compiler::new(vocabulary).with_json_options(options);
    let tags = [r#"{"enum": []}"#, r#"{"enum": ["x"]}"#, r#"{"enum": ["y"]}"#, "true"];
    let bodies = [
        r#"{"type": "object", "required": ["a"]}"#,
        r#"{"type": "object", "required": ["b"]}"#,
        r#"{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]}"#,
        r#"{"required": ["c"]}"#,
        r#"{"properties": {"a": {"type": "null"}}}"#,
        r#"{"type": "integer", "minimum": 1}"#,
    ];
    let values = ["true", "0", "1", "{}", r#"{"a": 1}"#, r#"{"a": null, "b": 2}"#, r#"{"c": 0}"#];
    for _ in 0..60 {
        let mut pick = |from: &[&str]| from[rng.random_range(0..from.len())].to_owned();
        let branches: Vec<String> = (0..7)
            .map(|_| {
                let (tag, body) = (pick(&tags), pick(&bodies));
                let required = pick(&["", r#", "required": ["t"]"#, r#", "required": ["p"]"#]);
                format!(r#"{{"properties": {{"t": {tag}, "p": {body}}}{required}}}"#)
            })
            .collect();
        let schema = format!(r#"{{"type": "object", "oneOf": [{}]}}"#, branches.join(", "));
        let judge = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
        let members = |key: &str, values: &[&str]| -> Vec<String> {
            let members = values.iter().map(|value| format!(r#""{key}": {value}"#));
            members.chain([String::new()]).collect()
        };
        let compiled = match compiler.json_schema_str(&schema) {
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => None,
            compiled => Some(compiled.unwrap()),
        };
        for t in members("t", &[r#""x""#, r#""z""#]) {
            for p in members("p", &values) {
                let both = [t.as_str(), p.as_str()].into_iter().filter(|member| !member.is_empty());
                let text = format!("{{{}}}", both.collect::<Vec<_>>().join(", "));
                let accepted = compiled.as_ref().is_some_and(|constraint| {
                    let mut matcher = constraint.matcher();
                    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
                });
                let valid = judge.is_valid(&serde_json::from_str(&text).unwrap());
                assert_eq!(accepted, valid, "{schema}: {text}");
            }
        }
    }
}

#[test]
fn conditions_and_dependencies() {
    check(
        r#"{"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": true}, "required": ["a"],
            "additionalProperties": false,
            "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]},
            "else": {"properties": {"b": {"type": "null"}}}}"#,
        &[r#"{"a": 1, "b": 5}"#, r#"{"a": 2}"#, r#"{"a": 2, "b": null}"#],
        &[r#"{"a": 1}"#, r#"{"a": 2, "b": 5}"#, "{}"],
    );
    check(
        r#"{"type": "object", "dependencies": {"a": ["b"], "c": {"properties": {"b": {"const": 1}}}}}"#,
        &["{}", r#"{"a": 1, "b": 5}"#, r#"{"b": 5}"#, r#"{"c": 1, "b": 1}"#],
        &[r#"{"a": 1}"#, r#"{"c": 1, "b": 5}"#],
    );
}
