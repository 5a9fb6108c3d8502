//! Emptiness of intersections of objects and of complements of objects, member by member.
//!
//! Alternatives with much in common (the options of many kinds of builders, each a closed object)
//! cut the values of a member into cells: values in the first and the second, in the first alone,
//! and so on. A cell is empty where the common objects are a subset of one that is taken away. That
//! needs the shape of each alternative and of none of their combinations: eight alternatives have
//! 256 combinations, of which 10 have a value where each alternative has a member of its own beside
//! common ones.
//!
//! ```text
//! {a, b, x} ∩ {a, b, y} ∖ {a, b, z}   common members a and b alone: empty
//! {a, b, x} ∖ {a, b, y}               a member x is left: not provably empty
//! ```

use crate::deadline;
use crate::error::Result;
use crate::json_schema::algebra::objects::intersect_objects;
use crate::json_schema::satisfiability::equivalence::canonical_set;
use crate::json_schema::satisfiability::scalar_emptiness::{
    is_provably_scalar_empty, is_provably_scalar_subset,
};
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::membership::{has_no_scalar, set_of_unnamed_key};
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, SetExpr, Sets};

/// Whether `a` is provably a subset of `b`.
pub(crate) fn is_provably_subset(sets: &mut Sets<'_>, a: Set, b: Set) -> bool {
    if is_provably_scalar_subset(sets, a, b) {
        return true;
    }
    let not = sets.not(b);
    let outside = sets.and([a, not]);
    is_provably_disjoint(sets, outside)
}

/// Whether a set is provably empty; no where that is not found member by member.
pub(crate) fn is_provably_disjoint(sets: &mut Sets<'_>, set: Set) -> bool {
    if is_provably_scalar_empty(sets, set) {
        return true;
    }
    if let Some(&known) = sets.memo.object_emptiness.get(&set) {
        return known;
    }
    // Where the answer depends on itself it is no.
    sets.memo.object_emptiness.insert(set, false);
    let open = sets.unfolding.open.len();
    let empty = match has_provably_no_object(sets, set) {
        Ok(empty) => empty,
        Err(_) => {
            // What cannot be decided now is an error, if it is one, when it is needed.
            sets.unfolding.open.truncate(open);
            if deadline::is_over() {
                sets.memo.object_emptiness.remove(&set);
                return false;
            }
            false
        }
    };
    sets.memo.object_emptiness.insert(set, empty);
    empty
}

/// Whether an intersection that holds objects alone provably holds none.
fn has_provably_no_object(sets: &mut Sets<'_>, set: Set) -> Result<bool> {
    let set = canonical_set(sets, set);
    let SetExpr::And(parts) = sets.expr(set) else { return Ok(false) };
    let (mut common, mut objects_alone) = (ObjectSet::any(sets.strings.any), false);
    let mut taken_away = Vec::new();
    for part in parts.clone() {
        if let SetExpr::Not(inner) = *sets.expr(part) {
            // A combination is not unfolded for this.
            if !matches!(sets.expr(inner), SetExpr::And(_)) {
                taken_away.push(inner);
            }
            continue;
        }
        let shape = sets.shape(part)?;
        let others = !shape.arrays.is_empty() || !shape.listed.is_empty();
        objects_alone |= !others && has_no_scalar(sets, &shape)?;
        // Any other part is left out of the intersection, which makes `common` larger: emptiness of
        // the larger set still proves that of the smaller.
        if let [object] = &shape.objects[..]
            && object.formula == MemberFormula::HOLDS
        {
            let Some(both) = intersect_objects(sets, &common, object)? else {
                return Ok(objects_alone);
            };
            common = both;
        }
    }
    if !objects_alone || common.formula != MemberFormula::HOLDS {
        return Ok(false);
    }
    for named in common.named.clone() {
        if named.required && is_provably_disjoint(sets, named.set) {
            return Ok(true);
        }
    }
    for inner in taken_away {
        for object in &sets.shape(inner)?.objects {
            if is_provably_subsumed(sets, &common, object)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether every object of `a`, which has no formula, is provably one of `b`.
fn is_provably_subsumed(sets: &mut Sets<'_>, a: &ObjectSet, b: &ObjectSet) -> Result<bool> {
    sets.add_steps(2 + a.named.len() + b.named.len());
    sets.check_work(Set::ANY)?;
    let least = (a.min as usize).max(a.required());
    if b.formula != MemberFormula::HOLDS
        || (b.min as usize) > least
        || b.max.is_some_and(|max| a.max.is_none_or(|ours| ours > max))
    {
        return Ok(false);
    }
    for theirs in &b.named {
        let (set, required) = match a.named.iter().find(|named| named.key == theirs.key) {
            Some(ours) => (ours.set, ours.required),
            None => (set_of_unnamed_key(sets, &a.classes, &theirs.key)?, false),
        };
        if theirs.required && !required || !is_provably_subset(sets, set, theirs.set) {
            return Ok(false);
        }
    }
    for ours in &a.named {
        if b.named.iter().all(|named| named.key != ours.key) {
            let set = set_of_unnamed_key(sets, &b.classes, &ours.key)?;
            if !is_provably_subset(sets, ours.set, set) {
                return Ok(false);
            }
        }
    }
    for ours in a.classes.iter().filter(|class| class.set != Set::NEVER) {
        for theirs in &b.classes {
            let both = sets.languages.intersect([ours.keys, theirs.keys]);
            if !is_provably_subset(sets, ours.set, theirs.set) && sets.languages.is_live(both)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
