//! A chat completion as server-sent events: each choice's role, text and end, then `[DONE]`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use axum::response::sse::Event;
use serde_json::Value;

use crate::engine::{Protocol, Usage};
use crate::tools::{AssistantMessage, MessagePart, MessageReader, ToolCalls};

use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::request::StreamOptions;
use crate::server::response::custom_input::InputReader;
use crate::server::response::document::ChoiceDocuments;
use crate::server::response::event_stream::EventWriter;
use crate::server::response::held_tokens::HeldTokens;
use crate::server::response::{self, Choice, CompletionHead, add_usage, usage_object};
use crate::server::worker::WorkerReply;

/// The event that ends every stream that did not fail.
const DONE: &str = "[DONE]";

/// Makes the chunks of a chat completion.
pub(crate) struct ChunkWriter {
    head: CompletionHead,
    app: Arc<App>,
    protocol: Protocol,
    /// The choices that have begun and not ended, by index.
    choices: BTreeMap<usize, StreamedChoice>,
    usage: Usage,
    /// The usage before each chunk, where all have it.
    usage_so_far: Usage,
    has_logprobs: bool,
    /// Tokens that end a text.
    ends: Vec<u32>,
    options: StreamOptions,
    /// Chunks that were not sent.
    ready: Vec<String>,
}

/// A choice while it is streamed; several are, side by side.
struct StreamedChoice {
    /// Takes the message apart.
    reader: MessageReader,
    role_sent: bool,
    message: AssistantMessage,
    /// Blanks before a text that has not begun, which are no text beside calls; `None` once it has, and where there
    /// are no calls.
    blanks: Option<String>,
    /// Reads the arguments of the current call, if it is of a custom tool.
    input: Option<InputReader>,
    /// Reads the documents, if the client asks for their events.
    documents: Option<ChoiceDocuments>,
    /// Log-probabilities of tokens whose text was not sent yet.
    logprobs: HeldTokens<Value>,
}

impl ChunkWriter {
    /// A writer that has written nothing.
    pub(crate) fn new(
        head: CompletionHead,
        app: Arc<App>,
        protocol: Protocol,
        (options, has_logprobs): (StreamOptions, bool),
        ends: Vec<u32>,
    ) -> Self {
        Self {
            head,
            app,
            protocol,
            choices: BTreeMap::new(),
            usage: Usage::default(),
            usage_so_far: Usage::default(),
            has_logprobs,
            ends,
            options,
            ready: Vec::new(),
        }
    }

    /// Turns a reply into chunks.
    fn read(&mut self, reply: WorkerReply) {
        match reply {
            WorkerReply::Step(index, step) => {
                // A token that ends the text is not counted, and is in no text.
                let is_end = self.ends.contains(&step.token);
                self.usage_so_far.completion_tokens += usize::from(!is_end);
                if self.has_logprobs {
                    let start = step.text_start;
                    if let Some(logprob) = response::logprob(&self.app.vocabulary, &step) {
                        self.choice(index).logprobs.push(start, logprob);
                    }
                }
            }
            WorkerReply::Text(index, text) => {
                let choice = self.choice(index);
                choice.logprobs.show(&text);
                let parts = choice.reader.text(&text);
                self.send(index, parts);
            }
            WorkerReply::Special(index, token) => {
                let name = self.app.vocabulary.token_name(token).into_owned();
                let choice = self.choice(index);
                choice.logprobs.show_all();
                let parts = choice.reader.special(&name);
                self.send(index, parts);
            }
            WorkerReply::Done(index, response) => {
                add_usage(&mut self.usage, &response.usage);
                let reader = self.protocol.reader();
                let reader = std::mem::replace(&mut self.choice(index).reader, reader);
                let parts = reader.finish();
                self.send(index, parts);
                self.send_blanks(index);
                self.send_role(index, None);
                let Some(mut ended) = self.choices.remove(&index) else { return };
                let events = ended.documents.as_mut().map_or(Vec::new(), ChoiceDocuments::finish);
                ended.logprobs.end(response.text_tokens);
                let logprobs = ended.logprobs.take();
                let choice = Choice::new(*response, ended.message, logprobs);
                self.push(with_document(self.head.finish_chunk(index, &choice), events));
            }
            WorkerReply::Finished => {
                if self.options.include_usage {
                    self.ready.push(self.head.usage_chunk(&self.usage).to_string());
                }
                self.ready.push(DONE.to_owned());
            }
            // The stream makes errors of them.
            WorkerReply::Failed(_) | WorkerReply::OutOfTime => {}
        }
    }

    /// The choice of this index, which begins unless it has.
    fn choice(&mut self, index: usize) -> &mut StreamedChoice {
        let (protocol, options) = (&self.protocol, self.options);
        self.choices.entry(index).or_insert_with(|| new_choice(protocol, options))
    }

    /// Sends the role, before the first part of a choice.
    fn send_role(&mut self, index: usize, first: Option<&MessagePart>) {
        if !std::mem::replace(&mut self.choice(index).role_sent, true) {
            self.push(self.head.role_chunk(index, first));
        }
    }

    /// Sends parts of a choice, but holds blanks back until it is known whether they are text.
    fn send(&mut self, index: usize, parts: Vec<MessagePart>) {
        for part in parts {
            let choice = self.choice(index);
            choice.message.add(&part);
            let part = match (part, choice.blanks.take()) {
                (MessagePart::Text(text), Some(blanks)) => {
                    let is_blank = text.trim().is_empty();
                    let text = blanks + &text;
                    if is_blank {
                        choice.blanks = Some(text);
                        continue;
                    }
                    MessagePart::Text(text)
                }
                (part, blanks) => {
                    choice.blanks = blanks;
                    part
                }
            };
            self.send_part(index, &part);
        }
    }

    /// Sends the blanks of a choice whose message has ended, unless they stood beside calls.
    fn send_blanks(&mut self, index: usize) {
        let choice = self.choice(index);
        let blanks = choice.blanks.take().filter(|blanks| !blanks.is_empty());
        if let Some(blanks) = blanks
            && choice.message.calls.is_empty()
        {
            self.send_part(index, &MessagePart::Text(blanks));
        }
    }

    /// Sends a part of a choice, with the tokens that were shown since the last one.
    fn send_part(&mut self, index: usize, part: &MessagePart) {
        self.send_role(index, Some(part));
        let is_custom = matches!(part, MessagePart::Call { name, .. } if self.head.is_custom(name));
        let choice = self.choice(index);
        let input = match part {
            MessagePart::Call { .. } => {
                choice.input = is_custom.then(InputReader::default);
                choice.input.as_ref().map(|_| String::new())
            }
            MessagePart::Arguments(text) => choice.input.as_mut().map(|reader| reader.read(text)),
            MessagePart::Text(_) | MessagePart::Reasoning(_) => None,
        };
        if matches!((part, &input), (MessagePart::Arguments(_), Some(text)) if text.is_empty()) {
            // JSON around the text, or a character that has not ended.
            return;
        }
        let is_custom = choice.input.is_some();
        let documents = choice.documents.as_mut();
        let events = documents.map_or(Vec::new(), |documents| documents.read(part, is_custom));
        let logprobs = choice.logprobs.take();
        let calls = choice.message.calls.len();
        let chunk = self.head.part_chunk(index, part, (calls, input), logprobs);
        self.push(with_document(chunk, events));
    }

    fn push(&mut self, mut chunk: Value) {
        if self.options.include_usage {
            // Present in every chunk, so that a client knows that the last one will have it.
            chunk["usage"] = if self.options.continuous_usage {
                usage_object(&self.usage_so_far)
            } else {
                Value::Null
            };
        }
        self.ready.push(chunk.to_string());
    }
}

/// A choice of which nothing was sent.
fn new_choice(protocol: &Protocol, options: StreamOptions) -> StreamedChoice {
    let may_call = protocol.calls().is_some_and(ToolCalls::may_call);
    StreamedChoice {
        reader: protocol.reader(),
        role_sent: false,
        message: AssistantMessage::default(),
        blanks: may_call.then(String::new),
        input: None,
        documents: options.include_document.then(ChoiceDocuments::default),
        logprobs: HeldTokens::default(),
    }
}

/// A chunk with the events of the document that its text is part of, if there are some.
fn with_document(mut chunk: Value, events: Vec<Value>) -> Value {
    if !events.is_empty() {
        chunk["choices"][0]["document"] = Value::Array(events);
    }
    chunk
}

impl EventWriter for ChunkWriter {
    fn begin(&mut self, prompt_tokens: usize) {
        self.usage_so_far.prompt_tokens = prompt_tokens;
    }

    fn take(&mut self, reply: WorkerReply, events: &mut VecDeque<Event>) {
        self.read(reply);
        events.extend(self.ready.drain(..).map(|data| Event::default().data(data)));
    }

    /// Sends an error object, which OpenAI's clients look for.
    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<Event>) {
        events.push_back(Event::default().data(error.object().to_string()));
    }
}
