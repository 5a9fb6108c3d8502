//! Emptiness: whether a language has any string.
//!
//! Structure decides it where neither intersection nor complement occurs. Otherwise, in this order:
//! proofs by structure (`provably_live`, [`some_length`]), completions that automata offer,
//! arithmetic of lengths (`unit_counts`), and a best-first search for a live state. The search
//! skips states that are provably empty (`required_bytes`). Every answer is stored: on success for
//! the states on the path, on failure for all that were met.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::derivative::{derivative, fill_row};
use super::expression::{Expression, Language};
use super::lengths::some_length;
use super::provably_live::is_provably_live;
use super::required_bytes::is_provably_empty;
use super::search_queue::SearchQueue;
use super::store::Languages;
use super::unit_counts::has_counted_string;
use crate::deadline;
use crate::error::Result;

/// States after which a search asks of each further one whether it is provably empty. Most searches
/// end before that pays.
const STATES_BEFORE_EMPTINESS_PROOF: usize = 100;

impl Languages {
    /// Whether it has any string. Exact; a search where an intersection or a complement occurs.
    ///
    /// Errors when the arena's limit on states is reached.
    pub fn is_live(&mut self, x: Language) -> Result<bool> {
        // `None` is impossible without a limit on states.
        Ok(is_live_within(self, x, usize::MAX)?.unwrap_or(false))
    }
}

/// Whether it has any string, if that takes a search of no more than `most` states; `None` if it
/// takes more.
pub(crate) fn is_live_within(
    languages: &mut Languages,
    x: Language,
    most: usize,
) -> Result<Option<bool>> {
    if let Some(live) = languages.arena.properties(x).live {
        return Ok(Some(live));
    }
    if is_provably_live(languages, x, 0)
        || some_length(languages, x, 0)?.is_some()
        || has_known_rest(languages, x)?
    {
        languages.arena.set_live(x, true);
        return Ok(Some(true));
    }
    if let Some(live) = has_counted_string(languages, x)? {
        languages.arena.set_live(x, live);
        return Ok(Some(live));
    }
    // Search for a live state. On success the states on the path are live; on failure all states
    // that were met are dead, since none of them reaches a live state.
    let mut from: FxHashMap<Language, Language> = FxHashMap::from_iter([(x, x)]);
    let mut open = SearchQueue::default();
    open.push(languages.arena.properties(x).distance, x);
    let mut looked_at = 0;
    while let Some(state) = open.pop() {
        deadline::check()?;
        looked_at += 1;
        if looked_at > most {
            return Ok(None);
        }
        if looked_at == STATES_BEFORE_EMPTINESS_PROOF && is_provably_empty(languages, x) {
            languages.arena.set_live(x, false);
            return Ok(Some(false));
        }
        fill_row(languages, state)?;
        let Some(row) = languages.arena.row(state) else { continue };
        let run_starts = languages.arena.run_starts(state);
        let firsts = run_starts.iter().chain((!run_starts.contains(0)).then_some(0));
        let mut nexts: SmallVec<[Language; 16]> =
            firsts.map(|byte| row[usize::from(byte)]).collect();
        nexts.dedup();
        for next in nexts {
            if languages.arena.properties(next).live == Some(false) {
                continue;
            }
            if languages.arena.properties(next).live == Some(true) {
                let mut at = state;
                loop {
                    languages.arena.set_live(at, true);
                    // Every state in `from` was reached from another, the first from itself.
                    match from.get(&at) {
                        Some(&before) if before != at => at = before,
                        _ => return Ok(Some(true)),
                    }
                }
            }
            if let std::collections::hash_map::Entry::Vacant(place) = from.entry(next) {
                place.insert(state);
                if looked_at >= STATES_BEFORE_EMPTINESS_PROOF && is_provably_empty(languages, next)
                {
                    languages.arena.set_live(next, false);
                    continue;
                }
                open.push(languages.arena.properties(next).distance, next);
            }
        }
    }
    for state in from.into_keys() {
        languages.arena.set_live(state, false);
    }
    Ok(Some(false))
}

/// Whether the completion that an infinite-state automaton offers is accepted by all other parts of an
/// intersection.
fn has_known_rest(languages: &mut Languages, x: Language) -> Result<bool> {
    let Expression::Intersect(xs) = languages.arena.expr(x) else { return Ok(false) };
    if !languages.has_stepwise_automata {
        return Ok(false);
    }
    let rest = xs.iter().find_map(|&part| match languages.arena.expr(part) {
        Expression::Computed(running) if running.automaton.is_infinite_state() => {
            Some((part, running.automaton.completion(&running.state)?))
        }
        _ => None,
    });
    let (Some((automaton, rest)), parts) = (rest, xs.clone()) else { return Ok(false) };
    for &part in parts.iter().filter(|&&part| part != automaton) {
        let mut at = part;
        for &byte in &rest {
            at = derivative(languages, at, byte, 0)?;
        }
        if !languages.is_nullable(at) {
            return Ok(false);
        }
    }
    Ok(true)
}
