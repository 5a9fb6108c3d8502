//! Making languages of others: each operation leaves out what adds nothing, so that equal languages
//! are mostly one expression and states stay few.

use super::*;
use crate::deadline;

/// So many languages put together count as a part of a row.
const MANY: usize = 32;

/// Parts of a union put together in about a microsecond.
const PARTS_A_UNIT: usize = 8;

/// Parts of a union with the same head that are compared with each other to merge them. Searches through nested counters keep no more than a few.
const MOST_COMPARED: usize = 128;

/// Steps of one such comparison.
const COMPARISON: u32 = 64;

impl Languages {
    /// One byte of a set.
    pub fn byte_set(&mut self, set: ByteSet) -> Language {
        self.intern(Expr::Set(set))
    }

    /// One byte from `first` to `last`, both included.
    pub fn byte_range(&mut self, first: u8, last: u8) -> Language {
        self.byte_set(ByteSet::range(first, last))
    }

    /// Exactly these bytes.
    pub fn literal(&mut self, bytes: &[u8]) -> Language {
        self.prefixed(bytes, Language::EPSILON)
    }

    /// These bytes and what follows them, which has strings.
    fn prefixed(&mut self, bytes: &[u8], rest: Language) -> Language {
        bytes.iter().rev().fold(rest, |rest, &byte| {
            let first = self.byte_set(ByteSet::single(byte));
            // As `concat` makes it, which would look for repeats.
            match rest {
                Language::EPSILON => first,
                _ => self.intern(Expr::Concat(first, rest)),
            }
        })
    }

    /// Exactly one of these strings, as a trie: 20,000 strings step as fast as one.
    pub fn literals<'a>(&mut self, strings: impl IntoIterator<Item = &'a [u8]>) -> Language {
        let mut strings: Vec<&[u8]> = strings.into_iter().collect();
        strings.sort_unstable();
        strings.dedup();
        self.trie(&strings, 0)
    }

    fn trie(&mut self, strings: &[&[u8]], depth: usize) -> Language {
        match strings {
            [] => return Language::EMPTY,
            [one] => return self.literal(&one[depth..]),
            _ => {}
        }
        let mut parts = Vec::new();
        for group in strings.chunk_by(|a, b| a.get(depth) == b.get(depth)) {
            parts.push(match group[0].get(depth) {
                None => Language::EPSILON,
                Some(_) => {
                    // Recursion is as deep as the longest common prefix; walk that without it.
                    let mut end = depth + 1;
                    while let [first, .., last] = group
                        && first.len() > end
                        && last.get(end) == Some(&first[end])
                    {
                        end += 1;
                    }
                    let rest = self.trie(group, end);
                    self.prefixed(&group[0][depth..end], rest)
                }
            });
        }
        self.union(parts)
    }

    /// One after the other.
    pub fn concat(
        &mut self,
        parts: impl IntoIterator<Item = Language, IntoIter: DoubleEndedIterator>,
    ) -> Language {
        parts.into_iter().rev().fold(Language::EPSILON, |rest, first| self.concat2(first, rest))
    }

    pub(crate) fn concat2(&mut self, a: Language, b: Language) -> Language {
        if a == Language::EMPTY || b == Language::EMPTY {
            return Language::EMPTY;
        }
        if a == Language::EPSILON {
            return b;
        }
        if b == Language::EPSILON {
            return a;
        }
        // Unfold the left spine: expressions are right-nested.
        let mut firsts = Vec::new();
        let mut last = a;
        while let Expr::Concat(x, y) = *self.arena.expr(last) {
            firsts.push(x);
            last = y;
        }
        let mut result = self.join(last, b);
        while let Some(x) = firsts.pop() {
            result = self.join(x, result);
        }
        result
    }

    /// `a` is no concatenation. Folds `x{2,3}x*` and the like, so that repeats stay few.
    fn join(&mut self, a: Language, b: Language) -> Language {
        if a == Language::ALL && b == Language::ALL {
            return b;
        }
        if let Expr::Repeat(x, min, max) = *self.arena.expr(a) {
            let (head, tail) = match *self.arena.expr(b) {
                Expr::Concat(head, tail) => (head, Some(tail)),
                _ => (b, None),
            };
            if let Expr::Repeat(y, least, most) = *self.arena.expr(head)
                && x == y
                && let Some(min) = min.checked_add(least)
                && let Some(max) = add_bounds(max, most)
            {
                let both = self.intern(Expr::Repeat(x, min, max));
                return tail.map_or(both, |tail| self.intern(Expr::Concat(both, tail)));
            }
        }
        self.intern(Expr::Concat(a, b))
    }

    /// Any one of these.
    pub fn union(&mut self, parts: impl IntoIterator<Item = Language>) -> Language {
        let mut flat = Vec::new();
        let mut set = ByteSet::EMPTY;
        for part in parts {
            match self.arena.expr(part) {
                Expr::Union(xs) => flat.extend_from_slice(xs),
                Expr::Set(bytes) => set = set.union(bytes),
                _ => flat.push(part),
            }
        }
        // The parts of a flattened union may be sets too.
        flat.retain(|&x| match self.arena.expr(x) {
            Expr::Set(bytes) => {
                set = set.union(bytes);
                false
            }
            _ => true,
        });
        if !set.is_empty() {
            flat.push(self.byte_set(set));
        }
        flat.sort_unstable();
        flat.dedup();
        self.work += flat.len() / MANY;
        deadline::spend(flat.len() / PARTS_A_UNIT);
        if flat.contains(&Language::ALL) || self.has_opposites(&flat) {
            return Language::ALL;
        }
        self.absorb(&mut flat);
        self.merge_repeats(&mut flat);
        self.merge_counted(&mut flat);
        if flat.len() > 1 && flat[0] == Language::EPSILON {
            // The empty string adds nothing to what contains it.
            let nullable = flat[1..].iter().any(|&x| self.is_nullable(x));
            if nullable {
                flat.remove(0);
            }
        }
        match flat[..] {
            [] => Language::EMPTY,
            [one] => one,
            _ => self.intern(Expr::Union(flat.into())),
        }
    }

    /// Are a language and its complement both in a sorted list?
    fn has_opposites(&self, sorted: &[Language]) -> bool {
        sorted.iter().any(|&x| match self.arena.expr(x) {
            Expr::Complement(inner) => sorted.binary_search(inner).is_ok(),
            _ => false,
        })
    }

    /// `x | x & y` is `x`: keeps what variables step into small. The list is sorted.
    fn absorb(&self, flat: &mut Vec<Language>) {
        let factors = |x: Language| match self.arena.expr(x) {
            Expr::Intersect(xs) if self.is_recursive(x) => Some(xs),
            _ => None,
        };
        let all = flat.clone();
        flat.retain(|&x| {
            let Some(xs) = factors(x) else { return true };
            !all.iter().any(|&y| match factors(y) {
                Some(ys) => ys.len() < xs.len() && ys.iter().all(|y| xs.binary_search(y).is_ok()),
                None => xs.binary_search(&y).is_ok(),
            })
        });
    }

    /// `x{0,9}y | x{0,8}y` is `x{0,9}y`: keeps searches for bounded repeats small.
    fn merge_repeats(&mut self, flat: &mut Vec<Language>) {
        let key = |this: &Self, id: Language| -> Option<(Language, u32, u32, Option<Language>)> {
            match *this.arena.expr(id) {
                Expr::Repeat(x, min, max) => Some((x, min, max, None)),
                Expr::Concat(a, tail) => match *this.arena.expr(a) {
                    Expr::Repeat(x, min, max) => Some((x, min, max, Some(tail))),
                    _ => None,
                },
                _ => None,
            }
        };
        let mut repeats: Vec<_> = flat
            .iter()
            .filter(|&&id| id != Language::EPSILON)
            .filter_map(|&id| key(self, id).map(|(x, min, max, tail)| ((x, tail), min, max, id)))
            .collect();
        if repeats.len() < 2 {
            return;
        }
        repeats.sort_unstable();
        let mut merged = false;
        for group in repeats.chunk_by(|a, b| a.0 == b.0) {
            if group.len() < 2 {
                continue;
            }
            let (x, tail) = group[0].0;
            let mut spans: Vec<(u32, u32)> = Vec::new();
            for &(_, min, max, _) in group {
                match spans.last_mut() {
                    Some(last) if min <= last.1.saturating_add(1) => last.1 = last.1.max(max),
                    _ => spans.push((min, max)),
                }
            }
            if spans.len() == group.len() {
                continue;
            }
            merged = true;
            flat.retain(|id| !group.iter().any(|&(.., member)| member == *id));
            for (min, max) in spans {
                let repeat = self.intern(Expr::Repeat(x, min, max));
                flat.push(tail.map_or(repeat, |tail| self.intern(Expr::Concat(repeat, tail))));
            }
        }
        if merged {
            flat.sort_unstable();
            flat.dedup();
        }
    }

    /// Merges parts that are made alike but for the bounds of their repeats, where one holds the
    /// other or the two are one with wider bounds: `a{0,7}(a{0,9}){0,3}b | a{0,2}(a{0,9}){0,2}b` is
    /// the first alone, `a{0,9}b{2,3}c | a{0,9}b{3,4}c` is `a{0,9}b{2,4}c`. A text may be read by
    /// nested repeats in as many ways as their counts multiply to, and nearly all of these ways are
    /// held by a few: so counters nest without being unfolded.
    fn merge_counted(&mut self, flat: &mut Vec<Language>) {
        let mut counted: SmallVec<[(Language, Language); 8]> = flat
            .iter()
            .filter(|&&id| self.arena.facts(id).counted)
            .map(|&id| (self.head(id), id))
            .collect();
        if counted.len() < 2 {
            return;
        }
        counted.sort_unstable();
        let mut is_changed = false;
        for group in counted.chunk_by(|a, b| a.0 == b.0) {
            if !(2..=MOST_COMPARED).contains(&group.len()) {
                continue;
            }
            let mut kept: SmallVec<[Language; 8]> = SmallVec::new();
            for &(_, id) in group {
                let mut whole = id;
                let mut at = 0;
                while let Some(&other) = kept.get(at) {
                    match self.merged(other, whole) {
                        Some(merged) => {
                            whole = merged;
                            kept.swap_remove(at);
                            at = 0;
                        }
                        None => at += 1,
                    }
                }
                deadline::spend(kept.len() / PARTS_A_UNIT);
                kept.push(whole);
            }
            if kept.len() < group.len() {
                is_changed = true;
                flat.retain(|id| !group.iter().any(|(_, member)| member == id));
                flat.extend(kept);
            }
        }
        if is_changed {
            flat.sort_unstable();
            flat.dedup();
        }
    }

    /// The union of two languages that are made alike but for the bounds of their repeats, if it is
    /// made like them.
    fn merged(&mut self, a: Language, b: Language) -> Option<Language> {
        if self.holds(a, b, &mut { COMPARISON }) {
            Some(a)
        } else if self.holds(b, a, &mut { COMPARISON }) {
            Some(b)
        } else {
            self.widened(a, b, COMPARISON)
        }
    }

    /// The same, where they differ in the bounds of one repeat only.
    fn widened(&mut self, a: Language, b: Language, steps: u32) -> Option<Language> {
        let steps = steps.checked_sub(1)?;
        match (self.arena.expr(a), self.arena.expr(b)) {
            (&Expr::Repeat(x, least, most), &Expr::Repeat(y, min, max)) if x == y => {
                let meet = min <= most.saturating_add(1) && least <= max.saturating_add(1);
                meet.then(|| self.intern(Expr::Repeat(x, least.min(min), most.max(max))))
            }
            (&Expr::Concat(first, rest), &Expr::Concat(head, tail)) if first == head => {
                let rest = self.widened(rest, tail, steps)?;
                Some(self.join(first, rest))
            }
            (&Expr::Concat(first, rest), &Expr::Concat(head, tail)) if rest == tail => {
                let first = self.widened(first, head, steps)?;
                Some(self.join(first, rest))
            }
            _ => None,
        }
    }

    /// What a language begins with: of a concatenation its first part, of a repeat what it repeats.
    fn head(&self, x: Language) -> Language {
        let first = match *self.arena.expr(x) {
            Expr::Concat(first, _) => first,
            _ => x,
        };
        match *self.arena.expr(first) {
            Expr::Repeat(part, ..) => part,
            _ => first,
        }
    }

    /// Whether every string of `narrow` is in `wide` because both are made alike but for the bounds
    /// of their repeats, and for parts of `wide` that may be empty. "No" also where that takes more
    /// than `steps` to see.
    fn holds(&self, wide: Language, narrow: Language, steps: &mut u32) -> bool {
        if wide == narrow {
            return true;
        }
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        match (self.arena.expr(wide), self.arena.expr(narrow)) {
            _ if narrow == Language::EPSILON => self.is_nullable(wide),
            (&Expr::Repeat(x, least, most), &Expr::Repeat(y, min, max)) if x == y => {
                least <= min && max <= most
            }
            (&Expr::Concat(first, rest), &Expr::Concat(head, tail)) => {
                self.holds(first, head, steps) && self.holds(rest, tail, steps)
                    || self.is_nullable(first) && self.holds(rest, narrow, steps)
            }
            (&Expr::Concat(first, rest), _) => {
                self.is_nullable(rest) && self.holds(first, narrow, steps)
                    || self.is_nullable(first) && self.holds(rest, narrow, steps)
            }
            _ => false,
        }
    }

    /// All of these at once.
    pub fn intersect(&mut self, parts: impl IntoIterator<Item = Language>) -> Language {
        let mut flat = Vec::new();
        for part in parts {
            match self.arena.expr(part) {
                Expr::Intersect(xs) => flat.extend_from_slice(xs),
                _ => flat.push(part),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        self.work += flat.len() / MANY;
        deadline::spend(flat.len() / PARTS_A_UNIT);
        flat.retain(|&x| x != Language::ALL);
        if flat.contains(&Language::EMPTY) || self.has_opposites(&flat) {
            return Language::EMPTY;
        }
        if flat.contains(&Language::EPSILON) {
            let all = flat.iter().all(|&x| self.is_nullable(x));
            return if all { Language::EPSILON } else { Language::EMPTY };
        }
        if flat.len() > 1 {
            // What is said already need not be said again.
            let wider = flat.iter().position(|&wide| {
                matches!(*self.arena.expr(wide), Expr::Repeat(_, 0, UNBOUNDED))
                    && flat.iter().any(|&part| part != wide && self.is_within(part, wide, 0))
            });
            if let Some(index) = wider {
                flat.remove(index);
            }
        }
        if flat.len() > 1 {
            let sets = flat.iter().map(|&x| match self.arena.expr(x) {
                Expr::Set(set) => Some(*set),
                _ => None,
            });
            if let Some(set) = sets.reduce(|a, b| Some(a?.intersection(&b?))).flatten() {
                return self.byte_set(set);
            }
            // A variable steps into itself, so that only a normal form (unions outside, atoms
            // inside, of which there are finitely many) keeps its states finite.
            let split = flat.iter().position(|&x| {
                self.is_recursive(x) && matches!(self.arena.expr(x), Expr::Union(_))
            });
            if let Some(index) = split {
                let union = flat.remove(index);
                let Expr::Union(parts) = self.arena.expr(union).clone() else {
                    return Language::EMPTY;
                };
                let parts: Vec<_> = parts
                    .iter()
                    .map(|&part| self.intersect(flat.iter().copied().chain([part])))
                    .collect();
                return self.union(parts);
            }
        }
        match flat[..] {
            [] => Language::ALL,
            [one] => one,
            _ => self.intern(Expr::Intersect(flat.into())),
        }
    }

    /// Remembers that every string of `x` is in `wide`, which is `y*` for some `y`: so that the
    /// intersection of the two is known to be `x`.
    pub(crate) fn note_within(&mut self, x: Language, wide: Language) {
        if let Expr::Automaton(running) = self.arena.expr(x) {
            self.texts.insert(running.automaton.name().into(), wide);
        }
        if x != wide {
            self.within.insert(x, wide);
        }
    }

    /// Is every string of `x` in `wide`? No means perhaps.
    fn is_within(&self, x: Language, wide: Language, depth: u32) -> bool {
        const DEEPEST: u32 = 3;
        if x == wide || self.within.get(&x) == Some(&wide) {
            return true;
        }
        match (self.arena.expr(x), self.arena.expr(wide)) {
            (Expr::Repeat(a, ..), Expr::Repeat(b, ..)) if a == b => true,
            (Expr::Automaton(running), _) if running.automaton.is_between(&running.state) => {
                self.texts.get(running.automaton.name()) == Some(&wide)
            }
            (Expr::Intersect(xs), _) if depth < DEEPEST => {
                xs.iter().any(|&part| self.is_within(part, wide, depth + 1))
            }
            (Expr::Union(xs), _) if depth < DEEPEST => {
                xs.iter().all(|&part| self.is_within(part, wide, depth + 1))
            }
            _ => false,
        }
    }

    /// Every byte string that is not in it.
    pub fn complement(&mut self, x: Language) -> Language {
        match *self.arena.expr(x) {
            Expr::Complement(inner) => inner,
            _ => self.intern(Expr::Complement(x)),
        }
    }

    /// In the first and not in the second.
    pub fn difference(&mut self, a: Language, b: Language) -> Language {
        let not_b = self.complement(b);
        self.intersect([a, not_b])
    }

    /// Without the empty string.
    pub fn without_epsilon(&mut self, x: Language) -> Language {
        if !self.is_nullable(x) {
            return x;
        }
        match *self.arena.expr(x) {
            Expr::Repeat(inner, _, max) if !self.is_nullable(inner) => {
                let max = if max == UNBOUNDED { None } else { Some(max) };
                self.repeat(inner, 1, max)
            }
            _ => self.difference(x, Language::EPSILON),
        }
    }

    /// `min` to `max` times (inclusive; `None` for no bound); empty if `min > max`.
    pub fn repeat(&mut self, x: Language, min: u32, max: Option<u32>) -> Language {
        let max = max.unwrap_or(UNBOUNDED);
        if min > max {
            return Language::EMPTY;
        }
        if max == 0 || x == Language::EPSILON {
            return Language::EPSILON;
        }
        if x == Language::EMPTY {
            return if min == 0 { Language::EPSILON } else { Language::EMPTY };
        }
        if (min, max) == (1, 1) || x == Language::ALL {
            return if min == 0 && x != Language::ALL { Language::EPSILON } else { x };
        }
        let min = if self.is_nullable(x) { 0 } else { min };
        if let Expr::Repeat(part, least, most) = *self.arena.expr(x) {
            if (least, most) == (0, UNBOUNDED) {
                return x;
            }
            if let Some((min, max)) = fold_repeats((least, most), (min, max)) {
                return self.repeat(part, min, (max != UNBOUNDED).then_some(max));
            }
        }
        self.intern(Expr::Repeat(x, min, max))
    }
}

/// The sum of two upper bounds, if it can be counted.
fn add_bounds(a: u32, b: u32) -> Option<u32> {
    if a == UNBOUNDED || b == UNBOUNDED {
        return Some(UNBOUNDED);
    }
    a.checked_add(b).filter(|&sum| sum != UNBOUNDED)
}

/// `x{a,b}{c,d}` as one repeat, if every number of `x` between its least and its most can be had:
/// `k` times `a` to `b` leaves no gap before `k + 1` times, from `k = c` on.
fn fold_repeats((a, b): (u32, u32), (c, d): (u32, u32)) -> Option<(u32, u32)> {
    let times = |bound: u32, by: u32| match (bound, by) {
        (0, _) | (_, 0) => Some(0),
        (UNBOUNDED, _) | (_, UNBOUNDED) => Some(UNBOUNDED),
        _ => bound.checked_mul(by).filter(|&product| product != UNBOUNDED),
    };
    let most = u64::from(c) * u64::from(b);
    let has_no_gap = c == d || most + 1 >= (u64::from(c) + 1) * u64::from(a);
    if has_no_gap { Some((times(a, c)?, times(b, d)?)) } else { None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn algebra_on_small_cases() {
        let mut l = Languages::new();
        let a = l.literal(b"a");
        let b = l.literal(b"b");
        let ab = l.union([a, b]);
        let words = l.repeat(ab, 0, None);
        let aa = l.literal(b"aa");
        let any = Language::ALL;
        let has_aa = l.concat([any, aa, any]);
        let not_aa = l.complement(has_aa);
        let clean = l.intersect([words, not_aa]);
        assert!(l.matches(clean, b"abab").unwrap());
        assert!(!l.matches(clean, b"abaab").unwrap());
        assert!(!l.matches(clean, b"abc").unwrap());
        let both = l.intersect([clean, has_aa]);
        assert!(!l.is_live(both).unwrap());
        let long = l.repeat(a, 500, Some(700));
        assert_eq!(l.shortest(long).unwrap().unwrap().len(), 500);
        let none = l.repeat(a, 3, Some(2));
        assert_eq!(none, Language::EMPTY);
    }

    #[test]
    fn a_trie_holds_exactly_its_strings() {
        let mut l = Languages::new();
        let words: Vec<&[u8]> = vec![b"", b"car", b"cart", b"care", b"dog"];
        let trie = l.literals(words.iter().copied());
        for word in [&b""[..], b"c", b"ca", b"car", b"cart", b"carts", b"dog", b"do"] {
            assert_eq!(l.matches(trie, word).unwrap(), words.contains(&word), "{word:?}");
        }
    }

    #[test]
    fn repeats_of_repeats_are_one_where_no_count_is_left_out() {
        let mut l = Languages::new();
        let a = l.literal(b"a");
        for (a_least, a_most) in [(0, 1), (0, 3), (1, 1), (1, 2), (2, 2), (2, 3), (3, 5)] {
            for (b_least, b_most) in [(0, 1), (0, 2), (1, 1), (1, 3), (2, 2), (2, 4), (3, 4)] {
                let inner = l.repeat(a, a_least, Some(a_most));
                let outer = l.repeat(inner, b_least, Some(b_most));
                for n in 0..25 {
                    let is_in = (b_least..=b_most).any(|k| (k * a_least..=k * a_most).contains(&n));
                    let text = vec![b'a'; n as usize];
                    let bounds = (a_least, a_most, b_least, b_most);
                    assert_eq!(l.matches(outer, &text).unwrap(), is_in, "{bounds:?} {n}");
                }
            }
        }
        // Beyond what can be counted they stay as they are.
        let inner = l.repeat(a, 0, Some(1 << 20));
        let outer = l.repeat(inner, 0, Some(1 << 20));
        assert!(l.matches(outer, &[b'a'; 100]).unwrap());
    }

    /// Texts of a pattern with nested counters, read beside `regex`, whose automata unfold them.
    #[test]
    fn nested_counters_are_exact_and_not_unfolded() {
        use crate::regular;
        use crate::regular::Utf8;
        use rand::{RngExt as _, SeedableRng as _};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(11);
        for pattern in [
            "((a{0,3}b?){0,3}c?){0,3}",
            "((a{1,3}b?){2,3}c?){1,2}",
            "((a{2}b?){3}c?){2}",
            "(((ab|a){0,2}b?){1,3}c?){2,3}",
            "((a{1,2}){2,3}b{0,2}){0,4}a{0,2}a{1,3}",
            "((aa){1,3}(aaa){0,2}b?){1,3}",
        ] {
            let mut l = Languages::new();
            let options = regular::Options::default();
            let x = regular::parse(&mut l, &format!("^(?:{pattern})$"), options, &Utf8).unwrap();
            let reference = ::regex::Regex::new(&format!("^(?:{pattern})$")).unwrap();
            for _ in 0..2_000 {
                let length = rng.random_range(0..24);
                let text: String = (0..length)
                    .map(|_| *b"aaaaaabc".get(rng.random_range(0..8)).unwrap() as char)
                    .collect();
                let accepted = l.matches(x, text.as_bytes()).unwrap();
                assert_eq!(accepted, reference.is_match(&text), "{pattern} {text}");
            }
        }
        for pattern in [
            "((a{0,1000}){0,1000}){0,1000}",
            "((a{0,1000}b?){0,1000}c?){0,1000}",
            "((a{3,1000}b?){7,1000}c?){5,1000}",
            "((([a-z]{1,20},?){15,20};?){15,20}:?){15,20}",
        ] {
            let mut l = Languages::new();
            let x = regular::parse(&mut l, pattern, regular::Options::default(), &Utf8).unwrap();
            let mut at = x;
            for _ in 0..300 {
                at = l.step(at, b'a').unwrap();
            }
            assert!(l.len() < 60_000, "{pattern}: {} states", l.len());
        }
    }

    #[test]
    fn searching_for_a_bounded_repeat_stays_small() {
        let mut l = Languages::new();
        let any = l.byte_set(ByteSet::ALL);
        let a = l.literal(b"a");
        let tail = l.repeat(any, 0, Some(500));
        let x = l.concat([Language::ALL, a, tail]);
        let before = l.len();
        assert!(l.matches(x, &[b'a'; 400]).unwrap());
        assert!(l.len() - before < 10_000, "{}", l.len());
    }
}
