//! TODO: describe.

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
