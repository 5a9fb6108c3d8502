//! Answers, whole and in pieces: texts, usage, log-probabilities, choices.

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{chat, serve, serve_with};

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
                "prompt_tokens_details": { "cached_tokens": 0 },
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
            "prompt_tokens_details": { "cached_tokens": 0 },
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
    // As vLLM has it, with all chunks: the prompt, and the tokens drawn so far, of all choices and their ends.
    let options = json!({ "include_usage": true, "continuous_usage_stats": true });
    let fields = json!({ "stream": true, "n": 2, "stream_options": options.clone() });
    let events = chat(address, "http-stream", fields).events();
    let chunks: Vec<Value> =
        events[..events.len() - 1].iter().map(|c| serde_json::from_str(c).unwrap()).collect();
    let drawn = |chunk: &Value| chunk["usage"]["completion_tokens"].as_u64().unwrap();
    assert!(chunks.iter().all(|chunk| chunk["usage"]["prompt_tokens"] == 6));
    assert!(chunks.windows(2).all(|two| drawn(&two[0]) <= drawn(&two[1])));
    assert!(chunks.iter().all(|chunk| chunk["choices"][0]["logprobs"].is_null()));
    assert_eq!(drawn(&chunks[chunks.len() - 1]), 6);
    // A token that ends the text is never counted.
    let fields = json!({ "stream": true, "stop_token_ids": [b'y'], "stream_options": options });
    let events = chat(address, "http-stream", fields).events();
    let counts: Vec<u64> = events[..events.len() - 1]
        .iter()
        .map(|event| drawn(&serde_json::from_str(event).unwrap()))
        .collect();
    assert!(counts.is_sorted() && counts.last() == Some(&2), "{counts:?}");
    // Without `include_usage` no chunk speaks of usage, as OpenAI has it.
    let events = chat(address, "http-stream", json!({ "stream": true })).events();
    assert!(!events.concat().contains("usage"));
}

/// The cache did not hold what the first of several choices has read.
#[test]
fn the_first_of_several_choices_reads_the_prompt() {
    let address = serve(hey("http-cached"), &[]);
    let cached = |fields: Value| {
        let usage = chat(address, "http-cached", fields).json()["usage"].clone();
        usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
    };
    let messages = json!([{ "role": "user", "content": "word ".repeat(20) }]);
    assert_eq!(cached(json!({ "messages": messages, "n": 3 })), 0);
    assert!(cached(json!({ "messages": messages, "n": 3 })) > 0);
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

/// Tokens that a stop string cut off are in no list of log-probabilities, whole or in pieces,
/// drawn or of a
/// search; a token of which it left a part is.
#[test]
fn log_probabilities_are_of_the_answers_tokens() {
    let address = serve(hey("http-logprobs-stop"), &[]);
    for search in [json!({}), json!({ "num_beams": 2 }), json!({ "best_of": 2 })] {
        let stops = [
            ("Hey", "ey", "H"),
            ("Hey", "y", "He"),
            ("Hey", "H", ""),
            ("Hey", "eyx", "Hey"),
            // The second letter may begin the stop string when the first one is sent.
            ("aab", "ab", "a"),
        ];
        for (text, stop, expected) in stops {
            let mut fields = json!({ "logprobs": true, "stop": stop, "max_tokens": 8 });
            if text != "Hey" {
                fields["regex"] = json!(text);
            }
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

/// A template that asks for the schema of the answer is told it, unless the request says another.
#[test]
fn the_schema_reaches_the_chat_template() {
    let template =
        "{{ messages[0].content }}{{ (json_schema or {}).required | default([]) | join('+') }}>";
    let address = serve_with("http-schemas", template);
    let length = |format: Value, variables: Value| {
        let messages = json!([{ "role": "user", "content": "x" }]);
        let fields = json!({ "messages": messages, "response_format": format, "max_tokens": 64,
            "chat_template_kwargs": variables });
        let answer = chat(address, "http-schemas", fields);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    let schema = json!({ "type": "object", "required": ["a", "bc"], "additionalProperties": false,
        "properties": { "a": { "enum": [1] }, "bc": { "enum": [2] } } });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": schema } });
    assert_eq!(length(json!({ "type": "text" }), json!({})), 2);
    assert_eq!(length(format.clone(), json!({})), "xa+bc>".len() as u64);
    let other = json!({ "json_schema": { "required": ["d"] } });
    assert_eq!(length(format, other), "xd>".len() as u64);
}

/// Names of speakers are for the chat template, and so are the messages of all roles.
#[test]
fn names_reach_the_chat_template() {
    let template = "{% for m in messages %}{{ m.role }}:{{ m.name }}:{{ m.content }}\
                    {% for c in m.tool_calls %}{{ c.function.name }}{% endfor %};{% endfor %}>";
    let address = serve_with("http-names", template);
    let length = |messages: Value| {
        let fields = json!({ "messages": messages, "max_tokens": 1 });
        let answer = chat(address, "http-names", fields);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    for (role, shown) in [("system", "system"), ("developer", "system"), ("user", "user")] {
        let message = json!([{ "role": role, "content": "x", "name": "ada" }]);
        assert_eq!(length(message), format!("{shown}:ada:x;>").len() as u64, "{role}");
    }
    let messages = json!([
        { "role": "user", "content": "x" },
        { "role": "assistant", "name": "bob", "content": null, "parsed": null,
            "function_call": { "name": "f", "arguments": "{\"a\": 1, \"a\": 2}" } },
        { "role": "function", "name": "f", "content": "1" },
        { "role": "assistant", "content": null, "tool_calls": [{ "id": "i", "type": "function",
            "function": { "name": "g", "arguments": "{}", "parsed_arguments": { "a": [] } } }] },
        { "role": "tool", "tool_call_id": "i", "name": "g", "content": "2" },
    ]);
    let prompt = "user::x;assistant:bob:f;tool:f:1;assistant::g;tool:g:2;>";
    assert_eq!(length(messages), prompt.len() as u64);
}

/// The thoughts of an assistant come back under either name; a text that it wrote instead of an answer is a text.
#[test]
fn reasoning_and_refusals_of_assistants_come_back() {
    let template = "{% for m in messages %}{{ m.reasoning_content }}:{{ m.content }};{% endfor %}>";
    let model = "http-histories";
    let address = serve_with(model, template);
    let post = |message: Value| {
        let messages = json!([{ "role": "user", "content": "x" }, message]);
        chat(address, model, json!({ "messages": messages, "max_tokens": 1 }))
    };
    for (message, prompt) in [
        (json!({ "role": "assistant", "content": "a", "reasoning": "why" }), ":x;why:a;>"),
        (json!({ "role": "assistant", "content": "a", "reasoning_content": "why" }), ":x;why:a;>"),
        (
            json!({ "role": "assistant", "content": "a", "reasoning_content": "why",
                "reasoning": "why" }),
            ":x;why:a;>",
        ),
        (
            json!({ "role": "assistant", "content": [{ "type": "refusal", "refusal": "no" }] }),
            ":x;:no;>",
        ),
        (json!({ "role": "assistant", "content": null, "refusal": "no" }), ":x;:no;>"),
        (json!({ "role": "assistant", "content": "a", "refusal": "no" }), ":x;:a;>"),
        // Histories that LiteLLM kept, and those of answers with sources.
        (
            json!({ "role": "assistant", "content": "a", "annotations": [{ "type": "url_citation" }],
                "provider_specific_fields": { "refusal": null } }),
            ":x;:a;>",
        ),
        (
            json!({ "role": "user", "content": [{ "type": "text", "text": "a",
                "prompt_cache_breakpoint": { "mode": "explicit" } }] }),
            ":x;:a;>",
        ),
    ] {
        let answer = post(message.clone());
        assert_eq!(answer.status, 200, "{message}: {}", answer.body);
        let tokens = &answer.json()["usage"]["prompt_tokens"];
        assert_eq!(tokens, prompt.len(), "{message}");
    }
    for (message, param) in [
        (
            json!({ "role": "assistant", "content": "a", "reasoning_content": "why",
                "reasoning": "how" }),
            "messages[1].reasoning",
        ),
        (
            json!({ "role": "user", "content": [{ "type": "refusal", "refusal": "no" }] }),
            "messages[1].content[0].type",
        ),
    ] {
        let answer = post(message.clone());
        assert_eq!(answer.status, 400, "{message}: {}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param, "{message}");
    }
}
