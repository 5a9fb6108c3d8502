//! The body of a chat completion.

use serde_json::{Map, Value, json};

use super::answer_format::{self, AnswerFormat};
use super::constraint_key::constraint_key;
use super::fields::Fields;
use super::generation_fields::{GenerationFields, GenerationSettings, LogprobsField};
use super::harmless::ignore_harmless;
use super::messages::messages;
use super::model_name::require_model;
use super::template;
use super::tools::{self, CONTINUE, ReasoningRequest, RequestTools, beside_begun};
use crate::engine::Engine;
use crate::model::Message;
use crate::server::api_error::ApiError;

/// A request for a chat completion, read and checked.
pub(crate) struct ChatRequest {
    pub(crate) messages: Vec<Message>,
    /// The beginning of the answer.
    pub(crate) prefill: String,
    pub(crate) format: AnswerFormat,
    pub(crate) tools: Option<RequestTools>,
    pub(crate) reasoning: ReasoningRequest,
    /// `reasoning_effort` in the words of chat templates.
    effort: Option<&'static str>,
    /// A text of all fields that may bear on the constraint, by which it is found again.
    pub(crate) constraint_key: String,
    /// More variables for the chat template.
    pub(crate) template_variables: Map<String, Value>,
    pub(crate) generation: GenerationFields,
}

impl ChatRequest {
    /// Whether the answer has a constraint, which takes time to compile.
    pub(crate) fn is_constrained(&self) -> bool {
        !self.format.is_text()
            || self.tools.is_some()
            || matches!(self.reasoning, ReasoningRequest::Wanted(_))
    }

    /// Lets the message begin with reasoning where the variables of the chat template ask for it, by a name
    /// that the template knows, and no other field says anything of it. Where one does, the template is told.
    pub(crate) fn think_by_template(&mut self, engine: &Engine) {
        let Ok(template) = engine.model().chat_template() else { return };
        let variables = &mut self.template_variables;
        match self.reasoning {
            ReasoningRequest::Unsaid if template::asks_to_think(variables, template) => {
                self.reasoning = ReasoningRequest::Wanted(None);
            }
            ReasoningRequest::Unsaid => {}
            ReasoningRequest::Wanted(_) | ReasoningRequest::Declined => {
                let thinks = self.reasoning != ReasoningRequest::Declined;
                template::set_thinking(variables, template, thinks, self.effort);
            }
        }
    }

    /// Reads a body for the model that is served under these names, with these settings for what it
    /// does not say.
    pub(crate) fn read(
        body: Value,
        models: &[String],
        server: &GenerationSettings,
    ) -> Result<Self, ApiError> {
        let constraint_key = constraint_key(&body);
        let mut fields = Fields::new("", body)?;
        require_model(&mut fields, models)?;
        let mut messages = messages(&mut fields)?;
        let prefill = prefill(&mut fields, &mut messages)?;
        let format = answer_format::read(&mut fields)?;
        let tools = tools::read(&mut fields)?;
        let (reasoning, effort) = tools::reasoning(&mut fields)?;
        let template_variables = template::variables(&mut fields)?;
        if !prefill.is_empty() && tools.is_some() {
            return Err(beside_begun("tools, of which a call may come first"));
        }
        tools::check_thinking(reasoning, &template_variables)?;
        let generation = GenerationFields::read(&mut fields, LogprobsField::Chat, server)?;
        ignore_or_refuse_rest(&mut fields)?;
        fields.finish()?;
        Ok(Self {
            messages,
            prefill,
            format,
            tools,
            reasoning,
            effort,
            constraint_key,
            template_variables,
            generation,
        })
    }
}

/// The text of the last message, where it is the assistant's and `continue_final_message` says that it is the beginning
/// of the answer.
fn prefill(fields: &mut Fields, messages: &mut Vec<Message>) -> Result<String, ApiError> {
    if !fields.flag(CONTINUE)?.unwrap_or(false) {
        return Ok(String::new());
    }
    // vLLM wants it said, too.
    fields.only("add_generation_prompt", Value::is_boolean, "write true or false")?;
    let last = messages.pop().filter(|last| last.role == "assistant" && last.more.is_empty());
    match last {
        Some(last) if !messages.is_empty() && !last.content.is_empty() => Ok(last.content),
        _ => {
            let message =
                "asks for an answer that is begun: end a conversation with a text of the assistant";
            Err(ApiError::field(CONTINUE, message))
        }
    }
}

/// Accepts the fields that cannot change the answer, and refuses those of OpenAI's API that are not
/// implemented.
fn ignore_or_refuse_rest(fields: &mut Fields) -> Result<(), ApiError> {
    ignore_harmless(fields)?;
    let is_empty = |value: &Value| {
        value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty)
    };
    let leave = "leave it out";
    let newer = "leave it out, and write `tools` and `tool_choice`, which took its place";
    fields.only("functions", is_empty, newer)?;
    let no_choice = |value: &Value| matches!(value.as_str(), Some("none" | "auto"));
    fields.only("function_call", no_choice, newer)?;
    fields.only("echo", |value| value == false, "the answer alone is sent")?;
    let answer = "the model answers the conversation";
    fields.only("add_generation_prompt", |value| value == true, answer)?;
    let text_only = |value: &Value| value == &json!(["text"]);
    fields.only("modalities", text_only, "this model writes text only")?;
    fields.only("audio", is_empty, "this model writes text only")?;
    fields.only("verbosity", |value| value == "medium", leave)?;
    fields.only("web_search_options", |_| false, leave)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::SamplingParams;

    fn read(extra: Value) -> Result<ChatRequest, ApiError> {
        let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
        if let (Value::Object(body), Value::Object(extra)) = (&mut body, extra) {
            body.extend(extra);
        }
        ChatRequest::read(body, &["m".to_owned()], &GenerationSettings::default())
    }

    #[test]
    fn a_request_wins_over_the_model_s_settings() {
        let sampling = SamplingParams { temperature: 0.7, top_k: Some(20), ..Default::default() };
        let defaults =
            GenerationSettings { sampling, max_tokens: Some(9), ..GenerationSettings::default() };
        let read = |extra: Value| {
            let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "" }] });
            body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            let read = ChatRequest::read(body, &["m".to_owned()], &defaults).unwrap().generation;
            (read.sampling.temperature, read.sampling.top_k, read.budget.tokens)
        };
        assert_eq!(read(json!({})), (0.7, Some(20), Some(9)));
        assert_eq!(read(json!({ "temperature": null })), (0.7, Some(20), Some(9)));
        let own = json!({ "temperature": 1, "top_k": -1, "max_tokens": -1 });
        assert_eq!(read(own), (1.0, None, None));
        assert_eq!(read(json!({ "top_k": 3, "max_tokens": 4 })), (0.7, Some(3), Some(4)));
    }

    fn tool(name: &str) -> Value {
        json!({ "type": "function", "function": { "name": name } })
    }

    #[test]
    fn what_would_change_the_answer_is_refused_by_name() {
        for (extra, param) in [
            (json!({ "temprature": 1 }), "temprature"),
            (json!({ "temperature": "hot" }), "temperature"),
            (json!({ "temperature": -0.5 }), "temperature"),
            (json!({ "repetition_penalty": 1.1, "repeat_penalty": 1.1 }), "repeat_penalty"),
            (json!({ "skip_special_tokens": false }), "skip_special_tokens"),
            (json!({ "top_p": -0.1 }), "top_p"),
            (json!({ "repetition_penalty": 0 }), "repetition_penalty"),
            (json!({ "max_tokens": 0 }), "max_tokens"),
            (json!({ "max_tokens": -2 }), "max_tokens"),
            (json!({ "max_tokens": -1, "max_completion_tokens": 6 }), "max_tokens"),
            (json!({ "top_n_sigma": -2 }), "top_n_sigma"),
            (json!({ "max_tokens": 5, "max_completion_tokens": 6 }), "max_tokens"),
            (json!({ "max_tokens": 5, "n_predict": 6 }), "n_predict"),
            (json!({ "n_predict": 0 }), "n_predict"),
            (json!({ "separate_reasoning": false }), "separate_reasoning"),
            (json!({ "include_reasoning": false }), "include_reasoning"),
            (json!({ "reasoning_format": "none" }), "reasoning_format"),
            (json!({ "bad_words": ["x"] }), "bad_words"),
            (json!({ "no_stop_trim": true }), "no_stop_trim"),
            (json!({ "lora": [{ "id": 0 }] }), "lora"),
            (json!({ "n": 0 }), "n"),
            (json!({ "stop": [""] }), "stop"),
            (json!({ "stop": 7 }), "stop"),
            (json!({ "stop_regex": 7 }), "stop_regex"),
            (json!({ "logprobs": 3 }), "logprobs"),
            (json!({ "trace": 1 }), "trace"),
            (json!({ "top_logprobs": 2 }), "top_logprobs"),
            (json!({ "logprobs": true, "top_logprobs": 21 }), "top_logprobs"),
            (json!({ "logit_bias": { "x": 1 } }), "logit_bias"),
            (json!({ "logit_bias": { "5": 101 } }), "logit_bias"),
            (json!({ "typical_p": 2 }), "typical_p"),
            (json!({ "top_k": -2 }), "top_k"),
            (json!({ "num_beams": 2, "n": 3 }), "n"),
            (json!({ "faithfulness": "yes" }), "faithfulness"),
            (json!({ "mirostat": 1 }), "mirostat"),
            (json!({ "samplers": ["top_q"] }), "samplers"),
            (json!({ "penalty_scope": "all of it" }), "penalty_scope"),
            (json!({ "stop_token_ids": [-1] }), "stop_token_ids"),
            (json!({ "best_of": 0 }), "best_of"),
            (json!({ "best_of": 1, "n": 3 }), "n"),
            (json!({ "num_beams": "many" }), "num_beams"),
            (json!({ "early_stopping": "later" }), "early_stopping"),
            (json!({ "speculate": "beam" }), "speculate"),
            (json!({ "token_healing": 1 }), "token_healing"),
            (json!({ "tools": {} }), "tools"),
            (json!({ "tools": [{ "type": "function" }] }), "tools[0].function"),
            (json!({ "tools": [{ "type": "retrieval" }] }), "tools[0].type"),
            (json!({ "tools": [{ "type": "custom" }] }), "tools[0].custom"),
            (
                json!({ "tools": [{ "type": "custom", "custom": { "name": "a",
                    "format": { "type": "grammar", "syntax": "gbnf", "definition": "a" } } }] }),
                "tools[0].custom.format",
            ),
            (json!({ "tools": [tool("a b")] }), "tools[0].function.name"),
            (json!({ "tools": [tool("a"), tool("a")] }), "tools[1].function.name"),
            (
                json!({ "tools": [{ "type": "function", "function": { "name": "a", "x": 1 } }] }),
                "tools[0].function.x",
            ),
            (json!({ "tool_choice": "required" }), "tool_choice"),
            (json!({ "tools": [tool("a")], "tool_choice": "some" }), "tool_choice"),
            (json!({ "tool_choice": "any" }), "tool_choice"),
            (json!({ "seed": 1, "random_seed": 1 }), "random_seed"),
            (
                json!({ "tools": [tool("a")],
                    "tool_choice": { "type": "function", "function": { "name": "b" } } }),
                "tool_choice.function.name",
            ),
            (
                json!({ "tools": [tool("a")], "tool_choice": { "type": "allowed_tools",
                    "allowed_tools": { "mode": "auto", "tools": [tool("b")] } } }),
                "tool_choice.allowed_tools.tools[0].function.name",
            ),
            (json!({ "functions": [{ "name": "a" }] }), "functions"),
            (json!({ "parallel_tool_calls": 1 }), "parallel_tool_calls"),
            (json!({ "reasoning_effort": "hard" }), "reasoning_effort"),
            (json!({ "reasoning_budget": -1 }), "reasoning_budget"),
            (json!({ "reasoning_effort": "none", "reasoning_budget": 9 }), "reasoning_budget"),
            (json!({ "stream_options": {} }), "stream_options"),
            (json!({ "stream": true, "stream_options": { "x": 1 } }), "stream_options.x"),
            (json!({ "response_format": { "type": "xml" } }), "response_format.type"),
            (
                json!({ "response_format": { "type": "json_schema" } }),
                "response_format.json_schema",
            ),
            (
                json!({ "response_format": { "type": "json_schema", "json_schema": {} } }),
                "response_format.json_schema.schema",
            ),
            (json!({ "response_format": { "type": "text", "x": 1 } }), "response_format.x"),
            (json!({ "messages": [] }), "messages"),
            (json!({ "messages": [{ "role": "critic", "content": "" }] }), "messages[0].role"),
            (
                json!({ "messages": [{ "role": "tool", "content": "" }] }),
                "messages[0].tool_call_id",
            ),
            (json!({ "messages": [{ "role": "assistant" }] }), "messages[0].content"),
            (
                json!({ "messages": [{ "role": "assistant", "tool_calls": [{ "id": "1" }] }] }),
                "messages[0].tool_calls[0].function",
            ),
            (
                json!({ "messages": [{ "role": "user", "content": "", "tool_calls": [{}] }] }),
                "messages[0].tool_calls",
            ),
            (json!({ "messages": [{ "role": "user" }] }), "messages[0].content"),
            (
                json!({ "messages": [{ "role": "user", "content": "", "name": 7 }] }),
                "messages[0].name",
            ),
            (
                json!({ "messages": [{ "role": "user", "content": "", "parsed": {} }] }),
                "messages[0].parsed",
            ),
            (json!({ "messages": [{ "role": "function", "content": "" }] }), "messages[0].name"),
            (json!({ "parsed": {} }), "parsed"),
            (
                json!({ "messages": [{ "role": "assistant", "tool_calls": [{ "id": "1",
                    "parsed_arguments": {},
                    "function": { "name": "a", "arguments": "{}" } }] }] }),
                "messages[0].tool_calls[0].parsed_arguments",
            ),
            (
                json!({ "messages": [{ "role": "assistant", "function_call": { "name": "a" } }] }),
                "messages[0].function_call.arguments",
            ),
            (
                json!({ "messages": [{ "role": "user", "content": [{ "type": "image_url" }] }] }),
                "messages[0].content[0].type",
            ),
        ] {
            let error = read(extra.clone()).err().unwrap_or_else(|| panic!("{extra} was accepted"));
            assert_eq!(error.object()["error"]["param"], param, "{extra}");
        }
    }

    #[test]
    fn what_cannot_change_the_answer_is_accepted() {
        for extra in [
            json!({}),
            json!({ "user": "someone", "metadata": { "a": "b" }, "store": false, "n": 1 }),
            json!({ "logprobs": true, "top_logprobs": 20 }),
            json!({ "logprobs": false, "logit_bias": {}, "tools": [], "parallel_tool_calls": true }),
            json!({ "temperature": null, "tools": null, "response_format": null, "stop": null }),
            json!({ "seed": -1, "stop": "x", "response_format": { "type": "text" } }),
            json!({ "stream": true, "stream_options": { "include_usage": true } }),
            json!({ "logit_bias": { "5": -100, "7": 0.5 }, "top_n_sigma": 1.5, "typical_p": 0.9 }),
            json!({ "xtc_probability": 0.5, "xtc_threshold": 0.2, "repeat_last_n": 64 }),
            json!({ "repeat_last_n": -1, "dry_penalty_last_n": -1, "top_k": -1 }),
            json!({ "mirostat": 2, "mirostat_tau": 4, "mirostat_eta": 0.2 }),
            json!({ "dry_multiplier": 0.8, "dry_base": 2, "dry_allowed_length": 3,
                "dry_penalty_last_n": 100, "dry_sequence_breakers": ["\n"] }),
            json!({ "min_tokens": 4, "ignore_eos": true, "stop_token_ids": [7],
                "include_stop_str_in_output": true, "best_of": 2 }),
            json!({ "num_beams": 4, "length_penalty": 0.5, "early_stopping": "never" }),
            json!({ "samplers": ["temperature", "top_k"], "top_k": 5, "speculate": "draft" }),
            // As the documents of vLLM, SGLang and llama.cpp, and programs for them, write it.
            json!({ "include_reasoning": true, "bad_words": [] }),
            json!({ "separate_reasoning": true, "stream_reasoning": true, "no_stop_trim": false,
                "return_hidden_states": false, "rid": "x" }),
            json!({ "n_predict": 5, "max_tokens": 5, "id_slot": -1, "return_tokens": false,
                "reasoning_format": "auto", "parse_tool_calls": true, "lora": [] }),
            json!({ "token_healing": true, "canonical": true, "rejection": true }),
            json!({ "tools": [tool("a"), tool("b")], "tool_choice": "none" }),
            json!({ "tools": [{ "type": "function", "function": { "name": "a" },
                "cache_control": { "type": "ephemeral" } }] }),
            json!({ "tools": [tool("a")], "parallel_tool_calls": false,
                "tool_choice": { "type": "function", "function": { "name": "a" } } }),
            json!({ "reasoning_effort": "low" }),
            json!({ "reasoning_budget": 0 }),
            json!({ "top_n_sigma": -1, "max_tokens": -1 }),
            json!({ "max_tokens": -1, "max_completion_tokens": -1 }),
            // What clients that serialise whole structs leave empty.
            json!({ "no_such_field": null, "chat_template_kwargs": null,
                "stream": true, "stream_options": { "include_usage": true, "no_such": null },
                "response_format": { "type": "json_schema", "no_such": null,
                    "json_schema": { "name": "a", "schema": {}, "no_such": null } },
                "tools": [{ "type": "function", "no_such": null,
                    "function": { "name": "a", "no_such": null } }] }),
            json!({ "messages": [
                { "role": "developer", "content": "", "name": "d", "tool_call_id": null },
                { "role": "user", "cache_control": { "type": "ephemeral" }, "content": [{ "type": "text",
                    "text": "", "image_url": null, "cache_control": { "type": "ephemeral" } }],
                    "name": "u", "tool_calls": null, "no_such": null },
                { "role": "assistant", "content": null, "reasoning_content": "hm" },
                { "role": "assistant", "content": "{}", "name": "a", "parsed": { "b": 1 },
                    "refusal": null, "audio": null, "function_call": null, "annotations": [],
                    "tool_calls": [{ "id": "1", "type": "function", "no_such": null,
                        "function": { "name": "a", "arguments": "{}", "parsed_arguments": {} } }] },
                { "role": "tool", "tool_call_id": "1", "name": "a", "content": "" },
                { "role": "assistant", "content": null,
                    "function_call": { "name": "a", "arguments": "{}" } },
                { "role": "function", "name": "a", "content": "" },
            ] }),
            json!({ "allowed_token_ids": [1, 2], "banned_token_ids": [2],
                "penalty_scope": "output", "penalize_forced": true }),
        ] {
            let read = read(extra.clone());
            assert!(read.is_ok(), "{extra}: {:?}", read.err());
        }
    }

    #[test]
    fn text_parts_and_roles_become_messages() {
        let messages = json!([
            { "role": "developer", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            { "role": "assistant", "content": "c", "refusal": null, "tool_calls": null },
        ]);
        let read = read(json!({ "messages": messages })).unwrap();
        let read: Vec<_> =
            read.messages.iter().map(|m| (m.role.as_str(), m.content.as_str())).collect();
        assert_eq!(read, [("system", "a\nb"), ("assistant", "c")]);
    }
}
