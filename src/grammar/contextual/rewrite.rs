//! Writes the rewritten grammar, once all outcomes are known.
//!
//! Each rule is copied for the states that it is entered in (its [`RuleEntry`]) and for the state
//! that its texts lead to (its *target*), since what follows a call depends on that state. A node
//! is written for one target at a time; a sequence becomes the choice over all states between its
//! parts.

use rustc_hash::FxHashMap;

use super::limits::{MAX_COPIES, made_on_demand, too_many_cases};
use super::outcomes::Outcomes;
use super::repeats::Unrolling;
use super::state::{LazySetId, LoopEntry, ParseState, RuleEntry};
use crate::deadline;
use crate::error::Result;
use crate::grammar::builder::GrammarBuilder;
use crate::grammar::form::{Grammar, Node, NodeId, Origin, RuleId};
use crate::regular::Language;

/// The state that a text leads to; `None` where nothing follows, so that any state will do.
type TargetState = Option<ParseState>;

/// A rule of the rewritten grammar, by the part of the original that it copies.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum RuleCopy {
    /// A rule as it is.
    Whole(RuleId),
    /// The non-empty texts of a rule that lead to a target.
    Entry(RuleEntry, TargetState),
    /// The texts of a loop that lead to a target.
    Loop(LoopEntry, TargetState),
}

/// A sequence that is written part by part.
struct SequenceCopy<'a> {
    parts: &'a [NodeId],
    follow: LazySetId,
    target: TargetState,
    /// By part, state before it, and whether something was read: the rest of the sequence.
    rests: FxHashMap<(usize, ParseState, bool), Option<Vec<NodeId>>>,
}

/// A repeat that is written iteration by iteration.
struct RepeatCopy {
    node: NodeId,
    unrolling: Unrolling,
    follow: LazySetId,
    target: TargetState,
    /// By iteration number and state before it: this iteration and those after it.
    rests: FxHashMap<(u32, ParseState), Option<NodeId>>,
}

/// Writes the copies that the start rule reaches.
pub(super) fn rewrite(outcomes: Outcomes) -> Result<Grammar> {
    let rule_name = outcomes.grammar.rules[outcomes.grammar.start.index()].name.clone();
    let rewriter = Rewriter {
        outcomes,
        builder: GrammarBuilder::new(),
        untouched: FxHashMap::default(),
        rules: FxHashMap::default(),
        todo: Vec::new(),
        rule_name,
    };
    rewriter.grammar()
}

struct Rewriter {
    outcomes: Outcomes,
    builder: GrammarBuilder,
    /// Copies of nodes that are the same in every state.
    untouched: FxHashMap<NodeId, NodeId>,
    rules: FxHashMap<RuleCopy, RuleId>,
    /// Rules that are declared and have no body yet.
    todo: Vec<(RuleCopy, RuleId)>,
    /// The name of the rule that is being written.
    rule_name: Origin,
}

impl Rewriter {
    fn grammar(mut self) -> Result<Grammar> {
        let start = self.outcomes.start();
        let rule = self.rule(RuleCopy::Entry(start, None));
        while let Some((copy, rule)) = self.todo.pop() {
            deadline::check()?;
            if self.todo.len() > MAX_COPIES {
                return Err(too_many_cases());
            }
            let body = self.body(copy)?;
            let body = body.unwrap_or_else(|| self.builder.choice([]));
            self.builder.define(rule, body);
        }
        let body = self.outcomes.grammar.rule(start.rule).body();
        let rule = if self.outcomes.is_nullable(body) {
            let name = self.name_of(start.rule);
            let (text, empty) = (self.builder.call(rule), self.builder.empty());
            let body = self.builder.choice([text, empty]);
            let whole = self.builder.declare_from(name);
            self.builder.define(whole, body);
            whole
        } else {
            rule
        };
        self.builder.holes = std::mem::take(&mut self.outcomes.grammar.holes);
        self.builder.languages = std::mem::take(&mut self.outcomes.grammar.languages);
        self.builder.finish(rule)
    }

    fn name_of(&self, rule: RuleId) -> Origin {
        self.outcomes.grammar.rules[rule.index()].name.clone()
    }

    /// The rule of a copy, declared if it is new.
    fn rule(&mut self, copy: RuleCopy) -> RuleId {
        if let Some(&rule) = self.rules.get(&copy) {
            return rule;
        }
        let name = match copy {
            RuleCopy::Whole(rule) | RuleCopy::Entry(RuleEntry { rule, .. }, _) => {
                self.name_of(rule)
            }
            RuleCopy::Loop(..) => self.rule_name.clone(),
        };
        let rule = self.builder.declare_from(name);
        self.rules.insert(copy, rule);
        self.todo.push((copy, rule));
        rule
    }

    fn body(&mut self, copy: RuleCopy) -> Result<Option<NodeId>> {
        match copy {
            RuleCopy::Whole(rule) => {
                self.rule_name = self.name_of(rule);
                let body = self.outcomes.grammar.rule(rule).body();
                Ok(Some(self.copy_untouched(body)))
            }
            RuleCopy::Entry(RuleEntry { rule, from, follow }, target) => {
                self.rule_name = self.name_of(rule);
                let body = self.outcomes.grammar.rule(rule).body();
                self.node(body, from, follow, target)
            }
            RuleCopy::Loop(entry, target) => self.loop_body(entry, target),
        }
    }

    /// One iteration that leads to the target, or one iteration and the loop again from the state
    /// after it.
    fn loop_body(&mut self, entry: LoopEntry, target: TargetState) -> Result<Option<NodeId>> {
        let LoopEntry { node, from, follow } = entry;
        let after = self.outcomes.follow_in_loop(node, follow);
        let mut alternatives = Vec::new();
        alternatives.extend(self.node(node, from, after, target)?);
        for state in self.outcomes.of_node(node, from, after)? {
            let rest = LoopEntry { node, from: state, follow };
            if !self.outcomes.loop_reaches(&rest, target) {
                continue;
            }
            if let Some(iteration) = self.node(node, from, after, Some(state))? {
                let rest = self.rule(RuleCopy::Loop(rest, target));
                let rest = self.builder.call(rest);
                alternatives.push(self.builder.sequence([iteration, rest]));
            }
        }
        Ok(self.any_of(alternatives))
    }

    /// The choice of alternatives; `None` if there are none.
    fn any_of(&mut self, alternatives: Vec<NodeId>) -> Option<NodeId> {
        (!alternatives.is_empty()).then(|| self.builder.choice(alternatives))
    }

    /// Copies a node and all that it calls, as they are.
    fn copy_untouched(&mut self, id: NodeId) -> NodeId {
        if let Some(&known) = self.untouched.get(&id) {
            return known;
        }
        let node = match self.outcomes.grammar.node(id).clone() {
            Node::Sequence(parts) => {
                Node::Sequence(parts.iter().map(|&part| self.copy_untouched(part)).collect())
            }
            Node::Choice(parts) => {
                Node::Choice(parts.iter().map(|&part| self.copy_untouched(part)).collect())
            }
            Node::Repeat { node, min, max } => {
                Node::Repeat { node: self.copy_untouched(node), min, max }
            }
            Node::Attributed { node, attribute } => Node::Attributed {
                node: self.copy_untouched(node),
                attribute: attribute.with_nodes(|node| self.copy_untouched(node)),
            },
            Node::Call(rule) => Node::Call(self.rule(RuleCopy::Whole(rule))),
            leaf => leaf,
        };
        let copy = self.builder.add(node);
        self.copy_origin(copy, id);
        self.untouched.insert(id, copy);
        copy
    }

    /// Gives a written node the origin of the node that it copies, unless it has one.
    fn copy_origin(&mut self, node: NodeId, from: NodeId) {
        if let Some(origin) = self.outcomes.grammar.origin(from)
            && self.builder.origin(node).is_none()
        {
            self.builder.mark_from(node, origin.clone());
        }
    }

    /// Writes the non-empty texts of a node that lead to the target; all texts of a node that
    /// leaves the state as it is. `None` if there are none.
    fn node(
        &mut self,
        id: NodeId,
        from: ParseState,
        follow: LazySetId,
        target: TargetState,
    ) -> Result<Option<NodeId>> {
        if self.outcomes.is_untouched(id, from, follow)? {
            return Ok(target.is_none_or(|target| target == from).then(|| self.copy_untouched(id)));
        }
        let written = if let Some(unmerged) = self.outcomes.unmerged(id, follow) {
            self.node(unmerged, from, follow, target)?.map(|node| self.merged(node))
        } else {
            match self.outcomes.grammar.node(id).clone() {
                Node::Regular(language) | Node::JsonString(language) => {
                    self.terminal(id, language, from, follow, target)?
                }
                Node::Special(token) => {
                    let state = self.outcomes.after_token(from, follow);
                    let reaches = state.is_some_and(|state| target.is_none_or(|t| t == state));
                    reaches.then(|| self.builder.special(token))
                }
                Node::Hole(hole) if self.outcomes.is_unconstrained(from)? => {
                    let state = ParseState { startable: follow, ..from };
                    let reaches = target.is_none_or(|target| target == state);
                    reaches.then(|| self.builder.add(Node::Hole(hole)))
                }
                Node::Hole(hole) => {
                    let language = self.outcomes.hole(hole)?;
                    self.terminal(id, language, from, follow, target)?
                }
                Node::Choice(parts) => {
                    let mut alternatives = Vec::new();
                    for &part in &parts {
                        alternatives.extend(self.node(part, from, follow, target)?);
                    }
                    self.any_of(alternatives)
                }
                Node::Sequence(parts) => {
                    let rests = FxHashMap::default();
                    let mut copy = SequenceCopy { parts: &parts, follow, target, rests };
                    let parts = self.sequence(&mut copy, 0, from, false)?;
                    parts.map(|parts| self.builder.sequence(parts))
                }
                Node::Repeat { node, min, max } => {
                    self.repeat(node, (min, max), from, follow, target)?
                }
                Node::Attributed { node, attribute } => {
                    let written = self.node(node, from, follow, target)?;
                    written.map(|node| {
                        let attribute = attribute.with_nodes(|node| self.copy_untouched(node));
                        self.builder.attributed(node, attribute)
                    })
                }
                Node::Call(rule) => {
                    let entry = RuleEntry { rule, from, follow };
                    if self.outcomes.rule_reaches(&entry, target) {
                        let rule = self.rule(RuleCopy::Entry(entry, target));
                        Some(self.builder.call(rule))
                    } else {
                        None
                    }
                }
                Node::KeyChoice(_) | Node::Capture(..) | Node::Scope(..) => {
                    return Err(made_on_demand());
                }
            }
        };
        if let Some(written) = written {
            self.copy_origin(written, id);
        }
        Ok(written)
    }

    /// One terminal in the place of a written node that is regular by structure.
    fn merged(&mut self, node: NodeId) -> NodeId {
        match self.language(node) {
            Some(language) => self.builder.regular(language),
            None => node,
        }
    }

    /// The language of a written node that calls no rule and counts nothing.
    fn language(&mut self, node: NodeId) -> Option<Language> {
        match self.builder.node(node).clone() {
            Node::Regular(language) => Some(language),
            Node::Sequence(parts) => {
                let parts: Option<Vec<Language>> =
                    parts.iter().map(|&part| self.language(part)).collect();
                Some(self.outcomes.grammar.languages.concat(parts?))
            }
            Node::Choice(parts) => {
                let parts: Option<Vec<Language>> =
                    parts.iter().map(|&part| self.language(part)).collect();
                Some(self.outcomes.grammar.languages.union(parts?))
            }
            Node::Repeat { node, min, max } if min <= 1 && max.is_none_or(|max| max == 1) => {
                let part = self.language(node)?;
                Some(self.outcomes.grammar.languages.repeat(part, min, max))
            }
            _ => None,
        }
    }

    /// The strings of a terminal that lead to the target, as a terminal.
    fn terminal(
        &mut self,
        id: NodeId,
        language: Language,
        from: ParseState,
        follow: LazySetId,
        target: TargetState,
    ) -> Result<Option<NodeId>> {
        if target.is_some_and(|target| target.startable != follow) {
            return Ok(None);
        }
        let (strings, monitor) = self.outcomes.contested(id, language, from)?;
        let terminal = self.outcomes.marked(id, strings);
        let Outcomes { grammar, monitors, .. } = &mut self.outcomes;
        let target = target.map(|target| target.monitor);
        let strings = monitors.strings(&mut grammar.languages, terminal, monitor, target)?;
        Ok(strings.map(|language| self.builder.regular(language)))
    }

    /// Writes part `i` of a sequence and those after it.
    fn sequence(
        &mut self,
        copy: &mut SequenceCopy<'_>,
        i: usize,
        state: ParseState,
        has_read: bool,
    ) -> Result<Option<Vec<NodeId>>> {
        let Some(&part) = copy.parts.get(i) else {
            let can_end = has_read && self.outcomes.may_end(state, copy.target);
            return Ok(can_end.then(Vec::new));
        };
        if let Some(known) = copy.rests.get(&(i, state, has_read)) {
            return Ok(known.clone());
        }
        let after = self.outcomes.follow_of_part(copy.parts, i, copy.follow);
        let mut alternatives: Vec<Vec<NodeId>> = Vec::new();
        if copy.target.is_none() && i + 1 == copy.parts.len() {
            alternatives.extend(self.node(part, state, after, None)?.map(|node| vec![node]));
        } else {
            for next in self.outcomes.of_node(part, state, after)? {
                let Some(more) = self.sequence(copy, i + 1, next, true)? else { continue };
                if let Some(node) = self.node(part, state, after, Some(next))? {
                    alternatives.push([vec![node], more].concat());
                }
            }
        }
        if self.outcomes.is_nullable(part) && !self.is_written_with_empty(part, state, after)? {
            alternatives.extend(self.sequence(copy, i + 1, state, has_read)?);
        }
        let rest = match alternatives.len() {
            0 => None,
            1 => alternatives.pop(),
            _ => {
                let alternatives: Vec<NodeId> =
                    alternatives.into_iter().map(|parts| self.builder.sequence(parts)).collect();
                Some(vec![self.builder.choice(alternatives)])
            }
        };
        copy.rests.insert((i, state, has_read), rest.clone());
        Ok(rest)
    }

    /// Whether [`node`](Self::node) writes a nullable node with its empty text.
    fn is_written_with_empty(
        &mut self,
        id: NodeId,
        from: ParseState,
        follow: LazySetId,
    ) -> Result<bool> {
        if self.outcomes.is_untouched(id, from, follow)? {
            return Ok(true);
        }
        Ok(match *self.outcomes.grammar.node(id) {
            Node::Attributed { node, .. } => self.is_written_with_empty(node, from, follow)?,
            Node::Repeat { node, min, .. } => {
                self.outcomes.uniform_iterations(node, min, from, follow)?.is_some()
            }
            _ => false,
        })
    }

    fn repeat(
        &mut self,
        node: NodeId,
        (min, max): (u32, Option<u32>),
        from: ParseState,
        follow: LazySetId,
        target: TargetState,
    ) -> Result<Option<NodeId>> {
        let is_nullable = self.outcomes.is_nullable(node);
        if let Some(state) = self.outcomes.uniform_iterations(node, min, from, follow)? {
            if target.is_some_and(|target| target != state) {
                return Ok(None);
            }
            let Some(iteration) = self.node(node, from, follow, Some(state))? else {
                return Ok(None);
            };
            let min = if is_nullable { 0 } else { min };
            return Ok(Some(self.builder.repeat(iteration, min, max)));
        }
        let unrolling = Unrolling::of(min, max, is_nullable)?;
        let mut copy = RepeatCopy { node, unrolling, follow, target, rests: FxHashMap::default() };
        self.iteration(&mut copy, 1, from)
    }

    /// Writes iteration number `number` of a repeat and those after it.
    fn iteration(
        &mut self,
        copy: &mut RepeatCopy,
        number: u32,
        from: ParseState,
    ) -> Result<Option<NodeId>> {
        let (node, follow, target) = (copy.node, copy.follow, copy.target);
        if number > copy.unrolling.written {
            let rest = LoopEntry { node, from, follow };
            if !copy.unrolling.has_loop || !self.outcomes.loop_reaches(&rest, target) {
                return Ok(None);
            }
            let rest = self.rule(RuleCopy::Loop(rest, target));
            return Ok(Some(self.builder.call(rest)));
        }
        if let Some(&known) = copy.rests.get(&(number, from)) {
            return Ok(known);
        }
        let after = self.outcomes.follow_of_iteration(node, number, &copy.unrolling, follow);
        let mut alternatives = Vec::new();
        if number >= copy.unrolling.least {
            alternatives.extend(self.node(node, from, after, target)?);
        }
        for state in self.outcomes.of_node(node, from, after)? {
            let Some(rest) = self.iteration(copy, number + 1, state)? else { continue };
            if let Some(iteration) = self.node(node, from, after, Some(state))? {
                alternatives.push(self.builder.sequence([iteration, rest]));
            }
        }
        let written = self.any_of(alternatives);
        copy.rests.insert((number, from), written);
        Ok(written)
    }
}
