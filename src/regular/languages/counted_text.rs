//! Texts with a bound on their number of units, such as `pattern & character{0,40}`.
//!
//! Where the pattern alone proves that its strings are texts of units, the bound is nothing but a
//! counter: lengths, spans and masks follow from the pattern.

use smallvec::SmallVec;

use super::common_successor::common_successor;
use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use crate::error::Result;

/// An intersection of texts with a bound on their number of units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedText {
    /// The texts, of any length.
    pub(crate) text: Language,
    pub(crate) unit: Language,
    /// The greatest number of units.
    pub(crate) most: u32,
}

/// An intersection without the parts `unit*` that other parts imply.
pub(crate) fn without_redundant_texts(languages: &mut Languages, x: Language) -> Result<Language> {
    let Expression::Intersect(xs) = languages.arena.expr(x) else { return Ok(x) };
    let mut xs: SmallVec<[Language; 8]> = SmallVec::from_slice(xs);
    let mut index = 0;
    while let Some(&wide) = xs.get(index) {
        if leading_units(languages, wide).is_some_and(|(_, most)| most == UNBOUNDED) {
            let mut within = false;
            for i in (0..xs.len()).filter(|&i| i != index) {
                within = within || is_provably_within(languages, xs[i], wide)?;
            }
            if within {
                xs.remove(index);
                continue;
            }
        }
        index += 1;
    }
    Ok(languages.intersect(xs))
}

/// The texts and their bound, if `x` is such an intersection.
pub(crate) fn counted_text(languages: &mut Languages, x: Language) -> Result<Option<CountedText>> {
    let Expression::Intersect(xs) = languages.arena.expr(x) else { return Ok(None) };
    let &[a, b] = &xs[..] else { return Ok(None) };
    for (text, bound) in [(a, b), (b, a)] {
        let Some((unit, most)) = leading_units(languages, bound) else { continue };
        let wide = match *languages.arena.expr(bound) {
            Expression::Repeat(_, least, _) => languages.repeat(unit, least, None),
            Expression::Concat(begun, _) => {
                let units = languages.repeat(unit, 0, None);
                languages.concat2(begun, units)
            }
            _ => continue,
        };
        if is_provably_within(languages, text, wide)? {
            return Ok(Some(CountedText { text, unit, most }));
        }
    }
    Ok(None)
}

/// The unit and the greatest count of a repeat of at least none or one, or of what is left of one
/// within its first unit.
fn leading_units(languages: &Languages, x: Language) -> Option<(Language, u32)> {
    match *languages.arena.expr(x) {
        Expression::Repeat(unit, ..=1, most) => Some((unit, most)),
        Expression::Concat(_, rest) => match *languages.arena.expr(rest) {
            Expression::Repeat(unit, 0, most) => Some((unit, most)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether every string of `x` is in `wide`, as far as a bounded number of steps proves it.
fn is_provably_within(languages: &mut Languages, x: Language, wide: Language) -> Result<bool> {
    /// Steps of the proof.
    const MAX_STEPS: usize = 2_000;
    let mut left = MAX_STEPS;
    Ok(common_successor(languages, x, wide, &mut left, 0)?
        .is_some_and(|after| languages.is_nullable(after)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;
    use crate::regular::languages::compact::compile_named_dfa;
    use crate::regular::languages::lengths::some_length;

    fn parse(l: &mut Languages, pattern: &str) -> Language {
        regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
    }

    /// As a finished automaton.
    fn finished(l: &mut Languages, name: &str, pattern: &str, unit: Language) -> Language {
        let x = parse(l, pattern);
        compile_named_dfa(l, name, x, unit).unwrap()
    }

    #[test]
    fn what_is_said_of_texts_holds() {
        let mut l = Languages::new();
        let unit = parse(&mut l, "^(?s:.)$");
        let (mut counted, mut lengths) = (0, 0);
        for pattern in [
            "^[a-zé]+(-[a-z]+)*$",
            "^(ab|é\u{1F600}c)*x$",
            "^([ab]{2}|é)+$",
            "^a?$",
            "^(?!.*--)[a-z-]{2,}$",
            "^((é|a)(b|-)){3,}$",
        ] {
            for dfa in [false, true] {
                let x = if dfa {
                    finished(&mut l, pattern, pattern, unit)
                } else {
                    parse(&mut l, pattern)
                };
                for (min, max) in [(0, 0), (0, 1), (0, 2), (1, 4), (0, 6), (1, 40)] {
                    let bound = l.repeat(unit, min, Some(max));
                    let mut states = vec![l.intersect([x, bound])];
                    for next in 0..300 {
                        let Some(&state) = states.get(next) else { break };
                        for after in *l.row(state).unwrap() {
                            if after != Language::EMPTY && !states.contains(&after) {
                                states.push(after);
                            }
                        }
                    }
                    for state in states {
                        if let Some(CountedText { text, unit, most }) =
                            counted_text(&mut l, state).unwrap()
                        {
                            // Every text is one of units, or begins within one.
                            let units = l.repeat(unit, 0, None);
                            let others = l.difference(text, units);
                            let begun = l.shortest(others).unwrap();
                            let begun = begun.is_none_or(|text| (0x80..0xC0).contains(&text[0]));
                            assert!(begun && most <= 40, "{pattern}");
                            counted += 1;
                        }
                        if let Some(length) = some_length(&mut l, state, 0).unwrap() {
                            let shortest = l.shortest(state).unwrap().unwrap();
                            assert!(shortest.len() as u32 <= length, "{pattern} {min} {max}");
                            lengths += 1;
                        }
                    }
                }
            }
        }
        assert!(counted > 200 && lengths > 200, "{counted} {lengths}");
    }

    #[test]
    fn strings_lead_to_one_state_or_none_is_said() {
        let mut l = Languages::new();
        let unit = parse(&mut l, "^(?s:.)$");
        let all = l.repeat(unit, 0, None);
        let some = l.repeat(unit, 1, None);
        for (pattern, from_all, from_some) in [
            ("^[a-zé]*$", true, false),
            ("^[a-zé]+$", true, true),
            ("^$", true, false),
            ("^(a|é{3}|b\u{1F600})-$", true, true),
            ("^((a|é)-){2,9}$", true, true),
        ] {
            let x = parse(&mut l, pattern);
            for x in [x, finished(&mut l, &format!("leads {pattern}"), pattern, unit)] {
                assert_eq!(is_provably_within(&mut l, x, all).unwrap(), from_all, "{pattern}");
                assert_eq!(is_provably_within(&mut l, x, some).unwrap(), from_some, "{pattern}");
            }
        }
        let pairs = parse(&mut l, "^(aa|bb)*$");
        for (pattern, within) in [
            ("^(aa)*$", true),
            ("^a{2}b{2}$", false),
            ("^a{1,2}$", false),
            ("^(aa|b)$", false),
            ("^(a|bb)$", false),
            ("^(aa|b{3})$", false),
            ("^(aa|bb)$", true),
            ("^[ab]{2}$", false),
        ] {
            let x = parse(&mut l, pattern);
            let found = is_provably_within(&mut l, x, pairs).unwrap();
            // No means perhaps.
            assert_eq!(found, within, "{pattern}");
        }
    }
}
