//! Memo tables of [`Sets`](super::Sets): answers about sets that were found once.
//!
//! A table holds what is true of a set whatever else is unfolding; answers that rest on an
//! assumption are not stored. In the tables of one-sided tests (`scalar_…`, `object_emptiness`)
//! `false` means "not proven"; in `object_emptiness` the reason may be that a set was unfolding.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::arena::Set;
use crate::json_schema::document::ValueId;
use crate::json_schema::document::canonical_text::CanonicalText;

/// The parts of a schema document that a set depends on, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Type, bounds and listed values: the complement costs little, too.
    Simple,
    /// Its own subschemas, no reference: it can be unfolded at any time.
    ReferenceFree,
    /// Perhaps any schema of the document.
    Unbounded,
}

/// Disjoint parts of a set, each with the cuts that contain it, as bits.
pub(crate) type ValuePartition = Arc<[(Set, u64)]>;

/// A set, and the sets that cut it, each with whether its complement is asked for, too.
type PartitionKey = (Set, Box<[(Set, bool)]>);

/// The number of values that were asked for, and the values of a set as canonical texts if they are
/// fewer.
type ListedValues = (usize, Option<Arc<[CanonicalText]>>);

/// Answers about sets, by set.
#[derive(Debug, Default)]
pub(crate) struct SetMemo {
    /// The first set with the same meaning (`satisfiability::equivalence`).
    pub(crate) canonical: FxHashMap<Set, Set>,
    /// The first set of each schema, by the schema's text.
    pub(crate) schema_texts: FxHashMap<String, Set>,
    pub(crate) reach_of_schemas: FxHashMap<ValueId, Reach>,
    pub(crate) reach_of_sets: FxHashMap<Set, Reach>,
    /// Emptiness of intersections of scalars (`satisfiability::scalar_emptiness`).
    pub(crate) scalar_emptiness: FxHashMap<Set, bool>,
    /// Whether the first set is a subset of the second (`satisfiability::scalar_emptiness`).
    pub(crate) scalar_subsets: FxHashMap<(Set, Set), bool>,
    /// Emptiness of intersections of objects (`satisfiability::object_overlap`).
    pub(crate) object_emptiness: FxHashMap<Set, bool>,
    /// Emptiness (`satisfiability::emptiness`).
    pub(crate) emptiness: FxHashMap<Set, bool>,
    /// Partitions of a member's values (`satisfiability::member_alternatives`).
    pub(crate) partitions: FxHashMap<PartitionKey, Option<ValuePartition>>,
    /// The values of small sets (`satisfiability::value_listing`).
    pub(crate) listed_values: FxHashMap<Set, ListedValues>,
}
