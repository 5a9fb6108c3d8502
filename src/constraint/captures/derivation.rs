//! The parse that counts, among those that a chart allows.
//!
//! A *goal* is a rule with the text that it reads: from one position to another, or from one on
//! without an end. Depth-first search finds the way through the rule's automaton: of the ends of a
//! terminal or a call the greatest first, of the edges of a fork the first. A way names the goals of
//! its calls, which the chart knows to be reachable, so no choice is ever taken back across rules, but
//! for one case: rules that derive each other alone. There a rule of the grammar must not stand within
//! itself over the same text, and a call that could lead back is tried out first.
//!
//! Example: `start: a* b`, `a: "x"`, `b[capture]: "x"*` on `xx`: `start` reads 0..2, its calls are `a` 0..1,
//! `a` 1..2, `b` 2..2.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::chart::Chart;
use super::network::{Network, NetworkRuleId, RuleKind, State, StateId};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};

/// Goals that stand within each other over the same text; bounds the native stack.
const MAX_CHAIN: usize = 500;

/// A rule, and the text that it reads; without an end, the rest of the text and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Goal {
    rule: NetworkRuleId,
    from: u32,
    to: Option<u32>,
}

/// A place on the way through a rule's automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    state: StateId,
    position: u32,
    /// The turns of a counted repeat.
    turns: u32,
}

/// One step of a way.
#[derive(Clone, Copy, Debug)]
struct Move {
    /// The place behind it; `None` at the end of the way.
    to: Option<Place>,
    /// The goal of the call, if it is one.
    call: Option<Goal>,
}

/// Rules that are being derived over one text, the innermost last.
type Chain = Rc<[NetworkRuleId]>;

/// Work that is left, in the order of the text.
enum Task {
    Derive(Goal, Chain),
    /// The end of a rule that reads this text.
    Close(NetworkRuleId, Range<u32>),
}

/// The search for one parse.
pub(super) struct Derivation<'a> {
    network: &'a Network,
    chart: &'a Chart<'a>,
}

impl<'a> Derivation<'a> {
    pub(super) fn new(network: &'a Network, chart: &'a Chart<'a>) -> Self {
        Self { network, chart }
    }

    /// The captures of the parse that counts, by name and positions, in the order in which they end.
    pub(super) fn captures(&self) -> Result<Vec<(Arc<str>, Range<u32>)>> {
        let end = self.chart.input.end();
        let rule = self.network.start;
        let is_complete = self.chart.ends(rule, 0).last() == Some(&end);
        let goal = Goal { rule, from: 0, to: is_complete.then_some(end) };
        let mut found = Vec::new();
        // Ignored texts, by where they end.
        let mut ignored: FxHashMap<u32, u32> = FxHashMap::default();
        let mut todo = vec![Task::Derive(goal, Rc::new([]))];
        while let Some(task) = todo.pop() {
            deadline::check()?;
            match task {
                Task::Derive(goal, chain) => {
                    let calls = self.way(goal, &chain)?.ok_or_else(|| {
                        Error::new(ErrorKind::Limit, "the text so far has no parse to capture from")
                    })?;
                    let Goal { rule, from, to } = goal;
                    todo.extend(to.map(|to| Task::Close(rule, from..to)));
                    let below = extended(&chain, rule);
                    todo.extend(calls.into_iter().rev().map(|call| {
                        let is_same_text = (call.from, call.to) == (from, to);
                        let chain = if is_same_text { Rc::clone(&below) } else { Rc::new([]) };
                        Task::Derive(call, chain)
                    }));
                }
                Task::Close(rule, text) => match &self.network.rules[rule as usize].kind {
                    RuleKind::Capture(name) => {
                        let mut to = text.end;
                        while let Some(&before) = ignored.get(&to).filter(|&&at| at >= text.start) {
                            to = before;
                        }
                        found.push((Arc::clone(name), text.start..to));
                    }
                    RuleKind::Ignored if !text.is_empty() => {
                        _ = ignored.insert(text.end, text.start)
                    }
                    RuleKind::Ignored
                    | RuleKind::Plain
                    | RuleKind::MaxTokens(_)
                    | RuleKind::Whole(_) => {}
                },
            }
        }
        Ok(found)
    }

    /// The goals of the calls on the way of a goal, which stands within the rules of a chain over the
    /// same text. `None` if there is no way but one through a rule of the chain.
    fn way(&self, goal: Goal, chain: &Chain) -> Result<Option<Vec<Goal>>> {
        if chain.len() > MAX_CHAIN {
            let message = format!("more than {MAX_CHAIN} rules derive each other alone");
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("leave rules out that only name another rule"));
        }
        let start = self.network.rules[goal.rule as usize].start;
        let first = Place { state: start, position: goal.from, turns: 0 };
        let mut visited = FxHashSet::from_iter([first]);
        // By place on the way: the moves that are left to try, the next one last, and the call that
        // led there.
        let mut way = vec![(self.moves(goal, first), None)];
        while let Some((moves, _)) = way.last_mut() {
            let Some(next) = moves.pop() else {
                way.pop();
                continue;
            };
            if let Some(call) = next.call
                && !self.is_reachable(goal, call, chain)?
            {
                continue;
            }
            let Some(place) = next.to else {
                let calls = way.iter().filter_map(|(_, call)| *call);
                return Ok(Some(calls.chain(next.call).collect()));
            };
            if visited.insert(place) {
                way.push((self.moves(goal, place), next.call));
            }
        }
        Ok(None)
    }

    /// Whether a call on the way of a goal is no way back to a rule of the chain.
    fn is_reachable(&self, goal: Goal, call: Goal, chain: &Chain) -> Result<bool> {
        let component = |rule: NetworkRuleId| self.network.rules[rule as usize].component;
        let is_same_text = (call.from, call.to) == (goal.from, goal.to);
        if !is_same_text || component(call.rule) != component(goal.rule) {
            return Ok(true);
        }
        let is_named = (call.rule as usize) < self.network.named;
        if is_named && (call.rule == goal.rule || chain.contains(&call.rule)) {
            return Ok(false);
        }
        Ok(self.way(call, &extended(chain, goal.rule))?.is_some())
    }

    /// The moves from a place on the way of a goal, the preferred one last.
    fn moves(&self, goal: Goal, at: Place) -> Vec<Move> {
        let last = goal.to.unwrap_or(u32::MAX);
        let step = |to: Place| Move { to: Some(to), call: None };
        let finish = Move { to: None, call: None };
        let mut moves = Vec::new();
        match &self.network.states[at.state as usize] {
            State::Fork(branches) => {
                moves.extend(branches.iter().rev().map(|&state| step(Place { state, ..at })));
            }
            &State::Read { terminal, next } => {
                let Some(run) = self.chart.run(terminal, at.position) else { return moves };
                let ends = run.ends.iter().take_while(|&&end| end <= last);
                moves.extend(
                    ends.map(|&position| step(Place { state: next, position, turns: at.turns })),
                );
                if goal.to.is_none() && run.is_open {
                    moves.push(finish);
                }
            }
            State::Token { tokens, next } => match self.chart.input.token(at.position) {
                Some((token, end)) if tokens.contains(token) && end <= last => {
                    moves.push(step(Place { state: *next, position: end, ..at }));
                }
                Some(_) => {}
                None => {
                    if goal.to.is_none() && at.position == self.chart.input.end() {
                        moves.push(finish);
                    }
                }
            },
            &State::Call { rule, next } => {
                self.calls(goal, rule, at, Place { state: next, ..at }, &mut moves);
            }
            &State::Turn { body, min, max } => {
                if at.turns >= min && goal.to == Some(at.position) {
                    moves.push(finish);
                }
                if max.is_none_or(|max| at.turns < max) {
                    let turns = if max.is_some() { at.turns + 1 } else { min.min(at.turns + 1) };
                    self.calls(goal, body, at, Place { turns, ..at }, &mut moves);
                    // A turn that reads nothing is taken only where turns are missing.
                    let reads = |call: Goal| call.to != Some(at.position) || at.turns < min;
                    moves.retain(|next| next.call.is_none_or(reads));
                }
            }
            State::End => {
                if goal.to == Some(at.position) {
                    moves.push(finish);
                }
            }
        }
        moves
    }

    /// The moves by a call, the preferred one last; `behind` is the place behind an empty text.
    fn calls(
        &self,
        goal: Goal,
        rule: NetworkRuleId,
        at: Place,
        behind: Place,
        moves: &mut Vec<Move>,
    ) {
        let last = goal.to.unwrap_or(u32::MAX);
        let from = at.position;
        let ends = self.chart.ends(rule, from).iter().take_while(|&&end| end <= last);
        moves.extend(ends.map(|&end| Move {
            to: Some(Place { position: end, ..behind }),
            call: Some(Goal { rule, from, to: Some(end) }),
        }));
        if goal.to.is_none() && self.chart.is_open(rule, from) {
            moves.push(Move { to: None, call: Some(Goal { rule, from, to: None }) });
        }
    }
}

/// A chain with one more rule.
fn extended(chain: &Chain, rule: NetworkRuleId) -> Chain {
    chain.iter().copied().chain([rule]).collect()
}
