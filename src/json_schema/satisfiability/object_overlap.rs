//! Whether an intersection of objects and of complements of objects is evidently empty.
//!
//! Alternatives with much in common (the options of many kinds of builders, each a closed object)
//! cut the values of a member into parts: those in the first and the second, in the first alone,
//! and so on. Which of these have a value is mostly decided member by member: where whatever some
//! objects have in common is among those taken away, nothing is left. That needs the shape of each
//! alternative, and of none of their combinations: eight alternatives have 256 combinations, of
//! which 10 have a value where each alternative has a member of its own beside common ones.
//!
//! ```text
//! {a, b, x} ∩ {a, b, y} ∖ {a, b, z}   common members a and b alone: empty
//! {a, b, x} ∖ {a, b, y}               a member x is left: not evidently empty
//! ```

use crate::deadline;
use crate::error::Result;
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{SetExpr, Set, Sets};

impl Sets<'_> {
    /// Whether every value of `a` is evidently one of `b`.
    pub(crate) fn is_evidently_within(&mut self, a: Set, b: Set) -> bool {
        if self.plainly_within(a, b) {
            return true;
        }
        let not = self.not(b);
        let outside = self.and([a, not]);
        self.is_evidently_empty(outside)
    }

    /// Whether a set evidently has no value: no where that is not found member by member.
    pub(crate) fn is_evidently_empty(&mut self, set: Set) -> bool {
        if self.is_plainly_empty(set) {
            return true;
        }
        if let Some(&known) = self.evidently_empty.get(&set) {
            return known;
        }
        // Where the answer depends on itself it is no.
        self.evidently_empty.insert(set, false);
        let open = self.open.len();
        let empty = match self.has_no_object(set) {
            Ok(empty) => empty,
            Err(_) => {
                // What cannot be decided now is an error, if it is one, when it is needed.
                self.open.truncate(open);
                if deadline::is_over() {
                    self.evidently_empty.remove(&set);
                    return false;
                }
                false
            }
        };
        self.evidently_empty.insert(set, empty);
        empty
    }

    /// Whether an intersection that holds objects alone evidently holds none.
    fn has_no_object(&mut self, set: Set) -> Result<bool> {
        let set = self.alike(set);
        let SetExpr::And(parts) = self.expr(set) else { return Ok(false) };
        let (mut common, mut objects_alone) = (ObjectSet::any(self.strings.any), false);
        let mut taken_away = Vec::new();
        for part in parts.clone() {
            if let SetExpr::Not(inner) = *self.expr(part) {
                // A combination is not unfolded for this.
                if !matches!(self.expr(inner), SetExpr::And(_)) {
                    taken_away.push(inner);
                }
                continue;
            }
            let shape = self.shape(part)?;
            let others = !shape.arrays.is_empty() || !shape.listed.is_empty();
            objects_alone |= !others && self.scalarless(&shape)?;
            // Of what is not one object set more is taken to be in common.
            if let [object] = &shape.objects[..]
                && object.condition == MemberFormula::HOLDS
            {
                let Some(both) = self.object_intersection(&common, object)? else {
                    return Ok(objects_alone);
                };
                common = both;
            }
        }
        if !objects_alone || common.condition != MemberFormula::HOLDS {
            return Ok(false);
        }
        for named in common.named.clone() {
            if named.required && self.is_evidently_empty(named.set) {
                return Ok(true);
            }
        }
        for inner in taken_away {
            for object in &self.shape(inner)?.objects {
                if self.are_all_within(&common, object)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether every object of `a`, which has no condition, is evidently one of `b`.
    fn are_all_within(&mut self, a: &ObjectSet, b: &ObjectSet) -> Result<bool> {
        self.spend(2 + a.named.len() + b.named.len());
        self.check_work(Set::ANY)?;
        let least = (a.min as usize).max(a.required());
        if b.condition != MemberFormula::HOLDS
            || (b.min as usize) > least
            || b.max.is_some_and(|max| a.max.is_none_or(|ours| ours > max))
        {
            return Ok(false);
        }
        for theirs in &b.named {
            let (set, required) = match a.named.iter().find(|named| named.key == theirs.key) {
                Some(ours) => (ours.set, ours.required),
                None => (self.class_of(&a.classes, &theirs.key)?, false),
            };
            if theirs.required && !required || !self.is_evidently_within(set, theirs.set) {
                return Ok(false);
            }
        }
        for ours in &a.named {
            if b.named.iter().all(|named| named.key != ours.key) {
                let set = self.class_of(&b.classes, &ours.key)?;
                if !self.is_evidently_within(ours.set, set) {
                    return Ok(false);
                }
            }
        }
        for ours in a.classes.iter().filter(|class| class.set != Set::NEVER) {
            for theirs in &b.classes {
                let both = self.languages.intersect([ours.keys, theirs.keys]);
                if !self.is_evidently_within(ours.set, theirs.set)
                    && self.languages.is_live(both)?
                {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
