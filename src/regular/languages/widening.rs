//! Languages that tokens do not tell apart, though they are not the same: far from the bounds of its
//! repeats a language is read like the one without.

use super::counted_text::CountedText;
use super::*;
use crate::deadline;

/// What is repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    /// One byte of a set.
    Byte(ByteSet),
    /// So many bytes at least.
    Bytes(u32),
}

/// How long the shortest ways to the end are, by language.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spans {
    known: FxHashMap<Language, Option<u32>>,
    /// What went into those that were too much to find out, in parts of rows: when that is much,
    /// none is tried any more.
    wasted: usize,
}

impl Spans {
    /// How many are known.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}

impl Languages {
    /// A language that no token tells apart from this one: reading it, both are live at the same
    /// places and may end at the same places. Many states share one: a repeat counts no further
    /// than `reach` says that tokens can. Without and/not in it.
    fn horizon(&mut self, x: Language, reach: &mut dyn FnMut(Language, Unit) -> u32) -> Language {
        if let Some((part, min, max, rest)) = self.leading_count(x) {
            let head = self.near_repeat((part, min, max), reach);
            return self.concat2(head, rest);
        }
        // What counts nothing stays as it is.
        let mut done: FxHashMap<Language, Language> = FxHashMap::default();
        let of = |done: &FxHashMap<_, _>, part| done.get(&part).copied().unwrap_or(part);
        for at in self.parts(x, false, |part| !self.arena.facts(part).counted) {
            let near = match self.arena.expr(at).clone() {
                Expr::Concat(a, b) => self.concat2(of(&done, a), of(&done, b)),
                Expr::Union(xs) => {
                    let xs: Vec<Language> = xs.iter().map(|&x| of(&done, x)).collect();
                    self.union(xs)
                }
                Expr::Repeat(part, min, max) => self.near_repeat((part, min, max), reach),
                _ => at,
            };
            done.insert(at, near);
        }
        of(&done, x)
    }

    /// A repeat that counts no further than tokens can.
    fn near_repeat(
        &mut self,
        (part, min, max): (Language, u32, u32),
        reach: &mut dyn FnMut(Language, Unit) -> u32,
    ) -> Language {
        // A time takes a byte at least, unless it is nullable; then the least is 0 already. The part
        // itself is entered afresh each time, so it is left as it is.
        let times = reach(part, self.unit(part));
        let max = (max <= times).then_some(max);
        self.repeat(part, min.min(times.saturating_add(1)), max)
    }

    /// A language that no token tells apart from this one, as `horizon`, also where and/not
    /// occurs. `reach` tells how often a token can repeat a unit, or more.
    ///
    /// Texts that do not come to the bounds of its repeats do not see them: without these bounds
    /// the language has the same such texts, and more. So if after any token a way to the end is
    /// left that does not come to the bounds, they decide nothing. `spans` remembers how long the
    /// ways are.
    pub(crate) fn near(
        &mut self,
        x: Language,
        reach: &mut dyn FnMut(Language, Unit) -> u32,
        spans: &mut Spans,
    ) -> Result<Language> {
        let facts = self.arena.facts(x);
        if !facts.counted {
            return Ok(x);
        }
        if !facts.logical {
            return Ok(self.horizon(x, reach));
        }
        let mut least = 0;
        loop {
            let (free, slack) = self.without_bounds(x, least, reach)?;
            let Some(slack) = slack else { return Ok(x) };
            let plain = self.plain_span(free, 0)?;
            if plain.is_some_and(|span| span <= slack) {
                return Ok(free);
            }
            // The shortest text is one of these ways.
            if self.least_bytes(free, 0) <= slack {
                match self.span(free, spans)? {
                    Some(span) if span <= slack => return Ok(free),
                    Some(_) => {}
                    // With more bounds it has more states.
                    None => return Ok(x),
                }
            }
            // Perhaps the narrowest of them does decide something.
            least = slack.saturating_add(1);
        }
    }

    /// A language without some upper bounds on repeats, and the most characters of a text that does
    /// not tell the two apart, be there no more than a few of these: a byte that goes on with a
    /// character begun before is none. `None` if there is no such language, or if it is read as soon
    /// with its bounds.
    pub(crate) fn nearly(&mut self, x: Language) -> Result<Option<(Language, u32)>> {
        const FEW: u32 = 16;
        let facts = self.arena.facts(x);
        if !facts.counted || !facts.logical {
            return Ok(None);
        }
        let mut least = FEW;
        loop {
            let mut units = SmallVec::<[Language; 4]>::new();
            let mut reach = |part, _| {
                units.push(part);
                0
            };
            let (free, narrowest) = self.without_bounds(x, least, &mut reach)?;
            // What is repeated keeps its own.
            let Some(narrowest) = narrowest.filter(|_| free != x) else { return Ok(None) };
            let Some(span) = self.plain_span(free, 0)? else { return Ok(None) };
            // So many units begin, and one may have begun before.
            match narrowest.checked_sub(span.saturating_add(1)) {
                Some(far) if far >= FEW => {
                    for unit in units {
                        let first = self.first_bytes(unit)?;
                        if !first.intersection(&ByteSet::range(0x80, 0xBF)).is_empty() {
                            return Ok(None);
                        }
                    }
                    return Ok(Some((free, far)));
                }
                _ => least = narrowest.saturating_add(1),
            }
        }
    }

    /// The language without those upper bounds of its repeats that leave at least `least` times
    /// beyond the reach of a token, and how many the narrowest of these leaves; complements stay as
    /// they are.
    fn without_bounds(
        &mut self,
        x: Language,
        least: u32,
        reach: &mut dyn FnMut(Language, Unit) -> u32,
    ) -> Result<(Language, Option<u32>)> {
        let mut done: FxHashMap<Language, Language> = FxHashMap::default();
        let of = |done: &FxHashMap<_, _>, part| done.get(&part).copied().unwrap_or(part);
        let mut narrowest: Option<u32> = None;
        for at in self.parts(x, false, |part| !self.arena.facts(part).counted) {
            let free = match self.arena.expr(at).clone() {
                Expr::Concat(a, b) => self.concat2(of(&done, a), of(&done, b)),
                Expr::Union(xs) => {
                    let xs: Vec<Language> = xs.iter().map(|&x| of(&done, x)).collect();
                    self.union(xs)
                }
                Expr::Intersect(xs) => {
                    let xs: Vec<Language> = xs.iter().map(|&x| of(&done, x)).collect();
                    let both = self.intersect(xs);
                    self.without_texts(both)?
                }
                Expr::Repeat(part, min, max) if max != UNBOUNDED => {
                    match max.checked_sub(reach(part, self.unit(part))) {
                        Some(slack) if slack >= least => {
                            narrowest = Some(narrowest.map_or(slack, |least| least.min(slack)));
                            self.repeat(part, min, None)
                        }
                        _ => at,
                    }
                }
                _ => at,
            };
            done.insert(at, free);
        }
        Ok((of(&done, x), narrowest))
    }

    /// What a part that is repeated is made of: bytes of a set, or so many bytes at least.
    fn unit(&self, x: Language) -> Unit {
        match *self.arena.expr(x) {
            Expr::Set(set) => Unit::Byte(set),
            _ => Unit::Bytes(self.least_bytes(x, 0).max(1)),
        }
    }

    /// No string has fewer bytes; by structure, as far as that says it.
    fn least_bytes(&self, x: Language, depth: u32) -> u32 {
        const DEEPEST: u32 = 8;
        let of = |part: Language| self.least_bytes(part, depth + 1);
        match self.arena.expr(x) {
            _ if self.is_nullable(x) => 0,
            _ if depth == DEEPEST => 1,
            &Expr::Concat(a, b) => of(a).saturating_add(of(b)),
            Expr::Union(xs) => xs.iter().map(|&part| of(part)).min().unwrap_or(1),
            Expr::Intersect(xs) => xs.iter().map(|&part| of(part)).max().unwrap_or(1),
            &Expr::Repeat(part, min, _) => of(part).saturating_mul(min),
            _ => 1,
        }
    }

    /// No [span](Self::span) is longer; `None` if structure does not say it. By numbers alone, where
    /// [`longest_rest`](Self::longest_rest) is nearer but writes shortest strings out: of counted
    /// texts each state would have one of its own.
    fn plain_span(&mut self, x: Language, depth: u32) -> Result<Option<u32>> {
        const DEEPEST: u32 = 50;
        Ok(match self.arena.expr(x) {
            _ if depth == DEEPEST => None,
            _ if x == Language::EPSILON => Some(0),
            Expr::Set(set) => (!set.is_empty()).then_some(1),
            &Expr::Concat(a, b) => match self.plain_span(a, depth + 1)? {
                Some(a) => self.plain_span(b, depth + 1)?.map(|b| a.saturating_add(b)),
                None => None,
            },
            // Of a union of states no more than the shortest way counts.
            Expr::Union(xs) => {
                let xs = xs.clone();
                let mut longest = 0;
                for &part in &xs {
                    match self.plain_span(part, depth + 1)? {
                        Some(span) => longest = span.max(longest),
                        None => return Ok(None),
                    }
                }
                Some(longest)
            }
            &Expr::Repeat(part, min, _) => {
                self.plain_span(part, depth + 1)?.map(|span| span.saturating_mul(min.max(1)))
            }
            &Expr::Table(table, _) => Some(self.tables[table as usize].longest_rest() as u32),
            // The shortest way has no more units than bytes, so that of the fewest units, which the
            // bound allows if it allows any, has no more.
            Expr::Intersect(_) => match self.counted_text(x)? {
                Some(CountedText { text, unit, .. }) => {
                    let longest = self.lengths(unit).most;
                    let span = self.plain_span(text, depth + 1)?;
                    span.zip(longest).map(|(span, longest)| span.saturating_mul(longest))
                }
                None => None,
            },
            Expr::Complement(_) | Expr::Variable(_) | Expr::Automaton(_) => None,
        })
    }

    /// The row of a state, if it is found before so many parts of rows were worked: which of its
    /// successors have strings may take a search.
    fn row_within(&mut self, x: Language, most: usize) -> Result<Option<Row>> {
        let allowed = self.most_work;
        self.most_work = allowed.min(most);
        let row = self.row(x).copied();
        self.most_work = allowed;
        match row {
            Err(_) if self.work > most && self.work <= allowed && !deadline::is_over() => Ok(None),
            row => row.map(Some),
        }
    }

    /// The most bytes that the shortest way to the end takes from any state of `x`; `None` if that
    /// is too much to find out.
    fn span(&mut self, x: Language, spans: &mut Spans) -> Result<Option<u32>> {
        const MOST: usize = 400;
        // Parts of rows.
        const WORK: usize = 10_000;
        const WASTED: usize = 30_000;
        if let Some(&known) = spans.known.get(&x) {
            return Ok(known);
        }
        let shared = self.shared.clone();
        let fingerprint = self.fingerprint(x);
        let others = shared.as_ref().and_then(|shared| shared.span(fingerprint));
        if let Some(span) = others {
            spans.known.insert(x, span);
            return Ok(span);
        }
        if spans.wasted > WASTED {
            return Ok(None);
        }
        let before_it = self.work;
        let mut seen = vec![x];
        let mut ids: FxHashMap<Language, usize> = FxHashMap::from_iter([(x, 0)]);
        let mut before: Vec<Vec<usize>> = vec![Vec::new()];
        let mut next = 0;
        while let Some(&state) = seen.get(next) {
            let row = self.row_within(state, before_it.saturating_add(WORK))?;
            let mut last = Language::EMPTY;
            for after in row.into_iter().flatten() {
                if after == last || after == Language::EMPTY {
                    continue;
                }
                last = after;
                let id = *ids.entry(after).or_insert_with(|| {
                    seen.push(after);
                    before.push(Vec::new());
                    seen.len() - 1
                });
                before[id].push(next);
            }
            if row.is_none() || seen.len() > MOST || self.work - before_it > WORK {
                spans.wasted += self.work - before_it;
                if let Some(shared) = &shared {
                    shared.note_span(fingerprint, None);
                }
                spans.known.insert(x, None);
                return Ok(None);
            }
            next += 1;
        }
        // Breadth first from the ends.
        let mut layer: Vec<usize> =
            (0..seen.len()).filter(|&i| self.is_nullable(seen[i])).collect();
        let mut done = vec![false; seen.len()];
        layer.iter().for_each(|&i| done[i] = true);
        let mut span = 0;
        loop {
            let mut further = Vec::new();
            for &state in &layer {
                for &from in &before[state] {
                    if !done[from] {
                        done[from] = true;
                        further.push(from);
                    }
                }
            }
            if further.is_empty() {
                break;
            }
            span += 1;
            layer = further;
        }
        if let Some(shared) = &shared {
            shared.note_span(fingerprint, Some(span));
        }
        seen.iter().for_each(|&state| _ = spans.known.insert(state, Some(span)));
        Ok(Some(span))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    /// Texts up to the length that was said are read alike, and some longer ones are not.
    #[test]
    fn short_texts_do_not_see_bounds() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut l = Languages::new();
        let parse = |l: &mut Languages, pattern: &str| {
            regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
        };
        let unit = parse(&mut l, "^(?s:.)$");
        let letters = ["a", "b", "é", "-", "-a", "aa", "\u{1F600}", "éé"];
        let (mut alike, mut apart) = (0, 0);
        for pattern in [
            "^[abé]+(-[abé]+)*$",
            "^([ab]{1,30}-)+a$",
            "^(é|ab?){2,}(-\u{1F600})*$",
            "^(?!.*aaa)[ab-]+$",
            "^(a|b|-|é|\u{1F600})*$",
        ] {
            for max in [18, 20, 27, 40] {
                let x = parse(&mut l, pattern);
                let bound = l.repeat(unit, 0, Some(max));
                let mut state = l.intersect([x, bound]);
                for _ in 0..60 {
                    if let Some((free, far)) = l.nearly(state).unwrap() {
                        for _ in 0..20 {
                            let (mut here, mut there, mut characters) = (state, free, 0);
                            while characters < 60 {
                                let text = letters[rng.random_range(0..letters.len())];
                                for &byte in text.as_bytes() {
                                    here = l.step(here, byte).unwrap();
                                    there = l.step(there, byte).unwrap();
                                    characters += u32::from(!(0x80..0xC0).contains(&byte));
                                    let live = |x| x != Language::EMPTY;
                                    let same = live(here) == live(there)
                                        && l.is_nullable(here) == l.is_nullable(there);
                                    assert!(same || characters > far, "{pattern} {max}");
                                    apart += usize::from(!same);
                                    alike += usize::from(live(here));
                                }
                                if there == Language::EMPTY {
                                    break;
                                }
                            }
                        }
                    }
                    let first = l.first_bytes(state).unwrap();
                    let count = first.len();
                    if count == 0 {
                        break;
                    }
                    let byte = first.iter().nth(rng.random_range(0..count)).unwrap();
                    state = l.step(state, byte).unwrap();
                }
            }
        }
        assert!(alike > 1_000 && apart > 100, "{alike} {apart}");
    }

    /// From each state of a text with a bound, a way to the end is no longer than was said.
    #[test]
    fn no_way_is_longer_than_its_span() {
        let mut l = Languages::new();
        let parse = |l: &mut Languages, pattern: &str| {
            regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
        };
        let unit = parse(&mut l, "^(?s:.)$");
        let mut compared = 0;
        for pattern in ["^a*(b|\u{1F600}{2}c)$", "^(aaaé|-)+$", "^[ab]*(bbb|\u{1F600})$"] {
            for (max, table) in [1, 2, 3, 5, 9].into_iter().flat_map(|n| [(n, false), (n, true)]) {
                let mut x = parse(&mut l, pattern);
                if table {
                    x = l.finish(&format!("span {pattern}"), x, unit).unwrap();
                }
                let bound = l.repeat(unit, 0, Some(max));
                let mut states = vec![l.intersect([x, bound])];
                let Some(span) = l.plain_span(states[0], 0).unwrap() else { continue };
                for next in 0..200 {
                    let Some(&state) = states.get(next) else { break };
                    for after in *l.row(state).unwrap() {
                        if after != Language::EMPTY && !states.contains(&after) {
                            states.push(after);
                        }
                    }
                    let Some(shortest) = l.shortest(state).unwrap() else { continue };
                    assert!(shortest.len() as u32 <= span, "{pattern} {max}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 60, "{compared}");
    }
}
