//! Answers of the analyses that an arena remembers.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::expression::Language;
use crate::regular::ByteSet;

/// The strings whose common successor is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StringSource {
    /// Those of a language.
    Of(Language),
    /// Those that a DFA, by index, accepts from a state.
    From(u32, u32),
}

/// The kind of string that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WitnessKind {
    Shortest,
    /// Not much longer than a shortest one, where a shortest one takes long to find.
    Short,
}

/// The numbers of units that the strings reachable from a state can have. The state lies within a
/// unit or between two. `state_pairs` is the number of pairs of states that were visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitCounts {
    /// There is no string.
    None,
    /// There is a greatest number of units.
    UpTo { greatest: u32, state_pairs: u32 },
    /// There is no greatest number.
    Unbounded { state_pairs: u32 },
}

/// A state of a text, and the state of `unit*` after the same bytes.
pub(super) type StatePair = (Language, Language);

/// Bytes of the strings of a language.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequiredBytes {
    /// By language: a superset of the bytes that occur in its strings.
    pub(super) possible: FxHashMap<Language, ByteSet>,
    /// By language: byte sets that have a byte in common with every string.
    pub(super) required: FxHashMap<Language, ByteSets>,
}

/// Sets of bytes; most languages require one or two.
pub(super) type ByteSets = SmallVec<[ByteSet; 2]>;

/// Answers of the analyses, by the languages that they are about.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    /// Common successors; see `common_successor`.
    pub(super) common_successors: FxHashMap<(StringSource, Language), Option<Language>>,
    pub(super) required_bytes: RequiredBytes,
    /// Shortest strings and short ones; `None` for a language without strings.
    pub(super) witnesses: FxHashMap<(WitnessKind, Language), Option<Arc<[u8]>>>,
    /// Lower bounds on lengths; see `lengths::min_length_bound`.
    pub(super) min_lengths: FxHashMap<Language, u64>,
    /// Numbers of units of texts; see `unit_counts`.
    pub(super) unit_counts: FxHashMap<StatePair, Option<UnitCounts>>,
}

impl Memo {
    /// Forgets all answers about languages that are not kept.
    pub(super) fn retain(&mut self, is_kept: impl Fn(Language) -> bool) {
        self.witnesses.retain(|(_, x), _| is_kept(*x));
        self.min_lengths.retain(|x, _| is_kept(*x));
        self.unit_counts.retain(|(text, unit), _| is_kept(*text) && is_kept(*unit));
        self.common_successors.retain(|(strings, from), to| {
            let strings = match *strings {
                StringSource::Of(x) => is_kept(x),
                StringSource::From(..) => true,
            };
            strings && is_kept(*from) && to.is_none_or(&is_kept)
        });
        self.required_bytes.possible.retain(|x, _| is_kept(*x));
        self.required_bytes.required.retain(|x, _| is_kept(*x));
    }
}
