//! The objects and arrays that texts have reached, with their states.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::interned::Interned;
use super::state::{ArrayState, ObjectState};
use crate::grammar::{NodeId, Origin, RuleId};
use crate::json_schema::layout::Layout;
use crate::json_schema::satisfiability::member_search::SearchState;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::keys::UnnamedKeys;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{KeywordOrigins, Set};
use crate::vocabulary::Trie;

/// An object whose states are rules.
#[derive(Debug)]
pub(crate) struct ObjectAutomaton {
    pub(crate) members: Vec<Member>,
    /// By key, where a formula asks for them: the index.
    pub(crate) indices: FxHashMap<Arc<str>, u32>,
    /// Names by rank.
    pub(crate) trie: Arc<Trie>,
    /// By rank: the index of the member.
    pub(crate) by_rank: Vec<u32>,
    /// By index: the rank.
    pub(crate) ranks: Vec<u32>,
    /// Keys without a name.
    pub(crate) others: Arc<[UnnamedKeys]>,
    /// The number of keys of each class, where formulas count them.
    pub(crate) keys: Arc<[u32]>,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    /// The count of members from which all are alike.
    pub(crate) cap: u32,
    pub(crate) name: Origin,
    pub(crate) origins: KeywordOrigins,
}

/// A property with a name.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: Arc<str>,
    /// The key as it is written, without quotes.
    pub(crate) spelled: Vec<u8>,
    pub(crate) set: Set,
    pub(crate) required: bool,
}

impl ObjectAutomaton {
    /// Whether an object with `count` members has room for `required` more.
    pub(crate) fn fits(&self, count: u32, required: u32) -> bool {
        self.max.is_none_or(|max| count + required <= max)
    }
}

/// The objects met so far, with the states that texts have reached.
#[derive(Debug, Default)]
pub(crate) struct ObjectTables {
    pub(crate) automata: Vec<ObjectAutomaton>,
    /// The rule of each state of an object.
    pub(crate) rules: FxHashMap<(u32, ObjectState), RuleId>,
    /// By object that was met in an indented text, where each depth meets it again: its automaton
    /// and the state in which it begins, or `None` if it has no values.
    pub(crate) declared: FxHashMap<ObjectSet, Option<(u32, ObjectState)>>,
    /// Whether a formula can still be met.
    pub(crate) formula_answers: FxHashMap<FormulaQuery, Option<Satisfiable>>,
    /// Sets of named members that are written, in any order, as bits.
    pub(crate) seen: Interned<Box<[u64]>>,
    /// Sets of other keys that are written, sorted.
    pub(crate) used: Interned<Vec<Arc<str>>>,
    /// Key choices, by tag: an object in a state, and the ranks of the keys that may come.
    pub(crate) choices: Vec<(u32, ObjectState, Vec<u32>)>,
}

/// Key of the memo of formula answers: object, start state, remaining named members, keys left per
/// class.
pub(crate) type FormulaQuery = (u32, SearchState, Box<[u32]>, Arc<[u32]>);

/// The positive answer to whether a formula can still be met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Satisfiable {
    /// Index of the named member to write first so that the formula is met.
    pub(crate) by: Option<u32>,
}

/// An array whose states are rules.
#[derive(Debug)]
pub(crate) struct ArrayAutomaton {
    pub(crate) set: ArraySet,
    /// The number of items from which all are alike.
    pub(crate) cap: u32,
    /// Places and counts from which the array can be completed, where items are counted.
    pub(crate) alive: FxHashSet<(u32, u32)>,
    pub(crate) name: Origin,
}

/// The arrays met so far, with the states that texts have reached.
#[derive(Debug, Default)]
pub(crate) struct ArrayTables {
    pub(crate) automata: Vec<ArrayAutomaton>,
    /// The rule of each state of an array.
    pub(crate) rules: FxHashMap<(u32, ArrayState), RuleId>,
    /// By array that was met in an indented text, where each depth meets it again: its automaton
    /// and the state in which it begins, or `None` if it has no values.
    pub(crate) declared: FxHashMap<ArraySet, Option<(u32, ArrayState)>>,
    /// The arrays and objects of sets of items that must differ.
    pub(crate) structures: FxHashMap<(Set, Layout), Vec<NodeId>>,
    /// Arrays that are whole texts in any style.
    pub(crate) whole: Vec<ArraySet>,
    /// By number: how many items of each counted kind are written.
    pub(crate) counts: Interned<SmallVec<[u32; 4]>>,
}
