//! Keywords that speak of one value: types, bounds, members, items, texts, lists of values.

use crate::{check, error};

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
                r#"{"a":1}"#,
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
            r#"{"b":true}"#,
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
        &["{}", r#"{"a":1}"#, r#"{"a": 1}"#, r#"{"b": 2}"#, r#"{"a": 1, "b": 2}"#],
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
        &["[1]", "[1, 2]", "[1,2,3]"],
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
        &[r#""a\nb""#, "1", "2.5", "2.50", "true", "null", r#"[1, {"b": 2, "a": 1}]"#, "{}"],
        &[r#""a""#, "2", "false", r#"[1, {"a": 1, "b": 2}]"#, "[]", r#"{"a": 1}"#],
    );
    check(r#"{"const": 1.0}"#, &["1", "1.0"], &["1.5", "10", "1e0"]);
    check(r#"{"const": 100000000000000000000000000}"#, &["100000000000000000000000000"], &["1"]);
    check(r#"{"const": 1e400}"#, &["1e+400"], &["1e+40"]);
    // Numbers in exponent form are those of the other alternative.
    let union = r#"{"anyOf": [{"type": "integer"}, {"type": "number", "minimum": 0.5}]}"#;
    check(union, &["-3", "0.5", "1.5e+30"], &["-1.5e+30", "1e-05", "0.1"]);
    let union = r#"{"anyOf": [{"multipleOf": 2}, {"enum": [1e-10]}]}"#;
    check(union, &["4", "1e-10"], &["3", "1e-09"]);
    let neither = r#"{"type": "number", "not": {"type": "integer"}}"#;
    check(neither, &["0.5"], &["1e+30", "3"]);
    check(r#"{"enum": [1, "a"], "type": "string"}"#, &[r#""a""#], &["1"]);
    check(
        r#"{"enum": [{"a": 1}, {"a": "x"}, [1], 5], "type": "object",
            "properties": {"a": {"type": "integer"}}}"#,
        &[r#"{"a": 1}"#, r#"{"a":1}"#],
        &[r#"{"a": "x"}"#, "[1]", "5"],
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
    // At most 253 after it (RFC 1035, section 2.3.4).
    let at = |n: usize| format!("\"a@{}{}\"", "a.".repeat(100), "b".repeat(n - 200));
    check(
        r#"{"type": "string", "format": "email"}"#,
        &[&mail("*", 64), &quoted(60), &at(253)],
        &[&mail("*", 65), &quoted(61), &at(254)],
    );
    check(r#"{"type": "string", "format": "unheard-of"}"#, &[r#""x""#], &[]);
    check(
        r#"{"type": "string", "format": "regex", "minLength": 2, "not": {"const": "[a-b]"}}"#,
        &[r#""[a-c]""#, r#""(a)\\1""#, r#""[é-ê]""#, r#""aé""#],
        &[r#""[b-a]""#, r#""\\a""#, r#""(?i)a""#, r#""a""#, r#""é""#, r#""[a-b]""#],
    );
    check(
        r#"{"anyOf": [{"type": "string", "format": "regex"}, {"const": "(?"}, {"type": "null"}]}"#,
        &[r#""(?:)""#, r#""(?""#, "null"],
        &[r#""(""#, r#""(?:""#, "1"],
    );
    check(
        r#"{"type": "string", "format": "regex", "enum": ["a", "(", "[a-b]"]}"#,
        &[r#""a""#, r#""[a-b]""#],
        &[r#""(""#, r#""b""#],
    );
    check(
        r#"{"anyOf": [{"type": "string", "format": "regex"}, {"type": "string", "format": "date"}]}"#,
        &[r#""2024-02-29""#, r#""(a)""#, r#""2024-0""#],
        &[r#""2024-02-29(""#, r#"")""#],
    );
    // An annotation there.
    check(
        r#"{"type": "string", "format": "regex", "pattern": "^/.*/$"}"#,
        &[r#""/(a)/""#, r#""/(/""#],
        &[r#""(a)""#],
    );
    for (schema, place) in [
        (r#"{"type": "string", "not": {"format": "regex"}}"#, "/not"),
        (r#"{"type": "string", "allOf": [{"format": "regex"}, {"maxLength": 3}]}"#, ""),
    ] {
        let e = error(schema);
        assert!(e.to_string().contains("`regex` cannot be enforced together"), "{e}");
        assert_eq!(e.place().pointer.as_deref(), Some(place), "{schema}");
    }
    check(r#"{"type": "string", "format": "idn-hostname"}"#, &[r#""x""#], &[]);
    // Hyphens in the third and fourth place are reserved, whatever is in the second.
    check(
        r#"{"type": "string", "format": "hostname"}"#,
        &[r#""a-b""#, r#""a.bc-d--e""#, r#""u--x""#],
        &[r#""ab--c""#, r#""u---I""#, r#""a.xn--b""#, r#""-a""#, r#""a-""#],
    );
    let e = error(r#"{"not": {"type": "string", "format": "idn-hostname"}}"#);
    assert!(e.to_string().contains("at /not/format: this format is not enforced"), "{e}");
    let e = error(r#"{"type": "string", "pattern": "(a)\\1"}"#);
    assert!(e.to_string().contains("at /pattern: the pattern"), "{e}");
}

/// A `$schema` that is no draft names none.
#[test]
fn an_unknown_draft_is_none() {
    let schema = r#"{"$schema": "https://example.org/mine", "type": "object", "required": ["b"],
        "dependencies": {"b": ["c"]}, "prefixItems": [{"type": "null"}]}"#;
    check(schema, &[r#"{"b": 1, "c": 2}"#], &[r#"{"b": 1}"#, "{}"]);
}
