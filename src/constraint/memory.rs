//! The memory that matchers of one constraint share: the program as far as it is made, and everything
//! that following it has taught.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::context::CompileContext;
use crate::completion::{BudgetMaskBuilder, CompletionCache, CompletionPlanner};
use crate::error::Result;
use crate::grammar::Grammar;
use crate::json_schema::SchemaSource;
use crate::mask::{MaskBuilder, MaskCache};
use crate::recognizer::{ConfigId, Program, Recognizer};
use crate::regular::Languages;
use crate::urgency::Urgent;
use crate::vocabulary::Vocabulary;

/// A recognizer with the masks and completions of its configurations.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) recognizer: Recognizer,
    pub(crate) masks: MaskCache,
    pub(crate) completions: CompletionCache,
}

impl Memory {
    /// Approximate size, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.recognizer.memory_bytes()
            + self.masks.memory_bytes()
            + self.masks.hot.memory_bytes()
            + self.completions.memory_bytes()
    }

    /// Computes masks.
    pub(super) fn mask_builder<'a>(&'a mut self, vocabulary: &'a Vocabulary) -> MaskBuilder<'a> {
        MaskBuilder::new(vocabulary, &mut self.recognizer, &mut self.masks)
    }

    /// Plans completions.
    pub(super) fn planner<'a>(&'a mut self, vocabulary: &'a Vocabulary) -> CompletionPlanner<'a> {
        CompletionPlanner::new(vocabulary, &mut self.recognizer, &mut self.completions)
    }

    /// Writes budget masks.
    pub(super) fn budget_masks<'a>(
        &'a mut self,
        vocabulary: &'a Vocabulary,
    ) -> BudgetMaskBuilder<'a> {
        let Self { recognizer, masks, completions } = self;
        BudgetMaskBuilder::new(CompletionPlanner::new(vocabulary, recognizer, completions), masks)
    }

    /// Forgets masks and completions that have outgrown a limit while matchers use the memory. Their
    /// configurations stay.
    pub(super) fn evict(&mut self, max_bytes: usize) {
        if self.masks.memory_bytes() > max_bytes {
            self.masks.forget();
        }
        if self.completions.memory_bytes() > max_bytes {
            self.completions.forget();
        }
    }
}

/// A memory behind a lock, since every step may add to it, with the configuration to start from.
#[derive(Clone, Debug)]
pub(crate) struct MemoryHandle {
    memory: Arc<Mutex<Memory>>,
    /// Its size in bytes when it was last asked for.
    known_bytes: Arc<AtomicUsize>,
    /// The configuration before any text.
    pub(crate) start: ConfigId,
    /// The size of the memory as it was compiled, in bytes.
    pub(crate) initial_bytes: usize,
    /// The states of terminals in the memory as it was compiled.
    pub(super) initial_states: usize,
    /// The points of the program in the memory as it was compiled.
    pub(super) initial_points: usize,
}

impl MemoryHandle {
    /// An address that tells memories apart.
    pub(super) fn address(&self) -> *const () {
        Arc::as_ptr(&self.memory).cast()
    }

    /// The number of matchers that use the memory.
    pub(super) fn users(&self) -> usize {
        // One handle is the constraint's own.
        Arc::strong_count(&self.memory) - 1
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Memory> {
        // Every operation leaves it consistent, even one that panics between two others.
        let mut memory = self.try_lock().unwrap_or_else(|| {
            // Said before waiting, so that work ahead of its need leaves the lock.
            let _urgent = Urgent::begin();
            self.memory.lock().unwrap_or_else(PoisonError::into_inner)
        });
        memory.recognizer.languages.budget.begin_task();
        memory
    }

    /// Approximate size of the memory in bytes; the last known one while a matcher is at work on it.
    pub(super) fn memory_bytes(&self) -> usize {
        if let Some(memory) = self.try_lock() {
            self.known_bytes.store(memory.memory_bytes(), Ordering::Relaxed);
        }
        self.known_bytes.load(Ordering::Relaxed)
    }

    /// The memory, to look something up in it, unless another matcher is at work on it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Memory>> {
        match self.memory.try_lock() {
            Ok(memory) => Some(memory),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// A compiled constraint from which fresh memories are made. Schemas are compiled again for each, as
/// their rules are made within a memory.
#[derive(Debug)]
pub(super) enum MemoryTemplate {
    /// A complete program with its terminals, which are copied.
    Whole(Box<Mutex<(Program, Languages)>>),
    /// A grammar with schemas in it, in normal form, without dead parts.
    WithSchemas(Box<Grammar>),
}

impl MemoryTemplate {
    /// A memory as it is after compiling.
    pub(super) fn make(&self, context: &CompileContext) -> Result<MemoryHandle> {
        let CompileContext { vocabulary, coverage, limits, schemas, .. } = context;
        let (program, languages) = match self {
            Self::Whole(whole) => {
                let whole = whole.lock().unwrap_or_else(PoisonError::into_inner);
                (whole.0.copy_whole(), whole.1.clone())
            }
            Self::WithSchemas(grammar) => {
                let (mut source, start) = SchemaSource::new(grammar, limits, schemas)?;
                source.set_every_byte(context.looks_up_items());
                Program::lazy(Box::new(source), start, limits)
            }
        };
        let (mut recognizer, start) =
            Recognizer::new(program, languages, vocabulary, coverage, limits)?;
        let masks = MaskCache::new(Arc::clone(&context.splits), &mut recognizer, coverage);
        let memory = Memory { recognizer, masks, completions: CompletionCache::default() };
        let (initial_bytes, initial_states) =
            (memory.memory_bytes(), memory.recognizer.languages.len());
        let initial_points = memory.recognizer.program.len();
        let memory = Arc::new(Mutex::new(memory));
        let known_bytes = Arc::new(AtomicUsize::new(initial_bytes));
        Ok(MemoryHandle {
            memory,
            known_bytes,
            start,
            initial_bytes,
            initial_states,
            initial_points,
        })
    }
}
