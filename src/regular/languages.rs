//! An arena of regular languages, determinised lazily.
//!
//! A [`Language`] is a hash-consed expression; its states are languages too: after byte `b`, what
//! may still come is the *derivative* by `b` (Brzozowski, "Derivatives of Regular Expressions",
//! J. ACM 1964; Owens, Reppy, Turon, "Regular-expression derivatives re-examined", JFP 2009).
//! So and, or and not are no harder than concatenation, a bounded repeat costs one state a step
//! and only if it is visited, and nothing is determinised before it is asked for.

mod arena;
mod construct;
mod counted_text;
mod derivative;
mod dfa;
mod fingerprint;
mod lengths;
mod product;
mod properties;
mod required_bytes;
mod structure;
mod unit_counts;
mod widening;
mod witness;

use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::ByteSet;
use crate::error::{Error, ErrorKind, Result};
use crate::regular::automaton;
use crate::regular::automaton::{Automaton, RunningAutomaton};
use arena::Arena;
pub(crate) use derivative::OrdinaryText;
pub(crate) use dfa::{Table, Tables};
pub(crate) use fingerprint::keyed_hash;
use properties::describe;
pub(crate) use widening::{Spans, Unit};
pub(crate) use witness::MOST_SPELLED;

/// A regular language of byte strings, and at the same time a state of its own automaton: an
/// index into the [`Languages`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(u32);

impl Language {
    /// No string at all. No other id is returned by [`Languages::row`] for a language without
    /// strings, so "may this byte follow" is one comparison.
    pub const EMPTY: Self = Self(0);
    /// The empty string alone.
    pub const EPSILON: Self = Self(1);
    /// Every byte string.
    pub const ALL: Self = Self(2);

    fn index(self) -> usize {
        self.0 as usize
    }

    /// A number kept where a language is expected, by an automaton of another kind.
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The number kept by [`from_number`](Self::from_number).
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// How much an arena held once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(arena::Mark);

/// Successor languages by byte; [`Language::EMPTY`] where the byte may not come.
pub type Row = [Language; 256];

/// No upper bound on a repeat.
const UNBOUNDED: u32 = u32::MAX;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Expr {
    /// One byte of a set; the empty set is the empty language.
    Set(ByteSet),
    /// Right-nested: the first is never itself a concatenation.
    Concat(Language, Language),
    /// Sorted, without duplicates, at least two; none of them a union.
    Union(Box<[Language]>),
    /// Sorted, without duplicates, at least two; none of them an intersection.
    Intersect(Box<[Language]>),
    Complement(Language),
    /// `min <= max`, `max >= 1`; `max` may be [`UNBOUNDED`].
    Repeat(Language, u32, u32),
    /// What [`Languages::define`] says, by index.
    Variable(u32),
    /// A state of a finished automaton, by index.
    Table(u32, u32),
    /// What is accepted from a state of an automaton that computes its states.
    Automaton(RunningAutomaton),
}

#[derive(Clone, Copy, Debug)]
struct Variable {
    /// Does it hold the empty string?
    nullable: bool,
    body: Language,
    /// What its fingerprint is made of, equal across arenas once it is settled.
    identity: u128,
}

/// The arena: makes languages, compares them by identity of structure, and steps them.
///
/// ```
/// use maskwright::regex::{Language, Languages};
/// let mut l = Languages::new();
/// let digit = l.byte_range(b'0', b'9');
/// let digits = l.repeat(digit, 1, Some(3));
/// let zero = l.literal(b"0");
/// let not_zero = l.complement(zero);
/// let both = l.intersect([digits, not_zero]);
/// assert!(l.matches(both, b"10")?);
/// assert!(!l.matches(both, b"0")? && !l.matches(both, b"1000")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Languages {
    arena: Arena,
    variables: Vec<Variable>,
    /// Settled variables, and languages made of them, by fingerprint.
    known: FxHashMap<u128, Language>,
    tables: Vec<Arc<Table>>,
    /// Where each stands, by its address, which is its own as long as it is kept here.
    table_indices: FxHashMap<usize, u32>,
    shared: Option<Arc<Tables>>,
    /// Languages known to be part of another, see [`Languages::note_within`].
    within: FxHashMap<Language, Language>,
    /// Where strings lead from a language, if all lead to one; see `leads`.
    leads: FxHashMap<(counted_text::Strings, Language), Option<Language>>,
    /// Is there an automaton whose states are without end?
    endless: bool,
    /// What all texts are that automata read, by their name.
    texts: FxHashMap<Box<str>, Language>,
    /// A buffer for rows that are made of others.
    entries: Vec<Language>,
    needs: required_bytes::Needs,
    /// Shortest strings, and short ones, once asked for.
    shortest: FxHashMap<(witness::Wanted, Language), Option<Arc<[u8]>>>,
    /// Lower bounds on lengths, once asked for; see `length_bound`.
    length_bounds: FxHashMap<Language, u64>,
    /// How many units texts have, by their state and that of the units; see `unit_counts`.
    unit_counts: FxHashMap<(Language, Language), Option<unit_counts::UnitCounts>>,
    limit: usize,
    /// Parts of rows computed since [`Languages::begin`].
    work: usize,
    /// The most that `work` may be.
    most_work: usize,
    /// How many tasks were begun.
    tasks: usize,
}

impl Default for Languages {
    fn default() -> Self {
        Self::new()
    }
}

impl Languages {
    /// States an arena may hold unless [`Languages::set_limit`] says otherwise.
    pub const DEFAULT_LIMIT: usize = 1 << 20;

    /// An arena that holds only the constants.
    pub fn new() -> Self {
        let mut this = Self {
            arena: Arena::default(),
            variables: Vec::new(),
            known: FxHashMap::default(),
            tables: Vec::new(),
            table_indices: FxHashMap::default(),
            shared: None,
            within: FxHashMap::default(),
            leads: FxHashMap::default(),
            endless: false,
            texts: FxHashMap::default(),
            entries: Vec::new(),
            needs: required_bytes::Needs::default(),
            shortest: FxHashMap::default(),
            length_bounds: FxHashMap::default(),
            unit_counts: FxHashMap::default(),
            limit: Self::DEFAULT_LIMIT,
            work: 0,
            most_work: usize::MAX,
            tasks: 0,
        };
        let empty = this.intern(Expr::Set(ByteSet::EMPTY));
        // The empty string is the empty set repeated any number of times.
        let epsilon = this.intern(Expr::Repeat(empty, 0, UNBOUNDED));
        let all = this.intern(Expr::Complement(empty));
        debug_assert!((empty, epsilon, all) == (Language::EMPTY, Language::EPSILON, Language::ALL));
        this.arena.set_live(all, true);
        this
    }

    /// Bounds the number of states; a step past it is an error.
    pub fn set_limit(&mut self, states: usize) {
        self.limit = states;
    }

    /// Bounds the work between two calls of [`begin`](Self::begin), in parts of rows of
    /// successors; a row beyond it is an error.
    pub(crate) fn set_work(&mut self, most: usize) {
        self.most_work = most;
    }

    /// Parts of rows computed since the task began.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    /// Begins a task: what was worked before does not count.
    pub(crate) fn begin(&mut self) {
        self.work = 0;
        self.tasks += 1;
    }

    /// How many tasks were begun.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks
    }

    /// The number of states made so far.
    pub fn len(&self) -> usize {
        self.arena.len()
    }

    /// Never: the constants are always there.
    pub fn is_empty(&self) -> bool {
        self.arena.len() == 0
    }

    fn intern(&mut self, expr: Expr) -> Language {
        let Self { arena, variables, tables, .. } = self;
        arena.intern(expr, |arena, expr| describe(arena, variables, tables, expr))
    }

    /// Lets arenas that are cloned from this one share what it holds now.
    pub(crate) fn freeze(&mut self) {
        for x in (0..self.arena.len() as u32).map(Language) {
            self.fingerprint(x);
        }
        self.arena.freeze();
    }

    /// Where [`release`](Self::release) goes back to.
    pub(crate) fn mark(&self) -> Mark {
        Mark(self.arena.mark())
    }

    /// Forgets the languages made since a mark; none of them may be used any more.
    pub(crate) fn release(&mut self, mark: Mark) {
        let before = self.len();
        let left = self.arena.release(mark.0);
        if left < before {
            let kept = |x: Language| x.index() < left;
            self.shortest.retain(|(_, x), _| kept(*x));
            self.length_bounds.retain(|x, _| kept(*x));
            self.unit_counts.retain(|(text, unit), _| kept(*text) && kept(*unit));
            self.within.retain(|x, wide| kept(*x) && kept(*wide));
            self.texts.retain(|_, wide| kept(*wide));
            self.leads.retain(|(read, from), to| {
                let read = match *read {
                    counted_text::Strings::Of(x) => kept(x),
                    counted_text::Strings::From(..) => true,
                };
                read && kept(*from) && to.is_none_or(kept)
            });
            self.known.retain(|_, x| kept(*x));
            self.needs.retain(kept);
        }
    }

    fn is_recursive(&self, x: Language) -> bool {
        self.arena.facts(x).recursive
    }

    /// A language to be defined later, perhaps in terms of itself: a state of an automaton that
    /// no expression spells out.
    pub(crate) fn variable(&mut self, nullable: bool) -> Language {
        self.variables.push(Variable { nullable, body: Language::EMPTY, identity: 0 });
        self.intern(Expr::Variable(self.variables.len() as u32 - 1))
    }

    /// Says what a variable is, before it is stepped for the first time. The body holds the empty
    /// string exactly if the variable was said to, and every variable in it that may be defined
    /// in terms of this one stands behind at least one byte.
    pub(crate) fn define(&mut self, variable: Language, body: Language) {
        debug_assert_eq!(self.is_nullable(variable), self.is_nullable(body));
        if let Expr::Variable(v) = *self.arena.expr(variable) {
            self.variables[v as usize].body = body;
        }
    }

    /// Gives variables that were defined in terms of each other, and of no others that are not
    /// settled yet, the identity that their definitions give them. Returns `x`, which is made of
    /// them, or the same language from an earlier time.
    pub(crate) fn settle(&mut self, variables: &[Language], x: Language) -> Language {
        if variables.is_empty() {
            return x;
        }
        for (index, &variable) in variables.iter().enumerate() {
            self.set_identity(variable, index as u128);
        }
        let mut done = FxHashMap::default();
        let bodies: Vec<u128> = variables
            .iter()
            .filter_map(|variable| match *self.arena.expr(*variable) {
                Expr::Variable(v) => Some(self.variables[v as usize].body),
                _ => None,
            })
            .map(|body| self.fingerprint_beside(body, &mut done))
            .collect();
        for (index, &variable) in variables.iter().enumerate() {
            let identity = keyed_hash(|hasher| (index, &bodies).hash(hasher));
            self.set_identity(variable, identity);
            let fingerprint = self.fingerprint_beside(variable, &mut FxHashMap::default());
            self.known.entry(fingerprint).or_insert(variable);
        }
        let fingerprint = self.fingerprint_beside(x, &mut FxHashMap::default());
        *self.known.entry(fingerprint).or_insert(x)
    }

    fn set_identity(&mut self, variable: Language, identity: u128) {
        if let Expr::Variable(v) = *self.arena.expr(variable) {
            self.variables[v as usize].identity = identity;
        }
    }

    /// What is accepted from a state of an automaton.
    pub(crate) fn automaton(
        &mut self,
        automaton: Arc<dyn Automaton>,
        state: automaton::AutomatonState,
    ) -> Language {
        self.endless |= automaton.is_endless();
        self.intern(Expr::Automaton(RunningAutomaton { automaton, state }))
    }

    /// Is the empty string in it?
    pub fn is_nullable(&self, x: Language) -> bool {
        self.arena.facts(x).nullable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was made since a mark is gone, and what was there is as it was.
    #[test]
    fn released_states_are_made_anew() {
        let mut l = Languages::new();
        let digits = l.byte_range(b'0', b'9');
        let number = l.repeat(digits, 2, Some(5));
        let other = l.literal(b"666");
        let other = l.complement(other);
        let both = l.intersect([number, other]);
        let before = l.len();
        for many in [10, arena::MOST_ROWS] {
            let mark = l.mark();
            // Rows of states from before, too, which lead to new ones.
            let row = l.row(both).unwrap().map(|next| next != Language::EMPTY);
            let text = l.shortest(both).unwrap();
            for n in 0..many {
                let text = l.literal(format!("{n:06}").as_bytes());
                l.row(text).unwrap();
            }
            l.release(mark);
            assert_eq!(l.len(), before);
            assert!(l.known_row(both).is_none() && l.arena.first(both).is_none());
            // On what was made before, nothing rests that is made then.
            let again = l.mark();
            let letter = l.literal(b"x");
            assert!(!l.matches(letter, b"6").unwrap() && l.matches(letter, b"x").unwrap());
            l.release(again);
            let mark = l.mark();
            let again = l.row(both).unwrap().map(|next| next != Language::EMPTY);
            assert_eq!((row, text), (again, l.shortest(both).unwrap()));
            assert!(l.matches(both, b"6666").unwrap() && !l.matches(both, b"666").unwrap());
            l.release(mark);
        }
    }

    /// More rows than are kept: what was forgotten is found again as it was.
    #[test]
    fn forgotten_rows_come_back() {
        let mut l = Languages::new();
        let digits = l.byte_range(b'0', b'9');
        let number = l.repeat(digits, 2, Some(5));
        let six = l.literal(b"666");
        let other = l.complement(six);
        let both = l.intersect([number, other]);
        let expected = *l.row(both).unwrap();
        for n in 0..arena::MOST_ROWS {
            let text = l.literal(format!("{n:06}").as_bytes());
            l.row(text).unwrap();
        }
        assert!(l.known_row(both).is_none());
        assert_eq!(*l.row(both).unwrap(), expected);
        assert!(l.matches(both, b"6666").unwrap() && !l.matches(both, b"666").unwrap());
        assert!(l.bytes() < 3 << 24);
    }
}
