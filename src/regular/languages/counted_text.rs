//! Texts with a bound on their number of units: what is known of them by the texts alone.

use super::*;

/// Strings that are read beside something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Strings {
    Of(Language),
    /// Those that an automaton, by index, accepts from a state.
    From(u32, u32),
}

/// Texts of a unit with a bound on their number of units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedText {
    /// The texts, of any length.
    pub(crate) text: Language,
    pub(crate) unit: Language,
    /// The most units.
    pub(crate) most: u32,
}

impl Languages {
    /// An intersection less what says only that it is a text of units, where another part says so.
    pub(crate) fn without_texts(&mut self, x: Language) -> Result<Language> {
        let Expr::Intersect(xs) = self.arena.expr(x) else { return Ok(x) };
        let mut xs: SmallVec<[Language; 8]> = SmallVec::from_slice(xs);
        let mut index = 0;
        while let Some(&wide) = xs.get(index) {
            if self.units_at(wide).is_some_and(|(_, most)| most == UNBOUNDED) {
                let mut within = false;
                for i in (0..xs.len()).filter(|&i| i != index) {
                    within = within || self.is_text_within(xs[i], wide)?;
                }
                if within {
                    xs.remove(index);
                    continue;
                }
            }
            index += 1;
        }
        Ok(self.intersect(xs))
    }

    /// A text with a bound on its units, if `x` is that.
    pub(crate) fn counted_text(&mut self, x: Language) -> Result<Option<CountedText>> {
        let Expr::Intersect(xs) = self.arena.expr(x) else { return Ok(None) };
        let &[a, b] = &xs[..] else { return Ok(None) };
        for (text, bound) in [(a, b), (b, a)] {
            let Some((unit, most)) = self.units_at(bound) else { continue };
            let wide = match *self.arena.expr(bound) {
                Expr::Repeat(_, least, _) => self.repeat(unit, least, None),
                Expr::Concat(begun, _) => {
                    let units = self.repeat(unit, 0, None);
                    self.concat2(begun, units)
                }
                _ => continue,
            };
            if self.is_text_within(text, wide)? {
                return Ok(Some(CountedText { text, unit, most }));
            }
        }
        Ok(None)
    }

    /// The unit and the most times of it that are left, if it is a repeat of one time at least or
    /// none, or what is left of one within its first unit.
    fn units_at(&self, x: Language) -> Option<(Language, u32)> {
        match *self.arena.expr(x) {
            Expr::Repeat(unit, ..=1, most) => Some((unit, most)),
            Expr::Concat(_, rest) => match *self.arena.expr(rest) {
                Expr::Repeat(unit, 0, most) => Some((unit, most)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Is every string of `x` in `wide`? No means perhaps.
    fn is_text_within(&mut self, x: Language, wide: Language) -> Result<bool> {
        let mut left = 2_000;
        Ok(self.leads(x, wide, &mut left, 0)?.is_some_and(|after| self.is_nullable(after)))
    }

    /// Where the strings of `x` lead from a state, if all lead to one; found out in so many steps.
    fn leads(
        &mut self,
        x: Language,
        from: Language,
        left: &mut usize,
        depth: u32,
    ) -> Result<Option<Language>> {
        const DEEPEST: u32 = 30;
        let (mut x, mut from) = (x, from);
        loop {
            *left = left.saturating_sub(1);
            if *left == 0 || depth > DEEPEST {
                return Ok(None);
            }
            let Expr::Concat(a, b) = *self.arena.expr(x) else { break };
            let Some(between) = self.leads(a, from, left, depth + 1)? else { return Ok(None) };
            (x, from) = (b, between);
        }
        let depth = depth + 1;
        if let Some(&known) = self.leads.get(&(Strings::Of(x), from)) {
            return Ok(known);
        }
        let after = match self.arena.expr(x) {
            _ if x == Language::EPSILON => return Ok(Some(from)),
            Expr::Set(set) => {
                let set = *set;
                let row = self.row(from)?;
                let mut nexts = set.iter().map(|byte| row[usize::from(byte)]);
                let first = nexts.next().filter(|&next| next != Language::EMPTY);
                first.filter(|&first| nexts.all(|next| next == first))
            }
            Expr::Union(xs) => {
                let xs = xs.clone();
                let mut all = self.leads(xs[0], from, left, depth)?;
                for &part in &xs[1..] {
                    if all.is_some() && self.leads(part, from, left, depth)? != all {
                        all = None;
                    }
                }
                all
            }
            Expr::Intersect(xs) => {
                let mut any = None;
                for &part in &xs.clone() {
                    if any.is_none() {
                        any = self.leads(part, from, left, depth)?;
                    }
                }
                any
            }
            &Expr::Repeat(part, least, most) => match self.leads(part, from, left, depth)? {
                Some(after) if least == 0 => (after == from).then_some(from),
                Some(after) if most > 1 => {
                    let again = self.leads(part, after, left, depth)?;
                    again.filter(|&again| again == after)
                }
                after => after,
            },
            &Expr::Table(table, state) => return self.table_leads((table, state), from, left),
            Expr::Concat(..) | Expr::Complement(_) | Expr::Variable(_) | Expr::Automaton(_) => None,
        };
        self.leads.insert((Strings::Of(x), from), after);
        Ok(after)
    }

    /// The same of an automaton's state, and of all that are reached from it.
    fn table_leads(
        &mut self,
        (table, state): (u32, u32),
        from: Language,
        left: &mut usize,
    ) -> Result<Option<Language>> {
        if let Some(&known) = self.leads.get(&(Strings::From(table, state), from)) {
            return Ok(known);
        }
        let at = Arc::clone(&self.tables[table as usize]);
        let mut seen = vec![(state, from)];
        let mut known: FxHashSet<(u32, Language)> = FxHashSet::from_iter([(state, from)]);
        let mut end = None;
        let mut next = 0;
        let holds = loop {
            let Some(&(state, place)) = seen.get(next) else { break true };
            next += 1;
            *left = left.saturating_sub(1);
            if *left == 0 || at.accepts(state) && *end.get_or_insert(place) != place {
                break false;
            }
            let row = self.row(place)?;
            let steps = at.first(state);
            let steps = steps.iter().map(|byte| (at.step(state, byte), row[usize::from(byte)]));
            let mut last = None;
            let mut leaves = false;
            for step in steps {
                let (Some(state), place) = step else { continue };
                leaves |= place == Language::EMPTY;
                if last != Some(step) && known.insert((state, place)) {
                    seen.push((state, place));
                }
                last = Some(step);
            }
            if leaves {
                break false;
            }
        };
        // Strings from all that were seen end where those of the first do.
        let end = end.filter(|_| holds);
        let seen = seen.into_iter().map(|(at, place)| ((Strings::From(table, at), place), end));
        self.leads.extend(seen);
        Ok(end)
    }

    /// The length of a string, as far as structure says one: bounds on lengths that leave room for a
    /// shortest string need no search.
    pub(crate) fn some_length(&mut self, x: Language, depth: u32) -> Result<Option<u32>> {
        const DEEPEST: u32 = 10;
        let facts = self.arena.facts(x);
        if !facts.logical {
            // Without and/not it is the length of a shortest string.
            return Ok(Some(facts.effort).filter(|_| facts.live == Some(true)));
        }
        Ok(match self.arena.expr(x) {
            _ if depth == DEEPEST => None,
            &Expr::Concat(a, b) => match self.some_length(a, depth + 1)? {
                Some(a) => self.some_length(b, depth + 1)?.map(|b| a.saturating_add(b)),
                None => None,
            },
            Expr::Union(xs) => {
                let mut least: Option<u32> = None;
                for &part in &xs.clone() {
                    if let Some(length) = self.some_length(part, depth + 1)? {
                        least = Some(least.map_or(length, |least| least.min(length)));
                    }
                }
                least
            }
            // A text has no more units than bytes.
            Expr::Intersect(_) => match self.counted_text(x)? {
                Some(CountedText { text, most, .. }) => {
                    self.some_length(text, depth + 1)?.filter(|&length| length <= most)
                }
                None => None,
            },
            _ => None,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;

    fn parse(l: &mut Languages, pattern: &str) -> Language {
        regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
    }

    /// As a finished automaton.
    fn finished(l: &mut Languages, name: &str, pattern: &str, unit: Language) -> Language {
        let x = parse(l, pattern);
        l.finish(name, x, unit).unwrap()
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
            for table in [false, true] {
                let x = match table {
                    true => finished(&mut l, pattern, pattern, unit),
                    false => parse(&mut l, pattern),
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
                            l.counted_text(state).unwrap()
                        {
                            // Every text is one of units, or begins within one.
                            let units = l.repeat(unit, 0, None);
                            let others = l.difference(text, units);
                            let begun = l.shortest(others).unwrap();
                            let begun = begun.is_none_or(|text| (0x80..0xC0).contains(&text[0]));
                            assert!(begun && most <= 40, "{pattern}");
                            counted += 1;
                        }
                        if let Some(length) = l.some_length(state, 0).unwrap() {
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
                assert_eq!(l.is_text_within(x, all).unwrap(), from_all, "{pattern}");
                assert_eq!(l.is_text_within(x, some).unwrap(), from_some, "{pattern}");
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
            let found = l.is_text_within(x, pairs).unwrap();
            // No means perhaps.
            assert_eq!(found, within, "{pattern}");
        }
    }
}
