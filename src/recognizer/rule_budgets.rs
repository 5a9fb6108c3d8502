//! Rule budgets: parts of a grammar that at most so many tokens may spell.
//!
//! A frame of [`Point::Budget`](super::point::Point::Budget) carries the tokens that its part has
//! left. A token is counted when its first byte inside the part is read, at most once: the frame is
//! *charged* then, and made ready for the next token where the token ends (`BudgetChange::EndToken`). A
//! frame without tokens left cannot be charged, so the stacks through it are dropped. A part that a token
//! enters at its very end is not charged.
//!
//! Example: a part of at most 2 tokens and then `.`; the tokens `(a`, `a` and `a.`:
//!
//! ```text
//! text        frame
//! (           {2 left}
//! (a          {1 left, charged}     token ends: {1 left}      `(` itself stands before the part
//! a           {0 left, charged}     token ends: dropped, only `.` may follow
//! a.          not allowed any more: its `a` would be a third
//! ```
//!
//! *Widened* stacks have unbounded budgets in the place of those that are open. What is far from the
//! limit of its budgets is looked up with widened stacks, and so shared.

use smallvec::SmallVec;

use super::budget_counter::{BudgetChange, CHARGED, UNBOUNDED_BUDGET, tokens_left};
use super::gss::{Frames, ReturnStacks, StackFrame};
use super::item::{Item, StackId};
use crate::error::Result;

/// The stacks with all budgets changed; `None` if none is left.
pub(super) fn with_budgets(
    stacks: &mut ReturnStacks,
    stack: StackId,
    change: BudgetChange,
) -> Result<Option<StackId>> {
    if !stacks.has_budget(stack) {
        return Ok(Some(stack));
    }
    let table = change as usize;
    // By a stack of its own: sets may be as deep as the limit allows.
    let mut todo = vec![stack];
    while let Some(&at) = todo.last() {
        if stacks.changes.known[table].contains_key(&at) {
            todo.pop();
            continue;
        }
        let before = todo.len();
        for frame in stacks.frames(at) {
            let is_known = stacks.changes.known[table].contains_key(&frame.below);
            if stacks.has_budget(frame.below) && !is_known {
                todo.push(frame.below);
            }
        }
        if todo.len() == before {
            let changed = change_frames(stacks, at, change)?;
            stacks.changes.known[table].insert(at, changed);
            todo.pop();
        }
    }
    Ok(stacks.changes.known[table][&stack])
}

/// Changes the frames of a set; what lies below them is changed already.
fn change_frames(
    stacks: &mut ReturnStacks,
    at: StackId,
    change: BudgetChange,
) -> Result<Option<StackId>> {
    let mut frames: SmallVec<[StackFrame; 4]> = SmallVec::new();
    for i in 0..stacks.frames(at).len() {
        let frame = stacks.frames(at)[i];
        let below = if stacks.has_budget(frame.below) {
            stacks.changes.known[change as usize][&frame.below]
        } else {
            Some(frame.below)
        };
        let count = match tokens_left(frame.count) {
            Some(_) => change.apply(frame.count),
            None => Some(frame.count),
        };
        let (Some(below), Some(count)) = (below, count) else { continue };
        frames.push(StackFrame { count, below, ..frame });
    }
    // Of budgets that differ in what is left alone, the greatest allows all that others do.
    frames.sort_unstable();
    let mut kept: SmallVec<[StackFrame; 4]> = SmallVec::new();
    for &frame in frames.iter().rev() {
        let has_more = |other: &StackFrame| {
            (other.point, other.below, other.count & CHARGED)
                == (frame.point, frame.below, frame.count & CHARGED)
        };
        if tokens_left(frame.count).is_none() || !kept.iter().any(has_more) {
            kept.push(frame);
        }
    }
    let mut changed = None;
    for frame in kept {
        let one = stacks.intern(Frames::from_slice(&[frame]))?;
        changed = Some(match changed {
            Some(others) => stacks.union(others, one)?,
            None => one,
        });
    }
    Ok(changed)
}

/// Changes the budgets of all items, and drops items without a stack left. Returns whether any item had a
/// budget: then the items may be out of order, and some may differ in their stacks only.
pub(super) fn change_items(
    stacks: &mut ReturnStacks,
    items: &mut Vec<Item>,
    change: BudgetChange,
) -> Result<bool> {
    if !items.iter().any(|item| stacks.has_budget(item.stack)) {
        return Ok(false);
    }
    let mut kept = 0;
    for i in 0..items.len() {
        if let Some(stack) = with_budgets(stacks, items[i].stack, change)? {
            items[kept] = Item { stack, ..items[i] };
            kept += 1;
        }
    }
    items.truncate(kept);
    Ok(true)
}

/// The least number of tokens left of any open budget in a set; [`UNBOUNDED_BUDGET`] without one.
pub(super) fn least_tokens_left(stacks: &mut ReturnStacks, stack: StackId) -> u32 {
    let mut todo = vec![stack];
    while let Some(&at) = todo.last() {
        if !stacks.has_budget(at) || stacks.changes.least.contains_key(&at) {
            todo.pop();
            continue;
        }
        let before = todo.len();
        for frame in stacks.frames(at) {
            let is_known = stacks.changes.least.contains_key(&frame.below);
            if stacks.has_budget(frame.below) && !is_known {
                todo.push(frame.below);
            }
        }
        if todo.len() == before {
            let below = |frame: &StackFrame| stacks.changes.least.get(&frame.below).copied();
            let all = stacks.frames(at).iter();
            let least = all
                .map(|frame| {
                    let here = tokens_left(frame.count).unwrap_or(UNBOUNDED_BUDGET);
                    here.min(below(frame).unwrap_or(UNBOUNDED_BUDGET))
                })
                .min();
            stacks.changes.least.insert(at, least.unwrap_or(UNBOUNDED_BUDGET));
            todo.pop();
        }
    }
    stacks.changes.least.get(&stack).copied().unwrap_or(UNBOUNDED_BUDGET)
}
