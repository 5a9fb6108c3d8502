//! Reasoning: before the answer, beside it in what is told, and within its budget.

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::tools::two_tools;
use crate::{chat, serve, serve_with};

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

#[test]
fn a_variable_of_the_template_switches_reasoning_on() {
    let model = "http-reasoning-variable";
    let text = "{% for m in messages %}{{ m.content }}{% endfor %}";
    let template = format!("{text}{{% if enable_thinking %}}<think>{{% endif %}}>");
    let address = serve_with(model, &template);
    // Behind the tag that the prompt has opened the model goes on.
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
