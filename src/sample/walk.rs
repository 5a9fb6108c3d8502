//! [`TextWalk`]: writes one text, from the start of a program to its end.
//!
//! The walk executes the program with a stack of its own. Where there is a choice, it drops the
//! alternatives that cannot keep the bounds, measured by [`Distances`], and draws among the others:
//! towards something new on the way to a goal, towards the end once the text is long enough.
//!
//! A captured text that is not allowed after all (an item that must differ, a key that came before)
//! is written anew from its [`RetryPoint`].

mod frame;
mod remainder;
mod terminal;
mod terminal_steps;

use super::bounds::Bounds;
use super::choices::Choices;
use super::distances::{Distances, INFINITE, plus};
use super::program_view::{Instruction, ProgramView};
use super::visits::Visits;
use crate::deadline;
use crate::error::Error;
use crate::grammar::key_choice::KeyRank;
use crate::recognizer::KeyChoiceId;
use crate::regular::Language;
use frame::{FrameKind, RetryPoint, WalkFrame};
use remainder::{Remainder, WalkCandidate};
use terminal_steps::TerminalSteps;

/// Attempts at a captured text, whose validity shows only when it is written.
const MAX_TRIES: u32 = 60;
/// Failed texts before the room for longer ones is halved.
const TRIES_PER_HALVING: usize = 8;
/// Once in this many choices, alternatives with which the text stays shorter than its target length are
/// among those drawn from.
const ENDS_EARLY_ONE_IN: u32 = 4;
/// Instructions after which a walk is given up, for each byte that the text may have.
const MAX_INSTRUCTIONS_PER_BYTE: usize = 400;

/// The reason that a walk came to no text.
pub(super) enum WalkFailure {
    /// No alternative keeps the bounds.
    DeadEnd,
    Error(Error),
}

impl From<Error> for WalkFailure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The measure of the bytes from a point to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LengthEstimate {
    /// A bound that no text can be shorter than: cheap, and too low where rules are not made yet.
    LowerBound,
    /// The shortest text that a search finds: safe from dead ends.
    ShortestFound,
}

/// The manner of a walk.
#[derive(Clone, Copy)]
pub(super) struct WalkMode {
    /// Whether it heads for something that no text has reached.
    pub(super) seeks_new: bool,
    pub(super) estimate: LengthEstimate,
    /// Texts that have failed before.
    pub(super) tries: usize,
}

/// A text as it is written.
pub(super) struct TextWalk<'a> {
    program: &'a ProgramView,
    distances: &'a mut Distances,
    visits: &'a mut Visits,
    choices: &'a mut Choices,
    bounds: Bounds,
    /// Whether it still heads for something that no text has reached.
    seeks_new: bool,
    estimate: LengthEstimate,
    /// The length from which on the text heads for its end.
    target_length: usize,
    text: Vec<u8>,
    stack: Vec<WalkFrame>,
    /// Attempts at the captured texts that are being written anew. These must differ from earlier texts, so
    /// while this is not 0, chance decides between alternatives instead of the shortest way.
    retries: u32,
    steps: TerminalSteps,
}

impl<'a> TextWalk<'a> {
    pub(super) fn new(
        program: &'a ProgramView,
        distances: &'a mut Distances,
        visits: &'a mut Visits,
        choices: &'a mut Choices,
        bounds: Bounds,
        mode: WalkMode,
    ) -> Self {
        let WalkMode { seeks_new, estimate, tries } = mode;
        choices.begin();
        let Bounds { min_bytes, max_bytes, .. } = bounds;
        // Short texts are as welcome as long ones: the square of a number between 0 and 1.
        let room = max_bytes.saturating_sub(min_bytes).min(1 << 20) as u64;
        // The more texts have failed, the sooner this one heads for its end.
        let room = room >> (tries / TRIES_PER_HALVING).min(20);
        let part = if choices.is_replaying() { 1 << 16 } else { u64::from(choices.below(1 << 16)) };
        let target_length = min_bytes.saturating_add(((room * part * part) >> 32) as usize);
        Self {
            program,
            distances,
            visits,
            choices,
            bounds,
            seeks_new,
            estimate,
            target_length,
            text: Vec::new(),
            stack: Vec::new(),
            retries: 0,
            steps: TerminalSteps::default(),
        }
    }

    /// The text from this point on.
    pub(super) fn run(mut self, start: u32) -> Result<Vec<u8>, WalkFailure> {
        let mut point = start;
        let most_instructions =
            MAX_INSTRUCTIONS_PER_BYTE.saturating_mul(self.bounds.max_bytes).saturating_add(10_000);
        for _ in 0..most_instructions {
            deadline::check()?;
            self.distances.update(self.program, self.seeks_new.then_some(&*self.visits))?;
            point = match self.execute(point)? {
                Some(next) => next,
                None => return Ok(self.text),
            };
        }
        Err(WalkFailure::DeadEnd)
    }

    /// Executes the instruction at a point; the next point, if the text is not at its end.
    fn execute(&mut self, point: u32) -> Result<Option<u32>, WalkFailure> {
        let instruction = self.distances.instruction(point).clone();
        if !self.choices.is_replaying()
            && self.visits.is_new_place(self.program, point, &instruction)
        {
            self.visits.record_place(self.program, point);
            // The goal is reached.
            self.seeks_new = false;
        }
        Ok(Some(match instruction {
            Instruction::Return => match self.stack.pop() {
                None => return Ok(None),
                Some(frame) => self.return_to(frame)?,
            },
            Instruction::Special => return Err(WalkFailure::DeadEnd),
            Instruction::Read { language, next } => {
                let rest = self.rest(next);
                self.read(language, rest)?;
                next
            }
            Instruction::Call { rule, next } => {
                let entry = self.program.enter(rule)?;
                if next != ProgramView::RETURN {
                    let rest = self.rest(next);
                    self.stack.push(WalkFrame { point: next, kind: FrameKind::Call, rest });
                }
                entry
            }
            Instruction::Fork(targets) => {
                let candidates = (0..).zip(targets.iter()).map(|(i, &target)| WalkCandidate {
                    rest: self.rest(target),
                    depth: self.stack.len() + self.distances.depth(target) as usize,
                    is_new: self.visits.is_new_alternative(point, i),
                });
                let chosen = self.choose(&candidates.collect::<Vec<_>>())?;
                self.take(point, chosen as u32);
                targets[chosen]
            }
            Instruction::Repeat { .. } => self.repeat(point, 0)?,
            Instruction::KeyChoice { choice, all } => loop {
                let candidates: Vec<WalkCandidate> = all
                    .iter()
                    .map(|(rank, name)| WalkCandidate {
                        rest: self.rest_of_key(point, choice, *rank, name.len() as u32),
                        depth: self.stack.len(),
                        is_new: self.visits.is_new_alternative(point, *rank),
                    })
                    .collect();
                let recorded = self.choices.len();
                let (rank, name) = &all[self.choose(&candidates)?];
                let next = self.program.after_key(choice, *rank)?;
                if self.estimate == LengthEstimate::ShortestFound {
                    self.distances.update(self.program, self.seeks_new.then_some(&*self.visits))?;
                    let length = name.len() as u32;
                    let rest = self.rest_of_key(point, choice, *rank, length);
                    if self.text.len() + rest.least as usize > self.bounds.max_bytes {
                        // The key is known to be too long now, and is not chosen again.
                        self.choices.truncate(recorded);
                        continue;
                    }
                }
                self.take(point, *rank);
                self.text.extend_from_slice(name);
                break next;
            },
            Instruction::Capture { language, tag } => self.capture(language, tag)?,
            Instruction::Scope { body, tag } => {
                let begun =
                    RetryPoint { bytes: self.text.len(), choices: self.choices.len(), tries: 0 };
                self.enter_scope(point, body, tag, begun)
            }
        }))
    }

    fn enter_scope(&mut self, point: u32, body: u32, tag: u32, begun: RetryPoint) -> u32 {
        let rest = self.rest_after(tag);
        self.stack.push(WalkFrame { point, kind: FrameKind::Scope(begun), rest });
        body
    }

    /// Returns to a frame; the next point.
    fn return_to(&mut self, frame: WalkFrame) -> Result<u32, WalkFailure> {
        let begun = match frame.kind {
            FrameKind::Call => return Ok(frame.point),
            FrameKind::Repeat(times) => return self.repeat(frame.point, times),
            FrameKind::Scope(begun) => begun,
        };
        let Instruction::Scope { body, tag } = *self.distances.instruction(frame.point) else {
            return Err(WalkFailure::DeadEnd);
        };
        self.retries = self.retries.saturating_sub(begun.tries);
        match self.program.after_capture(tag, &self.text[begun.bytes..])? {
            Some(next) => {
                self.visits.record_continuation(next);
                Ok(next)
            }
            None => {
                let begun = self.undo(begun)?;
                self.retries += begun.tries;
                Ok(self.enter_scope(frame.point, body, tag, begun))
            }
        }
    }

    /// Takes the text back to the beginning of a captured text, for another attempt.
    fn undo(&mut self, begun: RetryPoint) -> Result<RetryPoint, WalkFailure> {
        if begun.tries == MAX_TRIES {
            return Err(WalkFailure::DeadEnd);
        }
        self.text.truncate(begun.bytes);
        self.choices.truncate(begun.choices);
        Ok(RetryPoint { tries: begun.tries + 1, ..begun })
    }

    /// Another turn of a repeat that has had `times` turns, or the end of it; the next point.
    fn repeat(&mut self, point: u32, times: u32) -> Result<u32, WalkFailure> {
        let Instruction::Repeat { body, min, max, next } = *self.distances.instruction(point)
        else {
            return Err(WalkFailure::DeadEnd);
        };
        let (least, most) = (self.least(body), self.distances.most(body));
        // Turns that must follow another one, and those that may.
        let (must, may) = (min.saturating_sub(times + 1), max.saturating_sub(times + 1));
        let on = self.rest(next);
        let after = on.after(least.saturating_mul(must), most.saturating_mul(may));
        let (goal, body_goal) = (after.goal, self.distances.goal(body));
        let once = WalkCandidate {
            rest: Remainder { goal: body_goal.min(plus(least, goal)), ..after.after(least, most) },
            depth: self.stack.len() + 1 + self.distances.depth(body) as usize,
            is_new: self.visits.is_new_alternative(point, 0),
        };
        let depth = self.stack.len() + self.distances.depth(next) as usize;
        let stop = WalkCandidate { rest: on, depth, is_new: false };
        let has_another_turn = if times < min {
            true
        } else if times < max && least != INFINITE {
            self.choose(&[stop, once])? == 1
        } else {
            false
        };
        if !has_another_turn {
            return Ok(next);
        }
        self.take(point, 0);
        self.stack.push(WalkFrame { point, kind: FrameKind::Repeat(times + 1), rest: after });
        Ok(body)
    }

    /// Writes a captured string of a language; the next point.
    fn capture(&mut self, language: Language, tag: u32) -> Result<u32, WalkFailure> {
        let mut begun =
            RetryPoint { bytes: self.text.len(), choices: self.choices.len(), tries: 0 };
        let rest = self.rest_after(tag);
        loop {
            self.read(language, rest)?;
            self.retries = self.retries.saturating_sub(begun.tries);
            if let Some(next) = self.program.after_capture(tag, &self.text[begun.bytes..])? {
                self.visits.record_continuation(next);
                return Ok(next);
            }
            begun = self.undo(begun)?;
            self.retries += begun.tries;
        }
    }

    /// The rest of the text after the rule that is being written.
    fn below(&self) -> Remainder {
        self.stack.last().map_or(Remainder::END, |frame| frame.rest)
    }

    /// The rest of the text from a point on.
    fn rest(&self, point: u32) -> Remainder {
        let below = self.below();
        let (least, most) = (self.least(point), self.distances.most(point));
        let goal = self.distances.goal(point).min(plus(least, below.goal));
        Remainder { least: plus(least, below.least), most: plus(most, below.most), goal }
    }

    /// Bytes from a point to the end of its rule.
    fn least(&self, point: u32) -> u32 {
        match self.distances.least(point) {
            INFINITE => INFINITE,
            least => match self.estimate {
                LengthEstimate::LowerBound => least,
                LengthEstimate::ShortestFound => {
                    self.program.shortest_bytes(point).map_or(least, |bytes| bytes.max(least))
                }
            },
        }
    }

    /// The rest of the text from a key on, the key included.
    fn rest_of_key(
        &self,
        point: u32,
        choice: KeyChoiceId,
        rank: KeyRank,
        length: u32,
    ) -> Remainder {
        let known = self.program.known_key_target(choice, rank);
        match known.filter(|&target| (target as usize) < self.distances.len()) {
            Some(target) => self.rest(target).after(length, length),
            None => {
                let below =
                    Remainder { most: INFINITE, goal: 0, ..self.below() }.after(length, INFINITE);
                // The shortest text goes through a key that is known.
                let shortest = match self.estimate {
                    LengthEstimate::LowerBound => 0,
                    LengthEstimate::ShortestFound => plus(self.rest(point).least, 1),
                };
                Remainder { least: below.least.max(shortest), ..below }
            }
        }
    }

    /// The rest of the text after a captured text.
    fn rest_after(&self, tag: u32) -> Remainder {
        let below = Remainder { most: INFINITE, ..self.below() };
        match self.estimate {
            LengthEstimate::ShortestFound => {
                below.after(self.program.shortest_bytes_after_capture(tag).unwrap_or(0), INFINITE)
            }
            LengthEstimate::LowerBound => below,
        }
    }

    /// Records that an alternative is taken.
    fn take(&mut self, point: u32, number: u32) {
        if !self.choices.is_replaying() && self.visits.is_new_alternative(point, number) {
            self.visits.record_alternative(point, number);
            self.seeks_new = false;
        }
    }

    /// Whether some text that goes on with a candidate keeps the upper bounds.
    fn fits(&self, candidate: &WalkCandidate) -> bool {
        self.text.len() + candidate.rest.least as usize <= self.bounds.max_bytes
            && candidate.rest.least != INFINITE
            && self.bounds.max_depth.is_none_or(|most| candidate.depth <= most)
    }

    /// Whether some text that goes on with a candidate is as long as this one is meant to be.
    fn may_reach_target(&self, candidate: &WalkCandidate) -> bool {
        self.text.len() + candidate.rest.most as usize >= self.target_length
    }

    /// Chooses one of some candidates, by its index.
    fn choose(&mut self, candidates: &[WalkCandidate]) -> Result<usize, WalkFailure> {
        let mut open: Vec<usize> =
            (0..candidates.len()).filter(|&i| self.fits(&candidates[i])).collect();
        let may_be_long = |&i: &usize| {
            self.text.len() + candidates[i].rest.most as usize >= self.bounds.min_bytes
        };
        if open.iter().any(may_be_long) {
            open.retain(may_be_long);
        }
        match open[..] {
            [] => return Err(WalkFailure::DeadEnd),
            [one] => return Ok(one),
            _ => {}
        }
        // The simplest first.
        open.sort_by_key(|&i| candidates[i].rest.least);
        if self.retries == 0
            && let Some(told) = self.choices.replayed(open.len())
        {
            self.choices.record(told);
            return Ok(open[told]);
        }
        let least = candidates[open[0]].rest.least;
        let mut among: Vec<usize> = open.clone();
        let goal = |&i: &usize| if candidates[i].is_new { 0 } else { candidates[i].rest.goal };
        let nearest = open.iter().map(goal).min().unwrap_or(INFINITE);
        if self.seeks_new && self.retries == 0 && nearest != INFINITE {
            among.retain(|i| goal(i) == nearest);
        } else if self.text.len() + least as usize >= self.target_length && self.retries == 0 {
            among.retain(|&i| candidates[i].rest.least == least);
        } else if self.retries == 0
            && open.iter().any(|&i| self.may_reach_target(&candidates[i]))
            && !self.choices.one_in(ENDS_EARLY_ONE_IN)
        {
            among.retain(|&i| self.may_reach_target(&candidates[i]));
        }
        let new: Vec<usize> = among.iter().copied().filter(|&i| candidates[i].is_new).collect();
        if !new.is_empty() && self.choices.one_in(2) {
            among = new;
        }
        let chosen = among[self.choices.below(among.len() as u32) as usize];
        self.choices.record(open.iter().position(|&i| i == chosen).unwrap_or(0));
        Ok(chosen)
    }
}
