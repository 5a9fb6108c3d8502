//! Events of the document that an answer is, and traces of its tokens, while it is written.

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{chat, serve};

/// The choices of all chunks of a stream.
fn choices(events: &[String]) -> Vec<Value> {
    let chunks = events.iter().filter_map(|event| serde_json::from_str::<Value>(event).ok());
    chunks.map(|mut chunk| chunk["choices"][0].take()).collect()
}

/// The document that events tell of: each scalar put together, and written where its path says.
fn rebuild(events: &[Value]) -> Value {
    let mut root = Value::Null;
    let mut scalar = String::new();
    for event in events {
        scalar += event["delta"].as_str().unwrap();
        let kind = event["type"].as_str().unwrap();
        let is_complete = event["complete"] == true;
        let value = match (kind, is_complete) {
            ("object", false) => json!({}),
            ("array", false) => json!([]),
            ("object" | "array", true) | (_, false) => continue,
            ("string", true) => json!(std::mem::take(&mut scalar)),
            _ => serde_json::from_str(&std::mem::take(&mut scalar)).unwrap(),
        };
        let path = event["path"].as_str().unwrap();
        match path.rsplit_once('/') {
            None => root = value,
            Some((parent, key)) => match root.pointer_mut(parent).unwrap() {
                Value::Array(items) => items.push(value),
                Value::Object(members) => drop(members.insert(key.to_owned(), value)),
                other => panic!("{other} has no `{key}`"),
            },
        }
    }
    root
}

#[test]
fn a_document_is_told_value_by_value() {
    let address = serve(hey("http-document"), &[]);
    let schema = json!({
        "type": "object",
        "properties": {
            "kind": { "const": "a\"é" },
            "list": { "const": [1, -2.5, true, null, {}] },
            "free": { "type": "string", "maxLength": 3 },
        },
        "required": ["kind", "list", "free"],
        "additionalProperties": false,
    });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } });
    let mut fields = json!({ "response_format": format, "stream": true, "max_tokens": 200 });
    let plain = choices(&chat(address, "http-document", fields.clone()).events());
    assert!(plain.iter().all(|choice| choice.get("document").is_none()));
    fields["stream_options"] = json!({ "include_document": true });
    let choices = choices(&chat(address, "http-document", fields).events());
    let text: String =
        choices.iter().filter_map(|choice| choice["delta"]["content"].as_str()).collect();
    let events: Vec<Value> = choices
        .iter()
        .filter_map(|choice| choice["document"].as_array().cloned())
        .flatten()
        .collect();
    let expected: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rebuild(&events), expected, "{text}");
    assert_eq!(expected["kind"], "a\"é");
    let last = json!({ "path": "", "type": "object", "delta": "", "complete": true });
    assert_eq!(events.last(), Some(&last));
}

#[test]
fn arguments_of_calls_are_documents() {
    let address = serve(hey("http-document-calls"), &[]);
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "enum": ["Oslo"] }, "days": { "const": 3 } },
        "required": ["city", "days"],
    });
    let tool = json!({ "name": "weather", "parameters": parameters, "strict": true });
    let fields = json!({
        "tools": [{ "type": "function", "function": tool }], "tool_choice": "required",
        "parallel_tool_calls": false, "stream": true, "max_tokens": 200,
        "stream_options": { "include_document": true },
    });
    let choices = choices(&chat(address, "http-document-calls", fields).events());
    let events: Vec<Value> = choices
        .iter()
        .filter_map(|choice| choice["document"].as_array().cloned())
        .flatten()
        .collect();
    assert!(!events.is_empty() && events.iter().all(|event| event["tool_call"] == 0), "{events:?}");
    assert_eq!(rebuild(&events), json!({ "city": "Oslo", "days": 3 }));
}

#[test]
fn a_trace_tells_what_the_model_wanted() {
    let address = serve(hey("http-trace"), &[]);
    let fields = json!({ "trace": true, "top_logprobs": 7, "structured_outputs": { "choice": ["Hi", "Ho"] } });
    let answer = chat(address, "http-trace", fields).json();
    assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
    let content = answer["choices"][0]["logprobs"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 2, "{answer}");
    // The model writes "Hey": the mask forbids the second letter.
    let (first, second) = (&content[0], &content[1]);
    assert_eq!(
        (&first["token"], &first["allowed"], &first["forced"]),
        (&json!("H"), &json!(1), &json!(true))
    );
    assert_eq!(first["token_id"], json!(u32::from(b'H')));
    assert_eq!((&second["allowed"], &second["forced"]), (&json!(2), &json!(false)));
    let wanted = second["wanted"].as_array().unwrap();
    assert_eq!(wanted.len(), 7);
    assert_eq!((&wanted[0]["token"], &wanted[0]["allowed"]), (&json!("e"), &json!(false)));
    assert_eq!(wanted[0]["bytes"], json!(b"e"));
    assert_eq!(second["argmax_masked"], true);
    // Without a trace, there is none of it.
    let answer = chat(address, "http-trace", json!({ "logprobs": true })).json();
    let entry = &answer["choices"][0]["logprobs"]["content"][0];
    assert!(entry.get("wanted").is_none() && entry.get("token_id").is_none());
}
