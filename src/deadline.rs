//! How long one operation may take.
//!
//! Every operation that a user's input can make long runs [`within`] a limit on time, and its loops
//! [`check`] it. That is a matter of the thread that does the work, not of the data, so nothing in
//! between need know: a check costs about a nanosecond, since the clock is read every
//! [`CHECKS`]-th time only, and not at all in operations that are shorter.
//!
//! An operation that was cut short leaves caches as consistent as any other error does: what was
//! found out is kept, what was being found out is not. Who takes an error for an answer ("too
//! complex is not empty") asks [`is_over`] before it remembers that.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};

/// Checks from one look at the clock to the next. What is done between two checks, or for each unit
/// that is spent, takes a microsecond or two at most, and mostly less than a tenth of one.
const CHECKS: u32 = 256;

/// What ends an operation.
#[derive(Clone, Copy, Debug)]
enum End {
    /// So long after the first look at the clock.
    After(Duration, Option<Instant>),
    /// After so many checks.
    #[cfg(test)]
    Checks(u64),
}

/// The operation that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Running {
    end: End,
    /// Checks until the next look.
    left: u32,
    over: bool,
    limit: &'static str,
    allowed: Duration,
}

thread_local! {
    static RUNNING: Cell<Option<Running>> = const { Cell::new(None) };
    #[cfg(test)]
    static CHECKS_ALLOWED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Puts back what was there before, whatever happens.
struct Restore(Option<Running>);

impl Drop for Restore {
    fn drop(&mut self) {
        RUNNING.set(self.0);
    }
}

/// Runs an operation that may take no longer than is allowed; `limit` is the name of what allows
/// it. Part of another operation, it has what is left of that one's time.
///
/// Errors as the operation does, or if it took too long.
pub(crate) fn within<T>(
    limit: &'static str,
    allowed: Option<Duration>,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let before = RUNNING.get();
    #[cfg(test)]
    let counted = CHECKS_ALLOWED.get().map(End::Checks);
    #[cfg(not(test))]
    let counted = None;
    let end = counted.or(allowed.map(|allowed| End::After(allowed, None)));
    let (None, Some(end)) = (before, end) else { return run() };
    let allowed = allowed.unwrap_or_default();
    // None at all: there is no need to look at the clock.
    let over = allowed.is_zero() && matches!(end, End::After(..));
    let restore = Restore(before);
    RUNNING.set(Some(Running { end, left: CHECKS, over, limit, allowed }));
    let result = check().and_then(|()| run());
    // Whoever has swallowed the error cannot have meant to; who handed it on may know the place.
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

/// Counts as `units` checks towards the next look at the clock, for work of about a microsecond
/// each. If time is over, the next check says so: who cannot return an error goes on to its end.
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
    /// Counts so many checks, and looks at the clock if it is time.
    fn count(&mut self, checks: usize) {
        // Only tests end an operation otherwise than by the clock.
        #[allow(irrefutable_let_patterns)]
        let End::After(allowed, since) = &mut self.end else { return };
        self.left = self.left.saturating_sub(u32::try_from(checks).unwrap_or(u32::MAX));
        if self.left == 0 {
            self.left = CHECKS;
            let now = Instant::now();
            self.over |= now.duration_since(*since.get_or_insert(now)) > *allowed;
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

/// Has the operation taken too long already?
pub(crate) fn is_over() -> bool {
    RUNNING.get().is_some_and(|running| running.over)
}

#[cold]
fn error() -> Error {
    let (limit, allowed) =
        RUNNING.get().map_or(("time", Duration::ZERO), |running| (running.limit, running.allowed));
    let message = format!("it takes longer than {allowed:?}");
    let help = format!("simplify the constraint, or raise the limit `{limit}`");
    Error::new(ErrorKind::Limit, message).with_help(help)
}

/// Runs operations whose time is over after so many checks; says how many were left at the end of
/// the last one that was not cut short.
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
        let error = within("time_per_mask", Some(Duration::ZERO), || Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
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
                let result = within("time", None, || {
                    // Part of the operation: no time of its own.
                    within("more", Some(Duration::MAX), || {
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
            within("time", None, || {
                assert!(check().is_err() && is_over());
                Ok(1)
            })
        });
        assert!(result.is_err());
    }

    #[test]
    fn few_checks_of_much_work_look_at_the_clock() {
        let result = within("time", Some(Duration::from_nanos(1)), || {
            for _ in 0..4 {
                spend(CHECKS as usize);
                check()?;
            }
            Ok(())
        });
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn what_has_time_ends() {
        let all =
            within("time", Some(Duration::from_secs(3600)), || (0..1000).try_for_each(|_| check()));
        assert!(all.is_ok());
        assert!(within("time", None, || (0..1000).try_for_each(|_| check())).is_ok());
    }
}
