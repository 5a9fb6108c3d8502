//! How a terminal's state begins: which of the ways to read it applies.

use super::*;
use crate::constraint::runs::is_unit;
use crate::regex::Unit;

impl Machine {
    /// A state that no token tells apart from this one, the same for many.
    pub(super) fn near(&mut self, vocabulary: &Vocabulary, state: Language) -> Result<Language> {
        if !self.languages.is_counted(state) {
            return Ok(state);
        }
        if let Some(&near) = self.masks.nears.get(&state) {
            return Ok(near);
        }
        let (slices, longest) = (&self.shared_slices, self.longest_token);
        let mut reach = |unit: Unit, count: u32| match unit {
            Unit::Byte(set) => slices.longest_run(vocabulary, set, count),
            // The last may be an unfinished one.
            Unit::Bytes(least) => longest.div_ceil(least),
        };
        let near = self.languages.near(state, &mut reach, &mut self.masks.spans)?;
        self.masks.nears.insert(state, near);
        Ok(near)
    }

    /// How a terminal's state begins, or one that no token tells apart from it.
    pub(super) fn head(
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
        if let Some((unit, min, max, rest)) = self.languages.leading_repeat(state)
            && self.is_unit(unit)?
        {
            let units = self.languages.first_bytes(unit)?;
            let after = self.languages.first_bytes(rest)?;
            if units.intersection(&after).is_empty() {
                return Ok(Head::Repeat { unit, min, max, rest });
            }
        }
        if text
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
        let known = is_unit(&mut self.languages, unit, false)?;
        self.masks.units.insert(unit, known);
        Ok(known)
    }
}
