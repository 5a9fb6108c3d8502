//! The messages of a conversation, read field by field.

use serde_json::{Value, json};

use crate::model::Message;

use super::fields::{Fields, wrong};
use crate::server::api_error::ApiError;

/// All messages, at least one.
pub(crate) fn messages(fields: &mut Fields) -> Result<Vec<Message>, ApiError> {
    let list = match fields.value("messages") {
        Some(Value::Array(list)) if !list.is_empty() => list,
        Some(value) => return Err(wrong("messages", "a list of at least one message", &value)),
        None => return Err(ApiError::field("messages", "is missing; write a list of messages")),
    };
    list.into_iter()
        .enumerate()
        .map(|(i, value)| message(format!("messages[{i}]"), value))
        .collect()
}

fn message(path: String, value: Value) -> Result<Message, ApiError> {
    let mut fields = Fields::new(path, value)?;
    let wanted = "\"system\", \"developer\", \"user\", \"assistant\", \"tool\" or \"function\"";
    let role = fields.value("role").unwrap_or_default();
    let role = match role.as_str() {
        // A developer message is OpenAI's newer name of a system message.
        Some("system" | "developer") => "system",
        Some("user") => "user",
        Some("assistant") => "assistant",
        Some("tool") => "tool",
        // OpenAI's older name of a tool message, whose call has a name and no id.
        Some("function") => "function",
        _ => return Err(wrong(&fields.name("role"), wanted, &role)),
    };
    let mut message = Message::new(if role == "function" { "tool" } else { role }, "");
    // Who speaks among several, or which tool answers: for the chat template, which may ignore it.
    let name = fields.name("name");
    match fields.string("name")? {
        Some(name) => {
            message.more.insert("name".into(), name.into());
        }
        None if role == "function" => {
            return Err(ApiError::field(name, "is missing; write the name of the function"));
        }
        None => {}
    }
    match role {
        "assistant" => {
            // openai-py's `parse` adds it to the message, which then comes back in the next request.
            fields.ignore("parsed");
            let place = fields.name("function_call");
            let calls = match (tool_calls(&mut fields)?, function_call(&mut fields)?) {
                (Some(_), Some(_)) => {
                    return Err(ApiError::field(place, "stands beside `tool_calls`; write one"));
                }
                (calls, call) => calls.or(call),
            };
            if let Some(calls) = calls {
                message.more.insert("tool_calls".into(), calls);
            }
            // The field of our own answers, which templates of reasoning models know, too, and its newer name in vLLM.
            let place = fields.name("reasoning");
            let reasoning = match (fields.string("reasoning_content")?, fields.string("reasoning")?)
            {
                (Some(one), Some(other)) if one != other => {
                    let message = "stands beside another `reasoning_content`; write one of them";
                    return Err(ApiError::field(place, message));
                }
                (one, other) => one.or(other),
            };
            if let Some(reasoning) = reasoning {
                message.more.insert("reasoning_content".into(), reasoning.into());
            }
        }
        "tool" => {
            let name = fields.name("tool_call_id");
            let Some(id) = fields.string("tool_call_id")? else {
                return Err(ApiError::field(name, "is missing; write the id of the call"));
            };
            message.more.insert("tool_call_id".into(), id.into());
        }
        _ => {}
    }
    let name = fields.name("content");
    let refusal = if role == "assistant" { refusal(&mut fields)? } else { None };
    message.content = match fields.value("content").or(refusal) {
        Some(Value::String(text)) => text,
        Some(Value::Array(parts)) => text_parts(&name, parts, role)?,
        Some(value) => return Err(wrong(&name, "a string or a list of text parts", &value)),
        None if ["tool_calls", "reasoning_content"]
            .iter()
            .any(|&m| message.more.contains_key(m)) =>
        {
            String::new()
        }
        None => return Err(ApiError::field(name, "is missing; write the message's text")),
    };
    // A hint to a cache, which works by itself here.
    fields.ignore("cache_control");
    if role == "assistant" {
        // LiteLLM's place for members of an answer that it does not know, and the sources of an answer.
        fields.ignore("provider_specific_fields");
        fields.ignore("annotations");
    }
    // An answer of ours comes back with these in the next request.
    let none = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    for field in ["refusal", "audio", "annotations", "function_call", "tool_calls"] {
        fields.only(field, none, "only the text of a message and its tool calls are read")?;
    }
    fields.finish()?;
    Ok(message)
}

/// The refusal that an assistant wrote instead of an answer, in a field of its own.
fn refusal(fields: &mut Fields) -> Result<Option<Value>, ApiError> {
    let name = fields.name("refusal");
    match fields.value("refusal") {
        None => Ok(None),
        Some(Value::Array(none)) if none.is_empty() => Ok(None),
        Some(Value::String(refusal)) => Ok(Some(refusal.into())),
        Some(value) => Err(wrong(&name, "a string", &value)),
    }
}

/// The calls of an assistant, with what templates read of them.
fn tool_calls(fields: &mut Fields) -> Result<Option<Value>, ApiError> {
    let name = fields.name("tool_calls");
    let calls = match fields.value("tool_calls") {
        None => return Ok(None),
        Some(Value::Array(calls)) if calls.is_empty() => return Ok(None),
        Some(Value::Array(calls)) => calls,
        Some(value) => return Err(wrong(&name, "a list of calls", &value)),
    };
    let mut read = Vec::with_capacity(calls.len());
    for (i, call) in calls.into_iter().enumerate() {
        let mut call = Fields::new(format!("{name}[{i}]"), call)?;
        let missing = |name: String| ApiError::field(name, "is missing; write it as it came");
        let id = call.string("id")?;
        let kind = call.value("type").unwrap_or_else(|| "function".into());
        if kind != "function" && kind != "custom" {
            return Err(wrong(&call.name("type"), "\"function\" or \"custom\"", &kind));
        }
        // As it came in a stream, or from LiteLLM.
        call.ignore("index");
        call.ignore("provider_specific_fields");
        let key = if kind == "custom" { "custom" } else { "function" };
        let place = call.name(key);
        let inner = call.value(key).ok_or_else(|| missing(place.clone()))?;
        call.finish()?;
        let inner = Fields::new(place, inner)?;
        let function = if kind == "custom" { custom_call(inner)? } else { called_function(inner)? };
        read.push(json!({ "id": id, "type": "function", "function": function }));
    }
    Ok(Some(read.into()))
}

/// A call of a custom tool, as one of a function whose argument is its input.
fn custom_call(mut custom: Fields) -> Result<Value, ApiError> {
    let missing = |name: String| ApiError::field(name, "is missing; write it as it came");
    let (tool, input) = (custom.name("name"), custom.name("input"));
    let tool = custom.string("name")?.ok_or_else(|| missing(tool))?;
    let input = custom.string("input")?.ok_or_else(|| missing(input))?;
    custom.finish()?;
    Ok(json!({ "name": tool, "arguments": json!({ "input": input }).to_string() }))
}

/// OpenAI's older way to write the one call of an assistant, as a list of calls.
fn function_call(fields: &mut Fields) -> Result<Option<Value>, ApiError> {
    let name = fields.name("function_call");
    match fields.value("function_call") {
        None => Ok(None),
        Some(Value::Array(none)) if none.is_empty() => Ok(None),
        Some(call) => {
            let function = called_function(Fields::new(name, call)?)?;
            Ok(Some(json!([{ "type": "function", "function": function }])))
        }
    }
}

/// The name and the arguments of a call. The arguments stay the text that the model wrote, whatever
/// that is: a text that was cut off, or has a key twice, is what the model is to see again.
fn called_function(mut function: Fields) -> Result<Value, ApiError> {
    let missing = |name: String| ApiError::field(name, "is missing; write it as it came");
    let (tool, arguments) = (function.name("name"), function.name("arguments"));
    let tool = function.string("name")?.ok_or_else(|| missing(tool))?;
    let arguments = function.string("arguments")?.ok_or_else(|| missing(arguments))?;
    // openai-py's `parse` adds it to the call, which then comes back in the next request.
    function.ignore("parsed_arguments");
    function.ignore("provider_specific_fields");
    function.finish()?;
    Ok(json!({ "name": tool, "arguments": arguments }))
}

/// Text parts of a message of this role, a line each.
fn text_parts(path: &str, parts: Vec<Value>, role: &str) -> Result<String, ApiError> {
    let mut texts = Vec::with_capacity(parts.len());
    for (i, part) in parts.into_iter().enumerate() {
        let mut fields = Fields::new(format!("{path}[{i}]"), part)?;
        let kind = fields.value("type").unwrap_or_default();
        let key = match kind.as_str() {
            Some("text") => "text",
            // What an assistant wrote instead of an answer is text that it sees again.
            Some("refusal") if role == "assistant" => "refusal",
            _ => {
                return Err(wrong(&fields.name("type"), "\"text\", the only kind of part", &kind));
            }
        };
        // Hints to a cache, which works by itself here.
        fields.ignore("cache_control");
        fields.ignore("prompt_cache_breakpoint");
        let name = fields.name(key);
        let text = fields.string(key)?;
        texts.push(text.ok_or_else(|| ApiError::field(name, "is missing; write a string"))?);
        fields.finish()?;
    }
    Ok(texts.join("\n"))
}
