//! Widening: languages that tokens do not distinguish, so that many states share one mask.
//!
//! Far from the bounds of its repeats, a counter does not matter to a token: after 3 of
//! `[a-z]{0,1000}`, a token of 20 bytes is allowed exactly if it is after 4. Each state is masked
//! as its widened language; the distance is computed from the vocabulary (`reach`).
//!
//! ```text
//! [a-z]{0,997}   ── tokens repeat [a-z] at most 20 times ──►   [a-z]*
//! ```

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::counted_text::without_redundant_texts;
use super::expression::{Expression, Language, UNBOUNDED};
use super::lengths::min_length_bound;
use super::span::{SpanMemo, searched_span, structural_span};
use super::store::Languages;
use super::structure::leading_counter;
use super::subexpressions::subexpressions;
use crate::error::Result;
use crate::regular::ByteSet;

/// The part of a repeat, as far as tokens are counted by it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RepeatedUnit {
    /// One byte of a set.
    Byte(ByteSet),
    /// A lower bound on the number of bytes.
    Bytes(u32),
}

/// A language that no token distinguishes from `x`: after any token both have strings or both have
/// none, and both may end or neither. `reach` gives an upper bound on how often a token can repeat
/// a unit.
///
/// Without intersection and complement, counters are cut at the reach of tokens. With them, upper
/// bounds are dropped that a token and the span of what is left after it cannot reach: texts that
/// stay below a bound are the same with and without it.
pub(crate) fn widened(
    languages: &mut Languages,
    x: Language,
    reach: &mut dyn FnMut(Language, RepeatedUnit) -> u32,
    spans: &mut SpanMemo,
) -> Result<Language> {
    let facts = languages.arena.properties(x);
    if !facts.has_counter {
        return Ok(x);
    }
    if !facts.has_boolean {
        return Ok(without_far_counts(languages, x, reach));
    }
    let mut least = 0;
    loop {
        let (free, units_out_of_reach) = without_bounds(languages, x, least, reach)?;
        let Some(units_out_of_reach) = units_out_of_reach else { return Ok(x) };
        let structural = structural_span(languages, free, 0)?;
        if structural.is_some_and(|span| span <= units_out_of_reach) {
            return Ok(free);
        }
        // The span is at least the shortest string, so a longer one rules the search out.
        if min_length_bound(languages, free) <= units_out_of_reach.into() {
            match searched_span(languages, free, spans)? {
                Some(span) if span <= units_out_of_reach => return Ok(free),
                Some(_) => {}
                // Putting bounds back only adds states: a further search would fail, too.
                None => return Ok(x),
            }
        }
        // Keep the narrowest bound and try again.
        least = units_out_of_reach.saturating_add(1);
    }
}

/// The language with each repeat counted no further than `reach`. Neither intersection nor
/// complement occurs in `x`.
fn without_far_counts(
    languages: &mut Languages,
    x: Language,
    reach: &mut dyn FnMut(Language, RepeatedUnit) -> u32,
) -> Language {
    if let Some((part, min, max, rest)) = leading_counter(languages, x) {
        let head = near_repeat(languages, (part, min, max), reach);
        return languages.concat2(head, rest);
    }
    // What counts nothing stays as it is.
    let mut done: FxHashMap<Language, Language> = FxHashMap::default();
    let of = |done: &FxHashMap<_, _>, part| done.get(&part).copied().unwrap_or(part);
    for at in subexpressions(languages, x, |part| !languages.arena.properties(part).has_counter) {
        let near = match languages.arena.expr(at).clone() {
            Expression::Concat(a, b) => languages.concat2(of(&done, a), of(&done, b)),
            Expression::Union(xs) => {
                let xs: Vec<Language> = xs.iter().map(|&x| of(&done, x)).collect();
                languages.union(xs)
            }
            Expression::Repeat(part, min, max) => near_repeat(languages, (part, min, max), reach),
            _ => at,
        };
        done.insert(at, near);
    }
    of(&done, x)
}

/// A repeat that is counted no further than `reach`.
fn near_repeat(
    languages: &mut Languages,
    (part, min, max): (Language, u32, u32),
    reach: &mut dyn FnMut(Language, RepeatedUnit) -> u32,
) -> Language {
    // A time takes a byte at least, unless it is nullable; then the least is 0 already. The part
    // itself is entered afresh each time, so it is left as it is.
    let unit = unit_of(languages, part);
    let times = reach(part, unit);
    let max = (max <= times).then_some(max);
    languages.repeat(part, min.min(times.saturating_add(1)), max)
}

/// The repeated part, as `reach` is asked for it.
fn unit_of(languages: &mut Languages, x: Language) -> RepeatedUnit {
    match *languages.arena.expr(x) {
        Expression::Set(set) => RepeatedUnit::Byte(set),
        _ => {
            let bytes = min_length_bound(languages, x).clamp(1, u32::MAX.into());
            RepeatedUnit::Bytes(bytes as u32)
        }
    }
}

/// A language without some upper bounds on repeats, and the greatest number of characters of a text
/// that does not distinguish it from `x`. A byte that continues a character begun before does not
/// count. `None` if there is no such language, or if its texts would be too short to pay.
pub(crate) fn without_far_bounds(
    languages: &mut Languages,
    x: Language,
) -> Result<Option<(Language, u32)>> {
    /// Characters below which reading with the bound is as fast.
    const MIN_FREE_CHARACTERS: u32 = 16;
    let facts = languages.arena.properties(x);
    if !facts.has_counter || !facts.has_boolean {
        return Ok(None);
    }
    let mut least = MIN_FREE_CHARACTERS;
    loop {
        let mut units = SmallVec::<[Language; 4]>::new();
        let mut reach = |part, _| {
            units.push(part);
            0
        };
        let (free, narrowest) = without_bounds(languages, x, least, &mut reach)?;
        // No bound was dropped, or only ones inside a repeated part, which stays as it is.
        let Some(narrowest) = narrowest.filter(|_| free != x) else { return Ok(None) };
        let Some(span) = structural_span(languages, free, 0)? else { return Ok(None) };
        // `span + 1`: the units of the shortest ending, and one unit begun before the text.
        match narrowest.checked_sub(span.saturating_add(1)) {
            Some(far) if far >= MIN_FREE_CHARACTERS => {
                for unit in units {
                    let first = languages.first_bytes(unit)?;
                    if !first.intersection(&ByteSet::range(0x80, 0xBF)).is_empty() {
                        return Ok(None);
                    }
                }
                return Ok(Some((free, far)));
            }
            _ => least = narrowest.saturating_add(1),
        }
    }
}

/// Drops the upper bounds of repeats that leave at least `least` units out of reach of a token.
/// Returns also the smallest number of units that a dropped bound leaves. Complements stay as they
/// are.
fn without_bounds(
    languages: &mut Languages,
    x: Language,
    least: u32,
    reach: &mut dyn FnMut(Language, RepeatedUnit) -> u32,
) -> Result<(Language, Option<u32>)> {
    let mut done: FxHashMap<Language, Language> = FxHashMap::default();
    let of = |done: &FxHashMap<_, _>, part| done.get(&part).copied().unwrap_or(part);
    let mut narrowest: Option<u32> = None;
    for at in subexpressions(languages, x, |part| !languages.arena.properties(part).has_counter) {
        let free = match languages.arena.expr(at).clone() {
            Expression::Concat(a, b) => languages.concat2(of(&done, a), of(&done, b)),
            Expression::Union(xs) => {
                let xs: Vec<Language> = xs.iter().map(|&x| of(&done, x)).collect();
                languages.union(xs)
            }
            Expression::Intersect(xs) => {
                let xs: Vec<Language> = xs.iter().map(|&x| of(&done, x)).collect();
                let both = languages.intersect(xs);
                without_redundant_texts(languages, both)?
            }
            Expression::Repeat(part, min, max) if max != UNBOUNDED => {
                let unit = unit_of(languages, part);
                match max.checked_sub(reach(part, unit)) {
                    Some(left) if left >= least => {
                        narrowest = Some(narrowest.map_or(left, |least| least.min(left)));
                        languages.repeat(part, min, None)
                    }
                    _ => at,
                }
            }
            _ => at,
        };
        done.insert(at, free);
    }
    Ok((of(&done, x), narrowest))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    /// Texts up to the length that was said are read alike, and some longer ones are not.
    #[test]
    fn short_texts_do_not_see_bounds() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut l = Languages::new();
        let parse = |l: &mut Languages, pattern: &str| {
            regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
        };
        let unit = parse(&mut l, "^(?s:.)$");
        let letters = ["a", "b", "é", "-", "-a", "aa", "\u{1F600}", "éé"];
        let (mut alike, mut apart) = (0, 0);
        for pattern in [
            "^[abé]+(-[abé]+)*$",
            "^([ab]{1,30}-)+a$",
            "^(é|ab?){2,}(-\u{1F600})*$",
            "^(?!.*aaa)[ab-]+$",
            "^(a|b|-|é|\u{1F600})*$",
        ] {
            for max in [18, 20, 27, 40] {
                let x = parse(&mut l, pattern);
                let bound = l.repeat(unit, 0, Some(max));
                let mut state = l.intersect([x, bound]);
                for _ in 0..60 {
                    if let Some((free, far)) = without_far_bounds(&mut l, state).unwrap() {
                        for _ in 0..20 {
                            let (mut here, mut there, mut characters) = (state, free, 0);
                            while characters < 60 {
                                let text = letters[rng.random_range(0..letters.len())];
                                for &byte in text.as_bytes() {
                                    here = l.step(here, byte).unwrap();
                                    there = l.step(there, byte).unwrap();
                                    characters += u32::from(!(0x80..0xC0).contains(&byte));
                                    let live = |x| x != Language::EMPTY;
                                    let same = live(here) == live(there)
                                        && l.is_nullable(here) == l.is_nullable(there);
                                    assert!(same || characters > far, "{pattern} {max}");
                                    apart += usize::from(!same);
                                    alike += usize::from(live(here));
                                }
                                if there == Language::EMPTY {
                                    break;
                                }
                            }
                        }
                    }
                    let first = l.first_bytes(state).unwrap();
                    let count = first.len();
                    if count == 0 {
                        break;
                    }
                    let byte = first.iter().nth(rng.random_range(0..count)).unwrap();
                    state = l.step(state, byte).unwrap();
                }
            }
        }
        assert!(alike > 1_000 && apart > 100, "{alike} {apart}");
    }
}
