//! JSON Schemas inside other grammars accept exactly what they accept alone.

use maskwright::constraint::Formula;
use maskwright::json_schema::{Options, PropertyOrder, Schema, Spelling, Whitespace};
use maskwright::tools;
use maskwright::{Compiler, Constraint};
use serde_json::{Value, json};

use super::{accepts, compiler};

/// Bytes that may follow, and whether the text may end.
fn allowed(matcher: &mut maskwright::Matcher) -> (Vec<u32>, bool) {
    let bytes = matcher.mask().unwrap().iter().filter(|&token| token < 256).collect();
    (bytes, matcher.is_accepting())
}

/// Asserts that `whole` is `before`, what `alone` is, and `>`: the same bytes are allowed after
/// every beginning of the texts, and after what is left of them after a first mistake.
fn is_alike_inside(whole: &Constraint, before: &str, alone: &Constraint, texts: &[&str]) {
    for text in texts {
        let (mut outer, mut inner) = (whole.matcher(), alone.matcher());
        outer.accept_bytes(before.as_bytes()).unwrap();
        for (at, &byte) in text.as_bytes().iter().enumerate() {
            let (expected, ends) = allowed(&mut inner);
            let (mut bytes, _) = allowed(&mut outer);
            assert_eq!(ends, bytes.contains(&u32::from(b'>')) && ends, "{text:?} at {at}");
            if ends {
                bytes.retain(|&byte| byte != u32::from(b'>'));
            }
            assert_eq!(bytes, expected, "{text:?} at {at}");
            let (mine, other) = (outer.accept_bytes(&[byte]), inner.accept_bytes(&[byte]));
            assert_eq!(mine.is_ok(), other.is_ok(), "{text:?} at {at}");
            if mine.is_err() {
                break;
            }
        }
    }
}

/// Schemas, each with texts to follow: some are accepted, and some are not.
fn schemas() -> Vec<(Value, &'static [&'static str])> {
    vec![
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            &["{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"a\": 2}", "{\n  \"ab\": 1,\n  \"ab\": 2\n}"],
        ),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "integer"}}),
            &["[1, 2, 1]", "[1, 11]", "[]", "[\n\t1,\n\t1\n]"],
        ),
        (
            json!({"type": "array", "minItems": 2, "maxItems": 3, "items": {"enum": [1, "a"]}}),
            &["[1, 1]", "[1]", "[1, 1, 1, 1]"],
        ),
        (
            json!({"type": "array", "contains": {"const": 7}, "minContains": 2, "maxContains": 3,
                "items": {"type": "integer"}}),
            &["[7, 7]", "[7]", "[7, 1, 7, 7, 7]"],
        ),
        (
            json!({"type": "object", "minProperties": 2, "maxProperties": 3,
                "patternProperties": {"^[ab]*$": {"type": "null"}}, "additionalProperties": false}),
            &[
                "{\"a\": null}",
                "{\"a\": null, \"b\": null}",
                "{\"\": null, \"a\": null, \"b\": null, \"aa\": null}",
            ],
        ),
        (
            json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object",
                "properties": {"l": {"$ref": "#/$defs/tree"}, "r": {"$ref": "#/$defs/tree"}},
                "additionalProperties": false}}}),
            &[
                "{\"l\": {\"r\": {}}, \"r\": {}}",
                "{\"l\":{\"r\":{}},\"r\":{}}",
                "{\"r\": {\"l\": {\"l\": {}, \"l\"",
            ],
        ),
        (
            json!({"type": "object", "properties": {"s": {"type": "string", "maxLength": 3}},
                "required": ["s"], "additionalProperties": false}),
            &[
                "{\"s\": \"abc\"}",
                "{\"s\":\"abcd\"}",
                "{\"s\": \"\\u0061\"}",
                "{\"\\u0073\": \"\"}",
            ],
        ),
        (json!({"type": "integer", "maximum": 20}), &["12", "21", "-7"]),
    ]
}

/// Ways to write the same schema before `>`, with the text before it.
fn embeddings(compiler: &Compiler, schema: &Value) -> Vec<(Constraint, &'static str)> {
    let lark = |text: String| compiler.lark(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let tag = json!({"type": "structural_tag", "format": {"type": "tag", "begin": "<",
        "content": {"type": "json_schema", "json_schema": schema}, "end": ">"}});
    let json = Schema::from_value(schema).unwrap().grammar(compiler.json_options()).unwrap();
    let mut builder = maskwright::grammar::GrammarBuilder::new();
    let (open, json, close) =
        (builder.literal(b"<"), builder.embed(&json).unwrap(), builder.literal(b">"));
    let json = builder.call(json);
    let body = builder.sequence([open, json, close]);
    let start = builder.rule("start", body);
    let built = builder.finish(start).unwrap();
    let prefixed = compiler.clone().with_prefix(&built).unwrap();
    vec![
        (lark(format!("start: \"<\" %json {schema} \">\"")), "<"),
        // In a repeat, after itself.
        (lark(format!("start: (\"<\" item \">\")+\nitem: %json {schema}")), "<"),
        // At the left edge of a rule that calls itself there.
        (lark(format!("start: \"<\" list\nlist: list \">\" \"<\" | %json {schema} \">\"")), "<"),
        (compiler.compile(tools::structural_tag(&tag, compiler).unwrap()).unwrap(), "<"),
        (compiler.compile(built).unwrap(), "<"),
        (prefixed.choice(&["x"]).unwrap(), "<"),
        (
            Formula::read(
                &json!({"anyOf": [{"choice": ["no"]},
                {"lark": format!("start: \"<\" %json {schema} \">\"")}]}),
                compiler,
            )
            .and_then(|formula| formula.compile(compiler))
            .unwrap(),
            "<",
        ),
    ]
}

#[test]
fn a_schema_inside_a_grammar_is_what_it_is_alone() {
    for whitespace in [
        Whitespace::Tidy,
        Whitespace::Plain,
        Whitespace::Compact,
        Whitespace::Flexible,
        Whitespace::Indent2,
        Whitespace::IndentTab,
        Whitespace::Pattern(" ?".into()),
    ] {
        let mut options = Options::default();
        options.whitespace = whitespace.clone();
        let compiler = compiler().with_json_options(options);
        for (schema, texts) in schemas() {
            let alone = compiler.json_schema(&schema).unwrap();
            for (whole, before) in embeddings(&compiler, &schema) {
                is_alike_inside(&whole, before, &alone, texts);
            }
        }
    }
    let mut options = Options::default();
    (options.spelling, options.property_order) = (Spelling::Any, PropertyOrder::Any);
    let compiler = compiler().with_json_options(options);
    for (schema, texts) in schemas() {
        let alone = compiler.json_schema(&schema).unwrap();
        for (whole, before) in embeddings(&compiler, &schema) {
            is_alike_inside(&whole, before, &alone, texts);
        }
    }
}

#[test]
fn several_schemas_do_not_disturb_each_other() {
    // Of the same name, with the same references, after and inside of each other.
    let named = |value: &Value| {
        json!({"$id": "https://example.org/s", "$ref": "#/$defs/x", "$defs": {"x": {
            "type": "array", "uniqueItems": true, "items": value}}})
    };
    let (numbers, words) =
        (named(&json!({"type": "integer"})), named(&json!({"enum": ["a", "b"]})));
    let both = compiler()
        .lark(&format!("start: %json {numbers} \",\" %json {words} | \"(\" start \")\" start?"))
        .unwrap();
    for (text, expected) in [
        ("[1, 2],[\"a\"]", true),
        ("[1, 1],[\"a\"]", false),
        ("[1, 2],[\"a\", \"a\"]", false),
        ("[\"a\"],[\"a\"]", false),
        ("([1],[])[1],[]", true),
        ("([1],[])[1, 1],[]", false),
    ] {
        assert_eq!(accepts(&both, text), expected, "{text}");
    }
    // Options of their own.
    let schema = Schema::from_value(&json!({"type": "array", "items": {"const": 1}})).unwrap();
    let mut builder = maskwright::grammar::GrammarBuilder::new();
    let mut parts = Vec::new();
    for whitespace in [Whitespace::Compact, Whitespace::Plain] {
        for spelling in [Spelling::Canonical, Spelling::Any] {
            let mut options = Options::default();
            (options.whitespace, options.spelling) = (whitespace.clone(), spelling);
            let rule = builder.embed(&schema.grammar(&options).unwrap()).unwrap();
            parts.push(builder.call(rule));
        }
    }
    let body = builder.sequence(parts);
    let start = builder.rule("start", body);
    let constraint = compiler().compile(builder.finish(start).unwrap()).unwrap();
    assert!(accepts(&constraint, "[1,1][1.0,1e0][1, 1][1.0, 10e-1]"));
    assert!(!accepts(&constraint, "[1,1.0][1,1][1, 1][1, 1]"));
    assert!(!accepts(&constraint, "[1, 1][1,1][1, 1][1, 1]"));
    assert!(!accepts(&constraint, "[1,1][1,1][1, 1][1,1]"));
}

#[test]
fn schemas_beside_free_text_and_empty_rules() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let constraint = compiler()
        .lark(&format!("start: none? note list none?\nnone: \" \"*\nnote: /[a-z\"{{ ]*/\nlist: none %json {schema} list?"))
        .unwrap();
    for (text, expected) in [
        ("{\"a\": 1}", true),
        ("note {\"a\": 1}{\"a\": 2} ", true),
        ("{\"a\": 1, \"a\": 2}", false),
        ("{ {\"a\": 1, \"b\": 2}", true),
        ("{ {\"a\": 1, \"a\": 2}", false),
        ("note", false),
    ] {
        assert_eq!(accepts(&constraint, text), expected, "{text}");
    }
    // What cannot be written at all is left out.
    let never = compiler().lark("start: \"a\" | dead\ndead: \"b\" dead %json {\"type\": \"null\"}");
    assert!(!accepts(&never.unwrap(), "b"));
    let error = compiler().lark("start: dead\ndead: \"b\" dead %json {\"type\": \"null\"}");
    assert!(error.unwrap_err().to_string().contains("no text satisfies"));
}

#[test]
fn schemas_where_text_must_be_regular() {
    // Lark's terminals, as for every other embedded grammar.
    let error = compiler().lark("start: X & /.*/\nX: %json {\"type\": \"null\"}").unwrap_err();
    assert!(error.to_string().contains("no other grammar"), "{error}");
    let formula = |value: Value| {
        Formula::read(&value, &compiler()).and_then(|formula| formula.compile(&compiler()))
    };
    let object = json!({"type": "object", "properties": {"a": {"type": "integer"},
        "b": {"type": "array", "items": {"enum": ["x", "y"]}}}, "additionalProperties": false});
    let short = formula(json!({"allOf": [{"schema": object}, {"regex": "(?s:.{0,12})"},
        {"not": {"schema": {"type": "object", "required": ["a"],
            "properties": {"a": {"type": "integer"}}, "additionalProperties": false}}}]}))
    .unwrap();
    for (text, expected) in [
        ("{}", true),
        ("{\"b\":[\"x\"]}", true),
        ("{\"b\":[\"x\",\"x\"]}", false),
        ("{\"a\":1}", false),
        ("{\n  \"b\":\n}", false),
    ] {
        assert_eq!(accepts(&short, text), expected, "{text}");
    }
    let tree = json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}});
    for (schema, message) in [
        (tree, "not regular"),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "integer"}}),
            "not regular",
        ),
    ] {
        let error = formula(json!({"not": {"schema": schema}})).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(formula(json!({"anyOf": [{"schema": schema}, {"choice": ["a"]}]})).is_ok());
    }
}
