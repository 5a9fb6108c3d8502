//! Least fixed points over a grammar: *nullable* and *productive* nodes.

use super::form::{Grammar, Node, NodeId};

/// For each node, whether it is in the least set that holds the leaves for which `leaf` is true and
/// is closed under these rules: a sequence is in the set if all its parts are, a choice if any part
/// is, a repeat if its minimum is 0 or its part is, a call if the rule's body is.
///
/// With "contains the empty string" at the leaves the set is *nullable*; with "contains any
/// string", *productive*. Linear in the size of the grammar: each node waits on a counter of
/// missing parts.
pub(crate) fn least_fixed_point(
    grammar: &Grammar,
    leaf: impl Fn(NodeId, &Node) -> bool,
) -> Vec<bool> {
    let count = grammar.nodes().len();
    let mut parents: Vec<Vec<u32>> = vec![Vec::new(); count];
    // Parts that must still hold before the node does.
    let mut missing = vec![0u32; count];
    let mut holds = vec![false; count];
    let mut todo: Vec<usize> = Vec::new();
    for (i, node) in grammar.nodes().iter().enumerate() {
        let mut child = |id: NodeId| parents[id.index()].push(i as u32);
        let ready = match node {
            Node::Regular(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::JsonString(_)
            | Node::KeyChoice(_)
            | Node::Capture(..)
            | Node::Scope(..) => leaf(NodeId(i as u32), node),
            Node::Sequence(parts) => {
                parts.iter().for_each(|&part| child(part));
                missing[i] = parts.len() as u32;
                parts.is_empty()
            }
            Node::Choice(parts) => {
                parts.iter().for_each(|&part| child(part));
                missing[i] = 1;
                false
            }
            Node::Repeat { node, min, .. } => {
                child(*node);
                missing[i] = 1;
                *min == 0
            }
            Node::Attributed { node, .. } => {
                child(*node);
                missing[i] = 1;
                false
            }
            Node::Call(rule) => {
                child(grammar.rule(*rule).body());
                missing[i] = 1;
                false
            }
        };
        if ready {
            holds[i] = true;
            todo.push(i);
        }
    }
    while let Some(i) = todo.pop() {
        for &parent in &parents[i] {
            let parent = parent as usize;
            missing[parent] = missing[parent].saturating_sub(1);
            if missing[parent] == 0 && !holds[parent] {
                holds[parent] = true;
                todo.push(parent);
            }
        }
    }
    holds
}
