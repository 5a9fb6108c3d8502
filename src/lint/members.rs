//! Members that are asked for by one name and described by another, or may be anything.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::{FindingKind, Linter, REFINING};
use crate::json_schema::document::draft::{Holds, holds};
use crate::json_schema::document::hints::nearest;
use crate::json_schema::document::{Members, Value, ValueId};

/// Keywords that apply other schemas to the same object.
const APPLYING: [&str; 7] =
    ["allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "dependentSchemas"];

impl<'d> Linter<'d> {
    pub(crate) fn members(&mut self, schema: ValueId, role: &str) {
        self.required_names(schema);
        self.dependent_names(schema);
        self.open_object(schema, role);
        self.closed_part(schema, role);
        self.absent_condition(schema);
    }

    fn properties(&self, schema: ValueId) -> Option<&'d Members> {
        self.document.members(self.document.get(schema, "properties")?)
    }

    /// Is everything that `properties` does not name forbidden?
    pub(crate) fn is_closed(&self, schema: ValueId) -> bool {
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
        let refines = |at| document.key(at).is_some_and(|key| REFINING.contains(&key));
        // Directly, or in a list or a map.
        match (refines(schema) && document.members(parent).is_some(), refines(parent)) {
            (true, _) => Some(parent),
            (_, true) => document.parent(parent),
            _ => None,
        }
    }

    /// Do the schemas that this one refines describe a member, or ask for it?
    fn around(&self, schema: ValueId, holds: impl Fn(ValueId) -> bool) -> bool {
        std::iter::successors(self.refined_by(schema), |&at| self.refined_by(at)).any(holds)
    }

    /// Does the schema of a member refine one that stands further out?
    pub(crate) fn refines_a_member(&self, schema: ValueId) -> bool {
        let document = self.document;
        let (Some(key), Some(named)) = (document.key(schema), document.parent(schema)) else {
            return false;
        };
        let known = |at| self.properties(at).is_some_and(|known| known.get(key).is_some());
        document.parent(named).is_some_and(|schema| self.around(schema, known))
    }

    /// A name that `properties` does not know, in words.
    fn unknown_name(&self, schema: ValueId, key: &str, what: &str) -> Option<String> {
        let properties = self.properties(schema)?;
        if properties.get(key).is_some() || self.has(schema, "patternProperties") {
            return None;
        }
        // Others may describe it.
        let known = |at| self.properties(at).is_some_and(|known| known.get(key).is_some());
        let applies = |at: ValueId| APPLYING.iter().any(|keyword| self.has(at, keyword));
        if applies(schema) || self.around(schema, known) {
            return None;
        }
        let message = format!("`{what}` names `{key}`, which `properties` does not describe");
        let near = nearest(key, properties.iter().map(|(known, _)| known));
        Some(match near {
            Some(near) => format!("{message}: did you mean `{near}`?"),
            None if self.is_closed(schema) => {
                format!("{message}, and `additionalProperties` forbids: no object can have it")
            }
            None => format!("{message}: its value may be anything"),
        })
    }

    /// `required` names what `properties` does not know.
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

    /// The same for `dependentRequired`, and for the older `dependencies`.
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

    /// Schemas that references take for a part of an object that others describe, too: closed by
    /// themselves they would forbid what those describe.
    fn bases(&mut self) -> Rc<FxHashSet<ValueId>> {
        if let Some(bases) = &self.bases {
            return Rc::clone(bases);
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
                let same =
                    part && APPLYING.contains(&keyword) || matches!(keyword, "then" | "else");
                let target = matches!(keyword, "$ref" | "$dynamicRef")
                    .then(|| self.references.resolve(document, value).ok())
                    .flatten();
                open.extend(target.map(|target| (target, same)));
                match (holds(keyword), document.value(value)) {
                    (Some(Holds::Map), Value::Object(map)) => {
                        open.extend(map.iter().map(|(_, child)| (child, same)));
                    }
                    (Some(Holds::List | Holds::SchemaOrList), Value::Array(items)) => {
                        open.extend(items.iter().map(|&item| (item, same)));
                    }
                    (Some(Holds::Schema | Holds::SchemaOrList), _) => open.push((value, same)),
                    _ => {}
                }
            }
        }
        let found = Rc::new(found);
        self.bases = Some(Rc::clone(&found));
        found
    }

    /// Objects with named members, to which a model may add any other.
    fn open_object(&mut self, schema: ValueId, role: &str) {
        let closing = ["additionalProperties", "unevaluatedProperties", "propertyNames"];
        if REFINING.contains(&role)
            || closing.iter().any(|keyword| self.has(schema, keyword))
            || self.bases().contains(&schema)
        {
            return;
        }
        let Some(at) = self.document.get(schema, "properties") else { return };
        let message = "members with other names may follow, with any value: did you mean to add \
                       `\"additionalProperties\": false`?";
        self.find(at, FindingKind::Hint, message);
    }

    /// `additionalProperties: false` in one part of an object that others describe, too.
    fn closed_part(&mut self, schema: ValueId, role: &str) {
        let document = self.document;
        let Some(at) = document.get(schema, "additionalProperties") else { return };
        if !matches!(document.value(at), Value::Bool(false)) {
            return;
        }
        let others = APPLYING.iter().find(|keyword| {
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

    /// Does a keyword's value hold a schema with `properties`, or lead to one?
    fn describes_members(&self, at: ValueId) -> bool {
        let document = self.document;
        let own = |schema: ValueId| match document.get(schema, "properties") {
            Some(named) => {
                // What only narrows a member that stands here, too, is no trouble.
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

    /// An `if` that also holds where the member that it asks about is absent.
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
            !requires(schema, key) && !self.around(schema, |at| requires(at, key))
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
