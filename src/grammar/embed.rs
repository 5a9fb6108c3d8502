//! One grammar inside another.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::analysis::least_fixed_point;
use super::builder::GrammarBuilder;
use super::family::RuleFamily;
use super::form::{Attribute, Grammar, Node, NodeId, RuleId, TokenSet};
use crate::error::Result;
use crate::regular::{ByteSet, Language, arena_copy};

impl GrammarBuilder {
    /// Copies a finished grammar into this one; the rule whose language it is. Its rules keep their
    /// names and sources. Linear in its size.
    ///
    /// Errors if its terminals exceed the limit of states.
    pub fn embed(&mut self, grammar: &Grammar) -> Result<RuleId> {
        let first_rule = self.rules.len();
        self.copy(grammar)?;
        Ok(grammar.start.after(first_rule))
    }

    fn copy(&mut self, grammar: &Grammar) -> Result<()> {
        let mut moved = FxHashMap::default();
        let first_rule = self.rules.len();
        let rule = |id: RuleId| id.after(first_rule);
        for known in grammar.rules() {
            self.declare(known.name());
        }
        let first_hole = self.holes.len() as u32;
        self.holes.extend(grammar.holes.iter().cloned());
        let first_node = self.nodes.len() as u32;
        let node = |id: NodeId| NodeId(first_node + id.0);
        let all = |ids: &[NodeId]| ids.iter().map(|&id| node(id)).collect::<Box<[NodeId]>>();
        for (id, known) in grammar.nodes_with_ids() {
            let copy = match known {
                Node::Regular(language) => {
                    let from = grammar.languages();
                    Node::Regular(arena_copy::copy(
                        from,
                        *language,
                        &mut self.languages,
                        &mut moved,
                    )?)
                }
                Node::Sequence(parts) => Node::Sequence(all(parts)),
                Node::Choice(parts) => Node::Choice(all(parts)),
                &Node::Repeat { node: part, min, max } => {
                    Node::Repeat { node: node(part), min, max }
                }
                Node::Attributed { node: part, attribute } => {
                    Node::Attributed { node: node(*part), attribute: attribute.with_nodes(node) }
                }
                Node::Call(callee) => Node::Call(rule(*callee)),
                Node::Hole(hole) => Node::Hole(first_hole + hole),
                // `Special` holds no ids, so it is copied as it is. The other kinds occur only in
                // grammars of a source, which are never embedded.
                Node::Special(_)
                | Node::JsonString(_)
                | Node::KeyChoice(_)
                | Node::Capture(..)
                | Node::Scope(..) => known.clone(),
            };
            let copy = self.push(copy);
            if let Some(source) = grammar.source(id) {
                self.mark(copy, source);
            }
        }
        for (i, known) in grammar.rules().iter().enumerate() {
            self.define(RuleId(i as u32).after(first_rule), node(known.body()));
        }
        Ok(())
    }
}

impl GrammarBuilder {
    /// Puts calls of rules in the place of holes.
    pub(crate) fn fill_holes(&mut self, rules: &[RuleId]) {
        for node in &mut self.nodes {
            if let Node::Hole(hole) = *node {
                *node = Node::Call(rules[hole as usize]);
            }
        }
    }
}

impl Grammar {
    /// Whether a part of it is captured.
    pub(crate) fn has_captures(&self) -> bool {
        self.nodes.iter().any(Node::is_capture)
    }

    /// The same grammar without attributes that only affect captures.
    pub(crate) fn without_captures(mut self) -> Self {
        for node in &mut self.nodes {
            if let Node::Attributed { node: part, attribute } = node
                && attribute.affects_captures_only()
            {
                *node = Node::Sequence([*part].into());
            }
        }
        self
    }

    /// The same grammar without bounds of tokens.
    pub(crate) fn without_token_budgets(mut self) -> Result<Self> {
        for node in &mut self.nodes {
            if let Node::Attributed { node: part, attribute: Attribute::MaxTokens(_) } = node {
                *node = Node::Sequence([*part].into());
            }
        }
        self.change_families(Self::without_token_budgets)?;
        Ok(self)
    }

    /// Takes out what no text can satisfy, if texts are made of these bytes: alternatives, and
    /// repeats that may be skipped. False if no text satisfies the grammar.
    ///
    /// Errors if it takes too long to find out whether a terminal has strings.
    pub(crate) fn remove_dead_parts(&mut self, bytes: ByteSet) -> Result<bool> {
        let one = self.languages.byte_set(bytes);
        let text = self.languages.repeat(one, 0, None);
        let mut is_live: FxHashMap<Language, bool> = FxHashMap::default();
        for node in &mut self.nodes {
            if let Node::Regular(language) = node {
                if bytes != ByteSet::ALL {
                    *language = self.languages.intersect([*language, text]);
                }
                if !is_live.contains_key(language) {
                    is_live.insert(*language, self.languages.is_live(*language)?);
                }
            }
        }
        self.change_families(|template| {
            let mut template = template;
            template.remove_dead_parts(bytes)?;
            Ok(template)
        })?;
        let productive = self.prune(|language| is_live[&language]);
        Ok(productive[self.rule(self.start).body().index()])
    }

    /// Takes out the parts of choices and the repeats that have no text, given which terminals have
    /// some; by node, whether it has.
    pub(super) fn prune(&mut self, is_live: impl Fn(Language) -> bool) -> Vec<bool> {
        let productive = least_fixed_point(self, |_, node| match node {
            Node::Regular(language) => is_live(*language),
            _ => true,
        });
        for node in &mut self.nodes {
            match node {
                Node::Choice(parts) => {
                    *parts =
                        parts.iter().copied().filter(|part| productive[part.index()]).collect();
                }
                Node::Repeat { node: part, .. } if !productive[part.index()] => {
                    *node = Node::Sequence(Box::default());
                }
                _ => {}
            }
        }
        productive
    }

    /// Changes the templates of its rules with a parameter.
    fn change_families(&mut self, change: impl Fn(Self) -> Result<Self> + Copy) -> Result<()> {
        for hole in &mut self.holes {
            if let Some(family) = hole.as_any().downcast_ref::<RuleFamily>() {
                *hole = Arc::new(family.with_template(change)?);
            }
        }
        Ok(())
    }

    /// Text of this grammar, then text of another.
    pub(crate) fn then(&self, next: &Self) -> Result<Self> {
        let mut builder = GrammarBuilder::new();
        let (first, next) = (builder.embed(self)?, builder.embed(next)?);
        let (first, next) = (builder.call(first), builder.call(next));
        let body = builder.sequence([first, next]);
        let start = builder.rule("start", body);
        builder.finish(start)
    }

    /// The same with each set of tokens replaced.
    pub(crate) fn with_token_sets(
        mut self,
        replace: impl Fn(&TokenSet) -> Result<TokenSet>,
    ) -> Result<Self> {
        self.replace_token_sets(&replace)?;
        Ok(self)
    }

    fn replace_token_sets(
        &mut self,
        replace: &dyn Fn(&TokenSet) -> Result<TokenSet>,
    ) -> Result<()> {
        for node in &mut self.nodes {
            if let Node::Special(tokens) = node {
                *tokens = replace(tokens)?;
            }
        }
        self.change_families(|mut template| {
            template.replace_token_sets(replace)?;
            Ok(template)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedded_grammar_keeps_its_language() {
        let mut inner = GrammarBuilder::new();
        let list = inner.declare("list");
        let (a, call) = (inner.literal(b"a"), inner.call(list));
        let more = inner.sequence([a, call]);
        let end = inner.literal(b"b");
        let body = inner.choice([more, end]);
        inner.define(list, body);
        let inner = inner.finish(list).unwrap();

        let mut outer = GrammarBuilder::new();
        let open = outer.literal(b"<");
        let list = outer.embed(&inner).unwrap();
        let call = outer.call(list);
        let body = outer.sequence([open, call]);
        let start = outer.rule("start", body);
        let outer = outer.finish(start).unwrap();
        assert_eq!(outer.rules().len(), 2);
        assert_eq!(outer.rule(list).name(), "list");
        let Node::Choice(parts) = outer.node(outer.rule(list).body()) else { panic!() };
        let Node::Regular(end) = outer.node(parts[1]) else { panic!() };
        assert!(outer.languages().clone().matches(*end, b"b").unwrap());
    }
}
