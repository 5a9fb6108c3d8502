//! The fields in which the servers of others have their constraint: OpenAI's `response_format`, vLLM's
//! `structured_outputs` and `guided_*`, llama.cpp's and SGLang's.

use serde_json::{Value, json};

use super::AnswerConstraint;
use super::field_values::{
    JsonFields, ResourceDocument, json_or_text, resources, schema, strictness, whitespace,
    without_nulls,
};
use super::grammar_constraint::GrammarFields;
use crate::ebnf::{self, Dialect};
use crate::json_schema::{Strictness, Style, Whitespace};
use crate::server::api_error::{ApiError, with_cure};
use crate::server::request::fields::{Fields, wrong};

/// vLLM's `structured_outputs`: one constraint, and options of JSON. Members of formulas are
/// accepted beside its own.
pub(super) fn structured_outputs(
    value: Value,
    documents: &mut Vec<ResourceDocument>,
    json: &mut JsonFields,
) -> Result<(String, AnswerConstraint), ApiError> {
    let mut fields = Fields::new("structured_outputs", value)?;
    documents.extend(resources(&mut fields)?);
    let mut found = Vec::new();
    if let Some(schema) = schema(&mut fields, "json")? {
        found.push((fields.name("json"), AnswerConstraint::Schema(schema)));
    }
    if fields.flag("json_object")?.unwrap_or(false) {
        found.push((fields.name("json_object"), AnswerConstraint::JsonObject));
    }
    let options = GrammarFields::read(&mut fields)?;
    if let Some(text) = fields.string("grammar")? {
        found.push((fields.name("grammar"), options.grammar(text, None)));
    }
    if let Some(tag) = json_or_text(&mut fields, "structural_tag")? {
        found.push((
            fields.name("structural_tag"),
            AnswerConstraint::StructuralTag(without_nulls(tag)),
        ));
    }
    let dialects = Dialect::ALL.map(Dialect::name);
    let own = ["regex", "choice", "search", "quote", "schema", "allOf", "anyOf", "not"];
    for key in own.into_iter().chain(dialects) {
        if let Some(value) = fields.value(key) {
            let name = fields.name(key);
            let formula = options.formula(&name, key, value)?;
            found.push((name, formula));
        }
    }
    json.whitespace = whitespace(&mut fields, "whitespace_pattern", "disable_any_whitespace")?;
    if fields.flag("disable_additional_properties")?.unwrap_or(false) {
        json.strictness = Some(Strictness::Closed);
    }
    let style_name = fields.string("style")?;
    if let Some(name) = &style_name {
        let style = Style::named(name);
        let style = style.map_err(|error| ApiError::field(fields.name("style"), with_cure(&error)));
        json.style = Some(style?);
    }
    // They choose among engines, or let another one step in; there is one here.
    for field in ["disable_fallback", "_backend", "_backend_was_auto"] {
        fields.ignore(field);
    }
    fields.finish()?;
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some((of, constraint)), None)
            if style_name.is_some()
                && !matches!(
                    constraint,
                    AnswerConstraint::Schema(_) | AnswerConstraint::JsonObject
                ) =>
        {
            let message = format!("does not apply to `{of}`; it is for json and json_object");
            Err(ApiError::field("structured_outputs.style", message))
        }
        (Some((of, _)), None)
            if (json.whitespace.is_some() || json.strictness.is_some())
                && (of.ends_with(".regex") || of.ends_with(".choice")) =>
        {
            let option = match json.whitespace {
                Some(Whitespace::Pattern(_)) => "whitespace_pattern",
                Some(_) => "disable_any_whitespace",
                None => "disable_additional_properties",
            };
            let message = format!("does not apply to `{of}`; it is for JSON");
            Err(ApiError::field(format!("structured_outputs.{option}"), message))
        }
        (Some((of, constraint)), None) => {
            options.check(&of, &constraint)?;
            Ok((of, constraint))
        }
        (Some((first, _)), Some((second, _))) => {
            let message = format!(
                "stands beside `{first}`; write one of them, or both as a list of `allOf` or `anyOf`"
            );
            Err(ApiError::field(second, message))
        }
        (None, _) => Err(ApiError::field(
            "structured_outputs",
            "has no constraint; write json, json_object, regex, choice, grammar, structural_tag, \
             or allOf, anyOf, not around such",
        )),
    }
}

/// vLLM's older fields, `guided_*`.
pub(super) fn guided(
    fields: &mut Fields,
    options: &GrammarFields,
    json: &mut JsonFields,
) -> Result<Vec<(String, AnswerConstraint)>, ApiError> {
    let mut found = Vec::new();
    if let Some(schema) = schema(fields, "guided_json")? {
        found.push(("guided_json".to_owned(), AnswerConstraint::Schema(schema)));
    }
    if fields.flag("guided_json_object")?.unwrap_or(false) {
        found.push(("guided_json_object".to_owned(), AnswerConstraint::JsonObject));
    }
    for (field, key) in [("guided_regex", "regex"), ("guided_choice", "choice")] {
        if let Some(value) = fields.value(field) {
            found.push((field.to_owned(), options.formula(field, key, value)?));
        }
    }
    if let Some(text) = fields.string("guided_grammar")? {
        found.push(("guided_grammar".to_owned(), options.grammar(text, None)));
    }
    if let Some(tag) = json_or_text(fields, "structural_tag")? {
        let tag = AnswerConstraint::StructuralTag(without_nulls(tag));
        found.push(("structural_tag".to_owned(), tag));
    }
    fields.ignore("guided_decoding_backend");
    let names = ["guided_whitespace_pattern", "guided_disable_any_whitespace"];
    let sent = names.into_iter().find(|name| fields.has(name));
    let given = whitespace(fields, "guided_whitespace_pattern", "guided_disable_any_whitespace")?;
    let sent = sent.filter(|_| given.is_some());
    if let (Some(field), Some(_)) = (sent, &json.whitespace) {
        let message = "stands beside `structured_outputs` with another one; write one of them";
        return Err(ApiError::field(field, message));
    }
    json.whitespace = json.whitespace.take().or(given);
    json.whitespace_field = sent;
    Ok(found)
}

/// llama.cpp's `grammar` (GBNF) and `json_schema`, SGLang's `regex` and `ebnf` (GBNF, too).
pub(super) fn llama_cpp(
    fields: &mut Fields,
    options: &GrammarFields,
) -> Result<Vec<(String, AnswerConstraint)>, ApiError> {
    let mut found = Vec::new();
    for field in ["grammar", "ebnf"] {
        // llama.cpp's clients send an empty one for none.
        if let Some(text) = fields.string(field)?.filter(|text| !text.is_empty()) {
            // llama.cpp reads llguidance's notation here, too, where it was built with it.
            let is_lark = Dialect::guess(&text) == Some(Dialect::Lark);
            let is_gbnf = ebnf::builtin(&text).is_none() && !is_lark;
            let dialect = is_gbnf.then_some(Dialect::Gbnf);
            found.push((field.to_owned(), options.grammar(text, dialect)));
        }
    }
    if let Some(schema) = schema(fields, "json_schema")? {
        found.push(("json_schema".to_owned(), AnswerConstraint::Schema(schema)));
    }
    if let Some(pattern) = fields.string("regex")? {
        found.push(("regex".to_owned(), options.formula("regex", "regex", json!(pattern))?));
    }
    Ok(found)
}

/// OpenAI's, with llama.cpp's schema beside `json_object` and vLLM's structural tags.
pub(super) fn response_format(
    fields: &mut Fields,
    documents: &mut Vec<ResourceDocument>,
    json: &mut JsonFields,
) -> Result<Option<(String, AnswerConstraint)>, ApiError> {
    let Some(value) = fields.value("response_format") else { return Ok(None) };
    if value["type"] == "structural_tag" {
        let tag = AnswerConstraint::StructuralTag(without_nulls(value));
        return Ok(Some(("response_format".to_owned(), tag)));
    }
    let mut format = Fields::new("response_format", value)?;
    let wanted = "\"text\", \"json_object\", \"json_schema\" or \"structural_tag\"";
    let Some(kind) = format.value("type") else {
        return Err(ApiError::field("response_format.type", format!("is missing; write {wanted}")));
    };
    let mut field = "response_format".to_owned();
    let constraint = match kind.as_str() {
        Some("text") => None,
        Some("json_object") => Some(match schema(&mut format, "schema")? {
            Some(schema) => {
                field = format.name("schema");
                AnswerConstraint::Schema(schema)
            }
            None => AnswerConstraint::JsonObject,
        }),
        // llama.cpp's server documents the schema without an object around it, too.
        Some("json_schema") if format.has("schema") && !format.has("json_schema") => {
            field = format.name("schema");
            schema(&mut format, "schema")?.map(AnswerConstraint::Schema)
        }
        Some("json_schema") => {
            field = "response_format.json_schema.schema".to_owned();
            Some(AnswerConstraint::Schema(json_schema(&mut format, documents, json)?))
        }
        _ => return Err(wrong("response_format.type", wanted, &kind)),
    };
    documents.extend(resources(&mut format)?);
    format.finish()?;
    Ok(constraint.map(|constraint| (field, constraint)))
}

fn json_schema(
    format: &mut Fields,
    documents: &mut Vec<ResourceDocument>,
    json: &mut JsonFields,
) -> Result<Value, ApiError> {
    let name = format.name("json_schema");
    let Some(value) = format.value("json_schema") else {
        return Err(ApiError::field(name, "is missing; write an object with `name` and `schema`"));
    };
    let mut fields = Fields::new(name, value)?;
    let schema = fields.value("schema");
    // Neither is text that the model reads.
    fields.string("name")?;
    fields.string("description")?;
    json.strictness = strictness(&mut fields)?;
    documents.extend(resources(&mut fields)?);
    let missing = fields.name("schema");
    fields.finish()?;
    schema.ok_or_else(|| ApiError::field(missing, "is missing; write the JSON Schema"))
}
