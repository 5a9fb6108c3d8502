//! Parse states of the rewriting, the rules and loops that are entered in them, and interned sets
//! of lazy languages.

use rustc_hash::FxHashMap;

use crate::grammar::form::{NodeId, RuleId};
use crate::regular::Language;

/// The id of an interned set of lazy languages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct LazySetId(u32);

impl LazySetId {
    /// No lazy language.
    pub(super) const EMPTY: Self = Self(0);
}

/// Interned sets of lazy languages. There are no more of them than nodes and copies, which are
/// limited.
pub(super) struct LazySets {
    sets: Vec<Box<[Language]>>,
    ids: FxHashMap<Box<[Language]>, LazySetId>,
}

impl LazySets {
    pub(super) fn new() -> Self {
        Self {
            sets: vec![Box::default()],
            ids: FxHashMap::from_iter([(Box::default(), LazySetId::EMPTY)]),
        }
    }

    pub(super) fn languages(&self, set: LazySetId) -> &[Language] {
        &self.sets[set.0 as usize]
    }

    pub(super) fn intern(&mut self, mut languages: Vec<Language>) -> LazySetId {
        languages.sort_unstable();
        languages.dedup();
        let languages: Box<[Language]> = languages.into();
        if let Some(&id) = self.ids.get(&languages) {
            return id;
        }
        let id = LazySetId(self.sets.len() as u32);
        self.sets.push(languages.clone());
        self.ids.insert(languages, id);
        id
    }

    pub(super) fn union(&mut self, a: LazySetId, b: LazySetId) -> LazySetId {
        if a == b || b == LazySetId::EMPTY {
            return a;
        }
        if a == LazySetId::EMPTY {
            return b;
        }
        self.intern([self.languages(a), self.languages(b)].concat())
    }
}

/// The state of a parse at a position between two terminals.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct ParseState {
    /// The language that the rest of the text must be in.
    pub(super) monitor: Language,
    /// The lazy languages that may begin here.
    pub(super) startable: LazySetId,
}

/// A rule and the states around it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RuleEntry {
    pub(super) rule: RuleId,
    pub(super) from: ParseState,
    /// The lazy languages that may begin after it.
    pub(super) follow: LazySetId,
}

/// One or more further iterations of a repeat without upper bound, and the states around them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LoopEntry {
    pub(super) node: NodeId,
    pub(super) from: ParseState,
    /// The lazy languages that may begin after the last iteration.
    pub(super) follow: LazySetId,
}
