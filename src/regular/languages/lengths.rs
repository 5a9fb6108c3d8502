//! How long the strings of a language are.

use super::*;

impl Languages {
    /// The bytes of a shortest string, or of a [short](Self::short) one where a shortest one takes
    /// long to find; `None` if there is none; `known` remembers answers.
    ///
    /// By structure, once for each part; where and/not occurs, by search.
    ///
    /// Errors when the arena's limit on states is reached.
    pub(crate) fn least_length(
        &mut self,
        x: Language,
        known: &mut FxHashMap<Language, Option<u32>>,
    ) -> Result<Option<u32>> {
        for at in self.plain_parts(x, |part| known.contains_key(&part)) {
            let of = |part: &Language| known.get(part).copied().flatten();
            let least = match self.arena.expr(at) {
                _ if self.is_nullable(at) => Some(0),
                Expr::Set(set) => (!set.is_empty()).then_some(1),
                Expr::Concat(a, b) => of(a).zip(of(b)).map(|(a, b)| a.saturating_add(b)),
                Expr::Union(xs) => xs.iter().filter_map(of).min(),
                Expr::Repeat(part, min, _) => of(part).map(|least| least.saturating_mul(*min)),
                // Near enough: there may be a shorter one.
                Expr::Automaton(running) => match running.automaton.rest(&running.state) {
                    Some(rest) => Some(rest.len() as u32),
                    None => self.search_length(at, known)?,
                },
                _ => self.search_length(at, known)?,
            };
            known.insert(at, least);
        }
        Ok(known.get(&x).copied().flatten())
    }

    /// The length of a string, by search; that of the states on the way is remembered.
    fn search_length(
        &mut self,
        x: Language,
        known: &mut FxHashMap<Language, Option<u32>>,
    ) -> Result<Option<u32>> {
        let bound = self.length_bound(x);
        if (MOST_SPELLED + 1..u64::MAX).contains(&bound) {
            return Ok(Some(bound.try_into().unwrap_or(u32::MAX)));
        }
        let Some(short) = self.short(x)? else { return Ok(None) };
        let (mut at, length) = (x, short.len() as u32);
        for (read, &byte) in short.iter().enumerate() {
            known.insert(at, Some(length - read as u32));
            at = self.step(at, byte)?;
        }
        Ok(Some(length))
    }

    /// No string has more bytes; `None` where no bound is to be seen by structure alone.
    pub(crate) fn most_length(
        &self,
        x: Language,
        known: &mut FxHashMap<Language, Option<u32>>,
    ) -> Option<u32> {
        for at in self.plain_parts(x, |part| known.contains_key(&part)) {
            let of = |part: &Language| known.get(part).copied().flatten();
            let most = match self.arena.expr(at) {
                Expr::Set(_) => Some(1),
                Expr::Concat(a, b) => of(a).zip(of(b)).and_then(|(a, b)| a.checked_add(b)),
                Expr::Union(xs) => xs.iter().try_fold(0, |most, x| Some(of(x)?.max(most))),
                Expr::Repeat(_, _, 0) | Expr::Repeat(Language::EMPTY, ..) => Some(0),
                Expr::Repeat(_, _, UNBOUNDED) => None,
                Expr::Repeat(part, _, max) => of(part).and_then(|most| most.checked_mul(*max)),
                _ => None,
            };
            known.insert(at, most);
        }
        known.get(&x).copied().flatten()
    }

    /// A language and what it is made of by concatenation, union and repeat, less what is `known`,
    /// parts before wholes. Other languages are parts, but are not looked into.
    fn plain_parts(&self, x: Language, known: impl Fn(Language) -> bool) -> BTreeSet<Language> {
        let mut needed = BTreeSet::new();
        let mut todo = vec![x];
        while let Some(at) = todo.pop() {
            if known(at) || !needed.insert(at) {
                continue;
            }
            match self.arena.expr(at) {
                &Expr::Concat(a, b) => todo.extend([a, b]),
                Expr::Union(xs) => todo.extend_from_slice(xs),
                &Expr::Repeat(part, ..) => todo.push(part),
                _ => {}
            }
        }
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;

    #[test]
    fn lengths_are_those_of_strings() {
        for (pattern, least, most) in [
            ("abc|de", Some(2), Some(3)),
            ("a{3,7}(bc)?", Some(3), Some(9)),
            ("(a|bb)+", Some(1), None),
            ("é", Some(2), Some(2)),
            ("(?=a*b)[abc]{4}d|xyzxyzxyz", Some(5), Some(9)),
            ("(?=.*[0-9].*[0-9])[a-z0-9]+", Some(2), None),
            ("[a&&b]", None, Some(1)),
            ("", Some(0), Some(0)),
        ] {
            let mut languages = Languages::new();
            let options = regular::Options::default();
            let x = regular::parse(&mut languages, pattern, options, &Utf8).unwrap();
            let found = languages.least_length(x, &mut FxHashMap::default()).unwrap();
            assert_eq!(found, least, "{pattern}");
            let shortest = languages.shortest(x).unwrap();
            assert_eq!(found, shortest.map(|s| s.len() as u32), "{pattern}");
            // Only an upper bound where and/not occurs.
            if let Some(bound) = languages.most_length(x, &mut FxHashMap::default()) {
                assert!(most.is_some_and(|most| most <= bound), "{pattern}");
            } else if !pattern.contains("(?=") {
                assert_eq!(most, None, "{pattern}");
            }
        }
    }
}
