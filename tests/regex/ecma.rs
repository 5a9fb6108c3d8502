//! ECMA-262 patterns: what each piece of syntax means, and what is refused where.

use maskwright::ErrorKind;
use maskwright::regular::{self, Anchoring, Dialect, JsonString, Languages, Utf8};

use crate::{in_json, options};

/// A pattern, texts that it is found in, texts that it is not found in.
type Case = (&'static str, &'static [&'static str], &'static [&'static str]);

const MEANINGS: &[Case] = &[
    // Escapes of characters.
    (r"^\t\n\v\f\r\0$", &["\t\n\u{B}\u{C}\r\0"], &["tnvfr0"]),
    (r"^\cA\cj$", &["\u{1}\n"], &["cAcj", "\u{1}\u{2}"]),
    (r"^\x41\u0042\u{43}\u{1F600}$", &["ABC😀"], &["ABC"]),
    (r"^\uD83D\uDE00[\uD83D\uDE00-\uD83D\uDE02]$", &["😀😁"], &["😀😃", "😀"]),
    (r"\uD83D", &[], &["😀", "", "\u{FFFD}"]),
    (r"^[^\uD800-\uDFFF]$", &["a", "😀"], &[""]),
    (r"^[\uD7FE-\uE001]$", &["\u{D7FF}", "\u{E000}"], &["\u{E002}"]),
    (r"^\/\^\$\\\.\*\+\?\(\)\[\]\{\}\|$", &[r"/^$\.*+?()[]{}|"], &[]),
    (r#"^\-\_\@\"\%\ \:\&\~\#\<\='$"#, &[r#"-_@"% :&~#<='"#], &[]),
    // Classes.
    (r"^[]$", &[], &["", "]", "a"]),
    (r"^[^]$", &["\n", "a", "😀"], &["", "aa"]),
    (r"^[\]\-\\^]+$", &[r"]-\^"], &["a"]),
    (r"^[a-]+$", &["a-"], &["b"]),
    (r"^[-a]+$", &["-a"], &["b"]),
    (r"^[a-c-e]+$", &["b-e"], &["d"]),
    (r"^[\w-.]+$", &["a-.0_"], &["+", ","]),
    (r"^[+--]+$", &["+,-"], &["*", "."]),
    (r"^[.*+?(){}|^$]+$", &[".*+?(){}|^$"], &["a"]),
    (r"^[\b]$", &["\u{8}"], &["b", r"\b"]),
    (r"^[\d\s]+$", &["1 2"], &["a"]),
    (r"^[^\d\s]+$", &["ab"], &["1", " "]),
    (r"^[\D]$", &["a"], &["1"]),
    (r"^[[:alpha:]]$", &["a]", ":]", "[]"], &["a", "b]"]),
    (r"^[a&&b]$", &["&", "a", "b"], &["c"]),
    // Sets by escape: ASCII digits and words, Unicode blanks.
    (r"^\d$", &["0", "9"], &["٣", "a"]),
    (r"^\D$", &["٣", "a"], &["0"]),
    (r"^\w$", &["a", "_", "Z", "5"], &["é", "ſ", "-"]),
    (r"^\W$", &["é", "ſ", "-"], &["a", "_"]),
    (
        r"^\s$",
        &[
            " ", "\t", "\n", "\u{B}", "\u{C}", "\r", "\u{A0}", "\u{1680}", "\u{2000}", "\u{200A}",
            "\u{2028}", "\u{2029}", "\u{202F}", "\u{205F}", "\u{3000}", "\u{FEFF}",
        ],
        &["\u{85}", "\u{180E}", "\u{200B}", "a"],
    ),
    (r"^\S$", &["\u{85}", "\u{180E}", "\u{200B}", "a"], &[" ", "\u{FEFF}"]),
    (r"^.$", &["a", "\u{85}", "😀"], &["\n", "\r", "\u{2028}", "\u{2029}"]),
    (r"^\p{L}\P{L}$", &["é1"], &["1é"]),
    (r"^\p{Letter}\p{Lu}\p{gc=Nd}$", &["éA٣"], &["éa1"]),
    (r"^\p{Script=Greek}\p{sc=Latn}\p{scx=Deva}$", &["λa\u{951}"], &["aaa"]),
    (r"^\p{Alphabetic}\p{ASCII_Hex_Digit}\p{Any}\p{ASCII}$", &["éf\u{E000}~"], &["éfé\u{80}"]),
    (r"^[\p{L}\d']+$", &["l'é1"], &["-"]),
    (r"^\p{digit}+$", &["1٣"], &["a"]),
    // Anchors, at their usual place and elsewhere.
    (r"^a$", &["a"], &["a\n", "\na", "aa"]),
    (r"a|^b$", &["a", "b", "xa"], &["bb", "xb"]),
    (r"(^a|b)c", &["ac", "xbc", "bc"], &["xac"]),
    (r"^^a", &["a", "ab"], &["ba"]),
    (r"a$$", &["a", "ba"], &["ab"]),
    (r"a$b", &[], &["ab", "a", "b", "a\nb"]),
    (r"a^b", &[], &["ab", "a\nb"]),
    (r"(?:^)*a", &["ba"], &["b"]),
    (r"(^)?a", &["ba", "a"], &["b"]),
    (r"$^", &[""], &["a"]),
    (r"(a|^)+b$", &["b", "aab", "cab"], &["cb"]),
    (r"", &["", "a"], &[]),
    (r"a||b", &["", "c"], &[]),
    // Word boundaries.
    (r"\bab\b", &["ab", "x ab.", "-ab"], &["xab", "ab_", "abb"]),
    (r"\Bb", &["ab", "_b"], &["b", " b", "éb"]),
    (r"^\B$", &[""], &["a"]),
    (r"^\b", &["a", "_ "], &["", " a"]),
    (r"a\b.", &["a-", "aé"], &["ab", "a"]),
    // Look-around.
    (r"^(?=.*\d)(?=.*[a-z]).{4,6}$", &["ab12", "1bbbbb"], &["abcd", "1234", "a1", "abc1234"]),
    (r"^(?!.*\.\.)[a-z.]+$", &["a.b", "a."], &["a..b"]),
    (r"^((?!foo).)*$", &["", "fo", "barfo"], &["foo", "xfoox"]),
    (r"^(?:(?!ab|ba)[ab])+$", &["a", "aaa", "b"], &["ab", "aab", ""]),
    (r"^(?:a(?=b)|b(?=a|$))*$", &["", "ab", "abab"], &["a", "abb", "aba"]),
    (r"(?<=\$)\d+", &["$42", "a $1"], &["42", "$ 1"]),
    (r"(?<!\$)\b\d+$", &["42", "a 42"], &["$42"]),
    (r"(?<=^|,)b", &["b", "a,b"], &["ab", ", b"]),
    (r"(?<=a.*)b(?!.*a)", &["acb", "aabcc"], &["cba", "bcc", "acba"]),
    (r"(?<=(?<!x)a)b", &["ab", "cab"], &["xab", "b"]),
    (r"^(?=a)*b", &["b"], &["ab"]),
    (r"(?=ab)a(?=b)b(?!c)", &["ab", "abd"], &["abc"]),
    (r"^(?!$)", &["a"], &[""]),
    (r"^(?=[^]*(?<=x)$)", &["x", "ax"], &["", "xa"]),
    (r"(?<!\\)(?:\\\\)*'", &[r"'", r"\\'"], &[r"\'", r"\\\'"]),
    // Repeats.
    (r"^a{2}b{1,}c{0,2}$", &["aab", "aabbcc"], &["ab", "aac", "aabccc"]),
    (r"^a*?b+?c??d{2,3}?$", &["bdd", "aabbcddd"], &["bd"]),
    (r"^a{0}$", &[""], &["a"]),
    (r"^(?:ab?){2}$", &["aa", "aba", "abab"], &["ab", "aaa"]),
    // Braces and brackets that open nothing.
    (r"^{}$", &["{}"], &[""]),
    (r"^a{b}]$", &["a{b}]"], &[]),
    (r"^{{[a-z]}}$", &["{{a}}"], &["a"]),
    (r"^a{1b$", &["a{1b"], &[]),
    (r"^x{a,2}$", &["x{a,2}"], &[]),
    // Groups.
    (r"^(?<year>\d{4})(?:-)(?<$m_1é>\d\d)$", &["2024-05"], &["24-5"]),
    (r"^(?P<n>a)$", &["a"], &["P"]),
    (r"^(a(b(c)?)?)?$", &["", "a", "ab", "abc"], &["b"]),
    // Flags.
    (r"(?i)^straSSe\u212A$", &["STRASSEk", "strasseK", "straſſeK"], &["straßek"]),
    (r"^(?i:a)b$", &["Ab", "ab"], &["aB"]),
    (r"^(?i)[^a]\W$", &["bé"], &["Aé", "bſ", "b\u{212A}", "ba"]),
    (r"^(?i:\P{Lu})$", &["a", "A", "1"], &[]),
    (r"^(?i)a(?-i)b$", &["Ab"], &["AB"]),
    (r"(?m)^b$", &["b", "a\nb", "b\ra", "\u{2028}b"], &["ab", "a\u{85}b"]),
    (r"^(?s).(?-s:.)$", &["\na"], &["a\n"]),
    (r"^(?ims-ims:a.)$", &["ab"], &["AB", "a\n"]),
    (r"^(?i-s:a)(b(?i)c)d$", &["AbCd"], &["ABcd", "abcD"]),
    (r"^(a(?i)b|c)d$", &["aBd", "Cd"], &["AbD", "cD"]),
];

#[test]
fn every_piece_of_syntax_has_its_meaning() {
    for (pattern, found, not_found) in MEANINGS {
        let mut l = Languages::new();
        let options = options(Dialect::Ecma, Anchoring::Search);
        let raw = regular::parse(&mut l, pattern, options, &Utf8);
        let raw = raw.unwrap_or_else(|e| panic!("{pattern}: {e}"));
        let json = regular::parse(&mut l, pattern, options, &JsonString).unwrap();
        let texts = found.iter().map(|t| (t, true)).chain(not_found.iter().map(|t| (t, false)));
        for (text, expected) in texts {
            let is_in = l.matches(raw, text.as_bytes()).unwrap();
            assert_eq!(is_in, expected, "/{pattern}/ on {text:?}");
            let is_in = l.matches(json, in_json(text).as_bytes()).unwrap();
            assert_eq!(is_in, expected, "/{pattern}/ on {text:?} in JSON");
        }
    }
}

/// The engine that the table was not written from.
#[test]
fn an_ecmascript_engine_agrees_with_the_table() {
    // Leniences of ours; not yet in the engine; Annex B, which the `u` flag turns off.
    let ours = |pattern: &str| {
        let beyond = [
            "(?P<", "(?i)", "(?m)", "(?s)", "(?i-s:", "(?ims", r"\-\_", "{}", "{b}", "{{", "{1b",
            "{a,", r"[\w-.", "$m_1é", "(?=a)*", "[[:alpha",
        ];
        beyond.iter().any(|piece| pattern.contains(piece))
    };
    let mut compared = 0;
    for (pattern, found, not_found) in MEANINGS.iter().filter(|case| !ours(case.0)) {
        let theirs = regress::Regex::with_flags(pattern, "u");
        let theirs = theirs.unwrap_or_else(|e| panic!("{pattern}: {e}"));
        for (text, expected) in
            found.iter().map(|t| (t, true)).chain(not_found.iter().map(|t| (t, false)))
        {
            assert_eq!(theirs.find(text).is_some(), expected, "/{pattern}/ on {text:?}");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}

/// A pattern that is refused, the byte that is named, and words of the message and its cure.
const REFUSALS: &[(&str, usize, &str)] = &[
    (r"(a)\1", 3, "backreference"),
    (r"(?<n>a)\k<n>", 7, "backreference"),
    (r"é\A", 2, "`^`"),
    (r"a\Z", 1, "`$`"),
    (r"\z", 0, "`$`"),
    (r"\a", 0, "\\u0007"),
    (r"\Qa\E", 0, "escape each character"),
    (r"\h", 0, "[ \\t]"),
    (r"\y", 0, "letter alone"),
    (r"[\B]", 1, "no escape"),
    (r"[\y]", 1, "no escape"),
    (r"[\1]", 1, "octal"),
    (r"\01", 0, "octal"),
    (r"\c1", 0, "letter"),
    (r"\x4", 0, "two hexadecimal digits"),
    (r"\u12", 0, "four hexadecimal digits"),
    (r"\u{110000}", 0, "code point"),
    (r"\u{", 0, "code point"),
    (r"\u{}", 0, "code point"),
    (r"\p", 0, "braces"),
    (r"\pL", 0, "braces"),
    (r"\p{Nope}", 0, "`Nope`"),
    (r"\p{IsGreek}", 0, "`IsGreek`"),
    (r"\p{^L}", 0, "`^L`"),
    ("a\\", 1, "ends in"),
    (r"[a", 0, "never closed"),
    (r"x[z-a]", 2, "counts down"),
    (r"(a", 0, "never closed"),
    (r"a(?:b|(c)", 1, "never closed"),
    (r"a)", 1, "unmatched"),
    (r"*a", 0, "nothing stands before"),
    (r"a|+", 2, "nothing stands before"),
    (r"({2})", 1, "nothing stands before"),
    (r"a**", 2, "nothing stands before"),
    (r"a{2}{3}", 4, "nothing stands before"),
    (r"a++", 2, "possessive"),
    (r"a{3,2}", 1, "counts down"),
    (r"a{,5}", 1, "{0,5}"),
    (r"a{99999999999}", 1, "above"),
    (r"^*a", 1, "an anchor"),
    (r"\b+", 2, "a word boundary"),
    (r"(?<=a)?", 6, "a lookbehind"),
    (r"(?>a)", 2, "atomic"),
    (r"(?#a)", 2, "comments"),
    (r"(?(1)a|b)", 2, "conditional"),
    (r"(?P=n)", 2, "`(?P`"),
    (r"(?x)a", 2, "`x`"),
    (r"(?)", 2, "`)`"),
    (r"(?i", 0, "never closed"),
    (r"(?<1>a)", 0, "identifier"),
    (r"(?<n", 0, "identifier"),
    (r"(?<=a(?=b))c", 5, "a lookahead inside a lookbehind"),
    (r"(?<=a\b)c", 5, "`\\b` inside a lookbehind"),
    (r"(?<!a$)c", 5, "`$` inside a lookbehind"),
];

#[test]
fn refusals_name_the_byte_and_the_cure() {
    for &(pattern, byte, words) in REFUSALS {
        let mut l = Languages::new();
        let options = options(Dialect::Ecma, Anchoring::Search);
        let Err(error) = regular::parse(&mut l, pattern, options, &Utf8) else {
            panic!("{pattern} is accepted")
        };
        assert_eq!(error.kind(), ErrorKind::Regex, "{pattern}: {error}");
        assert_eq!(error.place().byte, Some(byte), "{pattern}: {error}");
        assert!(error.to_string().contains(words), "{pattern}: {error}");
        assert!(error.help().is_some(), "{pattern}: {error}");
    }
}

#[test]
fn rust_patterns_are_refused_with_a_place_too() {
    for (pattern, byte, words) in [
        (r"é(?=b", 2, "unclosed group"),
        (r"a(b", 1, "unclosed group"),
        (r"(a)\1", 3, "backreference"),
        (r"(?-u:\xFF)", 5, "UTF-8"),
        (r"\p{Nope}", 0, "property not found"),
        (r"a{3,2}", 1, "invalid repetition"),
    ] {
        let mut l = Languages::new();
        let error = regular::parse(&mut l, pattern, Default::default(), &Utf8).unwrap_err();
        assert_eq!(error.place().byte, Some(byte), "{pattern}: {error}");
        assert!(error.to_string().contains(words), "{pattern}: {error}");
    }
}

#[test]
fn deep_and_long_patterns_are_answers_not_crashes() {
    let deep = |n: usize| format!("{}a{}", "(".repeat(n), ")".repeat(n));
    for dialect in [Dialect::Rust, Dialect::Ecma] {
        let options = options(dialect, Anchoring::Search);
        let mut l = Languages::new();
        regular::parse(&mut l, &deep(200), options, &Utf8).unwrap();
        let error = regular::parse(&mut l, &deep(100_000), options, &Utf8).unwrap_err();
        assert!(error.place().byte.is_some(), "{error}");
        let long = "ab|".repeat(20_000);
        let x = regular::parse(&mut l, &long, options, &Utf8).unwrap();
        assert!(l.matches(x, b"xyz").unwrap());
        let counted = regular::parse(&mut l, "^[a-z]{3,50000}$", options, &Utf8).unwrap();
        assert!(!l.matches(counted, b"ab").unwrap());
        assert!(l.matches(counted, &[b'x'; 50_000]).unwrap());
        assert!(!l.matches(counted, &[b'x'; 50_001]).unwrap());
    }
    let options = options(Dialect::Ecma, Anchoring::Search);
    let mut l = Languages::new();
    let error = regular::parse(&mut l, "(?:(?:(?!a).){999}){999}", options, &Utf8).unwrap_err();
    assert!(error.message().contains("100000 steps"), "{error}");
}

/// A pattern read twice is one language, also where it needed variables of its own.
#[test]
fn equal_patterns_are_one_language() {
    for pattern in ["a+b", r"^((?!foo).)*$", r"\bfoo\b", r"(?<=ab)c"] {
        let mut l = Languages::new();
        let options = options(Dialect::Ecma, Anchoring::Search);
        let first = regular::parse(&mut l, pattern, options, &Utf8).unwrap();
        let again = regular::parse(&mut l, pattern, options, &Utf8).unwrap();
        assert_eq!(first, again, "{pattern}");
    }
}
