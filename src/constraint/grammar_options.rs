//! [`GrammarOptions`]: options of a grammar that are no part of its text.

/// Options of a grammar that are no part of its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrammarOptions {
    /// The rule whose texts are the language. Without one it is that of the notation: `root` in
    /// GBNF, `start` in Lark, the first rule in the others.
    pub start: Option<String>,
    /// The way in which rules become terminals.
    pub layout: GrammarLayout,
}

/// The way in which rules become terminals. The language is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GrammarLayout {
    /// Rules and alternatives become one terminal where they can.
    #[default]
    Merged,
    /// Every rule and alternative is kept, as [`Compiler::grammar_by_rules`](crate::Compiler::grammar_by_rules) says.
    ByRules,
}
