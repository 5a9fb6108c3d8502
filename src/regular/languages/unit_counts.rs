//! Unit counts of a regular language: whether a length can be reached, by arithmetic.
//!
//! A least length beside a pattern is an intersection, `P & unit{n,}`, and a search for one of its
//! strings would go through `n` units. But the numbers of units that strings of `P` have follow from
//! the cycles of its automaton: with a cycle on the way to the end there is no greatest number, and
//! any window of as many numbers as the automaton has states, above the least, holds one of them (a
//! longer string is shortened cycle by cycle); without one, the greatest number is that of the
//! longest path. For `^(ab|c)*$` of at least 10^9 characters that is three states, not a search that
//! ends at a limit after ten seconds.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::expression::{Expression, Language, UNBOUNDED};
use super::lengths::max_length;
use super::memo::{StatePair, UnitCounts};
use super::store::Languages;
use crate::deadline;
use crate::error::Result;

/// Least numbers of units up to which a search is as fast: microseconds.
const MAX_SEARCHED_UNITS: u32 = 256;

/// Pairs of a state of the text and a state of the unit that are visited.
const MAX_STATE_PAIRS: usize = 20_000;

/// Whether a text with a great least number of units has any string; `None` if arithmetic does not
/// decide it.
pub(crate) fn has_counted_string(languages: &mut Languages, x: Language) -> Result<Option<bool>> {
    let Expression::Intersect(xs) = languages.arena.expr(x) else { return Ok(None) };
    let counted = |part: &Language| {
        let (begun, repeat) = match *languages.arena.expr(*part) {
            Expression::Concat(begun, repeat) => (begun, repeat),
            _ => (Language::EPSILON, *part),
        };
        match *languages.arena.expr(repeat) {
            Expression::Repeat(unit, least, most) if least > MAX_SEARCHED_UNITS => {
                Some((*part, begun, unit, least, most))
            }
            _ => None,
        }
    };
    let Some((bound, begun, unit, least, most)) = xs.iter().find_map(counted) else {
        return Ok(None);
    };
    let rest: SmallVec<[Language; 8]> = xs.iter().copied().filter(|&x| x != bound).collect();
    let text = languages.intersect(rest);
    let most_bytes = max_length(languages, text, &mut FxHashMap::default());
    if most_bytes.is_some_and(|bytes| bytes < least) {
        return Ok(Some(false));
    }
    let units = languages.repeat(unit, 0, None);
    let begun = languages.concat2(begun, units);
    Ok(match unit_counts(languages, (text, begun), units)? {
        Some(UnitCounts::None) => Some(false),
        Some(UnitCounts::UpTo { greatest, .. }) if greatest < least => Some(false),
        Some(UnitCounts::UpTo { state_pairs, .. } | UnitCounts::Unbounded { state_pairs }) => {
            (most == UNBOUNDED || most - least >= state_pairs).then_some(true)
        }
        None => None,
    })
}

/// The numbers of units of the strings from a pair of states on; `None` if that takes too many
/// pairs. Remembered for all pairs on the way.
pub(super) fn unit_counts(
    languages: &mut Languages,
    from: StatePair,
    units: Language,
) -> Result<Option<UnitCounts>> {
    if let Some(&known) = languages.memo.unit_counts.get(&from) {
        return Ok(known);
    }
    let mut pairs = vec![from];
    let mut ids: FxHashMap<StatePair, usize> = FxHashMap::from_iter([(from, 0)]);
    // By pair: the pairs before it, each with the units that begin on the way.
    let mut before: Vec<SmallVec<[(usize, u32); 4]>> = vec![SmallVec::new()];
    let mut unresolved_successors: Vec<usize> = Vec::new();
    while let Some(&(text, unit)) = pairs.get(unresolved_successors.len()) {
        deadline::check()?;
        let (row, unit_row) = (*languages.row(text)?, *languages.row(unit)?);
        let (at, begins) = (unresolved_successors.len(), u32::from(unit == units));
        let mut nexts: SmallVec<[StatePair; 16]> = row.into_iter().zip(unit_row).collect();
        nexts.dedup();
        nexts.retain(|next| next.0 != Language::EMPTY && next.1 != Language::EMPTY);
        nexts.sort_unstable();
        nexts.dedup();
        for &next in &nexts {
            let id = *ids.entry(next).or_insert_with(|| {
                pairs.push(next);
                before.push(SmallVec::new());
                pairs.len() - 1
            });
            before[id].push((at, begins));
        }
        unresolved_successors.push(nexts.len());
        if pairs.len() > MAX_STATE_PAIRS {
            languages.memo.unit_counts.insert(from, None);
            return Ok(None);
        }
    }
    // 1. Backward reachability: `accepts[p]` where acceptance is reachable from pair `p`.
    let mut accepts: Vec<bool> = vec![false; pairs.len()];
    let mut todo: Vec<usize> = (0..pairs.len())
        .filter(|&at| languages.is_nullable(pairs[at].0) && languages.is_nullable(pairs[at].1))
        .collect();
    todo.iter().for_each(|&at| accepts[at] = true);
    while let Some(at) = todo.pop() {
        for &(previous, _) in &before[at] {
            if !std::mem::replace(&mut accepts[previous], true) {
                todo.push(previous);
            }
        }
    }
    // 2. In reverse topological order, the greatest number of units from each pair; pairs that this
    // never reaches lead into a cycle.
    let mut greatest: Vec<Option<u32>> = vec![None; pairs.len()];
    let mut greatest_so_far = vec![0; pairs.len()];
    let mut ready: Vec<usize> =
        (0..pairs.len()).filter(|&at| unresolved_successors[at] == 0).collect();
    while let Some(at) = ready.pop() {
        let most = if accepts[at] { greatest_so_far[at] } else { 0 };
        greatest[at] = Some(most);
        for &(previous, begins) in &before[at] {
            if accepts[at] {
                greatest_so_far[previous] = greatest_so_far[previous].max(most + begins);
            }
            unresolved_successors[previous] -= 1;
            if unresolved_successors[previous] == 0 {
                ready.push(previous);
            }
        }
    }
    let state_pairs = pairs.len() as u32;
    for (at, &pair) in pairs.iter().enumerate() {
        let counts = match greatest[at] {
            _ if !accepts[at] => UnitCounts::None,
            Some(greatest) => UnitCounts::UpTo { greatest, state_pairs },
            None => UnitCounts::Unbounded { state_pairs },
        };
        languages.memo.unit_counts.insert(pair, Some(counts));
    }
    Ok(languages.memo.unit_counts.get(&from).copied().flatten())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;

    fn counts(pattern: &str) -> Option<UnitCounts> {
        let mut l = Languages::new();
        let options = regular::Options::default();
        let text = regular::parse(&mut l, pattern, options, &Utf8).unwrap();
        let unit = regular::parse(&mut l, "(?s:.)", options, &Utf8).unwrap();
        let units = l.repeat(unit, 0, None);
        unit_counts(&mut l, (text, units), units).unwrap()
    }

    #[test]
    fn units_are_counted_along_the_longest_path() {
        for (pattern, greatest) in [
            ("abc|é{2}|\u{1F600}", Some(3)),
            ("(a|bb){3,5}é?", Some(11)),
            ("", Some(0)),
            ("(ab|c)*", None),
            ("a{3}b*", None),
            ("(?=a*b)[abc]{4}d", Some(5)),
        ] {
            let counts = counts(pattern).unwrap();
            match counts {
                UnitCounts::UpTo { greatest: most, .. } => {
                    assert_eq!(Some(most), greatest, "{pattern}");
                }
                UnitCounts::Unbounded { .. } => assert_eq!(None, greatest, "{pattern}"),
                UnitCounts::None => panic!("{pattern} has strings"),
            }
        }
        // Another cycle leads to no end.
        assert!(matches!(counts("a|[b&&c]b*"), Some(UnitCounts::UpTo { greatest: 1, .. })));
    }

    #[test]
    fn a_length_is_reached_or_not_without_a_search() {
        let mut l = Languages::new();
        let options = regular::Options::default();
        let unit = regular::parse(&mut l, "(?s:.)", options, &Utf8).unwrap();
        for (pattern, least, most, is_live) in [
            ("(ab|c)*", 1_000_000_000, None, true),
            ("(ab|c)*", 1_000_000_000, Some(1_000_000_100), true),
            ("(?=.*x)[^y]*", 2_000_000_000, None, true),
            ("(a|bb){3,500}é?", 1_001, None, true),
            ("(a|bb){3,500}é?", 1_002, None, false),
            ("[a-z]{1,63}(\\.[a-z]{1,63}){0,3}", 257, None, false),
        ] {
            let text = regular::parse(&mut l, pattern, options, &Utf8).unwrap();
            let bound = l.repeat(unit, least, most);
            let both = l.intersect([text, bound]);
            let before = l.len();
            assert_eq!(l.is_live(both).unwrap(), is_live, "{pattern} {least}");
            assert!(l.len() - before < 5_000, "{pattern}: {}", l.len() - before);
        }
    }
}
