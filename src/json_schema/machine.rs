//! Arrays and objects that must hold certain items or members somewhere: emission by states.
//!
//! A state knows how far the value is written and which of the things asked for are found. What
//! is found is claimed, not computed: an item that could answer a request may also be written as
//! one that does not, so no complement is needed, and the union of both is the language.

use rustc_hash::FxHashMap;

use super::emit::Emitter;
use super::layout::Layout;
use super::set::Set;
use crate::error::{ErrorKind, Result};
use crate::grammar::{NodeId, Origin, RuleId};
use crate::json_schema::set::array_set::MAX_COUNTED_KINDS;
use crate::json_schema::set::array_set::{ArraySet, Repeats};
use crate::json_schema::set::keys::MemberKey;
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::object_set::ObjectSet;

/// What is known after a part of an array or object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Items written, or the next named member.
    at: u32,
    /// Items or members written, as far as it matters.
    count: u32,
    /// Is anything written?
    any: bool,
    /// Which of the items asked for are found.
    found: u32,
    /// What is asked of the members that follow.
    condition: MemberFormula,
}

impl State {
    const START: Self =
        Self { at: 0, count: 0, any: false, found: 0, condition: MemberFormula::HOLDS };
}

/// A way on: an item or member is written, or nothing is.
struct Edge {
    node: Option<NodeId>,
    to: usize,
}

/// States by index; the first is where it starts.
#[derive(Default)]
struct Machine {
    states: Vec<State>,
    ids: FxHashMap<State, usize>,
    edges: Vec<Vec<Edge>>,
    accepts: Vec<bool>,
}

impl Machine {
    fn state(&mut self, state: State) -> usize {
        *self.ids.entry(state).or_insert_with(|| {
            self.states.push(state);
            self.states.len() - 1
        })
    }

    /// Which states lead to an accepting one.
    fn alive(&self) -> Vec<bool> {
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); self.states.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|edge| sources[edge.to].push(from));
        }
        let mut alive = self.accepts.clone();
        let mut open: Vec<usize> = (0..alive.len()).filter(|&i| alive[i]).collect();
        while let Some(state) = open.pop() {
            for &from in &sources[state] {
                if !alive[from] {
                    alive[from] = true;
                    open.push(from);
                }
            }
        }
        alive
    }
}

/// The brackets of an array or object, and what stands between its items or members.
struct Brackets {
    open: NodeId,
    /// After nothing.
    end: NodeId,
    /// After something.
    close: NodeId,
    comma: NodeId,
}

impl Emitter<'_> {
    /// The ways to answer some of the requests `asked` (by index) that are not `found` yet:
    /// each with what is found then.
    fn answers(found: u32, asked: &[usize]) -> Vec<(u32, Vec<usize>)> {
        let left: Vec<usize> = asked.iter().copied().filter(|i| found >> i & 1 == 0).collect();
        (0..1u32 << left.len())
            .map(|choice| {
                let chosen = left.iter().enumerate().filter(|(k, _)| choice >> k & 1 == 1);
                let chosen: Vec<usize> = chosen.map(|(_, &i)| i).collect();
                (chosen.iter().fold(found, |found, i| found | 1 << i), chosen)
            })
            .collect()
    }

    pub(crate) fn check_some(&self, asked: usize, set: Set) -> Result<()> {
        if asked <= MAX_COUNTED_KINDS {
            return Ok(());
        }
        let message =
            format!("more than {MAX_COUNTED_KINDS} kinds of items are counted in one array");
        let error = self.sets.error(ErrorKind::Limit, set, message);
        Err(error.with_help("let fewer `contains` apply to the same array"))
    }

    /// The one place that says which array sets cannot be emitted yet.
    fn check_supported(&self, array: &ArraySet) -> Result<()> {
        let message = if array.repeats != Repeats::May {
            "`uniqueItems` must remember the items, which a schema inside another grammar cannot"
        } else if array.some.iter().any(|some| (some.min, some.max) != (1, None)) {
            "`minContains` above 1 and `maxContains` must count, which a schema inside another \
             grammar cannot"
        } else {
            return Ok(());
        };
        let at = array.sources.0.first().copied();
        let at = at.unwrap_or_else(|| self.sets.document.root());
        Err(self.sets.document.error(ErrorKind::Schema, at, message))
    }

    pub(crate) fn array_with_some(
        &mut self,
        array: &ArraySet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        self.check_supported(array)?;
        self.check_some(array.some.len(), array.rest)?;
        let from = array.some.iter().map(|some| some.from).max().unwrap_or(0);
        let cap = array.max.unwrap_or((array.prefix.len() as u32).max(array.min).max(from));
        let all = (1u32 << array.some.len()) - 1;
        let mut machine = Machine::default();
        machine.state(State::START);
        while machine.edges.len() < machine.states.len() {
            let state = machine.states[machine.edges.len()];
            machine.accepts.push(state.at >= array.min && state.found == all);
            let mut edges = Vec::new();
            if array.max.is_none_or(|max| state.at < max) {
                let asked = array.some.iter().enumerate();
                let asked: Vec<usize> =
                    asked.filter(|(_, some)| some.from <= state.at).map(|(i, _)| i).collect();
                for (found, chosen) in Self::answers(state.found, &asked) {
                    let sets = chosen.iter().map(|&i| array.some[i].set);
                    let item = sets.chain([array.item(state.at as usize)]);
                    let item = self.sets.and(item);
                    let Some(node) = self.value(item, layout.inside())? else { continue };
                    let at = (state.at + 1).min(cap);
                    let to = machine.state(State { at, any: true, found, ..State::START });
                    edges.push(Edge { node: Some(node), to });
                }
            }
            machine.edges.push(edges);
            self.check_states(&machine)?;
        }
        let signs = self.signs(layout);
        let brackets = Brackets {
            open: signs.open_array,
            end: signs.end_array,
            close: signs.close_array,
            comma: signs.comma,
        };
        let node = self.machine(&machine, &brackets, name);
        Ok(node.map(|node| self.mark(node, &array.sources)))
    }

    pub(crate) fn object_on_condition(
        &mut self,
        object: &ObjectSet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        let signs = self.signs(layout);
        let others = self.sets.other_keys(object)?;
        let required = object.required() as u32;
        let min = if object.min <= required { 0 } else { object.min };
        let counts = self.sets.conditions.count_cap(object.condition);
        self.check_count(object, min.max(counts), !others.is_empty())?;
        let cap = object.max.unwrap_or(min).max(counts);
        let end = object.named.len() as u32;
        let mut machine = Machine::default();
        let condition = self.sets.conditions.counted(object.condition, 0);
        machine.state(State { condition, ..State::START });
        while machine.edges.len() < machine.states.len() {
            let state = machine.states[machine.edges.len()];
            let mut edges = Vec::new();
            let full = object.max.is_some_and(|max| state.count >= max);
            let count = (state.count + 1).min(cap);
            let mut written = |this: &mut Self, key: NodeId, set: Set, state: State| {
                let condition = this.sets.conditions.counted(state.condition, count);
                let value = if full { None } else { this.value(set, layout.inside())? };
                if let Some(value) = value.filter(|_| condition != MemberFormula::FAILS) {
                    let node = this.builder.sequence([key, signs.colon, value]);
                    let to = State { count, any: true, condition, ..state };
                    edges.push(Edge { node: Some(node), to: machine.state(to) });
                }
                Ok::<(), crate::Error>(())
            };
            if let Some(named) = object.named.get(state.at as usize) {
                let at = state.at + 1;
                let spelled = self.sets.strings.spell(&named.key);
                let key = self.key(&named.key);
                let asked = MemberKey::Named(&named.key, &spelled);
                for (set, condition) in self.sets.ways(state.condition, asked, named.set)? {
                    written(self, key, set, State { at, condition, ..state })?;
                }
                if !named.required {
                    let condition =
                        self.sets.conditions.without(state.condition, |key| *key == *named.key);
                    let to = machine.state(State { at, condition, ..state });
                    edges.push(Edge { node: None, to });
                }
            } else if !full {
                for other in &others {
                    let key = self.quoted(other.keys);
                    self.mark(key, &object.sources);
                    let asked = MemberKey::Other(&other.inside);
                    for (set, condition) in self.sets.ways(state.condition, asked, other.set)? {
                        written(self, key, set, State { condition, ..state })?;
                    }
                }
            }
            let enough = state.at == end && state.count >= min.min(cap);
            machine.accepts.push(enough && self.sets.conditions.at_end(state.condition));
            machine.edges.push(edges);
            self.check_states(&machine)?;
        }
        let brackets = Brackets {
            open: signs.open_object,
            end: signs.end_object,
            close: signs.close_object,
            comma: signs.comma,
        };
        let node = self.machine(&machine, &brackets, name);
        Ok(node.map(|node| self.mark(node, &object.sources)))
    }

    fn check_states(&self, machine: &Machine) -> Result<()> {
        let most = self.sets.options.grammar_size;
        if machine.states.len() > most {
            let message =
                format!("the grammar has more than {most} nodes (the limit `grammar_size`)");
            let error = self.sets.error(ErrorKind::Limit, Set::ANY, message);
            return Err(error.with_help("split the schema, or raise the limit"));
        }
        self.check_size(Set::ANY)
    }

    /// One rule for each state from which the value can be completed.
    fn machine(&mut self, machine: &Machine, brackets: &Brackets, name: &Origin) -> Option<NodeId> {
        let alive = machine.alive();
        if !alive[0] {
            return None;
        }
        // A dead state has a rule that no other calls.
        let rules: Vec<RuleId> = (0..machine.states.len())
            .map(|i| self.builder.declare(format!("{} state {i}", name.text())))
            .collect();
        for (i, edges) in machine.edges.iter().enumerate() {
            let any = machine.states[i].any;
            let mut choices = Vec::new();
            if machine.accepts[i] {
                choices.push(if any { brackets.close } else { brackets.end });
            }
            for edge in edges.iter().filter(|edge| alive[edge.to]) {
                let further = self.builder.call(rules[edge.to]);
                let separator = (any && edge.node.is_some()).then_some(brackets.comma);
                let parts = separator.into_iter().chain(edge.node).chain([further]);
                choices.push(self.builder.sequence(parts));
            }
            let body = self.builder.choice(choices);
            self.builder.define(rules[i], body);
        }
        let start = self.builder.call(rules[0]);
        Some(self.builder.sequence([brackets.open, start]))
    }
}
