//! Answers of the analyses that an arena remembers.

use super::expression::Language;
use crate::regular::ByteSet;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// StringSource that are read beside something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StringSource {
    Of(Language),
    /// Those that an automaton, by index, accepts from a state.
    From(u32, u32),
}

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WitnessKind {
    Shortest,
    /// Not much longer than a shortest one, where that takes long to find.
    Short,
}

/// Of a text from where it is, beside what is left of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitCounts {
    /// There is no string.
    None,
    /// The greatest number of units that a string has, and the number of states.
    UpTo(u32, u32),
    /// There is no greatest number; the number of states.
    Unbounded(u32),
}

/// A state of a text, and a state of `unit*` that reads the same bytes.
pub(super) type StatePair = (Language, Language);

/// By language: the bytes that its strings are made of, or more; and sets of which each string has a
/// byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequiredBytes {
    pub(super) possible: FxHashMap<Language, ByteSet>,
    pub(super) required: FxHashMap<Language, ByteSets>,
}

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
