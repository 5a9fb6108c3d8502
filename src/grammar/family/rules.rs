//! The rules of a family, written out when a text enters them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::facts::{FamilyFacts, Property, TerminalFacts};
use super::{FamilyLeaf, Instance, RuleFamily, too_many, visit};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::builder::GrammarBuilder;
use crate::grammar::form::{Grammar, Node, NodeId, Origin, RuleId};
use crate::grammar::hole::Hole;
use crate::grammar::normal::{components, normalize_or_return_languages};
use crate::regular::{Language, Languages, arena_copy};

/// The rules of a family that were made so far.
pub(crate) struct FamilyRules {
    family: Arc<dyn Hole>,
    facts: FamilyFacts,
    /// By hole of the template that is no leaf, the rule that fills it.
    filled: Vec<Option<RuleId>>,
    /// By rule of the template, the component of rules that call each other.
    component: Vec<u32>,
    /// Terminals of the template, in the arena of all rules.
    transferred: FxHashMap<Language, Language>,
    /// By instance that was called, its rule.
    ids: FxHashMap<Instance, RuleId>,
    /// By rule, the instance, until its body is made.
    instances: FxHashMap<RuleId, Instance>,
    /// By tab and width, the texts of blanks.
    blanks: FxHashMap<(u64, u64), Language>,
    limit: usize,
}

impl FamilyRules {
    /// The family of a hole, the holes of whose template are filled by these rules; its start.
    ///
    /// Errors if no text satisfies it.
    pub(crate) fn new(
        family: Arc<dyn Hole>,
        filled: Vec<Option<RuleId>>,
        builder: &mut GrammarBuilder,
        limit: usize,
    ) -> Result<(Self, RuleId)> {
        let Some(rules) = family.as_any().downcast_ref::<RuleFamily>() else {
            return Err(Error::new(ErrorKind::Grammar, "a part of the grammar has no rules"));
        };
        let template = &rules.template;
        let edges: Vec<Vec<RuleId>> = template
            .rules()
            .iter()
            .map(|rule| {
                let mut calls = Vec::new();
                visit(template, rule.body(), &mut |node| match node {
                    Node::Call(rule) => calls.push(*rule),
                    Node::Hole(hole) => {
                        if let Some(FamilyLeaf::Call(rule, _)) = rules.leaf(*hole) {
                            calls.push(*rule);
                        }
                    }
                    _ => {}
                });
                calls
            })
            .collect();
        let start = (template.start(), 0);
        let mut facts = FamilyFacts::new(rules, limit)?;
        if !facts.holds(rules, (start, Property::Text))? {
            return Err(Error::new(ErrorKind::Unsatisfiable, "no text satisfies the constraint")
                .with_help("look for parts that exclude each other"));
        }
        let component = components::strongly_connected(&edges);
        let mut this = Self {
            family,
            facts,
            filled,
            component,
            transferred: FxHashMap::default(),
            ids: FxHashMap::default(),
            instances: FxHashMap::default(),
            blanks: FxHashMap::default(),
            limit,
        };
        let start = this.rule(start, builder);
        Ok((this, start))
    }

    /// The rule of an instance that has texts.
    fn rule(&mut self, instance: Instance, builder: &mut GrammarBuilder) -> RuleId {
        if let Some(&known) = self.ids.get(&instance) {
            return known;
        }
        let family = self.family.as_any().downcast_ref::<RuleFamily>();
        let name = family.map_or("", |family| family.template.rule(instance.0).name());
        let rule = builder.declare_from(Origin::Text(name.into()));
        self.ids.insert(instance, rule);
        self.instances.insert(rule, instance);
        rule
    }

    /// The body of a rule.
    ///
    /// Errors at a limit.
    pub(crate) fn body(&mut self, rule: RuleId, builder: &mut GrammarBuilder) -> Result<NodeId> {
        let Some(&instance) = self.instances.get(&rule) else { return Ok(builder.body(rule)) };
        let family = Arc::clone(&self.family);
        // It was one in `new`.
        let Some(family) = family.as_any().downcast_ref::<RuleFamily>() else {
            return Ok(builder.body(rule));
        };
        let members = self.left_component(family, instance)?;
        let mut written = GrammarBuilder::new();
        std::mem::swap(written.languages(), builder.languages());
        for &(rule, _) in &members {
            written.declare(family.template.rule(rule).name());
        }
        let mut called = Vec::new();
        let mut result = Ok(());
        for (index, &(rule, value)) in members.iter().enumerate() {
            let body = family.template.rule(rule).body();
            let mut writer = InstanceWriter {
                rules: self,
                family,
                members: &members,
                written: &mut written,
                outside: &mut *builder,
                called: &mut called,
                value,
            };
            match writer.node(body) {
                Ok(body) => written.define(RuleId::new(index), body),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        if let Err(error) = result {
            std::mem::swap(written.languages(), builder.languages());
            return Err(error);
        }
        // The members are limited already.
        let written = written.finish_defined(RuleId::new(0));
        let mut written = match normalize_or_return_languages(written, usize::MAX) {
            Ok(written) => written,
            Err(failed) => {
                let (error, languages) = *failed;
                *builder.languages() = languages;
                return Err(error);
            }
        };
        written.prune(|language| language != Language::EMPTY);
        std::mem::swap(written.languages_mut(), builder.languages());
        self.adopt(&written, &members, &called, builder);
        Ok(builder.body(rule))
    }

    /// An instance, and those that it may call at its left edge and that may call it.
    fn left_component(&mut self, family: &RuleFamily, instance: Instance) -> Result<Vec<Instance>> {
        let component = self.component[instance.0.index()];
        let mut members = vec![instance];
        let mut at = 0;
        while let Some(&(rule, value)) = members.get(at) {
            at += 1;
            let mut calls = Vec::new();
            let body = family.template.rule(rule).body();
            self.left_calls(family, body, value, &mut calls)?;
            for call in calls {
                if self.component[call.0.index()] == component
                    && !members.contains(&call)
                    && self.facts.holds(family, (call, Property::Text))?
                {
                    members.push(call);
                    if members.len() > self.limit {
                        return Err(too_many(self.limit));
                    }
                }
            }
        }
        Ok(members)
    }

    /// Adds the instances that a node may call at its left edge; whether it may be empty.
    fn left_calls(
        &mut self,
        family: &RuleFamily,
        node: NodeId,
        value: u64,
        calls: &mut Vec<Instance>,
    ) -> Result<bool> {
        let template = &family.template;
        let call = match template.node(node) {
            Node::Call(rule) => Some(self.facts.instance(*rule, 0)),
            Node::Hole(hole) => match family.leaf(*hole) {
                Some(FamilyLeaf::Call(rule, function)) => {
                    Some(self.facts.instance(*rule, function.apply(value)))
                }
                Some(FamilyLeaf::If(condition)) => return Ok(condition.holds(value)),
                Some(FamilyLeaf::Blanks { less, .. }) => return Ok(value == *less),
                None => return Ok(false),
            },
            Node::Sequence(parts) => {
                for &part in parts {
                    if !self.left_calls(family, part, value, calls)? {
                        return Ok(false);
                    }
                }
                return Ok(true);
            }
            Node::Choice(parts) => {
                let mut is_empty = false;
                for &part in parts {
                    is_empty |= self.left_calls(family, part, value, calls)?;
                }
                return Ok(is_empty);
            }
            &Node::Repeat { node, min, .. } => {
                return Ok(self.left_calls(family, node, value, calls)? || min == 0);
            }
            &Node::Attributed { node, .. } => return self.left_calls(family, node, value, calls),
            Node::Regular(language) | Node::JsonString(language) => {
                return Ok(self.facts.terminals[language].has_empty);
            }
            Node::Special(_) | Node::KeyChoice(_) | Node::Capture(..) | Node::Scope(..) => {
                return Ok(false);
            }
        };
        let Some(call) = call else { return Ok(false) };
        calls.push(call);
        self.facts.holds(family, (call, Property::Empty))
    }

    /// Takes the rules of `written` over: the first ones are those of `members`.
    fn adopt(
        &mut self,
        written: &Grammar,
        members: &[Instance],
        called: &[RuleId],
        builder: &mut GrammarBuilder,
    ) {
        let ids: Vec<RuleId> = written
            .rules()
            .iter()
            .enumerate()
            .map(|(index, rule)| match members.get(index) {
                Some(&member) => self.rule(member, builder),
                None => builder.declare_from(Origin::Text(rule.name().into())),
            })
            .collect();
        let mut nodes: Vec<NodeId> = Vec::with_capacity(written.nodes().len());
        for (id, node) in written.nodes_with_ids() {
            let all = |parts: &[NodeId]| parts.iter().map(|part| nodes[part.index()]).collect();
            let copy = match node {
                Node::Sequence(parts) => Node::Sequence(all(parts)),
                Node::Choice(parts) => Node::Choice(all(parts)),
                &Node::Repeat { node, min, max } => {
                    Node::Repeat { node: nodes[node.index()], min, max }
                }
                Node::Attributed { node, attribute } => Node::Attributed {
                    node: nodes[node.index()],
                    attribute: attribute.with_nodes(|node| nodes[node.index()]),
                },
                Node::Call(rule) => Node::Call(ids[rule.index()]),
                Node::Hole(hole) => Node::Call(called[*hole as usize]),
                other => other.clone(),
            };
            let copy = builder.add(copy);
            if let Some(origin) = written.origin(id) {
                builder.mark_from(copy, origin.clone());
            }
            nodes.push(copy);
        }
        for (index, rule) in written.rules().iter().enumerate() {
            // A member whose body was made before keeps it.
            if members.get(index).is_none() || self.instances.remove(&ids[index]).is_some() {
                builder.define(ids[index], nodes[rule.body().index()]);
            }
        }
    }
}

/// Writes the body of an instance out.
struct InstanceWriter<'w> {
    rules: &'w mut FamilyRules,
    family: &'w RuleFamily,
    /// The instances of the rules of `written`.
    members: &'w [Instance],
    written: &'w mut GrammarBuilder,
    /// The builder of all rules.
    outside: &'w mut GrammarBuilder,
    /// The rules that the holes of `written` call.
    called: &'w mut Vec<RuleId>,
    value: u64,
}

impl InstanceWriter<'_> {
    fn node(&mut self, id: NodeId) -> Result<NodeId> {
        let family = self.family;
        let template = &family.template;
        let node = match template.node(id) {
            Node::Regular(language) => {
                let language = match self.rules.facts.terminals[language] {
                    TerminalFacts { has_text: true, .. } => self.transferred(*language)?,
                    TerminalFacts { has_empty: true, .. } => Language::EPSILON,
                    TerminalFacts { .. } => Language::EMPTY,
                };
                self.written.regular(language)
            }
            Node::JsonString(language) => {
                let language = self.transferred(*language)?;
                self.written.add(Node::JsonString(language))
            }
            Node::Sequence(parts) => {
                let parts = self.all(parts)?;
                self.written.sequence(parts)
            }
            Node::Choice(parts) => {
                let parts = self.all(parts)?;
                self.written.choice(parts)
            }
            &Node::Repeat { node, min, max } => {
                let node = self.node(node)?;
                self.written.repeat(node, min, max)
            }
            Node::Attributed { node, attribute } => {
                let node = self.node(*node)?;
                // Captures are refused in families, so no attribute refers to another node.
                self.written.attributed(node, attribute.clone())
            }
            Node::Call(rule) => self.call(*rule, 0)?,
            Node::Hole(hole) => match family.leaf(*hole) {
                Some(FamilyLeaf::Call(rule, function)) => {
                    self.call(*rule, function.apply(self.value))?
                }
                Some(FamilyLeaf::If(condition)) => {
                    if condition.holds(self.value) {
                        self.written.empty()
                    } else {
                        self.written.choice([])
                    }
                }
                Some(&FamilyLeaf::Blanks { tab, less }) => {
                    let language = match self.value.checked_sub(less) {
                        Some(width) => self.rules.blanks(tab, width, self.written.languages()),
                        None => Language::EMPTY,
                    };
                    self.written.regular(language)
                }
                None => match self.rules.filled[*hole as usize] {
                    Some(rule) => self.hole(rule),
                    None => self.written.choice([]),
                },
            },
            other @ (Node::Special(_)
            | Node::KeyChoice(_)
            | Node::Capture(..)
            | Node::Scope(..)) => self.written.add(other.clone()),
        };
        if let Some(origin) = template.origin(id) {
            self.written.mark_from(node, origin.clone());
        }
        Ok(node)
    }

    fn all(&mut self, parts: &[NodeId]) -> Result<Vec<NodeId>> {
        parts.iter().map(|&part| self.node(part)).collect()
    }

    fn transferred(&mut self, language: Language) -> Result<Language> {
        let from = self.family.template.languages();
        let transferred = &mut self.rules.transferred;
        arena_copy::copy(from, language, self.written.languages(), transferred)
    }

    /// A call of a rule that is made elsewhere.
    fn hole(&mut self, rule: RuleId) -> NodeId {
        let hole = self.called.len() as u32;
        self.called.push(rule);
        self.written.add(Node::Hole(hole))
    }

    /// A call of an instance, without what it cannot be.
    fn call(&mut self, rule: RuleId, value: u64) -> Result<NodeId> {
        let instance = self.rules.facts.instance(rule, value);
        if let Some(member) = self.members.iter().position(|&member| member == instance) {
            return Ok(self.written.call(RuleId::new(member)));
        }
        let mut parts = Vec::new();
        if self.rules.facts.holds(self.family, (instance, Property::Text))? {
            let rule = self.rules.rule(instance, self.outside);
            parts.push(self.hole(rule));
        }
        if self.rules.facts.holds(self.family, (instance, Property::Empty))? {
            parts.push(self.written.empty());
        }
        Ok(self.written.choice(parts))
    }
}

impl FamilyRules {
    /// The texts of blanks that make up so many columns.
    fn blanks(&mut self, tab: u64, width: u64, languages: &mut Languages) -> Language {
        let (space, tabulator) = (languages.literal(b" "), languages.literal(b"\t"));
        for column in 0..=width {
            if self.blanks.contains_key(&(tab, column)) {
                continue;
            }
            let mut parts = Vec::new();
            if column == 0 {
                parts.push(Language::EPSILON);
            }
            if let Some(&before) = column.checked_sub(1).and_then(|c| self.blanks.get(&(tab, c))) {
                parts.push(languages.concat([space, before]));
            }
            if let Some(&before) = column.checked_sub(tab).and_then(|c| self.blanks.get(&(tab, c)))
            {
                parts.push(languages.concat([tabulator, before]));
            }
            let language = languages.union(parts);
            self.blanks.insert((tab, column), language);
        }
        self.blanks[&(tab, width)]
    }
}
