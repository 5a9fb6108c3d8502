//! The policy of the loop: which tasks run, and how many tokens of each a forward pass reads. It knows
//! numbers alone, neither tokens nor the model.
//!
//! ```text
//! waiting ── admit, oldest first ──▶ running ── every pass: a decode reads 1 token, a prefill a share
//!    ▲                                  │
//!    └──── preempt, youngest first ◄────┘       when the KV cache has no block left
//! ```
//!
//! As in vLLM's scheduler (Kwon et al. 2023) prompts are read in chunks beside the others' decoding
//! (Agrawal et al. 2024, "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve"), and
//! a preempted task drops its blocks and reads its tokens again later.
//!
//! *Invariants.* No task overtakes an older one that waits for blocks. Every running task that is ready
//! to decode does so in every pass. Each prompt gets [`MIN_SHARE`] tokens at least every
//! ⌈prompts · `MIN_SHARE` / budget⌉ passes. The oldest running task is never preempted for a younger
//! one, so one task always goes on, and with finite texts each has its turn.

/// Least share of a pass that a prompt gets, in tokens: a block of the KV cache. Smaller ones would
/// read weights for little.
const MIN_SHARE: usize = 16;

/// Positions (one token each) of one block of the KV cache.
pub(crate) const KV_BLOCK_SIZE: usize = 16;

/// The id of a [`Task`](super::task::Task): one sampled text, all beams of one search, or one decision.
/// Later tasks have greater ids.
pub(crate) type TaskId = u64;

/// The numbers that a plan keeps to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulerLimits {
    /// Tasks that run at a time.
    pub(crate) max_running: usize,
    /// Tokens of prompts that one pass reads while nobody decodes.
    pub(crate) prefill_tokens: usize,
    /// Tokens of prompts that one pass reads while others decode: they wait so much longer for their
    /// next token.
    pub(crate) prefill_tokens_beside_decode: usize,
    /// At least so many for each task that runs or waits, up to `max_running` tasks.
    pub(crate) prefill_tokens_per_task: usize,
}

/// The tokens that one branch of a task could read in the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadableTokens {
    pub(crate) task: TaskId,
    /// The branch among the task's: beams are several.
    pub(crate) branch: usize,
    /// The number of tokens, at least 1.
    pub(crate) tokens: usize,
    /// Whether they are the last token of a branch, perhaps with guesses: all are read, or none.
    pub(crate) is_decode: bool,
    /// Free positions in the last block of its KV cache.
    pub(crate) free_in_last_block: usize,
    /// Whether its last block is shared, so that writing to it takes a new block.
    pub(crate) needs_copy_on_write: bool,
}

impl ReadableTokens {
    /// The blocks that the KV cache must hand out before the first `tokens` are read.
    fn blocks(&self, tokens: usize) -> usize {
        let new_blocks = tokens.saturating_sub(self.free_in_last_block).div_ceil(KV_BLOCK_SIZE);
        new_blocks + usize::from(self.needs_copy_on_write)
    }
}

/// The state that a plan is made for and that it changes: the tasks and the blocks.
pub(crate) trait Resources {
    /// The number of tasks that run or wait.
    fn live_tasks(&self) -> usize;
    /// The running tasks, oldest first.
    fn running(&self) -> Vec<TaskId>;
    /// The tokens that the branches of a running task could read.
    fn readable_tokens(&self, task: TaskId) -> Vec<ReadableTokens>;
    /// The blocks that no task holds.
    fn free_blocks(&self) -> usize;
    /// Takes the blocks of a running task, which waits again.
    fn preempt(&mut self, task: TaskId);
    /// The tokens that the oldest waiting task that is ready to begin would read.
    fn next_waiting(&self) -> Option<ReadableTokens>;
    /// Makes a waiting task a running one. Returns what it could read, now that it shares the cached
    /// blocks of its prefix.
    fn admit(&mut self, task: TaskId) -> Option<ReadableTokens>;
}

/// The number of tokens of one branch that the next forward pass reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScheduledChunk {
    pub(crate) task: TaskId,
    pub(crate) branch: usize,
    pub(crate) tokens: usize,
}

/// The policy, and what it remembers from pass to pass.
#[derive(Debug)]
pub(crate) struct Scheduler {
    limits: SchedulerLimits,
    /// Passes so far: prompts take turns to be the first that gets a share.
    passes: usize,
}

impl Scheduler {
    pub(crate) fn new(limits: SchedulerLimits) -> Self {
        Self { limits, passes: 0 }
    }

    /// Plans the next pass: preempts, admits, and returns what is read; nothing if nobody is ready.
    pub(crate) fn plan(&mut self, resources: &mut impl Resources) -> Vec<ScheduledChunk> {
        self.passes += 1;
        let mut scheduled = self.schedule_decodes(resources);
        let decodes = scheduled.len();
        let limits = self.limits;
        let mut budget = match decodes {
            0 => limits.prefill_tokens,
            _ => {
                let tasks = resources.live_tasks().min(limits.max_running);
                let for_all = tasks.saturating_mul(limits.prefill_tokens_per_task);
                for_all.max(limits.prefill_tokens_beside_decode)
            }
        }
        .max(MIN_SHARE);
        let mut free = free_after(resources, &scheduled);
        let mut prompts = self.prompts(resources);
        // A new task is admitted if its whole prompt fits beside what the others still read, so that
        // tasks do not drive each other out at once.
        let mut promised: usize =
            prompts.iter().map(|readable| readable.blocks(readable.tokens)).sum();
        while resources.running().len() < limits.max_running
            && prompts.len() * MIN_SHARE < budget
            && let Some(next) = resources.next_waiting()
            && (next.blocks(next.tokens) + promised < free || resources.running().is_empty())
        {
            let Some(readable) = resources.admit(next.task) else { break };
            free = free_after(resources, &scheduled);
            promised += readable.blocks(readable.tokens);
            prompts.push(readable);
        }
        let mut left = prompts.len();
        for readable in prompts {
            let share = (budget / left).max(MIN_SHARE).min(budget);
            left -= 1;
            let blocks = free.saturating_sub(usize::from(readable.needs_copy_on_write));
            let fits =
                blocks.saturating_mul(KV_BLOCK_SIZE).saturating_add(readable.free_in_last_block);
            let tokens = readable.tokens.min(share).min(fits);
            if tokens > 0 && readable.blocks(tokens) <= free {
                free -= readable.blocks(tokens);
                budget -= tokens;
                scheduled.push(ScheduledChunk {
                    task: readable.task,
                    branch: readable.branch,
                    tokens,
                });
            }
        }
        if scheduled.is_empty() {
            if self.make_room(resources) {
                return self.plan(resources);
            }
            scheduled.extend(beyond_the_blocks(resources));
        }
        scheduled
    }

    /// Lets every branch that is ready to decode read; preempts the youngest tasks while there are too few
    /// blocks for that.
    fn schedule_decodes(&self, resources: &mut impl Resources) -> Vec<ScheduledChunk> {
        loop {
            let running = resources.running();
            let readable = running.iter().flat_map(|&task| resources.readable_tokens(task));
            let decodes: Vec<ReadableTokens> =
                readable.filter(|readable| readable.is_decode).collect();
            let needed: usize =
                decodes.iter().map(|readable| readable.blocks(readable.tokens)).sum();
            match running.last() {
                Some(&youngest) if needed > resources.free_blocks() && running.len() > 1 => {
                    resources.preempt(youngest);
                }
                _ => {
                    let chunk = |readable: ReadableTokens| ScheduledChunk {
                        task: readable.task,
                        branch: readable.branch,
                        tokens: readable.tokens,
                    };
                    return decodes.into_iter().map(chunk).collect();
                }
            }
        }
    }

    /// The branches that read a prompt, or their own beginning again; another one comes first in each
    /// pass.
    fn prompts(&self, resources: &impl Resources) -> Vec<ReadableTokens> {
        let running = resources.running();
        let readable = running.iter().flat_map(|&task| resources.readable_tokens(task));
        let mut prompts: Vec<ReadableTokens> =
            readable.filter(|readable| !readable.is_decode).collect();
        let first = self.passes % prompts.len().max(1);
        prompts.rotate_left(first);
        prompts
    }

    /// Preempts the youngest task if several cannot go on for want of blocks.
    fn make_room(&self, resources: &mut impl Resources) -> bool {
        let running = resources.running();
        let stuck = running.iter().any(|&task| !resources.readable_tokens(task).is_empty());
        match running.last() {
            Some(&youngest) if stuck && running.len() > 1 => {
                resources.preempt(youngest);
                true
            }
            _ => false,
        }
    }
}

/// A chunk of the only running task, though no block is free for it. The branches of a task share the blocks of their
/// prompt until the task is preempted. Then each branch reads the prompt for itself, which takes more blocks than were
/// counted when the request was accepted. The task exceeds the bound, since no other one would ever free a block.
fn beyond_the_blocks(resources: &impl Resources) -> Option<ScheduledChunk> {
    let [task] = resources.running()[..] else { return None };
    let readable = resources.readable_tokens(task);
    let readable = readable.iter().find(|readable| readable.tokens > 0)?;
    let tokens = readable.tokens.min(MIN_SHARE);
    Some(ScheduledChunk { task, branch: readable.branch, tokens })
}

/// The free blocks that are left after these chunks.
fn free_after(resources: &impl Resources, scheduled: &[ScheduledChunk]) -> usize {
    let needed = |chunk: &ScheduledChunk| {
        let readable = resources.readable_tokens(chunk.task);
        let readable = readable.iter().find(|readable| readable.branch == chunk.branch);
        readable.map_or(0, |readable| readable.blocks(chunk.tokens))
    };
    resources.free_blocks().saturating_sub(scheduled.iter().map(needed).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task that reads a prompt and then a token a pass, until it has so many.
    #[derive(Clone, Debug)]
    struct Fake {
        prompt: usize,
        len: usize,
        end: usize,
        read: usize,
        is_running: bool,
        /// Passes since it last read a token.
        idle: usize,
    }

    impl Fake {
        fn blocks(&self) -> usize {
            self.read.div_ceil(KV_BLOCK_SIZE)
        }
    }

    /// Tasks by id, and a cache of so many blocks.
    #[derive(Debug)]
    struct World {
        fakes: Vec<Option<Fake>>,
        blocks: usize,
        preemptions: usize,
    }

    impl World {
        fn get(&self, task: TaskId) -> Option<&Fake> {
            self.fakes[task as usize].as_ref()
        }

        /// Reads what was scheduled: the tasks that this ends leave.
        fn read(&mut self, scheduled: &[ScheduledChunk]) {
            for fake in self.fakes.iter_mut().flatten() {
                fake.idle += usize::from(fake.is_running);
            }
            for chunk in scheduled {
                let slot = &mut self.fakes[chunk.task as usize];
                let fake = slot.as_mut().unwrap();
                fake.read += chunk.tokens;
                fake.idle = 0;
                if fake.read == fake.len {
                    fake.len += 1;
                }
                if fake.len > fake.end {
                    *slot = None;
                }
            }
            let held: usize = self.fakes.iter().flatten().map(Fake::blocks).sum();
            assert!(held <= self.blocks, "{held} of {}", self.blocks);
        }
    }

    impl Resources for World {
        fn live_tasks(&self) -> usize {
            self.fakes.iter().flatten().count()
        }

        fn running(&self) -> Vec<TaskId> {
            let running = |task: &TaskId| self.get(*task).is_some_and(|fake| fake.is_running);
            (0..self.fakes.len() as TaskId).filter(running).collect()
        }

        fn readable_tokens(&self, task: TaskId) -> Vec<ReadableTokens> {
            let readable = |fake: &Fake| ReadableTokens {
                task,
                branch: 0,
                tokens: fake.len - fake.read,
                is_decode: fake.len > fake.prompt && fake.read + 1 == fake.len,
                free_in_last_block: fake.read.next_multiple_of(KV_BLOCK_SIZE) - fake.read,
                needs_copy_on_write: false,
            };
            self.get(task).map(readable).into_iter().collect()
        }

        fn free_blocks(&self) -> usize {
            self.blocks - self.fakes.iter().flatten().map(Fake::blocks).sum::<usize>()
        }

        fn preempt(&mut self, task: TaskId) {
            let fake = self.fakes[task as usize].as_mut().unwrap();
            (fake.is_running, fake.read) = (false, 0);
            self.preemptions += 1;
        }

        fn next_waiting(&self) -> Option<ReadableTokens> {
            let waits = |task: &TaskId| self.get(*task).is_some_and(|fake| !fake.is_running);
            let task = (0..self.fakes.len() as TaskId).find(waits)?;
            self.readable_tokens(task).pop()
        }

        fn admit(&mut self, task: TaskId) -> Option<ReadableTokens> {
            self.fakes[task as usize].as_mut().unwrap().is_running = true;
            self.readable_tokens(task).pop()
        }
    }

    /// Numbers that look random.
    fn random(state: &mut u64, below: u64) -> usize {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((*state >> 33) % below) as usize
    }

    #[test]
    fn random_tasks_end_in_few_blocks_and_none_waits_for_long() {
        let limits = SchedulerLimits {
            max_running: 20,
            prefill_tokens: 128,
            prefill_tokens_beside_decode: 48,
            prefill_tokens_per_task: 0,
        };
        let (mut scheduler, mut state) = (Scheduler::new(limits), 5);
        let mut world = World { fakes: Vec::new(), blocks: 40, preemptions: 0 };
        let arrivals = 2_000;
        let mut passes = 0;
        while world.fakes.len() < arrivals || world.fakes.iter().any(Option::is_some) {
            if world.fakes.len() < arrivals && random(&mut state, 8) == 0 {
                let prompt = 1 + random(&mut state, 300);
                let end = prompt + 1 + random(&mut state, 60);
                let fake = Fake { prompt, len: prompt, end, read: 0, is_running: false, idle: 0 };
                world.fakes.push(Some(fake));
            }
            // Some hang up.
            if random(&mut state, 200) == 0 && !world.fakes.is_empty() {
                let task = random(&mut state, world.fakes.len() as u64);
                world.fakes[task] = None;
            }
            let scheduled = scheduler.plan(&mut world);
            let running = world.running();
            assert!(scheduled.is_empty() <= running.is_empty(), "nobody reads: {world:?}");
            assert!(running.len() <= limits.max_running);
            world.read(&scheduled);
            // Everybody who runs has a share every few passes, or waits for blocks until older texts of
            // at most 60 tokens have ended.
            let turns = limits.max_running * MIN_SHARE / limits.prefill_tokens_beside_decode + 1;
            assert!(world.fakes.iter().flatten().all(|fake| fake.idle <= turns + 60));
            passes += 1;
            assert!(passes < 200 * arrivals, "it does not end");
        }
        assert!(world.preemptions > 0, "{world:?}");
        assert_eq!(world.free_blocks(), world.blocks);
    }

    /// A task that needs more blocks than there are is read on, when nobody else holds one.
    #[test]
    fn a_task_alone_is_never_stuck() {
        let limits = SchedulerLimits {
            max_running: 8,
            prefill_tokens: 512,
            prefill_tokens_beside_decode: 32,
            prefill_tokens_per_task: 0,
        };
        let mut scheduler = Scheduler::new(limits);
        let fake = |read, is_running| {
            Some(Fake { prompt: 100, len: 100, end: 200, read, is_running, idle: 0 })
        };
        let world = |fakes| World { fakes, blocks: 2, preemptions: 0 };
        let chunk = |task, tokens| ScheduledChunk { task, branch: 0, tokens };
        assert_eq!(scheduler.plan(&mut world(vec![fake(0, false)])), [chunk(0, 32)]);
        assert_eq!(scheduler.plan(&mut world(vec![fake(32, true)])), [chunk(0, MIN_SHARE)]);
        // Beside another one, the younger gives its blocks first.
        let mut both = world(vec![fake(16, true), fake(16, true)]);
        assert_eq!(scheduler.plan(&mut both), [chunk(0, 16)]);
        assert_eq!(both.preemptions, 1);
    }

    #[test]
    fn decodes_go_on_beside_a_long_prompt_which_gets_its_share() {
        let limits = SchedulerLimits {
            max_running: 8,
            prefill_tokens: 512,
            prefill_tokens_beside_decode: 32,
            prefill_tokens_per_task: 0,
        };
        let mut scheduler = Scheduler::new(limits);
        let fake = |prompt, len, read| {
            Some(Fake { prompt, len, end: 10_000, read, is_running: read > 0, idle: 0 })
        };
        let fakes = vec![fake(8, 10, 9), fake(8, 20, 19), fake(2000, 2000, 0), fake(5, 5, 0)];
        let mut world = World { fakes, blocks: 1000, preemptions: 0 };
        let chunk = |task, tokens| ScheduledChunk { task, branch: 0, tokens };
        let scheduled = scheduler.plan(&mut world);
        // The short prompt behind the long one is read at once.
        assert_eq!(scheduled, [chunk(0, 1), chunk(1, 1), chunk(2, 16), chunk(3, 5)]);
        world.read(&scheduled);
        let scheduled = scheduler.plan(&mut world);
        assert_eq!(scheduled, [chunk(0, 1), chunk(1, 1), chunk(3, 1), chunk(2, 32)]);
        // Where many tasks wait, more prompts are read.
        let mut fakes = vec![fake(8, 10, 9)];
        fakes.extend((1..60).map(|_| fake(16, 16, 0)));
        let mut world = World { fakes, blocks: 1000, preemptions: 0 };
        let limits = SchedulerLimits { max_running: 64, prefill_tokens_per_task: 1, ..limits };
        let scheduled = Scheduler::new(limits).plan(&mut world);
        assert_eq!(
            scheduled,
            [(0, 1), (1, 16), (2, 16), (3, 16), (4, 12)].map(|(t, n)| chunk(t, n))
        );
        // Alone, a prompt is read in large pieces.
        let mut world = World { fakes: vec![fake(2000, 2000, 0)], blocks: 1000, preemptions: 0 };
        assert_eq!(scheduler.plan(&mut world), [chunk(0, 512)]);
    }
}
