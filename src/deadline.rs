//! Time limits: a deadline for the operation that the current thread is in.
//!
//! Every operation that a user's input can make long runs [`within`] a limit on time, and its loops
//! [`check`] it. The deadline belongs to the thread, not to the data, so no function in between
//! carries it. A check costs about a nanosecond: the clock is read at every
//! [`CHECKS_PER_CLOCK_READ`]th one only, and never in operations that are shorter.
//!
//! ```text
//! within(TimePerMask, 10 s, || {      // Compiler, Matcher: one for each public call
//!     for node in trie {
//!         check()?;                   // inner loops
//!         spend(costly_round());      // a round that takes as long as many checks
//!     }
//! })
//! ```
//!
//! Invariants: nested operations share the outer deadline. An operation that is cut short leaves
//! caches as consistent as any other error does: finished results are kept, unfinished ones are
//! dropped. Code that takes an error for an answer ("too complex, so not provably empty") asks
//! [`is_over`] before it stores that answer. A swallowed error is reported at the end of the
//! operation all the same.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, LimitName, Result};

/// Checks from one reading of the clock to the next. The work between two checks, or of one unit
/// that is spent, takes two microseconds at most, and mostly less than a tenth of one; so a
/// deadline is noticed half a millisecond late at most.
const CHECKS_PER_CLOCK_READ: u32 = 256;

/// The event that ends an operation.
#[derive(Clone, Copy, Debug)]
enum End {
    /// This long after the first reading of the clock, which is the second field.
    After(Duration, Option<Instant>),
    /// After a number of checks, for tests.
    #[cfg(test)]
    Checks(u64),
}

/// The operation that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Running {
    end: End,
    /// Checks until the next reading of the clock.
    left: u32,
    over: bool,
    limit: LimitName,
    allowed: Duration,
}

thread_local! {
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
    /// The flag that cancels the operations of this thread.
    static CANCELLED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
    #[cfg(test)]
    static CHECKS_ALLOWED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Restores the outer operation when dropped, even by a panic.
struct Restore(Option<Running>);

impl Drop for Restore {
    fn drop(&mut self) {
        RUNNING.set(self.0);
    }
}

/// Runs work whose operations end, as if their time were over, soon after the flag is set: for a
/// caller whose client has left.
#[cfg(feature = "server")]
pub(crate) fn cancellable<T>(cancelled: Arc<AtomicBool>, run: impl FnOnce() -> T) -> T {
    /// Restores the outer flag when dropped, even by a panic.
    struct RestoreFlag(Option<Arc<AtomicBool>>);
    impl Drop for RestoreFlag {
        fn drop(&mut self) {
            CANCELLED.replace(self.0.take());
        }
    }
    let restore = RestoreFlag(CANCELLED.replace(Some(cancelled)));
    let result = run();
    drop(restore);
    result
}

/// Whether the work of this thread is cancelled; `None` where nobody can cancel it.
pub(crate) fn is_cancelled() -> Option<bool> {
    CANCELLED.with_borrow(|flag| flag.as_ref().map(|flag| flag.load(Ordering::Relaxed)))
}

/// Runs an operation that may take no longer than `allowed`; `limit` is named in the error. An
/// operation within another one shares its deadline.
///
/// Errors as the operation does, or if it took too long.
pub(crate) fn within<T>(
    limit: LimitName,
    allowed: Option<Duration>,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let before = RUNNING.get();
    #[cfg(test)]
    let counted = CHECKS_ALLOWED.get().map(End::Checks);
    #[cfg(not(test))]
    let counted = None;
    // Without a limit there is nothing to check, unless somebody can cancel.
    let bound = allowed.or_else(|| is_cancelled().map(|_| Duration::MAX));
    let end = counted.or(bound.map(|bound| End::After(bound, None)));
    let (None, Some(end)) = (before, end) else { return run() };
    // No time at all: there is no need to read the clock.
    let over = matches!(end, End::After(Duration::ZERO, _));
    let allowed = allowed.unwrap_or_default();
    let restore = Restore(before);
    RUNNING.set(Some(Running { end, left: CHECKS_PER_CLOCK_READ, over, limit, allowed }));
    let result = check().and_then(|()| run());
    // A swallowed error counts all the same; one that was handed on may know the place.
    let result = match result {
        Err(found) if found.kind() == ErrorKind::Limit => Err(found),
        _ if is_over() => Err(error()),
        result => result,
    };
    drop(restore);
    result
}

/// Errors if the operation has taken too long.
#[inline]
pub(crate) fn check() -> Result<()> {
    match RUNNING.get() {
        None => Ok(()),
        Some(running) => check_running(running),
    }
}

/// Counts as `units` checks towards the next reading of the clock, for work of about a microsecond
/// each. If time is over, the next check errors; this function does not, for callers that cannot.
#[inline]
pub(crate) fn spend(units: usize) {
    if units > 0
        && let Some(mut running) = RUNNING.get()
    {
        running.count(units);
        RUNNING.set(Some(running));
    }
}

impl Running {
    /// Counts checks, and reads the clock when they are due.
    fn count(&mut self, checks: usize) {
        // Only tests end an operation otherwise than by the clock.
        #[allow(irrefutable_let_patterns)]
        let End::After(allowed, since) = &mut self.end else { return };
        self.left = self.left.saturating_sub(u32::try_from(checks).unwrap_or(u32::MAX));
        if self.left == 0 {
            self.left = CHECKS_PER_CLOCK_READ;
            let now = Instant::now();
            self.over |= now.duration_since(*since.get_or_insert(now)) > *allowed
                || is_cancelled() == Some(true);
        }
    }
}

#[inline]
fn check_running(mut running: Running) -> Result<()> {
    if running.over {
        return Err(error());
    }
    running.count(1);
    #[cfg(test)]
    if let End::Checks(left) = &mut running.end {
        running.over = *left == 0;
        *left = left.saturating_sub(1);
    }
    RUNNING.set(Some(running));
    if running.over { Err(error()) } else { Ok(()) }
}

/// Whether the operation has taken too long already.
pub(crate) fn is_over() -> bool {
    RUNNING.get().is_some_and(|running| running.over)
}

#[cold]
fn error() -> Error {
    let (limit, allowed) =
        RUNNING.get().map_or((LimitName::TimePerMask, Duration::ZERO), |running| {
            (running.limit, running.allowed)
        });
    let message = format!("it takes longer than {allowed:?}");
    let help = format!("simplify the constraint, or raise the limit `{limit}`");
    Error::new(ErrorKind::Limit, message).with_help(help).with_limit(limit)
}

/// Runs operations whose time is over after a number of checks.
#[cfg(test)]
pub(crate) fn with_checks<T>(checks: u64, run: impl FnOnce() -> T) -> T {
    let before = CHECKS_ALLOWED.replace(Some(checks));
    let result = run();
    CHECKS_ALLOWED.set(before);
    result
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_time_is_none() {
        let error = within(LimitName::TimePerMask, Some(Duration::ZERO), || Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.limit(), Some(LimitName::TimePerMask));
        assert_eq!(
            error.to_string(),
            "it takes longer than 0ns; simplify the constraint, or raise the limit `time_per_mask`"
        );
        assert!(check().is_ok() && !is_over());
    }

    #[test]
    fn an_operation_ends_where_its_checks_do() {
        let run = |checks| {
            with_checks(checks, || {
                let mut done = 0;
                let result = within(LimitName::TimePerMask, None, || {
                    // Part of the operation: no time of its own.
                    within(LimitName::TimePerConstraint, Some(Duration::MAX), || {
                        for _ in 0..10 {
                            check()?;
                            done += 1;
                        }
                        Ok(())
                    })
                });
                (result.is_ok(), done)
            })
        };
        assert_eq!(run(0), (false, 0));
        assert_eq!(run(5), (false, 4));
        assert_eq!(run(11), (true, 10));
    }

    #[test]
    fn a_swallowed_error_is_one_all_the_same() {
        let result = with_checks(1, || {
            within(LimitName::TimePerMask, None, || {
                assert!(check().is_err() && is_over());
                Ok(1)
            })
        });
        assert!(result.is_err());
    }

    #[cfg(feature = "server")]
    #[test]
    fn cancelled_work_ends() {
        for allowed in [None, Some(Duration::MAX)] {
            let flag = Arc::new(AtomicBool::new(false));
            let run = || {
                within(LimitName::TimePerMask, allowed, || {
                    for _ in 0..10 * CHECKS_PER_CLOCK_READ {
                        check()?;
                    }
                    Ok(())
                })
            };
            assert!(cancellable(Arc::clone(&flag), run).is_ok());
            flag.store(true, Ordering::Relaxed);
            assert!(cancellable(Arc::clone(&flag), run).is_err());
            // The flag is not the thread's for ever.
            assert!(run().is_ok());
        }
    }

    #[test]
    fn few_checks_of_much_work_look_at_the_clock() {
        let result = within(LimitName::TimePerMask, Some(Duration::from_nanos(1)), || {
            for _ in 0..4 {
                spend(CHECKS_PER_CLOCK_READ as usize);
                check()?;
            }
            Ok(())
        });
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn what_has_time_ends() {
        let all = within(LimitName::TimePerMask, Some(Duration::from_secs(3600)), || {
            (0..1000).try_for_each(|_| check())
        });
        assert!(all.is_ok());
        assert!(
            within(LimitName::TimePerMask, None, || (0..1000).try_for_each(|_| check())).is_ok()
        );
    }
}
