//! Arrays whose items must differ (`uniqueItems`), or must not all differ (its complement).
//!
//! Items that still come and must differ need values of their own: a matching of the places that
//! must be filled and the unused values that fit there (Hall's condition, decided by augmenting
//! paths). Only places with few values matter. Where two items must be equal, two places must share
//! a value, or one must fit a value that is written already.
//!
//! ```text
//! items {"enum": [1, 2]}, minItems 2   after [1, only 2 completes the array
//! items {"enum": [1, 2]}, minItems 3   no matching: empty
//! ```

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::error::{ErrorKind, Result};
use crate::json_schema::document::canonical_text::CanonicalText;
use crate::json_schema::satisfiability::value_listing::{MAX_LISTED_VALUES, values_if_fewer};
use crate::json_schema::set::array_set::MAX_COUNTED_KINDS;
use crate::json_schema::set::array_set::{ArraySet, ItemEquality};
use crate::json_schema::set::{Set, Sets};
use crate::regular::TextSet;

/// States of a search beyond which the schema is refused.
const MAX_ARRAY_STATES: usize = 20_000;

/// By `contains`, how many items of an array it has counted.
type ContainsCounts = SmallVec<[u32; 4]>;

/// The state of an array after some of its items.
#[derive(Clone, Debug)]
pub(crate) struct ArrayProgress {
    /// The number of items, up to the index from which on all places are alike.
    pub(crate) at: u32,
    pub(crate) counts: ContainsCounts,
}

/// The search for two items that must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum EqualPair {
    None,
    /// The first of the two is in this set.
    Half(Set),
    Both,
}

/// The number of items from which on all further places have the same sets and bounds.
pub(crate) fn uniform_from(array: &ArraySet) -> u32 {
    let from = array.contains_counts.iter().map(|contains| contains.from).max().unwrap_or(0);
    let cap = (array.prefix.len() as u32).max(array.min).max(from);
    array.max.map_or(cap, |max| max.max(array.min))
}

/// Whether an array may end here, as far as counts go.
fn may_end(array: &ArraySet, begun: &ArrayProgress) -> bool {
    begun.at >= array.min
        && array
            .contains_counts
            .iter()
            .zip(&begun.counts)
            .all(|(contains, &count)| count >= contains.min)
}

/// The sets of the items that must still come where none are counted, each with its number of
/// items.
fn cells_ahead(array: &ArraySet, at: u32) -> Vec<(Set, u32)> {
    let length = array.prefix.len() as u32;
    let mut cells: FxHashMap<Set, u32> = FxHashMap::default();
    for &set in array.prefix.iter().take(array.min as usize).skip(at as usize) {
        *cells.entry(set).or_default() += 1;
    }
    let rest = array.min.saturating_sub(at.max(length));
    if rest > 0 {
        *cells.entry(array.rest).or_default() += rest;
    }
    let mut cells: Vec<(Set, u32)> = cells.into_iter().collect();
    cells.sort_unstable();
    cells
}

/// The array shortened to the items that can matter where no item is counted: two beyond the
/// prefix.
fn shortened(array: &ArraySet, at: u32) -> ArraySet {
    let enough = at.max(array.prefix.len() as u32).saturating_add(2);
    if array.contains_counts.is_empty() {
        ArraySet {
            min: array.min.min(enough),
            max: Some(array.max.map_or(enough, |max| max.min(enough))),
            ..array.clone()
        }
    } else {
        array.clone()
    }
}

/// Whether each place can have a value of its own (Kuhn's augmenting paths).
fn is_matched(few: &[(Vec<CanonicalText>, u32)]) -> bool {
    let mut taken: FxHashMap<&CanonicalText, usize> = FxHashMap::default();
    let places: Vec<&Vec<CanonicalText>> =
        few.iter().flat_map(|(values, n)| std::iter::repeat_n(values, *n as usize)).collect();
    for start in 0..places.len() {
        // Breadth first: from places to the values they could take, to the places that hold them.
        let mut from: FxHashMap<&CanonicalText, usize> = FxHashMap::default();
        let mut open = std::collections::VecDeque::from([start]);
        let mut free = None;
        'search: while let Some(place) = open.pop_front() {
            for value in places[place] {
                if from.contains_key(value) {
                    continue;
                }
                from.insert(value, place);
                match taken.get(value) {
                    Some(&holder) => open.push_back(holder),
                    None => {
                        free = Some(value);
                        break 'search;
                    }
                }
            }
        }
        let Some(mut value) = free else { return false };
        // Back to the start, each place taking the value that it was reached for.
        while let Some(&place) = from.get(value) {
            let before = places[place].iter().find(|v| taken.get(v) == Some(&place));
            taken.insert(value, place);
            match before {
                Some(before) if place != start => value = before,
                _ => break,
            }
        }
    }
    true
}

impl Sets<'_> {
    /// The sets that the next item may be in, each with what is known of the array then.
    pub(crate) fn item_ways(
        &mut self,
        array: &ArraySet,
        begun: &ArrayProgress,
    ) -> Vec<(Set, ArrayProgress)> {
        let at = (begun.at + 1).min(uniform_from(array));
        let item = array.item(begun.at as usize);
        let counted: Vec<usize> = (0..array.contains_counts.len())
            .filter(|&i| array.contains_counts[i].from <= begun.at)
            .collect();
        let mut ways = Vec::new();
        if array.max.is_some_and(|max| begun.at >= max) {
            return ways;
        }
        for choice in 0..1u32 << counted.len().min(MAX_COUNTED_KINDS) {
            let (mut counts, mut item, mut fits) = (begun.counts.clone(), item, true);
            for (k, &i) in counted.iter().enumerate() {
                let contains = array.contains_counts[i];
                if choice >> k & 1 == 1 {
                    item = self.and([item, contains.set]);
                    let most = contains.max.map_or(contains.min, |max| max.saturating_add(1));
                    counts[i] = (counts[i] + 1).min(most);
                    fits &= contains.max.is_none_or(|max| counts[i] <= max);
                } else if contains.max.is_some() {
                    let not = self.not(contains.set);
                    item = self.and([item, not]);
                }
            }
            if fits && item != Set::NEVER {
                ways.push((item, ArrayProgress { at, counts }));
            }
        }
        ways
    }

    /// The items of a set after which an array whose items must differ, or repeat, can be
    /// completed; that they differ from those used is checked elsewhere.
    pub(crate) fn items_that_lead_on(
        &mut self,
        array: &ArraySet,
        (set, next): (Set, &ArrayProgress),
        used: TextSet,
    ) -> Result<Set> {
        match array.equality {
            ItemEquality::May => Ok(set),
            ItemEquality::Never => items_that_leave_enough(self, array, (set, next), used),
            ItemEquality::Must => items_that_may_repeat(self, array, (set, next), used),
        }
    }
}

/// Whether an array whose items must differ can be completed after items with the values `used`.
fn can_differ(
    sets: &mut Sets<'_>,
    array: &ArraySet,
    begun: &ArrayProgress,
    used: TextSet,
) -> Result<bool> {
    if array.contains_counts.is_empty() || array.contains_counts.len() > MAX_COUNTED_KINDS {
        let cells = cells_ahead(array, begun.at);
        return has_enough_values(sets, &cells, used);
    }
    let mut seen = FxHashSet::default();
    let mut open = vec![(begun.clone(), Vec::new())];
    while let Some((begun, cells)) = open.pop() {
        if may_end(array, &begun) {
            return Ok(true);
        }
        for (set, next) in sets.item_ways(array, &begun) {
            // An item that changes nothing only takes a value away.
            if next.at == begun.at && next.counts == begun.counts {
                continue;
            }
            let mut cells: Vec<(Set, u32)> = cells.clone();
            match cells.iter_mut().find(|cell| cell.0 == set) {
                Some(cell) => cell.1 += 1,
                None => cells.push((set, 1)),
            }
            cells.sort_unstable();
            let most = (next.at as usize + sets.written.len(used)).min(MAX_LISTED_VALUES);
            // What has many values needs no place of its own.
            if values_if_fewer(sets, set, most + 1)?.is_none() {
                cells.retain(|cell| cell.0 != set);
            }
            if has_enough_values(sets, &cells, used)?
                && seen.insert((next.at, next.counts.clone(), cells.clone()))
            {
                open.push((next, cells));
            }
            check_array_states(sets, array, seen.len())?;
        }
    }
    Ok(false)
}

/// Whether an array of which two items must be equal can be completed. `used` are the items
/// written, `half` is the set of the first of the two if it was chosen, and `goal` is the set that
/// the second must be taken from.
fn can_repeat<'d>(
    sets: &mut Sets<'d>,
    array: &ArraySet,
    begun: &ArrayProgress,
    used: Set,
    half: Option<Set>,
    goal: Option<Set>,
    has_value: &mut dyn FnMut(&mut Sets<'d>, Set) -> Result<bool>,
) -> Result<bool> {
    let array = &shortened(array, begun.at);
    let mut seen = FxHashSet::default();
    let mut open = vec![(begun.clone(), half.map_or(EqualPair::None, EqualPair::Half))];
    while let Some((begun, pair)) = open.pop() {
        if pair == EqualPair::Both && may_end(array, &begun) {
            return Ok(true);
        }
        for (set, next) in sets.item_ways(array, &begun) {
            if !has_value(sets, set)? {
                continue;
            }
            let mut ways: SmallVec<[EqualPair; 3]> = smallvec::smallvec![pair];
            if pair == EqualPair::None {
                ways.push(EqualPair::Half(set));
            }
            let first = match pair {
                EqualPair::None => used,
                EqualPair::Half(first) => sets.or([first, used]),
                EqualPair::Both => Set::NEVER,
            };
            let both = sets.and([set, first]);
            if goal.is_none_or(|goal| goal == set) && has_value(sets, both)? {
                ways.push(EqualPair::Both);
            }
            for pair in ways {
                if seen.insert((next.at, next.counts.clone(), pair)) {
                    open.push((next.clone(), pair));
                }
            }
            check_array_states(sets, array, seen.len())?;
        }
    }
    Ok(false)
}

/// Whether the array can be completed from its start; `has_value` says which sets have values.
pub(crate) fn can_complete<'d>(
    sets: &mut Sets<'d>,
    array: &ArraySet,
    has_value: &mut dyn FnMut(&mut Sets<'d>, Set) -> Result<bool>,
) -> Result<bool> {
    let begun =
        ArrayProgress { at: 0, counts: SmallVec::from_elem(0, array.contains_counts.len()) };
    match array.equality {
        ItemEquality::May => Ok(true),
        ItemEquality::Never => can_differ(sets, array, &begun, TextSet::EMPTY),
        ItemEquality::Must => can_repeat(sets, array, &begun, Set::NEVER, None, None, has_value),
    }
}

fn items_that_leave_enough(
    sets: &mut Sets<'_>,
    array: &ArraySet,
    (set, next): (Set, &ArrayProgress),
    used: TextSet,
) -> Result<Set> {
    if !can_differ(sets, array, next, used)? {
        return Ok(Set::NEVER);
    }
    let ahead = if array.contains_counts.is_empty() {
        cells_ahead(array, next.at)
    } else {
        item_sets_with_counts(sets, array, next)?
    };
    let places: u32 = ahead.iter().fold(0, |sum, cell| sum.saturating_add(cell.1));
    let needed = (places as usize).saturating_add(sets.written.len(used)).saturating_add(1);
    let mut critical: Vec<CanonicalText> = Vec::new();
    for &(cell, _) in &ahead {
        let Some(values) = values_if_fewer(sets, cell, needed)? else { continue };
        let free = sets.written.others(used, &values);
        // One of these can be spared, whatever the other items are.
        if free.len() as u32 > places {
            continue;
        }
        if ahead.len() == 1 && array.contains_counts.is_empty() {
            // All are alike.
            let not = sets.not(cell);
            return Ok(sets.and([set, not]));
        }
        critical.extend(free);
    }
    critical.sort_unstable();
    critical.dedup();
    let mut left = vec![set];
    for value in critical {
        let used = sets.written.with(used, &value);
        if !can_differ(sets, array, next, used)? {
            let one = sets.text(&value);
            left.push(sets.not(one));
        }
    }
    Ok(sets.and(left))
}

fn items_that_may_repeat(
    sets: &mut Sets<'_>,
    array: &ArraySet,
    (set, next): (Set, &ArrayProgress),
    used: TextSet,
) -> Result<Set> {
    let has_value = &mut |this: &mut Sets<'_>, set| Ok(set == Set::ANY || !this.is_empty(set)?);
    if can_repeat(sets, array, next, Set::NEVER, None, None, has_value)? {
        return Ok(set);
    }
    let used = sets.written.values(used);
    let used: Vec<Set> = used.iter().map(|text| sets.text(text)).collect();
    let used = sets.or(used);
    if can_repeat(sets, array, next, used, None, None, has_value)? {
        return Ok(set);
    }
    // This one is equal to one before, or to one that comes.
    let mut ways = vec![sets.and([set, used])];
    for (cell, _) in item_sets_with_counts(sets, array, next)? {
        let half = sets.and([set, cell]);
        if has_value(sets, half)?
            && can_repeat(sets, array, next, Set::NEVER, Some(half), Some(cell), has_value)?
        {
            ways.push(half);
        }
    }
    Ok(sets.or(ways))
}

/// The sets of items that may come, each once, with the most items that can be needed.
fn item_sets_with_counts(
    sets: &mut Sets<'_>,
    array: &ArraySet,
    begun: &ArrayProgress,
) -> Result<Vec<(Set, u32)>> {
    let array = &match array.equality {
        ItemEquality::Must => shortened(array, begun.at),
        _ => array.clone(),
    };
    let asked =
        array.contains_counts.iter().fold(0u32, |sum, contains| sum.saturating_add(contains.min));
    let most = uniform_from(array).saturating_add(asked);
    let mut cells: Vec<(Set, u32)> = Vec::new();
    let mut seen = FxHashSet::default();
    let mut open = vec![begun.clone()];
    while let Some(begun) = open.pop() {
        for (set, next) in sets.item_ways(array, &begun) {
            if !cells.iter().any(|cell| cell.0 == set) {
                cells.push((set, most));
            }
            if seen.insert((next.at, next.counts.clone())) {
                open.push(next);
            }
        }
        check_array_states(sets, array, seen.len())?;
    }
    Ok(cells)
}

/// Whether there are enough values for items in these sets, so many of each, that differ from each
/// other and from those used.
fn has_enough_values(sets: &mut Sets<'_>, cells: &[(Set, u32)], used: TextSet) -> Result<bool> {
    let places: u32 = cells.iter().fold(0, |sum, cell| sum.saturating_add(cell.1));
    let needed = (places as usize).saturating_add(sets.written.len(used));
    let mut few: Vec<(Vec<CanonicalText>, u32)> = Vec::new();
    for &(set, places) in cells {
        if let Some(values) = values_if_fewer(sets, set, needed)? {
            let free = sets.written.others(used, &values);
            if free.len() < places as usize {
                return Ok(false);
            }
            few.push((free, places));
        }
    }
    let places: usize = few.iter().map(|few| few.1 as usize).sum();
    if few.len() <= 1 || few.iter().all(|few| few.0.len() >= places) {
        return Ok(true);
    }
    Ok(is_matched(&few))
}

fn check_array_states(sets: &Sets<'_>, array: &ArraySet, states: usize) -> Result<()> {
    if states <= MAX_ARRAY_STATES {
        return Ok(());
    }
    let message = format!(
        "which items an array still needs, where they must differ, takes more than {MAX_ARRAY_STATES} \
         states"
    );
    let place = array.origins.0.first().copied().unwrap_or_else(|| sets.document.root());
    let error = sets.document.error(ErrorKind::Limit, place, message);
    Err(error.with_help("ask for fewer items, or let one schema apply to all of them"))
}
