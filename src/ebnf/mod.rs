//! Grammar dialects, parsed into a [`Grammar`](crate::grammar::Grammar).
//!
//! ```
//! let grammar = maskwright::ebnf::gbnf(r#"root ::= "a" root "b" | """#)?;
//! assert_eq!(grammar.rules().len(), 1);
//! let error = maskwright::ebnf::gbnf("root ::= item\n").unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "line 1, column 10: rule `item` is used but never defined; define it as `item ::= …`"
//! );
//! # Ok::<(), maskwright::Error>(())
//! ```

mod gbnf;

pub use gbnf::gbnf;

/// The grammars that come with the program, by name, as GBNF.
pub const GRAMMARS: &[(&str, &str)] = &[
    ("arithmetic", include_str!("../../grammars/arithmetic.gbnf")),
    ("json", include_str!("../../grammars/json.gbnf")),
];

/// A grammar that comes with the program.
pub fn builtin(name: &str) -> Option<&'static str> {
    GRAMMARS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
