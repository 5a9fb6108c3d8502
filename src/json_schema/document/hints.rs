//! Hints for malformed schemas: the help that goes with an error says what to write instead.

use super::draft::{SubschemaPosition, subschema_position};
use crate::json_schema::document::{Document, Value, ValueId};

/// The types that a schema may name (Validation, section 6.1.1).
pub(crate) const TYPES: [&str; 7] =
    ["null", "boolean", "integer", "number", "string", "array", "object"];

/// Names that other languages have for the types.
const OTHER_TYPES: &[(&str, &[&str])] = &[
    ("integer", &["int", "int32", "int64", "long", "short", "uint", "bigint"]),
    ("number", &["float", "double", "decimal", "numeric", "num", "real"]),
    ("string", &["str", "text", "char", "varchar", "file", "binary", "bytes", "symbol"]),
    ("boolean", &["bool", "bit", "flag", "checkbox"]),
    ("array", &["list", "tuple", "set", "sequence", "vector"]),
    ("object", &["dict", "dictionary", "map", "hash", "record", "struct", "json"]),
    ("null", &["none", "nil", "undefined", "void"]),
];

/// Formats that are taken for types.
const FORMATS: &[(&str, &str)] = &[
    ("date", "date"),
    ("time", "time"),
    ("datetime", "date-time"),
    ("date-time", "date-time"),
    ("timestamp", "date-time"),
    ("duration", "duration"),
    ("email", "email"),
    ("uri", "uri"),
    ("url", "uri"),
    ("uuid", "uuid"),
    ("hostname", "hostname"),
    ("ipv4", "ipv4"),
    ("ipv6", "ipv6"),
];

/// The name that differs least from another, if it differs little: letters left out, put in,
/// replaced, or swapped with the next (the optimal string alignment distance).
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Of one or two letters, each other name would be near.
    let most = (name.chars().count() / 3).min(3);
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

/// The cure for a value of the wrong kind, where it stands for a keyword, for an item of one, or
/// for a schema; `None` where the message says it all.
pub(crate) fn instead(document: &Document, at: ValueId) -> Option<String> {
    let parent = document.parent(at)?;
    let (keyword, schema) = match document.key(at) {
        Some(key) => (key, parent),
        None => (document.key(parent)?, document.parent(parent)?),
    };
    // A name, where names stand: the value is a schema.
    let by_name = document.key(schema).and_then(subschema_position) == Some(SubschemaPosition::Map)
        && document.parent(schema).is_some_and(|around| document.members(around).is_some());
    if by_name {
        return schema_instead(document, at, keyword, schema);
    }
    if let Value::String(text) = document.value(at)
        && unquoted(keyword, text)
    {
        return Some(format!("write {text} without quotes"));
    }
    match (keyword, document.value(at)) {
        ("type", Value::String(name)) => type_instead(name),
        ("type", Value::Object(_)) => {
            Some("a schema for the value stands where `type` stands, not in it".into())
        }
        ("required", Value::Bool(true)) => Some(
            "list the names of the members that must come, in the schema that has them in \
             `properties`: `\"required\": [\"…\"]`"
                .into(),
        ),
        ("required", Value::Bool(false)) => {
            Some("leave it out: what `required` does not list may be left out".into())
        }
        ("required" | "enum", Value::String(text)) => {
            Some(format!("write a list: `\"{keyword}\": [\"{}\"]`", text.escape_debug()))
        }
        ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(strict)) => {
            let inclusive = keyword.replace("exclusiveM", "m");
            let bound = document.get(schema, &inclusive).map(|at| document.value(at));
            Some(match (strict, bound) {
                (true, Some(Value::Number(bound))) => format!(
                    "only draft 4 has a boolean here; write `\"{keyword}\": {bound}` and leave \
                     `{inclusive}` out"
                ),
                (true, _) => "only draft 4 has a boolean here; write the bound itself".into(),
                (false, _) => format!("leave it out: `{inclusive}` is inclusive"),
            })
        }
        ("exclusiveMinimum" | "exclusiveMaximum", Value::Number(bound)) => {
            let inclusive = keyword.replace("exclusiveM", "m");
            Some(format!("in draft 4 write `\"{inclusive}\": {bound}, \"{keyword}\": true`"))
        }
        ("items", Value::Array(_)) => Some(
            "write `prefixItems`; `items` is then the schema of the items after those, `false` \
             for none"
                .into(),
        ),
        ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Object(_)) => {
            Some("put square brackets around the schemas".into())
        }
        ("allOf" | "prefixItems", Value::Array(items)) if items.is_empty() => {
            Some("leave it out: it would say nothing".into())
        }
        ("anyOf" | "oneOf", Value::Array(items)) if items.is_empty() => {
            Some("list the schemas, or write `\"not\": {}` for no value at all".into())
        }
        ("properties", Value::Array(_)) => {
            Some("write an object with a schema for each name: `{\"…\": {\"type\": \"…\"}}`".into())
        }
        _ if subschema_position(keyword).is_some() => schema_instead(document, at, keyword, schema),
        _ => None,
    }
}

/// The cure for what stands where a schema must: `name` is what it stands under in `around`.
fn schema_instead(document: &Document, at: ValueId, name: &str, around: ValueId) -> Option<String> {
    match document.value(at) {
        Value::String(text) if name == "type" && TYPES.contains(&&**text) => Some(format!(
            "`{}` holds names; keywords such as `type` stand beside it",
            document.key(around).unwrap_or_default()
        )),
        Value::String(text) if TYPES.contains(&&**text) => {
            Some(format!("write `{{\"type\": \"{text}\"}}`"))
        }
        Value::String(text) if matches!(&**text, "true" | "false") => {
            Some(format!("write {text} without quotes"))
        }
        Value::String(_) => Some("write `{\"const\": …}` for this value alone".into()),
        Value::Null => Some("write `{\"type\": \"null\"}` for null, or `{}` for any value".into()),
        Value::Array(_) if name == "required" => Some(format!(
            "`{}` holds names; keywords such as `required` stand beside it",
            document.key(around).unwrap_or_default()
        )),
        Value::Array(items) => {
            let types = items
                .iter()
                .all(|&item| document.string(item).is_some_and(|name| TYPES.contains(&name)));
            Some(if types && !items.is_empty() {
                "write `{\"type\": […]}`".into()
            } else {
                "write `{\"anyOf\": […]}` for one of several schemas, `{\"enum\": […]}` \
                          for one of several values"
                    .into()
            })
        }
        _ => None,
    }
}

/// Whether a text would be right for the keyword without its quotes.
fn unquoted(keyword: &str, text: &str) -> bool {
    let number = text.parse::<f64>().is_ok() && text.ends_with(|c: char| c.is_ascii_digit());
    match keyword {
        "uniqueItems" => matches!(text, "true" | "false"),
        "additionalProperties"
        | "additionalItems"
        | "items"
        | "contains"
        | "unevaluatedProperties"
        | "unevaluatedItems"
        | "propertyNames" => {
            matches!(text, "true" | "false")
        }
        _ => {
            number
                && ["min", "max", "exclusive", "multipleOf"]
                    .iter()
                    .any(|start| keyword.starts_with(start))
        }
    }
}

fn type_instead(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    if matches!(&*lower, "any" | "mixed" | "unknown" | "*" | "all") {
        return Some("leave `type` out: any value is accepted then".into());
    }
    if lower == "enum" {
        return Some("leave `type` out: `enum` beside it says it all".into());
    }
    let other = OTHER_TYPES.iter().find(|(_, others)| others.contains(&&*lower));
    if let Some((type_, _)) = other {
        return Some(format!("write `\"type\": \"{type_}\"`"));
    }
    if let Some((_, format)) = FORMATS.iter().find(|(name, _)| *name == lower) {
        return Some(format!("write `\"type\": \"string\", \"format\": \"{format}\"`"));
    }
    let near = nearest(name, TYPES.into_iter())?;
    Some(format!("did you mean `{near}`?"))
}

/// The reference that was probably meant by one that leads nowhere; `root` is the root of the
/// resource that it leads into, `fragment` what follows `#` (or the whole of a reference without
/// one).
pub(crate) fn near_reference<'a>(
    document: &'a Document,
    root: ValueId,
    fragment: &str,
    anchors: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let meant = |reference: &str| Some(format!("did you mean `{reference}`?"));
    // From a schema with a name of its own, references start there.
    let named_root = root != document.root() && document.parent(root).is_some();
    let meant_at = |schema: ValueId| match document
        .pointer(schema)
        .strip_prefix(&document.pointer(root))
    {
        Some(pointer) if named_root => Some(format!(
            "did you mean `#{pointer}`? The references in `{}` start there, since it has an id",
            document.reference_to(root)
        )),
        None if named_root => Some(format!(
            "the references in `{}` start there, since it has an id: put what they lead to into it",
            document.reference_to(root)
        )),
        _ => meant(&document.reference_to(schema)),
    };
    if !fragment.starts_with('/')
        && let Some(schema) = document.at_pointer(root, &format!("/{fragment}"))
        && !fragment.is_empty()
    {
        return meant_at(schema);
    }
    let last = fragment.rsplit('/').next().unwrap_or_default();
    let last = last.replace("~1", "/").replace("~0", "~");
    let defined = || {
        let containers = ["$defs", "definitions"].into_iter();
        containers
            .filter_map(|container| document.members(document.get(root, container)?))
            .flat_map(|names| names.iter())
    };
    let named = |name: &str| defined().find(|(known, _)| *known == name).map(|(_, at)| at);
    if let Some(schema) = named(&last) {
        return meant_at(schema);
    }
    if !fragment.contains('/')
        && let Some(anchor) = nearest(fragment, anchors)
    {
        return meant(&format!("#{anchor}"));
    }
    let near = nearest(&last, defined().map(|(name, _)| name)).and_then(named)?;
    meant_at(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_differ_in_few_letters() {
        let known = ["maxLength", "minLength", "pattern", "properties", "items", "id", "x"];
        for (name, near) in [
            ("maxLenght", Some("maxLength")),
            ("propertys", Some("properties")),
            ("Items", Some("items")),
            ("item", Some("items")),
            ("patern", Some("pattern")),
            ("x-order", None),
            ("nullable", None),
            ("y", None),
            ("if", None),
            ("ID", Some("id")),
        ] {
            assert_eq!(nearest(name, known.into_iter()), near, "{name}");
        }
    }

    #[test]
    fn types_of_other_languages_have_a_name_here() {
        for (name, words) in [
            ("any", "leave `type` out"),
            ("Int", "\"integer\""),
            ("dict", "\"object\""),
            ("datetime", "\"format\": \"date-time\""),
            ("strin", "did you mean `string`?"),
        ] {
            let said = type_instead(name).unwrap();
            assert!(said.contains(words), "{name}: {said}");
        }
        assert_eq!(type_instead("quaternion"), None);
    }
}
