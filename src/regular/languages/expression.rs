//! Expressions of the algebra, and the ids by which they are named.

use crate::regular::ByteSet;
use crate::regular::automaton::RunningAutomaton;

/// A regular language of byte strings, and at the same time a state of its own automaton: an
/// index into the [`Languages`] that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(pub(super) u32);

impl Language {
    /// No string at all. No other id is returned by [`Languages::row`] for a language without
    /// strings, so "may this byte follow" is one comparison.
    pub const EMPTY: Self = Self(0);
    /// The empty string alone.
    pub const EPSILON: Self = Self(1);
    /// Every byte string.
    pub const ALL: Self = Self(2);

    pub(super) fn index(self) -> usize {
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

/// Successor languages by byte; [`Language::EMPTY`] where the byte may not come.
pub type Row = [Language; 256];

/// No upper bound on a repeat.
pub(super) const UNBOUNDED: u32 = u32::MAX;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Expr {
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
    DfaState(u32, u32),
    /// What is accepted from a state of an automaton that computes its states.
    Computed(RunningAutomaton),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    /// Does it hold the empty string?
    pub(super) nullable: bool,
    pub(super) body: Language,
    /// What its fingerprint is made of, equal across arenas once it is settled.
    pub(super) identity: u128,
}
