//! Removal of left recursion (direct, indirect, and hidden behind nullable prefixes): the
//! left-corner transform, restricted to the strongly connected components of the left-edge
//! relation.
//!
//! With `X γ` the left-recursive alternatives of `C`, and `b` the others:
//!
//! ```text
//! A → b T(B→A)                        for each b of each B
//! T(X→A) → ε if X = A, or γ T(C→A)    for each C → X γ
//! ```
//!
//! So `sum: sum "+" num | num` becomes `sum: num T?`, `T: "+" num T?`.
//!
//! *Source:* Rosenkrantz and Lewis, "Deterministic left corner parsing" (1970).

use rustc_hash::{FxHashMap, FxHashSet};

use super::components::strongly_connected;
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::grammar::builder::GrammarBuilder;
use crate::grammar::form::{Grammar, Node, NodeId, RuleId};
use crate::regular::Languages;

pub(super) fn too_large(limit: usize) -> Error {
    Error::new(ErrorKind::Limit, format!("the grammar needs more than {limit} nodes"))
        .with_help("simplify it, or raise the limit `grammar_size`")
        .with_limit(LimitName::GrammarSize)
}

/// Rewrites a grammar without nullable rules so that no rule calls itself at its left edge.
/// `nullable` says by node whether it derives the empty string. An error brings back the grammar's languages.
pub(super) fn remove(
    grammar: Grammar,
    nullable: Vec<bool>,
    limit: usize,
) -> std::result::Result<Grammar, Box<(Error, Languages)>> {
    let edges: Vec<Vec<RuleId>> = grammar
        .rules()
        .iter()
        .map(|rule| {
            let mut calls = Vec::new();
            left_calls(&grammar, &nullable, rule.body(), &mut calls);
            calls.sort_unstable();
            calls.dedup();
            calls
        })
        .collect();
    let component = strongly_connected(&edges);
    let mut groups: FxHashMap<u32, Vec<RuleId>> = FxHashMap::default();
    for (i, &c) in component.iter().enumerate() {
        groups.entry(c).or_default().push(RuleId(i as u32));
    }
    let mut recursive: Vec<Vec<RuleId>> = groups
        .into_values()
        .filter(|group| group.len() > 1 || edges[group[0].index()].contains(&group[0]))
        .collect();
    if recursive.is_empty() {
        return Ok(grammar);
    }
    recursive.sort_unstable();
    let Grammar { languages, nodes, origins, rules, holes, start } = grammar;
    let mut corner = LeftCornerTransform {
        out: GrammarBuilder {
            languages,
            nodes,
            origins,
            rules,
            holes,
            shortest_first: FxHashSet::default(),
        },
        nullable,
        component,
        current: 0,
        limit,
    };
    for group in recursive {
        if let Err(error) = corner.rewrite(&group) {
            return Err(Box::new((error, corner.out.languages)));
        }
    }
    Ok(corner.out.finish_defined(start))
}

/// The rules that a node calls before it has read anything.
fn left_calls(grammar: &Grammar, nullable: &[bool], node: NodeId, calls: &mut Vec<RuleId>) {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        match grammar.node(node) {
            Node::Regular(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::JsonString(_)
            | Node::KeyChoice(_)
            | Node::Capture(..)
            | Node::Scope(..) => {}
            Node::Call(rule) => calls.push(*rule),
            Node::Choice(parts) => todo.extend_from_slice(parts),
            Node::Repeat { node, .. } | Node::Attributed { node, .. } => todo.push(*node),
            Node::Sequence(parts) => {
                for part in parts {
                    todo.push(*part);
                    if !nullable[part.index()] {
                        break;
                    }
                }
            }
        }
    }
}

/// The alternatives of a node, split by their left edge.
#[derive(Default)]
struct LeftEdgeSplit {
    /// Alternatives that begin with a rule of the component, each with the rest after it.
    recursive: Vec<(RuleId, NodeId)>,
    others: Vec<NodeId>,
}

/// The transform of one component after the other.
struct LeftCornerTransform {
    out: GrammarBuilder,
    /// By node of `out`.
    nullable: Vec<bool>,
    /// By rule, its component.
    component: Vec<u32>,
    /// The component that is being rewritten.
    current: u32,
    /// The greatest number of nodes.
    limit: usize,
}

impl LeftCornerTransform {
    fn rewrite(&mut self, group: &[RuleId]) -> Result<()> {
        self.current = self.component[group[0].index()];
        let mut splits = Vec::new();
        for &rule in group {
            splits.push((rule, self.split(self.out.rules[rule.index()].body(), 0)?));
        }
        // By rule X: the rules C that an X may already be, `C → X γ` with γ nullable. Reflexive
        // and transitive.
        let mut closure: FxHashMap<RuleId, Vec<RuleId>> = FxHashMap::default();
        for &rule in group {
            let mut reached = vec![rule];
            let mut next = 0;
            while let Some(&x) = reached.get(next) {
                next += 1;
                for (c, split) in &splits {
                    let free =
                        |&(left, rest): &(RuleId, NodeId)| left == x && self.nullable[rest.index()];
                    if split.recursive.iter().any(free) && !reached.contains(c) {
                        reached.push(*c);
                    }
                }
            }
            closure.insert(rule, reached);
        }
        // tails[(x, a)] derives what may follow a finished `x` to finish an `a`, never empty.
        let mut tails: FxHashMap<(RuleId, RuleId), RuleId> = FxHashMap::default();
        let mut todo: Vec<(RuleId, RuleId)> = Vec::new();
        let mut bodies: Vec<(RuleId, NodeId)> = Vec::new();
        for &a in group {
            let mut ways = Vec::new();
            for (b, split) in &splits {
                if split.others.is_empty() {
                    continue;
                }
                let tail = self.tail(&mut tails, &mut todo, &closure, (*b, a));
                for &other in &split.others {
                    ways.push(self.sequence([other, tail]));
                }
            }
            bodies.push((a, self.choice(ways)));
        }
        while let Some((x, a)) = todo.pop() {
            if self.out.size() > self.limit {
                return Err(too_large(self.limit));
            }
            let mut ways = Vec::new();
            for y in &closure[&x] {
                for (c, split) in &splits {
                    for &(left, rest) in &split.recursive {
                        if left == *y {
                            let rest = self.nonempty(rest, 0)?;
                            let tail = self.tail(&mut tails, &mut todo, &closure, (*c, a));
                            ways.push(self.sequence([rest, tail]));
                        }
                    }
                }
            }
            let body = self.choice(ways);
            bodies.push((tails[&(x, a)], body));
        }
        for (rule, body) in bodies {
            self.out.define(rule, body);
        }
        Ok(())
    }

    /// The call of `T(x→a)`: optional where an `x` may already be an `a`.
    fn tail(
        &mut self,
        tails: &mut FxHashMap<(RuleId, RuleId), RuleId>,
        todo: &mut Vec<(RuleId, RuleId)>,
        closure: &FxHashMap<RuleId, Vec<RuleId>>,
        (x, a): (RuleId, RuleId),
    ) -> NodeId {
        let rule = *tails.entry((x, a)).or_insert_with(|| {
            todo.push((x, a));
            let name = self.out.rules[a.index()].name.clone();
            self.out.declare_from(name)
        });
        // Not itself part of any component: it is called where something was read.
        self.component.resize(self.out.rules.len(), u32::MAX);
        let call = self.push(Node::Call(rule));
        if closure[&x].contains(&a) {
            let nothing = self.sequence([]);
            self.choice(vec![call, nothing])
        } else {
            call
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        let nullable = match &node {
            Node::Regular(language) => self.out.languages.is_nullable(*language),
            Node::Sequence(parts) => parts.iter().all(|part| self.nullable[part.index()]),
            Node::Choice(parts) => parts.iter().any(|part| self.nullable[part.index()]),
            Node::Repeat { node, min, .. } => *min == 0 || self.nullable[node.index()],
            Node::Attributed { node, .. } => self.nullable[node.index()],
            // No rule derives the empty string any more.
            Node::Call(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::JsonString(_)
            | Node::KeyChoice(_)
            | Node::Capture(..)
            | Node::Scope(..) => false,
        };
        self.nullable.push(nullable);
        self.out.push(node)
    }

    fn sequence<const N: usize>(&mut self, parts: [NodeId; N]) -> NodeId {
        let epsilon =
            |id: &NodeId| matches!(&self.out.nodes[id.index()], Node::Sequence(p) if p.is_empty());
        let parts: Vec<NodeId> = parts.into_iter().filter(|id| !epsilon(id)).collect();
        match parts[..] {
            [one] => one,
            _ => self.push(Node::Sequence(parts.into())),
        }
    }

    fn choice(&mut self, parts: Vec<NodeId>) -> NodeId {
        match parts[..] {
            [one] => one,
            _ => self.push(Node::Choice(parts.into())),
        }
    }

    /// The depth of a node below one of this depth; an error at a limit.
    fn nested(&self, depth: usize) -> Result<usize> {
        /// Nesting of nodes that is followed; bounds the native stack.
        const MAX_DEPTH: usize = 1000;
        if depth < MAX_DEPTH && self.out.size() <= self.limit {
            Ok(depth + 1)
        } else {
            Err(too_large(self.limit))
        }
    }

    /// Whether the left edge of a node calls a rule of the component.
    fn is_left_recursive(&self, node: NodeId) -> bool {
        let mut todo = vec![node];
        let mut seen = FxHashSet::default();
        while let Some(node) = todo.pop() {
            if !seen.insert(node) {
                continue;
            }
            match &self.out.nodes[node.index()] {
                Node::Regular(_)
                | Node::Special(_)
                | Node::Hole(_)
                | Node::JsonString(_)
                | Node::KeyChoice(_)
                | Node::Capture(..)
                | Node::Scope(..) => {}
                Node::Call(rule) => {
                    if self.component[rule.index()] == self.current {
                        return true;
                    }
                }
                Node::Choice(parts) => todo.extend_from_slice(parts),
                Node::Repeat { node, .. } | Node::Attributed { node, .. } => todo.push(*node),
                Node::Sequence(parts) => {
                    for part in parts {
                        todo.push(*part);
                        if !self.nullable[part.index()] {
                            break;
                        }
                    }
                }
            }
        }
        false
    }

    fn split(&mut self, node: NodeId, depth: usize) -> Result<LeftEdgeSplit> {
        let depth = self.nested(depth)?;
        if !self.is_left_recursive(node) {
            return Ok(LeftEdgeSplit { recursive: Vec::new(), others: vec![node] });
        }
        match self.out.nodes[node.index()].clone() {
            // A leaf is not left-recursive.
            Node::Regular(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::JsonString(_)
            | Node::KeyChoice(_)
            | Node::Capture(..)
            | Node::Scope(..) => Ok(LeftEdgeSplit::default()),
            Node::Call(rule) => {
                let nothing = self.sequence([]);
                Ok(LeftEdgeSplit { recursive: vec![(rule, nothing)], others: Vec::new() })
            }
            Node::Choice(parts) => {
                let mut all = LeftEdgeSplit::default();
                for &part in &parts {
                    let split = self.split(part, depth)?;
                    all.recursive.extend(split.recursive);
                    all.others.extend(split.others);
                }
                Ok(all)
            }
            Node::Sequence(parts) => {
                let rest = match parts[1..] {
                    [one] => one,
                    _ => self.push(Node::Sequence(parts[1..].into())),
                };
                self.split_pair(parts[0], rest, depth)
            }
            Node::Attributed { .. } => Err(Error::new(
                ErrorKind::Grammar,
                "a rule with `max_tokens` or a temperature calls itself at its left edge",
            )
            .with_help("write the recursion to the right, or as a repeat")),
            Node::Repeat { node: part, min, max } => {
                // x{n,m} = x x{n-1,m-1}, or nothing where n = 0; x itself is never empty here.
                let (min_left, max_left) = (min.saturating_sub(1), max.map(|max| max - 1));
                let rest = match max_left {
                    Some(0) => self.sequence([]),
                    _ => self.push(Node::Repeat { node: part, min: min_left, max: max_left }),
                };
                let mut split = self.split_pair(part, rest, depth)?;
                if min == 0 {
                    let nothing = self.sequence([]);
                    split.others.push(nothing);
                }
                Ok(split)
            }
        }
    }

    fn split_pair(&mut self, first: NodeId, rest: NodeId, depth: usize) -> Result<LeftEdgeSplit> {
        let split = self.split(first, depth)?;
        let mut all = LeftEdgeSplit::default();
        for (rule, more) in split.recursive {
            let more = self.sequence([more, rest]);
            all.recursive.push((rule, more));
        }
        let through = self.nullable[first.index()] && self.is_left_recursive(rest);
        for other in split.others {
            let other = if through { self.nonempty(other, depth)? } else { other };
            let way = self.sequence([other, rest]);
            all.others.push(way);
        }
        if through {
            let split = self.split(rest, depth)?;
            all.recursive.extend(split.recursive);
            all.others.extend(split.others);
        }
        Ok(all)
    }

    /// The node without the empty string.
    fn nonempty(&mut self, node: NodeId, depth: usize) -> Result<NodeId> {
        let depth = self.nested(depth)?;
        if !self.nullable[node.index()] {
            return Ok(node);
        }
        Ok(match self.out.nodes[node.index()].clone() {
            Node::Regular(language) => {
                let language = self.out.languages.without_epsilon(language);
                self.push(Node::Regular(language))
            }
            // None of these is nullable.
            Node::Call(_)
            | Node::Attributed { .. }
            | Node::Special(_)
            | Node::Hole(_)
            | Node::JsonString(_)
            | Node::KeyChoice(_)
            | Node::Capture(..)
            | Node::Scope(..) => node,
            Node::Choice(parts) => {
                let parts =
                    parts.iter().map(|&p| self.nonempty(p, depth)).collect::<Result<Vec<_>>>()?;
                self.choice(parts)
            }
            Node::Repeat { node: part, min, max } => {
                // The part is never empty, as `empty_rules::remove` left it.
                self.push(Node::Repeat { node: part, min: min.max(1), max })
            }
            Node::Sequence(parts) => {
                // All are nullable: the first that is not empty, then the rest as it was.
                let mut ways = Vec::new();
                for (i, &part) in parts.iter().enumerate() {
                    let part = self.nonempty(part, depth)?;
                    let mut rest = vec![part];
                    rest.extend_from_slice(&parts[i + 1..]);
                    ways.push(match rest[..] {
                        [one] => one,
                        _ => self.push(Node::Sequence(rest.into())),
                    });
                }
                self.choice(ways)
            }
        })
    }
}
