//! Products of many patterns that one text must match.
//!
//! The derivatives of an intersection are as many as the combinations of states of its parts, and
//! whether anything is left of one takes a search among them. Where many patterns meet, that search
//! is too long. So each is determinised by itself, and they are multiplied, the smallest first,
//! with each product minimised before the next: what the patterns have in common is counted once. A
//! bound on the number of characters stays beside the product as a counter (`counted_product`).

use std::sync::Arc;

use super::counted_product::{CountedProduct, NO_PLACE, Product};
use super::determinize::{states_accepting_every_prefix, transition_table};
use super::emptiness::is_live_within;
use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use super::transition_table::{Determinized, TransitionTable};
use crate::error::Result;

/// Patterns from which a product pays; fewer are searched.
const MIN_PATTERNS: usize = 4;

/// States of one pattern before minimisation.
const MAX_PATTERN_STATES: usize = 300;

/// States of a product before minimisation.
const MAX_PRODUCT_STATES: usize = 40_000;

/// Looks at a state while one product is minimised.
const MAX_MINIMIZE_STEPS: usize = 1_500_000;

/// Work units of determinising one pattern.
const MAX_PATTERN_WORK: usize = 6_000;

/// States that a search for a text visits before patterns are multiplied.
const STATES_BEFORE_PRODUCT: usize = 300;

/// Least numbers of characters that become a pattern where there is no greatest number; larger ones
/// are counted.
const MAX_INLINE_MINIMUM: u32 = 20;

/// The greatest number of units that is counted.
const MAX_UNITS: u32 = 4_096;

/// Patterns, and the least and greatest number of units.
type PatternsAndBounds = (Vec<Language>, (u32, u32));

/// The same language as one automaton, if it is a conjunction of several conditions on texts of
/// units (a prefix code) and small enough.
pub(crate) fn product(
    languages: &mut Languages,
    x: Language,
    unit: Language,
) -> Result<Option<Language>> {
    let Some((patterns, bounds)) = patterns_and_bounds(languages, x, unit)? else {
        return Ok(None);
    };
    if patterns.len() < MIN_PATTERNS {
        return Ok(None);
    }
    let fingerprint = !languages.fingerprint(x);
    let known = languages.shared.as_ref().and_then(|shared| shared.product(fingerprint));
    let multiplied = match known {
        Some(multiplied) => multiplied,
        None => {
            let multiplied = multiply(languages, &patterns, bounds, unit)?;
            if let Some(shared) = &languages.shared {
                shared.note_product(fingerprint, multiplied.clone());
            }
            multiplied
        }
    };
    Ok(match multiplied {
        None => None,
        Some(Product::Empty) => Some(Language::EMPTY),
        Some(Product::Dfa(dfa)) => Some(languages.dfa_language(&dfa)),
        Some(Product::Counted(counted)) => {
            let start = [0, 0, 0].into();
            Some(languages.automaton(counted, start))
        }
    })
}

/// Whether `x` has any text; like [`Languages::is_live`], but multiplies many patterns instead of a
/// long search.
pub(crate) fn has_text(languages: &mut Languages, x: Language, unit: Language) -> Result<bool> {
    if let Some(live) = is_live_within(languages, x, STATES_BEFORE_PRODUCT)? {
        return Ok(live);
    }
    if let Some(multiplied) = product(languages, x, unit)? {
        let live = languages.is_live(multiplied)?;
        languages.arena.set_live(x, live);
        return Ok(live);
    }
    languages.is_live(x)
}

/// The conditions on a text of units as patterns, and the bounds on its number of units; `None` if
/// strings of `x` need not be such texts.
fn patterns_and_bounds(
    languages: &mut Languages,
    x: Language,
    unit: Language,
) -> Result<Option<PatternsAndBounds>> {
    let text = languages.repeat(unit, 0, None);
    let mut parts = conjuncts(languages, x, text);
    let of_units = |part: &Language| {
        *part == text
            || matches!(*languages.arena.expr(*part), Expression::Repeat(of, ..) if of == unit)
    };
    if !parts.iter().any(of_units) {
        return Ok(None);
    }
    let (mut patterns, mut bounds) = (vec![text], (0, UNBOUNDED));
    parts.sort_unstable();
    parts.dedup();
    for part in parts {
        match as_single_repeat(languages, part).filter(|_| part != text) {
            Some((of, min, max)) if is_provably_unit_subset(languages, of, unit)? => {
                bounds = (bounds.0.max(min), bounds.1.min(max));
                patterns.push(languages.repeat(of, 0, None));
            }
            _ => patterns.push(part),
        }
    }
    if let (min @ ..=MAX_INLINE_MINIMUM, UNBOUNDED) = bounds {
        patterns.push(languages.repeat(unit, min, None));
        bounds.0 = 0;
    }
    patterns.sort_unstable();
    patterns.dedup();
    Ok(Some((patterns, bounds)))
}

/// The part and its counts, if `x` is a sequence of repeats of one part.
fn as_single_repeat(languages: &Languages, x: Language) -> Option<(Language, u32, u32)> {
    let mut rest = Some(x);
    let mut found: Option<(Language, u32, u32)> = None;
    while let Some(at) = rest {
        let first = match *languages.arena.expr(at) {
            Expression::Concat(first, others) => {
                rest = Some(others);
                first
            }
            _ => {
                rest = None;
                at
            }
        };
        let (of, min, max) = match *languages.arena.expr(first) {
            Expression::Repeat(of, min, max) => (of, min, max),
            _ => (first, 1, 1),
        };
        let (known, least, most) = found.unwrap_or((of, 0, 0));
        if known != of {
            return None;
        }
        found = Some((of, least.saturating_add(min), most.saturating_add(max)));
    }
    found
}

/// Whether every string of `x` is one unit; false, too, where `x` has a counter.
fn is_provably_unit_subset(languages: &mut Languages, x: Language, unit: Language) -> Result<bool> {
    if x == unit {
        return Ok(true);
    }
    // A language with a counter is mostly longer than a unit, and a long search; a nullable one holds
    // the empty string, which is no unit.
    if languages.arena.properties(x).has_counter || languages.is_nullable(x) {
        return Ok(false);
    }
    let others = languages.difference(x, unit);
    Ok(!languages.is_live(others)?)
}

/// Conditions whose conjunction is `x`; complements of unions are taken apart.
fn conjuncts(languages: &mut Languages, x: Language, text: Language) -> Vec<Language> {
    let (mut open, mut found) = (vec![(x, true)], Vec::new());
    while let Some((at, holds)) = open.pop() {
        match (languages.arena.expr(at), holds) {
            (Expression::Intersect(parts), true) => open.extend(parts.iter().map(|&p| (p, true))),
            (Expression::Union(parts), false) => open.extend(parts.iter().map(|&p| (p, false))),
            (&Expression::Complement(inner), _) => match (at == Language::ALL, holds) {
                (false, _) => open.push((inner, !holds)),
                (true, true) => {}
                (true, false) => found.push(Language::EMPTY),
            },
            // That it is a text is said already.
            (Expression::Intersect(parts), false) if parts.len() == 2 && parts.contains(&text) => {
                open.extend(parts.iter().filter(|&&p| p != text).map(|&p| (p, false)));
            }
            (_, true) => found.push(at),
            (_, false) => found.push(languages.complement(at)),
        }
    }
    found
}

/// The patterns and bounds as one automaton; `None` if it is too large.
fn multiply(
    languages: &mut Languages,
    patterns: &[Language],
    (min, max): (u32, u32),
    unit: Language,
) -> Result<Option<Product>> {
    let counts = (min, max) != (0, UNBOUNDED);
    if counts && max > MAX_UNITS {
        return Ok(None);
    }
    let mut tables = Vec::with_capacity(patterns.len());
    for &pattern in patterns {
        match transition_table(languages, pattern, MAX_PATTERN_STATES, MAX_PATTERN_WORK)? {
            Determinized::TooLarge => return Ok(None),
            Determinized::Empty => return Ok(Some(Product::Empty)),
            Determinized::Dfa(rows, accepts) => tables.push((rows, accepts)),
        }
    }
    tables.sort_by_key(|(rows, _)| rows.len());
    let mut tables = tables.into_iter();
    let Some(mut product) = tables.next() else { return Ok(None) };
    for next in tables {
        product = match TransitionTable::product(
            &product,
            &next,
            MAX_PRODUCT_STATES,
            MAX_MINIMIZE_STEPS,
        )? {
            Determinized::TooLarge => return Ok(None),
            Determinized::Empty => return Ok(Some(Product::Empty)),
            Determinized::Dfa(rows, accepts) => (rows, accepts),
        };
    }
    let (rows, accepts) = product;
    let Some(places) = unit_automaton(languages, unit)? else { return Ok(None) };
    if !counts {
        let every_prefix = states_accepting_every_prefix(languages, &rows, unit)?;
        return Ok(Some(Product::Dfa(Arc::new(rows.packed(accepts, every_prefix)))));
    }
    let never = vec![false; rows.len()];
    let dfa = Arc::new(rows.packed(accepts, never));
    let Some(counted) = CountedProduct::new(dfa, places, (min, max))? else { return Ok(None) };
    Ok(Some(if counted.is_live_at(0, 0, 0) {
        Product::Counted(Arc::new(counted))
    } else {
        Product::Empty
    }))
}

/// Successors by place within a unit and byte; place 0 is between two units. `None` if a unit is a
/// prefix of another.
fn unit_automaton(languages: &mut Languages, unit: Language) -> Result<Option<Box<[[u8; 256]]>>> {
    let mut places = vec![unit];
    let mut steps: Vec<[u8; 256]> = Vec::new();
    while let Some(&place) = places.get(steps.len()) {
        let mut step = [NO_PLACE; 256];
        for (byte, &next) in languages.row(place)?.iter().enumerate() {
            let index = match next {
                Language::EMPTY => continue,
                Language::EPSILON => 0,
                next => {
                    let known = places.iter().skip(1).position(|&known| known == next);
                    known.map_or(places.len(), |known| known + 1)
                }
            };
            if index == places.len() {
                places.push(next);
            }
            step[byte] = index as u8;
        }
        steps.push(step);
        if places.len() >= usize::from(NO_PLACE) {
            return Ok(None);
        }
    }
    let prefix_code = places.iter().all(|&place| !languages.is_nullable(place));
    Ok(prefix_code.then(|| steps.into()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::syntax::parse;
    use crate::regular::{Anchoring, Dialect, Options};
    use crate::regular::{JsonString, any_text};
    use rustc_hash::FxHashSet;

    /// Texts of JSON strings of `min` to `max` characters that all patterns match.
    fn texts(l: &mut Languages, patterns: &[&str], min: u32, max: u32) -> (Language, Language) {
        let any = any_text(l, &JsonString);
        let Expression::Repeat(unit, ..) = *l.arena.expr(any) else {
            panic!("texts repeat a unit")
        };
        let mut parts = vec![l.repeat(unit, min, Some(max))];
        for pattern in patterns {
            let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
            parts.push(parse(l, pattern, options, &JsonString).unwrap());
        }
        (l.intersect(parts), unit)
    }

    /// Step by step, the one is the other.
    fn are_alike(l: &mut Languages, a: Language, b: Language, most: usize) {
        let mut seen = FxHashSet::from_iter([(a, b)]);
        let mut open = std::collections::VecDeque::from([(a, b)]);
        while let Some((a, b)) = open.pop_front().filter(|_| seen.len() < most) {
            assert_eq!(l.is_nullable(a), l.is_nullable(b));
            let (x, y) = (*l.row(a).unwrap(), *l.row(b).unwrap());
            for pair in x.into_iter().zip(y) {
                assert_eq!(pair.0 == Language::EMPTY, pair.1 == Language::EMPTY);
                if pair.0 != Language::EMPTY && seen.insert(pair) {
                    open.push_back(pair);
                }
            }
        }
    }

    #[test]
    fn many_patterns_are_what_each_of_them_is() {
        let mut l = Languages::new();
        for (patterns, min, max) in [
            (&["ab", "ba", "^[abü]*$", "a.a"][..], 0, 30),
            (&["ab", "ba", "^[^x]{5}$", "a.a"], 0, 200),
            (&["^(?:..)*$", "é", "b", "^[abé]*$"], 3, 9),
            (&["a", "b", "c", r"\d"], 2, 5),
        ] {
            let (x, unit) = texts(&mut l, patterns, min, max);
            let multiplied = product(&mut l, x, unit).unwrap().expect("these are few");
            are_alike(&mut l, x, multiplied, 3_000);
        }
    }

    #[test]
    fn what_cannot_be_met_is_empty() {
        let mut l = Languages::new();
        let words = ["w00x", "w01x", "w02x", "w03x", "w04x"];
        let (x, unit) = texts(&mut l, &words, 0, 19);
        assert_eq!(product(&mut l, x, unit).unwrap(), Some(Language::EMPTY));
        assert!(!has_text(&mut l, x, unit).unwrap());
        let (x, unit) = texts(&mut l, &words, 0, 20);
        assert!(has_text(&mut l, x, unit).unwrap());
    }

    #[test]
    fn negations_within_negations_are_one_conjunction() {
        let mut l = Languages::new();
        let (x, unit) = texts(&mut l, &["ab", "bc", "cd", "de"], 0, 8);
        let text = l.repeat(unit, 0, None);
        let Expression::Intersect(parts) = l.arena.expr(x).clone() else { panic!("several") };
        let nots: Vec<Language> = parts.iter().map(|&part| l.difference(text, part)).collect();
        let none = l.union(nots);
        let same = l.difference(text, none);
        let multiplied = product(&mut l, same, unit).unwrap().expect("these are few");
        are_alike(&mut l, x, multiplied, 3_000);
    }
}
