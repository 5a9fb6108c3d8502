//! The one thread that owns the model. Jobs wait in a short queue and are done in order.
//!
//! ```text
//! handlers ── submit(job) ──► queue (64) ──► thread: Engine::generate_each ──► replies ──► handler
//! ```
//!
//! Invariants: only this thread runs the model; a job whose handler is gone ends at its next token;
//! a full queue refuses at once instead of waiting.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::engine::{Engine, Event, FinishReason, Request, Response, Step};
use crate::error::{Error, ErrorKind, Result};

use super::admission::BodyPermit;
use super::api_error::ApiError;

/// Greatest number of waiting jobs; another one is told to come back.
const MAX_QUEUED_JOBS: usize = 64;

/// A reply of the model's thread to a job; replies come in order.
pub(super) enum WorkerReply {
    /// More text of a choice.
    Text(usize, String),
    /// A special token of a choice, if the request asks for them.
    Special(usize, u32),
    /// The step that drew a token of the current choice, before the text that it completes, if the
    /// request asks for steps.
    Step(Box<Step>),
    /// A choice has ended.
    Done(usize, Box<Response>),
    /// All choices have ended.
    Finished,
    /// The end of all replies: an error.
    Failed(Error),
    /// The end of all replies: the job took too long.
    OutOfTime,
}

/// The texts that one request asks for.
pub(super) enum RequestedTexts {
    /// One choice for each of these, one after the other.
    Each(Vec<Request>),
    /// The best texts of one request, and their number.
    Best(Box<Request>, usize),
}

/// Receives the replies of one job. Dropping it cancels the job at its next token, or before it
/// starts.
pub(super) type Replies = mpsc::UnboundedReceiver<WorkerReply>;

struct Job {
    texts: RequestedTexts,
    /// Held until the job is done.
    _permit: Option<BodyPermit>,
    // Unbounded, because a slow reader must not hold up the others; the text is bounded by
    // `max_tokens`.
    replies: mpsc::UnboundedSender<WorkerReply>,
}

/// The handle of the model's thread, which ends when the last handle is dropped.
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
}

impl Worker {
    /// Starts the thread, which works on each request for `time` at most.
    pub(super) fn start(engine: Engine, time: Option<Duration>) -> Result<Self> {
        let (jobs, queue) = mpsc::channel(MAX_QUEUED_JOBS);
        std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || work(engine, queue, time))
            .map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot start the model's thread: {error}"))
                    .with_source(error)
            })?;
        Ok(Self { jobs })
    }

    /// Queues the texts of one request, whose body holds this permit.
    pub(super) fn submit(
        &self,
        texts: RequestedTexts,
        permit: Option<BodyPermit>,
    ) -> std::result::Result<Replies, ApiError> {
        let (replies, receiver) = mpsc::unbounded_channel();
        match self.jobs.try_send(Job { texts, _permit: permit, replies }) {
            Ok(()) => Ok(receiver),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ApiError::busy()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ApiError::gone()),
        }
    }
}

fn work(engine: Engine, mut queue: mpsc::Receiver<Job>, time: Option<Duration>) {
    while let Some(job) = queue.blocking_recv() {
        let mut clock = JobClock::start(time);
        let last = match write(&engine, &job, &mut clock) {
            _ if clock.over => WorkerReply::OutOfTime,
            Ok(()) => WorkerReply::Finished,
            Err(error) => WorkerReply::Failed(error),
        };
        // The handler may be gone.
        let _ = job.replies.send(last);
    }
}

/// Deadline of a job.
struct JobClock {
    end: Option<Instant>,
    over: bool,
}

impl JobClock {
    fn start(time: Option<Duration>) -> Self {
        // A time beyond what the clock can tell is no limit.
        Self { end: time.and_then(|time| Instant::now().checked_add(time)), over: false }
    }

    fn is_over(&mut self) -> bool {
        self.over |= self.end.is_some_and(|end| Instant::now() >= end);
        self.over
    }
}

/// Generates the texts of a job, and replies as they come.
fn write(engine: &Engine, job: &Job, clock: &mut JobClock) -> Result<()> {
    if job.replies.is_closed() {
        return Ok(());
    }
    let mut tell = |index, event: Event<'_>| {
        // A text that was complete in time is sent, with its end.
        let ended = matches!(&event, Event::Ended(text) if text.finish != FinishReason::Cancelled);
        if !ended && clock.is_over() {
            ControlFlow::Break(())
        } else {
            forward(index, event, &job.replies)
        }
    };
    match &job.texts {
        RequestedTexts::Each(requests) => engine.generate_each(requests, &mut tell),
        RequestedTexts::Best(request, n) => engine.generate_best(request, *n, &mut tell),
    }
    .map(drop)
}

fn forward(
    index: usize,
    event: Event<'_>,
    replies: &mpsc::UnboundedSender<WorkerReply>,
) -> ControlFlow<()> {
    let listening = match event {
        Event::Text(text) => replies.send(WorkerReply::Text(index, text.to_owned())).is_ok(),
        Event::Special(token) => replies.send(WorkerReply::Special(index, token)).is_ok(),
        Event::Step(step) => replies.send(WorkerReply::Step(Box::new(step.clone()))).is_ok(),
        Event::Working => !replies.is_closed(),
        Event::Ended(response) => {
            replies.send(WorkerReply::Done(index, Box::new(response.clone()))).is_ok()
        }
    };
    match listening {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}
