//! `chat_template_kwargs`: variables for the chat template, as in vLLM, SGLang and llama.cpp.

use serde_json::{Map, Value};

use super::fields::{Fields, wrong};
use crate::model::ChatTemplate;
use crate::server::api_error::ApiError;

/// Variables that other fields of a request set, or none can.
const RESERVED: [(&str, &str); 4] = [
    ("messages", "write the field `messages`"),
    ("tools", "write the field `tools`"),
    ("add_generation_prompt", "the model answers the conversation"),
    ("strftime_now", "it is the time now"),
];

/// The variable with what the model is to answer from, which is a field of its own in vLLM.
const DOCUMENTS: &str = "documents";

/// Names under which templates know whether the model is to think: Qwen's and GLM's, DeepSeek's and
/// Granite's.
const THINKING: [&str; 2] = ["enable_thinking", "thinking"];

/// The name under which gpt-oss's template knows the effort.
const EFFORT: &str = "reasoning_effort";

/// Whether a variable says that the model is to think, by a name that the template has.
pub(crate) fn asks_to_think(variables: &Map<String, Value>, template: &ChatTemplate) -> bool {
    THINKING.iter().any(|name| {
        variables.get(*name).is_some_and(|value| value == true) && template.text().contains(name)
    })
}

/// The variable that says that the model is not to think, if there is one.
pub(crate) fn forbids_to_think(variables: &Map<String, Value>) -> Option<&'static str> {
    let is_false = |name: &&&str| variables.get(**name).is_some_and(|value| value == false);
    THINKING.iter().find(is_false).copied()
}

/// Tells the template whether the model is to think, and with which effort, by the names that it has for these.
/// Values of the request itself stay.
pub(crate) fn set_thinking(
    variables: &mut Map<String, Value>,
    template: &ChatTemplate,
    thinks: bool,
    effort: Option<&str>,
) {
    let is_named = |name: &&str| template.text().contains(*name);
    if THINKING.iter().all(|name| !variables.contains_key(*name)) {
        for name in THINKING.into_iter().filter(is_named) {
            variables.insert(name.to_owned(), thinks.into());
        }
    }
    if let Some(effort) = effort.filter(|_| is_named(&EFFORT)) {
        variables.entry(EFFORT).or_insert_with(|| effort.into());
    }
}

/// The variables of a request, `documents` among them. A template does not see those that it does not
/// name.
pub(crate) fn variables(fields: &mut Fields) -> Result<Map<String, Value>, ApiError> {
    let name = fields.name("chat_template_kwargs");
    let mut variables = match fields.value("chat_template_kwargs") {
        None => Map::new(),
        Some(Value::Object(variables)) => variables,
        Some(value) => return Err(wrong(&name, "an object of the template's variables", &value)),
    };
    let place = fields.name(DOCUMENTS);
    let inner = variables.shift_remove(DOCUMENTS).filter(|value| !value.is_null());
    let documents = match (fields.value(DOCUMENTS), inner) {
        (Some(_), Some(_)) => {
            let message = format!("stands beside `{name}.{DOCUMENTS}`; write one of them");
            return Err(ApiError::field(place, message));
        }
        (Some(documents), None) => Some((place, documents)),
        (None, inner) => inner.map(|documents| (format!("{name}.{DOCUMENTS}"), documents)),
    };
    if let Some((place, documents)) = documents {
        let list = documents.as_array().filter(|list| list.iter().all(Value::is_object));
        let list = list.ok_or_else(|| wrong(&place, "a list of objects", &documents))?;
        // None are as if the field were not sent.
        if !list.is_empty() {
            variables.insert(DOCUMENTS.to_owned(), documents);
        }
    }
    for (reserved, cure) in RESERVED {
        if variables.contains_key(reserved) {
            let message = format!("cannot be set here; {cure}");
            return Err(ApiError::field(format!("{name}.{reserved}"), message));
        }
    }
    if let Some(token) = variables.keys().find(|name| name.ends_with("_token")) {
        let message = "cannot be set here; special tokens are the model's own";
        return Err(ApiError::field(format!("{name}.{token}"), message));
    }
    Ok(variables)
}
