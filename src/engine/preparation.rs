//! Threads that prepare texts for their next draw while the model runs: guesses and masks.
//!
//! They are not those of the forward pass, whose threads would otherwise wait for a slow mask in the
//! middle of a matrix product. The system shares the processors among both. Idle threads sleep at once: most
//! masks take microseconds, and threads that look out for more would take the time from the model.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::branch::Writer;
use super::scheduler::TaskId;
use crate::error::{Error, ErrorKind, Result};

/// A writer that is to be prepared.
#[derive(Debug)]
struct Lent {
    task: TaskId,
    branch: usize,
    writer: Box<Writer>,
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

/// The threads, and the writers that they have prepared. The threads end when this is dropped.
#[derive(Debug)]
pub(crate) struct PreparationThreads {
    to_threads: Sender<Lent>,
    prepared: Receiver<Prepared>,
    /// Writers that are lent.
    lent: usize,
}

impl PreparationThreads {
    /// As many threads as the forward pass has. Errors if the system starts none.
    pub(crate) fn start() -> Result<Self> {
        let (to_threads, lent) = channel::<Lent>();
        let (to_loop, prepared) = channel();
        let lent = Arc::new(Mutex::new(lent));
        for index in 0..rayon::current_num_threads() {
            let (lent, to_loop) = (Arc::clone(&lent), to_loop.clone());
            let work = move || {
                // One thread waits for a text, and the others for their turn to wait.
                let next = || lent.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(text) = next() {
                    if to_loop.send(text.prepare()).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name(format!("masks-{index}")).spawn(work).map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot start the threads for masks: {error}"))
            })?;
        }
        Ok(Self { to_threads, prepared, lent: 0 })
    }

    /// Prepares a text.
    pub(crate) fn lend(&mut self, task: TaskId, branch: usize, writer: Box<Writer>) {
        self.lent += 1;
        // The threads wait as long as this can send.
        let _ = self.to_threads.send(Lent { task, branch, writer });
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
