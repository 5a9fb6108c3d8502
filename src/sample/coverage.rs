//! What texts have reached of a constraint.

use rustc_hash::FxHashSet;

use super::distances::{Distances, FAR};
use super::plan::{Plan, Turn};
use crate::regular::Language;

/// Steps of terminals that are kept apart; what comes later is not counted.
const STEPS: usize = 1 << 20;

/// So many of a kind were reached, of so many that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Those that a text has reached.
    pub reached: usize,
    /// All that are known. Of a schema more become known as texts come to them.
    pub known: usize,
}

impl Reached {
    /// Was everything reached?
    pub fn is_complete(&self) -> bool {
        self.reached == self.known
    }
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.reached, self.known)
    }
}

/// What texts have reached of a constraint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Rules of a grammar; keywords of a schema.
    pub rules: Reached,
    /// Places in the text of a grammar or schema: literals, classes, calls, keywords.
    pub places: Reached,
    /// Alternatives of choices, names of objects, repeats that were entered.
    pub alternatives: Reached,
    /// Steps of the automata of terminals, from state to state, of those that begin in a state that
    /// a text has come to.
    pub steps: Reached,
    /// The places that no text has reached.
    pub missing: Vec<String>,
}

/// What was reached so far.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// By their label in the plan.
    labels: FxHashSet<u32>,
    /// Point and alternative.
    ways: FxHashSet<(u32, u32)>,
    /// Points behind captured texts, which no other point leads to.
    behind: FxHashSet<u32>,
    /// States that were seen, and steps from them.
    states: FxHashSet<Language>,
    steps: FxHashSet<(Language, Language)>,
    steps_known: usize,
    /// What was reached by plans that are forgotten.
    earlier: FxHashSet<String>,
}

impl Visits {
    /// How much was reached; grows with everything new but steps.
    pub(super) fn places(&self) -> usize {
        self.labels.len() + self.ways.len()
    }

    pub(super) fn visit(&mut self, plan: &Plan, point: u32) {
        self.labels.insert(plan.label(point));
    }

    pub(super) fn take(&mut self, point: u32, way: u32) {
        self.ways.insert((point, way));
    }

    pub(super) fn come_behind(&mut self, point: u32) {
        self.behind.insert(point);
    }

    pub(super) fn is_new_way(&self, point: u32, way: u32) -> bool {
        !self.ways.contains(&(point, way))
    }

    /// Is it a place that no text has reached?
    pub(super) fn is_new_place(&self, plan: &Plan, point: u32, turn: &Turn) -> bool {
        is_place(turn) && !self.labels.contains(&plan.label(point))
    }

    /// A state with these successors was come to.
    pub(super) fn see(&mut self, state: Language, successors: usize) {
        if self.states.len() < STEPS && self.states.insert(state) {
            self.steps_known += successors;
        }
    }

    pub(super) fn is_new_step(&self, from: Language, to: Language) -> bool {
        !self.steps.contains(&(from, to))
    }

    pub(super) fn step(&mut self, from: Language, to: Language) {
        if self.states.contains(&from) {
            self.steps.insert((from, to));
        }
    }

    /// The plan is given up: its numbers will mean something else, unless it was whole.
    pub(super) fn forget_points(&mut self, plan: &Plan) {
        let labels = self.labels.iter().map(|&label| plan.label_text(label));
        let earlier = labels.chain(self.earlier.drain()).collect();
        *self = Self { earlier, ..Self::default() };
    }

    pub(super) fn coverage(&self, plan: &Plan, distances: &Distances) -> Coverage {
        let mut seen = vec![false; distances.turns().len()];
        let mut todo: Vec<u32> = self.behind.iter().copied().collect();
        todo.extend(plan.start().ok());
        let mut labels = FxHashSet::default();
        let mut alternatives = Reached::default();
        while let Some(point) = todo.pop() {
            let at = point as usize;
            // What was made by the last step of the last text may not be known yet.
            if at >= seen.len() || seen[at] || distances.least(point) == FAR {
                continue;
            }
            seen[at] = true;
            let turn = distances.turn(point);
            if is_place(turn) {
                labels.insert(plan.label(point));
            }
            let mut way = |way: u32| {
                alternatives.known += 1;
                alternatives.reached += usize::from(!self.is_new_way(point, way));
            };
            match turn {
                Turn::Return | Turn::Special | Turn::Capture { .. } => {}
                Turn::Read { next, .. } => todo.push(*next),
                Turn::Call { rule, next } => {
                    todo.push(*next);
                    todo.extend(plan.known_entry(*rule));
                }
                Turn::Fork(ways) => {
                    for (i, &to) in ways.iter().enumerate() {
                        if distances.least(to) != FAR {
                            way(i as u32);
                            todo.push(to);
                        }
                    }
                }
                Turn::Repeat { body, next, .. } => {
                    if distances.least(*body) != FAR {
                        way(0);
                    }
                    todo.extend([*body, *next]);
                }
                Turn::Names { names, all } => {
                    for (rank, _) in all.iter() {
                        way(*rank);
                        todo.extend(plan.known_name(*names, *rank));
                    }
                }
                Turn::Scope { body, .. } => todo.push(*body),
            }
        }
        let text = |labels: &FxHashSet<u32>| -> FxHashSet<String> {
            let texts = labels.iter().map(|&label| plan.label_text(label));
            texts.filter(|text| !text.is_empty()).collect()
        };
        let mut reached = text(&self.labels);
        reached.extend(self.earlier.iter().cloned());
        let known: FxHashSet<String> = text(&labels).union(&reached).cloned().collect();
        let mut missing: Vec<String> = known.difference(&reached).cloned().collect();
        missing.sort_unstable();
        let rules = |places: &FxHashSet<String>| {
            // ``rule `x` (3:14)`` is a place of ``rule `x` ``.
            let rule = |place: &String| match place.strip_prefix("rule `") {
                Some(rule) => rule.split('`').next().unwrap_or_default().to_owned(),
                None => place.clone(),
            };
            places.iter().map(rule).collect::<FxHashSet<String>>().len()
        };
        Coverage {
            rules: Reached { reached: rules(&reached), known: rules(&known) },
            places: Reached { reached: reached.len(), known: known.len() },
            alternatives,
            steps: Reached { reached: self.steps.len(), known: self.steps_known },
            missing,
        }
    }
}

fn is_place(turn: &Turn) -> bool {
    match turn {
        Turn::Return | Turn::Special | Turn::Fork(_) | Turn::Repeat { .. } => false,
        Turn::Read { .. }
        | Turn::Call { .. }
        | Turn::Names { .. }
        | Turn::Capture { .. }
        | Turn::Scope { .. } => true,
    }
}
