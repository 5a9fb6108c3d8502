//! The one thread that owns the model. Jobs wait in a short queue and are done in order.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::engine::{Engine, Event, FinishReason, Request, Response, Step};
use crate::error::{Error, ErrorKind, Result};

use super::body::Room;
use super::error::ApiError;

/// Jobs that wait at most; one more is told to come back.
const QUEUE: usize = 64;

/// What the model's thread says of a job, in order.
pub(super) enum Reply {
    /// More text of a choice.
    Text(usize, String),
    /// A special token of a choice; where the request asks.
    Special(usize, u32),
    /// How a token of the choice at hand was drawn, before the text that it completes; where the
    /// request asks.
    Step(Box<Step>),
    /// A choice has ended.
    Done(usize, Box<Response>),
    /// All choices have ended.
    Finished,
    /// Nothing more will come.
    Failed(Error),
    /// Nothing more will come, since it took too long.
    OutOfTime,
}

/// What is to be written for one request.
pub(super) enum Texts {
    /// A choice for each, one after the other.
    Each(Vec<Request>),
    /// As many of the best texts of one.
    Best(Box<Request>, usize),
}

/// Receives the replies of one job. Dropping it cancels the job at its next token, or before it
/// starts.
pub(super) type Replies = mpsc::UnboundedReceiver<Reply>;

struct Job {
    texts: Texts,
    /// Taken until the job is done.
    _room: Option<Room>,
    // Unbounded, because a slow reader must not hold up the others; the text is bounded by
    // `max_tokens`.
    replies: mpsc::UnboundedSender<Reply>,
}

/// The handle of the model's thread, which ends when the last handle is dropped.
pub(super) struct Worker {
    jobs: mpsc::Sender<Job>,
}

impl Worker {
    /// Starts the thread.
    ///
    /// It works on a request for so long at most.
    pub(super) fn start(engine: Engine, time: Option<Duration>) -> Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE);
        std::thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || work(engine, queue, time))
            .map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot start the model's thread: {error}"))
                    .with_source(error)
            })?;
        Ok(Self { jobs })
    }

    /// Queues the choices of one request, whose body takes this room.
    pub(super) fn submit(
        &self,
        texts: Texts,
        room: Option<Room>,
    ) -> std::result::Result<Replies, ApiError> {
        let (replies, receiver) = mpsc::unbounded_channel();
        match self.jobs.try_send(Job { texts, _room: room, replies }) {
            Ok(()) => Ok(receiver),
            Err(mpsc::error::TrySendError::Full(_)) => Err(ApiError::busy()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ApiError::gone()),
        }
    }
}

fn work(engine: Engine, mut queue: mpsc::Receiver<Job>, time: Option<Duration>) {
    while let Some(job) = queue.blocking_recv() {
        let mut clock = Clock::start(time);
        let last = match write(&engine, &job, &mut clock) {
            _ if clock.over => Reply::OutOfTime,
            Ok(()) => Reply::Finished,
            Err(error) => Reply::Failed(error),
        };
        // Nobody may listen any more.
        let _ = job.replies.send(last);
    }
}

/// How long a job may still take.
struct Clock {
    end: Option<Instant>,
    over: bool,
}

impl Clock {
    fn start(time: Option<Duration>) -> Self {
        // A time beyond what the clock can tell is none.
        Self { end: time.and_then(|time| Instant::now().checked_add(time)), over: false }
    }

    fn is_over(&mut self) -> bool {
        self.over |= self.end.is_some_and(|end| Instant::now() >= end);
        self.over
    }
}

/// Writes the choices of a job, and tells of each as it ends.
fn write(engine: &Engine, job: &Job, clock: &mut Clock) -> Result<()> {
    if job.replies.is_closed() {
        return Ok(());
    }
    let mut tell = |index, event: Event<'_>| {
        // A text that is whole in time is told, and its end.
        let ended = matches!(&event, Event::Ended(text) if text.finish != FinishReason::Cancelled);
        if !ended && clock.is_over() {
            ControlFlow::Break(())
        } else {
            forward(index, event, &job.replies)
        }
    };
    match &job.texts {
        Texts::Each(requests) => engine.generate_each(requests, &mut tell),
        Texts::Best(request, n) => engine.generate_best(request, *n, &mut tell),
    }
    .map(drop)
}

fn forward(
    index: usize,
    event: Event<'_>,
    replies: &mpsc::UnboundedSender<Reply>,
) -> ControlFlow<()> {
    let listening = match event {
        Event::Text(text) => replies.send(Reply::Text(index, text.to_owned())).is_ok(),
        Event::Special(token) => replies.send(Reply::Special(index, token)).is_ok(),
        Event::Step(step) => replies.send(Reply::Step(Box::new(step.clone()))).is_ok(),
        Event::Working => !replies.is_closed(),
        Event::Ended(response) => {
            replies.send(Reply::Done(index, Box::new(response.clone()))).is_ok()
        }
    };
    match listening {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    }
}
