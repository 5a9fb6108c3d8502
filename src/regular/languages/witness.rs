//! Shortest strings, and how long what is left can become.

use std::collections::VecDeque;

use super::derivative::Open;
use super::*;

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Wanted {
    Shortest,
    /// Not much longer than a shortest one, where that takes long to find.
    Short,
}

/// States that are looked at for a shortest string where a short one will do, and what may be made
/// for that.
const BREADTH: usize = 3_000;
const MADE: usize = 10_000;

/// Longer rests of a string that was searched for are not kept for the states on its way.
const KEPT: usize = 64;

/// Strings of more bytes than this are measured, never spelled out: 1 MiB.
pub(crate) const MOST_SPELLED: u64 = 1 << 20;

impl Languages {
    /// A shortest string in it, or `None` if it has none. By structure where it can be; what and/not
    /// leaves is searched breadth first. Remembered.
    ///
    /// Errors when the arena's limit on states is reached, and where every string has more than
    /// 1 MiB.
    ///
    /// ```
    /// let mut l = maskwright::regex::Languages::new();
    /// let digit = l.byte_range(b'0', b'9');
    /// let some = l.repeat(digit, 3, None);
    /// let zeros = l.literal(b"000");
    /// let others = l.difference(some, zeros);
    /// assert_eq!(l.shortest(others)?.as_deref(), Some(&b"001"[..]));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn shortest(&mut self, x: Language) -> Result<Option<Arc<[u8]>>> {
        self.string(x, Wanted::Shortest)
    }

    /// A string that leads to the end soon, or `None` if there is none: a shortest one, but where
    /// the search would go through thousands of states, or arithmetic tells how far the end is,
    /// where it goes by that promise. Remembered, also for the states on its way.
    pub(crate) fn short(&mut self, x: Language) -> Result<Option<Arc<[u8]>>> {
        self.string(x, Wanted::Short)
    }

    /// A lower bound on the bytes of every string of `x`, by arithmetic on its structure alone: no
    /// state is made and nothing is searched. Exact where neither and/not nor an automaton that
    /// computes its states occurs; [`u64::MAX`] if structure shows that there is no string.
    /// Remembered; a first answer costs the size of the expression.
    pub(crate) fn length_bound(&mut self, x: Language) -> u64 {
        if let Some(&known) = self.length_bounds.get(&x) {
            return known;
        }
        for at in self.parts_without_bound(x) {
            let of = |part: &Language| self.length_bounds.get(part).copied().unwrap_or(0);
            let bound = match self.arena.expr(at) {
                _ if self.is_nullable(at) => 0,
                Expr::Set(set) => {
                    if set.is_empty() {
                        u64::MAX
                    } else {
                        1
                    }
                }
                Expr::Concat(a, b) => of(a).saturating_add(of(b)),
                Expr::Union(xs) => xs.iter().map(of).min().unwrap_or(u64::MAX),
                Expr::Intersect(xs) => xs.iter().map(of).max().unwrap_or(0),
                Expr::Repeat(part, min, _) => of(part).saturating_mul(u64::from(*min)),
                &Expr::Table(table, state) => self.tables[table as usize].least_rest(state).into(),
                Expr::Complement(_) | Expr::Variable(_) | Expr::Automaton(_) => 1,
            };
            self.length_bounds.insert(at, bound);
        }
        self.length_bounds[&x]
    }

    /// What `x` is made of by concatenation, union, intersection and repetition, and has no length
    /// bound yet; parts before wholes.
    fn parts_without_bound(&self, x: Language) -> BTreeSet<Language> {
        let mut needed = BTreeSet::new();
        let mut todo = vec![x];
        while let Some(at) = todo.pop() {
            if self.length_bounds.contains_key(&at) || !needed.insert(at) {
                continue;
            }
            match self.arena.expr(at) {
                _ if self.is_nullable(at) => {}
                &Expr::Concat(a, b) => todo.extend([a, b]),
                Expr::Union(xs) | Expr::Intersect(xs) => todo.extend_from_slice(xs),
                &Expr::Repeat(part, ..) => todo.push(part),
                _ => {}
            }
        }
        needed
    }

    /// The bytes of [`short`](Self::short), or `None` if there is no string. Of what structure
    /// shows to be longer than `most`, only that: the answer is then a lower bound above `most`.
    pub(crate) fn short_length(&mut self, x: Language, most: u64) -> Result<Option<u64>> {
        let bound = self.length_bound(x);
        if bound == u64::MAX {
            return Ok(None);
        }
        // Without and/not and computed states the bound is exact.
        if bound > most || self.arena.facts(x).plain {
            return Ok(Some(bound));
        }
        Ok(self.short(x)?.map(|text| text.len() as u64))
    }

    fn string(&mut self, x: Language, wanted: Wanted) -> Result<Option<Arc<[u8]>>> {
        if let Some(known) = self.shortest.get(&(wanted, x)) {
            return Ok(known.clone());
        }
        let bound = self.length_bound(x);
        if bound > MOST_SPELLED && bound < u64::MAX {
            let message = format!("its shortest text has {bound} bytes or more");
            let help = "lower the counts and lengths that it asks for";
            return Err(Error::new(ErrorKind::Limit, message).with_help(help));
        }
        for at in self.wholes(x, wanted) {
            let of = |part: &Language| self.shortest.get(&(wanted, *part)).cloned().flatten();
            let text: Option<Arc<[u8]>> = match self.arena.expr(at) {
                Expr::Set(set) => set.iter().next().map(|byte| Arc::from([byte])),
                Expr::Concat(a, b) => match (of(a), of(b)) {
                    (Some(a), Some(b)) => Some([&*a, &*b].concat().into()),
                    _ => None,
                },
                Expr::Union(xs) => {
                    xs.iter().filter_map(of).min_by(|a, b| (a.len(), a).cmp(&(b.len(), b)))
                }
                &Expr::Repeat(part, min, _) => match of(&part) {
                    _ if min == 0 => Some(Arc::from([])),
                    part => part.map(|part| part.repeat(min as usize).into()),
                },
                Expr::Automaton(running) if wanted == Wanted::Short => {
                    match running.automaton.rest(&running.state) {
                        Some(rest) => Some(rest.into()),
                        None => self.search_string(at, wanted)?,
                    }
                }
                _ => self.search_string(at, wanted)?,
            };
            self.shortest.insert((wanted, at), text);
        }
        Ok(self.shortest.get(&(wanted, x)).cloned().flatten())
    }

    /// What a language is made of by concatenation, union and repetition, and its string not known,
    /// less what is too long to be spelled; parts before wholes.
    fn wholes(&mut self, x: Language, wanted: Wanted) -> BTreeSet<Language> {
        let mut needed = BTreeSet::new();
        let mut todo = vec![x];
        while let Some(at) = todo.pop() {
            let known = self.shortest.contains_key(&(wanted, at)) || needed.contains(&at);
            if known || (MOST_SPELLED + 1..u64::MAX).contains(&self.length_bound(at)) {
                continue;
            }
            needed.insert(at);
            match self.arena.expr(at) {
                &Expr::Concat(a, b) => todo.extend([a, b]),
                Expr::Union(xs) => todo.extend_from_slice(xs),
                &Expr::Repeat(part, min, _) if min > 0 => todo.push(part),
                _ => {}
            }
        }
        needed
    }

    /// Breadth first; where a short string will do and that takes long, from the states on that
    /// promise most.
    fn search_string(&mut self, x: Language, wanted: Wanted) -> Result<Option<Arc<[u8]>>> {
        if !self.is_live(x)? {
            return Ok(None);
        }
        let computed = matches!(self.arena.expr(x), Expr::Automaton(_));
        if wanted == Wanted::Shortest || !computed {
            let mut open = VecDeque::from([x]);
            let found = self.search_end(
                (x, wanted),
                true,
                &mut open,
                VecDeque::pop_front,
                |open, _, x| open.push_back(x),
            )?;
            if found.is_some() || wanted == Wanted::Shortest {
                return Ok(found);
            }
        }
        let mut open = Open::default();
        open.push(0, x);
        self.search_end((x, wanted), false, &mut open, Open::pop, |open, effort, state| {
            open.push(effort, state);
        })
    }

    /// A string to the end, looking at the states in the order in which they are taken out of those
    /// that are open. If that order is `by_distance`, it is a shortest one; where a short one will
    /// do, none if that takes long. States on the way have the rest of it as theirs, and those of
    /// which one is known lead on.
    fn search_end<S>(
        &mut self,
        (x, wanted): (Language, Wanted),
        by_distance: bool,
        open: &mut S,
        take: impl Fn(&mut S) -> Option<Language>,
        put: impl Fn(&mut S, u32, Language),
    ) -> Result<Option<Arc<[u8]>>> {
        // Each with the state before it, the byte from there, and how many bytes lead to it.
        let mut from: FxHashMap<Language, (Language, u8, usize)> = FxHashMap::default();
        from.insert(x, (x, 0, 0));
        // The length of the best way so far, and the state that it goes on from as is known.
        let mut best: Option<(usize, Language)> = None;
        let (mut looked_at, made) = (0, self.len());
        while let Some(state) = take(open) {
            crate::deadline::check()?;
            let Some(&(_, _, depth)) = from.get(&state) else { break };
            looked_at += 1;
            let done = best.is_some_and(|(length, _)| !by_distance || length <= depth);
            let long = looked_at > BREADTH || self.len() - made > MADE;
            if done || by_distance && wanted == Wanted::Short && long {
                break;
            }
            let rest = match self.is_nullable(state) {
                true => Some(0),
                false => {
                    let known = self.shortest.get(&(wanted, state));
                    known.and_then(|known| known.as_ref().map(|text| text.len()))
                }
            };
            if let Some(rest) = rest {
                if best.is_none_or(|(length, _)| depth + rest < length) {
                    best = Some((depth + rest, state));
                }
                continue;
            }
            let mut last = Language::EMPTY;
            for (byte, next) in (*self.row(state)?).into_iter().enumerate() {
                // Most bytes side by side lead to one state.
                if std::mem::replace(&mut last, next) == next {
                    continue;
                }
                let facts = self.arena.facts(next);
                let (dead, effort) = (facts.live == Some(false), facts.effort);
                if !dead && next != Language::EMPTY && !from.contains_key(&next) {
                    from.insert(next, (state, byte as u8, depth + 1));
                    put(open, effort, next);
                }
            }
        }
        let Some((_, last)) = best else { return Ok(None) };
        let mut text = match self.is_nullable(last) {
            true => Vec::new(),
            false => {
                let known = self.shortest.get(&(wanted, last)).cloned().flatten();
                known.unwrap_or_default().to_vec()
            }
        };
        text.reverse();
        let mut at = last;
        while let Some(&(before, byte, _)) = from.get(&at).filter(|_| at != x) {
            text.push(byte);
            at = before;
            if text.len() <= KEPT {
                let rest = text.iter().rev().copied().collect();
                self.shortest.insert((wanted, at), Some(rest));
            }
        }
        text.reverse();
        Ok(Some(text.into()))
    }

    /// A bound on the length of the shortest string of any state that a string of `x` leads through,
    /// by structure; `None` where and/not leaves it open.
    pub(crate) fn longest_rest(&mut self, x: Language) -> Result<Option<u64>> {
        let mut bounds: FxHashMap<Language, Option<u64>> = FxHashMap::default();
        for at in self.parts(x, false, |_| false) {
            let of = |part: &Language| bounds.get(part).copied().flatten();
            let bound = match self.arena.expr(at).clone() {
                Expr::Set(_) => Some(1),
                Expr::Concat(a, b) => match (of(&a), of(&b), self.short_length(b, MOST_SPELLED)?) {
                    (Some(first), Some(second), Some(rest)) => {
                        Some(second.max(first.saturating_add(rest)))
                    }
                    _ => None,
                },
                Expr::Union(xs) => {
                    xs.iter().map(of).try_fold(0, |most, bound| bound.map(|bound| most.max(bound)))
                }
                Expr::Repeat(part, min, _) => {
                    match (of(&part), self.short_length(part, MOST_SPELLED)?) {
                        (Some(bound), Some(one)) => {
                            Some(bound.saturating_add(one.saturating_mul(min.into())))
                        }
                        // Nothing repeated is the empty string.
                        (_, None) => Some(0),
                        _ => None,
                    }
                }
                Expr::Complement(Language::EMPTY) => Some(0),
                Expr::Table(table, _) => Some(self.tables[table as usize].longest_rest() as u64),
                Expr::Intersect(_)
                | Expr::Complement(_)
                | Expr::Variable(_)
                | Expr::Automaton(_) => None,
            };
            bounds.insert(at, bound);
        }
        Ok(bounds[&x])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn by_structure_as_by_search() {
        let mut l = Languages::new();
        let letter = l.byte_range(b'a', b'c');
        let ab = l.literal(b"ab");
        let word = l.repeat(letter, 2, Some(4));
        let both = l.union([ab, word]);
        let tail = l.concat([both, word, ab]);
        for x in [letter, ab, word, both, tail] {
            assert_eq!(l.shortest(x).unwrap(), l.search_string(x, Wanted::Shortest).unwrap());
        }
        let not = l.complement(word);
        let odd = l.intersect([not, both]);
        assert_eq!(l.shortest(odd).unwrap(), None);
        let others = l.difference(word, ab);
        assert_eq!(l.shortest(others).unwrap().as_deref(), Some(&b"aa"[..]));
    }

    #[test]
    fn among_many_states_a_string_is_short() {
        let mut l = Languages::new();
        let all = l.byte_set(crate::regular::ByteSet::ALL);
        let any = l.repeat(all, 0, None);
        // A hundred of those that some word begins, and each of the words.
        let mut parts = vec![l.repeat(all, 100, Some(200))];
        for word in [b"abcab", b"bcabc", b"cabca", b"aabbc", b"ccbba", b"babab"] {
            let word = l.literal(word);
            parts.push(l.concat([any, word, any]));
        }
        let x = l.intersect(parts);
        let text = l.short(x).unwrap().unwrap();
        assert!(l.matches(x, &text).unwrap());
        assert!((100..=120).contains(&text.len()), "{}", text.len());
    }

    #[test]
    fn no_state_needs_more_than_the_bound() {
        let mut l = Languages::new();
        let letter = l.byte_range(b'a', b'c');
        let short = l.literal(b"a");
        let long = l.literal(b"bcccccc");
        let either = l.union([short, long]);
        let x = l.repeat(either, 2, Some(3));
        let x = l.concat([x, letter]);
        let bound = l.longest_rest(x).unwrap().unwrap();
        let mut states = vec![x];
        let mut next = 0;
        let mut most = 0;
        while let Some(&state) = states.get(next) {
            next += 1;
            most = most.max(l.shortest(state).unwrap().unwrap().len() as u64);
            for after in *l.row(state).unwrap() {
                if after != Language::EMPTY && !states.contains(&after) {
                    states.push(after);
                }
            }
        }
        assert!(most == 8 && (most..=most + 2).contains(&bound), "{most} {bound}");
    }
}
