//! Hash-consed expressions by id, with their properties and rows of successors.
//!
//! Many arenas begin with the same expressions, such as those of JSON's strings and numbers. Once
//! these are [frozen](Arena::freeze), clones share them: a clone costs a few bytes for each chunk of
//! them, and copies a chunk when it changes one of its states.

mod layered;
mod rows;
mod states;

use std::sync::Arc;

use hashbrown::HashTable;

use self::layered::Layered;
use self::rows::Rows;
use self::states::{CLONE_HEADROOM, ExpressionState, ExpressionStates, NOT_STORED};
use super::expression::{Expression, Language, Row};
use super::properties::Properties;
use crate::regular::ByteSet;
use crate::regular::hash_consing::{short_hash, spread};

/// Unshared rows that an arena keeps, a kibibyte each; beyond it all of them are dropped and
/// recomputed on demand.
pub(crate) const MAX_ROWS: usize = 1 << 14;

/// Ids by the hash of the expression. The hash is stored, so that the table grows without looking
/// at expressions.
type Ids = HashTable<(u32, Language)>;

/// Sizes of an arena, to which [`Arena::release`] goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint {
    states: usize,
    rows: usize,
    firsts: usize,
    /// Number of times that rows were dropped.
    evictions: usize,
}

/// Hash-consed expressions by id.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    states: ExpressionStates,
    exprs: Layered<Expression>,
    rows: Rows,
    firsts: Layered<ByteSet>,
    /// Fingerprints by id, 0 where unknown; as long as the greatest id that was asked for.
    prints: Layered<u128>,
    /// Number of times that rows were dropped.
    evictions: usize,
    shared_ids: Arc<Ids>,
    ids: Ids,
}

impl Clone for Arena {
    fn clone(&self) -> Self {
        let mut ids = self.ids.clone();
        ids.reserve(CLONE_HEADROOM, |&(hash, _)| spread(hash));
        let mut exprs = self.exprs.clone();
        exprs.own.reserve(CLONE_HEADROOM);
        Self {
            states: self.states.clone(),
            exprs,
            rows: self.rows.clone(),
            firsts: self.firsts.clone(),
            prints: self.prints.clone(),
            evictions: self.evictions,
            shared_ids: Arc::clone(&self.shared_ids),
            ids,
        }
    }
}

impl Arena {
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Makes all present expressions shared by the clones made from now on.
    pub(crate) fn freeze(&mut self) {
        self.exprs.freeze();
        self.rows.freeze();
        self.firsts.freeze();
        self.prints.freeze();
        self.states.freeze();
        let mut ids = Ids::clone(&self.shared_ids);
        for own in self.ids.drain() {
            ids.insert_unique(spread(own.0), own, |&(hash, _)| spread(hash));
        }
        self.shared_ids = Arc::new(ids);
    }

    /// The id of an expression. A new one gets the next id, and the properties that `describe`
    /// computes.
    pub(crate) fn intern(
        &mut self,
        expr: Expression,
        describe: impl FnOnce(&Self, &Expression) -> Properties,
    ) -> Language {
        let hash = short_hash(&expr);
        let same = |&(other, id): &(u32, Language)| other == hash && self.exprs[id.index()] == expr;
        let place = spread(hash);
        let known = self.ids.find(place, same).or_else(|| self.shared_ids.find(place, same));
        if let Some(&(_, id)) = known {
            return id;
        }
        let properties = describe(self, &expr);
        let id = Language(self.exprs.push(expr));
        self.states.own.push(ExpressionState {
            properties,
            clean: false,
            steps: 0,
            row: NOT_STORED,
            first: NOT_STORED,
        });
        self.ids.insert_unique(place, (hash, id), |&(hash, _)| spread(hash));
        id
    }

    #[inline]
    pub(crate) fn expr(&self, x: Language) -> &Expression {
        &self.exprs[x.index()]
    }

    #[inline]
    pub(crate) fn properties(&self, x: Language) -> &Properties {
        &self.states[x.index()].properties
    }

    pub(crate) fn set_live(&mut self, x: Language, live: bool) {
        self.states[x.index()].properties.live = Some(live);
    }

    /// The row of derivatives if it is computed. Its entries may be languages without strings other
    /// than [`Language::EMPTY`].
    #[inline]
    pub(crate) fn row(&self, x: Language) -> Option<&Row> {
        let at = self.states[x.index()].row;
        (at != NOT_STORED).then(|| &self.rows.get(at).0)
    }

    /// The row if each of its entries without strings is [`Language::EMPTY`].
    #[inline]
    pub(crate) fn clean_row(&self, x: Language) -> Option<&Row> {
        let state = &self.states[x.index()];
        state.clean.then(|| &self.rows.get(state.row).0)
    }

    /// The bytes at which a run of equal entries of the row begins, 0 aside: a superset of the bytes whose
    /// entries differ from the entry before. Empty if there is no row.
    pub(crate) fn run_starts(&self, x: Language) -> ByteSet {
        match self.states[x.index()].row {
            NOT_STORED => ByteSet::EMPTY,
            at => self.rows.get(at).1,
        }
    }

    /// Stores a row. `run_starts` holds every byte whose entry differs from the one before.
    pub(crate) fn set_row(&mut self, x: Language, row: Row, run_starts: ByteSet, clean: bool) {
        let state = &mut self.states[x.index()];
        state.clean = clean;
        match self.rows.get_mut(state.row) {
            Some(place) => *place = (row, run_starts),
            None => state.row = self.rows.push((row, run_starts)),
        }
    }

    /// Drops all unshared rows if there are more than [`MAX_ROWS`].
    pub(crate) fn evict_rows(&mut self) {
        if self.rows.owned() <= MAX_ROWS {
            return;
        }
        self.forget_rows(self.rows.shared());
        self.evictions += 1;
    }

    /// Drops the rows from an index on.
    fn forget_rows(&mut self, from: usize) {
        for state in self.states.changed() {
            if state.row != NOT_STORED && state.row as usize >= from {
                (state.row, state.clean, state.steps) = (NOT_STORED, false, 0);
            }
        }
        self.rows.truncate(from);
    }

    pub(crate) fn mark(&self) -> Checkpoint {
        let (states, rows, firsts) = (self.len(), self.rows.len(), self.firsts.len());
        Checkpoint { states, rows, firsts, evictions: self.evictions }
    }

    /// Drops the expressions made since a checkpoint, to which nothing may refer any more. Returns
    /// how many expressions are left.
    pub(crate) fn release(&mut self, mark: Checkpoint) -> usize {
        if self.len() == mark.states {
            return mark.states;
        }
        // Rows that were made after others were forgotten stand where older ones did.
        let rows = if self.evictions == mark.evictions { mark.rows } else { self.rows.shared() };
        self.exprs.own.truncate(mark.states - self.exprs.shared.len());
        self.states.own.truncate(mark.states - self.states.shared.len());
        self.prints.own.truncate(mark.states - self.prints.shared.len());
        self.forget_rows(rows);
        for state in self.states.changed() {
            if state.first != NOT_STORED && state.first as usize >= mark.firsts {
                state.first = NOT_STORED;
            }
        }
        self.firsts.own.truncate(mark.firsts - self.firsts.shared.len());
        self.ids.retain(|(_, id)| id.index() < mark.states);
        mark.states
    }

    /// Records that each entry of the row without strings is [`Language::EMPTY`].
    pub(crate) fn mark_clean(&mut self, x: Language) {
        self.states[x.index()].clean = true;
    }

    /// The first bytes of the strings, if they are known.
    #[inline]
    pub(crate) fn first(&self, x: Language) -> Option<ByteSet> {
        let at = self.states[x.index()].first;
        (at != NOT_STORED).then(|| self.firsts[at as usize])
    }

    pub(crate) fn set_first(&mut self, x: Language, first: ByteSet) {
        if self.states[x.index()].first == NOT_STORED {
            self.states[x.index()].first = self.firsts.push(first);
        }
    }

    /// The fingerprint, if it is known.
    #[inline]
    pub(crate) fn fingerprint(&self, x: Language) -> Option<u128> {
        (x.index() < self.prints.len()).then(|| self.prints[x.index()]).filter(|&print| print != 0)
    }

    /// Stores a fingerprint. Ignored for a shared expression.
    pub(crate) fn set_fingerprint(&mut self, x: Language, print: u128) {
        let Some(own) = x.index().checked_sub(self.prints.shared.len()) else { return };
        if self.prints.own.len() <= own {
            self.prints.own.resize(own + 1, 0);
        }
        self.prints.own[own] = print;
    }

    /// Counts a step that used no row. Returns the number of such steps before.
    pub(crate) fn count_step(&mut self, x: Language) -> u8 {
        let steps = &mut self.states[x.index()].steps;
        *steps = steps.saturating_add(1);
        *steps - 1
    }

    /// Approximate memory in bytes, without what is shared.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.states.memory_bytes()
            + self.ids.capacity() * (size_of::<(u32, Language)>() + 1)
            + self.exprs.own.capacity() * size_of::<Expression>()
            + self.exprs.own.len() * 32
            + self.rows.memory_bytes()
            + self.firsts.own.capacity() * size_of::<ByteSet>()
            + self.prints.own.capacity() * size_of::<u128>()
    }
}
