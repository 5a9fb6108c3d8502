//! Closing of schemas: the keywords that [`Strictness::Closed`] adds to a document.
//!
//! A schema that names members (`properties`, `patternProperties`) and says nothing of others gets
//! `"additionalProperties": false`; one that lists items says the same of further ones. Every
//! later step reads the document as if its author had written so.
//!
//! Schemas that apply to one value are closed together, since each alone would forbid what the
//! others name. A value has one schema that says all of it (a *whole*): the root, a property's, an
//! item's. A whole that is nothing but a reference or a choice hands that on to its branches; any
//! other makes *parts* of the schemas that it applies, and gets `unevaluatedProperties`:
//!
//! ```text
//! {"anyOf": [A, B]}                                A and B are wholes: each is closed
//! {"properties": …, "anyOf": [A, B]}               "unevaluatedProperties": false beside them
//! {"allOf": [{"$ref": "#/$defs/A"}, {"properties": …}]}    the same; A stays open
//! ```
//!
//! A schema that is asked whether it holds (`not`, `if`, `contains`, `propertyNames`) is a
//! *condition* and stays as it is: closing it would allow more.
//!
//! [`Strictness::Closed`]: crate::json_schema::Strictness::Closed

use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::SchemaDialect;
use super::references::References;
use super::{Document, Members, Value, ValueId};
use crate::error::{ErrorKind, Result};

/// Relation of a schema to the values that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// It says all that is said of a value.
    Whole,
    /// Others apply to the same value.
    Part,
    /// Whether it holds is asked.
    Condition,
}

/// The roles that a schema was met in.
#[derive(Clone, Copy, Debug, Default)]
struct Roles {
    whole: bool,
    part: bool,
    condition: bool,
}

impl Roles {
    fn role(&mut self, role: Role) -> &mut bool {
        match role {
            Role::Whole => &mut self.whole,
            Role::Part => &mut self.part,
            Role::Condition => &mut self.condition,
        }
    }
}

/// Members or items, with the keywords about them.
struct ClosedAspect {
    /// Those that name some.
    naming: &'static [&'static str],
    /// Those that speak of the others.
    about_others: &'static [&'static str],
    unevaluated: &'static str,
}

const ASPECTS: [ClosedAspect; 2] = [
    ClosedAspect {
        naming: &["properties", "patternProperties"],
        about_others: &["additionalProperties", "unevaluatedProperties"],
        unevaluated: "unevaluatedProperties",
    },
    ClosedAspect {
        naming: &["prefixItems", "items"],
        about_others: &["additionalItems", "unevaluatedItems"],
        unevaluated: "unevaluatedItems",
    },
];

/// Adds to a document what closes its schemas.
///
/// Errors if a schema cannot be closed without changing what it means elsewhere.
pub(crate) fn close(document: &mut Document, references: &mut References) -> Result<()> {
    let mut closer = Closer {
        document,
        references,
        roles: FxHashMap::default(),
        order: Vec::new(),
        joined: FxHashSet::default(),
    };
    loop {
        closer.assign_roles()?;
        if !closer.join_shared()? {
            break;
        }
    }
    let mut added = Vec::new();
    for schema in std::mem::take(&mut closer.order) {
        if closer.roles[&schema].whole && !closer.hands_on(schema)? {
            for aspect in &ASPECTS {
                added.extend(closer.addition(schema, aspect)?.map(|keyword| (schema, keyword)));
            }
        }
    }
    added.into_iter().for_each(|(schema, keyword)| document.add_false(schema, keyword));
    Ok(())
}

struct Closer<'d> {
    document: &'d Document,
    references: &'d mut References,
    roles: FxHashMap<ValueId, Roles>,
    /// Schemas as they were met.
    order: Vec<ValueId>,
    /// Wholes that do not hand on, since a schema that they apply is a part elsewhere.
    joined: FxHashSet<ValueId>,
}

impl<'d> Closer<'d> {
    fn dialect(&mut self, schema: ValueId) -> Result<SchemaDialect> {
        self.references.dialect(self.document, schema)
    }

    /// The keywords of a schema that count.
    fn keywords(&mut self, schema: ValueId) -> Result<Vec<(&'d str, ValueId)>> {
        let dialect = self.dialect(schema)?;
        let document = self.document;
        let members = document.members(schema).unwrap_or(Members::none());
        let alone = dialect.reference_stands_alone() && members.get("$ref").is_some();
        let counts = |keyword: &str| dialect.knows(keyword) && (!alone || keyword == "$ref");
        Ok(members.iter().filter(|(keyword, _)| counts(keyword)).collect())
    }

    /// The schemas that a keyword applies to the same value.
    fn applied(&mut self, keyword: &str, at: ValueId) -> Vec<ValueId> {
        match (keyword, self.document.value(at)) {
            // What cannot be found is reported where it is read.
            ("$ref", _) => self.references.resolve(self.document, at).into_iter().collect(),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas.to_vec(),
            ("then" | "else", _) => vec![at],
            ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                schemas.iter().map(|(_, schema)| schema).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a whole makes wholes of the schemas that it applies: if it is one reference or one
    /// choice, and names nothing itself.
    fn hands_on(&mut self, schema: ValueId) -> Result<bool> {
        if self.joined.contains(&schema) {
            return Ok(false);
        }
        let mut applicators = 0;
        for (keyword, at) in self.keywords(schema)? {
            match keyword {
                "$ref" | "anyOf" | "oneOf" => applicators += 1,
                "allOf" => applicators += self.applied(keyword, at).len(),
                "if" | "then" | "else" | "dependentSchemas" | "dependencies" => return Ok(false),
                _ if ASPECTS.iter().any(|aspect| {
                    aspect.naming.contains(&keyword) || aspect.about_others.contains(&keyword)
                }) =>
                {
                    return Ok(false);
                }
                _ => {}
            }
        }
        Ok(applicators == 1)
    }

    /// Finds the schemas that are read, with their roles.
    fn assign_roles(&mut self) -> Result<()> {
        self.roles.clear();
        self.order.clear();
        let mut open = vec![(self.document.root(), Role::Whole)];
        while let Some((schema, role)) = open.pop() {
            if self.document.members(schema).is_none() || schema.is_builtin() {
                continue;
            }
            if !self.roles.contains_key(&schema) {
                self.order.push(schema);
            }
            if std::mem::replace(self.roles.entry(schema).or_default().role(role), true) {
                continue;
            }
            let hands_on = role == Role::Whole && self.hands_on(schema)?;
            let inside = if role == Role::Condition { role } else { Role::Whole };
            let applied = if role == Role::Whole && !hands_on { Role::Part } else { role };
            for (keyword, at) in self.keywords(schema)? {
                match (keyword, self.document.value(at)) {
                    ("not" | "if" | "contains" | "propertyNames", _) => {
                        open.push((at, Role::Condition));
                    }
                    ("properties" | "patternProperties", Value::Object(schemas)) => {
                        open.extend(schemas.iter().map(|(_, schema)| (schema, inside)));
                    }
                    ("items" | "prefixItems", Value::Array(schemas)) => {
                        open.extend(schemas.iter().map(|&schema| (schema, inside)));
                    }
                    (
                        "items"
                        | "additionalProperties"
                        | "additionalItems"
                        | "unevaluatedProperties"
                        | "unevaluatedItems",
                        _,
                    ) => open.push((at, inside)),
                    ("$dynamicRef" | "$recursiveRef", _) if role != Role::Condition => {
                        let message = format!(
                            "`{keyword}` leads to schemas that depend on the way there, and such \
                             are not closed"
                        );
                        let error = self.document.error(ErrorKind::Schema, at, message);
                        return Err(error.with_help(
                            "write `$ref`, or leave `strict` out and write `additionalProperties`",
                        ));
                    }
                    _ => {
                        let schemas = self.applied(keyword, at);
                        open.extend(schemas.into_iter().map(|schema| (schema, applied)));
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds to `joined` the wholes that hand on to a schema that is a part elsewhere: they must be
    /// closed themselves, since that schema stays open. Returns whether any was added.
    fn join_shared(&mut self) -> Result<bool> {
        let mut found = false;
        for schema in self.order.clone() {
            if !self.roles[&schema].whole || !self.hands_on(schema)? {
                continue;
            }
            for (keyword, at) in self.keywords(schema)? {
                let applied = self.applied(keyword, at);
                if applied.iter().any(|schema| self.roles.get(schema).is_some_and(|r| r.part)) {
                    found |= self.joined.insert(schema);
                }
            }
        }
        Ok(found)
    }

    /// The keyword that closes a whole in an aspect, if it is open.
    fn addition(&mut self, schema: ValueId, aspect: &ClosedAspect) -> Result<Option<&'static str>> {
        let keywords = self.keywords(schema)?;
        let has = |name: &str| keywords.iter().any(|&(keyword, _)| keyword == name);
        let said = aspect.about_others.iter().any(|keyword| has(keyword));
        let one_for_all = |&(keyword, at): &(&str, ValueId)| {
            keyword == "items" && !matches!(self.document.value(at), Value::Array(_))
        };
        let items = aspect.unevaluated == "unevaluatedItems";
        if said || items && keywords.iter().any(one_for_all) {
            return Ok(None);
        }
        if !self.names_some(schema, aspect)? {
            return Ok(None);
        }
        let applies = keywords
            .iter()
            .any(|&(keyword, at)| keyword == "if" || !self.applied(keyword, at).is_empty());
        let keyword = match (items, applies) {
            (_, true) => aspect.unevaluated,
            (false, false) => "additionalProperties",
            (true, false) if has("prefixItems") => "items",
            (true, false) => "additionalItems",
        };
        let roles = self.roles[&schema];
        let elsewhere = if roles.condition {
            "in a condition (`not`, `if`, `contains`)"
        } else if roles.part {
            "together with others"
        } else {
            let dialect = self.dialect(schema)?;
            if dialect.reference_stands_alone() && has("$ref") {
                "together with others, and nothing may stand beside its `$ref`"
            } else {
                return Ok(Some(keyword));
            }
        };
        let message = format!(
            "the schema cannot be closed with `{keyword}`, since it is used {elsewhere}, too"
        );
        let error = self.document.error(ErrorKind::Schema, schema, message);
        Err(error.with_help(format!("write `{keyword}` where it is meant, or leave `strict` out")))
    }

    /// Whether a schema or one that it applies names members or items.
    fn names_some(&mut self, schema: ValueId, aspect: &ClosedAspect) -> Result<bool> {
        let mut seen = FxHashSet::default();
        let mut todo = vec![schema];
        while let Some(schema) = todo.pop() {
            if !seen.insert(schema) || schema.is_builtin() {
                continue;
            }
            for (keyword, at) in self.keywords(schema)? {
                let list = keyword != "items" || matches!(self.document.value(at), Value::Array(_));
                if aspect.naming.contains(&keyword) && list {
                    return Ok(true);
                }
                todo.extend(self.applied(keyword, at));
                if keyword == "if" {
                    todo.push(at);
                }
            }
        }
        Ok(false)
    }
}
