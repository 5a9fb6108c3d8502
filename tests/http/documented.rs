//! The OpenAPI document and the server's answers: every answer that a test of this folder gets has a status, a
//! media type and a body that the document describes for its path.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{Answer, serve};

/// The document of a server of its own, so that no test finds one connection more than it made.
fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut stream = TcpStream::connect(serve(hey("http-documented"), &[])).unwrap();
        stream.write_all(b"GET /openapi.json HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    })
}

/// Whether a path is one that a template such as `/v1/responses/{id}` stands for.
fn matches(template: &str, path: &str) -> bool {
    let (mut template, mut path) = (template.split('/'), path.split('/'));
    loop {
        match (template.next(), path.next()) {
            (None, None) => return true,
            // Names of models have slashes.
            (Some("{model}"), Some(_)) => return true,
            (Some(name), Some(_)) if name.starts_with('{') => {}
            (Some(name), Some(part)) if name == part => {}
            _ => return false,
        }
    }
}

/// The validator of a schema of the document, which names all members of an object.
fn validator(pointer: &str) -> Arc<Validator> {
    static VALIDATORS: Mutex<Option<HashMap<String, Arc<Validator>>>> = Mutex::new(None);
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let validators = validators.get_or_insert_default();
    if let Some(known) = validators.get(pointer) {
        return Arc::clone(known);
    }
    let schema = document().pointer(pointer).unwrap();
    let schema = json!({
        "allOf": [schema],
        "unevaluatedProperties": false,
        "components": document()["components"],
    });
    let validator = Arc::new(jsonschema::validator_for(&schema).unwrap());
    validators.insert(pointer.to_owned(), Arc::clone(&validator));
    validator
}

/// Checks an answer to a request that begins with this line.
pub(crate) fn check(line: &str, answer: &Answer) {
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap().to_lowercase(), words.next().unwrap());
    let path = target.split(['?', '#']).next().unwrap();
    let paths = document()["paths"].as_object().unwrap();
    let exact = paths.get_key_value(path);
    let Some((template, operations)) =
        exact.or_else(|| paths.iter().find(|(name, _)| matches(name, path)))
    else {
        return;
    };
    let operation = &operations[&method];
    if operation.is_null() {
        assert!(matches!(answer.status, 200 | 204 | 401 | 405), "{line}: {}", answer.status);
        return;
    }
    let status = answer.status.to_string();
    let content = &operation["responses"][&status];
    assert!(content.is_object(), "{line}: status {status} is not documented");
    let Some(content) = content["content"].as_object() else { return };
    let kind = answer.headers.get("content-type").map_or("", String::as_str);
    let kind = kind.split(';').next().unwrap();
    assert!(content.contains_key(kind), "{line}: {kind:?} of status {status} is not documented");
    if kind != "application/json" || method == "head" {
        return;
    }
    let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
    let pointer = format!(
        "/paths/{}/{method}/responses/{status}/content/{}/schema",
        escape(template),
        escape(kind)
    );
    let errors: Vec<String> = validator(&pointer)
        .iter_errors(&answer.json())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{line}, status {status}: {errors:?} in {}", answer.body);
}

#[test]
fn what_the_document_does_not_describe_is_found() {
    let answer = |status: u16, body: Value| {
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        Answer { status, headers: headers.into(), body: body.to_string() }
    };
    let is_described = |line: &str, answer: Answer| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(line, &answer))).is_ok()
    };
    let tokens = json!({ "input_tokens": 5 });
    for (line, status, body, expected) in [
        ("POST /v1/messages/count_tokens HTTP/1.1", 200, tokens.clone(), true),
        ("POST /v1/messages/count_tokens HTTP/1.1", 200, json!({ "input_tokens": "5" }), false),
        ("POST /v1/messages/count_tokens HTTP/1.1", 200, json!({}), false),
        (
            "POST /v1/messages/count_tokens HTTP/1.1",
            200,
            json!({ "input_tokens": 5, "b": 1 }),
            false,
        ),
        ("POST /v1/messages/count_tokens HTTP/1.1", 201, tokens.clone(), false),
        ("GET /v1/models/org/name HTTP/1.1", 200, tokens, false),
    ] {
        assert_eq!(is_described(line, answer(status, body.clone())), expected, "{line} {body}");
    }
}
