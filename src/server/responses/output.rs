//! The output of a response: items from the parts of the model's message, with the events of a stream.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::input::ResponseInput;
use crate::engine::{FinishReason, Protocol, Usage};
use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::response::{
    InputReader, TypedWriter, WholeWriter, call_id, logprob, now, optional_members, unique_id,
};
use crate::server::response_store::StoredResponse;
use crate::server::worker::WorkerReply;
use crate::tools::{MessagePart, MessageReader, ToolCalls};

/// A response while it is written.
///
/// More than 12 fields: the parts of a response, and what was not sent of them.
pub(super) struct ResponseAnswer {
    app: Arc<App>,
    input: ResponseInput,
    id: String,
    created: u64,
    reader: MessageReader,
    /// Names of tools that take a text instead of arguments.
    custom: Vec<String>,
    /// Items that are done.
    output: Vec<Value>,
    /// The item that is being written.
    open: Option<OpenItem>,
    /// Blanks before a text that has not begun: between calls they are no text.
    blanks: String,
    /// Log-probabilities of tokens whose text was not sent yet.
    tokens: Vec<Value>,
    usage: Usage,
    finish: Option<FinishReason>,
    /// Members that only some requests ask for.
    optional: Map<String, Value>,
    /// Events that were not sent yet.
    events: Vec<Value>,
    /// Number of events so far.
    sequence: usize,
    has_begun: bool,
}

/// The item that is being written.
struct OpenItem {
    kind: ItemKind,
    id: String,
    /// Its text, arguments or input.
    text: String,
    logprobs: Vec<Value>,
}

/// The kind of an item, with what a call has beside its arguments.
enum ItemKind {
    Message,
    Reasoning,
    Call { name: String, call_id: String },
    CustomCall { name: String, call_id: String, input: InputReader },
}

impl OpenItem {
    /// The item as an object.
    fn object(&self, status: &str) -> Value {
        let Self { kind, id, text, .. } = self;
        match kind {
            ItemKind::Message => {
                let content = if status == "in_progress" { vec![] } else { vec![self.part()] };
                json!({ "type": "message", "id": id, "status": status, "role": "assistant",
                    "content": content })
            }
            ItemKind::Reasoning => {
                let part = json!({ "type": "reasoning_text", "text": text });
                let content = if status == "in_progress" { vec![] } else { vec![part] };
                json!({ "type": "reasoning", "id": id, "status": status, "summary": [],
                    "content": content })
            }
            ItemKind::Call { name, call_id } => json!({ "type": "function_call", "id": id,
                "status": status, "call_id": call_id, "name": name, "arguments": text }),
            ItemKind::CustomCall { name, call_id, .. } => json!({ "type": "custom_tool_call",
                "id": id, "status": status, "call_id": call_id, "name": name, "input": text }),
        }
    }

    /// The only part of a message.
    fn part(&self) -> Value {
        json!({ "type": "output_text", "text": self.text, "annotations": [],
            "logprobs": self.logprobs })
    }
}

impl ResponseAnswer {
    pub(super) fn new(app: &Arc<App>, input: ResponseInput, protocol: &Protocol) -> Self {
        let calls = protocol.calls().into_iter();
        Self {
            app: Arc::clone(app),
            input,
            id: unique_id("resp_"),
            created: now(),
            reader: protocol.reader(),
            custom: calls.flat_map(ToolCalls::custom_names).map(str::to_owned).collect(),
            output: Vec::new(),
            open: None,
            blanks: String::new(),
            tokens: Vec::new(),
            usage: Usage::default(),
            finish: None,
            optional: Map::new(),
            events: Vec::new(),
            sequence: 0,
            has_begun: false,
        }
    }

    fn part(&mut self, part: MessagePart) {
        match part {
            MessagePart::Text(text) => {
                let is_open =
                    matches!(&self.open, Some(item) if matches!(item.kind, ItemKind::Message));
                if !is_open {
                    self.blanks.push_str(&text);
                    if self.blanks.trim().is_empty() {
                        return;
                    }
                    self.begin(ItemKind::Message, "msg_");
                }
                let text = if is_open { text } else { std::mem::take(&mut self.blanks) };
                self.text(&text);
            }
            MessagePart::Reasoning(text) => {
                let is_open =
                    matches!(&self.open, Some(item) if matches!(item.kind, ItemKind::Reasoning));
                if !is_open {
                    self.begin(ItemKind::Reasoning, "rs_");
                }
                self.tokens.clear();
                self.text(&text);
            }
            MessagePart::Call { name, id } => {
                self.blanks.clear();
                let call_id = id.unwrap_or_else(call_id);
                if self.custom.contains(&name) {
                    let input = InputReader::default();
                    self.begin(ItemKind::CustomCall { name, call_id, input }, "ctc_");
                } else {
                    self.begin(ItemKind::Call { name, call_id }, "fc_");
                }
            }
            MessagePart::Arguments(text) => {
                let text = match &mut self.open {
                    Some(OpenItem { kind: ItemKind::CustomCall { input, .. }, .. }) => {
                        input.read(&text)
                    }
                    _ => text,
                };
                self.tokens.clear();
                if !text.is_empty() {
                    self.text(&text);
                }
            }
        }
    }

    /// Ends the open item and begins another one.
    fn begin(&mut self, kind: ItemKind, prefix: &str) {
        self.end("completed");
        let open = OpenItem { kind, id: unique_id(prefix), text: String::new(), logprobs: vec![] };
        self.event("response.output_item.added", json!({ "item": open.object("in_progress") }));
        match open.kind {
            ItemKind::Message => {
                let part = json!({ "content_index": 0, "part": open.part() });
                self.item_event("response.content_part.added", &open.id, part);
            }
            ItemKind::Reasoning => {
                let part = json!({ "type": "reasoning_text", "text": "" });
                let part = json!({ "content_index": 0, "part": part });
                self.item_event("response.content_part.added", &open.id, part);
            }
            ItemKind::Call { .. } | ItemKind::CustomCall { .. } => {}
        }
        self.open = Some(open);
    }

    /// Adds text to the open item.
    fn text(&mut self, text: &str) {
        let Some(mut open) = self.open.take() else { return };
        open.text.push_str(text);
        let logprobs = std::mem::take(&mut self.tokens);
        let (kind, members) = match open.kind {
            ItemKind::Message => {
                let members = json!({ "content_index": 0, "delta": text, "logprobs": logprobs });
                open.logprobs.extend(logprobs);
                ("response.output_text.delta", members)
            }
            ItemKind::Reasoning => {
                ("response.reasoning_text.delta", json!({ "content_index": 0, "delta": text }))
            }
            ItemKind::Call { .. } => {
                ("response.function_call_arguments.delta", json!({ "delta": text }))
            }
            ItemKind::CustomCall { .. } => {
                ("response.custom_tool_call_input.delta", json!({ "delta": text }))
            }
        };
        self.item_event(kind, &open.id, members);
        self.open = Some(open);
    }

    /// Ends the open item, if there is one.
    fn end(&mut self, status: &str) {
        let Some(open) = self.open.take() else { return };
        let (id, text) = (&open.id, &open.text);
        match &open.kind {
            ItemKind::Message => {
                let done = json!({ "content_index": 0, "text": text, "logprobs": open.logprobs });
                self.item_event("response.output_text.done", id, done);
                let part = json!({ "content_index": 0, "part": open.part() });
                self.item_event("response.content_part.done", id, part);
            }
            ItemKind::Reasoning => {
                let done = json!({ "content_index": 0, "text": text });
                self.item_event("response.reasoning_text.done", id, done);
                let part = json!({ "type": "reasoning_text", "text": text });
                let part = json!({ "content_index": 0, "part": part });
                self.item_event("response.content_part.done", id, part);
            }
            ItemKind::Call { name, .. } => {
                let done = json!({ "name": name, "arguments": text });
                self.item_event("response.function_call_arguments.done", id, done);
            }
            ItemKind::CustomCall { .. } => {
                let done = json!({ "input": text });
                self.item_event("response.custom_tool_call_input.done", id, done);
            }
        }
        let item = open.object(status);
        self.event("response.output_item.done", json!({ "item": item }));
        self.output.push(item);
    }

    /// An event of the item that is being written.
    fn item_event(&mut self, kind: &str, id: &str, mut members: Value) {
        members["item_id"] = json!(id);
        self.event(kind, members);
    }

    fn event(&mut self, kind: &str, members: Value) {
        let mut event = Map::new();
        event.insert("type".to_owned(), json!(kind));
        event.insert("sequence_number".to_owned(), json!(self.sequence));
        if kind.starts_with("response.output_item") || members.get("item_id").is_some() {
            event.insert("output_index".to_owned(), json!(self.output.len()));
        }
        if let Value::Object(members) = members {
            event.extend(members);
        }
        self.sequence += 1;
        self.events.push(event.into());
    }

    /// The text of all messages.
    fn written(&self) -> String {
        let done = self.output.iter().filter_map(|item| item["content"][0]["text"].as_str());
        let open = self.open.as_ref().filter(|open| matches!(open.kind, ItemKind::Message));
        done.chain(open.map(|open| open.text.as_str())).collect()
    }

    /// The response as it is now.
    fn object(&self, status: &str) -> Value {
        let incomplete = match status {
            "incomplete" => json!({ "reason": "max_output_tokens" }),
            _ => Value::Null,
        };
        let usage = match self.finish {
            None => Value::Null,
            Some(_) => json!({
                "input_tokens": self.usage.prompt_tokens,
                "input_tokens_details": { "cached_tokens": self.usage.cached_tokens },
                "output_tokens": self.usage.completion_tokens,
                "output_tokens_details": { "reasoning_tokens": self.usage.reasoning_tokens },
                "total_tokens": self.usage.prompt_tokens + self.usage.completion_tokens,
            }),
        };
        let mut object = json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": false,
            "error": null,
            "incomplete_details": incomplete,
            "model": self.app.name(),
            "output": self.output,
            "max_tool_calls": null,
            "service_tier": "default",
            "truncation": "disabled",
            "usage": usage,
        });
        if let Value::Object(object) = &mut object {
            object.extend(self.optional.clone());
            object.extend(self.input.asked.clone());
        }
        object
    }
}

impl WholeWriter for ResponseAnswer {
    type Whole = Value;

    fn add(&mut self, reply: WorkerReply) {
        let parts = match reply {
            WorkerReply::Text(_, text) => self.reader.text(&text),
            WorkerReply::Special(_, token) => {
                let name = self.app.vocabulary.token_name(token).into_owned();
                self.reader.special(&name)
            }
            WorkerReply::Step(_, step) => {
                let logprob = logprob(&self.app.vocabulary, &step);
                self.tokens.extend(logprob.map(|logprob| {
                    json!({ "token": logprob["token"], "logprob": logprob["logprob"],
                        "bytes": logprob["bytes"], "top_logprobs": logprob["top_logprobs"] })
                }));
                Vec::new()
            }
            WorkerReply::Done(_, response) => {
                self.usage = response.usage;
                self.finish = Some(response.finish);
                let reader = std::mem::replace(&mut self.reader, Protocol::default().reader());
                reader.finish().into_iter().for_each(|part| self.part(part));
                self.optional = optional_members(&response, &self.written());
                Vec::new()
            }
            WorkerReply::Finished | WorkerReply::Failed(_) | WorkerReply::OutOfTime => Vec::new(),
        };
        parts.into_iter().for_each(|part| self.part(part));
    }

    /// Ends the response, and keeps it if that was asked for.
    fn finish(&mut self) -> Value {
        let status = match self.finish {
            Some(FinishReason::Length) => "incomplete",
            _ => "completed",
        };
        if self.open.is_none() && !self.blanks.is_empty() && self.output.is_empty() {
            self.begin(ItemKind::Message, "msg_");
            let blanks = std::mem::take(&mut self.blanks);
            self.text(&blanks);
        }
        self.end(status);
        let object = self.object(status);
        if self.input.store {
            let (earlier, input) = (&self.input.earlier, &self.input.items);
            let conversation = earlier.iter().chain(input).chain(&self.output).cloned().collect();
            let response =
                StoredResponse { object: object.clone(), input: input.clone(), conversation };
            self.app.responses.insert(&self.id, response);
        }
        self.event(&format!("response.{status}"), json!({ "response": object }));
        object
    }
}

impl TypedWriter for ResponseAnswer {
    fn begin_stream(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let object = self.object("in_progress");
            self.event("response.created", json!({ "response": object }));
            self.event("response.in_progress", json!({ "response": object }));
        }
    }

    fn add_error(&mut self, error: &ApiError) {
        self.begin_stream();
        let (code, message) = error.code_and_message();
        let mut object = self.object("failed");
        object["error"] = json!({ "code": code, "message": message });
        self.event("response.failed", json!({ "response": object }));
    }

    fn unsent(&mut self) -> &mut Vec<Value> {
        &mut self.events
    }
}
