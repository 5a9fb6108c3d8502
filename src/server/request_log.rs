//! One event for each request, when all of it is over: what was asked, how it ended, how long it took,
//! how many tokens it was. No prompt and no text is part of it.
//!
//! A [`RequestRecord`] is shared by all who know something of a request: the middleware its status, the
//! worker its tokens, the body of the answer whether it was sent. The last of them to go writes the
//! event. It travels as a task-local value, which [`blocking`](super::work::blocking) hands on to its
//! thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, Method};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

use super::refusals::Refusal;
use crate::engine::Usage;
use crate::error::shortened;

/// Paths that are asked for every few seconds by programs that watch the server.
const WATCHED: [&str; 3] = ["/health", "/ready", "/metrics"];

tokio::task_local! {
    /// The request that the task works on.
    static CURRENT: Arc<RequestRecord>;
}

/// A request, as its event reports it.
pub(super) struct RequestRecord {
    id: String,
    method: Method,
    path: String,
    began: Instant,
    /// The status of the answer; 0 where there was none.
    status: AtomicU16,
    /// The time until the head of the answer.
    head: OnceLock<Duration>,
    refusal: OnceLock<&'static str>,
    /// Whether the whole answer was handed to the connection.
    is_sent: AtomicBool,
    prompt_tokens: AtomicUsize,
    completion_tokens: AtomicUsize,
    /// Texts that were written.
    texts: AtomicUsize,
}

/// The request that the task or the thread works on.
pub(super) fn current() -> Option<Arc<RequestRecord>> {
    CURRENT.try_with(Arc::clone).ok()
}

/// Does the work for a request, on a thread of its own.
pub(super) fn within<T>(record: Option<Arc<RequestRecord>>, work: impl FnOnce() -> T) -> T {
    match record {
        Some(record) => CURRENT.sync_scope(record, work),
        None => work(),
    }
}

/// Does what makes the response to a request, whose tokens are then known by the record.
pub(super) async fn answered(
    record: &Arc<RequestRecord>,
    response: impl Future<Output = Response>,
) -> Response {
    let response = CURRENT.scope(Arc::clone(record), response).await;
    if let Some(Refusal(reason)) = response.extensions().get() {
        record.refuse(reason);
    }
    record.status.store(response.status().as_u16(), Ordering::Relaxed);
    let _ = record.head.set(record.began.elapsed());
    let record = Arc::clone(record);
    response.map(|body| Body::new(RecordedBody { body, record }))
}

impl RequestRecord {
    /// A request that has just come in.
    pub(super) fn new(id: Option<&HeaderValue>, request: &Request) -> Arc<Self> {
        Arc::new(Self {
            id: id.and_then(|id| id.to_str().ok()).unwrap_or_default().to_owned(),
            method: request.method().clone(),
            path: shortened(request.uri().path()).into_owned(),
            began: Instant::now(),
            status: AtomicU16::new(0),
            head: OnceLock::new(),
            refusal: OnceLock::new(),
            is_sent: AtomicBool::new(false),
            prompt_tokens: AtomicUsize::new(0),
            completion_tokens: AtomicUsize::new(0),
            texts: AtomicUsize::new(0),
        })
    }

    /// Notes why it is refused, or its answer cut off.
    pub(super) fn refuse(&self, reason: &'static str) {
        // The first reason is the cause of others.
        let _ = self.refusal.set(reason);
    }

    /// Counts a text that has ended.
    pub(super) fn count_text(&self, usage: &Usage) {
        // Several texts of one prompt have read it once.
        self.prompt_tokens.fetch_max(usage.prompt_tokens, Ordering::Relaxed);
        self.completion_tokens.fetch_add(usage.completion_tokens, Ordering::Relaxed);
        self.texts.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for RequestRecord {
    fn drop(&mut self) {
        let millis = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let status = Some(self.status.load(Ordering::Relaxed)).filter(|&status| status > 0);
        let has_texts = self.texts.load(Ordering::Relaxed) > 0;
        let count = |count: &AtomicUsize| has_texts.then(|| count.load(Ordering::Relaxed) as u64);
        let (request_id, method, path) = (&*self.id, self.method.as_str(), &*self.path);
        let duration_ms = millis(self.began.elapsed());
        let head_ms = self.head.get().copied().map(millis);
        let refusal = self.refusal.get().copied();
        let prompt_tokens = count(&self.prompt_tokens);
        let completion_tokens = count(&self.completion_tokens);
        let is_sent = self.is_sent.load(Ordering::Relaxed) || self.method == Method::HEAD;
        // Levels are part of an event's static data, so there is one event for each.
        macro_rules! event {
            ($level:ident, $message:literal) => {
                tracing::$level!(
                    target: "maskwright::server", request_id, method, path, status, duration_ms,
                    head_ms, prompt_tokens, completion_tokens, refusal, $message
                )
            };
        }
        match status {
            // Not being ready is an answer, too.
            Some(_) if WATCHED.contains(&path) => event!(debug, "answered"),
            Some(500..) => event!(warn, "failed"),
            Some(..400) if refusal.is_some() => event!(warn, "cut off"),
            Some(_) if is_sent => event!(info, "answered"),
            _ => event!(info, "the client hung up"),
        }
    }
}

/// The body of an answer, which keeps the record until it was sent.
struct RecordedBody {
    body: Body,
    record: Arc<RequestRecord>,
}

impl HttpBody for RecordedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.record.is_sent.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RecordedBody {
    fn drop(&mut self) {
        // An empty body is never asked for a frame.
        if self.body.is_end_stream() {
            self.record.is_sent.store(true, Ordering::Relaxed);
        }
    }
}
