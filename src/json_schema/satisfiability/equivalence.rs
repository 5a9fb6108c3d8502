//! Sets that say the same in other places of a document.
//!
//! Names are compared by the place of their schema, which is what messages need. Where it is asked
//! whether two alternatives say the same of a key, that would tell apart what an author has
//! copied. So small schemas without identifiers of their own are compared by what they say.

use crate::json_schema::document::draft::{Holds, holds};
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::set::{SetExpr, Set, Sets};

/// Schemas with more values than this are not compared.
const VALUES: usize = 128;

/// References that are followed to the schema that they name.
const HOPS: usize = 8;

/// Keywords that say nothing of values.
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

impl Sets<'_> {
    /// The first set that was asked for and says the same as this one, as far as that is plain.
    pub(crate) fn alike(&mut self, set: Set) -> Set {
        if let Some(&known) = self.likes.get(&set) {
            return known;
        }
        let first = match self.expr(set).clone() {
            SetExpr::And(parts) => {
                let parts: Vec<Set> = parts.iter().map(|&part| self.alike(part)).collect();
                self.and(parts)
            }
            SetExpr::Or(parts) => {
                let parts: Vec<Set> = parts.iter().map(|&part| self.alike(part)).collect();
                self.or(parts)
            }
            SetExpr::Not(inner) => {
                let inner = self.alike(inner);
                self.not(inner)
            }
            SetExpr::Schema(..) if self.ignored.is_empty() => self.alike_schema(set),
            _ => set,
        };
        self.likes.insert(set, first);
        first
    }

    fn alike_schema(&mut self, mut set: Set) -> Set {
        for _ in 0..HOPS {
            let SetExpr::Schema(at, scope) = *self.expr(set) else { return set };
            let Some(members) = self.document.members(at) else { return set };
            let Ok(dialect) = self.references.dialect(self.document, at) else { return set };
            let says = |(key, _): &(&str, ValueId)| !ANNOTATIONS.contains(key);
            let mut keywords = members.iter().filter(says);
            if let (Some(("$ref", reference)), None) = (keywords.next(), keywords.next()) {
                match self.in_scope(scope, |this| this.reference(reference, "$ref")) {
                    Ok(target) => set = target,
                    // Said when it is unfolded.
                    Err(_) => return set,
                }
                continue;
            }
            let (mut text, mut left) = (format!("{dialect:?}"), VALUES);
            let Some(()) = self.spell_schema(at, &mut text, &mut left) else { return set };
            return *self.texts.entry(text).or_insert(set);
        }
        set
    }

    /// Writes a schema down; `None` if it is too large or depends on where it stands.
    fn spell_schema(&self, at: ValueId, out: &mut String, left: &mut usize) -> Option<()> {
        let Value::Object(members) = self.document.value(at) else {
            return self.spell_value(at, out, left);
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
            match (holds(keyword), self.document.value(value)) {
                (Some(Holds::Map), Value::Object(map)) => {
                    out.push('{');
                    for (key, child) in map.iter() {
                        out.push_str(&format!("{key:?}:"));
                        self.spell_schema(child, out, left)?;
                    }
                    out.push('}');
                }
                (Some(Holds::List | Holds::SchemaOrList), Value::Array(items)) => {
                    out.push('[');
                    items.iter().try_for_each(|&item| self.spell_schema(item, out, left))?;
                    out.push(']');
                }
                (Some(_), _) => self.spell_schema(value, out, left)?,
                (None, _) => self.spell_value(value, out, left)?,
            }
        }
        out.push('}');
        Some(())
    }

    fn spell_value(&self, at: ValueId, out: &mut String, left: &mut usize) -> Option<()> {
        *left = left.checked_sub(1)?;
        match self.document.value(at) {
            Value::Null => out.push_str("null,"),
            Value::Bool(b) => out.push_str(&format!("{b},")),
            Value::Number(literal) => out.push_str(&format!("{literal},")),
            Value::String(text) => out.push_str(&format!("{text:?},")),
            Value::Array(items) => {
                out.push('[');
                items.iter().try_for_each(|&item| self.spell_value(item, out, left))?;
                out.push(']');
            }
            Value::Object(members) => {
                out.push('{');
                for (key, value) in members.iter() {
                    out.push_str(&format!("{key:?}:"));
                    self.spell_value(value, out, left)?;
                }
                out.push('}');
            }
        }
        Some(())
    }
}
