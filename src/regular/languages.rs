//! Regular languages of byte strings: expressions, derivatives, automata and their analyses.
//!
//! A [`Language`] is a hash-consed expression; its states are languages too: after byte `b`, what
//! may still come is the *derivative* by `b` (Brzozowski, "Derivatives of Regular Expressions",
//! J. ACM 1964; Owens, Reppy, Turon, "Regular-expression derivatives re-examined", JFP 2009).
//! So and, or and not are no harder than concatenation, a bounded repeat costs one state a step
//! and only if it is visited, and nothing is determinised before it is asked for.
//!
//! ```text
//! (ab|ac)d   ── a ──►   (b|c)d   ── b ──►   d   ── d ──►   ε (accepts)
//! ```
//!
//! [`Languages`] is the arena: it interns expressions, constructs them and steps them. Everything else
//! is a function over it in a file of its own:
//!
//! | layer | files |
//! |---|---|
//! | data | `expression`, `properties`, `arena`, `dfa`, `transition_table`, `counted_product`, `memo`, `budget`, `shared_results`, `keyed_hash`, `search_queue` |
//! | arena | `store` (interning), `construct` with `concatenation`, `union_merge` and `unescaped`, `fingerprint`, `variables`, `arena_copy` |
//! | structure | `subexpressions`, `structure`, `every_prefix`, `lengths`, `computed_parts`, `provably_live` |
//! | reading | `derivative` (perhaps dead successors), `exact_derivative` (none dead) |
//! | emptiness | `emptiness`, with `required_bytes`, `unit_counts`, `counted_text`, `common_successor` |
//! | strings | `witness`, `witness_length`, `span`, `unit_bounds` |
//! | compilation | `determinize`, `product`, `compact`, `table_automaton` |
//! | masks | `widening` |
//!
//! *Invariants.* The id of an expression is greater than those of its parts, variables
//! aside. A row from [`Languages::row`] never leads to a language without
//! strings but [`Language::EMPTY`]. Exact rows and emptiness are defined by each other: emptiness reads
//! exact rows of other languages only in analyses that are bounded in steps.

mod arena;
pub(crate) mod arena_copy;
mod budget;
mod common_successor;
pub(crate) mod compact;
pub(crate) mod computed_parts;
mod concatenation;
mod construct;
mod counted_product;
mod counted_text;
mod derivative;
mod determinize;
mod dfa;
mod emptiness;
pub(crate) mod every_prefix;
mod exact_derivative;
mod expression;
mod fingerprint;
mod keyed_hash;
pub(crate) mod lengths;
mod memo;
pub(crate) mod product;
mod properties;
mod provably_live;
mod required_bytes;
mod search_queue;
mod shared_results;
pub(crate) mod span;
mod store;
pub(crate) mod structure;
mod subexpressions;
pub(crate) mod table_automaton;
mod transition_table;
mod unescaped;
mod union_merge;
pub(crate) mod unit_bounds;
mod unit_counts;
pub(crate) mod variables;
pub(crate) mod widening;
pub(crate) mod witness;
pub(crate) mod witness_length;

pub(crate) use arena::Checkpoint;
pub use expression::{Language, Row};
pub(crate) use keyed_hash::keyed_hash;
pub(crate) use shared_results::SharedResults;
pub use store::Languages;
