//! Whether an instance of a family has texts: a least fixed point, searched from the instance in question.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FamilyLeaf, Instance, RuleFamily, too_many, visit};
use crate::deadline;
use crate::error::Result;
use crate::grammar::form::{Node, NodeId, RuleId, TokenSet};
use crate::regular::Language;

/// A property of an instance or node, closed upwards: a least fixed point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Property {
    /// It has the empty string.
    Empty,
    /// It has a text, empty or not.
    Any,
    /// It has a text that is not empty.
    Text,
}

pub(super) type Goal = (Instance, Property);

/// Properties of terminals.
#[derive(Clone, Copy)]
pub(super) struct TerminalFacts {
    pub(super) has_empty: bool,
    pub(super) has_text: bool,
}

/// Properties of the instances of a family, as far as they were asked for.
pub(super) struct FamilyFacts {
    /// By rule of the template, whether it depends on the parameter.
    depends: Vec<bool>,
    pub(super) terminals: FxHashMap<Language, TerminalFacts>,
    known: FxHashMap<Goal, bool>,
    limit: usize,
}

impl FamilyFacts {
    /// Nothing known but of terminals.
    ///
    /// Errors as languages do.
    pub(super) fn new(family: &RuleFamily, limit: usize) -> Result<Self> {
        let template = &family.template;
        let mut languages = template.languages().clone();
        let mut terminals = FxHashMap::default();
        for node in template.nodes() {
            if let Node::Regular(language) | Node::JsonString(language) = node
                && !terminals.contains_key(language)
            {
                let has_empty = languages.is_nullable(*language);
                let text = languages.without_epsilon(*language);
                let has_text = languages.is_live(text)?;
                terminals.insert(*language, TerminalFacts { has_empty, has_text });
            }
        }
        let depends = template.rules().iter().map(|rule| {
            let mut depends = false;
            visit(template, rule.body(), &mut |node| {
                depends |= match node {
                    Node::Hole(hole) => match family.leaf(*hole) {
                        Some(FamilyLeaf::Call(_, function)) => !function.is_constant(),
                        Some(FamilyLeaf::If(_) | FamilyLeaf::Blanks { .. }) => true,
                        None => false,
                    },
                    _ => false,
                };
            });
            depends
        });
        let depends = depends.collect();
        Ok(Self { depends, terminals, known: FxHashMap::default(), limit })
    }

    /// The instance of a rule with a value.
    pub(super) fn instance(&self, rule: RuleId, value: u64) -> Instance {
        (rule, if self.depends[rule.index()] { value } else { 0 })
    }

    /// Whether an instance has a property.
    ///
    /// Errors if more than the limit of instances would have to be looked at.
    pub(super) fn holds(&mut self, family: &RuleFamily, goal: Goal) -> Result<bool> {
        if let Some(&known) = self.known.get(&goal) {
            return Ok(known);
        }
        let mut visited: FxHashSet<Goal> = FxHashSet::default();
        // By goal, those that it may make true.
        let mut dependents: FxHashMap<Goal, Vec<Goal>> = FxHashMap::default();
        let mut todo = vec![goal];
        while let Some(next) = todo.pop() {
            if self.known.contains_key(&next) || !visited.insert(next) {
                continue;
            }
            if visited.len() > self.limit {
                return Err(too_many(self.limit));
            }
            deadline::check()?;
            // Goals that became true, and those that may follow from them.
            let mut again = vec![next];
            while let Some(at) = again.pop() {
                if self.known.contains_key(&at) {
                    continue;
                }
                let mut missing = Vec::new();
                let ((rule, value), property) = at;
                let body = family.template.rule(rule).body();
                if self.is_shown(family, body, value, property, &mut missing) {
                    self.known.insert(at, true);
                    again.extend(dependents.remove(&at).unwrap_or_default());
                    continue;
                }
                // The first one is looked at first.
                for &goal in missing.iter().rev() {
                    dependents.entry(goal).or_default().push(at);
                    todo.push(goal);
                }
            }
            if self.known.contains_key(&goal) {
                return Ok(true);
            }
        }
        // Everything that the goal may follow from was looked at.
        self.known.extend(
            visited
                .into_iter()
                .map(|goal| (goal, false))
                .filter(|(goal, _)| !self.known.contains_key(goal))
                .collect::<Vec<_>>(),
        );
        Ok(self.known.get(&goal).copied().unwrap_or(false))
    }

    /// Whether what is known shows that a node has a property; if not, `missing` gets goals one of
    /// which must be true first.
    fn is_shown(
        &self,
        family: &RuleFamily,
        node: NodeId,
        value: u64,
        property: Property,
        missing: &mut Vec<Goal>,
    ) -> bool {
        let template = &family.template;
        let mut goal = |rule: RuleId, value: u64| {
            let goal = (self.instance(rule, value), property);
            let known = self.known.get(&goal).copied();
            if known.is_none() {
                missing.push(goal);
            }
            known.unwrap_or(false)
        };
        match template.node(node) {
            Node::Regular(language) | Node::JsonString(language) => {
                let TerminalFacts { has_empty, has_text } = self.terminals[language];
                match property {
                    Property::Empty => has_empty,
                    Property::Any => has_empty || has_text,
                    Property::Text => has_text,
                }
            }
            Node::Special(TokenSet::OneOf(tokens)) if tokens.is_empty() => false,
            Node::Special(_) | Node::KeyChoice(_) | Node::Capture(..) | Node::Scope(..) => {
                property != Property::Empty
            }
            Node::Hole(hole) => match family.leaf(*hole) {
                Some(FamilyLeaf::Call(rule, function)) => goal(*rule, function.apply(value)),
                Some(FamilyLeaf::If(condition)) => {
                    property != Property::Text && condition.holds(value)
                }
                Some(FamilyLeaf::Blanks { less, .. }) => match property {
                    Property::Empty => value == *less,
                    Property::Any => value >= *less,
                    Property::Text => value > *less,
                },
                None => property != Property::Empty,
            },
            Node::Call(rule) => goal(*rule, 0),
            &Node::Attributed { node, .. } => self.is_shown(family, node, value, property, missing),
            &Node::Repeat { node, min, .. } => {
                property != Property::Text && min == 0
                    || self.is_shown(family, node, value, property, missing)
            }
            Node::Choice(parts) => {
                parts.iter().any(|&part| self.is_shown(family, part, value, property, missing))
            }
            Node::Sequence(parts) => {
                let of_each = if property == Property::Text { Property::Any } else { property };
                let all =
                    parts.iter().all(|&part| self.is_shown(family, part, value, of_each, missing));
                all && (property != Property::Text
                    || parts
                        .iter()
                        .any(|&part| self.is_shown(family, part, value, property, missing)))
            }
        }
    }
}
