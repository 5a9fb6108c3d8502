//! Lark grammars of several parts: imports, overrides and extensions as in Lark's grammar reference,
//! and grammars by name as in llguidance's `docs/syntax.md`, "Multiple grammars".

use maskwright::Compiler;
use maskwright::ebnf::{Dialect, NamedGrammar};

use crate::{accepts, compiler, judge, refuse};

/// A compiler that knows other grammars, each in Lark's notation.
fn with_grammars(grammars: &[(&str, &str)]) -> Compiler {
    grammars.iter().fold(compiler(), |compiler, (name, text)| {
        compiler.with_grammar(*name, NamedGrammar::new(*text, Dialect::Lark))
    })
}

/// A grammar among others, with texts that it accepts and rejects.
#[track_caller]
fn judge_among(grammars: &[(&str, &str)], grammar: &str, yes: &[&str], no: &[&str]) {
    let constraint = with_grammars(grammars).lark(grammar).unwrap_or_else(|error| {
        panic!("{grammar}\n{error}\n{}", error.excerpt().unwrap_or(""));
    });
    for (texts, expected) in [(yes, true), (no, false)] {
        for text in texts {
            assert_eq!(accepts(&constraint, text), expected, "{grammar}\non {text:?}");
        }
    }
}

const MATHS: (&str, &str) = (
    "maths",
    "start: sum\nsum: product (\"+\" product)*\nproduct: atom (\"*\" atom)*\natom: NUMBER | \"(\" sum \")\"\n\
     NUMBER: DIGIT+\n%import common.DIGIT\n%ignore \"_\"\nunused: missing",
);

/// "%import": one rule, with another name, several; what they need comes with them, the file's
/// `%ignore` does not.
#[test]
fn files_are_imported() {
    let (yes, no) = (&["1+2*(3+4)", "1 + 2"][..], &["1+", "1+_2"][..]);
    for import in [
        "%import .maths.sum\nstart: sum",
        "%import .maths.sum -> total\nstart: total",
        "%import .maths (sum, NUMBER)\nstart: sum | NUMBER",
        "%import maths.sum\nstart: sum",
        "%import .maths.sum -> a\n%import .maths.sum -> b\nstart: a | b",
    ] {
        judge_among(&[MATHS], &format!("{import}\n%ignore \" \""), yes, no);
    }
    // The names of two files are apart; a file may import from one beside it.
    judge_among(
        &[
            ("a/one", "%import .two.x\nword: x \"1\"\nx1: word"),
            ("a/two", "x: NAME | \"[\" x \"]\"\nNAME: \"n\""),
        ],
        "%import .a.one.word\nx: \"x\"\nNAME: \"m\"\nstart: x word NAME",
        &["xn1m", "x[n]1m", "x[[n]]1m"],
        &["xx1m", "xm1m", "x[n1]1m"],
    );
    judge_among(
        &[("lists", "sep{item, sign}: item (sign item)*")],
        "%import .lists.sep\nstart: sep{A, sep{\"-\", \",\"}}\nA: \"a\"",
        &["a", "a-a", "a-,-a"],
        &["a,a"],
    );
}

/// "%override" and "%extend" change a rule for the rules of its file as well.
#[test]
fn rules_are_overridden_and_extended() {
    judge_among(
        &[MATHS],
        "%import .maths (sum, atom)\n%override atom: \"x\" | \"<\" sum \">\"\nstart: sum",
        &["x+x*<x+x>"],
        &["1", "(x)"],
    );
    judge_among(
        &[MATHS],
        "start: sum\n%import .maths.sum\n%import .maths.atom -> leaf\n%extend leaf: \"x\"\n    | \"y\"",
        &["x+1*(y+2)"],
        &["z"],
    );
    judge_among(
        &[MATHS],
        "%import .maths (sum, NUMBER)\n%extend NUMBER: \"0x\" /[0-9a-f]+/\nstart: sum",
        &["0xff+1"],
        &["ff"],
    );
    judge(
        Dialect::Lark,
        &[(
            "start: a{\"x\"}\na{p}: p\n%extend a{p}: p p\n%extend a{p}: | \"z\"",
            &["x", "xx", "", "z"],
            &["xxx"],
        )],
    );
}

/// Libraries other than `common`.
#[test]
fn libraries_of_lark() {
    judge(
        Dialect::Lark,
        &[
            (
                "%import python (NAME, STRING, LONG_STRING, DEC_NUMBER, HEX_NUMBER, FLOAT_NUMBER)\nstart: NAME \"=\" (STRING | LONG_STRING | DEC_NUMBER | HEX_NUMBER | FLOAT_NUMBER)",
                &[
                    "é_1='a\\'b'",
                    "x=Rb\"\"",
                    "x=\"\"\"a\n\"b\"\"\"",
                    "x=1_000",
                    "x=0xF_f",
                    "x=1.e-5",
                    "x=00",
                ],
                &["1='a'", "x='a'b'", "x=\"\"\"", "x=01", "x=1__0", "x=0x"],
            ),
            (
                "%import lark (RULE, TOKEN, REGEXP)\nstart: RULE TOKEN REGEXP",
                &["!aAB/x\\/y/imu"],
                &["aB//"],
            ),
            ("%import unicode.WS\nstart: WS", &["\u{a0} \t\n"], &["", "x"]),
            ("%import common._STRING_INNER\nstart: _STRING_INNER", &["", "a b"], &["a\n"]),
        ],
    );
}

/// Grammars by name: with an `%ignore` of their own, in a circle, and of every kind.
#[test]
fn grammars_by_name() {
    judge_among(
        &[
            ("item", "start: \"(\" @list \")\" | \"x\""),
            ("list", "%ignore \" \"\nstart: @item (\",\" @item)*"),
        ],
        "start: \"<\" @list \">\"",
        &["<x>", "< (x) , x>", "<((x,x), x)>"],
        &["<>", "<( x)", "(x"],
    );
    // XGrammar's names are given without the sign.
    let schema = NamedGrammar::JsonSchema(r#"{"enum": [1, "b"]}"#.into());
    let gbnf = NamedGrammar::new("root ::= [ab]+", Dialect::Gbnf);
    let compiler = compiler().with_grammar("schema", schema).with_grammar("word", gbnf);
    let constraint = compiler.lark("start: @schema @word @schema @semver").unwrap();
    for (text, expected) in [("1ab\"b\"1.2.3", true), ("1ab2", false), ("11.2.3", false)] {
        assert_eq!(accepts(&constraint, text), expected, "{text}");
    }
    // A resolver is asked for the rest.
    let compiler = Compiler::clone(&compiler).with_grammar_resolver(|name| {
        let text = format!("start: \"{name}\"");
        Ok((name != "nobody").then(|| NamedGrammar::new(text, Dialect::Lark)))
    });
    let constraint = compiler.lark("%import .some.file.start -> x\nstart: x @word @other").unwrap();
    assert!(accepts(&constraint, "some/fileaother"));
    assert!(compiler.lark("start: @nobody").is_err());
}

/// llguidance's list of grammars in the place of a grammar, the example of its document.
#[test]
fn lists_of_grammars() {
    let list = r#"{"grammars": [
        {"lark_grammar": "start: /(.|\\n)*/ | fun\nfun: <tool> @fcall <end>"},
        {"name": "fcall", "json_schema": {"type": "object", "required": ["b", "a"]}}
    ]}"#;
    assert_eq!(Dialect::guess(list), Some(Dialect::Lark));
    let constraint = compiler().lark(list).unwrap();
    assert!(accepts(&constraint, "any text"));
    let mut matcher = constraint.matcher();
    matcher.accept(257).unwrap();
    assert!(matcher.clone().accept_bytes(b"x").is_err());
    matcher.accept_bytes(br#"{"b": 1, "a": 2}"#).unwrap();
    matcher.accept(259).unwrap();
    assert!(matcher.is_accepting());
    for (list, place, message) in [
        (r#"{"grammars": []}"#, "", "list of grammars"),
        (r#"{"grammars": [{"name": "a"}]}"#, "/grammars/0", "no grammar is given"),
        (
            r#"{"grammars": [{"lark_grammar": "start: \"a\""}], "temperature": 1}"#,
            "/temperature",
            "no key",
        ),
        (
            r#"{"grammars": [{"lark_grammar": "start: \"a\""}, {"json_schema": {}}]}"#,
            "/grammars/1",
            "no name",
        ),
        (r#"{"grammars": [{"lark_grammar": 5}]}"#, "/grammars/0/lark_grammar", "no meaning"),
        (
            r#"{"grammars": [{"name": "a", "json_schema": {}}, {"name": "a", "json_schema": {}}]}"#,
            "/grammars/1",
            "another grammar",
        ),
    ] {
        let error = compiler().lark(list).unwrap_err();
        assert_eq!(error.place().pointer.as_deref(), Some(place), "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    // Errors in one of them say which.
    let error = compiler()
        .lark(r#"{"grammars": [{"lark_grammar": "start: @b"}, {"name": "b", "lark_grammar": "start:\n  \"a\" )"}]}"#)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "@b:2:7: unexpected `)`; a rule ends at the line's end, alternatives are separated by `|`"
    );
    assert_eq!(error.excerpt(), Some("  \"a\" )\n      ^"));
}

#[test]
fn what_is_refused() {
    let error = with_grammars(&[MATHS]).lark("%import .maths.smu\nstart: smu").unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 16: the grammar has no `smu` to import; did you mean `sum`?"
    );
    let error = with_grammars(&[MATHS]).lark("%import .maths.unused\nstart: unused").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("maths.lark:8:9: rule `maths.missing` is used but never defined"),
        "{error}"
    );
    let error = with_grammars(&[("a", "%import .b.x"), ("b", "%import .a.x")]);
    let error = error.lark("%import .a.x\nstart: x").unwrap_err();
    assert!(error.to_string().contains("lead in a circle"), "{error}");
    refuse(
        Dialect::Lark,
        &[
            ("%import python.NAM\nstart: NAM", (1, 16), "did you mean `NAME`"),
            ("%import .other.rule\nstart: rule", (1, 9), "beside the grammar"),
            ("%import .cron.rule\nstart: rule", (1, 9), "by `@cron`"),
            ("%import NAME\nstart: NAME", (1, 9), "names no library or file"),
            ("%import common.INT -> int\nstart: int", (1, 23), "cannot be called"),
            ("%override a: \"x\"\nstart: \"a\"", (1, 11), "no `a` to override"),
            ("%extend strat: \"x\"\nstart: \"a\"", (1, 9), "did you mean `start`"),
            ("%import common.INT\n%extend INT: \"x\"\nstart: INT", (2, 9), "of a library"),
            ("start: t{\"a\"}\nt{x}: x\n%extend t{y}: y", (3, 9), "other parameters"),
            ("start: \"a\" X\n%declare X", (1, 12), "declared"),
        ],
    );
}
