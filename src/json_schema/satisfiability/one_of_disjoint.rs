//! Disjointness of the branches of a `oneOf`, by types and tags.
//!
//! Whether two branches overlap is decided by their intersection, which is a set for each pair.
//! Where an author lists many branches, each mostly lists its values or requires a member that does
//! (a tag):
//!
//! ```text
//! {"properties": {"kind": {"const": "a"}, …}, "required": ["kind"]}
//! {"properties": {"kind": {"const": "b"}, …}, "required": ["kind"]}   disjoint by the tag `kind`
//! ```
//!
//! Such branches are told apart by one hash look-up for each listed value.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::json_schema::document::canonical_text::write_canonical;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::set::keyword_reader::read_keywords;
use crate::json_schema::set::{Set, SetExpr, Sets};

/// References that are followed from a branch that is nothing but a `$ref`.
const MAX_HOPS: usize = 8;

/// Types as bits: null, boolean, number, string, array, object.
const EVERY_TYPE: u8 = 0b11_1111;

const OBJECT: u8 = 0b10_0000;

/// Facts about the schema that has the `oneOf`.
#[derive(Debug)]
struct SiblingFacts<'d> {
    types: u8,
    /// The keys that it requires.
    required: FxHashSet<&'d str>,
}

/// Facts about a branch.
#[derive(Debug)]
struct BranchFacts {
    types: u8,
    /// The values that are listed, as canonical texts: by the key of a required member, or `None`
    /// for the value itself.
    listed: FxHashMap<Option<String>, Vec<String>>,
}

/// The types of values, given as canonical texts.
fn types_of(texts: &[String]) -> u8 {
    let bit = |text: &String| match text.as_bytes().first() {
        Some(b'n') => 1,
        Some(b't' | b'f') => 2,
        Some(b'"') => 8,
        Some(b'[') => 16,
        Some(b'{') => OBJECT,
        _ => 4,
    };
    texts.iter().fold(0, |types, text| types | bit(text))
}

impl Sets<'_> {
    /// For each branch, the later ones that it may overlap with, given the schema `around` the
    /// `oneOf`.
    pub(crate) fn may_overlap(&mut self, branches: &[Set], around: ValueId) -> Vec<Vec<usize>> {
        let around = sibling_facts(self, around);
        let seen: Vec<BranchFacts> =
            branches.iter().map(|&set| branch_facts(self, set, &around)).collect();
        // What most branches list values of.
        let mut often: FxHashMap<&Option<String>, usize> = FxHashMap::default();
        for key in seen.iter().flat_map(|branch| branch.listed.keys()) {
            *often.entry(key).or_default() += 1;
        }
        let tag = often.into_iter().max_by_key(|&(key, times)| (times, key.clone()));
        let tag = tag.map(|(key, _)| key.clone()).unwrap_or_default();
        let (mut by_value, mut untagged) =
            (FxHashMap::<&String, Vec<usize>>::default(), Vec::new());
        for (i, branch) in seen.iter().enumerate() {
            match branch.listed.get(&tag) {
                Some(values) => {
                    values.iter().for_each(|value| by_value.entry(value).or_default().push(i));
                }
                None => untagged.push(i),
            }
        }
        let mut overlaps = Vec::with_capacity(branches.len());
        for (i, branch) in seen.iter().enumerate() {
            let mut later: Vec<usize> = match branch.listed.get(&tag) {
                Some(values) => {
                    let alike = values.iter().flat_map(|value| &by_value[value]);
                    alike.chain(&untagged).copied().filter(|&j| j > i).collect()
                }
                None => (i + 1..branches.len()).collect(),
            };
            self.add_steps(1 + later.len());
            later.sort_unstable();
            later.dedup();
            later.retain(|&j| seen[j].types & branch.types != 0);
            overlaps.push(later);
        }
        overlaps
    }
}

fn sibling_facts<'d>(sets: &Sets<'d>, at: ValueId) -> SiblingFacts<'d> {
    let mut around = SiblingFacts { types: EVERY_TYPE, required: FxHashSet::default() };
    if sets.ignored.is_empty() {
        around.types = declared_types(sets, at);
        around.required = required_keys(sets, at);
    }
    around
}

fn required_keys<'d>(sets: &Sets<'d>, at: ValueId) -> FxHashSet<&'d str> {
    let document = sets.document;
    let required = document.members(at).and_then(|members| members.get("required"));
    match required.map(|at| document.value(at)) {
        Some(Value::Array(keys)) => keys.iter().filter_map(|&k| document.string(k)).collect(),
        _ => FxHashSet::default(),
    }
}

fn branch_facts(sets: &mut Sets<'_>, set: Set, around: &SiblingFacts<'_>) -> BranchFacts {
    let mut branch = BranchFacts { types: around.types, listed: FxHashMap::default() };
    let Some(at) = lone_target(sets, set) else { return branch };
    branch.types &= declared_types(sets, at);
    if let Some(values) = listed_texts(sets, at) {
        branch.types &= types_of(&values);
        branch.listed.insert(None, values);
    }
    let document = sets.document;
    let Some(members) = document.members(at) else { return branch };
    let properties = members.get("properties").and_then(|at| document.members(at));
    // Whatever is no object has no members.
    let Some(properties) = properties.filter(|_| branch.types == OBJECT) else { return branch };
    let keys = required_keys(sets, at);
    let required = |key: &str| keys.contains(key) || around.required.contains(key);
    for (key, schema) in properties.iter().filter(|(key, _)| required(key)) {
        if let Some(values) = listed_texts(sets, schema) {
            branch.listed.insert(Some(key.to_owned()), values);
        }
    }
    branch
}

/// The schema of a set, behind references that stand alone.
fn lone_target(sets: &mut Sets<'_>, mut set: Set) -> Option<ValueId> {
    if !sets.ignored.is_empty() {
        return None;
    }
    for _ in 0..MAX_HOPS {
        let SetExpr::Schema(at, scope) = *sets.expr(set) else { return None };
        let members = sets.document.members(at)?;
        let Some(reference) = members.get("$ref") else { return Some(at) };
        // Siblings of a reference only take values away, where they count.
        set = sets.in_scope(scope, |this| this.reference(reference, "$ref")).ok()?;
    }
    None
}

fn declared_types(sets: &Sets<'_>, at: ValueId) -> u8 {
    let members = sets.document.members(at);
    let Some(types) = members.and_then(|members| members.get("type")) else {
        return EVERY_TYPE;
    };
    let bit = |at: ValueId| match sets.document.string(at) {
        Some("null") => 1,
        Some("boolean") => 2,
        Some("integer" | "number") => 4,
        Some("string") => 8,
        Some("array") => 16,
        Some("object") => OBJECT,
        _ => EVERY_TYPE,
    };
    match sets.document.value(types) {
        Value::Array(names) => names.iter().fold(0, |types, &name| types | bit(name)),
        _ => bit(types),
    }
}

/// The values that a schema lists by `const` or `enum`.
pub(crate) fn listed_values(sets: &mut Sets<'_>, at: ValueId) -> Option<Vec<ValueId>> {
    let reader = read_keywords(sets, at).ok()?;
    if reader.lone_reference().is_some() {
        return None;
    }
    match (reader.get("const"), reader.get("enum")) {
        (Some(one), _) => Some(vec![one]),
        (None, Some(at)) => match sets.document.value(at) {
            Value::Array(values) => Some(values.to_vec()),
            _ => None,
        },
        _ => None,
    }
}

/// The values that a schema lists, as canonical texts.
fn listed_texts(sets: &mut Sets<'_>, at: ValueId) -> Option<Vec<String>> {
    let values = listed_values(sets, at)?;
    let texts = values.into_iter().map(|value| {
        let mut text = String::new();
        write_canonical(sets.document, value, &mut text).map(|()| text)
    });
    texts.collect()
}
