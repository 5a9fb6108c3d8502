//! Where expressions live: each once, with what is known of it.
//!
//! Many arenas begin with the same expressions, such as those of JSON's strings and numbers. Once
//! these are [frozen](Arena::freeze), clones share them, and copy only a few bytes for each.

mod rows;

use std::hash::{BuildHasher as _, BuildHasherDefault};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::properties::Facts;
use super::{Expr, Language, Row};
use crate::regular::ByteSet;
use rows::Rows;

/// What steps look at: small, and copied with an arena.
#[derive(Clone, Copy, Debug)]
struct State {
    facts: Facts,
    /// Have the empty successors in its row been replaced by [`Language::EMPTY`]?
    clean: bool,
    /// How often it was stepped without a row.
    steps: u8,
    /// Where its row and its first bytes are, or [`NOWHERE`].
    row: u32,
    first: u32,
}

const NOWHERE: u32 = u32::MAX;

/// Rows that an arena keeps for itself, a kibibyte each.
pub(crate) const MOST_ROWS: usize = 1 << 14;

/// What most clones add.
const ROOM: usize = 500;

/// Values of which the first are shared by all that were cloned from one.
#[derive(Clone, Debug)]
struct Layered<T> {
    shared: Arc<Vec<T>>,
    own: Vec<T>,
}

impl<T> Default for Layered<T> {
    fn default() -> Self {
        Self { shared: Arc::default(), own: Vec::new() }
    }
}

impl<T> Layered<T> {
    fn len(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    fn push(&mut self, value: T) -> u32 {
        self.own.push(value);
        self.len() as u32 - 1
    }
}

impl<T: Clone> Layered<T> {
    fn freeze(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.shared = Arc::new(self.shared.iter().cloned().chain(own).collect());
    }
}

impl<T> Index<usize> for Layered<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        match index.checked_sub(self.shared.len()) {
            Some(own) => &self.own[own],
            None => &self.shared[index],
        }
    }
}

/// So many states are copied together.
const CHUNK: usize = 16;

/// The states of expressions. Of those that all clones share, an arena copies what it changes.
#[derive(Debug, Default)]
struct States {
    shared: Arc<Vec<State>>,
    /// By chunk of those shared: where its copy is, or [`NOWHERE`].
    moved: Vec<u32>,
    copies: Vec<State>,
    own: Vec<State>,
}

impl States {
    fn len(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    fn freeze(&mut self) {
        let all = (0..self.len()).map(|i| self[i]).collect();
        *self = Self { shared: Arc::new(all), ..Self::default() };
        self.moved = vec![NOWHERE; self.shared.len().div_ceil(CHUNK)];
    }

    /// All that differ from what is shared.
    fn changed(&mut self) -> impl Iterator<Item = &mut State> {
        self.copies.iter_mut().chain(&mut self.own)
    }

    fn bytes(&self) -> usize {
        (self.copies.len() + self.own.len()) * size_of::<State>() + size_of_val(&*self.moved)
    }
}

impl Clone for States {
    fn clone(&self) -> Self {
        // Clones grow soon.
        let mut own = Vec::with_capacity(self.own.len() + ROOM);
        own.extend_from_slice(&self.own);
        let (shared, moved) = (Arc::clone(&self.shared), self.moved.clone());
        Self { shared, moved, copies: self.copies.clone(), own }
    }
}

impl Index<usize> for States {
    type Output = State;

    #[inline]
    fn index(&self, index: usize) -> &State {
        match index.checked_sub(self.shared.len()) {
            Some(own) => &self.own[own],
            None => match self.moved[index / CHUNK] {
                NOWHERE => &self.shared[index],
                at => &self.copies[at as usize + index % CHUNK],
            },
        }
    }
}

impl IndexMut<usize> for States {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut State {
        match index.checked_sub(self.shared.len()) {
            Some(own) => &mut self.own[own],
            None => {
                let at = &mut self.moved[index / CHUNK];
                if *at == NOWHERE {
                    *at = self.copies.len() as u32;
                    let start = index / CHUNK * CHUNK;
                    let end = self.shared.len().min(start + CHUNK);
                    self.copies.extend_from_slice(&self.shared[start..end]);
                }
                &mut self.copies[*at as usize + index % CHUNK]
            }
        }
    }
}

/// Expressions by their hash, which is kept so that growing looks at none of them.
type Ids = HashTable<(u32, Language)>;

/// How much an arena held once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    states: usize,
    rows: usize,
    firsts: usize,
    relieved: usize,
}

/// Hash-consed expressions, by number.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    states: States,
    exprs: Layered<Expr>,
    rows: Rows,
    firsts: Layered<ByteSet>,
    /// Fingerprints, 0 where they are not known, of as many states as have been asked for.
    prints: Layered<u128>,
    /// How often rows were forgotten.
    relieved: usize,
    shared_ids: Arc<Ids>,
    ids: Ids,
}

impl Clone for Arena {
    fn clone(&self) -> Self {
        let mut ids = self.ids.clone();
        ids.reserve(ROOM, |&(hash, _)| Self::spread(hash));
        let mut exprs = self.exprs.clone();
        exprs.own.reserve(ROOM);
        Self {
            states: self.states.clone(),
            exprs,
            rows: self.rows.clone(),
            firsts: self.firsts.clone(),
            prints: self.prints.clone(),
            relieved: self.relieved,
            shared_ids: Arc::clone(&self.shared_ids),
            ids,
        }
    }
}

impl Arena {
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Lets clones made from now on share what is here.
    pub(crate) fn freeze(&mut self) {
        self.exprs.freeze();
        self.rows.freeze();
        self.firsts.freeze();
        self.prints.freeze();
        self.states.freeze();
        let mut ids = Ids::clone(&self.shared_ids);
        for own in self.ids.drain() {
            ids.insert_unique(Self::spread(own.0), own, |&(hash, _)| Self::spread(hash));
        }
        self.shared_ids = Arc::new(ids);
    }

    fn hash(expr: &Expr) -> u32 {
        let hash = BuildHasherDefault::<FxHasher>::default().hash_one(expr);
        (hash ^ hash >> 32) as u32
    }

    /// Of 32 bits 64, of which both ends count.
    fn spread(hash: u32) -> u64 {
        u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// The number of an expression, which is given one with the facts that `describe` tells if it
    /// is new.
    pub(crate) fn intern(
        &mut self,
        expr: Expr,
        describe: impl FnOnce(&Self, &Expr) -> Facts,
    ) -> Language {
        let hash = Self::hash(&expr);
        let same = |&(other, id): &(u32, Language)| other == hash && self.exprs[id.index()] == expr;
        let spread = Self::spread(hash);
        let known = self.ids.find(spread, same).or_else(|| self.shared_ids.find(spread, same));
        if let Some(&(_, id)) = known {
            return id;
        }
        let facts = describe(self, &expr);
        let id = Language(self.exprs.push(expr));
        self.states.own.push(State { facts, clean: false, steps: 0, row: NOWHERE, first: NOWHERE });
        self.ids.insert_unique(spread, (hash, id), |&(hash, _)| Self::spread(hash));
        id
    }

    #[inline]
    pub(crate) fn expr(&self, x: Language) -> &Expr {
        &self.exprs[x.index()]
    }

    #[inline]
    pub(crate) fn facts(&self, x: Language) -> &Facts {
        &self.states[x.index()].facts
    }

    pub(crate) fn set_live(&mut self, x: Language, live: bool) {
        self.states[x.index()].facts.live = Some(live);
    }

    /// Successors by byte, perhaps with some that have no string and are not [`Language::EMPTY`].
    #[inline]
    pub(crate) fn row(&self, x: Language) -> Option<&Row> {
        let at = self.states[x.index()].row;
        (at != NOWHERE).then(|| &self.rows.get(at).0)
    }

    /// The row if every successor without strings in it is [`Language::EMPTY`].
    #[inline]
    pub(crate) fn clean_row(&self, x: Language) -> Option<&Row> {
        let state = &self.states[x.index()];
        state.clean.then(|| &self.rows.get(state.row).0)
    }

    /// The bytes whose entries in a row may differ from the entries before; none if there is no row.
    pub(crate) fn border(&self, x: Language) -> ByteSet {
        match self.states[x.index()].row {
            NOWHERE => ByteSet::EMPTY,
            at => self.rows.get(at).1,
        }
    }

    /// `border` holds every byte whose entry differs from the one before.
    pub(crate) fn set_row(&mut self, x: Language, row: Row, border: ByteSet, clean: bool) {
        let state = &mut self.states[x.index()];
        state.clean = clean;
        match self.rows.get_mut(state.row) {
            Some(place) => *place = (row, border),
            None => state.row = self.rows.push((row, border)),
        }
    }

    /// Forgets the rows that this arena does not share, if there are more of them than a search
    /// needs: they are computed again where they are asked for again.
    pub(crate) fn relieve(&mut self) {
        if self.rows.owned() <= MOST_ROWS {
            return;
        }
        self.forget_rows(self.rows.shared());
        self.relieved += 1;
    }

    /// Forgets the rows from one on.
    fn forget_rows(&mut self, from: usize) {
        for state in self.states.changed() {
            if state.row != NOWHERE && state.row as usize >= from {
                (state.row, state.clean, state.steps) = (NOWHERE, false, 0);
            }
        }
        self.rows.truncate(from);
    }

    pub(crate) fn mark(&self) -> Mark {
        let (states, rows, firsts) = (self.len(), self.rows.len(), self.firsts.len());
        Mark { states, rows, firsts, relieved: self.relieved }
    }

    /// Forgets what was made since a mark, to which nothing may refer any more; says how many states
    /// are left.
    pub(crate) fn release(&mut self, mark: Mark) -> usize {
        if self.len() == mark.states {
            return mark.states;
        }
        // Rows that were made after others were forgotten stand where older ones did.
        let rows = if self.relieved == mark.relieved { mark.rows } else { self.rows.shared() };
        self.exprs.own.truncate(mark.states - self.exprs.shared.len());
        self.states.own.truncate(mark.states - self.states.shared.len());
        self.prints.own.truncate(mark.states - self.prints.shared.len());
        self.forget_rows(rows);
        for state in self.states.changed() {
            if state.first != NOWHERE && state.first as usize >= mark.firsts {
                state.first = NOWHERE;
            }
        }
        self.firsts.own.truncate(mark.firsts - self.firsts.shared.len());
        self.ids.retain(|(_, id)| id.index() < mark.states);
        mark.states
    }

    /// Says that a row holds no successor without strings but [`Language::EMPTY`].
    pub(crate) fn mark_clean(&mut self, x: Language) {
        self.states[x.index()].clean = true;
    }

    /// The bytes with a successor, once they are known.
    #[inline]
    pub(crate) fn first(&self, x: Language) -> Option<ByteSet> {
        let at = self.states[x.index()].first;
        (at != NOWHERE).then(|| self.firsts[at as usize])
    }

    pub(crate) fn set_first(&mut self, x: Language, first: ByteSet) {
        if self.states[x.index()].first == NOWHERE {
            self.states[x.index()].first = self.firsts.push(first);
        }
    }

    /// The fingerprint, once it is known.
    #[inline]
    pub(crate) fn print(&self, x: Language) -> Option<u128> {
        (x.index() < self.prints.len()).then(|| self.prints[x.index()]).filter(|&print| print != 0)
    }

    /// Does nothing for a state that is shared and was not known to have one.
    pub(crate) fn set_print(&mut self, x: Language, print: u128) {
        let Some(own) = x.index().checked_sub(self.prints.shared.len()) else { return };
        if self.prints.own.len() <= own {
            self.prints.own.resize(own + 1, 0);
        }
        self.prints.own[own] = print;
    }

    /// Counts a step without a row, and says how many there were before.
    pub(crate) fn count_step(&mut self, x: Language) -> u8 {
        let steps = &mut self.states[x.index()].steps;
        *steps = steps.saturating_add(1);
        *steps - 1
    }

    /// About how many bytes it takes, what is shared not counted.
    pub(crate) fn bytes(&self) -> usize {
        self.states.bytes()
            + 2 * self.ids.len() * size_of::<(u32, Language)>()
            + self.exprs.own.len() * (size_of::<Expr>() + 32)
            + self.rows.bytes()
            + self.firsts.own.len() * size_of::<ByteSet>()
            + self.prints.own.len() * size_of::<u128>()
    }
}
