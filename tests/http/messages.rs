//! `POST /v1/messages`, Anthropic's API: content blocks, tools, thinking, events, errors.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{Answer, send, serve, serve_with};

const HEAD: &str = "POST /v1/messages HTTP/1.1\r\nContent-Type: application/json";

fn message(address: SocketAddr, model: &str, fields: &Value) -> Answer {
    let mut body = json!({ "model": model, "max_tokens": 60, "temperature": 0,
        "messages": [{ "role": "user", "content": "Hello" }] });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    send(address, HEAD, &body.to_string())
}

fn weather() -> Value {
    json!([{ "name": "weather", "description": "The weather of a city", "input_schema": {
        "type": "object", "properties": { "city": { "enum": ["Oslo"] } }, "required": ["city"],
        "additionalProperties": false } }])
}

/// The events of a stream, each under its own name.
fn events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let events = answer.body.split_terminator("\n\n").map(|event| {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"]);
        data
    });
    events.collect()
}

#[test]
fn a_message_is_text_reasoning_and_calls() {
    let model = "http-messages";
    let address = serve(hey(model), &[]);
    let plain = message(address, model, &json!({ "metadata": { "user_id": "someone" } }));
    assert_eq!(plain.status, 200, "{}", plain.body);
    let plain = plain.json();
    assert_eq!(plain["content"], json!([{ "type": "text", "text": "Hey" }]));
    assert_eq!((&plain["type"], &plain["role"]), (&json!("message"), &json!("assistant")));
    assert_eq!(
        (&plain["stop_reason"], &plain["stop_sequence"]),
        (&json!("end_turn"), &Value::Null)
    );
    assert_eq!(
        (&plain["usage"]["input_tokens"], &plain["usage"]["output_tokens"]),
        (&json!(6), &json!(3))
    );
    let captured = message(
        address,
        model,
        &json!({ "structured_outputs": { "grammar": "start: (word \"-\")~2\nword[capture]: /[xyz]{2}/" }, "max_tokens": 20 }),
    );
    let captured = captured.json();
    assert_eq!(captured["captures"][1]["start"], 3, "{captured}");
    // Anthropic's tool runner sends this with each request.
    let thread = json!({ "thread": { "type": "create" } });
    assert_eq!(message(address, model, &thread).status, 200);
    let stopped = message(address, model, &json!({ "stop_sequences": ["y"] })).json();
    assert_eq!(
        (&stopped["stop_reason"], &stopped["stop_sequence"]),
        (&json!("stop_sequence"), &json!("y"))
    );
    assert_eq!(stopped["content"][0]["text"], "He");
    let short = message(address, model, &json!({ "max_tokens": 2 })).json();
    assert_eq!(short["stop_reason"], "max_tokens");
    let thought = json!({ "thinking": { "type": "enabled", "budget_tokens": 3 } });
    let thought = message(address, model, &thought).json();
    assert_eq!(
        thought["content"][0],
        json!({ "type": "thinking", "thinking": "Hey", "signature": "" })
    );
    assert_eq!(thought["content"][1]["text"], "Hey");
    let call = json!({ "tools": weather(), "tool_choice": { "type": "any" } });
    let call = message(address, model, &call).json();
    assert_eq!(call["stop_reason"], "tool_use", "{call}");
    let block = &call["content"][0];
    assert_eq!((&block["type"], &block["name"]), (&json!("tool_use"), &json!("weather")));
    assert_eq!(block["input"], json!({ "city": "Oslo" }));
    let format = json!({ "output_config": { "format": { "type": "json_schema", "schema": { "const": 7 } } } });
    assert_eq!(message(address, model, &format).json()["content"][0]["text"], "7");
}

#[test]
fn an_input_has_its_numbers_as_they_were_written() {
    let model = "http-messages-numbers";
    let address = serve(hey(model), &[]);
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "integer", "minimum": 9e19, "maximum": 9.1e19 } }, "required": ["n"] });
    let call = json!({ "tools": [{ "name": "count", "input_schema": schema }],
        "tool_choice": { "type": "any" } });
    let answer = message(address, model, &call);
    let digits = answer.body.split(r#""n":"#).nth(1).expect(&answer.body).trim_start();
    let digits = digits.chars().take_while(char::is_ascii_digit).count();
    assert_eq!(digits, 20, "{}", answer.body);
}

#[test]
fn events_tell_what_the_message_is() {
    let model = "http-messages-stream";
    let address = serve(hey(model), &[]);
    for fields in [
        json!({}),
        json!({ "thinking": { "type": "enabled", "budget_tokens": 3 } }),
        json!({ "tools": weather(), "tool_choice": { "type": "tool", "name": "weather" } }),
    ] {
        let whole = message(address, model, &fields).json();
        let mut streamed = fields.clone();
        streamed["stream"] = json!(true);
        let events = events(&message(address, model, &streamed));
        assert_eq!(events[0]["type"], "message_start");
        assert_eq!(events[0]["message"]["content"], json!([]));
        assert!(events[0]["message"]["usage"]["input_tokens"].as_u64().unwrap() > 0);
        assert_eq!(events.last().unwrap()["type"], "message_stop");
        let (mut blocks, mut texts, mut end) = (Vec::new(), Vec::new(), Value::Null);
        let mut signatures = 0;
        for event in &events {
            match event["type"].as_str().unwrap() {
                "content_block_start" => {
                    assert_eq!(event["index"], blocks.len());
                    blocks.push(event["content_block"].clone());
                    texts.push(String::new());
                }
                "content_block_delta" => {
                    let delta = &event["delta"];
                    let text = ["text", "thinking", "partial_json", "signature"]
                        .iter()
                        .find_map(|key| delta[key].as_str());
                    *texts.last_mut().unwrap() += text.unwrap();
                    signatures += usize::from(delta["type"] == "signature_delta");
                }
                "content_block_stop" => assert_eq!(event["index"], blocks.len() - 1),
                "message_delta" => end = event.clone(),
                _ => {}
            }
        }
        for (block, text) in blocks.iter_mut().zip(texts) {
            match block["type"].as_str().unwrap() {
                "tool_use" => block["input"] = serde_json::from_str(&text).unwrap(),
                kind => {
                    let kind = kind.to_owned();
                    block[kind] = json!(text);
                }
            }
        }
        let thoughts = blocks.iter().filter(|block| block["type"] == "thinking").count();
        assert_eq!(signatures, thoughts, "{fields}");
        let without_ids = |blocks: &Value| {
            let mut blocks = blocks.clone();
            for block in blocks.as_array_mut().unwrap() {
                block.as_object_mut().unwrap().remove("id");
            }
            blocks
        };
        assert_eq!(without_ids(&json!(blocks)), without_ids(&whole["content"]), "{fields}");
        assert_eq!(end["delta"]["stop_reason"], whole["stop_reason"]);
        assert_eq!(end["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
    }
}

/// Null counts as absent, also beside a field of this API that says the same.
#[test]
fn a_null_is_no_conflict() {
    let model = "http-messages-null";
    let address = serve(hey(model), &[]);
    let format = json!({ "type": "json_schema", "schema": { "const": 7 } });
    let fields = json!({ "output_config": { "format": format }, "response_format": null });
    let answer = message(address, model, &fields);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["content"][0]["text"], "7", "{}", answer.body);
    let choice = json!({ "type": "any", "disable_parallel_tool_use": true });
    let fields = json!({ "tools": weather(), "tool_choice": choice, "parallel_tool_calls": null });
    let answer = message(address, model, &fields);
    assert_eq!(answer.json()["content"].as_array().unwrap().len(), 1, "{}", answer.body);
}

#[test]
fn blocks_reach_the_template_in_their_order() {
    let model = "http-messages-template";
    // Refuses conversations, and says what they are.
    let template = "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t ~ '[' ~ m.role \
        ~ ':' ~ m.content ~ (m.tool_calls[0].function.name if m.tool_calls else '') ~ ']' %}{% endfor %}\
        {{ raise_exception(ns.t) }}";
    let address = serve_with(model, template);
    let fields = json!({ "system": [{ "type": "text", "text": "Be brief.", "cache_control": {} }],
        "messages": [
            { "role": "user", "content": "Weather?" },
            { "role": "assistant", "content": [{ "type": "text", "text": "Let me see." },
                { "type": "tool_use", "id": "1", "name": "weather", "input": { "city": "Oslo" } }] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "1", "is_error": true, "content": "none" },
                { "type": "text", "text": "Well?" }] }] });
    let answer = message(address, model, &fields);
    let expected = "[system:Be brief.][user:Weather?][assistant:Let me see.weather][tool:Error: none][user:Well?]";
    let error = answer.json();
    assert_eq!((answer.status, &error["type"]), (400, &json!("error")));
    assert!(error["error"]["message"].as_str().unwrap().contains(expected), "{}", answer.body);
}

#[test]
fn errors_are_this_api_s_and_keys_come_by_its_header() {
    let format = json!({ "type": "json_schema", "schema": { "const": 7 } });
    let model = "http-messages-errors";
    let address = serve(hey(model), &["key"]);
    let keyed = format!("{HEAD}\r\nx-api-key: key");
    let body = |fields: Value| {
        let mut body = json!({ "model": model, "max_tokens": 5,
            "messages": [{ "role": "user", "content": "a" }] });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body.to_string()
    };
    assert_eq!(send(address, &keyed, &body(json!({}))).status, 200);
    let batches = HEAD.replace("/messages ", "/messages/batches ") + "\r\nx-api-key: key";
    for (head, body, status, kind, says) in [
        (&*batches, body(json!({})), 404, "not_found_error", "/v1/messages/batches"),
        (HEAD, body(json!({})), 401, "authentication_error", "x-api-key"),
        (&keyed, body(json!({ "model": "other" })), 404, "not_found_error", "other"),
        (&keyed, body(json!({ "max_tokens": null })), 400, "invalid_request_error", "`max_tokens`"),
        (
            &keyed,
            body(json!({ "stop_sequences": [7] })),
            400,
            "invalid_request_error",
            "`stop_sequences`",
        ),
        (
            &keyed,
            body(json!({ "thinking": { "type": "by heart" } })),
            400,
            "invalid_request_error",
            "`thinking.type`",
        ),
        (
            &keyed,
            body(json!({ "tools": [{ "name": "a", "input_schema": 7 }] })),
            400,
            "invalid_request_error",
            "`tools[0].input_schema`",
        ),
        (
            &keyed,
            body(json!({ "tools": [{ "type": "web_search_20250305", "name": "a" }] })),
            400,
            "invalid_request_error",
            "`tools[0].type`",
        ),
        (
            &keyed,
            body(json!({ "messages": [{ "role": "user", "content": [{ "type": "image" }] }] })),
            400,
            "invalid_request_error",
            "`messages[0].content[0].type`",
        ),
        (
            &keyed,
            body(json!({ "messages": [{ "role": "user", "content": "a" },
                { "role": "assistant", "content": "b" }, { "role": "user", "content": [] }] })),
            400,
            "invalid_request_error",
            "`messages[2].content`: is empty",
        ),
        (
            &keyed,
            body(json!({ "messages": [{ "role": "user", "content": "a" },
                { "role": "assistant", "content": "b" }],
                "thinking": { "type": "enabled", "budget_tokens": 5 } })),
            400,
            "invalid_request_error",
            "begun, which does not go with reasoning",
        ),
        (
            &keyed,
            body(json!({ "messages": [{ "role": "assistant", "content": "b" }] })),
            400,
            "invalid_request_error",
            "`messages`: asks for an answer that is begun: end a conversation",
        ),
        (
            &keyed,
            body(json!({ "mcp_servers": [{}] })),
            400,
            "invalid_request_error",
            "`mcp_servers`",
        ),
        (&keyed, body(json!({ "no_such": 1 })), 400, "invalid_request_error", "`no_such`"),
        // By the names that were sent.
        (
            &keyed,
            body(json!({ "stop": ["x"] })),
            400,
            "invalid_request_error",
            "`stop`: is not supported; it is a field of chat completions",
        ),
        (
            &keyed,
            body(json!({ "reasoning_budget": 3 })),
            400,
            "invalid_request_error",
            "`reasoning_budget`: is not supported",
        ),
        (
            &keyed,
            body(json!({ "regex": "a", "output_config": { "format": format } })),
            400,
            "invalid_request_error",
            "so does `output_config.format",
        ),
        (
            &keyed,
            body(json!({ "output_format": { "type": "json_schema", "schema": { "type": "null" } },
                "output_config": { "format": format } })),
            400,
            "invalid_request_error",
            "`output_config.format`: says what the answer must be, and so does `output_format`",
        ),
        (
            &keyed,
            body(json!({ "response_format": { "type": "json_object" },
                "output_config": { "format": format } })),
            400,
            "invalid_request_error",
            "`response_format`: says the same thing as `output_config.format`",
        ),
        (
            &keyed,
            body(json!({ "thread": { "type": "continue" } })),
            400,
            "invalid_request_error",
            "`thread`: is not supported; send the whole conversation",
        ),
    ] {
        let answer = send(address, head, &body);
        let error = answer.json();
        assert_eq!(
            (answer.status, &error["error"]["type"]),
            (status, &json!(kind)),
            "{}",
            answer.body
        );
        assert!(error["error"]["message"].as_str().unwrap().contains(says), "{}", answer.body);
    }
}

#[test]
fn thinking_that_is_adaptive_is_the_template_s() {
    let template = "{% for message in messages %}{{ message.content }}{% endfor %}\
        {% if enable_thinking %}T{% endif %}";
    let model = "http-messages-adaptive";
    let address = serve_with(model, template);
    let adaptive = json!({ "thinking": { "type": "adaptive" } });
    let thought = message(address, model, &adaptive).json();
    assert_eq!(thought["content"][0]["type"], "thinking", "{thought}");
    assert_eq!(message(address, model, &json!({})).json()["content"][0]["type"], "text");
    // A template that knows of no thinking answers as ever.
    let plain = "http-messages-adaptive-plain";
    let answer = message(serve(hey(plain), &[]), plain, &adaptive).json();
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "Hey" }]));
    let both = json!({ "thinking": { "type": "adaptive" }, "chat_template_kwargs": { "thinking": false } });
    let refused = message(address, model, &both);
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("`chat_template_kwargs.thinking`"), "{}", refused.body);
}

/// Anthropic's clients and agents send much that changes nothing here, or reaches the template.
#[test]
fn hints_of_agents_are_taken() {
    let model = "http-messages-hints";
    let template =
        "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{{ reasoning_effort }}>";
    let address = serve_with(model, template);
    let mut tools = weather();
    tools[0].as_object_mut().unwrap().extend([
        ("defer_loading".to_owned(), json!(false)),
        ("allowed_callers".to_owned(), json!(["direct"])),
        ("input_examples".to_owned(), json!([{ "city": "Oslo" }])),
    ]);
    for fields in [
        json!({ "context_management": { "edits": [{ "type": "clear_thinking_20251015", "keep": "all" }] } }),
        json!({ "thinking": { "type": "adaptive", "display": "omitted" } }),
        json!({ "tools": tools }),
    ] {
        let answer = message(address, model, &fields);
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
    }
    let system = json!({ "output_config": { "effort": "max" }, "messages": [
        { "role": "system", "content": "s" }, { "role": "user", "content": "a" }] });
    let usage = message(address, model, &system).json()["usage"].clone();
    let read = usage["input_tokens"].as_u64().unwrap()
        + usage["cache_read_input_tokens"].as_u64().unwrap();
    assert_eq!(read, "system:s;user:a;high>".len() as u64);
    let wrong = message(address, model, &json!({ "output_config": { "effort": "lots" } }));
    assert!(wrong.body.contains("`output_config.effort`"), "{}", wrong.body);
    let ids =
        message(address, model, &json!({ "tools": weather(), "tool_choice": { "type": "any" } }));
    let id = ids.json()["content"][0]["id"].as_str().unwrap().to_owned();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
}

#[test]
fn tokens_are_counted_as_the_message_has_them() {
    let model = "http-messages-count";
    let address = serve(hey(model), &[]);
    const COUNT: &str = "POST /v1/messages/count_tokens HTTP/1.1\r\nContent-Type: application/json";
    let long = json!("word ".repeat(20));
    for fields in [
        json!({ "messages": [{ "role": "user", "content": "Hello" }] }),
        json!({ "messages": [{ "role": "user", "content": "Hello" }], "system": "Be brief." }),
        json!({ "messages": [{ "role": "user", "content": long }], "tools": weather() }),
    ] {
        let mut body = fields.clone();
        body["model"] = json!(model);
        let counted = send(address, COUNT, &body.to_string());
        assert_eq!(counted.status, 200, "{}", counted.body);
        let usage = message(address, model, &fields).json()["usage"].clone();
        let read = usage["input_tokens"].as_u64().unwrap()
            + usage["cache_read_input_tokens"].as_u64().unwrap();
        assert_eq!(counted.json(), json!({ "input_tokens": read }));
    }
    // A conversation whose last turn is the assistant's, which goes on with neither tools nor calls.
    let mut ended = json!({ "model": model, "tools": weather(), "messages": [
        { "role": "user", "content": "Hello" }, { "role": "assistant", "content": "yo" }] });
    assert_eq!(send(address, COUNT, &ended.to_string()).status, 200);
    ended["messages"][1]["content"] =
        json!([{ "type": "tool_use", "id": "1", "name": "weather", "input": {} }]);
    assert_eq!(send(address, COUNT, &ended.to_string()).status, 200);
    let wrong = json!({ "model": model, "messages": [], "max_tokens": 1 }).to_string();
    let wrong = send(address, COUNT, &wrong);
    assert_eq!(
        (wrong.status, &wrong.json()["error"]["type"]),
        (400, &json!("invalid_request_error"))
    );
}

#[test]
fn a_message_that_was_begun_is_continued() {
    let model = "http-messages-begun";
    let address = serve(hey(model), &[]);
    let begun = |text: &str, more: Value| {
        let mut fields = json!({ "messages": [{ "role": "user", "content": "Hello" },
            { "role": "assistant", "content": text }] });
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message(address, model, &fields)
    };
    let schema = json!({ "type": "object", "properties": { "a": { "const": 7 }, "b": { "enum": ["x"] } },
        "required": ["a", "b"], "additionalProperties": false });
    let format =
        json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } });
    for text in ["{", "{\"a\": 7, \"b\": \""] {
        let answer = begun(text, format.clone()).json();
        let rest = answer["content"][0]["text"].as_str().unwrap();
        assert!(!rest.starts_with(text), "{rest}");
        let whole: Value = serde_json::from_str(&format!("{text}{rest}")).unwrap();
        assert_eq!(whole, json!({ "a": 7, "b": "x" }));
        assert_eq!(answer["stop_reason"], "end_turn");
    }
    let wrong = begun("[", format);
    assert_eq!(wrong.status, 400, "{}", wrong.body);
    assert!(wrong.body.contains("no text that the constraint accepts begins"), "{}", wrong.body);
    // Without a constraint the prompt alone is longer.
    let plain = message(address, model, &json!({})).json()["usage"]["input_tokens"].clone();
    let longer = begun("abc", json!({})).json()["usage"]["input_tokens"].clone();
    assert!(longer.as_u64() > plain.as_u64(), "{longer} {plain}");
    // Chat completions say so by vLLM's name.
    let body = json!({ "model": model, "temperature": 0, "continue_final_message": true,
        "add_generation_prompt": false, "regex": "ab+c", "max_tokens": 9,
        "messages": [{ "role": "user", "content": "Hello" }, { "role": "assistant", "content": "ab" }] });
    let answer = send(address, crate::CHAT, &body.to_string());
    let text = answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(text.ends_with('c') && !text.starts_with('a'), "{text}");
}
