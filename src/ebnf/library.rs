//! The grammars that come with the program.

use super::Dialect;

/// A grammar that comes with the program, in `grammars/`, with texts that it accepts and rejects
/// beside it.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its notation.
    pub dialect: Dialect,
    /// Its text; the comment at its head says what it covers.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal $dialect:ident $ending:literal,)*) => {
        &[$(BuiltIn {
            name: $name,
            dialect: Dialect::$dialect,
            text: include_str!(concat!("../../grammars/", $name, ".", $ending)),
        }),*]
    };
}

/// The grammars that come with the program, by name.
pub const GRAMMARS: &[BuiltIn] = built_in![
    "arithmetic" Gbnf "gbnf",
    "c" Lark "lark",
    "cron" Gbnf "gbnf",
    "csv" Gbnf "gbnf",
    "diff" Gbnf "gbnf",
    "email" Abnf "abnf",
    "graphql" Lark "lark",
    "html" Gbnf "gbnf",
    "ini" Gbnf "gbnf",
    "iso8601" Gbnf "gbnf",
    "json-lines" Gbnf "gbnf",
    "json" Gbnf "gbnf",
    "lisp" Gbnf "gbnf",
    "markdown-table" Gbnf "gbnf",
    "mermaid" Gbnf "gbnf",
    "pgn" Gbnf "gbnf",
    "python" Lark "lark",
    "regex" Gbnf "gbnf",
    "semver" Gbnf "gbnf",
    "sql" Lark "lark",
    "toml" Gbnf "gbnf",
    "url" Abnf "abnf",
    "xml" W3c "ebnf",
    "yaml" Lark "lark",
];

/// A grammar that comes with the program.
pub fn builtin(name: &str) -> Option<&'static BuiltIn> {
    GRAMMARS.iter().find(|known| known.name == name)
}
