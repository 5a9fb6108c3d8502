//! Conversations with tools for templates that read none: the tools are told in the text of a message, and what
//! they gave is the user's.

use serde_json::Value as Json;

use super::{Message, TOOL, TOOL_CALLS};

/// The role whose first message tells of the tools, where there is no system message.
const USER: &str = "user";
const SYSTEM: &str = "system";

/// The messages with the tools in the text of the system message, or else of the first one of the user's.
///
/// Calls are described as the plain JSON in which models without a format of their own are let write them.
pub(super) fn with_tools_in_text(messages: &[Message], tools: &[Json]) -> Vec<Message> {
    let mut told = String::from(
        "You can call these tools. To call them, answer with nothing but a JSON list of calls, such as \
         [{\"name\": \"a tool's name\", \"arguments\": {\"parameter\": \"value\"}}].\n",
    );
    for tool in tools {
        told += &format!("{}\n", tool.get("function").unwrap_or(tool));
    }
    let mut all: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        if message.role != TOOL {
            all.push(with_calls_in_text(message));
            continue;
        }
        let result = format!("Result of the call: {}", message.content);
        // Several results are one turn, for many templates want turns to alternate.
        match all.last_mut().filter(|last| last.role == USER && last.more.is_empty()) {
            Some(last) => last.content += &format!("\n{result}"),
            None => all.push(Message::new(USER, result)),
        }
    }
    let first = |role: &str| all.iter().position(|message| message.role == role);
    match first(SYSTEM).or_else(|| first(USER)) {
        Some(at) => all[at].content = format!("{told}\n{}", all[at].content),
        None => all.insert(0, Message::new(USER, told)),
    }
    all
}

/// The message with its calls written in its text, as the model is told to write them.
pub(super) fn with_calls_in_text(message: &Message) -> Message {
    let mut message = message.clone();
    let Some(Json::Array(calls)) = message.more.remove(TOOL_CALLS) else { return message };
    let call = |call: &Json| {
        let function = &call["function"];
        let arguments = match &function["arguments"] {
            Json::String(text) => text.clone(),
            arguments => arguments.to_string(),
        };
        format!("{{\"name\": {}, \"arguments\": {arguments}}}", function["name"])
    };
    let calls: Vec<String> = calls.iter().map(call).collect();
    message.content += &format!("[{}]", calls.join(", "));
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_and_their_results_are_text() {
        let tools = [json!({ "type": "function", "function": { "name": "w" } })];
        let messages = [
            Message::new("user", "Rain?"),
            serde_json::from_value(json!({ "role": "assistant", "tool_calls": [
                { "function": { "name": "w", "arguments": "{\"a\": 1}" } } ] }))
            .unwrap(),
            Message::new("tool", "no"),
            Message::new("tool", "yes"),
        ];
        let told = with_tools_in_text(&messages, &tools);
        let roles: Vec<&str> = told.iter().map(|message| message.role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user"]);
        assert!(told[0].content.contains("\n{\"name\":\"w\"}\n\nRain?"), "{}", told[0].content);
        assert_eq!(told[1].content, "[{\"name\": \"w\", \"arguments\": {\"a\": 1}}]");
        assert!(told[1].more.is_empty());
        assert_eq!(told[2].content, "Result of the call: no\nResult of the call: yes");
        let with_system = [&[Message::new("system", "Be brief.")], &messages[..]].concat();
        let told = with_tools_in_text(&with_system, &tools);
        assert!(told[0].content.ends_with("\nBe brief.") && told[1].content == "Rain?");
    }
}
