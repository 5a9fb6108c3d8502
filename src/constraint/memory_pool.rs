//! The memories of one constraint, bounded in bytes and few enough for matchers to learn from each
//! other.
//!
//! A new matcher joins the first memory with fewer than [`MAX_MATCHERS_OF_MEMORY`] matchers. Where
//! there is none, another memory is made, up to one for each core: so many sequences can be worked
//! on by many cores without waiting for a lock. A memory that has outgrown its limit is replaced by
//! a fresh one; it goes with the last matcher that uses it.

use std::num::NonZero;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use super::context::CompileContext;
use super::memory::{Memory, MemoryHandle, MemoryTemplate};
use crate::deadline;
use crate::error::LimitName;
use crate::error::Result;
use crate::limits::Limits;
use crate::mask::Strategy;
use crate::vocabulary::Vocabulary;

/// Matchers that share a memory before another one is made: they learn from each other, and wait for
/// each other.
const MAX_MATCHERS_OF_MEMORY: usize = 16;

/// The cores that the program may use, asked for once: asking takes longer than many masks.
pub(super) fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// The memories of one constraint, and how to make more.
#[derive(Debug)]
pub(super) struct MemoryPool {
    context: CompileContext,
    template: MemoryTemplate,
    /// Those that new matchers use, one at least.
    memories: Mutex<Vec<MemoryHandle>>,
}

impl MemoryPool {
    /// A pool with one memory.
    pub(super) fn new(context: &CompileContext, template: MemoryTemplate) -> Result<Self> {
        let memories = Mutex::new(vec![template.make(context)?]);
        Ok(Self { context: context.clone(), template, memories })
    }

    pub(super) fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.context.vocabulary
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.context.limits
    }

    /// A memory that no matcher of the pool uses.
    pub(super) fn fresh(&self) -> Result<MemoryHandle> {
        self.template.make(&self.context)
    }

    /// The memory for a new matcher.
    pub(super) fn for_new_matcher(&self) -> MemoryHandle {
        let mut memories = self.lock();
        let with_room = memories.iter().position(|memory| memory.users() < MAX_MATCHERS_OF_MEMORY);
        // What was compiled once compiles again; if it does not, the old memory serves.
        let fresh = || self.limits().compiling(|| self.fresh());
        let least = || (0..memories.len()).min_by_key(|&index| memories[index].users());
        let index = match with_room {
            Some(index) => index,
            None if memories.len() < cores()
                && let Ok(memory) = fresh() =>
            {
                memories.push(memory.clone());
                return memory;
            }
            None => least().unwrap_or(0),
        };
        if self.is_outgrown(&memories[index], memories.len())
            && let Ok(memory) = fresh()
        {
            memories[index] = memory;
        }
        memories[index].clone()
    }

    /// Whether one of so many memories has learned so much that the next text begins with a fresh one:
    /// it uses more than its share of `cache_bytes`, or more than half of the `language_states` or of the
    /// `grammar_size` that compiling left. Not while a matcher is at work on it, since others wait for the answer.
    fn is_outgrown(&self, handle: &MemoryHandle, memories: usize) -> bool {
        let Some(memory) = handle.try_lock() else { return false };
        self.has_learned(handle, &memory, self.limits().cache_bytes / memories, 2)
    }

    /// Whether a memory has learned so much that what can wait is left to the texts that need it: they should
    /// find most of what the limits allow.
    pub(super) fn is_well_filled(&self, handle: &MemoryHandle) -> bool {
        let memory = handle.lock();
        self.has_learned(handle, &memory, self.limits().cache_bytes / (4 * cores()), 4)
    }

    /// Whether a memory has learned more than so many bytes, or more than a part of the states or points that compiling
    /// left.
    fn has_learned(
        &self,
        handle: &MemoryHandle,
        memory: &Memory,
        bytes: usize,
        part: usize,
    ) -> bool {
        let limits = self.limits();
        let is_more = |now: usize, initial: usize, limit: usize| {
            now.saturating_sub(initial) > limit.saturating_sub(initial) / part
        };
        let (states, points) = (memory.recognizer.languages.len(), memory.recognizer.program.len());
        memory.memory_bytes() > bytes.saturating_add(handle.initial_bytes)
            || is_more(states, handle.initial_states, limits.language_states)
            || is_more(points, handle.initial_points, limits.grammar_size)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<MemoryHandle>> {
        // Consistent between any two operations.
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Approximate size of all memories, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.lock().iter().map(MemoryHandle::memory_bytes).sum()
    }

    /// Whether masks that are asked for often are kept whole.
    pub(super) fn keeps_hot_masks(&self) -> bool {
        self.context.splits.strategies().has(Strategy::HotMasks)
    }

    /// Bytes that the rows of hot masks may take in one memory.
    pub(super) fn hot_mask_bytes(&self) -> usize {
        self.limits().cache_bytes / 8
    }

    /// Runs an operation of a matcher within its limit on time.
    pub(super) fn timed<T>(&self, run: impl FnOnce() -> Result<T>) -> Result<T> {
        deadline::within(LimitName::TimePerMask, self.limits().time_per_mask, run)
    }

    /// Forgets masks and completions of a memory that has outgrown its limit.
    pub(super) fn evict(&self, memory: &mut Memory) {
        memory.evict(self.limits().cache_bytes);
    }
}
