//! The rest of a text after a point, as far as it is known, and alternatives measured by it.

use crate::sample::distances::{INFINITE, plus};

/// Bounds on the rest of a text, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Remainder {
    /// No rest has fewer bytes.
    pub(super) least: u32,
    /// No rest has more.
    pub(super) most: u32,
    /// The bytes before something that no text has reached.
    pub(super) goal: u32,
}

impl Remainder {
    /// Nothing follows.
    pub(super) const END: Self = Self { least: 0, most: 0, goal: INFINITE };

    /// The rest with `least` to `most` bytes before it.
    pub(super) fn after(self, least: u32, most: u32) -> Self {
        Self {
            least: plus(least, self.least),
            most: plus(most, self.most),
            goal: plus(least, self.goal),
        }
    }
}

/// An alternative that a walk may take.
#[derive(Clone, Copy)]
pub(super) struct WalkCandidate {
    pub(super) rest: Remainder,
    /// Calls that are open at once on the way.
    pub(super) depth: usize,
    /// Whether no text has taken it.
    pub(super) is_new: bool,
}
