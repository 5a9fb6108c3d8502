//! Copies of languages in other arenas, subexpression by subexpression.

use rustc_hash::FxHashMap;

use super::expression::{Expression, Language, VariableDefinition};
use super::store::Languages;
use super::subexpressions::subexpressions_and_bodies;
use super::variables::{define, new_variable, set_identity};
use crate::error::Result;

/// The same language in another arena. `done` maps the languages that were copied before.
pub(crate) fn copy(
    languages: &Languages,
    x: Language,
    to: &mut Languages,
    done: &mut FxHashMap<Language, Language>,
) -> Result<Language> {
    // Only variables may have parts made after them.
    let mut variables = Vec::new();
    for at in subexpressions_and_bodies(languages, x, |part| done.contains_key(&part)) {
        let sorted = |xs: &[Language]| {
            let mut xs: Vec<Language> = xs.iter().map(|x| done[x]).collect();
            xs.sort_unstable();
            xs.into_boxed_slice()
        };
        let expr = match languages.arena.expr(at) {
            Expression::Set(set) => Expression::Set(*set),
            Expression::Computed(running) => Expression::Computed(running.clone()),
            Expression::Concat(a, b) => Expression::Concat(done[a], done[b]),
            Expression::Union(xs) => Expression::Union(sorted(xs)),
            Expression::Intersect(xs) => Expression::Intersect(sorted(xs)),
            Expression::Complement(inner) => Expression::Complement(done[inner]),
            Expression::Unescaped(inner) => Expression::Unescaped(done[inner]),
            Expression::Repeat(inner, min, max) => Expression::Repeat(done[inner], *min, *max),
            &Expression::DfaState(dfa, state) => {
                let dfa = to.dfa_index(&languages.dfas[dfa as usize]);
                let there = to.dfa_state(dfa, state);
                done.insert(at, there);
                continue;
            }
            &Expression::Variable(v) => {
                let fingerprint = languages.fingerprint_beside(at, &mut FxHashMap::default());
                let there = to.settled.get(&fingerprint).copied().unwrap_or_else(|| {
                    let VariableDefinition { nullable, body, identity } =
                        languages.definitions[v as usize];
                    let there = new_variable(to, nullable);
                    set_identity(to, there, identity);
                    to.settled.insert(fingerprint, there);
                    variables.push((there, body));
                    there
                });
                done.insert(at, there);
                continue;
            }
        };
        let there = to.intern(expr);
        let live = languages.arena.properties(at).live;
        if let (Some(live), None) = (live, to.arena.properties(there).live) {
            to.arena.set_live(there, live);
        }
        done.insert(at, there);
    }
    for (variable, body) in variables {
        define(to, variable, done[&body]);
    }
    Ok(done[&x])
}
