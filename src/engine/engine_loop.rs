//! The loop: many requests side by side, one forward pass at a time.
//!
//! ```text
//! submit ──▶ tasks ── plan ──▶ forward_batch ──▶ draw ──▶ tell ──▶ listeners
//!              ▲   (scheduler)      ∥              │
//!              └──── masks, guesses (preparation) ◄┘
//! ```
//!
//! A step plans, lets the model read what was planned, and draws a token of every text that has its
//! logits and its mask. Masks are computed meanwhile on threads of their own. A text whose mask is not
//! ready [`EngineOptions::mask_patience`] after the pass keeps its logits and sits out passes until it is; the others
//! go on. One text alone goes the same way as many.
//!
//! *Invariant.* A text does not depend on what is read beside it: on the CPU logits are the same bit for
//! bit in any batch ([`Model::forward_batch`]), and everything else belongs to the text alone.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::engine_options::{EngineOptions, EngineStats};
use super::model_runner::{ModelRunner, TokenizedPrompt};
use super::prefix_cache::{BlockKey, PrefixCache};
use super::preparation::{PreparationThreads, Prepared};
use super::request::Request;
use super::response::Passes;
use super::scheduler::{BLOCK, Grant, Resources, Scheduler, SchedulerLimits, TaskId, Unread};
use super::sequence::Sequence;
use super::submission::{Listener, Submission};
use super::task::Task;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Chunk, Model};

/// Time for which a step waits for masks if there is nothing else to do.
const IDLE_PATIENCE: Duration = Duration::from_millis(20);

/// Blocks that are kept free of a text's greatest length: for guesses beyond it, and for the block
/// that is copied where texts part.
const SPARE_BLOCKS: usize = 4;

/// The name of a submitted request.
pub(crate) type SubmissionId = u64;

/// A text that is ready to begin.
pub(crate) struct NewText {
    pub(crate) prompt: TokenizedPrompt,
    pub(crate) sequence: Sequence,
}

/// A request that is ready to begin.
pub(crate) struct NewSubmission {
    pub(crate) request: Arc<Request>,
    /// The number of its texts that are told.
    pub(crate) best: usize,
    pub(crate) texts: Vec<NewText>,
    pub(crate) listener: Box<dyn Listener>,
}

/// Requests on their way to the loop. It is open while a step is worked on.
#[derive(Default)]
pub(crate) struct Inbox {
    new: Vec<(SubmissionId, NewSubmission)>,
    cancelled: Vec<SubmissionId>,
    next: SubmissionId,
}

impl Inbox {
    /// Adds a request.
    pub(crate) fn submit(&mut self, new: NewSubmission) -> SubmissionId {
        let id = self.next;
        self.next += 1;
        self.new.push((id, new));
        id
    }

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, submission: SubmissionId) {
        self.cancelled.push(submission);
    }

    /// Whether there is nothing new.
    pub(crate) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.cancelled.is_empty()
    }

    /// The number of texts that the loop has not seen.
    pub(crate) fn texts(&self) -> usize {
        self.new.iter().map(|(_, new)| new.texts.len()).sum()
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("texts", &self.texts()).finish_non_exhaustive()
    }
}

/// All requests of an engine.
#[derive(Debug)]
pub(crate) struct EngineLoop {
    state: LoopState,
    scheduler: Scheduler,
    preparation: PreparationThreads,
    mask_patience: Duration,
    submissions: BTreeMap<SubmissionId, Submission>,
}

/// The tasks, and the blocks that they hold.
#[derive(Debug)]
struct LoopState {
    runner: ModelRunner,
    /// By arrival.
    tasks: BTreeMap<TaskId, Entry>,
    prefix: PrefixCache,
    shares_prefixes: bool,
    /// Blocks that all texts and the prefix cache may hold.
    max_blocks: usize,
    stats: EngineStats,
    next_task: TaskId,
    /// The cached blocks that no text holds, counted since they last changed.
    unused: Cell<Option<usize>>,
}

/// A task, and whose it is.
#[derive(Debug)]
struct Entry {
    task: Task,
    submission: SubmissionId,
    /// Its place among the submission's texts.
    index: usize,
    /// Full blocks of each branch that the prefix cache has seen.
    published: usize,
}

impl EngineLoop {
    /// A loop without requests.
    ///
    /// Errors if the system starts no threads.
    pub(crate) fn new(runner: ModelRunner, options: &EngineOptions) -> Result<Self> {
        let scheduler = Scheduler::new(SchedulerLimits {
            max_running: options.max_running.max(1),
            prefill_tokens: options.prefill_tokens,
            prefill_tokens_beside_decode: options.prefill_tokens_beside_decode,
        });
        let state = LoopState {
            max_blocks: max_blocks(runner.model(), options),
            runner,
            tasks: BTreeMap::new(),
            prefix: PrefixCache::default(),
            shares_prefixes: options.prefix_cache,
            stats: EngineStats::default(),
            next_task: 0,
            unused: Cell::new(None),
        };
        let preparation = PreparationThreads::start()?;
        let mask_patience = options.mask_patience;
        Ok(Self { state, scheduler, preparation, mask_patience, submissions: BTreeMap::new() })
    }

    /// Adds a request.
    fn add(&mut self, id: SubmissionId, new: NewSubmission) {
        let NewSubmission { request, best, texts, listener } = new;
        let count = texts.len();
        let mut submission = Submission::new(request, (count, best), listener);
        for (index, NewText { prompt, sequence }) in texts.into_iter().enumerate() {
            let task = self.state.next_task;
            match Task::new(task, &self.state.runner, prompt, sequence) {
                Ok(new) => {
                    let entry = Entry { task: new, submission: id, index, published: 0 };
                    self.state.tasks.insert(task, entry);
                    self.state.next_task += 1;
                }
                Err(error) => submission.take(index, Err(error)),
            }
        }
        self.submissions.insert(id, submission);
    }

    /// Cancels a request; its listener is told the end in the next step.
    fn cancel(&mut self, submission: SubmissionId) {
        if let Some(submission) = self.submissions.get_mut(&submission) {
            submission.cancel();
        }
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.submissions.is_empty()
    }

    /// The figures of the loop now. The blocks that texts hold are counted every few steps.
    pub(crate) fn stats(&mut self) -> EngineStats {
        const COUNT_EVERY: u64 = 32;
        let state = &mut self.state;
        if self.submissions.is_empty() || state.stats.steps.is_multiple_of(COUNT_EVERY) {
            state.unused.set(None);
            state.stats.kv_blocks_held =
                state.blocks_in_use().saturating_sub(state.unused_blocks());
        }
        let running = state.tasks.values().filter(|entry| entry.task.is_running).count();
        EngineStats {
            running,
            waiting: state.tasks.len() - running,
            kv_blocks: state.max_blocks,
            kv_blocks_cached: state.prefix.len(),
            ..state.stats
        }
    }

    /// Takes what is new, works on all requests for one forward pass, and tells what has come of it.
    pub(crate) fn step(&mut self, inbox: &Mutex<Inbox>) {
        let (new, cancelled) = {
            let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
            (std::mem::take(&mut inbox.new), std::mem::take(&mut inbox.cancelled))
        };
        new.into_iter().for_each(|(id, new)| self.add(id, new));
        cancelled.into_iter().for_each(|id| self.cancel(id));
        self.state.unused.set(None);
        self.end_cancelled();
        self.take_prepared(Duration::ZERO);
        let grants = self.scheduler.plan(&mut self.state);
        self.prepare();
        let is_idle = grants.is_empty();
        if !is_idle {
            self.state.stats.steps += 1;
            if let Err(error) = self.state.forward(&grants) {
                for grant in &grants {
                    if let Some(entry) = self.state.tasks.get_mut(&grant.task) {
                        entry.task.fail(error.clone());
                    }
                }
            }
        }
        if is_idle && !self.state.tasks.values().any(|entry| entry.task.can_draw()) {
            // All that there is to do is late.
            self.take_prepared(IDLE_PATIENCE);
        }
        self.draw();
        self.state.publish();
        self.tell();
    }

    /// Ends the tasks of requests that were cancelled or have failed.
    fn end_cancelled(&mut self) {
        for entry in self.state.tasks.values_mut() {
            let submission = self.submissions.get(&entry.submission);
            if submission.is_none_or(Submission::is_cancelled) && !entry.task.has_ended() {
                entry.task.cancel();
            }
        }
    }

    /// Lends the writers of running tasks that have something to prepare.
    fn prepare(&mut self) {
        for (&id, entry) in &mut self.state.tasks {
            if !entry.task.is_written() {
                continue;
            }
            for (index, branch) in entry.task.branches_mut().into_iter().enumerate() {
                if let Some(writer) = branch.lend() {
                    self.preparation.lend(id, index, writer);
                }
            }
        }
    }

    /// Takes all writers that are prepared, the first after a wait.
    fn take_prepared(&mut self, patience: Duration) {
        let mut next = self.preparation.take(patience);
        while let Some(Prepared { task, branch, writer, result }) = next {
            if let Some(entry) = self.state.tasks.get_mut(&task) {
                if let Some(branch) = entry.task.branches_mut().into_iter().nth(branch) {
                    branch.give_back(writer);
                }
                if let Err(error) = result {
                    entry.task.fail(error);
                }
                if entry.task.is_cancelled() {
                    entry.task.cancel();
                }
            }
            next = self.preparation.take(Duration::ZERO);
        }
    }

    /// Draws from all logits whose masks come in time, and begins the preparation of the next draws.
    fn draw(&mut self) {
        let clock = Instant::now();
        loop {
            let tasks = self.state.tasks.values_mut().map(|entry| &mut entry.task);
            let mut ready: Vec<&mut Task> = tasks.filter(|task| task.can_draw()).collect();
            self.state.stats.tokens_drawn += ready.len() as u64;
            match ready.as_mut_slice() {
                [] => {}
                [one] => one.draw(),
                many => many.par_iter_mut().for_each(|task| task.draw()),
            }
            self.prepare();
            let entries = self.state.tasks.values();
            let is_waiting = entries.into_iter().any(|entry| entry.task.is_waited_for());
            let left = self.mask_patience.saturating_sub(clock.elapsed());
            if !is_waiting {
                return;
            }
            if left.is_zero() {
                break;
            }
            self.take_prepared(left);
        }
        for entry in self.state.tasks.values_mut() {
            for branch in entry.task.branches_mut() {
                let is_late = branch.awaits_writer();
                self.state.stats.late_masks += u64::from(is_late && !branch.is_late);
                branch.is_late = is_late;
            }
        }
    }

    /// Tells the listeners what happened, and takes out what has ended.
    fn tell(&mut self) {
        let mut ended = Vec::new();
        for (&id, entry) in &mut self.state.tasks {
            let Some(submission) = self.submissions.get_mut(&entry.submission) else { continue };
            submission.tell(entry.index, std::mem::take(&mut entry.task.events));
            if let Some(outcome) = entry.task.take_outcome() {
                submission.take(entry.index, outcome);
                ended.push(id);
            }
        }
        for id in ended {
            self.state.tasks.remove(&id);
        }
        let done: Vec<SubmissionId> =
            self.submissions.iter().filter(|(_, s)| s.has_ended()).map(|(&id, _)| id).collect();
        for submission in done.iter().filter_map(|id| self.submissions.remove(id)) {
            submission.end(self.state.runner.vocabulary());
        }
        self.submissions.values_mut().for_each(Submission::tell_step);
    }
}

impl LoopState {
    fn model(&self) -> &Model {
        self.runner.model()
    }

    fn blocks_in_use(&self) -> usize {
        self.model().kv_blocks().map_or(0, |blocks| blocks.in_use)
    }

    /// The blocks that the prefix cache alone holds.
    fn unused_blocks(&self) -> usize {
        let unused = self.unused.get().unwrap_or_else(|| self.prefix.unused());
        self.unused.set(Some(unused));
        unused
    }

    /// Lets the model read what was planned.
    fn forward(&mut self, grants: &[Grant]) -> Result<()> {
        let needed: usize = grants
            .iter()
            .filter_map(|grant| {
                let branch = *self.tasks.get(&grant.task)?.task.branches().get(grant.branch)?;
                Some(branch.cache().blocks_for(grant.tokens))
            })
            .sum();
        let over = (self.blocks_in_use() + needed).saturating_sub(self.max_blocks);
        if over > 0 {
            self.prefix.evict(over);
        }
        let wanted: HashMap<(TaskId, usize), usize> =
            grants.iter().map(|grant| ((grant.task, grant.branch), grant.tokens)).collect();
        let mut branches = Vec::with_capacity(grants.len());
        for (&id, entry) in &mut self.tasks {
            let texts = entry.task.branches_mut().into_iter().enumerate();
            branches
                .extend(texts.filter_map(|(i, branch)| Some((branch, *wanted.get(&(id, i))?, id))));
        }
        let mut chunks: Vec<Chunk<'_>> = Vec::with_capacity(branches.len());
        for (branch, tokens, _) in &mut branches {
            branch.begin_read();
            let chunk = branch.chunk(*tokens);
            self.stats.tokens_read += chunk.tokens.len() as u64;
            chunks.push(chunk);
        }
        let rows = self.runner.model().forward_batch(&mut chunks)?;
        drop(chunks);
        let mut counts: BTreeMap<TaskId, (bool, Passes)> = BTreeMap::new();
        for ((branch, _, id), rows) in branches.into_iter().zip(rows) {
            let (has_logits, passes) = counts.entry(id).or_default();
            *has_logits |= !rows.is_empty();
            branch.end_read(rows, passes);
        }
        for (id, (has_logits, passes)) in counts {
            if let Some(entry) = self.tasks.get_mut(&id) {
                entry.task.count_pass(has_logits, passes);
            }
        }
        Ok(())
    }

    /// Adds the blocks that have become full to the prefix cache.
    fn publish(&mut self) {
        if !self.shares_prefixes {
            return;
        }
        for entry in self.tasks.values_mut().filter(|entry| !entry.task.has_ended()) {
            let branches = entry.task.branches();
            let settled = branches.iter().map(|branch| branch.settled() / BLOCK).min().unwrap_or(0);
            if settled > entry.published {
                for branch in branches {
                    let tokens = &branch.tokens()[..settled * BLOCK];
                    let read = (tokens, branch.cache().rotary_factors());
                    self.prefix.insert(read, entry.published, |i| branch.cache().block(i));
                }
                entry.published = settled;
            }
        }
    }

    /// The keys of blocks that running tasks are about to read: a task that needs them waits.
    fn keys_in_flight(&self) -> HashSet<BlockKey> {
        let mut keys = HashSet::new();
        for entry in self.tasks.values().filter(|e| e.task.is_running && !e.task.has_ended()) {
            for branch in entry.task.branches() {
                let tokens = branch.tokens();
                // The last token may be one that is never read.
                let full = tokens.len() - 1;
                if branch.settled() + BLOCK <= full {
                    let factors = branch.cache().rotary_factors();
                    keys.extend(self.prefix.keys(&tokens[..full], factors));
                }
            }
        }
        keys
    }

    /// The tokens of a text that are looked up: all but the last, which is read for its logits.
    fn shared_part(tokens: &[u32]) -> &[u32] {
        &tokens[..tokens.len().saturating_sub(1) / BLOCK * BLOCK]
    }
}

impl Resources for LoopState {
    fn running(&self) -> Vec<TaskId> {
        let running = self.tasks.values().map(|entry| &entry.task);
        running.filter(|task| task.is_running && !task.has_ended()).map(|task| task.id).collect()
    }

    fn unread(&self, task: TaskId) -> Vec<Unread> {
        self.tasks.get(&task).map(|entry| entry.task.unread()).unwrap_or_default()
    }

    fn free_blocks(&self) -> usize {
        let free = self.max_blocks.saturating_sub(self.blocks_in_use());
        free + self.unused_blocks()
    }

    fn preempt(&mut self, task: TaskId) {
        self.stats.preemptions += 1;
        self.unused.set(None);
        let Some(entry) = self.tasks.get_mut(&task) else { return };
        entry.task.is_running = false;
        for branch in entry.task.branches_mut() {
            branch.drop_cache();
        }
        entry.published = 0;
    }

    fn next_waiting(&self) -> Option<Unread> {
        let mut in_flight = None;
        for entry in self.tasks.values() {
            if entry.task.is_running || entry.task.has_ended() || entry.task.is_cancelled() {
                continue;
            }
            let unread = entry.task.unread();
            let tokens: usize = unread.iter().map(|unread| unread.tokens).sum();
            // A preempted text may wait for the draw from logits that it has.
            let Some(first) = unread.first().copied() else { continue };
            if self.shares_prefixes {
                let branches = entry.task.branches();
                let factors = branches[0].cache().rotary_factors();
                let keys = self.prefix.keys(Self::shared_part(branches[0].tokens()), factors);
                let missing = keys.into_iter().find(|&key| !self.prefix.contains(key));
                let in_flight = in_flight.get_or_insert_with(|| self.keys_in_flight());
                if missing.is_some_and(|key| in_flight.contains(&key)) {
                    continue;
                }
            }
            return Some(Unread { tokens, ..first });
        }
        None
    }

    fn admit(&mut self, task: TaskId) -> Option<Unread> {
        self.unused.set(None);
        let entry = self.tasks.get_mut(&task)?;
        let mut cached = 0;
        if self.shares_prefixes {
            for branch in entry.task.branches_mut() {
                let factors = branch.cache().rotary_factors();
                let blocks = self.prefix.find(Self::shared_part(branch.tokens()), factors);
                self.stats.prefix_lookups += branch.tokens().len() as u64;
                // Without blocks the cache is empty as it is.
                if !blocks.is_empty()
                    && let Ok(cache) = self.runner.model().cache_of(&blocks)
                {
                    cached = cache.len();
                    self.stats.prefix_hits += cached as u64;
                    branch.replace_cache(cache);
                }
            }
        }
        entry.published = cached / BLOCK;
        entry.task.begin(cached);
        entry.task.unread().first().copied()
    }
}

/// The blocks of the KV cache: as many as its bytes hold, and enough for a short text.
fn max_blocks(model: &Model, options: &EngineOptions) -> usize {
    // Other devices have no blocks, and no bound.
    let bytes = model.kv_blocks().map(|blocks| blocks.bytes_per_block.max(1));
    bytes.map_or(usize::MAX, |bytes| (options.kv_cache_bytes / bytes).max(2 * SPARE_BLOCKS))
}

/// The greatest number of tokens, prompt and text, of each of so many texts of a request that are
/// written together, so that their blocks fit the KV cache.
pub(crate) fn context_length(
    model: &Model,
    options: &EngineOptions,
    together: usize,
    prompt: usize,
) -> usize {
    let blocks = max_blocks(model, options);
    if blocks == usize::MAX {
        return model.context_length();
    }
    // The prompt's blocks are shared, and each text begins with a copy of the last of them.
    let shared = prompt / BLOCK;
    let own = blocks.saturating_sub(shared + SPARE_BLOCKS) / together.max(1);
    model.context_length().min((shared + own.saturating_sub(1)) * BLOCK)
}

/// The error for a prompt that the KV cache does not hold.
pub(crate) fn too_long_for_cache(prompt: usize, most: usize) -> Error {
    let message = format!("a prompt of {prompt} tokens needs more than the KV cache has");
    Error::new(ErrorKind::Context, message)
        .with_help(format!("shorten it to {most} tokens, or give the engine a larger KV cache"))
}
