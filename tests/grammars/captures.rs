//! Captures and temperatures of rules, in Lark and GBNF: the documented examples of llguidance, and
//! what it and XGrammar tell about others.

use maskwright::ebnf::Dialect;
use maskwright::{Constraint, LimitName, Limits, Matcher};

use crate::{compiler, judge};

/// The captures of a text, as `name=text`.
fn captures(constraint: &Constraint, text: &str) -> String {
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).unwrap();
    shown(&matcher)
}

fn shown(matcher: &Matcher) -> String {
    let all = matcher.captures().unwrap();
    let all = all.iter().map(|c| format!("{}={}", c.name, String::from_utf8_lossy(&c.bytes)));
    all.collect::<Vec<_>>().join(" ")
}

/// A grammar, and texts with their captures.
type Case = (&'static str, &'static [(&'static str, &'static str)]);

fn check(dialect: Dialect, cases: &[Case]) {
    for (grammar, texts) in cases {
        let constraint = compiler().grammar(grammar, dialect).unwrap();
        for (text, expected) in *texts {
            assert_eq!(captures(&constraint, text), *expected, "{grammar}\n{text}");
        }
    }
}

#[test]
fn rules_of_lark() {
    check(
        Dialect::Lark,
        &[
            // llguidance's `docs/syntax.md`, "Lazy lexemes".
            (
                "start: outer_stop\nwith_stop[capture, stop=\"<end>\"]: /.*/\n\
                 outer_stop[capture]: with_stop \"<end>\"",
                &[("foo<end>", "with_stop=foo outer_stop=foo<end>")],
            ),
            (
                "start: outer_stop_problem\nwith_stop[capture, stop=\"<end>\"]: /.*/\n\
                 outer_stop_problem[capture]: with_stop \"b\"",
                &[("foob", "with_stop=foo outer_stop_problem=foob")],
            ),
            (
                "start: outer_suffix \"!\"\nwith_suffix[capture, suffix=\"<end>\"]: /.*/\n\
                 outer_suffix[capture]: with_suffix",
                &[
                    ("foo<end>!", "with_suffix=foo outer_suffix=foo<end>"),
                    ("foo<end>", "with_suffix=foo outer_suffix=foo<end>"),
                    ("foo<en", ""),
                ],
            ),
            (
                "start: outer_lazy\nwith_lazy[capture, lazy]: /.*<end>/\n\
                 outer_lazy[capture=\"o\"]: with_lazy",
                &[("foo<end>", "with_lazy=foo<end> o=foo<end>")],
            ),
            (
                "start: a \"!\"\na[capture=\"x\", suffix=/,+;/, stop_capture=\"s\"]: /[a-z]*/",
                &[("ab,,;!", "x=ab s=,,;")],
            ),
            // Lists; left and right recursion.
            (
                "start: i (\",\" i)*\ni[capture=\"__LIST_APPEND:items\"]: /[a-z]+/",
                &[("ab,c,ab", "items=ab items=c items=ab"), ("ab,c,", "items=ab items=c")],
            ),
            (
                "start: e\ne[capture]: e \"+\" n | n\nn[capture]: /[0-9]+/",
                &[("1+2", "n=1 e=1 n=2 e=1+2"), ("1+", "n=1 e=1")],
            ),
            ("start: l\nl[capture]: \"a\" l | \"b\"", &[("aab", "l=b l=ab l=aab")]),
            // Of two rules the first counts, whether or not one of them is captured.
            ("start: x | y\nx: \"ab\"\ny[capture]: \"ab\" | \"ac\"", &[("ab", ""), ("ac", "y=ac")]),
            ("start: y | x\nx: \"ab\"\ny[capture]: \"ab\" | \"ac\"", &[("ab", "y=ab")]),
            // Ignored text after a captured one is no part of it.
            (
                "start: o \"c\"\no[capture]: p B\np[capture]: \"a\"+\nB: \"b\"\n%ignore \" \"",
                &[("a a  b  c", "p=a a o=a a  b"), (" ab c ", "p=a o=ab")],
            ),
            // Tools among free text.
            (
                "start: (tool | text)*\ntext: TEXT\nTEXT: /(.|\\n)*/\nhead[lazy]: TEXT \"<call>\"\n\
                 tool: head args \"</call>\"\nargs[capture]: %json {\"type\": \"object\"}",
                &[(
                    "hi <call>{\"a\": [1]}</call> or <call>{}</call>.",
                    "args={\"a\": [1]} args={}",
                )],
            ),
            // Templates, parameters, other grammars.
            (
                "start: sep{item}\nsep{x}[capture]: x (\",\" x)*\nitem[capture]: /[a-z]/",
                &[("a,b", "item=a item=b sep=a,b")],
            ),
            (
                "start: n::0x0\nn::_[capture]: \"a\" n::incr(_) %if lt(_, 3) | \"\"",
                &[("aa", "n= n=a n=aa")],
            ),
            (
                "start: inner \"!\"\ninner[capture]: %lark {\nstart: w (\" \" w)*\nw[capture]: /[a-z]+/\n}",
                &[("a b!", "w=a w=b inner=a b")],
            ),
        ],
    );
}

#[test]
fn rules_of_gbnf() {
    check(
        Dialect::Gbnf,
        &[(
            "root ::= pair (\",\" pair)*\npair ::= key \"=\" value\nkey[capture] ::= [a-z]+\n\
             value[capture=\"v\", max_tokens=9] ::= [0-9]+ | \"(\" root \")\"",
            &[("a=1,b=(c=2)", "key=a v=1 key=b key=c v=2 v=(c=2)")],
        )],
    );
}

#[test]
fn captures_follow_forks_and_rollbacks() {
    let constraint = compiler().lark("start: (w \" \")*\nw[capture]: /[a-z]+/").unwrap();
    let mut matcher = constraint.matcher();
    for text in ["ab", " ", "c", " "] {
        matcher.accept_bytes(text.as_bytes()).unwrap();
    }
    let fork = matcher.clone();
    matcher.rollback(2).unwrap();
    assert_eq!(shown(&matcher), "w=ab");
    matcher.accept_bytes(b"d ").unwrap();
    assert_eq!((shown(&matcher), shown(&fork)), ("w=ab w=d".to_owned(), "w=ab w=c".to_owned()));
    assert_eq!(matcher.captures().unwrap()[1].range, 3..4);
}

#[test]
fn the_memory_of_a_search_for_captures_is_bounded() {
    let limits = Limits { cache_bytes: 1 << 10, ..Limits::default() };
    let compiler = compiler().with_limits(limits);
    let constraint = compiler.lark("start: (w \" \")*\nw[capture]: /[a-z]+/").unwrap();
    let mut matcher = constraint.matcher();
    matcher.accept_bytes("ab ".repeat(1000).as_bytes()).unwrap();
    let error = matcher.captures().unwrap_err();
    assert_eq!(error.limit(), Some(LimitName::CacheBytes), "{error}");
}

#[test]
fn attributes_that_mean_nothing_are_refused() {
    for (grammar, expected) in [
        ("start: a\na[stop_capture=\"s\"]: /a/", "without a `suffix`"),
        ("start: a\na[stop=\"b\", stop_capture=\"s\"]: /a/", "stands after the rule"),
        ("start: a\na[stop=\"b\", suffix=\"c\"]: /a/", "both `stop` and `suffix`"),
        ("start: a\na[capture=5]: /a/", "takes a name"),
        ("start: a\na[capture=\"\"]: /a/", "takes a name"),
        ("start: A\nA[capture]: /a/", "is a terminal"),
        ("start: a\na[temperature=\"x\"]: /a/", "takes a number"),
        ("start: n::0x0\nn::_[capture]: \"a\" n::incr(_) %if lt(_, 9999) | \"\"", "parameter"),
    ] {
        let error = compiler().lark(grammar).unwrap_err();
        assert!(error.to_string().contains(expected), "{grammar}\n{error}");
    }
}

#[test]
fn temperatures_and_budgets_of_tokens_change_no_language() {
    for attribute in ["temperature=0.5", "max_tokens=50"] {
        let grammar = |rest: &str| format!("start: w X\nw[{attribute}]: {rest}");
        let around = "/a(?!b)/\nX: \"b\"|\"c\"";
        let lazy = "/a.*?b/\nX: \"!\"";
        // One terminal, as in llguidance.
        let ignored = "\"e\" \"a\"\nX: \"!\"\n%ignore \" \"";
        judge(
            Dialect::Lark,
            &[
                (&grammar(around), &["ac"], &["ab"]),
                (&grammar(lazy), &["axb!"], &["axbxb!"]),
                (&grammar(ignored), &["ea !"], &["e a!"]),
            ],
        );
    }
}

/// Texts with the temperature after each.
type Temperatures = &'static [(&'static str, Option<f32>)];

#[test]
fn the_temperature_in_force_is_the_greatest_of_the_innermost() {
    let cases: &[(Dialect, &str, Temperatures)] = &[
        // As XGrammar tells them; a way on without a temperature does not count.
        (
            Dialect::Lark,
            "start: k j?\nj[temperature=0.9]: /[0-9a]+/\nk[temperature=0.4]: /[0-9]+/",
            &[("", Some(0.4)), ("1", Some(0.9)), ("1a", Some(0.9))],
        ),
        (
            Dialect::Lark,
            "start: k j? \"z\"\nj: /[0-9a]+/\nk[temperature=0.4]: /[0-9]+/",
            &[("", Some(0.4)), ("12", Some(0.4)), ("12a", None), ("12az", None)],
        ),
        (
            Dialect::Lark,
            "start: j \".\"\nj[temperature=0.5]: %json {\"type\": \"array\"}",
            &[("", Some(0.5)), ("[[1", Some(0.5)), ("[[1]]", None)],
        ),
        // Rules within each other, recursion among them.
        (
            Dialect::Gbnf,
            "root[temperature=1.5] ::= \"(\" (root | in) \")\"\nin[temperature=0] ::= [a-z]+",
            &[("", Some(1.5)), ("(", Some(1.5)), ("(a", Some(1.5)), ("((a)", Some(1.5))],
        ),
        (
            Dialect::Gbnf,
            "root[temperature=1.5] ::= \"(\" in \".)\"\nin[temperature=0] ::= [a-z]+ \"!\"",
            &[("(", Some(0.0)), ("(a", Some(0.0)), ("(a!", Some(1.5)), ("(a!.)", None)],
        ),
    ];
    for (dialect, grammar, texts) in cases {
        let constraint = compiler().grammar(grammar, *dialect).unwrap();
        for (text, expected) in *texts {
            let mut matcher = constraint.matcher();
            matcher.accept_bytes(text.as_bytes()).unwrap();
            assert_eq!(matcher.temperature(), *expected, "{grammar}\n{text}");
        }
    }
}
