//! Values that several fields of constraints have: schemas, documents, options of JSON.

use serde_json::Value;

use crate::json_schema::{Strictness, Style, Whitespace};
use crate::server::api_error::ApiError;
use crate::server::request::fields::{Fields, wrong};
use crate::strict_json;

/// Options of JSON, where the request chooses them.
#[derive(Default)]
pub(super) struct JsonFields {
    pub(super) whitespace: Option<Whitespace>,
    /// The field of the request that it was read from, where that stands by itself.
    pub(super) whitespace_field: Option<&'static str>,
    pub(super) strictness: Option<Strictness>,
    pub(super) style: Option<Style>,
}

impl JsonFields {
    pub(super) fn is_empty(&self) -> bool {
        let Self { whitespace, strictness, style, whitespace_field: _ } = self;
        whitespace.is_none() && strictness.is_none() && style.is_none()
    }
}

/// A document that the request brings with it.
pub(super) struct ResourceDocument {
    /// The field that it was read from.
    pub(super) field: String,
    pub(super) uri: String,
    pub(super) content: Value,
}

/// OpenAI's `strict`. Every schema is enforced, strict or not.
pub(in crate::server::request) fn strictness(
    fields: &mut Fields,
) -> Result<Option<Strictness>, ApiError> {
    Ok(fields
        .flag("strict")?
        .map(|strict| if strict { Strictness::Closed } else { Strictness::AsWritten }))
}

/// `resources`: documents by URI that references of schemas may lead to.
pub(super) fn resources(fields: &mut Fields) -> Result<Vec<ResourceDocument>, ApiError> {
    let name = fields.name("resources");
    let documents = match fields.value("resources") {
        None => return Ok(Vec::new()),
        Some(Value::Object(documents)) => documents,
        Some(value) => return Err(wrong(&name, "an object from URIs to JSON Schemas", &value)),
    };
    let read = |(uri, content): (String, Value)| {
        if content.is_object() || content.is_boolean() {
            Ok(ResourceDocument { field: name.clone(), uri, content })
        } else {
            Err(wrong(&format!("{name}.{uri}"), "a JSON Schema", &content))
        }
    };
    documents.into_iter().map(read).collect()
}

/// A value without null members, which count as absent in all fields of a request. In schemas null
/// has a meaning, so they stay as they are.
pub(super) fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            let kept = kept.map(|(key, value)| match key.as_str() {
                "schema" | "json_schema" => (key, value),
                _ => (key, without_nulls(value)),
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

/// A schema, as JSON or as its text.
pub(super) fn schema(fields: &mut Fields, field: &str) -> Result<Option<Value>, ApiError> {
    let Some(value) = json_or_text(fields, field)? else { return Ok(None) };
    if value.is_object() || value.is_boolean() {
        Ok(Some(value))
    } else {
        Err(wrong(&fields.name(field), "a JSON Schema", &value))
    }
}

pub(super) fn json_or_text(fields: &mut Fields, field: &str) -> Result<Option<Value>, ApiError> {
    match fields.value(field) {
        Some(Value::String(text)) => match strict_json::parse(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(ApiError::json(Some(&fields.name(field)), &error)),
        },
        value => Ok(value),
    }
}

/// The whitespace of JSON, by a pattern or a flag that allows none.
pub(super) fn whitespace(
    fields: &mut Fields,
    pattern: &str,
    none: &str,
) -> Result<Option<Whitespace>, ApiError> {
    let place = fields.name(none);
    let none = fields.flag(none)?.unwrap_or(false);
    match fields.string(pattern)? {
        Some(_) if none => {
            Err(ApiError::field(place, format!("stands beside `{pattern}`; write one of them")))
        }
        Some(pattern) => Ok(Some(Whitespace::Pattern(pattern))),
        None => Ok(none.then_some(Whitespace::Compact)),
    }
}
