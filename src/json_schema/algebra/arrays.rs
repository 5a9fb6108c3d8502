//! Intersection and complement of sets of arrays.

use crate::json_schema::set::array_set::{ArraySet, ContainsCount, Repeats, smaller};
use crate::json_schema::set::{Set, Sets};

/// Arrays in both sets; `None` if bounds alone show that there are none.
pub(crate) fn intersect_arrays(
    sets: &mut Sets<'_>,
    a: &ArraySet,
    b: &ArraySet,
) -> Option<ArraySet> {
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
        prefix: (0..length).map(|i| sets.and([a.item(i), b.item(i)])).collect(),
        rest: sets.and([a.rest, b.rest]),
        min: a.min.max(b.min),
        max: smaller(a.max, b.max),
        some,
        repeats,
        sources: a.sources.merged(&b.sources),
    })
}

/// Arrays outside a set, as alternatives: too short, too long, or with an item outside its set.
pub(crate) fn complement_arrays(sets: &mut Sets<'_>, a: &ArraySet) -> Vec<ArraySet> {
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
        let not = sets.not(item);
        sets.spend(10 + i);
        if not != Set::NEVER {
            let prefix = std::iter::repeat_n(Set::ANY, i).chain([not]).collect();
            result.push(ArraySet { prefix, min: i as u32 + 1, ..any() });
        }
    }
    // Items that are never reached do not matter.
    let from = a.prefix.len() as u32;
    if a.max.is_none_or(|max| max > from) {
        match sets.not(a.rest) {
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
                result.push(ArraySet { prefix, rest: sets.not(some.set), ..any() });
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
