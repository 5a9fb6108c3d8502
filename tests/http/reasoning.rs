//! Reasoning: before the answer, beside it in what is told, and within its budget.

use serde_json::{Value, json};

use crate::model_support::{byte_tokenizer, hey, padded_parrot, thinker};
use crate::tools::two_tools;
use crate::{chat, serve, serve_with};

/// The tokens of a reasoning and its tags.
fn thought_of(reasoning: &Value) -> usize {
    "<think></think>".len() + reasoning.as_str().unwrap_or_default().len()
}

/// The format of an answer that is `7`.
fn always_seven() -> Value {
    json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": { "const": 7 } } })
}

#[test]
fn reasoning_comes_before_the_answer_and_has_a_budget() {
    let model = "http-reasoning";
    let address = serve(hey(model), &[]);
    let format = always_seven();
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
            // A token a character; after the tags two line breaks may stand.
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
    // A prompt that ends in the opening tag, and calls after the reasoning.
    let model = "http-reasoning-open";
    let address = serve_with(model, "{% for m in messages %}{{ m.content }}{% endfor %}<think>");
    let fields = json!({ "reasoning_budget": 2, "tools": two_tools(), "tool_choice": "required",
        "parallel_tool_calls": false });
    let message = &chat(address, model, fields).json()["choices"][0]["message"];
    assert_eq!(message["reasoning_content"], "He", "{message}");
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 1, "{message}");
}

/// Models reason without being asked; in free text it is told apart, a constraint leaves no room for it.
#[test]
fn reasoning_that_nobody_asked_for_is_no_answer() {
    let model = "http-reasoning-unasked";
    let address = serve(thinker(model), &[]);
    let format = always_seven();
    for (extra, content, reasoning) in [
        (json!({}), "Hey", json!("so")),
        (json!({ "tools": two_tools() }), "Hey", json!("so")),
        (json!({ "tools": two_tools(), "tool_choice": "none" }), "Hey", json!("so")),
        (json!({ "n": 2, "best_of": 2 }), "Hey", json!("so")),
        (json!({ "reasoning_effort": "none" }), "Hey", json!("so")),
        (json!({ "response_format": format }), "7", Value::Null),
        (
            json!({ "response_format": format, "tools": two_tools(), "tool_choice": "none" }),
            "7",
            Value::Null,
        ),
    ] {
        let mut fields = json!({ "max_tokens": 60, "temperature": 0 });
        fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 200, "{}", answer.body);
        for choice in answer.json()["choices"].as_array().unwrap() {
            let message = &choice["message"];
            assert_eq!(message["content"], content, "{extra}: {message}");
            assert_eq!(message["reasoning_content"], reasoning, "{extra}: {message}");
            assert_eq!(choice["finish_reason"], "stop", "{extra}: {message}");
        }
        let thought = &answer.json()["usage"]["completion_tokens_details"]["reasoning_tokens"];
        let choices = answer.json()["choices"].as_array().unwrap().len();
        let tokens = if reasoning.is_null() { 0 } else { 4 * choices };
        assert_eq!(thought.as_u64().unwrap() as usize, tokens, "{extra}: {}", answer.body);
        if choices > 1 {
            continue;
        }
        fields["stream"] = json!(true);
        let (mut text, mut thought) = (String::new(), String::new());
        for event in chat(address, model, fields).events() {
            let Ok(event) = serde_json::from_str::<Value>(&event) else { continue };
            let delta = &event["choices"][0]["delta"];
            text += delta["content"].as_str().unwrap_or_default();
            thought += delta["reasoning_content"].as_str().unwrap_or_default();
        }
        let reasoning = reasoning.as_str().unwrap_or_default();
        assert_eq!((text.as_str(), thought.as_str()), (content, reasoning), "{extra}");
    }
    // A model that does not reason writes its answer, the beginning of a tag included.
    let plain = "http-reasoning-none";
    let address = serve_with(plain, "{% if x %}</think>{% endif %}>");
    let message = &chat(address, plain, json!({})).json()["choices"][0]["message"];
    assert_eq!(message["content"], "Hey", "{message}");
    assert!(message["reasoning_content"].is_null(), "{message}");
}

/// A format that has pieces before each answer has them before a constrained one, too.
#[test]
fn an_answer_has_the_pieces_of_its_format_before_it() {
    let model = "http-reasoning-channels";
    let folder = hey(model);
    let mut tokenizer = byte_tokenizer();
    for (id, content) in [(257, "<|channel|>"), (258, "<|message|>"), (259, "<|start|>")] {
        let mut token = tokenizer["added_tokens"][0].clone();
        token["id"] = json!(id);
        token["content"] = json!(content);
        tokenizer["added_tokens"].as_array_mut().unwrap().push(token);
    }
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let template = "{% for m in messages %}{{ m.content }}{% endfor %}\
        {% if x %}<|channel|>{% endif %}>";
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    let address = serve(folder, &[]);
    let format = always_seven();
    let fields = |effort: Option<&str>| {
        json!({ "max_tokens": 60, "temperature": 0, "response_format": format,
            "reasoning_effort": effort, "logit_bias": { "97": -100 } })
    };
    // `<|channel|>final<|message|>7` and the end: the model may not begin `analysis`.
    for effort in [None, Some("none")] {
        let answer = chat(address, model, fields(effort));
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer = answer.json();
        assert_eq!(answer["choices"][0]["message"]["content"], "7", "{answer}");
        assert_eq!(answer["usage"]["completion_tokens"], 1 + 5 + 1 + 1, "{answer}");
        let thought = &answer["usage"]["completion_tokens_details"]["reasoning_tokens"];
        assert_eq!(*thought, 0, "{answer}");
    }
}

#[test]
fn a_variable_of_the_template_switches_reasoning_on() {
    let model = "http-reasoning-variable";
    let text = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let template = format!("{text}{{% if enable_thinking %}}<think>{{% endif %}}>");
    let address = serve_with(model, &template);
    // After the tag that the prompt has opened the model goes on.
    let fields = |on: bool| {
        json!({ "chat_template_kwargs": { "enable_thinking": on },
        "max_tokens": 40, "response_format": { "type": "json_schema",
            "json_schema": { "name": "n", "schema": { "const": 7 } } } })
    };
    let message = |on: bool| {
        let answer = chat(address, model, fields(on));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["choices"][0]["message"].clone()
    };
    let thought = message(true);
    assert_eq!(thought["content"], "7", "{thought}");
    assert!(thought["reasoning_content"].as_str().unwrap().starts_with("Hey"), "{thought}");
    let plain = message(false);
    assert_eq!(plain["content"], "7");
    assert!(plain["reasoning_content"].is_null(), "{plain}");
    // Both at once say nothing that could be done.
    let mut both = fields(false);
    both["reasoning_effort"] = json!("low");
    let refused = chat(address, model, both);
    assert_eq!(refused.json()["error"]["param"], "chat_template_kwargs.enable_thinking");
    // A template that does not know the name ignores it.
    let plain = "http-reasoning-no-variable";
    let answer = chat(serve(hey(plain), &[]), plain, fields(true));
    assert!(answer.json()["choices"][0]["message"]["reasoning_content"].is_null());
}

/// A chat template that ends in the opening tag, as DeepSeek R1's and Qwen3 Thinking's do.
const OPENING: &str = "{% for m in messages %}{{ m.content }}{% endfor %}<think>";

/// The message and the usage of an answer to `x`.
fn answered(address: std::net::SocketAddr, model: &str, fields: Value) -> (Value, Value) {
    let answer = chat(address, model, fields.clone());
    assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
    let answer = answer.json();
    (answer["choices"][0]["message"].clone(), answer["usage"].clone())
}

#[test]
fn a_constraint_waits_for_the_end_of_reasoning_that_the_template_opens() {
    let model = "http-reasoning-opened";
    let address = serve_with(model, OPENING);
    let seven =
        json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": { "const": 7 } } });
    // Without a constraint what it writes is reasoning, which it may end or not.
    let (message, usage) = answered(address, model, json!({}));
    assert_eq!((&message["reasoning_content"], &message["content"]), (&json!("Hey"), &json!("")));
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 3, "{usage}");
    let open = usage["prompt_tokens"].as_u64().unwrap();
    let (message, _) =
        answered(address, model, json!({ "response_format": seven, "max_tokens": 40 }));
    assert_eq!(message["content"], "7", "{message}");
    assert!(message["reasoning_content"].as_str().unwrap().starts_with("Hey"), "{message}");
    // The same streamed.
    let fields = json!({ "response_format": seven, "max_tokens": 40, "stream": true });
    let (mut text, mut thought) = (String::new(), String::new());
    for event in chat(address, model, fields).events() {
        let Ok(event) = serde_json::from_str::<Value>(&event) else { continue };
        let delta = &event["choices"][0]["delta"];
        text += delta["content"].as_str().unwrap_or_default();
        thought += delta["reasoning_content"].as_str().unwrap_or_default();
    }
    assert_eq!(text, "7");
    assert!(thought.starts_with("Hey"), "{thought}");
    // Calls of tools stand after it, too.
    let fields = json!({ "tools": two_tools(), "tool_choice": "required", "max_tokens": 200,
        "parallel_tool_calls": false });
    let (message, _) = answered(address, model, fields);
    assert_eq!(message["tool_calls"].as_array().unwrap().len(), 1, "{message}");
    assert!(message["reasoning_content"].as_str().unwrap().starts_with("Hey"), "{message}");
    // Who wants no reasoning has it closed in the prompt.
    for none in [
        json!({ "reasoning_effort": "none" }),
        json!({ "chat_template_kwargs": { "enable_thinking": false } }),
    ] {
        let mut fields = json!({ "response_format": seven });
        fields.as_object_mut().unwrap().extend(none.as_object().unwrap().clone());
        let (message, usage) = answered(address, model, fields);
        assert_eq!(
            (&message["content"], &message["reasoning_content"]),
            (&json!("7"), &Value::Null)
        );
        assert_eq!(usage["completion_tokens"], 1, "{usage}");
        let closed = open + "</think>\n\n".len() as u64;
        assert_eq!(usage["prompt_tokens"], closed, "{none}: {usage}");
    }
}

#[test]
fn a_message_that_is_begun_says_whether_its_reasoning_is_over() {
    let model = "http-reasoning-begun";
    let address = serve_with(model, &format!("{OPENING}{{{{ '\\n' }}}}"));
    let begun = |prefill: &str, extra: Value| {
        let mut fields = json!({ "continue_final_message": true, "add_generation_prompt": false,
            "messages": [{ "role": "user", "content": "x" },
                { "role": "assistant", "content": prefill }], "max_tokens": 40 });
        fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        fields
    };
    let number = |schema: Value| {
        json!({ "response_format": { "type": "json_schema",
            "json_schema": { "name": "n", "schema": schema } } })
    };
    let template = "x<think>\n".len();
    for (prefill, extra, reasoning, content, prompt) in [
        // An answer stands after reasoning that is closed at once.
        ("H", json!({}), None, "ey", "\n</think>\n\nH"),
        ("7", number(json!({ "const": 71 })), None, "1", "\n</think>\n\n7"),
        // Reasoning goes on where it was begun; the tag is not written twice.
        ("<think>\nH", json!({}), Some("ey"), "", "H"),
        ("<think>\nH", number(json!({ "const": 71 })), Some("ey"), "71", "H"),
        ("<think>\nH", json!({ "reasoning_budget": 1 }), Some("e"), "", "H"),
        // The answer stands after its end.
        ("<think>\nx</think>\n\nH", json!({}), None, "ey", "x</think>\n\nH"),
        ("x</think>7", number(json!({ "const": 71 })), None, "1", "x</think>7"),
    ] {
        let (message, usage) = answered(address, model, begun(prefill, extra.clone()));
        let told = message["reasoning_content"].as_str();
        match reasoning {
            Some(start) => {
                assert!(told.unwrap().starts_with(start), "{prefill} {extra}: {message}")
            }
            None => assert_eq!(told, None, "{prefill} {extra}: {message}"),
        }
        assert!(message["content"].as_str().unwrap().starts_with(content), "{prefill}: {message}");
        assert_eq!(usage["prompt_tokens"], template + prompt.len(), "{prefill} {extra}: {usage}");
    }
    for (prefill, extra) in [
        ("H", json!({ "reasoning_effort": "low" })),
        ("<think>\nH", json!({ "reasoning_effort": "none" })),
        ("<think>\nH</think>x", json!({ "reasoning_effort": "low" })),
    ] {
        let refused = chat(address, model, begun(prefill, extra));
        assert_eq!(refused.status, 400, "{prefill}");
        assert_eq!(refused.json()["error"]["param"], "continue_final_message", "{prefill}");
    }
    // The messages of Anthropic's API begin in the same way.
    let post = |fields: Value| {
        let mut body = json!({ "model": model, "max_tokens": 40, "temperature": 0,
            "messages": [{ "role": "user", "content": "x" }] });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let head = "POST /v1/messages HTTP/1.1\r\nContent-Type: application/json";
        let answer = crate::send(address, head, &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    };
    let messages =
        json!([{ "role": "user", "content": "x" }, { "role": "assistant", "content": "H" }]);
    let answer = post(json!({ "messages": messages }));
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "ey" }]));
    let format = json!({ "format": { "type": "json_schema", "schema": { "const": 7 } } });
    let answer = post(json!({ "output_config": format, "thinking": { "type": "disabled" } }));
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "7" }]));
    let answer = post(json!({ "output_config": format }));
    assert_eq!(answer["content"][0]["type"], "thinking", "{answer}");
    assert_eq!(answer["content"][1]["text"], "7", "{answer}");
    // Labels are answers.
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": "x" }],
        "questions": [{ "type": "choice", "choices": ["H", "e"] }] });
    let head = "POST /v1/decisions HTTP/1.1\r\nContent-Type: application/json";
    let answer = crate::send(address, head, &body.to_string()).json();
    let read = &answer["answers"][0]["diagnostics"]["tokens_read"];
    let prompt = answer["usage"]["input_tokens"].as_u64().unwrap() - read.as_u64().unwrap();
    assert_eq!(prompt as usize, template + "\n</think>\n\n".len(), "{answer}");
}

/// gpt-oss's format of calls lets reasoning stand before them: it is that of the message, which is counted, and has a
/// budget or is declined.
#[test]
fn reasoning_before_calls_is_that_of_the_message() {
    let model = "http-reasoning-calls";
    let byte = |byte: u8| u32::from(byte);
    let names = ["<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>"];
    // It reasons wherever it may, the more so after `assistant`.
    let follows = [
        (byte(b'>'), 257),
        (257, byte(b'a')),
        (258, byte(b'H')),
        (byte(b'H'), byte(b'e')),
        (byte(b'e'), byte(b'y')),
        (byte(b'y'), 260),
        (byte(b't'), 257),
    ];
    let folder = padded_parrot(model, &follows, 2048, 264);
    let mut tokenizer = byte_tokenizer();
    let mut end = tokenizer["added_tokens"][0].clone();
    end["content"] = json!("<|return|>");
    let mut added = vec![end.clone()];
    for (id, name) in (257..).zip(names) {
        let mut token = end.clone();
        token["id"] = json!(id);
        token["content"] = json!(name);
        added.push(token);
    }
    tokenizer["added_tokens"] = json!(added);
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let template = "{# <|channel|> #}{% for t in tools or [] %}{{ t.function.name }}{% endfor %}\
        {% for m in messages %}{{ m.content }}{% endfor %}>";
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    let address = serve(folder, &[]);
    let called = |extra: Value| {
        let mut fields =
            json!({ "tools": two_tools(), "tool_choice": "required", "max_tokens": 200 });
        fields.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let (message, usage) = answered(address, model, fields);
        assert_eq!(message["tool_calls"].as_array().map(Vec::len), Some(1), "{extra}: {message}");
        let tokens = usage["completion_tokens_details"]["reasoning_tokens"].as_u64().unwrap();
        (message["reasoning_content"].clone(), tokens as usize)
    };
    // Two tokens of tags, the name of the channel, the text and the closing tag.
    let tokens = |text: &str| 2 + "analysis".len() + text.len() + 1;
    assert_eq!(called(json!({ "reasoning_budget": 2 })), (json!("He"), tokens("He")));
    assert_eq!(called(json!({ "reasoning_effort": "none" })), (Value::Null, 0));
    // Without a word of it the format's own reasoning may come again; the first is counted.
    let (reasoning, counted) = called(json!({}));
    assert!(reasoning.as_str().unwrap().starts_with("Hey"), "{reasoning}");
    assert_eq!(counted, tokens("Hey"));
}
