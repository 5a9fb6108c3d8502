//! Lark's notation, by Lark's grammar reference and llguidance's `docs/syntax.md`.

use maskwright::ebnf::Dialect;

use crate::{compiler, judge, refuse};

/// Lark's grammar reference, section by section.
#[test]
fn lark() {
    judge(
        Dialect::Lark,
        &[
            // "General Syntax and notes", "Terminals": literals, flags, ranges.
            (
                "start: \"hello\" \"world\"i",
                &["helloworld", "helloWORLD"],
                &["HELLOworld", "hello world"],
            ),
            ("start: LETTER+\nLETTER: \"a\"..\"c\" | \"É\"i", &["abc", "éÉ"], &["d", ""]),
            ("start: /a.c/s /x y/x", &["a\ncxy"], &["a\ncx y"]),
            ("start: IF | NAME\nIF.2: \"if\"\nNAME: /[a-z]+/", &["if", "iff"], &["IF"]),
            // "Regexps & Ambiguity": a slash is escaped.
            ("start: /a\\/b/", &["a/b"], &["ab"]),
            // "Rules": operators, groups, options, aliases, priorities.
            (
                "start: \"a\"~3 | \"b\"~1..2 | [\"c\"] \"d\"",
                &["aaa", "b", "bb", "d", "cd"],
                &["aa", "bbb", "c"],
            ),
            (
                "?start: (a | b)*\n!a.3: \"x\" -> first\n_b: \"z\"\nb: \"y\" _b? -> second\n  | \"w\"",
                &["", "xyzw", "yy"],
                &["z"],
            ),
            ("start:\n  | \"a\"\n  | \"b\" // c\n", &["a", "b"], &["ab"]),
            // "Templates".
            (
                "start: \"[\" _separated{NUMBER, \",\"} \"]\"\n_separated{x, sep}: x (sep x)*\nNUMBER: /[0-9]+/",
                &["[1]", "[1,22,3]"],
                &["[]", "[1,]"],
            ),
            (
                "start: opt{list{\"a\"}} opt{\"b\"}\nopt{x}: \"<\" x \">\" |\nlist{x}: x | list{x} \",\" x",
                &["", "<a,a>", "<b>", "<a><b>"],
                &["<>", "<b><a>"],
            ),
            // "%ignore": anywhere between terminals, but not within.
            (
                "start: \"if\" NAME \"then\"?\nNAME: /[a-z]/ /[a-z]/*\n%ignore \" \"\n%ignore /#[^\\n]*\\n/",
                &["if x", " if  abc #c\n then ", "ifx"],
                &["i f x", "if"],
            ),
            // "%import".
            (
                "%import common.ESCAPED_STRING -> STRING\n%import common (SIGNED_NUMBER, WS)\n%ignore WS\nstart: value\n?value: STRING | SIGNED_NUMBER | \"[\" [value (\",\" value)*] \"]\"",
                &["[1, \"a\\\"b\", -2.5e3, []]", "\"\"", " +1"],
                &["[1,]", "\"a\"b\"", "[1"],
            ),
            (
                "%import common.CNAME\n%import common.C_COMMENT\nstart: CNAME C_COMMENT",
                &["_a1/* * x **/"],
                &["1a/**/", "a/* */ */"],
            ),
        ],
    );
}

/// llguidance's extensions, each example from its document.
#[test]
fn llguidance() {
    judge(
        Dialect::Lark,
        &[
            // "Minor syntax changes".
            ("start: my-rule{2,3} # comment\nmy-rule: \"a\"", &["aa", "aaa"], &["a", "aaaa"]),
            ("start: \"a\"{2} \"b\"{,2} \"c\"{1,}", &["aac", "aabbcc"], &["aab", "aabbbc"]),
            // "Inline JSON Schemas".
            (
                "start: TEXT | fun_call\nTEXT: /[^{](.|\\n)*/\nfun_call: %json {\n  \"type\": \"object\",\n  \"properties\": {\n    \"name\": { \"const\": \"get_weather\" },\n    \"parameters\": {\n      \"type\": \"object\",\n      \"properties\": { \"city\": { \"type\": \"string\" } },\n      \"required\": [\"city\"]\n    }\n  },\n  \"required\": [\"name\", \"parameters\"]\n}\n",
                &[
                    "There is no function I can call",
                    "{\"name\":\"get_weather\", \"parameters\": {\"city\":\"Seattle\"}}",
                ],
                &["", "{\"name\":\"get_wether\", \"parameters\": {\"city\":\"Seattle\"}}", "{}"],
            ),
            // "Lazy lexemes".
            (
                "start: with_suffix \"!\"\nwith_suffix[capture, suffix=\"<end>\"]: /.*/",
                &["foo<end>!", "<end>!"],
                &["foo<end>bar<end>!", "foo!"],
            ),
            (
                "start: with_lazy\nwith_lazy[capture=\"x\", lazy]: /.*<end>/",
                &["foo<end>"],
                &["foo<end>bar<end>", "foo"],
            ),
            // "Tool calling".
            (
                "start: ( f_foo | f_bar )* f_end\nf_end: TEXT\nTEXT: /(.|\\n)*/ & ~/(?s:.*)<function(?s:.*)/\nANY: /(.|\\n)*/\nf_foo_hd[lazy]: ANY \"<function\"\nf_foo: f_foo_hd \"=foo>\" %json { \"type\": \"object\" } \"</function>\"\nf_bar_hd[lazy]: ANY \"<function\"\nf_bar: f_bar_hd \"=bar>\" /[0-9]+/ \"</function>\"",
                &[
                    "",
                    "no call",
                    "a<function=foo>{\"a\": 1}</function> b <function=bar>12</function>c",
                    "<<function=bar>1</function>",
                ],
                &["<function=baz>1</function>", "<function=bar>x</function>", "<function"],
            ),
            // "And/Not operators in regexes".
            (
                "start: ASCII_LINES\nASCII_LINES: /[a-zA-Z \\n]*/ & ~/(?s:.*)\\n\\n(?s:.*)/",
                &["", "a\nb\n", "\nab"],
                &["a\n\nb", "\n\n", "a1"],
            ),
            ("start: A\nA: /[a-z]*/ & ~/b/ | \"1\"", &["a", "bb", "1", ""], &["b", "2"]),
            ("start: A\nA: \"x\" ~\"a\" & /.{3}/", &["xbb"], &["xa", "xb"]),
            // "Structured %regex".
            (
                "start: \"-\" INT\nINT: \"-\"? UINT\nUINT: DIGIT+\nDIGIT: /[0-9]/",
                &["--1", "-12"],
                &["- 1", "-"],
            ),
            (
                "start: %regex { \"substring_chunks\": [\"abc\", \"de\", \"fg\"] }",
                &["", "abc", "de", "abcde", "defg", "abcdefg"],
                &["ab", "cde", "abcfg"],
            ),
            (
                "start: S\nS: %regex { \"substring_words\": \"foo bar. baz\" }",
                &["bar. baz", " ", "foo bar"],
                &["oo bar", "foobar"],
            ),
            ("start: %regex { \"substring_chars\": \"ab c\" }", &["b c", "ab"], &["ac"]),
            // "Terminals vs rules".
            (
                "%ignore /[ ]+/\nstart: digits \";\" INT\ndigits: /[0-9]/+\nINT: /[0-9]/+",
                &["1 23;45", "12 ; 3"],
                &["1;2 3"],
            ),
            // "Recursive rules".
            (
                "start: expr\nexpr: expr \"+\" term | term\nterm: term \"*\" factor | factor\nfactor: \"(\" expr \")\" | NUMBER\nNUMBER: /[0-9]+/",
                &["1", "1+2*(3+4)"],
                &["1+", "()"],
            ),
            // "Grammar options".
            ("%llguidance { \"no_forcing\": true }\nstart: \"a\"", &["a"], &[]),
            // Grammars within grammars; what is ignored outside is not ignored inside.
            (
                "%ignore \" \"\nstart: %lark { start: \"a\" \"}\" } @json",
                &["a} [1]", " a} 2 "],
                &["a }1", "a}"],
            ),
        ],
    );
}

/// "Special tokens": by name, by id, by ranges, negated, and all.
#[test]
fn special_tokens() {
    let next = |grammar: &str| {
        let mut matcher = compiler().lark(grammar).unwrap().matcher();
        matcher.mask().unwrap().iter().filter(|&id| id > 255).collect::<Vec<_>>()
    };
    assert_eq!(next("start: <tool> \"a\""), [257]);
    assert_eq!(next("start: <|think|> | <[259]>"), [258, 259]);
    assert_eq!(next("start: <[257-258]> \"a\""), [257, 258]);
    assert_eq!(next("start: <[257,259]> \"a\""), [257, 259]);
    assert_eq!(next("start: <[^258]> \"a\""), [257, 259]);
    assert_eq!(next("start: <[*]> \"a\""), [257, 258, 259]);
    let mut matcher = compiler().lark("start: <[*]>* <tool> /.*/").unwrap().matcher();
    matcher.accept_bytes("thinking é".as_bytes()).unwrap();
    matcher.accept(258).unwrap();
    assert!(!matcher.is_accepting());
    matcher.accept(257).unwrap();
    assert!(matcher.is_accepting());
}

#[test]
fn what_is_refused() {
    refuse(
        Dialect::Lark,
        &[
            ("start: \"a", (1, 8), "not closed"),
            ("start: /a", (1, 8), "not closed"),
            ("start: /(a/", (1, 8), "unclosed"),
            ("start: /a/l", (1, 11), "flag `l`"),
            ("start: (\"a\"", (1, 12), "expected `)`"),
            ("start: itme\nitem: \"a\"", (1, 8), "did you mean `item`"),
            ("item: \"a\"", (1, 1), "no rule `start`"),
            ("start: \"a\"\nstart: \"b\"", (2, 1), "twice"),
            ("start = \"a\"", (1, 7), "expected `:`"),
            ("start: A\nA: b\nb: \"x\"", (2, 4), "is a rule"),
            ("start: A\nA: \"(\" A \")\" | \"x\"", (1, 8), "calls itself"),
            ("start: A\nA: <tool>", (2, 4), "no special token"),
            ("start: t{\"a\"}\nt{x, y}: x y", (1, 8), "takes 2 arguments"),
            ("start: t{\"a\"}\nt{x}: t{x x}", (2, 7), "ever more"),
            ("start: tt{\"a\"}\ntu{x}: x", (1, 8), "did you mean `tu`"),
            ("start: \"a\"{3,2}", (1, 11), "exceeds"),
            ("start: \"a\"{x}", (1, 12), "bounds"),
            ("start: \"z\"..\"a\"", (1, 8), "ends before"),
            ("start: \"ab\"..\"c\"", (1, 8), "single characters"),
            ("%import python.NAME\nstart: NAME", (1, 9), "no library"),
            ("%import common.NUMBR\nstart: NUMBR", (1, 9), "did you mean `NUMBER`"),
            ("%declare X\nstart: X", (1, 1), "%declare"),
            ("%unknown X", (1, 1), "unknown statement"),
            ("start[stop=\"x\"]: /a*/", (1, 7), "stop"),
            ("start[max_tokens=5]: /a*/", (1, 7), "max_tokens"),
            ("start::_ : \"a\"", (1, 6), "parametric"),
            ("start: a::0x0\na: \"a\"", (1, 9), "parametric"),
            ("start: %json {\"type\": \"strin\"}", (1, 8), "strin"),
            ("start: %json {", (1, 14), "not closed"),
            ("start: @nobody", (1, 8), "nobody"),
            ("start: %lark { x: \"a\" }", (1, 8), "no rule `start`"),
            ("start: %regex {\"pattern\": 1}", (1, 8), "pattern"),
            ("start: <[7-x]>", (1, 8), "no token id"),
            ("start: *", (1, 8), "nothing to repeat"),
            ("start: \"a\" ) \"b\"", (1, 12), "unexpected `)`"),
            ("start: \"\\q\"", (1, 9), "unknown escape"),
        ],
    );
}
