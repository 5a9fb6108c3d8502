//! Copies of languages in other arenas, subexpression by subexpression.

use super::expression::{Definition, Expr, Language};
use super::store::Languages;
use super::subexpressions::subexpressions;
use super::variables::{define, new_variable, set_identity};
use crate::error::Result;
use rustc_hash::FxHashMap;

/// The same language in another arena. `done` maps the languages that were copied before.
pub(crate) fn transfer(
    languages: &Languages,
    x: Language,
    to: &mut Languages,
    done: &mut FxHashMap<Language, Language>,
) -> Result<Language> {
    // Only variables may have parts made after them.
    let mut variables = Vec::new();
    for at in subexpressions(languages, x, true, |part| done.contains_key(&part)) {
        let sorted = |xs: &[Language]| {
            let mut xs: Vec<Language> = xs.iter().map(|x| done[x]).collect();
            xs.sort_unstable();
            xs.into_boxed_slice()
        };
        let expr = match languages.arena.expr(at) {
            Expr::Set(set) => Expr::Set(*set),
            Expr::Computed(running) => Expr::Computed(running.clone()),
            Expr::Concat(a, b) => Expr::Concat(done[a], done[b]),
            Expr::Union(xs) => Expr::Union(sorted(xs)),
            Expr::Intersect(xs) => Expr::Intersect(sorted(xs)),
            Expr::Complement(inner) => Expr::Complement(done[inner]),
            Expr::Repeat(inner, min, max) => Expr::Repeat(done[inner], *min, *max),
            &Expr::DfaState(table, state) => {
                let table = to.dfa_index(&languages.dfas[table as usize]);
                let there = to.dfa_state(table, state);
                done.insert(at, there);
                continue;
            }
            &Expr::Variable(v) => {
                let fingerprint = languages.fingerprint_beside(at, &mut FxHashMap::default());
                let there = to.settled.get(&fingerprint).copied().unwrap_or_else(|| {
                    let Definition { nullable, body, identity } = languages.definitions[v as usize];
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
