//! The server beside its answers: what it lists, whom it lets in, when it stops.

use std::io::Read as _;

use maskwright::server::{Server, ServerOptions};
use serde_json::{Map, Value, json};

use crate::model_support::{hey, parrot};
use crate::{CHAT, chat, connect, send, serve, serve_by};

#[test]
fn models_and_health_answer() {
    let address = serve(hey("http-models"), &[]);
    let models = send(address, "GET /v1/models HTTP/1.1", "").json();
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["id"], "http-models");
    assert_eq!(models["data"].as_array().unwrap().len(), 1);
    assert_eq!((&models["first_id"], &models["has_more"]), (&json!("http-models"), &json!(false)));
    assert!(models["data"][0]["max_model_len"].as_u64().unwrap() > 0);
    let created = models["data"][0]["created_at"].as_str().unwrap();
    let created = chrono::DateTime::parse_from_rfc3339(created).unwrap();
    assert_eq!(models["data"][0]["created"], created.timestamp());
    let model = send(address, "GET /v1/models/http-models HTTP/1.1", "").json();
    assert_eq!(model, models["data"][0]);
    assert_eq!(send(address, "GET /health HTTP/1.1", "").json(), json!({ "status": "ok" }));
}

/// Constraints are found by all that a request says of them, and by nothing else.
#[test]
fn a_constraint_is_compiled_for_the_first_of_its_requests() {
    let address = serve(parrot("http-again", &[(b'>', 97), (b'a', 97)], 100), &[]);
    let figure = |name: &str| -> u64 {
        let text = send(address, "GET /metrics HTTP/1.1", "").body;
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("maskwright_{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    };
    let figures =
        || (figure("constraint_cache_queries_total"), figure("constraint_cache_hits_total"));
    let answer = |fields: serde_json::Value| {
        let answer = chat(address, "http-again", fields);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(answer(json!({ "max_tokens": 3 })), "aaa");
    assert_eq!(figures(), (0, 0));
    assert_eq!(answer(json!({ "guided_regex": "a{2}" })), "aa");
    assert_eq!(figures(), (1, 0));
    assert_eq!(answer(json!({ "guided_regex": "a{2}", "seed": 3, "max_tokens": 5, "n": 1 })), "aa");
    assert_eq!(figures(), (2, 1));
    for other in [
        json!({ "guided_regex": "a{2}", "constraint_options": { "limits": { "depth": 9 } } }),
        json!({ "guided_regex": "a{2}", "reasoning_effort": "low" }),
        json!({ "guided_regex": "a{2}", "regex_dialect": "rust" }),
    ] {
        chat(address, "http-again", other);
    }
    assert_eq!(figure("constraint_cache_hits_total"), 1);
    // Completions have their own, whatever the prompt.
    for (hits, prompt) in [(1, "a"), (2, ">")] {
        let body = json!({ "model": "http-again", "prompt": prompt, "temperature": 0,
            "guided_regex": "a{3}" });
        let head = "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json";
        let answer = send(address, head, &body.to_string());
        assert_eq!(answer.json()["choices"][0]["text"], "aaa", "{}", answer.body);
        assert_eq!(figure("constraint_cache_hits_total"), hits);
    }
    // A refusal is remembered, with its field.
    for hits in [2, 3] {
        let refused = chat(address, "http-again", json!({ "guided_regex": "(" }));
        assert_eq!((refused.status, figure("constraint_cache_hits_total")), (400, hits));
        assert_eq!(refused.json()["error"]["param"], "guided_regex");
    }
}

#[test]
fn a_server_with_keys_is_closed_without_one() {
    let address = serve(hey("http-keys"), &["one", "two"]);
    for (key, status) in [("one", 200), ("two", 200), ("three", 401), ("", 401)] {
        let head = format!("GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {key}");
        let answer = send(address, &head, "");
        assert_eq!(answer.status, status, "{key}");
        if status == 401 {
            assert_eq!(answer.json()["error"]["code"], "invalid_api_key");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
        }
    }
    assert_eq!(chat(address, "http-keys", json!({})).status, 401);
    assert_eq!(send(address, "GET /health HTTP/1.1", "").status, 200);
}

#[test]
fn hanging_up_cancels() {
    // A text that would not end in this test's lifetime.
    let endless = parrot("http-endless", &[(b'>', 97), (b'a', 97)], 1 << 30);
    let address = serve(endless, &[]);
    for (stream, search) in [(true, "n"), (false, "n"), (false, "num_beams"), (false, "best_of")] {
        let mut body = json!({
            "model": "http-endless",
            "messages": [{ "role": "user", "content": "x" }],
            "stream": stream,
            "temperature": 0,
        });
        body[search] = json!(2);
        let mut stream = connect(address, CHAT, &body.to_string());
        if body["stream"] == true {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
        }
        drop(stream);
    }
    // Answered only because the model's thread is free again.
    let answer = chat(address, "http-endless", json!({ "max_tokens": 3 })).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "aaa");
}

/// A constraint that no budget can hold is refused while the model writes for another request,
/// without a place in
/// its queue.
#[test]
fn what_cannot_fit_never_waits_for_the_model() {
    let endless = parrot("http-far", &[(b'>', 97), (b'a', 97)], 1 << 30);
    let address = serve(endless, &[]);
    let writing = json!({
        "model": "http-far", "messages": [{ "role": "user", "content": "x" }],
        "stream": true, "temperature": 0,
    });
    let mut stream = connect(address, CHAT, &writing.to_string());
    stream.read_exact(&mut [0]).unwrap();
    for constraint in [
        json!({ "guided_json": { "type": "string", "minLength": 2_147_483_648_u32 } }),
        json!({ "guided_json": { "type": "array", "minItems": 2_147_483_648_u32 } }),
        json!({ "guided_json": { "type": "object", "minProperties": 100_000_000 } }),
        json!({ "guided_regex": "a{100000000}" }),
    ] {
        let mut body = constraint.clone();
        body["max_tokens"] = json!(120);
        let answer = chat(address, "http-far", body);
        assert_eq!(answer.status, 400, "{constraint}: {}", answer.body);
        assert!(
            answer.body.contains("within 120 tokens: at least"),
            "{constraint}: {}",
            answer.body
        );
    }
    drop(stream);
}

#[test]
fn a_port_in_use_is_an_error_with_a_cure() {
    let listener = Server::listen(([127, 0, 0, 1], 0).into()).unwrap();
    let error = Server::listen(listener.local_addr().unwrap()).unwrap_err().to_string();
    assert!(error.contains("--port"), "{error}");
}

/// Browsers ask first, and look for the origin in the response.
#[test]
fn pages_of_named_origins_may_use_the_server() {
    let cors_origins = vec!["https://example.org".to_owned()];
    let api_keys = vec!["secret".to_owned()];
    let options = ServerOptions { cors_origins, api_keys, ..ServerOptions::default() };
    let address = serve_by(hey("http-cors"), options);
    let preflight = |origin: &str| {
        let head = format!(
            "OPTIONS /v1/chat/completions HTTP/1.1\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-a"
        );
        send(address, &head, "")
    };
    let allowed = preflight("https://example.org");
    assert_eq!(allowed.status, 204);
    assert_eq!(allowed.headers["access-control-allow-origin"], "https://example.org");
    assert_eq!(allowed.headers["access-control-allow-headers"], "x-a");
    let refused = preflight("https://example.com");
    assert!(!refused.headers.contains_key("access-control-allow-origin"));
    assert_ne!(refused.status, 204);
    let head = "GET /health HTTP/1.1\r\nOrigin: https://example.org";
    let health = send(address, head, "");
    assert_eq!(health.headers["access-control-allow-origin"], "https://example.org");
    // A request without its key stays one.
    let models = send(address, "GET /v1/models HTTP/1.1\r\nOrigin: https://example.org", "");
    assert_eq!(models.status, 401);
}

#[test]
fn every_response_has_an_id() {
    let address = serve(hey("http-request-id"), &[]);
    let id = |head: &str| send(address, head, "").headers["x-request-id"].clone();
    assert_eq!(id("GET /health HTTP/1.1\r\nX-Request-Id: mine-7"), "mine-7");
    let (one, other) = (id("GET /health HTTP/1.1"), id("GET /nothing HTTP/1.1"));
    assert!(one.starts_with("req_") && one != other);
    assert!(id("GET /health HTTP/1.1\r\nX-Request-Id: a b").starts_with("req_"));
    // Anthropic's clients look for it under this name.
    let headers = send(address, "POST /v1/messages HTTP/1.1", "").headers;
    assert_eq!(headers["request-id"], headers["x-request-id"]);
}

#[test]
fn unknown_fields_can_be_left_out() {
    let model = "http-ignored-fields";
    let options = ServerOptions { ignore_unknown_fields: true, ..ServerOptions::default() };
    let address = serve_by(hey(model), options);
    let fields = json!({ "colour": 1, "stream_options": { "speed": 2 }, "stream": true });
    let answer = chat(address, model, fields);
    assert_eq!(answer.headers["x-ignored-fields"], "stream_options.speed, colour");
    assert_eq!(answer.status, 200);
    assert!(!chat(address, model, json!({})).headers.contains_key("x-ignored-fields"));
    // A long list is cut: clients and proxies refuse long heads.
    let many: Map<String, Value> = (0..1000).map(|i| (format!("colour{i}"), json!(i))).collect();
    let answer = chat(address, model, many.into());
    let named = &answer.headers["x-ignored-fields"];
    assert_eq!(answer.status, 200);
    assert!(named.contains("colour0") && named.len() < 3000, "{} bytes", named.len());
    // A field whose meaning is known is refused all the same.
    assert_eq!(chat(address, model, json!({ "audio": { "voice": "x" } })).status, 400);
}

#[test]
fn times_are_told() {
    let model = "http-histograms";
    let address = serve(hey(model), &[]);
    assert_eq!(chat(address, model, json!({ "regex": "Hey" })).status, 200);
    let metrics = send(address, "GET /metrics HTTP/1.1", "").body;
    for line in [
        "maskwright_time_to_first_token_seconds_count 1",
        "maskwright_inter_token_latency_seconds_count 2",
        "maskwright_e2e_request_latency_seconds_bucket{le=\"+Inf\"} 1",
        "maskwright_compile_time_seconds_count 1",
        "maskwright_request_success_total{finished_reason=\"stop\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
}

#[test]
fn the_document_of_the_api_names_what_is_there() {
    let model = "http-openapi";
    let address = serve(hey(model), &["key"]);
    // Without a key, as `/health`.
    let document = send(address, "GET /openapi.json HTTP/1.1", "").json();
    assert_eq!(document["openapi"], "3.1.0");
    let chat = &document["components"]["schemas"]["ChatCompletionRequest"];
    assert_eq!(chat["properties"]["model"]["enum"], json!([model]));
    assert_eq!(chat["additionalProperties"], false);
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let path = path.replace("{id}", "resp_1").replace("{model}", model);
            let head = format!(
                "{} {path} HTTP/1.1\r\nAuthorization: Bearer key\r\nContent-Type: application/json",
                method.to_uppercase()
            );
            let answer = send(address, &head, if method == "post" { "{}" } else { "" });
            let is_unknown = answer.body.contains("unknown_url");
            assert!(answer.status != 405 && !is_unknown, "{method} {path}: {}", answer.body);
            let documented = &operations[method]["responses"][answer.status.to_string()];
            assert!(documented.is_object(), "{method} {path}: {}", answer.status);
        }
    }
}
