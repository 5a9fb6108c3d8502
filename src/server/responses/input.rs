//! The body of a request for a response, as that of a chat completion: items become messages, `text`
//! becomes `response_format`, and what has the same name in both stays.

use serde_json::{Map, Value, json};

use crate::sampling::SamplingParams;
use crate::server::api_error::ApiError;
use crate::server::request::{Fields, wrong};
use crate::server::response::unique_id;
use crate::server::response_store::ResponseStore;

/// The parts of a request that its response repeats or stores.
pub(super) struct ResponseInput {
    /// Members of the response that say what was asked for.
    pub(super) asked: Map<String, Value>,
    /// The items of the request, each with an id.
    pub(super) items: Vec<Value>,
    /// The items of the response that this one goes on from.
    pub(super) earlier: Vec<Value>,
    /// Whether the response is kept.
    pub(super) store: bool,
}

/// Values of `include` that ask for what is there anyway, or cannot be here.
const INCLUDES: [&str; 2] = ["reasoning.encrypted_content", "message.output_text.logprobs"];

impl ResponseInput {
    /// Reads a body, and gives that of the chat completion.
    pub(super) fn read(
        mut fields: Fields,
        store: &ResponseStore,
    ) -> Result<(Self, Value), ApiError> {
        let mut asked = Map::new();
        let mut chat = Map::new();
        let mut earlier = Vec::new();
        let previous = fields.string("previous_response_id")?;
        if let Some(id) = &previous {
            let found = store.conversation(id);
            earlier = found.ok_or_else(|| ApiError::unknown_previous_response(id))?;
        }
        asked.insert("previous_response_id".to_owned(), json!(previous));
        let items = items(&mut fields, store)?;
        let instructions = fields.string("instructions")?;
        let mut messages = Vec::new();
        if let Some(instructions) = &instructions {
            messages.push(json!({ "role": "system", "content": instructions }));
        }
        asked.insert("instructions".to_owned(), json!(instructions));
        let mut conversation = Conversation { messages, reasoning: None };
        for (i, item) in earlier.iter().chain(&items).enumerate() {
            let index = i.checked_sub(earlier.len());
            let place =
                index.map_or_else(|| "previous_response_id".to_owned(), |i| format!("input[{i}]"));
            conversation.add(place, item.clone())?;
        }
        chat.insert("messages".to_owned(), conversation.messages.into());
        text_format(&mut fields, &mut asked, &mut chat)?;
        tools(&mut fields, &mut asked, &mut chat)?;
        reasoning(&mut fields, &mut asked, &mut chat)?;
        let max = fields.value("max_output_tokens");
        asked.insert("max_output_tokens".to_owned(), json!(max));
        chat.extend(max.map(|max| ("max_completion_tokens".to_owned(), max)));
        logprobs(&mut fields, &mut asked, &mut chat)?;
        // Sent by clients unasked, or done anyway.
        let cure = "leave it out";
        fields.only("background", |value| value == false, "hang up instead, or wait")?;
        fields.only("truncation", |value| value == "disabled", "shorten the input")?;
        fields.only("conversation", |_| false, "write `previous_response_id`")?;
        fields.only("prompt", |_| false, "write `instructions` and `input`")?;
        fields.only("trace", |value| value == false, "chat completions have it")?;
        let cure_of_begun = "end with the user; chat completions have it";
        fields.only("continue_final_message", |value| value == false, cure_of_begun)?;
        fields.only("n", |value| value == 1, "send several requests")?;
        fields.only("prompt_logprobs", |value| value == false, "chat completions have it")?;
        // It bounds calls of tools that a server runs itself, of which there are none here.
        fields.ignore("max_tool_calls");
        fields.ignore("context_management");
        for name in
            ["messages", "response_format", "max_tokens", "max_completion_tokens", "n_predict"]
        {
            fields.only(name, |_| false, "it is a field of chat completions")?;
        }
        fields.only("logprobs", |_| false, "write it into `include`")?;
        fields.only("reasoning_effort", |_| false, "write `reasoning`")?;
        if let Some(options) = fields.value("stream_options") {
            let mut options = Fields::new("stream_options", options)?;
            options.ignore("include_obfuscation");
            options.only("include_usage", Value::is_boolean, cure)?;
            options.finish()?;
        }
        let store_it = fields.flag("store")?.unwrap_or(true);
        asked.insert("store".to_owned(), json!(store_it));
        let mut rest = fields.into_rest();
        for (name, default) in
            [("metadata", json!({})), ("user", Value::Null), ("parallel_tool_calls", json!(true))]
        {
            let value = rest.get(name).filter(|value| !value.is_null()).cloned();
            asked.insert(name.to_owned(), value.unwrap_or(default));
        }
        let metadata = asked.get("metadata").and_then(Value::as_object);
        if !metadata.is_some_and(|metadata| metadata.values().all(Value::is_string)) {
            return Err(ApiError::field("metadata", "must be an object whose values are strings"));
        }
        rest.append(&mut chat);
        Ok((Self { asked, items, earlier, store: store_it }, rest.into()))
    }

    /// Takes note of the sampling in force, which the model's makers recommend where the request says nothing.
    pub(super) fn note_sampling(&mut self, sampling: &SamplingParams) {
        for (name, value) in [("temperature", sampling.temperature), ("top_p", sampling.top_p)] {
            // The number that has these digits, as the request or a file wrote it: 0.7 of 32 bits is 0.69999998…
            let written = value.to_string().parse().unwrap_or(f64::from(value));
            self.asked.insert(name.to_owned(), json!(written));
        }
    }
}

/// The error with the name that a field of a chat completion has in a request for a response.
pub(super) fn renamed(error: ApiError) -> ApiError {
    error.renamed(|name| {
        let renamed = [
            ("response_format.json_schema", "text.format"),
            ("response_format", "text.format"),
            ("max_completion_tokens", "max_output_tokens"),
            ("reasoning_effort", "reasoning.effort"),
            ("messages", "input"),
        ]
        .into_iter()
        .find_map(|(old, new)| name.strip_prefix(old).map(|rest| format!("{new}{rest}")));
        // Functions and custom tools have no object around them.
        let flat = renamed.unwrap_or_else(|| name.to_owned());
        Some(flat.replace("].function", "]").replace("].custom", "]"))
    })
}

/// Greatest size of the stored items that a request refers to, as JSON: each is copied.
const MAX_REFERENCED_BYTES: usize = 16 << 20;

/// The items of `input`, each with an id; references are replaced by what they refer to.
fn items(fields: &mut Fields, store: &ResponseStore) -> Result<Vec<Value>, ApiError> {
    let wanted = "a string, or a list of items";
    let mut items = match fields.value("input") {
        Some(Value::String(text)) => {
            let part = json!({ "type": "input_text", "text": text });
            vec![json!({ "type": "message", "role": "user", "content": [part] })]
        }
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(value) => return Err(wrong("input", wanted, &value)),
        None => return Err(ApiError::field("input", format!("is missing; write {wanted}"))),
    };
    let mut referenced_bytes = 0;
    for (i, item) in items.iter_mut().enumerate() {
        // A reference may come without its type, as an id alone.
        let is_alone = || item.as_object().is_some_and(|members| members.keys().eq(["id"]));
        if item["type"] == "item_reference" || is_alone() {
            let name = format!("input[{i}].id");
            let id = item["id"].as_str().unwrap_or_default();
            let found = store.item(id);
            *item = found.ok_or_else(|| {
                ApiError::field(&name, "is no item that was stored; write the item itself")
            })?;
            referenced_bytes += item.to_string().len();
            if referenced_bytes > MAX_REFERENCED_BYTES {
                let message = format!(
                    "refers to more than {} MiB of stored items together with those before it",
                    MAX_REFERENCED_BYTES >> 20
                );
                return Err(ApiError::field(&name, message));
            }
        } else if item.is_object() && !store.has(item) {
            // An id of the client's own would stand for another client's item.
            let prefix = match item["type"].as_str() {
                Some("function_call") => "fc_",
                Some("function_call_output") => "fco_",
                Some("custom_tool_call") => "ctc_",
                Some("custom_tool_call_output") => "ctco_",
                Some("reasoning") => "rs_",
                _ => "msg_",
            };
            item["id"] = json!(unique_id(prefix));
            write_out_message(item);
        }
    }
    Ok(items)
}

/// Writes a message in OpenAI's short form, `{"role": …, "content": "…"}`, as it is stored and listed.
fn write_out_message(item: &mut Value) {
    if item["type"].is_null() && item["role"].is_string() {
        item["type"] = json!("message");
    }
    if item["type"] == "message"
        && let Some(text) = item["content"].as_str()
    {
        let kind = if item["role"] == "assistant" { "output_text" } else { "input_text" };
        item["content"] = json!([{ "type": kind, "text": text }]);
    }
}

/// Messages, from items one after the other.
struct Conversation {
    messages: Vec<Value>,
    /// Reasoning of the message that comes next.
    reasoning: Option<String>,
}

impl Conversation {
    fn add(&mut self, place: String, item: Value) -> Result<(), ApiError> {
        let kind = item["type"].as_str().unwrap_or("message").to_owned();
        let mut fields = Fields::new(place, item)?;
        fields.ignore("type");
        fields.ignore("id");
        fields.ignore("status");
        match kind.as_str() {
            "message" => self.message(&mut fields)?,
            "function_call" => {
                let call = required(&mut fields, &["call_id", "name", "arguments"])?;
                fields.ignore("parsed_arguments");
                fields.ignore("namespace");
                let function = json!({ "name": call[1], "arguments": call[2] });
                self.call(json!({ "id": call[0], "type": "function", "function": function }));
            }
            "custom_tool_call" => {
                let call = required(&mut fields, &["call_id", "name", "input"])?;
                let custom = json!({ "name": call[1], "input": call[2] });
                self.call(json!({ "id": call[0], "type": "custom", "custom": custom }));
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = required(&mut fields, &["call_id"])?;
                let name = fields.name("output");
                let output = fields.value("output").unwrap_or_default();
                let output = content_text(&name, output)?;
                self.end_reasoning();
                self.messages
                    .push(json!({ "role": "tool", "tool_call_id": id[0], "content": output }));
            }
            "reasoning" => {
                let name = fields.name("content");
                if let Some(content) = fields.value("content") {
                    let more = content_text(&name, content)?;
                    self.reasoning = Some(match self.reasoning.take() {
                        Some(before) => format!("{before}\n{more}"),
                        None => more,
                    });
                }
                // A summary is no text of the model's, and nothing is encrypted here.
                fields.ignore("summary");
                fields.ignore("encrypted_content");
            }
            _ => {
                let wanted = "\"message\", \"function_call\", \"function_call_output\", \
                              \"custom_tool_call\", \"custom_tool_call_output\", \"reasoning\" or \
                              \"item_reference\"";
                return Err(wrong(&fields.name("type"), wanted, &kind.into()));
            }
        }
        fields.finish()
    }

    fn message(&mut self, fields: &mut Fields) -> Result<(), ApiError> {
        let name = fields.name("role");
        let role = fields.string("role")?;
        let role = role.ok_or_else(|| ApiError::field(&name, "is missing; write who speaks"))?;
        if !["user", "assistant", "system", "developer"].contains(&role.as_str()) {
            let wanted = "\"user\", \"assistant\", \"system\" or \"developer\"";
            return Err(wrong(&name, wanted, &role.into()));
        }
        let name = fields.name("content");
        let content = fields.value("content");
        let content = content.ok_or_else(|| ApiError::field(&name, "is missing; write a text"))?;
        let mut message = json!({ "role": role, "content": content_text(&name, content)? });
        fields.ignore("phase");
        if role == "assistant"
            && let Some(reasoning) = self.reasoning.take()
        {
            message["reasoning_content"] = json!(reasoning);
        }
        self.end_reasoning();
        self.messages.push(message);
        Ok(())
    }

    /// Reasoning that no answer follows does not belong to a later one: it is a part of the message of the assistant
    /// before it, or a message of its own.
    fn end_reasoning(&mut self) {
        let Some(reasoning) = self.reasoning.take() else { return };
        let last = self.messages.last_mut().filter(|last| last["role"] == "assistant");
        if let Some(last) = last {
            let text = match last["reasoning_content"].as_str() {
                Some(before) => format!("{before}\n{reasoning}"),
                None => reasoning,
            };
            last["reasoning_content"] = json!(text);
        } else {
            let message =
                json!({ "role": "assistant", "content": "", "reasoning_content": reasoning });
            self.messages.push(message);
        }
    }

    /// Adds a call to the message of the assistant that it follows, or to a new one.
    fn call(&mut self, call: Value) {
        let is_assistant = self.messages.last().is_some_and(|last| last["role"] == "assistant");
        if !is_assistant || self.reasoning.is_some() {
            let mut message = json!({ "role": "assistant", "content": null });
            if let Some(reasoning) = self.reasoning.take() {
                message["reasoning_content"] = json!(reasoning);
            }
            self.messages.push(message);
        }
        if let Some(message) = self.messages.last_mut() {
            match &mut message["tool_calls"] {
                Value::Array(calls) => calls.push(call),
                none => *none = json!([call]),
            }
        }
    }
}

/// Strings that must be there.
fn required(fields: &mut Fields, names: &[&str]) -> Result<Vec<String>, ApiError> {
    let mut read = |name: &&str| {
        let place = fields.name(name);
        let missing = || ApiError::field(place, "is missing; write it as it came");
        fields.string(name)?.ok_or_else(missing)
    };
    names.iter().map(&mut read).collect()
}

/// A text, or the texts of parts, a line each.
fn content_text(place: &str, content: Value) -> Result<String, ApiError> {
    let parts = match content {
        Value::String(text) => return Ok(text),
        Value::Array(parts) => parts,
        value => return Err(wrong(place, "a string, or a list of parts", &value)),
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (i, part) in parts.into_iter().enumerate() {
        let mut part = Fields::new(format!("{place}[{i}]"), part)?;
        let kind = part.value("type").unwrap_or_default();
        let text = match kind.as_str() {
            Some("input_text" | "output_text" | "text" | "reasoning_text" | "summary_text") => {
                part.string("text")?
            }
            Some("refusal") => part.string("refusal")?,
            _ => {
                let wanted =
                    "\"input_text\", \"output_text\" or \"refusal\"; this model reads text only";
                return Err(wrong(&part.name("type"), wanted, &kind));
            }
        };
        let name = part.name("text");
        texts.push(text.ok_or_else(|| ApiError::field(name, "is missing; write a string"))?);
        for extra in
            ["annotations", "logprobs", "parsed", "cache_control", "prompt_cache_breakpoint"]
        {
            part.ignore(extra);
        }
        part.finish()?;
    }
    Ok(texts.join("\n"))
}

/// `text` as `response_format` and `verbosity`.
fn text_format(
    fields: &mut Fields,
    asked: &mut Map<String, Value>,
    chat: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    let plain = json!({ "type": "text" });
    let Some(text) = fields.value("text") else {
        asked.insert("text".to_owned(), json!({ "format": plain }));
        return Ok(());
    };
    let mut text = Fields::new("text", text)?;
    let format = text.value("format").unwrap_or_else(|| plain.clone());
    text.only("verbosity", |value| value == "medium", "leave it out")?;
    text.finish()?;
    asked.insert("text".to_owned(), json!({ "format": format }));
    let response_format = match format["type"].as_str() {
        Some("json_schema") => {
            let mut inner = Fields::new("text.format", format)?;
            inner.ignore("type");
            json!({ "type": "json_schema", "json_schema": inner.into_rest() })
        }
        Some("text") => {
            let mut members = format.as_object().into_iter().flat_map(|format| format.keys());
            if let Some(other) = members.find(|member| *member != "type") {
                let message = "is not for the type \"text\"; leave it out";
                return Err(ApiError::field(format!("text.format.{other}"), message));
            }
            plain
        }
        _ => format,
    };
    // Free text may stand beside constraints of other names.
    if response_format["type"] != "text" {
        chat.insert("response_format".to_owned(), response_format);
    }
    Ok(())
}

/// `tools` and `tool_choice`, whose functions have no object around them.
fn tools(
    fields: &mut Fields,
    asked: &mut Map<String, Value>,
    chat: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    let tools = fields.value("tools").unwrap_or_else(|| json!([]));
    let Value::Array(list) = &tools else { return Err(wrong("tools", "a list of tools", &tools)) };
    let mut nested = Vec::with_capacity(list.len());
    for (i, tool) in list.iter().enumerate() {
        let kind = match tool["type"].as_str() {
            Some(kind @ ("function" | "custom")) => kind.to_owned(),
            _ => {
                let wanted = "\"function\" or \"custom\": this server runs no tools of its own";
                return Err(wrong(&format!("tools[{i}].type"), wanted, &tool["type"]));
            }
        };
        let mut inner = Fields::new(format!("tools[{i}]"), tool.clone())?;
        inner.ignore("type");
        inner.ignore("defer_loading");
        nested.push(json!({ "type": kind, (kind.clone()): inner.into_rest() }));
    }
    asked.insert("tools".to_owned(), tools.clone());
    chat.insert("tools".to_owned(), nested.into());
    let choice = fields.value("tool_choice").unwrap_or_else(|| "auto".into());
    asked.insert("tool_choice".to_owned(), choice.clone());
    let call = |tool: &Value| {
        let kind = tool["type"].as_str().unwrap_or("function").to_owned();
        json!({ "type": kind, (kind.clone()): { "name": tool["name"] } })
    };
    let choice = match choice["type"].as_str() {
        Some("function" | "custom") => call(&choice),
        Some("allowed_tools") => {
            let empty = Vec::new();
            let list = choice["tools"].as_array().unwrap_or(&empty);
            let list: Vec<Value> = list.iter().map(call).collect();
            let allowed = json!({ "mode": choice["mode"], "tools": list });
            json!({ "type": "allowed_tools", "allowed_tools": allowed })
        }
        _ => choice,
    };
    chat.insert("tool_choice".to_owned(), choice);
    Ok(())
}

/// `reasoning`: its effort. A summary is not written; "auto" asks for one only where there is one.
fn reasoning(
    fields: &mut Fields,
    asked: &mut Map<String, Value>,
    chat: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    let mut effort = None;
    if let Some(reasoning) = fields.value("reasoning") {
        let mut reasoning = Fields::new("reasoning", reasoning)?;
        effort = reasoning.value("effort");
        let cure = "leave it out: the reasoning itself is in the output";
        reasoning.only("summary", |value| value == "auto", cure)?;
        reasoning.only("generate_summary", |value| value == "auto", cure)?;
        reasoning.finish()?;
    }
    asked.insert("reasoning".to_owned(), json!({ "effort": effort, "summary": null }));
    chat.extend(effort.map(|effort| ("reasoning_effort".to_owned(), effort)));
    Ok(())
}

/// `include` and `top_logprobs`.
fn logprobs(
    fields: &mut Fields,
    asked: &mut Map<String, Value>,
    chat: &mut Map<String, Value>,
) -> Result<(), ApiError> {
    let wanted = format!("a list of {}", INCLUDES.join(" and "));
    let include = fields.read("include", &wanted, |value| {
        let list = value.as_array()?;
        let names = list.iter().map(|name| name.as_str().filter(|name| INCLUDES.contains(name)));
        names.map(|name| name.map(str::to_owned)).collect::<Option<Vec<_>>>()
    })?;
    let has_logprobs =
        include.is_some_and(|include| include.iter().any(|name| name == INCLUDES[1]));
    let top = fields.value("top_logprobs");
    asked.insert("top_logprobs".to_owned(), top.clone().unwrap_or_else(|| json!(0)));
    if has_logprobs || top.as_ref().is_some_and(|top| top != &json!(0)) {
        chat.insert("logprobs".to_owned(), json!(true));
        chat.extend(top.map(|top| ("top_logprobs".to_owned(), top)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::openapi::reader_check::{MODEL, check, names};
    use crate::server::request::ChatRequest;

    #[test]
    fn the_document_describes_the_fields() {
        let body = json!({ "model": MODEL, "input": "a", "text": { "format": { "type": "text" } },
            "reasoning": { "effort": "low" }, "stream": true, "stream_options": {} });
        let chat = [
            "messages",
            "input",
            "response_format",
            "max_tokens",
            "max_completion_tokens",
            "n_predict",
            "logprobs",
            "reasoning_effort",
            "tools",
            "continue_final_message",
        ];
        check("ResponseRequest", &chat, || {
            let store = ResponseStore::default();
            let (_, chat) = ResponseInput::read(Fields::new("", body)?, &store)?;
            ChatRequest::read(chat, &names(), &Default::default())
        });
    }
}
