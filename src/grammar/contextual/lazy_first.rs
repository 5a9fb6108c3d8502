//! FIRST sets of a grammar, restricted to lazy terminals, and the nodes that reach a contextual terminal.

use rustc_hash::FxHashSet;

use super::state::{LazySetId, LazySets};
use crate::grammar::form::{Grammar, Node, NodeId};

/// By node, the lazy terminals that may begin it and whether it reaches any, or one that looks at the text
/// around it.
pub(super) struct LazyFirst {
    sets: Vec<LazySetId>,
    reaches_contextual: Vec<bool>,
}

impl LazyFirst {
    /// The lazy languages that may begin a node.
    pub(super) fn of(&self, node: NodeId) -> LazySetId {
        self.sets[node.index()]
    }

    /// Whether a lazy terminal, or one that looks at the text around it, is reachable from a node.
    pub(super) fn reaches_contextual(&self, node: NodeId) -> bool {
        self.reaches_contextual[node.index()]
    }

    /// Propagates from the terminals `lazy` and `lookaround` to all nodes above them until nothing changes.
    pub(super) fn find<'n>(
        grammar: &Grammar,
        lazy: &FxHashSet<NodeId>,
        lookaround: impl Iterator<Item = &'n NodeId>,
        nullable: &[bool],
        sets: &mut LazySets,
    ) -> Self {
        let count = grammar.nodes.len();
        let mut found =
            Self { sets: vec![LazySetId::EMPTY; count], reaches_contextual: vec![false; count] };
        let parents = parents(grammar, nullable);
        let mut todo = Vec::new();
        for &id in lookaround {
            found.reaches_contextual[id.index()] = true;
            todo.push(id.index());
        }
        for &id in lazy {
            if let Node::Regular(language) = *grammar.node(id) {
                found.sets[id.index()] = sets.intern(vec![language]);
                found.reaches_contextual[id.index()] = true;
                todo.push(id.index());
            }
        }
        while let Some(node) = todo.pop() {
            for parent in &parents[node] {
                let at = parent.node.index();
                let mut first = found.sets[at];
                if parent.is_at_left_edge {
                    first = sets.union(first, found.sets[node]);
                }
                if first != found.sets[at] || !found.reaches_contextual[at] {
                    found.sets[at] = first;
                    found.reaches_contextual[at] = true;
                    todo.push(at);
                }
            }
        }
        found
    }
}

/// A node that has another as its part.
struct ParentNode {
    node: NodeId,
    /// Whether the part may begin the parent's text.
    is_at_left_edge: bool,
}

/// By node, its parents.
fn parents(grammar: &Grammar, nullable: &[bool]) -> Vec<Vec<ParentNode>> {
    let mut parents: Vec<Vec<ParentNode>> = Vec::new();
    parents.resize_with(grammar.nodes.len(), Vec::new);
    for (node, kind) in grammar.nodes_with_ids() {
        let mut add = |part: NodeId, is_at_left_edge| {
            parents[part.index()].push(ParentNode { node, is_at_left_edge });
        };
        match kind {
            Node::Sequence(parts) => {
                let mut is_at_left_edge = true;
                for &part in parts {
                    add(part, is_at_left_edge);
                    is_at_left_edge &= nullable[part.index()];
                }
            }
            Node::Choice(parts) => parts.iter().for_each(|&part| add(part, true)),
            Node::Repeat { node: part, .. } | Node::Attributed { node: part, .. } => {
                add(*part, true)
            }
            Node::Call(rule) => add(grammar.rule(*rule).body(), true),
            _ => {}
        }
    }
    parents
}
