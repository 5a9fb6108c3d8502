//! The recognizer: follows a compiled grammar byte by byte, with all its ambiguity at once.
//!
//! A [`program`] holds the grammar as [points](point) in continuation-passing style. A *configuration*
//! ([`configurations`]) is the set of [items](item) that are live after some text, each a terminal's
//! state and a set of return stacks ([`gss`], a graph-structured stack). [`closure`] expands calls,
//! forks and repeats before a byte is read; [`stepper`] reads bytes, [`tokens`] reads whole tokens.
//! [`rule_budgets`] enforces `max_tokens` of rules, and [`temperatures`] finds the sampling temperature that
//! applies. [`liveness`] decides whether the tokens of the vocabulary can complete a configuration, where
//! that is not certain: some byte is not a token, or a rule has a budget. [`captured_texts`] and
//! [`refused_texts`] serve keys and items on which later text depends.
//!
//! Example: `list: "[" (word ("," word)*)? "]"` after the token `[a`:
//!
//! ```text
//! configuration 7 = { word in the state after "a", "," at its start, "]" at its start }
//! read `b,`: word takes "b"; "," and "]" do not; the byte "," ends word and the comma is read
//! configuration 8 = { word at its start }
//! ```
//!
//! Invariants: items equal in point, state and text are merged: their stack sets are united. Every
//! item of a configuration can be completed by bytes. The recognizer does not depend on token masks.

mod budget_counter;
pub(crate) mod byte_coverage;
mod captured_texts;
mod closure;
mod configurations;
mod gss;
pub(crate) mod item;
mod item_set_table;
mod liveness;
pub(crate) mod point;
pub(crate) mod program;
pub(crate) mod refused_texts;
mod rule_budgets;
mod stepper;
pub(crate) mod temperatures;
mod tokens;

pub(crate) use byte_coverage::ByteCoverage;
pub(crate) use configurations::WidenedConfig;
pub(crate) use gss::StackFrame;
pub(crate) use item::{
    ACCEPT, BOTTOM, ConfigId, Item, KeyChoiceId, NO_TEXT, PointId, RETURN, StackId, TextId,
};
pub(crate) use point::{CaptureTarget, Point, TokenSpan};
pub(crate) use program::{KeySuffix, Program};
pub(crate) use stepper::{CaptureMode, Recognizer};
