//! The counters of stack frames, and how reading tokens changes those of rule budgets.
//!
//! A frame's counter is the completed runs of a repeat; with the bit [`SCOPE`], an offset in the recorded
//! text; with the bit [`BUDGET`], the tokens that a part of the grammar has left. This file imports
//! nothing of the stacks that hold the frames.

use rustc_hash::FxHashMap;

use super::item::StackId;

/// Bit in a counter: the frame is a scope's, and the other bits are the offset in the recorded text
/// at which the scope's text begins.
pub(super) const SCOPE: u32 = 1 << 31;

/// Bit in a frame's counter: the frame is a budget's, and the bits below [`CHARGED`] are the tokens
/// left.
pub(super) const BUDGET: u32 = 1 << 30;

/// Bit in a budget's counter: the token being read is counted already.
pub(super) const CHARGED: u32 = 1 << 29;

/// The tokens left of an unbounded budget, and the greatest number that is counted.
pub(super) const UNBOUNDED_BUDGET: u32 = CHARGED - 1;

/// The counter of a new budget.
pub(super) fn full_budget(tokens: u32) -> u32 {
    BUDGET | tokens.min(UNBOUNDED_BUDGET)
}

/// The tokens that a frame with this counter has left, if it is a budget's.
pub(super) fn tokens_left(count: u32) -> Option<u32> {
    (count & (SCOPE | BUDGET) == BUDGET).then_some(count & UNBOUNDED_BUDGET)
}

/// Whether a frame with this counter counts tokens; an unbounded budget does not.
pub(super) fn counts_tokens(count: u32) -> bool {
    tokens_left(count).is_some_and(|left| left < UNBOUNDED_BUDGET)
}

/// A rewriting of all budgets in a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BudgetChange {
    /// Counts the token being read, unless it is counted.
    Charge,
    /// Makes budgets ready for the next token; drops those without one left.
    EndToken,
    /// Makes budgets unbounded.
    Widen,
}

/// Rewritings that are known.
#[derive(Debug, Default)]
pub(super) struct BudgetChanges {
    /// By stack and change; `None` where no stack is left.
    pub(super) known: [FxHashMap<StackId, Option<StackId>>; 3],
    /// By stack: the least tokens left of any budget in it.
    pub(super) least: FxHashMap<StackId, u32>,
}

impl BudgetChange {
    /// A budget's counter afterwards; `None` if the frame is dropped.
    pub(super) fn apply(self, count: u32) -> Option<u32> {
        let left = count & UNBOUNDED_BUDGET;
        match self {
            Self::Charge if count & CHARGED != 0 || left == UNBOUNDED_BUDGET => Some(count),
            Self::Charge => Some(BUDGET | CHARGED | left.checked_sub(1)?),
            Self::EndToken => (left > 0).then_some(BUDGET | left),
            Self::Widen => Some(BUDGET | UNBOUNDED_BUDGET),
        }
    }
}
