//! Which sets have no value at all.
//!
//! JSON values are finite, so a set has a value only if it has one whose children are smaller:
//! emptiness is a least fixed point, and a node that requires a node that requires … is empty.

use rustc_hash::FxHashSet;

use super::array::ArraySet;
use super::object::ObjectSet;
use super::set::{Set, Sets};
use crate::error::Result;

/// A set not decided yet: any of these would give it a value.
struct Undecided {
    set: Set,
    arrays: Vec<(ArraySet, Vec<Vec<Set>>)>,
    objects: Vec<(ObjectSet, Vec<Vec<Set>>)>,
}

impl Undecided {
    fn has_value(&self, sets: &Sets<'_>, known: impl Fn(Set) -> bool + Copy) -> bool {
        let all =
            |witnesses: &[Vec<Set>]| witnesses.iter().all(|any| any.iter().any(|&set| known(set)));
        self.arrays.iter().any(|(a, w)| all(w) && sets.array_has_value(a, known))
            || self.objects.iter().any(|(o, w)| all(w) && sets.object_has_value(o, known))
    }
}

impl Sets<'_> {
    /// Has the set no value?
    pub(super) fn is_empty(&mut self, set: Set) -> Result<bool> {
        let assumed = FxHashSet::default();
        self.is_empty_assuming(set, &assumed)
    }

    /// Is it certain that the set has no value, even while some sets are still unfolding?
    pub(super) fn is_surely_empty(&mut self, set: Set) -> bool {
        let open = self.open.len();
        let assumed: FxHashSet<Set> = self.open.iter().copied().collect();
        match self.is_empty_assuming(set, &assumed) {
            Ok(empty) => empty,
            Err(_) => {
                // What cannot be decided now is an error, if it is one, when it is needed.
                self.open.truncate(open);
                false
            }
        }
    }

    /// Emptiness if the assumed sets have values; what is remembered holds without assumptions.
    fn is_empty_assuming(&mut self, set: Set, assumed: &FxHashSet<Set>) -> Result<bool> {
        if let Some(&empty) = self.emptiness.get(&set) {
            return Ok(empty);
        }
        // Everything that a value of the set might need, then rounds until nothing new is found
        // to have a value.
        let mut has_value: FxHashSet<Set> = assumed.clone();
        let mut seen: FxHashSet<Set> = assumed.clone();
        let mut undecided = Vec::new();
        let mut open = vec![set];
        while let Some(next) = open.pop() {
            if self.emptiness.contains_key(&next) || !seen.insert(next) {
                continue;
            }
            let shape = self.shape(next)?;
            let free = shape.arrays.iter().any(|a| a.min == 0 && a.some.is_empty())
                || shape
                    .objects
                    .iter()
                    .any(|o| o.min == 0 && o.required() == 0 && o.some.is_empty());
            if free || !self.scalarless(&shape)? {
                self.emptiness.insert(next, false);
                continue;
            }
            let mut this = Undecided { set: next, arrays: Vec::new(), objects: Vec::new() };
            for array in &shape.arrays {
                open.extend(array.prefix.iter().take(array.min as usize));
                if array.min as usize > array.prefix.len() {
                    open.push(array.rest);
                }
                let witnesses = self.array_witnesses(array);
                open.extend(witnesses.iter().flatten());
                this.arrays.push((array.clone(), witnesses));
            }
            for object in &shape.objects {
                let all = object.min as usize > object.required();
                open.extend(object.named.iter().filter(|n| all || n.required).map(|n| n.set));
                if all {
                    open.extend(object.classes.iter().map(|class| class.set));
                }
                let witnesses = self.object_witnesses(object)?;
                open.extend(witnesses.iter().flatten());
                this.objects.push((object.clone(), witnesses));
            }
            undecided.push(this);
        }
        loop {
            let before = undecided.len();
            undecided.retain(|this: &Undecided| {
                let known =
                    |set: Set| self.emptiness.get(&set) == Some(&false) || has_value.contains(&set);
                let found = this.has_value(self, known);
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
            self.emptiness.insert(this.set, true);
        }
        if assumed.is_empty() {
            self.emptiness.extend(has_value.iter().map(|&set| (set, false)));
        }
        Ok(undecided.iter().any(|this| this.set == set))
    }
}
