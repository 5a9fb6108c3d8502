//! Determinisation of an expression to a minimal automaton.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::derivative::fill_row;
use super::dfa::{Dfa, NO_STATE};
use super::expression::Language;
use super::store::Languages;
use super::transition_table::{Determinized, TransitionTable};
use crate::deadline;
use crate::error::Result;
use crate::regular::ByteSet;

/// The DFA of a language; `None` if it has more than `most` states before minimisation, takes more
/// than `work` work units, or accepts nothing. `unit` is that of [`Dfa::accepts_every_prefix`].
pub(super) fn determinized(
    languages: &mut Languages,
    x: Language,
    unit: Option<Language>,
    most: usize,
    work: usize,
) -> Result<Option<Dfa>> {
    let Determinized::Dfa(rows, accepts) = transition_table(languages, x, most, work)? else {
        return Ok(None);
    };
    let every_prefix = match unit {
        Some(unit) => states_accepting_every_prefix(languages, &rows, unit)?,
        None => vec![false; rows.len()],
    };
    Ok(Some(rows.packed(accepts, every_prefix)))
}

/// The minimal transition table of a language, within the same limits.
pub(crate) fn transition_table(
    languages: &mut Languages,
    x: Language,
    most: usize,
    work: usize,
) -> Result<Determinized> {
    let work = languages.budget.work.saturating_add(work);
    let mut states = vec![x];
    let mut ids: FxHashMap<Language, u32> = FxHashMap::from_iter([(x, 0)]);
    // By state: the bytes at which its row changes, and where it leads from there on.
    let mut changes: Vec<SmallVec<[(u8, u32); 8]>> = Vec::new();
    let mut all_starts = ByteSet::single(0);
    while let Some(&state) = states.get(changes.len()) {
        deadline::check()?;
        fill_row(languages, state)?;
        let starts = languages.arena.run_starts(state).union(&ByteSet::single(0));
        all_starts = all_starts.union(&starts);
        let row = languages.arena.row(state);
        let mut change = SmallVec::new();
        for byte in starts.iter() {
            let after = row.map_or(Language::EMPTY, |row| row[usize::from(byte)]);
            let id = match after {
                Language::EMPTY => NO_STATE,
                _ => *ids.entry(after).or_insert_with(|| {
                    states.push(after);
                    states.len() as u32 - 1
                }),
            };
            change.push((byte, id));
        }
        changes.push(change);
        if states.len() > most || languages.budget.work > work {
            return Ok(Determinized::TooLarge);
        }
    }
    let accepts: Vec<bool> = states.iter().map(|&state| languages.is_nullable(state)).collect();
    Ok(TransitionTable::new(&changes, all_starts).minimal(&accepts, usize::MAX))
}

/// By state: whether every text of units can be continued to acceptance. A greatest fixed point
/// over pairs of a state and a place within a unit.
pub(crate) fn states_accepting_every_prefix(
    languages: &mut Languages,
    rows: &TransitionTable,
    unit: Language,
) -> Result<Vec<bool>> {
    let mut places = vec![unit];
    let mut steps: Vec<Vec<(u8, usize)>> = Vec::new();
    while let Some(&place) = places.get(steps.len()) {
        let mut step = Vec::new();
        for (byte, &next) in languages.row(place)?.iter().enumerate() {
            let next = match next {
                Language::EMPTY => continue,
                Language::EPSILON => unit,
                next => next,
            };
            let index = places.iter().position(|&known| known == next);
            let index = index.unwrap_or_else(|| {
                places.push(next);
                places.len() - 1
            });
            step.push((byte as u8, index));
        }
        steps.push(step);
    }
    let width = places.len();
    let mut holds = vec![true; rows.len() * width];
    let mut changed = true;
    while changed {
        changed = false;
        for state in 0..rows.len() {
            for (place, step) in steps.iter().enumerate() {
                if !holds[state * width + place] {
                    continue;
                }
                let still_holds = step.iter().all(|&(byte, after)| {
                    let next = rows.row(state)[usize::from(rows.classes[usize::from(byte)])];
                    next != NO_STATE && holds[next as usize * width + after]
                });
                if !still_holds {
                    holds[state * width + place] = false;
                    changed = true;
                }
            }
        }
    }
    Ok((0..rows.len()).map(|state| holds[state * width]).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::languages::compact::MAX_WORK;
    use std::sync::Arc;

    #[test]
    fn a_table_is_the_same_language() {
        let mut l = Languages::new();
        let digit = l.byte_range(b'0', b'9');
        let some = l.repeat(digit, 1, Some(5));
        let seven = l.literal(b"77");
        let without = l.difference(some, seven);
        let table =
            Arc::new(determinized(&mut l, without, Some(digit), 100, MAX_WORK).unwrap().unwrap());
        let same = l.dfa_language(&table);
        for text in ["", "7", "77", "777", "12345", "123456", "7a"] {
            let bytes = text.as_bytes();
            assert_eq!(
                l.matches(same, bytes).unwrap(),
                l.matches(without, bytes).unwrap(),
                "{text}"
            );
        }
        assert!(!table.accepts_every_prefix(0));
        let unbounded = l.repeat(digit, 0, None);
        let without = l.difference(unbounded, seven);
        let table = determinized(&mut l, without, Some(digit), 100, MAX_WORK).unwrap().unwrap();
        assert!(table.accepts_every_prefix(0));
        assert!(determinized(&mut l, Language::EMPTY, None, 10, MAX_WORK).unwrap().is_none());
    }

    #[test]
    fn equal_states_are_merged() {
        let mut l = Languages::new();
        let words = l.literals([&b"car"[..], b"bar", b"far"]);
        let table = determinized(&mut l, words, None, 100, MAX_WORK).unwrap().unwrap();
        assert_eq!(table.accepts.len(), 4);
    }
}
