//! The shape of a terminal's state, and its widened state, which no token distinguishes from it.

use super::split::is_prefix_free;
use super::strategies::Strategy;
use super::terminal_cache::{StateFacts, StateStructure, TerminalCache};
use super::terminal_reader::TerminalReader;
use crate::error::Result;
use crate::regular::every_prefix;
use crate::regular::structure;
use crate::regular::widening;
use crate::regular::{Language, RepeatedUnit};

/// Least number of first bytes with which the continuation of a repeat counts as a word, if they are also
/// at least twice those of the unit. Most of the vocabulary then leaves the repeat, too many tokens to
/// sort by exit byte.
pub(super) const MIN_WORDLIKE_BYTES: usize = 32;

/// A state with so many first bytes or fewer is a literal, mostly: its first byte, or the repeat
/// after it, restricts the trie enough to walk.
const MAX_NARROW_BYTES: usize = 2;

impl TerminalReader<'_> {
    /// The state without the bounds on its repeats that no token can reach from it: the same for many
    /// states.
    pub(super) fn widened(&mut self, state: Language) -> Result<Language> {
        let widens = self.cache.shared.strategies().has(Strategy::Widening);
        if !widens || !structure::has_counter(self.languages, state) {
            return Ok(state);
        }
        if let Some(&widened) = self.cache.facts.widened.get(&state) {
            return Ok(widened);
        }
        for unit in structure::counted_units(self.languages, state) {
            self.count_units(unit)?;
        }
        let TerminalCache { shared, longest_token, facts, .. } = &mut *self.cache;
        let StateFacts { max_units, spans, widened: known, .. } = facts;
        let mut reach = |part: Language, unit: RepeatedUnit| match unit {
            RepeatedUnit::Byte(set) => shared.max_run(self.vocabulary, set),
            // The last may be an unfinished one.
            RepeatedUnit::Bytes(least) => {
                let most = max_units.get(&part).copied().unwrap_or(u32::MAX);
                longest_token.div_ceil(least).min(most)
            }
        };
        let widened = widening::widened(self.languages, state, &mut reach, spans)?;
        known.insert(state, widened);
        Ok(widened)
    }

    /// Counts the most strings of a unit that begin in one token.
    fn count_units(&mut self, unit: Language) -> Result<()> {
        let TerminalCache { shared, json, facts, .. } = &mut *self.cache;
        // Characters are short, so the length of tokens is bound enough.
        if unit == json.character || facts.max_units.contains_key(&unit) {
            return Ok(());
        }
        let most = shared.max_repeats(self.vocabulary, self.languages, unit)?;
        facts.max_units.insert(unit, most);
        Ok(())
    }

    /// The shape of a terminal's state, or of one that no token distinguishes from it.
    pub(super) fn structure(
        &mut self,
        state: Language,
        is_json_string: bool,
    ) -> Result<StateStructure> {
        if let Some(&structure) = self.cache.facts.structures.get(&(state, is_json_string)) {
            return Ok(structure);
        }
        let widened = self.widened(state)?;
        let structure = self.find_structure(widened, is_json_string)?;
        self.cache.facts.structures.insert((state, is_json_string), structure);
        Ok(structure)
    }

    fn find_structure(&mut self, state: Language, is_json_string: bool) -> Result<StateStructure> {
        let strategies = self.cache.shared.strategies();
        if strategies.has(Strategy::Repeats)
            && let Some((unit, min, max, rest)) = structure::leading_repeat(self.languages, state)
            && self.is_unit(unit)?
        {
            let units = self.languages.first_bytes(unit)?;
            let after = self.languages.first_bytes(rest)?;
            let is_wordlike = after.len() >= MIN_WORDLIKE_BYTES && after.len() >= 2 * units.len();
            if !is_wordlike && units.intersection(&after).is_empty() {
                return Ok(StateStructure::UnitRepeat { unit, min, max, rest });
            }
        }
        let TerminalCache { json, facts, .. } = &mut *self.cache;
        if is_json_string
            && strategies.has(Strategy::JsonTexts)
            && let Some(text) = structure::before_suffix(self.languages, state, json.quote)
            && every_prefix::accepts_every_prefix(
                self.languages,
                text,
                json.character,
                &mut facts.accepts_every_prefix,
            )
        {
            return Ok(StateStructure::JsonText { text });
        }
        let first = self.languages.first_bytes(state)?;
        let is_narrow = first.len() <= MAX_NARROW_BYTES;
        Ok(if is_narrow { StateStructure::Narrow } else { StateStructure::Wide })
    }

    fn is_unit(&mut self, unit: Language) -> Result<bool> {
        if let Some(&known) = self.cache.facts.is_unit.get(&unit) {
            return Ok(known);
        }
        let known = is_prefix_free(self.languages, unit)?;
        self.cache.facts.is_unit.insert(unit, known);
        Ok(known)
    }
}
