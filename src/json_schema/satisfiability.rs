//! Satisfiability of sets: exact emptiness, and the cheaper tests that are asked first.
//!
//! From cheap to expensive. All tests but the last are one-sided: `false` means "not proven".
//!
//! | test | decides by |
//! |---|---|
//! | `SetArena::is_subset_by_name` | interned names |
//! | `quick_satisfiability` | the text of one schema |
//! | `one_of_disjoint` | types and tags of `oneOf` branches |
//! | `scalar_emptiness` | shapes of reference-free scalars |
//! | `object_overlap` | shapes of alternatives, member by member |
//! | `emptiness` | everything a value needs: a least fixed point |
//!
//! `member_alternatives` and `member_search` find members that meet a formula, `unique_items`
//! matches items and values, `unsat_core` explains why nothing is left. `equivalence` compares sets,
//! `reference_free` marks those without references, `value_listing` lists the values of finite ones.

pub(crate) mod emptiness;
pub(crate) mod equivalence;
pub(crate) mod member_alternatives;
pub(crate) mod member_search;
pub(crate) mod object_overlap;
pub(crate) mod one_of_disjoint;
pub(crate) mod quick_satisfiability;
pub(crate) mod reference_free;
pub(crate) mod scalar_emptiness;
pub(crate) mod unique_items;
pub(crate) mod unsat_core;
pub(crate) mod value_listing;
