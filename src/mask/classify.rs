//! How a terminal's state begins: which of the ways to read it applies.

use super::*;
use crate::mask::Strategy;
use crate::mask::split::is_prefix_free;
use crate::regular::Unit;

impl Machine {
    /// A state that no token tells apart from this one, the same for many.
    pub(crate) fn near(&mut self, vocabulary: &Vocabulary, state: Language) -> Result<Language> {
        let widens = self.shared_slices.strategies().has(Strategy::Widening);
        if !widens || !self.languages.is_counted(state) {
            return Ok(state);
        }
        if let Some(&near) = self.masks.nears.get(&state) {
            return Ok(near);
        }
        for unit in self.languages.counted_units(state) {
            self.most_units(vocabulary, unit)?;
        }
        let (slices, longest, units) =
            (&self.shared_slices, self.longest_token, &self.masks.most_units);
        let mut reach = |part: Language, unit: Unit| match unit {
            Unit::Byte(set) => slices.longest_run(vocabulary, set),
            // The last may be an unfinished one.
            Unit::Bytes(least) => {
                longest.div_ceil(least).min(units.get(&part).copied().unwrap_or(u32::MAX))
            }
        };
        let near = self.languages.near(state, &mut reach, &mut self.masks.spans)?;
        self.masks.nears.insert(state, near);
        Ok(near)
    }

    /// Finds out how many of a unit begin in a token at most.
    fn most_units(&mut self, vocabulary: &Vocabulary, unit: Language) -> Result<()> {
        // Characters are short, and known to be.
        if unit == self.json.unit || self.masks.most_units.contains_key(&unit) {
            return Ok(());
        }
        let most = self.shared_slices.max_repeats(vocabulary, &mut self.languages, unit)?;
        self.masks.most_units.insert(unit, most);
        Ok(())
    }

    /// How a terminal's state begins, or one that no token tells apart from it.
    pub(crate) fn head(
        &mut self,
        vocabulary: &Vocabulary,
        state: Language,
        text: bool,
    ) -> Result<Head> {
        if let Some(&head) = self.masks.heads.get(&(state, text)) {
            return Ok(head);
        }
        let near = self.near(vocabulary, state)?;
        let head = self.find_head(near, text)?;
        self.masks.heads.insert((state, text), head);
        Ok(head)
    }

    fn find_head(&mut self, state: Language, text: bool) -> Result<Head> {
        let strategies = self.shared_slices.strategies();
        if strategies.has(Strategy::Repeats)
            && let Some((unit, min, max, rest)) = self.languages.leading_repeat(state)
            && self.is_unit(unit)?
        {
            let units = self.languages.first_bytes(unit)?;
            let after = self.languages.first_bytes(rest)?;
            // Behind blanks, all that begins like a word is most of the vocabulary: too much to lay
            // out by where it leaves the blanks.
            const MANY: usize = 32;
            let lays_out = after.len() < MANY || after.len() < 2 * units.len();
            if lays_out && units.intersection(&after).is_empty() {
                return Ok(Head::Repeat { unit, min, max, rest });
            }
        }
        if text
            && strategies.has(Strategy::JsonTexts)
            && let Some(inner) = self.languages.before(state, self.json.quote)
            && self.languages.is_total(inner, self.json.unit, &mut self.masks.total)
        {
            return Ok(Head::Text { text: inner });
        }
        // A literal's first byte leaves little of the trie; what does not is cut by its runs.
        const FEW: usize = 2;
        match self.languages.first_bytes(state)?.len() {
            ..=FEW => Ok(Head::Narrow),
            _ => Ok(Head::Other),
        }
    }

    fn is_unit(&mut self, unit: Language) -> Result<bool> {
        if let Some(&known) = self.masks.units.get(&unit) {
            return Ok(known);
        }
        let known = is_prefix_free(&mut self.languages, unit)?;
        self.masks.units.insert(unit, known);
        Ok(known)
    }
}
