//! Strongly connected components of a graph of rules.
//!
//! *Source:* Tarjan, "Depth-first search and linear graph algorithms" (1972), with an explicit
//! stack.

use crate::grammar::form::RuleId;

/// By vertex, the number of its component. Components are numbered so that an edge between two
/// leads from the higher number to the lower.
pub(crate) fn strongly_connected(edges: &[Vec<RuleId>]) -> Vec<u32> {
    const NEW: u32 = u32::MAX;
    let count = edges.len();
    let (mut index, mut low, mut component) = (vec![NEW; count], vec![0; count], vec![NEW; count]);
    let (mut next_index, mut next_component) = (0, 0);
    let (mut stack, mut path): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    for root in 0..count {
        if index[root] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some(&(vertex, edge)) = path.last() {
            if edge == 0 {
                index[vertex] = next_index;
                low[vertex] = next_index;
                next_index += 1;
                stack.push(vertex);
            }
            if let Some(target) = edges[vertex].get(edge).map(|target| target.index()) {
                if let Some(top) = path.last_mut() {
                    top.1 += 1;
                }
                if index[target] == NEW {
                    path.push((target, 0));
                } else if component[target] == NEW {
                    low[vertex] = low[vertex].min(index[target]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[vertex]);
            }
            if low[vertex] == index[vertex] {
                while let Some(member) = stack.pop() {
                    component[member] = next_component;
                    if member == vertex {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    component
}
