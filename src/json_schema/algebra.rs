//! HEAD

pub(crate) mod arrays;
pub(crate) mod formula_folding;
pub(crate) mod formula_negation;
pub(crate) mod objects;
pub(crate) mod shapes;
