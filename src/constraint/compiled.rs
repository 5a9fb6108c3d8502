//! Compiled constraints.

use std::fmt;
use std::sync::{Arc, Weak};

use super::captures::CaptureParser;
use super::memory::MemoryHandle;
use super::memory_pool::MemoryPool;
use crate::error::Result;
use crate::limits::Limits;
use crate::vocabulary::Vocabulary;

/// A compiled constraint. Cheap to clone; `Send + Sync`; what matchers learn is shared by all of
/// them, within [`Limits::cache_bytes`].
#[derive(Clone)]
pub struct Constraint {
    pub(super) memories: Arc<MemoryPool>,
    /// Absent where the grammar names no parts.
    pub(super) captures: Option<Arc<CaptureParser>>,
}

impl Constraint {
    /// A memory of its own, as it is after compiling, so that what is learned there depends on no
    /// matcher; and how many bytes it may take.
    pub(crate) fn fresh_memory(&self) -> Result<(MemoryHandle, usize)> {
        Ok((self.memories.fresh()?, self.limits().cache_bytes))
    }

    /// Whether its grammar names parts of the text, which [`Matcher::captures`](super::Matcher::captures)
    /// reports.
    pub fn has_captures(&self) -> bool {
        self.captures.is_some()
    }

    /// The vocabulary that it was compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.memories.vocabulary()
    }

    /// The limits that it was compiled with.
    pub(crate) fn limits(&self) -> &Limits {
        self.memories.limits()
    }

    /// About how many bytes its memory takes now.
    pub fn cache_bytes(&self) -> usize {
        self.memories.memory_bytes()
    }
}

/// A constraint that may be gone, without its captures.
pub(crate) struct WeakConstraint(Weak<MemoryPool>);

impl Constraint {
    pub(crate) fn downgrade(&self) -> WeakConstraint {
        WeakConstraint(Arc::downgrade(&self.memories))
    }
}

impl WeakConstraint {
    pub(crate) fn upgrade(&self) -> Option<Constraint> {
        Some(Constraint { memories: self.0.upgrade()?, captures: None })
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Constraint").finish_non_exhaustive()
    }
}
