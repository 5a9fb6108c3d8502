//! A request on its way through the loop, and those who listen to it.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::ranking::{RankedText, rank, replay};
use super::request::Request;
use super::response::{Event, FinishReason, TextEvent};
use crate::error::{Error, Result};

/// Receives what happens to a request that was [submitted](super::Engine::submit). It is called by the
/// thread that drives the engine, between forward passes, and should return at once.
pub trait Listener: Send {
    /// The first of the request's texts has its turn: before that they waited for others to end.
    fn on_begin(&mut self) {}

    /// An event of one of the request's texts, by its rank. `Break` cancels the request.
    fn on_event(&mut self, rank: usize, event: Event<'_>) -> ControlFlow<()>;

    /// The last call: all texts have ended, or an error has ended them.
    fn on_end(&mut self, result: Result<()>);
}

/// A request as the loop holds it: its listener, the tasks that still run or wait, and the texts of those
/// that have ended.
pub(crate) struct Submission {
    request: Arc<Request>,
    /// Number of best texts passed to the listener.
    n_best: usize,
    listener: Box<dyn Listener>,
    /// Tasks that have not ended.
    open: usize,
    /// By the index of their tasks.
    ended: Vec<(usize, RankedText)>,
    /// The steps of each task's text so far, where the listener gets them at the end.
    steps: Vec<Vec<super::response::Step>>,
    error: Option<Error>,
    is_cancelled: bool,
    has_begun: bool,
    /// Whether the listener got an event since the last step.
    has_emitted: bool,
}

impl Submission {
    /// The submission of a request of `tasks` tasks, of whose texts the listener gets the `n_best` best.
    pub(crate) fn new(
        request: Arc<Request>,
        (tasks, n_best): (usize, usize),
        listener: Box<dyn Listener>,
    ) -> Self {
        let steps = vec![Vec::new(); tasks];
        Self {
            request,
            n_best,
            listener,
            open: tasks,
            ended: Vec::new(),
            steps,
            error: None,
            is_cancelled: false,
            has_begun: false,
            has_emitted: false,
        }
    }

    /// Tells the listener, once, that a task has its turn.
    pub(crate) fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.listener.on_begin();
        }
    }

    /// Passes events of the task of this index to the listener, or keeps them until the end.
    pub(crate) fn emit(&mut self, index: usize, events: Vec<TextEvent>) {
        for event in events {
            if self.request.is_ranked() {
                if let TextEvent::Step(step) = event {
                    self.steps[index].push(*step);
                }
            } else if !self.is_cancelled {
                self.has_emitted = true;
                self.is_cancelled = self.listener.on_event(0, event.as_event()).is_break();
            }
        }
    }

    /// Emits [`Event::Working`] if the listener got no other event since the last step.
    pub(crate) fn emit_working(&mut self) {
        if !std::mem::take(&mut self.has_emitted) && !self.is_cancelled {
            self.is_cancelled = self.listener.on_event(0, Event::Working).is_break();
        }
    }

    /// Cancels the request.
    pub(crate) fn cancel(&mut self) {
        self.is_cancelled = true;
    }

    /// Whether its tasks are to end.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled || self.error.is_some()
    }

    /// Takes the outcome of the task of this index.
    pub(crate) fn take(&mut self, index: usize, outcome: Result<Vec<RankedText>>) {
        self.open -= 1;
        match outcome {
            Err(error) => self.error = self.error.take().or(Some(error)),
            Ok(texts) => self.ended.extend(texts.into_iter().map(|(response, steps)| {
                let kept = std::mem::take(&mut self.steps[index]);
                (index, (response, if steps.is_empty() { kept } else { steps }))
            })),
        }
    }

    /// Whether all tasks have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.open == 0
    }

    /// Emits the ends of the texts, of a request with several the whole events of the best ones, and calls
    /// the listener for the last time.
    pub(crate) fn end(mut self) {
        if let Some(error) = self.error {
            return self.listener.on_end(Err(error));
        }
        let listener = &mut self.listener;
        // Among equal texts the first one comes first, whichever has ended first.
        self.ended.sort_by_key(|&(index, _)| index);
        let mut ended: Vec<RankedText> = self.ended.into_iter().map(|(_, text)| text).collect();
        if self.request.is_ranked() {
            if self.request.beam.is_none() {
                rank(&mut ended);
            }
            ended.truncate(self.n_best);
            for (rank, (response, steps)) in ended.iter().enumerate() {
                let cancelled = response.finish == FinishReason::Cancelled;
                let mut replayed = ControlFlow::Continue(());
                if !cancelled {
                    replayed = replay(response, steps, &mut |event| listener.on_event(rank, event));
                }
                if replayed.is_break() {
                    break;
                }
                if listener.on_event(rank, Event::Ended(response)).is_break() {
                    break;
                }
            }
        } else {
            for (response, _) in &ended {
                // Nothing is left to cancel.
                let _ = listener.on_event(0, Event::Ended(response));
            }
        }
        self.listener.on_end(Ok(()));
    }
}

impl std::fmt::Debug for Submission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Submission").field("request", &self.request).finish_non_exhaustive()
    }
}
