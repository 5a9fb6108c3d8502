//! Looking at expressions from outside: parts, horizons, moving between arenas.

use super::*;

/// How long strings are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) least: u32,
    /// `None` where there may be no bound.
    pub(crate) most: Option<u32>,
    /// Is each byte a character by itself, also where a string is spelled as in JSON?
    pub(crate) alone: bool,
}

impl Lengths {
    const ANY: Self = Self { least: 0, most: None, alone: false };
}

/// About how many bytes are taken by what is known of where strings lead.
const LEAD: usize = 32;

impl Languages {
    /// A language and all that it is made of, less what is `known`, parts before wholes; not what
    /// variables are made of.
    pub(crate) fn parts(
        &self,
        x: Language,
        definitions: bool,
        known: impl Fn(Language) -> bool,
    ) -> Vec<Language> {
        if known(x) {
            return Vec::new();
        }
        let mut needed = vec![x];
        let mut todo: SmallVec<[Language; 16]> = SmallVec::from_slice(&[x]);
        // A few are looked up by going through all of them.
        const FEW: usize = 16;
        let mut seen: FxHashSet<Language> = FxHashSet::default();
        while let Some(at) = todo.pop() {
            let parts = todo.len();
            match self.arena.expr(at) {
                Expr::Set(_) | Expr::Table(..) | Expr::Automaton(_) => {}
                &Expr::Concat(a, b) => todo.extend([a, b]),
                Expr::Union(xs) | Expr::Intersect(xs) => todo.extend_from_slice(xs),
                &Expr::Complement(inner) | &Expr::Repeat(inner, ..) => todo.push(inner),
                &Expr::Variable(v) if definitions => todo.push(self.variables[v as usize].body),
                Expr::Variable(_) => {}
            }
            let mut kept = parts;
            for i in parts..todo.len() {
                let part = todo[i];
                let new = match needed.len() {
                    ..FEW => !needed.contains(&part),
                    FEW => {
                        seen.extend(needed.iter().copied());
                        !seen.contains(&part)
                    }
                    _ => !seen.contains(&part),
                };
                if new && !known(part) {
                    if needed.len() >= FEW {
                        seen.insert(part);
                    }
                    needed.push(part);
                    todo[kept] = part;
                    kept += 1;
                }
            }
            todo.truncate(kept);
        }
        // Parts are made before what they are parts of, so their ids are smaller.
        needed.sort_unstable();
        needed
    }

    /// `x{min,max} rest` as its parts, if nothing else counts: most states that count are so.
    pub(crate) fn leading_count(&self, x: Language) -> Option<(Language, u32, u32, Language)> {
        let counts = |part: Language| self.arena.facts(part).counted;
        self.leading_repeat(x).filter(|&(part, _, _, rest)| !counts(part) && !counts(rest))
    }

    /// What is repeated with a bound in it, sets of bytes and small bounds not counted: telling a few
    /// states apart takes less time than to find out how many of a unit a token has.
    pub(crate) fn counted_units(&self, x: Language) -> SmallVec<[Language; 4]> {
        const FEW: u32 = 8;
        let counts = |part: Language, min: u32, max: u32| {
            (min > FEW || max > FEW && max != UNBOUNDED)
                && !matches!(self.arena.expr(part), Expr::Set(_))
        };
        if let Some((part, min, max, _)) = self.leading_count(x) {
            return counts(part, min, max).then_some(part).into_iter().collect();
        }
        let mut units = SmallVec::new();
        for at in self.parts(x, false, |part| !self.arena.facts(part).counted) {
            if let Expr::Repeat(part, min, max) = *self.arena.expr(at)
                && counts(part, min, max)
            {
                units.push(part);
            }
        }
        units
    }

    /// Is something that is no set of bytes repeated with a bound of more than so many times?
    pub(crate) fn counts_units(&self, x: Language, most: u32) -> bool {
        self.parts(x, false, |part| !self.arena.facts(part).counted).into_iter().any(|at| {
            match *self.arena.expr(at) {
                Expr::Repeat(part, min, max) if !matches!(self.arena.expr(part), Expr::Set(_)) => {
                    min > most || max != UNBOUNDED && max > most
                }
                _ => false,
            }
        })
    }

    /// The strings of `x` that have so many units, if it is units, one behind the other, of which at
    /// most one is repeated in a number that is not fixed: the bounds become that repeat's. No string
    /// of the unit begins another.
    pub(crate) fn with_units(
        &mut self,
        x: Language,
        unit: Language,
        (min, max): (u32, Option<u32>),
    ) -> Result<Option<Language>> {
        // Rows of and/not are dear, and seldom come to units.
        if self.arena.facts(x).logical {
            return Ok(None);
        }
        let max = max.unwrap_or(UNBOUNDED);
        let mut parts: SmallVec<[(Language, u32, u32); 8]> = SmallVec::new();
        let mut at = x;
        while at != Language::EPSILON {
            let (first, rest) = match *self.arena.expr(at) {
                Expr::Concat(first, rest) => (first, rest),
                _ => (at, Language::EPSILON),
            };
            parts.push(match *self.arena.expr(first) {
                Expr::Repeat(part, least, most) => (part, least, most),
                _ => (first, 1, 1),
            });
            at = rest;
        }
        let is_open = |&(_, least, most): &(Language, u32, u32)| least != most;
        let fixed = parts.iter().filter(|part| !is_open(part)).map(|part| part.1);
        let fixed = fixed.fold(0, u32::saturating_add);
        if parts.iter().filter(|part| is_open(part)).count() > 1 {
            return Ok(None);
        }
        for &(part, ..) in &parts {
            if !self.is_part_of_unit(part, unit)? {
                return Ok(None);
            }
        }
        let Some(left) = max.checked_sub(fixed) else { return Ok(Some(Language::EMPTY)) };
        let left = if max == UNBOUNDED { UNBOUNDED } else { left };
        let wanted = min.saturating_sub(fixed);
        match parts.iter_mut().find(|part| is_open(part)) {
            Some((_, least, most)) => {
                (*least, *most) = ((*least).max(wanted), (*most).min(left));
                if least > most {
                    return Ok(Some(Language::EMPTY));
                }
            }
            None if wanted > 0 => return Ok(Some(Language::EMPTY)),
            None => {}
        }
        let parts: SmallVec<[Language; 8]> = parts
            .into_iter()
            .map(|(part, least, most)| {
                self.repeat(part, least, (most != UNBOUNDED).then_some(most))
            })
            .collect();
        Ok(Some(self.concat(parts)))
    }

    /// Is every string of `x` one of the unit? Looks at no more than a few states, and says no
    /// beyond.
    fn is_part_of_unit(&mut self, x: Language, unit: Language) -> Result<bool> {
        const MOST: usize = 64;
        if self.is_nullable(x) {
            return Ok(false);
        }
        let mut seen: SmallVec<[(Language, Language); 16]> = SmallVec::from_slice(&[(x, unit)]);
        let mut next = 0;
        while let Some(&(part, whole)) = seen.get(next) {
            next += 1;
            let whole = *self.row(whole)?;
            let part = self.row(part)?;
            let mut last = (Language::EMPTY, Language::EMPTY);
            let mut found: SmallVec<[(Language, Language); 8]> = SmallVec::new();
            for pair in part.iter().copied().zip(whole) {
                if pair.0 != Language::EMPTY && pair != last {
                    last = pair;
                    found.push(pair);
                }
            }
            for pair in found {
                if pair.1 == Language::EMPTY
                    || self.is_nullable(pair.0) && !self.is_nullable(pair.1)
                {
                    return Ok(false);
                }
                if pair.0 != Language::EPSILON && !seen.contains(&pair) {
                    if seen.len() == MOST {
                        return Ok(false);
                    }
                    seen.push(pair);
                }
            }
        }
        Ok(true)
    }

    /// How long the strings of a language are, by structure, as far as that says it: O(parts).
    pub(crate) fn lengths(&self, x: Language) -> Lengths {
        let mut known: FxHashMap<Language, Lengths> = FxHashMap::default();
        for at in self.parts(x, false, |_| false) {
            let of = |part: &Language| known[part];
            let lengths = match self.arena.expr(at) {
                _ if at == Language::EPSILON => Lengths { least: 0, most: Some(0), alone: true },
                Expr::Set(set) => {
                    let alone = |byte: u8| byte.is_ascii() && byte != b'\\';
                    Lengths { least: 1, most: Some(1), alone: set.iter().all(alone) }
                }
                Expr::Concat(a, b) => {
                    let (a, b) = (of(a), of(b));
                    let most = a.most.zip(b.most).and_then(|(a, b)| a.checked_add(b));
                    let least = a.least.saturating_add(b.least);
                    Lengths { least, most, alone: a.alone && b.alone }
                }
                Expr::Union(xs) => {
                    let all = xs.iter().map(of);
                    let either = |a: Lengths, b: Lengths| Lengths {
                        least: a.least.min(b.least),
                        most: a.most.zip(b.most).map(|(a, b)| a.max(b)),
                        alone: a.alone && b.alone,
                    };
                    all.reduce(either).unwrap_or(Lengths::ANY)
                }
                Expr::Intersect(xs) => {
                    let all = xs.iter().map(of);
                    let both = |a: Lengths, b: Lengths| Lengths {
                        least: a.least.max(b.least),
                        most: a.most.into_iter().chain(b.most).min(),
                        alone: a.alone || b.alone,
                    };
                    all.fold(Lengths::ANY, both)
                }
                &Expr::Repeat(part, min, max) => {
                    let one = of(&part);
                    let most = one.most.filter(|_| max != UNBOUNDED);
                    Lengths {
                        least: one.least.saturating_mul(min),
                        most: most.and_then(|most| most.checked_mul(max)),
                        alone: one.alone,
                    }
                }
                Expr::Complement(_) | Expr::Variable(_) | Expr::Table(..) | Expr::Automaton(_) => {
                    Lengths::ANY
                }
            };
            known.insert(at, lengths);
        }
        known.get(&x).copied().unwrap_or(Lengths::ANY)
    }

    /// `x{min,max} rest` as its parts, `max` being [`u32::MAX`] where there is no bound.
    pub(crate) fn leading_repeat(&self, x: Language) -> Option<(Language, u32, u32, Language)> {
        let (head, rest) = match *self.arena.expr(x) {
            Expr::Concat(head, rest) => (head, rest),
            _ => (x, Language::EPSILON),
        };
        match *self.arena.expr(head) {
            Expr::Repeat(part, min, max) if part != Language::EMPTY => Some((part, min, max, rest)),
            _ => None,
        }
    }

    /// What stands before `end` in a concatenation that ends in it.
    pub(crate) fn before(&mut self, x: Language, end: Language) -> Option<Language> {
        let mut firsts: SmallVec<[Language; 8]> = SmallVec::new();
        let mut at = x;
        while at != end {
            let Expr::Concat(first, rest) = *self.arena.expr(at) else { return None };
            firsts.push(first);
            at = rest;
        }
        Some(self.concat(firsts))
    }

    /// What stands before `end` in a concatenation of these two.
    pub(crate) fn one_before(&self, x: Language, end: Language) -> Option<Language> {
        match *self.arena.expr(x) {
            Expr::Concat(first, rest) if rest == end => Some(first),
            _ => None,
        }
    }

    /// Is it a concatenation that ends in `end`?
    pub(crate) fn ends_in(&self, x: Language, end: Language) -> bool {
        let mut at = x;
        while at != end {
            let Expr::Concat(_, rest) = *self.arena.expr(at) else { return false };
            at = rest;
        }
        true
    }

    /// What follows `first` in a concatenation that begins with it.
    pub(crate) fn after_first(&self, x: Language, first: Language) -> Option<Language> {
        match *self.arena.expr(x) {
            Expr::Concat(a, rest) if a == first => Some(rest),
            _ => None,
        }
    }

    /// Can every string of units be continued to one of `x`, whose strings are strings of units
    /// (and, where [`Language::ALL`] stands in it, others)? Decided by structure: no means
    /// perhaps. `known` remembers answers.
    pub(crate) fn is_total(
        &self,
        x: Language,
        unit: Language,
        known: &mut FxHashMap<Language, bool>,
    ) -> bool {
        if let Some(&known) = known.get(&x) {
            return known;
        }
        let total = match self.arena.expr(x) {
            Expr::Repeat(..) => self.is_endless(x, unit),
            // What follows has strings of units.
            &Expr::Concat(a, b) => self.is_endless(a, unit) && self.arena.facts(b).plain,
            Expr::Union(xs) => xs.iter().any(|&part| self.is_total(part, unit, known)),
            // Endlessly many continuations, less finitely many; what is found stays found.
            Expr::Intersect(xs) => {
                xs.iter().any(|&part| self.is_endless(part, unit))
                    && xs.iter().all(|&part| match *self.arena.expr(part) {
                        Expr::Complement(inner) if part != Language::ALL => {
                            self.arena.facts(inner).finite
                        }
                        _ => self.is_endless(part, unit) || self.is_found_at_last(part, unit),
                    })
            }
            &Expr::Table(table, state) => self.tables[table as usize].is_total(state),
            Expr::Set(_) | Expr::Complement(_) | Expr::Variable(_) | Expr::Automaton(_) => false,
        };
        known.insert(x, total);
        total
    }

    /// The languages whose strings a text lacks, if it is all strings of units but these.
    pub(crate) fn all_but(&self, x: Language, unit: Language) -> Option<SmallVec<[Language; 2]>> {
        let Expr::Intersect(parts) = self.arena.expr(x) else { return None };
        let mut lacking = SmallVec::new();
        for &part in parts {
            match *self.arena.expr(part) {
                Expr::Complement(inner) => lacking.push(inner),
                Expr::Repeat(of, 0, UNBOUNDED) if of == unit => {}
                _ => return None,
            }
        }
        Some(lacking)
    }

    /// Is it made of finitely many strings without counting, and/or/not?
    pub(crate) fn is_listed(&self, x: Language) -> bool {
        let facts = self.arena.facts(x);
        facts.finite && !facts.counted && !facts.logical
    }

    /// Does one of the parts that it is a concatenation of lack finitely many strings that are
    /// named?
    pub(crate) fn lacks_some(&self, x: Language) -> bool {
        let lacks = |x: Language| match self.arena.expr(x) {
            Expr::Intersect(parts) => parts.iter().any(|&part| match *self.arena.expr(part) {
                Expr::Complement(inner) => self.arena.facts(inner).finite,
                _ => false,
            }),
            _ => false,
        };
        let mut at = x;
        while let Expr::Concat(first, rest) = *self.arena.expr(at) {
            if lacks(first) {
                return true;
            }
            at = rest;
        }
        lacks(at)
    }

    /// Is it a repeat of the unit without an upper bound?
    fn is_endless(&self, x: Language, unit: Language) -> bool {
        match *self.arena.expr(x) {
            Expr::Repeat(part, _, UNBOUNDED) => part == unit,
            _ => false,
        }
    }

    /// Can every string of units be continued to one of `x` such that whatever follows it is in
    /// `x` too?
    fn is_found_at_last(&self, x: Language, unit: Language) -> bool {
        let ends_in_all = |x: Language| {
            let mut at = x;
            while let Expr::Concat(_, rest) = *self.arena.expr(at) {
                at = rest;
            }
            at == Language::ALL
        };
        match self.arena.expr(x) {
            _ if x == Language::ALL => true,
            &Expr::Concat(a, b) => {
                self.is_endless(a, unit) && ends_in_all(b) && self.arena.facts(b).plain
            }
            Expr::Union(xs) => xs.iter().any(|&part| self.is_found_at_last(part, unit)),
            _ => false,
        }
    }

    /// Do bounds on repeats occur in it? If not, no other language is [near](Self::near) it.
    pub(crate) fn is_counted(&self, x: Language) -> bool {
        self.arena.facts(x).counted
    }

    /// About how many bytes the arena takes.
    pub fn bytes(&self) -> usize {
        self.arena.bytes() + self.leads.capacity() * LEAD
    }

    /// The same language in another arena; `done` remembers what was moved already.
    pub(crate) fn transfer(
        &self,
        x: Language,
        to: &mut Self,
        done: &mut FxHashMap<Language, Language>,
    ) -> Result<Language> {
        // Only variables may have parts made after them.
        let mut variables = Vec::new();
        for at in self.parts(x, true, |part| done.contains_key(&part)) {
            let sorted = |xs: &[Language]| {
                let mut xs: Vec<Language> = xs.iter().map(|x| done[x]).collect();
                xs.sort_unstable();
                xs.into_boxed_slice()
            };
            let expr = match self.arena.expr(at) {
                Expr::Set(set) => Expr::Set(*set),
                Expr::Automaton(running) => Expr::Automaton(running.clone()),
                Expr::Concat(a, b) => Expr::Concat(done[a], done[b]),
                Expr::Union(xs) => Expr::Union(sorted(xs)),
                Expr::Intersect(xs) => Expr::Intersect(sorted(xs)),
                Expr::Complement(inner) => Expr::Complement(done[inner]),
                Expr::Repeat(inner, min, max) => Expr::Repeat(done[inner], *min, *max),
                &Expr::Table(table, state) => {
                    let table = to.table_index(&self.tables[table as usize]);
                    let there = to.table_state(table, state);
                    done.insert(at, there);
                    continue;
                }
                &Expr::Variable(v) => {
                    let fingerprint = self.fingerprint_beside(at, &mut FxHashMap::default());
                    let there = to.known.get(&fingerprint).copied().unwrap_or_else(|| {
                        let Variable { nullable, body, identity } = self.variables[v as usize];
                        let there = to.variable(nullable);
                        to.set_identity(there, identity);
                        to.known.insert(fingerprint, there);
                        variables.push((there, body));
                        there
                    });
                    done.insert(at, there);
                    continue;
                }
            };
            let there = to.intern(expr);
            let live = self.arena.facts(at).live;
            if let (Some(live), None) = (live, to.arena.facts(there).live) {
                to.arena.set_live(there, live);
            }
            done.insert(at, there);
        }
        for (variable, body) in variables {
            to.define(variable, done[&body]);
        }
        Ok(done[&x])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;

    #[test]
    fn bounds_become_those_of_a_repeat() {
        let mut l = Languages::new();
        let parse = |l: &mut Languages, pattern: &str| {
            regular::parse(l, pattern, regular::Options::default(), &Utf8).unwrap()
        };
        let unit = parse(&mut l, "^(?s:.)$");
        let mut texts = vec![String::new()];
        for from in 0..400 {
            texts.extend(["a", "b", "é"].map(|c| texts[from].clone() + c));
        }
        for (pattern, counts) in [
            ("^a*$", true),
            ("^ab*a$", true),
            ("^[aé]{2,4}b$", true),
            ("^a{2}[^a]{3}$", true),
            ("^$", true),
            ("^a?[ab]{2}$", true),
            ("^a*b*$", false),
            ("^(ab)*$", false),
            ("^(a|ba)b*$", false),
            ("^(a|b)$", true),
        ] {
            let x = parse(&mut l, pattern);
            for (min, max) in
                [(0, Some(0)), (0, Some(2)), (1, None), (2, Some(4)), (4, Some(4)), (6, None)]
            {
                let found = l.with_units(x, unit, (min, max)).unwrap();
                assert_eq!(found.is_some(), counts, "{pattern}");
                for text in &texts {
                    let units = text.chars().count() as u32;
                    let fits = (min..=max.unwrap_or(u32::MAX)).contains(&units);
                    let expected = fits && l.matches(x, text.as_bytes()).unwrap();
                    let Some(found) = found else { continue };
                    let matched = l.matches(found, text.as_bytes()).unwrap();
                    assert_eq!(matched, expected, "{pattern} {min} {max:?} {text}");
                }
            }
        }
    }

    #[test]
    fn no_string_is_shorter_or_longer() {
        let mut l = Languages::new();
        for (pattern, least, most) in [
            ("^$", 0, Some(0)),
            ("^[ab]{2,3}$", 2, Some(3)),
            ("^(a|bb)b{0,2}$", 1, Some(4)),
            ("^(ab){2}$", 4, Some(4)),
            ("^a+$", 1, None),
            ("^(a|bb*)$", 1, None),
            ("^(?=a)[ab]{1,4}$", 1, Some(4)),
        ] {
            let language =
                regular::parse(&mut l, pattern, regular::Options::default(), &Utf8).unwrap();
            let lengths = l.lengths(language);
            let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
            for from in 0..63 {
                let longer = [b'a', b'b'].map(|byte| [&texts[from][..], &[byte]].concat());
                texts.extend(longer);
            }
            let found = texts.iter().filter(|text| l.matches(language, text).unwrap());
            let found: Vec<u32> = found.map(|text| text.len() as u32).collect();
            assert_eq!(found.iter().min(), Some(&least), "{pattern}");
            assert!(most.is_none_or(|most| found.iter().max() == Some(&most)), "{pattern}");
            assert!(lengths.alone, "{pattern}");
            assert_eq!((lengths.least, lengths.most), (least, most), "{pattern}");
        }
    }
}
