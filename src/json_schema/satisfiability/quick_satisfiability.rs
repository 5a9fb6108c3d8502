//! A sufficient test of satisfiability by the text of a schema alone.
//!
//! Most schemas of real documents have a value for simple reasons: `{"type": "string"}`, or an
//! object whose required members have one for simple reasons. They are not unfolded to decide
//! emptiness.

use smallvec::SmallVec;

use crate::json_schema::document::draft;
use crate::json_schema::document::references::References;
use crate::json_schema::document::{Document, Members, Value, ValueId};
use crate::json_schema::string::byte_texts::{CHOICES_FROM, QUOTE_FROM};

/// Levels of required members that are followed.
const MAX_DEPTH: u32 = 8;

/// Schemas that are read before the test gives up.
const MAX_SCHEMAS: u32 = 100;

/// Whether some value provably satisfies the schema, in numbers of at most `digits` digits. No
/// means perhaps.
pub(crate) fn has_value(
    document: &Document,
    references: &mut References,
    schema: ValueId,
    digits: u32,
) -> bool {
    QuickTest { document, references, digits, left: MAX_SCHEMAS }.has_value_within(schema, 0)
}

struct QuickTest<'d, 'r> {
    document: &'d Document,
    references: &'r mut References,
    digits: u32,
    left: u32,
}

/// A range of integers.
struct Range {
    least: i64,
    most: i64,
    /// Whether some bound could not be read.
    open: bool,
}

impl Range {
    const ALL: Self = Self { least: i64::MIN, most: i64::MAX, open: false };

    fn at_least(&mut self, bound: Option<i64>) {
        match bound {
            Some(bound) => self.least = self.least.max(bound),
            None => self.open = true,
        }
    }

    fn at_most(&mut self, bound: Option<i64>) {
        match bound {
            Some(bound) => self.most = self.most.min(bound),
            None => self.open = true,
        }
    }

    fn is_all(&self) -> bool {
        !self.open && (self.least, self.most) == (i64::MIN, i64::MAX)
    }

    /// The integer of the range that is nearest to 0.
    fn nearest(&self) -> Option<i64> {
        (!self.open && self.least <= self.most).then(|| 0i64.clamp(self.least, self.most))
    }
}

impl<'d> QuickTest<'d, '_> {
    /// The value of a bound, if it is an integer of a few digits.
    fn integer(&self, value: ValueId) -> Option<i64> {
        const LONGEST: usize = 12;
        match self.document.value(value) {
            Value::Number(text) if text.len() <= LONGEST => text.parse().ok(),
            _ => None,
        }
    }

    /// Whether some value provably satisfies the schema, within the levels and schemas that are left.
    fn has_value_within(&mut self, schema: ValueId, depth: u32) -> bool {
        let document = self.document;
        let members = match document.value(schema) {
            Value::Bool(allowed) => return *allowed,
            Value::Object(members) if depth < MAX_DEPTH && self.left > 0 => members,
            _ => return false,
        };
        self.left -= 1;
        // By type, whether each keyword about it leaves some value, whatever the others say.
        let (mut string, mut array, mut object, mut names) = (true, true, true, true);
        let (mut numbers, mut lengths, mut counts) = (Range::ALL, Range::ALL, Range::ALL);
        let (mut divided, mut items) = (false, None);
        let (mut kinds, mut listed, mut branches, mut reference) = (None, None, None, None);
        let mut spoken = 0;
        for (keyword, value) in members.iter() {
            // Members are looked at where they are required.
            if matches!(keyword, "properties" | "required") || !draft::constrains(keyword) {
                continue;
            }
            spoken += 1;
            let bound = || self.integer(value);
            match keyword {
                "type" => match kinds_of(document, value) {
                    Some(names) => kinds = Some(names),
                    None => return false,
                },
                "$ref" => reference = Some(value),
                "enum" | "const" if listed.is_none() => listed = Some(value),
                "anyOf" => branches = Some(value),
                "minLength" => lengths.at_least(bound()),
                "maxLength" => lengths.at_most(bound()),
                "minimum" => numbers.at_least(bound()),
                "maximum" => numbers.at_most(bound()),
                "exclusiveMinimum" => numbers.at_least(bound().map(|bound| bound + 1)),
                "exclusiveMaximum" => numbers.at_most(bound().map(|bound| bound - 1)),
                "multipleOf" => divided = true,
                // Any format has texts; their lengths are not looked into.
                "format" => string &= self.document.string(value).is_some(),
                "pattern" | QUOTE_FROM | CHOICES_FROM => string = false,
                "minItems" => counts.at_least(bound()),
                "maxItems" => counts.at_most(bound()),
                "items" => items = Some(value),
                "additionalItems" | "prefixItems" | "uniqueItems" => array = false,
                "contains" => (array, counts.open) = (false, true),
                "additionalProperties" => {}
                "patternProperties" | "propertyNames" | "maxProperties" => names = false,
                "minProperties" => object = false,
                _ => return false,
            }
        }
        if members.get("format").is_some() && !lengths.is_all() {
            string = false;
        }
        let required = members.get("required");
        // What members may be is said by another schema, too: that may require one that this one forbids.
        let no_members = required.is_none() && members.get("properties").is_none();
        if let Some(reference) = reference {
            let alone = spoken == 1 && no_members;
            let target = || self.references.resolve(document, reference).ok();
            return alone
                .then(target)
                .flatten()
                .is_some_and(|target| self.has_value_within(target, depth + 1));
        }
        if let Some(branches) = branches {
            let Value::Array(branches) = document.value(branches) else { return false };
            let alone = spoken == 1 && no_members;
            return alone
                && branches.iter().any(|&branch| self.has_value_within(branch, depth + 1));
        }
        if let Some(listed) = listed {
            let alone = spoken == 1 + u32::from(kinds.is_some()) && no_members;
            return alone && lists(document, listed, kinds.as_deref());
        }
        // Nothing that is read here speaks of null.
        let Some(kinds) = kinds else { return true };
        kinds.into_iter().any(|kind| match kind {
            "null" | "boolean" => true,
            "string" => string && lengths.nearest().is_some(),
            "number" | "integer" => numbers.nearest().is_some_and(|number| {
                let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
                digits <= self.digits && (!divided || number == 0)
            }),
            // The empty one, or as many items as must be.
            "array" => match counts.nearest() {
                Some(0) => true,
                Some(_) => {
                    array && items.is_none_or(|items| self.has_value_within(items, depth + 1))
                }
                None => false,
            },
            "object" => {
                let has = |required| names && self.required_have_values(members, required, depth);
                object && required.is_none_or(has)
            }
            _ => false,
        })
    }

    /// Whether all required members have a schema that provably has a value.
    fn required_have_values(&mut self, schema: &Members, required: ValueId, depth: u32) -> bool {
        let document = self.document;
        let Value::Array(required) = document.value(required) else { return false };
        let properties = schema.get("properties").and_then(|at| document.members(at));
        let Some(properties) = properties else { return required.is_empty() };
        required.iter().all(|&name| {
            let member = document.string(name).and_then(|name| properties.get(name));
            member.is_some_and(|member| self.has_value_within(member, depth + 1))
        })
    }
}

/// The types that `type` names.
fn kinds_of(document: &Document, value: ValueId) -> Option<SmallVec<[&str; 2]>> {
    match document.value(value) {
        Value::String(name) => Some(SmallVec::from_slice(&[&**name])),
        Value::Array(names) => names.iter().map(|&name| document.string(name)).collect(),
        _ => None,
    }
}

/// Whether a listed value has one of the types.
fn lists(document: &Document, listed: ValueId, kinds: Option<&[&str]>) -> bool {
    let values = match document.value(listed) {
        Value::Array(values) => &values[..],
        _ => return false,
    };
    values.iter().any(|&value| {
        let kind = match document.value(value) {
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Null => "null",
            Value::Number(_) | Value::Array(_) | Value::Object(_) => "",
        };
        kinds.is_none_or(|kinds| kinds.contains(&kind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn tell(schema: &str) -> bool {
        let document = Document::parse(schema).unwrap();
        has_value(&document, &mut References::new(None), document.root(), 6)
    }

    #[test]
    fn what_is_evident_is_so() {
        for schema in [
            "true",
            "{}",
            r#"{"type": "string", "maxLength": 3}"#,
            r#"{"type": "integer", "minimum": 0}"#,
            r#"{"type": "number", "exclusiveMinimum": 0, "maximum": 100}"#,
            r#"{"type": "integer", "multipleOf": 0.3, "minimum": 0}"#,
            r#"{"type": "string", "minLength": 4, "maxLength": 4}"#,
            r#"{"type": "string", "format": "date-time"}"#,
            r#"{"type": "array", "minItems": 1, "items": {"type": "string"}}"#,
            r#"{"anyOf": [{"type": "string", "pattern": "a"}, {"type": "null"}]}"#,
            r#"{"enum": [1]}"#,
            r#"{"type": "string", "enum": [1, "a"]}"#,
            r#"{"type": "array", "items": false}"#,
            r#"{"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]}"#,
            r#"{"type": ["string", "null"], "pattern": "a"}"#,
            r#"{"type": ["string", "null"], "enum": [1, "a"]}"#,
            r#"{"type": "string", "enum": ["a"], "readonly": true, "x-unit": "m"}"#,
            r##"{"$ref": "#/$defs/a", "title": "A", "$defs": {"a": {"type": "string"}}}"##,
            r##"{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"enum": ["a"]}}}"##,
        ] {
            assert!(tell(schema), "{schema}");
        }
    }

    #[test]
    fn the_rest_is_looked_into() {
        for schema in [
            "false",
            r#"{"type": "string", "minLength": 4, "maxLength": 3}"#,
            r#"{"type": "string", "pattern": "a"}"#,
            r#"{"type": "string", "x-quote-from": "abc", "minLength": 100}"#,
            r#"{"type": "number", "minimum": 1, "maximum": 0}"#,
            r#"{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}"#,
            r#"{"type": "integer", "minimum": 1000000}"#,
            r#"{"type": "integer", "multipleOf": 0.3, "minimum": 1}"#,
            r#"{"type": "string", "format": "date-time", "maxLength": 3}"#,
            r#"{"type": "array", "minItems": 1, "items": false}"#,
            r#"{"type": "array", "minItems": 2, "maxItems": 1}"#,
            r#"{"type": "array", "minItems": 1, "uniqueItems": true, "items": {"const": 1}}"#,
            r#"{"anyOf": [{"type": "string"}], "maxLength": 0}"#,
            r#"{"type": "string", "enum": [1]}"#,
            r#"{"enum": []}"#,
            r#"{"enum": ["a"], "maxLength": 0}"#,
            r#"{"not": {}}"#,
            r##"{"$ref": "#"}"##,
            r##"{"$ref": "#/$defs/b", "$defs": {"a": {}}}"##,
            r##"{"$ref": "#/$defs/a", "maxLength": 0, "$defs": {"a": {"enum": ["a"]}}}"##,
            r##"{"$ref": "#/$defs/a", "required": ["a"], "$defs": {"a": {"maxProperties": 0}}}"##,
            r##"{"$ref": "#/$defs/a", "properties": {"x": false}, "$defs": {"a": {"required": ["x"]}}}"##,
            r#"{"properties": {"k": {"const": 1}}, "anyOf": [{"properties": {"k": {"const": 2}}, "required": ["k"]}]}"#,
            r#"{"enum": [{"x": 1}], "properties": {"x": false}}"#,
            r#"{"type": ["string", "number"], "pattern": "a", "minimum": 1, "maximum": 0}"#,
            r#"{"type": ["null", "integer"], "enum": ["a"]}"#,
            r#"{"dependencies": {"a": ["b"]}}"#,
            r##"{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}"##,
            r#"{"type": "object", "required": ["a"], "additionalProperties": false}"#,
            r#"{"type": "object", "properties": {"a": false}, "required": ["a"]}"#,
            r#"{"type": "object", "properties": {"a": true}, "required": ["a"], "maxProperties": 0}"#,
        ] {
            assert!(!tell(schema), "{schema}");
        }
    }
}
