//! Which sets have no value at all.
//!
//! JSON values are finite, so a set has a value only if it has one whose children are smaller:
//! emptiness is a least fixed point, and a node that requires a node that requires … is empty.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::deadline;
use crate::error::Result;
use crate::json_schema::satisfiability::member_alternatives::check_search_steps;
use crate::json_schema::satisfiability::member_search::{
    finds_members, formula_with_min, is_goal, search_steps,
};
use crate::json_schema::satisfiability::quick_satisfiability;
use crate::json_schema::satisfiability::scalar_emptiness::is_provably_scalar_empty;
use crate::json_schema::satisfiability::unique_items::can_complete;
use crate::json_schema::satisfiability::value_listing::count_strings;
use crate::json_schema::set::array_set::{ArraySet, MAX_COUNTED_KINDS, Repeats};
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::membership::{contains_empty_object, has_no_scalar};
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, SetExpr, Sets, Shape};
use crate::regular::Language;

/// States of counting beyond which an array is taken to have a value.
const STATES: usize = 10_000;

/// A set not decided yet: any of these would give it a value.
struct Undecided {
    set: Set,
    arrays: Vec<Array>,
    objects: Vec<Object>,
}

/// The items that an array may have.
struct Array {
    set: ArraySet,
    /// For each place before the last rule changes, and then for all further ones: the counts
    /// that an item there adds to (one bit each), with the set of such items.
    places: Vec<Vec<(u32, Set)>>,
    /// Can as many items differ, or two be equal, as must?
    enough: bool,
    /// Where two items must be equal: what the two may be, and how many items that takes.
    equals: Vec<(Set, u32)>,
}

/// The members that an object may have.
struct Object {
    set: ObjectSet,
    /// How many keys without a name each class has, as far as that matters.
    keys: Vec<u32>,
    ways: Ways,
}

/// The ways to meet what is asked of an object's members, as a graph: from each place, the places
/// that a step leads to, with a set of which a value is needed.
#[derive(Default)]
struct Ways {
    steps: Vec<Vec<(Option<Set>, usize)>>,
    /// Places from which nothing more is needed.
    met: Vec<bool>,
}

impl Ways {
    /// Is a place reached from which nothing more is needed?
    fn lead_on(&self, known: impl Fn(Set) -> bool) -> bool {
        let (mut seen, mut open) = (vec![false; self.met.len()], vec![0]);
        while let Some(at) = open.pop() {
            if self.met[at] {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                let steps = self.steps[at].iter();
                open.extend(steps.filter(|(set, _)| set.is_none_or(&known)).map(|step| step.1));
            }
        }
        false
    }
}

impl Undecided {
    fn has_value(&self, known: impl Fn(Set) -> bool + Copy) -> bool {
        self.arrays.iter().any(|a| a.has_value(known))
            || self.objects.iter().any(|o| o.has_value(known))
    }
}

impl Array {
    /// Has it any array, given which sets are known to have a value? Monotone in `known`.
    fn has_value(&self, known: impl Fn(Set) -> bool + Copy) -> bool {
        let (min, max) = (self.set.min, self.set.max.unwrap_or(u32::MAX));
        if max < min || !self.enough {
            return false;
        }
        if self.set.repeats == Repeats::Must {
            let prefix = |length: u32| {
                let items = self.set.prefix.iter().take(length as usize);
                items.copied().all(known)
            };
            let fits = |&(set, length): &(Set, u32)| length <= max && known(set) && prefix(length);
            if !self.equals.iter().any(fits) {
                return false;
            }
        }
        let some = &self.set.some;
        if some.is_empty() || some.len() > MAX_COUNTED_KINDS {
            let named = self.set.prefix.iter().take(min as usize);
            let mut named = named.copied();
            return named.all(known)
                && (min as usize <= self.set.prefix.len() || known(self.set.rest));
        }
        let enough = |counts: &[u32]| some.iter().zip(counts).all(|(some, &n)| n >= some.min);
        // Sets of counts that arrays of each length can have.
        let asked = some.iter().fold(0u32, |sum, some| sum.saturating_add(some.min));
        let last = max.min((self.places.len() as u32).max(min).saturating_add(asked));
        let mut open = BTreeSet::from([SmallVec::<[u32; 4]>::from_elem(0, some.len())]);
        let mut work = 0;
        for length in 0..=last {
            if length >= min && open.iter().any(|counts| enough(counts)) {
                return true;
            }
            let place = &self.places[(length as usize).min(self.places.len() - 1)];
            let mut next = BTreeSet::new();
            for &(mask, _) in place.iter().filter(|&&(_, set)| known(set)) {
                for counts in &open {
                    let mut counts = counts.clone();
                    let fits = some.iter().zip(&mut counts).enumerate().all(|(i, (some, n))| {
                        let cap = some.max.map_or(some.min, |max| max.saturating_add(1));
                        *n = (*n + (mask >> i & 1)).min(cap);
                        some.max.is_none_or(|max| *n <= max)
                    });
                    if fits {
                        next.insert(counts);
                    }
                }
            }
            work += next.len();
            if work > STATES {
                return true;
            }
            open = next;
        }
        false
    }
}

impl Object {
    /// Has it any object, given which sets are known to have a value? Monotone in `known`.
    fn has_value(&self, known: impl Fn(Set) -> bool + Copy) -> bool {
        let set = &self.set;
        let (min, max) = (set.min as usize, set.max.map_or(usize::MAX, |max| max as usize));
        let required = set.required();
        if max < required || max < min {
            return false;
        }
        if !set.named.iter().all(|named| !named.required || known(named.set)) {
            return false;
        }
        if min > required {
            let named = set.named.iter().filter(|named| named.required || known(named.set)).count();
            let classes = set.classes.iter().zip(&self.keys);
            let others: usize =
                classes.filter(|(class, _)| known(class.set)).map(|(_, &n)| n as usize).sum();
            if named + others < min {
                return false;
            }
        }
        self.ways.lead_on(known)
    }
}

impl Sets<'_> {
    /// Has the set no value?
    pub(crate) fn is_empty(&mut self, set: Set) -> Result<bool> {
        let assumed = FxHashSet::default();
        is_empty_assuming(self, set, &assumed)
    }

    /// Is it certain that the set has no value, even while some sets are still unfolding?
    pub(crate) fn is_provably_empty(&mut self, set: Set) -> bool {
        if !self.budget.may_decide() {
            return false;
        }
        let open = self.unfolding.open.len();
        let assumed: FxHashSet<Set> = self.unfolding.open.iter().copied().collect();
        match is_empty_assuming(self, set, &assumed) {
            Ok(empty) => empty,
            Err(_) => {
                // What cannot be decided now is an error, if it is one, when it is needed.
                self.unfolding.open.truncate(open);
                self.budget.note_undecided();
                false
            }
        }
    }

    /// How many keys there are of some, or `most` if there are more: one is one, however it is
    /// spelled.
    pub(crate) fn count_keys(&mut self, keys: Language, most: u32) -> Result<u32> {
        let keys = self.strings.canonical(&mut self.languages, keys);
        count_strings(&mut self.languages, keys, most)
    }

    /// Has an alternative of a set no value, its condition apart? It may have none where another
    /// alternative has.
    pub(crate) fn object_is_empty(&mut self, object: &ObjectSet) -> Result<bool> {
        if contains_empty_object(self, object) {
            return Ok(false);
        }
        let object = ObjectSet { condition: MemberFormula::HOLDS, ..object.clone() };
        let mut needed = Vec::new();
        let ways = object_alternatives(self, &object, &mut needed)?;
        let has_value = sets_with_values(self, needed)?;
        Ok(!ways.has_value(|set| has_value.contains(&set)))
    }

    /// The same for arrays.
    pub(crate) fn array_is_empty(&mut self, array: &ArraySet) -> Result<bool> {
        if array.holds_empty() {
            return Ok(false);
        }
        let mut needed = Vec::new();
        let ways = array_alternatives(self, array, &mut needed)?;
        let has_value = sets_with_values(self, needed)?;
        Ok(!ways.has_value(|set| has_value.contains(&set)))
    }
}

/// Has the set a value by the text of its schema alone? If so, it is remembered.
fn has_quick_value(sets: &mut Sets<'_>, set: Set) -> bool {
    let evident = match *sets.expr(set) {
        // What is listed is there.
        SetExpr::Any | SetExpr::Value(_) | SetExpr::Text(_) => true,
        SetExpr::Schema(at, _) => {
            let (references, digits) = (&mut sets.references, sets.options.digits);
            sets.ignored.is_empty()
                && quick_satisfiability::has_value(sets.document, references, at, digits)
        }
        _ => false,
    };
    if evident {
        sets.memo.emptiness.insert(set, false);
    }
    evident
}

/// Emptiness if the assumed sets have values; what is remembered holds without assumptions.
fn is_empty_assuming(sets: &mut Sets<'_>, set: Set, assumed: &FxHashSet<Set>) -> Result<bool> {
    if let Some(&empty) = sets.memo.emptiness.get(&set) {
        return Ok(empty);
    }
    if has_quick_value(sets, set) {
        return Ok(false);
    }
    // Everything that a value of the set might need, then rounds until nothing new is found
    // to have a value.
    let mut has_value: FxHashSet<Set> = assumed.clone();
    let mut seen: FxHashSet<Set> = assumed.clone();
    let mut undecided = Vec::new();
    let mut open = vec![set];
    while let Some(next) = open.pop() {
        deadline::check()?;
        if sets.memo.emptiness.contains_key(&next) || !seen.insert(next) {
            continue;
        }
        if has_quick_value(sets, next) {
            continue;
        }
        sets.spend(50);
        sets.check_work(next)?;
        match undecided_alternatives(sets, next, &mut open)
            .map_err(|error| sets.placed(error, next))?
        {
            Some(this) => undecided.push(this),
            None => {
                sets.memo.emptiness.insert(next, false);
            }
        }
        // It is this one that took too long.
        sets.check_work(next)?;
    }
    loop {
        let before = undecided.len();
        sets.spend(before);
        sets.check_work(set)?;
        // What was met last leads to nothing else, mostly.
        undecided.reverse();
        undecided.retain(|this: &Undecided| {
            let known = |set: Set| {
                sets.memo.emptiness.get(&set) == Some(&false) || has_value.contains(&set)
            };
            let found = this.has_value(known);
            if found {
                has_value.insert(this.set);
            }
            !found
        });
        if undecided.len() == before {
            break;
        }
    }
    // Assumptions only ever add values: what is empty with them is empty without.
    for this in &undecided {
        sets.memo.emptiness.insert(this.set, true);
    }
    if assumed.is_empty() {
        sets.memo.emptiness.extend(has_value.iter().map(|&set| (set, false)));
    }
    Ok(undecided.iter().any(|this| this.set == set))
}

/// What a value of a set needs, and the sets that it might need for that; `None` if it plainly
/// has one.
fn undecided_alternatives(
    sets: &mut Sets<'_>,
    set: Set,
    needed: &mut Vec<Set>,
) -> Result<Option<Undecided>> {
    let shape = sets.shape(set)?;
    if holds_childless_value(sets, &shape)? {
        return Ok(None);
    }
    let mut this = Undecided { set, arrays: Vec::new(), objects: Vec::new() };
    for array in &shape.arrays {
        this.arrays.push(array_alternatives(sets, array, needed)?);
    }
    for object in &shape.objects {
        this.objects.push(object_alternatives(sets, object, needed)?);
    }
    Ok(Some(this))
}

/// Those of some sets that have a value.
fn sets_with_values(sets: &mut Sets<'_>, candidates: Vec<Set>) -> Result<FxHashSet<Set>> {
    let mut found = FxHashSet::default();
    for set in candidates {
        if set == Set::ANY || !sets.is_empty(set)? {
            found.insert(set);
        }
    }
    Ok(found)
}

/// Is a value of the set known, or one that has no children?
fn has_childless_value(sets: &mut Sets<'_>, set: Set) -> Result<bool> {
    if let Some(&empty) = sets.memo.emptiness.get(&set) {
        return Ok(!empty);
    }
    if sets.unfolding.open.contains(&set) {
        return Ok(false);
    }
    let shape = sets.shape(set)?;
    let plain = holds_childless_value(sets, &shape)?;
    if plain {
        sets.memo.emptiness.insert(set, false);
    }
    Ok(plain)
}

fn holds_childless_value(sets: &mut Sets<'_>, shape: &Shape) -> Result<bool> {
    let free = shape.arrays.iter().any(ArraySet::holds_empty)
        || shape.objects.iter().any(|object| contains_empty_object(sets, object));
    Ok(free || !has_no_scalar(sets, shape)?)
}

/// What two equal items of an array may be, and how many items there are then at least.
fn equal_item_pairs(sets: &mut Sets<'_>, array: &ArraySet) -> Vec<(Set, u32)> {
    let places = array.prefix.len().min(MAX_COUNTED_KINDS);
    let mut pairs = Vec::new();
    for second in 1..places + 2 {
        for first in 0..second.min(places + 1) {
            let both = sets.and([array.item(first), array.item(second)]);
            pairs.push((both, second as u32 + 1));
        }
    }
    pairs
}

/// The items of an array; `needed` grows by the sets that must be known.
fn array_alternatives(
    sets: &mut Sets<'_>,
    array: &ArraySet,
    needed: &mut Vec<Set>,
) -> Result<Array> {
    let enough = {
        let may = &mut |this: &mut Sets<'_>, set| Ok(!is_provably_scalar_empty(this, set));
        can_complete(sets, array, may)?
    };
    let equals = match array.repeats {
        Repeats::Must => equal_item_pairs(sets, array),
        _ => Vec::new(),
    };
    needed.extend(equals.iter().map(|&(set, _)| set));
    if array.repeats == Repeats::Must {
        needed.extend(&array.prefix);
    }
    let mut places: Vec<Vec<(u32, Set)>> = Vec::new();
    if array.some.is_empty() || array.some.len() > MAX_COUNTED_KINDS {
        needed.extend(array.prefix.iter().take(array.min as usize));
        if array.min as usize > array.prefix.len() {
            needed.push(array.rest);
        }
        return Ok(Array { set: array.clone(), places, enough, equals });
    }
    let from = array.some.iter().map(|some| some.from as usize).max().unwrap_or(0);
    for place in 0..=array.prefix.len().max(from) {
        let counted: Vec<usize> =
            (0..array.some.len()).filter(|&i| array.some[i].from as usize <= place).collect();
        sets.spend(20 << counted.len());
        sets.check_work(array.rest)?;
        let mut ways = Vec::new();
        for choice in 0..1u32 << counted.len() {
            let (mut mask, mut item) = (0, array.item(place));
            for (k, &i) in counted.iter().enumerate() {
                let some = array.some[i];
                if choice >> k & 1 == 1 {
                    mask |= 1 << i;
                    item = sets.and([item, some.set]);
                } else if some.max.is_some() {
                    let not = sets.not(some.set);
                    item = sets.and([item, not]);
                }
            }
            if item != Set::NEVER {
                needed.push(item);
                ways.push((mask, item));
            }
        }
        places.push(ways);
    }
    Ok(Array { set: array.clone(), places, enough, equals })
}

/// The members of an object; `needed` grows by the sets that must be known.
fn object_alternatives(
    sets: &mut Sets<'_>,
    object: &ObjectSet,
    needed: &mut Vec<Set>,
) -> Result<Object> {
    let all = object.min as usize > object.required();
    needed.extend(object.named.iter().filter(|n| all || n.required).map(|n| n.set));
    let mut keys = Vec::new();
    if all {
        let names = sets.names(object);
        needed.extend(object.classes.iter().map(|class| class.set));
        for class in &object.classes {
            let others = sets.languages.difference(class.keys, names);
            keys.push(sets.count_keys(others, object.min)?);
        }
    }
    let ways = member_graph(sets, object, needed)?;
    Ok(Object { set: object.clone(), keys, ways })
}

/// The ways to meet what is asked of an object's members; `needed` grows by the sets that must
/// be known.
fn member_graph<'d>(
    sets: &mut Sets<'d>,
    object: &ObjectSet,
    needed: &mut Vec<Set>,
) -> Result<Ways> {
    if object.condition == MemberFormula::HOLDS {
        return Ok(Ways { steps: vec![Vec::new()], met: vec![true] });
    }
    let others = sets.other_keys(object)?;
    let others = sets.with_counts(others)?;
    let members = object.named.iter().map(|n| (&n.key, n.set, n.required));
    let asked = formula_with_min(sets, object);
    let (search, start) = sets.search(asked, 0, object.max, members, others)?;
    // Mostly scalars will do, which have no children to be known first.
    let plain = &mut |this: &mut Sets<'d>, set| has_childless_value(this, set);
    let mut found = finds_members(sets, &search, start, plain)?;
    if found.is_none() {
        found = Some(sets.finds_any(object.clone(), plain, &mut 0)?);
    }
    let may = &mut |_: &mut Sets<'d>, _| Ok(true);
    if found == Some(true) || !sets.finds_any(object.clone(), may, &mut 0)? {
        return Ok(Ways { steps: vec![Vec::new()], met: vec![found == Some(true)] });
    }
    let (mut ways, mut places) = (Ways::default(), vec![start]);
    let mut ids = FxHashMap::from_iter([(start, 0)]);
    while ways.steps.len() < places.len() {
        let place = places[ways.steps.len()];
        let met = is_goal(sets, &search, place);
        let mut steps = Vec::new();
        if !met {
            for (set, to) in search_steps(sets, &search, place)? {
                let to = *ids.entry(to).or_insert_with(|| {
                    places.push(to);
                    places.len() - 1
                });
                needed.extend(set);
                steps.push((set, to));
            }
        }
        ways.steps.push(steps);
        ways.met.push(met);
        check_search_steps(sets, places.len())?;
    }
    Ok(ways)
}
