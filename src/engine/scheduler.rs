//! The policy of the loop: which requests are worked on, and how many tokens of each a forward pass
//! reads. It knows numbers alone, neither tokens nor the model.
//!
//! ```text
//! waiting ── admit, oldest first ──▶ running ── every pass: a decode reads 1 token, a prefill a share
//!    ▲                                  │
//!    └──── preempt, youngest first ◄────┘       when the KV cache has no block left
//! ```
//!
//! As in vLLM's scheduler (Kwon et al. 2023) prompts are read in chunks beside the others' decoding
//! (Agrawal et al. 2024, "Taming Throughput-Latency Tradeoff in LLM Inference with Sarathi-Serve"), and
//! a preempted request drops its blocks and reads its text again later.
//!
//! *Invariants.* No request overtakes an older one that waits for blocks. Every running request that
//! is ready to decode does so in every pass. Each prompt gets [`MIN_SHARE`] tokens at least every
//! ⌈prompts · `MIN_SHARE` / budget⌉ passes. The oldest running request is never preempted for a younger
//! one, so one request always goes on, and with finite texts each has its turn.

/// Least share of a pass that a prompt gets, in tokens: a block of the KV cache. Smaller ones would
/// read weights for little.
const MIN_SHARE: usize = 16;

/// Positions of one block of the KV cache.
pub(crate) const BLOCK: usize = 16;

/// The name of a request in the loop. Later requests have greater ones.
pub(crate) type TaskId = u64;

/// The numbers that a plan keeps to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SchedulerLimits {
    /// Requests that are worked on at a time.
    pub(crate) max_running: usize,
    /// Tokens of prompts that one pass reads while nobody decodes.
    pub(crate) prefill_tokens: usize,
    /// Tokens of prompts that one pass reads while others decode: they wait so much longer for their
    /// next token.
    pub(crate) prefill_tokens_beside_decode: usize,
    /// At least so many for each request that there is, up to `max_running`.
    pub(crate) prefill_tokens_per_request: usize,
}

/// The tokens that one text of a running request could read in the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unread {
    pub(crate) task: TaskId,
    /// The text among the request's: beams are several.
    pub(crate) branch: usize,
    /// The number of tokens, at least 1.
    pub(crate) tokens: usize,
    /// Whether they are the last token of a text, perhaps with guesses: all are read, or none.
    pub(crate) is_decode: bool,
    /// The positions that fit its last block.
    pub(crate) room: usize,
    /// Whether its last block is another text's, too, and is copied first.
    pub(crate) copies: bool,
}

impl Unread {
    /// The blocks that the KV cache must hand out before the first `tokens` are read.
    fn blocks(&self, tokens: usize) -> usize {
        tokens.saturating_sub(self.room).div_ceil(BLOCK) + usize::from(self.copies)
    }
}

/// The state that a plan is made for and that it changes: the running requests and the blocks.
pub(crate) trait Resources {
    /// The number of requests that run or wait.
    fn requests(&self) -> usize;
    /// The running requests, oldest first.
    fn running(&self) -> Vec<TaskId>;
    /// The tokens that the texts of a running request could read.
    fn unread(&self, task: TaskId) -> Vec<Unread>;
    /// The blocks that no request holds.
    fn free_blocks(&self) -> usize;
    /// Takes the blocks of a running request, which waits again.
    fn preempt(&mut self, task: TaskId);
    /// The oldest waiting request that is ready to begin, and what it would read.
    fn next_waiting(&self) -> Option<Unread>;
    /// Makes it a running one. Returns what it could read, now that blocks of others that begin alike
    /// are its own.
    fn admit(&mut self, task: TaskId) -> Option<Unread>;
}

/// The tokens that one text reads in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
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
    pub(crate) fn plan(&mut self, resources: &mut impl Resources) -> Vec<Grant> {
        self.passes += 1;
        let mut grants = self.grant_decodes(resources);
        let decodes = grants.len();
        let limits = self.limits;
        let mut budget = match decodes {
            0 => limits.prefill_tokens,
            _ => {
                let requests = resources.requests().min(limits.max_running);
                let for_all = requests.saturating_mul(limits.prefill_tokens_per_request);
                for_all.max(limits.prefill_tokens_beside_decode)
            }
        }
        .max(MIN_SHARE);
        let mut free = free_after(resources, &grants);
        let mut prompts = self.prompts(resources);
        // A new request is admitted if its whole prompt fits beside what the others still read, so that
        // requests do not drive each other out at once.
        let mut promised: usize = prompts.iter().map(|unread| unread.blocks(unread.tokens)).sum();
        while resources.running().len() < limits.max_running
            && prompts.len() * MIN_SHARE < budget
            && let Some(next) = resources.next_waiting()
            && (next.blocks(next.tokens) + promised < free || resources.running().is_empty())
        {
            let Some(unread) = resources.admit(next.task) else { break };
            free = free_after(resources, &grants);
            promised += unread.blocks(unread.tokens);
            prompts.push(unread);
        }
        let mut left = prompts.len();
        for unread in prompts {
            let share = (budget / left).max(MIN_SHARE).min(budget);
            left -= 1;
            let blocks = free.saturating_sub(usize::from(unread.copies));
            let fits = blocks.saturating_mul(BLOCK).saturating_add(unread.room);
            let tokens = unread.tokens.min(share).min(fits);
            if tokens > 0 && unread.blocks(tokens) <= free {
                free -= unread.blocks(tokens);
                budget -= tokens;
                grants.push(Grant { task: unread.task, branch: unread.branch, tokens });
            }
        }
        if grants.is_empty() && self.make_room(resources) {
            return self.plan(resources);
        }
        grants
    }

    /// Lets every text that is ready to decode read; preempts the youngest requests while there are too
    /// few blocks for that.
    fn grant_decodes(&self, resources: &mut impl Resources) -> Vec<Grant> {
        loop {
            let running = resources.running();
            let unread = running.iter().flat_map(|&task| resources.unread(task));
            let decodes: Vec<Unread> = unread.filter(|unread| unread.is_decode).collect();
            let needed: usize = decodes.iter().map(|unread| unread.blocks(unread.tokens)).sum();
            match running.last() {
                Some(&youngest) if needed > resources.free_blocks() && running.len() > 1 => {
                    resources.preempt(youngest);
                }
                _ => {
                    let grant = |unread: Unread| Grant {
                        task: unread.task,
                        branch: unread.branch,
                        tokens: unread.tokens,
                    };
                    return decodes.into_iter().map(grant).collect();
                }
            }
        }
    }

    /// The texts that read a prompt, or their own beginning again; another one comes first in each pass.
    fn prompts(&self, resources: &impl Resources) -> Vec<Unread> {
        let running = resources.running();
        let unread = running.iter().flat_map(|&task| resources.unread(task));
        let mut prompts: Vec<Unread> = unread.filter(|unread| !unread.is_decode).collect();
        let first = self.passes % prompts.len().max(1);
        prompts.rotate_left(first);
        prompts
    }

    /// Preempts the youngest request if several cannot go on for want of blocks.
    fn make_room(&self, resources: &mut impl Resources) -> bool {
        let running = resources.running();
        let stuck = running.iter().any(|&task| !resources.unread(task).is_empty());
        match running.last() {
            Some(&youngest) if stuck && running.len() > 1 => {
                resources.preempt(youngest);
                true
            }
            _ => false,
        }
    }
}

/// The free blocks that these grants leave.
fn free_after(resources: &impl Resources, grants: &[Grant]) -> usize {
    let needed = |grant: &Grant| {
        let unread = resources.unread(grant.task);
        let unread = unread.iter().find(|unread| unread.branch == grant.branch);
        unread.map_or(0, |unread| unread.blocks(grant.tokens))
    };
    resources.free_blocks().saturating_sub(grants.iter().map(needed).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request that reads a prompt and then a token a pass, until it has so many.
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
            self.read.div_ceil(BLOCK)
        }
    }

    /// Requests by name, and a cache of so many blocks.
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

        /// Reads what was granted: the requests that this ends leave.
        fn read(&mut self, grants: &[Grant]) {
            for fake in self.fakes.iter_mut().flatten() {
                fake.idle += usize::from(fake.is_running);
            }
            for grant in grants {
                let slot = &mut self.fakes[grant.task as usize];
                let fake = slot.as_mut().unwrap();
                fake.read += grant.tokens;
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
        fn requests(&self) -> usize {
            self.fakes.iter().flatten().count()
        }

        fn running(&self) -> Vec<TaskId> {
            let running = |task: &TaskId| self.get(*task).is_some_and(|fake| fake.is_running);
            (0..self.fakes.len() as TaskId).filter(running).collect()
        }

        fn unread(&self, task: TaskId) -> Vec<Unread> {
            let unread = |fake: &Fake| Unread {
                task,
                branch: 0,
                tokens: fake.len - fake.read,
                is_decode: fake.len > fake.prompt && fake.read + 1 == fake.len,
                room: fake.read.next_multiple_of(BLOCK) - fake.read,
                copies: false,
            };
            self.get(task).map(unread).into_iter().collect()
        }

        fn free_blocks(&self) -> usize {
            self.blocks - self.fakes.iter().flatten().map(Fake::blocks).sum::<usize>()
        }

        fn preempt(&mut self, task: TaskId) {
            let fake = self.fakes[task as usize].as_mut().unwrap();
            (fake.is_running, fake.read) = (false, 0);
            self.preemptions += 1;
        }

        fn next_waiting(&self) -> Option<Unread> {
            let waits = |task: &TaskId| self.get(*task).is_some_and(|fake| !fake.is_running);
            let task = (0..self.fakes.len() as TaskId).find(waits)?;
            self.unread(task).pop()
        }

        fn admit(&mut self, task: TaskId) -> Option<Unread> {
            self.fakes[task as usize].as_mut().unwrap().is_running = true;
            self.unread(task).pop()
        }
    }

    /// Numbers that look random.
    fn random(state: &mut u64, below: u64) -> usize {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((*state >> 33) % below) as usize
    }

    #[test]
    fn random_requests_end_in_few_blocks_and_none_waits_for_long() {
        let limits = SchedulerLimits {
            max_running: 20,
            prefill_tokens: 128,
            prefill_tokens_beside_decode: 48,
            prefill_tokens_per_request: 0,
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
            let grants = scheduler.plan(&mut world);
            let running = world.running();
            assert!(grants.is_empty() <= running.is_empty(), "nobody reads: {world:?}");
            assert!(running.len() <= limits.max_running);
            world.read(&grants);
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

    #[test]
    fn decodes_go_on_beside_a_long_prompt_which_gets_its_share() {
        let limits = SchedulerLimits {
            max_running: 8,
            prefill_tokens: 512,
            prefill_tokens_beside_decode: 32,
            prefill_tokens_per_request: 0,
        };
        let mut scheduler = Scheduler::new(limits);
        let fake = |prompt, len, read| {
            Some(Fake { prompt, len, end: 10_000, read, is_running: read > 0, idle: 0 })
        };
        let fakes = vec![fake(8, 10, 9), fake(8, 20, 19), fake(2000, 2000, 0), fake(5, 5, 0)];
        let mut world = World { fakes, blocks: 1000, preemptions: 0 };
        let grant = |task, tokens| Grant { task, branch: 0, tokens };
        let grants = scheduler.plan(&mut world);
        // The short prompt behind the long one is read at once.
        assert_eq!(grants, [grant(0, 1), grant(1, 1), grant(2, 16), grant(3, 5)]);
        world.read(&grants);
        let grants = scheduler.plan(&mut world);
        assert_eq!(grants, [grant(0, 1), grant(1, 1), grant(3, 1), grant(2, 32)]);
        // Where many requests wait, more prompts are read.
        let mut fakes = vec![fake(8, 10, 9)];
        fakes.extend((1..60).map(|_| fake(16, 16, 0)));
        let mut world = World { fakes, blocks: 1000, preemptions: 0 };
        let limits = SchedulerLimits { max_running: 64, prefill_tokens_per_request: 1, ..limits };
        let grants = Scheduler::new(limits).plan(&mut world);
        assert_eq!(grants, [(0, 1), (1, 16), (2, 16), (3, 16), (4, 12)].map(|(t, n)| grant(t, n)));
        // Alone, a prompt is read in large pieces.
        let mut world = World { fakes: vec![fake(2000, 2000, 0)], blocks: 1000, preemptions: 0 };
        assert_eq!(scheduler.plan(&mut world), [grant(0, 512)]);
    }
}
