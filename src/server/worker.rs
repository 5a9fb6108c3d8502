//! The thread that drives the engine, and the requests that are handed to it.
//!
//! ```text
//! handlers ── submit ──► engine: all requests side by side ──► replies ──► handler
//!                             ▲ one thread drives it
//! ```
//!
//! Invariants: a request whose handler is gone ends at the next forward pass; one that finds too many
//! waiting is refused at once.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::deadline;
use crate::engine::{Engine, Event, FinishReason, Listener, Request, Response, Step};
use crate::error::{Error, ErrorKind, Result};

use super::admission::BodyPermit;
use super::api_error::ApiError;
use super::histogram::TextMetrics;
use super::request_log::{self, RequestRecord};

/// A reply to a request. Those of one choice come in order, those of several side by side.
pub(super) enum WorkerReply {
    /// More text of a choice.
    Text(usize, String),
    /// A special token of a choice, if the request asks for them.
    Special(usize, u32),
    /// The step that drew a token of a choice, before the text that it completes, if the request asks
    /// for steps.
    Step(usize, Box<Step>),
    /// A choice has ended.
    Done(usize, Box<Response>),
    /// All choices have ended.
    Finished,
    /// The end of all replies: an error.
    Failed(Error),
    /// The end of all replies: the request took too long.
    OutOfTime,
}

/// The texts that one request asks for.
pub(super) enum RequestedTexts {
    /// One choice for each of these.
    Each(Vec<Request>),
    /// The best texts of one request, and their number.
    Best(Box<Request>, usize),
}

/// Receives the replies to one request. Dropping it cancels the request at the next forward pass.
pub(super) type Replies = mpsc::UnboundedReceiver<WorkerReply>;

/// The handle of the thread, which ends when the handle is dropped.
pub(super) struct Worker {
    engine: Engine,
    time: Option<Duration>,
    /// Texts that may wait.
    max_waiting: usize,
    /// Texts of requests that are being submitted.
    being_submitted: AtomicUsize,
    stop: Arc<AtomicBool>,
    metrics: Arc<TextMetrics>,
}

impl Worker {
    /// Starts the thread. Each request is worked on for `time` at most, and at most `max_waiting` texts
    /// wait for their turn.
    pub(super) fn start(
        engine: Engine,
        time: Option<Duration>,
        max_waiting: usize,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let (driven, stopped) = (engine.clone(), Arc::clone(&stop));
        std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || drive(&driven, &stopped))
            .map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot start the engine's thread: {error}"))
                    .with_source(error)
            })?;
        let (being_submitted, metrics) = (AtomicUsize::new(0), Arc::default());
        Ok(Self { engine, time, max_waiting, being_submitted, stop, metrics })
    }

    /// The times of texts so far.
    pub(super) fn metrics(&self) -> &TextMetrics {
        &self.metrics
    }

    /// Submits the texts of one request, whose body holds this permit. Blocks while their constraints
    /// are checked. Returns the numbers of tokens of their prompts, too.
    pub(super) fn submit(
        &self,
        texts: &RequestedTexts,
        permit: Option<BodyPermit>,
    ) -> std::result::Result<(Replies, Vec<usize>), ApiError> {
        let texts_of_request = match texts {
            RequestedTexts::Each(requests) => requests.len(),
            RequestedTexts::Best(request, _) => request.best_of,
        };
        let mut reserved = Reserved::of(&self.being_submitted, texts_of_request);
        let stats = self.engine.stats();
        let free = self.engine.options().max_running.saturating_sub(stats.running);
        let waiting = stats.waiting + reserved.before.saturating_sub(free);
        if waiting >= self.max_waiting {
            return Err(ApiError::queue_full());
        }
        let (replies, receiver) = mpsc::unbounded_channel();
        let record = request_log::current();
        let requests: Vec<(&Request, usize)> = match texts {
            RequestedTexts::Each(requests) => requests.iter().map(|request| (request, 1)).collect(),
            RequestedTexts::Best(request, n) => vec![(request, *n)],
        };
        // A time beyond what the clock can tell is no limit.
        let end = self.time.and_then(|time| Instant::now().checked_add(time));
        let shared = Arc::new(SharedReplies {
            time: self.time,
            began: OnceLock::new(),
            open: AtomicUsize::new(requests.len()),
            has_ended: AtomicBool::new(false),
            _permit: permit,
            replies,
        });
        let mut prompt_tokens = Vec::with_capacity(requests.len());
        for (first, (request, best)) in requests.into_iter().enumerate() {
            // Prompts are tokenised one after the other, which takes a while for many long ones.
            if deadline::is_cancelled() == Some(true) {
                break;
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                shared.end(WorkerReply::OutOfTime);
                break;
            }
            let choice = ChoiceListener {
                first,
                shared: Arc::clone(&shared),
                is_late: false,
                metrics: Arc::clone(&self.metrics),
                record: record.clone(),
                submitted: Instant::now(),
                last_text: None,
            };
            match self.engine.submit(request, best, Box::new(choice)) {
                Ok(submitted) => prompt_tokens.push(submitted.prompt_tokens()),
                Err(error) => {
                    // Those that were submitted before it are cancelled, for nobody listens any more.
                    shared.end(WorkerReply::Failed(error));
                    break;
                }
            }
            reserved.submitted(1);
        }
        Ok((receiver, prompt_tokens))
    }
}

/// Works on requests until it is stopped. After an error or a panic the requests at hand get an error, and the
/// engine begins anew with those that come.
fn drive(engine: &Engine, stopped: &AtomicBool) {
    loop {
        let drive = || engine.drive(&mut || stopped.load(Ordering::Relaxed));
        match catch_unwind(AssertUnwindSafe(drive)) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                tracing::error!(target: "maskwright::server", %error, "engine failed")
            }
            Err(_) => tracing::error!(target: "maskwright::server", "engine panicked"),
        }
        engine.give_up();
    }
}

/// Texts that are being submitted: they count as waiting before the engine has them.
struct Reserved<'a> {
    all: &'a AtomicUsize,
    texts: usize,
    /// Those of other requests.
    before: usize,
}

impl<'a> Reserved<'a> {
    fn of(all: &'a AtomicUsize, texts: usize) -> Self {
        Self { all, texts, before: all.fetch_add(texts, Ordering::Relaxed) }
    }

    /// The engine has so many of the texts.
    fn submitted(&mut self, texts: usize) {
        let texts = texts.min(self.texts);
        self.texts -= texts;
        self.all.fetch_sub(texts, Ordering::Relaxed);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.texts, Ordering::Relaxed);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.engine.wake();
    }
}

/// The state that the choices of one request share.
struct SharedReplies {
    /// The longest time that the model works on the request.
    time: Option<Duration>,
    /// The time at which the first of its texts had its turn.
    began: OnceLock<Instant>,
    /// Choices that have not ended.
    open: AtomicUsize,
    /// Whether the last reply was sent.
    has_ended: AtomicBool,
    /// Held until the request is answered.
    _permit: Option<BodyPermit>,
    // Unbounded, because a slow reader must not hold up the others; the text is bounded by
    // `max_tokens`.
    replies: mpsc::UnboundedSender<WorkerReply>,
}

impl SharedReplies {
    /// Whether the model has worked on the request for too long. Waiting for others is no work on it.
    fn is_out_of_time(&self) -> bool {
        let worked = self.began.get().map(Instant::elapsed);
        self.time.zip(worked).is_some_and(|(time, worked)| worked >= time)
    }

    /// Sends the last reply, unless it was sent.
    fn end(&self, last: WorkerReply) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            // The handler may be gone.
            let _ = self.replies.send(last);
        }
    }
}

/// Listens to one submission: a choice, or the best of several texts.
struct ChoiceListener {
    /// The index of its first choice.
    first: usize,
    shared: Arc<SharedReplies>,
    is_late: bool,
    metrics: Arc<TextMetrics>,
    /// The request, for the log.
    record: Option<Arc<RequestRecord>>,
    submitted: Instant,
    /// When it last had text.
    last_text: Option<Instant>,
}

impl ChoiceListener {
    /// Measures what an event reports.
    fn measure(&mut self, event: &Event<'_>) {
        let now = Instant::now();
        match event {
            Event::Text(_) | Event::Special(_) => {
                match self.last_text.replace(now) {
                    None => self.metrics.time_to_first_token.observe(now - self.submitted),
                    Some(last) => self.metrics.inter_token_latency.observe(now - last),
                };
            }
            Event::Ended(response) => {
                self.metrics.count_end(response.finish);
                if let Some(record) = &self.record {
                    record.count_text(&response.usage);
                }
                self.metrics.queue_time.observe(response.timing.queued);
                self.metrics.request_time.observe(now - self.submitted);
            }
            Event::Step(_) | Event::Working => {}
        }
    }
}

impl Listener for ChoiceListener {
    fn on_begin(&mut self) {
        self.shared.began.get_or_init(Instant::now);
    }

    fn on_event(&mut self, rank: usize, event: Event<'_>) -> ControlFlow<()> {
        self.measure(&event);
        // A text that was complete in time is sent, with its end.
        let ended = matches!(&event, Event::Ended(text) if text.finish != FinishReason::Cancelled);
        self.is_late |= self.shared.is_out_of_time() && !ended;
        if self.is_late || self.shared.has_ended.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let (index, replies) = (self.first + rank, &self.shared.replies);
        let is_heard = match event {
            Event::Text(text) => replies.send(WorkerReply::Text(index, text.to_owned())).is_ok(),
            Event::Special(token) => replies.send(WorkerReply::Special(index, token)).is_ok(),
            Event::Step(step) => {
                replies.send(WorkerReply::Step(index, Box::new(step.clone()))).is_ok()
            }
            Event::Working => !replies.is_closed(),
            Event::Ended(response) => {
                replies.send(WorkerReply::Done(index, Box::new(response.clone()))).is_ok()
            }
        };
        if is_heard { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn on_end(&mut self, result: Result<()>) {
        match result {
            Err(error) => self.shared.end(WorkerReply::Failed(error)),
            Ok(()) if self.is_late => self.shared.end(WorkerReply::OutOfTime),
            Ok(()) if self.shared.open.fetch_sub(1, Ordering::Relaxed) == 1 => {
                self.shared.end(WorkerReply::Finished);
            }
            Ok(()) => {}
        }
    }
}
