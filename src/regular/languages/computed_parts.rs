//! Automata with endlessly many states inside expressions.

use super::expression::{Expr, Language, UNBOUNDED};
use super::store::Languages;
use super::subexpressions::subexpressions;
use crate::regular::automaton::{RunningAutomaton, Slack};

/// Does an automaton occur in it whose states are without end?
pub(crate) fn has_endless(languages: &Languages, x: Language) -> bool {
    let is_endless = |&part: &Language| match languages.arena.expr(part) {
        Expr::Computed(running) => running.automaton.is_endless(),
        _ => false,
    };
    languages.has_endless_automata
        && subexpressions(languages, x, false, |_| false).iter().any(is_endless)
}

/// Is it what an automaton of endless states reads first? Its states are many, and of each few
/// successors are asked for.
pub(crate) fn starts_with_endless(languages: &Languages, x: Language) -> bool {
    let endless = |x: Language| match languages.arena.expr(x) {
        Expr::Computed(running) => running.automaton.is_endless(),
        _ => false,
    };
    let first = match *languages.arena.expr(x) {
        Expr::Concat(a, _) => a,
        _ => x,
    };
    languages.has_endless_automata
        && match languages.arena.expr(first) {
            Expr::Union(xs) | Expr::Intersect(xs) => xs.iter().any(|&x| endless(x)),
            _ => endless(first),
        }
}

/// Does an automaton of endless states occur in it beside something that does not soon leave it
/// alone? Its states are multiplied then, and none of them is like another.
pub(crate) fn multiplies_endless(languages: &Languages, x: Language) -> bool {
    /// Units that are counted one by one.
    const FEW: u32 = 8;
    if !has_endless(languages, x) {
        return false;
    }
    let endless = |part: &Language| has_endless(languages, *part);
    match languages.arena.expr(x) {
        Expr::Computed(_) => false,
        Expr::Union(xs) => xs.iter().any(|&x| multiplies_endless(languages, x)),
        Expr::Intersect(xs) => {
            xs.iter().filter(|x| endless(x)).count() > 1
                || xs.iter().any(|&x| match *languages.arena.expr(x) {
                    Expr::Computed(_) => false,
                    // What is listed.
                    _ if languages.arena.properties(x).is_finite
                        && !languages.arena.properties(x).has_counter =>
                    {
                        false
                    }
                    Expr::Repeat(_, ..=FEW, UNBOUNDED) => false,
                    Expr::Complement(inner) => !languages.arena.properties(inner).is_finite,
                    _ => true,
                })
        }
        _ => true,
    }
}

/// The automaton that reads `x` up to a byte with which the rest begins, its state, and the
/// rest.
pub(crate) fn leading_automaton(
    languages: &Languages,
    x: Language,
) -> Option<(RunningAutomaton, Language)> {
    let &Expr::Concat(a, rest) = languages.arena.expr(x) else { return None };
    match languages.arena.expr(a) {
        Expr::Computed(running) if !languages.is_nullable(rest) => Some((running.clone(), rest)),
        _ => None,
    }
}

/// How long the rest of a text can become, if an automaton reads it and knows.
pub(crate) fn slack(languages: &Languages, x: Language) -> Option<Slack> {
    let (RunningAutomaton { automaton, state }, rest) = leading_automaton(languages, x)?;
    let mut slack = automaton.slack(&state)?;
    // Quotes and the like.
    slack.base += languages.arena.properties(rest).distance as usize;
    matches!(languages.arena.expr(rest), Expr::Set(_)).then_some(slack)
}
