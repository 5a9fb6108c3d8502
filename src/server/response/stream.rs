//! An answer as server-sent events: each choice's role, text and end, then `[DONE]`.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio_stream::Stream;

use crate::engine::{Protocol, Usage};
use crate::tools::{AssistantMessage, MessagePart, MessageReader};

use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::request::StreamOptions;
use crate::server::response::custom_input::InputReader;
use crate::server::response::document::ChoiceDocuments;
use crate::server::response::{self, Choice, CompletionHead, add_usage};
use crate::server::worker::{Replies, WorkerReply};

/// The event that ends every stream that did not fail.
const DONE: &str = "[DONE]";

/// The comment by which client and proxies know that the answer is still to come.
const KEEP_ALIVE: &str = "keep-alive";

/// Stream of events from the worker's replies. Dropping it, as happens when the client hangs up,
/// cancels the request.
pub(crate) struct ChunkStream {
    head: CompletionHead,
    app: Arc<App>,
    replies: Replies,
    protocol: Protocol,
    /// The field that bounds the tokens of the answer.
    max_tokens_field: Option<&'static str>,
    /// The choices that have begun and not ended, by index.
    choices: BTreeMap<usize, StreamedChoice>,
    usage: Usage,
    options: StreamOptions,
    ready: VecDeque<String>,
    /// Whether a comment comes first, because the answer had not begun when the stream did.
    begins_with_comment: bool,
    ended: bool,
}

/// A choice while it is streamed; several are, side by side.
struct StreamedChoice {
    /// Takes the message apart.
    reader: MessageReader,
    role_sent: bool,
    message: AssistantMessage,
    /// Reads the arguments of the current call, if it is of a custom tool.
    input: Option<InputReader>,
    /// Reads the documents, if the client asks for their events.
    documents: Option<ChoiceDocuments>,
    /// Log-probabilities of tokens whose text was not sent yet.
    tokens: Vec<Value>,
    /// Number of tokens whose log-probabilities were sent.
    logprobs_sent: usize,
}

impl ChunkStream {
    /// A stream that begins with `first`, or with a comment if the answer has not begun.
    pub(crate) fn new(
        (head, app, protocol, max_tokens_field): (
            CompletionHead,
            Arc<App>,
            Protocol,
            Option<&'static str>,
        ),
        first: Option<WorkerReply>,
        replies: Replies,
        options: StreamOptions,
    ) -> Self {
        let mut chunks = Self {
            head,
            app,
            replies,
            protocol,
            max_tokens_field,
            choices: BTreeMap::new(),
            usage: Usage::default(),
            options,
            ready: VecDeque::new(),
            begins_with_comment: first.is_none(),
            ended: false,
        };
        if let Some(first) = first {
            chunks.take(first);
        }
        chunks
    }

    /// Turns a reply into chunks.
    fn take(&mut self, reply: WorkerReply) {
        match reply {
            WorkerReply::Step(index, step) => {
                let logprob = response::logprob(&self.app.vocabulary, &step);
                self.choice(index).tokens.extend(logprob);
            }
            WorkerReply::Text(index, text) => {
                let parts = self.choice(index).reader.text(&text);
                self.send(index, parts);
            }
            WorkerReply::Special(index, token) => {
                let name = self.app.vocabulary.token_name(token).into_owned();
                let parts = self.choice(index).reader.special(&name);
                self.send(index, parts);
            }
            WorkerReply::Done(index, response) => {
                add_usage(&mut self.usage, &response.usage);
                let reader = self.protocol.reader();
                let reader = std::mem::replace(&mut self.choice(index).reader, reader);
                let parts = reader.finish();
                self.send(index, parts);
                self.send_role(index, None);
                let Some(mut ended) = self.choices.remove(&index) else { return };
                let events = ended.documents.as_mut().map_or(Vec::new(), ChoiceDocuments::finish);
                let StreamedChoice { message, mut tokens, logprobs_sent, .. } = ended;
                // The tokens that completed no text of their own, less those a stop string cut off.
                tokens.truncate(response.text_tokens.saturating_sub(logprobs_sent));
                let choice = Choice::new(*response, message, tokens);
                self.push(with_document(self.head.finish_chunk(index, &choice), events));
            }
            WorkerReply::Finished => self.end(),
            WorkerReply::Failed(error) => {
                self.fail(&ApiError::from_generation(&error, self.max_tokens_field))
            }
            WorkerReply::OutOfTime => self.fail(&self.app.out_of_time()),
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

    /// Sends parts of a choice.
    fn send(&mut self, index: usize, parts: Vec<MessagePart>) {
        for part in parts {
            self.send_role(index, Some(&part));
            let is_custom =
                matches!(&part, MessagePart::Call { name, .. } if self.head.is_custom(name));
            let choice = self.choice(index);
            choice.message.add(&part);
            let input = match &part {
                MessagePart::Call { .. } => {
                    choice.input = is_custom.then(InputReader::default);
                    choice.input.as_ref().map(|_| String::new())
                }
                MessagePart::Arguments(text) => {
                    choice.input.as_mut().map(|reader| reader.read(text))
                }
                MessagePart::Text(_) | MessagePart::Reasoning(_) => None,
            };
            if matches!((&part, &input), (MessagePart::Arguments(_), Some(text)) if text.is_empty())
            {
                // JSON around the text, or a character that has not ended.
                continue;
            }
            let is_custom = choice.input.is_some();
            let documents = choice.documents.as_mut();
            let events = documents.map_or(Vec::new(), |documents| documents.read(&part, is_custom));
            let tokens = std::mem::take(&mut choice.tokens);
            choice.logprobs_sent += tokens.len();
            let calls = choice.message.calls.len();
            let chunk = self.head.part_chunk(index, &part, (calls, input), tokens);
            self.push(with_document(chunk, events));
        }
    }

    fn end(&mut self) {
        if self.options.include_usage {
            self.ready.push_back(self.head.usage_chunk(&self.usage).to_string());
        }
        self.ready.push_back(DONE.to_owned());
        self.ended = true;
    }

    /// Sends an error object: the status line is long gone, and OpenAI's clients look for the object.
    fn fail(&mut self, error: &ApiError) {
        self.ready.push_back(error.object().to_string());
        self.ended = true;
    }

    fn push(&mut self, mut chunk: Value) {
        if self.options.include_usage {
            // Present in every chunk, so that a client knows that the last one will have it.
            chunk["usage"] = Value::Null;
        }
        self.ready.push_back(chunk.to_string());
    }
}

/// A choice of which nothing was sent.
fn new_choice(protocol: &Protocol, options: StreamOptions) -> StreamedChoice {
    StreamedChoice {
        reader: protocol.reader(),
        role_sent: false,
        message: AssistantMessage::default(),
        input: None,
        documents: options.include_document.then(ChoiceDocuments::default),
        tokens: Vec::new(),
        logprobs_sent: 0,
    }
}

/// A chunk with the events of the document that its text is part of, if there are some.
fn with_document(mut chunk: Value, events: Vec<Value>) -> Value {
    if !events.is_empty() {
        chunk["choices"][0]["document"] = Value::Array(events);
    }
    chunk
}

impl Stream for ChunkStream {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.begins_with_comment) {
            return Poll::Ready(Some(Ok(Event::default().comment(KEEP_ALIVE))));
        }
        loop {
            if let Some(data) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Event::default().data(data))));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match ready!(self.replies.poll_recv(context)) {
                Some(reply) => self.take(reply),
                None => self.fail(&ApiError::gone()),
            }
        }
    }
}

impl IntoResponse for ChunkStream {
    fn into_response(self) -> Response {
        Sse::new(self).keep_alive(KeepAlive::new().text(KEEP_ALIVE)).into_response()
    }
}
