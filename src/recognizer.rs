//! The recognizer: follows a compiled grammar byte by byte, with all its ambiguity at once.
//!
//! A [`program`] holds the grammar's points in continuation-passing style; a *configuration*
//! ([`configurations`]) is the set of items that are live after some text, each a terminal's state
//! and a set of return stacks ([`gss`], a graph-structured stack). [`closure`] expands calls, forks
//! and repeats before a byte is read, [`stepping`] reads the byte, and [`liveness`] tells which
//! configurations a vocabulary without all single bytes can complete. Nothing here knows of token
//! masks.

pub(crate) mod closure;
pub(crate) mod configurations;
pub(crate) mod gss;
pub(crate) mod liveness;
pub(crate) mod program;
pub(crate) mod stepping;
