//! A conversation as the strictest templates take it.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Message, TOOL, TOOL_CALLS};

const SYSTEM: &str = "system";
const USER: &str = "user";

/// The field of a tool's answer with the id of the call.
const CALL_ID: &str = "tool_call_id";

/// Length of the ids of calls in Mistral's templates, of letters and digits.
const SHORT_ID_LEN: usize = 9;

/// The conversation with one turn of each speaker after the other, and with ids of calls that Mistral's templates
/// take. What one speaker says in several messages becomes one, and what the user says beside the answer of a tool
/// becomes a part of it.
pub(super) fn in_turn(messages: &[Message]) -> Vec<Message> {
    let mut turns: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        let joins = |last: &Message| {
            let is_same = last.role == message.role && last.role != TOOL && last.more.is_empty();
            let is_beside_answer = last.role == TOOL && message.role == USER;
            message.more.is_empty() && (is_same || is_beside_answer)
        };
        match turns.last_mut() {
            Some(last) if joins(last) => {
                last.content.push('\n');
                last.content.push_str(&message.content);
            }
            _ => turns.push(message.clone()),
        }
    }
    shorten_ids(&mut turns);
    turns
}

/// Turns with the system's at the head of the user's, for templates that know no system (those of Gemma 2 and the first
/// Mistral models). `None` where they do not begin with these two.
pub(super) fn with_system_as_user(turns: &[Message]) -> Option<Vec<Message>> {
    let [system, user, others @ ..] = turns else { return None };
    if system.role != SYSTEM || user.role != USER {
        return None;
    }
    let mut user = user.clone();
    user.content = format!("{}\n\n{}", system.content, user.content);
    Some([&[user], others].concat())
}

/// Gives calls short ids, the same for a call and its answer.
fn shorten_ids(messages: &mut [Message]) {
    let mut short: BTreeMap<String, String> = BTreeMap::new();
    let mut shorten = |id: &mut Json| {
        let Json::String(long) = &*id else { return };
        if long.len() != SHORT_ID_LEN || !long.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            let count = short.len();
            let new = short.entry(long.clone()).or_insert_with(|| format!("call{count:05}"));
            *id = Json::String(new.clone());
        }
    };
    for message in messages {
        if let Some(id) = message.more.get_mut(CALL_ID) {
            shorten(id);
        }
        let calls = message.more.get_mut(TOOL_CALLS).and_then(Json::as_array_mut);
        for call in calls.into_iter().flatten() {
            if let Some(id) = call.get_mut("id") {
                shorten(id);
            }
        }
    }
}
