//! Sets of arrays.

use std::hash::Hash;

use crate::json_schema::set::{Set, Sources};

/// Things counted in one array beyond which they are not combined: the
/// grammar refuses more.
pub(crate) const MAX_COUNTED_KINDS: usize = 8;

/// Arrays whose first items are in the sets of `prefix`, further ones in `rest`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ArraySet {
    pub(crate) prefix: Vec<Set>,
    pub(crate) rest: Set,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    /// Each counts items of its own set; one item may count for several.
    pub(crate) some: Vec<ContainsCount>,
    /// May, must or must not two items be equal?
    pub(crate) repeats: Repeats,
    pub(crate) sources: Sources,
}

/// So many items, from an index on, are in a set: at least `min`, at most `max`, one of which
/// says something (`max` is never 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ContainsCount {
    pub(crate) from: u32,
    pub(crate) set: Set,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
}

/// Whether two items of an array are equal (as values: 1 and 1.0 are).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Repeats {
    #[default]
    May,
    /// `uniqueItems`.
    Never,
    /// Its complement.
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
            some: Vec::new(),
            repeats: Repeats::May,
            sources: Sources::default(),
        }
    }

    /// Is the empty array in it?
    pub(crate) fn holds_empty(&self) -> bool {
        self.min == 0 && self.repeats != Repeats::Must && self.some.iter().all(|some| some.min == 0)
    }

    /// The set of the item at an index.
    pub(crate) fn item(&self, index: usize) -> Set {
        self.prefix.get(index).copied().unwrap_or(self.rest)
    }
}

/// The smaller of two bounds, of which none is a bound of none.
pub(crate) fn smaller(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
