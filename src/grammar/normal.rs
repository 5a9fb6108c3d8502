//! Normal form: no rule derives the empty string, and no rule calls itself at its left edge.
//!
//! The recognizer reads from left to right and expands calls before it reads a byte, so a rule that
//! reaches itself without reading would expand for ever. Two rewritings, both of which keep the
//! language, make that impossible: [`empty_rules`] and [`left_recursion`]. For example:
//!
//! ```text
//! sum: sign sum "+" num | num      sign: "-"?
//! without empty rules:     sum: (sign | ε) sum "+" num | num          sign: "-"
//! without left recursion:  sum: (sign sum "+" num | num) tail?        tail: "+" num tail?
//! ```

pub(crate) mod components;
mod empty_rules;
mod left_recursion;

use super::analysis::least_fixed_point;
use super::form::{Grammar, Node};
use crate::error::{Error, Result};
use crate::regular::Languages;

/// Rewrites a grammar into normal form; errors if it outgrows `limit` nodes.
pub(crate) fn normalize(grammar: Grammar, limit: usize) -> Result<Grammar> {
    let grammar = normalize_or_return_languages(grammar, limit).map_err(|failed| failed.0)?;
    if grammar.nodes().len() > limit { Err(left_recursion::too_large(limit)) } else { Ok(grammar) }
}

/// The same without a limit for what is not left-recursive. An error brings back the languages of the grammar,
/// which other grammars may share.
pub(crate) fn normalize_or_return_languages(
    grammar: Grammar,
    limit: usize,
) -> std::result::Result<Grammar, Box<(Error, Languages)>> {
    let nullable = nullable_nodes(&grammar);
    let grammar = empty_rules::remove(grammar, &nullable);
    let nullable = nullable_nodes(&grammar);
    left_recursion::remove(grammar, nullable, limit)
}

/// By node, whether it derives the empty string.
fn nullable_nodes(grammar: &Grammar) -> Vec<bool> {
    least_fixed_point(grammar, |_, node| match node {
        Node::Regular(language) => grammar.languages().is_nullable(*language),
        _ => false,
    })
}
