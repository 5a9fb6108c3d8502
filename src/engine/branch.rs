//! A branch: one token sequence of a task, the keys and values of the tokens that the model has read,
//! and the state that decides its next token.
//!
//! ```text
//!            read (forward pass)                  draw (one token)
//! unread ─────────────────────────▶ logits, mask ─────────────────▶ unread …
//!    └────── prepare (on another thread): guesses, mask ──────▲
//! ```
//!
//! The mask of a draw depends on the text alone, so it is computed while the model runs: the
//! [`DecodeState`] is moved to a preparation thread and comes back with it. A mask that the constraint has
//! computed before, for this text or another, is taken at once.

use super::model_runner::ModelRunner;
use super::prompt_logprobs::{PromptScores, PromptToken, SCORED_POSITIONS};
use super::response::{FinishReason, Passes, TextEvent};
use super::scheduler::{KV_BLOCK_SIZE, ReadableTokens, TaskId};
use super::sequence::Sequence;
use super::speculation::{DraftTree, Drafter};
use crate::error::Result;
use crate::model::{Chunk, KvCache, LogitRows, Logits};

/// Decides the next token of a branch, together with the model's logits: sequence (matcher, sampler, stops)
/// and drafter. It is moved to a preparation thread, which computes mask and draft, and comes back.
#[derive(Debug)]
pub(crate) struct DecodeState {
    pub(crate) sequence: Sequence,
    pub(crate) drafter: Option<Drafter>,
    /// The last token and guesses after it, for the next pass; made if there is a drafter.
    tree: Option<DraftTree>,
    /// The preparation that is left before its next draw.
    pending: PendingPreparation,
}

/// The preparation that is left before the next draw of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingPreparation {
    None,
    Mask,
    DraftAndMask,
}

impl DecodeState {
    pub(crate) fn new(sequence: Sequence, drafter: Option<Drafter>) -> Self {
        Self { sequence, drafter, tree: None, pending: PendingPreparation::Mask }
    }

    /// The state of a branch whose logits are read without a draw, so that there is nothing to prepare.
    pub(crate) fn prepared(sequence: Sequence) -> Self {
        Self { pending: PendingPreparation::None, ..Self::new(sequence, None) }
    }

    /// Guesses the next tokens if the text asks for that, and computes the mask of the next draw.
    ///
    /// Errors where the constraint reaches a limit.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        let pending = std::mem::replace(&mut self.pending, PendingPreparation::None);
        if pending == PendingPreparation::DraftAndMask
            && let Some(drafter) = &mut self.drafter
        {
            self.tree = Some(drafter.draft(&self.sequence)?);
        }
        self.sequence.prepare()
    }

    /// Does what [`prepare`](Self::prepare) does if that takes no time, which saves the move to another
    /// thread and back.
    fn prepare_at_once(&mut self) -> Result<()> {
        if self.drafter.is_none() && self.sequence.prepare_at_once()? {
            self.pending = PendingPreparation::None;
        }
        Ok(())
    }
}

/// Logits that wait for their draws: of the last token, and of guesses after it.
#[derive(Debug)]
struct UnusedLogits {
    rows: Vec<Logits>,
    tree: DraftTree,
    /// The nodes of the tree whose tokens the text has, from the root on.
    path: Vec<usize>,
    /// The number of positions that the cache held before it read the tree.
    from: usize,
}

/// One token sequence of a task: a prompt and the text that grows after it.
#[derive(Debug)]
pub(crate) struct Branch {
    /// The tokens of the prompt and of the text.
    tokens: Vec<u32>,
    prompt_len: usize,
    /// Keys and values of tokens that were read: all but the last one while the text grows.
    cache: KvCache,
    /// `None` while a preparation thread has it.
    decode_state: Option<Box<DecodeState>>,
    speculates: bool,
    /// The guesses that the pass in progress reads.
    reading: Option<DraftTree>,
    logits: Option<UnusedLogits>,
    /// The log-probabilities of the prompt, if they are asked for.
    scores: Option<PromptScores>,
    /// Whether other texts go on without it, since its mask was not ready in time.
    pub(crate) is_late: bool,
}

impl Branch {
    /// A text after a prompt, of which the cache may hold a part.
    pub(crate) fn new(prompt: Vec<u32>, cache: KvCache, decode_state: DecodeState) -> Self {
        let speculates = decode_state.drafter.is_some();
        Self {
            prompt_len: prompt.len(),
            tokens: prompt,
            cache,
            decode_state: Some(Box::new(decode_state)),
            speculates,
            reading: None,
            logits: None,
            scores: None,
            is_late: false,
        }
    }

    /// The text with log-probabilities of its prompt, and so many alternatives to each token.
    pub(crate) fn with_prompt_scores(self, top: usize) -> Self {
        Self { scores: Some(PromptScores::new(&self.tokens, top)), ..self }
    }

    /// Whether tokens of the prompt are to be measured, for which it is read from its beginning.
    pub(crate) fn measures_prompt(&self) -> bool {
        self.scores.as_ref().is_some_and(|scores| !scores.is_complete())
    }

    /// The tokens of the prompt, if all were measured.
    pub(crate) fn take_prompt_scores(&mut self) -> Option<Vec<PromptToken>> {
        self.scores.take().and_then(PromptScores::into_tokens)
    }

    /// A text that goes on with another token after this one.
    pub(crate) fn extended(&self, token: u32, sequence: Sequence) -> Self {
        let mut tokens = self.tokens.clone();
        tokens.push(token);
        let state = DecodeState::new(sequence, None);
        Self { prompt_len: self.prompt_len, ..Self::new(tokens, self.cache.fork(), state) }
    }

    /// A text that goes on with these tokens after this one, which stays as it is.
    pub(crate) fn forked(&self, tokens: &[u32], state: DecodeState) -> Self {
        let tokens = [&self.tokens, tokens].concat();
        Self { prompt_len: self.prompt_len, ..Self::new(tokens, self.cache.fork(), state) }
    }

    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The number of tokens of the text.
    pub(crate) fn text_len(&self) -> usize {
        self.tokens.len() - self.prompt_len
    }

    pub(crate) fn cache(&self) -> &KvCache {
        &self.cache
    }

    /// The number of tokens, from the first on, whose keys and values the cache holds for good.
    pub(crate) fn settled(&self) -> usize {
        match &self.logits {
            None => self.cache.len(),
            Some(logits) => logits.from.min(self.cache.len()),
        }
    }

    /// The decode state, unless a preparation thread has it.
    pub(crate) fn decode_state(&mut self) -> Option<&mut DecodeState> {
        self.decode_state.as_deref_mut()
    }

    /// The sequence of a text that has ended, unless a preparation thread has it.
    pub(crate) fn take_sequence(&mut self) -> Option<Sequence> {
        self.decode_state.take().map(|state| state.sequence)
    }

    /// Takes the decode state out for a preparation thread, if there is something to prepare.
    pub(crate) fn take_for_preparation(&mut self) -> Option<Box<DecodeState>> {
        let nothing_pending = |state: &DecodeState| state.pending == PendingPreparation::None;
        let is_idle = self.decode_state.as_deref().is_none_or(nothing_pending);
        if is_idle { None } else { self.decode_state.take() }
    }

    /// Puts the prepared decode state back.
    pub(crate) fn put_back_prepared(&mut self, decode_state: Box<DecodeState>) {
        self.decode_state = Some(decode_state);
        self.is_late = false;
    }

    /// Whether a preparation thread has the decode state.
    pub(crate) fn is_being_prepared(&self) -> bool {
        self.decode_state.is_none()
    }

    /// Whether nothing can be done before the decode state is back.
    pub(crate) fn awaits_preparation(&self) -> bool {
        self.is_being_prepared() && (self.logits.is_some() || self.awaits_guesses())
    }

    fn awaits_guesses(&self) -> bool {
        self.speculates && self.is_decode()
    }

    fn is_decode(&self) -> bool {
        self.tokens.len() > self.prompt_len && self.cache.len() + 1 == self.tokens.len()
    }

    /// The number of tokens that are read without guesses: all, or with speculation all but the last one of a text.
    /// That one is read together with its guesses, also after a preemption, since the draws depend on the guesses.
    fn readable_len(&self) -> usize {
        let with_guesses = self.speculates && self.text_len() > 0 && !self.is_decode();
        self.tokens.len() - usize::from(with_guesses)
    }

    /// Whether logits wait for their draw.
    pub(crate) fn has_logits(&self) -> bool {
        self.logits.is_some()
    }

    /// The tokens that could be read in the next pass.
    pub(crate) fn readable_tokens(&self, task: TaskId, branch: usize) -> Option<ReadableTokens> {
        // Guesses are made before the pass that reads them, also after a preemption.
        let is_unguessed = |state: &DecodeState| state.pending == PendingPreparation::DraftAndMask;
        let awaits_draft = self.decode_state.as_deref().is_none_or(is_unguessed);
        if self.logits.is_some() || (self.awaits_guesses() && awaits_draft) {
            return None;
        }
        let is_decode = self.is_decode();
        let state = self.decode_state.as_ref().filter(|_| is_decode);
        let guesses = state.and_then(|state| state.tree.as_ref());
        let tokens = match guesses {
            Some(tree) => tree.tokens().len(),
            None => self.readable_len() - self.cache.len(),
        };
        let used = self.cache.len() % KV_BLOCK_SIZE;
        let (free_in_last_block, needs_copy_on_write) = match used {
            0 => (0, false),
            _ => (KV_BLOCK_SIZE - used, self.cache.blocks_for(1) > 0),
        };
        Some(ReadableTokens {
            task,
            branch,
            tokens,
            is_decode,
            free_in_last_block,
            needs_copy_on_write,
        })
    }

    /// Begins the pass that reads so many tokens.
    pub(crate) fn begin_read(&mut self) {
        let is_decode = self.is_decode();
        let state = self.decode_state.as_mut().filter(|_| is_decode);
        self.reading = state.and_then(|state| state.tree.take());
    }

    /// The next tokens, at most `most` of them unless they are guesses, with what is wanted of them.
    pub(crate) fn chunk(&mut self, most: usize) -> Chunk<'_> {
        if let Some(tree) = &self.reading {
            let (tokens, parents) = (tree.tokens(), tree.parents());
            return Chunk { tokens, parents, cache: &mut self.cache, logits: LogitRows::All };
        }
        let from = self.cache.len();
        let measures = self.measures_prompt();
        let most = if measures { most.min(SCORED_POSITIONS) } else { most };
        let to = self.readable_len().min(from + most);
        let logits = if measures {
            LogitRows::All
        } else if to == self.tokens.len() {
            LogitRows::Last
        } else {
            LogitRows::None
        };
        Chunk { tokens: &self.tokens[from..to], parents: &[], cache: &mut self.cache, logits }
    }

    /// Ends the pass, whose logits these are.
    ///
    /// Errors if a row that is measured has a logit that is NaN or +∞, or if all of its logits are −∞.
    pub(crate) fn end_read(&mut self, mut rows: Vec<Logits>, passes: &mut Passes) -> Result<()> {
        if let Some(scores) = self.scores.as_mut().filter(|scores| !scores.is_complete()) {
            let first = self.cache.len() - rows.len();
            for (position, row) in (first..).zip(&rows) {
                scores.measure(position, row, &self.tokens)?;
            }
            // Those after the prompt's last token are drawn from.
            let is_read = self.cache.len() == self.tokens.len();
            rows = rows.pop().filter(|_| is_read).into_iter().collect();
        }
        let tree = self.reading.take();
        if let (Some(last), false) = (self.tokens.last(), rows.is_empty()) {
            let tree = tree.unwrap_or_else(|| DraftTree::new(*last));
            passes.drafted += tree.tokens().len() - 1;
            let from = self.tokens.len() - 1;
            self.logits = Some(UnusedLogits { rows, tree, path: vec![0], from });
        }
        Ok(())
    }

    /// Whether logits and mask are there.
    pub(crate) fn can_draw(&self) -> bool {
        let nothing_pending = |state: &DecodeState| state.pending == PendingPreparation::None;
        self.logits.is_some() && self.decode_state.as_deref().is_some_and(nothing_pending)
    }

    /// The logits after the last token.
    pub(crate) fn logits(&self) -> Option<&Logits> {
        let unused = self.logits.as_ref()?;
        unused.rows.get(*unused.path.last()?)
    }

    /// Draws a token and adds it. Returns why the text ends, if it does.
    ///
    /// Errors where the constraint reaches a limit.
    pub(crate) fn draw(
        &mut self,
        runner: &ModelRunner,
        passes: &mut Passes,
        events: &mut Vec<TextEvent>,
    ) -> Result<Option<FinishReason>> {
        let (Some(state), Some(unused)) = (&mut self.decode_state, &mut self.logits) else {
            return Ok(None);
        };
        if state.sequence.request.max_tokens == 0 {
            self.logits = None;
            return Ok(Some(FinishReason::Length));
        }
        let node = unused.path[unused.path.len() - 1];
        let sequence = &mut state.sequence;
        let drawn = sequence.step(&unused.rows[node], unused.tree.guess(node), events)?;
        let finish = drawn.or_else(|| sequence.limit_reached());
        let token = sequence.tokens.last().copied().unwrap_or_default();
        let child = unused.tree.child(node, token).filter(|_| finish.is_none());
        if let Some(child) = child {
            unused.path.push(child);
            passes.accepted += 1;
            self.tokens.push(token);
            state.pending = PendingPreparation::Mask;
            return Ok(None);
        }
        if finish.is_none() {
            self.tokens.push(token);
            state.pending = PendingPreparation::DraftAndMask;
            // After a preemption nothing is left of the tree.
            if self.cache.len() > unused.from {
                runner.model().keep(&mut self.cache, unused.from, &unused.path)?;
            }
            state.prepare_at_once()?;
        }
        self.logits = None;
        Ok(finish)
    }

    /// Replaces the cache by one that holds the beginning of the text.
    pub(crate) fn replace_cache(&mut self, cache: KvCache) {
        self.cache = cache;
    }

    /// Lets go of all blocks, those of a draft model among them unless a preparation thread has it: the text is read
    /// again. Logits that wait for their draw stay.
    pub(crate) fn drop_cache(&mut self) {
        self.cache.truncate(0);
        if let Some(drafter) = self.decode_state().and_then(|state| state.drafter.as_mut()) {
            drafter.drop_cache();
        }
    }
}
