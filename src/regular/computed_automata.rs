//! Automata that compute their states.
//!
//! For some languages a table of states is too large to make, or has no end: the multiples of a
//! number, the quotations of a text, the texts that are regular expressions. Such a language is an
//! [`Automaton`](super::automaton::Automaton), which encodes its states as numbers and computes a successor
//! when it is asked for one. [`Languages::automaton`](super::Languages::automaton) makes it an
//! expression like any other.
//!
//! | file | language |
//! |---|---|
//! | `choice_list` | lists of any size, as minimal automata (`fst`) |
//! | `string_set` | a fixed list of strings, made when it is asked for |
//! | `text_sets` | persistent sets of strings that grow one by one and share their nodes |
//! | `quotation` | runs of consecutive units of a given text (suffix automaton) |
//! | `json_escapes` | JSON spellings of what an automaton over characters accepts |
//! | `ecma_patterns` | the texts that are valid ECMA-262 regular expressions |
//!
//! The automata of numbers (multiples, exponents) live beside the JSON Schema front end.

mod choice_list;
mod ecma_patterns;
mod json_escapes;
pub(crate) mod ordinary_text;
mod quotation;
mod string_set;
mod text_sets;

pub use choice_list::ChoiceList;
pub(crate) use choice_list::{any_of, list_of_many};
pub(crate) use ecma_patterns::EcmaPatterns;
pub(crate) use json_escapes::spelled;
pub use quotation::QuoteBy;
pub(crate) use quotation::{quotation, quotation_automaton};
pub(crate) use string_set::listed;
pub(crate) use text_sets::{TextPlace, TextSet, TextSets};
