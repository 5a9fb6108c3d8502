//! Bytes that every string of a language contains, and bytes that may occur at all: a proof of
//! emptiness without a search.
//!
//! Where two languages meet, one often requires a byte that the other cannot give any more: a
//! pattern that wants a `T` yet, beside the rest of a date after its `T`. A search would visit all
//! combinations of states before it finds that nothing is left.

use std::sync::Arc;

use smallvec::SmallVec;

use super::expression::{Expression, Language};
use super::memo::ByteSets;
use super::store::Languages;
use crate::regular::ByteSet;

/// Sets that are kept of a language; the smallest exclude most.
const MAX_BYTE_SETS: usize = 8;

/// Nested subexpressions that are looked into.
const MAX_DEPTH: u32 = 60;

/// Whether the intersection at the beginning of `x` is empty, because one part requires a byte that
/// another has in no string.
pub(crate) fn is_provably_empty(languages: &mut Languages, x: Language) -> bool {
    let first = match *languages.arena.expr(x) {
        Expression::Concat(first, _) => first,
        _ => x,
    };
    let Expression::Intersect(parts) = languages.arena.expr(first) else { return false };
    let parts: SmallVec<[Language; 4]> = SmallVec::from_slice(parts);
    let bytes = parts.iter().map(|&part| possible_bytes(languages, part, 0));
    let bytes = bytes.fold(ByteSet::ALL, |all, bytes| all.intersection(&bytes));
    let mut needs = parts.iter().flat_map(|&part| required_byte_sets(languages, part, 0));
    needs.any(|need| need.intersection(&bytes).is_empty())
}

/// A superset of the bytes that occur in its strings.
fn possible_bytes(languages: &mut Languages, x: Language, depth: u32) -> ByteSet {
    if let Some(&known) = languages.memo.required_bytes.possible.get(&x) {
        return known;
    }
    if depth == MAX_DEPTH {
        return ByteSet::ALL;
    }
    let depth = depth + 1;
    let bytes = match languages.arena.expr(x).clone() {
        Expression::Set(set) => set,
        Expression::Concat(a, b) => {
            possible_bytes(languages, a, depth).union(&possible_bytes(languages, b, depth))
        }
        Expression::Union(xs) => xs
            .iter()
            .fold(ByteSet::EMPTY, |all, &part| all.union(&possible_bytes(languages, part, depth))),
        Expression::Intersect(xs) => xs.iter().fold(ByteSet::ALL, |all, &part| {
            all.intersection(&possible_bytes(languages, part, depth))
        }),
        Expression::Repeat(part, ..) => possible_bytes(languages, part, depth),
        Expression::DfaState(dfa, state) => languages.dfas[dfa as usize].possible_bytes(state),
        Expression::Complement(_)
        | Expression::Variable(_)
        | Expression::Computed(_)
        | Expression::Unescaped(_) => ByteSet::ALL,
    };
    languages.memo.required_bytes.possible.insert(x, bytes);
    bytes
}

/// Byte sets that have a byte in common with every string; not all such sets.
fn required_byte_sets(languages: &mut Languages, x: Language, depth: u32) -> ByteSets {
    if languages.is_nullable(x) || depth == MAX_DEPTH {
        return ByteSets::new();
    }
    if let Some(known) = languages.memo.required_bytes.required.get(&x) {
        return known.clone();
    }
    let depth = depth + 1;
    let mut needed = match languages.arena.expr(x).clone() {
        Expression::Set(set) => ByteSets::from_slice(&[set]),
        Expression::Concat(a, b) => {
            let first = required_byte_sets(languages, a, depth);
            first.into_iter().chain(required_byte_sets(languages, b, depth)).collect()
        }
        Expression::Intersect(xs) => {
            xs.iter().flat_map(|&part| required_byte_sets(languages, part, depth)).collect()
        }
        Expression::Union(xs) => {
            let mut all: Option<ByteSets> = None;
            for &part in &xs {
                let needed = required_byte_sets(languages, part, depth);
                all = Some(match all {
                    None => needed,
                    Some(all) => all.iter().filter_map(|a| either(a, &needed)).collect(),
                });
            }
            all.unwrap_or_default()
        }
        Expression::Repeat(part, ..) => required_byte_sets(languages, part, depth),
        Expression::DfaState(dfa, state) => {
            let dfa = Arc::clone(&languages.dfas[dfa as usize]);
            dfa.required_byte_sets(state).collect()
        }
        Expression::Complement(_)
        | Expression::Variable(_)
        | Expression::Computed(_)
        | Expression::Unescaped(_) => ByteSets::new(),
    };
    // The narrowest say most.
    needed.sort_unstable_by_key(ByteSet::len);
    let mut kept = ByteSets::new();
    for need in needed {
        if kept.len() < MAX_BYTE_SETS && !kept.contains(&need) {
            kept.push(need);
        }
    }
    languages.memo.required_bytes.required.insert(x, kept.clone());
    kept
}

/// The smallest union of a set with one of the others: strings that require the set, or all of the
/// others, require it.
pub(super) fn either(need: &ByteSet, others: &[ByteSet]) -> Option<ByteSet> {
    others.iter().map(|other| need.union(other)).min_by_key(ByteSet::len)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::languages::compact::compacted;

    #[test]
    fn nothing_that_has_a_string_is_called_empty() {
        let mut l = Languages::new();
        let letters: Vec<Language> = (b'a'..=b'd').map(|b| l.byte_range(b, b)).collect();
        let any = l.byte_range(b'a', b'd');
        let text = l.repeat(any, 0, None);
        let mut parts = letters.clone();
        for &letter in &letters {
            parts.push(l.concat([text, letter, text]));
            let few = l.repeat(letter, 0, Some(2));
            parts.push(l.repeat(letter, 1, None));
            parts.push(l.concat([few, any]));
        }
        for i in 0..parts.len() {
            let union = l.union([parts[i], parts[(i * 7 + 3) % parts.len()]]);
            parts.push(union);
            let finished = l.difference(union, letters[i % 4]);
            let finished = compacted(&mut l, finished, None).unwrap();
            assert!(
                finished == Language::EMPTY
                    || matches!(l.arena.expr(finished), Expression::DfaState(..))
            );
            parts.push(finished);
        }
        let (mut empty, mut said) = (0, 0);
        for &a in &parts {
            for &b in &parts {
                let both = l.intersect([a, b]);
                let evident = is_provably_empty(&mut l, both);
                let live = l.is_live(both).unwrap();
                assert!(!(evident && live), "{:?} {:?}", l.arena.expr(a), l.arena.expr(b));
                empty += usize::from(!live);
                said += usize::from(evident);
            }
        }
        assert!(said * 2 > empty, "{said} of {empty}");
    }

    #[test]
    fn what_is_left_of_a_time_has_no_date() {
        let mut l = Languages::new();
        let digit = l.byte_range(b'0', b'9');
        let (dash, tee, colon) = (l.literal(b"-"), l.literal(b"T"), l.literal(b":"));
        let time = l.concat([digit, digit, colon, digit, digit]);
        let date = l.concat([digit, dash, digit, tee]);
        let printable = l.byte_range(b' ', b'~');
        let any = l.repeat(printable, 0, None);
        let whole = l.concat([any, date, time, any]);
        let left = l.intersect([time, whole]);
        assert!(is_provably_empty(&mut l, left));
        let whole = l.concat([date, time]);
        let wanted = l.concat([any, date, any]);
        let both = l.intersect([whole, wanted]);
        assert!(!is_provably_empty(&mut l, both) && l.is_live(both).unwrap());
    }
}
