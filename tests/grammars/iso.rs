//! ISO/IEC 14977:1996, by its own clauses and examples.

use maskwright::ebnf::Dialect;

use crate::{judge, refuse};

#[test]
fn clauses() {
    judge(
        Dialect::Iso,
        &[
            ("a = | 'x' | ( ) | 'y' | ;", &["", "x", "y"], &["xy"]),
            ("a = b, 'x', c; b = ; c = (* nothing *) ; d = 'y';", &["x"], &["", "xy"]),
            // 5.2, the example of definitions lists and exceptions.
            ("aa = \"A\";\nbb = 3 * aa, \"B\";", &["A"], &["AAAB"]),
            // 5.7: repetitions.
            ("bb = 3 * aa, \"B\";\naa = \"A\";", &["AAAB"], &["AAB", "AAAAB"]),
            ("cc = 3 * [aa], \"C\";\naa = \"A\";", &["C", "AC", "AAC", "AAAC"], &["AAAAC"]),
            ("dd = {aa}, \"D\";\naa = \"A\";", &["D", "AD", "AAAAAD"], &["A"]),
            ("ee = aa, {aa}, \"E\";\naa = \"A\";", &["AE", "AAAE"], &["E"]),
            (
                "ff = 3 * aa, 3 * [aa], \"F\";\naa = \"A\";",
                &["AAAF", "AAAAAAF"],
                &["AAF", "AAAAAAAF"],
            ),
            ("gg = {3 * aa}, \"D\";\naa = \"A\";", &["D", "AAAD", "AAAAAAD"], &["AD", "AAAAD"]),
            // 5.8, 4.7: exceptions.
            (
                "letter or digit = letter | digit;\nletter = ? /[a-z]/ ? - vowel;\nvowel = \"a\" | \"e\" | \"i\" | \"o\" | \"u\";\ndigit = ? U+0030..U+0039 ?;",
                &["b", "7"],
                &["a", "", "bb"],
            ),
            (
                "Fortran 77 continuation line = 5 * \" \", (character - (\" \" | \"0\")), 66 * [character];\ncharacter = ? /[ -~]/ ?;",
                &["     1x = 2", "     &"],
                &["     0x", "      x", "    1x"],
            ),
            // 5.3 and 5.4: empty alternatives; gaps within names (6.1).
            ("a b = \"x\" | ;", &["x", ""], &["xx"]),
            ("s = ab cd, a  b\ncd;\nabcd = 'x';", &["xx"], &["x"]),
            // 7.2: other spellings of the same symbols.
            ("a = (/ 'x' /), (: 'y' :) ! 'z' / 'w'.", &["", "xyy", "z", "w"], &["xz", "zw"]),
            // 6.3 to 6.6: comments, which nest; either quotes.
            ("(* a (* nested *) one *) a = '\"', \"'\" (* c *) ;", &["\"'"], &["\""]),
            // Recursion.
            ("e = t | e, '+', t ; t = 'x' | '(', e, ')' ;", &["x", "(x+x)+x"], &["x+", "(x"]),
            ("s = ? /a?b/ ?, ? U+00E9 ?;", &["abé", "bé"], &["aé"]),
        ],
    );
}

/// Clause 8.1, the syntax of the syntax, from "terminal string" and what it is made of.
#[test]
fn terminal_strings_by_the_standard_itself() {
    let grammar = r#"
terminal string = first quote symbol, first terminal character, {first terminal character}, first quote symbol
    | second quote symbol, second terminal character, {second terminal character}, second quote symbol;
first terminal character = terminal character - first quote symbol;
second terminal character = terminal character - second quote symbol;
first quote symbol = "'";
second quote symbol = '"';
terminal character = ? /[ -~]/ ?;
"#;
    judge(
        Dialect::Iso,
        &[(grammar, &["'a'", "\"it's\"", "'\"'"], &["''", "'a\"", "\"a\"b\"", "a"])],
    );
}

#[test]
fn what_is_refused() {
    refuse(
        Dialect::Iso,
        &[
            ("a = 'x'", (1, 8), "expected `;`"),
            ("a = 'x;", (1, 5), "not closed"),
            ("a = b', 'x';\nb = 'y';", (1, 11), "not closed"),
            ("a = '';", (1, 5), "not empty"),
            ("a = (* x", (1, 5), "not closed"),
            ("a = ['x';", (1, 9), "expected `]`"),
            ("a = 3 'x';", (1, 7), "expected `*`"),
            ("a = ? letters ?;", (1, 5), "no meaning"),
            ("a = b - a;\nb = 'x' | a;", (1, 5), "calls itself"),
            ("a = ltter;\nletter = 'x';", (1, 5), "did you mean `letter`"),
            ("a = 'x';\na = 'y';", (2, 1), "twice"),
            ("a : 'x';", (1, 3), "expected `=`"),
            ("1 = 'x';", (1, 1), "expected a rule"),
            ("a = @;", (1, 5), "unexpected `@`"),
        ],
    );
}

/// EBNF as books and language specifications write it.
#[test]
fn sequences_without_commas_and_ranges() {
    judge(
        Dialect::Iso,
        &[
            (
                "Block = \"{\" { Statement \";\" } \"}\" .\nStatement = letter { letter | digit } . /* a\n comment */\nletter = \"a\" … \"z\" .\ndigit = `0` .. '9' .",
                &["{}", "{a1;bc;}"],
                &["{", "{1;}", "{a1}"],
            ),
            // A name of two words, and two names side by side.
            ("s = a b a c;\na b = \"x\";\na = \"y\";\nc = \"z\";", &["xyz"], &["xx", "yyz"]),
            ("s = 'x' .\nl = /* a letter */ .\nm = (* nothing *) 'y' .\nn = .", &["x"], &[""]),
            ("s = (a b) [a] 2 * b;\na = \"x\";\nb = \"y\";", &["xyyy", "xyxyy"], &["xyx"]),
        ],
    );
    refuse(
        Dialect::Iso,
        &[
            ("s = a b;\na = \"x\";", (1, 7), "`b` is used"),
            ("s = \"ab\" .. \"c\";", (1, 5), "from one character to another"),
            ("s = \"b\" .. \"a\";", (1, 5), "ends before"),
            ("s = \"b\"+;", (1, 8), "expected `;`"),
            // Prose of Go's specification, where the start reaches it.
            ("s = l .\nl = /* a letter */ .", (2, 4), "comment stands in place"),
        ],
    );
}
