//! Intersection, complement and subsumption of sets of objects.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::json_schema::algebra::formula_folding::settle;
use crate::json_schema::algebra::formula_negation::{keys_named_in, negate_formula};
use crate::json_schema::satisfiability::scalar_emptiness::is_provably_scalar_empty;
use crate::json_schema::set::array_set::smaller;
use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::keys::NamedKey;
use crate::json_schema::set::member_formula::{FormulaNode, MemberFormula};
use crate::json_schema::set::membership::set_of_unnamed_key;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets};

/// Objects in both sets; `None` if there are provably none.
pub(crate) fn intersect_objects(
    sets: &mut Sets<'_>,
    a: &ObjectSet,
    b: &ObjectSet,
) -> Result<Option<ObjectSet>> {
    match intersect_objects_unsettled(sets, a, b)? {
        Some(both) => settle(sets, both),
        None => Ok(None),
    }
}

/// The intersection before its formula is settled.
pub(crate) fn intersect_objects_unsettled(
    sets: &mut Sets<'_>,
    a: &ObjectSet,
    b: &ObjectSet,
) -> Result<Option<ObjectSet>> {
    sets.add_steps(40 + 4 * (a.named.len() + b.named.len() + a.classes.len() * b.classes.len()));
    sets.check_work(Set::ANY)?;
    let mut others: FxHashMap<&str, &NamedKey> =
        b.named.iter().map(|named| (&*named.key, named)).collect();
    let mut named = Vec::with_capacity(a.named.len().max(b.named.len()));
    for ours in &a.named {
        let theirs = others.remove(&*ours.key);
        let set = match theirs {
            Some(theirs) => theirs.set,
            None => set_of_unnamed_key(sets, &b.classes, &ours.key)?,
        };
        let required = ours.required || theirs.is_some_and(|named| named.required);
        named.push(NamedKey { key: ours.key.clone(), set: sets.and([ours.set, set]), required });
    }
    for theirs in &b.named {
        if others.contains_key(&*theirs.key) {
            let set = set_of_unnamed_key(sets, &a.classes, &theirs.key)?;
            named.push(NamedKey { set: sets.and([theirs.set, set]), ..theirs.clone() });
        }
    }
    for named in &named {
        if named.required && is_provably_scalar_empty(sets, named.set) {
            return Ok(None);
        }
    }
    let mut classes = Vec::new();
    for x in &a.classes {
        for y in &b.classes {
            let keys = sets.languages.intersect([x.keys, y.keys]);
            if x.keys == y.keys || sets.languages.is_live(keys)? {
                classes.push(KeyClass { keys, set: sets.and([x.set, y.set]) });
            }
        }
    }
    Ok(Some(ObjectSet {
        named,
        classes,
        formula: sets.formulas.and([a.formula, b.formula]),
        min: a.min.max(b.min),
        max: smaller(a.max, b.max),
        origins: a.origins.merged(&b.origins),
    }))
}

/// Objects outside a set, as alternatives: without a required key, with a value outside its set, or
/// with too few or too many members.
pub(crate) fn complement_objects(sets: &mut Sets<'_>, a: &ObjectSet) -> Result<Vec<ObjectSet>> {
    let free = ObjectSet { origins: a.origins.clone(), ..ObjectSet::any(sets.strings.any) };
    let mut result = Vec::new();
    let one = |named: NamedKey| ObjectSet { named: vec![named], ..free.clone() };
    for named in &a.named {
        let key = named.key.clone();
        if named.required {
            result.push(one(NamedKey { key: key.clone(), set: Set::NEVER, required: false }));
        }
        let not = sets.not(named.set);
        if not != Set::NEVER {
            result.push(one(NamedKey { key, set: not, required: true }));
        }
    }
    if let Some(max) = a.min.checked_sub(1) {
        result.push(ObjectSet { max: Some(max), ..free.clone() });
    }
    if let Some(min) = a.max.and_then(|max| max.checked_add(1)) {
        result.push(ObjectSet { min, ..free.clone() });
    }
    let names = sets.names(a);
    for class in &a.classes {
        let set = sets.not(class.set);
        let keys = sets.languages.difference(class.keys, names);
        if set != Set::NEVER && sets.languages.is_live(keys)? {
            let formula = sets.formulas.intern(FormulaNode::Some(KeyClass { keys, set }));
            result.push(ObjectSet { formula, ..free.clone() });
        }
    }
    if a.formula != MemberFormula::HOLDS {
        let formula = negate_formula(sets, a.formula);
        let named = keys_named_in(sets, formula).into_iter();
        let named = named.map(|key| NamedKey { key, set: Set::ANY, required: false }).collect();
        result.extend(settle(sets, ObjectSet { named, formula, ..free })?);
    }
    Ok(result)
}

/// Whether every text of an object in `a` is provably one of an object in `b`, by names alone.
fn is_provably_object_subset(sets: &mut Sets<'_>, a: &ObjectSet, b: &ObjectSet) -> Result<bool> {
    sets.add_steps(2 + b.named.len());
    sets.check_work(Set::ANY)?;
    if a.min < b.min
        || !sets.formulas.has_conjuncts_of(a.formula, b.formula)
        || b.max.is_some_and(|max| a.max.is_none_or(|ours| ours > max))
    {
        return Ok(false);
    }
    for theirs in b.named.iter().filter(|named| named.set == Set::NEVER) {
        let ours = a.named.iter().find(|named| named.key == theirs.key);
        let set = match ours {
            Some(ours) => ours.set,
            None => set_of_unnamed_key(sets, &a.classes, &theirs.key)?,
        };
        if set != Set::NEVER {
            return Ok(false);
        }
    }
    // Keys that both name come in the same order, and before those that only `a` names.
    let mut ours = a.named.iter().filter(|named| named.set != Set::NEVER);
    for theirs in b.named.iter().filter(|named| named.set != Set::NEVER) {
        match ours.next() {
            Some(named)
                if named.key == theirs.key
                    && sets.arena().is_subset_by_name(named.set, theirs.set)
                    && (named.required || !theirs.required) => {}
            _ => return Ok(false),
        }
    }
    for named in ours {
        let set = set_of_unnamed_key(sets, &b.classes, &named.key)?;
        if !sets.arena().is_subset_by_name(named.set, set) {
            return Ok(false);
        }
    }
    let any = matches!(b.classes[..], [KeyClass { set: Set::ANY, .. }]);
    let none = a.classes.iter().all(|class| class.set == Set::NEVER);
    Ok(any || none || a.classes == b.classes)
}

/// Drops object sets that are subsets of others; of equal ones the first stays.
pub(crate) fn remove_subsumed_objects(
    sets: &mut Sets<'_>,
    objects: &mut Vec<ObjectSet>,
) -> Result<()> {
    let mut kept: Vec<ObjectSet> = Vec::with_capacity(objects.len());
    'next: for object in std::mem::take(objects) {
        for other in &kept {
            if is_provably_object_subset(sets, &object, other)? {
                continue 'next;
            }
        }
        let mut i = 0;
        while i < kept.len() {
            if is_provably_object_subset(sets, &kept[i], &object)? {
                drop(kept.remove(i))
            } else {
                i += 1
            }
        }
        kept.push(object);
    }
    *objects = kept;
    Ok(())
}
