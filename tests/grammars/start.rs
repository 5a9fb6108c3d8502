//! Choice of the start rule, and of the dialect of the patterns in a grammar.

use maskwright::constraint::GrammarOptions;
use maskwright::ebnf::Dialect;
use maskwright::regular;

use crate::{accepts, compiler};

fn from(start: &str) -> GrammarOptions {
    GrammarOptions { start: Some(start.to_owned()), ..GrammarOptions::default() }
}

#[test]
fn any_rule_may_be_the_start() {
    for (dialect, grammar, start, yes, no) in [
        (Dialect::Gbnf, "root ::= item item\nitem ::= [0-9]", "item", "1", "12"),
        // Without a rule of the usual name.
        (Dialect::Gbnf, "a ::= b b\nb ::= \"x\"", "a", "xx", "x"),
        (Dialect::Gbnf, "root ::= a.b\na.b ::= \"x\"", "a.b", "x", ""),
        (Dialect::Lark, "start: item item\nitem: /[0-9]/", "item", "1", "12"),
        (Dialect::Lark, "start: A A\nA: \"x\"", "A", "x", "xx"),
        (
            Dialect::Lark,
            "start: \"z\"\nlines: (_NL | line)*\nline: \"a\" _NL | \"b\" _NL _INDENT line+ _DEDENT\n\
             _NL: /(\\r?\\n[\\t ]*)+/\n%declare _INDENT _DEDENT",
            "lines",
            "a\nb\n a\n",
            "z",
        ),
        (Dialect::W3c, "e ::= 'e' [ WFC: Foo ]", "e", "e", "eW"),
        // After a byte order mark.
        (Dialect::Gbnf, "\u{FEFF}root ::= \"x\"", "root", "x", ""),
        (Dialect::W3c, "a ::= b b\nb ::= 'x'", "b", "x", "xx"),
        (Dialect::Iso, "a = b, b;\nb c = 'x';\nb = 'y';", "bc", "x", "yy"),
        (Dialect::Abnf, "a = b b\nB-C = \"x\"\nb = \"y\"", "b-c", "X", "yy"),
    ] {
        let constraint = compiler().grammar_with_options(grammar, dialect, &from(start)).unwrap();
        assert!(accepts(&constraint, yes) && !accepts(&constraint, no), "{grammar}");
        let error = compiler().grammar_with_options(grammar, dialect, &from("nosuch")).unwrap_err();
        assert!(error.to_string().contains("no rule `nosuch`; its rules are"), "{error}");
    }
}

/// Ignored text may come before the start, whichever it is, and a grammar within another one keeps
/// its own start.
#[test]
fn the_start_of_lark() {
    let grammar = "start: \"x\"\nother: \"y\" @n\nn: %lark { start: \"z\" }\n%ignore \" \"";
    let grammar = grammar.replace("@n", "n");
    let other = compiler().grammar_with_options(&grammar, Dialect::Lark, &from("other")).unwrap();
    assert!(accepts(&other, "  y z") && !accepts(&other, "x"));
}

#[test]
fn a_missing_start_is_named_with_the_ways_out() {
    let error = compiler().gbnf("item ::= \"a\"").unwrap_err();
    assert!(error.to_string().contains("`--start item`"), "{error}");
    let error = compiler()
        .grammar_with_options("items ::= \"a\"", Dialect::Gbnf, &from("item"))
        .unwrap_err();
    assert!(error.to_string().contains("did you mean `items`?"), "{error}");
}

#[test]
fn patterns_in_the_dialect_that_is_chosen_or_that_of_the_notation() {
    let lark = "start: /[[]\\d/";
    assert!(compiler().lark(lark).is_err(), "to Rust a bracket within a class opens another");
    let python = compiler().with_regex_dialect(regular::Dialect::Python);
    let constraint = python.lark(lark).unwrap();
    assert!(accepts(&constraint, "[1") && accepts(&constraint, "[٣"));
    let ecma = compiler().with_regex_dialect(regular::Dialect::Ecma);
    let constraint = ecma.lark(lark).unwrap();
    assert!(accepts(&constraint, "[1") && !accepts(&constraint, "[٣"));
    // XGrammar's macro is read as by XGrammar, whose patterns are those of ECMA-262.
    let xgrammar = compiler().gbnf(r#"root ::= Regex("[[]\\d\\cJ\\/")"#).unwrap();
    assert!(accepts(&xgrammar, "[1\n/") && !accepts(&xgrammar, "[٣\n/"));
    // Its flags stand before the pattern's own, and no comment of it hides them.
    for (grammar, text) in [
        (r#"root ::= Regex("(?i)a.c")"#, "A\nC"),
        (r#"root ::= Regex("(?s)a.c", flags="si")"#, "A\nc"),
        (r#"root ::= Regex("(?x) a b # c")"#, "ab"),
    ] {
        assert!(accepts(&python.gbnf(grammar).unwrap(), text), "{grammar}");
    }
    // Grammars that come with the program stay as they are.
    let json = ecma.lark("start: @json").map(|_| ());
    assert_eq!(json.is_ok(), compiler().lark("start: @json").is_ok());
}
