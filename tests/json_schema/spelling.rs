//! Spellings of a value: white space, and one spelling or every spelling.

use maskwright::json_schema::{Options, Schema, Spelling, Whitespace};

use crate::common::{accepts, by_bytes};

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
        let constraint = by_bytes(&grammar);
        for (text, flexible, compact, any) in table {
            let expected = [flexible, compact, any][i];
            assert_eq!(accepts(&constraint, text), expected, "{whitespace:?} {text:?}");
        }
    }
}

#[test]
fn white_space_by_a_pattern() {
    let mut options = Options::default();
    options.whitespace = Whitespace::Pattern(" {0,2}".into());
    let schema = Schema::from_text(r#"{"type": "array", "items": {"const": 1}}"#).unwrap();
    let grammar = schema.grammar(&options).unwrap();
    let constraint = by_bytes(&grammar);
    for (text, accepted) in
        [("[1,1]", true), ("[  1 ,1]", true), ("[   1]", false), ("[1]\n", false)]
    {
        assert_eq!(accepts(&constraint, text), accepted, "{text}");
    }
    for (pattern, message) in
        [("x?", "more than JSON's white space"), ("[", "the white space pattern")]
    {
        options.whitespace = Whitespace::Pattern(pattern.into());
        let e = schema.grammar(&options).unwrap_err();
        assert!(e.to_string().contains(message), "{e}");
    }
}

/// Asserts the same under the options that leave a value its freedom.
fn check_any(schema: &str, accepted: &[&str], rejected: &[&str]) {
    let mut options = Options::default();
    options.spelling = Spelling::Any;
    options.whitespace = Whitespace::Any;
    let grammar = Schema::from_text(schema).and_then(|s| s.grammar(&options));
    let grammar = grammar.unwrap_or_else(|e| panic!("{schema}: {e}"));
    crate::common::check(&grammar, schema, accepted, rejected);
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
