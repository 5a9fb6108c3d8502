//! Schema keywords read as shapes.
//!
//! Keywords about one type make one part of a shape (`numbers`, `strings`, `arrays`, `objects`),
//! `const` and `enum` list values (`enum_const`), and in-place applicators (`in_place`) are sets
//! that are intersected with it:
//!
//! ```text
//! {"type": "string", "maxLength": 3, "$ref": "#/$defs/a"}
//! own shape: strings of at most 3 characters; applied set: the schema at #/$defs/a
//! ```
//!
//! # Adding a keyword
//!
//! 1. Dialect: `document/draft.rs` (its vocabulary in `Vocabularies::of`, its drafts in
//!    `SchemaDialect::knows`, the schemas in its value in `subschema_position`; `constrains` if it
//!    takes values away and is of no vocabulary).
//! 2. Well-formedness: `validate.rs`, and the hints of errors in `document/hints.rs`.
//! 3. Reading: `numbers.rs`, `strings.rs`, `arrays.rs` or `objects.rs`; an applicator to the same
//!    value: `in_place.rs`.
//! 4. Typed set, if it cannot say the new condition yet: `set/array_set.rs`, `set/object_set.rs`
//!    or `set/shape.rs`. Then everything that takes sets apart needs a case: `algebra/`
//!    (intersection, complement), `set/membership.rs`, `satisfiability/` (the list of keywords in
//!    `quick_satisfiability.rs` always) and `emit/`, with its `regular.rs`, `completion.rs` and
//!    `lower_bound.rs`.
//! 5. Lint: its row in `lint/effects.rs`, its findings in `lint/keywords.rs`.
//! 6. Tests in `tests/json_schema/` beside the official suite, and a row in `docs/coverage.md`.
//!
//! Section numbers are those of JSON Schema Validation and Core, 2020-12.

pub(crate) mod arrays;
pub(crate) mod choices_from;
pub(crate) mod enum_const;
pub(crate) mod in_place;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod quote_from;
pub(crate) mod strings;
pub(crate) mod validate;
pub(crate) mod values;

use crate::error::Result;
use crate::json_schema::algebra::shapes::{
    MAX_LINEAR_PARTS, every_value, intersect, intersect_all,
};
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::keywords::arrays::array_set;
use crate::json_schema::keywords::enum_const::values_shape;
use crate::json_schema::keywords::in_place::applied_sets;
use crate::json_schema::keywords::numbers::number_set;
use crate::json_schema::keywords::objects::object_sets;
use crate::json_schema::keywords::strings::add_strings;
use crate::json_schema::keywords::values::types_of;
use crate::json_schema::set::keyword_reader::{KeywordReader, read_keywords};
use crate::json_schema::set::{Sets, Shape};
use crate::json_schema::string::byte_texts::{CHOICES_FROM, QUOTE_FROM};

/// The shape of the values that a schema object accepts.
pub(crate) fn schema_shape(sets: &mut Sets<'_>, schema: ValueId) -> Result<Shape> {
    let reader = read_keywords(sets, schema)?;
    if let Some(reference) = reader.lone_reference() {
        let target = sets.reference(reference, "$ref")?;
        return Ok((*sets.shape(target)?).clone());
    }
    let parts = applied_sets(sets, &reader)?;
    let mut shape = None;
    if parts.own {
        shape = Some(own_keywords_shape(sets, schema)?);
    }
    if parts.all_of.len() > MAX_LINEAR_PARTS {
        let others = intersect_all(sets, &parts.all_of)?;
        return match shape {
            Some(shape) => intersect(sets, &shape, &others),
            None => Ok(others),
        };
    }
    for set in parts.all_of {
        let other = sets.shape(set)?;
        shape = Some(match shape {
            Some(shape) => intersect(sets, &shape, &other)?,
            None => (*other).clone(),
        });
    }
    Ok(shape.unwrap_or_else(|| every_value(sets)))
}

/// The shape of a schema's keywords without its in-place applicators.
pub(crate) fn own_keywords_shape(sets: &mut Sets<'_>, schema: ValueId) -> Result<Shape> {
    let (document, reader) = (sets.document, read_keywords(sets, schema)?);
    let mut shape = typed_keywords_shape(sets, &reader)?;
    for listing in ["const", "enum"] {
        let Some(at) = reader.get(listing) else { continue };
        let values = match (listing, document.value(at)) {
            ("const", _) => vec![at],
            (_, Value::Array(values)) => values.to_vec(),
            _ => return Err(sets.malformed(at, "`enum` must be an array")),
        };
        let listed = values_shape(sets, &values)?;
        shape = intersect(sets, &shape, &listed)?;
        shape.origins = reader.origins(&[listing]);
    }
    Ok(shape)
}

/// The shape of the keywords that constrain one type.
fn typed_keywords_shape<'d>(sets: &mut Sets<'d>, reader: &KeywordReader<'d>) -> Result<Shape> {
    let types = types_of(sets, reader)?;
    let mut shape = Shape::never();
    shape.null = types.null;
    shape.booleans = [types.boolean; 2];
    if types.number || types.integer {
        shape.numbers = number_set(sets, reader, types.number)?;
    }
    if types.string {
        add_strings(sets, reader, &mut shape)?;
    }
    if types.array {
        shape.arrays = array_set(sets, reader)?.into_iter().collect();
    }
    if types.object {
        shape.objects = object_sets(sets, reader)?;
    }
    shape.origins = reader.origins(&[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "pattern",
        "minLength",
        "maxLength",
        "format",
        QUOTE_FROM,
        CHOICES_FROM,
        "type",
    ]);
    Ok(shape)
}
