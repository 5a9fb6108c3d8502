//! The input of a lowering.

use crate::ebnf::expression::RuleExpr;
use crate::ebnf::grammar_text::GrammarText;

/// The rules of a grammar, all of them defined; a rule is its index.
pub(in crate::ebnf) struct ParsedRules<'a> {
    pub(in crate::ebnf) text: &'a GrammarText<'a>,
    pub(in crate::ebnf) names: Vec<String>,
    pub(in crate::ebnf) bodies: Vec<RuleExpr>,
    /// The rules that must be regular, each with the byte offset of its first use.
    pub(in crate::ebnf) terminals: Vec<(usize, usize)>,
}

/// Whether regular rules become part of the terminals that use them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::ebnf) enum RuleLayout {
    /// They do.
    Merged,
    /// All rules and alternatives stay apart, so that a text can be followed through each of them.
    Apart,
}

/// The choices of a lowering.
#[derive(Clone, Copy)]
pub(in crate::ebnf) struct LoweringOptions {
    pub(in crate::ebnf) layout: RuleLayout,
    /// Whether lazy terminals take precedence over what else may begin where they do.
    pub(in crate::ebnf) lazy_precedence: bool,
}
