//! The tasks of the loop and the blocks of the KV cache that they hold: reads them, shares prefixes,
//! drops blocks, and answers the scheduler's questions about them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::engine_options::{EngineOptions, EngineStats};
use super::kv_cache_size::SPARE_BLOCKS;
use super::model_runner::{ModelRunner, TokenizedPrompt};
use super::prefix_cache::{BlockKey, PrefixCache};
use super::response::Passes;
use super::scheduler::{KV_BLOCK_SIZE, ReadableTokens, Resources, ScheduledChunk, TaskId};
use super::sequence::Sequence;
use super::task::Task;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Chunk, Model};

/// The id of a [`Submission`](super::submission::Submission). Later ones have greater ids.
pub(crate) type SubmissionId = u64;

/// The tasks, and the blocks that they hold.
#[derive(Debug)]
pub(super) struct LoopState {
    pub(super) runner: ModelRunner,
    /// By arrival.
    pub(super) tasks: BTreeMap<TaskId, Entry>,
    prefix: PrefixCache,
    shares_prefixes: bool,
    /// Blocks that all texts and the prefix cache may hold.
    max_blocks: usize,
    pub(super) stats: EngineStats,
    next_task: TaskId,
}

/// A task, and the submission that it belongs to.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) task: Task,
    pub(super) submission: SubmissionId,
    /// Its place among the submission's texts.
    pub(super) index: usize,
    /// Full blocks of each branch that the prefix cache has seen.
    published: usize,
}

impl LoopState {
    /// A state without tasks.
    pub(super) fn new(runner: ModelRunner, options: &EngineOptions) -> Self {
        Self {
            max_blocks: max_blocks(runner.model(), options),
            runner,
            tasks: BTreeMap::new(),
            prefix: PrefixCache::default(),
            shares_prefixes: options.prefix_cache,
            stats: EngineStats::default(),
            next_task: 0,
        }
    }

    /// Adds a task: the text at a place among a submission's.
    ///
    /// Errors as [`Task::new`].
    pub(super) fn add(
        &mut self,
        prompt: TokenizedPrompt,
        sequence: Sequence,
        submission: SubmissionId,
        index: usize,
    ) -> Result<()> {
        let id = self.next_task;
        let task = Task::new(id, &self.runner, prompt, sequence)?;
        self.tasks.insert(id, Entry { task, submission, index, published: 0 });
        self.next_task += 1;
        Ok(())
    }

    /// Takes out a task that has ended. Its blocks are those that were used last.
    pub(super) fn remove(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.remove(&id) else { return };
        if self.shares_prefixes {
            for branch in entry.task.branches() {
                self.prefix.touch(branch.tokens(), branch.cache().rotary_factors());
            }
        }
    }

    /// The figures now.
    pub(super) fn stats(&self) -> EngineStats {
        let running = self.tasks.values().filter(|entry| entry.task.is_running).count();
        EngineStats {
            running,
            waiting: self.tasks.len() - running,
            kv_blocks: self.max_blocks,
            kv_blocks_held: self.blocks_in_use().saturating_sub(self.prefix.idle_blocks()),
            kv_blocks_cached: self.prefix.len(),
            ..self.stats
        }
    }

    fn model(&self) -> &Model {
        self.runner.model()
    }

    fn blocks_in_use(&self) -> usize {
        self.model().kv_blocks().map_or(0, |blocks| blocks.in_use)
    }

    /// Lets the model read what was planned; the tasks fail if it cannot.
    pub(super) fn forward(&mut self, scheduled: &[ScheduledChunk]) {
        if let Err(error) = self.try_forward(scheduled) {
            for chunk in scheduled {
                if let Some(entry) = self.tasks.get_mut(&chunk.task) {
                    entry.task.fail(error.clone());
                }
            }
        }
    }

    fn try_forward(&mut self, scheduled: &[ScheduledChunk]) -> Result<()> {
        let needed: usize = scheduled
            .iter()
            .filter_map(|chunk| {
                let branch = *self.tasks.get(&chunk.task)?.task.branches().get(chunk.branch)?;
                Some(branch.cache().blocks_for(chunk.tokens))
            })
            .sum();
        let over = (self.blocks_in_use() + needed).saturating_sub(self.max_blocks);
        if over > 0 {
            self.prefix.evict(over);
        }
        let wanted: HashMap<(TaskId, usize), usize> =
            scheduled.iter().map(|chunk| ((chunk.task, chunk.branch), chunk.tokens)).collect();
        let mut branches = Vec::with_capacity(scheduled.len());
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
        let mut failed = Vec::new();
        for ((branch, _, id), rows) in branches.into_iter().zip(rows) {
            let (has_logits, passes) = counts.entry(id).or_default();
            failed.extend(branch.end_read(rows, passes).err().map(|error| (id, error)));
            *has_logits |= branch.has_logits();
        }
        for (id, error) in failed {
            if let Some(entry) = self.tasks.get_mut(&id) {
                entry.task.fail(error);
            }
        }
        for (id, (has_logits, passes)) in counts {
            if let Some(entry) = self.tasks.get_mut(&id) {
                entry.task.count_pass(has_logits, passes);
            }
        }
        Ok(())
    }

    /// Adds the blocks that have become full to the prefix cache.
    pub(super) fn publish(&mut self) {
        if !self.shares_prefixes {
            return;
        }
        for entry in self.tasks.values_mut().filter(|entry| !entry.task.has_ended()) {
            let branches = entry.task.branches();
            let settled =
                branches.iter().map(|branch| branch.settled() / KV_BLOCK_SIZE).min().unwrap_or(0);
            if settled > entry.published {
                for branch in branches {
                    let tokens = &branch.tokens()[..settled * KV_BLOCK_SIZE];
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
                if branch.settled() + KV_BLOCK_SIZE <= full {
                    let factors = branch.cache().rotary_factors();
                    keys.extend(self.prefix.keys(&tokens[..full], factors));
                }
            }
        }
        keys
    }

    /// The tokens of a text that are looked up: all but the last, which is read for its logits.
    fn shared_part(tokens: &[u32]) -> &[u32] {
        &tokens[..tokens.len().saturating_sub(1) / KV_BLOCK_SIZE * KV_BLOCK_SIZE]
    }
}

impl Resources for LoopState {
    fn live_tasks(&self) -> usize {
        let tasks = self.tasks.values().map(|entry| &entry.task);
        tasks.filter(|task| !task.has_ended() && !task.is_cancelled()).count()
    }

    fn running(&self) -> Vec<TaskId> {
        let running = self.tasks.values().map(|entry| &entry.task);
        running.filter(|task| task.is_running && !task.has_ended()).map(|task| task.id).collect()
    }

    fn readable_tokens(&self, task: TaskId) -> Vec<ReadableTokens> {
        self.tasks.get(&task).map(|entry| entry.task.readable_tokens()).unwrap_or_default()
    }

    fn free_blocks(&self) -> usize {
        let free = self.max_blocks.saturating_sub(self.blocks_in_use());
        free + self.prefix.idle_blocks()
    }

    fn preempt(&mut self, task: TaskId) {
        self.stats.preemptions += 1;
        let Some(entry) = self.tasks.get_mut(&task) else { return };
        entry.task.is_running = false;
        for branch in entry.task.branches_mut() {
            branch.drop_cache();
        }
        entry.published = 0;
    }

    fn next_waiting(&self) -> Option<ReadableTokens> {
        let mut in_flight = None;
        for entry in self.tasks.values() {
            if entry.task.is_running || entry.task.has_ended() || entry.task.is_cancelled() {
                continue;
            }
            let readable = entry.task.readable_tokens();
            let tokens: usize = readable.iter().map(|readable| readable.tokens).sum();
            // A preempted text may wait for the draw from logits that it has.
            let Some(first) = readable.first().copied() else { continue };
            if self.shares_prefixes && !entry.task.measures_prompt() {
                let branches = entry.task.branches();
                let factors = branches[0].cache().rotary_factors();
                let keys = self.prefix.keys(Self::shared_part(branches[0].tokens()), factors);
                let missing = keys.into_iter().find(|&key| !self.prefix.contains(key));
                let in_flight = in_flight.get_or_insert_with(|| self.keys_in_flight());
                if missing.is_some_and(|key| in_flight.contains(&key)) {
                    continue;
                }
            }
            return Some(ReadableTokens { tokens, ..first });
        }
        None
    }

    fn admit(&mut self, task: TaskId) -> Option<ReadableTokens> {
        let entry = self.tasks.get_mut(&task)?;
        let (mut cached, mut published) = (0, None);
        // Log-probabilities of a prompt need its logits, which cached blocks do not hold.
        if self.shares_prefixes && !entry.task.measures_prompt() {
            for branch in entry.task.branches_mut() {
                let factors = branch.cache().rotary_factors();
                let blocks = self.prefix.find(Self::shared_part(branch.tokens()), factors);
                self.stats.prefix_lookups += branch.tokens().len() as u64;
                let mut len = 0;
                // Without blocks the cache is empty as it is.
                if !blocks.is_empty()
                    && let Ok(cache) = self.runner.model().cache_of(&blocks)
                {
                    len = cache.len();
                    cached = len;
                    self.stats.prefix_hits += len as u64;
                    branch.replace_cache(cache);
                }
                published = Some(published.map_or(len, |least: usize| least.min(len)));
            }
        }
        // Branches of one text have blocks of their own after a preemption: those of each are shared again.
        entry.published = published.unwrap_or(0) / KV_BLOCK_SIZE;
        entry.task.begin(cached);
        entry.task.readable_tokens().first().copied()
    }
}

/// The blocks of the KV cache: as many as its bytes hold, and enough for a short text.
fn max_blocks(model: &Model, options: &EngineOptions) -> usize {
    // Models of candle-transformers have no blocks, and no bound.
    let (Some(blocks), Some(bytes)) = (model.kv_blocks(), options.kv_cache_bytes) else {
        return usize::MAX;
    };
    // A model without attention keeps nothing.
    bytes.checked_div(blocks.bytes_per_block).map_or(usize::MAX, |n| n.max(2 * SPARE_BLOCKS))
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
    let (blocks, together) = (blocks.saturating_sub(SPARE_BLOCKS), together.max(1));
    // At most the blocks that leave two for each text: no text fits after a longer prompt.
    let shared = (prompt / KV_BLOCK_SIZE).min(blocks.saturating_sub(2 * together));
    let own = (blocks - shared) / together;
    model.context_length().min((shared + own.saturating_sub(1)) * KV_BLOCK_SIZE)
}

/// The error for a prompt that the KV cache does not hold, beside so many beams; 1 without beam search.
pub(crate) fn too_long_for_cache(prompt: usize, most: usize, beams: usize) -> Error {
    let most = most.saturating_sub(1);
    let (message, shorter) = match (beams, most) {
        // Labels are read in texts of their own after the prompt, so that even one of one token may not fit.
        (1, 0) => ("the KV cache is too small for any such request".to_owned(), String::new()),
        (1, _) => (
            format!("a prompt of {prompt} tokens needs more than the KV cache has"),
            format!("shorten it to {most} tokens, or "),
        ),
        (_, most) => (
            format!(
                "a prompt of {prompt} tokens and {beams} beams need more than the KV cache has"
            ),
            match most {
                0 => "ask for fewer beams, or ".to_owned(),
                _ => format!("ask for fewer beams, shorten the prompt to {most} tokens, or "),
            },
        ),
    };
    let help = format!("{shorter}give the engine a larger KV cache");
    Error::new(ErrorKind::Context, message).with_help(help)
}
