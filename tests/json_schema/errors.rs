//! Schemas that are malformed or that nothing satisfies: where, why, and what to write instead.

use maskwright::ErrorKind;

use crate::{check, error};

/// A malformed schema in a corner is an error before the first token.
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
        (r#"{"dependencies": {"a": [1]}}"#, "/dependencies/a", "lists of strings"),
        (
            r#"{"$id": "a", "$schema": "https://json-schema.org/draft/2020-12/schema", "items": [1]}"#,
            "/items",
            "`items` must be a schema",
        ),
        (r#"{"maxItems": 1.5}"#, "/maxItems", "must be a non-negative integer"),
        (r#"{"pattern": "("}"#, "/pattern", "the pattern \"(\""),
        (r##"{"$ref": "#/nowhere"}"##, "/$ref", "leads nowhere"),
        (r#"{"properties": {"b": 3}}"#, "/properties/b", "a schema must be"),
        (r#"{"$id": 5}"#, "/$id", "`$id` must be a string"),
        (r#"{"$schema": null}"#, "/$schema", "`$schema` must be a string"),
        (r#"{"$anchor": "1 x"}"#, "/$anchor", "`$anchor` must be a letter or `_`, and then"),
        (r#"{"$dynamicAnchor": ""}"#, "/$dynamicAnchor", "must be a letter"),
        (r#"{"$recursiveAnchor": "x"}"#, "/$recursiveAnchor", "must be a boolean"),
        (
            r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "a#b"}"#,
            "/$id",
            "`$id` must not end in a fragment",
        ),
    ] {
        let schema = format!("{{\"properties\": {{\"x\":\n {{\"items\": {corner}}}}}}}");
        let error = compiler.json_schema_str(&schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
        let place = error.place();
        assert_eq!(place.pointer.as_deref(), Some(&*format!("/properties/x/items{pointer}")));
        assert!(
            place.line_column.is_some_and(|(line, column)| line == 2 && column > 10),
            "{error}"
        );
        assert!(error.message().contains(words), "{error}");
    }
    for (corner, words) in [
        (r#"{"minimum": 1e999999}"#, "is out of all proportion"),
        (r#"{"multipleOf": 1e-2000}"#, "beyond 1e±1000"),
    ] {
        let schema = format!("{{\"properties\": {{\"x\": {corner}}}}}");
        let error = compiler.json_schema_str(&schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.message().contains(words), "{error}");
    }
    // Where `properties` was forgotten, `id` is no name.
    assert!(compiler.json_schema_str(r#"{"items": {"id": {"type": "string"}}}"#).is_ok());
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
        (r#"{"$ref": "y.json"}"#, "give it an absolute `$id`"),
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
        (r#"{"allOf": []}"#, "/allOf", "leave it out"),
        (r#"{"anyOf": []}"#, "/anyOf", "list the schemas"),
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
        (
            r##"{"$ref": "#/$defs/app", "$defs": {"app": {"$id": "http://x/app",
                "$defs": {"name": {}}, "items": {"$ref": "#/$defs/app/$defs/name"}}}}"##,
            "/$defs/app/items/$ref",
            "did you mean `#/$defs/name`? The references in `#/$defs/app` start there",
        ),
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
