//! The algebra of shapes: intersection, union and complement of unfolded sets.
//!
//! `shapes` combines all types; `arrays` and `objects` combine the sets of one type. What is
//! required of several members of an object together becomes a formula (`formula_folding`,
//! `formula_negation`) instead of a product of alternatives.

pub(crate) mod arrays;
pub(crate) mod formula_folding;
pub(crate) mod formula_negation;
pub(crate) mod objects;
pub(crate) mod shapes;
