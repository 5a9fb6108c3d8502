//! Threads that compute the drafts and masks of the next draws while the model runs.
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

use super::branch::DecodeState;
use super::scheduler::TaskId;
use crate::error::{Error, ErrorKind, Result};

/// A decode state that is to be prepared, and the branch that it belongs to.
#[derive(Debug)]
pub(crate) struct PreparationJob {
    pub(crate) task: TaskId,
    pub(crate) branch: usize,
    pub(crate) decode_state: Box<DecodeState>,
}

impl PreparationJob {
    /// Prepares the state; a panic is an error of its task alone.
    fn prepare(mut self) -> PreparationResult {
        let prepared = catch_unwind(AssertUnwindSafe(|| self.decode_state.prepare()));
        let result = prepared.unwrap_or_else(|_| {
            let message = "the mask of this text cannot be computed: an internal error";
            Err(Error::new(ErrorKind::Model, message).with_help("please report it"))
        });
        let Self { task, branch, decode_state } = self;
        PreparationResult { task, branch, decode_state, result }
    }
}

/// A decode state on its way back to its branch.
#[derive(Debug)]
pub(crate) struct PreparationResult {
    pub(crate) task: TaskId,
    pub(crate) branch: usize,
    pub(crate) decode_state: Box<DecodeState>,
    pub(crate) result: Result<()>,
}

/// Jobs that wait for a thread, and threads that wait for a job.
#[derive(Debug, Default)]
struct Queue {
    state: Mutex<QueueState>,
    /// Notified when there is work for an idle thread, and at the end.
    work: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    jobs: VecDeque<PreparationJob>,
    idle_threads: usize,
    is_closed: bool,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Consistent after each statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds jobs, and wakes one thread for all of them.
    fn extend(&self, jobs: impl IntoIterator<Item = PreparationJob>) {
        let mut state = self.lock();
        state.jobs.extend(jobs);
        self.wake(&state);
    }

    /// The next job, after a wait; none at the end. A thread that leaves jobs behind wakes another one:
    /// quick masks are taken by few threads, and none waits behind a slow one.
    fn next(&self) -> Option<PreparationJob> {
        let mut state = self.lock();
        state.idle_threads += 1;
        let is_idle = |state: &mut QueueState| state.jobs.is_empty() && !state.is_closed;
        state = self.work.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner);
        state.idle_threads -= 1;
        let next = state.jobs.pop_front();
        self.wake(&state);
        next
    }

    fn wake(&self, state: &QueueState) {
        if state.idle_threads > 0 && !state.jobs.is_empty() {
            self.work.notify_one();
        }
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.work.notify_all();
    }
}

/// The threads, and the decode states that they have prepared. The threads end when this is dropped.
#[derive(Debug)]
pub(crate) struct PreparationThreads {
    queue: Arc<Queue>,
    prepared: Receiver<PreparationResult>,
    /// Jobs whose results were not taken yet.
    open_jobs: usize,
}

impl PreparationThreads {
    /// As many threads as the forward pass has. Errors if the system starts none.
    pub(crate) fn start() -> Result<Self> {
        let queue = Arc::new(Queue::default());
        let (to_loop, prepared) = channel();
        // If a thread does not start, the others end with this.
        let this = Self { queue: Arc::clone(&queue), prepared, open_jobs: 0 };
        for index in 0..rayon::current_num_threads() {
            let (queue, to_loop) = (Arc::clone(&queue), to_loop.clone());
            let work = move || {
                while let Some(job) = queue.next() {
                    if to_loop.send(job.prepare()).is_err() {
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

    /// Gives jobs to the threads.
    pub(crate) fn submit(&mut self, jobs: Vec<PreparationJob>) {
        if !jobs.is_empty() {
            self.open_jobs += jobs.len();
            self.queue.extend(jobs);
        }
    }

    /// A decode state that is prepared, after a wait of at most `patience`.
    pub(crate) fn take(&mut self, patience: Duration) -> Option<PreparationResult> {
        if self.open_jobs == 0 {
            return None;
        }
        let prepared = match patience {
            Duration::ZERO => self.prepared.try_recv().ok(),
            _ => self.prepared.recv_timeout(patience).ok(),
        }?;
        self.open_jobs -= 1;
        Some(prepared)
    }
}

impl Drop for PreparationThreads {
    fn drop(&mut self) {
        self.queue.close();
    }
}
