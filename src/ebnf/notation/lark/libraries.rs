//! The terminals of Lark's own libraries (the folder `lark/grammars` of the package) as patterns, for
//! `%import common.NAME` and the like.

/// A library: its name, and names and patterns of its terminals.
type Library = (&'static str, &'static [(&'static str, &'static str)]);

const LIBRARIES: &[Library] =
    &[("common", COMMON), ("python", PYTHON), ("lark", LARK), ("unicode", UNICODE)];

/// The terminals of a library, by name; `None` if there is no such library.
pub(super) fn terminals(library: &str) -> Option<&'static [(&'static str, &'static str)]> {
    LIBRARIES.iter().find(|(name, _)| *name == library).map(|(_, terminals)| *terminals)
}

const COMMON: &[(&str, &str)] = &[
    ("DIGIT", "[0-9]"),
    ("HEXDIGIT", "[a-fA-F0-9]"),
    ("INT", "[0-9]+"),
    ("SIGNED_INT", "[+-]?[0-9]+"),
    ("DECIMAL", r"[0-9]+\.[0-9]*|\.[0-9]+"),
    ("_EXP", "[eE][+-]?[0-9]+"),
    ("FLOAT", r"[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"),
    (
        "SIGNED_FLOAT",
        r"[+-]?(?:[0-9]+[eE][+-]?[0-9]+|(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)",
    ),
    ("NUMBER", r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"),
    ("SIGNED_NUMBER", r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"),
    ("LCASE_LETTER", "[a-z]"),
    ("UCASE_LETTER", "[A-Z]"),
    ("LETTER", "[A-Za-z]"),
    ("WORD", "[A-Za-z]+"),
    ("CNAME", "[_A-Za-z][_A-Za-z0-9]*"),
    ("_STRING_INNER", ".*?"),
    ("_STRING_ESC_INNER", r".*?(?<!\\)(?:\\\\)*?"),
    // A string that ends at the first quote after an even number of backslashes.
    ("ESCAPED_STRING", r#""(?:[^"\\\n]|\\[^\n])*""#),
    ("WS_INLINE", r"[ \t]+"),
    ("WS", r"[ \t\f\r\n]+"),
    ("CR", r"\r"),
    ("LF", r"\n"),
    ("NEWLINE", r"(?:\r?\n)+"),
    ("SH_COMMENT", r"#[^\n]*"),
    ("CPP_COMMENT", r"//[^\n]*"),
    ("C_COMMENT", r"/\*(?:[^*]|\*+[^*/])*\*+/"),
    ("SQL_COMMENT", r"--[^\n]*"),
];

const PYTHON: &[(&str, &str)] = &[
    // Python's `\w`, which has no combining marks.
    ("NAME", r"[\p{L}\p{Nl}\p{No}_][\p{L}\p{N}_]*"),
    ("COMMENT", r"#[^\n]*"),
    ("_NEWLINE", r"(?:\r?\n[\t ]*|#[^\n]*)+"),
    (
        "STRING",
        // One line, not three quotes, and the quote after an even number of backslashes.
        r#"(?i:(?:[ubf]?r?|r[ubf])(?:"(?!"")(?:[^"\\\n]|\\[^\n])*"|'(?!'')(?:[^'\\\n]|\\[^\n])*'))"#,
    ),
    (
        "LONG_STRING",
        r#"(?is:(?:[ubf]?r?|r[ubf])(?:""".*?(?<!\\)(?:\\\\)*?"""|'''.*?(?<!\\)(?:\\\\)*?'''))"#,
    ),
    ("DEC_NUMBER", r"[1-9](?:_?[0-9])*|0(?:_?0)*"),
    ("HEX_NUMBER", r"0[xX](?:_?[0-9a-fA-F])+"),
    ("OCT_NUMBER", r"0[oO](?:_?[0-7])+"),
    ("BIN_NUMBER", r"0[bB](?:_?[01])+"),
    ("_SPECIAL_DEC", r"[0-9](?:_?[0-9])*"),
    ("_EXP", r"[eE][+-]?[0-9](?:_?[0-9])*"),
    ("DECIMAL", r"\.[0-9](?:_?[0-9])*|[0-9](?:_?[0-9])*\.(?:[0-9](?:_?[0-9])*)?"),
    (
        "FLOAT_NUMBER",
        r"[0-9](?:_?[0-9])*[eE][+-]?[0-9](?:_?[0-9])*|(?:\.[0-9](?:_?[0-9])*|[0-9](?:_?[0-9])*\.(?:[0-9](?:_?[0-9])*)?)(?:[eE][+-]?[0-9](?:_?[0-9])*)?",
    ),
    (
        "IMAG_NUMBER",
        r"(?:[0-9](?:_?[0-9])*(?:[eE][+-]?[0-9](?:_?[0-9])*)?|(?:\.[0-9](?:_?[0-9])*|[0-9](?:_?[0-9])*\.(?:[0-9](?:_?[0-9])*)?)(?:[eE][+-]?[0-9](?:_?[0-9])*)?)[jJ]",
    ),
    ("SLASH", "/"),
    ("AWAIT", "await"),
    ("ASYNC", "async"),
];

const LARK: &[(&str, &str)] = &[
    ("OP", r"[+*?]"),
    ("RULE", r"!?[_?]?[a-z][_a-z0-9]*"),
    ("TOKEN", r"_?[A-Z][_A-Z0-9]*"),
    ("STRING", r#""(?:[^"\\\n]|\\[^\n])*"i?"#),
    ("REGEXP", r"/(?!/)(?:\\/|[^/])*?/[imslux]*"),
    ("NUMBER", "[+-]?[0-9]+"),
    ("COMMENT", r"\s*(?://|#)[^\n]*"),
    ("_NL", r"(?:\r?\n)+\s*"),
    ("_VBAR", r"(?:(?:\r?\n)+\s*)?\|"),
    ("_STRING", r#""(?:[^"\\\n]|\\[^\n])*""#),
    ("WS_INLINE", r"[ \t]+"),
];

const UNICODE: &[(&str, &str)] = &[("WS_INLINE", r"[ \t\xa0]+"), ("WS", r"[ \t\xa0\f\r\n]+")];
