//! An answer as server-sent events: each choice's role, text and end, then `[DONE]`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio_stream::Stream;

use crate::generation::{Protocol, Usage};
use crate::tools::{Part, Reader, Reply as Spoken};
use crate::vocab::Vocabulary;

use super::error::ApiError;
use super::response::{self, Choice, Head, add_usage};
use super::worker::{Replies, Reply};

/// The event that ends every stream that did not fail.
const DONE: &str = "[DONE]";

/// Turns the worker's replies into events. Dropping it, as a client that hangs up does, cancels
/// the job.
pub(super) struct Chunks {
    head: Head,
    vocabulary: Arc<Vocabulary>,
    /// Log-probabilities of tokens whose text is not told yet.
    tokens: Vec<Value>,
    /// Tokens of this choice whose log-probabilities were told.
    told: usize,
    replies: Replies,
    /// The choice that is being written, if its role was told.
    speaking: Option<usize>,
    protocol: Protocol,
    /// Takes apart what is written; gone when a choice has ended.
    reader: Option<Reader>,
    message: Spoken,
    usage: Usage,
    include_usage: bool,
    ready: VecDeque<String>,
    ended: bool,
}

impl Chunks {
    /// A stream that begins with `first`.
    pub(super) fn new(
        (head, vocabulary, protocol): (Head, Arc<Vocabulary>, Protocol),
        first: Reply,
        replies: Replies,
        include_usage: bool,
    ) -> Self {
        let mut chunks = Self {
            head,
            vocabulary,
            tokens: Vec::new(),
            told: 0,
            replies,
            speaking: None,
            protocol,
            reader: None,
            message: Spoken::default(),
            usage: Usage::default(),
            include_usage,
            ready: VecDeque::new(),
            ended: false,
        };
        chunks.take(first);
        chunks
    }

    fn take(&mut self, reply: Reply) {
        match reply {
            Reply::Step(step) => {
                self.tokens.extend(response::logprob(&self.vocabulary, &step));
            }
            Reply::Text(index, text) => {
                self.speak(index);
                let parts = self.reader.as_mut().map(|reader| reader.text(&text));
                self.tell(index, parts.unwrap_or_default());
            }
            Reply::Special(index, token) => {
                self.speak(index);
                let name = self.vocabulary.token_name(token);
                let parts = self.reader.as_mut().map(|reader| reader.special(&name));
                self.tell(index, parts.unwrap_or_default());
            }
            Reply::Done(index, response) => {
                self.speak(index);
                add_usage(&mut self.usage, &response.usage);
                let parts = self.reader.take().map(Reader::finish);
                self.tell(index, parts.unwrap_or_default());
                // Those that completed no text of their own, but for what a stop string cut off.
                let mut tokens = std::mem::take(&mut self.tokens);
                tokens
                    .truncate(response.text_tokens.saturating_sub(std::mem::take(&mut self.told)));
                let message = std::mem::take(&mut self.message);
                self.push(self.head.finish_chunk(index, &Choice::new(*response, message, tokens)));
            }
            Reply::Finished => self.end(),
            Reply::Failed(error) => self.fail(&ApiError::from_engine(&error)),
        }
    }

    fn speak(&mut self, index: usize) {
        if self.speaking.replace(index) != Some(index) {
            self.reader = Some(self.protocol.reader());
            self.push(self.head.role_chunk(index));
        }
    }

    /// Tells of parts of a choice.
    fn tell(&mut self, index: usize, parts: Vec<Part>) {
        for part in parts {
            self.message.add(&part);
            let tokens = std::mem::take(&mut self.tokens);
            self.told += tokens.len();
            let calls = self.message.calls.len();
            self.push(self.head.part_chunk(index, &part, calls, tokens));
        }
    }

    fn end(&mut self) {
        if self.include_usage {
            self.ready.push_back(self.head.usage_chunk(&self.usage).to_string());
        }
        self.ready.push_back(DONE.to_owned());
        self.ended = true;
    }

    /// The status line is long gone: an error object is what OpenAI's clients look for.
    fn fail(&mut self, error: &ApiError) {
        self.ready.push_back(error.object().to_string());
        self.ended = true;
    }

    fn push(&mut self, mut chunk: Value) {
        if self.include_usage {
            // Told in every piece, so that a reader knows that the last one will have it.
            chunk["usage"] = Value::Null;
        }
        self.ready.push_back(chunk.to_string());
    }
}

impl Stream for Chunks {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
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

impl IntoResponse for Chunks {
    fn into_response(self) -> Response {
        Sse::new(self).keep_alive(KeepAlive::default()).into_response()
    }
}
