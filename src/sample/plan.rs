//! A program as it looks to a room that follows one way through it at a time.
//!
//! Matchers follow all ways at once and see bytes; whoever writes texts of a constraint wants to
//! see its rules and alternatives, and to choose among them. A [`Plan`] is that view, on memory of
//! its own: what it learns (rules that are made as they are entered, states of terminals) depends
//! on nothing but what was asked of it.

use std::cell::RefCell;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::completion::LeastDerivations;
use crate::constraint::{Constraint, MemoryHandle};
use crate::deadline;
use crate::error::Result;
use crate::grammar::RuleId;
use crate::recognizer::{Point, Program, RETURN};
use crate::regular::{Language, Languages};

/// What stands at a point.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    /// Back to the caller; at the end of the whole text there is none.
    Return,
    /// Read a string of a language, then go on.
    Read { language: Language, next: u32 },
    /// A special token, which is no text.
    Special,
    /// Go to a rule's body, which returns to `next`; a tail call if that is [`Plan::RETURN`].
    Call { rule: RuleId, next: u32 },
    /// Any of these.
    Fork(Box<[u32]>),
    /// `body` (which returns here) `min` to `max` times, then go on.
    Repeat { body: u32, min: u32, max: u32, next: u32 },
    /// Read one of these names (rank and bytes), then go on where that name leads.
    Names { names: u32, all: Arc<[(u32, Vec<u8>)]> },
    /// Read a string of a language, then go on where that string leads.
    Capture { language: Language, tag: u32 },
    /// `body` (which returns here), then go on where the text that it has read leads.
    Scope { body: u32, tag: u32 },
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Plan {
    memory: MemoryHandle,
    limit: usize,
    /// From where no text to the end was found, and how many points there were then.
    vain: RefCell<FxHashMap<u32, usize>>,
}

impl Plan {
    /// The end of a rule's body.
    pub(crate) const RETURN: u32 = RETURN;

    /// Errors as compiling the constraint may.
    pub(crate) fn new(constraint: &Constraint) -> Result<Self> {
        let (memory, limit) = constraint.fresh_memory()?;
        Ok(Self { memory, limit, vain: RefCell::default() })
    }

    fn with<T>(&self, f: impl FnOnce(&Program, &mut Languages) -> T) -> T {
        let recognizer = &mut self.memory.lock().recognizer;
        f(&recognizer.program, &mut recognizer.languages)
    }

    /// Steps terminals.
    pub(crate) fn languages<T>(&self, f: impl FnOnce(&mut Languages) -> T) -> T {
        self.with(|_, languages| f(languages))
    }

    /// Has its memory outgrown the constraint's limit? A new plan begins without.
    pub(crate) fn is_outgrown(&self) -> bool {
        self.memory.lock().bytes() > self.memory.initial_bytes + self.limit
    }

    /// Where texts begin.
    pub(crate) fn start(&self) -> Result<u32> {
        let rule = self.with(|program, _| program.start());
        self.enter(rule)
    }

    /// How many points there are by now; those that are known never change.
    pub(crate) fn len(&self) -> usize {
        self.with(|program, _| program.len())
    }

    /// What stands at a point.
    pub(crate) fn turn(&self, point: u32) -> Turn {
        self.with(|program, _| match program.point(point) {
            Point::Border => Turn::Return,
            Point::Regular { language, next } => Turn::Read { language, next },
            Point::Special { .. } => Turn::Special,
            Point::Call { rule, next } => Turn::Call { rule, next },
            Point::Fork(branches) => Turn::Fork(program.branches(branches).as_slice().into()),
            Point::Repeat { body, min, max, next } => Turn::Repeat { body, min, max, next },
            Point::Names(names) => Turn::Names { names, all: program.allowed_names(names).into() },
            Point::Capture { language, tag } => Turn::Capture { language, tag },
            Point::Scope { body, tag } => Turn::Scope { body, tag },
        })
    }

    /// Where a rule's body begins, if it was entered before.
    pub(crate) fn known_entry(&self, rule: RuleId) -> Option<u32> {
        self.with(|program, _| program.entry(rule))
    }

    /// Where a rule's body begins.
    pub(crate) fn enter(&self, rule: RuleId) -> Result<u32> {
        self.with(|program, languages| {
            if program.entry(rule).is_none() {
                program.expand(rule, languages)?;
            }
            // Known now.
            Ok(program.entry(rule).unwrap_or(RETURN))
        })
    }

    /// Where a name leads, if it was read before.
    pub(crate) fn known_name(&self, names: u32, rank: u32) -> Option<u32> {
        self.with(|program, _| program.known_name(names, rank))
    }

    /// Where a name leads.
    pub(crate) fn after_name(&self, names: u32, rank: u32) -> Result<u32> {
        self.with(|program, languages| program.after_name(names, rank, languages))
    }

    /// Where a captured text leads; `None` if it is not allowed after all.
    pub(crate) fn after_capture(&self, tag: u32, text: &[u8]) -> Result<Option<u32>> {
        self.with(|program, languages| program.after_capture(tag, Some(text), languages))
    }

    /// The bytes of the shortest text that is found from a point to the end of its rule, special
    /// tokens counted as one; `None` if none is, or a limit is reached on the way, of which whoever
    /// goes on will hear. A captured text counts as one that changes nothing.
    pub(crate) fn shortest(&self, point: u32) -> Option<u32> {
        // It was sought far and wide: what has come since must be worth another search.
        let points = self.len();
        if self.vain.borrow().get(&point).is_some_and(|&then| points / 2 < then) {
            return None;
        }
        let memory = &mut *self.memory.lock();
        let plans = &mut memory.completions.plans;
        plans.plan_lengths();
        let found = LeastDerivations::new(&mut memory.recognizer, plans).point_bytes(point);
        let found = found.ok().flatten();
        // What was not found in time may be found another time.
        if found.is_none() && !deadline::is_over() {
            self.vain.borrow_mut().insert(point, points);
        }
        found.map(|bytes| bytes.try_into().unwrap_or(u32::MAX))
    }

    /// The same, from behind a captured text.
    pub(crate) fn shortest_after(&self, tag: u32) -> Option<u32> {
        let point = self.with(|program, languages| program.after_capture(tag, None, languages));
        self.shortest(point.ok().flatten()?)
    }

    /// Where a point comes from, by number.
    pub(crate) fn label(&self, point: u32) -> u32 {
        self.with(|program, _| program.label(point))
    }

    /// What [`label`](Self::label) stands for: a rule and its place, a JSON pointer.
    pub(crate) fn label_text(&self, label: u32) -> String {
        self.with(|program, _| program.label_text(label))
    }
}
