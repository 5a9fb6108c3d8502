//! Tools: calls as OpenAI's clients read them, and what the model is told of them.

use serde_json::{Value, json};

use crate::model_support::{byte_tokenizer, hey, parrot};
use crate::{CHAT, chat, send, serve, serve_by, serve_with};
use maskwright::Engine;
use maskwright::engine::MessageFormats;
use maskwright::model::{ModelOptions, ModelSource};
use maskwright::server::{Server, ServerOptions};
use maskwright::tools::ToolFormat;

/// Two tools whose arguments leave a model no choice but of the unit.
pub(crate) fn two_tools() -> Value {
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

pub(crate) const WITH_TOOLS: &str = "{# <tool_call> #}{% for t in tools or [] %}{{ t.function.name }}{% endfor %}\
    {% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}\
    {{ c.function.name }}{{ c.function.arguments.city }}{% endfor %}{{ m.tool_call_id or '' }}{% endfor %}>";

#[test]
fn tools_are_called_in_openai_s_shapes() {
    let named = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let allowed = |mode: &str, name: &str| json!({ "type": "allowed_tools", "allowed_tools": { "mode": mode, "tools": [named(name)] } });
    let coder = WITH_TOOLS.replace("<tool_call>", "<tool_call> <function=");
    for (model, template) in [
        ("http-tools-json", ""),
        ("http-tools-qwen", WITH_TOOLS),
        ("http-tools-qwen-coder", &coder),
    ] {
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
            // Beside a call alone there is not even an empty text.
            let first: Value = serde_json::from_str(&events[0]).unwrap();
            let only_calls = content.is_empty() && !calls.is_empty();
            let begins = if only_calls { Value::Null } else { json!("") };
            assert_eq!(first["choices"][0]["delta"]["content"], begins, "{choice}");
            assert_eq!(first["choices"][0]["delta"]["role"], "assistant");
            // Arguments that are not empty come in several.
            let has_pieces = calls.iter().any(|(_, arguments)| arguments.len() > 2);
            assert!(!has_pieces || events.len() > 4, "arguments come in pieces: {events:?}");
        }
    }
}

/// Beside tools, and where any text may follow, an end at the limit is not the model's; a call that is closed
/// there is whole.
#[test]
fn free_text_that_the_limit_cuts_off_says_so() {
    let model = "http-tools-cut";
    let address = serve(hey(model), &[]);
    let finish = |fields: Value| {
        let answer = chat(address, model, fields.clone());
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
        answer.json()["choices"][0]["finish_reason"].as_str().unwrap().to_owned()
    };
    let regex = |pattern: &str| json!({ "regex": pattern });
    let seven =
        json!({ "type": "json_schema", "json_schema": { "name": "n", "schema": { "const": 7 } } });
    for (fields, wanted) in [
        (json!({ "max_tokens": 2 }), "length"),
        (json!({ "max_tokens": 2, "tools": two_tools() }), "length"),
        (json!({ "max_tokens": 2, "tools": two_tools(), "tool_choice": "none" }), "length"),
        (json!({ "max_tokens": 60, "tools": two_tools() }), "stop"),
        (json!({ "max_tokens": 2, "structured_outputs": regex("(?s).*") }), "length"),
        (json!({ "max_tokens": 2, "structured_outputs": regex("[A-Z][a-z]+") }), "stop"),
        (json!({ "max_tokens": 1, "response_format": seven }), "stop"),
    ] {
        assert_eq!(finish(fields.clone()), wanted, "{fields}");
    }
    let call = |tokens: usize| json!({ "max_tokens": tokens, "tools": two_tools(), "tool_choice": "required" });
    let refused = chat(address, model, call(1)).body;
    let least = refused.split(" are enough").next().and_then(|text| text.rsplit(' ').next());
    let least = least.and_then(|least| least.parse().ok());
    assert_eq!(finish(call(least.unwrap_or_else(|| panic!("{refused}")))), "tool_calls");
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
fn a_model_that_may_not_call_is_told_of_no_tool() {
    let model = "http-tools-none";
    let address = serve_with(model, WITH_TOOLS);
    let prompt_tokens = |fields: Value| {
        chat(address, model, fields).json()["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    let plain = prompt_tokens(json!({}));
    let told = prompt_tokens(json!({ "tools": two_tools() }));
    assert_eq!(told, plain + "weathertime".len() as u64);
    assert_eq!(prompt_tokens(json!({ "tools": two_tools(), "tool_choice": "none" })), plain);
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
    let unknown = json!({ "type": "object", "properties": { "a": { "type": "sting" } } });
    for (parameters, param, says) in [
        (unknown, "tools", "tool `t`"),
        (json!({ "type": "string" }), "tools[0].function.parameters", "must describe an object"),
    ] {
        let function = json!({ "name": "t", "parameters": parameters });
        let bad = json!([{ "type": "function", "function": function }]);
        let answer = chat(address, model, json!({ "tools": bad }));
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json()["error"]["param"], param);
        assert!(answer.body.contains(says), "{}", answer.body);
    }
}

#[test]
fn a_server_may_be_told_the_formats() {
    let formats = |tools: &str| {
        let tools = Some(ToolFormat::named(tools).unwrap());
        ServerOptions {
            formats: MessageFormats { tools, ..MessageFormats::default() },
            ..ServerOptions::default()
        }
    };
    let address = serve_by(hey("http-tools-format-kimi"), formats("kimi_k2"));
    let fields = json!({ "tools": two_tools(), "tool_choice": "required" });
    let answer = chat(address, "http-tools-format-kimi", fields).json();
    let call = &answer["choices"][0]["message"]["tool_calls"][0];
    // The id is the model's own, which its template prints back.
    let (id, name) = (call["id"].as_str().unwrap(), call["function"]["name"].as_str().unwrap());
    let number = id.strip_prefix(&format!("functions.{name}:")).unwrap();
    assert!(number.parse::<u16>().is_ok(), "{id}");
    // A format whose tokens the model lacks is refused before a request comes.
    let listener = Server::listen(([127, 0, 0, 1], 0).into()).unwrap();
    let source = ModelSource::Folder(hey("http-tools-format-mistral"));
    let engine = Engine::load(&ModelOptions { source, ..Default::default() }).unwrap();
    let error = Server::new(listener, engine, formats("mistral")).err().unwrap();
    assert!(error.to_string().contains("[TOOL_CALLS]"), "{error}");
}

/// OpenAI's custom tools: one text of a format, in every spelling of calls.
#[test]
fn custom_tools_take_a_text() {
    let grammar = "start: SIGN* \"end\\n\"\nSIGN: \"<\" | \"\\\"\" | \"é\"";
    let tool = |name: &str, format: Value| json!({ "type": "custom", "custom": { "name": name, "description": "d", "format": format } });
    let tools = json!([
        tool(
            "sum",
            json!({ "type": "grammar", "grammar": { "syntax": "regex", "definition": "[0-9&&[^2-9]]{3}\\n" } })
        ),
        tool("signs", json!({ "type": "grammar", "syntax": "lark", "definition": grammar })),
        two_tools()[1],
    ]);
    let coder = WITH_TOOLS.replace("<tool_call>", "<tool_call> <function=");
    for (model, template) in [
        ("http-custom-json", ""),
        ("http-custom-qwen", WITH_TOOLS),
        ("http-custom-qwen-coder", &coder),
    ] {
        let address = match template {
            "" => serve(hey(model), &[]),
            template => serve_with(model, template),
        };
        for (name, pattern) in [("sum", "^[01]{3}\n$"), ("signs", "^[<\"é]*end\n$")] {
            let choice = json!({ "type": "custom", "custom": { "name": name } });
            let mut fields = json!({ "tools": tools, "tool_choice": choice, "temperature": 1, "seed": 3,
                "max_tokens": 4000 });
            let answer = chat(address, model, fields.clone());
            assert_eq!(answer.status, 200, "{}", answer.body);
            let whole = &answer.json()["choices"][0];
            assert_eq!(whole["finish_reason"], "tool_calls", "{whole}");
            let call = &whole["message"]["tool_calls"][0];
            assert_eq!((&call["type"], &call["custom"]["name"]), (&json!("custom"), &json!(name)));
            let input = call["custom"]["input"].as_str().unwrap();
            assert!(
                regex::Regex::new(pattern).unwrap().is_match(input),
                "{model} {name}: {input:?}"
            );
            fields["stream"] = json!(true);
            let (mut kinds, mut pieces) = (Vec::new(), String::new());
            for event in chat(address, model, fields).events() {
                let Ok(event) = serde_json::from_str::<Value>(&event) else { continue };
                let call = &event["choices"][0]["delta"]["tool_calls"][0];
                kinds.extend(call["type"].as_str().map(str::to_owned));
                pieces += call["custom"]["input"].as_str().unwrap_or_default();
            }
            assert_eq!(
                (kinds, pieces.as_str()),
                (vec!["custom".to_owned()], input),
                "{model} {name}"
            );
        }
        // A function beside them is called as ever, and a call comes back in the next request.
        let history = json!([
            { "role": "user", "content": "?" },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_1", "type": "custom", "custom": { "name": "sum", "input": "001\n" } }] },
            { "role": "tool", "tool_call_id": "call_1", "content": "1" },
        ]);
        let fields = json!({ "tools": tools, "messages": history,
            "tool_choice": { "type": "function", "function": { "name": "time" } } });
        let answer = chat(address, model, fields);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let call = &answer.json()["choices"][0]["message"]["tool_calls"][0];
        assert_eq!(
            (&call["type"], &call["function"]["arguments"]),
            (&json!("function"), &json!("{}"))
        );
    }
    let model = "http-custom-refused";
    let address = serve(hey(model), &[]);
    for (definition, syntax, words) in [
        ("start: \"(\" start? \")\"", "lark", "calls itself"),
        ("start: nothing", "lark", "never defined"),
        ("(", "regex", "unclosed"),
        ("a{70000}", "regex", "states"),
    ] {
        let format = json!({ "type": "grammar", "syntax": syntax, "definition": definition });
        let fields = json!({ "tools": [tool("t", format)], "tool_choice": "required" });
        let answer = chat(address, model, fields);
        assert_eq!(answer.status, 400, "{definition}: {}", answer.body);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(words) && message.contains("tool `t`"), "{message}");
    }
}

/// In pieces as in a whole, blanks beside calls are no text; their tokens are told all the same.
#[test]
fn blanks_beside_calls_are_not_streamed() {
    let model = "http-tools-blanks";
    let call = 257;
    let follows = [(u32::from(b'>'), u32::from(b'\n')), (u32::from(b'\n'), call)];
    let folder = parrot(model, &follows, 2048);
    let mut tokenizer = byte_tokenizer();
    let token = json!({ "id": call, "content": "<tool_call>", "special": false,
        "single_word": false, "lstrip": false, "rstrip": false, "normalized": false });
    tokenizer["added_tokens"].as_array_mut().unwrap().push(token);
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(folder.join("chat_template.jinja"), WITH_TOOLS).unwrap();
    let address = serve(folder, &[]);
    // One token is a blank without a call.
    for (most, content, calls) in [(200, None, 1), (1, Some("\n"), 0)] {
        let fields = |stream: bool| {
            json!({ "tools": two_tools(), "parallel_tool_calls": false, "logprobs": true,
                "max_tokens": most, "stream": stream })
        };
        let whole = chat(address, model, fields(false)).json()["choices"][0].clone();
        let message = &whole["message"];
        assert_eq!(message["content"].as_str(), content, "{whole}");
        assert_eq!(message["tool_calls"].as_array().map_or(0, Vec::len), calls, "{whole}");
        assert_eq!(whole["logprobs"]["content"][0]["token"], "\n", "{whole}");
        let (mut text, mut tokens) = (None, Vec::new());
        for event in chat(address, model, fields(true)).events() {
            let Ok(event) = serde_json::from_str::<Value>(&event) else { continue };
            let choice = &event["choices"][0];
            if let Some(delta) = choice["delta"]["content"].as_str() {
                *text.get_or_insert_with(String::new) += delta;
            }
            tokens.extend(choice["logprobs"]["content"].as_array().into_iter().flatten().cloned());
        }
        assert_eq!(text.as_deref(), content);
        assert_eq!(json!(tokens), whole["logprobs"]["content"]);
    }
}
