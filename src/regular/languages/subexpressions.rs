//! Subexpressions of a language, parts before wholes.
//!
//! Ids of parts are smaller than those of wholes, so sorting by id is a topological order.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::expression::{Expression, Language};
use super::store::Languages;

/// A language and its subexpressions, without those that are `known` and what only they contain;
/// parts come before wholes. Bodies of variables are not entered.
pub(super) fn subexpressions(
    languages: &Languages,
    x: Language,
    known: impl Fn(Language) -> bool,
) -> Vec<Language> {
    collect(languages, x, false, known)
}

/// The same with the bodies of variables, which may come after what they are part of.
pub(super) fn subexpressions_and_bodies(
    languages: &Languages,
    x: Language,
    known: impl Fn(Language) -> bool,
) -> Vec<Language> {
    collect(languages, x, true, known)
}

fn collect(
    languages: &Languages,
    x: Language,
    enters_bodies: bool,
    known: impl Fn(Language) -> bool,
) -> Vec<Language> {
    if known(x) {
        return Vec::new();
    }
    let mut needed = vec![x];
    let mut todo: SmallVec<[Language; 16]> = SmallVec::from_slice(&[x]);
    /// Subexpressions up to which a linear search is faster than a hash set.
    const MAX_LINEAR: usize = 16;
    let mut seen: FxHashSet<Language> = FxHashSet::default();
    while let Some(at) = todo.pop() {
        let parts = todo.len();
        match languages.arena.expr(at) {
            Expression::Set(_) | Expression::DfaState(..) | Expression::Computed(_) => {}
            &Expression::Concat(a, b) => todo.extend([a, b]),
            Expression::Union(xs) | Expression::Intersect(xs) => todo.extend_from_slice(xs),
            &Expression::Complement(inner)
            | &Expression::Repeat(inner, ..)
            | &Expression::Unescaped(inner) => todo.push(inner),
            &Expression::Variable(v) if enters_bodies => {
                todo.push(languages.definitions[v as usize].body)
            }
            Expression::Variable(_) => {}
        }
        let mut kept = parts;
        for i in parts..todo.len() {
            let part = todo[i];
            let new = match needed.len() {
                ..MAX_LINEAR => !needed.contains(&part),
                MAX_LINEAR => {
                    seen.extend(needed.iter().copied());
                    !seen.contains(&part)
                }
                _ => !seen.contains(&part),
            };
            if new && !known(part) {
                if needed.len() >= MAX_LINEAR {
                    seen.insert(part);
                }
                needed.push(part);
                todo[kept] = part;
                kept += 1;
            }
        }
        todo.truncate(kept);
    }
    // Parts are made before what they are parts of, so their ids are smaller.
    needed.sort_unstable();
    needed
}

/// A language and its subexpressions by concatenation, union and repeat, without those that are
/// `known`; parts come before wholes. Other languages are listed, but not entered.
pub(super) fn regular_subexpressions(
    languages: &Languages,
    x: Language,
    known: impl Fn(Language) -> bool,
) -> BTreeSet<Language> {
    let mut needed = BTreeSet::new();
    let mut todo = vec![x];
    while let Some(at) = todo.pop() {
        if known(at) || !needed.insert(at) {
            continue;
        }
        match languages.arena.expr(at) {
            &Expression::Concat(a, b) => todo.extend([a, b]),
            Expression::Union(xs) => todo.extend_from_slice(xs),
            &Expression::Repeat(part, ..) => todo.push(part),
            _ => {}
        }
    }
    needed
}
