//! What a text must match all at once, as one automaton.
//!
//! The derivatives of an intersection are as many as the ways in which its parts can stand beside
//! each other, and whether anything is left of one is a search among them. Where many patterns meet
//! that search is too long. So they are finished one by one and multiplied, the smallest first, and
//! each product is minimised before the next: what the parts have in common is counted once. How
//! many characters a text may have stays beside the product, as a counter; from which states how many
//! of them lead to the end is worked out once, backwards from the end, so that nothing is searched
//! for.

use super::dfa::{Made, Rows};
use super::*;
use crate::deadline;
use crate::regular::automaton::AutomatonState;

/// Patterns that are worth being multiplied.
const SOME: usize = 4;

/// States of one pattern, and of a product, before they are minimised; steps of one pattern.
const PART_STATES: usize = 300;
const MOST_STATES: usize = 40_000;
/// Looks at a state of a product while it is minimised.
const MOST_ROUNDS: usize = 1_500_000;
const PART_WORK: usize = 6_000;

/// States that are looked at before patterns are multiplied to find out whether any text is left.
const SOON: usize = 300;

/// Least numbers of characters that are patterns where there is no most.
const SMALL_MIN: u32 = 20;

/// The most characters that are counted, and steps from state to state by one of them, for all
/// numbers of them together.
const MOST_UNITS: u32 = 4_096;
const MOST_STEPS: usize = 20_000_000;

/// Patterns, and the least and the most units.
type Asked = (Vec<Language>, (u32, u32));

/// Patterns that hold together.
#[derive(Clone, Debug)]
pub(crate) enum Together {
    Nothing,
    Table(Arc<Table>),
    Counted(Arc<Counted>),
}

impl Languages {
    /// The strings of `x`, if they are texts of units (a prefix code, in which no string of a unit
    /// begins another) on which several conditions hold that are small enough to be one automaton.
    pub(crate) fn together(&mut self, x: Language, unit: Language) -> Result<Option<Language>> {
        let Some((patterns, bounds)) = self.patterns_and_bounds(x, unit)? else { return Ok(None) };
        if patterns.len() < SOME {
            return Ok(None);
        }
        let fingerprint = !self.fingerprint(x);
        let known = self.shared.as_ref().and_then(|shared| shared.together(fingerprint));
        let together = match known {
            Some(together) => together,
            None => {
                let together = self.multiplied(&patterns, bounds, unit)?;
                if let Some(shared) = &self.shared {
                    shared.note_together(fingerprint, together.clone());
                }
                together
            }
        };
        Ok(match together {
            None => None,
            Some(Together::Nothing) => Some(Language::EMPTY),
            Some(Together::Table(table)) => Some(self.import(&table)),
            Some(Together::Counted(counted)) => {
                let start = [0, 0, 0].into();
                Some(self.automaton(counted, start))
            }
        })
    }

    /// Is any text in `x`, whose units are these? As [`is_live`](Self::is_live), which many patterns
    /// at once make a long search.
    pub(crate) fn has_text(&mut self, x: Language, unit: Language) -> Result<bool> {
        if let Some(live) = self.is_live_soon(x, SOON)? {
            return Ok(live);
        }
        if let Some(together) = self.together(x, unit)? {
            let live = self.is_live(together)?;
            self.arena.set_live(x, live);
            return Ok(live);
        }
        self.is_live(x)
    }

    /// What holds of a text of units as patterns, and between which bounds its number of units is;
    /// `None` if these need not be such texts.
    fn patterns_and_bounds(&mut self, x: Language, unit: Language) -> Result<Option<Asked>> {
        let text = self.repeat(unit, 0, None);
        let mut parts = self.conjuncts(x, text);
        let of_units = |part: &Language| {
            *part == text || matches!(*self.arena.expr(*part), Expr::Repeat(of, ..) if of == unit)
        };
        if !parts.iter().any(of_units) {
            return Ok(None);
        }
        let (mut patterns, mut bounds) = (vec![text], (0, UNBOUNDED));
        parts.sort_unstable();
        parts.dedup();
        for part in parts {
            match self.repeated(part).filter(|_| part != text) {
                Some((of, min, max)) if self.is_kind_of(of, unit)? => {
                    bounds = (bounds.0.max(min), bounds.1.min(max));
                    patterns.push(self.repeat(of, 0, None));
                }
                _ => patterns.push(part),
            }
        }
        if let (min @ ..=SMALL_MIN, UNBOUNDED) = bounds {
            patterns.push(self.repeat(unit, min, None));
            bounds.0 = 0;
        }
        patterns.sort_unstable();
        patterns.dedup();
        Ok(Some((patterns, bounds)))
    }

    /// What is repeated in it, and how often, if it is nothing but that; written out or not.
    fn repeated(&self, x: Language) -> Option<(Language, u32, u32)> {
        let mut rest = Some(x);
        let mut found: Option<(Language, u32, u32)> = None;
        while let Some(at) = rest {
            let first = match *self.arena.expr(at) {
                Expr::Concat(first, others) => {
                    rest = Some(others);
                    first
                }
                _ => {
                    rest = None;
                    at
                }
            };
            let (of, min, max) = match *self.arena.expr(first) {
                Expr::Repeat(of, min, max) => (of, min, max),
                _ => (first, 1, 1),
            };
            let (known, least, most) = found.unwrap_or((of, 0, 0));
            if known != of {
                return None;
            }
            found = Some((of, least.saturating_add(min), most.saturating_add(max)));
        }
        found
    }

    /// Is every string of `x` one of the unit?
    fn is_kind_of(&mut self, x: Language, unit: Language) -> Result<bool> {
        if x == unit {
            return Ok(true);
        }
        // Whatever counts is longer than a unit, or not worth a search.
        if self.arena.facts(x).counted || self.is_nullable(x) {
            return Ok(false);
        }
        let others = self.difference(x, unit);
        Ok(!self.is_live(others)?)
    }

    /// What must hold of a text for it to be in `x`.
    fn conjuncts(&mut self, x: Language, text: Language) -> Vec<Language> {
        let (mut open, mut found) = (vec![(x, true)], Vec::new());
        while let Some((at, holds)) = open.pop() {
            match (self.arena.expr(at), holds) {
                (Expr::Intersect(parts), true) => open.extend(parts.iter().map(|&p| (p, true))),
                (Expr::Union(parts), false) => open.extend(parts.iter().map(|&p| (p, false))),
                (&Expr::Complement(inner), _) => match (at == Language::ALL, holds) {
                    (false, _) => open.push((inner, !holds)),
                    (true, true) => {}
                    (true, false) => found.push(Language::EMPTY),
                },
                // That it is a text is said already.
                (Expr::Intersect(parts), false) if parts.len() == 2 && parts.contains(&text) => {
                    open.extend(parts.iter().filter(|&&p| p != text).map(|&p| (p, false)));
                }
                (_, true) => found.push(at),
                (_, false) => found.push(self.complement(at)),
            }
        }
        found
    }

    /// The patterns as one automaton that reads texts of units, so many of them; `None` if it is
    /// too large.
    fn multiplied(
        &mut self,
        patterns: &[Language],
        (min, max): (u32, u32),
        unit: Language,
    ) -> Result<Option<Together>> {
        let counts = (min, max) != (0, UNBOUNDED);
        if counts && max > MOST_UNITS {
            return Ok(None);
        }
        let mut tables = Vec::with_capacity(patterns.len());
        for &pattern in patterns {
            match self.rows_within(pattern, PART_STATES, PART_WORK)? {
                Made::TooLarge => return Ok(None),
                Made::Nothing => return Ok(Some(Together::Nothing)),
                Made::Rows(rows, accepts) => tables.push((rows, accepts)),
            }
        }
        tables.sort_by_key(|(rows, _)| rows.len());
        let mut tables = tables.into_iter();
        let Some(mut product) = tables.next() else { return Ok(None) };
        for next in tables {
            product = match Rows::product(&product, &next, MOST_STATES, MOST_ROUNDS)? {
                Made::TooLarge => return Ok(None),
                Made::Nothing => return Ok(Some(Together::Nothing)),
                Made::Rows(rows, accepts) => (rows, accepts),
            };
        }
        let (rows, accepts) = product;
        let Some(places) = self.places(unit)? else { return Ok(None) };
        if !counts {
            let total = self.total_states(&rows, unit)?;
            return Ok(Some(Together::Table(Arc::new(rows.packed(accepts, total)))));
        }
        let plain = vec![false; rows.len()];
        let table = Arc::new(rows.packed(accepts, plain));
        let Some(counted) = Counted::new(table, places, (min, max))? else { return Ok(None) };
        Ok(Some(match counted.is_live_at(0, 0, 0) {
            true => Together::Counted(Arc::new(counted)),
            false => Together::Nothing,
        }))
    }

    /// The places within a unit, and where each byte leads from there: to the first, which is
    /// between two units, or to one within, or nowhere. `None` if one unit begins another.
    fn places(&mut self, unit: Language) -> Result<Option<Box<[[u8; 256]]>>> {
        let mut places = vec![unit];
        let mut steps: Vec<[u8; 256]> = Vec::new();
        while let Some(&place) = places.get(steps.len()) {
            let mut step = [NOWHERE; 256];
            for (byte, &next) in self.row(place)?.iter().enumerate() {
                let index = match next {
                    Language::EMPTY => continue,
                    Language::EPSILON => 0,
                    next => {
                        let known = places.iter().skip(1).position(|&known| known == next);
                        known.map_or(places.len(), |known| known + 1)
                    }
                };
                if index == places.len() {
                    places.push(next);
                }
                step[byte] = index as u8;
            }
            steps.push(step);
            if places.len() >= usize::from(NOWHERE) {
                return Ok(None);
            }
        }
        let prefix_code = places.iter().all(|&place| !self.is_nullable(place));
        Ok(prefix_code.then(|| steps.into()))
    }
}

/// No place.
const NOWHERE: u8 = u8::MAX;

/// Texts of an automaton that have so many units: a state is one of the automaton's, a place
/// within a unit, and how many units were read.
#[derive(Debug)]
pub(crate) struct Counted {
    name: String,
    table: Arc<Table>,
    places: Box<[[u8; 256]]>,
    min: u32,
    max: u32,
    /// By a number of units: the states from which exactly so many lead to the end, as bits. Numbers
    /// beyond the last are as the last.
    leads: Vec<Box<[u64]>>,
    /// By state and place within a unit: the states in which the unit may end.
    ends: FxHashMap<(u32, u8), Box<[u32]>>,
}

impl Counted {
    /// `None` if working it out takes too long.
    fn new(
        table: Arc<Table>,
        places: Box<[[u8; 256]]>,
        (min, max): (u32, u32),
    ) -> Result<Option<Self>> {
        let name = format!(
            "texts {:032x}",
            keyed_hash(|hasher| (table.identity, &places, min, max).hash(hasher))
        );
        let mut this =
            Self { name, table, places, min, max, leads: Vec::new(), ends: FxHashMap::default() };
        let states = this.table.len() as u32;
        let mut steps = 0;
        for state in 0..states {
            deadline::check()?;
            let ends = this.find_ends(state, 0);
            steps += ends.len();
            this.ends.insert((state, 0), ends);
        }
        let words = states.div_ceil(64) as usize;
        let mut last = vec![0u64; words];
        (0..states).filter(|&s| this.table.accepts(s)).for_each(|s| set(&mut last, s));
        this.leads.push(last.into());
        for _ in 0..max {
            deadline::check()?;
            let Some(last) = this.leads.last() else { return Ok(None) };
            let mut next = vec![0u64; words];
            for state in 0..states {
                if this.ends[&(state, 0)].iter().any(|&end| has(last, end)) {
                    set(&mut next, state);
                }
            }
            if **last == *next {
                break;
            }
            this.leads.push(next.into());
            if steps * this.leads.len() > MOST_STEPS {
                return Ok(None);
            }
        }
        Ok(Some(this))
    }

    /// The states in which the unit that is begun may end; what is found within it is kept.
    fn find_ends(&mut self, state: u32, place: u8) -> Box<[u32]> {
        let mut nexts: SmallVec<[(u32, u8); 16]> = SmallVec::new();
        for byte in 0..=u8::MAX {
            let place = self.places[usize::from(place)][usize::from(byte)];
            if place == NOWHERE {
                continue;
            }
            if let Some(state) = self.table.step(state, byte)
                && !nexts.contains(&(state, place))
            {
                nexts.push((state, place));
            }
        }
        let mut ends = Vec::new();
        for (state, place) in nexts {
            if place == 0 {
                ends.push(state);
                continue;
            }
            if !self.ends.contains_key(&(state, place)) {
                let found = self.find_ends(state, place);
                self.ends.insert((state, place), found);
            }
            ends.extend_from_slice(&self.ends[&(state, place)]);
        }
        ends.sort_unstable();
        ends.dedup();
        ends.into()
    }

    /// The least number of units that lead from a state between two units to the end, once so many
    /// were read.
    fn units_left(&self, state: u32, count: u32) -> Option<u32> {
        let last = self.leads.len() as u32 - 1;
        let (from, to) = (self.min.saturating_sub(count), self.max.checked_sub(count)?);
        // Beyond the last all are alike.
        (from..=to.min(last.max(from))).find(|&n| has(&self.leads[n.min(last) as usize], state))
    }

    fn is_live_at(&self, state: u32, place: u8, count: u32) -> bool {
        match place {
            0 => self.units_left(state, count).is_some(),
            _ => {
                let ends = self.ends.get(&(state, place));
                ends.is_some_and(|ends| {
                    ends.iter().any(|&end| self.units_left(end, count + 1).is_some())
                })
            }
        }
    }
}

fn has(states: &[u64], state: u32) -> bool {
    states[state as usize / 64] >> (state % 64) & 1 == 1
}

fn set(states: &mut [u64], state: u32) {
    states[state as usize / 64] |= 1 << (state % 64);
}

/// State, place and count.
fn read(state: &[i64]) -> (u32, u8, u32) {
    match *state {
        [state, place, count] => (state as u32, place as u8, count as u32),
        // Made here alone.
        _ => (0, 0, 0),
    }
}

impl Automaton for Counted {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        let (state, place, count) = read(state);
        place == 0 && count >= self.min && count <= self.max && self.table.accepts(state)
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let (state, place, count) = read(state);
        let state = self.table.step(state, byte)?;
        let place = self.places[usize::from(place)][usize::from(byte)];
        let count = count + u32::from(place == 0);
        let live = place != NOWHERE && self.is_live_at(state, place, count);
        live.then(|| [state.into(), place.into(), count.into()].into())
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        let (state, place, count) = read(state);
        Some(self.is_live_at(state, place, count))
    }

    fn effort(&self, state: &[i64]) -> u32 {
        let (state, place, count) = read(state);
        match place {
            0 => self.units_left(state, count).unwrap_or(u32::MAX),
            _ => self.table.least_rest(state),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::syntax::parse;
    use crate::regular::{Anchoring, Dialect, Options};
    use crate::regular::{JsonString, any_text};

    /// Texts of JSON strings that each of the patterns matches, of so many characters.
    fn texts(l: &mut Languages, patterns: &[&str], min: u32, max: u32) -> (Language, Language) {
        let any = any_text(l, &JsonString);
        let Expr::Repeat(unit, ..) = *l.arena.expr(any) else { panic!("texts repeat a unit") };
        let mut parts = vec![l.repeat(unit, min, Some(max))];
        for pattern in patterns {
            let options = Options { dialect: Dialect::Ecma, anchoring: Anchoring::Search };
            parts.push(parse(l, pattern, options, &JsonString).unwrap());
        }
        (l.intersect(parts), unit)
    }

    /// Step by step, the one is the other.
    fn are_alike(l: &mut Languages, a: Language, b: Language, most: usize) {
        let mut seen = FxHashSet::from_iter([(a, b)]);
        let mut open = std::collections::VecDeque::from([(a, b)]);
        while let Some((a, b)) = open.pop_front().filter(|_| seen.len() < most) {
            assert_eq!(l.is_nullable(a), l.is_nullable(b));
            let (x, y) = (*l.row(a).unwrap(), *l.row(b).unwrap());
            for pair in x.into_iter().zip(y) {
                assert_eq!(pair.0 == Language::EMPTY, pair.1 == Language::EMPTY);
                if pair.0 != Language::EMPTY && seen.insert(pair) {
                    open.push_back(pair);
                }
            }
        }
    }

    #[test]
    fn many_patterns_are_what_each_of_them_is() {
        let mut l = Languages::new();
        for (patterns, min, max) in [
            (&["ab", "ba", "^[abü]*$", "a.a"][..], 0, 30),
            (&["ab", "ba", "^[^x]{5}$", "a.a"], 0, 200),
            (&["^(?:..)*$", "é", "b", "^[abé]*$"], 3, 9),
            (&["a", "b", "c", r"\d"], 2, 5),
        ] {
            let (x, unit) = texts(&mut l, patterns, min, max);
            let together = l.together(x, unit).unwrap().expect("these are few");
            are_alike(&mut l, x, together, 3_000);
        }
    }

    #[test]
    fn what_cannot_be_met_is_empty() {
        let mut l = Languages::new();
        let words = ["w00x", "w01x", "w02x", "w03x", "w04x"];
        let (x, unit) = texts(&mut l, &words, 0, 19);
        assert_eq!(l.together(x, unit).unwrap(), Some(Language::EMPTY));
        assert!(!l.has_text(x, unit).unwrap());
        let (x, unit) = texts(&mut l, &words, 0, 20);
        assert!(l.has_text(x, unit).unwrap());
    }

    #[test]
    fn negations_within_negations_are_one_conjunction() {
        let mut l = Languages::new();
        let (x, unit) = texts(&mut l, &["ab", "bc", "cd", "de"], 0, 8);
        let text = l.repeat(unit, 0, None);
        let Expr::Intersect(parts) = l.arena.expr(x).clone() else { panic!("several") };
        let nots: Vec<Language> = parts.iter().map(|&part| l.difference(text, part)).collect();
        let none = l.union(nots);
        let same = l.difference(text, none);
        let together = l.together(same, unit).unwrap().expect("these are few");
        are_alike(&mut l, x, together, 3_000);
    }
}
