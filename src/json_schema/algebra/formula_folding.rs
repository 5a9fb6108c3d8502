//! Folding of object sets into one set with a formula, and back.
//!
//! A union or complement of object sets is a list of alternatives, and an intersection of lists is
//! their product. Folding keeps one object set whose formula says which alternative holds;
//! [`settle`] moves what a formula says of single keys back into the keys.
//!
//! ```text
//! {a: 1} or {b: 2}                         two object sets
//! all objects, with (a in 1) or (b in 2)   folded
//! … and a is absent                        settled: b required and in 2, a forbidden, no formula
//! ```

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{ErrorKind, Result};
use crate::json_schema::algebra::formula_negation::negate_formula;
use crate::json_schema::options::PropertyOrder;
use crate::json_schema::satisfiability::equivalence::canonical_set;
use crate::json_schema::satisfiability::scalar_emptiness::{
    is_provably_scalar_empty, is_provably_scalar_subset,
};
use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::keys::NamedKey;
use crate::json_schema::set::member_formula::{FormulaNode, MemberFormula};
use crate::json_schema::set::membership::set_of_unnamed_key;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets};
use crate::regular::Language;

/// Nodes that one formula may have: a larger one takes seconds for each member.
const MAX_FORMULA_SIZE: usize = 100_000;

/// Formulas that one schema may lead to: they are kept as long as the schema is.
const MAX_FORMULAS: usize = 200_000;

/// Object sets with formulas that are followed in parallel before they are merged into one formula.
const MAX_PARALLEL_OBJECT_SETS: usize = 4;

impl Sets<'_> {
    /// Merges object sets with formulas that name their keys in the same order (in any order, if
    /// the options say so), where there are more than [`MAX_PARALLEL_OBJECT_SETS`].
    pub(crate) fn gather(&mut self, objects: &[ObjectSet]) -> Result<Vec<ObjectSet>> {
        let has_formula = |object: &&ObjectSet| object.formula != MemberFormula::HOLDS;
        if objects.iter().filter(has_formula).count() <= MAX_PARALLEL_OBJECT_SETS {
            return Ok(objects.to_vec());
        }
        let any_order = self.options.property_order == PropertyOrder::Any;
        let mut groups: Vec<Vec<ObjectSet>> = Vec::new();
        for object in objects {
            let alike = |group: &&mut Vec<ObjectSet>| {
                let keys = |object: &ObjectSet| {
                    object.named.iter().map(|named| named.key.clone()).collect::<Vec<_>>()
                };
                has_formula(&object)
                    && has_formula(&&group[0])
                    && (any_order || keys(&group[0]) == keys(object))
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(object.clone()),
                None => groups.push(vec![object.clone()]),
            }
        }
        let mut gathered = Vec::with_capacity(groups.len());
        for mut group in groups {
            if group.len() > MAX_PARALLEL_OBJECT_SETS {
                let folded = fold_union(self, &group)?;
                gathered.extend(settle(self, folded)?);
            } else {
                gathered.append(&mut group)
            }
        }
        Ok(gathered)
    }
}

/// The formula that a key and its set, required or not, stand for.
fn formula_of_key(sets: &mut Sets<'_>, key: &Arc<str>, set: Set, required: bool) -> MemberFormula {
    let set = canonical_set(sets, set);
    let present = sets.formulas.intern(FormulaNode::Present(key.clone(), set));
    let absent = sets.formulas.intern(FormulaNode::Absent(key.clone()));
    match (required, set) {
        (true, Set::NEVER) => MemberFormula::FAILS,
        (true, _) => present,
        (false, Set::ANY) => MemberFormula::HOLDS,
        (false, Set::NEVER) => absent,
        (false, _) => sets.formulas.or([absent, present]),
    }
}

/// The complement of an object set, as one object set with a formula; `None` if it is empty.
pub(crate) fn fold_complement(
    sets: &mut Sets<'_>,
    object: &ObjectSet,
) -> Result<Option<ObjectSet>> {
    let mut all = vec![object.formula];
    for named in &object.named {
        all.push(formula_of_key(sets, &named.key, named.set, named.required));
    }
    let names = sets.names(object);
    all.extend(formulas_of_classes(sets, object, names)?);
    all.extend(formulas_of_counts(sets, object));
    let all = sets.formulas.and(all);
    let named = object.named.iter();
    let named = named.map(|n| NamedKey { set: Set::ANY, required: false, key: n.key.clone() });
    let folded = ObjectSet {
        named: named.collect(),
        formula: negate_formula(sets, all),
        origins: object.origins.clone(),
        ..ObjectSet::any(sets.strings.any)
    };
    settle(sets, folded)
}

/// A formula for each class of keys that an object set restricts, without the keys in `names`.
fn formulas_of_classes(
    sets: &mut Sets<'_>,
    object: &ObjectSet,
    names: Language,
) -> Result<Vec<MemberFormula>> {
    let mut formulas = Vec::new();
    for class in object.classes.iter().filter(|class| class.set != Set::ANY) {
        let keys = sets.languages.difference(class.keys, names);
        if sets.languages.is_live(keys)? {
            let set = canonical_set(sets, class.set);
            formulas.push(sets.formulas.intern(FormulaNode::All(KeyClass { keys, set })));
        }
    }
    Ok(formulas)
}

/// The formulas for the number of members of an object set.
fn formulas_of_counts(sets: &mut Sets<'_>, object: &ObjectSet) -> Vec<MemberFormula> {
    let least = (object.min > object.required() as u32).then_some(object.min);
    let bounds = [least.map(FormulaNode::AtLeast), object.max.map(FormulaNode::AtMost)];
    bounds.into_iter().flatten().map(|bound| sets.formulas.intern(bound)).collect()
}

/// The union of object sets, as one object set with a formula.
pub(crate) fn fold_union(sets: &mut Sets<'_>, objects: &[ObjectSet]) -> Result<ObjectSet> {
    let mut keys: Vec<Arc<str>> = Vec::new();
    let mut seen = FxHashSet::default();
    for named in objects.iter().flat_map(|object| &object.named) {
        if seen.insert(named.key.clone()) {
            keys.push(named.key.clone());
        }
    }
    let names = keys.iter().map(|key| &**key);
    let names = sets.strings.texts(&mut sets.languages, names);
    // By key, what each object set says of it.
    let mut said = vec![Vec::with_capacity(objects.len()); keys.len()];
    for object in objects {
        let own: FxHashMap<&str, &NamedKey> =
            object.named.iter().map(|named| (&*named.key, named)).collect();
        for (key, row) in keys.iter().zip(&mut said) {
            row.push(match own.get(&**key) {
                Some(own) => (own.set, own.required),
                None => (set_of_unnamed_key(sets, &object.classes, key)?, false),
            });
        }
    }
    let common = |row: &[(Set, bool)]| row.windows(2).all(|pair| pair[0] == pair[1]);
    let mut folded = ObjectSet::any(sets.strings.any);
    for (key, row) in keys.iter().zip(&said) {
        let (set, required) = if common(row) { row[0] } else { (Set::ANY, false) };
        folded.named.push(NamedKey { key: key.clone(), set, required });
    }
    let same_classes = objects.windows(2).all(|pair| pair[0].classes == pair[1].classes);
    let mut alternatives = Vec::with_capacity(objects.len());
    for (i, object) in objects.iter().enumerate() {
        folded.origins = folded.origins.merged(&object.origins);
        let mut all = vec![object.formula];
        for (key, row) in keys.iter().zip(&said) {
            if common(row) {
                continue;
            }
            let (set, required) = row[i];
            all.push(formula_of_key(sets, key, set, required));
        }
        if !same_classes {
            all.extend(formulas_of_classes(sets, object, names)?);
        }
        all.extend(formulas_of_counts(sets, object));
        alternatives.push(sets.formulas.and(all));
    }
    if let (true, Some(first)) = (same_classes, objects.first()) {
        folded.classes = first.classes.clone();
    }
    folded.formula = sets.formulas.or(alternatives);
    Ok(folded)
}

/// Moves what a formula says of single keys into the keys, and drops statements that the keys
/// imply. `None` if the object set is provably empty.
pub(crate) fn settle(sets: &mut Sets<'_>, mut object: ObjectSet) -> Result<Option<ObjectSet>> {
    loop {
        match object.formula {
            MemberFormula::HOLDS => return Ok(Some(object)),
            MemberFormula::FAILS => return Ok(None),
            _ => {}
        }
        sets.add_steps(object.named.len());
        sets.check_work(Set::ANY)?;
        let statements = sets.formulas.statements(object.formula);
        if sets.formulas.size(object.formula) > MAX_FORMULA_SIZE
            || sets.formulas.len() > MAX_FORMULAS
        {
            let message = format!(
                "what is asked of the members of an object takes more than {MAX_FORMULA_SIZE} conditions, \
                 or more than {MAX_FORMULAS} in the whole schema"
            );
            let at = sets.unfolding.open.last().copied().unwrap_or(Set::ANY);
            let help = "let fewer alternatives hold at the same time";
            return Err(sets.error(ErrorKind::Limit, at, message).with_help(help));
        }
        let keys = object.named.iter().enumerate();
        let keys: FxHashMap<Arc<str>, usize> =
            keys.map(|(i, named)| (named.key.clone(), i)).collect();
        let mut by = FxHashMap::default();
        for &statement in statements.iter() {
            if let Some(new) = decided_by_keys(sets, &object, &keys, statement)? {
                by.insert(statement, new);
            }
        }
        let formula = sets.formulas.replace(object.formula, &by);
        let mut left = Vec::new();
        for part in sets.formulas.conjuncts(formula) {
            match sets.formulas.node(part).clone() {
                FormulaNode::Present(key, set) => {
                    if let Some(&at) = keys.get(&key) {
                        let named = &mut object.named[at];
                        (named.set, named.required) = (sets.and([named.set, set]), true);
                    }
                }
                FormulaNode::Absent(key) => {
                    if let Some(&at) = keys.get(&key) {
                        object.named[at].set = Set::NEVER;
                    }
                }
                FormulaNode::All(class) => restrict_values(sets, &mut object, class)?,
                FormulaNode::AtLeast(min) => object.min = object.min.max(min),
                FormulaNode::AtMost(max) => {
                    object.max = Some(object.max.map_or(max, |known| known.min(max)));
                }
                _ => left.push(part),
            }
        }
        let left = sets.formulas.and(left);
        let settled = left == object.formula;
        object.formula = left;
        for named in &object.named {
            if named.required && is_provably_scalar_empty(sets, named.set) {
                return Ok(None);
            }
        }
        if settled {
            return Ok(Some(object));
        }
    }
}

/// Intersects the values of a class of keys with a set.
fn restrict_values(sets: &mut Sets<'_>, object: &mut ObjectSet, class: KeyClass) -> Result<()> {
    for named in &mut object.named {
        let spelled = sets.strings.spell(&named.key);
        if sets.languages.matches(class.keys, &spelled)? {
            named.set = sets.and([named.set, class.set]);
        }
    }
    let mut classes = Vec::new();
    for old in &object.classes {
        let inside = sets.languages.intersect([old.keys, class.keys]);
        let outside = sets.languages.difference(old.keys, class.keys);
        if sets.languages.is_live(inside)? {
            classes.push(KeyClass { keys: inside, set: sets.and([old.set, class.set]) });
        }
        if sets.languages.is_live(outside)? {
            classes.push(KeyClass { keys: outside, set: old.set });
        }
    }
    object.classes = classes;
    Ok(())
}

/// The truth value of a statement, as far as what the object set says of single keys decides it.
fn decided_by_keys(
    sets: &mut Sets<'_>,
    object: &ObjectSet,
    keys: &FxHashMap<Arc<str>, usize>,
    statement: MemberFormula,
) -> Result<Option<MemberFormula>> {
    let (holds, fails) = (Some(MemberFormula::HOLDS), Some(MemberFormula::FAILS));
    let named =
        |key: &Arc<str>| keys.get(key).map(|&at| (object.named[at].set, object.named[at].required));
    Ok(match sets.formulas.node(statement).clone() {
        FormulaNode::Present(key, set) => {
            let Some((known, required)) = named(&key) else { return Ok(None) };
            let both = sets.and([known, set]);
            if set == Set::NEVER || is_provably_scalar_empty(sets, both) {
                fails
            } else if is_provably_scalar_subset(sets, known, set) {
                match (required, set) {
                    (true, _) => holds,
                    (false, Set::ANY) => None,
                    (false, _) => Some(sets.formulas.intern(FormulaNode::Present(key, Set::ANY))),
                }
            } else {
                None
            }
        }
        FormulaNode::Absent(key) => match named(&key) {
            Some((_, true)) => fails,
            Some((Set::NEVER, false)) => holds,
            _ => None,
        },
        FormulaNode::All(class) => {
            if class.set == Set::ANY || is_granted_to_all(sets, object, class)? {
                holds
            } else {
                None
            }
        }
        FormulaNode::Some(KeyClass { set: Set::NEVER, .. }) => fails,
        FormulaNode::Some(_) => None,
        FormulaNode::AtLeast(n) if n <= object.min.max(object.required() as u32) => holds,
        FormulaNode::AtLeast(n) if object.max.is_some_and(|max| max < n) => fails,
        FormulaNode::AtMost(n) if n < object.min.max(object.required() as u32) => fails,
        FormulaNode::AtMost(n) if object.max.is_some_and(|max| max <= n) => holds,
        _ => None,
    })
}

/// Whether the values of a class of keys are provably in its set already.
fn is_granted_to_all(sets: &mut Sets<'_>, object: &ObjectSet, class: KeyClass) -> Result<bool> {
    for named in &object.named {
        let spelled = sets.strings.spell(&named.key);
        if sets.languages.matches(class.keys, &spelled)?
            && !is_provably_scalar_subset(sets, named.set, class.set)
        {
            return Ok(false);
        }
    }
    for own in &object.classes {
        let both = sets.languages.intersect([own.keys, class.keys]);
        if !is_provably_scalar_subset(sets, own.set, class.set) && sets.languages.is_live(both)? {
            return Ok(false);
        }
    }
    Ok(true)
}
