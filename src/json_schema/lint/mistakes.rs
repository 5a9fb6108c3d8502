//! What the author probably meant.

use super::super::document::{Value, ValueId};
use super::super::draft::Dialect;
use super::super::set::Set;
use super::{FindingKind, Linter};
use crate::error::ErrorKind;

/// Names listed in one message.
const NAMES: usize = 12;

/// Branches of a `oneOf` that are compared with each other.
const BRANCHES: usize = 16;

/// Keywords that look at values of one type alone.
const TYPED: &[(&str, &[&str])] = &[
    (
        "object",
        &[
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "minProperties",
            "maxProperties",
            "propertyNames",
        ],
    ),
    ("array", &["items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"]),
    ("string", &["minLength", "maxLength", "pattern", "format"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
];

/// Under these a schema refines another, which says the type.
const REFINING: &[&str] =
    &["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// `a, b, c` or the first of them.
pub(super) fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(NAMES + 1) {
        Some(_) => format!("{} and {} more", shown.join(", "), names.len() - NAMES),
        None => shown.join(", "),
    }
}

/// The name that differs least from another, if it differs little: letters left out, put in,
/// replaced, or swapped with the next (the optimal string alignment distance).
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let most = (name.chars().count() / 3).clamp(1, 3);
    known
        .filter(|other| *other != name)
        .map(|other| (distance(name, other), other))
        .filter(|&(distance, _)| distance <= most)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other)
}

fn distance(a: &str, b: &str) -> usize {
    let lower = |s: &str| s.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (a, b) = (lower(a), lower(b));
    if a.len().abs_diff(b.len()) > 3 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

impl Linter<'_> {
    pub(super) fn mistakes(&mut self, schema: ValueId, role: &str, dialect: Dialect) {
        self.missing_type(schema, role, dialect);
        self.required_names(schema);
        self.open_object(schema, role);
        self.loose_pattern(schema);
        self.listed_values(schema);
        self.overlapping_branches(schema);
        self.impossible(schema);
    }

    fn has(&self, schema: ValueId, keyword: &str) -> bool {
        self.document.get(schema, keyword).is_some()
    }

    /// Keywords of one type, and no word that the value has that type.
    fn missing_type(&mut self, schema: ValueId, role: &str, dialect: Dialect) {
        let elsewhere = ["type", "enum", "const", "$ref", "$dynamicRef", "$recursiveRef", "allOf"];
        if REFINING.contains(&role) || elsewhere.iter().any(|keyword| self.has(schema, keyword)) {
            return;
        }
        for (type_, keywords) in TYPED {
            let found =
                keywords.iter().find(|keyword| self.has(schema, keyword) && dialect.knows(keyword));
            if let Some(keyword) = found {
                let message = format!(
                    "`{keyword}` looks at values of one type alone, and every value of another \
                     type is accepted: did you mean to add `\"type\": \"{type_}\"`?"
                );
                self.find(schema, FindingKind::Hint, message);
                return;
            }
        }
    }

    /// `required` names what `properties` does not know.
    fn required_names(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(at) = document.get(schema, "required") else { return };
        let properties = document.get(schema, "properties").and_then(|at| document.members(at));
        let (Some(properties), Value::Array(names)) = (properties, document.value(at)) else {
            return;
        };
        if self.has(schema, "patternProperties") {
            return;
        }
        for &name in names.iter() {
            let Some(key) = document.string(name).filter(|key| properties.get(key).is_none())
            else {
                continue;
            };
            let message = format!("`required` names `{key}`, which `properties` does not describe");
            let near = nearest(key, properties.iter().map(|(known, _)| known));
            let message = match near {
                Some(near) => format!("{message}: did you mean `{near}`?"),
                None => format!("{message}: its value may be anything"),
            };
            self.find(name, FindingKind::Hint, message);
        }
    }

    /// Objects with named members, to which a model may add any other.
    fn open_object(&mut self, schema: ValueId, role: &str) {
        let closing = ["additionalProperties", "unevaluatedProperties", "propertyNames"];
        if REFINING.contains(&role) || closing.iter().any(|keyword| self.has(schema, keyword)) {
            return;
        }
        let Some(at) = self.document.get(schema, "properties") else { return };
        let message = "members with other names may follow, with any value: did you mean to add \
                       `\"additionalProperties\": false`?";
        self.find(at, FindingKind::Hint, message);
    }

    /// Patterns that only look as if they described the whole string.
    fn loose_pattern(&mut self, schema: ValueId) {
        let Some(at) = self.document.get(schema, "pattern") else { return };
        let Some(pattern) = self.document.string(at) else { return };
        let message = match (pattern.starts_with('^'), pattern.ends_with('$')) {
            _ if pattern.contains('|') || pattern.is_empty() => return,
            (true, true) => return,
            (true, false) => {
                "anything may follow what the pattern matches: did you mean a `$` at its end?"
            }
            (false, true) => {
                "anything may precede what the pattern matches: did you mean a `^` at its start?"
            }
            (false, false) => {
                "anything may stand around what the pattern matches: did you mean `^` and `$`?"
            }
        };
        self.find(at, FindingKind::Hint, message);
    }

    /// Listed values that no value can be, because of the keywords beside them.
    fn listed_values(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(at) = document.get(schema, "enum") else { return };
        let Value::Array(values) = document.value(at) else { return };
        let Ok(set) = self.sets.schema(schema) else { return };
        let Ok(shape) = self.sets.shape(set) else { return };
        for &value in values.iter() {
            if matches!(self.sets.accepts(&shape, value), Ok(false)) {
                let message = "this value is listed, but other keywords of the schema refuse it";
                self.find(value, FindingKind::Hint, message);
            }
        }
    }

    /// A `oneOf` of which some branch never counts, or whose branches overlap.
    fn overlapping_branches(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(at) = document.get(schema, "oneOf") else { return };
        let Value::Array(branches) = document.value(at) else { return };
        if branches.len() < 2 || branches.len() > BRANCHES {
            return;
        }
        let sets: Option<Vec<Set>> =
            branches.iter().map(|&branch| self.sets.schema(branch).ok()).collect();
        let Some(sets) = sets else { return };
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
            for (j, &other) in sets.iter().enumerate().skip(i + 1) {
                let both = self.sets.and([set, other]);
                if set == other || matches!(self.sets.is_empty(both), Ok(false)) {
                    overlaps.push(format!("{i} and {j}"));
                }
            }
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

    /// A schema that no value satisfies, or of which a text would come to a limit.
    fn impossible(&mut self, schema: ValueId) {
        let Ok(set) = self.sets.schema(schema) else { return };
        let limit = match (self.sets.is_empty(set), self.sets.shape(set)) {
            (Ok(true), _) if schema != self.document.root() => {
                let message = "no value satisfies this schema, so it is never taken";
                return self.find(schema, FindingKind::Hint, message);
            }
            (Err(error), _) | (_, Err(error)) => Some(error),
            (_, Ok(shape)) => self.sets.too_many_counts(set, &shape),
        };
        if let Some(error) = limit.filter(|error| error.kind() == ErrorKind::Limit) {
            let message = format!("a text that comes here is refused: {}", error.message());
            self.find(schema, FindingKind::Cost, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_differ_in_few_letters() {
        let known = ["maxLength", "minLength", "pattern", "properties", "items"];
        for (name, near) in [
            ("maxLenght", Some("maxLength")),
            ("propertys", Some("properties")),
            ("Items", Some("items")),
            ("item", Some("items")),
            ("patern", Some("pattern")),
            ("x-order", None),
            ("nullable", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), near, "{name}");
        }
    }
}
