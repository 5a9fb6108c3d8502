//! Lark's notation, by Lark's grammar reference and llguidance's `docs/syntax.md`.

use maskwright::ebnf::Dialect;

use crate::{accept_tokens, compiler, judge, refuse};

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
            ("start: /a # c/x | /(b)|c/i", &["a", "b", "C"], &["A", ""]),
            // Escapes of strings, a pair of surrogates among them, as JSON has it.
            ("start: \"\\ud83d\\ude00\\u00e9\\/\\\\\"", &["😀é/\\"], &["😀"]),
            // Blanks, and arrows without them.
            (
                "start: n->x | sep {\"a\", \",\"}\nn.+1: \"1\"\nsep {y, z} .2: y z y",
                &["1", "a,a"],
                &["a"],
            ),
            ("start: IF | NAME\nIF.2: \"if\"\nNAME: /[a-z]+/", &["if", "iff"], &["IF"]),
            // An atomic group at the end of its terminal takes nothing from what follows that.
            ("start: A \"a\"\nA: /(?>a+)/", &["aa", "aaa"], &["a"]),
            // The same import twice, and a name of Python's, which has no combining mark.
            (
                "start: INT NAME\n%import common.INT\n%import common (INT, WS)\n%import python.NAME",
                &["1é", "1_²", "1a1"],
                &["1", "12", "1\u{301}a"],
            ),
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
            // The first alternative is empty, on a line of its own or not.
            ("start:\n  | \"a\"\n  | \"b\" // c\n", &["", "a", "b"], &["ab"]),
            ("start: | \"a\"", &["", "a"], &["aa"]),
            ("start: \"a\" | | \"b\"", &["", "a", "b"], &["ab"]),
            ("start: \"a\" |\n", &["", "a"], &["b"]),
            (
                "start: list\nlist: | item \",\" list\nitem: /[0-9]/",
                &["", "1,", "1,2,"],
                &["1", ","],
            ),
            ("start: \"x\" b c\nb:\nc: \"y\"", &["xy"], &["x", "xyy"]),
            ("start: b \"x\"\nb:", &["x"], &["", "xx"]),
            ("start: b \"x\"\nb: // nothing\n\n%ignore \" \"\n?c: \"y\"", &["x", " x"], &["y"]),
            ("start: b{\"a\"} c\nb{x}:\nc[lazy]: /y+/", &["y"], &["", "yy"]),
            ("start:\n  \"a\"\n", &["a"], &[""]),
            // A rule goes on after a backslash, a verbose pattern on the next line.
            ("start: \"a\" \\\n  \"b\" \\ \n\n", &["ab"], &["a"]),
            ("start: A\nA: /a  # the first\n   b/x \"c\"", &["abc"], &["a b"]),
            ("start: \"a\" () [] (\"b\" | )", &["a", "ab"], &["", "abb"]),
            // "Templates".
            ("start: b{\"a\"} | b{c}\nb{t}: d{t}\nc: \"x\"\nd{x}: x", &["a", "x"], &["ax"]),
            ("start: a{b}\na{t}: t{\"a\"}\nb{x}: x", &["a"], &["", "aa"]),
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
                "start: REGEXP\n%import lark.REGEXP",
                &["/a/", "/a\\/", "/\\\n/x", "/a\\/b/is"],
                &["//", "/a", "/a/b"],
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
                    "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Seattle\"}}",
                    "{\"name\":\"get_weather\",\"parameters\":{\"city\":\"Seattle\"}}",
                ],
                // Nor two styles of whitespace in one text, which llguidance's document shows.
                &[
                    "",
                    "{\"name\": \"get_wether\", \"parameters\": {\"city\": \"Seattle\"}}",
                    "{\"name\":\"get_weather\", \"parameters\": {\"city\":\"Seattle\"}}",
                    "{}",
                ],
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
            // JSON Schemas need not be objects.
            ("start: %json true\n", &["[1, {}]", "\"x\""], &["x"]),
            // "Recursive rules".
            (
                "start: expr\nexpr: expr \"+\" term | term\nterm: term \"*\" factor | factor\nfactor: \"(\" expr \")\" | NUMBER\nNUMBER: /[0-9]+/",
                &["1", "1+2*(3+4)"],
                &["1+", "()"],
            ),
            // "Grammar options".
            ("%llguidance { \"no_forcing\": true }\nstart: \"a\"", &["a"], &[]),
            (
                "%llguidance { \"skip_repetition\": \"once\" }\n%ignore /[ \\t]{1,8}/\nstart: \"A\" \"!\"",
                &["A!", "A        !"],
                &["A         !"],
            ),
            (
                "%grammar_options {\"allow_initial_skip\": false}\n%ignore \" \"\nstart: \"A\" \"!\"",
                &["A ! "],
                &[" A!"],
            ),
            // Grammars within grammars; what is ignored outside is not ignored inside.
            (
                "start: %lark {\nstart: /[^}]/ \"{\" /\"/ # } and \" unbalanced\n}",
                &["a{\""],
                &["}{\"", "a"],
            ),
            (
                "%ignore \" \"\nstart: %lark { start: \"a\" \"}\" } @json",
                &["a} [1]", " a} 2 "],
                &["a }1", "a}"],
            ),
        ],
    );
}

/// llguidance's `docs/parametric.md`, each example.
#[test]
fn parametric_rules() {
    judge(
        Dialect::Lark,
        &[
            (
                "start    :  perm::0x0\nperm::_  :  \"\"                       %if is_ones([0:3])\n         |  \"a\" perm::set_bit(0)     %if bit_clear(0)\n         |  \"b\" perm::set_bit(1)     %if bit_clear(1)\n         |  \"c\" perm::set_bit(2)     %if bit_clear(2)\n",
                &["abc", "cab", "bca"],
                &["", "ab", "aabc", "abca", "aab"],
            ),
            (
                "start: perm::0x0\nperm::_: \"\" %if is_ones([0:3])\n | \"a\" perm::set_bit(0)\n | \"b\" perm::set_bit(1)\n | \"c\" perm::set_bit(2)",
                &["abc", "aabbcab", "cccba"],
                &["", "ab", "aabb"],
            ),
            (
                "start  : aa::0\naa::_  : \"b\" aa::incr(_)    %if lt(_, 20)\n       | bb::_\nbb::_  : \"a\" bb::incr(_)    %if lt(_, 20)\n       | \"\"\n",
                &["", "bbaaa", "bbbbbbbbbbaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa"],
                &["ab", "bbbbbbbbbbaaaaaaaaaaa"],
            ),
            (
                "start  : lst::0x0\nlst::_ : \"a\" lst::incr([0:3])  %if lt([0:3], 5)\n       | \"b\" lst::incr([3:6])  %if lt([3:6], 5)\n       | \"c\" lst::incr([6:9])  %if lt([6:9], 6)\n       | \"\"\n",
                &["", "aaaaa", "abcabcabcabcabcc"],
                &["aaaaaa", "bbcbbcbb", "ccccccc"],
            ),
            (
                "start: perm::0x0\nperm::_: \"\" %if bit_count_ge(_, 1)\n|  \"a\" perm::set_bit(0) %if and(bit_clear(0), bit_count_lt(_, 3))\n|  \"b\" perm::set_bit(1)     %if and(bit_clear(1), bit_count_lt(_, 3))\n|  \"c\" perm::set_bit(2)     %if and(bit_clear(2), bit_count_lt(_, 3))\n|  \"d\" perm::set_bit(3)     %if and(bit_clear(3), bit_count_lt(_, 3))\n|  \"e\" perm::set_bit(4)     %if and(bit_clear(4), bit_count_lt(_, 3))",
                &["a", "eb", "dca"],
                &["", "aa", "abcd"],
            ),
            // A list without a number that was there, in any rule below the one that begins it.
            (
                "start: \"[\" item::0 \"]\"\nitem::_: one{pick::_, \",\"}\none{x, y}: x | x y\npick::_: (\"1\" more::set_bit(1) %if bit_clear(1)) | \"2\" more::bit_or(0x4) %if not(bit_set(2))\nmore::_: [\",\" pick::_]",
                &["[1]", "[1,2]", "[2,1]", "[2,1,]", "[2,]"],
                &["[]", "[1,1]", "[1,2,1]"],
            ),
            // Downwards, to a text that is as long as the number says.
            (
                "start: n::0x30\nn::_: \"\" %if is_zeros(_)\n| \"a\" n::decr([4:6]) %if or(ge([4:6], 1), ne([0:4], 0))",
                &["aaa"],
                &["", "a", "aa", "aaaa"],
            ),
            (
                "start: n::5\nn::_: \"a\" %if gt([0:2], 1)\n | \"b\" %if le([0:2], 1)\n | \"c\" n::clear_bit(0) %if bit_count_eq([0:3], 2)\n | \"d\" n::bit_and(0x1) %if true",
                &["b", "cb", "db", "ddb", "cdb"],
                &["a", "ccb", "da"],
            ),
        ],
    );
}

/// XGrammar's `lark_grammar.md`: a lazy rule may end with a special token.
#[test]
fn a_special_token_ends_a_lazy_rule() {
    for head in ["TEXT <tool>", "/(.|\\n)*/ <[257]>"] {
        let grammar = format!("start: head /[0-9]/\nhead[lazy]: {head}\nTEXT: /(.|\\n)*/");
        let mut matcher = compiler().lark(&grammar).unwrap().matcher();
        matcher.accept_bytes(b"some <tool> text").unwrap();
        assert!(matcher.accept(258).is_err() && !matcher.is_accepting());
        matcher.accept(257).unwrap();
        assert!(matcher.accept_bytes(b"a").is_err());
        matcher.accept_bytes(b"1").unwrap();
        assert!(matcher.is_accepting());
    }
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
    let sets = format!("start: {}", "<[0-4000]> ".repeat(70));
    let error = compiler().lark(&sets).unwrap_err().to_string();
    assert!(error.contains("more than 262144 tokens in all"), "{error}");
    // An id beyond the vocabulary is no token.
    for id in [260, 1 << 20, u32::MAX] {
        let mut matcher = compiler().lark("start: <[*]> | <[^7]>").unwrap().matcher();
        assert!(matcher.accept(id).is_err(), "{id}");
    }
    // A byte beside which a token may come is not forced.
    let forced = |grammar: &str| {
        let constraint = compiler().lark(grammar).unwrap();
        constraint.matcher().forced_bytes(9).unwrap()
    };
    assert_eq!(forced("start: \"ab\""), b"ab");
    assert_eq!(forced("start: <tool> | \"ab\""), b"");
    assert_eq!(forced("start: <[^258]> | \"ab\""), b"");
    let mut matcher = compiler().lark("start: <[*]>* <tool> /.*/").unwrap().matcher();
    accept_tokens(&mut matcher, "thinking é");
    matcher.accept(258).unwrap();
    assert!(!matcher.is_accepting());
    matcher.accept(257).unwrap();
    assert!(matcher.is_accepting());
}

#[test]
fn what_is_refused() {
    let doubled = |i: usize| format!("\nA{}: A{i} A{i}", i + 1);
    let doubled: String = (0..30).map(doubled).collect();
    let huge = format!("start: A30\nA0: /a*?b/{doubled}");
    refuse(
        Dialect::Lark,
        &[
            ("start: <[0-4094,0-4095]>", (1, 8), "a set of more than"),
            ("start: \"a", (1, 8), "not closed"),
            ("start: /a", (1, 8), "not closed"),
            ("start: /a\nb/", (1, 8), "flag `x`"),
            ("start: /(a/", (1, 8), "unclosed"),
            ("start: /a)|(b/i", (1, 8), "unopened"),
            ("start: A\nA: \"a\" /\\</", (2, 8), "`\\b{start}` for the border"),
            ("start: /\\\\\\>/", (1, 8), "write `>` for the character"),
            // What a possessive repeat takes is missing to what follows it in the terminal.
            ("start: A\nA: /a++/ \"a\"", (2, 4), "changes what is matched"),
            ("start: A\nA: /(?>a+)/ B\nB: \"a\"", (2, 4), "changes what is matched"),
            ("start: 'a'", (1, 8), "double quotes"),
            ("start: \"\\(\"", (1, 9), "unknown escape"),
            ("start: /a/l", (1, 11), "flag `l`"),
            ("start: (\"a\"", (1, 12), "expected `)`"),
            ("start: itme\nitem: \"a\"", (1, 8), "did you mean `item`"),
            ("item: \"a\"", (1, 1), "no rule `start`"),
            ("start: \"a\"\nstart: \"b\"", (2, 1), "twice"),
            ("start = \"a\"", (1, 7), "expected `:`"),
            ("start: A\nA: b\nb: \"x\"", (2, 4), "is a rule"),
            ("start: A\nA: \"(\" A \")\" | \"x\"", (1, 8), "calls itself"),
            ("start: A\nA: \"(\" /a*?b/ A \")\" | \"x\"", (1, 8), "calls itself"),
            (&huge, (15, 6), "too large"),
            ("start: A\nA: <tool>", (2, 4), "no special token"),
            ("start: t{\"a\"}\nt{x, y}: x y", (1, 8), "takes 2 arguments"),
            ("start: t{\"a\"}\nt{x}: t{x x}", (2, 7), "more than 10000 bytes"),
            ("start: tt{\"a\"}\ntu{x}: x", (1, 8), "did you mean `tu`"),
            ("start: \"a\"{3,2}", (1, 11), "exceeds"),
            ("start: \"a\"{x}", (1, 12), "bounds"),
            ("start: \"z\"..\"a\"", (1, 8), "ends before"),
            ("start: \"ab\"..\"c\"", (1, 8), "single characters"),
            ("%import common.NUMBR\nstart: NUMBR", (1, 16), "did you mean `NUMBER`"),
            ("%unknown X", (1, 1), "unknown statement"),
            ("start[stop=\"\"]: /a*/", (1, 7), "names no text"),
            ("start[max_tokens=\"5\"]: /a*/", (1, 7), "takes a number"),
            ("start[max_tokens=5.5]: /a*/", (1, 7), "no whole number"),
            ("start[temper=5]: /a*/", (1, 7), "unknown attribute `temper`"),
            ("start[max_chars]: /a*/", (1, 7), "takes a number"),
            ("start: A\nA[max_tokens=5]: /a*/", (2, 1), "is a terminal"),
            ("start::_ : \"a\"", (1, 1), "no rule `start`"),
            ("start: a::0x0\na: \"a\"", (1, 8), "no rule `a` with a parameter"),
            ("start: a\na::_: \"a\"", (1, 8), "`a` takes a parameter"),
            ("start: a{\"x\"}\na::_: \"a\"", (1, 8), "no template `a`"),
            ("start: a::_\na::_: \"a\"", (1, 8), "no parameter to pass on"),
            ("start: \"a\" %if bit_set(0)", (1, 8), "this rule has none"),
            ("start: A\nA: a::0\na::_: \"a\"", (2, 4), "no part of a terminal"),
            ("start: A::0\nA::_: \"a\"", (2, 1), "takes no parameters"),
            ("start: a::0\na:: \"a\"", (2, 1), "`a::_"),
            ("start: a::0\na::_: \"a\"\na: \"b\"", (3, 1), "twice"),
            ("start: a::0\na::_: \"a\"\na::_: \"b\"", (3, 1), "twice"),
            ("start: t{\"a\"}\nt{x}: x\nt{y}: y", (3, 1), "twice"),
            ("start: a::add(1)\na::_: \"a\"", (1, 11), "makes no parameter"),
            ("start: a::set_bit(64)\na::_: \"a\"", (1, 19), "64 bits"),
            ("start: a::0x1ffffffffffffffff\na::_: \"a\"", (1, 11), "number of 64 bits"),
            ("start: a::0\na::_: \"a\" %if eq([3:3], 0)", (2, 18), "end before they begin"),
            ("start: a::0\na::_: \"a\" %if eq([0:65], 0)", (2, 21), "64 bits"),
            ("start: a::0\na::_: \"a\" %if eq(0, 0)", (2, 18), "some bits"),
            ("start: a::0\na::_: \"a\" %if foo([0:1], 0)", (2, 15), "no condition"),
            (
                "start: a::0\na::_: \"a\" a::incr(_) | b\nb[lazy]: /b+/",
                (2, 11),
                "more than 16384 values",
            ),
            ("%llguidance {\"skip_repetition\": 2}\nstart: \"a\"", (1, 1), "skip_repetition"),
            ("%llguidance {\"allow_invalid_utf8\": true}\nstart: \"a\"", (1, 1), "allow_invalid"),
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

/// Ignored text is a longest match, as in all parsers of Lark: no code stands in a comment.
#[test]
fn comments_end_where_nothing_makes_them_longer() {
    const SUM: &str =
        "start: sum\nsum: NUMBER (\"+\" sum)? | \"(\" start \")\"\nNUMBER: /[0-9]+/\n";
    let blanks = format!("{SUM}%ignore /\\s+/\n%ignore /#[^\\n]*/\n");
    let library = format!(
        "{SUM}%import common.SH_COMMENT\n%import common.WS -> W\n%ignore W\n%ignore SH_COMMENT\n"
    );
    let accepted = [
        "1",
        "1 # ( (",
        "# a\n1",
        "# 1\n#\n(1 # ) 2\n + # +\n 2)#",
        "#\n1+2 # 3\n# 4\n",
        " 1 \n #é",
    ];
    let rejected = ["# 1", "1 # + 2\n2", "(1 # )", "1 # a\n(", "(1 #\n # 2)", "1 + # 2"];
    judge(Dialect::Lark, &[(&blanks, &accepted, &rejected), (&library, &accepted, &rejected)]);
    judge(
        Dialect::Lark,
        &[
            // A terminal that a comment does not reach into; one that may.
            (
                "start: (A NL)+\nA: \"a\"\nNL: /[;\\n]/\n%ignore \" \"\n%ignore /\\/\\/[^\\n]*/",
                &["a;a\n", "a // x;\n", "a;a// a;\na //\n"],
                &["a // ;", "a // a;\n a", "a // x"],
            ),
            // Blanks and signs between comments.
            (
                "start: \"a\"+\n%ignore /[\\s,]+/\n%ignore /;[^\\n]*/",
                &["a, a", "a;a\na", ",;,\n,a"],
                &[";a", ";,a", "b"],
            ),
            // Comments that take their line break, and blanks and comments in one pattern.
            (
                "start: \"a\"+\n%ignore \" \"\n%ignore /;[^\\n]*\\n?/",
                &["a;a\na", ";\n;\na", "a;a;", "a ;a"],
                &[";a", "a;\n;a\n\n", "\na"],
            ),
            (
                "start: \"a\"+\n%ignore /\\s+|\\/\\/[^\\n]*/",
                &["a//a\na", "//\n //a\n a", "a //a"],
                &["//a", "//\n//a", "a/a"],
            ),
            // Two kinds, and one with an end.
            (
                "start: \"a\"+\n%ignore \"\\n\"\n%ignore /#.*/\n%ignore /;.*/\n%ignore /<[^>]*>/",
                &["a<a>a", "#;a\na", "a;#\n<\n>#<\na"],
                &["#a", ";\n#a", "a <b", "#<\n>a"],
            ),
            // Blanks may be cut anywhere.
            ("start: \"a\" / b/\n%ignore / +/", &["a b", "a  b"], &["ab"]),
        ],
    );
}

/// A terminal with lazy quantifiers reads what Python's `re` would match whole, its parts joined, as in Lark:
/// each verdict is `re.match(joined, text, re.S)` ending at the end of the text.
#[test]
fn lazy_terminals_end_at_the_first_end() {
    const NOTE: &str = "start: WORD+\nWORD: /[a-z]+/\n%ignore \" \"\n";
    let comments = [
        format!("{NOTE}%ignore /\\/\\*.*?\\*\\//s"),
        format!("{NOTE}C: \"/*\" /.*?/s \"*/\"\n%ignore C"),
    ];
    let accepted = ["a /* b */ c", "/**/a", "a/* \n ( * */b/*x*//*y*/c"];
    let rejected = ["a /* b */ ( /* */ c", "/* */ */ a", "a /* b"];
    let judged =
        comments.each_ref().map(|grammar| (grammar.as_str(), &accepted[..], &rejected[..]));
    judge(Dialect::Lark, &judged);
    let python = [
        "%import python.LONG_STRING\nstart: LONG_STRING",
        "start: LONG_STRING\nLONG_STRING: /([ubf]?r?|r[ubf])(\"\"\".*?(?<!\\\\)(\\\\\\\\)*?\"\"\"|\u{27}\u{27}\u{27}.*?(?<!\\\\)(\\\\\\\\)*?\u{27}\u{27}\u{27})/is",
    ];
    let accepted =
        [r#""""a"b""c\n""""#, r#"r"""\"""" "#.trim_end(), r#""""\\""""#, "'''\n'''", r#""""""""#];
    let rejected = [r#""""a""" + """b""""#, r#""""\""""#, "'''a\"\"\"", r#"""""""""""""#];
    judge(Dialect::Lark, &python.map(|grammar| (grammar, &accepted[..], &rejected[..])));
    judge(
        Dialect::Lark,
        &[
            // Lark's own definition of `ESCAPED_STRING`, and of a string in single quotes beside it.
            (
                "start: S | T\n_I: /.*?/\n_E: _I /(?<!\\\\)(\\\\\\\\)*?/\nS: \"\\\"\" _E \"\\\"\"\n%import common._STRING_ESC_INNER -> _F\nT: \"\u{27}\" _F \"\u{27}\"",
                &[r#""""#, r#""a'b""#, r#""\"""#, r#""\\""#, "'a\"'", r"'\''", r"'\\'"],
                &[r#""a"b""#, r#""\""#, r"'\'", "'a'b'", "\"a\nb\""],
            ),
            // By name in a rule, as an alternative, in a rule itself.
            ("start: A A\nA: /a.*?b/", &["abab", "aabab"], &["ab", "abbab"]),
            ("start: A\nA: /a.*?b/ | /c+/ | \"dd\"", &["ab", "cc", "dd"], &["abb", "aab b"]),
            ("start: /a.*?b/ \"b\"?", &["ab", "abb"], &["abbb"]),
            // A part of a larger terminal: the whole decides.
            ("start: B\nA: /a.*?b/\nB: A \"c\"", &["abc", "abbc"], &["ab", "abcbc"]),
            // The order of alternatives counts where a quantifier is lazy, and there alone.
            ("start: /(?:a|ab)c??/", &["a"], &["ab", "ac", "abc"]),
            ("start: /a|ab/", &["a", "ab"], &["b"]),
            // Lark refuses a terminal of no text; the mark is not meant.
            ("start: \"<\" /[^>]*?/ \">\"", &["<>", "<ab>"], &["<>>"]),
            // Of `&` and `~` each terminal is a whole.
            ("start: B\nA: /a.*?b/\nB: A & ~/aab/", &["ab", "acb"], &["aab", "abb"]),
        ],
    );
}

/// Conditions on the text around see their whole terminal, whose parts Lark joins.
#[test]
fn conditions_see_their_terminal() {
    judge(
        Dialect::Lark,
        &[
            ("start: B\nA: /(?!if)/ /[a-z]+/\nB: A \"!\"", &["of!", "i!"], &["if!", "iff!"]),
            (
                "start: B+\nK: /if\\b/\nB: K /[a-z. ]+/ | \"i\"",
                &["if.", "if a", "iif x"],
                &["if", "ifa"],
            ),
            ("start: B\nB: \"a\" /^b/ | /a$/ \"c\" | \"d\" /(?<=d)e/", &["de"], &["ab", "ac", "d"]),
        ],
    );
}

/// Bounds of templates are on those that differ.
#[test]
fn a_template_may_be_used_any_number_of_times() {
    let uses = "list{\"a\"} ".repeat(3000);
    let grammar = format!("start: {uses}\nlist{{x}}: x?");
    judge(Dialect::Lark, &[(&grammar, &["", "aaa"], &["b"])]);
}

/// A long sequence of parts that may all be left out is no deep nest of groups.
#[test]
fn many_optional_parts() {
    let parts = 2_000;
    let sequence: String = (0..parts).map(|i| format!(" part{i}?")).collect();
    let rules: String = (0..parts).map(|i| format!("part{i}: \"{i};\" nest\n")).collect();
    let grammar = format!("start:{sequence}\n{rules}nest: \"(\" nest \")\" | \"x\"\n");
    judge(
        Dialect::Lark,
        &[(
            &grammar,
            &["", "0;x", "7;(x)8;x", "3;x1000;((x))1999;x"],
            &["8;x7;x", "2000;x", "7;x7;x", "7;(x"],
        )],
    );
}

/// Comments that may begin with line breaks go on to the end of their line like others.
#[test]
fn comments_after_line_breaks_go_on() {
    judge(
        Dialect::Lark,
        &[
            (
                "start: \"a\" \":\"\nCOMMENT: /\\s*#[^\\n]*/\n%ignore COMMENT\n%ignore /\\n/",
                &["a:", "a#b\n:", "a#b:\n#:\n:", "#\na:#x", "a\n #\n\n#\n\n:"],
                &["a#b:", "a\n#:", "a#b:\n#:", "a #b\n#\n #:"],
            ),
            (
                "start: \"(\" start? \")\"\n%ignore /#[^\\n]*/\n%ignore /\\s*;[^\\n]*/\n%ignore /\\n/",
                &["(#)\n)", "(\n ;)\n#)\n)", "((#\n;;\n\n;\n))"],
                &["(#)", "(\n;)", "(#\n ;)", "(;\n#)"],
            ),
        ],
    );
}
