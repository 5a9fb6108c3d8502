//! Threads that prepare texts for their next draw while the model runs: guesses and masks.
//!
//! They are not those of the forward pass, whose threads would otherwise wait for a slow mask in the
//! middle of a matrix product. The system shares the processors among both.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::branch::Writer;
use super::scheduler::TaskId;
use crate::error::{Error, ErrorKind, Result};

/// A writer on its way back.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) task: TaskId,
    pub(crate) branch: usize,
    pub(crate) writer: Box<Writer>,
    pub(crate) result: Result<()>,
}

/// The threads, and the writers that they have prepared.
#[derive(Debug)]
pub(crate) struct PreparationThreads {
    threads: rayon::ThreadPool,
    to_loop: Sender<Prepared>,
    prepared: Receiver<Prepared>,
    /// Writers that are lent.
    lent: usize,
}

impl PreparationThreads {
    /// Errors if the system starts no thread.
    pub(crate) fn start() -> Result<Self> {
        let threads = rayon::ThreadPoolBuilder::new()
            .thread_name(|index| format!("masks-{index}"))
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot start the threads for masks: {error}"))
            })?;
        let (to_loop, prepared) = channel();
        Ok(Self { threads, to_loop, prepared, lent: 0 })
    }

    /// Prepares a text.
    pub(crate) fn lend(&mut self, task: TaskId, branch: usize, mut writer: Box<Writer>) {
        self.lent += 1;
        let to_loop = self.to_loop.clone();
        self.threads.spawn_fifo(move || {
            let prepared = catch_unwind(AssertUnwindSafe(|| writer.prepare()));
            let result = prepared.unwrap_or_else(|_| {
                let message = "the mask of this text cannot be computed: an internal error";
                Err(Error::new(ErrorKind::Model, message).with_help("please report it"))
            });
            // The loop may be gone.
            let _ = to_loop.send(Prepared { task, branch, writer, result });
        });
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
