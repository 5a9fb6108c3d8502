//! Bounds on the number of units, pushed into the repeat of a language that is a sequence of units.

use smallvec::SmallVec;

use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use crate::error::Result;

/// The least and the greatest number of units; `None` for no bound.
type UnitRange = (u32, Option<u32>);

/// The numbers of units that the strings of `x` have, as ranges, if it holds every sequence of so many
/// units. `None` unless it is made of repeats of the unit alone.
pub(crate) fn unit_ranges(
    languages: &Languages,
    x: Language,
    unit: Language,
) -> Option<SmallVec<[UnitRange; 2]>> {
    let range = |part: Language| match *languages.arena.expr(part) {
        _ if part == Language::EPSILON => Some((0, Some(0))),
        _ if part == unit => Some((1, Some(1))),
        Expression::Repeat(part, min, max) if part == unit => {
            Some((min, (max != UNBOUNDED).then_some(max)))
        }
        _ => None,
    };
    match languages.arena.expr(x) {
        Expression::Union(parts) => parts.iter().map(|&part| range(part)).collect(),
        _ => range(x).map(|range| SmallVec::from_iter([range])),
    }
}

/// The strings of `x` with `min` to `max` units, as a sequence of repeats. `None` unless `x` is a
/// sequence of repeats of subsets of the unit, at most one of them with a variable count. The unit
/// is a prefix code.
pub(crate) fn with_unit_bounds(
    languages: &mut Languages,
    x: Language,
    unit: Language,
    (min, max): (u32, Option<u32>),
) -> Result<Option<Language>> {
    // Rows of intersections and complements are dear, and seldom come to units.
    if languages.arena.properties(x).has_boolean {
        return Ok(None);
    }
    let max = max.unwrap_or(UNBOUNDED);
    let mut parts: SmallVec<[(Language, u32, u32); 8]> = SmallVec::new();
    let mut at = x;
    while at != Language::EPSILON {
        let (first, rest) = match *languages.arena.expr(at) {
            Expression::Concat(first, rest) => (first, rest),
            _ => (at, Language::EPSILON),
        };
        parts.push(match *languages.arena.expr(first) {
            Expression::Repeat(part, least, most) => (part, least, most),
            _ => (first, 1, 1),
        });
        at = rest;
    }
    let is_open = |&(_, least, most): &(Language, u32, u32)| least != most;
    let fixed = parts.iter().filter(|part| !is_open(part)).map(|part| part.1);
    let fixed = fixed.fold(0, u32::saturating_add);
    if parts.iter().filter(|part| is_open(part)).count() > 1 {
        return Ok(None);
    }
    for &(part, ..) in &parts {
        if !is_provably_unit_subset(languages, part, unit)? {
            return Ok(None);
        }
    }
    let Some(left) = max.checked_sub(fixed) else { return Ok(Some(Language::EMPTY)) };
    let left = if max == UNBOUNDED { UNBOUNDED } else { left };
    let wanted = min.saturating_sub(fixed);
    match parts.iter_mut().find(|part| is_open(part)) {
        Some((_, least, most)) => {
            (*least, *most) = ((*least).max(wanted), (*most).min(left));
            if least > most {
                return Ok(Some(Language::EMPTY));
            }
        }
        None if wanted > 0 => return Ok(Some(Language::EMPTY)),
        None => {}
    }
    let parts: SmallVec<[Language; 8]> = parts
        .into_iter()
        .map(|(part, least, most)| {
            languages.repeat(part, least, (most != UNBOUNDED).then_some(most))
        })
        .collect();
    Ok(Some(languages.concat(parts)))
}

/// Whether every string of `x` is one unit; false, too, where that takes more than a few states.
fn is_provably_unit_subset(languages: &mut Languages, x: Language, unit: Language) -> Result<bool> {
    /// Pairs of states that are compared.
    const MAX_PAIRS: usize = 64;
    if languages.is_nullable(x) {
        return Ok(false);
    }
    let mut seen: SmallVec<[(Language, Language); 16]> = SmallVec::from_slice(&[(x, unit)]);
    let mut next = 0;
    while let Some(&(part, whole)) = seen.get(next) {
        next += 1;
        let whole = *languages.row(whole)?;
        let part = languages.row(part)?;
        let mut last = (Language::EMPTY, Language::EMPTY);
        let mut found: SmallVec<[(Language, Language); 8]> = SmallVec::new();
        for pair in part.iter().copied().zip(whole) {
            if pair.0 != Language::EMPTY && pair != last {
                last = pair;
                found.push(pair);
            }
        }
        for pair in found {
            if pair.1 == Language::EMPTY
                || languages.is_nullable(pair.0) && !languages.is_nullable(pair.1)
            {
                return Ok(false);
            }
            if pair.0 != Language::EPSILON && !seen.contains(&pair) {
                if seen.len() == MAX_PAIRS {
                    return Ok(false);
                }
                seen.push(pair);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;

    #[test]
    fn bounds_become_those_of_a_repeat() {
        let mut l = Languages::new();
        let parse = |l: &mut Languages, pattern: &str| {
            regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
        };
        let unit = parse(&mut l, "^(?s:.)$");
        let mut texts = vec![String::new()];
        for from in 0..400 {
            texts.extend(["a", "b", "é"].map(|c| texts[from].clone() + c));
        }
        for (pattern, counts) in [
            ("^a*$", true),
            ("^ab*a$", true),
            ("^[aé]{2,4}b$", true),
            ("^a{2}[^a]{3}$", true),
            ("^$", true),
            ("^a?[ab]{2}$", true),
            ("^a*b*$", false),
            ("^(ab)*$", false),
            ("^(a|ba)b*$", false),
            ("^(a|b)$", true),
        ] {
            let x = parse(&mut l, pattern);
            for (min, max) in
                [(0, Some(0)), (0, Some(2)), (1, None), (2, Some(4)), (4, Some(4)), (6, None)]
            {
                let found = with_unit_bounds(&mut l, x, unit, (min, max)).unwrap();
                assert_eq!(found.is_some(), counts, "{pattern}");
                for text in &texts {
                    let units = text.chars().count() as u32;
                    let fits = (min..=max.unwrap_or(u32::MAX)).contains(&units);
                    let expected = fits && l.matches(x, text.as_bytes()).unwrap();
                    let Some(found) = found else { continue };
                    let matched = l.matches(found, text.as_bytes()).unwrap();
                    assert_eq!(matched, expected, "{pattern} {min} {max:?} {text}");
                }
            }
        }
    }
}
