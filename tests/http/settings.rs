//! Settings of a request reach decoding, and nothing else changes the answer.

use serde_json::{Value, json};

use maskwright::json_schema::ChoiceLists;
use maskwright::regular::ChoiceList;
use maskwright::server::ServerOptions;

use crate::model_support::hey;
use crate::{chat, send, serve, serve_by};

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
        (json!({ "stop_regex": ["[xy]{2}", "[d-f]"] }), Some("H"), json!("[d-f]")),
        (json!({ "stop_regex": "ey?", "stop": "ey" }), Some("H"), json!("ey?")),
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
    // An end token that the request names itself ends it.
    let named = json!({ "ignore_eos": true, "max_tokens": 9, "stop_token_ids": (0..256).collect::<Vec<_>>() });
    let answer = chat(address, "http-settings", named).json();
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert!(answer["choices"][0]["stop_reason"].is_u64(), "{answer}");
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
        let pieces = if stream {
            answer
                .events()
                .iter()
                .filter_map(|event| serde_json::from_str::<Value>(event).ok())
                .map(|event| event["choices"][0].clone())
                .collect()
        } else {
            answer.json()["choices"].as_array().unwrap().clone()
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

/// Names of special tokens in messages are text, unless whoever runs the server says otherwise.
#[test]
fn names_in_messages_are_text() {
    let name = "<|end|>";
    for (parse_special, tokens) in [(false, name.len()), (true, 1)] {
        let model = format!("http-names-{parse_special}");
        let options = ServerOptions { parse_special, ..ServerOptions::default() };
        let address = serve_by(hey(&model), options);
        let messages = json!([{ "role": "user", "content": format!("a{name}b") }]);
        let answer = chat(address, &model, json!({ "messages": messages })).json();
        // `a`, `b` and the template's `>`.
        assert_eq!(answer["usage"]["prompt_tokens"], tokens + 3, "{answer}");
    }
}

/// A request names a list of the server, and no file.
#[test]
fn schemas_may_name_the_servers_lists() {
    let mut options = ServerOptions::default();
    let list = ChoiceList::from_texts(["Hey", "He said \"y\""]).unwrap();
    options.json_options.choices = ChoiceLists::default().with("words", list).unwrap();
    let address = serve_by(hey("http-lists"), options);
    let ask = |schema: Value| {
        let format =
            json!({ "type": "json_schema", "json_schema": { "name": "a", "schema": schema } });
        chat(address, "http-lists", json!({ "response_format": format, "max_tokens": 20 }))
    };
    let answer = ask(json!({ "type": "string", "x-choices-from": "words" })).json();
    let text = answer["choices"][0]["message"]["content"].as_str().unwrap_or_default();
    assert!(["\"Hey\"", "\"He said \\\"y\\\"\""].contains(&text), "{answer}");
    let error = ask(json!({ "type": "string", "x-choices-from": "/etc/passwd" })).json();
    assert!(error["error"]["message"].as_str().unwrap().contains("no list"), "{error}");
}

/// The numbers that a request may ask for are the server's, and its document tells them.
#[test]
fn bounds_of_requests_are_the_server_s() {
    let model = "http-settings-bounds";
    let mut options = ServerOptions::default();
    let bounds = &mut options.bounds.generation;
    (bounds.max_choices, bounds.max_stops) = (20, 2);
    (bounds.max_prompts, bounds.max_samples) = (3, 4);
    let address = serve_by(hey(model), options);
    let post = |path: &str, mut body: Value| {
        body["model"] = json!(model);
        let head = format!("POST {path} HTTP/1.1\r\nContent-Type: application/json");
        send(address, &head, &body.to_string())
    };
    let message = json!([{ "role": "user", "content": "a" }]);
    let chat = |more: Value| {
        let mut body = json!({ "messages": message, "max_tokens": 1 });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("/v1/chat/completions", body)
    };
    let samples = |n: usize| ("/v1/constraints/sample", json!({ "regex": "[0-9]{3}", "n": n }));
    let prompts =
        |n: usize| ("/v1/completions", json!({ "prompt": vec!["a"; n], "max_tokens": 1 }));
    for (path, body) in [
        chat(json!({ "n": 20 })),
        chat(json!({ "stop": ["a", "b"], "stop_regex": ["c", "d"] })),
        chat(json!({ "num_beams": 20 })),
        prompts(3),
        samples(4),
    ] {
        let answer = post(path, body);
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let stops = json!({ "messages": message, "max_tokens": 1, "stop_sequences": ["a", "b", "c"] });
    for ((path, body), says) in [
        (chat(json!({ "n": 21 })), "an integer from 1 to 20"),
        (chat(json!({ "best_of": 21 })), "an integer from 1 to 20"),
        (chat(json!({ "num_beams": 21 })), "an integer from 1 to 20"),
        (chat(json!({ "stop": ["a", "b", "c"] })), "at most 2 strings"),
        (chat(json!({ "stop_regex": ["a", "b", "c"] })), "at most 2 strings"),
        (("/v1/messages", stops), "at most 2 strings"),
        (prompts(4), "a list of at most 3 such"),
        (samples(5), "an integer up to 4"),
    ] {
        let answer = post(path, body);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains(says), "{says}: {}", answer.body);
    }
}
