//! Lengths of the strings of a language, in bytes, by structure.
//!
//! | function | answers | remembered |
//! |---|---|---|
//! | [`length_range`] | no string is shorter, none longer | no |
//! | [`min_length_bound`] | no string is shorter | by the arena |
//! | [`max_length`] | no string is longer | by the caller |
//! | [`some_length`] | there is a string that is no longer | by what it calls |
//!
//! Lengths of actual strings are in `witness_length`, the span (the longest shortest string over all
//! states) in `span`, numbers of units in `unit_counts`.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::counted_text::{CountedText, counted_text};
use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use super::subexpressions::{regular_subexpressions, subexpressions};
use crate::error::Result;

/// Bounds on the lengths of strings, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    /// No string is shorter.
    pub(crate) least: u32,
    /// No string is longer; `None` where there may be no bound.
    pub(crate) most: Option<u32>,
    /// Whether each byte is an unescaped ASCII character, also inside a JSON string.
    pub(crate) alone: bool,
}

impl Lengths {
    /// The bounds of any language.
    const ANY: Self = Self { least: 0, most: None, alone: false };
}

/// Bounds on the lengths of the strings of `x`: O(subexpressions), not remembered.
pub(crate) fn length_range(languages: &Languages, x: Language) -> Lengths {
    let mut known: FxHashMap<Language, Lengths> = FxHashMap::default();
    for at in subexpressions(languages, x, |_| false) {
        let of = |part: &Language| known[part];
        let lengths = match languages.arena.expr(at) {
            _ if at == Language::EPSILON => Lengths { least: 0, most: Some(0), alone: true },
            Expression::Set(set) => {
                let alone = |byte: u8| byte.is_ascii() && byte != b'\\';
                Lengths { least: 1, most: Some(1), alone: set.iter().all(alone) }
            }
            Expression::Concat(a, b) => {
                let (a, b) = (of(a), of(b));
                let most = a.most.zip(b.most).and_then(|(a, b)| a.checked_add(b));
                let least = a.least.saturating_add(b.least);
                Lengths { least, most, alone: a.alone && b.alone }
            }
            Expression::Union(xs) => {
                let all = xs.iter().map(of);
                let either = |a: Lengths, b: Lengths| Lengths {
                    least: a.least.min(b.least),
                    most: a.most.zip(b.most).map(|(a, b)| a.max(b)),
                    alone: a.alone && b.alone,
                };
                all.reduce(either).unwrap_or(Lengths::ANY)
            }
            Expression::Intersect(xs) => {
                let all = xs.iter().map(of);
                let both = |a: Lengths, b: Lengths| Lengths {
                    least: a.least.max(b.least),
                    most: a.most.into_iter().chain(b.most).min(),
                    alone: a.alone || b.alone,
                };
                all.fold(Lengths::ANY, both)
            }
            &Expression::Repeat(part, min, max) => {
                let one = of(&part);
                let most = one.most.filter(|_| max != UNBOUNDED);
                Lengths {
                    least: one.least.saturating_mul(min),
                    most: most.and_then(|most| most.checked_mul(max)),
                    alone: one.alone,
                }
            }
            Expression::Complement(_)
            | Expression::Variable(_)
            | Expression::DfaState(..)
            | Expression::Computed(_)
            | Expression::Unescaped(_) => Lengths::ANY,
        };
        known.insert(at, lengths);
    }
    known.get(&x).copied().unwrap_or(Lengths::ANY)
}

/// A lower bound on the length of every string of `x`. No state is made and nothing is searched.
/// Exact where neither intersection, complement nor computed automaton occurs; [`u64::MAX`] if
/// structure proves that there is no string. Remembered: O(subexpressions) once.
pub(crate) fn min_length_bound(languages: &mut Languages, x: Language) -> u64 {
    if let Some(&known) = languages.memo.min_lengths.get(&x) {
        return known;
    }
    for at in parts_without_bound(languages, x) {
        let of = |part: &Language| languages.memo.min_lengths.get(part).copied().unwrap_or(0);
        let bound = match languages.arena.expr(at) {
            _ if languages.is_nullable(at) => 0,
            Expression::Set(set) => {
                if set.is_empty() {
                    u64::MAX
                } else {
                    1
                }
            }
            Expression::Concat(a, b) => of(a).saturating_add(of(b)),
            Expression::Union(xs) => xs.iter().map(of).min().unwrap_or(u64::MAX),
            Expression::Intersect(xs) => xs.iter().map(of).max().unwrap_or(0),
            Expression::Repeat(part, min, _) => of(part).saturating_mul(u64::from(*min)),
            &Expression::DfaState(dfa, state) => {
                languages.dfas[dfa as usize].shortest_length(state).into()
            }
            Expression::Complement(_)
            | Expression::Variable(_)
            | Expression::Computed(_)
            | Expression::Unescaped(_) => 1,
        };
        languages.memo.min_lengths.insert(at, bound);
    }
    languages.memo.min_lengths[&x]
}

/// The subexpressions whose bound is not remembered yet, parts before wholes.
fn parts_without_bound(languages: &Languages, x: Language) -> BTreeSet<Language> {
    let mut needed = BTreeSet::new();
    let mut todo = vec![x];
    while let Some(at) = todo.pop() {
        if languages.memo.min_lengths.contains_key(&at) || !needed.insert(at) {
            continue;
        }
        match languages.arena.expr(at) {
            _ if languages.is_nullable(at) => {}
            &Expression::Concat(a, b) => todo.extend([a, b]),
            Expression::Union(xs) | Expression::Intersect(xs) => todo.extend_from_slice(xs),
            &Expression::Repeat(part, ..) => todo.push(part),
            _ => {}
        }
    }
    needed
}

/// An upper bound on the length of every string of `x`; `None` where structure shows none. It does
/// not look into intersections. `known` remembers answers.
pub(crate) fn max_length(
    languages: &Languages,
    x: Language,
    known: &mut FxHashMap<Language, Option<u32>>,
) -> Option<u32> {
    for at in regular_subexpressions(languages, x, |part| known.contains_key(&part)) {
        let of = |part: &Language| known.get(part).copied().flatten();
        let most = match languages.arena.expr(at) {
            Expression::Set(_) => Some(1),
            Expression::Concat(a, b) => of(a).zip(of(b)).and_then(|(a, b)| a.checked_add(b)),
            Expression::Union(xs) => xs.iter().try_fold(0, |most, x| Some(of(x)?.max(most))),
            Expression::Repeat(_, _, 0) | Expression::Repeat(Language::EMPTY, ..) => Some(0),
            Expression::Repeat(_, _, UNBOUNDED) => None,
            Expression::Repeat(part, _, max) => of(part).and_then(|most| most.checked_mul(*max)),
            _ => None,
        };
        known.insert(at, most);
    }
    known.get(&x).copied().flatten()
}

/// The length of some string of `x`, if structure proves that there is one: bounds on lengths that
/// leave room for a shortest string need no search.
pub(crate) fn some_length(
    languages: &mut Languages,
    x: Language,
    depth: u32,
) -> Result<Option<u32>> {
    /// Nested subexpressions that are looked into.
    const MAX_LENGTH_DEPTH: u32 = 10;
    let facts = languages.arena.properties(x);
    if !facts.has_boolean {
        // Here the distance is exact.
        return Ok(Some(facts.distance).filter(|_| facts.live == Some(true)));
    }
    Ok(match languages.arena.expr(x) {
        _ if depth == MAX_LENGTH_DEPTH => None,
        &Expression::Concat(a, b) => match some_length(languages, a, depth + 1)? {
            Some(a) => some_length(languages, b, depth + 1)?.map(|b| a.saturating_add(b)),
            None => None,
        },
        Expression::Union(xs) => {
            let mut least: Option<u32> = None;
            for &part in &xs.clone() {
                if let Some(length) = some_length(languages, part, depth + 1)? {
                    least = Some(least.map_or(length, |least| least.min(length)));
                }
            }
            least
        }
        // A text has no more units than bytes.
        Expression::Intersect(_) => match counted_text(languages, x)? {
            Some(CountedText { text, most, .. }) => {
                some_length(languages, text, depth + 1)?.filter(|&length| length <= most)
            }
            None => None,
        },
        _ => None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;

    #[test]
    fn no_string_is_shorter_or_longer() {
        let mut l = Languages::new();
        for (pattern, least, most) in [
            ("^$", 0, Some(0)),
            ("^[ab]{2,3}$", 2, Some(3)),
            ("^(a|bb)b{0,2}$", 1, Some(4)),
            ("^(ab){2}$", 4, Some(4)),
            ("^a+$", 1, None),
            ("^(a|bb*)$", 1, None),
            ("^(?=a)[ab]{1,4}$", 1, Some(4)),
        ] {
            let language =
                regular::parse(&mut l, pattern, regular::Options::default(), &Utf8).unwrap();
            let lengths = length_range(&l, language);
            let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
            for from in 0..63 {
                let longer = [b'a', b'b'].map(|byte| [&texts[from][..], &[byte]].concat());
                texts.extend(longer);
            }
            let found = texts.iter().filter(|text| l.matches(language, text).unwrap());
            let found: Vec<u32> = found.map(|text| text.len() as u32).collect();
            assert_eq!(found.iter().min(), Some(&least), "{pattern}");
            assert!(most.is_none_or(|most| found.iter().max() == Some(&most)), "{pattern}");
            assert!(lengths.alone, "{pattern}");
            assert_eq!((lengths.least, lengths.most), (least, most), "{pattern}");
        }
    }
}
