//! Equivalence of schemas by their text.
//!
//! Sets are interned by the place of their schema, which is what messages need. A schema that an
//! author has copied is another set with the same values, and two alternatives with such a member
//! look different. So small schemas without identifiers of their own are compared by their
//! keywords, annotations left out, and the first of equals stands for all.

use crate::json_schema::document::draft::{SubschemaPosition, subschema_position};
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::set::{Set, SetExpr, Sets};

/// Values in a schema up to which it is compared by text.
const MAX_COMPARED_VALUES: usize = 128;

/// References that are followed from a schema that is nothing but a `$ref`.
const MAX_HOPS: usize = 8;

/// Keywords that constrain no value.
pub(crate) const ANNOTATIONS: [&str; 9] = [
    "title",
    "description",
    "default",
    "example",
    "examples",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// The first set seen with provably the same values.
pub(crate) fn canonical_set(sets: &mut Sets<'_>, set: Set) -> Set {
    if let Some(&known) = sets.memo.canonical.get(&set) {
        return known;
    }
    let first = match sets.expr(set).clone() {
        SetExpr::And(parts) => {
            let parts: Vec<Set> = parts.iter().map(|&part| canonical_set(sets, part)).collect();
            sets.and(parts)
        }
        SetExpr::Or(parts) => {
            let parts: Vec<Set> = parts.iter().map(|&part| canonical_set(sets, part)).collect();
            sets.or(parts)
        }
        SetExpr::Not(inner) => {
            let inner = canonical_set(sets, inner);
            sets.not(inner)
        }
        SetExpr::Schema(..) if sets.ignored.is_empty() => canonical_schema(sets, set),
        _ => set,
    };
    sets.memo.canonical.insert(set, first);
    first
}

fn canonical_schema(sets: &mut Sets<'_>, mut set: Set) -> Set {
    for _ in 0..MAX_HOPS {
        let SetExpr::Schema(at, scope) = *sets.expr(set) else { return set };
        let Some(members) = sets.document.members(at) else { return set };
        let Ok(dialect) = sets.references.dialect(sets.document, at) else { return set };
        let says = |(key, _): &(&str, ValueId)| !ANNOTATIONS.contains(key);
        let mut keywords = members.iter().filter(says);
        if let (Some(("$ref", reference)), None) = (keywords.next(), keywords.next()) {
            match sets.in_scope(scope, |this| this.reference(reference, "$ref")) {
                Ok(target) => set = target,
                // Said when it is unfolded.
                Err(_) => return set,
            }
            continue;
        }
        let (mut text, mut left) = (format!("{dialect:?}"), MAX_COMPARED_VALUES);
        let Some(()) = write_schema(sets, at, &mut text, &mut left) else { return set };
        return *sets.memo.schema_texts.entry(text).or_insert(set);
    }
    set
}

/// Writes the keywords of a schema; `None` if it is too large or depends on its place.
fn write_schema(sets: &Sets<'_>, at: ValueId, out: &mut String, left: &mut usize) -> Option<()> {
    let Value::Object(members) = sets.document.value(at) else {
        return write_value(sets, at, out, left);
    };
    *left = left.checked_sub(1)?;
    out.push('{');
    for (keyword, value) in members.iter() {
        if ANNOTATIONS.contains(&keyword) {
            continue;
        }
        if keyword == "id" || keyword.starts_with('$') {
            return None;
        }
        out.push_str(&format!("{keyword:?}:"));
        match (subschema_position(keyword), sets.document.value(value)) {
            (Some(SubschemaPosition::Map), Value::Object(map)) => {
                out.push('{');
                for (key, child) in map.iter() {
                    out.push_str(&format!("{key:?}:"));
                    write_schema(sets, child, out, left)?;
                }
                out.push('}');
            }
            (
                Some(SubschemaPosition::List | SubschemaPosition::SchemaOrList),
                Value::Array(items),
            ) => {
                out.push('[');
                items.iter().try_for_each(|&item| write_schema(sets, item, out, left))?;
                out.push(']');
            }
            (Some(_), _) => write_schema(sets, value, out, left)?,
            (None, _) => write_value(sets, value, out, left)?,
        }
    }
    out.push('}');
    Some(())
}

fn write_value(sets: &Sets<'_>, at: ValueId, out: &mut String, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    match sets.document.value(at) {
        Value::Null => out.push_str("null,"),
        Value::Bool(b) => out.push_str(&format!("{b},")),
        Value::Number(literal) => out.push_str(&format!("{literal},")),
        Value::String(text) => out.push_str(&format!("{text:?},")),
        Value::Array(items) => {
            out.push('[');
            items.iter().try_for_each(|&item| write_value(sets, item, out, left))?;
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (key, value) in members.iter() {
                out.push_str(&format!("{key:?}:"));
                write_value(sets, value, out, left)?;
            }
            out.push('}');
        }
    }
    Some(())
}
