//! Tests of operations that run out of time at every check of the clock: the next operation finds
//! everything as if that had not happened.

#![allow(clippy::unwrap_used)]

use super::{Compiler, Constraint};
use crate::deadline::with_checks;
use crate::error::ErrorKind;
use crate::json_schema::{Options, Spelling};
use crate::limits::Limits;
use crate::sample::Texts;
use crate::vocabulary::Vocabulary;

fn vocabulary() -> Vocabulary {
    let mut tokens: Vec<_> = (0..=255).map(|byte| Some(vec![byte])).collect();
    let longer = ["\",", "\": ", "abc", "12", "a\", \"", "\", \"b", ": [", "true", "  "];
    tokens.extend(longer.map(|text| Some(text.as_bytes().to_vec())));
    tokens.push(None);
    let end = tokens.len() as u32 - 1;
    Vocabulary::from_tokens(tokens, &[(end, "</s>")], &[end]).unwrap()
}

/// A schema or grammar, and a text of it.
const CASES: [(&str, &str); 7] = [
    (
        r#"{"type": "object", "properties": {"a": {"type": "string", "maxLength": 7, "pattern": "b"}},
         "additionalProperties": {"type": "integer", "multipleOf": 6}}"#,
        r#"{"a": "abc", "abc": 12}"#,
    ),
    (
        r#"{"type": "array", "uniqueItems": true, "items": {"anyOf": [{"type": "string"}, {"type":
         "number", "minimum": 3}]}}"#,
        r#"["a", 12, "abc", 3.5]"#,
    ),
    (
        r##"{"$ref": "#/$defs/t", "$defs": {"t": {"oneOf": [{"type": "array", "items": {"$ref":
         "#/$defs/t"}}, {"type": "array", "maxItems": 2}, {"type": "integer"}]}}}"##,
        "[1, [2, 12, 3], [3, 4, 5]]",
    ),
    (
        r#"{"type": "object", "patternProperties": {"^a": {"type": "boolean"}}, "minProperties": 2,
         "propertyNames": {"not": {"enum": ["ab"]}}, "required": ["b"],
         "unevaluatedProperties": false, "properties": {"b": {"const": [true]}}}"#,
        r#"{"b": [true], "abc": true}"#,
    ),
    // Numbers in every spelling: the search for exponents looks at the clock, too.
    (
        r#"{"title": "spelled", "type": "array", "items": {"multipleOf": 1.5, "maximum": 6,
         "not": {"multipleOf": 4.5}}}"#,
        "[3e0, 150E-2, -12]",
    ),
    (
        "root ::= \"a\" root \"b\" | root2 | [0-9]{2,300}\nroot2 ::= root2 \"x\" | \"12\"",
        "aa12xxbb",
    ),
    ("root ::= (\"a\" | \"ab\") (\"bc\" | \"c\")* \"!\" root?", "abcbc!abcc!"),
];

fn compile(compiler: &Compiler, text: &str) -> crate::Result<Constraint> {
    if !text.starts_with('{') {
        return compiler.gbnf(text);
    }
    let mut options = Options::default();
    if text.contains("spelled") {
        options.spelling = Spelling::Any;
    }
    compiler.clone().with_json_options(options).json_schema_str(text)
}

/// Masks along the text, before each byte; ends early where a limit does. Before each mask and
/// each byte, `again` says how many checks the next operation may make.
fn walk(constraint: &Constraint, text: &str, mut again: impl FnMut() -> u64) -> Vec<Vec<u32>> {
    let mut matcher = constraint.matcher();
    let mut masks = Vec::new();
    for byte in text.bytes() {
        // Until there is time enough.
        let mask = loop {
            match with_checks(again(), || matcher.mask().map(|mask| mask.words().to_vec())) {
                Ok(mask) => break mask,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{error}"),
            }
        };
        masks.push(mask);
        while let Err(error) = with_checks(again(), || matcher.tokens_to_finish()) {
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        }
        while let Err(error) = with_checks(again(), || matcher.accept_bytes(&[byte])) {
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        }
    }
    assert!(matcher.is_accepting(), "{text}");
    masks
}

#[test]
fn whatever_is_cut_short_is_as_before() {
    let compiler = Compiler::new(vocabulary());
    for (language, text) in CASES {
        let plain = Compiler::new(vocabulary());
        let expected = walk(&compile(&plain, language).unwrap(), text, || u64::MAX);
        // Compiling: later and later, with caches that all share.
        let mut checks = 0;
        let constraint = loop {
            match with_checks(checks, || compile(&compiler, language)) {
                Ok(constraint) => break constraint,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{error}"),
            }
            checks += 1 + checks / 8;
        };
        // Each operation: later and later, in one memory.
        let mut checks = 0;
        let masks = walk(&constraint, text, || {
            checks = if checks > 3_000 { 0 } else { checks + 1 + checks / 4 };
            checks
        });
        assert_eq!(masks, expected, "{language}");
        // The first operations fail where they can, each time in a new memory.
        for stride in [1, 3, 17, 101] {
            let mut checks = 0;
            let fresh = compile(&compiler, language).unwrap();
            let masks = walk(&fresh, text, || {
                checks += stride;
                checks
            });
            assert_eq!(masks, expected, "{language}");
        }
    }
}

#[test]
fn no_time_is_an_error_that_says_so() {
    let none = Some(std::time::Duration::ZERO);
    let limits = Limits { time_per_constraint: none, ..Limits::default() };
    let compiler = Compiler::new(vocabulary()).with_limits(limits);
    let error = compiler.regex("a+").unwrap_err();
    assert!(error.to_string().contains("`time_per_constraint`"), "{error}");
    let limits = Limits { time_per_mask: none, ..Limits::default() };
    let constraint = compiler.with_limits(limits).regex("a+").unwrap();
    let mut matcher = constraint.matcher();
    assert_eq!(matcher.mask().unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(matcher.accept_bytes(b"a").unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(matcher.steps(), 0);
}

#[test]
fn drawn_texts() {
    let compiler = Compiler::new(vocabulary());
    let mut cut = 0;
    for (text, _) in CASES {
        let constraint = compile(&compiler, text).unwrap();
        for checks in [0, 1, 3, 10, 30, 100, 1_000] {
            let mut texts = Texts::new(&constraint, checks).unwrap();
            match with_checks(checks, || texts.draw()) {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Limit, "{text}: {error}");
                    cut += 1;
                }
            }
            let drawn = texts.draw().unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut matcher = constraint.matcher();
            matcher.accept_bytes(&drawn).unwrap();
            assert!(matcher.is_accepting());
        }
    }
    assert!(cut > 10, "{cut}");
}
