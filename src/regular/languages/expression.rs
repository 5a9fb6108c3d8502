//! Expressions of the algebra, and the ids by which they are named.

use crate::regular::ByteSet;
use crate::regular::automaton::RunningAutomaton;

/// A regular language of byte strings, and at the same time a state of its own automaton: the id of
/// an expression in the [`Languages`](super::Languages) that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(pub(super) u32);

impl Language {
    /// The language without strings. [`Languages::row`](super::Languages::row) gives no other id
    /// for one, so whether a byte may follow is one comparison.
    pub const EMPTY: Self = Self(0);
    /// The empty string alone.
    pub const EPSILON: Self = Self(1);
    /// Every byte string.
    pub const ALL: Self = Self(2);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// An id of another kind of automaton, kept where a language is expected.
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The id given to [`from_number`](Self::from_number).
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// Successors by byte; [`Language::EMPTY`] where the byte may not come.
pub type Row = [Language; 256];

/// The upper bound of a repeat that has none.
pub(super) const UNBOUNDED: u32 = u32::MAX;

/// An expression over languages that were interned before it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Expression {
    /// One byte of a set; the empty set is the empty language.
    Set(ByteSet),
    /// One after the other. Right-nested: the first is never a concatenation.
    Concat(Language, Language),
    /// At least two, sorted, without duplicates; none is a union.
    Union(Box<[Language]>),
    /// At least two, sorted, without duplicates; none is an intersection.
    Intersect(Box<[Language]>),
    Complement(Language),
    /// The part, its least and its greatest count: `min <= max`, `max >= 1`; `max` may be
    /// [`UNBOUNDED`].
    Repeat(Language, u32, u32),
    /// The index of a [`VariableDefinition`]; see `variables`.
    Variable(u32),
    /// The index of a DFA, and one of its states.
    DfaState(u32, u32),
    /// An automaton that computes its states, in one of them.
    Computed(RunningAutomaton),
    /// The texts whose canonical spelling in a JSON string is in it; see `unescaped`.
    Unescaped(Language),
}

/// The body of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct VariableDefinition {
    /// Whether it contains the empty string.
    pub(super) nullable: bool,
    pub(super) body: Language,
    /// The variable's part of a fingerprint; equal across arenas once it is settled.
    pub(super) identity: u128,
}
