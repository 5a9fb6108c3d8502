//! The step budget of one task: compiling a schema, or one call of a matcher.
//!
//! The option `work` bounds the steps of a task. Three places count them: this struct (sets and
//! their combinations), [`MemberFormulas::work`] (nodes of formulas) and `Languages::budget` (work
//! units of regular languages). [`Sets::check_work`] compares the sums with the option and reports
//! the set that was being unfolded. Searches with a state space of their own (`unique_items`,
//! `member_alternatives`, `emptiness`) also bound its size, so that one search fails with an error
//! at its own place instead of using up the whole budget. The time limit is the thread's
//! (`deadline`) and knows of no steps.
//!
//! [`MemberFormulas::work`]: super::member_formula::MemberFormulas
//! [`Sets::check_work`]: super::Sets::check_work

use super::arena::Set;

/// Steps that a new set counts for.
pub(crate) const STEPS_PER_NAME: usize = 10;

/// Steps that one work unit of the languages' budget counts for.
pub(crate) const STEPS_PER_WORK_UNIT: usize = 25;

/// Tasks that failed to decide emptiness this often stop asking: each attempt may cost as much as
/// all work that is left.
const MAX_UNDECIDED: usize = 1_000;

/// Steps counted since the present task began.
#[derive(Debug, Default)]
pub(crate) struct StepBudget {
    pub(crate) steps: usize,
    /// The set that was being unfolded when the budget ran out.
    pub(crate) exceeded_at: Option<Set>,
    /// Emptiness checks of this task that ended without an answer.
    undecided: usize,
    /// The task, as the languages number them.
    task: usize,
}

impl StepBudget {
    /// Begins anew if the languages have begun another task; whether they have.
    pub(crate) fn begin_task(&mut self, task: usize) -> bool {
        let is_new = self.task != task;
        if is_new {
            *self = Self { task, ..Self::default() };
        }
        is_new
    }

    /// Counts an emptiness check that ended without an answer.
    pub(crate) fn note_undecided(&mut self) {
        self.undecided += 1;
    }

    /// Whether further attempts to decide emptiness are worth their steps.
    pub(crate) fn may_decide(&self) -> bool {
        self.undecided <= MAX_UNDECIDED
    }
}
