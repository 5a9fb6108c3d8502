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
    "json" Gbnf "gbnf",
];

/// A grammar that comes with the program.
pub fn builtin(name: &str) -> Option<&'static BuiltIn> {
    GRAMMARS.iter().find(|known| known.name == name)
}
