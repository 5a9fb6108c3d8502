//! Findings about `enum`, `const`, `default` and `examples`: values that the schema does not
//! accept.

use super::finding::FindingKind;
use super::foreign::shown;
use super::linter::Linter;
use crate::json_schema::document::{Value, ValueId};

/// Values of one list that are checked.
const MAX_CHECKED_VALUES: usize = 200;

impl Linter<'_> {
    /// All findings of this file.
    pub(super) fn values(&mut self, schema: ValueId) {
        self.listed_values(schema);
        self.unlisted_null(schema);
        self.shown_values(schema);
    }

    /// Listed values that keywords beside them refuse; values listed twice.
    fn listed_values(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(at) = document.get(schema, "enum") else { return };
        let Value::Array(values) = document.value(at) else { return };
        let types = self.types(schema);
        let other_type = |value: ValueId| {
            types
                .as_ref()
                .filter(|types| !types.iter().any(|name| is_of_type(document.value(value), name)))
        };
        let set = self.sets.schema(schema).and_then(|set| self.sets.shape(set));
        for (i, &value) in values.iter().take(MAX_CHECKED_VALUES).enumerate() {
            let text = shown(document, value);
            if let Some(types) = other_type(value) {
                let names: Vec<String> = types.iter().map(|name| format!("`{name}`")).collect();
                let quoted = matches!(document.value(value), Value::String(text)
                    if types.iter().any(|name| unquoted_is(text, name)));
                let cure = if quoted { ": did you mean it without quotes?" } else { "" };
                let message = format!(
                    "{text} is listed, but `type` allows {} alone, so it is never written{cure}",
                    names.join(" and ")
                );
                self.find(value, FindingKind::Hint, message);
                continue;
            }
            if let Ok(shape) = &set
                && matches!(self.sets.accepts(shape, value), Ok(false))
            {
                let message = format!(
                    "{text} is listed, but other keywords of the schema refuse it, so it is never \
                     written"
                );
                self.find(value, FindingKind::Hint, message);
                continue;
            }
            let scalar = |value: ValueId| match document.value(value) {
                Value::Array(_) | Value::Object(_) => None,
                _ => Some(shown(document, value)),
            };
            let text = document.string(value);
            let same = |&other: &ValueId| {
                scalar(value).is_some()
                    && scalar(other) == scalar(value)
                    && document.string(other) == text
            };
            if values[..i].iter().any(same) {
                let message = "this value is listed twice, which says no more than once";
                self.find(value, FindingKind::Hint, message);
            }
        }
    }

    /// `null` among the types, and not among the values.
    fn unlisted_null(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(types) = self.types(schema).filter(|types| types.contains(&"null")) else {
            return;
        };
        for keyword in ["enum", "const"] {
            let Some(at) = document.get(schema, keyword) else { continue };
            let one = [at];
            let values = match (keyword, document.value(at)) {
                ("enum", Value::Array(values)) => &values[..],
                ("enum", _) => continue,
                _ => &one,
            };
            if types.len() > 1 && !values.iter().any(|&v| matches!(document.value(v), Value::Null))
            {
                let message = format!(
                    "`type` allows null, but `{keyword}` does not list it, so it is never written: \
                     did you mean to list `null`?"
                );
                self.find(at, FindingKind::Hint, message);
            }
        }
    }

    /// `default` and `examples` that are not valid themselves.
    fn shown_values(&mut self, schema: ValueId) {
        let document = self.document;
        let Some(members) = document.members(schema) else { return };
        let mut values: Vec<ValueId> = members.get("default").into_iter().collect();
        if let Some(at) = members.get("examples")
            && let Value::Array(examples) = document.value(at)
        {
            values.extend(examples.iter().take(MAX_CHECKED_VALUES));
        }
        if values.is_empty() {
            return;
        }
        let Ok(shape) = self.sets.schema(schema).and_then(|set| self.sets.shape(set)) else {
            return;
        };
        for value in values {
            if matches!(self.sets.accepts(&shape, value), Ok(false)) {
                let message = format!(
                    "{} is shown here, but the schema does not accept it, so it is never written",
                    shown(document, value)
                );
                self.find(value, FindingKind::Hint, message);
            }
        }
    }
}

/// Whether a value may have the type of this name.
fn is_of_type(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        // The sets tell integers from other numbers.
        Value::Number(_) => matches!(name, "number" | "integer"),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// Whether a string would have the type of this name without its quotes.
fn unquoted_is(text: &str, name: &str) -> bool {
    match name {
        "integer" => text.parse::<i64>().is_ok(),
        "number" => text.parse::<f64>().is_ok_and(f64::is_finite),
        "boolean" => matches!(text, "true" | "false"),
        "null" => text == "null",
        _ => false,
    }
}
