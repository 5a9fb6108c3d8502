//! Sets of arrays.

use std::hash::Hash;

use crate::json_schema::set::{KeywordOrigins, Set};

/// `contains` keywords that apply to one array at the same time; the emitter refuses more, since
/// their counts multiply.
pub(crate) const MAX_COUNTED_KINDS: usize = 8;

/// Arrays whose first items are in the sets of `prefix`, and further ones in `rest`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArraySet {
    pub(crate) prefix: Vec<Set>,
    pub(crate) rest: Set,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    /// `contains` constraints; one item may count for several.
    pub(crate) contains_counts: Vec<ContainsCount>,
    /// Whether two items may, must or must not be equal.
    pub(crate) equality: ItemEquality,
    pub(crate) origins: KeywordOrigins,
}

/// `contains` with its bounds: the number of items in a set, from an index on, is at least `min`
/// and at most `max`. At least one of the bounds excludes something, and `max` is never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ContainsCount {
    pub(crate) from: u32,
    pub(crate) set: Set,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

/// Equality among the items of an array (as values: 1 and 1.0 are equal).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ItemEquality {
    #[default]
    May,
    /// `uniqueItems`: no two items are equal.
    Never,
    /// The complement of `uniqueItems`: some two items are equal.
    Must,
}

impl ArraySet {
    /// Every array.
    pub(crate) fn any() -> Self {
        Self {
            prefix: Vec::new(),
            rest: Set::ANY,
            min: 0,
            max: None,
            contains_counts: Vec::new(),
            equality: ItemEquality::May,
            origins: KeywordOrigins::default(),
        }
    }

    /// Whether the set holds the empty array.
    pub(crate) fn holds_empty(&self) -> bool {
        self.min == 0
            && self.equality != ItemEquality::Must
            && self.contains_counts.iter().all(|contains| contains.min == 0)
    }

    /// The set of the item at an index.
    pub(crate) fn item(&self, index: usize) -> Set {
        self.prefix.get(index).copied().unwrap_or(self.rest)
    }
}

/// The smaller of two bounds; `None` is no bound.
pub(crate) fn smaller(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
