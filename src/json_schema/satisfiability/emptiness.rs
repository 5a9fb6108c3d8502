//! Emptiness of sets, as a least fixed point.
//!
//! JSON values are finite, so a set has a value only if it has one whose children are smaller. The
//! sets that a value might need are collected as a graph; then rounds mark the sets that have a
//! value given those marked before, until nothing changes. What is unmarked is empty:
//!
//! ```text
//! node = {"required": ["next"], "properties": {"next": node}}   never marked: empty
//! list = {"properties": {"next": list}}                         {} has no children: marked at once
//! ```
//!
//! *Invariant:* what is stored in the memo table holds without assumptions.

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
use crate::json_schema::set::array_set::{ArraySet, ItemEquality, MAX_COUNTED_KINDS};
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::membership::{contains_empty_object, has_no_scalar};
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, SetExpr, Sets, Shape};
use crate::regular::Language;

/// Combinations of counts beyond which an array is taken to have a value: the emitter refuses what
/// is larger.
const MAX_COUNT_STATES: usize = 10_000;

/// A set that is not decided yet: it has a value if one of its alternatives has.
struct UndecidedSet {
    set: Set,
    arrays: Vec<ArrayAlternatives>,
    objects: Vec<ObjectAlternatives>,
}

/// An array set, with what its values need.
struct ArrayAlternatives {
    set: ArraySet,
    /// By index of an item, the last entry for all further ones: the sets that an item there may be
    /// in, each with the `contains` counts that it adds to, as bits.
    places: Vec<Vec<(u32, Set)>>,
    /// Whether as many items can differ, or two be equal, as `uniqueItems` or its complement
    /// requires.
    enough: bool,
    /// The set of two items that must be equal, and the number of items that it takes.
    equals: Vec<(Set, u32)>,
}

/// An object set, with what its values need.
struct ObjectAlternatives {
    set: ObjectSet,
    /// By class, its number of keys, up to the bound that matters.
    keys: Vec<u32>,
    graph: MemberGraph,
}

/// The states of the search for members that meet a formula: from each state the next ones, with a
/// set that must have a value, if any.
#[derive(Default)]
struct MemberGraph {
    steps: Vec<Vec<(Option<Set>, usize)>>,
    /// By state, whether it is a goal.
    goals: Vec<bool>,
}

impl MemberGraph {
    /// Whether a goal is reached through sets that have a value.
    fn reaches_goal(&self, known: impl Fn(Set) -> bool) -> bool {
        let (mut seen, mut open) = (vec![false; self.goals.len()], vec![0]);
        while let Some(at) = open.pop() {
            if self.goals[at] {
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

impl UndecidedSet {
    fn has_value(&self, known: impl Fn(Set) -> bool + Copy) -> bool {
        self.arrays.iter().any(|a| a.has_value(known))
            || self.objects.iter().any(|o| o.has_value(known))
    }
}

impl ArrayAlternatives {
    /// Whether an array exists, given the sets that have a value. Monotone in `known`.
    fn has_value(&self, known: impl Fn(Set) -> bool + Copy) -> bool {
        let (min, max) = (self.set.min, self.set.max.unwrap_or(u32::MAX));
        if max < min || !self.enough {
            return false;
        }
        if self.set.equality == ItemEquality::Must {
            let prefix = |length: u32| {
                let items = self.set.prefix.iter().take(length as usize);
                items.copied().all(known)
            };
            let fits = |&(set, length): &(Set, u32)| length <= max && known(set) && prefix(length);
            if !self.equals.iter().any(fits) {
                return false;
            }
        }
        let contains_counts = &self.set.contains_counts;
        if contains_counts.is_empty() || contains_counts.len() > MAX_COUNTED_KINDS {
            let named = self.set.prefix.iter().take(min as usize);
            let mut named = named.copied();
            return named.all(known)
                && (min as usize <= self.set.prefix.len() || known(self.set.rest));
        }
        let enough = |counts: &[u32]| {
            contains_counts.iter().zip(counts).all(|(contains, &n)| n >= contains.min)
        };
        // Sets of counts that arrays of each length can have.
        let asked =
            contains_counts.iter().fold(0u32, |sum, contains| sum.saturating_add(contains.min));
        let last = max.min((self.places.len() as u32).max(min).saturating_add(asked));
        let mut open = BTreeSet::from([SmallVec::<[u32; 4]>::from_elem(0, contains_counts.len())]);
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
                    let fits = contains_counts.iter().zip(&mut counts).enumerate().all(
                        |(i, (contains, n))| {
                            let cap =
                                contains.max.map_or(contains.min, |max| max.saturating_add(1));
                            *n = (*n + (mask >> i & 1)).min(cap);
                            contains.max.is_none_or(|max| *n <= max)
                        },
                    );
                    if fits {
                        next.insert(counts);
                    }
                }
            }
            work += next.len();
            if work > MAX_COUNT_STATES {
                return true;
            }
            open = next;
        }
        false
    }
}

impl ObjectAlternatives {
    /// Whether an object exists, given the sets that have a value. Monotone in `known`.
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
        self.graph.reaches_goal(known)
    }
}

impl Sets<'_> {
    /// Whether the set has no value.
    pub(crate) fn is_empty(&mut self, set: Set) -> Result<bool> {
        let assumed = FxHashSet::default();
        is_empty_assuming(self, set, &assumed)
    }

    /// Whether the set has provably no value, even while other sets are unfolding; no where that
    /// cannot be decided now.
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

    /// The number of keys in a language, at most `most`; a key counts once, however it is spelled.
    pub(crate) fn count_keys(&mut self, keys: Language, most: u32) -> Result<u32> {
        let keys = self.strings.canonical(&mut self.languages, keys);
        count_strings(&mut self.languages, keys, most)
    }

    /// Whether an object set has no value, its formula left out.
    pub(crate) fn object_is_empty(&mut self, object: &ObjectSet) -> Result<bool> {
        if contains_empty_object(self, object) {
            return Ok(false);
        }
        let object = ObjectSet { formula: MemberFormula::HOLDS, ..object.clone() };
        let mut needed = Vec::new();
        let alternatives = object_alternatives(self, &object, &mut needed)?;
        let has_value = sets_with_values(self, needed)?;
        Ok(!alternatives.has_value(|set| has_value.contains(&set)))
    }

    /// Whether an array set has no value.
    pub(crate) fn array_is_empty(&mut self, array: &ArraySet) -> Result<bool> {
        if array.holds_empty() {
            return Ok(false);
        }
        let mut needed = Vec::new();
        let alternatives = array_alternatives(self, array, &mut needed)?;
        let has_value = sets_with_values(self, needed)?;
        Ok(!alternatives.has_value(|set| has_value.contains(&set)))
    }
}

/// Whether the text of its schema alone shows that the set has a value, which is then remembered.
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

/// Emptiness on the assumption that some sets have values; what is stored holds without it.
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
        sets.add_steps(50);
        sets.check_work(next)?;
        match undecided_alternatives(sets, next, &mut open)
            .map_err(|error| sets.with_place(error, next))?
        {
            Some(this) => undecided.push(this),
            None => {
                sets.memo.emptiness.insert(next, false);
            }
        }
        // Checked again here, so that the error names the set whose unfolding used up the budget.
        sets.check_work(next)?;
    }
    loop {
        let before = undecided.len();
        sets.add_steps(before);
        sets.check_work(set)?;
        // Sets met last mostly need no other undecided set. Visiting them first resolves a chain in
        // one round. (The direction alternates between rounds.)
        undecided.reverse();
        undecided.retain(|this: &UndecidedSet| {
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

/// The alternatives of a set, which need `needed`; `None` if it has a value without children.
fn undecided_alternatives(
    sets: &mut Sets<'_>,
    set: Set,
    needed: &mut Vec<Set>,
) -> Result<Option<UndecidedSet>> {
    let shape = sets.shape(set)?;
    if holds_childless_value(sets, &shape)? {
        return Ok(None);
    }
    let mut this = UndecidedSet { set, arrays: Vec::new(), objects: Vec::new() };
    for array in &shape.arrays {
        this.arrays.push(array_alternatives(sets, array, needed)?);
    }
    for object in &shape.objects {
        this.objects.push(object_alternatives(sets, object, needed)?);
    }
    Ok(Some(this))
}

/// The candidates that have a value.
fn sets_with_values(sets: &mut Sets<'_>, candidates: Vec<Set>) -> Result<FxHashSet<Set>> {
    let mut found = FxHashSet::default();
    for set in candidates {
        if set == Set::ANY || !sets.is_empty(set)? {
            found.insert(set);
        }
    }
    Ok(found)
}

/// Whether the set has a value without children, or one that is known.
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

/// The sets of two equal items, with the number of items that each pair of places takes.
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

/// Collects what the arrays of a set need; adds the sets that must be decided to `needed`.
fn array_alternatives(
    sets: &mut Sets<'_>,
    array: &ArraySet,
    needed: &mut Vec<Set>,
) -> Result<ArrayAlternatives> {
    let enough = {
        let may = &mut |this: &mut Sets<'_>, set| Ok(!is_provably_scalar_empty(this, set));
        can_complete(sets, array, may)?
    };
    let equals = match array.equality {
        ItemEquality::Must => equal_item_pairs(sets, array),
        _ => Vec::new(),
    };
    needed.extend(equals.iter().map(|&(set, _)| set));
    if array.equality == ItemEquality::Must {
        needed.extend(&array.prefix);
    }
    let mut places: Vec<Vec<(u32, Set)>> = Vec::new();
    if array.contains_counts.is_empty() || array.contains_counts.len() > MAX_COUNTED_KINDS {
        needed.extend(array.prefix.iter().take(array.min as usize));
        if array.min as usize > array.prefix.len() {
            needed.push(array.rest);
        }
        return Ok(ArrayAlternatives { set: array.clone(), places, enough, equals });
    }
    let from =
        array.contains_counts.iter().map(|contains| contains.from as usize).max().unwrap_or(0);
    for place in 0..=array.prefix.len().max(from) {
        let counted: Vec<usize> = (0..array.contains_counts.len())
            .filter(|&i| array.contains_counts[i].from as usize <= place)
            .collect();
        sets.add_steps(20 << counted.len());
        sets.check_work(array.rest)?;
        let mut options = Vec::new();
        for choice in 0..1u32 << counted.len() {
            let (mut mask, mut item) = (0, array.item(place));
            for (k, &i) in counted.iter().enumerate() {
                let contains = array.contains_counts[i];
                if choice >> k & 1 == 1 {
                    mask |= 1 << i;
                    item = sets.and([item, contains.set]);
                } else if contains.max.is_some() {
                    let not = sets.not(contains.set);
                    item = sets.and([item, not]);
                }
            }
            if item != Set::NEVER {
                needed.push(item);
                options.push((mask, item));
            }
        }
        places.push(options);
    }
    Ok(ArrayAlternatives { set: array.clone(), places, enough, equals })
}

/// Collects what the objects of a set need; adds the sets that must be decided to `needed`.
fn object_alternatives(
    sets: &mut Sets<'_>,
    object: &ObjectSet,
    needed: &mut Vec<Set>,
) -> Result<ObjectAlternatives> {
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
    let graph = member_graph(sets, object, needed)?;
    Ok(ObjectAlternatives { set: object.clone(), keys, graph })
}

/// The states of the search for members that meet the formula; adds the sets that must be decided
/// to `needed`.
fn member_graph<'d>(
    sets: &mut Sets<'d>,
    object: &ObjectSet,
    needed: &mut Vec<Set>,
) -> Result<MemberGraph> {
    if object.formula == MemberFormula::HOLDS {
        return Ok(MemberGraph { steps: vec![Vec::new()], goals: vec![true] });
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
        return Ok(MemberGraph { steps: vec![Vec::new()], goals: vec![found == Some(true)] });
    }
    let (mut graph, mut states) = (MemberGraph::default(), vec![start]);
    let mut ids = FxHashMap::from_iter([(start, 0)]);
    while graph.steps.len() < states.len() {
        let state = states[graph.steps.len()];
        let is_end = is_goal(sets, &search, state);
        let mut steps = Vec::new();
        if !is_end {
            for (set, to) in search_steps(sets, &search, state)? {
                let to = *ids.entry(to).or_insert_with(|| {
                    states.push(to);
                    states.len() - 1
                });
                needed.extend(set);
                steps.push((set, to));
            }
        }
        graph.steps.push(steps);
        graph.goals.push(is_end);
        check_search_steps(sets, states.len())?;
    }
    Ok(graph)
}
