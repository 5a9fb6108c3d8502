//! The engine on small grammars, where the right answer is plain to see.
#![allow(clippy::unwrap_used)]

use maskwright::ebnf::Dialect;
use maskwright::grammar::{Grammar, GrammarBuilder, SpecialToken};
use maskwright::{Compiler, Constraint, DraftToken, ErrorKind, Limits, Vocabulary};

fn vocabulary(tokens: &[&str]) -> Vocabulary {
    let tokens = tokens.iter().map(|t| Some(t.as_bytes().to_vec())).collect::<Vec<_>>();
    let end = tokens.len() as u32;
    let tokens = tokens.into_iter().chain([None, None]).collect();
    Vocabulary::from_tokens(tokens, &[(end, "</s>"), (end + 1, "<tool>")], &[end]).unwrap()
}

fn bytes() -> Vocabulary {
    let tokens = (0..=255u8).map(|b| Some(vec![b])).chain([None]).collect();
    Vocabulary::from_tokens(tokens, &[(256, "</s>")], &[256]).unwrap()
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

fn grammar(build: impl FnOnce(&mut GrammarBuilder) -> maskwright::grammar::RuleId) -> Grammar {
    let mut g = GrammarBuilder::new();
    let start = build(&mut g);
    g.finish(start).unwrap()
}

/// `sum = sum "+" sum | "(" sum ")" | "1"`: left-recursive and ambiguous.
fn sums(g: &mut GrammarBuilder) -> maskwright::grammar::RuleId {
    let sum = g.declare("sum");
    let (one, plus) = (g.literal(b"1"), g.literal(b"+"));
    let (open, close) = (g.literal(b"("), g.literal(b")"));
    let call = g.call(sum);
    let add = g.sequence([call, plus, call]);
    let group = g.sequence([open, call, close]);
    let body = g.choice([add, group, one]);
    g.define(sum, body);
    sum
}

#[test]
fn left_recursion_and_ambiguity() {
    let c = Compiler::new(bytes()).compile(grammar(sums)).unwrap();
    for (text, expected) in [
        ("1", true),
        ("1+1+1", true),
        ("((1)+1)+(1+1)", true),
        ("", false),
        ("1+", false),
        ("(1", false),
        ("+1", false),
    ] {
        assert_eq!(accepts(&c, text), expected, "{text}");
    }
    let long = "1+".repeat(2000) + "1";
    assert!(accepts(&c, &long));
}

#[test]
fn ambiguity_at_every_place_takes_few_states() {
    // pair = item pair | pair item | item item; item = pair | "a" | "b"
    let c = grammar(|g| {
        let (pair, item) = (g.declare("pair"), g.declare("item"));
        let (a, b) = (g.literal(b"a"), g.literal(b"b"));
        let (call_pair, call_item) = (g.call(pair), g.call(item));
        let before = g.sequence([call_item, call_pair]);
        let after = g.sequence([call_pair, call_item]);
        let both = g.sequence([call_item, call_item]);
        let body = g.choice([before, after, both]);
        g.define(pair, body);
        let body = g.choice([call_pair, a, b]);
        g.define(item, body);
        pair
    });
    let limits = Limits { states_per_step: 1_000, ..Limits::default() };
    let c = Compiler::new(bytes()).with_limits(limits).compile(c).unwrap();
    for (text, expected) in [("a", false), ("ab", true), (&*"ab".repeat(100), true)] {
        assert_eq!(accepts(&c, text), expected, "{text}");
    }
}

#[test]
fn hidden_left_recursion() {
    // a = [empty] a "x" | "y"; empty = "z" | nothing
    let c = grammar(|g| {
        let (a, e) = (g.declare("a"), g.declare("empty"));
        let (x, y, z) = (g.literal(b"x"), g.literal(b"y"), g.literal(b"z"));
        let nothing = g.empty();
        let empty = g.choice([z, nothing]);
        g.define(e, empty);
        let (call_a, call_e) = (g.call(a), g.call(e));
        let more = g.sequence([call_e, call_a, x]);
        let body = g.choice([more, y]);
        g.define(a, body);
        a
    });
    let c = Compiler::new(bytes()).compile(c).unwrap();
    for (text, expected) in
        [("y", true), ("yx", true), ("zyx", true), ("zzyxx", true), ("zy", false), ("zzyx", false)]
    {
        assert_eq!(accepts(&c, text), expected, "{text}");
    }
}

#[test]
fn counted_repeats_are_not_unrolled() {
    let c = grammar(|g| {
        let ab = g.literal(b"ab");
        let many = g.repeat(ab, 1_000, Some(50_000));
        g.rule("many", many)
    });
    let c = Compiler::new(bytes()).compile(c).unwrap();
    assert!(!accepts(&c, &"ab".repeat(999)));
    assert!(accepts(&c, &"ab".repeat(1_000)));
    assert!(accepts(&c, &"ab".repeat(3_000)));
    assert!(!accepts(&c, &("ab".repeat(1_000) + "a")));
}

#[test]
fn a_repeat_of_no_times_is_empty_wherever_it_stands() {
    // a = "z"{0,0} a "x" | "z"{2,1} | "z"{1} "y"
    let c = grammar(|g| {
        let a = g.declare("a");
        let (x, y, z) = (g.literal(b"x"), g.literal(b"y"), g.literal(b"z"));
        let (none, never) = (g.repeat(z, 0, Some(0)), g.repeat(z, 2, Some(1)));
        let (call, once) = (g.call(a), g.repeat(z, 1, Some(1)));
        let (more, last) = (g.sequence([none, call, x]), g.sequence([once, y]));
        let body = g.choice([more, never, last]);
        g.define(a, body);
        a
    });
    let c = Compiler::new(bytes()).compile(c).unwrap();
    for (text, expected) in [("zy", true), ("zyxx", true), ("", false), ("zx", false), ("y", false)]
    {
        assert_eq!(accepts(&c, text), expected, "{text}");
    }
}

#[test]
fn a_counted_repeat_after_a_call_starts_at_no_times() {
    // r = b "a"{0,5} ; b = "b"
    let c = grammar(|g| {
        let (a, b) = (g.literal(b"a"), g.literal(b"b"));
        let call = g.rule("b", b);
        let (call, many) = (g.call(call), g.repeat(a, 0, Some(5)));
        let body = g.sequence([call, many]);
        g.rule("r", body)
    });
    let c = Compiler::new(bytes()).compile(c).unwrap();
    for (text, expected) in [("b", true), ("baaaaa", true), ("baaaaaa", false), ("aaaaa", false)] {
        assert_eq!(accepts(&c, text), expected, "{text}");
    }
}

#[test]
fn special_tokens_match_no_text() {
    let c = grammar(|g| {
        let tool = g.special(SpecialToken::Name("<tool>".into()));
        let a = g.literal(b"a");
        let body = g.sequence([tool, a]);
        g.rule("call", body)
    });
    let c = Compiler::new(vocabulary(&["a", "<tool>"])).compile(c).unwrap();
    let mut m = c.matcher();
    assert_eq!(m.mask().unwrap().iter().collect::<Vec<_>>(), [3]);
    assert!(m.accept_bytes(b"<tool>").is_err());
    m.accept(3).unwrap();
    m.accept(0).unwrap();
    assert_eq!(m.mask().unwrap().iter().collect::<Vec<_>>(), [2]);
    m.accept(2).unwrap();
    assert!(m.is_finished() && m.mask().unwrap().is_empty());
    assert_eq!(m.accept(2).unwrap_err().kind(), ErrorKind::Rejected);
    m.rollback(1).unwrap();
    assert!(!m.is_finished() && m.is_accepting());
}

#[test]
fn a_byte_inside_longer_tokens_only() {
    // `b` stands in "ab" and "bc" only: after "a" alone nothing can spell "b".
    let compiler = Compiler::new(vocabulary(&["a", "ab", "bc", "c"]));
    let c = compiler.choice(&["ab", "abcc"]).unwrap();
    let mut m = c.matcher();
    // "a" then "bc" then "c" spells "abcc", so "a" is allowed.
    assert_eq!(m.mask().unwrap().iter().collect::<Vec<_>>(), [0, 1]);
    m.accept(0).unwrap();
    assert_eq!(m.mask().unwrap().iter().collect::<Vec<_>>(), [2]);
    let c = compiler.choice(&["ab"]).unwrap();
    let mut m = c.matcher();
    assert_eq!(m.mask().unwrap().iter().collect::<Vec<_>>(), [1]);
    assert!(m.accept(0).is_err());
    assert_eq!(compiler.choice(&["b"]).unwrap_err().kind(), ErrorKind::Unsatisfiable);
    assert_eq!(compiler.choice(&["x"]).unwrap_err().kind(), ErrorKind::Unsatisfiable);
}

#[test]
fn caches_are_bounded_and_matchers_move_over() {
    let limits = Limits { cache_bytes: 1 << 16, ..Limits::default() };
    let c = Compiler::new(bytes()).with_limits(limits).compile(grammar(sums)).unwrap();
    let mut long_lived = c.matcher();
    long_lived.accept_bytes(b"(1+(").unwrap();
    let mut most = 0;
    for depth in 1..400 {
        let mut m = c.matcher();
        for byte in "(".repeat(depth % 40 + 1).bytes().chain(*b"1") {
            assert!(m.mask().unwrap().contains(u32::from(byte)));
            m.accept(u32::from(byte)).unwrap();
        }
        most = most.max(c.cache_bytes());
    }
    assert!(most < 1 << 19, "{most}");
    long_lived.accept_bytes(b"1))").unwrap();
    assert!(long_lived.is_accepting());
    long_lived.rollback(1).unwrap();
    assert!(!long_lived.is_accepting());
}

#[test]
fn limits_are_errors_by_name_and_leave_the_matcher_as_it_was() {
    let limits = Limits { depth: 10, ..Limits::default() };
    let c = Compiler::new(bytes()).with_limits(limits).compile(grammar(sums)).unwrap();
    let mut m = c.matcher();
    let error = m.accept_bytes("(".repeat(50).as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("`depth`"), "{error}");
    m.accept_bytes(b"(1)").unwrap();
    assert!(m.is_accepting());
}

#[test]
fn rejections_say_what_was_expected() {
    let c = Compiler::new(bytes()).compile(grammar(sums)).unwrap();
    let mut m = c.matcher();
    let error = m.accept_bytes(b"(1x").unwrap_err();
    assert_eq!(error.place().byte, Some(2));
    assert_eq!(error.to_string(), "byte 2: `x` is not allowed here; expected one of [)+]");
    assert_eq!(m.forced_bytes(9).unwrap(), b"");
    let c = Compiler::new(bytes()).choice(&["hello world", "hello there"]).unwrap();
    assert_eq!(c.matcher().forced_bytes(99).unwrap(), b"hello ");
}

#[test]
fn rules_that_only_come_back_to_themselves_are_named() {
    let grammar = |text| Compiler::new(bytes()).grammar(text, Dialect::Gbnf).unwrap_err();
    let error = grammar("root ::= \"x\" b\nb ::= \"y\" b | \"z\" b");
    assert_eq!(error.kind(), ErrorKind::Unsatisfiable);
    assert!(
        error.to_string().contains("each way through rule `root`, rule `b` comes back to it"),
        "{error}"
    );
}

/// Each rule is twice as long as the next one.
#[test]
fn rules_that_double_reach_a_limit() {
    let limits = Limits { language_states: 20_000, ..Limits::default() };
    let compiler = Compiler::new(bytes()).with_limits(limits);
    let rules: String = (0..60).map(|i| format!("r{i} ::= r{} r{}\n", i + 1, i + 1)).collect();
    let text = format!("root ::= r0\n{rules}r60 ::= \"a\" | \"\"\n");
    let accepts = |constraint: Constraint| {
        let mut matcher = constraint.matcher();
        matcher.accept_bytes(b"aa").map(|()| matcher.is_accepting())
    };
    let result = compiler.grammar(&text, Dialect::Gbnf).and_then(accepts);
    assert!(
        result.as_ref().map_or_else(|e| e.kind() == ErrorKind::Limit, |&yes| yes),
        "{result:?}"
    );
    assert!(!maskwright::ebnf::parse(&text, Dialect::Gbnf, &()).unwrap().accepts_every_text());
}

#[test]
fn forks_are_independent() {
    let c = Compiler::new(bytes()).choice(&["ab", "ac"]).unwrap();
    let mut m = c.matcher();
    m.accept_bytes(b"a").unwrap();
    let mut fork = m.clone();
    fork.accept_bytes(b"b").unwrap();
    m.accept_bytes(b"c").unwrap();
    assert!(m.is_accepting() && fork.is_accepting());
    fork.rollback(2).unwrap();
    assert_eq!((m.steps(), fork.steps()), (2, 0));
    assert!(fork.rollback(1).is_err());
}

/// Tokens in which two captured texts end, or the last that a scope reads: in the mask if and only
/// if they are accepted.
#[test]
fn tokens_that_end_what_must_differ() {
    let texts = [
        "1,1",
        "1,2",
        "1, 1",
        "2",
        "1",
        ",",
        "[",
        "]",
        "{",
        "}",
        "true,true",
        "true",
        "\"a\"",
        ":",
        "\"a\":1,\"a\":1",
        "\"a\":1,\"b\":1",
        "\"",
        "a",
        "\":1,\"a\":1",
        "{\"a\":1},{\"a\":1}",
        "{\"a\":1},{\"a\":2}",
        "1}",
        "1}]",
        "},{",
        "null,null",
        "\"a\",\"a\"",
        "\"a\",\"aa\"",
    ];
    let mut tokens: Vec<Option<Vec<u8>>> =
        texts.iter().map(|t| Some(t.as_bytes().to_vec())).collect();
    // In one vocabulary every byte is a token; in the other the tokens are all there is.
    let words = tokens.clone();
    tokens.extend((0..=255).map(|byte| Some(vec![byte])));
    for tokens in [tokens, words] {
        let count = tokens.len() as u32;
        let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
        for schema in [
            r#"{"type": "array", "uniqueItems": true}"#,
            r#"{"type": "array", "uniqueItems": true, "items": {"type": ["integer", "boolean"]}}"#,
            r#"{"type": "array", "uniqueItems": true, "items": {"type": "string"}}"#,
            r#"{"type": "array", "uniqueItems": true, "items": {"type": "object"}}"#,
            r#"{"type": "object"}"#,
        ] {
            let constraint = compiler.json_schema_str(schema).unwrap();
            let mut open = vec![constraint.matcher()];
            for _ in 0..4 {
                let mut next = Vec::new();
                for mut matcher in open {
                    let mask = matcher.mask().unwrap().clone();
                    for token in 0..count {
                        let mut fork = matcher.clone();
                        let accepted = fork.accept(token).is_ok();
                        assert_eq!(mask.contains(token), accepted, "{schema} {token}");
                        if accepted && (token as usize) < texts.len() && next.len() < 60 {
                            next.push(fork);
                        }
                    }
                }
                open = next;
            }
        }
    }
}

/// The masks of a tree are those after its tokens have been accepted, after end tokens, too.
#[test]
fn trees_end_where_texts_end() {
    let compiler = Compiler::new(bytes());
    for (grammar, after_end) in [
        // Within a text, at its end, and at an end that the grammar could go on from.
        ("start: \"a\" <[256]> \"b\"", Some(b'b')),
        ("start: \"a\"", None),
        ("start: \"a\" (<[256]> \"b\" \"c\")?", None),
    ] {
        let mut matcher = compiler.lark(grammar).unwrap().matcher();
        matcher.accept(b'a'.into()).unwrap();
        let draft = [(256, None), (b'b'.into(), Some(0)), (b'c'.into(), Some(1))]
            .map(|(token, parent)| DraftToken { token, parent });
        let mut rows = vec![0; 4 * 9];
        matcher.fill_tree(&draft, &mut rows).unwrap();
        let allowed: Vec<usize> =
            (0..257).filter(|token| rows[9 + token / 32] >> (token % 32) & 1 == 1).collect();
        assert_eq!(allowed, after_end.map(usize::from).as_slice(), "{grammar}");
        matcher.accept(256).unwrap();
        assert_eq!(matcher.is_finished(), after_end.is_none(), "{grammar}");
        assert_eq!(rows[18..].iter().any(|&word| word != 0), after_end.is_some(), "{grammar}");
    }
    let nothing = Vocabulary::from_tokens(Vec::new(), &[], &[]).unwrap();
    Compiler::new(nothing).regex("").unwrap().matcher().fill_tree(&[], &mut []).unwrap();
}

#[test]
fn limits_may_be_as_great_as_numbers_are() {
    let limits = Limits { cache_bytes: usize::MAX, ..Limits::default() };
    let constraint = Compiler::new(bytes()).with_limits(limits).regex("a+").unwrap();
    for _ in 0..3 {
        assert!(accepts(&constraint, "aa"));
    }
}
