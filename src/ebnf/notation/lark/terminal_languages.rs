//! The languages of terminals: of one that is written out, and of one by its name.

use super::ast::{LarkExpr, LarkExprKind, is_terminal};
use super::modules::LinkedGrammar;
use crate::ebnf::expression::{RuleExpr, RuleExprKind};
use crate::ebnf::grammar_text::GrammarText;
use crate::ebnf::rule_table::{CaseFolding, RuleTable};
use crate::error::Result;
use crate::regular::{Dialect, Language, Utf8, any_text};

/// Terminals within terminals.
const MAX_NESTING: usize = 100;

/// A terminal that is written out as a string, a range or a pattern, in a group of definitions; none if it
/// is something else.
pub(super) fn written_out(
    rules: &mut RuleTable<'_>,
    text: &GrammarText<'_>,
    expr: &LarkExpr,
    group: usize,
) -> Result<Option<RuleExpr>> {
    let at = expr.at;
    Ok(Some(match &expr.kind {
        LarkExprKind::Text { text, caseless: false } => rules.literal(at, text),
        LarkExprKind::Text { text, caseless: true } => {
            rules.caseless_literal(at, text, CaseFolding::Unicode)
        }
        LarkExprKind::Range(first, last) => {
            rules.class(at, &[(u32::from(*first), u32::from(*last))])
        }
        LarkExprKind::Pattern(pattern) => {
            // Grammars that are referred to by name keep the dialect of the notation.
            let dialect =
                if group == 0 { rules.pattern_dialect(Dialect::Rust) } else { Dialect::Rust };
            rules.pattern(text, at, pattern, dialect)?
        }
        _ => return Ok(None),
    }))
}

/// Terminals by name.
#[derive(Clone, Copy)]
pub(super) struct TerminalLanguages<'a> {
    pub(super) text: &'a GrammarText<'a>,
    pub(super) grammar: &'a LinkedGrammar,
}

impl TerminalLanguages<'_> {
    /// The language of a terminal, or of an expression of terminals, in a group of definitions; none where
    /// it has no pattern, or is more than that.
    pub(super) fn language(
        &self,
        rules: &mut RuleTable<'_>,
        expr: &LarkExpr,
        group: usize,
    ) -> Result<Option<Language>> {
        self.within(rules, expr, group, 0)
    }

    fn within(
        &self,
        rules: &mut RuleTable<'_>,
        expr: &LarkExpr,
        group: usize,
        depth: usize,
    ) -> Result<Option<Language>> {
        if depth > MAX_NESTING {
            return Ok(None);
        }
        let all =
            |rules: &mut RuleTable<'_>, parts: &[LarkExpr]| -> Result<Option<Vec<Language>>> {
                parts.iter().map(|part| self.within(rules, part, group, depth + 1)).collect()
            };
        let regular = |item: RuleExpr| match item.kind {
            RuleExprKind::Regular(language) => Some(language),
            _ => None,
        };
        Ok(match &expr.kind {
            LarkExprKind::Name(name) if is_terminal(name) => {
                let mut definitions = self.grammar.definitions.iter();
                if let Some(linked) = definitions.find(|linked| linked.definition.name == *name) {
                    if linked.definition.attributes.is_lazy {
                        return Ok(None);
                    }
                    return self.within(rules, &linked.definition.body, linked.group, depth + 1);
                }
                let library = self.grammar.library.iter().find(|(_, known, _)| known == name);
                match library {
                    Some((at, _, pattern)) => {
                        regular(rules.pattern(self.text, *at, pattern, Dialect::Rust)?)
                    }
                    None => None,
                }
            }
            LarkExprKind::Sequence(parts) => {
                all(rules, parts)?.map(|parts| rules.builder.languages().concat(parts))
            }
            LarkExprKind::Choice(parts) => {
                all(rules, parts)?.map(|parts| rules.builder.languages().union(parts))
            }
            LarkExprKind::And(parts) => {
                all(rules, parts)?.map(|parts| rules.builder.languages().intersect(parts))
            }
            LarkExprKind::Not(inner) => self.within(rules, inner, group, depth + 1)?.map(|inner| {
                let l = rules.builder.languages();
                let text = any_text(l, &Utf8);
                l.difference(text, inner)
            }),
            LarkExprKind::Repeat(inner, min, max) => self
                .within(rules, inner, group, depth + 1)?
                .map(|inner| rules.builder.languages().repeat(inner, *min, *max)),
            _ => written_out(rules, self.text, expr, group)?.and_then(regular),
        })
    }
}
