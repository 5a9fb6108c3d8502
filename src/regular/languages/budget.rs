//! Limits on the states of an arena, and on the work of one task.

/// Parts of a union that are put together in about a microsecond, the unit of `deadline::spend`.
pub(super) const PARTS_PER_MICROSECOND: usize = 8;

/// Limits on the states of an arena and on the work of one task.
///
/// Work is counted in *work units*: 1 for computing the row (256 successors) of an expression, 2 for
/// each operand of a union or an intersection, 8 for an automaton that computes its states, 1 more
/// for every 16 entries that are combined, and 1 for every 32 operands of a union or an intersection
/// that is built.
#[derive(Clone, Debug)]
pub(crate) struct StateBudget {
    /// The most states that the arena may hold.
    pub(super) max_states: usize,
    /// Work units since the task began.
    pub(super) work: usize,
    /// The most that `work` may be, in work units.
    pub(super) max_work: usize,
    /// Number of tasks that were begun.
    tasks: usize,
}

impl StateBudget {
    pub(super) fn new(max_states: usize) -> Self {
        Self { max_states, work: 0, max_work: usize::MAX, tasks: 0 }
    }

    /// The most states that the arena may hold.
    pub(crate) fn max_states(&self) -> usize {
        self.max_states
    }

    /// Bounds the work units of one task; a row beyond it is an error.
    pub(crate) fn set_max_work(&mut self, max_work: usize) {
        self.max_work = max_work;
    }

    /// Work units since the task began.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    /// Begins a task, whose work counts from zero.
    pub(crate) fn begin_task(&mut self) {
        self.work = 0;
        self.tasks += 1;
    }

    /// Number of tasks that were begun.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks
    }
}
