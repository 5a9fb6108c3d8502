//! A stream of server-sent events from the worker's replies, for answers whose events an
//! [`EventWriter`] makes.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio_stream::Stream;

use crate::server::api_error::ApiError;
use crate::server::app::App;
use crate::server::request::TokenBudget;
use crate::server::request_log::{self, RequestRecord};
use crate::server::worker::{Replies, WorkerReply};

/// The comment by which client and proxies know that the answer is still to come.
const KEEP_ALIVE: &str = "keep-alive";

/// Makes the events of an answer.
pub(crate) trait EventWriter: Send + Unpin + 'static {
    /// Takes the number of tokens of the prompts, before all replies.
    fn begin(&mut self, _prompt_tokens: usize) {}

    /// Adds the events of a reply that is no error. After [`WorkerReply::Finished`] comes nothing.
    fn take(&mut self, reply: WorkerReply, events: &mut VecDeque<Event>);

    /// Adds the events of an error, after which nothing comes: the status line is long gone.
    fn fail(&mut self, error: &ApiError, events: &mut VecDeque<Event>);
}

/// Stream of events. Dropping it, as happens when the client hangs up, cancels the request.
pub(crate) struct EventStream<W> {
    app: Arc<App>,
    budget: TokenBudget,
    writer: W,
    replies: Replies,
    ready: VecDeque<Event>,
    ended: bool,
    record: Option<Arc<RequestRecord>>,
    /// Ready when the server ends before the answer does.
    cut_off: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
}

impl<W: EventWriter> EventStream<W> {
    /// A stream that begins with `first`, or with a comment if the answer has not begun.
    pub(crate) fn new(
        (app, budget): (Arc<App>, TokenBudget),
        writer: W,
        first: Option<WorkerReply>,
        replies: Replies,
    ) -> Self {
        let cut_off = Box::pin(app.shutdown.is_cut_off());
        let (ready, record) = (VecDeque::new(), request_log::current());
        let mut stream =
            Self { app, budget, writer, replies, ready, ended: false, record, cut_off };
        match first {
            Some(first) => stream.take(first),
            None => stream.ready.push_back(Event::default().comment(KEEP_ALIVE)),
        }
        stream
    }

    fn take(&mut self, reply: WorkerReply) {
        let error = match reply {
            WorkerReply::Failed(error) => ApiError::from_generation(&error, self.budget.field),
            WorkerReply::OutOfTime => self.app.out_of_time(),
            reply => {
                self.ended = matches!(reply, WorkerReply::Finished);
                return self.writer.take(reply, &mut self.ready);
            }
        };
        self.fail(&error);
    }

    fn fail(&mut self, error: &ApiError) {
        self.app.refusals.count(error.reason());
        if let Some(record) = &self.record {
            record.refuse(error.reason());
        }
        self.writer.fail(error, &mut self.ready);
        self.ended = true;
    }
}

impl<W: EventWriter> Stream for EventStream<W> {
    type Item = Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            match self.replies.poll_recv(context) {
                Poll::Ready(Some(reply)) => self.take(reply),
                Poll::Ready(None) => self.fail(&ApiError::gone()),
                Poll::Pending => {
                    ready!(self.cut_off.as_mut().poll(context));
                    // What the model still writes is not sent.
                    self.replies.close();
                    self.fail(&ApiError::stopping());
                }
            }
        }
    }
}

impl<W: EventWriter> IntoResponse for EventStream<W> {
    fn into_response(self) -> Response {
        Sse::new(self).keep_alive(KeepAlive::new().text(KEEP_ALIVE)).into_response()
    }
}
