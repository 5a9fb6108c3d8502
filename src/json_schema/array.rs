//! Sets of arrays.

use super::set::{Set, Sets, Shape, Sources};

/// Arrays whose first items are in the sets of `prefix`, further ones in `rest`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArraySet {
    pub(super) prefix: Vec<Set>,
    pub(super) rest: Set,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    /// Each asks for an item of its own set; one item may answer several.
    pub(super) some: Vec<SomeItem>,
    pub(super) sources: Sources,
}

/// At least one item, from an index on, is in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SomeItem {
    pub(super) from: u32,
    pub(super) set: Set,
}

impl ArraySet {
    /// Every array.
    pub(super) fn any() -> Self {
        Self {
            prefix: Vec::new(),
            rest: Set::ANY,
            min: 0,
            max: None,
            some: Vec::new(),
            sources: Sources::default(),
        }
    }

    /// The set of the item at an index.
    pub(super) fn item(&self, index: usize) -> Set {
        self.prefix.get(index).copied().unwrap_or(self.rest)
    }
}

impl Sets<'_> {
    pub(super) fn array_intersection(&mut self, a: &ArraySet, b: &ArraySet) -> ArraySet {
        let mut some = a.some.clone();
        some.extend(b.some.iter().filter(|s| !a.some.contains(s)));
        let length = a.prefix.len().max(b.prefix.len());
        ArraySet {
            prefix: (0..length).map(|i| self.and([a.item(i), b.item(i)])).collect(),
            rest: self.and([a.rest, b.rest]),
            min: a.min.max(b.min),
            max: match (a.max, b.max) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            some,
            sources: a.sources.merged(&b.sources),
        }
    }

    /// Arrays that are not in it: too short, too long, or with an item that does not fit.
    pub(super) fn array_complement(&mut self, a: &ArraySet) -> Vec<ArraySet> {
        let mut result = Vec::new();
        let sources = &a.sources;
        let any = || ArraySet { sources: sources.clone(), ..ArraySet::any() };
        if let Some(max) = a.min.checked_sub(1) {
            result.push(ArraySet { max: Some(max), ..any() });
        }
        if let Some(min) = a.max.and_then(|max| max.checked_add(1)) {
            result.push(ArraySet { min, ..any() });
        }
        for (i, &item) in a.prefix.iter().enumerate() {
            let not = self.not(item);
            if not != Set::NEVER {
                let prefix = std::iter::repeat_n(Set::ANY, i).chain([not]).collect();
                result.push(ArraySet { prefix, min: i as u32 + 1, ..any() });
            }
        }
        // Items that are never reached do not matter.
        let from = a.prefix.len() as u32;
        if a.max.is_none_or(|max| max > from) {
            match self.not(a.rest) {
                Set::NEVER => {}
                Set::ANY => result.push(ArraySet { min: from + 1, ..any() }),
                set => result.push(ArraySet { some: vec![SomeItem { from, set }], ..any() }),
            }
        }
        for some in &a.some {
            let prefix = vec![Set::ANY; some.from as usize];
            result.push(ArraySet { prefix, rest: self.not(some.set), ..any() });
        }
        result
    }

    /// For each item asked for, the sets of which one must have a value.
    pub(super) fn array_witnesses(&mut self, a: &ArraySet) -> Vec<Vec<Set>> {
        let witnesses = |some: &SomeItem| {
            let last = a.prefix.len().max(some.from as usize);
            let end = a.max.map_or(last + 1, |max| (last + 1).min(max as usize));
            (some.from as usize..end).map(|i| self.and([a.item(i), some.set])).collect()
        };
        a.some.iter().map(witnesses).collect()
    }

    /// Has it any array, given which sets are known to have a value? Monotone in `known`. (Whether
    /// several items asked for fit together within the length is left to the grammar.)
    pub(super) fn array_has_value(&self, a: &ArraySet, mut known: impl FnMut(Set) -> bool) -> bool {
        if a.max.is_some_and(|max| max < a.min) {
            return false;
        }
        let named = a.prefix.iter().take(a.min as usize);
        let mut named = named.copied();
        named.all(&mut known) && (a.min as usize <= a.prefix.len() || known(a.rest))
    }

    /// A shape that holds these arrays alone.
    pub(super) fn only_arrays(arrays: Vec<ArraySet>) -> Shape {
        Shape { arrays, ..Shape::never() }
    }
}
