//! [`RuleFamily`]: a grammar whose rules have a parameter of 64 bits, made value by value while a text
//! is read.
//!
//! A rule with a parameter means what it would mean if it were written out for each value. Thirty
//! items in any order, each once, are a rule with 2³⁰ values; a text enters thirty of them.
//!
//! ```text
//! items::_: "a" items::set_bit(0) %if bit_clear(0)        items(0): "a" items(1) | "b" items(2)
//!         | "b" items::set_bit(1) %if bit_clear(1)    →   items(1): "b" items(3)
//!         | ""                    %if is_ones([0:2])      items(3): ε
//! ```
//!
//! The *template* is a grammar in which a [`FamilyLeaf`] stands for what depends on the parameter. An
//! *instance* is a rule of it with a value. When a text enters an instance, its body is written out,
//! without alternatives that no text can complete, and brought into normal form together with the
//! instances that it may call at its left edge. Whether an instance has texts is a least fixed point
//! over instances, searched depth first from the one in question: the first completion that is found
//! is enough, so what is explored is about as long as a text, not as large as the family.

mod facts;
mod rules;

use std::any::Any;
use std::sync::Arc;

use super::builder::GrammarBuilder;
use super::form::{Grammar, Node, NodeId, RuleId};
use super::hole::Hole;
use super::parameter::{ParameterCondition, ParameterFunction};
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::regular::{Language, Languages};
use facts::{FamilyFacts, Property};
pub(crate) use rules::FamilyRules;

/// A part of a template that depends on the parameter.
#[derive(Clone, Debug)]
pub(crate) enum FamilyLeaf {
    /// A call of a rule with a parameter that is a function of the caller's.
    Call(RuleId, ParameterFunction),
    /// The empty string if the parameter satisfies a condition, else nothing.
    If(ParameterCondition),
    /// Spaces and tabs that make up as many columns as the parameter says, less so many.
    Blanks {
        /// The columns of a tab.
        tab: u64,
        /// The columns to leave out; there is no such text if they are more than the parameter.
        less: u64,
    },
}

/// The error of a family where a regular language is needed.
fn not_regular() -> Error {
    Error::new(ErrorKind::Grammar, "has rules with a parameter")
}

impl Hole for FamilyLeaf {
    fn language(&self, _: &mut Languages) -> Result<Language> {
        Err(not_regular())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Rules with a parameter, as a part of a grammar that is filled in while a text is read.
#[derive(Clone, Debug)]
pub(crate) struct RuleFamily {
    /// The rules; the holes are [`FamilyLeaf`]s and whatever other holes the grammar has.
    template: Grammar,
}

impl Hole for RuleFamily {
    fn language(&self, _: &mut Languages) -> Result<Language> {
        Err(not_regular())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A rule of a template, with its parameter; 0 for one that does not depend on it.
pub(crate) type Instance = (RuleId, u64);

impl RuleFamily {
    /// The grammar of a template, whose start has the parameter 0.
    ///
    /// Errors if the search for a text exceeds `limit` instances.
    pub(crate) fn grammar(template: Grammar, limit: usize) -> Result<Grammar> {
        let family = Self { template };
        let mut facts = FamilyFacts::new(&family, limit)?;
        let start = (family.template.start(), 0);
        let has_text = facts.holds(&family, (start, Property::Text))?;
        let has_empty = facts.holds(&family, (start, Property::Empty))?;
        let mut builder = GrammarBuilder::new();
        let mut parts = Vec::new();
        if has_text {
            parts.push(builder.hole(Arc::new(family)));
        }
        if has_empty {
            parts.push(builder.empty());
        }
        let body = builder.choice(parts);
        let start = builder.rule("start", body);
        builder.finish(start)
    }

    /// The holes of the template.
    pub(crate) fn holes(&self) -> &[Arc<dyn Hole>] {
        self.template.holes()
    }

    /// The same with a change of its template.
    pub(crate) fn with_template(
        &self,
        change: impl FnOnce(Grammar) -> Result<Grammar>,
    ) -> Result<Self> {
        Ok(Self { template: change(self.template.clone())? })
    }

    fn leaf(&self, hole: u32) -> Option<&FamilyLeaf> {
        self.template.holes()[hole as usize].as_any().downcast_ref()
    }
}

/// Shows all nodes below a node to `see`, the node included; calls are not followed.
fn visit(grammar: &Grammar, node: NodeId, see: &mut impl FnMut(&Node)) {
    let mut todo = vec![node];
    while let Some(id) = todo.pop() {
        let node = grammar.node(id);
        see(node);
        match node {
            Node::Sequence(parts) | Node::Choice(parts) => todo.extend(parts.iter()),
            Node::Repeat { node, .. } | Node::Attributed { node, .. } => todo.push(*node),
            _ => {}
        }
    }
}

fn too_many(limit: usize) -> Error {
    Error::new(
        ErrorKind::Limit,
        format!("more than {limit} rules with their parameters are searched"),
    )
    .with_help("use fewer values, or raise the limit `grammar_size`")
    .with_limit(LimitName::GrammarSize)
}
