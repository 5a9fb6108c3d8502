//! Random patterns against their definition, the `regex` crate, and an ECMAScript engine.

use maskwright::regular::{self, Anchoring, Dialect, JsonString, Languages, Utf8};
use proptest::prelude::*;

use crate::definition::{Anchor, Atom, Pattern, patterns};
use crate::{all_strings, cases, in_json, options};

/// Random patterns of this size need no more; one that does has found something.
const STATES: usize = 400_000;

/// Both anchorings and both spellings of `pattern` agree with `is_match`.
fn agree(
    dialect: Dialect,
    pattern: &str,
    texts: &[String],
    is_match: impl Fn(Anchoring, &str) -> bool,
) -> Result<(), TestCaseError> {
    let fail = |e: maskwright::Error| TestCaseError::fail(format!("/{pattern}/: {e}"));
    for anchoring in [Anchoring::Whole, Anchoring::Search] {
        let mut l = Languages::new();
        l.set_limit(STATES);
        let options = options(dialect, anchoring);
        let raw = regular::parse(&mut l, pattern, options, &Utf8).map_err(fail)?;
        let json = regular::parse(&mut l, pattern, options, &JsonString).map_err(fail)?;
        for text in texts {
            let expected = is_match(anchoring, text);
            let found = l.matches(raw, text.as_bytes()).map_err(fail)?;
            prop_assert_eq!(found, expected, "/{}/ {:?} on {:?}", pattern, anchoring, text);
            let found = l.matches(json, in_json(text).as_bytes()).map_err(fail)?;
            prop_assert_eq!(found, expected, "/{}/ {:?} on {:?} in JSON", pattern, anchoring, text);
        }
    }
    Ok(())
}

fn agree_with_regex(pattern: &str, texts: &[String]) -> Result<(), TestCaseError> {
    let whole = ::regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
    let search = ::regex::Regex::new(pattern).unwrap();
    agree(Dialect::Rust, pattern, texts, |anchoring, text| match anchoring {
        Anchoring::Whole => whole.is_match(text),
        Anchoring::Search => search.is_match(text),
    })
}

fn agree_with_regress(pattern: &str, texts: &[String]) -> Result<(), TestCaseError> {
    let whole = regress::Regex::with_flags(&format!("^(?:{pattern})$"), "u").unwrap();
    let search = regress::Regex::with_flags(pattern, "u").unwrap();
    agree(Dialect::Ecma, pattern, texts, |anchoring, text| match anchoring {
        Anchoring::Whole => whole.find(text).is_some(),
        Anchoring::Search => search.find(text).is_some(),
    })
}

/// With a backtracking engine that has look-around, atomic groups and possessive repeats.
fn agree_with_fancy(pattern: &str, texts: &[String]) -> Result<(), TestCaseError> {
    // Lookbehinds of some shapes are too much for it.
    let Ok(whole) = fancy_regex::Regex::new(&format!(r"\A(?:{pattern})\z")) else { return Ok(()) };
    let search = fancy_regex::Regex::new(pattern).unwrap();
    agree(Dialect::Rust, pattern, texts, |anchoring, text| match anchoring {
        Anchoring::Whole => whole.is_match(text).unwrap(),
        Anchoring::Search => search.is_match(text).unwrap(),
    })
}

fn agree_with_definition(
    dialect: Dialect,
    pattern: &Pattern,
    texts: &[String],
) -> Result<(), TestCaseError> {
    agree(dialect, &pattern.to_string(), texts, |anchoring, text| {
        let text: Vec<char> = text.chars().collect();
        match anchoring {
            Anchoring::Whole => pattern.matches_whole(&text),
            Anchoring::Search => pattern.is_found_in(&text),
        }
    })
}

/// Ours refuses a lookbehind that looks ahead.
fn is_refused(pattern: &Pattern) -> bool {
    let ahead = |part: &Pattern| match part {
        Pattern::Anchor(anchor) => !matches!(anchor, Anchor::Start),
        Pattern::Look { behind, .. } => !behind,
        _ => false,
    };
    pattern
        .any(&|part| matches!(part, Pattern::Look { body, behind: true, .. } if body.any(&ahead)))
}

const fn atom(text: &'static str, holds: fn(char) -> bool) -> Atom {
    Atom { text, holds }
}

const LETTERS: &[Atom] = &[
    atom("a", |c| c == 'a'),
    atom("b", |c| c == 'b'),
    atom(".", |c| c != '\n'),
    atom("[^a]", |c| c != 'a'),
    atom("\\W", |c| !c.is_ascii_alphanumeric()),
    atom("\\n", |c| c == '\n'),
];

/// Not compared with their definition, so they have none.
const UNICODE: &[Atom] = &[
    atom("é", |_| false),
    atom("[α-ω]", |_| false),
    atom("\\w", |_| false),
    atom("\\d", |_| false),
    atom("\\s", |_| false),
    atom("(?i:k)", |_| false),
    atom("\\p{Greek}", |_| false),
    atom("[^\\x00-\\x7F]", |_| false),
    atom("😀", |_| false),
    atom("\"", |_| false),
    atom("(?s:.)", |_| false),
];

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn look_around_means_its_definition(pattern in patterns(LETTERS, true)) {
        prop_assume!(!is_refused(&pattern));
        agree_with_definition(Dialect::Ecma, &pattern, &all_strings(&["a", "b", " "], 4))?;
        agree_with_definition(Dialect::Ecma, &pattern, &all_strings(&["a", "\n"], 5))?;
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn patterns_mean_what_the_regex_crate_says(pattern in patterns(LETTERS, false)) {
        let pattern = pattern.to_string();
        agree_with_regex(&pattern, &all_strings(&["a", "b", "\n"], 5))?;
        agree_with_regex(&pattern, &all_strings(&["a", " ", "é"], 4))?;
    }

    #[test]
    fn unicode_patterns_mean_what_the_regex_crate_says(pattern in patterns(UNICODE, false)) {
        let alphabet = ["é", "λ", "K", "😀", "\"", " ", "٣", "\n", "\u{212A}"];
        agree_with_regex(&pattern.to_string(), &all_strings(&alphabet, 3))?;
    }

    #[test]
    fn look_around_means_what_fancy_regex_says(pattern in patterns(LETTERS, true)) {
        let repeats_empty =
            |part: &Pattern| matches!(part, Pattern::Repeat { body, .. } if body.may_be_empty());
        prop_assume!(!is_refused(&pattern) && !pattern.any(&repeats_empty));
        agree_with_fancy(&pattern.to_string(), &all_strings(&["a", "b", " "], 4))?;
    }

    #[test]
    fn patterns_mean_what_an_ecmascript_engine_says(pattern in patterns(LETTERS, true)) {
        // Anchors take no quantifier in ECMA-262 but groups around them do. The engine runs out
        // of memory on some repeats of what may be empty.
        let repeats_empty =
            |part: &Pattern| matches!(part, Pattern::Repeat { body, .. } if body.may_be_empty());
        prop_assume!(!is_refused(&pattern) && !pattern.any(&repeats_empty));
        agree_with_regress(&pattern.to_string(), &all_strings(&["a", "b", " "], 4))?;
    }
}

/// Pieces of patterns with atomic groups and possessive repeats among them.
const ATOMIC: &[&str] = &[
    "a*+",
    "b++",
    "[ab]*+",
    "(?>a)",
    "(?>ab|b)",
    "(?>a|ab)",
    "(?>a{1,2})",
    "(?>a?)",
    "(?>a*?)",
    "a",
    "b",
    "a?",
    "(?:a|b)",
    "(?=a)",
    "(?!b)",
    "(?:a++b)*",
    "(?>[ab]{2})",
    ".",
];

proptest! {
    #![proptest_config(cases(500))]

    /// Accepted patterns mean what a backtracking engine matches; syntax that would change the
    /// language
    /// is refused by name.
    #[test]
    fn atomic_groups_mean_what_fancy_regex_says(pieces in prop::collection::vec(prop::sample::select(ATOMIC), 1..5)) {
        let pattern = pieces.concat();
        let options = options(Dialect::Rust, Anchoring::Whole);
        let texts = all_strings(&["a", "b", "c"], 5);
        for anchoring in [Anchoring::Whole, Anchoring::Search] {
            let mut l = Languages::new();
            match regular::parse(&mut l, &pattern, regular::Options { anchoring, ..options }, &Utf8) {
                Ok(language) => {
                    let (open, close) = if anchoring == Anchoring::Whole { (r"\A", r"\z") } else { ("", "") };
                    let other = fancy_regex::Regex::new(&format!("{open}(?:{pattern}){close}")).unwrap();
                    for text in &texts {
                        let found = l.matches(language, text.as_bytes()).unwrap();
                        prop_assert_eq!(found, other.is_match(text).unwrap(), "/{}/ {:?} on {:?}", &pattern, anchoring, text);
                    }
                }
                Err(error) => prop_assert!(error.message().contains("atomic"), "/{}/: {}", &pattern, error),
            }
        }
    }
}

/// Syntax that does not change the language is accepted, syntax that does is refused by name.
#[test]
fn possessive_marks_and_backreferences() {
    for pattern in [
        "a*+b",
        "a++",
        "[a-y]*+z",
        "\"[^\"]*+\"",
        "(?>a|b)c",
        "(?>a{3})a",
        "(?>ab|cd)*",
        "(?>[0-9]+)x",
        "\\w++ ",
        "(?:a*+b)*",
        "a*?b",
        "a+?",
        "a??b",
        "a{2,3}?",
        "(?U)a*",
        "x(?>a*)(?!a)",
        "(?>a?)b",
    ] {
        let mut l = Languages::new();
        let parsed =
            regular::parse(&mut l, pattern, options(Dialect::Rust, Anchoring::Whole), &Utf8);
        assert!(parsed.is_ok(), "/{pattern}/: {parsed:?}");
        agree_with_fancy(pattern, &all_strings(&["a", "b", " ", "x"], 4)).unwrap();
    }
    for (pattern, place, message) in [
        ("a*+a", 1, "changes what is matched"),
        ("x[ab]++b", 5, "changes what is matched"),
        ("(?>a|ab)c", 0, "may change what is matched"),
        ("(?>a*?)b", 0, "may change what is matched"),
        ("a?+b", 1, "repeats a repeat to others"),
        ("a{2}+", 1, "repeats a repeat to others"),
        (r"(a)\1", 3, "backreference"),
        (r"(?<x>a)\k<x>", 7, "backreference"),
        ("(?P<x>a)(?P=x)", 8, "backreference"),
        ("(a)?(?(1)b|c)", 4, "conditional group"),
        (r"\N{DIGIT ONE}", 0, "by name"),
        ("(?=a)b(?<", 9, "unclosed"),
        ("x(?=", 1, "unclosed"),
        ("(?<=a(?=b))c", 5, "lookahead inside a lookbehind"),
    ] {
        let mut l = Languages::new();
        let error =
            regular::parse(&mut l, pattern, options(Dialect::Rust, Anchoring::Whole), &Utf8)
                .unwrap_err();
        assert!(error.message().contains(message), "/{pattern}/: {error}");
        assert_eq!(error.place().byte, Some(place), "/{pattern}/: {error}");
    }
}

/// Counters in the tens of thousands cost no more than small ones.
#[test]
fn large_counts_are_cheap() {
    let mut l = Languages::new();
    let options = options(Dialect::Rust, Anchoring::Whole);
    let pattern = "(?:[a-z]{1,20000}[0-9]{30000}){0,50000}";
    let language = regular::parse(&mut l, pattern, options, &Utf8).unwrap();
    assert!(l.len() < 100, "{}", l.len());
    assert!(!l.matches(language, b"abc0123").unwrap());
    assert!(l.len() < 1_000, "{}", l.len());
    let text = format!("{}{}", "x".repeat(20_000), "7".repeat(30_000));
    assert!(l.matches(language, text.as_bytes()).unwrap());
    let text = format!("{}{}", "x".repeat(20_001), "7".repeat(30_000));
    assert!(!l.matches(language, text.as_bytes()).unwrap());
}

/// Patterns that the random ones do not reach.
#[test]
fn assertions_of_the_regex_crate() {
    let texts = all_strings(&["a", " ", "\n", "\r"], 4);
    let unicode = all_strings(&["é", "a", " ", "-"], 3);
    for pattern in [
        r"(?m)^a$",
        r"(?m)a$.^a",
        r"(?Rm)^a",
        r"(?Rm)a$",
        r"(?Rm)^$",
        r"(?Rm:^|a)\r",
        r"(?R)a$",
        r"\Aa\z",
        r"a\z|\A\s",
        r"\b{start}a",
        r"a\b{end}",
        r"\b{start-half}\s",
        r"\s\b{end-half}",
        r"(?-u:\b)é",
        r"\bé",
        r"é\B",
        r"(?-u:\B)é",
        r"(?-u:\b{start})a",
        r"(?-u:\b{end-half})-",
        r"(?:^|\s)a(?:\s|$)",
        r"(?:a$|^\s){2}",
        r"(^a|\s)*$",
        r"^*a",
        r"a$\n",
        r"a|^\s$",
        r"[[:^alpha:]&&[^\s]]",
        r"[\w--a]",
        r"(?x: a b* )",
        r"(?U)a+a",
        r"",
        r"a||\s",
    ] {
        agree_with_regex(pattern, &texts).unwrap();
        agree_with_regex(pattern, &unicode).unwrap();
    }
}
