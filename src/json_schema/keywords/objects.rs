//! Keywords for objects: `properties`, `patternProperties`, `required`, `propertyNames`,
//! dependencies and bounds.
//!
//! Keys fall into named ones and classes of other keys, split by the patterns that they match.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::LimitName;
use crate::error::{ErrorKind, Result};
use crate::json_schema::algebra::formula_folding::settle;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::values::{count_of, members_of, strings_of};
use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::keys::NamedKey;
use crate::json_schema::set::keyword_reader::KeywordReader;
use crate::json_schema::set::member_formula::{FormulaNode, MemberFormula};
use crate::json_schema::set::membership::set_of_unnamed_key;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets};
use crate::json_schema::string::patterns::pattern_language;
use crate::regular::Language;

/// Dependencies that are split into alternatives, two for each; more become one formula.
const MAX_SPLIT_DEPENDENCIES: usize = 3;

/// The objects that a schema accepts (Validation, section 6.5; Core, section 10.3.2).
pub(crate) fn object_sets<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
) -> Result<Vec<ObjectSet>> {
    let any = sets.strings.any;
    let additional = match reader.get("additionalProperties") {
        Some(at) => sets.schema(at)?,
        None => Set::ANY,
    };
    let mut patterns = Vec::new();
    if let Some(at) = reader.get("patternProperties") {
        for (pattern, schema) in members_of(sets, at, "patternProperties")?.iter() {
            let keys = pattern_language(sets, pattern, schema)?;
            patterns.push((keys, sets.schema(schema)?));
        }
    }
    // Split the keys by the patterns that they match; none: additional.
    let mut classes: Vec<(Language, Option<Set>)> = vec![(any, None)];
    for &(keys, set) in &patterns {
        let mut split = Vec::new();
        for (old, so_far) in classes {
            let inside = sets.languages.intersect([old, keys]);
            let outside = sets.languages.difference(old, keys);
            if sets.languages.is_live(inside)? {
                split.push((inside, Some(sets.and([set, so_far.unwrap_or(Set::ANY)]))));
            }
            if sets.languages.is_live(outside)? {
                split.push((outside, so_far));
            }
        }
        classes = split;
        check_key_classes(sets, reader, classes.len())?;
    }
    let mut named: Vec<NamedKey> = Vec::new();
    if let Some(at) = reader.get("properties") {
        for (key, schema) in members_of(sets, at, "properties")?.iter() {
            let mut set = sets.schema(schema)?;
            if !patterns.is_empty() {
                let spelled = sets.strings.spell(key);
                for &(keys, other) in &patterns {
                    if sets.languages.matches(keys, &spelled)? {
                        set = sets.and([set, other]);
                    }
                }
            }
            named.push(NamedKey { key: key.into(), set, required: false });
        }
    }
    let classes: Vec<KeyClass> = classes
        .into_iter()
        .map(|(keys, set)| KeyClass { keys, set: set.unwrap_or(additional) })
        .collect();
    let mut object = ObjectSet {
        named,
        classes,
        min: count_of(sets, reader, "minProperties")?.unwrap_or(0),
        max: count_of(sets, reader, "maxProperties")?,
        formula: MemberFormula::HOLDS,
        origins: reader.origins(&[
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependencies",
            "type",
        ]),
    };
    if let Some(at) = reader.get("required") {
        let mut known = object.positions();
        for key in strings_of(sets, at, "required")? {
            let index = name_indexed(sets, &mut object, &mut known, key)?;
            object.named[index].required = true;
        }
    }
    if let Some(at) = reader.get("propertyNames") {
        apply_property_names(sets, &mut object, at)?;
    }
    let mut dependencies = Vec::new();
    for keyword in ["dependentRequired", "dependencies"] {
        let Some(at) = reader.get(keyword) else { continue };
        for (key, needed) in members_of(sets, at, keyword)?.iter() {
            let listed = matches!(sets.document.value(needed), Value::Array(_));
            if keyword == "dependentRequired" || listed {
                dependencies.push((key, strings_of(sets, needed, keyword)?));
            }
        }
    }
    if dependencies.len() > MAX_SPLIT_DEPENDENCIES {
        let mut known = object.positions();
        let mut all = vec![object.formula];
        for (key, needed) in dependencies {
            all.push(dependency_formula(sets, &mut object, &mut known, key, &needed)?);
        }
        object.formula = sets.formulas.and(all);
        return Ok(settle(sets, object)?.into_iter().collect());
    }
    let mut objects = vec![object];
    for (key, needed) in dependencies {
        objects = split_by_dependency(sets, objects, key, &needed)?;
    }
    Ok(objects)
}

fn check_key_classes(sets: &Sets<'_>, reader: &KeywordReader<'_>, classes: usize) -> Result<()> {
    let most = sets.options.alternatives;
    if classes <= most {
        return Ok(());
    }
    let message = format!(
        "the properties combine into more than {most} alternatives (the limit `alternatives`)"
    );
    let error = sets.document.error(ErrorKind::Limit, reader.schema, message);
    let help = "let fewer patterns match the same names, or raise the limit";
    Err(error.with_help(help).with_limit(LimitName::Alternatives))
}

/// The index of a key, which is named if it is not; `known` holds the indices by key.
fn name_indexed(
    sets: &mut Sets<'_>,
    object: &mut ObjectSet,
    known: &mut FxHashMap<Arc<str>, usize>,
    key: &str,
) -> Result<usize> {
    if let Some(&known) = known.get(key) {
        return Ok(known);
    }
    let set = set_of_unnamed_key(sets, &object.classes, key)?;
    let key: Arc<str> = key.into();
    known.insert(key.clone(), object.named.len());
    object.named.push(NamedKey { key, set, required: false });
    Ok(object.named.len() - 1)
}

/// The index of a key, which is named, after the others, if it is not.
fn name_key(sets: &mut Sets<'_>, object: &mut ObjectSet, key: &str) -> Result<usize> {
    if let Some(known) = object.named.iter().position(|named| &*named.key == key) {
        return Ok(known);
    }
    let set = set_of_unnamed_key(sets, &object.classes, key)?;
    object.named.push(NamedKey { key: Arc::from(key), set, required: false });
    Ok(object.named.len() - 1)
}

/// Forbids keys outside the set of `propertyNames` (Core, section 10.3.2.4).
fn apply_property_names(sets: &mut Sets<'_>, object: &mut ObjectSet, at: ValueId) -> Result<()> {
    let names = sets.schema(at)?;
    let names = sets.shape(names)?.strings;
    for named in &mut object.named {
        let spelled = sets.strings.spell(&named.key);
        if !sets.languages.matches(names, &spelled)? {
            named.set = Set::NEVER;
        }
    }
    let mut classes = Vec::new();
    for class in &object.classes {
        let keys = sets.languages.intersect([class.keys, names]);
        if sets.languages.is_live(keys)? {
            classes.push(KeyClass { keys, set: class.set });
        }
    }
    let forbidden = sets.languages.difference(sets.strings.any, names);
    if sets.languages.is_live(forbidden)? {
        classes.push(KeyClass { keys: forbidden, set: Set::NEVER });
    }
    object.classes = classes;
    Ok(())
}

/// Splits object sets by a dependency (Validation, section 6.5.4): either the key is absent, or the
/// needed ones are present. Each alternative has its own names, and so its own order.
fn split_by_dependency(
    sets: &mut Sets<'_>,
    objects: Vec<ObjectSet>,
    key: &str,
    needed: &[&str],
) -> Result<Vec<ObjectSet>> {
    let mut result = Vec::new();
    for object in objects {
        let mut without = object.clone();
        let index = name_key(sets, &mut without, key)?;
        if !without.named[index].required {
            without.named[index].set = Set::NEVER;
            result.push(without);
        }
        let mut with = object;
        for &key in std::iter::once(&key).chain(needed) {
            let index = name_key(sets, &mut with, key)?;
            with.named[index].required = true;
        }
        result.push(with);
    }
    Ok(result)
}

/// A dependency as a formula, which multiplies nothing.
fn dependency_formula(
    sets: &mut Sets<'_>,
    object: &mut ObjectSet,
    known: &mut FxHashMap<Arc<str>, usize>,
    key: &str,
    needed: &[&str],
) -> Result<MemberFormula> {
    name_indexed(sets, object, known, key)?;
    let mut all = Vec::with_capacity(needed.len());
    for &key in needed {
        name_indexed(sets, object, known, key)?;
        all.push(sets.formulas.intern(FormulaNode::Present(key.into(), Set::ANY)));
    }
    let all = sets.formulas.and(all);
    let absent = sets.formulas.intern(FormulaNode::Absent(key.into()));
    Ok(sets.formulas.or([absent, all]))
}
