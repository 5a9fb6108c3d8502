//! Groups of options that several subcommands share. Each file reads its options and makes of them
//! what the library takes: a constraint, limits, a model, sampling parameters.

pub(super) mod choices;
pub(super) mod constraint;
pub(super) mod generation;
pub(super) mod json;
pub(super) mod limits;
pub(super) mod model;
mod named_grammars;
pub(super) mod resources;
pub(super) mod sampling;
pub(super) mod tools;
