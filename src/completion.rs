//! Completions: how few tokens complete a text, and masks that keep it completable within a number of
//! them.
//!
//! For each point the shortest text to the end of its rule is a [least derivation](least_derivation).
//! The completion of a configuration is the [rest](remaining_text) of a terminal, then the shortest
//! texts of the points on the stack, in the fewest [tokens](token_cost) that spell them: the [planner]
//! adds them up. Where captured texts decide
//! (keys without a name, items that must differ), a plan is made under an [assumption](plan_memo) and
//! tried, and where it fails, a [search] finds a way. A [budget mask](budget_mask) is the part of a
//! mask that leaves few enough tokens.
//!
//! Example: the grammar `("true" | "false" | "no idea") "!"` with the tokens of all bytes and `true`:
//!
//! ```text
//! shortest text      true!          (5 bytes)
//! its tokens         true, !        so 2 tokens are enough
//! mask within 2      { true }
//! ```
//!
//! Nothing is spelled before it is counted: lengths are multiplied by structure, and what cannot fit into
//! the budget is refused by that alone; a completion of more than 1 MiB is never spelled.
//!
//! Invariant: from where `n` tokens are said to be enough, some allowed token leads to where `n - 1`
//! are.

mod bounds;
mod budget_mask;
mod cache;
mod least_derivation;
mod plan_memo;
mod planner;
mod remaining_text;
mod search;
mod token_cost;

pub use bounds::TokensToFinish;
pub(crate) use budget_mask::BudgetMaskBuilder;
pub(crate) use cache::CompletionCache;
pub(crate) use least_derivation::LeastDerivations;
pub(crate) use planner::CompletionPlanner;
