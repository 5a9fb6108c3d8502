//! Sets of arrays.

use super::set::{Set, Sets, Shape, Sources};
use crate::error::{ErrorKind, Result};

/// Arrays whose first items are in the sets of `prefix`, further ones in `rest`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArraySet {
    pub(super) prefix: Vec<Set>,
    pub(super) rest: Set,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    pub(super) sources: Sources,
}

impl ArraySet {
    /// Every array.
    pub(super) fn any() -> Self {
        Self { prefix: Vec::new(), rest: Set::ANY, min: 0, max: None, sources: Sources::default() }
    }

    /// The set of the item at an index.
    pub(super) fn item(&self, index: usize) -> Set {
        self.prefix.get(index).copied().unwrap_or(self.rest)
    }
}

impl Sets<'_> {
    pub(super) fn array_intersection(&mut self, a: &ArraySet, b: &ArraySet) -> ArraySet {
        let length = a.prefix.len().max(b.prefix.len());
        ArraySet {
            prefix: (0..length).map(|i| self.and([a.item(i), b.item(i)])).collect(),
            rest: self.and([a.rest, b.rest]),
            min: a.min.max(b.min),
            max: match (a.max, b.max) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
            sources: a.sources.merged(&b.sources),
        }
    }

    /// Arrays that are not in it: too short, too long, or with an item that does not fit.
    pub(super) fn array_complement(&mut self, a: &ArraySet) -> Result<Vec<ArraySet>> {
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
        match a.rest {
            Set::ANY => {}
            Set::NEVER => result.push(ArraySet { min: a.prefix.len() as u32 + 1, ..any() }),
            rest => {
                // Items that are never reached do not matter.
                if a.max.is_none_or(|max| max as usize > a.prefix.len()) {
                    let message = "`not` of a condition on all items is not supported yet";
                    return Err(self.error(ErrorKind::Schema, rest, message));
                }
            }
        }
        Ok(result)
    }

    /// Has it any array, given which sets are known to have a value? Monotone in `known`.
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
