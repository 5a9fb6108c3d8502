//! One grammar inside another.

use rustc_hash::FxHashMap;

use super::builder::GrammarBuilder;
use super::form::{Grammar, Node, NodeId, RuleId, SpecialToken};
use crate::error::{Error, ErrorKind, Result};
use crate::regular::transfer;

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

    /// The same; says which rule here is which there.
    pub(crate) fn embed_rules(
        &mut self,
        grammar: &Grammar,
    ) -> Result<impl Fn(RuleId) -> RuleId + use<>> {
        let first_rule = self.rules.len();
        self.copy(grammar)?;
        Ok(move |id: RuleId| id.after(first_rule))
    }

    fn copy(&mut self, grammar: &Grammar) -> Result<()> {
        let mut moved = FxHashMap::default();
        let first_rule = self.rules.len();
        let rule = |id: RuleId| id.after(first_rule);
        for known in grammar.rules() {
            self.declare(known.name());
        }
        let first_node = self.nodes.len() as u32;
        let node = |id: NodeId| NodeId(first_node + id.0);
        let all = |ids: &[NodeId]| ids.iter().map(|&id| node(id)).collect::<Box<[NodeId]>>();
        for (id, known) in grammar.nodes_with_ids() {
            let copy = match known {
                Node::Regular(language) => {
                    let from = grammar.languages();
                    Node::Regular(transfer::transfer(
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
                Node::Call(callee) => Node::Call(rule(*callee)),
                // The others occur in no grammar that is whole.
                Node::Special(_)
                | Node::Text(_)
                | Node::Names(_)
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

impl Grammar {
    /// Text of this grammar, then text of another.
    pub(crate) fn then(&self, next: &Self) -> Result<Self> {
        let mut builder = GrammarBuilder::new();
        let (first, next) = (builder.embed(self)?, builder.embed(next)?);
        let (first, next) = (builder.call(first), builder.call(next));
        let body = builder.sequence([first, next]);
        let start = builder.rule("start", body);
        builder.finish(start)
    }

    /// The same with special tokens by their ids.
    pub(crate) fn resolved(&self, find: impl Fn(&SpecialToken) -> Result<u32>) -> Result<Self> {
        let mut grammar = self.clone();
        for node in &mut grammar.nodes {
            if let Node::Special(token) = node {
                *token = SpecialToken::Id(find(token)?);
            }
        }
        Ok(grammar)
    }

    /// Errors unless it can stand before rules that are made as they are read: those are in normal
    /// form, so it must hold no empty text and no recursion.
    pub(crate) fn check_prefix(&self) -> Result<()> {
        let bad = |message: &str| {
            Err(Error::new(ErrorKind::Grammar, message)
                .with_help("write a prefix that is never empty and does not call itself"))
        };
        // Rules are unknown, being looked at, or known.
        let mut state = vec![None; self.rules.len()];
        match self.nullable_rule(self.start, &mut state) {
            None => bad("the prefix calls itself"),
            Some(_) if state.contains(&Some(Some(true))) => {
                bad("a rule of the prefix may be empty")
            }
            Some(_) => Ok(()),
        }
    }

    /// May a rule be empty? `None` if it calls itself.
    fn nullable_rule(&self, rule: RuleId, state: &mut [Option<Option<bool>>]) -> Option<bool> {
        match state[rule.index()] {
            Some(known) => known,
            None => {
                state[rule.index()] = Some(None);
                let nullable = self.nullable_node(self.rule(rule).body(), state);
                state[rule.index()] = Some(nullable);
                nullable
            }
        }
    }

    fn nullable_node(&self, id: NodeId, state: &mut [Option<Option<bool>>]) -> Option<bool> {
        Some(match self.node(id) {
            Node::Regular(language) | Node::Text(language) => self.languages.is_nullable(*language),
            Node::Sequence(parts) => {
                let mut all = true;
                for &part in parts {
                    all &= self.nullable_node(part, state)?;
                }
                all
            }
            Node::Choice(parts) => {
                let mut any = false;
                for &part in parts {
                    any |= self.nullable_node(part, state)?;
                }
                any
            }
            &Node::Repeat { node, min, .. } => self.nullable_node(node, state)? || min == 0,
            &Node::Call(rule) => self.nullable_rule(rule, state)?,
            Node::Special(_) | Node::Names(_) | Node::Capture(..) => false,
            &Node::Scope(node, _) => self.nullable_node(node, state)?,
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
