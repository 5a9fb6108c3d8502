//! Reach of a schema: whether it depends on schemas other than its own parts.
//!
//! Whether two alternatives exclude each other is asked while sets are unfolding, and mostly some
//! `enum`, `const` or `type` decides it. A schema without references is made of its own parts
//! alone, so it can be unfolded whatever else is unfolding.

use crate::json_schema::document::draft::{SubschemaPosition, subschema_position};
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::set::memo::Reach;
use crate::json_schema::set::{Set, SetExpr, Sets};

/// Keywords whose subschemas apply to the same value, or to its keys.
const IN_PLACE: [&str; 11] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "dependentSchemas",
    "dependencies",
    "dependentRequired",
];

/// Keywords that bound values, list them, or are annotations.
const SIMPLE: [&str; 15] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "title",
    "description",
    "default",
    "example",
    "examples",
    "$comment",
];

/// The reach of a set.
pub(crate) fn reach_of(sets: &mut Sets<'_>, set: Set) -> Reach {
    match sets.expr(set) {
        SetExpr::Any | SetExpr::Never | SetExpr::Value(_) | SetExpr::Text(_) => Reach::Simple,
        &SetExpr::Schema(at, _) | &SetExpr::Own(at, _) => reach_of_schema(sets, at),
        SetExpr::And(_) | SetExpr::Or(_) | SetExpr::Not(_) => reach_of_combination(sets, set),
        SetExpr::Writable | SetExpr::Has(_) | SetExpr::Members(..) | SetExpr::Items(..) => {
            Reach::Unbounded
        }
    }
}

/// The reach of a combination, which is found once: combinations share parts.
fn reach_of_combination(sets: &mut Sets<'_>, set: Set) -> Reach {
    if let Some(&known) = sets.memo.reach_of_sets.get(&set) {
        return known;
    }
    let reach = match sets.expr(set).clone() {
        SetExpr::And(parts) | SetExpr::Or(parts) => {
            let mut reach = Reach::Simple;
            for &part in &parts {
                reach = reach.max(reach_of(sets, part));
                if reach == Reach::Unbounded {
                    break;
                }
            }
            reach
        }
        SetExpr::Not(inner) => reach_of(sets, inner),
        _ => Reach::Unbounded,
    };
    sets.memo.reach_of_sets.insert(set, reach);
    reach
}

fn reach_of_schema(sets: &mut Sets<'_>, at: ValueId) -> Reach {
    if let Some(&known) = sets.memo.reach_of_schemas.get(&at) {
        return known;
    }
    let document = sets.document;
    let mut reach = Reach::Simple;
    for (keyword, value) in document.members(at).into_iter().flat_map(|m| m.iter()) {
        let this = match keyword {
            _ if SIMPLE.contains(&keyword) => Reach::Simple,
            "$ref" | "$dynamicRef" | "$recursiveRef" => Reach::Unbounded,
            "unevaluatedItems" | "unevaluatedProperties" => Reach::Unbounded,
            _ if !IN_PLACE.contains(&keyword) => Reach::ReferenceFree,
            _ => {
                let schemas = match (subschema_position(keyword), document.value(value)) {
                    (Some(SubschemaPosition::List), Value::Array(items)) => items.to_vec(),
                    (Some(SubschemaPosition::Map), Value::Object(map)) => {
                        map.iter().map(|m| m.1).collect()
                    }
                    _ => vec![value],
                };
                let inner = schemas.into_iter().map(|schema| reach_of_schema(sets, schema));
                let inner = inner.max().unwrap_or(Reach::Simple);
                let keys = matches!(keyword, "propertyNames" | "dependencies")
                    || keyword.starts_with("dependent");
                if keys { inner.max(Reach::ReferenceFree) } else { inner }
            }
        };
        reach = reach.max(this);
        if reach == Reach::Unbounded {
            break;
        }
    }
    sets.memo.reach_of_schemas.insert(at, reach);
    reach
}
