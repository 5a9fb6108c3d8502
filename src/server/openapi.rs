//! `GET /openapi.json`: the API as an OpenAPI 3.1 document.
//!
//! Fields of requests are read one by one ([`Fields`](super::request::Fields)), not by a derived type, so the
//! document is data of its own, `openapi/document.json`, and tests hold it to the code: it names exactly the
//! fields that the readers take and the routes that the router has. Here it is completed: groups of fields
//! that endpoints share (`x-include`, less `x-exclude`) become properties, optional ones may be null as the server reads
//! them, and the model's names are filled in.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::admission::ServerBounds;
use super::app::App;

/// The document before it is completed.
const DOCUMENT: &str = include_str!("openapi/document.json");

/// Answers with the document.
pub(super) async fn openapi(State(app): State<Arc<App>>) -> Json<Value> {
    Json(document(&app.names, app.ignore_unknown_fields, &app.bounds))
}

/// The document of a server of a model of these names.
fn document(names: &[String], ignores_unknown: bool, bounds: &ServerBounds) -> Value {
    // The file is a part of the program, and a test reads it.
    let mut document: Value = serde_json::from_str(DOCUMENT).unwrap_or_default();
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    let mut schemas = document["components"]["schemas"].take();
    set_bounds(&mut schemas, bounds);
    let mut completed = Map::new();
    for (name, schema) in schemas.as_object().into_iter().flatten() {
        completed.insert(name.clone(), complete(schema, &schemas, names, ignores_unknown));
    }
    document["components"]["schemas"] = Value::Object(completed);
    document
}

/// Writes the bounds of the server into the schemas of fields.
fn set_bounds(schemas: &mut Value, bounds: &ServerBounds) {
    let (generation, decisions) = (&bounds.generation, &bounds.decisions);
    for (place, most) in [
        ("Length/properties/n/maximum", generation.max_choices),
        ("Length/properties/best_of/maximum", generation.max_choices),
        ("Length/properties/num_beams/maximum", generation.max_choices),
        ("Length/properties/stop/anyOf/1/maxItems", generation.max_stops),
        ("Length/properties/stop_regex/anyOf/1/maxItems", generation.max_stops),
        ("MessageRequest/properties/stop_sequences/maxItems", generation.max_stops),
        ("CompletionRequest/properties/prompt/anyOf/2/maxItems", generation.max_prompts),
        ("CompletionRequest/properties/prompt/anyOf/3/maxItems", generation.max_prompts),
        ("SampleRequest/properties/n/maximum", generation.max_samples),
        ("DecisionRequest/properties/questions/maxItems", decisions.max_questions),
        ("DecisionRequest/properties/max_contexts/maximum", decisions.max_contexts),
        ("Question/properties/choices/maxItems", decisions.max_labels),
        ("Question/properties/levels/maxItems", decisions.max_labels),
    ] {
        if let Some(bound) = schemas.pointer_mut(&format!("/{place}")) {
            *bound = json!(most);
        }
    }
}

/// A schema with its groups; others stay as they are.
fn complete(schema: &Value, schemas: &Value, names: &[String], ignores_unknown: bool) -> Value {
    let mut schema = schema.clone();
    let Some(object) = schema.as_object_mut() else { return schema };
    let Some(groups) = object.shift_remove("x-include") else { return schema };
    let mut properties = Map::new();
    let own = object.shift_remove("properties");
    let shared = groups.as_array().into_iter().flatten().filter_map(Value::as_str);
    let shared = shared.map(|group| &schemas[group]["properties"]);
    for (name, field) in shared.chain(&own).filter_map(Value::as_object).flatten() {
        properties.insert(name.clone(), field.clone());
    }
    for name in object.shift_remove("x-exclude").iter().filter_map(Value::as_array).flatten() {
        properties.shift_remove(name.as_str().unwrap_or_default());
    }
    let required = object.get("required").cloned().unwrap_or_else(|| json!([]));
    let is_required = |name: &String| required.as_array().is_some_and(|r| r.contains(&json!(name)));
    for (name, field) in &mut properties {
        if name == "model" {
            field["enum"] = json!(names);
        }
        if !is_required(name) {
            *field = nullable(field.take());
        }
    }
    if let (Some(examples), Some(name)) = (object.get_mut("examples"), names.first()) {
        for example in examples.as_array_mut().into_iter().flatten() {
            if properties.contains_key("model") {
                example["model"] = json!(name);
            }
        }
    }
    object.insert("properties".to_owned(), Value::Object(properties));
    object.insert("additionalProperties".to_owned(), json!(ignores_unknown));
    schema
}

/// A field that may be null, which counts as absent.
fn nullable(mut field: Value) -> Value {
    let Some(members) = field.as_object_mut() else { return field };
    let description = members.shift_remove("description");
    let accepts_all = members.is_empty();
    let mut nullable =
        if accepts_all { json!({}) } else { json!({ "anyOf": [field, { "type": "null" }] }) };
    if let Some(description) = description {
        nullable["description"] = description;
    }
    nullable
}

#[cfg(test)]
pub(super) mod reader_check;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::reader_check::{MODEL, check, names};
    use super::*;
    use crate::Vocabulary;
    use crate::server::admission::{DecisionBounds, GenerationBounds};
    use crate::server::request::{
        ChatRequest, CompletionRequest, DecisionRequest, Fields, GenerationSettings, fields_taken,
        read_constraint,
    };

    fn fields(body: Value) -> Fields {
        Fields::new("", body).unwrap()
    }

    #[test]
    fn fields_of_requests_are_those_that_are_read() {
        let schema = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": {} } });
        let tool = json!({ "type": "function", "function": { "name": "a", "parameters": {} } });
        let chat = json!({ "model": MODEL, "response_format": schema, "tools": [tool],
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "a" }] },
                { "role": "assistant", "content": "a" },
                { "role": "tool", "content": "a", "tool_call_id": "1" }],
            "stream": true, "stream_options": { "include_usage": true } });
        let (defaults, bounds) = (GenerationSettings::default(), DecisionBounds::default());
        check("ChatCompletionRequest", &[], || ChatRequest::read(chat, &names(), &defaults));
        let vocabulary = Vocabulary::from_tokens(vec![Some(b"a".to_vec())], &[], &[]).unwrap();
        let completion = json!({ "model": MODEL, "prompt": "a" });
        check("CompletionRequest", &[], || {
            CompletionRequest::read(fields(completion), &names(), &vocabulary, &defaults)
        });
        let decision = json!({ "model": MODEL, "input": [{ "role": "user", "content": "a" }],
            "questions": [{ "type": "predicate", "spellings": { "true": ["a"] } },
                { "type": "choice", "choices": [{ "value": true }, "b"] },
                { "type": "score", "minimum": 1, "maximum": 2 }] });
        // The input is one of three fields.
        let (_, taken) = fields_taken(|| {
            let prompt = json!({ "model": MODEL, "prompt": "a", "messages": null, "input": null,
                "questions": [{ "type": "predicate" }] });
            DecisionRequest::read(fields(prompt), &names(), &bounds)
        });
        assert!(taken.iter().any(|(name, _)| name == "prompt"));
        check("DecisionRequest", &[], || {
            let read = DecisionRequest::read(fields(decision), &names(), &bounds)?;
            let messages = json!({ "model": MODEL, "messages": [{ "role": "user", "content": "a" }],
                "questions": [{ "type": "predicate" }] });
            DecisionRequest::read(fields(messages), &names(), &bounds)?;
            let prompt =
                json!({ "model": MODEL, "prompt": "a", "questions": [{ "type": "predicate" }] });
            DecisionRequest::read(fields(prompt), &names(), &bounds)?;
            Ok(read)
        });
        check("LintRequest", &[], || {
            let mut fields = fields(json!({ "json_schema": {} }));
            let read = read_constraint(&mut fields, &names())?;
            fields.finish().map(|()| read)
        });
    }

    #[test]
    fn bounds_are_those_of_the_server() {
        let bounds = ServerBounds {
            generation: GenerationBounds {
                max_choices: 3,
                max_stops: 4,
                max_prompts: 5,
                max_samples: 6,
            },
            decisions: DecisionBounds {
                max_questions: 7,
                max_labels: 8,
                max_contexts: 9,
                ..Default::default()
            },
            ..Default::default()
        };
        let document = document(&names(), false, &bounds);
        let shown = |place: &str| document.pointer(&format!("/components/schemas/{place}"));
        for (place, most) in [
            ("ChatCompletionRequest/properties/n/anyOf/0/maximum", 3),
            ("ResponseRequest/properties/best_of/anyOf/0/maximum", 3),
            ("CompletionRequest/properties/num_beams/anyOf/0/maximum", 3),
            ("ChatCompletionRequest/properties/stop/anyOf/0/anyOf/1/maxItems", 4),
            ("ChatCompletionRequest/properties/stop_regex/anyOf/0/anyOf/1/maxItems", 4),
            ("MessageRequest/properties/stop_sequences/anyOf/0/maxItems", 4),
            ("CompletionRequest/properties/prompt/anyOf/2/maxItems", 5),
            ("CompletionRequest/properties/prompt/anyOf/3/maxItems", 5),
            ("SampleRequest/properties/n/anyOf/0/maximum", 6),
            ("DecisionRequest/properties/questions/maxItems", 7),
            ("Question/properties/choices/maxItems", 8),
            ("Question/properties/levels/maxItems", 8),
            ("DecisionRequest/properties/max_contexts/anyOf/0/maximum", 9),
        ] {
            assert_eq!(shown(place), Some(&json!(most)), "{place}");
        }
    }

    #[test]
    fn routes_are_described() {
        let document = document(&names(), false, &ServerBounds::default());
        let routes = include_str!("routes.rs").split(".route(\"").skip(1);
        let mut count = 0;
        let paths = routes.filter_map(|rest| rest.split('"').next());
        // One route is there to refuse what has no route, in the words of its API.
        for path in paths.filter(|path| !path.ends_with("/{*unknown}")) {
            let path = path.replace("{*", "{");
            assert!(document["paths"][&path].is_object(), "{path}");
            count += 1;
        }
        assert_eq!(count, document["paths"].as_object().unwrap().len());
    }

    #[test]
    fn references_lead_to_schemas_and_operations_are_named_once() {
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str));
                    members.values().for_each(|value| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|value| references(value, found)),
                _ => {}
            }
        }
        let document = document(&names(), false, &ServerBounds::default());
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50);
        for reference in found {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        let mut ids = BTreeSet::new();
        for operation in document["paths"].as_object().unwrap().values() {
            for (_, operation) in operation.as_object().unwrap() {
                let id = operation["operationId"].as_str();
                assert!(id.is_none_or(|id| ids.insert(id)), "{id:?} twice");
            }
        }
        assert!(ids.len() > 20);
    }
}
