//! Fingerprints: names of expressions by structure, equal across the arenas of one process.
//!
//! Ids differ between arenas; caches that several constraints share are keyed by fingerprint.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::expression::{Expression, Language};
use super::keyed_hash::keyed_hash;
use super::store::Languages;
use super::subexpressions::subexpressions;

impl Languages {
    /// The fingerprint of the structure of a language. 128 bits of keyed SipHash: a collision
    /// cannot be found even by someone who chooses the expressions. O(subexpressions) once, then
    /// O(1).
    pub(crate) fn fingerprint(&mut self, x: Language) -> u128 {
        if let Some(print) = self.arena.fingerprint(x) {
            return print;
        }
        // Variables may be given other identities yet.
        if self.arena.properties(x).has_variable {
            return self.fingerprint_beside(x, &mut FxHashMap::default());
        }
        let mut last = 0;
        for at in subexpressions(self, x, |part| self.arena.fingerprint(part).is_some()) {
            last =
                structural_print(self, at, |part| self.arena.fingerprint(part).unwrap_or_default());
            self.arena.set_fingerprint(at, last);
        }
        // Parts come before wholes.
        last
    }

    /// The fingerprint, computed anew and noted in `done` only: identities of variables may still
    /// change.
    pub(crate) fn fingerprint_beside(
        &self,
        x: Language,
        done: &mut FxHashMap<Language, u128>,
    ) -> u128 {
        for at in subexpressions(self, x, |part| done.contains_key(&part)) {
            let print = structural_print(self, at, |part| done[&part]);
            done.insert(at, print);
        }
        done[&x]
    }
}

/// The fingerprint of an expression by those of its parts.
fn structural_print(languages: &Languages, x: Language, of: impl Fn(Language) -> u128) -> u128 {
    let mut words: SmallVec<[u128; 8]> = SmallVec::new();
    let kind = match languages.arena.expr(x) {
        Expression::Set(set) => {
            words.extend(
                set.bits()
                    .chunks_exact(2)
                    .map(|bits| u128::from(bits[0]) << 64 | u128::from(bits[1])),
            );
            0
        }
        &Expression::Concat(a, b) => {
            words.extend([of(a), of(b)]);
            1
        }
        expr @ (Expression::Union(xs) | Expression::Intersect(xs)) => {
            words.extend(xs.iter().map(|&x| of(x)));
            // They stand in the order of ids, which differs between arenas.
            words.sort_unstable();
            if matches!(expr, Expression::Union(_)) { 2 } else { 3 }
        }
        &Expression::Complement(inner) => {
            words.push(of(inner));
            4
        }
        &Expression::Repeat(inner, min, max) => {
            words.extend([of(inner), u128::from(min) << 64 | u128::from(max)]);
            5
        }
        &Expression::Variable(v) => {
            words.push(languages.definitions[v as usize].identity);
            6
        }
        Expression::Computed(running) => {
            words.push(keyed_hash(|hasher| running.hash(hasher)));
            7
        }
        &Expression::Unescaped(inner) => {
            words.push(of(inner));
            9
        }
        &Expression::DfaState(dfa, state) => {
            words.extend([languages.dfas[dfa as usize].identity, state.into()]);
            8
        }
    };
    words.push(kind);
    keyed_hash(|hasher| words.hash(hasher))
}
