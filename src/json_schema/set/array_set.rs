//! Sets of arrays.

use crate::json_schema::set::{Set, Sets, Shape, Sources};

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

impl Sets<'_> {
    /// Arrays in both; `None` if it is plain to see that there are none.
    pub(crate) fn array_intersection(&mut self, a: &ArraySet, b: &ArraySet) -> Option<ArraySet> {
        let mut some = a.some.clone();
        for new in &b.some {
            match some.iter_mut().find(|s| (s.from, s.set) == (new.from, new.set)) {
                Some(known) => {
                    known.min = known.min.max(new.min);
                    known.max = smaller(known.max, new.max);
                    if known.max.is_some_and(|max| max < known.min) {
                        return None;
                    }
                }
                None => some.push(*new),
            }
        }
        let repeats = match (a.repeats, b.repeats) {
            (Repeats::May, one) | (one, Repeats::May) => one,
            (one, other) if one == other => one,
            _ => return None,
        };
        let length = a.prefix.len().max(b.prefix.len());
        Some(ArraySet {
            prefix: (0..length).map(|i| self.and([a.item(i), b.item(i)])).collect(),
            rest: self.and([a.rest, b.rest]),
            min: a.min.max(b.min),
            max: smaller(a.max, b.max),
            some,
            repeats,
            sources: a.sources.merged(&b.sources),
        })
    }

    /// Arrays that are not in it: too short, too long, or with an item that does not fit.
    pub(crate) fn array_complement(&mut self, a: &ArraySet) -> Vec<ArraySet> {
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
            self.spend(10 + i);
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
                set => {
                    let some = vec![ContainsCount { from, set, min: 1, max: None }];
                    result.push(ArraySet { some, ..any() });
                }
            }
        }
        for some in &a.some {
            match some.min {
                0 => {}
                1 => {
                    let prefix = vec![Set::ANY; some.from as usize];
                    result.push(ArraySet { prefix, rest: self.not(some.set), ..any() });
                }
                min => {
                    let some = vec![ContainsCount { min: 0, max: Some(min - 1), ..*some }];
                    result.push(ArraySet { some, ..any() });
                }
            }
            if let Some(min) = some.max.and_then(|max| max.checked_add(1)) {
                let some = vec![ContainsCount { min, max: None, ..*some }];
                result.push(ArraySet { some, ..any() });
            }
        }
        match a.repeats {
            Repeats::May => {}
            Repeats::Never => result.push(ArraySet { repeats: Repeats::Must, min: 2, ..any() }),
            Repeats::Must => result.push(ArraySet { repeats: Repeats::Never, ..any() }),
        }
        result
    }

    /// A shape that holds these arrays alone.
    pub(crate) fn only_arrays(arrays: Vec<ArraySet>) -> Shape {
        Shape { arrays, ..Shape::never() }
    }
}

/// The smaller of two bounds, of which none is a bound of none.
pub(crate) fn smaller(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
