//! GBNF, by llama.cpp's `grammars/README.md`.

use maskwright::ebnf::Dialect;
use maskwright::{ErrorKind, ebnf};

use crate::{accept_tokens, compiler, judge};

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
    judge(Dialect::Gbnf, cases);
}

/// The README's own grammars: chess (its "Example"), lists ("The root rule"), and the grammar that
/// its "JSON Schemas → GBNF" shows.
#[test]
fn examples_of_the_readme() {
    let chess = r#"
# `root` specifies the pattern for the overall output
root ::= (
    # it must start with the characters "1. " followed by a sequence
    "1. " move " " move "\n"

    # it's followed by one or more subsequent moves, numbered with one or two digits
    ([1-9] [0-9]? ". " move " " move "\n")+
)
move ::= (pawn | nonpawn | castle) [+#]?
nonpawn ::= [NBKQR] [a-h]? [1-8]? "x"? [a-h] [1-8]
pawn ::= ([a-h] "x")? [a-h] [1-8] ("=" [NBKQR])?
castle ::= "O-O" "-O"?
"#;
    let person = r#"
age-kv ::= "\"age\"" space ":" space integer
char ::= [^"\\\x7F\x00-\x1F] | [\\] (["\\bfnrt] | "u" [0-9a-fA-F]{4})
integer ::= ("-"? integral-part) space
integral-part ::= [0] | [1-9] [0-9]{0,15}
name-kv ::= "\"name\"" space ":" space string
root ::= "{" space name-kv "," space age-kv "}" space
space ::= | " " | "\n" [ \t]{0,20}
string ::= "\"" char* "\"" space
"#;
    judge(
        Dialect::Gbnf,
        &[
            (
                chess,
                &["1. e4 e5\n2. Nf3 Nc6\n", "1. d4 Nf6\n2. O-O dxe5+\n30. e8=Q Kd7#\n"],
                &["1. e4 e5\n", "1. e4 e5\n0. d4 d5\n", "1. e9 e5\n2. e4 e5\n"],
            ),
            (
                "# a grammar for lists\nroot ::= (\"- \" item)+\nitem ::= [^\\n]+ \"\\n\"\n",
                &["- a\n", "- milk\n- ぁ\n"],
                &["", "-a\n", "- \n", "- a"],
            ),
            ("root ::= hiragana+\nhiragana ::= [ぁ-ゟ]", &["ぁゟ"], &["a", ""]),
            (
                person,
                &["{\"name\":\"A\\u00e9\", \"age\":\n  12}", "{ \"name\" : \"\" ,\"age\":0}"],
                &["{\"name\":\"A\",\"age\":012}", "{\"name\":\"A\"}"],
            ),
        ],
    );
}

/// Any token may stand in the place of a negated one but that token and the end tokens (llama.cpp's
/// grammar parser, its tests of `!<[id]>`); it may be an ordinary one.
#[test]
fn negated_tokens() {
    for grammar in ["root ::= !<end>* <end> \"!\"", "root ::= !<[259]>* <[259]> \"!\""] {
        let mut matcher = compiler().gbnf(grammar).unwrap().matcher();
        accept_tokens(&mut matcher, "a <end> é\n");
        matcher.accept(257).unwrap();
        matcher.accept(258).unwrap();
        assert!(!matcher.is_accepting() && matcher.accept(256).is_err());
        matcher.accept(259).unwrap();
        assert!(matcher.accept(257).is_err() && matcher.accept(259).is_err());
        matcher.accept_bytes(b"!").unwrap();
        assert!(matcher.is_accepting());
    }
    let error = compiler().gbnf("root ::= !<nobody>").unwrap_err();
    assert!(error.to_string().contains("no token `<nobody>`"), "{error}");
    let mut matcher = compiler().gbnf("root ::= !<[65]> <[65]> [A-B]").unwrap().matcher();
    let allowed: Vec<u32> = matcher.mask().unwrap().iter().collect();
    assert_eq!(allowed, (0..260).filter(|&id| id != 65 && id != 256).collect::<Vec<_>>());
    matcher.accept(66).unwrap();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [65]);
    matcher.accept(65).unwrap();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [65, 66]);
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

/// XGrammar's "EBNF Grammar", the examples of each section.
#[test]
fn xgrammar() {
    judge(
        Dialect::Gbnf,
        &[
            (
                "root ::= expr (\"=\" expr)*\nexpr ::= term ([-+*/] term)*\nterm ::= num | \"(\" expr \")\"\nnum  ::= [0-9]+",
                &["1+2", "(3*4)-5=7", "2=2=2"],
                &["1+", "=2"],
            ),
            // "Grammar Structure".
            (
                "root ::= \"a\" |\n         \"b\" |\n         \"c\"\n  \"d\" # goes on\n\n  e\ne ::= [e]\n  f ::= \"f\"",
                &["a", "b", "cde"],
                &["c", "cd", "ade"],
            ),
            ("root ::= root \"a\" | \"a\"", &["a", "aaa"], &["", "b"]),
            // "Elements".
            ("root ::= \"\\/\\'\\?\\a\\e\\0\\b\\f\\v\"", &["/'?\x07\x1B\0\x08\x0C\x0B"], &["/"]),
            ("root ::= [\\$\\.\\*] [^] [^0-9]", &[".\na", "$$$"], &["a..", ".a1"]),
            // "Committed-Shortest Matching", "Capture Groups".
            (
                "root ::= \"<\" name \">\" rest\nname[lazy] ::= [a-z]+\nrest[capture=\"r\"] ::= [a-z]+",
                &["<a>bc"],
                &["<ab>c", "<>c"],
            ),
            // As XGrammar prints grammars.
            (
                "root ::= (item{2, -1}) (=(\"x\" item))\nitem ::= ((\"a\")) (=item)",
                &["aa", "aaaa"],
                &["a"],
            ),
            // Empty alternatives, groups and rules.
            ("root ::= | \"a\" | () | \"b\" |", &["", "a", "b"], &["ab"]),
            ("root ::= b \"x\" c\nb ::=\nc ::= # nothing\n\nd ::= \"y\"\n", &["x"], &["xy", ""]),
            // "Macros".
            ("root ::= \"ID-\" Regex(\"[0-9]{5}\")", &["ID-12345"], &["ID-1234"]),
            ("root ::= Regex(\"a.b\") Regex(\"\\\\d\", json_string=false)", &["a\nb1"], &["ab1"]),
            (
                "root ::= Regex(\"hello, world.\", flags=\"is\")",
                &["Hello, WORLD\n"],
                &["hello, world"],
            ),
            ("root ::= Regex(\"x.\", flags=\"u\")", &["xy"], &["x\n", "Xy"]),
            ("root ::= Regex(\"a|(?:b)\")", &["a", "b"], &["ab"]),
            (
                "root ::= string_body\nstring_body ::= Regex(\"\\\\S+\", json_string=true)",
                &["ab\u{e9}"],
                &["a\"b", "a\\", "a b"],
            ),
            (
                "root ::= Substring(\"abc\", \"de\", \"fg\")",
                &["", "abc", "de", "abcde", "defg", "abcdefg"],
                &["ab", "cde"],
            ),
            (
                "root ::= TagDispatch(\n    (\"<tool_call>\", tool_call_body),\n    (\"<code>\", code_body),\n    loop_after_dispatch=true,\n    excludes=()\n)\ntool_call_body ::= \"{\" [^}]* \"}\"\ncode_body ::= \"```\" [^`]* \"```\"",
                &[
                    "I will call a tool. <tool_call>{\"name\": \"get_weather\"}</tool_call> Done.",
                    "no tool call at all",
                    "<code>```print(1)```<tool_call>{}",
                    "<tool_ca",
                ],
                &["<tool_call>", "<code>{}", "<tool_call>{} <code>x"],
            ),
            (
                "root ::= TagDispatch((\"<tool>\", tool), loop_after_dispatch=false)\ntool ::= \"get_weather\"",
                &["so <tool>get_weather", "so"],
                &["<tool>get_weather."],
            ),
            (
                "root ::= body \"</answer>\"\nbody ::= TagDispatch(\n    (\"<tool_call>\", tool_call_body),\n    excludes=(\"</answer>\",)\n)\ntool_call_body ::= \"{\" [^}]* \"}\"",
                &["a<tool_call>{}b</answer>", "</answer>", "<tool_call>{</answer>}</answer>"],
                &["a", "</answer></answer>"],
            ),
            // A rule of such a name that is called as others are.
            ("root ::= Token (\"b\")\nToken ::= \"a\"", &["ab"], &["a"]),
        ],
    );
    let grammar = "root ::= TokenTagDispatch((257, body), excludes=(258,))\nbody ::= \"{}\"";
    let mut matcher = compiler().gbnf(grammar).unwrap().matcher();
    accept_tokens(&mut matcher, "so ");
    matcher.accept(259).unwrap();
    assert!(matcher.is_accepting() && matcher.accept(258).is_err());
    matcher.accept(257).unwrap();
    assert!(!matcher.is_accepting());
    accept_tokens(&mut matcher, "{} so");
    assert!(matcher.is_accepting());
    let mut matcher = compiler().gbnf("root ::= \"a\" ExcludeToken()* \"b\"").unwrap().matcher();
    accept_tokens(&mut matcher, "axyb");
    assert!(matcher.is_accepting());
    let mut matcher =
        compiler().gbnf("root ::= Token(257, 259) ExcludeToken(258)").unwrap().matcher();
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [257, 259]);
    matcher.accept(259).unwrap();
    assert!(matcher.accept(258).is_err());
    matcher.accept(257).unwrap();
    assert!(matcher.is_accepting());
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
        ("root ::= [a-", (1, 10), "class is not closed"),
        ("root ::= [a-\nb ::= \"]\"", (1, 10), "class is not closed"),
        ("root ::= [b-a", (1, 10), "class is not closed"),
        ("root ::= \"\\q\"", (1, 11), "unknown escape"),
        ("root ::= \"a\"{3,2}", (1, 13), "exceeds"),
        ("root ::= \"a\"{x}", (1, 14), "expected a number"),
        ("root ::= *", (1, 10), "nothing to repeat"),
        ("root ::= !a", (1, 10), "expected a token"),
        ("root ::= \"a\"\nb = \"c\"", (2, 3), "unexpected `=`"),
        (r#"root ::= "\x1F600""#, (1, 11), "one character to XGrammar"),
        ("a.b ::= \"x\"\nroot ::= a.c", (2, 10), "never defined"),
        ("root ::= lsit\nlist ::= \"a\"", (1, 10), "did you mean `list`"),
        ("root ::= \"a\"\nroot ::= \"b\"", (2, 1), "twice"),
        ("root ::= \"a\" & \"b\"", (1, 14), "unexpected"),
        ("root[temper=5] ::= \"a\"", (1, 6), "unknown option"),
        ("root[max_tokens] ::= \"a\"", (1, 6), "expected `=` and a whole number"),
        ("root[max_tokens=99999999999] ::= \"a\"", (1, 6), "whole number of 32 bits"),
        ("root ::= Regex(5)", (1, 16), "a text in quotes"),
        ("root ::= Regex(\"a\", flags=\"x\")", (1, 27), "flags"),
        ("root ::= Substring(\"a\", by=\"x\")", (1, 28), "no argument `by`"),
        ("root ::= Token()", (1, 10), "a token id"),
        ("root ::= TagDispatch((\"\", a))\na ::= \"a\"", (1, 23), "not empty"),
        ("root ::= TagDispatch((\"b\", \"a\"))", (1, 22), "a pair of tag and rule"),
        ("root ::= TagDispatch((\"b\", a))", (1, 28), "never defined"),
        ("é ::= \"a\"", (1, 1), "name of a rule"),
        ("\nb ::= \"é\"\na ::= (b |\n  \"é\" [é] c)", (4, 11), "never defined"),
        ("b ::= \"a\"", (1, 1), "no rule `root`"),
        ("", (1, 1), "no rule `root`"),
        (&repeats, (1, 20), "8 repeats"),
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

/// Line breaks, names and escapes as XGrammar documents and prints them.
#[test]
fn xgrammar_as_it_is_written_and_printed() {
    judge(
        Dialect::Gbnf,
        &[
            // A line that begins no rule goes on with the one above, indented or not.
            ("root ::= \"a\"\n\"b\" # c\n\n[0-9]\n| \"c\"", &["ab1", "c"], &["a", "ab"]),
            ("root ::=\n\"a\" x\nx ::=\n\"b\"", &["ab"], &["a"]),
            ("root ::= x\n\nx[lazy] ::= [a-b]+ \"b\"\n\"c\"", &["abc"], &["ab"]),
            // Names with dots where they are defined, else llama.cpp's dot.
            ("root ::= a.b a\na.b ::= \"x\"\na ::= \"y\"", &["xy"], &["yxy"]),
            ("root ::= a.b\na ::= \"x\"\nb ::= \"y\"", &["x?y", "xxy"], &["xy"]),
            ("a.b.c ::= a.b\na.b ::= \"x\"\nroot ::= a.b.c.", &["x!"], &["x"]),
            // Printed: `é` and a letter after it, two digits; a hint of what follows.
            (r#"root ::= (("caf\xe9e") | ([^\x00-\x1f]))"#, &["cafée", "a"], &["\n"]),
            (
                "root ::= ((a \"b\"))\na ::= ((a_1{2, -1})) (=(\"c\"))\na_1 ::= ((\"x\"))",
                &["xxb", "xxxxb"],
                &["xb", "xxc"],
            ),
            ("root ::= ((\"a\") | (\"\"))", &["a", ""], &["aa"]),
            (r#"root ::= "\U0001f600\u00e9\e\0" [^]"#, &["😀é\u{1b}\0\n"], &[""]),
        ],
    );
}
