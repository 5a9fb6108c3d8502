//! [`Distances`] of each point of a program: the bytes and nested calls to the end of its rule, and
//! the bytes to the next thing that no text has reached.
//!
//! They steer a walk: an alternative is taken only if its distance fits into the bytes that are
//! left. For `root ::= "a" root | "b"`:
//!
//! ```text
//! point               least bytes   most bytes   depth
//! Fork [1, 3]         1             no bound     0
//! 1 Read "a"          2             no bound     0      "a", and the shortest root
//! 3 Read "b"          1             1            0
//! ```
//!
//! All are fixed points, found by going through the points until nothing changes: linear in the
//! points for each round, and there are as many rounds as the longest of the shortest paths has
//! calls. A program that grows is gone through as a whole when it has doubled; in between, only new
//! points are computed.
//!
//! *Source:* Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters 6
//! (1977), in its simplest form.

use rustc_hash::FxHashMap;

use super::program_view::{Instruction, ProgramView};
use super::visits::Visits;
use crate::deadline;
use crate::error::Result;
use crate::regular::{Language, lengths, witness_length};

/// The distance where no text leads there, or where there is no bound.
pub(super) const INFINITE: u32 = u32::MAX;

/// Points of a round that take about a microsecond.
const POINTS_PER_CHECK: usize = 32;
/// Rounds after which an upper bound that still grows is taken to have none.
const MAX_GROWING_ROUNDS: usize = 60;

/// The distances of all points made so far.
#[derive(Debug, Default)]
pub(super) struct Distances {
    instructions: Vec<Instruction>,
    /// The number of points when all distances were computed last.
    settled: usize,
    /// A lower bound on the bytes to the end of the rule; [`INFINITE`] if no text leads there.
    least: Vec<u32>,
    /// An upper bound on these bytes; [`INFINITE`] if there is none, or none is known.
    most: Vec<u32>,
    /// A lower bound on the calls that are open at once before the end of the rule.
    depth: Vec<u32>,
    /// A lower bound on the bytes to the next thing that no text has reached, within the rule and
    /// the rules that it calls.
    goal: Vec<u32>,
    least_lengths: FxHashMap<Language, Option<u32>>,
    most_lengths: FxHashMap<Language, Option<u32>>,
}

impl Distances {
    /// The instruction at a point; `update` has read it.
    pub(super) fn instruction(&self, point: u32) -> &Instruction {
        &self.instructions[point as usize]
    }

    /// The number of points whose distances are known.
    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }

    /// The least bytes to the end of the rule.
    pub(super) fn least(&self, point: u32) -> u32 {
        self.least[point as usize]
    }

    /// The most bytes to the end of the rule.
    pub(super) fn most(&self, point: u32) -> u32 {
        self.most[point as usize]
    }

    /// The least number of calls open at once before the end of the rule.
    pub(super) fn depth(&self, point: u32) -> u32 {
        self.depth[point as usize]
    }

    /// The least bytes to something that no text has reached.
    pub(super) fn goal(&self, point: u32) -> u32 {
        self.goal[point as usize]
    }

    /// The bytes of the shortest string of a language; [`INFINITE`] if it has none.
    pub(super) fn least_length(
        &mut self,
        program: &ProgramView,
        language: Language,
    ) -> Result<u32> {
        let known = &mut self.least_lengths;
        Ok(program
            .languages(|languages| {
                witness_length::short_length_memoized(languages, language, known)
            })?
            .unwrap_or(INFINITE))
    }

    /// An upper bound on the bytes of the strings of a language; [`INFINITE`] if none is known.
    pub(super) fn most_length(&mut self, program: &ProgramView, language: Language) -> u32 {
        let known = &mut self.most_lengths;
        program
            .languages(|languages| lengths::max_length(languages, language, known))
            .unwrap_or(INFINITE)
    }

    /// Computes the distances of points that were made since the last update; with `visits` those
    /// to new things, too.
    ///
    /// Errors when the time of the operation is over; the next update then computes all of them.
    pub(super) fn update(&mut self, program: &ProgramView, visits: Option<&Visits>) -> Result<()> {
        let updated = self.update_points(program, visits);
        if updated.is_err() {
            *self = Self::default();
        }
        updated
    }

    fn update_points(&mut self, program: &ProgramView, visits: Option<&Visits>) -> Result<()> {
        let (known, now) = (self.instructions.len(), program.len());
        if known == now {
            return Ok(());
        }
        for point in known..now {
            let instruction = program.instruction(point as u32);
            if let Instruction::Read { language, .. } | Instruction::Capture { language, .. } =
                instruction
            {
                self.least_length(program, language)?;
                self.most_length(program, language);
            }
            self.instructions.push(instruction);
        }
        let from = if now >= 2 * self.settled { 0 } else { known };
        if from == 0 {
            self.settled = now;
        }
        self.least.truncate(from);
        self.depth.truncate(from);
        self.most.truncate(from);
        self.least.resize(now, INFINITE);
        self.depth.resize(now, INFINITE);
        self.most.resize(now, 0);
        self.goal.resize(now, INFINITE);
        let (instructions, lengths) = (&self.instructions, &self.least_lengths);
        lower_until_stable(&mut self.least, from, |point, least| {
            least_of(program, &instructions[point], least, lengths)
        })?;
        lower_until_stable(&mut self.depth, from, |point, depth| {
            depth_of(program, &instructions[point], depth)
        })?;
        for round in 0.. {
            check_round(now - from)?;
            let mut changed = false;
            for point in from..now {
                let instruction = &self.instructions[point];
                let most =
                    most_of(program, instruction, &self.most, &self.least, &self.most_lengths);
                if most > self.most[point] {
                    changed = true;
                    self.most[point] = if round < MAX_GROWING_ROUNDS { most } else { INFINITE };
                }
            }
            if !changed {
                break;
            }
        }
        if let Some(visits) = visits {
            self.find_goals(program, visits)?;
        }
        Ok(())
    }

    /// Computes the distances to things that were not visited.
    pub(super) fn find_goals(&mut self, program: &ProgramView, visits: &Visits) -> Result<()> {
        self.goal.clear();
        self.goal.resize(self.instructions.len(), INFINITE);
        let least = &self.least;
        let is_new: Vec<bool> = (0..self.instructions.len() as u32)
            .map(|point| visits.is_new_place(program, point, &self.instructions[point as usize]))
            .collect();
        lower_until_stable(&mut self.goal, 0, |point, goal| match least[point] {
            INFINITE => INFINITE,
            _ if is_new[point] => 0,
            _ => goal_of(program, &self.instructions[point], point as u32, goal, least, visits),
        })
    }
}

/// Counts a round over so many points towards the deadline, and errors when that is over.
fn check_round(points: usize) -> Result<()> {
    deadline::spend(points / POINTS_PER_CHECK + 1);
    deadline::check()
}

/// Lowers the numbers of the points from `from` on until none changes; `number` computes the number
/// of a point from all numbers.
///
/// Errors when the time of the operation is over: a chain of rules takes as many rounds as it has rules.
fn lower_until_stable(
    numbers: &mut [u32],
    from: usize,
    number: impl Fn(usize, &[u32]) -> u32,
) -> Result<()> {
    loop {
        check_round(numbers.len() - from)?;
        let mut changed = false;
        for point in from..numbers.len() {
            let found = number(point, numbers);
            if found < numbers[point] {
                numbers[point] = found;
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
    }
}

/// The number of a point, or `unknown` if the point is not made or not computed yet.
fn number_or(numbers: &[u32], point: Option<u32>, unknown: u32) -> u32 {
    point.map_or(unknown, |point| numbers.get(point as usize).copied().unwrap_or(unknown))
}

/// The sum, [`INFINITE`] if one of the numbers is.
pub(super) fn plus(a: u32, b: u32) -> u32 {
    a.saturating_add(b)
}

/// The least bytes from an instruction on, by those of the points that it leads to.
fn least_of(
    program: &ProgramView,
    instruction: &Instruction,
    least: &[u32],
    lengths: &FxHashMap<Language, Option<u32>>,
) -> u32 {
    let length = |language: &Language| lengths.get(language).copied().flatten().unwrap_or(INFINITE);
    let of = |point: u32| least[point as usize];
    match instruction {
        Instruction::Return => 0,
        Instruction::Read { language, next } => plus(length(language), of(*next)),
        Instruction::Special => INFINITE,
        // No rule derives the empty text.
        Instruction::Call { rule, next } => {
            plus(number_or(least, program.known_entry(*rule), 1), of(*next))
        }
        Instruction::Fork(targets) => {
            targets.iter().map(|&target| of(target)).min().unwrap_or(INFINITE)
        }
        Instruction::Repeat { min: 0, next, .. } => of(*next),
        Instruction::Repeat { body, min, next, .. } => {
            plus(of(*body).saturating_mul(*min), of(*next))
        }
        Instruction::KeyChoice { choice, all } => {
            let name = |(rank, name): &(u32, Vec<u8>)| {
                plus(
                    name.len() as u32,
                    number_or(least, program.known_key_target(*choice, *rank), 0),
                )
            };
            all.iter().map(name).min().unwrap_or(INFINITE)
        }
        Instruction::Capture { language, .. } => length(language),
        Instruction::Scope { body, .. } => of(*body),
    }
}

/// The calls open at once from an instruction on.
fn depth_of(program: &ProgramView, instruction: &Instruction, depth: &[u32]) -> u32 {
    let of = |point: u32| depth[point as usize];
    match instruction {
        Instruction::Return | Instruction::Capture { .. } => 0,
        Instruction::Read { next, .. } => of(*next),
        Instruction::Special => INFINITE,
        Instruction::Call { rule, next } => {
            let inner = number_or(depth, program.known_entry(*rule), 0);
            match *next {
                ProgramView::RETURN => inner,
                next => plus(inner, 1).max(of(next)),
            }
        }
        Instruction::Fork(targets) => {
            targets.iter().map(|&target| of(target)).min().unwrap_or(INFINITE)
        }
        Instruction::Repeat { min: 0, next, .. } => of(*next),
        Instruction::Repeat { body, next, .. } => plus(of(*body), 1).max(of(*next)),
        Instruction::KeyChoice { choice, all } => {
            let name = |(rank, _): &(u32, Vec<u8>)| {
                number_or(depth, program.known_key_target(*choice, *rank), 0)
            };
            all.iter().map(name).min().unwrap_or(INFINITE)
        }
        Instruction::Scope { body, .. } => plus(of(*body), 1),
    }
}

/// The most bytes from an instruction on; rules that are not made yet have no bound.
fn most_of(
    program: &ProgramView,
    instruction: &Instruction,
    most: &[u32],
    least: &[u32],
    lengths: &FxHashMap<Language, Option<u32>>,
) -> u32 {
    let length = |language: &Language| lengths.get(language).copied().flatten().unwrap_or(INFINITE);
    let of = |point: u32| if least[point as usize] == INFINITE { 0 } else { most[point as usize] };
    match instruction {
        Instruction::Return | Instruction::Special => 0,
        Instruction::Read { language, next } => plus(length(language), of(*next)),
        Instruction::Call { rule, next } => {
            plus(number_or(most, program.known_entry(*rule), INFINITE), of(*next))
        }
        Instruction::Fork(targets) => targets.iter().map(|&target| of(target)).max().unwrap_or(0),
        Instruction::Repeat { body, max, next, .. } => {
            plus(of(*body).saturating_mul(*max), of(*next))
        }
        Instruction::KeyChoice { choice, all } => {
            let name = |(rank, name): &(u32, Vec<u8>)| {
                plus(
                    name.len() as u32,
                    number_or(most, program.known_key_target(*choice, *rank), INFINITE),
                )
            };
            all.iter().map(name).max().unwrap_or(0)
        }
        Instruction::Capture { .. } | Instruction::Scope { .. } => INFINITE,
    }
}

/// The bytes from a point to something that no text has reached.
fn goal_of(
    program: &ProgramView,
    instruction: &Instruction,
    point: u32,
    goal: &[u32],
    least: &[u32],
    visits: &Visits,
) -> u32 {
    let of = |point: u32| goal[point as usize];
    let through = |first: u32, next: u32| plus(first, of(next));
    match instruction {
        Instruction::Return | Instruction::Special | Instruction::Capture { .. } => INFINITE,
        Instruction::Read { next, .. } => {
            through(least[point as usize].saturating_sub(least[*next as usize]), *next)
        }
        Instruction::Call { rule, next } => {
            let entry = program.known_entry(*rule);
            number_or(goal, entry, 0).min(through(number_or(least, entry, 1), *next))
        }
        Instruction::Fork(targets) => {
            let goal = |(i, &target): (usize, &u32)| match least[target as usize] {
                INFINITE => INFINITE,
                _ if visits.is_new_alternative(point, i as u32) => 0,
                _ => of(target),
            };
            targets.iter().enumerate().map(goal).min().unwrap_or(INFINITE)
        }
        Instruction::Repeat { body, min, max, next } => {
            let inner = match least[*body as usize] {
                INFINITE => INFINITE,
                _ if *max > 0 && visits.is_new_alternative(point, 0) => 0,
                _ => of(*body),
            };
            let before = if *min == 0 { 0 } else { least[*body as usize].saturating_mul(*min) };
            inner.min(through(before, *next))
        }
        Instruction::KeyChoice { choice, all } => {
            let name =
                |(rank, name): &(u32, Vec<u8>)| match program.known_key_target(*choice, *rank) {
                    _ if visits.is_new_alternative(point, *rank) => 0,
                    None => 0,
                    known => plus(name.len() as u32, number_or(goal, known, INFINITE)),
                };
            all.iter().map(name).min().unwrap_or(INFINITE)
        }
        Instruction::Scope { body, .. } => of(*body),
    }
}
