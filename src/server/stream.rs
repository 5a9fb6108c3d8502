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

use crate::engine::{Protocol, Usage};
use crate::tools::{AssistantMessage, MessagePart, MessageReader};

use super::App;
use super::error::ApiError;
use super::request::TokenBudget;
use super::response::{self, Choice, Head, add_usage};
use super::worker::{Replies, Reply};

/// The event that ends every stream that did not fail.
const DONE: &str = "[DONE]";

/// The comment that tells who waits, and what stands between, that the answer is still to come.
const KEEP_ALIVE: &str = "keep-alive";

/// Turns the worker's replies into events. Dropping it, as a client that hangs up does, cancels
/// the job.
pub(super) struct Chunks {
    head: Head,
    app: Arc<App>,
    /// Log-probabilities of tokens whose text is not told yet.
    tokens: Vec<Value>,
    /// Tokens of this choice whose log-probabilities were told.
    told: usize,
    replies: Replies,
    /// The choice that is being written.
    speaking: Option<usize>,
    /// Whether its role was told.
    role_told: bool,
    protocol: Protocol,
    budget: TokenBudget,
    /// Takes apart what is written; gone when a choice has ended.
    reader: Option<MessageReader>,
    message: AssistantMessage,
    usage: Usage,
    include_usage: bool,
    ready: VecDeque<String>,
    /// Nothing was written when the stream began: a comment says that the answer is to come.
    begins_with_comment: bool,
    ended: bool,
}

impl Chunks {
    /// A stream that begins with `first`, or with a comment where nothing is written yet.
    pub(super) fn new(
        (head, app, protocol, budget): (Head, Arc<App>, Protocol, TokenBudget),
        first: Option<Reply>,
        replies: Replies,
        include_usage: bool,
    ) -> Self {
        let mut chunks = Self {
            head,
            app,
            tokens: Vec::new(),
            told: 0,
            replies,
            speaking: None,
            role_told: false,
            protocol,
            budget,
            reader: None,
            message: AssistantMessage::default(),
            usage: Usage::default(),
            include_usage,
            ready: VecDeque::new(),
            begins_with_comment: first.is_none(),
            ended: false,
        };
        if let Some(first) = first {
            chunks.take(first);
        }
        chunks
    }

    fn take(&mut self, reply: Reply) {
        match reply {
            Reply::Step(step) => {
                self.tokens.extend(response::logprob(&self.app.vocabulary, &step));
            }
            Reply::Text(index, text) => {
                self.speak(index);
                let parts = self.reader.as_mut().map(|reader| reader.text(&text));
                self.tell(index, parts.unwrap_or_default());
            }
            Reply::Special(index, token) => {
                self.speak(index);
                let name = self.app.vocabulary.token_name(token);
                let parts = self.reader.as_mut().map(|reader| reader.special(&name));
                self.tell(index, parts.unwrap_or_default());
            }
            Reply::Done(index, response) => {
                self.speak(index);
                add_usage(&mut self.usage, &response.usage);
                let parts = self.reader.take().map(MessageReader::finish);
                self.tell(index, parts.unwrap_or_default());
                self.tell_role(index, None);
                // Those that completed no text of their own, but for what a stop string cut off.
                let mut tokens = std::mem::take(&mut self.tokens);
                tokens
                    .truncate(response.text_tokens.saturating_sub(std::mem::take(&mut self.told)));
                let message = std::mem::take(&mut self.message);
                self.push(self.head.finish_chunk(index, &Choice::new(*response, message, tokens)));
            }
            Reply::Finished => self.end(),
            Reply::Failed(error) => self.fail(&ApiError::from_engine_within(&error, self.budget)),
            Reply::OutOfTime => self.fail(&self.app.out_of_time()),
        }
    }

    fn speak(&mut self, index: usize) {
        if self.speaking.replace(index) != Some(index) {
            self.reader = Some(self.protocol.reader());
            self.role_told = false;
        }
    }

    /// Tells who speaks, before the first part of a choice.
    fn tell_role(&mut self, index: usize, first: Option<&MessagePart>) {
        if !std::mem::replace(&mut self.role_told, true) {
            self.push(self.head.role_chunk(index, first));
        }
    }

    /// Tells of parts of a choice.
    fn tell(&mut self, index: usize, parts: Vec<MessagePart>) {
        for part in parts {
            self.tell_role(index, Some(&part));
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

impl IntoResponse for Chunks {
    fn into_response(self) -> Response {
        Sse::new(self).keep_alive(KeepAlive::new().text(KEEP_ALIVE)).into_response()
    }
}
