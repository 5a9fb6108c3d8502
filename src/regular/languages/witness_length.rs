//! Lengths of short witnesses, without spelling long ones out.

use rustc_hash::FxHashMap;

use super::expression::{Expression, Language};
use super::lengths::min_length_bound;
use super::store::Languages;
use super::subexpressions::regular_subexpressions;
use super::witness::{MAX_WITNESS_BYTES, short};
use crate::error::Result;

/// The length of [`short`], or `None` if there is no string. Where structure proves more than
/// `most` bytes, a lower bound above `most`.
pub(crate) fn short_length(
    languages: &mut Languages,
    x: Language,
    most: u64,
) -> Result<Option<u64>> {
    let bound = min_length_bound(languages, x);
    if bound == u64::MAX {
        return Ok(None);
    }
    // The bound of such a language is exact.
    if bound > most || languages.arena.properties(x).is_trim {
        return Ok(Some(bound));
    }
    Ok(short(languages, x)?.map(|text| text.len() as u64))
}

/// The length of [`short`]; `None` if there is no string. `known` remembers answers.
///
/// Errors when the arena's limit on states is reached.
pub(crate) fn short_length_memoized(
    languages: &mut Languages,
    x: Language,
    known: &mut FxHashMap<Language, Option<u32>>,
) -> Result<Option<u32>> {
    for at in regular_subexpressions(languages, x, |part| known.contains_key(&part)) {
        let of = |part: &Language| known.get(part).copied().flatten();
        let least = match languages.arena.expr(at) {
            _ if languages.is_nullable(at) => Some(0),
            Expression::Set(set) => (!set.is_empty()).then_some(1),
            Expression::Concat(a, b) => of(a).zip(of(b)).map(|(a, b)| a.saturating_add(b)),
            Expression::Union(xs) => xs.iter().filter_map(of).min(),
            Expression::Repeat(part, min, _) => of(part).map(|least| least.saturating_mul(*min)),
            // Near enough: there may be a shorter one.
            Expression::Computed(running) => match running.automaton.completion(&running.state) {
                Some(rest) => Some(rest.len() as u32),
                None => search_length(languages, at, known)?,
            },
            _ => search_length(languages, at, known)?,
        };
        known.insert(at, least);
    }
    Ok(known.get(&x).copied().flatten())
}

/// The length by search; those of the states on the path are remembered.
fn search_length(
    languages: &mut Languages,
    x: Language,
    known: &mut FxHashMap<Language, Option<u32>>,
) -> Result<Option<u32>> {
    let bound = min_length_bound(languages, x);
    if (MAX_WITNESS_BYTES + 1..u64::MAX).contains(&bound) {
        return Ok(Some(bound.try_into().unwrap_or(u32::MAX)));
    }
    let Some(short) = short(languages, x)? else { return Ok(None) };
    let (mut at, length) = (x, short.len() as u32);
    for (read, &byte) in short.iter().enumerate() {
        known.insert(at, Some(length - read as u32));
        at = languages.step(at, byte)?;
    }
    Ok(Some(length))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;
    use crate::regular::languages::lengths::max_length;

    #[test]
    fn lengths_are_those_of_strings() {
        for (pattern, least, most) in [
            ("abc|de", Some(2), Some(3)),
            ("a{3,7}(bc)?", Some(3), Some(9)),
            ("(a|bb)+", Some(1), None),
            ("é", Some(2), Some(2)),
            ("(?=a*b)[abc]{4}d|xyzxyzxyz", Some(5), Some(9)),
            ("(?=.*[0-9].*[0-9])[a-z0-9]+", Some(2), None),
            ("[a&&b]", None, Some(1)),
            ("", Some(0), Some(0)),
        ] {
            let mut languages = Languages::new();
            let options = regular::Options::default();
            let x = regular::parse(&mut languages, pattern, options, &Utf8).unwrap();
            let found =
                short_length_memoized(&mut languages, x, &mut FxHashMap::default()).unwrap();
            assert_eq!(found, least, "{pattern}");
            let shortest = languages.shortest(x).unwrap();
            assert_eq!(found, shortest.map(|s| s.len() as u32), "{pattern}");
            // Only an upper bound where an intersection or a complement occurs.
            if let Some(bound) = max_length(&languages, x, &mut FxHashMap::default()) {
                assert!(most.is_some_and(|most| most <= bound), "{pattern}");
            } else if !pattern.contains("(?=") {
                assert_eq!(most, None, "{pattern}");
            }
        }
    }
}
