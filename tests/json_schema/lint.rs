//! Findings about schemas: effects, order, sizes, mistakes.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::json_schema::{OneOf, Options, Schema, Spelling, Strictness, Style};
use maskwright::lint::{FindingKind, Lint};

fn lint(schema: &str) -> Lint {
    Schema::from_text(schema).unwrap().lint(&Options::default())
}

/// Asserts that a finding of the kind at the pointer says so.
fn says(schema: &str, pointer: &str, kind: FindingKind, words: &str) {
    let lint = lint(schema);
    let found = lint.findings.iter().any(|finding| {
        finding.pointer == pointer && finding.kind == kind && finding.message.contains(words)
    });
    let all: Vec<String> = lint.findings.iter().map(ToString::to_string).collect();
    assert!(found, "{schema} at {pointer}: {kind:?} {words:?} is not among\n{}", all.join("\n"));
}

#[test]
fn every_keyword_has_an_effect_or_none() {
    use FindingKind::*;
    let table = [
        (r#"{"type": "string"}"#, "/type", Enforced, "with which byte"),
        (r#"{"title": "x"}"#, "/title", Annotation, "for people"),
        (r#"{"type": "string", "format": "date"}"#, "/format", Enforced, "exactly"),
        (r#"{"type": "string", "format": "regex"}"#, "/format", Enforced, "`format` is enforced"),
        (r#"{"format": "idn-hostname"}"#, "/format", Ignored, "is not enforced"),
        (r#"{"format": "regex", "pattern": "^/"}"#, "/format", Ignored, "beside `pattern`"),
        (r#"{"type": "string", "format": "house"}"#, "/format", Ignored, "not known"),
        (
            r#"{"type": "string", "format": "datetime"}"#,
            "/format",
            Hint,
            "did you mean `date-time`?",
        ),
        (r#"{"x-order": 1}"#, "/x-order", Ignored, "keyword of no draft"),
        (r#"{"then": true}"#, "/then", Ignored, "no effect without `if`"),
        (r#"{"minContains": 1}"#, "/minContains", Ignored, "no effect without `contains`"),
        (
            r#"{"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [true]}"#,
            "/prefixItems",
            Ignored,
            "not a keyword of the schema's draft",
        ),
        (
            r##"{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": true},
                "$ref": "#/definitions/a", "minLength": 2}"##,
            "/minLength",
            Ignored,
            "beside `$ref`",
        ),
        (r#"{"dependencies": {"a": ["b"]}}"#, "/dependencies", Hint, "of an older draft"),
        (r#"{"type": "array", "uniqueItems": true}"#, "/uniqueItems", Cost, "to remember"),
        (r#"{"type": "string", "maxLength": 100000}"#, "/maxLength", Cost, "100000"),
        (r#"{"type": "string", "pattern": "(a)\\1"}"#, "/pattern", Error, "backreference"),
        (
            r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
            "/$schema",
            Annotation,
            "names the draft",
        ),
        (
            r#"{"$schema": "http://json-schema.org/draft-7/schema#"}"#,
            "/$schema",
            Hint,
            "did you mean `http://json-schema.org/draft-07/schema#`?",
        ),
        (r#"{"$schema": "https://example.org/mine"}"#, "/$schema", Hint, "as if it named none"),
    ];
    for (schema, pointer, kind, words) in table {
        says(schema, pointer, kind, words);
    }
}

/// Leftovers of other notations, other drafts and haste in schemas.
const HABITS: &[(&str, &str, &str)] = &[
    (r#"{"type": "string", "nullable": true}"#, "/nullable", "`\"type\": [\"…\", \"null\"]`"),
    (r#"{"oneOf": [{}], "discriminator": {}}"#, "/discriminator", "`const`"),
    (r#"{"type": "string", "example": "x"}"#, "/example", "`examples`"),
    (r#"{"type": "integer", "min": 3}"#, "/min", "write `minimum`"),
    (r#"{"type": "object", "name": {"type": "string"}}"#, "/name", "put it into `properties`?"),
    (r#"{"type": "integer", "format": "int32"}"#, "/format", "`type` is `integer`"),
    (r#"{"type": "string", "format": "datetime"}"#, "/format", "did you mean `date-time`?"),
    (r#"{"type": "string", "format": "password"}"#, "/format", "it is for forms"),
    (r#"{"type": "string", "minimum": 3}"#, "/minimum", "did you mean `minLength`?"),
    (r#"{"type": "array", "maxLength": 3}"#, "/maxLength", "did you mean `maxItems`?"),
    (r#"{"type": "array", "required": ["a"]}"#, "/required", "put it into `items`?"),
    (r#"{"type": "integer", "enum": ["1", 2]}"#, "/enum/0", "did you mean it without quotes?"),
    (r#"{"enum": ["a", "b", "a"]}"#, "/enum/2", "listed twice"),
    (r#"{"type": ["string", "null"], "enum": ["a"]}"#, "/enum", "did you mean to list `null`?"),
    (r#"{"type": "string", "default": 5}"#, "/default", "the schema does not accept it"),
    (r#"{"type": "string", "examples": ["a", 5]}"#, "/examples/1", "the schema does not accept it"),
    (r#"{"const": "a", "enum": ["a", "b"]}"#, "/enum/1", "other keywords of the schema refuse it"),
    (r#"{"type": "string", "pattern": "^\\d{5}|\\d{9}$"}"#, "/pattern", "^(?:\\d{5}|\\d{9})$"),
    (r#"{"type": "string", "pattern": "/^a+$/"}"#, "/pattern", "slashes"),
    (r#"{"type": "string", "pattern": "/^a$/i"}"#, "/pattern", "flags after them"),
    (
        r#"{"type": "object", "patternProperties": {"x_": {"type": "null"}}}"#,
        "/patternProperties/x_",
        "every name that contains",
    ),
    (
        r#"{"type": "object", "properties": {"size": {"type": "null"}}, "additionalProperties": false,
            "dependentRequired": {"size": ["siez"]}}"#,
        "/dependentRequired/size/0",
        "did you mean `size`?",
    ),
    (
        r#"{"type": "object", "propertyNames": {"type": "integer"}}"#,
        "/propertyNames",
        "names of members are strings",
    ),
    (
        r#"{"type": "object", "allOf": [
            {"properties": {"a": {"type": "null"}}, "additionalProperties": false},
            {"properties": {"b": {"type": "null"}}}]}"#,
        "/allOf/0/additionalProperties",
        "did you mean `unevaluatedProperties`",
    ),
    (
        r##"{"type": "object", "$ref": "#/$defs/a", "properties": {"b": {"type": "null"}},
            "additionalProperties": false, "$defs": {"a": {"properties": {"c": {"type": "null"}}}}}"##,
        "/additionalProperties",
        "forbids what `$ref` describes",
    ),
    (
        r#"{"type": "object", "properties": {"a": {"type": "string"}},
            "if": {"properties": {"a": {"const": "x"}}}, "then": {"minProperties": 2}}"#,
        "/if",
        "holds for objects without `a`, too",
    ),
    (
        r#"{"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]}"#,
        "/oneOf",
        "did you mean `anyOf`?",
    ),
    (
        r#"{"type": "object", "properties": {"a": {"type": "integer", "minimum": 3, "maximum": 2}}}"#,
        "/properties/a",
        "such a member is never written: `/properties/a/type`, `/properties/a/minimum` and \
         `/properties/a/maximum` cannot hold together",
    ),
];

#[test]
fn common_mistakes_are_recognised() {
    let table = [
        (r#"{"properties": {"a": true}}"#, "", r#"add `"type": "object"`"#),
        (r#"{"items": {"minimum": 3}}"#, "/items", r#"add `"type": "number"`"#),
        (
            r#"{"type": "object", "properties": {"name": true}, "required": ["nmae"]}"#,
            "/required/0",
            "did you mean `name`?",
        ),
        (r#"{"type": "object", "properties": {"a": true}}"#, "/properties", "additionalProperties"),
        (r#"{"type": "string", "maxLenght": 3}"#, "/maxLenght", "did you mean `maxLength`?"),
        (r#"{"type": "string", "pattern": "[a-z]+"}"#, "/pattern", "did you mean `^` and `$`?"),
        (r#"{"type": "string", "pattern": "^[a-z]+"}"#, "/pattern", "a `$` at its end"),
        (
            r#"{"type": "string", "enum": ["a", 1]}"#,
            "/enum/1",
            "1 is listed, but `type` allows `string` alone",
        ),
        (
            r#"{"oneOf": [{"type": "integer"}, {"type": "number"}]}"#,
            "/oneOf/0",
            "did you mean `anyOf`?",
        ),
        (
            r#"{"type": "object", "properties": {"a": {"type": "string", "minLength": 3, "maxLength": 2}}}"#,
            "/properties/a",
            "no value satisfies this schema",
        ),
    ];
    for (schema, pointer, words) in table.into_iter().chain(HABITS.iter().copied()) {
        says(schema, pointer, FindingKind::Hint, words);
    }
    says(
        r#"{"oneOf": [{"minimum": 3}, {"type": "integer"}]}"#,
        "/oneOf",
        FindingKind::Cost,
        "branches 0 and 1 overlap",
    );
    // And none where there is none.
    let clean = lint(
        r#"{"type": "object", "properties": {"a": {"type": "string", "pattern": "^a$"}},
            "required": ["a"], "additionalProperties": false}"#,
    );
    assert!(clean.findings.iter().all(|f| f.kind != FindingKind::Hint), "{:?}", clean.findings);
}

/// Schemas that ask for what such mistakes look like get no hint.
#[test]
fn what_is_meant_is_no_mistake() {
    for schema in [
        r#"{"type": ["string", "null"], "enum": ["a", null], "default": "a"}"#,
        r#"{"type": ["integer", "string"], "minimum": 3, "minLength": 1, "pattern": "^(a|b)$"}"#,
        r#"{"type": "object", "patternProperties": {"^x_": {"type": "null"}, ".*": true},
            "additionalProperties": false}"#,
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}},
            "required": ["a"], "if": {"properties": {"a": {"const": "x"}}},
            "then": {"required": ["b"]}, "additionalProperties": false}"#,
        r#"{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false,
            "anyOf": [{"properties": {"a": {"const": "x"}}}, {"required": ["a"]}]}"#,
        r#"{"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}"#,
        r#"{"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}}"#,
        // What the schema around a part says need not be said again in it.
        r#"{"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "x": {"type": "null"}},
            "required": ["kind"], "additionalProperties": false, "oneOf": [
                {"properties": {"kind": {"const": "a"}}, "required": ["kind", "x"]},
                {"properties": {"kind": {"const": "b"}}}]}"#,
        r#"{"type": "object", "properties": {"country": {"type": "string"}, "zip": {"type": "string"}},
            "required": ["country"], "additionalProperties": false, "allOf": [
                {"if": {"properties": {"country": {"const": "US"}}},
                 "then": {"properties": {"zip": {"pattern": "^[0-9]{5}$"}}}}]}"#,
        r#"{"type": "object", "required": ["type"], "oneOf": [
            {"properties": {"type": {"const": "a"}, "x": {"type": "null"}}},
            {"properties": {"type": {"const": "b"}, "y": {"type": "null"}}},
            {"properties": {"type": {"const": "c"}, "z": {"type": "null"}}}]}"#,
        r#"{"type": "array", "items": {"type": "object"}, "contains": {"required": ["a"]}}"#,
    ] {
        let hints = lint(schema).findings;
        let hints: Vec<_> = hints.iter().filter(|f| f.kind == FindingKind::Hint).collect();
        assert!(hints.is_empty(), "{schema}: {hints:?}");
    }
    // Where references lead is no keyword without effect.
    says(
        r##"{"$ref": "#/shared/a", "shared": {"a": {"type": "null"}}}"##,
        "/shared",
        FindingKind::Annotation,
        "references lead into it",
    );
}

/// Keywords whose effect depends on their value, on a keyword beside them, or on an option.
#[test]
fn effects_are_those_of_the_schema_and_the_options() {
    let said = |schema: &str, options: &Options, pointer: &str| -> Vec<(FindingKind, String)> {
        let findings = Schema::from_text(schema).unwrap().lint(options).findings;
        let here = findings.into_iter().filter(|finding| finding.pointer == pointer);
        here.map(|finding| (finding.kind, finding.message)).collect()
    };
    let (usual, mut strict, mut coerced) =
        (Options::default(), Options::default(), Options::default());
    strict.strictness = Strictness::Closed;
    coerced.one_of = OneOf::AtLeast;
    let twice =
        r#"{"type": "array", "uniqueItems": false, "contains": {"const": 1}, "minContains": 0}"#;
    let one = |kind, words: &str, found: Vec<(FindingKind, String)>| {
        assert!(found.len() == 1 && found[0].0 == kind && found[0].1.contains(words), "{found:?}");
    };
    one(FindingKind::Annotation, "may come twice", said(twice, &usual, "/uniqueItems"));
    one(FindingKind::Enforced, "need not hold", said(twice, &usual, "/contains"));
    let open = r#"{"type": "object", "properties": {"a": {}}}"#;
    assert_eq!(said(open, &usual, "/properties").len(), 2);
    one(FindingKind::Enforced, "members", said(open, &strict, "/properties"));
    let named = r#"{"properties": {"a": {}}, "required": ["a", "b"]}"#;
    one(FindingKind::Hint, "none can have it", said(named, &strict, "/required/1"));
    let either = r#"{"oneOf": [{"type": "integer"}, {"type": "number"}]}"#;
    one(FindingKind::Enforced, "as `anyOf` does", said(either, &coerced, "/oneOf"));
    assert!(!said(either, &usual, "/oneOf/0").is_empty());
    assert!(said(either, &coerced, "/oneOf/0").is_empty());
    let guided = r#"{"type": "object", "x-guidance": {"whitespace_flexible": false}}"#;
    one(FindingKind::Annotation, "llguidance", said(guided, &usual, "/x-guidance"));
    // What a reference needs is not hidden by it, and what is ignored has no effects inside.
    let old = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a",
        "definitions": {"a": {"type": "string"}}, "minLength": 3}"##;
    one(FindingKind::Annotation, "names the draft", said(old, &usual, "/$schema"));
    one(FindingKind::Annotation, "references", said(old, &usual, "/definitions"));
    one(FindingKind::Enforced, "begin", said(old, &usual, "/definitions/a/type"));
    one(FindingKind::Ignored, "hides", said(old, &usual, "/minLength"));
    assert!(said(r#"{"if": {"const": 1}}"#, &usual, "/if/const").is_empty());
    let typed = r#"{"type": "integer", "properties": {"a": {"format": "date"}}}"#;
    assert!(said(typed, &usual, "/properties/a/format").is_empty());
}

#[test]
fn sizes_are_those_of_json_in_one_spelling() {
    let schema = r#"{"type": "object", "properties": {"é": {"type": "null"}}, "required": ["é"],
        "additionalProperties": false}"#;
    let size = |options: &Options| {
        let lint = Schema::from_text(schema).unwrap().lint(options);
        (lint.least_bytes, lint.most_bytes)
    };
    let (mut escaped, mut styled) = (Options::default(), Options::default());
    escaped.spelling = Spelling::Escapes;
    styled.style = Style::named("qwen_xml").unwrap();
    assert_eq!(size(&Options::default()), (Some(11), Some(11)));
    assert_eq!((size(&escaped), size(&styled)), ((None, None), (None, None)));
}

/// A schema that compiles has no error, though a whole grammar could not say it.
#[test]
fn what_needs_memory_is_no_error() {
    for schema in [
        r#"{"type": "array", "uniqueItems": true}"#,
        r#"{"type": "array", "contains": {"const": 1}, "minContains": 3, "maxContains": 5}"#,
    ] {
        let lint = lint(schema);
        assert!(lint.error.is_none(), "{schema}: {:?}", lint.error);
        assert!(lint.least_bytes.is_some(), "{schema}");
    }
}

/// Neither long schemas nor long counts keep anybody waiting; there is no place that is wrong.
#[test]
fn many_findings_have_their_places() {
    let lines: Vec<String> =
        (0..20_000).map(|i| format!("\"p{i}\": {{\"type\": \"null\"}}")).collect();
    let schema = format!("{{\"properties\": {{\"é\": true,\n{}}}}}", lines.join(",\n"));
    let findings = lint(&schema).findings;
    for (i, line) in [(0, 2), (1, 3), (19_999, 20_001)] {
        let place = format!("/properties/p{i}/type");
        let found = findings.iter().find(|finding| finding.pointer == place).unwrap();
        let column = format!("\"p{i}\": {{\"type\": ").len() + 1;
        assert_eq!(found.line_column, Some((line, column)));
    }
    let repeats = r#"{"type": "string", "pattern": "^(?:(?:[a-z]{1,100}){1,100}){1,100}$"}"#;
    assert!(lint(repeats).error.is_none());
}

#[test]
fn places_and_order() {
    let lint = lint("{\"type\": \"object\",\n \"properties\": {\"b\": true, \"a\": true}}");
    let order = lint.findings.iter().find(|f| f.kind == FindingKind::Order).unwrap();
    assert_eq!(order.line_column, Some((2, 16)));
    assert!(order.message.contains("`b`, `a`"), "{}", order.message);
    assert!(order.to_string().starts_with("2:16: /properties: order: members are written"));
    // What is said of a place stands together, in the order of the text.
    let places: Vec<_> = lint.findings.iter().map(|finding| finding.line_column).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn sizes() {
    let table = [
        ("true", Some(1), None),
        (r#"{"const": "abc"}"#, Some(5), Some(5)),
        (r#"{"type": "boolean"}"#, Some(4), Some(5)),
        (r#"{"type": "string", "maxLength": 2}"#, Some(2), Some(14)),
        (
            r#"{"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 3}"#,
            Some(5),
            None,
        ),
        (
            r#"{"type": "object", "properties": {"a": {"enum": ["x", "yy"]}, "b": {"type": "null"}},
                "required": ["a"], "additionalProperties": false}"#,
            Some(9),
            None,
        ),
        (r##"{"type": "array", "items": {"$ref": "#"}}"##, Some(2), None),
        ("false", None, None),
    ];
    for (schema, least, most) in table {
        let lint = lint(schema);
        assert_eq!(lint.least_bytes, least, "{schema}");
        if let Some(most) = most {
            assert_eq!(lint.most_bytes, Some(most), "{schema}");
        }
    }
    // An upper bound that no text exceeds.
    let bounded = lint(r#"{"type": "array", "items": {"const": 1}, "maxItems": 3}"#);
    assert!((7..20).contains(&bounded.most_bytes.unwrap()), "{:?}", bounded.most_bytes);
    assert_eq!(lint(r#"{"type": "array", "items": {"const": 1}}"#).most_bytes, None);
    let refused = lint(r#"{"type": "strin"}"#);
    assert_eq!((refused.least_bytes, refused.most_bytes), (None, None));
    assert_eq!(refused.error.unwrap().place().pointer.as_deref(), Some("/type"));
}

/// Schemas that the compiler refuses are refused here, too, by the same error; no others are.
#[test]
fn what_does_not_compile_is_an_error() {
    for schema in [
        r#"{"type": "array", "contains": {"type": "integer"}, "minContains": 100000}"#,
        r#"{"type": "string", "minLength": 3, "maxLength": 2}"#,
        r#"{"type": "string", "minLength": 3}"#,
    ] {
        let bytes = (0..=255).map(|byte| Some(vec![byte])).collect();
        let vocabulary = maskwright::Vocabulary::from_tokens(bytes, &[], &[]).unwrap();
        let compiled = maskwright::Compiler::new(vocabulary).json_schema_str(schema);
        let refused = compiled.and_then(|c| c.matcher().mask().map(drop)).err();
        let lint = lint(schema);
        assert_eq!(lint.error, refused, "{schema}");
        let said = lint.findings.iter().any(|finding| finding.kind == FindingKind::Error);
        assert_eq!(said, refused.is_some(), "{schema}");
    }
}

#[test]
fn all_that_is_malformed_is_said() {
    let schema = r##"{"type": "objct", "required": "a", "minLength": -1,
        "properties": {"a": {"type": "int", "items": 3}, "b": {"$ref": "#/nowhere"},
            "c": {"allOf": [], "anyOf": [{"pattern": "("}]}}}"##;
    let lint = lint(schema);
    let errors = lint.findings.iter().filter(|finding| finding.kind == FindingKind::Error);
    let pointers: Vec<&str> = errors.map(|finding| &*finding.pointer).collect();
    assert_eq!(
        pointers,
        [
            "/type",
            "/required",
            "/minLength",
            "/properties/a/type",
            "/properties/a/items",
            "/properties/b/$ref",
            "/properties/c/allOf",
            "/properties/c/anyOf/0/pattern",
        ]
    );
}

#[test]
fn older_meanings_are_said() {
    for (schema, pointer, words) in [
        (r#"{"type": "array", "items": [{"type": "null"}]}"#, "/items", "`prefixItems`"),
        (
            r#"{"type": "integer", "minimum": 3, "exclusiveMinimum": true}"#,
            "/exclusiveMinimum",
            "the bound itself",
        ),
    ] {
        says(schema, pointer, FindingKind::Hint, words);
        let declared =
            schema.replacen('{', r#"{"$schema": "http://json-schema.org/draft-04/schema#","#, 1);
        assert!(lint(&declared).findings.iter().all(|f| !f.message.contains("older draft")));
    }
    // Enforced in every draft, though the later ones have no such keyword.
    let declared = r#"{"$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object", "dependencies": {"a": ["b"]}}"#;
    says(
        declared,
        "/dependencies",
        FindingKind::Hint,
        "of an older draft and keeps its old meaning; in",
    );
}

#[test]
fn wrappers_of_schemas_are_recognised() {
    for (schema, at) in [
        (r#"{"name": "f", "parameters": {"type": "object"}}"#, "`/parameters`"),
        (r#"{"name": "f", "strict": true, "schema": {"type": "object"}}"#, "`/schema`"),
        (r#"{"name": "f", "input_schema": {"type": "object"}}"#, "`/input_schema`"),
        (
            r#"{"type": "function", "function": {"name": "f", "parameters": {}}}"#,
            "`/function/parameters`",
        ),
        (
            r#"{"type": "json_schema", "json_schema": {"name": "f", "schema": {}}}"#,
            "`/json_schema/schema`",
        ),
    ] {
        says(schema, "", FindingKind::Hint, at);
    }
    let own = r#"{"type": "object", "properties": {"name": {}, "parameters": {}}}"#;
    assert!(lint(own).findings.iter().all(|finding| !finding.message.contains("wrap")));
}

#[test]
fn parts_of_objects_are_not_to_be_closed() {
    let open = |schema: &str, pointer: &str| {
        let all = lint(schema).findings;
        let hint = "did you mean to add `\"additionalProperties\": false`?";
        all.iter().any(|finding| finding.pointer == pointer && finding.message.contains(hint))
    };
    let base = r##""$defs": {"b": {"type": "object", "properties": {"x": {"type": "null"}}}}"##;
    for (uses, harmful) in [
        (r##""$ref": "#/$defs/b", "unevaluatedProperties": false"##, true),
        (r##""allOf": [{"$ref": "#/$defs/b"}], "properties": {"y": {}}"##, true),
        (r##""allOf": [{"$ref": "#/$defs/b"}, {"required": ["x"]}]"##, true),
        (r##""allOf": [{"$ref": "#/$defs/b"}]"##, false),
        (r##""properties": {"y": {"$ref": "#/$defs/b"}}, "additionalProperties": false"##, false),
        (r##""oneOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]"##, false),
    ] {
        let schema = format!("{{{uses}, {base}}}");
        assert_eq!(open(&schema, "/$defs/b/properties"), !harmful, "{schema}");
    }
}

#[test]
fn sizes_are_tight() {
    for (schema, sizes) in [
        (r#"{"type": "integer", "minimum": 0, "maximum": 255}"#, (1, Some(3))),
        (r#"{"type": "integer", "minimum": -100, "maximum": 99}"#, (1, Some(4))),
        (r#"{"enum": [1, 25, -3]}"#, (1, Some(2))),
        (r#"{"const": 12345}"#, (5, Some(5))),
        (r#"{"enum": ["a", 15, {"a": 1}]}"#, (2, Some(7))),
        // Zeros may follow: `1.50`.
        (r#"{"const": 1.5}"#, (3, None)),
        // `[1,1,1]`
        (
            r#"{"type": "array", "items": {"type": "integer"}, "contains": {}, "minContains": 3}"#,
            (7, None),
        ),
        // `["abc","abc"]`, and no more of them
        (
            r#"{"type": "array", "items": {"const": "abc"}, "contains": {"type": "string"},
                "minContains": 2, "maxContains": 4}"#,
            (13, Some(25)),
        ),
        (r#"{"type": "array", "contains": {"const": "abc"}, "minContains": 2}"#, (13, None)),
    ] {
        let lint = lint(schema);
        assert_eq!((lint.least_bytes, lint.most_bytes), (Some(sizes.0), sizes.1), "{schema}");
    }
}

/// As many remarks as schemas, each found at once.
#[test]
fn long_chains_of_references_are_looked_through() {
    let chain: Vec<String> = (0..20_000)
        .map(|i| format!(r##""a{i}": {{"$ref": "#/$defs/a{}", "title": "x"}}"##, i + 1))
        .collect();
    let schema =
        format!(r##"{{"$ref": "#/$defs/a0", "$defs": {{{}, "a20000": {{}}}}}}"##, chain.join(","));
    let lint = lint(&schema);
    assert!(lint.error.unwrap().message().contains("by reference"));
    assert!(lint.findings.len() > 40_000);
    // A member that a reference forbids is told all the same.
    says(
        r##"{"type": "object", "properties": {"a": {"$ref": "#/$defs/never"}},
            "$defs": {"never": {"allOf": [{"type": "null"}, {"type": "string"}]}}}"##,
        "/properties/a",
        FindingKind::Hint,
        "such a member is never written",
    );
}
