//! JSON Schema: what each keyword accepts, alone and with its siblings.

mod common;

use common::Naive;
use maskwright::ErrorKind;
use maskwright::json_schema::{Options, Schema, Spelling, Whitespace};

/// Asserts that the schema accepts exactly those of the texts.
fn check(schema: &str, accepted: &[&str], rejected: &[&str]) {
    let options = Options::default();
    let grammar = Schema::from_text(schema).and_then(|s| s.grammar(&options));
    let grammar = grammar.unwrap_or_else(|e| panic!("{schema}: {e}"));
    let mut matcher = Naive::new(&grammar);
    for text in accepted {
        let at = matcher.rejected_at(text);
        assert_eq!(at, None, "{schema} must accept {text}");
    }
    for text in rejected {
        assert!(!matcher.accepts(text), "{schema} must reject {text}");
    }
}

/// The error of a schema that does not compile.
fn error(schema: &str) -> maskwright::Error {
    let options = Options::default();
    match Schema::from_text(schema).and_then(|s| s.grammar(&options)) {
        Ok(_) => panic!("{schema} must not compile"),
        Err(error) => error,
    }
}

#[test]
fn any_value() {
    for schema in ["{}", "true", r#"{"title": "anything", "x-y": 1}"#] {
        check(
            schema,
            &[
                "null",
                "true",
                "0",
                "-1.50",
                "1e-07",
                r#""a""#,
                "[]",
                "{}",
                "[1, [2]]",
                r#"{"a": {"b": [null]}}"#,
                "{\n  \"a\": 1\n}",
                r#""\"\\\n\u0001é😀""#,
            ],
            &["", "nul", "01", "-", "1.", r#""\/""#, r#""\u0041""#, "[1,]", " 1", "1 ", r#"{"a"}"#],
        );
    }
}

#[test]
fn properties_in_schema_order() {
    let schema = r#"{"type": "object", "additionalProperties": false, "required": ["b"],
        "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {"type": "null"}}}"#;
    check(
        schema,
        &[
            r#"{"b": true}"#,
            r#"{"a": 1, "b": true}"#,
            r#"{"a": 1, "b": true, "c": null}"#,
            r#"{"b":false,"c":null}"#,
            "{\n    \"b\": true\n}",
        ],
        &[
            "{}",
            r#"{"a": 1}"#,
            r#"{"b": true, "a": 1}"#,
            r#"{"b": 1}"#,
            r#"{"b": true, "b": true}"#,
            r#"{"b": true,}"#,
            r#"{, "b": true}"#,
            r#"{"b": true, "d": 1}"#,
        ],
    );
}

#[test]
fn additional_properties_never_repeat_a_named_one() {
    let schema = r#"{"type": "object", "properties": {"a": {"const": 1}, "a\"b": true},
        "additionalProperties": {"type": "string"}, "required": ["z"]}"#;
    check(
        schema,
        &[r#"{"z": "x"}"#, r#"{"a": 1, "a\"b": [], "z": "x", "aa": "y", "": "z"}"#],
        &[
            r#"{"a": "x", "z": "x"}"#,
            r#"{"z": "x", "a": "1"}"#,
            r#"{"z": 1}"#,
            r#"{"z": "x", "q": 1}"#,
        ],
    );
}

#[test]
fn all_required_or_all_optional() {
    check(
        r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}},
            "additionalProperties": false}"#,
        &["{}", "{ }", r#"{"a": 1}"#, r#"{"b": 2}"#, r#"{"a": 1, "b": 2}"#],
        &[r#"{"b": 2, "a": 1}"#, r#"{"a": 1 "b": 2}"#, r#"{,}"#],
    );
    check(r#"{"type": "object", "additionalProperties": false}"#, &["{}"], &[r#"{"a": 1}"#]);
}

#[test]
fn property_counts() {
    check(
        r#"{"type": "object", "properties": {"a": true, "b": true, "c": true},
            "additionalProperties": false, "minProperties": 2, "maxProperties": 2}"#,
        &[r#"{"a": 1, "b": 1}"#, r#"{"a": 1, "c": 1}"#, r#"{"b": 1, "c": 1}"#],
        &["{}", r#"{"a": 1}"#, r#"{"a": 1, "b": 1, "c": 1}"#],
    );
    check(
        r#"{"type": "object", "minProperties": 1, "maxProperties": 2}"#,
        &[r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#],
        &["{}", r#"{"a": 1, "b": 1, "c": 1}"#],
    );
}

#[test]
fn arrays() {
    check(
        r#"{"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}"#,
        &["[1]", "[1, 2]", "[1,2,3]", "[\n  1,\n  2\n]"],
        &["[]", "[1, 2, 3, 4]", r#"["a"]"#, "[1,]", "[,1]"],
    );
    check(
        r#"{"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3},
            "maxItems": 4}"#,
        &["[]", "[1]", "[1, 2]", "[1, 2, 3]", "[1, 2, 3, 3]"],
        &["[2]", "[1, 3]", "[1, 2, 2]", "[1, 2, 3, 3, 3]"],
    );
    check(
        r#"{"type": "array", "items": [{"const": 1}, {"const": 2}], "additionalItems": false,
            "minItems": 1}"#,
        &["[1]", "[1, 2]"],
        &["[]", "[1, 2, 3]"],
    );
    check(r#"{"type": "array", "maxItems": 0}"#, &["[]"], &["[1]"]);
    check(r#"{"type": "array", "items": false}"#, &["[]"], &["[1]"]);
    check(r#"{"type": "array", "items": true, "minItems": 2}"#, &["[1, null]"], &["[1]"]);
    check(
        r#"{"type": "array", "prefixItems": [{"const": 1}, false, {"const": 3}]}"#,
        &["[]", "[1]"],
        &["[1, 2]"],
    );
}

#[test]
fn bounds_on_numbers() {
    check(
        r#"{"type": "integer", "minimum": -3, "exclusiveMaximum": 12}"#,
        &["-3", "-1", "0", "9", "11"],
        &["-4", "12", "-0", "3.0", "100", "1e+16"],
    );
    check(
        r#"{"type": "number", "minimum": 0.1, "maximum": 0.3}"#,
        &["0.1", "0.10", "0.25", "0.3", "0.300"],
        &["0.09", "0.30000000000000004", "0", "1", "-0.2", "1e-05"],
    );
    check(
        r#"{"type": "number", "exclusiveMinimum": 0}"#,
        &["0.1", "5", "1e-05", "1e+300"],
        &["0", "0.0", "-0.0", "-1", "-1e-05"],
    );
    check(r#"{"type": "number", "minimum": 0}"#, &["0", "-0.0", "0.0"], &["-0.1", "-1e-09"]);
    check(
        r#"{"type": "number", "maximum": 1e308}"#,
        &["1e+308", "9e+307", "-1.5e+308", "1"],
        &["1.1e+308"],
    );
    check(
        r#"{"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "minimum": 1,
            "exclusiveMinimum": true}"#,
        &["2", "1.1"],
        &["1", "1.0"],
    );
    check(
        r#"{"type": "number", "multipleOf": 0.01, "maximum": 2}"#,
        &["1.25", "-0.5", "2.00", "0"],
        &["0.001", "2.01", "1e-05"],
    );
    check(r#"{"type": "integer", "multipleOf": 3, "minimum": 2}"#, &["3", "12"], &["0", "4", "-3"]);
    check(r#"{"minimum": 2}"#, &["2", r#""a""#, "null", "[1]"], &["1"]);
}

#[test]
fn lengths_count_code_points() {
    check(
        r#"{"type": "string", "minLength": 2, "maxLength": 3}"#,
        &[r#""ab""#, r#""é😀""#, r#""\n\"\\""#, r#""\u0000a""#],
        &[r#""""#, r#""a""#, r#""abcd""#, r#""😀""#],
    );
}

#[test]
fn listed_values() {
    check(
        r#"{"enum": ["a\nb", 1, 2.5, true, null, [1, {"b": 2, "a": 1}], {}]}"#,
        &[r#""a\nb""#, "1", "2.5", "2.50", "true", "null", r#"[1, {"b": 2, "a": 1}]"#, "{}", "{ }"],
        &[r#""a""#, "2", "false", r#"[1, {"a": 1, "b": 2}]"#, "[]", r#"{"a": 1}"#],
    );
    check(r#"{"const": 1.0}"#, &["1", "1.0"], &["1.5", "10", "1e0"]);
    check(r#"{"const": 100000000000000000000000000}"#, &["100000000000000000000000000"], &["1"]);
    check(r#"{"const": 1e400}"#, &["1e+400"], &["1e+40"]);
    check(r#"{"enum": [1, "a"], "type": "string"}"#, &[r#""a""#], &["1"]);
    check(
        r#"{"enum": [{"a": 1}, {"a": "x"}, [1], 5], "type": "object",
            "properties": {"a": {"type": "integer"}}}"#,
        &[r#"{"a": 1}"#, r#"{"a":1}"#],
        &[r#"{"a": "x"}"#, "[1]", "5"],
    );
}

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
fn pattern_properties_and_names() {
    check(
        r#"{"type": "object", "propertyNames": {"maxLength": 2}, "properties": {"abc": true}}"#,
        &["{}", r#"{"ab": 1}"#],
        &[r#"{"abc": 1}"#, r#"{"abcd": 1}"#],
    );
    check(
        r#"{"type": "object", "properties": {"a": true, "b": true, "c": true},
            "dependentRequired": {"a": ["b"], "b": ["c"]}, "additionalProperties": false}"#,
        &["{}", r#"{"c": 1}"#, r#"{"b": 1, "c": 1}"#, r#"{"a": 1, "b": 1, "c": 1}"#],
        &[r#"{"a": 1}"#, r#"{"a": 1, "b": 1}"#, r#"{"b": 1}"#, r#"{"a": 1, "c": 1}"#],
    );
}

#[test]
fn patterns_and_formats() {
    check(
        r#"{"type": "string", "pattern": "^[a-z]+$", "maxLength": 3}"#,
        &[r#""abc""#],
        &[r#""""#, r#""abcd""#, r#""A""#],
    );
    check(r#"{"type": "string", "pattern": "\\s"}"#, &[r#""a\nb""#, r#"" ""#], &[r#""ab""#]);
    check(
        r#"{"type": "object", "properties": {"ab": {"type": "integer"}}, "patternProperties":
            {"^a": {"minimum": 3}, "b$": {"maximum": 5}}, "additionalProperties": false}"#,
        &["{}", r#"{"ab": 4}"#, r#"{"a": 9, "b": 1, "aab": 4}"#],
        &[r#"{"ab": 4.5}"#, r#"{"ab": 6}"#, r#"{"a": 2}"#, r#"{"aab": 6}"#, r#"{"c": 1}"#],
    );
    check(
        r#"{"type": "string", "format": "date-time"}"#,
        &[r#""2024-02-29T12:00:00Z""#, r#""1998-12-31T15:59:60.1-08:00""#],
        &[r#""2023-02-29T12:00:00Z""#, r#""2023-02-28""#, r#""1998-12-31T15:59:60-07:00""#],
    );
    // At most 64 characters before the commercial at (RFC 5321, section 4.5.3.1.1).
    let mail = |local: &str, n: usize| format!("\"{}@a.b\"", local.replace('*', &"a".repeat(n)));
    let quoted = |n: usize| mail(r#"\"*\\ \""#, n);
    // At most 253 behind it (RFC 1035, section 2.3.4).
    let at = |n: usize| format!("\"a@{}{}\"", "a.".repeat(100), "b".repeat(n - 200));
    check(
        r#"{"type": "string", "format": "email"}"#,
        &[&mail("*", 64), &quoted(60), &at(253)],
        &[&mail("*", 65), &quoted(61), &at(254)],
    );
    check(r#"{"type": "string", "format": "unheard-of"}"#, &[r#""x""#], &[]);
    let e = error(r#"{"not": {"type": "string", "format": "regex"}}"#);
    assert!(e.to_string().contains("at /not/format: this format is not regular"), "{e}");
    let e = error(r#"{"type": "string", "pattern": "(a)\\1"}"#);
    assert!(e.to_string().contains("at /pattern: the pattern"), "{e}");
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

#[test]
fn whitespace() {
    let schema = Schema::from_text(r#"{"type": "array", "items": {"const": 1}}"#).unwrap();
    let blanks = format!("[\n{}1]", " ".repeat(64));
    let too_many = format!("[\n{}1]", " ".repeat(65));
    let table = [
        ("[1,1]", true, true, true),
        ("[1, 1]", true, false, true),
        ("[\n  1,\n  1\n]", true, false, true),
        ("[1,\r\n1 \n ]", true, false, true),
        ("[ 1 , 1 ]", true, false, true),
        ("[\n\n1]", false, false, true),
        ("[1] ", false, false, true),
        ("\n[1]", false, false, true),
        (&blanks, true, false, true),
        (&too_many, false, false, true),
    ];
    for (i, whitespace) in
        [Whitespace::Flexible, Whitespace::Compact, Whitespace::Any].into_iter().enumerate()
    {
        let mut options = Options::default();
        options.whitespace = whitespace.clone();
        let grammar = schema.grammar(&options).unwrap();
        let mut matcher = Naive::new(&grammar);
        for (text, flexible, compact, any) in table {
            let expected = [flexible, compact, any][i];
            assert_eq!(matcher.accepts(text), expected, "{whitespace:?} {text:?}");
        }
    }
}

/// Asserts the same under the options that leave a value its freedom.
fn check_any(schema: &str, accepted: &[&str], rejected: &[&str]) {
    let mut options = Options::default();
    options.spelling = Spelling::Any;
    options.whitespace = Whitespace::Any;
    let grammar = Schema::from_text(schema).and_then(|s| s.grammar(&options));
    let grammar = grammar.unwrap_or_else(|e| panic!("{schema}: {e}"));
    let mut matcher = Naive::new(&grammar);
    for text in accepted {
        assert_eq!(matcher.rejected_at(text), None, "{schema} must accept {text}");
    }
    for text in rejected {
        assert!(!matcher.accepts(text), "{schema} must reject {text}");
    }
}

#[test]
fn every_spelling_of_strings() {
    check_any(
        r#"{"type": "string", "maxLength": 1}"#,
        &[r#""""#, r#""a""#, r#""\u0061""#, r#""\/""#, r#""\uD83D\ude00""#, r#""😀""#, r#""\t""#],
        &[
            r#""ab""#,
            r#""\u0061b""#,
            r#""\ud83d""#,
            r#""\ude00""#,
            "\"\t\"",
            r#""\x41""#,
            r#""\u004""#,
        ],
    );
    check_any(
        r#"{"enum": ["a/b", "é"]}"#,
        &[r#""a/b""#, r#""a\/b""#, r#""\u0061\u002Fb""#, r#""\u00E9""#, r#""é""#],
        &[r#""ab""#, r#""\u00e8""#],
    );
    check_any(
        r#"{"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": false}"#,
        &[r#"{"a": 1}"#, r#" { "\u0061" : 1.0 } "#],
        &[r#"{"\u0062": 1}"#, r#"{"a": 1, "\u0061": 1}"#],
    );
    check_any(
        r#"{"type": "string", "pattern": "^\\d$"}"#,
        &[r#""7""#, r#""\u0037""#],
        &[r#""\u0061""#],
    );
    check_any(
        r#"{"type": "string", "not": {"const": "a"}}"#,
        &[r#""b""#],
        &[r#""a""#, r#""\u0061""#],
    );
}

#[test]
fn every_spelling_of_numbers() {
    check_any(
        r#"{"type": "integer"}"#,
        &["1", "1.0", "-0", "1e0", "10e-1", "1.5e1", "0.0e-7", "100E-02", "1e400"],
        &["1.5", "15e-1", "1e-1", "01", "1e", "+1", "1.e1"],
    );
    check_any(
        r#"{"type": "number", "minimum": 3, "exclusiveMaximum": 5}"#,
        &["3", "3.00", "30e-1", "0.3e1", "4.999", "49999e-4"],
        &["5", "0.5e1", "2.9", "29e-1", "3e1", "-3e0"],
    );
    check_any(
        r#"{"const": 1e2}"#,
        &["100", "100.0", "1e2", "1E+2", "0.1e3", "1000e-1"],
        &["10", "1e1"],
    );
    check_any(r#"{"enum": [0]}"#, &["0", "-0", "0.00", "0e9", "-0.0E-1"], &["0.1", "1e-9"]);
    check_any(
        r#"{"type": "integer", "multipleOf": 7}"#,
        &["14", "1.4e1", "140e-1", "7e2"],
        &["1.4e0", "13e0"],
    );
    check_any(
        r#"{"type": "number", "not": {"maximum": 0.5}}"#,
        &["0.6", "6e-1", "51e-2"],
        &["5e-1", "0.5"],
    );
    check_any(
        r#"{"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer"}"#,
        &["1"],
        &["1.0", "1e0"],
    );
}

#[test]
fn white_space_by_a_pattern() {
    let mut options = Options::default();
    options.whitespace = Whitespace::Pattern(" {0,2}".into());
    let schema = Schema::from_text(r#"{"type": "array", "items": {"const": 1}}"#).unwrap();
    let grammar = schema.grammar(&options).unwrap();
    let mut matcher = Naive::new(&grammar);
    for (text, accepted) in
        [("[1,1]", true), ("[  1 ,1]", true), ("[   1]", false), ("[1]\n", false)]
    {
        assert_eq!(matcher.accepts(text), accepted, "{text}");
    }
    for (pattern, message) in
        [("x?", "more than JSON's white space"), ("[", "the white space pattern")]
    {
        options.whitespace = Whitespace::Pattern(pattern.into());
        let e = schema.grammar(&options).unwrap_err();
        assert!(e.to_string().contains(message), "{e}");
    }
}

/// What is malformed in a corner is an error before the first token.
#[test]
fn malformed_corners_are_found_when_compiling() {
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let vocabulary = maskwright::Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
    let compiler = maskwright::Compiler::new(vocabulary);
    for (corner, pointer, words) in [
        (r#"{"allOf": 5}"#, "/allOf", "`allOf` must be a non-empty array"),
        (r#"{"oneOf": []}"#, "/oneOf", "`oneOf` must be a non-empty array"),
        (r#"{"prefixItems": {}}"#, "/prefixItems", "must be a non-empty array"),
        (r#"{"multipleOf": 0}"#, "/multipleOf", "must be greater than 0"),
        (r#"{"exclusiveMinimum": "a"}"#, "/exclusiveMinimum", "must be a number"),
        (r#"{"dependentRequired": {"a": "b"}}"#, "/dependentRequired/a", "lists of strings"),
        (r#"{"maxItems": 1.5}"#, "/maxItems", "must be a non-negative integer"),
        (r#"{"pattern": "("}"#, "/pattern", "the pattern \"(\""),
        (r##"{"$ref": "#/nowhere"}"##, "/$ref", "leads nowhere"),
        (r#"{"properties": {"b": 3}}"#, "/properties/b", "a schema must be"),
    ] {
        let schema = format!("{{\"properties\": {{\"x\":\n {{\"items\": {corner}}}}}}}");
        let error = compiler.json_schema_text(&schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
        let place = error.place();
        assert_eq!(place.pointer.as_deref(), Some(&*format!("/properties/x/items{pointer}")));
        assert!(
            place.line_column.is_some_and(|(line, column)| line == 2 && column > 10),
            "{error}"
        );
        assert!(error.message().contains(words), "{error}");
    }
}

/// A `$schema` that is no draft names none.
#[test]
fn an_unknown_draft_is_none() {
    let schema = r#"{"$schema": "https://example.org/mine", "type": "object", "required": ["b"],
        "dependencies": {"b": ["c"]}, "prefixItems": [{"type": "null"}]}"#;
    check(schema, &[r#"{"b": 1, "c": 2}"#], &[r#"{"b": 1}"#, "{}"]);
}

#[test]
fn errors_name_the_keyword_and_its_place() {
    let table = [
        (r#"{"type": "strin"}"#, "line 1, column 10: at /type: `type` must be one or several of"),
        (
            "{\"properties\": {\"a\":\n {\"minLength\": -1}}}",
            "line 2, column 16: at /properties/a/minLength: `minLength` must be a non-negative integer",
        ),
        (r#"{"anyOf": []}"#, "at /anyOf: `anyOf` must be a non-empty array"),
        (r##"{"$ref": "#"}"##, "at the root: the schema is defined as itself: # → #"),
        (
            r##"{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}}}"##,
            "the schema is defined as itself: #/$defs/a →",
        ),
        (r##"{"$ref": "#/$defs/b"}"##, "the reference `#/$defs/b` leads nowhere"),
        (r#"{"$ref": "http://x/y.json"}"#, "leads to `http://x/y.json`, which is not supplied"),
        (r#"{"type": "array", "uniqueItems": 1}"#, "/uniqueItems: `uniqueItems` must be a boolean"),
        (r#"{"required": true}"#, "at /required: `required` must hold strings"),
        (r#"{"items": 1}"#, "at /items: a schema must be an object or a boolean"),
    ];
    for (schema, message) in table {
        let e = error(schema);
        assert_eq!(e.kind(), ErrorKind::Schema, "{schema}: {e}");
        assert!(e.to_string().contains(message), "{schema}: {e}");
    }
    let e = error(r#"{"type": "integer", "minimum": 1e30}"#);
    assert!(e.to_string().contains("at most 20 digits"), "{e}");
}

#[test]
fn errors_say_what_to_write_instead() {
    let table = [
        (r#"{"type": "any"}"#, "/type", "leave `type` out"),
        (r#"{"type": "int"}"#, "/type", r#"write `"type": "integer"`"#),
        (r#"{"type": ["string", "nul"]}"#, "/type/1", "did you mean `null`?"),
        (r#"{"type": "date"}"#, "/type", r#""format": "date""#),
        (
            r#"{"properties": {"a": {"required": true}}}"#,
            "/properties/a/required",
            "list the names",
        ),
        (r#"{"required": "a"}"#, "/required", r#"`"required": ["a"]`"#),
        (r#"{"enum": "a"}"#, "/enum", r#"`"enum": ["a"]`"#),
        (r#"{"minLength": "10"}"#, "/minLength", "write 10 without quotes"),
        (r#"{"additionalProperties": "false"}"#, "/additionalProperties", "false without quotes"),
        (r#"{"uniqueItems": "true"}"#, "/uniqueItems", "true without quotes"),
        (r#"{"properties": {"a": "string"}}"#, "/properties/a", r#"write `{"type": "string"}`"#),
        (r#"{"properties": {"type": "object"}}"#, "/properties/type", "`properties` holds names"),
        (r#"{"properties": {"a": null}}"#, "/properties/a", "`{}` for any value"),
        (r#"{"properties": [{"a": {}}]}"#, "/properties", "a schema for each name"),
        (r#"{"allOf": {"type": "string"}}"#, "/allOf", "square brackets"),
        (r#"{"items": "string"}"#, "/items", r#"write `{"type": "string"}`"#),
        (
            r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "minimum": 3,
                "exclusiveMinimum": true}"#,
            "/exclusiveMinimum",
            r#"write `"exclusiveMinimum": 3` and leave `minimum` out"#,
        ),
        (
            r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "items": [{}]}"#,
            "/items",
            "write `prefixItems`",
        ),
        (
            r##"{"$ref": "#/$defs/adress", "$defs": {"address": {}}}"##,
            "/$ref",
            "`#/$defs/address`?",
        ),
        (r##"{"$ref": "#/definitions/a", "$defs": {"a": {}}}"##, "/$ref", "`#/$defs/a`?"),
        (r##"{"$ref": "#$defs/a", "$defs": {"a": {}}}"##, "/$ref", "`#/$defs/a`?"),
        (r#"{"$ref": "a", "$defs": {"a": {}}}"#, "/$ref", "`#/$defs/a`?"),
        (r##"{"$ref": "#foo", "$defs": {"a": {"$anchor": "fooo"}}}"##, "/$ref", "`#fooo`?"),
    ];
    for (schema, pointer, help) in table {
        let e = error(schema);
        assert_eq!(e.kind(), ErrorKind::Schema, "{schema}: {e}");
        assert_eq!(e.place().pointer.as_deref(), Some(pointer), "{schema}: {e}");
        assert!(e.place().line_column.is_some(), "{schema}: {e}");
        assert!(e.help().is_some_and(|said| said.contains(help)), "{schema}: {e}");
    }
}

#[test]
fn what_cannot_be_counted_out_has_no_value() {
    for schema in [
        r#"{"type": "array", "contains": {"const": 1}, "minContains": 3, "maxItems": 2}"#,
        r#"{"type": "array", "contains": {"const": 1}, "minContains": 3, "maxContains": 2}"#,
        r#"{"type": "array", "contains": {"const": 1}, "maxContains": 2, "items": {"const": 1},
            "minItems": 3}"#,
        r#"{"type": "array", "prefixItems": [{"const": 2}], "contains": {"const": 1},
            "minContains": 2, "maxItems": 2}"#,
        r#"{"type": "array", "maxItems": 2, "allOf": [{"contains": {"const": 1}, "minContains": 2},
            {"contains": {"const": 2}}]}"#,
        r#"{"type": "array", "contains": {"const": 1}, "not": {"contains": {"const": 1}}}"#,
        r#"{"type": "array", "uniqueItems": true, "not": {"uniqueItems": true}}"#,
        r#"{"type": "array", "items": {"enum": [1, 1.0, "a"]}, "minItems": 3, "uniqueItems": true}"#,
        r#"{"type": "array", "items": {"type": "boolean"}, "minItems": 3, "uniqueItems": true}"#,
        r#"{"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 3}, "minItems": 4,
            "uniqueItems": true}"#,
        r#"{"type": "array", "prefixItems": [{"type": "null"}, {"type": "string"}], "items": false,
            "not": {"uniqueItems": true}}"#,
        r#"{"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 3}"#,
        r#"{"type": "object", "properties": {"a": true}, "propertyNames": {"enum": ["a", "b"]},
            "minProperties": 3}"#,
        r#"{"type": "object", "maxProperties": 1, "required": ["a"], "properties": {"a": {"const": "x"}},
            "not": {"additionalProperties": {"type": "string"}}, "propertyNames": {"maxLength": 1}}"#,
    ] {
        let e = error(schema);
        assert_eq!(e.kind(), ErrorKind::Unsatisfiable, "{schema}: {e}");
    }
    check(
        r#"{"type": "object", "propertyNames": {"enum": ["a", "b"]}, "minProperties": 1}"#,
        &[r#"{"a": 1}"#],
        &["{}", r#"{"c": 1}"#],
    );
}

#[test]
fn contradictions_name_their_keywords() {
    let table = [
        ("false", "at the root: no value satisfies the schema"),
        (
            r#"{"type": "integer", "title": "t", "minimum": 1, "maximum": 0}"#,
            "`/type`, `/minimum` and `/maximum` cannot hold together",
        ),
        (r#"{"enum": []}"#, "`/enum` rules out every value"),
        (
            r##"{"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"type": "null"}},
                "required": ["a", "b"], "$defs": {"n": {"type": "string", "enum": [1, 2]}}}"##,
            "`/type`, `/required`, `/$defs/n/type` and `/$defs/n/enum` cannot hold together",
        ),
        (
            r#"{"type": "string", "pattern": "^a{5}$", "minLength": 1, "maxLength": 4}"#,
            "column 31: at /pattern: no value satisfies the schema: `/type`, `/pattern` and \
             `/maxLength` cannot hold together",
        ),
        (
            r#"{"type": "object", "required": ["b"], "properties": {"a": true},
                "additionalProperties": false}"#,
            "`/type`, `/required` and `/additionalProperties` cannot hold together",
        ),
        (
            r#"{"type": "array", "minItems": 1, "items": false}"#,
            "`/type`, `/minItems` and `/items` cannot hold together",
        ),
        (
            r#"{"oneOf": [{"type": "string"}, {"type": "string"}]}"#,
            "`/oneOf`, `/oneOf/0/type` and `/oneOf/1/type` cannot hold together",
        ),
        (
            r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}"##,
            "`/type`, `/properties/a/$ref` and `/required` cannot hold together",
        ),
    ];
    for (schema, message) in table {
        let e = error(schema);
        assert_eq!(e.kind(), ErrorKind::Unsatisfiable, "{schema}: {e}");
        assert!(e.to_string().contains(message), "{schema}: {e}");
    }
}
