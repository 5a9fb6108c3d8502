//! HEAD

mod unevaluated;

use crate::error::Result;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::in_place::unevaluated::{
    branches_of_any, branches_of_set, combine_branches,
};
use crate::json_schema::keywords::values::{members_of, schema_list};
use crate::json_schema::satisfiability::equivalence::ANNOTATIONS;
use crate::json_schema::set::keyword_reader::KeywordReader;
use crate::json_schema::set::{Set, SetExpr, Sets};
use crate::regular::Language;
pub(crate) use unevaluated::applied_sets;

/// Keywords that lead to another schema for the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What a schema means for a value as a whole: the sets, intersected.
pub(crate) struct Applied {
    pub(crate) all_of: Vec<Set>,
    /// Do the schema's own keywords count beside the sets?
    pub(crate) own: bool,
}

/// Of what it is asked whether it was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aspect {
    Members,
    Items,
}

/// What of a value is evaluated: members or items, one or the other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Evaluated {
    /// Keys of members.
    keys: Language,
    /// All items before this index.
    items: u32,
    /// Items in one of these sets; sorted.
    matching: Vec<Set>,
}

impl Evaluated {
    const NOTHING: Self = Self { keys: Language::EMPTY, items: 0, matching: Vec::new() };
}

/// Values in all of the sets, and what is evaluated of each of them.
#[derive(Clone, Debug)]
struct EvaluatedBranch {
    all_of: Vec<Set>,
    seen: Evaluated,
}

/// One keyword that applies schemas to the same value.
struct Component {
    set: Set,
    /// What the set is the union of; empty where nobody asked.
    branches: Vec<EvaluatedBranch>,
}

/// The keywords that apply schemas to the same value, with branches if an aspect is asked for.
fn applicators_of<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Option<Aspect>,
) -> Result<Vec<Component>> {
    let mut components = Vec::new();
    let mut alone = Vec::new();
    for keyword in REFERENCES {
        if let Some(at) = reader.get(keyword) {
            alone.push(sets.reference(at, keyword)?);
        }
    }
    if let Some(at) = reader.get("allOf") {
        alone.extend(schema_list(sets, at, "allOf")?);
    }
    for set in alone {
        // A choice that stands by itself is one of this schema.
        if let Some(at) = lone_one_of(sets, set) {
            components.push(one_of_applicator(sets, at, reader.schema, aspect)?);
            continue;
        }
        let branches =
            aspect.map_or(Ok(Vec::new()), |aspect| branches_of_set(sets, set, aspect))?;
        components.push(Component { set, branches });
    }
    if let Some(at) = reader.get("anyOf") {
        let all_of = schema_list(sets, at, "anyOf")?;
        let branches = branches_of_any(sets, &all_of, aspect)?;
        components.push(Component { set: sets.or(all_of), branches });
    }
    if let Some(at) = reader.get("oneOf") {
        components.push(one_of_applicator(sets, at, reader.schema, aspect)?);
    }
    if let Some(at) = reader.get("not") {
        let inner = sets.schema(at)?;
        components.push(Component { set: sets.not(inner), branches: Vec::new() });
    }
    components.extend(if_then_else(sets, reader, aspect)?);
    for keyword in ["dependentSchemas", "dependencies"] {
        let Some(at) = reader.get(keyword) else { continue };
        for (key, schema) in members_of(sets, at, keyword)?.iter() {
            if matches!(sets.document.value(schema), Value::Array(_)) {
                continue;
            }
            let (with, needed) = (sets.has(key), sets.schema(schema)?);
            components.push(conditional(sets, with, needed, Set::ANY, aspect, false)?);
        }
    }
    Ok(components)
}

/// The `oneOf` of a schema that says nothing else.
fn lone_one_of(sets: &Sets<'_>, set: Set) -> Option<ValueId> {
    let &SetExpr::Schema(at, _) = sets.expr(set) else { return None };
    let members = sets.document.members(at).filter(|_| sets.ignored.is_empty())?;
    let mut says = members.iter().filter(|(keyword, _)| !ANNOTATIONS.contains(keyword));
    match (says.next(), says.next()) {
        (Some(("oneOf", choice)), None) => Some(choice),
        _ => None,
    }
}

/// Core, section 10.2.1.3, beside what the schema `around` it says itself.
fn one_of_applicator(
    sets: &mut Sets<'_>,
    at: ValueId,
    around: ValueId,
    aspect: Option<Aspect>,
) -> Result<Component> {
    let all_of = schema_list(sets, at, "oneOf")?;
    let alternatives = exclusions(sets, &all_of, around)?;
    let mut branches = Vec::new();
    for (&set, others) in all_of.iter().zip(&alternatives) {
        let Some(aspect) = aspect else { break };
        for mut branch in branches_of_set(sets, set, aspect)? {
            branch.all_of.push(*others);
            branches.push(branch);
        }
    }
    let alternatives: Vec<Set> =
        all_of.into_iter().zip(alternatives).map(|(a, b)| sets.and([a, b])).collect();
    Ok(Component { set: sets.or(alternatives), branches })
}

/// Core, section 10.2.2.
fn if_then_else<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Option<Aspect>,
) -> Result<Option<Component>> {
    let Some(at) = reader.get("if") else { return Ok(None) };
    let condition = sets.schema(at)?;
    let mut branch = |keyword| match reader.get(keyword) {
        Some(at) => sets.schema(at),
        None => Ok(Set::ANY),
    };
    let (then, otherwise) = (branch("then")?, branch("else")?);
    if aspect.is_none() && (then, otherwise) == (Set::ANY, Set::ANY) {
        return Ok(None);
    }
    conditional(sets, condition, then, otherwise, aspect, true).map(Some)
}

/// If a value is in `condition`, it is in `then`, else in `otherwise`; `evaluates`: what the
/// condition evaluates counts.
fn conditional(
    sets: &mut Sets<'_>,
    condition: Set,
    then: Set,
    otherwise: Set,
    aspect: Option<Aspect>,
    evaluates: bool,
) -> Result<Component> {
    let not = sets.not(condition);
    let (yes, no) = (sets.and([condition, then]), sets.and([not, otherwise]));
    let set = match (yes == condition, no == not) {
        (true, true) => Set::ANY,
        _ => sets.or([yes, no]),
    };
    let mut branches = Vec::new();
    if let Some(aspect) = aspect {
        let conditions = match evaluates {
            true => branches_of_set(sets, condition, aspect)?,
            false => vec![EvaluatedBranch { all_of: vec![condition], seen: Evaluated::NOTHING }],
        };
        let thens = branches_of_set(sets, then, aspect)?;
        for a in &conditions {
            for b in &thens {
                branches.extend(combine_branches(sets, a, b));
            }
        }
        for mut branch in branches_of_set(sets, otherwise, aspect)? {
            branch.all_of.push(not);
            branches.push(branch);
        }
    }
    Ok(Component { set, branches })
}

/// For each branch of a `oneOf` what its values must not be in besides (Core, section
/// 10.2.1.3). Branches that cannot hold together, beside what the schema `around` them says
/// itself, need not exclude each other.
fn exclusions(sets: &mut Sets<'_>, branches: &[Set], around: ValueId) -> Result<Vec<Set>> {
    let mut overlaps: Vec<Vec<Set>> = vec![Vec::new(); branches.len()];
    for (i, later) in sets.may_overlap(branches, around).into_iter().enumerate() {
        let a = branches[i];
        for j in later {
            let b = branches[j];
            sets.check_work(b)?;
            let both = sets.and([a, b]);
            if a == b || !sets.is_provably_empty(both) {
                overlaps[i].push(b);
                overlaps[j].push(a);
            }
        }
    }
    let mut excluded = Vec::with_capacity(branches.len());
    for others in overlaps {
        let others: Vec<Set> = others.into_iter().map(|other| sets.not(other)).collect();
        excluded.push(sets.and(others));
        sets.check_work(Set::ANY)?;
    }
    Ok(excluded)
}
