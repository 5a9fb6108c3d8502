//! Patterns of Python, against verdicts that Python 3.11's `re` gave, and what is refused where.

use maskwright::regular::{self, Anchoring, Dialect, Languages, Utf8};

use crate::options;

/// The texts of [`VERDICTS`].
const TEXTS: [&str; 58] = [
    "",
    "a",
    "b",
    "aa",
    "aaa",
    "ab",
    "aab",
    "ba",
    "a\n",
    "\n",
    "a\nb",
    "A",
    "AB",
    "Ab",
    "aB",
    "k",
    "K",
    "ß",
    "ẞ",
    "i",
    "İ",
    "ı",
    "é",
    "ﬀ",
    "1",
    "٣",
    "12",
    "1٣",
    "_",
    "aé",
    "éé",
    " ",
    "\u{a0}",
    "\u{1c}",
    "\u{85}",
    "[x",
    "x",
    "xx",
    "]",
    "]a",
    "-",
    "&",
    "|",
    "ac",
    "a{2",
    "{a}",
    "a{}",
    "\0",
    "\u{1}b",
    "\u{8}",
    "Aé😀",
    "\u{7}\u{c}\u{b}/-é",
    "а",
    "a b",
    " a",
    "#",
    "# ",
    "a\u{302}",
];

/// Patterns with a sign for each text: `=` where `re.fullmatch` matches, `~` where only `re.search`
/// does.
#[rustfmt::skip]
const VERDICTS: [(&str, &str); 54] = [
    (r"[[]x", "...................................=......................"),
    (r"[]a]+", ".=.==~~~~.~...~..............~........==...~~~~......~~..~"),
    (r"[^]a]", "..=..~~~~=~=~~~===========~~=~~====~=~..===~~~~=~=~~=~~=~~"),
    (r"[a-]", ".=.~~~~~~.~...~..............~.........~=..~~~~....~.~~..~"),
    (r"[&&~~||a]", ".=.~~~~~~.~...~..............~.........~.==~~~~......~~..~"),
    (r"\d+", "........................====................~............."),
    (r"(?a)\d+", "........................=.=~................~............."),
    (r"\w+", ".=======~.~====================....~==.~...=~~~.~.~~=~~..~"),
    (r"(?a:\w+)é", ".............................=....................~......."),
    (r"\s", "........~=~....................====................~.~~.~."),
    (r"a$", ".=.~~..~~..............................~..............~..."),
    (r"a\Z", ".=.~~..~...............................~..............~..."),
    (r"^a$|b", ".==..~~~~.~..~..................................~....~...."),
    (r"(?m)a$.b", ".........................................................."),
    (r"(?m)^b$", "..=.......~..............................................."),
    (r"(?ms)a$.^b", "..........=..............................................."),
    (r"(?s).", ".==~~~~~~=~=~~~===========~~=~~====~=~=~===~~~~=~=~~=~~=~~"),
    (r".", ".==~~~~~~.~=~~~===========~~=~~====~=~=~===~~~~=~=~~=~~=~~"),
    (r"(?i)i", "...................===...................................."),
    (r"(?ai)[k]", "...............==........................................."),
    (r"(?i)k", "...............==........................................."),
    (r"(?i)ß", ".................==......................................."),
    (r"(?i)[^k]", ".==~~~~~~=~=~~~..=========~~=~~====~=~=~===~~~~=~=~~=~~=~~"),
    (r"(?i:a)b", ".....=~......=............................................"),
    (r"(?i)(?-i:a)b", ".....=~.......=..........................................."),
    (r"(?x) a b # c", ".....=~..................................................."),
    ("(?x:a\n#b\nc)", "...........................................=.............."),
    (r"(?x)[ #]\ ", "........................................................=."),
    (r"(?P<n>a)b", ".....=~..................................................."),
    (r"(?#c)a", ".=.~~~~~~.~...~..............~.........~...~~~~......~~..~"),
    (r"a(?=b)\w", ".....=~..................................................."),
    (r"(?<=a)b", ".....~~..................................................."),
    (r"(?<!a)b", "..=....~..~..~..................................~....~...."),
    (r"(?>a+)b", ".....==..................................................."),
    (r"a*+b", "..=..==~..~..~..................................~....~...."),
    (r"a{,2}", "==~=~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"),
    (r"a(?#c){,2}", "==~=~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"),
    (r"a{,}", "==~==~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"),
    (r"a{2", "............................................=............."),
    (r"{a}", ".............................................=............"),
    (r"a{}", "..............................................=..........."),
    (r"x{1,2}?", "...................................~==...................."),
    (r"\012", "........~=~..............................................."),
    (r"\101", "...........=~~....................................~......."),
    (r"\0", "...............................................=.........."),
    (r"\01b", "................................................=........."),
    (r"[\b]", ".................................................=........"),
    (r"\bа\b", "....................................................=....."),
    (r"a\b|b\B", ".=.~~..~~.~............................~....~~~......~~..~"),
    (r"\x41\u00e9\U0001F600", "..................................................=......."),
    (r"\a\f\v\/\-\é", "...................................................=......"),
    (r"(a|)b", "..=..=~~..~..~..................................~....~...."),
    (r"[\d-]", "........................==~~............=...~......~......"),
    (r"[\w\s]+", ".==================================~==.~...=~~~.~.~~===.~~"),
];

#[test]
fn patterns_match_what_python_matches() {
    for (pattern, verdicts) in VERDICTS {
        assert_eq!(verdicts.len(), TEXTS.len(), "{pattern}");
        let mut l = Languages::new();
        let mut language = |anchoring| {
            let options = options(Dialect::Python, anchoring);
            regular::parse(&mut l, pattern, options, &Utf8).unwrap()
        };
        let (whole, found) = (language(Anchoring::Whole), language(Anchoring::Search));
        for (text, verdict) in TEXTS.into_iter().zip(verdicts.bytes()) {
            let matches = l.matches(whole, text.as_bytes()).unwrap();
            assert_eq!(matches, verdict == b'=', "{pattern:?} on the whole of {text:?}");
            let matches = l.matches(found, text.as_bytes()).unwrap();
            assert_eq!(matches, verdict != b'.', "{pattern:?} in {text:?}");
        }
    }
}

#[test]
fn what_python_refuses_or_is_not_regular_is_refused_by_place() {
    for (pattern, byte, message) in [
        (r"(a)\1", 3, "the backreference `\\1` has no regular meaning"),
        ("(?P<n>a)(?P=n)", 8, "the backreference `(?P=…)` has no regular meaning"),
        ("(a)?(?(1)b|c)", 4, "a conditional group has no regular meaning"),
        (r"\N{DASH}", 0, "`\\N` is no escape of Python's `re`"),
        (r"a\p{L}", 1, "`\\p` is no escape of Python's `re`"),
        (r"\cJ", 0, "`\\c` is no escape of Python's `re`"),
        (r"[\A]", 1, "`\\A` is no escape of Python's `re`"),
        (r"\400", 0, "an octal escape is `\\377` at most"),
        (r"\x4", 0, "`\\x` must be followed by 2 hexadecimal digits"),
        (r"a\", 1, "the pattern ends in `\\`"),
        ("a**", 2, "a repeat is repeated"),
        ("a{1,2}{3}", 6, "a repeat is repeated"),
        ("^*", 1, "an anchor or word boundary has no length to repeat"),
        ("|+", 1, "nothing stands before `+` that it could repeat"),
        ("{1}", 0, "nothing stands before `{` that it could repeat"),
        ("a{3,2}", 1, "`{3,2}` counts down"),
        ("[b-a]", 1, "this range counts down"),
        (r"[a-\d]", 1, "a range leads from a character to a character"),
        ("x[]", 1, "this class is never closed"),
        ("(a", 0, "this group is never closed"),
        ("a)", 1, "unmatched `)`"),
        ("a(?i)b", 1, "flags of the whole pattern stand at its beginning"),
        ("(?L)a", 2, "flag `L` is for patterns of bytes"),
        ("(?y:a)", 2, "`y` is unknown after `(?`"),
        ("(?P<1>a)", 0, "the name of this group is not an identifier"),
        // `a` alone matches there, and is never given back.
        ("(?>a*?)ab", 0, "an atomic group may change what is matched here"),
    ] {
        let mut l = Languages::new();
        let options = options(Dialect::Python, Anchoring::Whole);
        let error = regular::parse(&mut l, pattern, options, &Utf8).unwrap_err();
        assert_eq!((error.place().byte, error.message()), (Some(byte), message), "{pattern}");
        assert!(error.help().is_some(), "{pattern}");
    }
}

#[test]
fn groups_nest_to_a_bound() {
    let pattern = format!("{}a{}", "(".repeat(300), ")".repeat(300));
    let mut l = Languages::new();
    let options = options(Dialect::Python, Anchoring::Whole);
    let error = regular::parse(&mut l, &pattern, options, &Utf8).unwrap_err();
    assert!(error.message().starts_with("groups nest deeper than"), "{error}");
}
