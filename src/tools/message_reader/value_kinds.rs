//! Kinds of values that a schema allows at a place, from above.
//!
//! A style that writes strings without quotes tells `5` from `"5"` by the schema alone. Keywords that
//! say nothing of kinds are left out, so that no kind is missing.

use serde_json::Value;

/// Greatest number of references and applicators that lead to one another.
const MAX_NESTING: u32 = 64;

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Member(String),
    Item(usize),
}

/// The kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    Array,
    Object,
    String,
}

impl Kind {
    /// All kinds, strings last: a text that can be another value is no string.
    pub(super) const ALL: [Self; 6] =
        [Self::Null, Self::Boolean, Self::Number, Self::Array, Self::Object, Self::String];

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "number" | "integer" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }
}

/// A set of kinds, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    const NONE: Self = Self(0);
    const ALL: Self = Self(0x3f);

    fn one(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }

    pub(super) fn contains(self, kind: Kind) -> bool {
        self.0 & Self::one(kind).0 != 0
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The kinds that values of a schema have at a path.
    pub(super) fn at(schema: &Value, path: &[Step]) -> Self {
        Walk { root: schema }.kinds(schema, path, MAX_NESTING)
    }
}

struct Walk<'a> {
    root: &'a Value,
}

impl Walk<'_> {
    fn kinds(&self, schema: &Value, path: &[Step], nesting: u32) -> Kinds {
        let Some(nesting) = nesting.checked_sub(1) else { return Kinds::ALL };
        let keywords = match schema {
            Value::Bool(false) => return Kinds::NONE,
            Value::Object(keywords) => keywords,
            _ => return Kinds::ALL,
        };
        let mut kinds = match path {
            [] => own_kinds(schema),
            [step, rest @ ..] => match sub_schema(schema, step) {
                Some(schema) => self.kinds(schema, rest, nesting),
                None => Kinds::ALL,
            },
        };
        // A value at a path lies in values that are objects and arrays.
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(Value::String(reference)) = keywords.get(key) {
                let target = reference.strip_prefix('#').and_then(|at| self.root.pointer(at));
                if let Some(target) = target {
                    kinds = kinds.and(self.kinds(target, path, nesting));
                }
            }
        }
        if let Some(Value::Array(all)) = keywords.get("allOf") {
            kinds = all.iter().fold(kinds, |kinds, one| kinds.and(self.kinds(one, path, nesting)));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(any)) = keywords.get(key) {
                let any = any.iter().map(|one| self.kinds(one, path, nesting));
                kinds = kinds.and(any.fold(Kinds::NONE, Kinds::or));
            }
        }
        kinds
    }
}

/// The kinds of a schema's own `type`, `enum` and `const`.
fn own_kinds(schema: &Value) -> Kinds {
    let named = |name: &Value| {
        let kind = name.as_str().and_then(Kind::named);
        kind.map_or(Kinds::ALL, Kinds::one)
    };
    let mut kinds = match schema.get("type") {
        Some(Value::Array(names)) => names.iter().map(named).fold(Kinds::NONE, Kinds::or),
        Some(name) => named(name),
        None => Kinds::ALL,
    };
    if let Some(Value::Array(values)) = schema.get("enum") {
        let values = values.iter().map(|value| Kinds::one(Kind::of(value)));
        kinds = kinds.and(values.fold(Kinds::NONE, Kinds::or));
    }
    match schema.get("const") {
        Some(value) => kinds.and(Kinds::one(Kind::of(value))),
        None => kinds,
    }
}

/// The schema that a schema has for a part of its values; `None` for any value.
fn sub_schema<'a>(schema: &'a Value, step: &Step) -> Option<&'a Value> {
    match step {
        Step::Member(key) => match schema.get("properties").and_then(|all| all.get(key)) {
            Some(schema) => Some(schema),
            None if schema.get("patternProperties").is_some() => None,
            None => schema.get("additionalProperties"),
        },
        Step::Item(index) => {
            let tuple = schema.get("prefixItems").or(schema.get("items").filter(|x| x.is_array()));
            match tuple.and_then(|tuple| tuple.get(index)) {
                Some(schema) => Some(schema),
                None => schema.get("items").filter(|items| !items.is_array()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_come_from_types_values_and_applicators() {
        let schema = json!({
            "properties": {
                "a": {"type": ["string", "null"]},
                "b": {"enum": [1, true]},
                "c": {"$ref": "#/$defs/c"},
                "d": {"allOf": [{"type": ["number", "string"]}, {"anyOf": [{"const": "x"}, {"type": "array"}]}]},
                "e": {"items": {"type": "integer"}, "prefixItems": [{"type": "null"}]},
            },
            "additionalProperties": {"type": "boolean"},
            "$defs": {"c": {"type": "object", "properties": {"c": {"$ref": "#/$defs/c"}}}},
        });
        let member = |key: &str| Step::Member(key.to_owned());
        for (path, expected) in [
            (vec![member("a")], vec![Kind::Null, Kind::String]),
            (vec![member("b")], vec![Kind::Boolean, Kind::Number]),
            (vec![member("c"), member("c"), member("c")], vec![Kind::Object]),
            (vec![member("d")], vec![Kind::String]),
            (vec![member("e"), Step::Item(0)], vec![Kind::Null]),
            (vec![member("e"), Step::Item(1)], vec![Kind::Number]),
            (vec![member("other")], vec![Kind::Boolean]),
            (vec![member("c"), member("x")], Kind::ALL.to_vec()),
        ] {
            let kinds = Kinds::at(&schema, &path);
            let found: Vec<Kind> = Kind::ALL.into_iter().filter(|&k| kinds.contains(k)).collect();
            assert_eq!(found, expected, "{path:?}");
        }
    }
}
