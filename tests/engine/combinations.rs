//! Quotations of given texts, and constraints made of constraints.
#![allow(clippy::unwrap_used)]

use maskwright::constraint::Formula;
use maskwright::json_schema::{Options, Spelling};
use maskwright::regular::QuoteBy;
use maskwright::{Compiler, Constraint, Vocabulary};
use serde_json::{Value, json};

/// Every byte, and tokens across words and within them.
fn compiler() -> Compiler {
    let words =
        ["To be", " or", "or not", "be,", " to", "o b", "ot", "\\\"", "\\n", "é", " \"", "\"}"];
    let words = words.iter().map(|word| word.as_bytes().to_vec());
    let tokens = (0..=255u8).map(|b| vec![b]).chain(words).map(Some).chain([None]).collect();
    Compiler::new(Vocabulary::from_tokens(tokens, &[(268, "</s>")], &[268]).unwrap())
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

/// The mask allows what can be accepted, after every token of some random texts.
fn masks_are_exact(constraint: &Constraint, seeds: u64) {
    for seed in 0..seeds {
        let mut random = seed;
        let mut matcher = constraint.matcher();
        for _ in 0..40 {
            let mask: Vec<u32> = matcher.mask().unwrap().iter().collect();
            let mut allowed = Vec::new();
            for token in 0..constraint.vocabulary().len() as u32 {
                if matcher.accept(token).is_ok() {
                    matcher.rollback(1).unwrap();
                    allowed.push(token);
                }
            }
            assert_eq!(mask, allowed);
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Long tokens oftener than they are many.
            let long: Vec<u32> =
                mask.iter().copied().filter(|&token| (256..268).contains(&token)).collect();
            let from = if random >> 63 == 0 && !long.is_empty() { long } else { mask };
            let token = from[(random >> 33) as usize % from.len()];
            matcher.accept(token).unwrap();
            if matcher.is_finished() {
                break;
            }
        }
    }
}

#[test]
fn a_text_is_quoted_by_words_characters_and_chunks() {
    let text = "To be, or not to be: that is the question. Été!";
    let words = compiler().quotation(&QuoteBy::Words.units(text)).unwrap();
    let characters = compiler().quotation(&QuoteBy::Characters.units(text)).unwrap();
    let chunks = compiler().quotation(&["To be, ", "or not ", "to be"]).unwrap();
    for (quote, by_word, by_character, by_chunk) in [
        ("To be", true, true, false),
        ("be, or", true, true, false),
        (" or not ", true, true, false),
        ("or not ", true, true, true),
        ("or not to be", true, true, true),
        ("o be, o", false, true, false),
        ("Ét", false, true, false),
        ("Été!", true, true, false),
        ("to be or", false, false, false),
        ("or To", false, false, false),
        ("", false, false, false),
    ] {
        assert_eq!(accepts(&words, quote), by_word, "{quote}");
        assert_eq!(accepts(&characters, quote), by_character, "{quote}");
        assert_eq!(accepts(&chunks, quote), by_chunk, "{quote}");
    }
    masks_are_exact(&words, 6);
    masks_are_exact(&characters, 6);
    masks_are_exact(&chunks, 6);
    let nothing = compiler().quotation(&QuoteBy::Words.units("")).unwrap_err();
    assert!(nothing.to_string().contains("to quote from is empty"), "{nothing}");
}

#[test]
fn a_string_is_quoted_from_a_text() {
    let text = "To be, or \"not\" to be,\nor\\é.";
    let object = |quote: Value| json!({"type": "object", "properties": {"q": quote}, "required": ["q"], "additionalProperties": false});
    let quote = |q: &str| json!({ "q": q }).to_string();
    for (schema, good, bad) in [
        (
            json!({"x-quote-from": text, "type": "string"}),
            &["or \"not\"", "be,\nor\\é", "\""][..],
            &["or not", "be, to", "o be", "", "be,\\nor"][..],
        ),
        (
            json!({"x-quote-from": {"text": text, "by": "characters"}, "type": "string"}),
            &["o be", "t\" t"],
            &["ob"],
        ),
        (json!({"x-quote-from": {"text": text}, "type": "string"}), &["To be"], &["o be"]),
        (
            json!({"x-quote-from": ["To be, ", "or \"not\" ", "to be"], "type": "string"}),
            &["or \"not\" to be"],
            &["To be"],
        ),
        // Beside other keywords, and under and, or and not.
        (
            json!({"x-quote-from": text, "type": "string", "minLength": 4, "maxLength": 5, "pattern": "^\\w"}),
            &["To be", "be, "],
            &["To", "To be,", ", or"],
        ),
        (
            json!({"anyOf": [{"const": ""}, {"type": "string", "x-quote-from": text}]}),
            &["", "To"],
            &["Tu"],
        ),
        (
            json!({"type": "string", "x-quote-from": text, "not": {"enum": ["To", "be"]}}),
            &["or", "To be"],
            &["To", "be"],
        ),
        (
            json!({"type": "string", "not": {"x-quote-from": text}}),
            &["", "Tu", "ob"],
            &["To", "To be"],
        ),
    ] {
        let constraint = compiler().json_schema(&object(schema.clone())).unwrap();
        for text in good {
            assert!(accepts(&constraint, &quote(text).replace(':', ": ")), "{schema}: {text}");
        }
        for text in bad {
            assert!(!accepts(&constraint, &quote(text).replace(':', ": ")), "{schema}: {text}");
        }
        masks_are_exact(&constraint, 2);
    }
    // Other types are not its business; a number is no quotation, and no string either.
    let open = compiler().json_schema(&json!({"x-quote-from": "a"})).unwrap();
    assert!(accepts(&open, "1") && accepts(&open, "\"a\"") && !accepts(&open, "\"b\""));
    for (value, message) in [
        (json!(7), "must be a text"),
        (json!(["a", 7]), "must be a text"),
        (json!({"text": "a", "by": "lines"}), "must be a text"),
        (json!({"by": "words"}), "must be a text"),
        (json!({"text": "a", "x": 1}), "must be a text"),
        (json!(""), "no text to quote"),
    ] {
        let error = compiler().json_schema(&object(json!({"x-quote-from": value}))).unwrap_err();
        assert_eq!(error.place().pointer.as_deref(), Some("/properties/q/x-quote-from"), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    let mut options = Options::default();
    options.spelling = Spelling::Any;
    let any = compiler().with_json_options(options);
    let quoted = json!({"type": "string", "x-quote-from": "a \u{1F600}/é \"b\"\n"});
    let constraint = any.json_schema(&quoted).unwrap();
    for (text, expected) in [
        (r#""a 😀/é""#, true),
        (r#""\u0061 \uD83D\uDE00\/\u00e9 \"b""#, true),
        (r#""\u0061 \ud83d\ude00\/\u00E9""#, true),
        (r#""\"b\u0022\n""#, true),
        (r#""\"b\"\u000a""#, true),
        (r#""\uD83D""#, false),
        (r#""\uDE00""#, false),
        (r#""\uD83D\uDE01""#, false),
        (r#""\u0062 a""#, false),
        ("\"\n\"", false),
        (r#""""#, false),
    ] {
        assert_eq!(accepts(&constraint, text), expected, "{text}");
    }
    // No escape is begun that becomes no character of the text.
    let mut matcher = constraint.matcher();
    assert!(matcher.accept_bytes(br#""\uD83D\uDE"#).is_ok());
    assert!(matcher.accept_bytes(b"1").is_err());
    assert!(constraint.matcher().accept_bytes(br#""\u1"#).is_err());
    masks_are_exact(&constraint, 4);
}

fn formula(value: Value) -> maskwright::Result<Constraint> {
    Formula::read(&value, &compiler())?.compile(&compiler())
}

#[test]
fn constraints_are_joined_by_and_or_and_not() {
    let nested = json!({"gbnf": "root ::= \"(\" root? \")\""});
    let user = json!({"schema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}});
    for (value, good, bad) in [
        (json!({"regex": "a+"}), &["a", "aa"][..], &["", "b"][..]),
        (json!({"not": {"regex": "a+"}}), &["", "b", "ab", "é"], &["a", "aa"]),
        (json!({"not": {"not": {"choice": ["x", "y"]}}}), &["x", "y"], &["", "z"]),
        (
            json!({"allOf": [{"regex": "[a-z]{1,8}"}, {"search": "o"}, {"not": {"choice": ["root"]}}]}),
            &["o", "roots", "foo"],
            &["root", "", "bar", "O"],
        ),
        (json!({"allOf": []}), &["", "anything at all"], &[]),
        (json!({"allOf": [nested]}), &["()", "(())"], &["", "(()"]),
        (json!({"anyOf": [nested, {"choice": ["none"]}]}), &["(())", "none"], &["", "non"]),
        (
            json!({"allOf": [user, {"not": {"search": "0"}}]}),
            &["{\"id\": 7}", "{\"id\": -12}"],
            &["{\"id\": 10}", "{\"id\": 0}"],
        ),
        (
            json!({"allOf": [{"quote": "To be, or not to be"}, {"regex": ".{5,}"}]}),
            &["To be", "or not"],
            &["be", "Tobe"],
        ),
        (
            json!({"allOf": [{"grammar": "semver"}, {"regex": "1.*"}]}),
            &["1.2.3"],
            &["2.0.0", "1.2"],
        ),
        (
            json!({"allOf": [{"abnf": "n = 1*DIGIT"}, {"lark": "start: /[0-9a]+/"}, {"ebnf": "s ::= [0-4]*"}]}),
            &["10", "4"],
            &["5", "a", ""],
        ),
    ] {
        let constraint = formula(value.clone()).unwrap_or_else(|e| panic!("{value}: {e}"));
        for text in good {
            assert!(accepts(&constraint, text), "{value}: {text}");
        }
        for text in bad {
            assert!(!accepts(&constraint, text), "{value}: {text}");
        }
        masks_are_exact(&constraint, 2);
    }
    // Bytes that are no text satisfy no `not`.
    let not = formula(json!({"not": {"choice": ["a"]}})).unwrap();
    assert!(not.matcher().accept_bytes(b"\xFF").is_err());
}

#[test]
fn what_is_not_regular_is_named() {
    let nested = json!({"gbnf": "root ::= \"(\" root? \")\""});
    for (value, pointer, message) in [
        (json!({"not": nested}), "/not/gbnf", "rule `root` calls itself"),
        (json!({"allOf": [{"regex": "a"}, nested]}), "/allOf/1/gbnf", "not regular"),
        (json!({"not": {"schema": {"type": "object"}}}), "/not/schema", "nest without bound"),
        (json!({"not": {"gbnf": "root ::= </s>"}}), "/not/gbnf", "special token"),
        (json!({"xor": []}), "", "`xor` is no kind of constraint"),
        (json!({"allOf": {}}), "/allOf", "a list of formulas"),
        (json!({"anyOf": [{"regex": 1}]}), "/anyOf/0/regex", "is a text"),
        (json!({"anyOf": [{"schema": {"type": "intege"}}]}), "/anyOf/0/schema/type", "intege"),
        (json!({"anyOf": [{"schema": 5}]}), "/anyOf/0/schema", "schema"),
        (json!({"anyOf": [{"regex": "("}]}), "/anyOf/0/regex", ""),
        (json!({"choice": [1]}), "/choice", "a list of texts"),
        (json!({"grammar": "nonesuch"}), "/grammar", "there is no grammar"),
        (json!([]), "", "an object with one member"),
    ] {
        let error = formula(value.clone()).unwrap_err();
        assert_eq!(error.place().pointer.as_deref(), Some(pointer), "{value}: {error}");
        assert!(error.to_string().contains(message), "{value}: {error}");
    }
    let error = formula(json!({"allOf": [{"choice": ["a"]}, {"choice": ["b"]}]})).unwrap_err();
    assert!(error.to_string().contains("no text satisfies"), "{error}");
}
