//! Automata with very many or infinitely many states inside expressions.
//!
//! Lists have very many: of each state few successors are asked for. The only automaton with infinitely
//! many is that of ECMA-262 patterns, which is intersected only with languages that it soon outlives.
//! Neither is determinised.

use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use super::subexpressions::subexpressions;
use crate::regular::automaton::{Automaton, CompletionGrowth, RunningAutomaton};

/// Whether an automaton with infinitely many states occurs in it.
pub(crate) fn has_infinite_state_automaton(languages: &Languages, x: Language) -> bool {
    let is_infinite_state = |&part: &Language| match languages.arena.expr(part) {
        Expression::Computed(running) => running.automaton.is_infinite_state(),
        _ => false,
    };
    languages.has_stepwise_automata
        && subexpressions(languages, x, |_| false).iter().any(is_infinite_state)
}

/// Whether an automaton that is read step by step occurs in it.
pub(crate) fn has_stepwise_automaton(languages: &Languages, x: Language) -> bool {
    let is_stepwise = |&part: &Language| match languages.arena.expr(part) {
        Expression::Computed(running) => running.automaton.is_stepwise(),
        _ => false,
    };
    languages.has_stepwise_automata
        && subexpressions(languages, x, |_| false).iter().any(is_stepwise)
}

/// Whether an automaton with infinitely many states reads its first bytes.
pub(crate) fn starts_with_infinite_state_automaton(languages: &Languages, x: Language) -> bool {
    starts_with(languages, x, |automaton| automaton.is_infinite_state())
}

/// Whether an automaton that is read step by step reads its first bytes. Of each of its many states few
/// successors are asked for, so rows do not pay.
pub(crate) fn starts_with_stepwise_automaton(languages: &Languages, x: Language) -> bool {
    starts_with(languages, x, |automaton| automaton.is_stepwise())
}

/// Whether an automaton of a kind reads the first bytes.
fn starts_with(languages: &Languages, x: Language, is_kind: fn(&dyn Automaton) -> bool) -> bool {
    let is = |x: Language| match languages.arena.expr(x) {
        Expression::Computed(running) => is_kind(&*running.automaton),
        _ => false,
    };
    let first = match *languages.arena.expr(x) {
        Expression::Concat(a, _) => a,
        _ => x,
    };
    languages.has_stepwise_automata
        && match languages.arena.expr(first) {
            Expression::Union(xs) | Expression::Intersect(xs) => xs.iter().any(|&x| is(x)),
            _ => is(first),
        }
}

/// Whether an automaton with infinitely many states is intersected with what does not soon leave it
/// alone. Then its states are multiplied, and nearly no two are equal.
pub(crate) fn multiplies_infinite_state_automaton(languages: &Languages, x: Language) -> bool {
    /// Least counts up to which a text is soon free of its bound.
    const MAX_SMALL_MINIMUM: u32 = 8;
    if !has_infinite_state_automaton(languages, x) {
        return false;
    }
    let has_infinite_state = |part: &Language| has_infinite_state_automaton(languages, *part);
    match languages.arena.expr(x) {
        Expression::Computed(_) => false,
        Expression::Union(xs) => {
            xs.iter().any(|&x| multiplies_infinite_state_automaton(languages, x))
        }
        Expression::Intersect(xs) => {
            xs.iter().filter(|x| has_infinite_state(x)).count() > 1
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

/// A bound on the growth of the shortest completion of a text, if an automaton reads it and knows one.
pub(crate) fn completion_growth(languages: &Languages, x: Language) -> Option<CompletionGrowth> {
    let (RunningAutomaton { automaton, state }, rest) = leading_automaton(languages, x)?;
    let mut growth = automaton.completion_growth(&state)?;
    // Quotes and the like.
    growth.base += languages.arena.properties(rest).distance as usize;
    matches!(languages.arena.expr(rest), Expression::Set(_)).then_some(growth)
}
