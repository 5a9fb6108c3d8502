//! Automata with endlessly many states inside expressions.
//!
//! The only one is the automaton of ECMA-262 patterns. It is never determinised, and intersected
//! only with languages that it soon outlives.

use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use super::subexpressions::subexpressions;
use crate::regular::automaton::{RunningAutomaton, Slack};

/// Whether an automaton with endlessly many states occurs in it.
pub(crate) fn has_endless(languages: &Languages, x: Language) -> bool {
    let is_endless = |&part: &Language| match languages.arena.expr(part) {
        Expression::Computed(running) => running.automaton.is_endless(),
        _ => false,
    };
    languages.has_endless_automata && subexpressions(languages, x, |_| false).iter().any(is_endless)
}

/// Whether an automaton with endlessly many states reads its first bytes. Of each of its many
/// states few successors are asked for, so rows do not pay.
pub(crate) fn starts_with_endless(languages: &Languages, x: Language) -> bool {
    let endless = |x: Language| match languages.arena.expr(x) {
        Expression::Computed(running) => running.automaton.is_endless(),
        _ => false,
    };
    let first = match *languages.arena.expr(x) {
        Expression::Concat(a, _) => a,
        _ => x,
    };
    languages.has_endless_automata
        && match languages.arena.expr(first) {
            Expression::Union(xs) | Expression::Intersect(xs) => xs.iter().any(|&x| endless(x)),
            _ => endless(first),
        }
}

/// Whether an automaton with endlessly many states is intersected with what does not soon leave it
/// alone. Then its states are multiplied, and nearly no two are equal.
pub(crate) fn multiplies_endless(languages: &Languages, x: Language) -> bool {
    /// Least counts up to which a text is soon free of its bound.
    const MAX_SMALL_MINIMUM: u32 = 8;
    if !has_endless(languages, x) {
        return false;
    }
    let endless = |part: &Language| has_endless(languages, *part);
    match languages.arena.expr(x) {
        Expression::Computed(_) => false,
        Expression::Union(xs) => xs.iter().any(|&x| multiplies_endless(languages, x)),
        Expression::Intersect(xs) => {
            xs.iter().filter(|x| endless(x)).count() > 1
                || xs.iter().any(|&x| match *languages.arena.expr(x) {
                    Expression::Computed(_) => false,
                    // What is listed.
                    _ if languages.arena.properties(x).is_finite
                        && !languages.arena.properties(x).has_counter =>
                    {
                        false
                    }
                    Expression::Repeat(_, ..=MAX_SMALL_MINIMUM, UNBOUNDED) => false,
                    Expression::Complement(inner) => !languages.arena.properties(inner).is_finite,
                    _ => true,
                })
        }
        _ => true,
    }
}

/// The automaton at the beginning of `x`, in its state, and the rest, which begins with a byte that
/// ends the text of the automaton.
pub(crate) fn leading_automaton(
    languages: &Languages,
    x: Language,
) -> Option<(RunningAutomaton, Language)> {
    let &Expression::Concat(a, rest) = languages.arena.expr(x) else { return None };
    match languages.arena.expr(a) {
        Expression::Computed(running) if !languages.is_nullable(rest) => {
            Some((running.clone(), rest))
        }
        _ => None,
    }
}

/// A bound on the growth of the shortest rest of a text, if an automaton reads it and knows one.
pub(crate) fn slack(languages: &Languages, x: Language) -> Option<Slack> {
    let (RunningAutomaton { automaton, state }, rest) = leading_automaton(languages, x)?;
    let mut slack = automaton.slack(&state)?;
    // Quotes and the like.
    slack.base += languages.arena.properties(rest).distance as usize;
    matches!(languages.arena.expr(rest), Expression::Set(_)).then_some(slack)
}
