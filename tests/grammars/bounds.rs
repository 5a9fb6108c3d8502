//! Bounds of rules: `max_tokens`, `max_chars` and `stop` of Lark and GBNF.

use maskwright::ebnf::Dialect;
use maskwright::{Compiler, Constraint, Matcher, Vocabulary};

use crate::{compiler, judge};

/// All bytes, some longer tokens, an end token.
fn constraint(grammar: &str, dialect: Dialect) -> Constraint {
    let longer = ["foo", "<end>", " bar", "ab", "\n\n", "a\n"];
    let bytes = (0..=255u8).map(|byte| Some(vec![byte]));
    let longer = longer.iter().map(|token| Some(token.as_bytes().to_vec()));
    let tokens: Vec<_> = bytes.chain(longer).chain([None]).collect();
    let end = tokens.len() as u32 - 1;
    let vocabulary = Vocabulary::from_tokens(tokens, &[(end, "</s>")], &[end]).unwrap();
    Compiler::new(vocabulary).grammar(grammar, dialect).unwrap()
}

/// Whether these tokens are a text of the grammar.
fn accepts(constraint: &Constraint, tokens: &[&str]) -> bool {
    let vocabulary = constraint.vocabulary();
    let mut matcher = constraint.matcher();
    let all = tokens.iter().all(|token| {
        let bytes = Some(token.as_bytes());
        let ids = 0..vocabulary.len() as u32;
        let id = ids.rev().find(|&id| vocabulary.token_bytes(id) == bytes).unwrap();
        assert_eq!(matcher.mask().unwrap().contains(id), matcher.clone().accept(id).is_ok());
        matcher.accept(id).is_ok()
    });
    all && matcher.is_accepting()
}

/// Texts, each as its tokens.
type Tokens = &'static [&'static [&'static str]];

#[test]
fn tokens_of_a_rule() {
    let cases: &[(Dialect, &str, Tokens, Tokens)] = &[
        (
            Dialect::Lark,
            "start: mygen \"\\n\"\nmygen[stop=\"\\n\", max_tokens=3]: /.*/",
            &[&["foo", "foo", "foo", "\n"], &["ab", "ab", "a\n"], &["\n"]],
            &[&["foo", "foo", "foo", "foo", "\n"], &["foo", "foo", "foo", "a\n"], &["foo"]],
        ),
        (
            Dialect::Gbnf,
            "root ::= \"<\" word \">\"\nword[max_tokens=2] ::= [a-z]+ | \"(\" word \")\"",
            &[&["<", "foo", "ab", ">"], &["<", "foo", ">"]],
            &[&["<", "foo", "ab", "ab", ">"], &["<", "(", "a", ")", ">"]],
        ),
        // The bound is on the rule: ignored text after it takes none of its tokens.
        (
            Dialect::Lark,
            "start: a \"b\"\na[max_tokens=1]: /a+/\n%ignore /[ ]+/",
            &[&["a", " ", " ", "b"], &["ab"]],
            &[&["a", "a", "b"]],
        ),
        // Rules of rules, and a schema.
        (
            Dialect::Lark,
            "start: list \".\"\nlist[max_tokens=4]: \"[\" (item \",\")* \"]\"\nitem: /[a-z]+/",
            &[&["[", "foo", ",", "]", "."], &["[", "]", "."]],
            &[&["[", "foo", ",", "a", ",", "]", "."]],
        ),
        (
            Dialect::Lark,
            "start: json \".\"\njson[max_tokens=5]: %json {\"type\": \"array\", \"items\": {\"enum\": [1, 2]}}",
            &[&["[", "1", ",", "2", "]", "."], &["[", "1", "]", "."]],
            &[&["[", "1", ",", "2", ",", "1", "]", "."]],
        ),
        // A lazy rule is closed in time, too.
        (
            Dialect::Lark,
            "start: head /[0-9]/\nhead[lazy, max_tokens=3]: /(.|\\n)*<end>/",
            &[&["foo", "foo", "<end>", "1"], &["<end>", "1"]],
            &[&["foo", "foo", "foo", "<end>", "1"], &["foo", "<", "e", "n", "d", ">", "1"]],
        ),
    ];
    for (dialect, grammar, yes, no) in cases {
        let constraint = constraint(grammar, *dialect);
        for (all, expected) in [(yes, true), (no, false)] {
            for tokens in *all {
                assert_eq!(accepts(&constraint, tokens), expected, "{grammar}\n{tokens:?}");
            }
        }
    }
}

#[test]
fn a_lazy_rule_beside_others_counts_tokens() {
    let grammar = "start: tool* tail\ntail: TEXT\nTEXT: /(.|\\n)*/\n\
                   head[lazy, max_tokens=2]: TEXT \"<end>\"\ntool: head /[0-9]/";
    let constraint = constraint(grammar, Dialect::Lark);
    assert!(accepts(&constraint, &["foo", "<end>", "1", "ab", "<end>", "2", "foo", "foo", "foo"]));
    assert!(!accepts(&constraint, &["foo", "foo", "<end>", "1"]));
}

#[test]
fn characters_and_stops() {
    judge(
        Dialect::Lark,
        &[
            ("start: a \"!\"\na[max_chars=3]: /\\w+/", &["abc!", "äöü!", "a!"], &["abcd!", "!"]),
            // llguidance's `docs/syntax.md`, "Lazy lexemes"; what was taken back there is not written.
            (
                "start: outer_stop\nwith_stop[capture, stop=\"<end>\"]: /.*/\n\
                 outer_stop[capture]: with_stop \"<end>\"",
                &["foo<end>", "<end>", "<e<end>"],
                &["foo<end>bar<end>", "foo"],
            ),
            (
                "start: outer_stop_problem\nwith_stop[capture, stop=\"<end>\"]: /.*/\n\
                 outer_stop_problem[capture]: with_stop \"b\"",
                &["foob", "b"],
                &["foo<end>b"],
            ),
            (
                "start: s\ns[capture=\"x\", stop=/[0-9]/, max_chars=4]: /.*/",
                &["", "abcd"],
                &["a1", "abcde"],
            ),
        ],
    );
    judge(
        Dialect::Gbnf,
        &[("root ::= a \"!\"\na[max_chars=3] ::= [a-zä]+", &["abc!", "aää!"], &["abcd!"])],
    );
    let error = compiler().gbnf("root[max_chars=3] ::= \"a\" root | \"b\"").unwrap_err();
    assert!(error.message().contains("calls itself"), "{error}");
}

/// A vocabulary that is too large to be searched for ways to close a rule: what closes it is counted in tokens, not
/// in bytes.
fn large_vocabulary() -> Vocabulary {
    let words = [
        "the", " quick", " brown", " fox", " jumps", " over", " lazy", " dog", " the", "inter",
        "national", "ization", "apple", "straw", "berry", "name", "city", "Ada", "London", "00",
        "20", "\": \"", "\", \"",
    ];
    let bytes = (0..=255u8).map(|byte| vec![byte]);
    let words = words.iter().map(|word| word.as_bytes().to_vec());
    let fill = (0..100_000).map(|n| format!("\u{1}{n}").into_bytes());
    let tokens: Vec<_> = bytes.chain(words).chain(fill).map(Some).chain([None]).collect();
    let end = tokens.len() as u32 - 1;
    Vocabulary::from_tokens(tokens, &[(end, "</s>")], &[end]).unwrap()
}

#[test]
fn what_closes_a_rule_is_counted_in_tokens() {
    let compiler = Compiler::new(large_vocabulary());
    let vocabulary = compiler.vocabulary();
    let fox = ["the", " quick", " brown", " fox", " jumps", " over", " the", " lazy", " dog"];
    let cases: [(&str, &[&str], bool); 8] = [
        (
            "start: a\na[max_tokens=9]: \"ok\" | \"the quick brown fox jumps over the lazy dog\"",
            &fox,
            true,
        ),
        (
            "start: a\na[max_tokens=8]: \"ok\" | \"the quick brown fox jumps over the lazy dog\"",
            &fox,
            false,
        ),
        (
            "start: a \".\"\na[max_tokens=3]: \"internationalization\" | \"x\"",
            &["inter", "national", "ization", "."],
            true,
        ),
        (
            "start: (l \",\")* \".\"\nl[max_tokens=6]: %json {\"enum\": [\"apple\", \"strawberry\"]}",
            &["\"", "apple", "\"", ",", "\"", "straw", "berry", "\"", ",", "."],
            true,
        ),
        (
            "start: d\nd[max_tokens=8]: /\\d{4}-\\d{2}-\\d{2}/",
            &["20", "2", "4", "-", "0", "1", "-", "20"],
            true,
        ),
        (
            "start: a\na[max_tokens=9]: %json {\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"], \"additionalProperties\": false}",
            &["{", "\"", "name", "\": \"", "Ada", "\"", "}"],
            true,
        ),
        ("start: a\na[max_tokens=2]: \"internationalization\" | \"x\"", &["inter"], false),
        (
            "start: s \">\"\ns[max_tokens=4]: /[a-z ]*(, the fox)?/",
            &[",", " the", " fox", ">"],
            true,
        ),
    ];
    for (grammar, text, expected) in cases {
        let constraint = compiler.grammar(grammar, Dialect::Lark).unwrap();
        assert_eq!(accepts(&constraint, text), expected, "{grammar} {text:?}");
    }
    let error =
        compiler.grammar("start: a\na[max_tokens=2]: \"internationalization\"", Dialect::Lark);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("within `max_tokens` of its rules"), "{error}");
    // Whatever tokens are taken, the text can be completed.
    for (grammar, _, _) in cases {
        let constraint = compiler.grammar(grammar, Dialect::Lark).unwrap();
        for turn in 0..20u32 {
            let mut matcher = constraint.matcher();
            for step in 0..40 {
                let mask = matcher.mask().unwrap();
                let all: Vec<u32> =
                    (0..vocabulary.len() as u32).filter(|&id| mask.contains(id)).collect();
                assert!(!all.is_empty(), "{grammar}: a dead end");
                let pick =
                    (turn.wrapping_mul(2_654_435_761) >> 7).wrapping_add(step * 977) as usize;
                let token = all[pick % all.len()];
                if vocabulary.end_tokens().contains(&token) {
                    break;
                }
                matcher.accept(token).unwrap();
            }
        }
    }
}

/// Masks far from a bound are taken from a text without one: they hold the tokens that can be accepted, one by
/// one, for rules whose terminals are complements and intersections, too.
#[test]
fn masks_within_a_bound_are_the_tokens_that_can_be_accepted() {
    let grammars = [
        "start: t \"<end>\"\nt[stop=\"<end>\", max_tokens=7]: /(.|\\n)*/",
        "start: t \".\"\nt[max_tokens=6]: /[a-z]*/ & ~/(?s:.)*foo(?s:.)*/",
        "start: t \".\"\nt[max_tokens=6]: /(ab)*/ & /(?s:.){0,9}/",
    ];
    for grammar in grammars {
        let constraint = constraint(grammar, Dialect::Lark);
        let vocabulary = constraint.vocabulary();
        for turn in 0..6u32 {
            let mut matcher = constraint.matcher();
            for step in 0..14 {
                let mask = matcher.mask().unwrap().clone();
                let ids = 0..vocabulary.len() as u32;
                let all: Vec<u32> = ids.filter(|&id| matcher.clone().accept(id).is_ok()).collect();
                assert!(!all.is_empty(), "{grammar}: a dead end");
                for id in 0..vocabulary.len() as u32 {
                    assert_eq!(mask.contains(id), all.contains(&id), "{grammar} {step} {id}");
                }
                let pick = turn.wrapping_mul(2_654_435_761).rotate_left(step) as usize;
                let token = all[pick % all.len()];
                if vocabulary.end_tokens().contains(&token) {
                    break;
                }
                matcher.accept(token).unwrap();
            }
        }
    }
}

#[test]
fn an_end_token_within_a_text_counts_towards_the_budget() {
    let constraint = constraint("start: \"a\" </s> \"bcdef\" | \"a!\"", Dialect::Lark);
    let end = constraint.vocabulary().len() as u32 - 1;
    let mut matcher = constraint.matcher();
    matcher.accept(u32::from(b'a')).unwrap();
    let within = |matcher: &mut Matcher, tokens| {
        matcher.mask_within(tokens).unwrap().iter().collect::<Vec<_>>()
    };
    assert_eq!(within(&mut matcher, 1), [u32::from(b'!')]);
    assert_eq!(within(&mut matcher, 9), [u32::from(b'!'), end]);
    matcher.accept(u32::from(b'!')).unwrap();
    assert_eq!(within(&mut matcher, 1), [end]);
}
