//! Normal form: no rule derives the empty string, and no rule calls itself at its left edge.
//!
//! The engine reads from left to right and expands calls before it reads a byte, so a rule that
//! reaches itself without reading would expand for ever. Two rewritings, both of which keep the
//! language, make that impossible:
//!
//! 1. *Empty rules*: every rule `R` becomes `R` without the empty string, and a call of a nullable
//!    rule becomes "the call or nothing". What may be empty is then plain to see at each place.
//! 2. *Left recursion* (direct, indirect and hidden behind nullable prefixes): the left-corner
//!    transform of Rosenkrantz and Lewis (1970), restricted to the strongly connected components
//!    of the left-edge relation. With `X γ` the left-recursive ways to write `C`, and `b` the
//!    others:
//!    `A → b T(B→A)` for each `b` of each `B`, and
//!    `T(X→A) → ε if X = A, or γ T(C→A)` for each `C → X γ`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::analysis::least;
use super::{Grammar, GrammarBuilder, Node, NodeId, RuleId};
use crate::error::{Error, ErrorKind, Result};
use crate::regular::{Language, Languages};

/// Rewrites a grammar into normal form; errors if it outgrows `limit` nodes.
pub(crate) fn normalize(grammar: Grammar, limit: usize) -> Result<Grammar> {
    let grammar = without_empty_rules(grammar)?;
    let grammar = without_left_recursion(grammar, limit)?;
    match grammar.nodes().len() > limit {
        true => Err(too_large(limit)),
        false => Ok(grammar),
    }
}

fn too_large(limit: usize) -> Error {
    Error::new(ErrorKind::Limit, format!("the grammar needs more than {limit} nodes"))
        .with_help("simplify it, or raise the limit `grammar_size`")
}

fn nullable_nodes(grammar: &Grammar) -> Vec<bool> {
    least(grammar, |_, node| match node {
        Node::Regular(language) => grammar.languages().is_nullable(*language),
        _ => false,
    })
}

fn without_empty_rules(grammar: Grammar) -> Result<Grammar> {
    let nullable = nullable_nodes(&grammar);
    let Grammar { languages, nodes, sources, rules, holes, start } = grammar;
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
            | Node::Text(_)
            | Node::Names(_)
            | Node::Capture(..)
            | Node::Scope(..) => out.push(node.clone()),
            Node::Sequence(parts) => out.sequence(parts.iter().map(at)),
            Node::Choice(parts) => out.choice(parts.iter().map(at)),
            Node::Repeat { node, min, max } => {
                let min = if nullable[node.index()] { 0 } else { *min };
                out.repeat(without(node), min, *max)
            }
            Node::Call(rule) => {
                let call = out.call(*rule);
                match nullable[rules[rule.index()].body().index()] {
                    true => out.choice([call, epsilon]),
                    false => call,
                }
            }
        };
        full.push(whole);
        nonempty.push(if !nullable[i] {
            whole
        } else {
            match node {
                Node::Regular(language) => {
                    let language = nonempty_language(&mut out.languages, *language);
                    out.regular(language)
                }
                Node::Special(_)
                | Node::Hole(_)
                | Node::Text(_)
                | Node::Names(_)
                | Node::Capture(..)
                | Node::Scope(..) => whole,
                Node::Sequence(parts) => parts.iter().rev().fold(nothing, |rest_without, part| {
                    // `rest` in full is "nothing at all, or the rest without the empty string".
                    let rest = out.choice([rest_without, epsilon]);
                    let here = out.sequence([nonempty[part.index()], rest]);
                    out.choice([here, rest_without])
                }),
                Node::Choice(parts) => out.choice(parts.iter().map(without)),
                Node::Repeat { node, min, max } => {
                    let min = if nullable[node.index()] { 1 } else { (*min).max(1) };
                    out.repeat(without(node), min, *max)
                }
                Node::Call(rule) => out.call(*rule),
            }
        });
        if let Some(source) = &sources[i] {
            for id in first_new..out.nodes.len() {
                out.sources[id] = Some(source.clone());
            }
        }
    }
    for (i, rule) in rules.iter().enumerate() {
        out.define(RuleId(i as u32), nonempty[rule.body().index()]);
    }
    let body = rules[start.index()].body();
    let start = match nullable[body.index()] {
        true => {
            let call = out.call(start);
            let body = out.choice([call, epsilon]);
            out.rule("start", body)
        }
        false => start,
    };
    out.finish(start)
}

fn nonempty_language(languages: &mut Languages, language: Language) -> Language {
    languages.without_epsilon(language)
}

/// The rules that a node calls before it has read anything.
fn left_calls(grammar: &Grammar, nullable: &[bool], node: NodeId, calls: &mut Vec<RuleId>) {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        match grammar.node(node) {
            Node::Regular(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::Text(_)
            | Node::Names(_)
            | Node::Capture(..)
            | Node::Scope(..) => {}
            Node::Call(rule) => calls.push(*rule),
            Node::Choice(parts) => todo.extend_from_slice(parts),
            Node::Repeat { node, .. } => todo.push(*node),
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

/// Strongly connected components of a graph (Tarjan 1972, without recursion): the component of
/// each vertex.
fn components(edges: &[Vec<RuleId>]) -> Vec<u32> {
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

fn without_left_recursion(grammar: Grammar, limit: usize) -> Result<Grammar> {
    let nullable = nullable_nodes(&grammar);
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
    let component = components(&edges);
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
    let Grammar { languages, nodes, sources, rules, holes, start } = grammar;
    let mut corner = LeftCorner {
        out: GrammarBuilder {
            languages,
            nodes,
            sources,
            rules,
            holes,
            shortest_first: FxHashSet::default(),
        },
        nullable,
        component,
        here: 0,
        limit,
    };
    for group in recursive {
        corner.rewrite(&group)?;
    }
    corner.out.finish(start)
}

/// What is left of a node when its left edge is split off: ways that begin with a rule of the
/// component (and go on with a node), and all other ways.
#[derive(Default)]
struct Split {
    lefts: Vec<(RuleId, NodeId)>,
    others: Vec<NodeId>,
}

struct LeftCorner {
    out: GrammarBuilder,
    /// By node of `out`.
    nullable: Vec<bool>,
    component: Vec<u32>,
    /// The component that is being rewritten.
    here: u32,
    limit: usize,
}

impl LeftCorner {
    fn rewrite(&mut self, group: &[RuleId]) -> Result<()> {
        self.here = self.component[group[0].index()];
        let mut splits = Vec::new();
        for &rule in group {
            splits.push((rule, self.split(self.out.rules[rule.index()].body(), 0)?));
        }
        // X ⇒ C at no cost: `C → X γ` with γ nullable. Reflexive and transitive.
        let mut closure: FxHashMap<RuleId, Vec<RuleId>> = FxHashMap::default();
        for &rule in group {
            let mut reached = vec![rule];
            let mut next = 0;
            while let Some(&x) = reached.get(next) {
                next += 1;
                for (c, split) in &splits {
                    let free =
                        |&(left, rest): &(RuleId, NodeId)| left == x && self.nullable[rest.index()];
                    if split.lefts.iter().any(free) && !reached.contains(c) {
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
                    for &(left, rest) in &split.lefts {
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
        match closure[&x].contains(&a) {
            true => {
                let nothing = self.sequence([]);
                self.choice(vec![call, nothing])
            }
            false => call,
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        let nullable = match &node {
            Node::Regular(language) => self.out.languages.is_nullable(*language),
            Node::Sequence(parts) => parts.iter().all(|part| self.nullable[part.index()]),
            Node::Choice(parts) => parts.iter().any(|part| self.nullable[part.index()]),
            Node::Repeat { node, min, .. } => *min == 0 || self.nullable[node.index()],
            // No rule derives the empty string any more.
            Node::Call(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::Text(_)
            | Node::Names(_)
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

    fn nested(&self, depth: usize) -> Result<usize> {
        const DEPTH: usize = 1000;
        match depth < DEPTH && self.out.size() <= self.limit {
            true => Ok(depth + 1),
            false => Err(too_large(self.limit)),
        }
    }

    /// Does the left edge call a rule of the component?
    fn recurs(&self, node: NodeId) -> bool {
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
                | Node::Text(_)
                | Node::Names(_)
                | Node::Capture(..)
                | Node::Scope(..) => {}
                Node::Call(rule) => {
                    if self.component[rule.index()] == self.here {
                        return true;
                    }
                }
                Node::Choice(parts) => todo.extend_from_slice(parts),
                Node::Repeat { node, .. } => todo.push(*node),
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

    fn split(&mut self, node: NodeId, depth: usize) -> Result<Split> {
        let depth = self.nested(depth)?;
        if !self.recurs(node) {
            return Ok(Split { lefts: Vec::new(), others: vec![node] });
        }
        match self.out.nodes[node.index()].clone() {
            // A leaf does not recur.
            Node::Regular(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::Text(_)
            | Node::Names(_)
            | Node::Capture(..)
            | Node::Scope(..) => Ok(Split::default()),
            Node::Call(rule) => {
                let nothing = self.sequence([]);
                Ok(Split { lefts: vec![(rule, nothing)], others: Vec::new() })
            }
            Node::Choice(parts) => {
                let mut all = Split::default();
                for &part in &parts {
                    let split = self.split(part, depth)?;
                    all.lefts.extend(split.lefts);
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

    fn split_pair(&mut self, first: NodeId, rest: NodeId, depth: usize) -> Result<Split> {
        let split = self.split(first, depth)?;
        let mut all = Split::default();
        for (rule, more) in split.lefts {
            let more = self.sequence([more, rest]);
            all.lefts.push((rule, more));
        }
        let through = self.nullable[first.index()] && self.recurs(rest);
        for other in split.others {
            let other = if through { self.nonempty(other, depth)? } else { other };
            let way = self.sequence([other, rest]);
            all.others.push(way);
        }
        if through {
            let split = self.split(rest, depth)?;
            all.lefts.extend(split.lefts);
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
                let language = nonempty_language(&mut self.out.languages, language);
                self.push(Node::Regular(language))
            }
            // Neither is nullable.
            Node::Call(_)
            | Node::Special(_)
            | Node::Hole(_)
            | Node::Text(_)
            | Node::Names(_)
            | Node::Capture(..)
            | Node::Scope(..) => node,
            Node::Choice(parts) => {
                let parts =
                    parts.iter().map(|&p| self.nonempty(p, depth)).collect::<Result<Vec<_>>>()?;
                self.choice(parts)
            }
            Node::Repeat { node: part, min, max } => {
                // A part that is never empty, as `without_empty_rules` left it.
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
