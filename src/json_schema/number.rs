//! Sets of numbers, as regular languages of number literals.
//!
//! Every decimal has few canonical literals: without exponent and trailing zeros (`-1.5`; an
//! integer also with `.0`), and, where it is very large or very small, in the exponent form that
//! `json.dumps` writes (`8.854e-12`). A set of numbers is the language of its members' canonical
//! literals (`numbers`), so and, or and not are exact, and a bound is an automaton that compares
//! digit by digit (`bound`). Only [`Numbers::spelling`] allows further zeros at the end and bounds
//! the digits.
//!
//! Long lists of numbers are minimal automata over their literals (`number_list`).
//!
//! Where every spelling counts, literals in exponent form are kept apart, as a formula over
//! conditions (`scientific`). `multipleOf` is an automaton of remainders or, for long divisors,
//! arithmetic on the digits (`multiple_of`).

pub(crate) mod bound;
pub(crate) mod decimal;
pub(crate) mod listed;
pub(crate) mod multiple_of;
pub(crate) mod number_list;
pub(crate) mod numbers;
pub(crate) mod scientific;
pub(crate) mod side;
pub(crate) mod spelling;

pub(crate) use decimal::Decimal;
pub(crate) use number_list::{MAX_TRIE_NUMBERS, NumberLiterals};
pub(crate) use numbers::{NumberSet, Numbers};
pub(crate) use side::BoundSide;
