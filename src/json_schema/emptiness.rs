//! Which sets have no value at all.
//!
//! JSON values are finite, so a set has a value only if it has one whose children are smaller:
//! emptiness is a least fixed point, and a node that requires a node that requires … is empty.

use rustc_hash::FxHashSet;

use super::set::{Set, Sets};
use crate::error::Result;

impl Sets<'_> {
    /// Has the set no value?
    pub(super) fn is_empty(&mut self, set: Set) -> Result<bool> {
        if let Some(&empty) = self.emptiness.get(&set) {
            return Ok(empty);
        }
        // Everything that a value of the set might need, then rounds until nothing new is found
        // to have a value.
        let mut seen: FxHashSet<Set> = FxHashSet::default();
        let mut undecided = Vec::new();
        let mut open = vec![set];
        while let Some(next) = open.pop() {
            if self.emptiness.contains_key(&next) || !seen.insert(next) {
                continue;
            }
            let shape = self.shape(next)?;
            let free = shape.arrays.iter().any(|a| a.min == 0)
                || shape.objects.iter().any(|o| o.min == 0 && o.required() == 0);
            if free || !self.scalarless(&shape)? {
                // `max < min` cannot be with `min` zero.
                self.emptiness.insert(next, false);
                continue;
            }
            for array in &shape.arrays {
                open.extend(array.prefix.iter().take(array.min as usize));
                if array.min as usize > array.prefix.len() {
                    open.push(array.rest);
                }
            }
            for object in &shape.objects {
                let all = object.min as usize > object.required();
                open.extend(object.named.iter().filter(|n| all || n.required).map(|n| n.set));
                if all {
                    open.extend(object.classes.iter().map(|class| class.set));
                }
            }
            undecided.push(next);
        }
        loop {
            let before = undecided.len();
            let mut rest = Vec::new();
            for set in undecided {
                let shape = self.shape(set)?;
                let known = |set: Set| self.emptiness.get(&set) == Some(&false);
                let found = shape.arrays.iter().any(|array| self.array_has_value(array, known))
                    || shape.objects.iter().any(|object| self.object_has_value(object, known));
                if found {
                    self.emptiness.insert(set, false);
                } else {
                    rest.push(set);
                }
            }
            undecided = rest;
            if undecided.len() == before {
                break;
            }
        }
        for set in undecided {
            self.emptiness.insert(set, true);
        }
        Ok(self.emptiness.get(&set) == Some(&true))
    }
}
