//! A task, the unit that the scheduler admits and preempts: one sampled text, all beams of one search, or
//! the contexts of one decision. A request with `best_of` is several tasks.

use std::time::Instant;

use super::beam_search::Search;
use super::branch::{Branch, DecodeState};
use super::label_masses::LabelMasses;
use super::label_search::LabelSearch;
use super::model_runner::{ModelRunner, TokenizedPrompt};
use super::ranking::RankedText;
use super::request::Speculation;
use super::response::{FinishReason, Passes, TextEvent, Timing};
use super::scheduler::{ReadableTokens, TaskId};
use super::sequence::Sequence;
use super::speculation::Drafter;
use crate::error::Result;

/// A text, the beams of a search, or the labels of a decision, from submission to end.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: TaskId,
    runner: ModelRunner,
    texts: Texts,
    /// Whether it runs, and does not wait.
    pub(crate) is_running: bool,
    clock: TaskClock,
    passes: Passes,
    /// Tokens of the prompt that it found in the prefix cache.
    cached_tokens: usize,
    /// Events that the listener has not got yet.
    pub(crate) events: Vec<TextEvent>,
    /// Its end: the texts, best first, or an error.
    outcome: Option<Result<Vec<RankedText>>>,
    /// Whether it ends as soon as no preparation thread has a part of it.
    is_cancelled: bool,
}

#[derive(Debug)]
enum Texts {
    One(Box<Branch>),
    Beams(Search),
    Labels(Box<LabelSearch>),
}

/// When a task was submitted, began, and had its first logits.
#[derive(Debug)]
struct TaskClock {
    submitted: Instant,
    began: Option<Instant>,
    prefilled: Option<Instant>,
}

impl Task {
    /// A task that waits. `sequence` is its empty text.
    ///
    /// Errors if the draft model has no cache for it.
    pub(crate) fn new(
        id: TaskId,
        runner: &ModelRunner,
        prompt: TokenizedPrompt,
        sequence: Sequence,
    ) -> Result<Self> {
        let request = &sequence.request;
        let max_len = runner.max_sequence_len(prompt.tokens.len(), request.max_tokens);
        let drafter = match request.speculate {
            Speculation::Off => None,
            kind => {
                let read = prompt.tokens.clone();
                Some(Drafter::new(kind, runner.draft_model(), read, max_len)?)
            }
        };
        let (search, max_tokens) = (request.beam, request.max_tokens);
        let prompt_logprobs = request.prompt_logprobs;
        if let Some(labels) = &request.labels {
            let ends = [runner.vocabulary().end_tokens(), &request.stop_token_ids].concat();
            let masses = LabelMasses::new(labels, ends);
            let state = DecodeState::prepared(sequence.clone());
            let cache = runner.model().new_cache_for(max_len)?;
            let branch = Branch::new(prompt.tokens, cache, state);
            let labels = Texts::Labels(Box::new(LabelSearch::new(masses, branch, sequence)));
            return Ok(Self::waiting(id, runner, labels));
        }
        let state = DecodeState::new(sequence, drafter);
        let cache = runner.model().new_cache_for(max_len)?;
        let mut branch = Branch::new(prompt.tokens, cache, state);
        if let Some(top) = prompt_logprobs {
            branch = branch.with_prompt_scores(top);
        }
        let texts = match search {
            None => Texts::One(Box::new(branch)),
            Some(search) => Texts::Beams(Search::new(search, max_tokens, branch)),
        };
        Ok(Self::waiting(id, runner, texts))
    }

    /// A task that waits, with these texts.
    fn waiting(id: TaskId, runner: &ModelRunner, texts: Texts) -> Self {
        Self {
            id,
            runner: runner.clone(),
            texts,
            is_running: false,
            clock: TaskClock { submitted: Instant::now(), began: None, prefilled: None },
            passes: Passes::default(),
            cached_tokens: 0,
            events: Vec::new(),
            outcome: None,
            is_cancelled: false,
        }
    }

    pub(crate) fn branches(&self) -> Vec<&Branch> {
        match &self.texts {
            Texts::One(branch) => vec![branch],
            Texts::Beams(search) => search.branches().collect(),
            Texts::Labels(search) => search.branches().collect(),
        }
    }

    pub(crate) fn branches_mut(&mut self) -> Vec<&mut Branch> {
        match &mut self.texts {
            Texts::One(branch) => vec![branch],
            Texts::Beams(search) => search.branches_mut().collect(),
            Texts::Labels(search) => search.branches_mut().collect(),
        }
    }

    /// The tokens that its branches could read in the next pass.
    pub(crate) fn readable_tokens(&self) -> Vec<ReadableTokens> {
        if self.is_cancelled || self.outcome.is_some() {
            return Vec::new();
        }
        let branches = self.branches().into_iter().enumerate();
        branches.filter_map(|(index, branch)| branch.readable_tokens(self.id, index)).collect()
    }

    /// Whether tokens of its prompt are to be measured, for which it is read from its beginning.
    pub(crate) fn measures_prompt(&self) -> bool {
        self.branches().into_iter().any(Branch::measures_prompt)
    }

    /// Begins, or goes on after a preemption; `cached` tokens need not be read.
    pub(crate) fn begin(&mut self, cached: usize) {
        self.is_running = true;
        if self.clock.began.is_none() {
            self.clock.began = Some(Instant::now());
            self.cached_tokens = cached;
        }
    }

    /// Whether it has had its turn.
    pub(crate) fn has_begun(&self) -> bool {
        self.clock.began.is_some()
    }

    /// Counts a forward pass, in which one of its branches may have got logits.
    pub(crate) fn count_pass(&mut self, has_logits: bool, passes: Passes) {
        self.passes.model += 1;
        self.passes.drafted += passes.drafted;
        if has_logits && self.clock.prefilled.is_none() {
            self.clock.prefilled = Some(Instant::now());
        }
    }

    /// Whether its next draw is to be prepared: it runs, or was preempted before a draw.
    pub(crate) fn is_written(&self) -> bool {
        let has_logits = || self.branches().into_iter().any(Branch::has_logits);
        !self.is_cancelled && self.outcome.is_none() && (self.is_running || has_logits())
    }

    /// Whether all of its branches have logits and masks.
    pub(crate) fn can_draw(&self) -> bool {
        self.outcome.is_none()
            && !self.is_cancelled
            && self.branches().into_iter().all(Branch::can_draw)
    }

    /// Whether a branch can do nothing before its preparation is over, which the others wait for.
    pub(crate) fn is_waited_for(&self) -> bool {
        let awaited = |branch: &&Branch| branch.awaits_preparation() && !branch.is_late;
        self.outcome.is_none() && self.branches().iter().any(awaited)
    }

    /// Draws a token of each branch; returns the number of tokens.
    pub(crate) fn draw(&mut self) -> usize {
        let tokens = match &self.texts {
            Texts::One(_) => 1,
            Texts::Beams(search) => search.growing(),
            // Labels are read.
            Texts::Labels(_) => 0,
        };
        let (runner, passes) = (&self.runner, &mut self.passes);
        let drawn = match &mut self.texts {
            Texts::One(branch) => branch.draw(runner, passes, &mut self.events),
            Texts::Beams(search) => search.extend().map(|over| over.then_some(FinishReason::Stop)),
            Texts::Labels(search) => search.extend().map(|over| over.then_some(FinishReason::Stop)),
        };
        match drawn {
            Ok(None) => {}
            Ok(Some(reason)) => self.finish(reason),
            Err(error) => self.fail(error),
        }
        tokens
    }

    /// Ends it with an error.
    pub(crate) fn fail(&mut self, error: crate::Error) {
        self.outcome.get_or_insert(Err(error));
    }

    /// Ends it as soon as no preparation thread has a part of it: at once if none has.
    pub(crate) fn cancel(&mut self) {
        self.is_cancelled = true;
        let is_being_prepared = self.branches().into_iter().any(Branch::is_being_prepared);
        if self.outcome.is_none() && !is_being_prepared {
            self.finish(FinishReason::Cancelled);
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Its texts, best first, or its error, once it has ended.
    pub(crate) fn take_outcome(&mut self) -> Option<Result<Vec<RankedText>>> {
        self.outcome.take()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.outcome.is_some()
    }

    /// Ends it and makes the responses.
    fn finish(&mut self, reason: FinishReason) {
        let now = Instant::now();
        let began = self.clock.began.unwrap_or(now);
        let prefilled = self.clock.prefilled.unwrap_or(now);
        let timing = Timing {
            queued: began.duration_since(self.clock.submitted),
            prefill: prefilled.duration_since(began),
            decode: now.duration_since(prefilled),
        };
        let (passes, cached) = (self.passes, self.cached_tokens);
        let ended = match &mut self.texts {
            Texts::One(branch) => {
                let sequence = branch.take_sequence();
                let mut scores = branch.take_prompt_scores();
                let end = |sequence: Sequence| {
                    let mut response = sequence.end(reason, timing, passes, &mut self.events);
                    response.prompt_logprobs = scores.take();
                    (response, Vec::new())
                };
                sequence.map(end).into_iter().collect()
            }
            Texts::Beams(search) => search.end(reason, timing, passes),
            Texts::Labels(search) => match search.end(reason, timing, passes) {
                Ok(text) => vec![text],
                Err(error) => return self.fail(error),
            },
        };
        let count = |(mut response, steps): RankedText| {
            response.usage.cached_tokens = cached;
            (response, steps)
        };
        self.outcome = Some(Ok(ended.into_iter().map(count).collect()));
    }
}
