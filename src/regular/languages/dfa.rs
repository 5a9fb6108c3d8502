//! Languages as finished automata.
//!
//! Derivatives are made as they are asked for, which is right for what is read once. What is read
//! again and again (a format, a pattern, the numbers between two bounds), and whose and/not makes
//! each step dear, is determinised whole, minimised, and from then on a table: its states are one
//! look-up apart, and the same automaton serves every arena.

use std::collections::{BTreeMap, VecDeque};
use std::hash::Hasher as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::product::Together;
use super::required_bytes::Ways;
use super::*;
use crate::deadline;

/// No successor.
const NONE: u32 = u32::MAX;

/// A minimal automaton without dead states; the first state is where it starts.
#[derive(Debug)]
pub(crate) struct Table {
    /// The class of each byte; bytes of one class are treated alike everywhere.
    classes: [u8; 256],
    width: usize,
    /// By state, then by class: the next state.
    next: Box<[u32]>,
    accepts: Box<[bool]>,
    first: Box<[ByteSet]>,
    /// By state: can every string of the unit that it was made with be continued to the end?
    total: Box<[bool]>,
    /// By state: the least bytes that it needs to accept.
    rest: Box<[u32]>,
    /// By state, once asked for: the classes on any way to the end, and on every one.
    any: OnceLock<Box<[ByteSet]>>,
    every: OnceLock<Box<[ByteSet]>>,
    pub(crate) identity: u128,
}

impl Table {
    pub(crate) fn step(&self, state: u32, byte: u8) -> Option<u32> {
        Some(self.next[state as usize * self.width + self.class(byte)]).filter(|&next| next != NONE)
    }

    /// The class of a byte.
    pub(crate) fn class(&self, byte: u8) -> usize {
        usize::from(self.classes[usize::from(byte)])
    }

    /// Where a state leads, by class.
    pub(crate) fn successors(&self, state: u32) -> impl Iterator<Item = Option<u32>> + '_ {
        let row = &self.next[state as usize * self.width..][..self.width];
        row.iter().map(|&next| (next != NONE).then_some(next))
    }

    pub(crate) fn accepts(&self, state: u32) -> bool {
        self.accepts[state as usize]
    }

    pub(crate) fn first(&self, state: u32) -> ByteSet {
        self.first[state as usize]
    }

    pub(crate) fn is_total(&self, state: u32) -> bool {
        self.total[state as usize]
    }

    /// The length of the shortest string that is accepted from a state.
    pub(crate) fn least_rest(&self, state: u32) -> u32 {
        self.rest[state as usize]
    }

    /// The bytes that strings accepted from a state are made of.
    pub(crate) fn bytes(&self, state: u32) -> ByteSet {
        let any = self.any.get_or_init(|| self.ways().any());
        let classes = any[state as usize];
        (0..=u8::MAX).filter(|&byte| classes.contains(self.classes[usize::from(byte)])).collect()
    }

    /// Sets of which each string that is accepted from a state has a byte.
    pub(crate) fn needed(&self, state: u32) -> impl Iterator<Item = ByteSet> + '_ {
        let every = self.every.get_or_init(|| match self.next.len() * self.width <= MOST_LOOKS {
            true => self.ways().every(&self.accepts),
            false => vec![ByteSet::EMPTY; self.len()].into(),
        });
        every[state as usize].iter().map(|class| {
            (0..=u8::MAX).filter(|&byte| self.classes[usize::from(byte)] == class).collect()
        })
    }

    fn ways(&self) -> Ways<'_> {
        Ways { next: &self.next, width: self.width }
    }

    /// The number of states.
    pub(crate) fn len(&self) -> usize {
        self.accepts.len()
    }

    /// The most bytes that a state needs to accept.
    pub(crate) fn longest_rest(&self) -> usize {
        self.rest.iter().copied().max().unwrap_or(0) as usize
    }
}

/// What arenas share, by fingerprint of the language.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// Finished automata.
    known: Mutex<FxHashMap<u128, Option<Arc<Table>>>>,
    /// How long the ways to the end are.
    spans: Mutex<FxHashMap<u128, Option<u32>>>,
    /// Patterns that hold together.
    together: Mutex<FxHashMap<u128, Option<Together>>>,
}

/// Finished automata with names, of this process.
static NAMED: Mutex<BTreeMap<Box<str>, Arc<Table>>> = Mutex::new(BTreeMap::new());

/// Spans are forgotten when there are more.
const MOST_SPANS: usize = 10_000;

impl Tables {
    /// What several patterns come to, if any arena has multiplied them.
    pub(crate) fn together(&self, fingerprint: u128) -> Option<Option<Together>> {
        let together = self.together.lock().unwrap_or_else(PoisonError::into_inner);
        together.get(&fingerprint).cloned()
    }

    pub(crate) fn note_together(&self, fingerprint: u128, found: Option<Together>) {
        let mut together = self.together.lock().unwrap_or_else(PoisonError::into_inner);
        together.insert(fingerprint, found);
    }

    /// The span of a language, if any arena has looked for it.
    pub(crate) fn span(&self, fingerprint: u128) -> Option<Option<u32>> {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.get(&fingerprint).copied()
    }

    pub(crate) fn note_span(&self, fingerprint: u128, span: Option<u32>) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if spans.len() >= MOST_SPANS {
            spans.clear();
        }
        spans.insert(fingerprint, span);
    }
}

/// States before an automaton is minimised; larger ones stay lazy.
const MOST_STATES: usize = 3_000;

/// States of the parts of a language that is too large as a whole.
const PART_STATES: usize = 200;

/// Parts of rows after which an automaton is given up, and one of a part.
const WORK: usize = 12_000;
const PART_WORK: usize = 4_000;

/// Parts of parts beyond which languages stay as they are.
const DEEPEST: usize = 20;

/// Steps from state to state that are worth finding out which of them every string takes.
const MOST_LOOKS: usize = 50_000;

/// Bounds up to this are part of an automaton; larger ones stay counters beside it.
const SMALL_BOUND: u32 = 20;

impl Languages {
    /// Shares finished automata with other arenas.
    pub(crate) fn share(&mut self, tables: &Arc<Tables>) {
        self.shared = Some(Arc::clone(tables));
    }

    /// The same language, as a finished automaton where and/not makes that worth it. `unit` is that
    /// of texts, whose large bounds on length stay apart.
    pub(crate) fn compact(&mut self, x: Language, unit: Option<Language>) -> Result<Language> {
        // A language that lacks a few texts only is cheap as it is.
        let total = |unit| self.is_total(x, unit, &mut FxHashMap::default());
        let plain = !self.arena.facts(x).logical || unit.is_some_and(total);
        if plain || self.has_endless(x) || self.is_finished(x) {
            return Ok(x);
        }
        if let Some(unit) = unit
            && let Expr::Intersect(parts) = self.arena.expr(x)
        {
            let (bounds, others): (Vec<_>, Vec<_>) =
                parts.iter().partition(|part| match *self.arena.expr(**part) {
                    Expr::Repeat(part, min, max) => {
                        part == unit && (max != UNBOUNDED && max > SMALL_BOUND || min > SMALL_BOUND)
                    }
                    _ => false,
                });
            // What counts words has a state for each of them, each as many as a word has.
            if others.iter().any(|&part| self.counts_units(part, SMALL_BOUND / 4)) {
                return Ok(self.together(x, unit)?.unwrap_or(x));
            }
            if !bounds.is_empty() {
                let text = self.repeat(unit, 0, None);
                let others = self.intersect(others.into_iter().chain([text]));
                let others = self.compact(others, Some(unit))?;
                return Ok(self.intersect(bounds.into_iter().chain([others])));
            }
        }
        let fingerprint = self.fingerprint(x) ^ u128::from(unit.is_some());
        // Consistent between any two operations.
        let known = self.shared.as_ref().and_then(|shared| {
            let known = shared.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(&fingerprint).cloned()
        });
        let table = match known {
            Some(table) => table,
            None => {
                let table = self.table_within(x, unit, MOST_STATES, WORK)?.map(Arc::new);
                if let Some(shared) = &self.shared {
                    let mut known = shared.known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.insert(fingerprint, table.clone());
                }
                table
            }
        };
        Ok(match table {
            Some(table) => {
                let finished = self.import(&table);
                if let Some(unit) = unit {
                    let text = self.repeat(unit, 0, None);
                    self.note_within(finished, text);
                }
                finished
            }
            None => match unit.map_or(Ok(None), |unit| self.together(x, unit))? {
                Some(together) => together,
                None => self.compact_parts(x, unit, 0)?,
            },
        })
    }

    /// The same language of finished automata, where it is too large to be one: large counters stay,
    /// and the patterns beside them are each stepped by a look-up.
    fn compact_parts(
        &mut self,
        x: Language,
        unit: Option<Language>,
        depth: usize,
    ) -> Result<Language> {
        let (parts, all) = match self.arena.expr(x) {
            _ if depth == DEEPEST => return Ok(x),
            Expr::Intersect(parts) => (parts.clone(), true),
            Expr::Union(parts) if self.arena.facts(x).logical => (parts.clone(), false),
            &Expr::Complement(inner) if x != Language::ALL => {
                let inner = self.compact_part(inner, unit, depth + 1)?;
                return Ok(self.complement(inner));
            }
            _ => return Ok(x),
        };
        let parts = parts.iter().map(|&part| self.compact_part(part, unit, depth + 1));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        Ok(if all { self.intersect(parts) } else { self.union(parts) })
    }

    fn compact_part(
        &mut self,
        x: Language,
        unit: Option<Language>,
        depth: usize,
    ) -> Result<Language> {
        let repeats = |unit| matches!(*self.arena.expr(x), Expr::Repeat(part, ..) if part == unit);
        let plain = matches!(self.arena.expr(x), Expr::Set(_) | Expr::Table(..));
        if plain || unit.is_some_and(repeats) {
            return Ok(x);
        }
        let x = self.compact_parts(x, unit, depth)?;
        Ok(match self.table_within(x, None, PART_STATES, PART_WORK)? {
            Some(table) => self.import(&Arc::new(table)),
            None => x,
        })
    }

    /// The finished automaton that any arena of this process has given a name.
    pub(crate) fn named(&mut self, name: &str) -> Option<Language> {
        let table = NAMED.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()?;
        Some(self.import(&table))
    }

    /// The same language as a finished automaton, with a name for all arenas, unless it is too
    /// large. Names are the caller's, and few.
    pub(crate) fn finish(&mut self, name: &str, x: Language, unit: Language) -> Result<Language> {
        let Some(table) = self.table_within(x, Some(unit), MOST_STATES, usize::MAX)?.map(Arc::new)
        else {
            return Ok(x);
        };
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        named.insert(name.into(), Arc::clone(&table));
        drop(named);
        Ok(self.import(&table))
    }

    /// Does an automaton occur in it whose states are without end?
    pub(crate) fn has_endless(&self, x: Language) -> bool {
        let is_endless = |&part: &Language| match self.arena.expr(part) {
            Expr::Automaton(running) => running.automaton.is_endless(),
            _ => false,
        };
        self.endless && self.parts(x, false, |_| false).iter().any(is_endless)
    }

    /// Is it made of finished automata, with nothing but bounds on lengths beside them?
    fn is_finished(&self, x: Language) -> bool {
        let simple = |&part: &Language| {
            !self.arena.facts(part).logical || matches!(self.arena.expr(part), Expr::Table(..))
        };
        let mut any = false;
        self.parts(x, false, |_| false).iter().all(|&part| match self.arena.expr(part) {
            Expr::Table(..) => {
                any = true;
                true
            }
            Expr::Intersect(parts) => parts.iter().all(simple),
            Expr::Complement(_) | Expr::Variable(_) | Expr::Automaton(_) => false,
            Expr::Set(_) | Expr::Concat(..) | Expr::Union(_) | Expr::Repeat(..) => true,
        }) && any
    }

    /// The same language as an automaton, if that has no more than `most` states before it is
    /// minimised, takes no more than `work` parts of rows, and has any string. `unit` is the unit
    /// that [`Table::is_total`] speaks of.
    fn table_within(
        &mut self,
        x: Language,
        unit: Option<Language>,
        most: usize,
        work: usize,
    ) -> Result<Option<Table>> {
        let Made::Rows(rows, accepts) = self.rows_within(x, most, work)? else { return Ok(None) };
        let total = match unit {
            Some(unit) => self.total_states(&rows, unit)?,
            None => vec![false; rows.len()],
        };
        Ok(Some(rows.packed(accepts, total)))
    }

    /// The same as rows of a minimal automaton.
    pub(crate) fn rows_within(&mut self, x: Language, most: usize, work: usize) -> Result<Made> {
        let work = self.work.saturating_add(work);
        let mut states = vec![x];
        let mut ids: FxHashMap<Language, u32> = FxHashMap::from_iter([(x, 0)]);
        // By state: the bytes at which its row changes, and where it leads from there on.
        let mut changes: Vec<SmallVec<[(u8, u32); 8]>> = Vec::new();
        let mut borders = ByteSet::single(0);
        while let Some(&state) = states.get(changes.len()) {
            deadline::check()?;
            self.fill_row(state)?;
            let border = self.arena.border(state).union(&ByteSet::single(0));
            borders = borders.union(&border);
            let row = self.arena.row(state);
            let mut change = SmallVec::new();
            for byte in border.iter() {
                let after = row.map_or(Language::EMPTY, |row| row[usize::from(byte)]);
                let id = match after {
                    Language::EMPTY => NONE,
                    _ => *ids.entry(after).or_insert_with(|| {
                        states.push(after);
                        states.len() as u32 - 1
                    }),
                };
                change.push((byte, id));
            }
            changes.push(change);
            if states.len() > most || self.work > work {
                return Ok(Made::TooLarge);
            }
        }
        let accepts: Vec<bool> = states.iter().map(|&state| self.is_nullable(state)).collect();
        Ok(Rows::new(&changes, borders).minimal(&accepts, usize::MAX))
    }

    /// From which states can every string of units be continued? A greatest fixed point over pairs
    /// of a state and a place within a unit.
    pub(crate) fn total_states(&mut self, rows: &Rows, unit: Language) -> Result<Vec<bool>> {
        let mut places = vec![unit];
        let mut steps: Vec<Vec<(u8, usize)>> = Vec::new();
        while let Some(&place) = places.get(steps.len()) {
            let mut step = Vec::new();
            for (byte, &next) in self.row(place)?.iter().enumerate() {
                let next = match next {
                    Language::EMPTY => continue,
                    Language::EPSILON => unit,
                    next => next,
                };
                let index = places.iter().position(|&known| known == next);
                let index = index.unwrap_or_else(|| {
                    places.push(next);
                    places.len() - 1
                });
                step.push((byte as u8, index));
            }
            steps.push(step);
        }
        let width = places.len();
        let mut total = vec![true; rows.len() * width];
        let mut changed = true;
        while changed {
            changed = false;
            for state in 0..rows.len() {
                for (place, step) in steps.iter().enumerate() {
                    if !total[state * width + place] {
                        continue;
                    }
                    let holds = step.iter().all(|&(byte, after)| {
                        let next = rows.row(state)[usize::from(rows.classes[usize::from(byte)])];
                        next != NONE && total[next as usize * width + after]
                    });
                    if !holds {
                        total[state * width + place] = false;
                        changed = true;
                    }
                }
            }
        }
        Ok((0..rows.len()).map(|state| total[state * width]).collect())
    }

    /// The start of an automaton, as a language of this arena.
    pub(crate) fn import(&mut self, table: &Arc<Table>) -> Language {
        let index = self.table_index(table);
        self.table_state(index, 0)
    }

    /// Where this arena keeps an automaton.
    pub(crate) fn table_index(&mut self, table: &Arc<Table>) -> u32 {
        let next = self.tables.len() as u32;
        let index = *self.table_indices.entry(Arc::as_ptr(table) as usize).or_insert(next);
        if index == next {
            self.tables.push(Arc::clone(table));
        }
        index
    }

    /// A state of an automaton; the empty string alone is always [`Language::EPSILON`].
    pub(crate) fn table_state(&mut self, table: u32, state: u32) -> Language {
        let at = &self.tables[table as usize];
        if at.accepts(state) && at.first(state).is_empty() {
            return Language::EPSILON;
        }
        self.intern(Expr::Table(table, state))
    }
}

/// What came of making an automaton.
pub(crate) enum Made {
    TooLarge,
    /// It accepts nothing.
    Nothing,
    /// Its rows, and which states accept.
    Rows(Rows, Vec<bool>),
}

/// Successors by state and class of bytes, [`NONE`] where there is none.
pub(crate) struct Rows {
    classes: Box<[u8; 256]>,
    width: usize,
    next: Vec<u32>,
}

impl Rows {
    /// With one class for the bytes between any two of `borders`, which begin with 0.
    fn new(changes: &[SmallVec<[(u8, u32); 8]>], borders: ByteSet) -> Self {
        let mut classes = [0u8; 256];
        let mut width = 0;
        for byte in 0..=u8::MAX {
            width += usize::from(borders.contains(byte));
            classes[usize::from(byte)] = (width - 1) as u8;
        }
        let mut next = Vec::with_capacity(changes.len() * width);
        for change in changes {
            let mut from = change.iter().peekable();
            let mut last = NONE;
            for byte in borders.iter() {
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

    fn row(&self, state: usize) -> &[u32] {
        &self.next[state * self.width..][..self.width]
    }

    /// By state: those that step to it.
    fn before(&self) -> Vec<SmallVec<[u32; 4]>> {
        let mut before: Vec<SmallVec<[u32; 4]>> = vec![SmallVec::new(); self.len()];
        for state in 0..self.len() {
            let mut last = NONE;
            for &next in self.row(state) {
                if next != last && next != NONE {
                    before[next as usize].push(state as u32);
                }
                last = next;
            }
        }
        before
    }

    /// Merges states that no string tells apart (Moore, 1956) and leaves out dead ones, then merges
    /// classes that no state tells apart; in no more than so many looks at a state.
    fn minimal(self, accepts: &[bool], looks: usize) -> Made {
        // Of the classes many are alike, and each would be compared in each round.
        let mut this = self.narrowed();
        // States that are not as far from the end are told apart; what counts has few others.
        let mut block = this.rest(accepts);
        if block[0] == NONE {
            return Made::Nothing;
        }
        let mut left = looks;
        for next in &mut this.next {
            if *next != NONE && block[*next as usize] == NONE {
                *next = NONE;
            }
        }
        let live: Vec<usize> = (0..block.len()).filter(|&state| block[state] != NONE).collect();
        let mut known: HashTable<(u64, usize)> = HashTable::with_capacity(live.len());
        let (mut next, mut count) = (vec![NONE; block.len()], 0);
        loop {
            let sign = |state: usize| {
                let to = |&to: &u32| if to == NONE { NONE } else { block[to as usize] };
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
                None => return Made::TooLarge,
            }
        }
        // The first state is the first to be seen, so its block is the first, and each block's
        // first state comes before those of later blocks.
        let (mut merged, mut ends) = (Vec::with_capacity(count * this.width), Vec::new());
        for state in live {
            if block[state] as usize == ends.len() {
                let to = |&to: &u32| if to == NONE { NONE } else { block[to as usize] };
                merged.extend(this.row(state).iter().map(to));
                ends.push(accepts[state]);
            }
        }
        this.next = merged;
        Made::Rows(this.narrowed(), ends)
    }

    /// What two automata, with their accepting states, accept both, if that has no more than `most`
    /// states before it is minimised, and that takes no more than so many looks at a state.
    pub(crate) fn product(
        (a, ends_of_a): &(Self, Vec<bool>),
        (b, ends_of_b): &(Self, Vec<bool>),
        most: usize,
        looks: usize,
    ) -> Result<Made> {
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
                    (NONE, _) | (_, NONE) => NONE,
                    to => *ids.entry(to).or_insert_with(|| {
                        states.push(to);
                        states.len() as u32 - 1
                    }),
                });
            }
            if states.len() > most {
                return Ok(Made::TooLarge);
            }
        }
        let classes = Box::new(classes);
        Ok(Self { classes, width: pairs.len(), next }.minimal(&accepts, looks))
    }

    /// With one class for all bytes that no state tells apart, numbered by their first bytes.
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

    /// By state: the least bytes that it needs to accept, or [`NONE`].
    fn rest(&self, accepts: &[bool]) -> Vec<u32> {
        let before = self.before();
        let mut rest: Vec<u32> = accepts.iter().map(|&a| if a { 0 } else { NONE }).collect();
        let accepting = (0..rest.len()).filter(|&state| rest[state] == 0);
        let mut open: VecDeque<usize> = accepting.collect();
        while let Some(state) = open.pop_front() {
            for &from in &before[state] {
                if rest[from as usize] == NONE {
                    rest[from as usize] = rest[state] + 1;
                    open.push_back(from as usize);
                }
            }
        }
        rest
    }

    pub(crate) fn packed(self, accepts: Vec<bool>, total: Vec<bool>) -> Table {
        let mut members = vec![ByteSet::EMPTY; self.width];
        (0..=u8::MAX).for_each(|b| members[usize::from(self.classes[usize::from(b)])].insert(b));
        let first = (0..self.len()).map(|state| {
            let leads = self.row(state).iter().zip(&members).filter(|&(&next, _)| next != NONE);
            leads.fold(ByteSet::EMPTY, |first, (_, class)| first.union(class))
        });
        let first = first.collect();
        let identity = keyed_hash(|hasher| (&self.classes, &self.next, &accepts).hash(hasher));
        Table {
            rest: self.rest(&accepts).into(),
            classes: *self.classes,
            width: self.width,
            first,
            next: self.next.into(),
            accepts: accepts.into(),
            total: total.into(),
            any: OnceLock::new(),
            every: OnceLock::new(),
            identity,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_the_same_language() {
        let mut l = Languages::new();
        let digit = l.byte_range(b'0', b'9');
        let some = l.repeat(digit, 1, Some(5));
        let seven = l.literal(b"77");
        let without = l.difference(some, seven);
        let table = Arc::new(l.table_within(without, Some(digit), 100, WORK).unwrap().unwrap());
        let same = l.import(&table);
        for text in ["", "7", "77", "777", "12345", "123456", "7a"] {
            let bytes = text.as_bytes();
            assert_eq!(
                l.matches(same, bytes).unwrap(),
                l.matches(without, bytes).unwrap(),
                "{text}"
            );
        }
        assert!(!table.is_total(0));
        let endless = l.repeat(digit, 0, None);
        let without = l.difference(endless, seven);
        let table = l.table_within(without, Some(digit), 100, WORK).unwrap().unwrap();
        assert!(table.is_total(0));
        assert!(l.table_within(Language::EMPTY, None, 10, WORK).unwrap().is_none());
    }

    #[test]
    fn equal_states_are_merged() {
        let mut l = Languages::new();
        let words = l.literals([&b"car"[..], b"bar", b"far"]);
        let table = l.table_within(words, None, 100, WORK).unwrap().unwrap();
        assert_eq!(table.accepts.len(), 4);
    }
}
