//! The content of a message: blocks from the parts of the model's message, with the events of a stream.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::errors::error_object;
use crate::engine::{FinishReason, Protocol, StopReason, Usage};
use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::response::{
    TypedEvent, TypedWriter, WholeWriter, call_id, extend, optional_members, unique_id,
};
use crate::server::worker::WorkerReply;
use crate::tools::{MessagePart, MessageReader};

/// A message while it is written.
pub(super) struct MessageAnswer {
    app: Arc<App>,
    id: String,
    reader: MessageReader,
    /// Blocks that are done.
    content: Vec<Block>,
    open: Option<OpenBlock>,
    /// Blanks before a text that has not begun: between calls they are no text.
    blanks: String,
    usage: Usage,
    finish: Option<FinishReason>,
    stop_sequence: Option<String>,
    /// Members that only some requests ask for.
    optional: Map<String, Value>,
    /// Events that were not sent yet.
    events: Vec<TypedEvent>,
    has_begun: bool,
}

/// The block that is being written, and its text, or the JSON of its input.
struct OpenBlock {
    kind: BlockKind,
    text: String,
}

/// The kind of a block.
enum BlockKind {
    Text,
    Thinking,
    ToolUse { id: String, name: String },
}

/// A block of the content as this API writes it.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        signature: &'static str,
    },
    /// The input as the model wrote it: a [`Value`] would round its long numbers.
    ToolUse {
        id: String,
        name: String,
        input: Box<RawValue>,
    },
}

/// A message as this API writes it.
#[derive(Serialize)]
pub(super) struct Message {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: String,
    content: Vec<Block>,
    stop_reason: Value,
    stop_sequence: Option<String>,
    usage: Value,
    #[serde(flatten)]
    optional: Map<String, Value>,
}

impl OpenBlock {
    fn into_block(self) -> Block {
        let text = self.text;
        match self.kind {
            BlockKind::Text => Block::Text { text },
            BlockKind::Thinking => Block::Thinking { thinking: text, signature: "" },
            BlockKind::ToolUse { id, name } => Block::ToolUse { id, name, input: input(text) },
        }
    }
}

/// The input of a call, of whose JSON a stop sequence may have cut off the end: this API has a form for that.
fn input(text: String) -> Box<RawValue> {
    let text = if text.is_empty() { "{}".to_owned() } else { text };
    let invalid = json!({ "INVALID_JSON": text }).to_string();
    RawValue::from_string(text)
        .or_else(|_| RawValue::from_string(invalid))
        .expect("an object that was just written is JSON")
}

impl MessageAnswer {
    pub(super) fn new(app: &Arc<App>, protocol: &Protocol) -> Self {
        Self {
            app: Arc::clone(app),
            id: unique_id("msg_"),
            reader: protocol.reader(),
            content: Vec::new(),
            open: None,
            blanks: String::new(),
            usage: Usage::default(),
            finish: None,
            stop_sequence: None,
            optional: Map::new(),
            events: Vec::new(),
            has_begun: false,
        }
    }

    fn part(&mut self, part: MessagePart) {
        let open = self.open.as_ref().map(|open| &open.kind);
        match part {
            MessagePart::Text(text) if matches!(open, Some(BlockKind::Text)) => self.text(&text),
            MessagePart::Text(text) => {
                self.blanks.push_str(&text);
                if !self.blanks.trim().is_empty() {
                    self.begin(BlockKind::Text);
                    let text = std::mem::take(&mut self.blanks);
                    self.text(&text);
                }
            }
            MessagePart::Reasoning(text) => {
                if !matches!(open, Some(BlockKind::Thinking)) {
                    self.begin(BlockKind::Thinking);
                }
                self.text(&text);
            }
            MessagePart::Call { name, id } => {
                self.blanks.clear();
                let id = id.unwrap_or_else(call_id);
                self.begin(BlockKind::ToolUse { id, name });
            }
            MessagePart::Arguments(text) => self.text(&text),
        }
    }

    /// Adds an event, which is an object with a `type`, where the answer is a stream.
    fn event(&mut self, object: Value) {
        if self.has_begun {
            let kind = object["type"].as_str().unwrap_or_default();
            self.events.push(TypedEvent::new(kind, &object));
        }
    }

    /// Ends the open block and begins another one.
    fn begin(&mut self, kind: BlockKind) {
        self.end();
        let begun = match &kind {
            BlockKind::Text => json!({ "type": "text", "text": "" }),
            BlockKind::Thinking => json!({ "type": "thinking", "thinking": "", "signature": "" }),
            BlockKind::ToolUse { id, name } => {
                json!({ "type": "tool_use", "id": id, "name": name, "input": {} })
            }
        };
        self.event(json!({ "type": "content_block_start", "index": self.content.len(),
            "content_block": begun }));
        self.open = Some(OpenBlock { kind, text: String::new() });
    }

    /// Adds text to the open block.
    fn text(&mut self, text: &str) {
        let Some(open) = &mut self.open else { return };
        open.text.push_str(text);
        let delta = match open.kind {
            BlockKind::Text => json!({ "type": "text_delta", "text": text }),
            BlockKind::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
            BlockKind::ToolUse { .. } => {
                json!({ "type": "input_json_delta", "partial_json": text })
            }
        };
        self.event(json!({ "type": "content_block_delta", "index": self.content.len(),
            "delta": delta }));
    }

    /// Ends the open block, if there is one.
    fn end(&mut self) {
        let Some(open) = self.open.take() else { return };
        if matches!(open.kind, BlockKind::Thinking) {
            // Clients keep the reasoning for later requests once its signature has come.
            self.event(json!({ "type": "content_block_delta", "index": self.content.len(),
                "delta": { "type": "signature_delta", "signature": "" } }));
        }
        self.event(json!({ "type": "content_block_stop", "index": self.content.len() }));
        self.content.push(open.into_block());
    }

    fn stop_reason(&self) -> Value {
        let has_calls = self.content.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        match self.finish {
            None => Value::Null,
            Some(FinishReason::Length) => json!("max_tokens"),
            Some(FinishReason::StopString) => json!("stop_sequence"),
            Some(_) if has_calls => json!("tool_use"),
            Some(_) => json!("end_turn"),
        }
    }

    fn usage(&self) -> Value {
        let Usage { prompt_tokens, cached_tokens, completion_tokens, .. } = self.usage;
        // Tokens that were found in the cache are counted apart.
        json!({
            "input_tokens": prompt_tokens.saturating_sub(cached_tokens),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached_tokens,
            "output_tokens": completion_tokens,
        })
    }

    /// The message as it is now, with the blocks that are done.
    fn take_message(&mut self) -> Message {
        let stop_reason = self.stop_reason();
        Message {
            id: self.id.clone(),
            kind: "message",
            role: "assistant",
            model: self.app.name().to_owned(),
            content: std::mem::take(&mut self.content),
            stop_reason,
            stop_sequence: self.stop_sequence.clone(),
            usage: self.usage(),
            optional: self.optional.clone(),
        }
    }

    /// The text of all blocks.
    fn written(&self) -> String {
        let open = self.open.as_ref().filter(|open| matches!(open.kind, BlockKind::Text));
        let done = self.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        done.chain(open.map(|open| open.text.as_str())).collect()
    }
}

impl WholeWriter for MessageAnswer {
    type Whole = Message;

    fn add(&mut self, reply: WorkerReply) {
        let parts = match reply {
            WorkerReply::Text(_, text) => self.reader.text(&text),
            WorkerReply::Special(_, token) => {
                let name = self.app.vocabulary.token_name(token).into_owned();
                self.reader.special(&name)
            }
            WorkerReply::Done(_, response) => {
                self.usage = response.usage;
                self.finish = Some(response.finish);
                if let Some(StopReason::Text(stop)) = &response.stop_reason {
                    self.stop_sequence = Some(stop.clone());
                }
                let reader = std::mem::replace(&mut self.reader, Protocol::default().reader());
                reader.finish().into_iter().for_each(|part| self.part(part));
                self.optional = optional_members(&response, &self.written());
                Vec::new()
            }
            WorkerReply::Step(..)
            | WorkerReply::Finished
            | WorkerReply::Failed(_)
            | WorkerReply::OutOfTime => Vec::new(),
        };
        parts.into_iter().for_each(|part| self.part(part));
    }

    fn finish(&mut self) -> Message {
        if self.open.is_none() && !self.blanks.is_empty() && self.content.is_empty() {
            self.begin(BlockKind::Text);
            let blanks = std::mem::take(&mut self.blanks);
            self.text(&blanks);
        }
        self.end();
        let delta =
            json!({ "stop_reason": self.stop_reason(), "stop_sequence": self.stop_sequence });
        let mut event = json!({ "type": "message_delta", "delta": delta, "usage": self.usage() });
        extend(&mut event, &self.optional);
        self.event(event);
        self.event(json!({ "type": "message_stop" }));
        self.take_message()
    }
}

impl TypedWriter for MessageAnswer {
    fn note_prompt(&mut self, tokens: usize) {
        self.usage.prompt_tokens = tokens;
    }

    fn begin_stream(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            let message = self.take_message();
            self.event(json!({ "type": "message_start", "message": message }));
        }
    }

    fn add_error(&mut self, error: &ApiError) {
        let (_, message) = error.code_and_message();
        // Also before the message has begun.
        self.events.push(TypedEvent::new("error", &error_object(error.status(), message)));
    }

    fn unsent(&mut self) -> &mut Vec<TypedEvent> {
        &mut self.events
    }
}
