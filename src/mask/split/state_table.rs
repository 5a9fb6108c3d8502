//! The states that one walk comes through, numbered, with their successors side by side: a step is
//! one look-up in memory that stays in the processor's cache.

use rustc_hash::FxHashMap;

use super::byte_classes::uniform_classes;
use super::byte_groups::self_loop_groups;
use super::{SplitEnds, SplitState, word_bytes};
use crate::error::Result;
use crate::mask::strategies::{Strategies, Strategy};
use crate::regular::computed_parts;
use crate::regular::{ByteSet, Language, Languages};

/// A transition table that is filled as it is read.
pub(in crate::mask) struct StateTable<'a> {
    pub(in crate::mask) languages: &'a mut Languages,
    states: Vec<Language>,
    ids: FxHashMap<Language, u32>,
    next: Vec<[u32; 256]>,
    accepting: Vec<bool>,
    ends: SplitEnds,
    strategies: Strategies,
    /// The word bytes with which a state goes on where the terminal may end. Once asked.
    word_bytes: Vec<Option<ByteSet>>,
    /// The classes of which a state treats the bytes alike. Once asked.
    uniform: Vec<Option<ByteSet>>,
    /// The groups of the bytes that leave a state where it is. Once asked.
    self_loops: Vec<Option<u64>>,
}

impl<'a> StateTable<'a> {
    pub(in crate::mask) const START: u32 = 0;
    pub(in crate::mask) const DEAD: u32 = u32::MAX;
    /// Not computed yet.
    const UNFILLED: u32 = u32::MAX - 1;

    pub(in crate::mask) fn new(
        languages: &'a mut Languages,
        start: SplitState,
        strategies: Strategies,
    ) -> Self {
        let mut this = Self {
            languages,
            states: Vec::new(),
            ids: FxHashMap::default(),
            next: Vec::new(),
            accepting: Vec::new(),
            ends: start.ends,
            strategies,
            word_bytes: Vec::new(),
            uniform: Vec::new(),
            self_loops: Vec::new(),
        };
        this.number(start.state);
        this
    }

    /// The number of a state.
    pub(in crate::mask) fn number(&mut self, state: Language) -> u32 {
        *self.ids.entry(state).or_insert_with(|| {
            self.accepting.push(self.languages.is_nullable(state));
            self.next.push([Self::UNFILLED; 256]);
            self.uniform.push(None);
            self.word_bytes.push(None);
            self.self_loops.push(None);
            self.states.push(state);
            self.states.len() as u32 - 1
        })
    }

    /// The number of a state, or [`DEAD`](Self::DEAD) for one that has no strings.
    pub(in crate::mask) fn number_or_dead(&mut self, state: Language) -> u32 {
        if state == Language::EMPTY { Self::DEAD } else { self.number(state) }
    }

    /// The state of a number.
    pub(in crate::mask) fn state(&self, number: u32) -> Language {
        if number == Self::DEAD { Language::EMPTY } else { self.states[number as usize] }
    }

    /// The state after a byte, or [`DEAD`](Self::DEAD).
    #[inline(always)]
    pub(in crate::mask) fn step(&mut self, state: u32, byte: u8) -> Result<u32> {
        match self.next[state as usize][usize::from(byte)] {
            Self::UNFILLED => self.fill(state, byte),
            next => Ok(next),
        }
    }

    #[cold]
    fn fill(&mut self, state: u32, byte: u8) -> Result<u32> {
        let next = match self.languages.step(self.states[state as usize], byte)? {
            Language::EMPTY => Self::DEAD,
            next => self.number(next),
        };
        self.next[state as usize][usize::from(byte)] = next;
        Ok(next)
    }

    /// Like [`step`](Self::step), also from [`DEAD`](Self::DEAD).
    pub(in crate::mask) fn step_or_dead(&mut self, state: u32, byte: u8) -> Result<u32> {
        if state == Self::DEAD { Ok(Self::DEAD) } else { self.step(state, byte) }
    }

    /// `None` where the terminal cannot end; otherwise the word bytes with which it may go on, which decide
    /// whether the end is listed.
    pub(in crate::mask) fn end_word_bytes(&mut self, state: u32) -> Result<Option<ByteSet>> {
        if state == Self::DEAD || !self.is_accepting(state) {
            return Ok(None);
        }
        self.word_bytes(state).map(Some)
    }

    /// The word bytes with which a state may go on; none where all ends are asked for.
    pub(in crate::mask) fn word_bytes(&mut self, state: u32) -> Result<ByteSet> {
        if self.ends == SplitEnds::All {
            return Ok(ByteSet::EMPTY);
        }
        if let Some(known) = self.word_bytes[state as usize] {
            return Ok(known);
        }
        let bytes = word_bytes(self.languages.first_bytes(self.states[state as usize])?);
        self.word_bytes[state as usize] = Some(bytes);
        Ok(bytes)
    }

    /// The groups of which all bytes lead from a state to itself.
    pub(in crate::mask) fn self_loops(&mut self, state: u32) -> Result<u64> {
        if let Some(known) = self.self_loops[state as usize] {
            return Ok(known);
        }
        let language = self.states[state as usize];
        let skips = self.strategies.has(Strategy::SubtreeSkips);
        let groups =
            if !skips || computed_parts::starts_with_stepwise_automaton(self.languages, language) {
                0
            } else {
                self_loop_groups(language, self.languages.derivative_row(language)?)
            };
        self.self_loops[state as usize] = Some(groups);
        Ok(groups)
    }

    /// Whether the terminal may end in a state.
    pub(in crate::mask) fn is_accepting(&self, state: u32) -> bool {
        self.accepting[state as usize]
    }

    /// Whether a state treats the bytes of a class alike.
    pub(in crate::mask) fn is_uniform(&mut self, state: u32, class: u8) -> Result<bool> {
        if let Some(known) = &self.uniform[state as usize] {
            return Ok(known.contains(class));
        }
        let language = self.states[state as usize];
        let uniform = if computed_parts::starts_with_stepwise_automaton(self.languages, language) {
            ByteSet::EMPTY
        } else {
            uniform_classes(self.languages.derivative_row(language)?)
        };
        self.uniform[state as usize] = Some(uniform);
        Ok(uniform.contains(class))
    }
}
