//! Emptiness of intersections without arrays and objects, while other sets are unfolding.
//!
//! A condition on a discriminator (`"kind": {"const": "a"}`) is an intersection of scalars. Where
//! its parts are free of references they can be unfolded at any time, and their intersection is a
//! matter of languages, or of looking up a few listed values. Anything else counts as not provably
//! empty.

use crate::error::Result;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::satisfiability::equivalence::canonical_set;
use crate::json_schema::satisfiability::one_of_disjoint::listed_values;
use crate::json_schema::satisfiability::reference_free::reach_of;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::membership::has_no_scalar;
use crate::json_schema::set::memo::Reach;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, SetExpr, Sets};

/// Listed values that are looked up one by one.
const MAX_LISTED_SCALARS: usize = 16;

/// Whether `a` is provably a subset of `b`.
pub(crate) fn is_provably_scalar_subset(sets: &mut Sets<'_>, a: Set, b: Set) -> bool {
    let (a, b) = (canonical_set(sets, a), canonical_set(sets, b));
    if sets.arena().is_subset_by_name(a, b) {
        return true;
    }
    if let Some(&known) = sets.memo.scalar_subsets.get(&(a, b)) {
        return known;
    }
    let not = sets.not(b);
    let outside = sets.and([a, not]);
    let Ok(within) = scalar_intersection_is_empty(sets, outside) else { return false };
    sets.memo.scalar_subsets.insert((a, b), within);
    within
}

/// Whether a set is provably empty; no where that cannot be decided.
pub(crate) fn is_provably_scalar_empty(sets: &mut Sets<'_>, set: Set) -> bool {
    scalar_intersection_is_empty(sets, set).unwrap_or(false)
}

/// Whether a reference-free set holds arrays, and whether it holds objects; yes where that is not
/// known.
fn may_hold_containers(sets: &mut Sets<'_>, set: Set) -> Result<[bool; 2]> {
    if let SetExpr::Not(inner) = *sets.expr(set) {
        let shape = sets.shape(inner)?;
        let any = ObjectSet::any(sets.strings.any);
        let all = [shape.arrays.contains(&ArraySet::any()), shape.objects.contains(&any)];
        return Ok(all.map(|all| !all));
    }
    let shape = sets.shape(set)?;
    Ok([!shape.arrays.is_empty(), !shape.objects.is_empty()])
}

/// Whether an intersection of reference-free scalars is empty; no for any other set.
fn scalar_intersection_is_empty(sets: &mut Sets<'_>, set: Set) -> Result<bool> {
    sets.add_steps(5);
    let set = canonical_set(sets, set);
    let parts = match sets.expr(set) {
        SetExpr::Never => return Ok(true),
        SetExpr::And(parts) => parts.clone(),
        _ => return Ok(false),
    };
    if let Some(&known) = sets.memo.scalar_emptiness.get(&set) {
        return Ok(known);
    }
    let empty = decide_scalar_intersection(sets, set, &parts)?;
    sets.memo.scalar_emptiness.insert(set, empty);
    Ok(empty)
}

fn decide_scalar_intersection(sets: &mut Sets<'_>, set: Set, parts: &[Set]) -> Result<bool> {
    if reach_of(sets, set) == Reach::Unbounded {
        return Ok(false);
    }
    let mut all = [true; 2];
    for &part in parts {
        let holds = may_hold_containers(sets, part)?;
        all = [all[0] && holds[0], all[1] && holds[1]];
    }
    if all[0] || all[1] {
        return Ok(false);
    }
    if let Some(words) = parts.iter().find_map(|&part| few_listed_scalars(sets, part)) {
        'next: for word in words {
            for &part in parts {
                let shape = sets.shape(part)?;
                if !sets.accepts(&shape, word)? {
                    continue 'next;
                }
            }
            return Ok(false);
        }
        return Ok(true);
    }
    let shape = sets.shape(set)?;
    Ok(shape.arrays.is_empty() && shape.objects.is_empty() && has_no_scalar(sets, &shape)?)
}

/// The values of a set that lists a few strings, booleans or nulls alone: looking each up costs
/// less than intersecting their languages.
fn few_listed_scalars(sets: &mut Sets<'_>, set: Set) -> Option<Vec<ValueId>> {
    let values = match *sets.expr(set) {
        SetExpr::Value(value) => vec![value],
        SetExpr::Schema(at, _) | SetExpr::Own(at, _) => listed_values(sets, at)?,
        _ => return None,
    };
    let is_word = |&value: &ValueId| {
        matches!(sets.document.value(value), Value::Null | Value::Bool(_) | Value::String(_))
    };
    (values.len() <= MAX_LISTED_SCALARS && values.iter().all(is_word)).then_some(values)
}
