//! [`Visits`]: a record of the parts of a program that texts have reached.

use rustc_hash::FxHashSet;

use super::program_view::{Instruction, ProgramView};
use crate::regular::Language;

/// States of terminals that are recorded; later ones count for nothing. Bounds the memory.
const MAX_STATES: usize = 1 << 20;

/// The places, alternatives and terminal steps that texts have reached.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// Origins ([`ProgramView::origin_id`]) of points that texts have come to.
    pub(super) origins: FxHashSet<u32>,
    /// Alternatives that texts have taken, by point and number.
    alternatives: FxHashSet<(u32, u32)>,
    /// Points after captured texts, which no other point leads to.
    pub(super) continuations: FxHashSet<u32>,
    /// States of terminals that texts have come to.
    states: FxHashSet<Language>,
    /// Steps of terminals that texts have taken.
    pub(super) steps: FxHashSet<(Language, Language)>,
    /// The number of steps from `states`.
    pub(super) steps_known: usize,
    /// Origins, in words, of points of earlier program views that texts have come to.
    pub(super) earlier_origins: FxHashSet<String>,
}

impl Visits {
    /// The number of origins and alternatives that were reached.
    pub(super) fn count(&self) -> usize {
        self.origins.len() + self.alternatives.len()
    }

    pub(super) fn record_place(&mut self, program: &ProgramView, point: u32) {
        self.origins.insert(program.origin_id(point));
    }

    pub(super) fn record_alternative(&mut self, point: u32, number: u32) {
        self.alternatives.insert((point, number));
    }

    /// Records the point after a captured text.
    pub(super) fn record_continuation(&mut self, point: u32) {
        self.continuations.insert(point);
    }

    /// Whether no text has taken an alternative of a point.
    pub(super) fn is_new_alternative(&self, point: u32, number: u32) -> bool {
        !self.alternatives.contains(&(point, number))
    }

    /// Whether a point is a place that no text has come to.
    pub(super) fn is_new_place(
        &self,
        program: &ProgramView,
        point: u32,
        instruction: &Instruction,
    ) -> bool {
        is_place(instruction) && !self.origins.contains(&program.origin_id(point))
    }

    /// Records a state of a terminal and the number of its successors.
    pub(super) fn record_state(&mut self, state: Language, successors: usize) {
        if self.states.len() < MAX_STATES && self.states.insert(state) {
            self.steps_known += successors;
        }
    }

    /// Whether no text has taken a step of a terminal.
    pub(super) fn is_new_step(&self, from: Language, to: Language) -> bool {
        !self.steps.contains(&(from, to))
    }

    /// Records a step of a terminal, if its state is recorded.
    pub(super) fn record_step(&mut self, from: Language, to: Language) {
        if self.states.contains(&from) {
            self.steps.insert((from, to));
        }
    }

    /// Forgets the numbers of points and keeps the origins in words, since another view numbers its
    /// points in another order.
    pub(super) fn forget_points(&mut self, program: &ProgramView) {
        let origins = self.origins.iter().map(|&origin| program.origin_text(origin));
        let earlier_origins = origins.chain(self.earlier_origins.drain()).collect();
        *self = Self { earlier_origins, ..Self::default() };
    }
}

/// Whether an instruction stands for a place in the text of a grammar or schema.
pub(super) fn is_place(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Return
        | Instruction::Special
        | Instruction::Fork(_)
        | Instruction::Repeat { .. } => false,
        Instruction::Read { .. }
        | Instruction::Call { .. }
        | Instruction::KeyChoice { .. }
        | Instruction::Capture { .. }
        | Instruction::Scope { .. } => true,
    }
}
