//! What every string of a language has, and what strings of it are made of.
//!
//! Where two languages meet, the one often asks for something that the other cannot give any more:
//! a pattern that wants a `T` yet, in what is left of a date after its `T`. A search finds that
//! nothing is left by going through all that the two can do together; here it is seen from outside.

use std::collections::VecDeque;

use super::*;

/// Sets of bytes that are remembered of what a string needs.
const MOST: usize = 8;

/// Parts of parts beyond which nothing is known.
const DEEPEST: u32 = 60;

/// By language: the bytes that its strings are made of, or more; and sets of which each string has a
/// byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    bytes: FxHashMap<Language, ByteSet>,
    needed: FxHashMap<Language, Needed>,
}

type Needed = SmallVec<[ByteSet; 2]>;

impl Needs {
    /// Forgets other languages.
    pub(crate) fn retain(&mut self, kept: impl Fn(Language) -> bool) {
        self.bytes.retain(|x, _| kept(*x));
        self.needed.retain(|x, _| kept(*x));
    }
}

impl Languages {
    /// Does one part of an intersection that it begins with need a byte that another has in no
    /// string? No means perhaps.
    pub(crate) fn is_evidently_empty(&mut self, x: Language) -> bool {
        let first = match *self.arena.expr(x) {
            Expr::Concat(first, _) => first,
            _ => x,
        };
        let Expr::Intersect(parts) = self.arena.expr(first) else { return false };
        let parts: SmallVec<[Language; 4]> = SmallVec::from_slice(parts);
        let bytes = parts.iter().map(|&part| self.bytes_of(part, 0));
        let bytes = bytes.fold(ByteSet::ALL, |all, bytes| all.intersection(&bytes));
        let mut needs = parts.iter().flat_map(|&part| self.needed_by(part, 0));
        needs.any(|need| need.intersection(&bytes).is_empty())
    }

    /// The bytes that its strings are made of, or more.
    fn bytes_of(&mut self, x: Language, depth: u32) -> ByteSet {
        if let Some(&known) = self.needs.bytes.get(&x) {
            return known;
        }
        if depth == DEEPEST {
            return ByteSet::ALL;
        }
        let depth = depth + 1;
        let bytes = match self.arena.expr(x).clone() {
            Expr::Set(set) => set,
            Expr::Concat(a, b) => self.bytes_of(a, depth).union(&self.bytes_of(b, depth)),
            Expr::Union(xs) => {
                xs.iter().fold(ByteSet::EMPTY, |all, &part| all.union(&self.bytes_of(part, depth)))
            }
            Expr::Intersect(xs) => xs
                .iter()
                .fold(ByteSet::ALL, |all, &part| all.intersection(&self.bytes_of(part, depth))),
            Expr::Repeat(part, ..) => self.bytes_of(part, depth),
            Expr::Table(table, state) => self.tables[table as usize].bytes(state),
            Expr::Complement(_) | Expr::Variable(_) | Expr::Automaton(_) => ByteSet::ALL,
        };
        self.needs.bytes.insert(x, bytes);
        bytes
    }

    /// Sets of which each of its strings has a byte; not all of them.
    fn needed_by(&mut self, x: Language, depth: u32) -> Needed {
        if self.is_nullable(x) || depth == DEEPEST {
            return Needed::new();
        }
        if let Some(known) = self.needs.needed.get(&x) {
            return known.clone();
        }
        let depth = depth + 1;
        let mut needed = match self.arena.expr(x).clone() {
            Expr::Set(set) => Needed::from_slice(&[set]),
            Expr::Concat(a, b) => {
                let first = self.needed_by(a, depth);
                first.into_iter().chain(self.needed_by(b, depth)).collect()
            }
            Expr::Intersect(xs) => {
                xs.iter().flat_map(|&part| self.needed_by(part, depth)).collect()
            }
            Expr::Union(xs) => {
                let mut all: Option<Needed> = None;
                for &part in &xs {
                    let needed = self.needed_by(part, depth);
                    all = Some(match all {
                        None => needed,
                        Some(all) => all.iter().filter_map(|a| either(a, &needed)).collect(),
                    });
                }
                all.unwrap_or_default()
            }
            Expr::Repeat(part, ..) => self.needed_by(part, depth),
            Expr::Table(table, state) => {
                let table = Arc::clone(&self.tables[table as usize]);
                table.needed(state).collect()
            }
            Expr::Complement(_) | Expr::Variable(_) | Expr::Automaton(_) => Needed::new(),
        };
        // The narrowest say most.
        needed.sort_unstable_by_key(ByteSet::len);
        let mut kept = Needed::new();
        for need in needed {
            if kept.len() < MOST && !kept.contains(&need) {
                kept.push(need);
            }
        }
        self.needs.needed.insert(x, kept.clone());
        kept
    }
}

/// What strings need that need one set, or any of these: the least of the unions.
fn either(need: &ByteSet, others: &[ByteSet]) -> Option<ByteSet> {
    others.iter().map(|other| need.union(other)).min_by_key(ByteSet::len)
}

/// An automaton's successors, by state and class of bytes; numbers beyond all states are none.
pub(crate) struct Ways<'a> {
    pub(crate) next: &'a [u32],
    pub(crate) width: usize,
}

impl Ways<'_> {
    fn states(&self) -> usize {
        self.next.len() / self.width
    }

    /// By state: those that lead to it, each with the class.
    fn before(&self) -> Vec<SmallVec<[(u32, u8); 4]>> {
        let mut before = vec![SmallVec::new(); self.states()];
        for (state, row) in self.next.chunks_exact(self.width).enumerate() {
            for (class, &to) in row.iter().enumerate() {
                let list: Option<&mut SmallVec<_>> = before.get_mut(to as usize);
                list.into_iter().for_each(|list| list.push((state as u32, class as u8)));
            }
        }
        before
    }

    /// By state: the classes on any way from there. The end can be reached from all states.
    pub(crate) fn any(&self) -> Box<[ByteSet]> {
        let before = self.before();
        let mut classes = vec![ByteSet::EMPTY; self.states()];
        let mut open: VecDeque<usize> = (0..self.states()).collect();
        while let Some(state) = open.pop_front() {
            for &(from, class) in &before[state] {
                let more = classes[from as usize].union(&classes[state]);
                let more = more.union(&ByteSet::single(class));
                if more != classes[from as usize] {
                    classes[from as usize] = more;
                    open.push_back(from as usize);
                }
            }
        }
        classes.into()
    }

    /// By state: the classes on every way from there to the end.
    pub(crate) fn every(&self, accepts: &[bool]) -> Box<[ByteSet]> {
        let before = self.before();
        let mut needed = vec![ByteSet::EMPTY; self.states()];
        for without in 0..self.width as u8 {
            let mut ends = accepts.to_vec();
            let mut open: Vec<usize> = (0..ends.len()).filter(|&state| ends[state]).collect();
            while let Some(state) = open.pop() {
                for &(from, class) in &before[state] {
                    if class != without && !std::mem::replace(&mut ends[from as usize], true) {
                        open.push(from as usize);
                    }
                }
            }
            let needing = needed.iter_mut().zip(&ends).filter(|&(_, &ends)| !ends);
            needing.for_each(|(needed, _)| needed.insert(without));
        }
        needed.into()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_has_a_string_is_called_empty() {
        let mut l = Languages::new();
        let letters: Vec<Language> = (b'a'..=b'd').map(|b| l.byte_range(b, b)).collect();
        let any = l.byte_range(b'a', b'd');
        let text = l.repeat(any, 0, None);
        let mut parts = letters.clone();
        for &letter in &letters {
            parts.push(l.concat([text, letter, text]));
            let few = l.repeat(letter, 0, Some(2));
            parts.push(l.repeat(letter, 1, None));
            parts.push(l.concat([few, any]));
        }
        for i in 0..parts.len() {
            let union = l.union([parts[i], parts[(i * 7 + 3) % parts.len()]]);
            parts.push(union);
            let finished = l.difference(union, letters[i % 4]);
            let finished = l.compact(finished, None).unwrap();
            assert!(
                finished == Language::EMPTY || matches!(l.arena.expr(finished), Expr::Table(..))
            );
            parts.push(finished);
        }
        let (mut empty, mut said) = (0, 0);
        for &a in &parts {
            for &b in &parts {
                let both = l.intersect([a, b]);
                let evident = l.is_evidently_empty(both);
                let live = l.is_live(both).unwrap();
                assert!(!(evident && live), "{:?} {:?}", l.arena.expr(a), l.arena.expr(b));
                empty += usize::from(!live);
                said += usize::from(evident);
            }
        }
        assert!(said * 2 > empty, "{said} of {empty}");
    }

    #[test]
    fn what_is_left_of_a_time_has_no_date() {
        let mut l = Languages::new();
        let digit = l.byte_range(b'0', b'9');
        let (dash, tee, colon) = (l.literal(b"-"), l.literal(b"T"), l.literal(b":"));
        let time = l.concat([digit, digit, colon, digit, digit]);
        let date = l.concat([digit, dash, digit, tee]);
        let printable = l.byte_range(b' ', b'~');
        let any = l.repeat(printable, 0, None);
        let whole = l.concat([any, date, time, any]);
        let left = l.intersect([time, whole]);
        assert!(l.is_evidently_empty(left));
        let whole = l.concat([date, time]);
        let wanted = l.concat([any, date, any]);
        let both = l.intersect([whole, wanted]);
        assert!(!l.is_evidently_empty(both) && l.is_live(both).unwrap());
    }
}
