//! Transition tables under construction: minimisation and products.
//!
//! States that no string tells apart are merged by partition refinement (Moore, "Gedanken-experiments
//! on sequential machines", 1956).

use std::collections::VecDeque;
use std::hash::Hash;
use std::hash::Hasher as _;
use std::sync::OnceLock;

use hashbrown::HashTable;
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::dfa::{Dfa, NO_STATE};
use super::keyed_hash::keyed_hash;
use crate::deadline;
use crate::error::Result;
use crate::regular::ByteSet;

/// The result of making an automaton.
pub(crate) enum Determinized {
    /// A limit was exceeded.
    TooLarge,
    /// No string is accepted.
    Empty,
    /// The minimal table, and whether each state accepts.
    Dfa(TransitionTable, Vec<bool>),
}

/// Successors by state and class of bytes, [`NO_STATE`] where there is none.
pub(crate) struct TransitionTable {
    pub(super) classes: Box<[u8; 256]>,
    pub(super) width: usize,
    pub(super) next: Vec<u32>,
}

impl TransitionTable {
    /// The table of states that are given by their changes, with one class for the bytes between
    /// any two of `run_starts`, the first of which is 0.
    pub(super) fn new(changes: &[SmallVec<[(u8, u32); 8]>], run_starts: ByteSet) -> Self {
        let mut classes = [0u8; 256];
        let mut width = 0;
        for byte in 0..=u8::MAX {
            width += usize::from(run_starts.contains(byte));
            classes[usize::from(byte)] = (width - 1) as u8;
        }
        let mut next = Vec::with_capacity(changes.len() * width);
        for change in changes {
            let mut from = change.iter().peekable();
            let mut last = NO_STATE;
            for byte in run_starts.iter() {
                if let Some(&(_, to)) = from.next_if(|&&(at, _)| at == byte) {
                    last = to;
                }
                next.push(last);
            }
        }
        Self { classes: Box::new(classes), width, next }
    }

    pub(crate) fn len(&self) -> usize {
        self.next.len() / self.width
    }

    pub(super) fn row(&self, state: usize) -> &[u32] {
        &self.next[state * self.width..][..self.width]
    }

    /// Predecessors by state.
    fn before(&self) -> Vec<SmallVec<[u32; 4]>> {
        let mut before: Vec<SmallVec<[u32; 4]>> = vec![SmallVec::new(); self.len()];
        for state in 0..self.len() {
            let mut last = NO_STATE;
            for &next in self.row(state) {
                if next != last && next != NO_STATE {
                    before[next as usize].push(state as u32);
                }
                last = next;
            }
        }
        before
    }

    /// The minimal automaton: dead states are dropped, equivalent states merged, then equivalent
    /// classes. `looks` bounds the number of times that the refinement looks at a state.
    pub(super) fn minimal(self, accepts: &[bool], looks: usize) -> Determinized {
        // Of the classes many are alike, and each would be compared in each round.
        let mut this = self.narrowed();
        // States that are not as far from the end are told apart; what counts has few others.
        let mut block = this.rest(accepts);
        if block[0] == NO_STATE {
            return Determinized::Empty;
        }
        let mut left = looks;
        for next in &mut this.next {
            if *next != NO_STATE && block[*next as usize] == NO_STATE {
                *next = NO_STATE;
            }
        }
        let live: Vec<usize> = (0..block.len()).filter(|&state| block[state] != NO_STATE).collect();
        let mut known: HashTable<(u64, usize)> = HashTable::with_capacity(live.len());
        let (mut next, mut count) = (vec![NO_STATE; block.len()], 0);
        loop {
            let sign = |state: usize| {
                let to = |&to: &u32| if to == NO_STATE { NO_STATE } else { block[to as usize] };
                std::iter::once(block[state]).chain(this.row(state).iter().map(to))
            };
            known.clear();
            for &state in &live {
                let mut hasher = FxHasher::default();
                sign(state).for_each(|part| hasher.write_u32(part));
                let hash = hasher.finish();
                let id = known.len() as u32;
                let same = |&(other, at): &(u64, usize)| other == hash && sign(at).eq(sign(state));
                next[state] = match known.find(hash, same) {
                    Some(&(_, at)) => next[at],
                    None => {
                        known.insert_unique(hash, (hash, state), |&(hash, _)| hash);
                        id
                    }
                };
            }
            let before = std::mem::replace(&mut count, known.len());
            std::mem::swap(&mut block, &mut next);
            if count == before {
                break;
            }
            match left.checked_sub(live.len()) {
                Some(fewer) => left = fewer,
                None => return Determinized::TooLarge,
            }
        }
        // The first state is the first to be seen, so its block is the first, and each block's
        // first state comes before those of later blocks.
        let (mut merged, mut ends) = (Vec::with_capacity(count * this.width), Vec::new());
        for state in live {
            if block[state] as usize == ends.len() {
                let to = |&to: &u32| if to == NO_STATE { NO_STATE } else { block[to as usize] };
                merged.extend(this.row(state).iter().map(to));
                ends.push(accepts[state]);
            }
        }
        this.next = merged;
        Determinized::Dfa(this.narrowed(), ends)
    }

    /// The intersection of two automata with their accepting states. `most` bounds its states
    /// before minimisation, `looks` the minimisation.
    pub(crate) fn product(
        (a, ends_of_a): &(Self, Vec<bool>),
        (b, ends_of_b): &(Self, Vec<bool>),
        most: usize,
        looks: usize,
    ) -> Result<Determinized> {
        let mut pairs: Vec<(u8, u8)> = Vec::new();
        let mut classes = [0u8; 256];
        for (byte, class) in classes.iter_mut().enumerate() {
            let pair = (a.classes[byte], b.classes[byte]);
            let known = pairs.iter().position(|&known| known == pair);
            // Not more than bytes.
            *class = known.unwrap_or(pairs.len()) as u8;
            if known.is_none() {
                pairs.push(pair);
            }
        }
        let mut states = vec![(0u32, 0u32)];
        let mut ids: FxHashMap<(u32, u32), u32> = FxHashMap::from_iter([((0, 0), 0)]);
        let (mut next, mut accepts) = (Vec::new(), Vec::new());
        while let Some(&(x, y)) = states.get(accepts.len()) {
            deadline::check()?;
            accepts.push(ends_of_a[x as usize] && ends_of_b[y as usize]);
            let (from_x, from_y) = (a.row(x as usize), b.row(y as usize));
            for &(in_a, in_b) in &pairs {
                let to = (from_x[usize::from(in_a)], from_y[usize::from(in_b)]);
                next.push(match to {
                    (NO_STATE, _) | (_, NO_STATE) => NO_STATE,
                    to => *ids.entry(to).or_insert_with(|| {
                        states.push(to);
                        states.len() as u32 - 1
                    }),
                });
            }
            if states.len() > most {
                return Ok(Determinized::TooLarge);
            }
        }
        let classes = Box::new(classes);
        Ok(Self { classes, width: pairs.len(), next }.minimal(&accepts, looks))
    }

    /// The same table with one class for all bytes that no state distinguishes, numbered by their
    /// first bytes.
    fn narrowed(self) -> Self {
        let mut ids: FxHashMap<Vec<u32>, u8> = FxHashMap::default();
        let mut first: Vec<usize> = Vec::new();
        let wide: Vec<u8> = (0..self.width)
            .map(|class| {
                let column = self.next.iter().skip(class).step_by(self.width).copied().collect();
                *ids.entry(column).or_insert_with(|| {
                    first.push(class);
                    first.len() as u8 - 1
                })
            })
            .collect();
        let rows = self.next.chunks_exact(self.width);
        let next = rows.flat_map(|row| first.iter().map(|&class| row[class])).collect();
        let classes = self.classes.map(|class| wide[usize::from(class)]);
        Self { classes: Box::new(classes), width: first.len(), next }
    }

    /// By state: the length of the shortest accepted string, or [`NO_STATE`].
    fn rest(&self, accepts: &[bool]) -> Vec<u32> {
        let before = self.before();
        let mut rest: Vec<u32> = accepts.iter().map(|&a| if a { 0 } else { NO_STATE }).collect();
        let accepting = (0..rest.len()).filter(|&state| rest[state] == 0);
        let mut open: VecDeque<usize> = accepting.collect();
        while let Some(state) = open.pop_front() {
            for &from in &before[state] {
                if rest[from as usize] == NO_STATE {
                    rest[from as usize] = rest[state] + 1;
                    open.push_back(from as usize);
                }
            }
        }
        rest
    }

    /// The finished automaton; `accepts_every_prefix` is that of [`Dfa`].
    pub(crate) fn packed(self, accepts: Vec<bool>, accepts_every_prefix: Vec<bool>) -> Dfa {
        let mut members = vec![ByteSet::EMPTY; self.width];
        (0..=u8::MAX).for_each(|b| members[usize::from(self.classes[usize::from(b)])].insert(b));
        let first = (0..self.len()).map(|state| {
            let leads = self.row(state).iter().zip(&members).filter(|&(&next, _)| next != NO_STATE);
            leads.fold(ByteSet::EMPTY, |first, (_, class)| first.union(class))
        });
        let first = first.collect();
        let identity = keyed_hash(|hasher| (&self.classes, &self.next, &accepts).hash(hasher));
        Dfa {
            shortest_lengths: self.rest(&accepts).into(),
            classes: *self.classes,
            width: self.width,
            first_bytes: first,
            next: self.next.into(),
            accepts: accepts.into(),
            accepts_every_prefix: accepts_every_prefix.into(),
            classes_on_some_path: OnceLock::new(),
            classes_on_every_path: OnceLock::new(),
            identity,
        }
    }
}
