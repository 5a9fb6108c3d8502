//! One grammar inside another.

use rustc_hash::FxHashMap;

use super::{Grammar, GrammarBuilder, Node, NodeId, RuleId};
use crate::error::Result;

impl GrammarBuilder {
    /// Copies a finished grammar into this one; the rule whose language it is. Its rules keep their
    /// names and sources. Linear in its size.
    ///
    /// Errors if its terminals exceed the limit of states.
    pub fn embed(&mut self, grammar: &Grammar) -> Result<RuleId> {
        let mut moved = FxHashMap::default();
        let first_rule = self.rules.len() as u32;
        let rule = |id: RuleId| RuleId(first_rule + id.0);
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
                    Node::Regular(from.transfer(*language, &mut self.languages, &mut moved)?)
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
            self.define(RuleId(first_rule + i as u32), node(known.body()));
        }
        Ok(rule(grammar.start()))
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
