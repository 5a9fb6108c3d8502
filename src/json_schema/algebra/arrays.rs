//! Intersection and complement of sets of arrays.

use crate::json_schema::set::array_set::{ArraySet, ContainsCount, ItemEquality, smaller};
use crate::json_schema::set::{Set, Sets};

/// Arrays in both sets; `None` if bounds alone show that there are none.
pub(crate) fn intersect_arrays(
    sets: &mut Sets<'_>,
    a: &ArraySet,
    b: &ArraySet,
) -> Option<ArraySet> {
    let mut contains_counts = a.contains_counts.clone();
    for new in &b.contains_counts {
        match contains_counts.iter_mut().find(|s| (s.from, s.set) == (new.from, new.set)) {
            Some(known) => {
                known.min = known.min.max(new.min);
                known.max = smaller(known.max, new.max);
                if known.max.is_some_and(|max| max < known.min) {
                    return None;
                }
            }
            None => contains_counts.push(*new),
        }
    }
    let equality = match (a.equality, b.equality) {
        (ItemEquality::May, one) | (one, ItemEquality::May) => one,
        (one, other) if one == other => one,
        _ => return None,
    };
    let length = a.prefix.len().max(b.prefix.len());
    Some(ArraySet {
        prefix: (0..length).map(|i| sets.and([a.item(i), b.item(i)])).collect(),
        rest: sets.and([a.rest, b.rest]),
        min: a.min.max(b.min),
        max: smaller(a.max, b.max),
        contains_counts,
        equality,
        origins: a.origins.merged(&b.origins),
    })
}

/// Arrays outside a set, as alternatives: too short, too long, or with an item outside its set.
pub(crate) fn complement_arrays(sets: &mut Sets<'_>, a: &ArraySet) -> Vec<ArraySet> {
    let mut result = Vec::new();
    let origins = &a.origins;
    let any = || ArraySet { origins: origins.clone(), ..ArraySet::any() };
    if let Some(max) = a.min.checked_sub(1) {
        result.push(ArraySet { max: Some(max), ..any() });
    }
    if let Some(min) = a.max.and_then(|max| max.checked_add(1)) {
        result.push(ArraySet { min, ..any() });
    }
    for (i, &item) in a.prefix.iter().enumerate() {
        let not = sets.not(item);
        sets.add_steps(10 + i);
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
                let contains_counts = vec![ContainsCount { from, set, min: 1, max: None }];
                result.push(ArraySet { contains_counts, ..any() });
            }
        }
    }
    for contains in &a.contains_counts {
        match contains.min {
            0 => {}
            1 => {
                let prefix = vec![Set::ANY; contains.from as usize];
                result.push(ArraySet { prefix, rest: sets.not(contains.set), ..any() });
            }
            min => {
                let contains_counts =
                    vec![ContainsCount { min: 0, max: Some(min - 1), ..*contains }];
                result.push(ArraySet { contains_counts, ..any() });
            }
        }
        if let Some(min) = contains.max.and_then(|max| max.checked_add(1)) {
            let contains_counts = vec![ContainsCount { min, max: None, ..*contains }];
            result.push(ArraySet { contains_counts, ..any() });
        }
    }
    match a.equality {
        ItemEquality::May => {}
        ItemEquality::Never => {
            result.push(ArraySet { equality: ItemEquality::Must, min: 2, ..any() })
        }
        ItemEquality::Must => result.push(ArraySet { equality: ItemEquality::Never, ..any() }),
    }
    result
}
