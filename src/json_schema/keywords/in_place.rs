//! In-place applicators: keywords whose subschemas apply to the same value.
//!
//! `allOf`, `anyOf`, `oneOf`, `not`, `if`, references and dependent schemas each become one set (an
//! [`Applicator`]). Beside `unevaluatedProperties` or `unevaluatedItems` it also matters what each
//! of them evaluates, which the private module `unevaluated` follows.

mod unevaluated;

use crate::error::Result;
use crate::json_schema::document::references::DynamicScope;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::in_place::unevaluated::{
    branches_of_any, branches_of_set, combine_branches,
};
use crate::json_schema::keywords::values::{members_of, schema_list};
use crate::json_schema::options::OneOf;
use crate::json_schema::satisfiability::equivalence::ANNOTATIONS;
use crate::json_schema::set::keyword_reader::KeywordReader;
use crate::json_schema::set::{Set, SetExpr, Sets};
use crate::regular::Language;
pub(crate) use unevaluated::applied_sets;

/// Keywords that refer to another schema for the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The sets whose intersection a schema is.
pub(crate) struct Applied {
    pub(crate) all_of: Vec<Set>,
    /// Whether the schema's own keywords count beside the sets.
    pub(crate) own: bool,
}

/// The part of a value that an `unevaluated…` keyword is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aspect {
    Members,
    Items,
}

/// The evaluated members or items of a value, one or the other.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Evaluated {
    /// Keys of evaluated members.
    keys: Language,
    /// Number of leading items that are all evaluated.
    items: u32,
    /// Items in one of these sets are evaluated; sorted.
    matching: Vec<Set>,
}

impl Evaluated {
    const NOTHING: Self = Self { keys: Language::EMPTY, items: 0, matching: Vec::new() };
}

/// The values in all of some sets, and what every one of them has evaluated.
#[derive(Clone, Debug)]
struct EvaluatedBranch {
    all_of: Vec<Set>,
    seen: Evaluated,
}

/// An in-place applicator, as a set.
struct Applicator {
    set: Set,
    /// The branches whose union the set is; empty if no aspect was asked for.
    branches: Vec<EvaluatedBranch>,
}

/// The in-place applicators of a schema, with branches if an aspect is asked for.
fn applicators_of<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Option<Aspect>,
) -> Result<Vec<Applicator>> {
    let mut applicators = Vec::new();
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
        if let Some((at, scope)) = lone_one_of(sets, set) {
            let choice =
                sets.in_scope(scope, |sets| one_of_applicator(sets, at, reader.schema, aspect));
            applicators.push(choice?);
            continue;
        }
        let branches =
            aspect.map_or(Ok(Vec::new()), |aspect| branches_of_set(sets, set, aspect))?;
        applicators.push(Applicator { set, branches });
    }
    if let Some(at) = reader.get("anyOf") {
        let all_of = schema_list(sets, at, "anyOf")?;
        let branches = branches_of_any(sets, &all_of, aspect)?;
        applicators.push(Applicator { set: sets.or(all_of), branches });
    }
    if let Some(at) = reader.get("oneOf") {
        applicators.push(one_of_applicator(sets, at, reader.schema, aspect)?);
    }
    if let Some(at) = reader.get("not") {
        let inner = sets.schema(at)?;
        applicators.push(Applicator { set: sets.not(inner), branches: Vec::new() });
    }
    applicators.extend(if_then_else(sets, reader, aspect)?);
    for keyword in ["dependentSchemas", "dependencies"] {
        let Some(at) = reader.get(keyword) else { continue };
        for (key, schema) in members_of(sets, at, keyword)?.iter() {
            if matches!(sets.document.value(schema), Value::Array(_)) {
                continue;
            }
            let (with, needed) = (sets.has(key), sets.schema(schema)?);
            applicators.push(conditional(sets, with, needed, Set::ANY, aspect, false)?);
        }
    }
    Ok(applicators)
}

/// The `oneOf` of a schema that has no other keyword, and its scope.
fn lone_one_of(sets: &Sets<'_>, set: Set) -> Option<(ValueId, DynamicScope)> {
    let &SetExpr::Schema(at, scope) = sets.expr(set) else { return None };
    let members = sets.document.members(at).filter(|_| sets.ignored.is_empty())?;
    let mut says = members.iter().filter(|(keyword, _)| !ANNOTATIONS.contains(keyword));
    match (says.next(), says.next()) {
        (Some(("oneOf", choice)), None) => Some((choice, scope)),
        _ => None,
    }
}

/// `oneOf` (Core, section 10.2.1.3), given the other keywords of the schema `around` it.
fn one_of_applicator(
    sets: &mut Sets<'_>,
    at: ValueId,
    around: ValueId,
    aspect: Option<Aspect>,
) -> Result<Applicator> {
    let all_of = schema_list(sets, at, "oneOf")?;
    if sets.options.one_of == OneOf::AtLeast {
        let branches = branches_of_any(sets, &all_of, aspect)?;
        return Ok(Applicator { set: sets.or(all_of), branches });
    }
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
    Ok(Applicator { set: sets.or(alternatives), branches })
}

/// `if`, `then`, `else` (Core, section 10.2.2).
fn if_then_else<'d>(
    sets: &mut Sets<'d>,
    reader: &KeywordReader<'d>,
    aspect: Option<Aspect>,
) -> Result<Option<Applicator>> {
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

/// The values that are in `condition` and `then`, or not in `condition` and in `otherwise`. Whether
/// what the condition evaluates counts is `evaluates`.
fn conditional(
    sets: &mut Sets<'_>,
    condition: Set,
    then: Set,
    otherwise: Set,
    aspect: Option<Aspect>,
    evaluates: bool,
) -> Result<Applicator> {
    let not = sets.not(condition);
    let (yes, no) = (sets.and([condition, then]), sets.and([not, otherwise]));
    let set = match (yes == condition, no == not) {
        (true, true) => Set::ANY,
        _ => sets.or([yes, no]),
    };
    let mut branches = Vec::new();
    if let Some(aspect) = aspect {
        let conditions = if evaluates {
            branches_of_set(sets, condition, aspect)?
        } else {
            vec![EvaluatedBranch { all_of: vec![condition], seen: Evaluated::NOTHING }]
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
    Ok(Applicator { set, branches })
}

/// By branch of a `oneOf`, the complement of the other branches (Core, section 10.2.1.3). Branches
/// that are disjoint, given the schema `around` them, need not exclude each other.
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
