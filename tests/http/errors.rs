//! Requests that are refused: by which status, and in which words.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{CHAT, chat, send, serve};

#[test]
fn a_bad_request_gets_an_error_object_that_names_the_field() {
    let address = serve(hey("http-errors"), &[]);
    let schema = |schema: Value| {
        json!({ "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "x", "schema": schema },
        }})
    };
    let too_long = |field: &str| {
        let mut fields = schema(json!({ "type": "string", "minLength": 99 }));
        fields[field] = json!(5);
        fields
    };
    for (extra, status, param, says) in [
        (json!({ "model": "gpt" }), 404, "model", "`http-errors`"),
        (json!({ "model": null }), 400, "model", "is missing"),
        (json!({ "temperature": -1 }), 400, "temperature", "a number from 0 up, not"),
        (json!({ "max_tokens": 0 }), 400, "max_tokens", "from 1 up"),
        (json!({ "top_logprobs": 3 }), 400, "top_logprobs", "is only for `logprobs`"),
        (
            json!({ "stop_regex": "a{1000}{1000}{1000}" }),
            400,
            "stop_regex",
            "too large an automaton",
        ),
        (json!({ "best_off": 3 }), 400, "best_off", "is not a field that is supported here"),
        (json!({ "extra_body": { "seed": 3 } }), 400, "extra_body", "beside the other fields"),
        (json!({ "best_of": 3, "num_beams": 2 }), 400, "", "goes with neither"),
        (
            json!({ "guided_whitespace_pattern": "[ ]?" }),
            400,
            "guided_whitespace_pattern",
            "needs a constraint on JSON",
        ),
        (
            json!({ "guided_regex": "[a-z]+", "guided_disable_any_whitespace": true }),
            400,
            "guided_disable_any_whitespace",
            "needs a constraint on JSON",
        ),
        (
            json!({ "structured_outputs": { "choice": ["a"], "disable_additional_properties": true } }),
            400,
            "structured_outputs.disable_additional_properties",
            "it is for JSON",
        ),
        (
            json!({ "guided_disable_any_whitespace": true,
                "structured_outputs": { "json": true, "whitespace_pattern": "[ ]?" } }),
            400,
            "guided_disable_any_whitespace",
            "stands beside `structured_outputs`",
        ),
        (
            schema(json!({ "properties": { "a": { "type": "sting" } } })),
            400,
            "response_format.json_schema.schema",
            "at /properties/a/type",
        ),
        (
            schema(json!({ "type": "integer", "minimum": 2, "maximum": 1 })),
            400,
            "response_format.json_schema.schema",
            "",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": "x".repeat(3000) }] }),
            400,
            "messages",
            "maximum context length is 2048 tokens",
        ),
        (json!({ "min_tokens": 9, "max_tokens": 8 }), 400, "min_tokens", "is above"),
        (too_long("max_tokens"), 400, "max_tokens", "was found within 5 tokens"),
        (
            too_long("max_completion_tokens"),
            400,
            "max_completion_tokens",
            "was found within 5 tokens",
        ),
        (json!({ "logit_bias": { "300": 1 } }), 400, "logit_bias", "names token 300"),
        (json!({ "allowed_token_ids": [1, 300] }), 400, "allowed_token_ids", "names token 300"),
        (json!({ "tools": vec![json!({}); 2049] }), 400, "tools", "write at most 2048"),
        (json!({ "samplers": ["top_q"] }), 400, "samplers", "dry, top_n_sigma, temperature"),
    ] {
        for stream in [false, true] {
            let mut extra = extra.clone();
            extra["stream"] = json!(stream);
            let answer = chat(address, "http-errors", extra.clone());
            assert_eq!(answer.status, status, "{extra}: {}", answer.body);
            let error = &answer.json()["error"];
            assert_eq!(error["type"], "invalid_request_error");
            assert_eq!(error["param"].as_str().unwrap_or_default(), param);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(says), "{message}");
            assert!(!message.contains('\n'), "{message}");
            // By which clients know that they must shorten a conversation.
            let too_long = error["code"] == "context_length_exceeded";
            assert_eq!(too_long, says == "maximum context length is 2048 tokens");
        }
    }
}

#[test]
fn every_error_is_json() {
    let address = serve(hey("http-json-errors"), &[]);
    for (head, body, status) in [
        ("GET /nowhere HTTP/1.1", "", 404),
        ("POST /v1/embeddings HTTP/1.1", "{}", 404),
        ("GET /v1/models/nothing HTTP/1.1", "", 404),
        ("GET /v1/models/%00%ff HTTP/1.1", "", 404),
        ("GET /v1/responses/%ff HTTP/1.1", "", 404),
        ("GET /v1/responses/%ff/input_items HTTP/1.1", "", 404),
        ("DELETE /v1/responses/%ff HTTP/1.1", "", 404),
        ("POST /v1/responses/%ff/cancel HTTP/1.1", "", 404),
        ("GET /v1/chat/completions HTTP/1.1", "", 405),
        ("DELETE /health HTTP/1.1", "", 405),
        ("POST /v1/chat/completions HTTP/1.1", "{}", 415),
        (&format!("{CHAT}\r\nContent-Encoding: gzip"), "{}", 415),
        (CHAT, "{", 400),
        (CHAT, "[]", 400),
        (CHAT, "\u{feff}", 400),
        (CHAT, "", 400),
    ] {
        let answer = send(address, head, body);
        assert_eq!(answer.status, status, "{head} {body}");
        assert!(answer.json()["error"]["message"].is_string(), "{head} {body}");
        assert_eq!(status == 405, answer.headers.contains_key("allow"), "{head}");
    }
    // A schema would not be the one that was sent.
    let answer = send(address, CHAT, r#"{"guided_json": {"const": 12345678901234567890123}}"#);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the number 12345678901234567890123 would be read as"), "{message}");
    // Told before the body is sent, so that it need not be.
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{CHAT}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 99999999\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"error\""), "{answer}");
}

#[test]
fn a_model_without_chat_template_says_what_to_do() {
    let folder = hey("http-no-template");
    std::fs::remove_file(folder.join("chat_template.jinja")).unwrap();
    let answer = chat(serve(folder, &[]), "http-no-template", json!({}));
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("chat_template.jinja"), "{message}");
}

/// Of two members with one key one would be lost.
#[test]
fn a_key_that_is_written_twice_is_refused_by_its_path() {
    let address = serve(hey("http-repeated"), &[]);
    let body = |more: &str| {
        format!(
            r#"{{"model": "http-repeated", "messages": [{{"role": "user", "content": "x"}}],
            "max_tokens": 9{more}}}"#
        )
    };
    for (more, param) in [
        (r#", "max_tokens": 8"#, "max_tokens"),
        (r#", "m\u0061x_tokens": 9"#, "max_tokens"),
        (r#", "guided_json": {"type": "object", "type": "integer"}"#, "guided_json.type"),
        (r#", "guided_json": "{\"a\": [{}, {\"b\": 1, \"b\": 1}]}""#, "guided_json.a[1].b"),
        (
            r#", "tools": [{"type": "function", "function": {"name": "f", "name": "g"}}]"#,
            "tools[0].function.name",
        ),
    ] {
        let answer = send(address, CHAT, &body(more));
        assert_eq!(answer.status, 400, "{more}: {}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param);
        assert!(answer.body.contains("is written twice; write it once"), "{}", answer.body);
    }
    assert_eq!(send(address, CHAT, &body("")).status, 200);
    // A byte order mark is no part of the text.
    assert_eq!(send(address, CHAT, &format!("\u{feff}{}", body(""))).status, 200);
}

/// Messages repeat a client's values, but not at any length.
#[test]
fn messages_are_short_whatever_was_sent() {
    let address = serve(hey("http-short"), &[]);
    let long = "n".repeat(30_000);
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let many: Vec<Value> = (0..5_000).map(|i| tool(&format!("tool-{i}"))).collect();
    let named = json!({ "type": "function", "function": { "name": long } });
    let object = |key: &str| Value::Object([(key.to_owned(), json!(1))].into_iter().collect());
    for answer in [
        send(address, &format!("GET /{long} HTTP/1.1"), ""),
        send(address, &format!("GET /v1/models/{long} HTTP/1.1"), ""),
        chat(address, &long, json!({})),
        chat(address, "http-short", json!({ "tools": [tool(&long)] })),
        chat(address, "http-short", json!({ "tools": many, "tool_choice": named })),
        chat(address, "http-short", object(&long)),
        chat(address, "http-short", json!({ "guided_json": { "properties": object(&long) } })),
        chat(address, "http-short", json!({ "guided_grammar": format!("root ::= {long}") })),
        chat(address, "http-short", json!({ "resources": object(&long) })),
        send(address, CHAT, &format!("{{\"{long}\": 1, \"{long}\": 2}}")),
    ] {
        assert!((400..500).contains(&answer.status), "{}", answer.body.len());
        assert!(answer.body.len() < 3_000, "{}", answer.body);
        assert!(answer.json()["error"]["message"].is_string());
    }
}
