//! Probable mistakes: missing types, overlapping branches, schemas that no value satisfies.

use super::effects::{self, Effect};
use super::finding::FindingKind;
use super::linter::{Linter, REFINING_KEYWORDS};
use crate::deadline;
use crate::error::ErrorKind;
use crate::json_schema::document::draft::SchemaDialect;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::options::OneOf;
use crate::json_schema::satisfiability::unsat_core::contradiction;
use crate::json_schema::set::Set;

/// Names that a message lists; more make it unreadable.
const MAX_LISTED_NAMES: usize = 12;

/// Branches of a `oneOf` that are compared pair by pair.
const MAX_COMPARED_BRANCHES: usize = 16;

/// Impossible schemas whose contradiction is searched for, which takes a search each.
const MAX_DIAGNOSES: usize = 8;

/// The names in backticks, or the first of them and the number of the others.
pub(super) fn quoted_list(names: &[&str]) -> String {
    let shown: Vec<String> =
        names.iter().take(MAX_LISTED_NAMES).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(MAX_LISTED_NAMES + 1) {
        Some(_) => format!("{} and {} more", shown.join(", "), names.len() - MAX_LISTED_NAMES),
        None => shown.join(", "),
    }
}

/// References that are followed in a row; a cycle ends here.
const MAX_REFERENCES: usize = 100;

impl Linter<'_> {
    /// All probable mistakes in a schema.
    pub(super) fn mistakes(&mut self, schema: ValueId, role: &str, dialect: SchemaDialect) {
        self.missing_type(schema, role, dialect);
        self.members(schema, role);
        self.loose_patterns(schema);
        self.values(schema);
        self.overlapping_branches(schema);
        self.impossible_names(schema);
        self.impossible(schema, role);
    }

    /// Keywords of one type without a `type`.
    fn missing_type(&mut self, schema: ValueId, role: &str, dialect: SchemaDialect) {
        let elsewhere = ["type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef", "allOf"];
        if REFINING_KEYWORDS.contains(&role)
            || elsewhere.iter().any(|keyword| self.has(schema, keyword))
        {
            return;
        }
        // Names are strings; `items` constrains the items that `contains` tests, too.
        let parent = self.document.parent(schema);
        let said = match role {
            "propertyNames" => true,
            "contains" => parent.is_some_and(|at| self.has(at, "items")),
            "properties" => self.refines_a_member(schema),
            _ => false,
        };
        if said {
            return;
        }
        let Some(members) = self.document.members(schema) else { return };
        let found = members.iter().find_map(|(keyword, _)| {
            let type_ = effects::constrained_type(keyword).filter(|_| dialect.knows(keyword))?;
            Some((keyword, type_))
        });
        if let Some((keyword, type_)) = found {
            let message = format!(
                "`{keyword}` looks at values of one type alone, and every value of another type is \
                 accepted: did you mean to add `\"type\": \"{type_}\"`?"
            );
            self.find(schema, FindingKind::Hint, message);
        }
    }

    /// A `propertyNames` that allows no string, and so forbids all members.
    fn impossible_names(&mut self, schema: ValueId) {
        let Some(names) = self.document.get(schema, "propertyNames") else { return };
        let Some(types) = self.types(names) else { return };
        if !types.contains(&"string") {
            let message = "names of members are strings, so that `propertyNames` forbids them all";
            self.find(names, FindingKind::Hint, message);
        }
    }

    /// A `oneOf` with a branch that is never taken, or whose branches overlap.
    fn overlapping_branches(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(at) = document.get(schema, "oneOf") else { return };
        if self.options.one_of == OneOf::AtLeast {
            return;
        }
        let Value::Array(branches) = document.value(at) else { return };
        if branches.len() < 2 || branches.len() > MAX_COMPARED_BRANCHES {
            return;
        }
        let sets: Option<Vec<Set>> =
            branches.iter().map(|&branch| self.sets.schema(branch).ok()).collect();
        let Some(sets) = sets else { return };
        // The schema around them may require what tells them apart.
        let may_overlap = self.sets.may_overlap(&sets, schema);
        let mut overlaps = Vec::new();
        for (i, &set) in sets.iter().enumerate() {
            let others = sets.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, &other)| other);
            let others = self.sets.or(others);
            let others = self.sets.not(others);
            let alone = self.sets.and([set, others]);
            let never = matches!(self.sets.is_empty(set), Ok(false))
                && matches!(self.sets.is_empty(alone), Ok(true));
            if never {
                let message = "every value of this branch is also a value of another one, so that \
                               `oneOf` never takes it: did you mean `anyOf`?";
                self.find(branches[i], FindingKind::Hint, message);
            }
            for &j in &may_overlap[i] {
                let other = sets[j];
                let both = self.sets.and([set, other]);
                if set == other || matches!(self.sets.is_empty(both), Ok(false)) {
                    overlaps.push(format!("{i} and {j}"));
                }
            }
        }
        let pairs = sets.len() * (sets.len() - 1) / 2;
        if overlaps.len() == pairs && pairs > 1 {
            let message = "each branch overlaps each other one, and what is in two of them is \
                           refused: did you mean `anyOf`?";
            self.find(at, FindingKind::Hint, message);
        }
        if !overlaps.is_empty() {
            let shown = overlaps.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let more = if overlaps.len() > 3 { " and others" } else { "" };
            let message = format!(
                "branches {shown}{more} overlap: a value of both is refused, which takes a \
                 complement to enforce; `anyOf`, or a member with a `const` of its own in each \
                 branch, is cheaper"
            );
            self.find(at, FindingKind::Cost, message);
        }
    }

    /// The schema behind references that stand alone; `None` if they lead nowhere, or too far.
    fn without_references(&mut self, mut schema: ValueId) -> Option<ValueId> {
        let document = self.document;
        for _ in 0..MAX_REFERENCES {
            let enforces = |keyword| matches!(effects::effect(keyword), Some(Effect::Enforces(_)));
            let members = document.members(schema);
            let mut keywords = members.into_iter().flat_map(|members| members.iter());
            let mut kept = keywords.by_ref().filter(|(keyword, _)| enforces(keyword));
            schema = match (kept.next(), kept.next()) {
                (Some(("$ref", reference)), None) => {
                    self.references.resolve(document, reference).ok()?
                }
                _ => return Some(schema),
            };
        }
        None
    }

    /// A schema that no value satisfies, or whose texts would come to a limit.
    fn impossible(&mut self, schema: ValueId, role: &str) {
        // The target of a lone reference is the same set, and is reported once.
        let Some(said) = self.without_references(schema) else { return };
        let Ok(set) = self.sets.schema(said) else { return };
        let limit = match (self.sets.is_empty(set), self.sets.shape(set)) {
            (Ok(true), _) if schema != self.document.root() => {
                let never = match role {
                    "properties" | "patternProperties" | "additionalProperties" => {
                        "such a member is never written"
                    }
                    "items" | "prefixItems" | "contains" => "such an item is never written",
                    _ => "it is never taken",
                };
                let message = format!("no value satisfies this schema, so {never}");
                self.impossible_schemas += 1;
                let why = (self.impossible_schemas <= MAX_DIAGNOSES)
                    .then(|| contradiction(self.document, self.options, schema));
                return match why.flatten() {
                    Some((_, why)) => {
                        self.find(schema, FindingKind::Hint, format!("{message}: {why}"));
                    }
                    None => self.find(schema, FindingKind::Hint, message),
                };
            }
            (Err(error), _) | (_, Err(error)) => Some(error),
            (_, Ok(shape)) => self.sets.too_many_counts(set, &shape),
        };
        let limit = limit.filter(|error| error.kind() == ErrorKind::Limit && said == schema);
        let limit = limit.filter(|_| !deadline::is_over());
        if let Some(error) = limit {
            let message = format!("a text that comes here is refused: {}", error.message());
            self.find(schema, FindingKind::Cost, message);
        }
    }
}
