//! Variables: languages that are defined in terms of themselves, as systems of right-linear
//! equations.
//!
//! An automaton that no expression spells out is a variable for each state: with `a` and `b` as states,
//! `a = x·b | ε` and `b = y·a`. A body is unfolded when its variable is stepped.
//!
//! A fingerprint cannot follow bodies that refer to each other. So variables are *settled* once all of
//! a system are defined: each gets an identity that is made of all bodies, with the other variables by
//! their numbers.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::expression::{Expression, Language, VariableDefinition};
use super::keyed_hash::keyed_hash;
use super::store::Languages;

/// A variable, to be defined before it is first stepped.
pub(crate) fn new_variable(languages: &mut Languages, nullable: bool) -> Language {
    languages.definitions.push(VariableDefinition { nullable, body: Language::EMPTY, identity: 0 });
    languages.intern(Expression::Variable(languages.definitions.len() as u32 - 1))
}

/// Gives a variable its body. The body contains the empty string exactly if the variable was said
/// to, and variables in it that may be defined in terms of this one stand after at least one byte.
pub(crate) fn define(languages: &mut Languages, variable: Language, body: Language) {
    debug_assert_eq!(languages.is_nullable(variable), languages.is_nullable(body));
    if let Expression::Variable(v) = *languages.arena.expr(variable) {
        languages.definitions[v as usize].body = body;
    }
}

/// Gives variables that are defined in terms of each other, and of no others that are unsettled,
/// their identity. Returns `x`, which is made of them, or an equal language that was settled
/// before.
pub(crate) fn settle(languages: &mut Languages, variables: &[Language], x: Language) -> Language {
    if variables.is_empty() {
        return x;
    }
    for (index, &variable) in variables.iter().enumerate() {
        set_identity(languages, variable, index as u128);
    }
    let mut done = FxHashMap::default();
    let bodies: Vec<u128> = variables
        .iter()
        .filter_map(|variable| match *languages.arena.expr(*variable) {
            Expression::Variable(v) => Some(languages.definitions[v as usize].body),
            _ => None,
        })
        .map(|body| languages.fingerprint_beside(body, &mut done))
        .collect();
    for (index, &variable) in variables.iter().enumerate() {
        let identity = keyed_hash(|hasher| (index, &bodies).hash(hasher));
        set_identity(languages, variable, identity);
        let fingerprint = languages.fingerprint_beside(variable, &mut FxHashMap::default());
        languages.settled.entry(fingerprint).or_insert(variable);
    }
    let fingerprint = languages.fingerprint_beside(x, &mut FxHashMap::default());
    *languages.settled.entry(fingerprint).or_insert(x)
}

/// Sets a variable's part of its fingerprint.
pub(super) fn set_identity(languages: &mut Languages, variable: Language, identity: u128) {
    if let Expression::Variable(v) = *languages.arena.expr(variable) {
        languages.definitions[v as usize].identity = identity;
    }
}
