//! The body of a request for a message, as that of a chat completion: content blocks become messages and
//! calls, and what has the same name in both stays.

use serde_json::{Map, Value, json};

use crate::server::api_error::ApiError;
use crate::server::request::{Fields, wrong};

/// The body of the chat completion that a message is.
pub(super) fn chat_body(fields: Fields) -> Result<Value, ApiError> {
    if !fields.has("max_tokens") {
        return Err(ApiError::field("max_tokens", "is missing; write how many at most"));
    }
    chat_body_of_any_length(fields)
}

/// The same for a message whose tokens are counted, which need not say how long the answer may be.
fn chat_body_of_any_length(mut fields: Fields) -> Result<Value, ApiError> {
    let mut chat = Map::new();
    let mut messages = Vec::new();
    if let Some(system) = fields.value("system") {
        messages.push(json!({ "role": "system", "content": text("system", system)? }));
    }
    conversation(&mut fields, &mut messages)?;
    if messages.last().is_some_and(|last| last["role"] == "assistant") {
        chat.insert("continue_final_message".to_owned(), json!(true));
    }
    chat.insert("messages".to_owned(), messages.into());
    let most = fields.integer("max_tokens", 1)?;
    chat.extend(most.map(|most| ("max_tokens".to_owned(), json!(most))));
    chat.extend(fields.value("stop_sequences").map(|stops| ("stop".to_owned(), stops)));
    tools(&mut fields, &mut chat)?;
    // A call that must come is no continuation of a text: the text is a turn of its own.
    let must_call = |choice: &Value| choice == "required" || choice.is_object();
    if chat.get("tool_choice").is_some_and(must_call) {
        chat.remove("continue_final_message");
    }
    thinking(&mut fields, &mut chat)?;
    output_config(&mut fields, &mut chat)?;
    let cure = "this server has no such thing; leave it out";
    for name in ["container", "mcp_servers", "speed", "inference_geo"] {
        fields.only(name, is_empty, cure)?;
    }
    // What may be left out of a conversation that grows too long: it is read whole.
    fields.ignore("context_management");
    for name in [
        "stop",
        "continue_final_message",
        "max_completion_tokens",
        "n_predict",
        "reasoning_effort",
        "reasoning_budget",
    ] {
        fields.only(name, |_| false, "it is a field of chat completions")?;
    }
    fields.only("n", |value| value == 1, "send several requests")?;
    fields.only("prompt_logprobs", |value| value == false, "chat completions have it")?;
    fields.only("logprobs", |value| value == false, "chat completions have it")?;
    fields.only("trace", |value| value == false, "chat completions have it")?;
    fields.only("stream_options", |_| false, "a stream has its usage anyway")?;
    // The whole conversation is in the request.
    let begins = |value: &Value| *value == json!({ "type": "create" });
    fields.only("thread", begins, "send the whole conversation, and {\"type\": \"create\"}")?;
    // A hint to a cache, which works by itself here.
    fields.ignore("cache_control");
    let mut rest = fields.into_rest();
    // Null counts as absent.
    rest.retain(|_, value| !value.is_null());
    if let Some(name) = chat.keys().find(|name| rest.contains_key(*name)) {
        let other = match name.as_str() {
            "response_format" => "output_config.format",
            "parallel_tool_calls" => "tool_choice.disable_parallel_tool_use",
            _ => "another field of messages",
        };
        let message = format!("says the same thing as `{other}`; write one of them");
        return Err(ApiError::field(name, message));
    }
    rest.append(&mut chat);
    Ok(rest.into())
}

/// The body of a message whose tokens are counted. A text of the assistant at the end is the beginning of the answer
/// only where it can be.
pub(super) fn counted_body(fields: Fields) -> Result<Value, ApiError> {
    let mut chat = chat_body_of_any_length(fields)?;
    let last = chat["messages"].as_array().and_then(|messages| messages.last());
    let is_text = last.is_some_and(|last| {
        last["content"] != "" && last["tool_calls"].is_null() && last["reasoning_content"].is_null()
    });
    let has_tools = chat["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let goes_on = is_text && !has_tools && chat["reasoning_budget"].is_null();
    if let Some(chat) = chat.as_object_mut().filter(|_| !goes_on) {
        chat.remove("continue_final_message");
    }
    Ok(chat)
}

/// The error with the name that a field of a chat completion has in a request for a message.
pub(super) fn renamed(error: ApiError) -> ApiError {
    error.renamed(|name| {
        let flat =
            name.replace("].function.parameters", "].input_schema").replace("].function", "]");
        let renamed = [
            ("response_format.json_schema", "output_config.format"),
            ("response_format", "output_config.format"),
            ("reasoning_budget", "thinking.budget_tokens"),
            ("continue_final_message", "messages"),
            ("tool_choice.function", "tool_choice"),
            ("stop", "stop_sequences"),
        ]
        .into_iter()
        .find_map(|(old, new)| flat.strip_prefix(old).map(|rest| (new, rest)));
        match renamed {
            Some((new, rest)) if rest.is_empty() || rest.starts_with(['.', '[']) => {
                Some(format!("{new}{rest}"))
            }
            _ => Some(flat),
        }
    })
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty)
}

/// A text, or the texts of blocks, a line each.
fn text(place: &str, content: Value) -> Result<String, ApiError> {
    let blocks = match content {
        Value::String(text) => return Ok(text),
        Value::Array(blocks) => blocks,
        value => return Err(wrong(place, "a string or a list of text blocks", &value)),
    };
    let mut texts = Vec::with_capacity(blocks.len());
    for (i, block) in blocks.into_iter().enumerate() {
        let mut block = Fields::new(format!("{place}[{i}]"), block)?;
        let kind = block.value("type").unwrap_or_default();
        if kind != "text" {
            return Err(wrong(&block.name("type"), "\"text\"; this model reads text only", &kind));
        }
        texts.push(block_text(&mut block, "text")?);
        block.finish()?;
    }
    Ok(texts.join("\n"))
}

/// The text of a block, whose hints to a cache and citations are no text.
fn block_text(block: &mut Fields, field: &str) -> Result<String, ApiError> {
    block.ignore("cache_control");
    block.ignore("citations");
    let place = block.name(field);
    let text = block.string(field)?;
    text.ok_or_else(|| ApiError::field(place, "is missing; write a string"))
}

/// `messages`, of which a result of a tool becomes a message of its own.
fn conversation(fields: &mut Fields, messages: &mut Vec<Value>) -> Result<(), ApiError> {
    let list = match fields.value("messages") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        Some(value) => return Err(wrong("messages", "a list of at least one message", &value)),
        None => return Err(ApiError::field("messages", "is missing; write a list of messages")),
    };
    for (i, message) in list.into_iter().enumerate() {
        let mut message = Fields::new(format!("messages[{i}]"), message)?;
        let role = message.value("role").unwrap_or_default();
        let place = message.name("content");
        let content = message.value("content").unwrap_or_default();
        match role.as_str() {
            Some("user") => user(&place, content, messages)?,
            Some("assistant") => messages.push(assistant(&place, content)?),
            Some("system") => {
                messages.push(json!({ "role": "system", "content": text(&place, content)? }));
            }
            _ => {
                let wanted = "\"user\", \"assistant\" or \"system\"";
                return Err(wrong(&message.name("role"), wanted, &role));
            }
        }
        message.finish()?;
    }
    Ok(())
}

/// The blocks of a content, or its text as one.
fn blocks(place: &str, content: Value) -> Result<Vec<Fields>, ApiError> {
    let list = match content {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        Value::Array(blocks) => blocks,
        value => return Err(wrong(place, "a string or a list of blocks", &value)),
    };
    let list = list.into_iter().enumerate();
    list.map(|(i, block)| Fields::new(format!("{place}[{i}]"), block)).collect()
}

/// The messages of a user: results of tools in their places, texts joined.
fn user(place: &str, content: Value, messages: &mut Vec<Value>) -> Result<(), ApiError> {
    let mut texts: Vec<String> = Vec::new();
    let blocks = blocks(place, content)?;
    if blocks.is_empty() {
        return Err(ApiError::field(place, "is empty; write what the user says"));
    }
    for mut block in blocks {
        let kind = block.value("type").unwrap_or_default();
        match kind.as_str() {
            Some("text") => texts.push(block_text(&mut block, "text")?),
            Some("tool_result") => {
                block.ignore("cache_control");
                let id = block_text(&mut block, "tool_use_id")?;
                let inner = block.name("content");
                let result =
                    block.value("content").map_or(Ok(String::new()), |it| text(&inner, it))?;
                let failed = block.flag("is_error")?.unwrap_or(false);
                let result = if failed { format!("Error: {result}") } else { result };
                if !texts.is_empty() {
                    messages.push(json!({ "role": "user", "content": texts.join("\n") }));
                    texts.clear();
                }
                messages.push(json!({ "role": "tool", "tool_call_id": id, "content": result }));
            }
            _ => {
                let wanted = "\"text\" or \"tool_result\"; this model reads text only";
                return Err(wrong(&block.name("type"), wanted, &kind));
            }
        }
        block.finish()?;
    }
    if !texts.is_empty() {
        messages.push(json!({ "role": "user", "content": texts.join("\n") }));
    }
    Ok(())
}

/// The message of an assistant: its text, its calls and its reasoning.
fn assistant(place: &str, content: Value) -> Result<Value, ApiError> {
    let (mut texts, mut calls, mut thoughts) = (Vec::new(), Vec::new(), Vec::new());
    for mut block in blocks(place, content)? {
        let kind = block.value("type").unwrap_or_default();
        match kind.as_str() {
            Some("text") => texts.push(block_text(&mut block, "text")?),
            Some("tool_use") => {
                block.ignore("cache_control");
                block.ignore("caller");
                let (id, name) = (block_text(&mut block, "id")?, block_text(&mut block, "name")?);
                let input = block.value("input").unwrap_or_else(|| json!({}));
                let function = json!({ "name": name, "arguments": input.to_string() });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
            Some("thinking") => {
                block.ignore("signature");
                thoughts.push(block_text(&mut block, "thinking")?);
            }
            _ => {
                let wanted = "\"text\", \"tool_use\" or \"thinking\"";
                return Err(wrong(&block.name("type"), wanted, &kind));
            }
        }
        block.finish()?;
    }
    let mut message = json!({ "role": "assistant", "content": texts.join("\n") });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts.join("\n"));
    }
    Ok(message)
}

/// `tools` and `tool_choice`.
fn tools(fields: &mut Fields, chat: &mut Map<String, Value>) -> Result<(), ApiError> {
    let list = match fields.value("tools") {
        None => Vec::new(),
        Some(Value::Array(list)) => list,
        Some(value) => return Err(wrong("tools", "a list of tools", &value)),
    };
    let mut functions = Vec::with_capacity(list.len());
    for (i, tool) in list.into_iter().enumerate() {
        let mut tool = Fields::new(format!("tools[{i}]"), tool)?;
        let kind = tool.value("type").unwrap_or_else(|| "custom".into());
        if kind != "custom" {
            let wanted = "\"custom\": this server runs no tools of its own";
            return Err(wrong(&tool.name("type"), wanted, &kind));
        }
        // Hints to a cache, to the search of tools and to a sandbox, which are not here, and examples.
        for hint in [
            "cache_control",
            "eager_input_streaming",
            "defer_loading",
            "allowed_callers",
            "input_examples",
        ] {
            tool.ignore(hint);
        }
        let place = tool.name("input_schema");
        let schema = tool.value("input_schema");
        let schema = schema.ok_or_else(|| ApiError::field(place, "is missing; write a schema"))?;
        let mut function = tool.into_rest();
        function.insert("parameters".to_owned(), schema);
        functions.push(json!({ "type": "function", "function": function }));
    }
    chat.insert("tools".to_owned(), functions.into());
    let Some(choice) = fields.value("tool_choice") else { return Ok(()) };
    let mut choice = Fields::new("tool_choice", choice)?;
    if choice.flag("disable_parallel_tool_use")?.unwrap_or(false) {
        chat.insert("parallel_tool_calls".to_owned(), json!(false));
    }
    let kind = choice.value("type").unwrap_or_default();
    let chosen = match kind.as_str() {
        Some("auto") => json!("auto"),
        Some("any") => json!("required"),
        Some("none") => json!("none"),
        Some("tool") => {
            let name = block_text(&mut choice, "name")?;
            json!({ "type": "function", "function": { "name": name } })
        }
        _ => {
            let wanted = "\"auto\", \"any\", \"tool\" or \"none\"";
            return Err(wrong("tool_choice.type", wanted, &kind));
        }
    };
    chat.insert("tool_choice".to_owned(), chosen);
    choice.finish()
}

/// `thinking`: reasoning before the answer, of so many tokens, or as the model and its chat template have it.
fn thinking(fields: &mut Fields, chat: &mut Map<String, Value>) -> Result<(), ApiError> {
    let Some(thinking) = fields.value("thinking") else { return Ok(()) };
    let mut thinking = Fields::new("thinking", thinking)?;
    let kind = thinking.value("type").unwrap_or_default();
    match kind.as_str() {
        Some("disabled") => {
            chat.insert("reasoning_effort".to_owned(), json!("none"));
        }
        Some("enabled") => {
            let place = thinking.name("budget_tokens");
            let budget = thinking.integer("budget_tokens", 0)?;
            let missing = || ApiError::field(place, "is missing; write how many tokens at most");
            chat.insert("reasoning_budget".to_owned(), json!(budget.ok_or_else(missing)?));
        }
        Some("adaptive") => adaptive_variables(template_variables(fields, chat)?)?,
        _ => {
            let wanted = "\"enabled\" (with `budget_tokens`), \"adaptive\" or \"disabled\"";
            return Err(wrong("thinking.type", wanted, &kind));
        }
    }
    // What is to be shown of it; the reasoning itself is, as the conversation needs it later.
    thinking.ignore("display");
    thinking.finish()
}

/// The variables for the chat template, with those of the request.
fn template_variables<'a>(
    fields: &mut Fields,
    chat: &'a mut Map<String, Value>,
) -> Result<&'a mut Map<String, Value>, ApiError> {
    const FIELD: &str = "chat_template_kwargs";
    if let Some(variables) = fields.value(FIELD) {
        if !variables.is_object() {
            return Err(wrong(FIELD, "an object of variables", &variables));
        }
        chat.insert(FIELD.to_owned(), variables);
    }
    let variables = chat.entry(FIELD).or_insert_with(|| json!({})).as_object_mut();
    variables.ok_or_else(|| ApiError::field(FIELD, "is no object of variables"))
}

/// The variables of the chat template by which it lets a model think that can do so or not; a template that knows no
/// such variable stays as it is.
fn adaptive_variables(variables: &mut Map<String, Value>) -> Result<(), ApiError> {
    for name in ["enable_thinking", "thinking"] {
        if variables.get(name).is_some_and(|value| value == false) {
            let message = "is false, and `thinking` is \"adaptive\"; leave one out";
            return Err(ApiError::field(format!("chat_template_kwargs.{name}"), message));
        }
        variables.insert(name.to_owned(), json!(true));
    }
    Ok(())
}

/// `effort`, as the chat template's variable, for templates that know it.
fn effort(config: &mut Fields) -> Result<Option<&'static str>, ApiError> {
    let place = config.name("effort");
    let Some(effort) = config.value("effort") else { return Ok(None) };
    match effort.as_str() {
        Some("low") => Ok(Some("low")),
        Some("medium") => Ok(Some("medium")),
        // Templates know no more than this.
        Some("high" | "xhigh" | "max") => Ok(Some("high")),
        _ => Err(wrong(&place, "\"low\", \"medium\", \"high\", \"xhigh\" or \"max\"", &effort)),
    }
}

/// `output_config` and the older `output_format`: a schema of the answer, and how much thought it is worth.
fn output_config(fields: &mut Fields, chat: &mut Map<String, Value>) -> Result<(), ApiError> {
    let mut format = fields.value("output_format").map(|format| ("output_format", format));
    if let Some(config) = fields.value("output_config") {
        let mut config = Fields::new("output_config", config)?;
        if let Some(effort) = effort(&mut config)? {
            let variables = template_variables(fields, chat)?;
            variables.entry("reasoning_effort").or_insert_with(|| json!(effort));
        }
        if let Some(newer) = config.value("format") {
            if format.is_some() {
                let message =
                    "says what the answer must be, and so does `output_format`; write one";
                return Err(ApiError::field("output_config.format", message));
            }
            format = Some(("output_config.format", newer));
        }
        config.finish()?;
    }
    let Some((place, format)) = format else { return Ok(()) };
    let mut format = Fields::new(place, format)?;
    let kind = format.value("type").unwrap_or_default();
    if kind != "json_schema" {
        return Err(wrong(&format.name("type"), "\"json_schema\"", &kind));
    }
    let place = format.name("schema");
    let schema = format.value("schema");
    let schema = schema.ok_or_else(|| ApiError::field(place, "is missing; write a schema"))?;
    format.finish()?;
    let format =
        json!({ "type": "json_schema", "json_schema": { "name": "output", "schema": schema } });
    chat.insert("response_format".to_owned(), format);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::openapi::reader_check::{MODEL, check, names};
    use crate::server::request::ChatRequest;

    #[test]
    fn the_document_describes_the_fields() {
        let body = json!({ "model": MODEL, "max_tokens": 5, "system": "a",
            "messages": [{ "role": "user", "content": "a" }],
            "tools": [{ "name": "a", "input_schema": {} }], "tool_choice": { "type": "auto" },
            "thinking": { "type": "enabled", "budget_tokens": 5 },
            "output_config": { "format": { "type": "json_schema", "schema": {} } } });
        let chat = [
            "messages",
            "stop",
            "tools",
            "response_format",
            "reasoning_effort",
            "reasoning_budget",
            "tool_choice",
            "output_config",
            "max_completion_tokens",
            "n_predict",
            "stream_options",
            "continue_final_message",
        ];
        let read = |body| ChatRequest::read(body, &names(), &Default::default());
        check("MessageRequest", &chat, || read(chat_body(Fields::new("", body.clone())?)?));
        check("CountTokensRequest", &chat, || read(counted_body(Fields::new("", body.clone())?)?));
    }
}
