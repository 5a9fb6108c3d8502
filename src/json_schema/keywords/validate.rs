//! Validation of a schema before its first token.
//!
//! Sets are unfolded as they are visited, so an error in a corner of a schema would come to light
//! in the middle of a text. One quick pass finds it before: every reference leads somewhere, every
//! keyword has a value of its type, every pattern can be read, and no array counts more kinds of
//! items than the emitter follows.

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::draft::{
    Draft, SchemaDialect, SubschemaPosition, subschema_position,
};
use crate::json_schema::document::hints::TYPES;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::choices_from::named_texts;
use crate::json_schema::keywords::numbers::divisor_at;
use crate::json_schema::keywords::quote_from::validate_quotation;
use crate::json_schema::keywords::values::{count_at, number_at, unknown_type};
use crate::json_schema::set::array_set::MAX_COUNTED_KINDS;
use crate::json_schema::set::{Set, Sets, Shape};
use crate::json_schema::string::byte_texts::{CHOICES_FROM, QUOTE_FROM};
use crate::json_schema::string::patterns::pattern_error;
use crate::{deadline, regular};

/// Keywords that hold a count.
const COUNT_KEYWORDS: [&str; 8] = [
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxProperties",
    "minProperties",
    "maxContains",
    "minContains",
];

/// Sets that are checked for too many counts; those of further ones are found when a text reaches
/// them.
const MAX_CHECKED_SETS: usize = 2_000;

impl Sets<'_> {
    /// The error for a set whose arrays count too many kinds of items, if they do.
    pub(crate) fn too_many_counts(&self, set: Set, shape: &Shape) -> Option<Error> {
        let many =
            shape.arrays.iter().find(|array| array.contains_counts.len() > MAX_COUNTED_KINDS)?;
        let message =
            format!("more than {MAX_COUNTED_KINDS} kinds of items are counted in one array");
        let error = match many.origins.0.first() {
            Some(&at) => self.document.error(ErrorKind::Limit, at, message),
            None => self.error(ErrorKind::Limit, set, message),
        };
        Some(error.with_help("let fewer `contains` apply to the same array"))
    }

    /// Errors at the first malformed keyword of a schema, or of any that it applies.
    pub(crate) fn validate(&mut self, schema: ValueId) -> Result<()> {
        if visit_schemas(self, schema, &mut Err)? > MAX_COUNTED_KINDS {
            check_contains_kinds(self, schema)
        } else {
            Ok(())
        }
    }

    /// All malformed keywords of a schema, and of those that it applies.
    pub(crate) fn malformed_everywhere(&mut self, schema: ValueId) -> Vec<Error> {
        let mut found = Vec::new();
        let visited = visit_schemas(self, schema, &mut |error| {
            found.push(error);
            Ok(())
        });
        found.extend(visited.err());
        found
    }
}

/// Errors if an array that the schema leads to counts more kinds of items than can be followed. A
/// set that cannot be unfolded is an error of its own, when it is needed.
fn check_contains_kinds(sets: &mut Sets<'_>, schema: ValueId) -> Result<()> {
    let root = sets.schema(schema)?;
    let (mut seen, mut open) = (FxHashSet::default(), vec![root]);
    while let Some(set) = open.pop() {
        if seen.len() == MAX_CHECKED_SETS || !seen.insert(set) {
            continue;
        }
        let Ok(shape) = sets.shape(set) else { continue };
        if let Some(error) = sets.too_many_counts(set, &shape) {
            return Err(error);
        }
        for array in &shape.arrays {
            open.extend(array.prefix.iter().chain([&array.rest]));
        }
        for object in &shape.objects {
            open.extend(object.named.iter().map(|named| named.set));
            open.extend(object.classes.iter().map(|class| class.set));
        }
    }
    Ok(())
}

/// Visits a schema and those that it applies, calls `found` for each malformed keyword and goes on
/// if it returns; the number of `contains` keywords.
fn visit_schemas(
    sets: &mut Sets<'_>,
    schema: ValueId,
    found: &mut dyn FnMut(Error) -> Result<()>,
) -> Result<usize> {
    let (mut seen, mut counting) = (FxHashSet::default(), 0);
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        deadline::check()?;
        // The metaschemas are what they should be.
        if schema.is_builtin() || !seen.insert(schema) {
            continue;
        }
        // Not named yet: sets are in the order in which they are named, which is that of keys.
        if let Err(error) = sets.check_schema(schema) {
            found(error)?;
        }
        let Some(members) = sets.document.members(schema) else { continue };
        let dialect = match sets.references.dialect(sets.document, schema) {
            Ok(dialect) => dialect,
            Err(error) => {
                found(error)?;
                continue;
            }
        };
        let alone = dialect.reference_stands_alone() && members.get("$ref").is_some();
        for (keyword, value) in members.iter() {
            if !dialect.knows(keyword) || (alone && keyword != "$ref") {
                continue;
            }
            match keyword {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    match sets.references.resolve(sets.document, value) {
                        Ok(target) => open.push(target),
                        Err(error) => found(error)?,
                    }
                    continue;
                }
                "definitions" | "$defs" | "contentSchema" => continue,
                "contains" => counting += 1,
                _ => {
                    if let Err(error) = validate_keyword(sets, keyword, value, dialect) {
                        found(error)?;
                    }
                }
            }
            match (subschema_position(keyword), sets.document.value(value)) {
                (Some(SubschemaPosition::Map), Value::Object(map)) => {
                    let schemas = map.iter().map(|(_, child)| child);
                    // The older `dependencies` may list keys.
                    let array =
                        |child: &ValueId| matches!(sets.document.value(*child), Value::Array(_));
                    open.extend(schemas.filter(|child| !array(child)));
                }
                (
                    Some(SubschemaPosition::List | SubschemaPosition::SchemaOrList),
                    Value::Array(items),
                ) => {
                    open.extend(items.iter().copied());
                }
                (Some(SubschemaPosition::Schema | SubschemaPosition::SchemaOrList), _) => {
                    open.push(value)
                }
                _ => {}
            }
        }
    }
    Ok(counting)
}

fn validate_keyword(
    sets: &Sets<'_>,
    keyword: &str,
    at: ValueId,
    dialect: SchemaDialect,
) -> Result<()> {
    if COUNT_KEYWORDS.contains(&keyword) {
        return count_at(sets, at, keyword).map(drop);
    }
    let value = sets.document.value(at);
    let expected = match keyword {
        "maximum" | "minimum" => return number_at(sets, at, keyword).map(drop),
        "multipleOf" => return divisor_at(sets, at).map(drop),
        "exclusiveMaximum" | "exclusiveMinimum" => match value {
            Value::Bool(_) if dialect.exclusive_may_be_boolean() => return Ok(()),
            _ if dialect.draft > Draft::Draft4 => return number_at(sets, at, keyword).map(drop),
            _ => "a boolean",
        },
        "type" => {
            let one = [at];
            let names = match value {
                Value::Array(names) => &names[..],
                _ => &one,
            };
            return names.iter().try_for_each(|&name| validate_type(sets, name));
        }
        "required" => {
            let texts = match value {
                Value::Array(keys) => {
                    keys.iter().all(|&key| matches!(sets.document.value(key), Value::String(_)))
                }
                // Draft 3 had a boolean; drafts since then say nothing of it.
                _ => false,
            };
            if texts {
                return Ok(());
            } else {
                return Err(sets.malformed(at, "`required` must hold strings"));
            }
        }
        "enum" if !matches!(value, Value::Array(_)) => "an array",
        "uniqueItems" if !matches!(value, Value::Bool(_)) => "a boolean",
        "pattern" => match value {
            Value::String(pattern) => return validate_pattern(sets, pattern, at),
            _ => "a string",
        },
        // Where `properties` was forgotten, `id` is a member's schema.
        "$id" | "$schema" | "$anchor" | "$dynamicAnchor" => match value {
            Value::String(name) => return validate_name(sets, keyword, name, at, dialect),
            _ => "a string",
        },
        "$recursiveAnchor" if !matches!(value, Value::Bool(_)) => "a boolean",
        QUOTE_FROM => return validate_quotation(sets, at),
        CHOICES_FROM => return named_texts(sets, at).map(|_| ()),
        "format" if !matches!(value, Value::String(_)) => "a string",
        "patternProperties" => match value {
            Value::Object(map) => {
                for (pattern, schema) in map.iter() {
                    validate_pattern(sets, pattern, schema)?;
                }
                return Ok(());
            }
            _ => "an object",
        },
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => match value {
            Value::Array(items) if !items.is_empty() => return Ok(()),
            _ => "a non-empty array",
        },
        "items" if matches!(value, Value::Array(_)) && !dialect.items_may_be_array() => "a schema",
        "dependentRequired" | "dependencies" => match value {
            Value::Object(map) => {
                let lists = |at| match sets.document.value(at) {
                    Value::Array(keys) => {
                        keys.iter().all(|&key| sets.document.string(key).is_some())
                    }
                    // The older `dependencies` may hold schemas.
                    _ => keyword == "dependencies",
                };
                return match map.iter().find(|(_, keys)| !lists(*keys)) {
                    None => Ok(()),
                    Some((_, keys)) => {
                        let message = format!("`{keyword}` must hold lists of strings");
                        Err(sets.malformed(keys, message))
                    }
                };
            }
            _ => "an object",
        },
        "properties" | "dependentSchemas" if !matches!(value, Value::Object(_)) => "an object",
        _ => return Ok(()),
    };
    Err(sets.malformed(at, format!("`{keyword}` must be {expected}")))
}

fn validate_type(sets: &Sets<'_>, name: ValueId) -> Result<()> {
    match sets.document.string(name) {
        Some(known) if TYPES.contains(&known) => Ok(()),
        _ => Err(unknown_type(sets, name)),
    }
}

/// Checks an identifier (2020-12 Core, sections 8.2.1 and 8.2.2).
fn validate_name(
    sets: &Sets<'_>,
    keyword: &str,
    name: &str,
    at: ValueId,
    dialect: SchemaDialect,
) -> Result<()> {
    let anchors = ["$anchor", "$dynamicAnchor"].contains(&keyword);
    let fragment = name.split_once('#').is_some_and(|(_, fragment)| !fragment.is_empty());
    let modern = dialect.declared && dialect.draft >= Draft::Draft201909;
    if keyword == "$id" && fragment && modern {
        let message = "`$id` must not end in a fragment";
        return Err(sets.malformed(at, message).with_help("name the schema by `$anchor`"));
    }
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    // 2019-09 has colons, too.
    let rest = letters.all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
    if anchors && !(first && rest) {
        let form = "a letter or `_`, and then letters, digits, `-`, `_` and `.`";
        Err(sets.malformed(at, format!("`{keyword}` must be {form}")))
    } else {
        Ok(())
    }
}

fn validate_pattern(sets: &Sets<'_>, pattern: &str, at: ValueId) -> Result<()> {
    regular::check(pattern, regular::Dialect::Ecma)
        .map_err(|e| pattern_error(sets, pattern, at, &e))
}
