//! Findings about object members: names in `required` that nothing describes, open and closed
//! objects, conditions on absent members.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::finding::FindingKind;
use super::linter::{Linter, REFINING_KEYWORDS};
use crate::json_schema::document::draft::{SubschemaPosition, subschema_position};
use crate::json_schema::document::hints::nearest;
use crate::json_schema::document::{Members, Value, ValueId};
use crate::json_schema::options::Strictness;

/// Keywords that apply other schemas to the same object.
const APPLYING_KEYWORDS: [&str; 7] =
    ["allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "dependentSchemas"];

impl<'d> Linter<'d> {
    /// All findings of this file.
    pub(super) fn members(&mut self, schema: ValueId, role: &str) {
        self.required_names(schema);
        self.dependent_names(schema);
        self.open_object(schema, role);
        self.closed_part(schema, role);
        self.absent_condition(schema);
    }

    /// The members of the keyword `properties`.
    fn properties(&self, schema: ValueId) -> Option<&'d Members> {
        self.document.members(self.document.get(schema, "properties")?)
    }

    /// Whether every member that `properties` does not name is forbidden.
    pub(super) fn is_closed(&self, schema: ValueId) -> bool {
        let document = self.document;
        let forbids = |keyword| {
            let at = document.get(schema, keyword);
            at.is_some_and(|at| matches!(document.value(at), Value::Bool(false)))
        };
        forbids("additionalProperties") && !self.has(schema, "patternProperties")
    }

    /// The schema that another one refines in place.
    fn refined_by(&self, schema: ValueId) -> Option<ValueId> {
        let document = self.document;
        let parent = document.parent(schema)?;
        let refines = |at| document.key(at).is_some_and(|key| REFINING_KEYWORDS.contains(&key));
        // Directly, or in a list or a map.
        match (refines(schema) && document.members(parent).is_some(), refines(parent)) {
            (true, _) => Some(parent),
            (_, true) => document.parent(parent),
            _ => None,
        }
    }

    /// Whether `holds` is true of some schema that this one refines.
    fn any_refined(&self, schema: ValueId, holds: impl Fn(ValueId) -> bool) -> bool {
        std::iter::successors(self.refined_by(schema), |&at| self.refined_by(at)).any(holds)
    }

    /// Whether the schema of a member refines that of the same member further out.
    pub(super) fn refines_a_member(&self, schema: ValueId) -> bool {
        let document = self.document;
        let (Some(key), Some(named)) = (document.key(schema), document.parent(schema)) else {
            return false;
        };
        let known = |at| self.properties(at).is_some_and(|known| known.get(key).is_some());
        document.parent(named).is_some_and(|schema| self.any_refined(schema, known))
    }

    /// A message about a name that `properties` does not describe; `what` is the keyword that names
    /// it.
    fn unknown_name(&self, schema: ValueId, key: &str, what: &str) -> Option<String> {
        let properties = self.properties(schema)?;
        if properties.get(key).is_some() || self.has(schema, "patternProperties") {
            return None;
        }
        // Others may describe it.
        let known = |at| self.properties(at).is_some_and(|known| known.get(key).is_some());
        let applies = |at: ValueId| APPLYING_KEYWORDS.iter().any(|keyword| self.has(at, keyword));
        if applies(schema) || self.any_refined(schema, known) {
            return None;
        }
        let message = format!("`{what}` names `{key}`, which `properties` does not describe");
        let near = nearest(key, properties.iter().map(|(known, _)| known));
        Some(match near {
            Some(near) => format!("{message}: did you mean `{near}`?"),
            None if self.is_closed(schema) => {
                format!("{message}, and `additionalProperties` forbids: no object can have it")
            }
            None if self.options.strictness == Strictness::Closed
                && !self.has(schema, "additionalProperties") =>
            {
                format!("{message}, and objects are closed: none can have it")
            }
            None => format!("{message}: its value may be anything"),
        })
    }

    /// Names in `required` that `properties` does not describe.
    fn required_names(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(at) = document.get(schema, "required") else { return };
        let Value::Array(names) = document.value(at) else { return };
        for &name in names.iter() {
            let Some(key) = document.string(name) else { continue };
            if let Some(message) = self.unknown_name(schema, key, "required") {
                self.find(name, FindingKind::Hint, message);
            }
        }
    }

    /// Names in `dependentRequired` and the older `dependencies` that `properties` does not
    /// describe.
    fn dependent_names(&mut self, schema: ValueId) {
        let document = self.document;
        for keyword in ["dependentRequired", "dependencies"] {
            let Some(at) = document.get(schema, keyword) else { continue };
            let Some(dependencies) = document.members(at) else { continue };
            for (key, needed) in dependencies.iter() {
                if let Some(message) = self.unknown_name(schema, key, keyword) {
                    self.find(needed, FindingKind::Hint, message);
                }
                let Value::Array(names) = document.value(needed) else { continue };
                for &name in names.iter() {
                    let Some(key) = document.string(name) else { continue };
                    if let Some(message) = self.unknown_name(schema, key, keyword) {
                        self.find(name, FindingKind::Hint, message);
                    }
                }
            }
        }
    }

    /// The schemas that describe a part of an object which other schemas describe, too (base
    /// schemas behind `$ref`, parts of `allOf`). Closed by themselves they would forbid the other
    /// parts.
    fn object_parts(&mut self) -> Rc<FxHashSet<ValueId>> {
        if let Some(known) = &self.object_parts {
            return Rc::clone(known);
        }
        let document = self.document;
        let mut found = FxHashSet::default();
        // Schemas, and whether they are a part of an object.
        let mut open = vec![(document.root(), false)];
        let mut seen = FxHashSet::default();
        while let Some((schema, part)) = open.pop() {
            let Some(members) = document.members(schema) else { continue };
            if !seen.insert((schema, part)) {
                continue;
            }
            if part {
                found.insert(schema);
            }
            let several = |at| matches!(document.value(at), Value::Array(all) if all.len() > 1);
            let part = part
                || ["properties", "unevaluatedProperties"].iter().any(|k| members.get(k).is_some())
                || members.get("allOf").is_some_and(several);
            for (keyword, value) in members.iter() {
                let same = part && APPLYING_KEYWORDS.contains(&keyword)
                    || matches!(keyword, "then" | "else");
                let target = matches!(keyword, "$ref" | "$dynamicRef")
                    .then(|| self.references.resolve(document, value).ok())
                    .flatten();
                open.extend(target.map(|target| (target, same)));
                match (subschema_position(keyword), document.value(value)) {
                    (Some(SubschemaPosition::Map), Value::Object(map)) => {
                        open.extend(map.iter().map(|(_, child)| (child, same)));
                    }
                    (
                        Some(SubschemaPosition::List | SubschemaPosition::SchemaOrList),
                        Value::Array(items),
                    ) => {
                        open.extend(items.iter().map(|&item| (item, same)));
                    }
                    (Some(SubschemaPosition::Schema | SubschemaPosition::SchemaOrList), _) => {
                        open.push((value, same))
                    }
                    _ => {}
                }
            }
        }
        let found = Rc::new(found);
        self.object_parts = Some(Rc::clone(&found));
        found
    }

    /// Objects with named members, to which a model may add any other.
    fn open_object(&mut self, schema: ValueId, role: &str) {
        let closing = ["additionalProperties", "unevaluatedProperties", "propertyNames"];
        if REFINING_KEYWORDS.contains(&role)
            || self.options.strictness == Strictness::Closed
            || closing.iter().any(|keyword| self.has(schema, keyword))
            || self.object_parts().contains(&schema)
        {
            return;
        }
        let Some(at) = self.document.get(schema, "properties") else { return };
        let message = "members with other names may follow, with any value: did you mean to add \
                       `\"additionalProperties\": false`?";
        self.find(at, FindingKind::Hint, message);
    }

    /// `additionalProperties: false` in one part of an object which others describe, too.
    fn closed_part(&mut self, schema: ValueId, role: &str) {
        let document = self.document;
        let Some(at) = document.get(schema, "additionalProperties") else { return };
        if !matches!(document.value(at), Value::Bool(false)) {
            return;
        }
        let others = APPLYING_KEYWORDS.iter().find(|keyword| {
            document.get(schema, keyword).is_some_and(|at| self.describes_members(at))
        });
        let message = match others {
            _ if role == "allOf" => {
                "`additionalProperties` knows the `properties` beside it alone, and forbids what \
                 the other schemas of `allOf` describe: did you mean `unevaluatedProperties` beside \
                 `allOf`?"
                    .into()
            }
            Some(keyword) => format!(
                "`additionalProperties` knows the `properties` beside it alone, and forbids what \
                 `{keyword}` describes: did you mean `unevaluatedProperties`?"
            ),
            None => return,
        };
        self.find(at, FindingKind::Hint, message);
    }

    /// Whether a keyword's value holds a schema with `properties`, or refers to one.
    fn describes_members(&self, at: ValueId) -> bool {
        let document = self.document;
        let own = |schema: ValueId| match document.get(schema, "properties") {
            Some(named) => {
                // A schema that only narrows members described here is harmless.
                let around = document.parent(at).and_then(|schema| self.properties(schema));
                let named = document.members(named);
                named.is_some_and(|named| {
                    let known = |key| around.is_some_and(|around| around.get(key).is_some());
                    named.iter().any(|(key, _)| !known(key))
                })
            }
            None => false,
        };
        match document.value(at) {
            Value::Array(schemas) => schemas.iter().any(|&schema| own(schema)),
            Value::Object(_) => own(at),
            Value::String(reference) => {
                let pointer = reference.strip_prefix('#');
                let target = pointer.and_then(|p| document.at_pointer(document.root(), p));
                target.is_some_and(own)
            }
            _ => false,
        }
    }

    /// An `if` that also holds where the member that it tests is absent.
    fn absent_condition(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(at) = document.get(schema, "if") else { return };
        if !self.has(schema, "then") || self.has(at, "required") {
            return;
        }
        let Some(asked) = self.properties(at) else { return };
        let requires = |schema: ValueId, key: &str| {
            let names = document.get(schema, "required").map(|at| document.value(at));
            matches!(names, Some(Value::Array(names))
                if names.iter().any(|&name| document.string(name) == Some(key)))
        };
        let optional = asked.iter().find(|(key, _)| {
            !requires(schema, key) && !self.any_refined(schema, |at| requires(at, key))
        });
        if let Some((key, _)) = optional {
            let message = format!(
                "`if` holds for objects without `{key}`, too: did you mean to add \
                 `\"required\": [\"{}\"]` to it?",
                key.escape_debug()
            );
            self.find(at, FindingKind::Hint, message);
        }
    }
}
