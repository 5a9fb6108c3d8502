//! The HTTP server from outside: a socket, requests as text, answers as OpenAI's clients read them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod model_support;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use maskwright::Engine;
use maskwright::model::{ModelOptions, ModelSource};
use maskwright::server::{Options, Server};
use model_support::{hey, parrot};
use serde_json::{Value, json};

/// How long an answer may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Serves a model on a free port, as long as the test runs.
fn serve(folder: PathBuf, api_keys: &[&str]) -> SocketAddr {
    let source = ModelSource::Folder(folder);
    let engine = Engine::load(&ModelOptions { source, ..Default::default() }).unwrap();
    // It guesses for itself.
    let draft = engine.model().clone();
    let engine = engine.with_draft(draft).unwrap();
    let listener = Server::listen(([127, 0, 0, 1], 0).into()).unwrap();
    let options = Options { api_keys: api_keys.iter().map(|&key| key.to_owned()).collect() };
    let server = Server::new(listener, engine, options).unwrap();
    let address = server.address();
    std::thread::spawn(move || server.run(std::future::pending()).unwrap());
    address
}

struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The data of all server-sent events.
    fn events(&self) -> Vec<String> {
        assert_eq!(self.headers["content-type"], "text/event-stream");
        let events = self.body.split_terminator("\n\n");
        events.map(|event| event.strip_prefix("data: ").unwrap().to_owned()).collect()
    }
}

fn connect(address: SocketAddr, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{head}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

/// One request: a request line with headers, and a body.
fn send(address: SocketAddr, head: &str, body: &str) -> Answer {
    let mut answer = Vec::new();
    connect(address, head, body).read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let chunked = headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked");
    let body = if chunked { dechunk(body) } else { body.to_owned() };
    Answer { status, headers, body }
}

fn dechunk(mut body: &str) -> String {
    let mut text = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return text;
        }
        text += &rest[..length];
        body = &rest[length + 2..];
    }
}

const CHAT: &str = "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json";

/// A chat completion of a model of this name, with these fields beside the messages.
fn chat(address: SocketAddr, model: &str, extra: Value) -> Answer {
    let mut body = json!({
        "model": model,
        "messages": [{ "role": "user", "content": "Hello" }],
        "temperature": 0,
    });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    send(address, CHAT, &body.to_string())
}

#[test]
fn an_answer_has_the_shape_that_clients_know() {
    let address = serve(hey("http-shape"), &[]);
    let answer = chat(address, "http-shape", json!({}));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let mut answer = answer.json();
    assert!(answer["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert!(answer["created"].as_u64().unwrap() > 1_700_000_000);
    answer["id"] = Value::Null;
    answer["created"] = Value::Null;
    assert_eq!(
        answer,
        json!({
            "id": null,
            "object": "chat.completion",
            "created": null,
            "model": "http-shape",
            "choices": [{
                "index": 0,
                "message": { "role": "assistant", "content": "Hey", "refusal": null },
                "logprobs": null,
                "finish_reason": "stop",
                "stop_reason": null,
                "complete": true,
            }],
            "usage": {
                "prompt_tokens": 6,
                "completion_tokens": 3,
                "total_tokens": 9,
                "completion_tokens_details": { "reasoning_tokens": 0 },
            },
        })
    );
    for (extra, content, finish) in [
        (json!({ "max_tokens": 2 }), "He", "length"),
        (json!({ "max_completion_tokens": 1 }), "H", "length"),
        (json!({ "stop": "y" }), "He", "stop"),
        (json!({ "stop": ["x", "ey"] }), "H", "stop"),
        (json!({ "response_format": { "type": "text" } }), "Hey", "stop"),
    ] {
        let answer = chat(address, "http-shape", extra.clone()).json();
        let choice = &answer["choices"][0];
        assert_eq!(choice["message"]["content"], content, "{extra}");
        assert_eq!(choice["finish_reason"], finish, "{extra}");
    }
}

#[test]
fn a_stream_tells_the_role_the_text_and_the_end() {
    let address = serve(hey("http-stream"), &[]);
    let usage = json!({ "stream": true, "n": 2, "stream_options": { "include_usage": true } });
    let events = chat(address, "http-stream", usage).events();
    let (done, chunks) = events.split_last().unwrap();
    assert_eq!(done, "[DONE]");
    let chunks: Vec<Value> = chunks.iter().map(|c| serde_json::from_str(c).unwrap()).collect();
    let (usage, chunks) = chunks.split_last().unwrap();
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(
        usage["usage"],
        json!({
            "prompt_tokens": 6,
            "completion_tokens": 6,
            "total_tokens": 12,
            "completion_tokens_details": { "reasoning_tokens": 0 },
        })
    );
    for index in 0..2 {
        let chunks: Vec<&Value> =
            chunks.iter().filter(|chunk| chunk["choices"][0]["index"] == index).collect();
        for chunk in &chunks {
            assert_eq!(chunk["object"], "chat.completion.chunk");
            assert_eq!(chunk["id"], usage["id"]);
            assert_eq!(chunk["usage"], Value::Null);
        }
        let first = &chunks[0]["choices"][0]["delta"];
        assert_eq!((&first["role"], &first["content"]), (&json!("assistant"), &json!("")));
        let text: String = chunks
            .iter()
            .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
            .collect();
        assert_eq!(text, "Hey");
        let (last, others) = chunks.split_last().unwrap();
        assert_eq!(last["choices"][0]["delta"], json!({}));
        assert_eq!(last["choices"][0]["finish_reason"], "stop");
        assert!(others.iter().all(|chunk| chunk["choices"][0]["finish_reason"].is_null()));
    }
    // Without `include_usage` no chunk speaks of usage, as OpenAI has it.
    let events = chat(address, "http-stream", json!({ "stream": true })).events();
    assert!(!events.concat().contains("usage"));
}

#[test]
fn a_response_format_is_enforced() {
    let address = serve(hey("http-format"), &[]);
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "minLength": 1, "maxLength": 4 },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
        },
        "required": ["name", "age"],
        "additionalProperties": false,
    });
    let format = json!({
        "type": "json_schema",
        "json_schema": { "name": "person", "strict": true, "schema": schema },
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    for seed in 0..5 {
        let fields = json!({ "response_format": format, "temperature": 1, "seed": seed });
        let answer = chat(address, "http-format", fields.clone()).json();
        assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
        let value = serde_json::from_str(text).unwrap();
        assert!(validator.is_valid(&value), "{text}");
        // The same request is the same text, also in pieces.
        let mut fields = fields;
        fields["stream"] = json!(true);
        let events = chat(address, "http-format", fields).events();
        let pieces: String = events
            .iter()
            .filter_map(|event| serde_json::from_str::<Value>(event).ok())
            .filter_map(|event| Some(event["choices"][0]["delta"]["content"].as_str()?.to_owned()))
            .collect();
        assert_eq!(pieces, text);
    }
    let any = json!({ "response_format": { "type": "json_object" }, "max_tokens": 5 });
    let answer = chat(address, "http-format", any).json();
    assert!(answer["choices"][0]["message"]["content"].as_str().unwrap().starts_with('{'));
}

#[test]
fn other_servers_names_for_constraints_are_read() {
    let model = "http-constraints";
    let address = serve(hey(model), &[]);
    let tag = json!({ "type": "tag", "begin": "<n>", "end": "</n>",
        "content": { "type": "regex", "pattern": "[0-9]{2}" } });
    let older = json!({ "triggers": ["<n>"],
        "structures": [{ "begin": "<n>", "schema": { "const": 1 }, "end": "</n>" }] });
    let not = json!({ "allOf": [{ "regex": "a|b|c" }, { "not": { "choice": ["a", "c"] } }] });
    let one = r#"{"const":[1]}"#;
    for (fields, pattern) in [
        (json!({ "structured_outputs": { "regex": "[xy]{3}" } }), "^[xy]{3}$"),
        (json!({ "structured_outputs": { "choice": ["red", "blue"] } }), "^(red|blue)$"),
        (json!({ "structured_outputs": { "json": { "const": [1] } } }), r"^\[\s*1\s*\]$"),
        (json!({ "structured_outputs": { "json": one } }), r"^\[\s*1\s*\]$"),
        (
            json!({ "structured_outputs": { "json": { "enum": [[1, 2]] },
            "disable_any_whitespace": true } }),
            r"^\[1,2\]$",
        ),
        (json!({ "structured_outputs": { "grammar": "root ::= \"a\" | \"b\"" } }), "^[ab]$"),
        (json!({ "structured_outputs": { "grammar": "start: \"a\" | /b{2}/" } }), "^(a|bb)$"),
        (json!({ "structured_outputs": { "abnf": "a = %x61 / \"?\"\n" } }), "^[a?]$"),
        (json!({ "structured_outputs": not }), "^b$"),
        (
            json!({ "structured_outputs": { "structural_tag":
            { "type": "structural_tag", "format": tag } } }),
            "^<n>[0-9]{2}</n>$",
        ),
        (
            json!({ "response_format": { "type": "structural_tag", "format": tag } }),
            "^<n>[0-9]{2}</n>$",
        ),
        (json!({ "structured_outputs": { "structural_tag": older }, "max_tokens": 20 }), "^"),
        (json!({ "guided_regex": "[xy]{3}", "guided_decoding_backend": "xgrammar" }), "^[xy]{3}$"),
        (json!({ "guided_choice": ["red", "blue"] }), "^(red|blue)$"),
        (json!({ "guided_json": { "const": [1] } }), r"^\[\s*1\s*\]$"),
        (json!({ "guided_grammar": "root ::= [ab]" }), "^[ab]$"),
        (json!({ "grammar": "root ::= [ab]", "response_format": { "type": "text" } }), "^[ab]$"),
        (json!({ "grammar": "semver", "max_tokens": 12 }), r"^[0-9]+\."),
        (json!({ "json_schema": { "const": [1] } }), r"^\[\s*1\s*\]$"),
        (
            json!({ "response_format": { "type": "json_object", "schema": { "const": [1] } } }),
            r"^\[\s*1\s*\]$",
        ),
        (json!({ "regex": "[xy]{3}" }), "^[xy]{3}$"),
        (json!({ "ebnf": "root ::= [ab]" }), "^[ab]$"),
    ] {
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
        let message = &answer.json()["choices"][0]["message"];
        let text = message["content"].as_str().unwrap();
        assert!(regex::Regex::new(pattern).unwrap().is_match(text), "{fields}: {text:?}");
    }
    for (fields, param, words) in [
        (json!({ "structured_outputs": {} }), "structured_outputs", "no constraint"),
        (
            json!({ "structured_outputs": { "regex": "a", "choice": ["a"] } }),
            "structured_outputs.choice",
            "allOf",
        ),
        (json!({ "structured_outputs": { "xml": "a" } }), "structured_outputs.xml", "supported"),
        (json!({ "structured_outputs": { "regex": "(" } }), "structured_outputs.regex", ""),
        (
            json!({ "structured_outputs": { "grammar": "root ::= (" } }),
            "structured_outputs.grammar",
            "line 1, column",
        ),
        (
            json!({ "structured_outputs": { "grammar": "sequel" } }),
            "structured_outputs.grammar",
            "sql",
        ),
        (
            json!({ "structured_outputs": { "structural_tag": { "format": { "type": "tags" } } } }),
            "structured_outputs.structural_tag",
            "/format/type",
        ),
        (json!({ "structured_outputs": { "json": 7 } }), "structured_outputs.json", "JSON Schema"),
        (
            json!({ "structured_outputs": { "not": { "grammar": "json" } } }),
            "structured_outputs.not",
            "/not/grammar",
        ),
        (json!({ "guided_json": "{" }), "guided_json", "no JSON"),
        (
            json!({ "guided_regex": "a", "response_format": { "type": "json_object" } }),
            "guided_regex",
            "allOf",
        ),
        (json!({ "grammar": "start: /a/" }), "grammar", "line 1"),
    ] {
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 400, "{fields}: {}", answer.body);
        let error = &answer.json()["error"];
        assert_eq!(error["param"], param, "{fields}: {error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{fields}: {error}");
    }
    let model = "http-constraints-tools";
    let address = serve_with(model, WITH_TOOLS);
    let fields = json!({ "tools": two_tools(), "tool_choice": "none", "guided_regex": "[xy]{3}" });
    let message = &chat(address, model, fields).json()["choices"][0]["message"];
    assert!(regex::Regex::new("^[xy]{3}$").unwrap().is_match(message["content"].as_str().unwrap()));
}

#[test]
fn a_bad_request_gets_an_error_object_that_names_the_field() {
    let address = serve(hey("http-errors"), &[]);
    let schema = |schema: Value| {
        json!({ "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "x", "schema": schema },
        }})
    };
    for (extra, status, param, says) in [
        (json!({ "model": "gpt" }), 404, "model", "`http-errors`"),
        (json!({ "model": null }), 400, "model", "is missing"),
        (json!({ "temperature": -1 }), 400, "temperature", "a number from 0 up, not"),
        (json!({ "max_tokens": 0 }), 400, "max_tokens", "from 1 up"),
        (json!({ "top_logprobs": 3 }), 400, "top_logprobs", "is only for `logprobs`"),
        (json!({ "best_off": 3 }), 400, "best_off", "is not a field that is supported here"),
        (json!({ "best_of": 3, "num_beams": 2 }), 400, "", "goes with neither"),
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
            "context of 2048",
        ),
        (json!({ "min_tokens": 9, "max_tokens": 8 }), 400, "min_tokens", "is above"),
        (json!({ "logit_bias": { "300": 1 } }), 400, "logit_bias", "names token 300"),
        (json!({ "allowed_token_ids": [1, 300] }), 400, "allowed_token_ids", "names token 300"),
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
            assert_eq!(too_long, says == "context of 2048");
        }
    }
}

#[test]
fn log_probabilities_come_with_each_token() {
    let address = serve(hey("http-logprobs"), &[]);
    let fields = json!({ "logprobs": true, "top_logprobs": 3 });
    let answer = chat(address, "http-logprobs", fields.clone()).json();
    let content = answer["choices"][0]["logprobs"]["content"].as_array().unwrap().clone();
    let tokens: Vec<&str> = content.iter().map(|entry| entry["token"].as_str().unwrap()).collect();
    assert_eq!(tokens, ["H", "e", "y"]);
    for entry in &content {
        let top = entry["top_logprobs"].as_array().unwrap();
        assert_eq!((top.len(), &top[0]["token"]), (3, &entry["token"]));
        assert_eq!(entry["bytes"], json!(entry["token"].as_str().unwrap().as_bytes()));
        let number = |value: &Value| value["logprob"].as_f64().unwrap();
        assert!(number(&top[0]) > number(&top[1]) && number(&top[0]) == number(entry));
        assert!(entry["raw_logprob"].as_f64().unwrap() <= number(entry));
    }
    // The same, in pieces.
    let mut streamed = fields;
    streamed["stream"] = json!(true);
    let events = chat(address, "http-logprobs", streamed).events();
    let pieces: Vec<Value> = events
        .iter()
        .filter_map(|event| serde_json::from_str::<Value>(event).ok())
        .filter_map(|event| event["choices"][0]["logprobs"]["content"].as_array().cloned())
        .flatten()
        .collect();
    assert_eq!(pieces, content);
}

/// What a stop string cut off is in no list of log-probabilities, whole or in pieces, drawn or of a
/// search; a token of which it left a part is.
#[test]
fn log_probabilities_are_of_the_answers_tokens() {
    let address = serve(hey("http-logprobs-stop"), &[]);
    for search in [json!({}), json!({ "num_beams": 2 }), json!({ "best_of": 2 })] {
        for (stop, expected) in [("ey", "H"), ("y", "He"), ("H", ""), ("eyx", "Hey")] {
            let mut fields = json!({ "logprobs": true, "stop": stop, "max_tokens": 8 });
            fields.as_object_mut().unwrap().extend(search.as_object().unwrap().clone());
            let tokens = |content: &Value| -> String {
                let content = content.as_array().into_iter().flatten();
                content.map(|entry| entry["token"].as_str().unwrap()).collect()
            };
            let answer = chat(address, "http-logprobs-stop", fields.clone()).json();
            let choice = &answer["choices"][0];
            assert_eq!(choice["message"]["content"], expected, "{fields}");
            assert_eq!(tokens(&choice["logprobs"]["content"]), expected, "{fields}");
            fields["stream"] = json!(true);
            let streamed: String = chat(address, "http-logprobs-stop", fields.clone())
                .events()
                .iter()
                .filter_map(|event| serde_json::from_str::<Value>(event).ok())
                .map(|event| tokens(&event["choices"][0]["logprobs"]["content"]))
                .collect();
            assert_eq!(streamed, expected, "{fields}");
        }
    }
}

/// The `n` best of a search or of several draws: each with log-probabilities of its own, and how hard
/// the constraint pressed. Fewer where there are no more texts.
#[test]
fn the_best_texts_are_the_choices() {
    let address = serve(hey("http-best"), &[]);
    let format = |texts: &[&str]| json!({ "type": "json_schema", "json_schema": { "schema": { "enum": texts } } });
    for (several, texts, expected) in [
        ("num_beams", &["Hey", "Hot", "Huh"][..], 2),
        ("best_of", &["Hey", "Hot", "Huh"], 2),
        ("num_beams", &["Hey"], 1),
    ] {
        let fields = json!({
            several: 3, "n": 2, "max_tokens": 9, "seed": 5, "temperature": 1, "logprobs": true,
            "top_logprobs": 2, "length_penalty": 0, "response_format": format(texts),
        });
        let answer = chat(address, "http-best", fields.clone()).json();
        let choices = answer["choices"].as_array().unwrap();
        assert_eq!(choices.len(), expected, "{answer}");
        let mut before = f64::INFINITY;
        for (index, choice) in choices.iter().enumerate() {
            assert_eq!(choice["index"], index);
            let tokens = choice["logprobs"]["content"].as_array().unwrap();
            let text: String = tokens.iter().map(|t| t["token"].as_str().unwrap()).collect();
            assert_eq!(choice["message"]["content"], text);
            let pressed = &choice["faithfulness"];
            // The end is a step, too.
            assert_eq!(pressed["steps"], tokens.len() + 1);
            let sum: f64 = tokens.iter().map(|t| t["logprob"].as_f64().unwrap()).sum();
            assert!((pressed["logprob"].as_f64().unwrap() - sum).abs() < 1e-3, "{choice}");
            assert!(tokens.iter().all(|t| t["allowed_mass"].as_f64() <= Some(1.0)));
            assert_eq!(tokens[0]["forced"], true);
            let quality = match several {
                "num_beams" => choice["score"].as_f64().unwrap(),
                _ => pressed["raw_logprob"].as_f64().unwrap() / (tokens.len() + 1) as f64,
            };
            assert!(quality <= before, "{answer}");
            before = quality;
            if several == "num_beams" {
                assert!((quality - pressed["logprob"].as_f64().unwrap()).abs() < 1e-6);
            }
        }
        // The same in pieces.
        let mut streamed = fields;
        streamed["stream"] = json!(true);
        let events = chat(address, "http-best", streamed).events();
        let (done, events) = events.split_last().unwrap();
        assert_eq!(done, "[DONE]");
        for (index, choice) in choices.iter().enumerate() {
            let (mut text, mut tokens) = (String::new(), Vec::new());
            for event in events {
                let event: Value = serde_json::from_str(event).unwrap();
                let piece = &event["choices"][0];
                if piece["index"] == index {
                    text += piece["delta"]["content"].as_str().unwrap_or_default();
                    tokens.extend(
                        piece["logprobs"]["content"].as_array().into_iter().flatten().cloned(),
                    );
                }
            }
            assert_eq!(choice["message"]["content"], text);
            assert_eq!(choice["logprobs"]["content"], json!(tokens));
        }
    }
    let asked = json!({ "faithfulness": true, "response_format": format(&["no"]) });
    let answer = chat(address, "http-best", asked).json();
    assert_eq!(answer["choices"][0]["faithfulness"]["argmax_masked"], 5, "{answer}");
    let answer = chat(address, "http-best", json!({})).json();
    assert!(answer["choices"][0].get("faithfulness").is_none());
}

/// Each setting under its conventional name reaches the decoding loop.
#[test]
fn settings_change_the_answer() {
    let address = serve(hey("http-settings"), &[]);
    let e = b'e'.to_string();
    for (extra, content, stop_reason) in [
        (json!({ "logit_bias": { e.as_str(): -100 } }), None, Value::Null),
        (json!({ "banned_token_ids": [b'e'] }), None, Value::Null),
        (json!({ "allowed_token_ids": [b'H'], "max_tokens": 3 }), Some("HHH"), Value::Null),
        (json!({ "stop_token_ids": [b'y'] }), Some("He"), json!(b'y')),
        (json!({ "stop": "e" }), Some("H"), json!("e")),
        (json!({ "stop": "e", "include_stop_str_in_output": true }), Some("He"), json!("e")),
        (json!({ "num_beams": 3 }), Some("Hey"), Value::Null),
        (json!({ "best_of": 2 }), Some("Hey"), Value::Null),
        (json!({ "speculate": "ngram" }), Some("Hey"), Value::Null),
        (json!({ "speculate": "draft" }), Some("Hey"), Value::Null),
        (json!({ "token_healing": true, "canonical": true }), Some("Hey"), Value::Null),
        (json!({ "rejection": true }), Some("Hey"), Value::Null),
        (json!({ "temperature": 1, "top_n_sigma": 0.01 }), Some("Hey"), Value::Null),
        (json!({ "temperature": 1, "typical_p": 0.999, "top_k": 1 }), Some("Hey"), Value::Null),
        (json!({ "temperature": 1, "mirostat": 2, "mirostat_tau": 0 }), Some("Hey"), Value::Null),
        (json!({ "repetition_penalty": 1.0, "samplers": [] }), Some("Hey"), Value::Null),
        // As other servers have it: no upper bound, other names, what asks for nothing.
        (json!({ "temperature": 1000, "min_p": 1 }), Some("Hey"), Value::Null),
        (
            json!({ "repeat_penalty": 1.1, "samplers": ["penalties", "typ_p", "temperature"] }),
            Some("Hey"),
            Value::Null,
        ),
        (
            json!({ "cache_prompt": true, "skip_special_tokens": true,
                    "add_generation_prompt": true, "spaces_between_special_tokens": false }),
            Some("Hey"),
            Value::Null,
        ),
    ] {
        let mut body = json!({ "max_tokens": 8 });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = chat(address, "http-settings", body).json();
        let choice = &answer["choices"][0];
        let text = choice["message"]["content"].as_str().unwrap_or_else(|| panic!("{answer}"));
        match content {
            Some(content) => assert_eq!(text, content, "{extra}"),
            None => assert!(text.starts_with('H') && !text.contains('e'), "{extra}: {text}"),
        }
        assert_eq!(choice["stop_reason"], stop_reason, "{extra}");
    }
    let body = json!({ "rejection": true, "temperature": 1, "max_tokens": 8, "response_format": {
        "type": "json_schema", "json_schema": {"schema": {"enum": ["Hey", "Hot"]}} } });
    let answer = chat(address, "http-settings", body).json();
    assert!(answer["choices"][0]["rejection"]["checks"].as_u64() >= Some(5), "{answer}");
    assert!(answer["choices"][0]["rejection"]["log_weight"].as_f64() < Some(0.0), "{answer}");
    let best = json!({ "num_beams": 3, "n": 2, "max_tokens": 8, "response_format": {
        "type": "json_schema", "json_schema": {"schema": {"enum": ["Hey", "Hot"]}} } });
    let answer = chat(address, "http-settings", best).json();
    let [first, second] = [0usize, 1].map(|i| &answer["choices"][i]);
    assert_ne!(first["message"]["content"], second["message"]["content"], "{answer}");
    assert!(first["score"].as_f64() > second["score"].as_f64(), "{answer}");
    for several in ["num_beams", "best_of"] {
        let many = chat(address, "http-settings", json!({ several: 2, "n": 3 }));
        assert_eq!((many.status, &many.json()["error"]["param"]), (400, &json!("n")));
    }
    let least = json!({ "min_tokens": 5, "max_tokens": 6 });
    let answer = chat(address, "http-settings", least).json();
    assert!(answer["usage"]["completion_tokens"].as_u64().unwrap() >= 5);
    // Without a constraint the end token can be banned, with one it comes where nothing else may.
    let ignore = json!({ "ignore_eos": true, "max_tokens": 9 });
    let answer = chat(address, "http-settings", ignore).json();
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
}

/// Whatever runs beside it, and in pieces or not, a request is answered by the same text.
#[test]
fn the_same_seed_is_the_same_answer_whatever_runs_beside_it() {
    let address = serve(hey("http-beside"), &[]);
    let format = json!({ "type": "json_schema", "json_schema": { "schema": {
        "type": "array", "items": { "enum": ["a", "b", "c", 1, 2, 3] }, "maxItems": 9 } } });
    let drawn = |extra: Value| {
        let mut fields = json!({ "temperature": 1.3, "seed": 11, "max_tokens": 60 });
        fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        fields
    };
    let requests = [
        drawn(json!({})),
        drawn(json!({ "n": 3, "top_p": 0.9, "frequency_penalty": 0.5 })),
        drawn(json!({ "response_format": format, "speculate": "grammar" })),
        drawn(json!({ "response_format": format, "best_of": 4, "n": 2 })),
        drawn(json!({ "response_format": format, "num_beams": 3, "n": 3 })),
        drawn(json!({ "response_format": format, "rejection": true })),
    ];
    let texts = |fields: &Value, stream: bool| -> Vec<String> {
        let mut fields = fields.clone();
        fields["stream"] = json!(stream);
        let answer = chat(address, "http-beside", fields);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut texts = vec![String::new(); 4];
        let pieces = match stream {
            false => answer.json()["choices"].as_array().unwrap().clone(),
            true => answer
                .events()
                .iter()
                .filter_map(|event| serde_json::from_str::<Value>(event).ok())
                .map(|event| event["choices"][0].clone())
                .collect(),
        };
        for piece in pieces {
            let text = if stream { &piece["delta"] } else { &piece["message"] };
            let index = piece["index"].as_u64().unwrap() as usize;
            texts[index] += text["content"].as_str().unwrap_or_default();
        }
        texts
    };
    let alone: Vec<_> = requests.iter().map(|fields| texts(fields, false)).collect();
    assert_ne!(alone[1][0], alone[1][1]);
    std::thread::scope(|scope| {
        for turn in 0..3 {
            for (fields, expected) in requests.iter().zip(&alone) {
                let texts = &texts;
                scope
                    .spawn(move || assert_eq!(&texts(fields, turn % 2 == 0), expected, "{fields}"));
            }
        }
    });
}

#[test]
fn every_error_is_json() {
    let address = serve(hey("http-json-errors"), &[]);
    for (head, body, status) in [
        ("GET /nowhere HTTP/1.1", "", 404),
        ("POST /v1/completions HTTP/1.1", "{}", 404),
        ("GET /v1/models/nothing HTTP/1.1", "", 404),
        ("GET /v1/chat/completions HTTP/1.1", "", 405),
        ("DELETE /health HTTP/1.1", "", 405),
        ("POST /v1/chat/completions HTTP/1.1", "{}", 415),
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
fn models_and_health_answer() {
    let address = serve(hey("http-models"), &[]);
    let models = send(address, "GET /v1/models HTTP/1.1", "").json();
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][0]["id"], "http-models");
    assert_eq!(models["data"].as_array().unwrap().len(), 1);
    let model = send(address, "GET /v1/models/http-models HTTP/1.1", "").json();
    assert_eq!(model, models["data"][0]);
    assert_eq!(send(address, "GET /health HTTP/1.1", "").json(), json!({ "status": "ok" }));
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
        }
    }
    assert_eq!(chat(address, "http-keys", json!({})).status, 401);
    assert_eq!(send(address, "GET /health HTTP/1.1", "").status, 200);
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

#[test]
fn a_port_in_use_is_an_error_with_a_cure() {
    let listener = Server::listen(([127, 0, 0, 1], 0).into()).unwrap();
    let error = Server::listen(listener.local_addr().unwrap()).unwrap_err().to_string();
    assert!(error.contains("--port"), "{error}");
}

/// Two tools whose arguments leave a model no choice but of the unit.
fn two_tools() -> Value {
    let city = json!({
        "type": "object",
        "properties": { "city": { "const": "Oslo" }, "unit": { "enum": ["C", "F"] } },
        "required": ["city", "unit"],
        "additionalProperties": false,
    });
    json!([
        { "type": "function", "function": { "name": "weather", "description": "The weather.",
            "parameters": city, "strict": true } },
        { "type": "function", "function": { "name": "time" } },
    ])
}

/// A server of `hey` with another chat template.
fn serve_with(name: &str, template: &str) -> SocketAddr {
    let folder = hey(name);
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    serve(folder, &[])
}

const WITH_TOOLS: &str = "{# <tool_call> #}{% for t in tools or [] %}{{ t.function.name }}{% endfor %}\
    {% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}\
    {{ c.function.name }}{{ c.function.arguments.city }}{% endfor %}{{ m.tool_call_id or '' }}{% endfor %}>";

#[test]
fn tools_are_called_in_openai_s_shapes() {
    let named = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let allowed = |mode: &str, name: &str| json!({ "type": "allowed_tools", "allowed_tools": { "mode": mode, "tools": [named(name)] } });
    for (model, template) in [("http-tools-json", ""), ("http-tools-qwen", WITH_TOOLS)] {
        let address = match template {
            "" => serve(hey(model), &[]),
            template => serve_with(model, template),
        };
        for (choice, tools) in [
            (json!("required"), &["weather", "time"][..]),
            (named("weather"), &["weather"]),
            (named("time"), &["time"]),
            (allowed("required", "time"), &["time"]),
            (allowed("auto", "time"), &[]),
            (json!("auto"), &[]),
            (json!("none"), &[]),
            (Value::Null, &[]),
        ] {
            let fields = json!({ "tools": two_tools(), "tool_choice": choice, "parallel_tool_calls": false });
            let answer = chat(address, model, fields.clone());
            assert_eq!(answer.status, 200, "{}", answer.body);
            let answer = answer.json();
            let whole = &answer["choices"][0];
            assert_eq!(whole["complete"], true, "{choice}: {whole}");
            let message = &whole["message"];
            if tools.is_empty() {
                assert_eq!(
                    (&message["content"], &whole["finish_reason"]),
                    (&json!("Hey"), &json!("stop"))
                );
                assert!(message.get("tool_calls").is_none(), "{choice}");
            } else {
                assert_eq!(
                    (&message["content"], &whole["finish_reason"]),
                    (&Value::Null, &json!("tool_calls"))
                );
                let calls = message["tool_calls"].as_array().unwrap();
                assert_eq!(calls.len(), 1, "{choice}");
                assert_eq!(calls[0]["type"], "function");
                let id = calls[0]["id"].as_str().unwrap();
                assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
                let function = &calls[0]["function"];
                let name = function["name"].as_str().unwrap();
                assert!(tools.contains(&name), "{choice}: {name}");
                let arguments: Value =
                    serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
                match name {
                    "weather" => assert_eq!(arguments["city"], "Oslo"),
                    _ => assert_eq!(arguments, json!({})),
                }
            }
            // The same in pieces.
            let mut fields = fields;
            fields["stream"] = json!(true);
            let mut events = chat(address, model, fields).events();
            assert_eq!(events.pop().unwrap(), "[DONE]");
            let (mut content, mut calls) = (String::new(), Vec::<(String, String)>::new());
            for event in &events {
                let event: Value = serde_json::from_str(event).unwrap();
                let delta = &event["choices"][0]["delta"];
                content += delta["content"].as_str().unwrap_or_default();
                for call in delta["tool_calls"].as_array().into_iter().flatten() {
                    let function = &call["function"];
                    if call["id"].is_string() {
                        assert_eq!(
                            (&call["type"], &call["index"]),
                            (&json!("function"), &json!(calls.len()))
                        );
                        calls.push((function["name"].as_str().unwrap().into(), String::new()));
                    }
                    assert_eq!(call["index"], calls.len() - 1);
                    calls.last_mut().unwrap().1 += function["arguments"].as_str().unwrap();
                }
            }
            let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
            assert_eq!(last["choices"][0]["finish_reason"], whole["finish_reason"]);
            assert_eq!(content, message["content"].as_str().unwrap_or_default());
            let told = message["tool_calls"].as_array().into_iter().flatten();
            let told: Vec<(String, String)> = told
                .map(|call| &call["function"])
                .map(|f| {
                    (f["name"].as_str().unwrap().into(), f["arguments"].as_str().unwrap().into())
                })
                .collect();
            assert_eq!(calls, told, "{choice}");
            assert!(calls.is_empty() || events.len() > 8, "arguments come in pieces: {events:?}");
        }
    }
}

#[test]
fn tools_and_their_results_reach_the_template() {
    let address = serve_with("http-tools-template", WITH_TOOLS);
    let call = json!({ "id": "abcDEF123", "type": "function",
        "function": { "name": "weather", "arguments": "{\"city\": \"Oslo\"}" } });
    let body = |tools: Value| {
        json!({ "model": "http-tools-template", "temperature": 0, "tools": tools, "messages": [
            { "role": "user", "content": "Hi" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "abcDEF123", "content": "18" },
        ]})
    };
    for (tools, prompt) in [
        (Value::Null, "HiweatherOsloabcDEF12318>"),
        (two_tools(), "weathertimeHiweatherOsloabcDEF12318>"),
    ] {
        let answer = send(address, CHAT, &body(tools).to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer = answer.json();
        // A token a byte.
        assert_eq!(answer["usage"]["prompt_tokens"], prompt.len(), "{prompt}");
        assert_eq!(answer["choices"][0]["message"]["content"], "Hey");
    }
    // A template that knows no calls is shown them as text.
    let address = serve(hey("http-tools-plain"), &[]);
    let mut body = body(Value::Null);
    body["model"] = json!("http-tools-plain");
    let answer = send(address, CHAT, &body.to_string()).json();
    let prompt = "Hi[{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}]18>";
    assert_eq!(answer["usage"]["prompt_tokens"], prompt.len(), "{answer}");
}

#[test]
fn beside_tools_a_response_format_is_of_the_answer() {
    let model = "http-tools-format";
    let address = serve_with(model, WITH_TOOLS);
    let schema = json!({ "const": "seven" });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } });
    for (choice, calls) in [("none", false), ("required", true)] {
        let fields =
            json!({ "tools": two_tools(), "tool_choice": choice, "response_format": format });
        let answer = chat(address, model, fields).json();
        let message = &answer["choices"][0]["message"];
        assert_eq!(message.get("tool_calls").is_some(), calls, "{answer}");
        let content = if calls { Value::Null } else { json!("\"seven\"") };
        assert_eq!(message["content"], content);
    }
    let fields = json!({ "tools": two_tools(), "response_format": format });
    let message = &chat(address, model, fields).json()["choices"][0]["message"];
    assert!(message["content"] == "\"seven\"" || message.get("tool_calls").is_some(), "{message}");
    // What cannot be told beside calls, and schemas of tools that cannot be enforced, by name.
    let bad = json!([{ "type": "function", "function": { "name": "t", "parameters": { "type": "sting" } } }]);
    let answer = chat(address, model, json!({ "tools": bad }));
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["param"], "tools");
    assert!(answer.body.contains("tool `t`"), "{}", answer.body);
}

/// The tokens of a reasoning and its tags.
fn thought_of(reasoning: &Value) -> usize {
    "<think></think>".len() + reasoning.as_str().unwrap_or_default().len()
}

#[test]
fn reasoning_comes_before_the_answer_and_has_a_budget() {
    let model = "http-reasoning";
    let address = serve(hey(model), &[]);
    let format =
        json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": { "const": 7 } } });
    for (extra, content) in [
        (json!({}), "Hey"),
        (json!({ "response_format": format }), "7"),
        (json!({ "n": 2 }), "Hey"),
        (json!({ "best_of": 2 }), "Hey"),
        (json!({ "speculate": "grammar" }), "Hey"),
        (json!({ "num_beams": 2 }), "Hey"),
    ] {
        for (budget, reasoning) in [(3, json!("Hey")), (1, json!("H")), (0, Value::Null)] {
            let mut fields = json!({ "reasoning_budget": budget, "max_tokens": 60 });
            fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let answer = chat(address, model, fields.clone());
            assert_eq!(answer.status, 200, "{}", answer.body);
            let usage = answer.json()["usage"].clone();
            for choice in answer.json()["choices"].as_array().unwrap() {
                let message = &choice["message"];
                assert_eq!(message["content"], content, "{extra} {budget}: {message}");
                assert_eq!(message["reasoning_content"], reasoning, "{extra} {budget}: {message}");
                assert_eq!(choice["complete"], true);
            }
            fields["stream"] = json!(true);
            fields["n"] = json!(1);
            fields["stream_options"] = json!({ "include_usage": true });
            let mut streamed = Value::Null;
            let (mut text, mut thought) = (String::new(), String::new());
            for event in chat(address, model, fields).events() {
                let Ok(event) = serde_json::from_str::<Value>(&event) else { continue };
                streamed = event["usage"].clone();
                let delta = &event["choices"][0]["delta"];
                text += delta["content"].as_str().unwrap_or_default();
                thought += delta["reasoning_content"].as_str().unwrap_or_default();
            }
            assert_eq!(
                (text.as_str(), thought.as_str()),
                (content, reasoning.as_str().unwrap_or_default())
            );
            // A token a character; behind the tags two line breaks may stand.
            let answers = answer.json()["choices"].as_array().unwrap().len();
            for (usage, answers) in [(&usage, answers), (&streamed, 1)] {
                let thought = usage["completion_tokens_details"]["reasoning_tokens"].as_u64();
                let thought = thought.unwrap() as usize;
                let rest = usage["completion_tokens"].as_u64().unwrap() as usize - thought;
                assert_eq!(thought, answers * thought_of(&reasoning), "{extra} {budget}: {usage}");
                let (least, most) = (answers * content.len(), answers * (content.len() + 2));
                assert!((least..=most).contains(&rest), "{extra} {budget}: {usage}");
            }
        }
    }
    // Cut off while it thinks: no answer, and not complete.
    let fields = json!({ "reasoning_effort": "high", "max_tokens": 10, "response_format": format,
        "budget": false });
    let choice = &chat(address, model, fields).json()["choices"][0];
    assert_eq!((&choice["finish_reason"], &choice["complete"]), (&json!("length"), &json!(false)));
    assert_eq!(choice["message"]["content"], "");
    let fields = json!({ "reasoning_effort": "high", "max_tokens": 10, "budget": false });
    let usage = chat(address, model, fields).json()["usage"].clone();
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 10, "{usage}");
    // A prompt that ends in the opening tag, and calls behind the reasoning.
    let model = "http-reasoning-open";
    let address = serve_with(model, "{% for m in messages %}{{ m.content }}{% endfor %}<think>");
    let fields = json!({ "reasoning_budget": 2, "tools": two_tools(), "tool_choice": "required",
        "parallel_tool_calls": false });
    let message = &chat(address, model, fields).json()["choices"][0]["message"];
    assert_eq!(message["reasoning_content"], "He", "{message}");
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 1, "{message}");
}
