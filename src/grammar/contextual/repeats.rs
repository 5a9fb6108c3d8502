//! The unrolling of repeats whose iterations see different states.

use super::limits::MAX_UNROLLED_ITERATIONS;
use crate::error::{Error, ErrorKind, Result};

/// A repeat as single iterations, perhaps with a loop after them.
///
/// `x{2,5}` is five iterations, of which two must come; `x{2,}` is one iteration and a loop of one or
/// more.
pub(super) struct Unrolling {
    /// The least number of iterations.
    pub(super) least: u32,
    /// Iterations that are written one by one.
    pub(super) written: u32,
    /// Whether a loop of one or more iterations follows these.
    pub(super) has_loop: bool,
}

impl Unrolling {
    /// The unrolling of a repeat; errors if it has too many iterations.
    pub(super) fn of(min: u32, max: Option<u32>, is_part_nullable: bool) -> Result<Self> {
        let least = if is_part_nullable { 1 } else { min.max(1) };
        let unrolling = match max {
            Some(most) => Self { least, written: most, has_loop: false },
            None => Self { least, written: least - 1, has_loop: true },
        };
        if unrolling.written <= MAX_UNROLLED_ITERATIONS {
            return Ok(unrolling);
        }
        let message = format!(
            "a repeat of more than {MAX_UNROLLED_ITERATIONS} turns stands where a lazy rule may \
             begin, where what it begins with is excluded, or where a pattern looks at the text \
             around it"
        );
        Err(Error::new(ErrorKind::Grammar, message).with_help("write it as `*` or `+`"))
    }

    /// Whether no further iteration can follow iteration number `iteration`, counted from 1.
    pub(super) fn is_last(&self, iteration: u32) -> bool {
        iteration == self.written && !self.has_loop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unbounded_repeat_ends_in_a_loop() {
        let unrolling = |min, max| {
            let Unrolling { least, written, has_loop } = Unrolling::of(min, max, false).unwrap();
            (least, written, has_loop)
        };
        assert_eq!(unrolling(2, Some(5)), (2, 5, false));
        assert_eq!(unrolling(2, None), (2, 1, true));
        assert_eq!(unrolling(0, None), (1, 0, true));
        assert!(Unrolling::of(0, Some(MAX_UNROLLED_ITERATIONS + 1), false).is_err());
    }
}
