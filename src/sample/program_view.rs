//! [`ProgramView`]: a compiled program as a graph of points, of which one path is followed at a
//! time.
//!
//! A matcher follows all paths at once and sees bytes. A generator of texts chooses one path, so it
//! needs the rules and alternatives: the [`Instruction`] at each point, and the points that follow.
//! All of the sampler's knowledge of the engine is in this file.
//!
//! ```text
//! root ::= "a" root | "b"        point 0  Fork [1, 3]
//!                                point 1  Read "a", next 2
//!                                point 2  Call root, next RETURN
//!                                point 3  Read "b", next RETURN
//! ```
//!
//! The view has a memory of its own: rules that are made when they are entered, states of
//! terminals. So the texts of a seed depend on the constraint alone, and never on the texts that
//! matchers have read.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::LeastDerivations;
use crate::constraint::{Constraint, MemoryHandle};
use crate::deadline;
use crate::error::Result;
use crate::grammar::RuleId;
use crate::grammar::key_choice::KeyRank;
use crate::recognizer::{KeyChoiceId, Point, Program, RETURN};
use crate::regular::{Language, Languages};

/// The instruction at a point of a program.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Return to the caller; without a caller the text ends.
    Return,
    /// Read a string of a language, then go on at `next`.
    Read { language: Language, next: u32 },
    /// Read a special token, which no text spells.
    Special,
    /// Call a rule, which returns to `next`; a tail call if that is [`ProgramView::RETURN`].
    Call { rule: RuleId, next: u32 },
    /// Go on at any of these points.
    Fork(Box<[u32]>),
    /// Run `body` (which returns here) `min` to `max` times, then go on at `next`.
    Repeat { body: u32, min: u32, max: u32, next: u32 },
    /// Read one of the keys `all` (rank and bytes) of a choice, then go on after that key
    /// ([`ProgramView::after_key`]).
    KeyChoice { choice: KeyChoiceId, all: Arc<[(KeyRank, Vec<u8>)]> },
    /// Read a string of a language, then go on after that string
    /// ([`ProgramView::after_capture`]).
    Capture { language: Language, tag: u32 },
    /// Run `body` (which returns here), then go on after the text that it has read
    /// ([`ProgramView::after_capture`]).
    Scope { body: u32, tag: u32 },
}

/// A compiled program with memory of its own.
#[derive(Debug)]
pub(super) struct ProgramView {
    memory: MemoryHandle,
    /// Bytes that the memory may grow by.
    memory_limit: usize,
    /// Points from which no text to the end was found, with the number of points at that time.
    failed_searches: RefCell<FxHashMap<u32, usize>>,
}

impl ProgramView {
    /// The point at the end of a rule's body.
    pub(super) const RETURN: u32 = RETURN;

    /// A view with memory of its own. Errors as compiling the constraint may.
    pub(super) fn new(constraint: &Constraint) -> Result<Self> {
        let (memory, memory_limit) = constraint.fresh_memory()?;
        Ok(Self { memory, memory_limit, failed_searches: RefCell::default() })
    }

    /// Lends the program and the arena of its terminals.
    fn with<T>(&self, f: impl FnOnce(&Program, &mut Languages) -> T) -> T {
        let recognizer = &mut self.memory.lock().recognizer;
        f(&recognizer.program, &mut recognizer.languages)
    }

    /// Lends the arena of the terminals, for stepping them.
    pub(super) fn languages<T>(&self, f: impl FnOnce(&mut Languages) -> T) -> T {
        self.with(|_, languages| f(languages))
    }

    /// Whether its memory has outgrown the constraint's limit; a new view begins with empty memory.
    pub(super) fn is_outgrown(&self) -> bool {
        self.memory.lock().memory_bytes()
            > self.memory.initial_bytes.saturating_add(self.memory_limit)
    }

    /// The point at which texts begin.
    pub(super) fn start(&self) -> Result<u32> {
        let rule = self.with(|program, _| program.start());
        self.enter(rule)
    }

    /// The number of points made so far. Points are numbered from 0 and never change.
    pub(super) fn len(&self) -> usize {
        self.with(|program, _| program.len())
    }

    /// The instruction at a point.
    pub(super) fn instruction(&self, point: u32) -> Instruction {
        self.with(|program, _| match program.point(point) {
            Point::Sentinel => Instruction::Return,
            Point::Regular { language, next } => Instruction::Read { language, next },
            Point::Special { .. } => Instruction::Special,
            Point::Call { rule, next } => Instruction::Call { rule, next },
            Point::Fork(branches) => {
                Instruction::Fork(program.branches(branches).as_slice().into())
            }
            Point::Repeat { body, min, max, next } => Instruction::Repeat { body, min, max, next },
            // A text alone, not its tokens.
            Point::Budget { body, next, .. } => Instruction::Repeat { body, min: 1, max: 1, next },
            Point::KeyChoice(choice) => {
                Instruction::KeyChoice { choice, all: program.allowed_keys(choice).into() }
            }
            Point::Capture { language, tag } => Instruction::Capture { language, tag },
            Point::Scope { body, tag } => Instruction::Scope { body, tag },
        })
    }

    /// The first point of a rule's body, if it was entered before.
    pub(super) fn known_entry(&self, rule: RuleId) -> Option<u32> {
        self.with(|program, _| program.entry(rule))
    }

    /// The first point of a rule's body, which is made if need be.
    pub(super) fn enter(&self, rule: RuleId) -> Result<u32> {
        self.with(|program, languages| {
            if program.entry(rule).is_none() {
                program.expand(rule, languages)?;
            }
            // Known now.
            Ok(program.entry(rule).unwrap_or(RETURN))
        })
    }

    /// The point after a key, if it was read before.
    pub(super) fn known_key_target(&self, choice: KeyChoiceId, rank: KeyRank) -> Option<u32> {
        self.with(|program, _| program.known_key_target(choice, rank))
    }

    /// The point after a key, which is made if need be.
    pub(super) fn after_key(&self, choice: KeyChoiceId, rank: KeyRank) -> Result<u32> {
        self.with(|program, languages| program.after_key(choice, rank, languages))
    }

    /// The point after a captured text; `None` if the text is not allowed after all.
    pub(super) fn after_capture(&self, tag: u32, text: &[u8]) -> Result<Option<u32>> {
        self.with(|program, languages| program.after_capture(tag, Some(text), languages))
    }

    /// The bytes of the shortest text that is found from a point to the end of its rule, a special
    /// token counted as one byte; `None` if none is found or a limit is reached (the walk that goes
    /// on from there reports it). A captured text counts as one that changes nothing.
    pub(super) fn shortest_bytes(&self, point: u32) -> Option<u32> {
        // The program must have doubled before another search is worth its time.
        let points = self.len();
        if self.failed_searches.borrow().get(&point).is_some_and(|&then| points / 2 < then) {
            return None;
        }
        let memory = &mut *self.memory.lock();
        let plans = &mut memory.completions.plans;
        plans.plan_lengths();
        let found = LeastDerivations::new(&mut memory.recognizer, plans).point_bytes(point);
        let found = found.ok().flatten();
        // A search that ran out of time says nothing.
        if found.is_none() && !deadline::is_over() {
            self.failed_searches.borrow_mut().insert(point, points);
        }
        found.map(|bytes| bytes.try_into().unwrap_or(u32::MAX))
    }

    /// The bytes of the shortest text that is found after any text of a capture.
    pub(super) fn shortest_bytes_after_capture(&self, tag: u32) -> Option<u32> {
        let point = self.with(|program, languages| program.after_capture(tag, None, languages));
        self.shortest_bytes(point.ok().flatten()?)
    }

    /// The number of the place in the constraint that a point comes from.
    pub(super) fn origin_id(&self, point: u32) -> u32 {
        self.with(|program, _| program.origin_id(point))
    }

    /// An [`origin_id`](Self::origin_id) in words: a rule with line and column, or a JSON pointer.
    pub(super) fn origin_text(&self, origin: u32) -> String {
        self.with(|program, _| program.origin_text(origin))
    }
}
