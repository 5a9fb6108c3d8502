//! How a terminal's state begins: which of the ways to mask it applies.

use super::*;

impl Machine {
    /// A state that no token tells apart from this one, the same for many.
    fn near(&mut self, vocabulary: &Vocabulary, state: Language) -> Result<Language> {
        if let Some(&near) = self.masks.nears.get(&state) {
            return Ok(near);
        }
        let (slices, longest) = (&self.shared_slices, self.longest_token);
        let mut reach = |set: Option<ByteSet>| match set {
            Some(set) => slices.longest_run(vocabulary, set),
            None => longest,
        };
        let near = self.languages.near(state, &mut reach, &mut self.masks.spans)?;
        self.masks.nears.insert(state, near);
        Ok(near)
    }

    pub(super) fn near_at(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        point: PointId,
        state: Language,
    ) -> Result<Language> {
        match program.point(point) {
            Point::Names(_) => Ok(state),
            _ => self.near(vocabulary, state),
        }
    }

    /// How a terminal's state begins.
    pub(super) fn head(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        point: PointId,
        state: Language,
    ) -> Result<Head> {
        if let Some(&head) = self.masks.heads.get(&(point, state)) {
            return Ok(head);
        }
        let near = self.near_at(program, vocabulary, point, state)?;
        let head = self.find_head(program, point, near)?;
        self.masks.heads.insert((point, state), head);
        Ok(head)
    }

    fn find_head(&mut self, program: &Program, point: PointId, state: Language) -> Result<Head> {
        if let Point::Names(_) = program.point(point) {
            return Ok(Head::Narrow);
        }
        if let Some((unit, min, max, rest)) = self.languages.leading_repeat(state) {
            let known = match self.masks.units.get(&unit) {
                Some(&known) => known,
                None => {
                    let known = is_unit(&mut self.languages, unit, false)?;
                    self.masks.units.insert(unit, known);
                    known
                }
            };
            if known && self.ends_plainly(program, point, unit, rest)? {
                return Ok(Head::Repeat { unit, min, max, rest });
            }
        }
        if program.is_json_text(point)
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
}
