//! Work that somebody waits for goes first: work ahead of its need is done in [turns](Turn), between which it pauses
//! while anything is [urgent](Urgent), and takes no core from it.
//!
//! There is one turn in a process. Its holder alone may hold locks for work ahead of its need, so that a process
//! in which there is no turn can be forked: see [`pause_for_fork`]. All state is in atomics, since a lock could be held by
//! another thread when the process is forked.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::deadline;
use crate::error::Result;

/// Operations that somebody waits for.
static URGENT: AtomicUsize = AtomicUsize::new(0);

/// [`FREE`], [`TAKEN`] or [`CLOSED`].
static TURN: AtomicU8 = AtomicU8::new(FREE);
const FREE: u8 = 0;
const TAKEN: u8 = 1;
/// Nobody gets a turn.
const CLOSED: u8 = 2;

/// The time between two looks whether there is a turn: about as long as a batch of known masks takes.
const PAUSE: Duration = Duration::from_micros(50);
/// The checks of a deadline for which a pause stands: enough for the clock to be read.
const CHECKS_PER_PAUSE: usize = 256;

/// An operation that somebody waits for, until it is dropped.
pub(crate) struct Urgent(());

impl Urgent {
    pub(crate) fn begin() -> Self {
        URGENT.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        URGENT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A short piece of work ahead of its need, until it is dropped.
pub(crate) struct Turn(());

impl Turn {
    /// Waits while anything is urgent or another has the turn.
    ///
    /// Errors when the time of the operation is over.
    pub(crate) fn take() -> Result<Self> {
        loop {
            let is_idle = URGENT.load(Ordering::Relaxed) == 0;
            if is_idle && exchange(FREE, TAKEN) {
                return Ok(Self(()));
            }
            thread::sleep(PAUSE);
            deadline::spend(CHECKS_PER_PAUSE);
            deadline::check()?;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TURN.store(FREE, Ordering::Release);
    }
}

fn exchange(from: u8, to: u8) -> bool {
    TURN.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Waits for the turn of others to end, and lets nobody take another one before [`resume_after_fork`]. To be called
/// by the thread that forks, right before it does.
pub(crate) fn pause_for_fork() {
    while !exchange(FREE, CLOSED) {
        thread::sleep(PAUSE);
    }
}

/// Lets others have turns again: to be called after a fork, in both processes. In the child, what was urgent to
/// threads of the parent is no more.
pub(crate) fn resume_after_fork(is_child: bool) {
    if is_child {
        URGENT.store(0, Ordering::Relaxed);
    }
    TURN.store(FREE, Ordering::Release);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::error::LimitName;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_can_wait_waits() {
        static IS_DONE: AtomicBool = AtomicBool::new(false);
        let urgent = Urgent::begin();
        let later = thread::spawn(|| {
            let _turn = Turn::take().unwrap();
            IS_DONE.load(Ordering::SeqCst)
        });
        thread::sleep(4 * PAUSE);
        IS_DONE.store(true, Ordering::SeqCst);
        drop(urgent);
        assert!(later.join().unwrap());
    }

    #[test]
    fn waiting_is_a_part_of_the_time() {
        let urgent = Urgent::begin();
        let limit = LimitName::TimePerConstraint;
        let turn = deadline::within(limit, Some(Duration::from_millis(1)), Turn::take);
        assert!(turn.is_err());
        drop(urgent);
    }
}
