//! Merging of the parts of a union that differ only in the bounds of their repeats.
//!
//! Nested repeats read a text in as many ways as their counts multiply to, and nearly all of these
//! ways are contained in a few others. Without merging, `((a{0,1000}b?){0,1000}c?){0,1000}` would
//! have a state for every combination of counts; with it, a state is a union of a few parts.
//!
//! [`merge_repeats`] is linear and handles the common shape, one repeat before a rest.
//! [`merge_counted`] compares parts of any shape in pairs; it looks only at parts with a counter.

use smallvec::SmallVec;

use super::budget::PARTS_PER_MICROSECOND;
use super::concatenation::join;
use super::expression::{Expression, Language};
use super::store::Languages;
use crate::deadline;

/// Parts of a union with the same head up to which they are compared in pairs. Searches through
/// nested counters keep no more than a few.
const MAX_COMPARED: usize = 128;

/// Subexpressions that one comparison visits.
const MAX_COMPARISON_STEPS: u32 = 64;

/// Merges repeats of one part before one rest whose counts overlap or touch: `x{0,9}y | x{0,8}y` is
/// `x{0,9}y`. Linear after sorting, for any number of parts and for unbounded repeats, too.
pub(super) fn merge_repeats(languages: &mut Languages, flat: &mut Vec<Language>) {
    let key = |this: &Languages, id: Language| -> Option<(Language, u32, u32, Option<Language>)> {
        match *this.arena.expr(id) {
            Expression::Repeat(x, min, max) => Some((x, min, max, None)),
            Expression::Concat(a, tail) => match *this.arena.expr(a) {
                Expression::Repeat(x, min, max) => Some((x, min, max, Some(tail))),
                _ => None,
            },
            _ => None,
        }
    };
    let mut repeats: Vec<_> = flat
        .iter()
        .filter(|&&id| id != Language::EPSILON)
        .filter_map(|&id| key(languages, id).map(|(x, min, max, tail)| ((x, tail), min, max, id)))
        .collect();
    if repeats.len() < 2 {
        return;
    }
    repeats.sort_unstable();
    let mut merged = false;
    for group in repeats.chunk_by(|a, b| a.0 == b.0) {
        if group.len() < 2 {
            continue;
        }
        let (x, tail) = group[0].0;
        let mut spans: Vec<(u32, u32)> = Vec::new();
        for &(_, min, max, _) in group {
            match spans.last_mut() {
                Some(last) if min <= last.1.saturating_add(1) => last.1 = last.1.max(max),
                _ => spans.push((min, max)),
            }
        }
        if spans.len() == group.len() {
            continue;
        }
        merged = true;
        flat.retain(|id| !group.iter().any(|&(.., member)| member == *id));
        for (min, max) in spans {
            let repeat = languages.intern(Expression::Repeat(x, min, max));
            flat.push(
                tail.map_or(repeat, |tail| languages.intern(Expression::Concat(repeat, tail))),
            );
        }
    }
    if merged {
        flat.sort_unstable();
        flat.dedup();
    }
}

/// Merges parts that differ only in the bounds of their repeats, where one contains the other or
/// both make up one part with wider bounds:
///
/// ```text
/// a{0,7}(a{0,9}){0,3}b | a{0,2}(a{0,9}){0,2}b  =  a{0,7}(a{0,9}){0,3}b
/// a{0,9}b{2,3}c        | a{0,9}b{3,4}c         =  a{0,9}b{2,4}c
/// ```
pub(super) fn merge_counted(languages: &mut Languages, flat: &mut Vec<Language>) {
    let mut counted: SmallVec<[(Language, Language); 8]> = flat
        .iter()
        .filter(|&&id| languages.arena.properties(id).has_counter)
        .map(|&id| (head(languages, id), id))
        .collect();
    if counted.len() < 2 {
        return;
    }
    counted.sort_unstable();
    let mut is_changed = false;
    for group in counted.chunk_by(|a, b| a.0 == b.0) {
        if !(2..=MAX_COMPARED).contains(&group.len()) {
            continue;
        }
        let mut kept: SmallVec<[Language; 8]> = SmallVec::new();
        for &(_, id) in group {
            let mut whole = id;
            let mut at = 0;
            while let Some(&other) = kept.get(at) {
                match merged(languages, other, whole) {
                    Some(merged) => {
                        whole = merged;
                        kept.swap_remove(at);
                        at = 0;
                    }
                    None => at += 1,
                }
            }
            deadline::spend(kept.len() / PARTS_PER_MICROSECOND);
            kept.push(whole);
        }
        if kept.len() < group.len() {
            is_changed = true;
            flat.retain(|id| !group.iter().any(|(_, member)| member == id));
            flat.extend(kept);
        }
    }
    if is_changed {
        flat.sort_unstable();
        flat.dedup();
    }
}

/// The union of two languages as one of the same shape, if there is one.
pub(super) fn merged(languages: &mut Languages, a: Language, b: Language) -> Option<Language> {
    if is_provably_superset(languages, a, b, &mut { MAX_COMPARISON_STEPS }) {
        Some(a)
    } else if is_provably_superset(languages, b, a, &mut { MAX_COMPARISON_STEPS }) {
        Some(b)
    } else {
        with_wider_bounds(languages, a, b, MAX_COMPARISON_STEPS)
    }
}

/// The union of two languages that differ in the bounds of one repeat, if these bounds overlap or
/// touch.
fn with_wider_bounds(
    languages: &mut Languages,
    a: Language,
    b: Language,
    steps: u32,
) -> Option<Language> {
    let steps = steps.checked_sub(1)?;
    match (languages.arena.expr(a), languages.arena.expr(b)) {
        (&Expression::Repeat(x, least, most), &Expression::Repeat(y, min, max)) if x == y => {
            let meet = min <= most.saturating_add(1) && least <= max.saturating_add(1);
            meet.then(|| languages.intern(Expression::Repeat(x, least.min(min), most.max(max))))
        }
        (&Expression::Concat(first, rest), &Expression::Concat(head, tail)) if first == head => {
            let rest = with_wider_bounds(languages, rest, tail, steps)?;
            Some(join(languages, first, rest))
        }
        (&Expression::Concat(first, rest), &Expression::Concat(head, tail)) if rest == tail => {
            let first = with_wider_bounds(languages, first, head, steps)?;
            Some(join(languages, first, rest))
        }
        _ => None,
    }
}

/// The first part of a concatenation, and of a repeat the repeated part.
pub(super) fn head(languages: &Languages, x: Language) -> Language {
    let first = match *languages.arena.expr(x) {
        Expression::Concat(first, _) => first,
        _ => x,
    };
    match *languages.arena.expr(first) {
        Expression::Repeat(part, ..) => part,
        _ => first,
    }
}

/// Whether every string of `narrow` is in `wide`, because the two differ only in the bounds of
/// repeats and in parts of `wide` that may be empty. False, too, where that takes more than
/// `steps`.
fn is_provably_superset(
    languages: &Languages,
    wide: Language,
    narrow: Language,
    steps: &mut u32,
) -> bool {
    if wide == narrow {
        return true;
    }
    if *steps == 0 {
        return false;
    }
    *steps -= 1;
    match (languages.arena.expr(wide), languages.arena.expr(narrow)) {
        _ if narrow == Language::EPSILON => languages.is_nullable(wide),
        (&Expression::Repeat(x, least, most), &Expression::Repeat(y, min, max)) if x == y => {
            least <= min && max <= most
        }
        (&Expression::Concat(first, rest), &Expression::Concat(head, tail)) => {
            is_provably_superset(languages, first, head, steps)
                && is_provably_superset(languages, rest, tail, steps)
                || languages.is_nullable(first)
                    && is_provably_superset(languages, rest, narrow, steps)
        }
        (&Expression::Concat(first, rest), _) => {
            languages.is_nullable(rest) && is_provably_superset(languages, first, narrow, steps)
                || languages.is_nullable(first)
                    && is_provably_superset(languages, rest, narrow, steps)
        }
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    /// Texts of a pattern with nested counters, read beside `regex`, whose automata unfold them.
    #[test]
    fn nested_counters_are_exact_and_not_unfolded() {
        use crate::regular;
        use crate::regular::Utf8;
        use rand::{RngExt as _, SeedableRng as _};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(11);
        for pattern in [
            "((a{0,3}b?){0,3}c?){0,3}",
            "((a{1,3}b?){2,3}c?){1,2}",
            "((a{2}b?){3}c?){2}",
            "(((ab|a){0,2}b?){1,3}c?){2,3}",
            "((a{1,2}){2,3}b{0,2}){0,4}a{0,2}a{1,3}",
            "((aa){1,3}(aaa){0,2}b?){1,3}",
        ] {
            let mut l = Languages::new();
            let options = regular::Options::default();
            let x = regular::parse(&mut l, &format!("^(?:{pattern})$"), options, &Utf8).unwrap();
            let reference = ::regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
            for _ in 0..2_000 {
                let length = rng.random_range(0..24);
                let text: String = (0..length)
                    .map(|_| *b"aaaaaabc".get(rng.random_range(0..8)).unwrap() as char)
                    .collect();
                let accepted = l.matches(x, text.as_bytes()).unwrap();
                assert_eq!(accepted, reference.is_match(&text), "{pattern} {text}");
            }
        }
        for pattern in [
            "((a{0,1000}){0,1000}){0,1000}",
            "((a{0,1000}b?){0,1000}c?){0,1000}",
            "((a{3,1000}b?){7,1000}c?){5,1000}",
            "((([a-z]{1,20},?){15,20};?){15,20}:?){15,20}",
        ] {
            let mut l = Languages::new();
            let x = regular::parse(&mut l, pattern, regular::Options::default(), &Utf8).unwrap();
            let mut at = x;
            for _ in 0..300 {
                at = l.step(at, b'a').unwrap();
            }
            assert!(l.len() < 60_000, "{pattern}: {} states", l.len());
        }
    }
}
