//! [`Coverage`]: the part of a constraint that texts have reached.

use rustc_hash::FxHashSet;

use super::distances::{Distances, INFINITE};
use super::program_view::{Instruction, ProgramView};
use super::visits::{Visits, is_place};

/// The number of things of a kind that were reached, of those that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Those that a text has reached.
    pub reached: usize,
    /// All that are known. Of a schema more become known as texts come to them.
    pub known: usize,
}

impl Reached {
    /// Whether everything that is known was reached.
    pub fn is_complete(&self) -> bool {
        self.reached == self.known
    }
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.reached, self.known)
    }
}

/// The part of a constraint that texts have reached.
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

/// Walks all points that a text can come to, and counts those that were visited.
pub(super) fn measure(visits: &Visits, program: &ProgramView, distances: &Distances) -> Coverage {
    let mut seen = vec![false; distances.len()];
    let mut todo: Vec<u32> = visits.continuations.iter().copied().collect();
    todo.extend(program.start().ok());
    let mut origins = FxHashSet::default();
    let mut alternatives = Reached::default();
    while let Some(point) = todo.pop() {
        let at = point as usize;
        // Points made by the last step of the last text have no distances yet.
        if at >= seen.len() || seen[at] || distances.least(point) == INFINITE {
            continue;
        }
        seen[at] = true;
        let instruction = distances.instruction(point);
        if is_place(instruction) {
            origins.insert(program.origin_id(point));
        }
        let mut count = |alternative: u32| {
            alternatives.known += 1;
            let is_new = visits.is_new_alternative(point, alternative);
            alternatives.reached += usize::from(!is_new);
        };
        match instruction {
            Instruction::Return | Instruction::Special | Instruction::Capture { .. } => {}
            Instruction::Read { next, .. } => todo.push(*next),
            Instruction::Call { rule, next } => {
                todo.push(*next);
                todo.extend(program.known_entry(*rule));
            }
            Instruction::Fork(targets) => {
                for (i, &to) in targets.iter().enumerate() {
                    if distances.least(to) != INFINITE {
                        count(i as u32);
                        todo.push(to);
                    }
                }
            }
            Instruction::Repeat { body, next, .. } => {
                if distances.least(*body) != INFINITE {
                    count(0);
                }
                todo.extend([*body, *next]);
            }
            Instruction::KeyChoice { choice, all } => {
                for (rank, _) in all.iter() {
                    count(*rank);
                    todo.extend(program.known_key_target(*choice, *rank));
                }
            }
            Instruction::Scope { body, .. } => todo.push(*body),
        }
    }
    let text = |origins: &FxHashSet<u32>| -> FxHashSet<String> {
        let texts = origins.iter().map(|&origin| program.origin_text(origin));
        texts.filter(|text| !text.is_empty()).collect()
    };
    let mut reached = text(&visits.origins);
    reached.extend(visits.earlier_origins.iter().cloned());
    let known: FxHashSet<String> = text(&origins).union(&reached).cloned().collect();
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
        steps: Reached { reached: visits.steps.len(), known: visits.steps_known },
        missing,
    }
}
