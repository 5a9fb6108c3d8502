//! Threads that prepare texts for their next draw while the model runs: guesses and masks.
//!
//! They are not those of the forward pass, whose threads would otherwise wait for a slow mask in the
//! middle of a matrix product. The system shares the processors among both. Idle threads sleep at once: most
//! masks take microseconds, and threads that look out for more would take the time from the model.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::branch::Writer;
use super::scheduler::TaskId;
use crate::error::{Error, ErrorKind, Result};

/// A writer that is to be prepared.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) task: TaskId,
    pub(crate) branch: usize,
    pub(crate) writer: Box<Writer>,
}

impl Lent {
    /// Prepares the writer; a panic is an error of its text alone.
    fn prepare(mut self) -> Prepared {
        let prepared = catch_unwind(AssertUnwindSafe(|| self.writer.prepare()));
        let result = prepared.unwrap_or_else(|_| {
            let message = "the mask of this text cannot be computed: an internal error";
            Err(Error::new(ErrorKind::Model, message).with_help("please report it"))
        });
        Prepared { task: self.task, branch: self.branch, writer: self.writer, result }
    }
}

/// A writer on its way back.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) task: TaskId,
    pub(crate) branch: usize,
    pub(crate) writer: Box<Writer>,
    pub(crate) result: Result<()>,
}

/// Writers that wait for a thread, and threads that wait for a writer.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    /// Told when there is work for an idle thread, or the end.
    work: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    writers: VecDeque<Lent>,
    idle_threads: usize,
    is_closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Consistent after each statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds writers, and wakes one thread for all of them.
    fn extend(&self, writers: impl IntoIterator<Item = Lent>) {
        let mut state = self.lock();
        state.writers.extend(writers);
        self.wake(&state);
    }

    /// The next writer, after a wait; none at the end. A thread that leaves writers behind wakes another
    /// one: quick masks are taken by few threads, and none waits behind a slow one.
    fn next(&self) -> Option<Lent> {
        let mut state = self.lock();
        state.idle_threads += 1;
        let is_idle = |state: &mut QueueState| state.writers.is_empty() && !state.is_closed;
        state = self.work.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner);
        state.idle_threads -= 1;
        let next = state.writers.pop_front();
        self.wake(&state);
        next
    }

    fn wake(&self, state: &QueueState) {
        if state.idle_threads > 0 && !state.writers.is_empty() {
            self.work.notify_one();
        }
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.work.notify_all();
    }
}

/// The threads, and the writers that they have prepared. The threads end when this is dropped.
#[derive(Debug)]
pub(crate) struct PreparationThreads {
    queue: Arc<Queue>,
    prepared: Receiver<Prepared>,
    /// Writers that are lent.
    lent: usize,
}

impl PreparationThreads {
    /// As many threads as the forward pass has. Errors if the system starts none.
    pub(crate) fn start() -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let (to_loop, prepared) = channel();
        // If a thread does not start, the others end with this.
        let this = Self { queue: Arc::clone(&queue), prepared, lent: 0 };
        for index in 0..rayon::current_num_threads() {
            let (queue, to_loop) = (Arc::clone(&queue), to_loop.clone());
            let work = move || {
                while let Some(writer) = queue.next() {
                    if to_loop.send(writer.prepare()).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name(format!("masks-{index}")).spawn(work).map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot start the threads for masks: {error}"))
            })?;
        }
        Ok(this)
    }

    /// Prepares writers.
    pub(crate) fn lend(&mut self, writers: Vec<Lent>) {
        if !writers.is_empty() {
            self.lent += writers.len();
            self.queue.extend(writers);
        }
    }

    /// A text that is prepared, after a wait of at most `patience`.
    pub(crate) fn take(&mut self, patience: Duration) -> Option<Prepared> {
        if self.lent == 0 {
            return None;
        }
        let prepared = match patience {
            Duration::ZERO => self.prepared.try_recv().ok(),
            _ => self.prepared.recv_timeout(patience).ok(),
        }?;
        self.lent -= 1;
        Some(prepared)
    }
}

impl Drop for PreparationThreads {
    fn drop(&mut self) {
        self.queue.close();
    }
}
