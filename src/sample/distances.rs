//! How far it is from each point of a plan: to the end of its rule at least and at most, in bytes
//! and in nested calls, and to what no text has reached yet.
//!
//! All are fixed points over the plan's points, found by going through them until nothing changes
//! (Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters 6, 1977, in
//! its simplest form); linear in the points for each round, and of rounds there are as many as the
//! longest of the shortest ways has calls. A plan that grows is gone through whole when it has
//! doubled; in between, new points are added to what is known of the old.

use rustc_hash::FxHashMap;

use super::coverage::Visits;
use super::plan::{Plan, Turn};
use crate::error::Result;
use crate::regular::{Language, lengths, witness_length};

/// No way leads there.
pub(super) const FAR: u32 = u32::MAX;

/// Rounds after which what still grows is taken to grow without end.
const ROUNDS: usize = 60;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct Distances {
    turns: Vec<Turn>,
    /// The points that all of the numbers were computed for at once.
    settled: usize,
    /// Bytes to the end of the rule, no text takes fewer; [`FAR`] if no text leads there.
    least: Vec<u32>,
    /// No text takes more; [`FAR`] if there is no bound, or none is known.
    most: Vec<u32>,
    /// Calls that are open at once on the way, at least.
    depth: Vec<u32>,
    /// Bytes before something that no text has reached, within the rule and what it calls.
    goal: Vec<u32>,
    least_lengths: FxHashMap<Language, Option<u32>>,
    most_lengths: FxHashMap<Language, Option<u32>>,
}

impl Distances {
    pub(super) fn turn(&self, point: u32) -> &Turn {
        // A point that is not known is never asked for: `learn` comes before.
        &self.turns[point as usize]
    }

    pub(super) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    pub(super) fn least(&self, point: u32) -> u32 {
        self.least[point as usize]
    }

    pub(super) fn most(&self, point: u32) -> u32 {
        self.most[point as usize]
    }

    pub(super) fn depth(&self, point: u32) -> u32 {
        self.depth[point as usize]
    }

    pub(super) fn goal(&self, point: u32) -> u32 {
        self.goal[point as usize]
    }

    /// The bytes of the shortest string of a language; [`FAR`] if it has none.
    pub(super) fn least_length(&mut self, plan: &Plan, language: Language) -> Result<u32> {
        let known = &mut self.least_lengths;
        Ok(plan
            .languages(|languages| {
                witness_length::short_length_memoized(languages, language, known)
            })?
            .unwrap_or(FAR))
    }

    /// No string of the language is longer; [`FAR`] if none can be said.
    pub(super) fn most_length(&mut self, plan: &Plan, language: Language) -> u32 {
        let known = &mut self.most_lengths;
        plan.languages(|languages| lengths::max_length(languages, language, known)).unwrap_or(FAR)
    }

    /// Takes up the points that are new.
    pub(super) fn learn(&mut self, plan: &Plan, visits: Option<&Visits>) -> Result<()> {
        let (known, now) = (self.turns.len(), plan.len());
        if known == now {
            return Ok(());
        }
        for point in known..now {
            let turn = plan.turn(point as u32);
            if let Turn::Read { language, .. } | Turn::Capture { language, .. } = turn {
                self.least_length(plan, language)?;
                self.most_length(plan, language);
            }
            self.turns.push(turn);
        }
        let from = if now >= 2 * self.settled { 0 } else { known };
        if from == 0 {
            self.settled = now;
        }
        self.least.truncate(from);
        self.depth.truncate(from);
        self.most.truncate(from);
        self.least.resize(now, FAR);
        self.depth.resize(now, FAR);
        self.most.resize(now, 0);
        self.goal.resize(now, FAR);
        let (turns, lengths) = (&self.turns, &self.least_lengths);
        descend(&mut self.least, from, |at, least| least_of(plan, &turns[at], least, lengths));
        descend(&mut self.depth, from, |at, depth| depth_of(plan, &turns[at], depth));
        for round in 0.. {
            let mut changed = false;
            for point in from..now {
                let turn = &self.turns[point];
                let most = most_of(plan, turn, &self.most, &self.least, &self.most_lengths);
                if most > self.most[point] {
                    changed = true;
                    self.most[point] = if round < ROUNDS { most } else { FAR };
                }
            }
            if !changed {
                break;
            }
        }
        if let Some(visits) = visits {
            self.aim(plan, visits)?;
        }
        Ok(())
    }

    /// Computes how far it is to what was not visited.
    pub(super) fn aim(&mut self, plan: &Plan, visits: &Visits) -> Result<()> {
        self.goal.clear();
        self.goal.resize(self.turns.len(), FAR);
        let least = &self.least;
        let labels: Vec<bool> = (0..self.turns.len() as u32)
            .map(|point| visits.is_new_place(plan, point, &self.turns[point as usize]))
            .collect();
        descend(&mut self.goal, 0, |point, goal| match least[point] {
            FAR => FAR,
            _ if labels[point] => 0,
            _ => goal_of(plan, &self.turns[point], point as u32, goal, least, visits),
        });
        Ok(())
    }
}

/// Lowers the numbers of the points from `from` on until none changes.
fn descend(numbers: &mut [u32], from: usize, number: impl Fn(usize, &[u32]) -> u32) {
    loop {
        let mut changed = false;
        for point in from..numbers.len() {
            let found = number(point, numbers);
            if found < numbers[point] {
                numbers[point] = found;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

/// What is not made yet is taken to be the least that it can be: `unknown`.
fn at(numbers: &[u32], point: Option<u32>, unknown: u32) -> u32 {
    point.map_or(unknown, |point| numbers.get(point as usize).copied().unwrap_or(unknown))
}

/// The sum, [`FAR`] if one of them is.
pub(super) fn plus(a: u32, b: u32) -> u32 {
    a.saturating_add(b)
}

fn least_of(
    plan: &Plan,
    turn: &Turn,
    least: &[u32],
    lengths: &FxHashMap<Language, Option<u32>>,
) -> u32 {
    let length = |language: &Language| lengths.get(language).copied().flatten().unwrap_or(FAR);
    let of = |point: u32| least[point as usize];
    match turn {
        Turn::Return => 0,
        Turn::Read { language, next } => plus(length(language), of(*next)),
        Turn::Special => FAR,
        // No rule derives the empty text.
        Turn::Call { rule, next } => plus(at(least, plan.known_entry(*rule), 1), of(*next)),
        Turn::Fork(ways) => ways.iter().map(|&way| of(way)).min().unwrap_or(FAR),
        Turn::Repeat { min: 0, next, .. } => of(*next),
        Turn::Repeat { body, min, next, .. } => plus(of(*body).saturating_mul(*min), of(*next)),
        Turn::Names { names, all } => {
            let name = |(rank, name): &(u32, Vec<u8>)| {
                plus(name.len() as u32, at(least, plan.known_name(*names, *rank), 0))
            };
            all.iter().map(name).min().unwrap_or(FAR)
        }
        Turn::Capture { language, .. } => length(language),
        Turn::Scope { body, .. } => of(*body),
    }
}

fn depth_of(plan: &Plan, turn: &Turn, depth: &[u32]) -> u32 {
    let of = |point: u32| depth[point as usize];
    match turn {
        Turn::Return | Turn::Capture { .. } => 0,
        Turn::Read { next, .. } => of(*next),
        Turn::Special => FAR,
        Turn::Call { rule, next } => {
            let inner = at(depth, plan.known_entry(*rule), 0);
            match *next {
                Plan::RETURN => inner,
                next => plus(inner, 1).max(of(next)),
            }
        }
        Turn::Fork(ways) => ways.iter().map(|&way| of(way)).min().unwrap_or(FAR),
        Turn::Repeat { min: 0, next, .. } => of(*next),
        Turn::Repeat { body, next, .. } => plus(of(*body), 1).max(of(*next)),
        Turn::Names { names, all } => {
            let name = |(rank, _): &(u32, Vec<u8>)| at(depth, plan.known_name(*names, *rank), 0);
            all.iter().map(name).min().unwrap_or(FAR)
        }
        Turn::Scope { body, .. } => plus(of(*body), 1),
    }
}

/// What is not made yet has no bound.
fn most_of(
    plan: &Plan,
    turn: &Turn,
    most: &[u32],
    least: &[u32],
    lengths: &FxHashMap<Language, Option<u32>>,
) -> u32 {
    let length = |language: &Language| lengths.get(language).copied().flatten().unwrap_or(FAR);
    let of = |point: u32| if least[point as usize] == FAR { 0 } else { most[point as usize] };
    match turn {
        Turn::Return | Turn::Special => 0,
        Turn::Read { language, next } => plus(length(language), of(*next)),
        Turn::Call { rule, next } => plus(at(most, plan.known_entry(*rule), FAR), of(*next)),
        Turn::Fork(ways) => ways.iter().map(|&way| of(way)).max().unwrap_or(0),
        Turn::Repeat { body, max, next, .. } => plus(of(*body).saturating_mul(*max), of(*next)),
        Turn::Names { names, all } => {
            let name = |(rank, name): &(u32, Vec<u8>)| {
                plus(name.len() as u32, at(most, plan.known_name(*names, *rank), FAR))
            };
            all.iter().map(name).max().unwrap_or(0)
        }
        Turn::Capture { .. } | Turn::Scope { .. } => FAR,
    }
}

fn goal_of(
    plan: &Plan,
    turn: &Turn,
    point: u32,
    goal: &[u32],
    least: &[u32],
    visits: &Visits,
) -> u32 {
    let of = |point: u32| goal[point as usize];
    let through = |first: u32, next: u32| plus(first, of(next));
    match turn {
        Turn::Return | Turn::Special | Turn::Capture { .. } => FAR,
        Turn::Read { next, .. } => {
            through(least[point as usize].saturating_sub(least[*next as usize]), *next)
        }
        Turn::Call { rule, next } => {
            let entry = plan.known_entry(*rule);
            at(goal, entry, 0).min(through(at(least, entry, 1), *next))
        }
        Turn::Fork(ways) => {
            let way = |(i, &way): (usize, &u32)| match least[way as usize] {
                FAR => FAR,
                _ if visits.is_new_way(point, i as u32) => 0,
                _ => of(way),
            };
            ways.iter().enumerate().map(way).min().unwrap_or(FAR)
        }
        Turn::Repeat { body, min, max, next } => {
            let inner = match least[*body as usize] {
                FAR => FAR,
                _ if *max > 0 && visits.is_new_way(point, 0) => 0,
                _ => of(*body),
            };
            let before = if *min == 0 { 0 } else { least[*body as usize].saturating_mul(*min) };
            inner.min(through(before, *next))
        }
        Turn::Names { names, all } => {
            let name = |(rank, name): &(u32, Vec<u8>)| match plan.known_name(*names, *rank) {
                _ if visits.is_new_way(point, *rank) => 0,
                None => 0,
                known => plus(name.len() as u32, at(goal, known, FAR)),
            };
            all.iter().map(name).min().unwrap_or(FAR)
        }
        Turn::Scope { body, .. } => of(*body),
    }
}
