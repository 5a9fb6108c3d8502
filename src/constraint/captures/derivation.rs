//! The parse that counts, among those that a chart allows.
//!
//! A *goal* is a rule with the text that it reads: from one position to another, or from one on
//! without an end. Depth-first search finds the path through the rule's automaton: of the ends of a
//! terminal or a call the greatest first, of the edges of a fork the first. A path names the goals of
//! its calls, which the chart knows to be reachable, so no choice is ever taken back across rules, but
//! for one case: rules that derive each other over the same text (unit rules). There a rule of the
//! grammar must not stand within itself over that text, and a call that could lead back is tried out
//! first.
//!
//! Example: `start: a* b`, `a: "x"`, `b[capture]: "x"*` on `xx`: `start` reads 0..2, its calls are `a` 0..1,
//! `a` 1..2, `b` 2..2.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::chart::Chart;
use super::network::{Network, NetworkRuleId, NetworkState, RuleKind, StateId};
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

/// A state and a position on the path through a rule's automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PathState {
    state: StateId,
    position: u32,
    /// The iterations of a counted repeat.
    iterations: u32,
}

/// One step of a path.
#[derive(Clone, Copy, Debug)]
struct PathStep {
    /// The state after it; `None` at the end of the path.
    to: Option<PathState>,
    /// The goal of the call, if it is one.
    call: Option<Goal>,
}

/// Rules that are being derived over one text, the innermost last.
type UnitChain = Rc<[NetworkRuleId]>;

/// Work that is left, in the order of the text.
enum Task {
    Derive(Goal, UnitChain),
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
                    let calls = self.derive(goal, &chain)?.ok_or_else(|| {
                        Error::new(ErrorKind::Limit, "the text so far has no parse to capture from")
                    })?;
                    let Goal { rule, from, to } = goal;
                    todo.extend(to.map(|to| Task::Close(rule, from..to)));
                    let below = extended(&chain, rule);
                    todo.extend(calls.into_iter().rev().map(|call| {
                        let chain =
                            if self.is_unit(goal, call) { Rc::clone(&below) } else { Rc::new([]) };
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

    /// The goals of the calls on the path of a goal, which stands within the rules of a chain over the
    /// same text. `None` if every path leads through a rule of the chain.
    fn derive(&self, goal: Goal, chain: &UnitChain) -> Result<Option<Vec<Goal>>> {
        if chain.len() > MAX_CHAIN {
            let message = format!("more than {MAX_CHAIN} rules derive each other alone");
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("leave rules out that only name another rule"));
        }
        let start = self.network.rules[goal.rule as usize].start;
        let first = PathState { state: start, position: goal.from, iterations: 0 };
        let mut visited = FxHashSet::from_iter([first]);
        // By state on the path: the steps that are left to try, the next one last, and the call that
        // led there.
        let mut path = vec![(self.steps(goal, first), None)];
        while let Some((steps, _)) = path.last_mut() {
            // Rules that derive each other have factorially many paths.
            deadline::check()?;
            let Some(next) = steps.pop() else {
                path.pop();
                continue;
            };
            if let Some(call) = next.call
                && !self.closes_no_cycle(goal, call, chain)?
            {
                continue;
            }
            let Some(state) = next.to else {
                let calls = path.iter().filter_map(|(_, call)| *call);
                return Ok(Some(calls.chain(next.call).collect()));
            };
            if visited.insert(state) {
                path.push((self.steps(goal, state), next.call));
            }
        }
        Ok(None)
    }

    /// Whether `call` can be derived without a cycle: a rule that calls itself, over the same text,
    /// through rules that read nothing else. Only calls of the goal's own strongly connected component
    /// over the goal's text are tried.
    fn closes_no_cycle(&self, goal: Goal, call: Goal, chain: &UnitChain) -> Result<bool> {
        if !self.is_unit(goal, call) {
            return Ok(true);
        }
        let is_named = (call.rule as usize) < self.network.named;
        if is_named && (call.rule == goal.rule || chain.contains(&call.rule)) {
            return Ok(false);
        }
        Ok(self.derive(call, &extended(chain, goal.rule))?.is_some())
    }

    /// Whether a call over the whole text of the goal may lead back to the goal's rule: both are of one strongly
    /// connected component.
    fn is_unit(&self, goal: Goal, call: Goal) -> bool {
        let component = |rule: NetworkRuleId| self.network.rules[rule as usize].component;
        (call.from, call.to) == (goal.from, goal.to) && component(call.rule) == component(goal.rule)
    }

    /// The steps from a state on the path of a goal, the preferred one last.
    fn steps(&self, goal: Goal, at: PathState) -> Vec<PathStep> {
        let last = goal.to.unwrap_or(u32::MAX);
        let going_to = |to: PathState| PathStep { to: Some(to), call: None };
        let finish = PathStep { to: None, call: None };
        let mut steps = Vec::new();
        match &self.network.states[at.state as usize] {
            NetworkState::Fork(branches) => {
                steps.extend(
                    branches.iter().rev().map(|&state| going_to(PathState { state, ..at })),
                );
            }
            &NetworkState::Read { terminal, next } => {
                let Some(run) = self.chart.run(terminal, at.position) else { return steps };
                let ends = run.ends.iter().take_while(|&&end| end <= last);
                steps.extend(ends.map(|&position| {
                    going_to(PathState { state: next, position, iterations: at.iterations })
                }));
                if goal.to.is_none() && run.is_open {
                    steps.push(finish);
                }
            }
            NetworkState::Token { tokens, next } => match self.chart.input.token(at.position) {
                Some((token, end)) if tokens.contains(token) && end <= last => {
                    steps.push(going_to(PathState { state: *next, position: end, ..at }));
                }
                Some(_) => {}
                None => {
                    if goal.to.is_none() && at.position == self.chart.input.end() {
                        steps.push(finish);
                    }
                }
            },
            &NetworkState::Call { rule, next } => {
                self.calls(goal, rule, at, PathState { state: next, ..at }, &mut steps);
            }
            &NetworkState::Iteration { body, min, max } => {
                if at.iterations >= min && goal.to == Some(at.position) {
                    steps.push(finish);
                }
                if max.is_none_or(|max| at.iterations < max) {
                    let iterations =
                        if max.is_some() { at.iterations + 1 } else { min.min(at.iterations + 1) };
                    self.calls(goal, body, at, PathState { iterations, ..at }, &mut steps);
                    // An iteration that reads nothing is taken only where iterations are missing.
                    let reads = |call: Goal| call.to != Some(at.position) || at.iterations < min;
                    steps.retain(|next| next.call.is_none_or(reads));
                }
            }
            NetworkState::End => {
                if goal.to == Some(at.position) {
                    steps.push(finish);
                }
            }
        }
        steps
    }

    /// The steps by a call, the preferred one last; `after` is the state after an empty text.
    fn calls(
        &self,
        goal: Goal,
        rule: NetworkRuleId,
        at: PathState,
        after: PathState,
        steps: &mut Vec<PathStep>,
    ) {
        let last = goal.to.unwrap_or(u32::MAX);
        let from = at.position;
        let ends = self.chart.ends(rule, from).iter().take_while(|&&end| end <= last);
        steps.extend(ends.map(|&end| PathStep {
            to: Some(PathState { position: end, ..after }),
            call: Some(Goal { rule, from, to: Some(end) }),
        }));
        if goal.to.is_none() && self.chart.is_open(rule, from) {
            steps.push(PathStep { to: None, call: Some(Goal { rule, from, to: None }) });
        }
    }
}

/// A chain with one more rule.
fn extended(chain: &UnitChain, rule: NetworkRuleId) -> UnitChain {
    chain.iter().copied().chain([rule]).collect()
}
