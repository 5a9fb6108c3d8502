//! The output of a response: items from the parts of the model's message, with the events of a stream.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::input::ResponseInput;
use crate::engine::{FinishReason, Protocol, Usage};
use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::json_text::json_text;
use crate::server::response::{
    HeldTokens, InputReader, TypedEvent, TypedWriter, WholeWriter, call_id, logprob, now,
    optional_members, unique_id,
};
use crate::server::response_store::{StoredItem, StoredResponse, stored};
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
    /// Items that are done, each with its id.
    output: Vec<(String, Box<RawValue>)>,
    /// The text of the messages among them.
    written: String,
    /// The item that is being written.
    open: Option<OpenItem>,
    /// Blanks before a text that has not begun: between calls they are no text.
    blanks: String,
    /// Log-probabilities of tokens whose text was not sent yet.
    tokens: HeldTokens<Box<RawValue>>,
    usage: Usage,
    finish: Option<FinishReason>,
    /// Members that only some requests ask for.
    optional: Map<String, Value>,
    /// Events that were not sent yet.
    events: Vec<TypedEvent>,
    /// Number of events so far.
    sequence: usize,
    /// Whether the answer is a stream, which has begun.
    has_begun: bool,
}

/// The item that is being written.
struct OpenItem {
    kind: ItemKind,
    id: String,
    /// Its text, arguments or input.
    text: String,
    logprobs: Vec<Box<RawValue>>,
}

/// The members of an event beside those that all have, in their order, as JSON text.
type EventMembers = Vec<(&'static str, Box<RawValue>)>;

/// An event as it is written.
#[derive(Serialize)]
struct EventObject<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    sequence_number: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_index: Option<usize>,
    #[serde(flatten, serialize_with = "as_map")]
    members: EventMembers,
}

fn as_map<S: Serializer>(members: &EventMembers, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
}

/// The only part of a message, as it is written.
#[derive(Serialize)]
struct TextPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    annotations: [(); 0],
    logprobs: &'a [Box<RawValue>],
}

/// A message as it is written.
#[derive(Serialize)]
struct MessageItem<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    status: &'a str,
    role: &'static str,
    content: &'a [TextPart<'a>],
}

/// A response as it is written.
///
/// More than 12 fields: the members that OpenAI's object has.
#[derive(Serialize)]
struct ResponseObject<'a> {
    id: &'a str,
    object: &'static str,
    created_at: u64,
    status: &'a str,
    background: bool,
    error: Value,
    incomplete_details: Value,
    model: &'a str,
    output: Vec<&'a RawValue>,
    max_tool_calls: (),
    service_tier: &'static str,
    truncation: &'static str,
    usage: Value,
    #[serde(flatten)]
    optional: &'a Map<String, Value>,
    #[serde(flatten)]
    asked: &'a Map<String, Value>,
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
    fn object(&self, status: &str) -> Box<RawValue> {
        let Self { kind, id, text, .. } = self;
        let object = match kind {
            ItemKind::Message => {
                let part = [self.part()];
                let content = if status == "in_progress" { &[][..] } else { &part };
                let (kind, role) = ("message", "assistant");
                return json_text(&MessageItem { kind, id, status, role, content });
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
        };
        json_text(&object)
    }

    /// The only part of a message.
    fn part(&self) -> TextPart<'_> {
        let (kind, annotations) = ("output_text", []);
        TextPart { kind, text: &self.text, annotations, logprobs: &self.logprobs }
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
            written: String::new(),
            open: None,
            blanks: String::new(),
            tokens: HeldTokens::default(),
            usage: Usage::default(),
            finish: None,
            optional: Map::new(),
            events: Vec::new(),
            sequence: 0,
            has_begun: false,
        }
    }

    /// Whether a message is being written.
    fn is_in_message(&self) -> bool {
        self.open.as_ref().is_some_and(|item| matches!(item.kind, ItemKind::Message))
    }

    /// Takes the parts of what was read last.
    fn parts(&mut self, parts: Vec<MessagePart>) {
        // Tags after reasoning and calls are no part; a message that begins here has the tokens of its text alone.
        if !self.is_in_message()
            && let Some(MessagePart::Text(text)) = parts.last()
        {
            self.tokens.keep_last(self.blanks.len() + text.len());
        }
        parts.into_iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: MessagePart) {
        match part {
            MessagePart::Text(text) => {
                let is_open = self.is_in_message();
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
                self.tokens.take();
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
                self.tokens.take();
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
        self.event("response.output_item.added", || vec![("item", open.object("in_progress"))]);
        let part = match open.kind {
            ItemKind::Message => Some(json_text(&open.part())),
            ItemKind::Reasoning => {
                Some(json_text(&json!({ "type": "reasoning_text", "text": "" })))
            }
            ItemKind::Call { .. } | ItemKind::CustomCall { .. } => None,
        };
        if let Some(part) = part {
            let members = || vec![("content_index", json_text(&0)), ("part", part)];
            self.item_event("response.content_part.added", &open.id, members);
        }
        self.open = Some(open);
    }

    /// Adds text to the open item.
    fn text(&mut self, text: &str) {
        let Some(mut open) = self.open.take() else { return };
        open.text.push_str(text);
        let logprobs = self.tokens.take();
        let (kind, is_content) = match open.kind {
            ItemKind::Message => ("response.output_text.delta", true),
            ItemKind::Reasoning => ("response.reasoning_text.delta", true),
            ItemKind::Call { .. } => ("response.function_call_arguments.delta", false),
            ItemKind::CustomCall { .. } => ("response.custom_tool_call_input.delta", false),
        };
        let is_message = matches!(open.kind, ItemKind::Message);
        self.item_event(kind, &open.id, || {
            let mut members = Vec::new();
            if is_content {
                members.push(("content_index", json_text(&0)));
            }
            members.push(("delta", json_text(&text)));
            if is_message {
                members.push(("logprobs", json_text(&logprobs)));
            }
            members
        });
        if is_message {
            open.logprobs.extend(logprobs);
        }
        self.open = Some(open);
    }

    /// Ends the open item, if there is one.
    fn end(&mut self, status: &str) {
        let Some(open) = self.open.take() else { return };
        let (id, text) = (&open.id, json_text(&open.text));
        let content_index = || ("content_index", json_text(&0));
        match &open.kind {
            ItemKind::Message => {
                let logprobs = || ("logprobs", json_text(&open.logprobs));
                let done = || vec![content_index(), ("text", text), logprobs()];
                self.item_event("response.output_text.done", id, done);
                let part = || vec![content_index(), ("part", json_text(&open.part()))];
                self.item_event("response.content_part.done", id, part);
                self.written.push_str(&open.text);
            }
            ItemKind::Reasoning => {
                let part = json!({ "type": "reasoning_text", "text": open.text });
                let done = || vec![content_index(), ("text", text)];
                self.item_event("response.reasoning_text.done", id, done);
                let part = || vec![content_index(), ("part", json_text(&part))];
                self.item_event("response.content_part.done", id, part);
            }
            ItemKind::Call { name, .. } => {
                let done = || vec![("name", json_text(name)), ("arguments", text)];
                self.item_event("response.function_call_arguments.done", id, done);
            }
            ItemKind::CustomCall { .. } => {
                let done = || vec![("input", text)];
                self.item_event("response.custom_tool_call_input.done", id, done);
            }
        }
        let item = open.object(status);
        self.event("response.output_item.done", || vec![("item", item.clone())]);
        self.output.push((open.id, item));
    }

    /// An event of the item that is being written.
    fn item_event(&mut self, kind: &str, id: &str, members: impl FnOnce() -> EventMembers) {
        self.event(kind, || {
            let mut members = members();
            members.push(("item_id", json_text(&id)));
            members
        });
    }

    /// Adds an event, where the answer is a stream.
    fn event(&mut self, kind: &str, members: impl FnOnce() -> EventMembers) {
        if !self.has_begun {
            return;
        }
        let members = members();
        let of_item = kind.starts_with("response.output_item")
            || members.iter().any(|(name, _)| *name == "item_id");
        let output_index = of_item.then_some(self.output.len());
        let object = EventObject { kind, sequence_number: self.sequence, output_index, members };
        self.events.push(TypedEvent::new(kind, &object));
        self.sequence += 1;
    }

    /// The text of all messages.
    fn written(&self) -> String {
        let open = self.open.as_ref().filter(|open| matches!(open.kind, ItemKind::Message));
        [self.written.as_str(), open.map_or("", |open| &open.text)].concat()
    }

    /// The response as it is now.
    fn object(&self, status: &str, error: Value) -> Box<RawValue> {
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
        json_text(&ResponseObject {
            id: &self.id,
            object: "response",
            created_at: self.created,
            status,
            background: false,
            error,
            incomplete_details: incomplete,
            model: self.app.name(),
            output: self.output.iter().map(|(_, item)| &**item).collect(),
            max_tool_calls: (),
            service_tier: "default",
            truncation: "disabled",
            usage,
            optional: &self.optional,
            asked: &self.input.asked,
        })
    }
}

impl WholeWriter for ResponseAnswer {
    type Whole = Box<RawValue>;

    fn add(&mut self, reply: WorkerReply) {
        let parts = match reply {
            WorkerReply::Text(_, text) => {
                self.tokens.show(&text);
                self.reader.text(&text)
            }
            WorkerReply::Special(_, token) => {
                let name = self.app.vocabulary.token_name(token).into_owned();
                self.tokens.show_all();
                self.reader.special(&name)
            }
            WorkerReply::Step(_, step) => {
                if let Some(logprob) = logprob(&self.app.vocabulary, &step) {
                    let logprob = json!({ "token": logprob["token"], "logprob": logprob["logprob"],
                        "bytes": logprob["bytes"], "top_logprobs": logprob["top_logprobs"] });
                    self.tokens.push(step.text_start, json_text(&logprob));
                }
                Vec::new()
            }
            WorkerReply::Done(_, response) => {
                self.usage = response.usage;
                self.finish = Some(response.finish);
                let reader = std::mem::replace(&mut self.reader, Protocol::default().reader());
                self.parts(reader.finish());
                self.optional = optional_members(&response, &self.written());
                Vec::new()
            }
            WorkerReply::Finished | WorkerReply::Failed(_) | WorkerReply::OutOfTime => Vec::new(),
        };
        self.parts(parts);
    }

    /// Ends the response, and keeps it if that was asked for.
    fn finish(&mut self) -> Box<RawValue> {
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
        let object = self.object(status, Value::Null);
        self.event(&format!("response.{status}"), || vec![("response", object.clone())]);
        if self.input.store {
            let (earlier, input) = (&self.input.earlier, &self.input.items);
            let input: Vec<StoredItem> = input.iter().map(StoredItem::new).collect();
            let output = std::mem::take(&mut self.output).into_iter();
            let output = output.map(|(id, item)| StoredItem { id: Some(id), json: stored(item) });
            let earlier = earlier.iter().map(StoredItem::new);
            let response = StoredResponse {
                object: stored(object.clone()),
                conversation: earlier.chain(input.clone()).chain(output).collect(),
                input,
            };
            self.app.responses.insert(&self.id, response);
        }
        object
    }
}

impl TypedWriter for ResponseAnswer {
    fn begin_stream(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let object = self.object("in_progress", Value::Null);
            self.event("response.created", || vec![("response", object.clone())]);
            self.event("response.in_progress", || vec![("response", object)]);
        }
    }

    fn add_error(&mut self, error: &ApiError) {
        self.begin_stream();
        let (code, message) = error.code_and_message();
        let error = json!({ "code": code, "message": message });
        let object = self.object("failed", error);
        self.event("response.failed", || vec![("response", object)]);
    }

    fn unsent(&mut self) -> &mut Vec<TypedEvent> {
        &mut self.events
    }
}
