//! Questions about the outermost structure of an expression: repeats, suffixes, exclusions.
//!
//! All are O(parts) at most and never make a state. They answer for the expression as it is written,
//! not for the language.

use super::expression::{Expr, Language, UNBOUNDED};
use super::store::Languages;
use super::subexpressions::subexpressions;
use smallvec::SmallVec;

/// `x{min,max} rest` as its parts, `max` being [`u32::MAX`] where there is no bound.
pub(crate) fn leading_repeat(
    languages: &Languages,
    x: Language,
) -> Option<(Language, u32, u32, Language)> {
    let (head, rest) = match *languages.arena.expr(x) {
        Expr::Concat(head, rest) => (head, rest),
        _ => (x, Language::EPSILON),
    };
    match *languages.arena.expr(head) {
        Expr::Repeat(part, min, max) if part != Language::EMPTY => Some((part, min, max, rest)),
        _ => None,
    }
}

/// `x{min,max} rest` as its parts, if nothing else counts: most states that count are so.
pub(crate) fn leading_counter(
    languages: &Languages,
    x: Language,
) -> Option<(Language, u32, u32, Language)> {
    let counts = |part: Language| languages.arena.properties(part).has_counter;
    leading_repeat(languages, x).filter(|&(part, _, _, rest)| !counts(part) && !counts(rest))
}

/// What is repeated with a bound in it, sets of bytes and small bounds not counted: telling a few
/// states apart takes less time than to find out how many of a unit a token has.
pub(crate) fn counted_units(languages: &Languages, x: Language) -> SmallVec<[Language; 4]> {
    const FEW: u32 = 8;
    let counts = |part: Language, min: u32, max: u32| {
        (min > FEW || max > FEW && max != UNBOUNDED)
            && !matches!(languages.arena.expr(part), Expr::Set(_))
    };
    if let Some((part, min, max, _)) = leading_counter(languages, x) {
        return counts(part, min, max).then_some(part).into_iter().collect();
    }
    let mut units = SmallVec::new();
    for at in
        subexpressions(languages, x, false, |part| !languages.arena.properties(part).has_counter)
    {
        if let Expr::Repeat(part, min, max) = *languages.arena.expr(at)
            && counts(part, min, max)
        {
            units.push(part);
        }
    }
    units
}

/// Is something that is no set of bytes repeated with a bound of more than so many times?
pub(crate) fn has_unit_counter_above(languages: &Languages, x: Language, most: u32) -> bool {
    subexpressions(languages, x, false, |part| !languages.arena.properties(part).has_counter)
        .into_iter()
        .any(|at| match *languages.arena.expr(at) {
            Expr::Repeat(part, min, max) if !matches!(languages.arena.expr(part), Expr::Set(_)) => {
                min > most || max != UNBOUNDED && max > most
            }
            _ => false,
        })
}

/// Do bounds on repeats occur in it? If not, no other language is [near](near) it.
pub(crate) fn has_counter(languages: &Languages, x: Language) -> bool {
    languages.arena.properties(x).has_counter
}

/// What stands before `end` in a concatenation that ends in it.
pub(crate) fn before_suffix(
    languages: &mut Languages,
    x: Language,
    end: Language,
) -> Option<Language> {
    let mut firsts: SmallVec<[Language; 8]> = SmallVec::new();
    let mut at = x;
    while at != end {
        let Expr::Concat(first, rest) = *languages.arena.expr(at) else { return None };
        firsts.push(first);
        at = rest;
    }
    Some(languages.concat(firsts))
}

/// What stands before `end` in a concatenation of these two.
pub(crate) fn single_before_suffix(
    languages: &Languages,
    x: Language,
    end: Language,
) -> Option<Language> {
    match *languages.arena.expr(x) {
        Expr::Concat(first, rest) if rest == end => Some(first),
        _ => None,
    }
}

/// Is it a concatenation that ends in `end`?
pub(crate) fn ends_with(languages: &Languages, x: Language, end: Language) -> bool {
    let mut at = x;
    while at != end {
        let Expr::Concat(_, rest) = *languages.arena.expr(at) else { return false };
        at = rest;
    }
    true
}

/// What follows `first` in a concatenation that begins with it.
pub(crate) fn after_first(languages: &Languages, x: Language, first: Language) -> Option<Language> {
    match *languages.arena.expr(x) {
        Expr::Concat(a, rest) if a == first => Some(rest),
        _ => None,
    }
}

/// The languages whose strings a text lacks, if it is all strings of units but these.
pub(crate) fn excluded_strings(
    languages: &Languages,
    x: Language,
    unit: Language,
) -> Option<SmallVec<[Language; 2]>> {
    let Expr::Intersect(parts) = languages.arena.expr(x) else { return None };
    let mut lacking = SmallVec::new();
    for &part in parts {
        match *languages.arena.expr(part) {
            Expr::Complement(inner) => lacking.push(inner),
            Expr::Repeat(of, 0, UNBOUNDED) if of == unit => {}
            _ => return None,
        }
    }
    Some(lacking)
}

/// Is it made of finitely many strings without counting, and/or/not?
pub(crate) fn is_string_list(languages: &Languages, x: Language) -> bool {
    let facts = languages.arena.properties(x);
    facts.is_finite && !facts.has_counter && !facts.has_boolean
}

/// Does one of the parts that it is a concatenation of lack finitely many strings that are
/// named?
pub(crate) fn has_exclusions(languages: &Languages, x: Language) -> bool {
    let lacks = |x: Language| match languages.arena.expr(x) {
        Expr::Intersect(parts) => parts.iter().any(|&part| match *languages.arena.expr(part) {
            Expr::Complement(inner) => languages.arena.properties(inner).is_finite,
            _ => false,
        }),
        _ => false,
    };
    let mut at = x;
    while let Expr::Concat(first, rest) = *languages.arena.expr(at) {
        if lacks(first) {
            return true;
        }
        at = rest;
    }
    lacks(at)
}
