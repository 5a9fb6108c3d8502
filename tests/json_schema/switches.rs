//! Options that other engines have, too: closed objects, separators, excluded texts, escapes, and
//! what a schema says of them itself. Values are written by a writer of this file, and read by
//! `serde_json`.

use maskwright::json_schema::{Gaps, OneOf, Options, Schema, Spelling, Strictness, Whitespace};
use serde_json::{Value, json};

use crate::common::{accepts, accepts_by_masks, by_bytes, rejected_at};

/// Asserts that the schema accepts exactly those of the texts under the options.
fn check(options: &Options, schema: &Value, accepted: &[&str], rejected: &[&str]) {
    let grammar = Schema::from_value(schema).and_then(|schema| schema.grammar(options));
    let grammar = grammar.unwrap_or_else(|error| panic!("{schema}: {error}"));
    let constraint = by_bytes(&grammar);
    for text in accepted {
        assert_eq!(rejected_at(&constraint, text), None, "{schema} must accept {text:?}");
    }
    for text in rejected {
        assert!(!accepts(&constraint, text), "{schema} must reject {text:?}");
    }
}

fn error(options: &Options, schema: &Value) -> String {
    let grammar = Schema::from_value(schema).and_then(|schema| schema.grammar(options));
    grammar.err().unwrap_or_else(|| panic!("{schema} must not compile")).to_string()
}

fn strict() -> Options {
    let mut options = Options::default();
    options.strictness = Strictness::Closed;
    options
}

#[test]
fn named_members_close_an_object() {
    let strict = &strict();
    let person =
        json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
    check(strict, &person, &[r#"{"a": 1}"#], &[r#"{"a": 1, "b": 2}"#, "{}"]);
    check(&Options::default(), &person, &[r#"{"a": 1, "b": 2}"#], &["{}"]);
    let map = json!({"type": "object", "minProperties": 1});
    check(strict, &map, &[r#"{"b": 2}"#], &["{}"]);
    let open =
        json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"}});
    check(strict, &open, &[r#"{"a": 1, "b": null}"#], &[r#"{"a": 1, "b": 2}"#]);
    let patterns = json!({"patternProperties": {"^x": {"type": "integer"}}});
    check(strict, &patterns, &["{}", r#"{"x": 1}"#], &[r#"{"y": 1}"#]);
    // Draft 7 knows no such keyword, so that it says nothing.
    let unknown = json!({"$schema": "http://json-schema.org/draft-07/schema#",
        "allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": true});
    check(strict, &unknown, &[r#"{"a": 1}"#], &[r#"{"b": 1}"#]);
    let nested = json!({"type": "object", "additionalProperties": person});
    check(strict, &nested, &[r#"{"x": {"a": 1}}"#], &[r#"{"x": {"a": 1, "b": 2}}"#]);
}

#[test]
fn listed_items_close_an_array() {
    let strict = &strict();
    let (some, more) = (["[]", "[1]"], ["[1, 2]", "[null]"]);
    check(strict, &json!({"type": "array", "prefixItems": [{"type": "integer"}]}), &some, &more);
    check(strict, &json!({"type": "array", "items": [{"type": "integer"}]}), &some, &more);
    let all = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1});
    check(strict, &all, &["[1]", "[1, 2]"], &["[]"]);
    check(strict, &json!({"type": "array"}), &["[]", "[1]"], &["{}"]);
}

#[test]
fn schemas_of_one_value_are_closed_together() {
    let strict = &strict();
    let a = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let b = json!({"type": "object", "properties": {"b": {"type": "integer"}}});
    let (one, other) = (r#"{"a": 1}"#, r#"{"b": 1}"#);
    let (both, third) = (r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "c": 2}"#);
    for choice in ["anyOf", "oneOf"] {
        let distinct = [("a", &a), ("b", &b)].map(|(key, schema)| {
            let mut schema = schema.clone();
            schema["required"] = json!([key]);
            schema
        });
        check(strict, &json!({choice: distinct}), &[one, other], &[both, third]);
    }
    for draft in
        ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
    {
        let joined = json!({"$schema": draft, "allOf": [a, b]});
        check(strict, &joined, &[one, other, both], &[third]);
        let lone = json!({"$schema": draft, "allOf": [{"$ref": "#/definitions/a"}], "definitions": {"a": a}});
        check(strict, &lone, &[one], &[both, third]);
    }
    // The same schema alone and beside others.
    let mixed = json!({
        "properties": {
            "x": {"$ref": "#/$defs/a"},
            "y": {"$ref": "#/$defs/a", "properties": {"b": {"type": "integer"}}},
        },
        "$defs": {"a": a},
    });
    let accepted = [r#"{"x": {"a": 1}, "y": {"a": 1, "b": 2}}"#];
    let rejected = [r#"{"x": {"a": 1, "b": 2}}"#, r#"{"y": {"a": 1, "c": 2}}"#];
    check(strict, &mixed, &accepted, &rejected);
    let needs_one = json!({
        "properties": {"a": {}, "b": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    check(strict, &needs_one, &[one, other, both], &["{}", third]);
    let tree = json!({"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}});
    let accepted = [r#"{"child": {"child": {"n": 1}}}"#];
    check(strict, &tree, &accepted, &[r#"{"child": {"child": {"m": 1}}}"#]);
}

#[test]
fn conditions_stay_as_they_are() {
    let strict = &strict();
    let schema = json!({
        "properties": {"kind": {"type": "string"}, "n": {"type": "integer"}},
        "if": {"properties": {"kind": {"const": "x"}}, "required": ["kind"]},
        "then": {"required": ["n"]},
        "not": {"properties": {"n": {"const": 0}}, "required": ["n"]},
    });
    let accepted = [r#"{"kind": "x", "n": 1}"#, r#"{"kind": "y"}"#];
    let rejected = [r#"{"kind": "x"}"#, r#"{"kind": "y", "n": 0}"#, r#"{"m": 1}"#];
    check(strict, &schema, &accepted, &rejected);
    let a = json!({"properties": {"a": {}}});
    let shared = json!({"items": {"$ref": "#/$defs/a"}, "contains": {"$ref": "#/$defs/a"}, "$defs": {"a": a}});
    let message = error(strict, &shared);
    assert!(message.contains("/$defs/a") && message.contains("condition"), "{message}");
    let dynamic = json!({"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}});
    let message = error(strict, &dynamic);
    assert!(message.contains("/properties/a/$dynamicRef"), "{message}");
}

/// As Python's `json.dumps(value, indent=indent, separators=separators)` writes it.
fn dumps(value: &Value, indent: Option<&str>, separators: [&str; 2], depth: usize) -> String {
    let line = |depth: usize| indent.map_or(String::new(), |i| format!("\n{}", i.repeat(depth)));
    let around = |open: char, parts: Vec<String>, close: char| {
        if parts.is_empty() {
            format!("{open}{close}")
        } else {
            let (first, last) = (line(depth + 1), line(depth));
            let between = format!("{}{}", separators[0], line(depth + 1));
            format!("{open}{first}{}{last}{close}", parts.join(&between))
        }
    };
    match value {
        Value::Array(items) => {
            let items = items.iter().map(|item| dumps(item, indent, separators, depth + 1));
            around('[', items.collect(), ']')
        }
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| {
                let value = dumps(value, indent, separators, depth + 1);
                format!("{}{}{value}", json!(key), separators[1])
            });
            around('{', members.collect(), '}')
        }
        scalar => scalar.to_string(),
    }
}

#[test]
fn separators_are_those_of_dumps() {
    let schema = json!({"properties": {
        "a": {"type": "array", "items": {"type": ["integer", "array"]}},
        "b": {"type": "object"},
    }});
    let values = [
        json!({"a": [1, 2, []], "b": {}}),
        json!({"a": [], "b": {"k": {"m": [[3]]}, "n": " , : "}}),
        json!({}),
    ];
    let styles = [
        (None, [", ", ": "]),
        (None, [" ,", " :"]),
        (None, [",\t", ":"]),
        (Some(""), [",", ": "]),
        (Some("   "), [",", ":"]),
        (Some("\t\t"), [", ", " : "]),
    ];
    for (indent, separators) in styles {
        let mut options = Options::default();
        options.whitespace = Whitespace::Separated {
            gaps: indent.map_or(Gaps::Nothing, |indent| Gaps::Lines(indent.to_owned())),
            item_separator: separators[0].to_owned(),
            key_separator: separators[1].to_owned(),
        };
        let grammar = Schema::from_value(&schema).unwrap().grammar(&options).unwrap();
        let constraint = by_bytes(&grammar);
        for value in &values {
            let text = dumps(value, indent, separators, 0);
            assert!(accepts_by_masks(&constraint, &text), "{separators:?} {text:?}");
            for (other_indent, other) in styles {
                let other = dumps(value, other_indent, other, 0);
                assert_eq!(accepts(&constraint, &other), other == text, "{text:?} {other:?}");
            }
            // A blank more or less anywhere outside of strings.
            for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
                let more = format!("{} {}", &text[..at], &text[at..]);
                if serde_json::from_str::<Value>(&more).is_ok_and(|read| read == *value) {
                    assert!(!accepts(&constraint, &more), "{more:?}");
                }
                let fewer = text.get(at..=at).filter(|c| c.trim().is_empty());
                let fewer = fewer.map(|_| format!("{}{}", &text[..at], &text[at + 1..]));
                if let Some(fewer) = fewer
                    && serde_json::from_str::<Value>(&fewer).is_ok_and(|read| read == *value)
                {
                    assert!(!accepts(&constraint, &fewer), "{fewer:?}");
                }
            }
        }
    }
}

#[test]
fn separators_are_checked() {
    let separated = |gaps: Gaps, item: &str, key: &str| {
        let mut options = Options::default();
        options.whitespace = Whitespace::Separated {
            gaps,
            item_separator: item.to_owned(),
            key_separator: key.to_owned(),
        };
        error(&options, &json!({"type": "array"}))
    };
    for (message, wanted) in [
        (separated(Gaps::Nothing, ";", ":"), "item separator \";\""),
        (separated(Gaps::Nothing, ",", ""), "key separator \"\""),
        (separated(Gaps::Nothing, ",?", ":"), "more than `,`"),
        (separated(Gaps::Pattern("x".into()), ",", ":"), "white space pattern \"x\""),
        (separated(Gaps::Lines("--".into()), ",", ":"), "no white space"),
    ] {
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn gaps_have_a_bound() {
    let mut options = Options::default();
    options.whitespace = Whitespace::at_most(2);
    let schema = json!({"properties": {"a": {"type": "array", "items": {"type": "integer"}}}});
    let accepted = ["{\"a\":[1,  2]}", "{ \n\"a\"\t\t: [ 1\r ] }", "{  }"];
    let rejected = ["{\"a\":[1,   2]}", "{   }", " {}", "{} "];
    check(&options, &schema, &accepted, &rejected);
}

/// The examples of llguidance's `docs/json_schema.md`, and what its options say.
#[test]
fn guidance_in_a_schema() {
    let object = |guidance: Value| {
        json!({
            "x-guidance": guidance,
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        })
    };
    let options = Options::default();
    let compact = object(json!({"whitespace_flexible": false}));
    check(&options, &compact, &[r#"{"a":1,"b":2}"#, "{}"], &[r#"{"a": 1}"#, "{ }"]);
    let separated = object(json!({
        "item_separator": "\\s{0,2},\\s{0,2}",
        "key_separator": "\\s{0,2}:\\s{0,2}",
        "whitespace_flexible": false,
    }));
    let accepted = [r#"{"a":1,"b":2}"#, r#"{"a": 1, "b": 2}"#, r#"{"a"  :  1 , "b":2}"#];
    let rejected = [r#"{"a":1,   "b":2}"#, r#"{ "a":1}"#, "{\"a\":1,\u{a0}\"b\":2}"];
    check(&options, &separated, &accepted, &rejected);
    let pattern = object(json!({"whitespace_pattern": r"[\x20\x0A\x0D\x09]{2,8}"}));
    let accepted = [r#"{"a":1,"b":2}"#, "{\n\n\"a\":        1  }"];
    check(&options, &pattern, &accepted, &[r#"{"a": 1}"#, r#"{"a":         1}"#, r#"  {"a":1}"#]);
    let mut tabs = Options::default();
    tabs.whitespace = Whitespace::IndentTab;
    let flexible = object(json!({"whitespace_flexible": true}));
    check(&tabs, &flexible, &["{\n\"a\"   :1\r\n}", r#"{"a":1}"#], &["{}\n"]);
    check(&tabs, &object(json!({"lenient": false})), &["{\n\t\"a\": 1\n}"], &[r#"{"a":1}"#]);
    let inner = json!({"items": {"x-guidance": {"whitespace_flexible": false}}});
    check(&options, &inner, &["[1, 2]"], &[]);
    for (guidance, wanted) in [
        (json!({"foo": 1}), "/x-guidance/foo"),
        (json!({"whitespace_flexible": 1}), "/x-guidance/whitespace_flexible"),
        (json!({"item_separator": null}), "`item_separator` of `x-guidance` must be a string"),
        (json!([]), "must be an object"),
        (json!({"item_separator": ";"}), "item separator"),
        (json!({"json_allowed_escapes": "x"}), "no escape of a backslash and 'x'"),
    ] {
        let message = error(&options, &object(guidance));
        assert!(message.contains(wanted), "{message}");
    }
}

#[test]
fn one_of_is_exact_unless_asked() {
    let one_of = json!([{"type": "integer"}, {"type": "number"}]);
    let options = Options::default();
    check(&options, &json!({"oneOf": one_of}), &["1.5"], &["1"]);
    for guidance in [json!({"coerce_one_of": true}), json!({"lenient": true})] {
        let schema = json!({"x-guidance": guidance, "oneOf": one_of});
        check(&options, &schema, &["1.5", "1"], &["null"]);
    }
    let mut at_least = Options::default();
    at_least.one_of = OneOf::AtLeast;
    check(&at_least, &json!({"oneOf": one_of}), &["1.5", "1"], &["null"]);
    // The schema has the last word, and one of both is enough.
    let exact = json!({"x-guidance": {"coerce_one_of": false}, "oneOf": one_of});
    check(&at_least, &exact, &["1.5"], &["1"]);
    let either = json!({"coerce_one_of": false, "lenient": true});
    check(&options, &json!({"x-guidance": either, "oneOf": one_of}), &["1"], &["null"]);
    let unevaluated = json!({
        "oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}],
        "unevaluatedProperties": false,
    });
    let both = r#"{"a": 1, "b": 2}"#;
    check(&at_least, &unevaluated, &[both, r#"{"a": 1}"#], &[r#"{"c": 1}"#]);
}

#[test]
fn excluded_texts_are_nowhere() {
    let excluding = |texts: &[&str]| {
        let mut options = Options::default();
        options.excludes = texts.iter().map(|&text| text.to_owned()).collect();
        options
    };
    let bad = excluding(&["bad"]);
    let rejected = [r#""bad""#, r#""xbady""#, r#"{"bad": 1}"#, r#"[{"x": {"y": "abad"}}]"#];
    check(&bad, &json!({}), &[r#""ba d""#, r#"{"ba": "d"}"#, "[\"ba\", \"d\"]"], &rejected);
    let between = excluding(&["ab", ":", "12", "true"]);
    let accepted = [r#"{"a": 12}"#, "true", r#"["a", "b"]"#];
    check(&between, &json!({}), &accepted, &[r#""ab""#, r#"":""#, r#""12""#]);
    // Lengths, patterns and formats count beside them.
    let bc = excluding(&["bc", "cb"]);
    let lengths = json!({"type": "string", "minLength": 2, "maxLength": 3});
    check(&bc, &lengths, &[r#""ab""#, r#""abd""#], &[r#""a""#, r#""abc""#, r#""abdd""#]);
    let pattern = json!({"type": "string", "pattern": "^a[abc]*z$"});
    check(&bc, &pattern, &[r#""aabz""#], &[r#""acbz""#, r#""aab""#]);
    let email = json!({"type": "string", "format": "email"});
    check(&bc, &email, &[r#""aa@example.com""#], &[r#""bc@example.com""#, r#""aa""#]);
    let negated = json!({"not": {"type": "string", "pattern": "a"}});
    check(&bc, &negated, &[r#""b""#, "1"], &[r#""bc""#, r#""a""#, r#"{"bc": 1}"#]);
    let listed = json!({"enum": ["bad", {"text": "bad"}, {"bad": 1}, ["bad"], 42, {"k": ["ok"]}]});
    let rejected = [r#""bad""#, r#"{"text": "bad"}"#, r#"{"bad": 1}"#, r#"["bad"]"#];
    check(&bad, &listed, &["42", r#"{"k": ["ok"]}"#], &rejected);
    let names = json!({"patternProperties": {"^[a-z]*$": {"type": "integer"}}, "additionalProperties": false});
    check(&bad, &names, &[r#"{"good": 1}"#], &[r#"{"bad": 1}"#, r#"{"xbady": 1}"#]);
    let optional = json!({"properties": {"bad": {}, "good": {}}, "additionalProperties": false});
    check(&bad, &optional, &[r#"{"good": 1}"#, "{}"], &[r#"{"bad": 1}"#]);
    // What is written counts, not what is meant.
    let escape = excluding(&["n", "\\\""]);
    check(&escape, &json!({"type": "string"}), &[r#""\t""#], &[r#""\n""#, r#""\"""#]);
    let mut spelled = excluding(&["ab"]);
    spelled.spelling = Spelling::Escapes;
    check(&spelled, &json!({}), &[r#""\u0061b""#, r#"{"a\u0062": 1}"#], &[r#""ab""#]);
    let message = error(&bad, &json!({"required": ["bad"], "type": "object"}));
    assert!(message.contains("excluded"), "{message}");
    let message = error(&excluding(&[""]), &json!({}));
    assert!(message.contains("empty"), "{message}");
}

#[test]
fn masks_know_excluded_texts() {
    let mut options = Options::default();
    options.excludes = vec!["aba".to_owned(), "bab".to_owned(), "é".to_owned()];
    options.strictness = Strictness::Closed;
    let schema = json!({"properties": {"k": {"type": "string", "maxLength": 4}, "l": {}}, "minProperties": 1});
    let grammar = Schema::from_value(&schema).unwrap().grammar(&options).unwrap();
    let constraint = by_bytes(&grammar);
    for (text, accepted) in [
        (r#"{"k": "abb"}"#, true),
        (r#"{"k": "aba"}"#, false),
        (r#"{"l": {"abb": ["aab"]}}"#, true),
        (r#"{"l": {"babb": ["aab"]}}"#, false),
        ("{\"k\": \"è\"}", true),
        ("{\"k\": \"é\"}", false),
    ] {
        assert_eq!(accepts_by_masks(&constraint, text), accepted, "{text}");
    }
}

#[test]
fn escapes_are_chosen() {
    let mut options = Options::default();
    let text = json!({"type": "string"});
    let short = [r#""\n""#, r#""\"\\""#, r#""a\tb""#];
    check(&options, &text, &short, &[r#""\u0041""#, r#""\/""#]);
    options.escapes = Some("n\"\\".to_owned());
    check(&options, &text, &[short[0], short[1]], &[short[2], r#""\u0000""#]);
    options.escapes = None;
    options.spelling = Spelling::Escapes;
    let free = json!({"properties": {"a": {"type": ["string", "number"], "maxLength": 1}}});
    let accepted = [r#"{"\u0061": "\ud83d\ude00"}"#, r#"{"a": "\/"}"#, r#"{"a": "\u0041"}"#];
    let rejected = [r#"{"\u0061": "xy"}"#, r#"{"a": "\ud83d"}"#, r#"{"a": 1e0}"#];
    check(&options, &free, &accepted, &rejected);
    options.escapes = Some("nrbtf\\\"".to_owned());
    let rejected = [r#"{"\u0061": "x"}"#, r#"{"a": "\/"}"#, r#"{"a": "\u0041"}"#];
    check(&options, &free, &[r#"{"a": "\n"}"#, r#"{"b": "\n"}"#], &rejected);
    let guided = |guidance: Value| json!({"x-guidance": guidance, "type": "string"});
    let options = Options::default();
    let general = guided(json!({"json_allow_general_unicode_escapes": true}));
    check(&options, &general, &[r#""\u00e9\ud83d\ude00""#, r#""\n""#], &[r#""\/""#, r#""\ud83d""#]);
    // What the schema does not say stays the caller's.
    let mut few = Options::default();
    few.escapes = Some("\"\\".to_owned());
    check(&few, &general, &[r#""\u00e9""#, r#""\\""#], &[r#""\n""#]);
    let long = guided(json!({"json_allowed_escapes": "u"}));
    // The long form is for what must be escaped, and may not be in its short form.
    let needless =
        [r#""\u0041""#, r#""\u00e9""#, r#""\ud83d\ude00""#, r#""\u002f""#, r#""\u000A""#];
    let refused = [&needless[..], &[r#""\n""#, r#""\"""#]].concat();
    check(&options, &long, &[r#""\u000a\u001e\u0022\u005c""#], &refused);
    let some = guided(json!({"json_allowed_escapes": "\"\\nu"}));
    let refused = [&needless[..], &[r#""\u000a""#, r#""\t""#, r#""\u0022""#]].concat();
    check(&options, &some, &[r#""\n\"\\\u0009\u0001""#], &refused);
    let options_of = |escapes: &str| {
        let mut options = Options::default();
        options.escapes = Some(escapes.to_owned());
        options
    };
    let line = json!({"const": "a\nb", "title": "a"});
    check(&options_of("\"\\u"), &line, &[r#""a\u000ab""#], &[r#""a\nb""#]);
    check(&options_of("\"\\nu"), &line, &[r#""a\nb""#], &[r#""a\u000ab""#]);
    let none = guided(json!({"json_allowed_escapes": ""}));
    check(&options, &none, &[r#""a""#], &[r#""\n""#, r#""\u000a""#]);
    let null = guided(json!({"json_allowed_escapes": null}));
    check(&options, &null, &short, &[]);
}
