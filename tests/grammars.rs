//! The grammars that come with the program: each accepts and rejects what its examples say, and
//! agrees with a real parser of its format.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use maskwright::{Compiler, Constraint, ErrorKind, Vocabulary, ebnf};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn compiler() -> Compiler {
    let tokens = (0..=255u8).map(|b| Some(vec![b])).chain([None, None]).collect();
    let special = [(256, "</s>"), (257, "<tool>")];
    Compiler::new(Vocabulary::from_tokens(tokens, &special, &[256]).unwrap())
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

#[test]
fn examples_are_accepted_and_rejected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars");
    for (name, text) in ebnf::GRAMMARS {
        let constraint = compiler().gbnf(text).unwrap();
        for (kind, expected) in [("accept", true), ("reject", false)] {
            let examples =
                std::fs::read_to_string(folder.join(format!("{name}.{kind}.txt"))).unwrap();
            assert!(examples.lines().count() > 5);
            for example in examples.lines() {
                assert_eq!(accepts(&constraint, example), expected, "{name}: {example:?}");
            }
        }
    }
}

/// A random text of the grammar, byte by byte; steps to the end as soon as it may once it is long.
fn sample(constraint: &Constraint, random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let (mut matcher, mut text) = (constraint.matcher(), Vec::new());
    for step in 0..400 {
        if matcher.is_accepting() && (step > 40 || random.random_ratio(1, 8)) {
            return Some(text);
        }
        let bytes: Vec<u8> = matcher.expected().unwrap().bytes.iter().collect();
        // Closing bytes more often than their share, so that texts end.
        let closing: Vec<u8> = bytes.iter().copied().filter(|b| b"\"}])".contains(b)).collect();
        let from = if !closing.is_empty() && random.random_ratio(1, 2) { &closing } else { &bytes };
        let &byte = from.get(random.random_range(0..from.len().max(1)))?;
        matcher.accept_bytes(&[byte]).unwrap();
        text.push(byte);
    }
    None
}

#[test]
fn json_agrees_with_serde_json_on_samples_and_near_misses() {
    let constraint = compiler().gbnf(ebnf::builtin("json").unwrap()).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut texts, mut accepted) = (0, 0);
    while texts < 2_000 {
        let Some(mut text) = sample(&constraint, &mut random) else { continue };
        if texts % 2 == 1 && !text.is_empty() {
            let at = random.random_range(0..text.len());
            text[at] = b"{}[],:\"\\0-.eu 1"[random.random_range(0..15)];
        }
        let Ok(text) = String::from_utf8(text) else { continue };
        texts += 1;
        let ours = accepts(&constraint, &text);
        accepted += usize::from(ours);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(_) => assert!(ours, "{text:?}"),
            // serde_json refuses lone surrogates and numbers beyond a double, which RFC 8259
            // leaves to the reader.
            Err(e)
                if ["surrogate", "out of range", "hex escape"]
                    .iter()
                    .any(|w| e.to_string().contains(w)) => {}
            Err(e) => assert!(!ours, "{text:?}: {e}"),
        }
    }
    assert!(accepted > 900 && accepted < 1_900, "{accepted}");
}

#[test]
fn syntax() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("root ::= \"a\" | \"b\"\n  | \"c\"", &["a", "b", "c"], &["", "ab"]),
        ("root ::= (\"a\"\n \"b\")+ # twice\n\n# end", &["ab", "abab"], &["", "aba"]),
        ("root ::= [a-c]{2,3}", &["ab", "abc"], &["a", "abca"]),
        ("root ::= x{2,}\nx ::= \"é\" | .", &["éé", "aé😀"], &["é"]),
        ("root ::= [^a\\]\\-]", &["b", "é"], &["a", "]", "-", ""]),
        ("root ::= [a-]", &["a", "-"], &["b"]),
        ("root ::= \"\\x41\\u00e9\\U0001F600\\n\"", &["Aé😀\n"], &["A"]),
        (
            "root ::= list\nlist ::= list \",\" item | item\nitem ::= [0-9]+",
            &["1", "1,22,3"],
            &["1,", ","],
        ),
        ("root ::= \"line\nbreak\" (\n\"a\")", &["line\nbreaka"], &["line"]),
        ("root::=\"a\"?\"b\"*", &["", "a", "abb"], &["aa"]),
    ];
    for (grammar, yes, no) in cases {
        let constraint = compiler().gbnf(grammar).unwrap();
        for (texts, expected) in [(yes, true), (no, false)] {
            for text in *texts {
                assert_eq!(accepts(&constraint, text), expected, "{grammar:?} on {text:?}");
            }
        }
    }
}

#[test]
fn special_tokens_by_name_and_id() {
    for grammar in ["root ::= <tool> \"a\"", "root ::= <[257]> \"a\""] {
        let mut matcher = compiler().gbnf(grammar).unwrap().matcher();
        assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [257]);
        matcher.accept(257).unwrap();
        matcher.accept(97).unwrap();
        assert!(matcher.is_accepting());
    }
    let error = compiler().gbnf("root ::= <other>").unwrap_err();
    assert!(error.to_string().contains("`<other>`"), "{error}");
}

#[test]
fn errors_have_a_place_and_a_cure() {
    let deep = format!("root ::= {}", "(".repeat(100_000));
    let repeats = format!("root ::= x{}\nx ::= \"a\" x?", "*".repeat(100_000));
    let cases = [
        ("root ::= \"a", (1, 10), "not closed"),
        ("root ::= a\nb ::= \"b\"", (1, 10), "never defined"),
        ("root ::= (\"a\"", (1, 14), "expected `)`"),
        ("root = \"a\"", (1, 6), "expected `::=`"),
        ("root ::= [b-a]", (1, 11), "ends before"),
        ("root ::= \"\\q\"", (1, 11), "unknown escape"),
        ("root ::= \"a\"{3,2}", (1, 13), "exceeds"),
        ("root ::= \"a\"{x}", (1, 14), "expected a number"),
        ("root ::= *", (1, 10), "nothing to repeat"),
        ("root ::= !<a>", (1, 10), "negated"),
        ("root ::= \"a\"\nroot ::= \"b\"", (2, 1), "twice"),
        ("root ::= \"a\" & \"b\"", (1, 14), "unexpected"),
        ("é ::= \"a\"", (1, 1), "name of a rule"),
        ("\nb ::= \"é\"\na ::= (b |\n  \"é\" [é] c)", (4, 11), "never defined"),
        ("b ::= \"a\"", (1, 1), "no rule `root`"),
        ("", (1, 1), "no rule `root`"),
        (&repeats, (1, 211), "200 repeats"),
        (&deep, (1, 210), "nest"),
    ];
    for (grammar, place, message) in cases {
        let error = ebnf::gbnf(grammar).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Grammar);
        assert_eq!(error.place().line_column, Some(place), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    let empty = compiler().gbnf("root ::= \"a\" root").unwrap_err();
    assert_eq!(empty.kind(), ErrorKind::Unsatisfiable);
}

/// Time and memory grow with the text, not with its square.
#[test]
fn long_grammars_are_read_in_passing() {
    let chain: String = (0..50_000).map(|i| format!("r{i} ::= \"a\" r{} [b]\n", i + 1)).collect();
    for text in [
        format!("root ::= r0\n{chain}r50000 ::= \"b\""),
        format!("root ::= {}\"b\"", "\"a\" | ".repeat(50_000)),
        format!("root ::= {}", "[ab] ".repeat(50_000)),
        format!("root ::= \"b\" | {}", "\"é\" root ".repeat(50_000)),
        format!("root ::= [{}]", "ab".repeat(50_000)),
    ] {
        let grammar = ebnf::gbnf(&text).unwrap();
        assert!(grammar.languages().len() < 1_000_000, "{}", grammar.languages().len());
    }
}
