//! Work that somebody waits for goes first: work ahead of its need pauses meanwhile, and takes no core from it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Operations that somebody waits for.
static URGENT: AtomicUsize = AtomicUsize::new(0);

/// The time between two looks whether anything is urgent: about as long as a batch of known masks takes.
const PAUSE: Duration = Duration::from_micros(50);

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

/// Pauses while anything is urgent.
pub(crate) fn give_way() {
    while URGENT.load(Ordering::Relaxed) > 0 {
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_can_wait_waits() {
        static IS_DONE: AtomicBool = AtomicBool::new(false);
        let urgent = Urgent::begin();
        let later = thread::spawn(|| {
            give_way();
            IS_DONE.load(Ordering::SeqCst)
        });
        thread::sleep(4 * PAUSE);
        IS_DONE.store(true, Ordering::SeqCst);
        drop(urgent);
        assert!(later.join().is_ok_and(|was_done| was_done));
    }
}
