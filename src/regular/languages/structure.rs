//! Questions about the outermost structure of an expression: repeats, suffixes, exclusions.
//!
//! All are O(parts) at most and never make a state. They answer for the expression as it is written,
//! not for the language.

use smallvec::SmallVec;

use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use super::subexpressions::subexpressions;

/// `x{min,max} rest` as its parts; `max` is [`u32::MAX`] where there is no bound.
pub(crate) fn leading_repeat(
    languages: &Languages,
    x: Language,
) -> Option<(Language, u32, u32, Language)> {
    let (head, rest) = match *languages.arena.expr(x) {
        Expression::Concat(head, rest) => (head, rest),
        _ => (x, Language::EPSILON),
    };
    match *languages.arena.expr(head) {
        Expression::Repeat(part, min, max) if part != Language::EMPTY => {
            Some((part, min, max, rest))
        }
        _ => None,
    }
}

/// `x{min,max} rest` as its parts, if neither `x` nor `rest` has a counter: the shape of most
/// states with one.
pub(crate) fn leading_counter(
    languages: &Languages,
    x: Language,
) -> Option<(Language, u32, u32, Language)> {
    let counts = |part: Language| languages.arena.properties(part).has_counter;
    leading_repeat(languages, x).filter(|&(part, _, _, rest)| !counts(part) && !counts(rest))
}

/// The units that are repeated with a bound above 8, single bytes aside. Below that, telling the
/// states apart costs less than counting units in tokens.
pub(crate) fn counted_units(languages: &Languages, x: Language) -> SmallVec<[Language; 4]> {
    /// Counts up to this are few states.
    const MAX_SMALL_BOUND: u32 = 8;
    let counts = |part: Language, min: u32, max: u32| {
        (min > MAX_SMALL_BOUND || max > MAX_SMALL_BOUND && max != UNBOUNDED)
            && !matches!(languages.arena.expr(part), Expression::Set(_))
    };
    if let Some((part, min, max, _)) = leading_counter(languages, x) {
        return counts(part, min, max).then_some(part).into_iter().collect();
    }
    let mut units = SmallVec::new();
    for at in subexpressions(languages, x, |part| !languages.arena.properties(part).has_counter) {
        if let Expression::Repeat(part, min, max) = *languages.arena.expr(at)
            && counts(part, min, max)
        {
            units.push(part);
        }
    }
    units
}

/// Whether a unit of more than a byte is repeated with a finite bound above `most`.
pub(crate) fn has_unit_counter_above(languages: &Languages, x: Language, most: u32) -> bool {
    subexpressions(languages, x, |part| !languages.arena.properties(part).has_counter)
        .into_iter()
        .any(|at| match *languages.arena.expr(at) {
            Expression::Repeat(part, min, max)
                if !matches!(languages.arena.expr(part), Expression::Set(_)) =>
            {
                min > most || max != UNBOUNDED && max > most
            }
            _ => false,
        })
}

/// Whether a counter occurs in it. If not, [widening](super::widening) leaves it as it is.
pub(crate) fn has_counter(languages: &Languages, x: Language) -> bool {
    languages.arena.properties(x).has_counter
}

/// The language before `end` in a concatenation that ends in it.
pub(crate) fn before_suffix(
    languages: &mut Languages,
    x: Language,
    end: Language,
) -> Option<Language> {
    let mut firsts: SmallVec<[Language; 8]> = SmallVec::new();
    let mut at = x;
    while at != end {
        let Expression::Concat(first, rest) = *languages.arena.expr(at) else { return None };
        firsts.push(first);
        at = rest;
    }
    Some(languages.concat(firsts))
}

/// `first`, if the language is the concatenation of `first` and `end`.
pub(crate) fn single_before_suffix(
    languages: &Languages,
    x: Language,
    end: Language,
) -> Option<Language> {
    match *languages.arena.expr(x) {
        Expression::Concat(first, rest) if rest == end => Some(first),
        _ => None,
    }
}

/// Whether it is `end`, or a concatenation that ends in it.
pub(crate) fn ends_with(languages: &Languages, x: Language, end: Language) -> bool {
    let mut at = x;
    while at != end {
        let Expression::Concat(_, rest) = *languages.arena.expr(at) else { return false };
        at = rest;
    }
    true
}

/// The rest of a concatenation that begins with `first`.
pub(crate) fn after_first(languages: &Languages, x: Language, first: Language) -> Option<Language> {
    match *languages.arena.expr(x) {
        Expression::Concat(a, rest) if a == first => Some(rest),
        _ => None,
    }
}

/// The parts of a union; any other language is its only part.
pub(crate) fn alternatives(languages: &Languages, x: Language) -> Vec<Language> {
    match languages.arena.expr(x) {
        Expression::Union(parts) => parts.to_vec(),
        _ => vec![x],
    }
}

/// The languages that are excluded, if `x` is all texts of units but those in these.
pub(crate) fn excluded_strings(
    languages: &Languages,
    x: Language,
    unit: Language,
) -> Option<SmallVec<[Language; 2]>> {
    let Expression::Intersect(parts) = languages.arena.expr(x) else { return None };
    let mut lacking = SmallVec::new();
    for &part in parts {
        match *languages.arena.expr(part) {
            Expression::Complement(inner) => lacking.push(inner),
            Expression::Repeat(of, 0, UNBOUNDED) if of == unit => {}
            _ => return None,
        }
    }
    Some(lacking)
}

/// Whether it is a finite set of strings without counters, intersections and complements.
pub(crate) fn is_string_list(languages: &Languages, x: Language) -> bool {
    let facts = languages.arena.properties(x);
    facts.is_finite && !facts.has_counter && !facts.has_boolean
}

/// Whether a part of the concatenation is an intersection that excludes finitely many strings.
pub(crate) fn has_exclusions(languages: &Languages, x: Language) -> bool {
    let lacks = |x: Language| match languages.arena.expr(x) {
        Expression::Intersect(parts) => {
            parts.iter().any(|&part| match *languages.arena.expr(part) {
                Expression::Complement(inner) => languages.arena.properties(inner).is_finite,
                _ => false,
            })
        }
        _ => false,
    };
    let mut at = x;
    while let Expression::Concat(first, rest) = *languages.arena.expr(at) {
        if lacks(first) {
            return true;
        }
        at = rest;
    }
    lacks(at)
}
