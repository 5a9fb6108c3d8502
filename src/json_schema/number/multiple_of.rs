//! TODO: describe.

pub(crate) mod arithmetic;
pub(crate) mod grid;
pub(crate) mod remainder;
pub(crate) mod residues;
