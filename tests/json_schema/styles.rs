//! Styles of tool arguments: what each of them writes.

use maskwright::Constraint;
use maskwright::json_schema::{Options, Schema, Style, Whitespace};

use crate::common;

fn options(style: &str) -> Options {
    let mut options = Options::default();
    options.style = Style::named(style).expect("a style");
    options
}

fn constraint(style: &str, schema: &str) -> Constraint {
    by(&options(style), schema)
}

fn by(options: &Options, schema: &str) -> Constraint {
    let grammar = Schema::from_text(schema).and_then(|schema| schema.grammar(options));
    common::by_bytes(&grammar.unwrap_or_else(|error| panic!("{schema}: {error}")))
}

/// Asserts that a schema in a style accepts exactly those of the texts.
fn check(style: &str, schema: &str, accepted: &[&str], rejected: &[&str]) {
    check_by(&options(style), schema, accepted, rejected);
}

fn check_by(options: &Options, schema: &str, accepted: &[&str], rejected: &[&str]) {
    let constraint = by(options, schema);
    for text in accepted {
        let at = common::rejected_at(&constraint, text);
        assert!(at.is_none(), "{schema} rejects {text:?} at {at:?}");
        assert!(common::accepts(&constraint, text), "{schema} lacks {text:?}");
        assert!(common::accepts_by_masks(&constraint, text), "{schema} masks {text:?}");
    }
    for text in rejected {
        assert!(!common::accepts(&constraint, text), "{schema} accepts {text:?}");
    }
}

#[test]
fn qwen_writes_parameters_one_by_one() {
    let schema = r#"{
        "type": "object",
        "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": false
    }"#;
    check(
        "qwen_xml",
        schema,
        &[
            "<parameter=city>\nRome\n</parameter>\n<parameter=days>\n3\n</parameter>",
            "<parameter=city>\nRome\n</parameter>",
            "<parameter=city>Rome</parameter><parameter=days>3</parameter>",
            "<parameter=city>\na \"b\"\\ \n <b>\n</parameter>",
            "<parameter=city>\n\n\n\n</parameter>",
            "<parameter=city></param\n</parameter>",
        ],
        &[
            "",
            "<parameter=days>\n3\n</parameter>",
            "<parameter=days>\n3\n</parameter>\n<parameter=city>\nRome\n</parameter>",
            "<parameter=city>\n\n</parameter>",
            "<parameter=city>\n</parameter>",
            "<parameter=city>Rome</parameter> <parameter=days>3</parameter>",
            "<parameter=city>\nRome\n</parameter>\n",
            "<parameter=city>\nRome\n</parameter>\n<parameter=days>\nthree\n</parameter>",
            "<parameter=city>a</parameter>b</parameter>",
            "<parameter=city>Rome</parameter><parameter=city>Rome</parameter>",
        ],
    );
}

#[test]
fn keys_without_a_name_and_empty_arguments() {
    let schema = r#"{
        "type": "object",
        "properties": {"a": {"const": 1}},
        "additionalProperties": {"type": "string", "pattern": "^x"},
        "maxProperties": 2
    }"#;
    check(
        "qwen_xml",
        schema,
        &[
            "",
            "<parameter=a>1</parameter>",
            "<parameter=b>x</parameter>",
            "<parameter=a>1</parameter>\n<parameter=b\"\\>\nx</p>\n</parameter>",
            "<parameter=b>x</parameter><parameter=c>xx</parameter>",
        ],
        &[
            "<parameter=a>2</parameter>",
            "<parameter=b>y</parameter>",
            "<parameter=b>x</parameter><parameter=b>x</parameter>",
            "<parameter=b>x</parameter><parameter=a>1</parameter>",
            "<parameter=b>x</parameter><parameter=c>x</parameter><parameter=d>x</parameter>",
            "\n",
        ],
    );
    check("qwen_xml", r#"{"type": "object", "maxProperties": 0}"#, &[""], &["<"]);
    check("qwen_xml", "true", &["", "<parameter=>{\"a\": 1}</parameter>"], &["{}", "1"]);
}

#[test]
fn whitespace_of_the_options_stands_in_gaps() {
    let schema = r#"{"properties": {"a": {"type": "object"}, "s": {"enum": ["p", " q"]}}}"#;
    let mut options = options("qwen_xml");
    options.whitespace = Whitespace::Any;
    check_by(
        &options,
        schema,
        &[
            " \n\t",
            " <parameter=a> \n { \"k\" :\t1 } \n</parameter> \n <parameter=s>\np\n</parameter> ",
            "<parameter=s> q</parameter>",
        ],
        &["<parameter=s>  q</parameter>", "<parameter =s>p</parameter>"],
    );
}

#[test]
fn what_a_style_cannot_spell() {
    let error = |style: &str, schema: &str| {
        let grammar = Schema::from_text(schema).and_then(|s| s.grammar(&options(style)));
        grammar.map(|_| ()).expect_err(schema).to_string()
    };
    let found = error("qwen_xml", r#"{"type": "string"}"#);
    assert!(found.contains("the style `qwen_xml` can write no value"), "{found}");
    for schema in [
        r#"{"required": ["a>b"]}"#,
        r#"{"required": ["a"], "properties": {"a": {"const": "</parameter>"}}}"#,
        r#"{"required": ["a"], "properties": {"a": {"type": "string", "pattern": "</parameter>"}}}"#,
    ] {
        let found = error("qwen_xml", schema);
        assert!(found.contains("can write no value"), "{found}");
    }
    check(
        "qwen_xml",
        r#"{"properties": {"a": {"enum": ["</parameter>", "b"]}}, "required": ["a"]}"#,
        &["<parameter=a>b</parameter>"],
        &["<parameter=a></parameter></parameter>"],
    );
    assert!(Style::named("xml").is_err_and(|error| error.to_string().contains("qwen_xml")));
    let _ = constraint("json", "true");
}
