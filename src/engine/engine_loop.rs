//! The loop: the tasks of many requests side by side, one forward pass at a time.
//!
//! ```text
//! submit ──▶ tasks ── plan ──▶ forward_batch ──▶ draw ──▶ emit ──▶ listeners
//!              ▲   (scheduler)      ∥              │
//!              └──── masks, guesses (preparation) ◄┘
//! ```
//!
//! A step plans, lets the model read what was planned, and draws a token of every text that has its
//! logits and its mask. Masks that are not known yet are computed meanwhile on threads of their own. A text
//! whose mask is not ready [`EngineOptions::mask_patience`] after the pass keeps its logits and skips passes
//! until the mask is there; the others go on. One text alone goes the same way as many.
//!
//! *Invariant.* A text does not depend on what is read beside it: on the CPU logits are the same bit for
//! bit in any batch ([`Model::forward_batch`]), and everything else belongs to the text alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::engine_options::{EngineOptions, EngineStats};
use super::loop_state::{LoopState, SubmissionId};
use super::model_runner::{ModelRunner, TokenizedPrompt};
use super::preparation::{PreparationJob, PreparationResult, PreparationThreads};
use super::request::Request;
use super::scheduler::{Scheduler, SchedulerLimits};
use super::sequence::Sequence;
use super::submission::{Listener, Submission};
use super::task::Task;
use crate::error::Result;

/// Time for which a step waits for masks if there is nothing else to do.
const IDLE_PATIENCE: Duration = Duration::from_millis(20);

/// A text that is ready to begin.
pub(crate) struct NewText {
    pub(crate) prompt: TokenizedPrompt,
    pub(crate) sequence: Sequence,
}

/// A request that is ready to begin.
pub(crate) struct NewSubmission {
    pub(crate) request: Arc<Request>,
    /// The number of its best texts whose events the listener gets.
    pub(crate) n_best: usize,
    pub(crate) texts: Vec<NewText>,
    pub(crate) listener: Box<dyn Listener>,
}

/// Requests on their way to the loop. A step takes all of them out when it begins; others can be added while it runs.
#[derive(Default)]
pub(crate) struct Inbox {
    new: Vec<(SubmissionId, NewSubmission)>,
    cancelled: Vec<SubmissionId>,
    next: SubmissionId,
    /// Texts that the step in progress has taken out: [`EngineStats`] counts them only after the step.
    texts_in_step: usize,
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

    /// Takes all that is new, and what was cancelled.
    fn take(&mut self) -> (Vec<(SubmissionId, NewSubmission)>, Vec<SubmissionId>) {
        self.texts_in_step += new_texts(&self.new);
        (std::mem::take(&mut self.new), std::mem::take(&mut self.cancelled))
    }

    /// Takes out all requests, to be dropped.
    pub(crate) fn give_up(&mut self) -> impl Sized + use<> {
        self.texts_in_step = 0;
        (std::mem::take(&mut self.new), std::mem::take(&mut self.cancelled))
    }

    /// Notes that [`EngineStats`] now counts all texts that were taken out.
    pub(crate) fn step_is_counted(&mut self) {
        self.texts_in_step = 0;
    }

    /// The number of texts that the loop's figures do not count yet.
    pub(crate) fn texts(&self) -> usize {
        self.texts_in_step + new_texts(&self.new)
    }
}

fn new_texts(new: &[(SubmissionId, NewSubmission)]) -> usize {
    new.iter().map(|(_, new)| new.texts.len()).sum()
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("texts", &self.texts()).finish_non_exhaustive()
    }
}

/// Default of [`EngineOptions::prefill_tokens_beside_decode`] on the CPU, where the time of a pass grows with its
/// tokens. With more than 32 tasks a pass reads one prompt token for each of them: it takes at most twice as long as
/// a pass in which all of them decode, and prompts that are as long as their answers do not queue.
const PREFILL_TOKENS_BESIDE_DECODE_ON_CPU: usize = 32;

/// All requests of an engine.
#[derive(Debug)]
pub(crate) struct EngineLoop {
    state: LoopState,
    scheduler: Scheduler,
    preparation: PreparationThreads,
    mask_patience: Duration,
    submissions: BTreeMap<SubmissionId, Submission>,
}

impl EngineLoop {
    /// A loop without requests.
    ///
    /// Errors if the system starts no threads.
    pub(crate) fn new(runner: ModelRunner, options: &EngineOptions) -> Result<Self> {
        let is_on_cpu = runner.model().is_on_cpu();
        let (beside_decode, per_task) = match options.prefill_tokens_beside_decode {
            Some(tokens) => (tokens, 0),
            None if is_on_cpu => (PREFILL_TOKENS_BESIDE_DECODE_ON_CPU, 1),
            None => (options.prefill_tokens, 0),
        };
        let scheduler = Scheduler::new(SchedulerLimits {
            max_running: options.max_running.max(1),
            prefill_tokens: options.prefill_tokens,
            prefill_tokens_beside_decode: beside_decode,
            prefill_tokens_per_task: per_task,
        });
        let state = LoopState::new(runner, options);
        let preparation = PreparationThreads::start()?;
        let mask_patience = options.mask_patience;
        Ok(Self { state, scheduler, preparation, mask_patience, submissions: BTreeMap::new() })
    }

    /// Adds a request.
    fn add(&mut self, id: SubmissionId, new: NewSubmission) {
        let NewSubmission { request, n_best, texts, listener } = new;
        let count = texts.len();
        let mut submission = Submission::new(request, (count, n_best), listener);
        for (index, NewText { prompt, sequence }) in texts.into_iter().enumerate() {
            let added = self.state.add(prompt, sequence, id, index);
            added.unwrap_or_else(|error| submission.take(index, Err(error)));
        }
        self.submissions.insert(id, submission);
    }

    /// Cancels a request; its listener gets the end in the next step.
    fn cancel(&mut self, submission: SubmissionId) {
        if let Some(submission) = self.submissions.get_mut(&submission) {
            submission.cancel();
        }
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_idle(&self) -> bool {
        self.submissions.is_empty()
    }

    /// The figures of the loop now.
    pub(crate) fn stats(&self) -> EngineStats {
        self.state.stats()
    }

    /// Takes what is new, works on all requests for one forward pass, and calls their listeners.
    pub(crate) fn step(&mut self, inbox: &Mutex<Inbox>) {
        let (new, cancelled) = inbox.lock().unwrap_or_else(PoisonError::into_inner).take();
        new.into_iter().for_each(|(id, new)| self.add(id, new));
        cancelled.into_iter().for_each(|id| self.cancel(id));
        self.end_cancelled();
        self.take_prepared(Duration::ZERO);
        let scheduled = self.scheduler.plan(&mut self.state);
        self.prepare();
        let is_idle = scheduled.is_empty();
        if !is_idle {
            self.state.stats.steps += 1;
            self.state.forward(&scheduled);
        }
        if is_idle && !self.state.tasks.values().any(|entry| entry.task.can_draw()) {
            // Nothing can be read or drawn before a preparation thread is done.
            self.take_prepared(IDLE_PATIENCE);
        }
        // Before the draw, too: a text that ends there would drop the blocks that it has just filled.
        self.state.publish();
        self.draw();
        self.state.publish();
        self.emit();
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

    /// Gives the preparation threads the branches of running tasks that have something to prepare.
    fn prepare(&mut self) {
        let mut jobs = Vec::new();
        for (&task, entry) in &mut self.state.tasks {
            if !entry.task.is_written() {
                continue;
            }
            for (index, branch) in entry.task.branches_mut().into_iter().enumerate() {
                let job = |decode_state| PreparationJob { task, branch: index, decode_state };
                jobs.extend(branch.take_for_preparation().map(job));
            }
        }
        self.preparation.submit(jobs);
    }

    /// Takes all decode states that are prepared, the first after a wait.
    fn take_prepared(&mut self, patience: Duration) {
        let mut next = self.preparation.take(patience);
        while let Some(PreparationResult { task, branch, decode_state, result }) = next {
            if let Some(entry) = self.state.tasks.get_mut(&task) {
                if let Some(branch) = entry.task.branches_mut().into_iter().nth(branch) {
                    branch.put_back_prepared(decode_state);
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
            let drawn: usize = match ready.as_mut_slice() {
                [] => 0,
                [one] => one.draw(),
                many => many.par_iter_mut().map(|task| task.draw()).sum(),
            };
            self.state.stats.tokens_drawn += drawn as u64;
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
                let is_late = branch.awaits_preparation();
                self.state.stats.late_masks += u64::from(is_late && !branch.is_late);
                branch.is_late = is_late;
            }
        }
    }

    /// Passes events to the listeners, and takes out what has ended.
    fn emit(&mut self) {
        let mut ended = Vec::new();
        for (&id, entry) in &mut self.state.tasks {
            let Some(submission) = self.submissions.get_mut(&entry.submission) else { continue };
            if entry.task.has_begun() {
                submission.begin();
            }
            submission.emit(entry.index, std::mem::take(&mut entry.task.events));
            if let Some(outcome) = entry.task.take_outcome() {
                submission.take(entry.index, outcome);
                ended.push(id);
            }
        }
        for id in ended {
            self.state.remove(id);
        }
        let done: Vec<SubmissionId> =
            self.submissions.iter().filter(|(_, s)| s.has_ended()).map(|(&id, _)| id).collect();
        for submission in done.iter().filter_map(|id| self.submissions.remove(id)) {
            submission.end();
        }
        self.submissions.values_mut().for_each(Submission::emit_working);
    }
}
