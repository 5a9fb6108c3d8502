//! Construction of languages from others.
//!
//! Each operation leaves out what adds nothing, so that equal languages are mostly one expression and
//! states stay few.

use rustc_hash::FxHashMap;

use super::budget::PARTS_PER_MICROSECOND;
use super::concatenation::join;
use super::expression::{Expression, Language, UNBOUNDED};
use super::store::Languages;
use super::union_merge::{merge_counted, merge_repeats};
use crate::deadline;
use crate::regular::ByteSet;

/// Parts of a union or an intersection whose flattening counts as one work unit.
const PARTS_PER_WORK_UNIT: usize = 32;

impl Languages {
    /// One byte of a set.
    pub fn byte_set(&mut self, set: ByteSet) -> Language {
        self.intern(Expression::Set(set))
    }

    /// One byte from `first` to `last`, both included.
    pub fn byte_range(&mut self, first: u8, last: u8) -> Language {
        self.byte_set(ByteSet::range(first, last))
    }

    /// Exactly these bytes.
    pub fn literal(&mut self, bytes: &[u8]) -> Language {
        prefixed(self, bytes, Language::EPSILON)
    }

    /// Exactly one of these strings, as a trie: 20,000 strings step as fast as one.
    pub fn literals<'a>(&mut self, strings: impl IntoIterator<Item = &'a [u8]>) -> Language {
        let mut strings: Vec<&[u8]> = strings.into_iter().collect();
        strings.sort_unstable();
        strings.dedup();
        trie(self, &strings, 0)
    }

    /// One after the other.
    pub fn concat(
        &mut self,
        parts: impl IntoIterator<Item = Language, IntoIter: DoubleEndedIterator>,
    ) -> Language {
        parts.into_iter().rev().fold(Language::EPSILON, |rest, first| self.concat2(first, rest))
    }

    /// Two languages, one after the other.
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
        if self.arena.len() > self.budget.max_states {
            // What is twice as long each time would fill the memory before the next row reports the limit.
            return self.intern(Expression::Concat(a, b));
        }
        // Unfold the left spine: expressions are right-nested.
        let mut firsts = Vec::new();
        let mut last = a;
        while let Expression::Concat(x, y) = *self.arena.expr(last) {
            firsts.push(x);
            last = y;
        }
        deadline::spend(firsts.len() / PARTS_PER_MICROSECOND);
        let mut result = join(self, last, b);
        while let Some(x) = firsts.pop() {
            result = join(self, x, result);
        }
        result
    }

    /// Any one of these.
    pub fn union(&mut self, parts: impl IntoIterator<Item = Language>) -> Language {
        let mut flat = Vec::new();
        let mut set = ByteSet::EMPTY;
        for part in parts {
            match self.arena.expr(part) {
                Expression::Union(xs) => flat.extend_from_slice(xs),
                Expression::Set(bytes) => set = set.union(bytes),
                _ => flat.push(part),
            }
        }
        // The parts of a flattened union may be sets too.
        flat.retain(|&x| match self.arena.expr(x) {
            Expression::Set(bytes) => {
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
        self.budget.work += flat.len() / PARTS_PER_WORK_UNIT;
        deadline::spend(flat.len() / PARTS_PER_MICROSECOND);
        if flat.contains(&Language::ALL) || has_opposites(self, &flat) {
            return Language::ALL;
        }
        let compared = absorb(self, &mut flat);
        self.budget.work += compared / PARTS_PER_WORK_UNIT;
        deadline::spend(compared / PARTS_PER_MICROSECOND);
        merge_repeats(self, &mut flat);
        merge_counted(self, &mut flat);
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
            _ => self.intern(Expression::Union(flat.into())),
        }
    }

    /// All of these at once.
    pub fn intersect(&mut self, parts: impl IntoIterator<Item = Language>) -> Language {
        let mut flat = Vec::new();
        for part in parts {
            match self.arena.expr(part) {
                Expression::Intersect(xs) => flat.extend_from_slice(xs),
                _ => flat.push(part),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        self.budget.work += flat.len() / PARTS_PER_WORK_UNIT;
        deadline::spend(flat.len() / PARTS_PER_MICROSECOND);
        flat.retain(|&x| x != Language::ALL);
        if flat.contains(&Language::EMPTY) || has_opposites(self, &flat) {
            return Language::EMPTY;
        }
        if flat.contains(&Language::EPSILON) {
            let all = flat.iter().all(|&x| self.is_nullable(x));
            return if all { Language::EPSILON } else { Language::EMPTY };
        }
        if flat.len() > 1 {
            // What is said already need not be said again.
            let wider = flat.iter().position(|&wide| {
                matches!(*self.arena.expr(wide), Expression::Repeat(_, 0, UNBOUNDED))
                    && flat.iter().any(|&part| part != wide && is_known_subset(self, part, wide, 0))
            });
            if let Some(index) = wider {
                flat.remove(index);
            }
        }
        if flat.len() > 1 {
            let sets = flat.iter().map(|&x| match self.arena.expr(x) {
                Expression::Set(set) => Some(*set),
                _ => None,
            });
            if let Some(set) = sets.reduce(|a, b| Some(a?.intersection(&b?))).flatten() {
                return self.byte_set(set);
            }
            // A variable steps into itself, so that only a normal form (unions outside, atoms
            // inside, of which there are finitely many) keeps its states finite.
            let split = flat.iter().position(|&x| {
                self.arena.properties(x).has_variable
                    && matches!(self.arena.expr(x), Expression::Union(_))
            });
            if let Some(index) = split {
                let union = flat.remove(index);
                let Expression::Union(parts) = self.arena.expr(union).clone() else {
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
            _ => self.intern(Expression::Intersect(flat.into())),
        }
    }

    /// Records that every string of `x` is in `wide`, which is `y*` for some `y`, so that the
    /// intersection of the two is known to be `x`.
    pub(crate) fn note_within(&mut self, x: Language, wide: Language) {
        if let Expression::Computed(running) = self.arena.expr(x) {
            self.texts_by_automaton.insert(running.automaton.name().into(), wide);
        }
        if x != wide {
            self.supersets.insert(x, wide);
        }
    }

    /// The byte strings that are not in it.
    pub fn complement(&mut self, x: Language) -> Language {
        match *self.arena.expr(x) {
            Expression::Complement(inner) => inner,
            _ => self.intern(Expression::Complement(x)),
        }
    }

    /// The strings of the first that are not in the second.
    pub fn difference(&mut self, a: Language, b: Language) -> Language {
        let not_b = self.complement(b);
        self.intersect([a, not_b])
    }

    /// The same language without the empty string.
    pub fn without_epsilon(&mut self, x: Language) -> Language {
        if !self.is_nullable(x) {
            return x;
        }
        match *self.arena.expr(x) {
            Expression::Repeat(inner, _, max) if !self.is_nullable(inner) => {
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
        if let Expression::Repeat(part, least, most) = *self.arena.expr(x) {
            if (least, most) == (0, UNBOUNDED) {
                return x;
            }
            if let Some((min, max)) = fold_repeats((least, most), (min, max)) {
                return self.repeat(part, min, (max != UNBOUNDED).then_some(max));
            }
        }
        self.intern(Expression::Repeat(x, min, max))
    }
}

/// These bytes, then `rest`, which has strings.
fn prefixed(languages: &mut Languages, bytes: &[u8], rest: Language) -> Language {
    bytes.iter().rev().fold(rest, |rest, &byte| {
        let first = languages.byte_set(ByteSet::single(byte));
        // As `concat` makes it, which would look for repeats.
        match rest {
            Language::EPSILON => first,
            _ => languages.intern(Expression::Concat(first, rest)),
        }
    })
}

/// The strings, which are sorted and share their first `depth` bytes, as a trie.
fn trie(languages: &mut Languages, strings: &[&[u8]], depth: usize) -> Language {
    match strings {
        [] => return Language::EMPTY,
        [one] => return languages.literal(&one[depth..]),
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
                let rest = trie(languages, group, end);
                prefixed(languages, &group[0][depth..end], rest)
            }
        });
    }
    languages.union(parts)
}

/// Whether a sorted list contains both a language and its complement.
fn has_opposites(languages: &Languages, sorted: &[Language]) -> bool {
    sorted.iter().any(|&x| match languages.arena.expr(x) {
        Expression::Complement(inner) => sorted.binary_search(inner).is_ok(),
        _ => false,
    })
}

/// Drops `x & y` beside `x` from a sorted union, where variables occur: their derivatives would
/// grow without end. Returns the number of comparisons.
fn absorb(languages: &Languages, flat: &mut Vec<Language>) -> usize {
    let factors = |x: Language| match languages.arena.expr(x) {
        Expression::Intersect(xs) if languages.arena.properties(x).has_variable => Some(&**xs),
        _ => None,
    };
    let mut uses: FxHashMap<Language, usize> = FxHashMap::default();
    for &factor in flat.iter().filter_map(|&x| factors(x)).flatten() {
        *uses.entry(factor).or_default() += 1;
    }
    if uses.is_empty() {
        return 0;
    }
    // By the factor that the fewest have: most have some in common.
    let mut by_factor: FxHashMap<Language, Vec<&[Language]>> = FxHashMap::default();
    for xs in flat.iter().filter_map(|&x| factors(x)) {
        if let Some(&rarest) = xs.iter().min_by_key(|&factor| uses[factor]) {
            by_factor.entry(rarest).or_default().push(xs);
        }
    }
    let all = flat.clone();
    let mut compared = 0;
    flat.retain(|&x| {
        let Some(xs) = factors(x) else { return true };
        let is_wider = |ys: &&[Language]| {
            compared += 1;
            ys.len() < xs.len() && ys.iter().all(|y| xs.binary_search(y).is_ok())
        };
        // Factors are no intersections.
        let has_factor = xs.iter().any(|factor| all.binary_search(factor).is_ok());
        !(has_factor
            || xs.iter().filter_map(|factor| by_factor.get(factor)).flatten().any(is_wider))
    });
    compared
}

/// Whether every string of `x` is in `wide`, as far as notes and structure say so.
fn is_known_subset(languages: &Languages, x: Language, wide: Language, depth: u32) -> bool {
    /// Nested unions and intersections that are looked into.
    const MAX_SUBSET_DEPTH: u32 = 3;
    if x == wide || languages.supersets.get(&x) == Some(&wide) {
        return true;
    }
    match (languages.arena.expr(x), languages.arena.expr(wide)) {
        (Expression::Repeat(a, ..), Expression::Repeat(b, ..)) if a == b => true,
        (Expression::Computed(running), _)
            if running.automaton.is_at_character_boundary(&running.state) =>
        {
            languages.texts_by_automaton.get(running.automaton.name()) == Some(&wide)
        }
        (Expression::Intersect(xs), _) if depth < MAX_SUBSET_DEPTH => {
            xs.iter().any(|&part| is_known_subset(languages, part, wide, depth + 1))
        }
        (Expression::Union(xs), _) if depth < MAX_SUBSET_DEPTH => {
            xs.iter().all(|&part| is_known_subset(languages, part, wide, depth + 1))
        }
        _ => false,
    }
}

/// `x{a,b}{c,d}` as one repeat, if no count between its least and its greatest is left out: `k`
/// times `a` to `b` leaves no gap before `k + 1` times, from `k = c` on.
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
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
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
