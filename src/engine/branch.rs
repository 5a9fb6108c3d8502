//! A text that grows in the loop: what the model has read of it, and what decides its next token.
//!
//! ```text
//!            read (forward pass)                  draw (one token)
//! unread ─────────────────────────▶ logits, mask ─────────────────▶ unread …
//!    └────── prepare (on another thread): guesses, mask ──────▲
//! ```
//!
//! The mask of a draw depends on the text alone, so it is computed while the model runs: the
//! [`Writer`] is lent to a thread and comes back with it. A mask that the constraint has computed before,
//! for this text or another, is taken at once.

use super::model_runner::ModelRunner;
use super::prompt_logprobs::{PromptScores, PromptToken, SCORED_POSITIONS};
use super::response::{FinishReason, Passes, TextEvent};
use super::scheduler::{BLOCK, TaskId, Unread};
use super::sequence::Sequence;
use super::speculation::{DraftTree, Drafter};
use crate::error::Result;
use crate::model::{Chunk, KvCache, LogitRows, Logits};

/// The part of a text that decides its tokens: matcher, sampler, stops, and the guesser of the next
/// ones.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) sequence: Sequence,
    pub(crate) drafter: Option<Drafter>,
    /// The last token and guesses after it, for the next pass; made if there is a drafter.
    tree: Option<DraftTree>,
    /// The preparation that it needs before its next draw.
    next: Preparation,
}

/// The preparation that a text needs before its next draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preparation {
    Done,
    Mask,
    GuessesAndMask,
}

impl Writer {
    pub(crate) fn new(sequence: Sequence, drafter: Option<Drafter>) -> Self {
        Self { sequence, drafter, tree: None, next: Preparation::Mask }
    }

    /// A writer whose logits are taken without a draw, so that there is nothing to prepare.
    pub(crate) fn prepared(sequence: Sequence) -> Self {
        Self { next: Preparation::Done, ..Self::new(sequence, None) }
    }

    /// Guesses the next tokens if the text asks for that, and computes the mask of the next draw.
    ///
    /// Errors where the constraint reaches a limit.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        let next = std::mem::replace(&mut self.next, Preparation::Done);
        if next == Preparation::GuessesAndMask
            && let Some(drafter) = &mut self.drafter
        {
            self.tree = Some(drafter.draft(&self.sequence)?);
        }
        self.sequence.prepare()
    }

    /// Does what [`prepare`](Self::prepare) does if that takes no time, which spares the way to another
    /// thread and back.
    fn prepare_at_once(&mut self) -> Result<()> {
        if self.drafter.is_none() && self.sequence.prepare_at_once()? {
            self.next = Preparation::Done;
        }
        Ok(())
    }
}

/// Logits that wait for their draws: of the last token, and of guesses after it.
#[derive(Debug)]
struct UnusedLogits {
    rows: Vec<Logits>,
    tree: DraftTree,
    /// The nodes of the tree that the text has come along.
    path: Vec<usize>,
    /// The positions that the cache held before the tree.
    from: usize,
}

/// One growing text.
#[derive(Debug)]
pub(crate) struct Branch {
    /// The tokens of the prompt and of the text.
    tokens: Vec<u32>,
    prompt_len: usize,
    /// Keys and values of tokens that were read: all but the last one while the text grows.
    cache: KvCache,
    /// `None` while it is lent.
    writer: Option<Box<Writer>>,
    speculates: bool,
    /// The guesses that the pass in progress reads.
    reading: Option<DraftTree>,
    logits: Option<UnusedLogits>,
    /// The log-probabilities of the prompt, if they are asked for.
    scores: Option<PromptScores>,
    /// Whether the others have stopped waiting for its mask.
    pub(crate) is_late: bool,
}

impl Branch {
    /// A text after a prompt, of which the cache may hold a part.
    pub(crate) fn new(prompt: Vec<u32>, cache: KvCache, writer: Writer) -> Self {
        let speculates = writer.drafter.is_some();
        Self {
            prompt_len: prompt.len(),
            tokens: prompt,
            cache,
            writer: Some(Box::new(writer)),
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
        let writer = Writer::new(sequence, None);
        Self { prompt_len: self.prompt_len, ..Self::new(tokens, self.cache.fork(), writer) }
    }

    /// A text that goes on with these tokens after this one, which stays as it is.
    pub(crate) fn forked(&self, tokens: &[u32], writer: Writer) -> Self {
        let tokens = [&self.tokens, tokens].concat();
        Self { prompt_len: self.prompt_len, ..Self::new(tokens, self.cache.fork(), writer) }
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

    /// The writer, unless it is lent.
    pub(crate) fn writer(&mut self) -> Option<&mut Writer> {
        self.writer.as_deref_mut()
    }

    /// The sequence of a text that has ended, unless its writer is lent.
    pub(crate) fn take_sequence(&mut self) -> Option<Sequence> {
        self.writer.take().map(|writer| writer.sequence)
    }

    /// Lends the writer, if there is something to prepare.
    pub(crate) fn lend(&mut self) -> Option<Box<Writer>> {
        let is_idle = self.writer.as_ref().is_none_or(|w| w.next == Preparation::Done);
        if is_idle { None } else { self.writer.take() }
    }

    /// Takes the writer back, prepared.
    pub(crate) fn give_back(&mut self, writer: Box<Writer>) {
        self.writer = Some(writer);
        self.is_late = false;
    }

    /// Whether the writer is lent.
    pub(crate) fn is_lent(&self) -> bool {
        self.writer.is_none()
    }

    /// Whether nothing can be done before the writer is back.
    pub(crate) fn awaits_writer(&self) -> bool {
        self.is_lent() && (self.logits.is_some() || self.awaits_guesses())
    }

    fn awaits_guesses(&self) -> bool {
        self.speculates && self.is_decode()
    }

    fn is_decode(&self) -> bool {
        self.tokens.len() > self.prompt_len && self.cache.len() + 1 == self.tokens.len()
    }

    /// The number of tokens that are read without guesses: all, but the last of a text with guesses is
    /// read with them, also after a preemption, for draws depend on them.
    fn readable(&self) -> usize {
        let with_guesses = self.speculates && self.text_len() > 0 && !self.is_decode();
        self.tokens.len() - usize::from(with_guesses)
    }

    /// Whether logits wait for their draw.
    pub(crate) fn has_logits(&self) -> bool {
        self.logits.is_some()
    }

    /// The tokens that could be read in the next pass.
    pub(crate) fn unread(&self, task: TaskId, branch: usize) -> Option<Unread> {
        if self.logits.is_some() || (self.awaits_guesses() && self.is_lent()) {
            return None;
        }
        let is_decode = self.is_decode();
        let guesses = self.writer.as_ref().filter(|_| is_decode).and_then(|w| w.tree.as_ref());
        let tokens = match guesses {
            Some(tree) => tree.tokens().len(),
            None => self.readable() - self.cache.len(),
        };
        let used = self.cache.len() % BLOCK;
        let (room, copies) = match used {
            0 => (0, false),
            _ => (BLOCK - used, self.cache.blocks_for(1) > 0),
        };
        Some(Unread { task, branch, tokens, is_decode, room, copies })
    }

    /// Begins the pass that reads so many tokens.
    pub(crate) fn begin_read(&mut self) {
        let is_decode = self.is_decode();
        self.reading = self.writer.as_mut().filter(|_| is_decode).and_then(|w| w.tree.take());
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
        let to = self.readable().min(from + most);
        let logits = match to == self.tokens.len() {
            _ if measures => LogitRows::All,
            true => LogitRows::Last,
            false => LogitRows::None,
        };
        Chunk { tokens: &self.tokens[from..to], parents: &[], cache: &mut self.cache, logits }
    }

    /// Ends the pass, whose logits these are.
    ///
    /// Errors if logits that are measured are no numbers.
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
        let is_prepared = self.writer.as_ref().is_some_and(|w| w.next == Preparation::Done);
        self.logits.is_some() && is_prepared
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
        let (Some(writer), Some(unused)) = (&mut self.writer, &mut self.logits) else {
            return Ok(None);
        };
        if writer.sequence.request.max_tokens == 0 {
            self.logits = None;
            return Ok(Some(FinishReason::Length));
        }
        let node = unused.path[unused.path.len() - 1];
        let sequence = &mut writer.sequence;
        let drawn = sequence.step(&unused.rows[node], unused.tree.guess(node), events)?;
        let finish = drawn.or_else(|| sequence.limit_reached());
        let token = sequence.tokens.last().copied().unwrap_or_default();
        let child = unused.tree.child(node, token).filter(|_| finish.is_none());
        if let Some(child) = child {
            unused.path.push(child);
            passes.accepted += 1;
            self.tokens.push(token);
            writer.next = Preparation::Mask;
            return Ok(None);
        }
        if finish.is_none() {
            self.tokens.push(token);
            writer.next = Preparation::GuessesAndMask;
            // After a preemption nothing is left of the tree.
            if self.cache.len() > unused.from {
                runner.model().keep(&mut self.cache, unused.from, &unused.path)?;
            }
            writer.prepare_at_once()?;
        }
        self.logits = None;
        Ok(finish)
    }

    /// Replaces the cache by one that holds the beginning of the text.
    pub(crate) fn replace_cache(&mut self, cache: KvCache) {
        self.cache = cache;
    }

    /// Lets go of all blocks: the text is read again. Logits that wait for their draw stay.
    pub(crate) fn drop_cache(&mut self) {
        self.cache.truncate(0);
    }
}
