//! HEAD

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

/// So many listed values are looked up one by one.
const MAX_LISTED_SCALARS: usize = 16;

/// Is every value of `a` plainly one of `b`?
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

/// The same as `plainly_empty`, where what cannot be decided is no error.
pub(crate) fn is_provably_scalar_empty(sets: &mut Sets<'_>, set: Set) -> bool {
    scalar_intersection_is_empty(sets, set).unwrap_or(false)
}

/// Does a plain set hold arrays, does it hold objects? Yes where that is not plain to see.
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

/// Is an intersection of scalars, listed or constrained without references, empty? Says no
/// where it would have to follow one.
fn scalar_intersection_is_empty(sets: &mut Sets<'_>, set: Set) -> Result<bool> {
    sets.spend(5);
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

/// The values of a set that lists texts and names alone, if these are few: it costs less to
/// ask for each than to intersect what holds them.
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
