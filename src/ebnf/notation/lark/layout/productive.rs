//! Removal of calls that no text completes: pairs of line states between which a rule has no text.

use rustc_hash::FxHashSet;

use crate::ebnf::notation::lark::ast::{LarkExpr, LarkExprKind};
use crate::ebnf::notation::lark::modules::LinkedDefinition;

/// The definitions, without calls of rules with lines that have no texts. Whether they have some
/// does not depend on the column.
pub(super) fn productive(mut definitions: Vec<LinkedDefinition>) -> Vec<LinkedDefinition> {
    let mut has_text: FxHashSet<String> = FxHashSet::default();
    loop {
        let before = has_text.len();
        for LinkedDefinition { definition, .. } in &definitions {
            if definition.is_parametric && can_end(&definition.body, &has_text) {
                has_text.insert(definition.name.clone());
            }
        }
        if has_text.len() == before {
            break;
        }
    }
    for LinkedDefinition { definition, .. } in &mut definitions {
        definition.body.visit_mut(&mut |expr| {
            if let LarkExprKind::Parametric(name, _) = &expr.kind
                && !has_text.contains(name)
            {
                expr.kind = LarkExprKind::Choice(Vec::new());
            }
        });
    }
    definitions
}

/// Whether an expression has a text, given the rules with lines that have one.
fn can_end(expr: &LarkExpr, has_text: &FxHashSet<String>) -> bool {
    match &expr.kind {
        LarkExprKind::Parametric(name, _) => has_text.contains(name),
        LarkExprKind::Sequence(parts) => parts.iter().all(|part| can_end(part, has_text)),
        LarkExprKind::Choice(parts) => parts.iter().any(|part| can_end(part, has_text)),
        LarkExprKind::Repeat(inner, min, _) => *min == 0 || can_end(inner, has_text),
        _ => true,
    }
}
