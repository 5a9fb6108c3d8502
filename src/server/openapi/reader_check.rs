//! The check, for tests, that the document describes the fields that a reader takes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::document;
use crate::server::admission::ServerBounds;
use crate::server::api_error::ApiError;
use crate::server::request::fields_taken;

/// The name of the model in the document.
pub(crate) const MODEL: &str = "m";

/// The names of the model in the document.
pub(crate) fn names() -> Vec<String> {
    vec![MODEL.to_owned()]
}

/// Whether a schema describes the field of this path, such as `a.b[0].c`.
fn describes(document: &Value, schema: &Value, path: &[&str]) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return describes(document, &document["components"]["schemas"][name], path);
    }
    let Some((first, rest)) = path.split_first() else { return true };
    let parts = ["anyOf", "allOf", "oneOf"].into_iter();
    let parts = parts.filter_map(|key| schema[key].as_array()).flatten();
    let next = match first.strip_suffix(']') {
        Some(_) => &schema["items"],
        None => &schema["properties"][*first],
    };
    !next.is_null() && describes(document, next, rest)
        || parts.into_iter().any(|part| describes(document, part, path))
}

fn segments(name: &str) -> Vec<&str> {
    name.split('.')
        .flat_map(|part| part.split_inclusive('['))
        .map(|part| part.trim_end_matches('['))
        .filter(|part| !part.is_empty())
        .collect()
}

/// Checks the fields that a reader takes of a body against a schema: those that it reads are described,
/// and those that are described are taken.
pub(crate) fn check<T>(schema: &str, except: &[&str], read: impl FnOnce() -> Result<T, ApiError>) {
    let document = document(&names(), false, &ServerBounds::default());
    let (result, taken) = fields_taken(read);
    if let Err(error) = result {
        panic!("{schema}: {:?}", error.object());
    }
    let described = &document["components"]["schemas"][schema];
    for (name, is_honoured) in &taken {
        let path = segments(name);
        let is_described = describes(&document, described, &path);
        let is_expected = !is_honoured || except.contains(&path[0]) || is_described;
        assert!(is_expected, "{schema} does not describe `{name}`");
    }
    let names: BTreeSet<&str> = taken.iter().map(|(name, _)| name.as_str()).collect();
    for name in described["properties"].as_object().unwrap().keys() {
        assert!(names.contains(name.as_str()), "{schema}: nobody reads `{name}`");
    }
}
