//! Negation of member formulas, pushed down to the statements (negation normal form). Each statement
//! has an opposite statement, so formulas need no negation node.

use std::sync::Arc;

use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::member_formula::{FormulaNode, MemberFormula};
use crate::json_schema::set::{Set, Sets};

/// The negation of a formula, which is made once.
pub(crate) fn negate_formula(sets: &mut Sets<'_>, formula: MemberFormula) -> MemberFormula {
    if let Some(&known) = sets.formulas.negations.get(&formula) {
        return known;
    }
    let opposite = build_negation(sets, formula);
    sets.formulas.negations.insert(formula, opposite);
    opposite
}

fn build_negation(sets: &mut Sets<'_>, formula: MemberFormula) -> MemberFormula {
    let part = sets.formulas.node(formula).clone();
    let new = match part {
        FormulaNode::Holds => return MemberFormula::FAILS,
        FormulaNode::Fails => return MemberFormula::HOLDS,
        FormulaNode::Absent(key) => FormulaNode::Present(key, Set::ANY),
        FormulaNode::Present(key, set) => {
            let absent = sets.formulas.intern(FormulaNode::Absent(key.clone()));
            return match sets.not(set) {
                Set::NEVER => absent,
                not => {
                    let other = sets.formulas.intern(FormulaNode::Present(key, not));
                    sets.formulas.or([absent, other])
                }
            };
        }
        FormulaNode::Some(KeyClass { keys, set }) => {
            FormulaNode::All(KeyClass { keys, set: sets.not(set) })
        }
        FormulaNode::All(KeyClass { keys, set }) => {
            FormulaNode::Some(KeyClass { keys, set: sets.not(set) })
        }
        FormulaNode::AtLeast(0) => return MemberFormula::FAILS,
        FormulaNode::AtLeast(n) => FormulaNode::AtMost(n - 1),
        FormulaNode::AtMost(u32::MAX) => return MemberFormula::FAILS,
        FormulaNode::AtMost(n) => FormulaNode::AtLeast(n + 1),
        FormulaNode::And(parts) => {
            let parts: Vec<_> = parts.iter().map(|&part| negate_formula(sets, part)).collect();
            return sets.formulas.or(parts);
        }
        FormulaNode::Or(parts) => {
            let parts: Vec<_> = parts.iter().map(|&part| negate_formula(sets, part)).collect();
            return sets.formulas.and(parts);
        }
    };
    sets.formulas.intern(new)
}

/// The keys that a formula names.
pub(crate) fn keys_named_in(sets: &mut Sets<'_>, formula: MemberFormula) -> Vec<Arc<str>> {
    let mut keys: Vec<Arc<str>> = Vec::new();
    for &statement in sets.formulas.statements(formula).iter() {
        if let FormulaNode::Present(key, _) | FormulaNode::Absent(key) =
            sets.formulas.node(statement)
            && !keys.contains(key)
        {
            keys.push(key.clone());
        }
    }
    keys
}
