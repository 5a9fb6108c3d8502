//! Languages in which every text of units is a viable prefix.
//!
//! Of such a language no token of whole units can be wrong unless it ends the text, so masks read
//! only the tokens that end it. For example, `.*` without the strings `{a, b}`: after any text,
//! some longer text is accepted.

use rustc_hash::FxHashMap;

use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;

/// Whether every text of units is the beginning of a string of `x`, as far as structure proves it.
/// The strings of `x` are texts of units (and others, where [`Language::ALL`] occurs in it).
/// `known` remembers answers.
pub(crate) fn accepts_every_prefix(
    languages: &Languages,
    x: Language,
    unit: Language,
    known: &mut FxHashMap<Language, bool>,
) -> bool {
    if let Some(&known) = known.get(&x) {
        return known;
    }
    let holds = match languages.arena.expr(x) {
        Expression::Repeat(..) => is_unbounded_repeat(languages, x, unit),
        // What follows has strings of units.
        &Expression::Concat(a, b) => {
            is_unbounded_repeat(languages, a, unit) && languages.arena.properties(b).is_trim
        }
        Expression::Union(xs) => {
            xs.iter().any(|&part| accepts_every_prefix(languages, part, unit, known))
        }
        // Infinitely many continuations without finitely many excluded ones, or a search whose
        // success is final.
        Expression::Intersect(xs) => {
            xs.iter().any(|&part| is_unbounded_repeat(languages, part, unit))
                && xs.iter().all(|&part| match *languages.arena.expr(part) {
                    Expression::Complement(inner) if part != Language::ALL => {
                        languages.arena.properties(inner).is_finite
                    }
                    _ => {
                        is_unbounded_repeat(languages, part, unit)
                            || absorbs_every_prefix(languages, part, unit)
                    }
                })
        }
        &Expression::DfaState(dfa, state) => {
            languages.dfas[dfa as usize].accepts_every_prefix(state)
        }
        Expression::Set(_)
        | Expression::Complement(_)
        | Expression::Variable(_)
        | Expression::Computed(_)
        | Expression::Unescaped(_) => false,
    };
    known.insert(x, holds);
    holds
}

/// Whether it is a repeat of the unit without an upper bound.
fn is_unbounded_repeat(languages: &Languages, x: Language, unit: Language) -> bool {
    match *languages.arena.expr(x) {
        Expression::Repeat(part, _, UNBOUNDED) => part == unit,
        _ => false,
    }
}

/// Whether every text of units is the beginning of a string of `x` all of whose extensions are in
/// `x`, too, as a search for a substring has it once the substring is found.
fn absorbs_every_prefix(languages: &Languages, x: Language, unit: Language) -> bool {
    let ends_in_all = |x: Language| {
        let mut at = x;
        while let Expression::Concat(_, rest) = *languages.arena.expr(at) {
            at = rest;
        }
        at == Language::ALL
    };
    match languages.arena.expr(x) {
        _ if x == Language::ALL => true,
        &Expression::Concat(a, b) => {
            is_unbounded_repeat(languages, a, unit)
                && ends_in_all(b)
                && languages.arena.properties(b).is_trim
        }
        Expression::Union(xs) => xs.iter().any(|&part| absorbs_every_prefix(languages, part, unit)),
        _ => false,
    }
}
