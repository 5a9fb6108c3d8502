//! JSON Schema: what is allowed can be completed, and whatever can be completed is allowed, where
//! that takes looking ahead.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use crate::common::accepts_by_masks;
use maskwright::json_schema::{Options, PropertyOrder, Spelling};
use maskwright::{Compiler, Constraint, Vocabulary};
use serde_json::{Value, json};

/// All bytes, and tokens that end one text and begin another.
fn constraint(schema: &Value) -> Constraint {
    let longer =
        ["{\"", "\":0,\"b", "\":0,\"a", "\":0, ", "\",\"", "\",\"a", "[2,", "{\"b\":0,", "\", "];
    let longer = longer.map(|token| Some(token.as_bytes().to_vec()));
    let tokens = (0..=255).map(|byte| Some(vec![byte])).chain(longer).collect();
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    compiler.json_schema(schema).unwrap()
}

fn check(schema: &Value, accepted: &[&str], rejected: &[&str]) {
    let constraint = constraint(schema);
    for text in accepted {
        assert!(accepts_by_masks(&constraint, text), "{schema} must accept {text}");
    }
    for text in rejected {
        assert!(!accepts_by_masks(&constraint, text), "{schema} must reject {text}");
    }
}

#[test]
fn an_alternative_without_values_is_none() {
    check(
        &json!({"type": ["object", "null"], "required": ["ab"], "patternProperties": {
            "b$": {"enum": [{"ab": null}]}, "^(a|b|ab)$": {"type": "null"}}}),
        &["null"],
        &["{", "{}"],
    );
    check(
        &json!({"type": ["array", "null"], "minItems": 2, "uniqueItems": true, "items": {"const": 1}}),
        &["null"],
        &["[", "[1"],
    );
}

#[test]
fn a_member_that_another_schema_requires_and_this_one_forbids() {
    check(
        &json!({"type": "object", "additionalProperties": false,
            "properties": {"p": {"$ref": "#/$defs/a", "properties": {"x": {"const": 1}}}},
            "$defs": {"a": {"type": "object", "properties": {"x": {"type": "string"}},
                "required": ["x"]}}}),
        &["{}"],
        &["{\"", "{\"p"],
    );
}

/// The key or item may have been the last of its kind, and what begins after it must differ.
#[test]
fn what_follows_a_captured_text_in_its_token() {
    let key = |pattern: &str| {
        json!({"type": "object", "patternProperties": {pattern: {"type": "integer"}},
            "additionalProperties": false})
    };
    check(&key("^(a|b|ab)$"), &[r#"{"b":0,"ab":0,"a":0}"#], &[r#"{"b":0,"b":0}"#]);
    check(&key("^b$"), &[r#"{"b":0}"#], &[r#"{"b":0,"#]);
    let items =
        |values: Value| json!({"type": "array", "uniqueItems": true, "items": {"enum": values}});
    check(&items(json!([2])), &["[2]"], &["[2,"]);
    check(&items(json!(["a", "b"])), &[r#"["b","a"]"#], &[r#"["a","a"]"#, r#"["a","b","#]);
    check(&items(json!(["a", 1])), &[r#"["a",1]"#, r#"[1,"a"]"#], &[r#"["a",""#]);
}

/// Arrays and objects of which there are few: one is not begun if all that begin so were written.
#[test]
fn items_of_several_parts_lead_somewhere() {
    let of = |items: Value| json!({"type": "array", "uniqueItems": true, "items": items});
    let color = json!({"type": "object", "properties": {"color": {"enum": ["red", "green"]},
        "big": {"type": "boolean"}}, "required": ["color"], "additionalProperties": false});
    check(
        &of(json!({"type": "object", "properties": {"color": {"enum": ["red", "green"]}},
            "required": ["color"], "additionalProperties": false})),
        &["[]", r#"[{"color": "red"}, {"color": "green"}]"#],
        &[
            r#"[{"color": "red"}, {"color": "red"}]"#,
            r#"[{"color": "red"}, {"color": "green"}, {"color": "red"}]"#,
        ],
    );
    check(
        &of(color),
        &[
            r#"[{"color": "red"}, {"color": "red", "big": true}, {"color": "red", "big": false}]"#,
            r#"[{"color": "red", "big": true}, {"color": "green", "big": true}]"#,
        ],
        &[
            r#"[{"color": "red"}, {"color": "red"}]"#,
            r#"[{"color": "red"}, {"color": "red", "big": true}, {"color": "red", "big": true}]"#,
        ],
    );
    check(
        &of(json!({"type": "array", "items": {"enum": [1, 2]}, "minItems": 1, "maxItems": 1})),
        &["[[1], [2]]"],
        &["[[1], [1]]", "[[1], [2], [1]]"],
    );
    let empty = json!({"type": "object", "maxProperties": 0});
    check(&of(empty.clone()), &["[{}]"], &["[{}, {}]"]);
    let mut two = of(empty);
    two["minItems"] = json!(2);
    check(&json!({"anyOf": [{"type": "null"}, two]}), &["null"], &["["]);
}

#[test]
fn listed_values_in_a_schema_of_their_parts() {
    check(
        &json!({"additionalProperties": {"$ref": "#"}, "enum": [{"b": -1}, {"a": {"c": 1}}, {"c": 1}, 1]}),
        &[r#"{"a": {"c": 1}}"#, r#"{"c": 1}"#, "1"],
        &[r#"{"b": -1}"#, "-1", r#"{"a": 1}"#],
    );
    check(
        &json!({"prefixItems": [{"$ref": "#"}], "enum": [[null], null, [[2]]]}),
        &["null", "[null]"],
        &["[[2]]"],
    );
}

/// Items are a few values, of which no two may be equal, or two must be.
#[test]
fn items_leave_what_others_need() {
    let twice = json!({"uniqueItems": true});
    check(
        &json!({"type": "array", "maxItems": 3, "not": twice, "items": {"enum": [1, 2, "a", [3], {"b": 4}]}}),
        &["[1,2,1]", "[1,1,2]", "[1,1]", r#"["a",1,"a"]"#, "[[3],1,[3]]", r#"[1,{"b":4},{"b":4}]"#],
        &["[1,2,\"", "[1,2]", "[1,[3],2", "[[3],1,2", "[1,2,{"],
    );
    check(
        &json!({"type": "array", "maxItems": 2, "not": twice}),
        &["[1.5, 1.5]", "[10, 10.0]", "[[1], [1]]", r#"[{"a": 1, "b": [2]}, {"a": 1, "b": [2]}]"#],
        &["[1.5, 2", "[[1], [2", "[[1], [1, ", r#"[{"a": 1}, {"b"#, r#"["a", "b"#],
    );
    check(
        &json!({"type": "array", "not": twice, "prefixItems": [{"enum": [1, 2, 3]}, {"enum": [2, 4]}, {"enum": [1, 5]}], "items": false}),
        &["[2,2]", "[2,2,5]", "[1,4,1]", "[1,2,1]"],
        &["[3", "[2,4,5", "[2,4,", "[1,2,5"],
    );
    check(
        &json!({"type": "array", "not": twice, "maxItems": 3,
            "allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}]}),
        &["[1,2,1]", "[2,1,1]", "[1,1,2]"],
        &["[3", "[1,2,3", "[1,3"],
    );
    check(
        &json!({"type": "array", "uniqueItems": true, "minItems": 3, "items": false,
            "prefixItems": [{"enum": [1, 2, 3]}, {"enum": [1, 2]}, {"enum": [1, 3]}]}),
        &["[1,2,3]", "[2,1,3]", "[3,2,1]"],
        &["[3,1", "[1,2,1", "[2,1,1"],
    );
    check(
        &json!({"type": "array", "uniqueItems": true, "minItems": 2, "items": false,
            "prefixItems": [{"enum": [1, 2]}, {"const": 1}]}),
        &["[2,1]"],
        &["[1"],
    );
    check(
        &json!({"type": "array", "uniqueItems": true, "maxItems": 2, "items": {"enum": [1, 2, 3]},
            "contains": {"enum": [1, 2]}, "minContains": 2}),
        &["[1,2]", "[2,1]"],
        &["[3", "[1,3", "[1,1"],
    );
    check(
        &json!({"anyOf": [{"type": "null"}, {"type": "array", "uniqueItems": true,
            "contains": {"const": 1}, "minContains": 2}]}),
        &["null"],
        &["["],
    );
    check(
        &json!({"type": ["array", "null"], "uniqueItems": true, "minItems": 3,
            "items": {"type": "array", "maxItems": 1, "items": {"const": 0}}}),
        &["null"],
        &["["],
    );
}

/// Members must be so many, and the keys that are left are few.
#[test]
fn enough_keys_are_left() {
    let few = |more: Value| {
        let mut schema = json!({"type": "object", "additionalProperties": false, "minProperties": 3,
            "properties": {"c": {"const": 0}, "d": {"const": 0}},
            "patternProperties": {"^[ab]$": {"const": 0}}});
        let added = more.as_object().unwrap().clone();
        schema.as_object_mut().unwrap().extend(added);
        schema
    };
    // The members with names come first.
    check(
        &few(json!({})),
        &[r#"{"c":0,"d":0,"a":0}"#, r#"{"d":0,"b":0,"a":0}"#, r#"{"c":0,"d":0,"b":0,"a":0}"#],
        &["{\"a", "{\"b", r#"{"c":0,"a":0}"#, "{}"],
    );
    check(
        &few(json!({"minProperties": 4})),
        &[r#"{"c":0,"d":0,"a":0,"b":0}"#],
        &["{\"a", "{\"d", r#"{"c":0,"a"#],
    );
    // Together with what else is asked of members.
    let either = json!({"not": {"required": ["a", "b"]}});
    check(&few(either), &[r#"{"c":0,"d":0,"a":0}"#], &["{\"d", "{\"a", r#"{"c":0,"b"#]);
    check(
        &few(json!({"dependentRequired": {"a": ["c"], "b": ["c"], "c": ["d"], "d": ["c"]}})),
        &[r#"{"c":0,"d":0,"b":0}"#],
        &["{\"a", "{\"d", r#"{"c":0,"a"#],
    );
    let pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d")];
    let apart: Vec<Value> =
        pairs.iter().map(|(x, y)| json!({"not": {"required": [x, y]}})).collect();
    check(
        &json!({"anyOf": [{"type": "null"}, few(json!({"minProperties": 2, "allOf": apart}))]}),
        &["null"],
        &["{"],
    );
}

/// The same where every spelling counts: a key is one, however it is written.
#[test]
fn keys_are_counted_by_what_they_say() {
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let mut options = Options::default();
    options.spelling = Spelling::Any;
    options.property_order = PropertyOrder::Schema;
    let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    let compiler = compiler.with_json_options(options);
    let check = |schema: Value, accepted: &[&str], rejected: &[&str]| {
        let constraint = compiler.json_schema(&schema).unwrap();
        for text in accepted {
            assert!(accepts_by_masks(&constraint, text), "{schema} must accept {text}");
        }
        for text in rejected {
            assert!(!accepts_by_masks(&constraint, text), "{schema} must reject {text}");
        }
    };
    check(
        json!({"type": "object", "additionalProperties": false, "minProperties": 3,
            "properties": {"c": true, "d": true}, "patternProperties": {"^[ab]$": true}}),
        &[r#"{"c":0,"d":0,"a":0}"#, r#"{"d":0,"\u0062":0,"a":0}"#],
        &["{\"a", "{\"\\u0061", r#"{"c":0,"a":0}"#],
    );
    check(
        json!({"type": ["object", "null"], "additionalProperties": false, "minProperties": 3,
            "patternProperties": {"^[ab]$": true}}),
        &["null"],
        &["{"],
    );
    check(
        json!({"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^[ab]$"},
            "anyOf": [{"required": ["a"]}, {"minProperties": 3}]}),
        &[r#"{"\u0061":0,"b":0}"#],
        &["{\"b\":0,\"b", "{}"],
    );
}

/// Keys come in the order in which schemas name them, what is unevaluated being said or not.
#[test]
fn the_order_of_keys_is_that_of_the_schema() {
    let own = json!({"mode": {"enum": ["a", "b"]}});
    let more = json!([{"properties": {"x": {"const": 0}, "y": {"const": 0}}},
        {"properties": {"z": {"const": 0}}}]);
    let [open, closed] = [json!({}), json!({"unevaluatedProperties": false})];
    for (said, keyword) in [(&open, "allOf"), (&closed, "allOf"), (&closed, "anyOf")] {
        let mut schema = json!({"type": "object", "properties": own, "required": ["mode"]});
        schema[keyword] = more.clone();
        schema.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
        check(
            &schema,
            &[
                r#"{"mode":"a","x":0,"y":0,"z":0}"#,
                r#"{"mode":"b","y":0}"#,
                r#"{"mode":"b","z":0}"#,
            ],
            &[r#"{"x":0,"mode"#, r#"{"mode":"a","y":0,"x":0"#],
        );
    }
    check(
        &json!({"type": "object", "properties": own, "required": ["mode"],
            "if": {"properties": {"mode": {"const": "a"}}},
            "then": {"properties": {"x": {"const": 0}, "y": {"const": 0}}},
            "else": {"properties": {"z": {"const": 0}}, "required": ["z"]},
            "unevaluatedProperties": false}),
        &[r#"{"mode":"a","x":0,"y":0}"#, r#"{"mode":"b","z":0}"#],
        &[r#"{"x":0"#, r#"{"mode":"b"}"#, r#"{"mode":"a","z":0"#],
    );
}

/// The shortest end of a long item is found again at each of its characters.
#[test]
fn long_items_that_differ_cost_what_they_are_long() {
    let schema = json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true,
        "minItems": 2});
    let constraint = constraint(&schema);
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(b"[\"").unwrap();
    for n in 0..1_200u32 {
        matcher.accept_bytes(&[b'a' + (n % 7) as u8]).unwrap();
        if n % 2 == 0 {
            assert!(matcher.mask_within(2_000).unwrap().contains(u32::from(b'"')));
        }
    }
    let first: String = (0..1_200u32).map(|n| char::from(b'a' + (n % 7) as u8)).collect();
    matcher.accept_bytes(b"\",\"").unwrap();
    matcher.accept_bytes(first.as_bytes()).unwrap();
    assert!(!matcher.mask().unwrap().contains(u32::from(b'"')));
    matcher.accept_bytes(b"b\"]").unwrap();
    assert!(matcher.is_accepting());
}

#[test]
fn a_quotation_that_is_too_short_has_no_value() {
    let compiler = Compiler::new(Vocabulary::from_tokens(vec![], &[], &[]).unwrap());
    let error = |schema: Value| compiler.json_schema(&schema).unwrap_err().to_string();
    let quotation = error(json!({"type": "string", "x-quote-from": "abc", "minLength": 100}));
    let pattern = error(json!({"type": "string", "pattern": "^a$", "minLength": 100}));
    assert!(quotation.contains("no value satisfies the schema"), "{quotation}");
    assert!(pattern.contains("no value satisfies the schema"), "{pattern}");
}
