//! JSON Schema: where references lead, by draft, identifier, dynamic scope and supplied document.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::ErrorKind;
use maskwright::json_schema::{Options, Schema};

fn compile(
    schema: &str,
    documents: &[(&str, &str)],
) -> maskwright::Result<maskwright::grammar::Grammar> {
    let mut schema = Schema::from_text(schema)?;
    for (uri, text) in documents {
        schema = schema.with_document(uri, text)?;
    }
    schema.grammar(&Options::default())
}

/// Asserts that the schema, with these documents, accepts exactly those of the texts.
fn check(schema: &str, documents: &[(&str, &str)], accepted: &[&str], rejected: &[&str]) {
    let grammar = compile(schema, documents).unwrap_or_else(|e| panic!("{schema}: {e}"));
    crate::common::check(&grammar, schema, accepted, rejected);
}

#[test]
fn supplied_documents_are_reached_by_uri_by_id_and_through_each_other() {
    let documents = [
        (
            "https://example.org/a/defs.json",
            r#"{"$defs": {"n": {"type": "null"}, "m": {"$ref": "more.json"}}}"#,
        ),
        (
            "https://example.org/a/more.json",
            r#"{"$id": "https://else.where/x", "type": "boolean"}"#,
        ),
    ];
    for (reference, accepted, rejected) in [
        ("https://example.org/a/defs.json#/$defs/n", "null", "true"),
        ("https://example.org/a/defs.json#/$defs/m", "true", "null"),
        ("https://else.where/x", "true", "null"),
    ] {
        let schema = format!(r#"{{"$ref": "{reference}"}}"#);
        check(&schema, &documents, &[accepted], &[rejected]);
    }
    // Relative to the schema's own identifier.
    let schema = r#"{"$id": "https://example.org/a/root", "$ref": "defs.json#/$defs/n"}"#;
    check(schema, &documents, &["null"], &["1"]);
}

#[test]
fn metaschemas_are_at_hand() {
    check(
        r#"{"$ref": "http://json-schema.org/draft-07/schema#/definitions/nonNegativeInteger"}"#,
        &[],
        &["1"],
        &["-1", "null"],
    );
    check(
        r#"{"$ref": "https://json-schema.org/draft/2020-12/meta/core#/$defs/anchorString"}"#,
        &[],
        &[r#""a""#],
        &[r##""#a""##],
    );
}

#[test]
fn a_dynamic_reference_leads_to_the_outermost_anchor_on_the_way() {
    let tree = r##"{"$id": "https://example.org/tree", "$dynamicAnchor": "node", "type": "object",
        "properties": {"value": true, "child": {"$dynamicRef": "#node"}},
        "additionalProperties": {"type": "null"}}"##;
    let plain = r#"{"$ref": "https://example.org/tree"}"#;
    let documents = [("https://example.org/tree", tree)];
    check(
        plain,
        &documents,
        &[r#"{"child": {"child": {"value": 1}}}"#],
        &[r#"{"child": {"x": 1}}"#],
    );
    let strict = r##"{"$id": "https://example.org/strict", "$dynamicAnchor": "node",
        "$ref": "tree", "propertyNames": {"enum": ["value", "child"]}}"##;
    check(
        strict,
        &documents,
        &[r#"{"child": {"value": 1}}"#],
        &[r#"{"x": null}"#, r#"{"child": {"x": null}}"#],
    );
    // The same schema by two ways means two things.
    let both = r##"{"$id": "https://example.org/both", "properties": {
        "a": {"$ref": "strict"}, "b": {"$ref": "tree"}}, "additionalProperties": false,
        "type": "object"}"##;
    let documents = [("https://example.org/tree", tree), ("https://example.org/strict", strict)];
    check(
        both,
        &documents,
        &[r#"{"b": {"child": {"x": null}}}"#, r#"{"a": {"child": {}}}"#],
        &[r#"{"a": {"child": {"x": null}}}"#],
    );
}

#[test]
fn a_recursive_reference_leads_to_the_outermost_recursive_anchor() {
    let tree = |anchor: bool| {
        format!(
            r##"{{"$schema": "https://json-schema.org/draft/2019-09/schema",
            "$id": "https://example.org/tree", "$recursiveAnchor": {anchor}, "type": "object",
            "properties": {{"child": {{"$recursiveRef": "#"}}}},
            "additionalProperties": {{"type": "null"}}}}"##
        )
    };
    let strict = r##"{"$schema": "https://json-schema.org/draft/2019-09/schema",
        "$id": "https://example.org/strict", "$recursiveAnchor": true, "$ref": "tree",
        "propertyNames": {"enum": ["child"]}}"##;
    let loose = r#"{"child": {"x": null}}"#;
    let (with, without) = (tree(true), tree(false));
    check(strict, &[("https://example.org/tree", &with)], &[r#"{"child": {}}"#], &[loose]);
    check(strict, &[("https://example.org/tree", &without)], &[loose], &[r#"{"x": null}"#]);
}

#[test]
fn identifiers_are_those_of_schemas_alone() {
    check(
        r##"{"$id": "https://example.org/r", "$defs": {
            "listed": {"enum": [{"$id": "https://example.org/n", "$anchor": "n", "type": "null"}]},
            "unknown": {"x-keyword": {"$id": "https://example.org/n", "$anchor": "n"}},
            "real": {"$id": "n", "$anchor": "n", "type": "boolean"}},
            "allOf": [{"$ref": "n"}, {"$ref": "n#n"}]}"##,
        &[],
        &["true"],
        &["null", "1"],
    );
    // Pointers are unescaped: first per cent, then tilde.
    check(
        r##"{"$defs": {"a/b~c %": {"type": "null"}}, "$ref": "#/$defs/a~1b~0c%20%25"}"##,
        &[],
        &["null"],
        &["1"],
    );
}

#[test]
fn a_metaschema_says_which_vocabularies_count() {
    let meta = |vocabularies: &str| {
        format!(
            r#"{{"$schema": "https://json-schema.org/draft/2020-12/schema",
            "$vocabulary": {{"https://json-schema.org/draft/2020-12/vocab/core": true,
            "https://json-schema.org/draft/2020-12/vocab/applicator": true{vocabularies}}}}}"#
        )
    };
    let schema = r#"{"$schema": "https://example.org/meta", "properties": {"a": {"minimum": 5}},
        "type": "string", "additionalProperties": false}"#;
    let applicator = meta("");
    check(
        schema,
        &[("https://example.org/meta", &applicator)],
        &[r#"{"a": 1}"#, "1", r#""x""#],
        &[r#"{"b": 1}"#],
    );
    let unknown = meta(r#", "https://example.org/vocab/other": true"#);
    let e = compile(schema, &[("https://example.org/meta", &unknown)]).unwrap_err();
    assert!(e.to_string().contains("`https://example.org/vocab/other`, which is not known"), "{e}");
    let optional = meta(r#", "https://example.org/vocab/other": false"#);
    assert!(compile(schema, &[("https://example.org/meta", &optional)]).is_ok());
}

#[test]
fn what_goes_wrong_in_a_supplied_document_is_said_of_it() {
    let schema = r#"{"$ref": "https://example.org/d"}"#;
    let e = compile(schema, &[]).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Schema);
    let text = e.to_string();
    assert!(
        text.contains(
            "at /$ref: the reference leads to `https://example.org/d`, which is not supplied"
        ),
        "{e}"
    );
    let e = compile(schema, &[("https://example.org/d", "{\n \"type\": 1}")]).unwrap_err();
    assert!(
        e.to_string().starts_with("https://example.org/d:2:10: at /type: `type` must be"),
        "{e}"
    );
    let e = compile(schema, &[("https://example.org/d", "{")]).unwrap_err();
    assert!(e.to_string().starts_with("https://example.org/d:1:2: not JSON"), "{e}");
    let e = compile(schema, &[("https://example.org/d", schema)]).unwrap_err();
    assert!(
        e.to_string()
            .contains("defined as itself: https://example.org/d# → https://example.org/d#"),
        "{e}"
    );
    let e = compile(r##"{"not": {"$ref": "#"}}"##, &[]).unwrap_err();
    assert!(e.to_string().contains("the schema is defined as itself: # → #/not → #"), "{e}");
    let e = compile("true", &[("u", "1"), ("u", "2")]).unwrap_err();
    assert!(e.to_string().contains("the document `u` is supplied twice"), "{e}");
}

/// A choice that a reference leads to is of its own resource, whose dynamic anchors come first.
#[test]
fn a_choice_of_another_resource_has_its_dynamic_scope() {
    let schema = r##"{"$id": "http://x/root", "$ref": "r2#/$defs/choice", "$defs": {"r2": {"$id": "r2",
        "$defs": {"t": {"$dynamicAnchor": "t", "type": "string"},
        "choice": {"oneOf": [{"$id": "r3", "$dynamicRef": "#t",
            "$defs": {"d": {"$dynamicAnchor": "t", "type": "integer"}}}]}}}}}"##;
    check(schema, &[], &[r#""a""#], &["1"]);
}
