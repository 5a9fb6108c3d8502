//! `multipleOf`: the multiples of a decimal, and their unions, intersections and complements.
//!
//! A small divisor is an automaton that keeps the remainder (`remainder`). A divisor of many digits
//! has too many remainders, so its literals are decided by arithmetic on the digits read (`grid`),
//! and combinations of divisors by a table of one period (`residues`).

pub(crate) mod arithmetic;
pub(crate) mod grid;
pub(crate) mod remainder;
pub(crate) mod residues;
