//! Removal of empty rules: every rule `R` becomes `R` without the empty string, and a call of a
//! nullable rule becomes "the call or nothing". Each place then shows by itself whether it may be
//! empty.

use crate::grammar::builder::GrammarBuilder;
use crate::grammar::form::{Attribute, Grammar, Node, NodeId, RuleId};

/// Rewrites a grammar so that no rule is nullable but perhaps its start, which then is called
/// nowhere. `nullable` says by node whether it derives the empty string.
pub(super) fn remove(grammar: Grammar, nullable: &[bool]) -> Grammar {
    let Grammar { languages, nodes, origins, rules, holes, start } = grammar;
    let mut out = GrammarBuilder { languages, holes, ..GrammarBuilder::default() };
    for rule in &rules {
        out.declare(rule.name());
    }
    // Children come before their parents, so one ascending pass sees every part rewritten.
    let mut full: Vec<NodeId> = Vec::with_capacity(nodes.len());
    let mut nonempty: Vec<NodeId> = Vec::with_capacity(nodes.len());
    let epsilon = out.empty();
    let nothing = out.push(Node::Choice(Box::default()));
    for (i, node) in nodes.iter().enumerate() {
        let first_new = out.nodes.len();
        let at = |id: &NodeId| full[id.index()];
        let without = |id: &NodeId| nonempty[id.index()];
        let whole = match node {
            Node::Regular(language) => out.regular(*language),
            Node::Special(token) => out.special(token.clone()),
            Node::Hole(_)
            | Node::JsonString(_)
            | Node::KeyChoice(_)
            | Node::Capture(..)
            | Node::Scope(..) => out.push(node.clone()),
            Node::Sequence(parts) => out.sequence(parts.iter().map(at)),
            Node::Choice(parts) => out.choice(parts.iter().map(at)),
            Node::Repeat { node, min, max } => {
                let min = if nullable[node.index()] { 0 } else { *min };
                out.repeat(without(node), min, *max)
            }
            // The empty text takes no token, and only it takes none.
            Node::Attributed { attribute: Attribute::MaxTokens(0), node } => {
                if nullable[node.index()] { epsilon } else { nothing }
            }
            Node::Attributed { node, attribute } => {
                let attributed = out.attributed(without(node), attribute.clone());
                if nullable[node.index()] { out.choice([attributed, epsilon]) } else { attributed }
            }
            Node::Call(rule) => {
                let call = out.call(*rule);
                if nullable[rules[rule.index()].body().index()] {
                    out.choice([call, epsilon])
                } else {
                    call
                }
            }
        };
        full.push(whole);
        nonempty.push(if !nullable[i] {
            whole
        } else {
            match node {
                Node::Regular(language) => {
                    let language = out.languages.without_epsilon(*language);
                    out.regular(language)
                }
                Node::Special(_)
                | Node::Hole(_)
                | Node::JsonString(_)
                | Node::KeyChoice(_)
                | Node::Capture(..)
                | Node::Scope(..) => whole,
                Node::Sequence(parts) => {
                    let both = |part: &NodeId| (full[part.index()], nonempty[part.index()]);
                    let parts: Vec<_> = parts.iter().map(both).collect();
                    nonempty_sequence(&mut out, &parts)
                }
                Node::Choice(parts) => out.choice(parts.iter().map(without)),
                Node::Repeat { node, min, max } => {
                    let min = if nullable[node.index()] { 1 } else { (*min).max(1) };
                    out.repeat(without(node), min, *max)
                }
                Node::Attributed { attribute: Attribute::MaxTokens(0), .. } => nothing,
                Node::Attributed { node, attribute } => {
                    out.attributed(without(node), attribute.clone())
                }
                Node::Call(rule) => out.call(*rule),
            }
        });
        if let Some(origin) = &origins[i] {
            for id in first_new..out.nodes.len() {
                out.origins[id] = Some(origin.clone());
            }
        }
    }
    for (i, rule) in rules.iter().enumerate() {
        out.define(RuleId(i as u32), nonempty[rule.body().index()]);
    }
    let body = rules[start.index()].body();
    let start = if nullable[body.index()] {
        let call = out.call(start);
        let body = out.choice([call, epsilon]);
        out.rule("start", body)
    } else {
        start
    };
    out.finish_defined(start)
}

/// The sequence of nullable parts without the empty string: its first half without it and all of the
/// second, or the second without it. Halves nest no deeper than the logarithm of their number. Each part
/// is given whole and without the empty string.
fn nonempty_sequence(out: &mut GrammarBuilder, parts: &[(NodeId, NodeId)]) -> NodeId {
    match parts {
        [] => out.push(Node::Choice(Box::default())),
        &[(_, nonempty)] => nonempty,
        _ => {
            let (first, second) = parts.split_at(parts.len() / 2);
            let rest = out.sequence(second.iter().map(|&(whole, _)| whole));
            let first = nonempty_sequence(out, first);
            let from_first = out.sequence([first, rest]);
            let from_second = nonempty_sequence(out, second);
            out.choice([from_first, from_second])
        }
    }
}
