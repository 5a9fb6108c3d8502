//! ABNF, by RFC 5234 and RFC 7405, and on the grammars of other RFCs.

use maskwright::ebnf::Dialect;

use crate::{judge, refuse};

#[test]
fn sections() {
    judge(
        Dialect::Abnf,
        &[
            // RFC 5234, 2.3: strings in any case; numbers in just one.
            ("rulename = \"abc\"", &["abc", "Abc", "ABC", "aBc"], &["ab", "äbc"]),
            ("rulename = %d97 %d98 %d99", &["abc"], &["ABC", "Abc"]),
            ("rulename = %d97.98.99", &["abc"], &["Abc"]),
            ("crlf = %d13.10", &["\r\n"], &["\n"]),
            // RFC 7405, 2.1.
            ("rulename = %s\"aBc\"", &["aBc"], &["abc", "ABC"]),
            ("rulename = %i\"aBc\"", &["aBc", "abc", "ABC"], &["ab"]),
            ("rulename = %S\"aBc\"", &["aBc"], &["abc"]),
            // 3.1, 3.2: concatenation, alternatives; 2.1: names in any case.
            ("mumble = FOO bar Foo\nfoo = %x61 ; a\nbar = %x62 ; b", &["aba"], &["ab"]),
            ("a = \"foo\" / \"bar\" ; c\n  / \"baz\"", &["foo", "BAR", "baz"], &["foobar"]),
            // 3.3: incremental alternatives.
            (
                "ruleset = alt1 / alt2\nruleset =/ alt3\nruleset =/ alt4 / alt5\nalt1 = \"1\"\nalt2 = \"2\"\nalt3 = \"3\"\nalt4 = \"4\"\nalt5 = \"5\"",
                &["1", "3", "5"],
                &["6", ""],
            ),
            // 3.4: value ranges.
            ("DIGIT = %x30-39", &["0", "9"], &["a", "00"]),
            (
                "char-line = %x0D.0A %x20-7E / %b1000001 / %xE9",
                &["\r\n~", "A", "é"],
                &["\r\n", "a"],
            ),
            // 3.5: groups.
            (
                "a = elem (foo / bar) blat\nelem = \"e\"\nfoo = \"f\"\nbar = \"b\"\nblat = \"t\"",
                &["eft", "ebt"],
                &["et"],
            ),
            (
                "a = elem foo / bar blat\nelem = \"e\"\nfoo = \"f\"\nbar = \"b\"\nblat = \"t\"",
                &["ef", "bt"],
                &["eft"],
            ),
            // 3.6 to 3.8: repetition, options.
            (
                "a = *\"x\" 1*\"y\" 3*3\"z\" 1*2\"w\"",
                &["yzzzw", "xxyyzzzww"],
                &["zzzw", "yzzw", "yzzzwww"],
            ),
            ("a = 2DIGIT 3ALPHA", &["12abc"], &["1abc", "123abc"]),
            ("a = [\"x\" \"y\"] \"z\"", &["z", "xyz"], &["xz"]),
            ("a = *1(\"x\")", &["", "x"], &["xx"]),
            // 3.9: comments. Appendix B.1: core rules.
            ("a = 1*HEXDIG CRLF ; c\n", &["09afAF\r\n"], &["g\r\n"]),
            ("a = DQUOTE *(WSP / VCHAR) DQUOTE", &["\"a b\t\"", "\"\"\""], &["\"\n\""]),
            (
                "a = LWSP BIT CTL SP OCTET CHAR HTAB CR LF",
                &["1\0 \u{ff}a\t\r\n", " \r\n 0\u{7f} aa\t\r\n"],
                &["2\0 aa\t\r\n"],
            ),
            ("a = \"\"", &[""], &["a"]),
        ],
    );
}

/// RFC 3339, section 5.6, as it stands there; RFC 4648's alphabet; RFC 8259's numbers.
#[test]
fn grammars_of_other_documents() {
    let date_time = r#"
   date-time       = full-date "T" full-time
   date-fullyear   = 4DIGIT
   date-month      = 2DIGIT  ; 01-12
   date-mday       = 2DIGIT  ; 01-28, 01-29, 01-30, 01-31 based on
                             ; month/year
   time-hour       = 2DIGIT  ; 00-23
   time-minute     = 2DIGIT  ; 00-59
   time-second     = 2DIGIT  ; 00-58, 00-59, 00-60 based on leap second
                             ; rules
   time-secfrac    = "." 1*DIGIT
   time-numoffset  = ("+" / "-") time-hour ":" time-minute
   time-offset     = "Z" / time-numoffset

   partial-time    = time-hour ":" time-minute ":" time-second
                     [time-secfrac]
   full-date       = date-fullyear "-" date-month "-" date-mday
   full-time       = partial-time time-offset
"#;
    let json = r#"
JSON-text = ws value ws
ws = *( %x20 / %x09 / %x0A / %x0D )
value = false / null / true / object / array / number / string
false = %x66.61.6c.73.65   ; false
null  = %x6e.75.6c.6c      ; null
true  = %x74.72.75.65      ; true
object = begin-object [ member *( value-separator member ) ] end-object
member = string name-separator value
array = begin-array [ value *( value-separator value ) ] end-array
begin-array = ws %x5B ws
begin-object = ws %x7B ws
end-array = ws %x5D ws
end-object = ws %x7D ws
name-separator = ws %x3A ws
value-separator = ws %x2C ws
number = [ minus ] int [ frac ] [ exp ]
decimal-point = %x2E
digit1-9 = %x31-39
e = %x65 / %x45
exp = e [ minus / plus ] 1*DIGIT
frac = decimal-point 1*DIGIT
int = zero / ( digit1-9 *DIGIT )
minus = %x2D
plus = %x2B
zero = %x30
string = quotation-mark *char quotation-mark
char = unescaped /
    escape (
        %x22 /          ; "    quotation mark  U+0022
        %x5C /          ; \    reverse solidus U+005C
        %x2F /          ; /    solidus         U+002F
        %x62 / %x66 / %x6E / %x72 / %x74 /
        %x75 4HEXDIG )  ; uXXXX                U+XXXX
escape = %x5C              ; \
quotation-mark = %x22      ; "
unescaped = %x20-21 / %x23-5B / %x5D-10FFFF
"#;
    judge(
        Dialect::Abnf,
        &[
            (
                date_time,
                &["1985-04-12T23:20:50.52Z", "1996-12-19t16:39:57-08:00"],
                &["1985-04-12", "1985-04-12 23:20:50Z", "1985-4-12T23:20:50Z"],
            ),
            (
                json,
                &["{\"a\": [1, -2.5e3, \"é\\u00E9\", true, null]}", " 0 "],
                &["{a: 1}", "[1,]", "01", "TRUE", "\"\u{1}\""],
            ),
        ],
    );
}

#[test]
fn what_is_refused() {
    refuse(
        Dialect::Abnf,
        &[
            ("a = \"x", (1, 5), "not closed"),
            ("a = <any text>", (1, 5), "prose"),
            ("a = %q41", (1, 5), "unknown kind"),
            ("a = %x", (1, 7), "base 16"),
            ("a = %x110000", (1, 7), "base 16"),
            ("a = %x5A-41", (1, 5), "ends before"),
            ("a = %d55296.65", (1, 5), "surrogate"),
            ("a = 3*2\"x\"", (1, 5), "exceeds"),
            ("a = 3 \"x\"", (1, 5), "nothing to repeat"),
            ("a = (\"x\"", (1, 9), "expected `)`"),
            ("a = \"x\" /", (1, 10), "expected an element"),
            ("a = \"x\" | \"y\"", (1, 9), "unexpected `|`"),
            ("a = DIGITS", (1, 5), "did you mean `DIGIT`"),
            ("a =/ \"x\"", (1, 1), "not defined yet"),
            ("a = \"x\"\nA = \"y\"", (2, 1), "twice"),
            ("\"x\"", (1, 1), "expected a rule"),
            ("", (1, 1), "no rule"),
        ],
    );
}
