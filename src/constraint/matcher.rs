//! One sequence under a constraint.

use std::sync::Arc;

use super::captures::{Capture, StepText};
use super::compiled::Constraint;
use super::expected::{Expected, expected_after, rejection, show};
use super::memory::{Memory, MemoryHandle};
use crate::completion::TokensToFinish;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::Temperature;
use crate::mask::PackedMask;
use crate::recognizer::temperatures::temperature;
use crate::recognizer::{ACCEPT, ConfigId, Recognizer};
use crate::urgency::Urgent;
use crate::vocabulary::TokenMask;

/// One sequence under a constraint: cheap to make, and a fork is a clone.
///
/// Every accepted token, and every call of [`accept_bytes`](Matcher::accept_bytes), is one step
/// that [`rollback`](Matcher::rollback) can take back in O(1).
#[derive(Debug)]
pub struct Matcher {
    pub(super) constraint: Constraint,
    pub(super) memory: MemoryHandle,
    /// The configuration before any step, and after each.
    history: Vec<ConfigId>,
    /// The texts of the steps, where the constraint has captures.
    steps: Vec<StepText>,
    pub(super) finished: bool,
    mask: Option<TokenMask>,
    /// The configuration whose mask is in `mask`.
    buffered_config: Option<ConfigId>,
    /// A hot mask of the memory, and its configuration.
    hot: Option<(ConfigId, Arc<TokenMask>)>,
}

impl Constraint {
    /// A matcher at the start of a text; one per sequence.
    pub fn matcher(&self) -> Matcher {
        Matcher::new(self.clone(), self.memories.for_new_matcher())
    }
}

impl Clone for Matcher {
    /// A fork, without the buffer of the mask, which may never be asked for again.
    fn clone(&self) -> Self {
        Self {
            constraint: self.constraint.clone(),
            memory: self.memory.clone(),
            history: self.history.clone(),
            steps: self.steps.clone(),
            finished: self.finished,
            mask: None,
            buffered_config: None,
            hot: None,
        }
    }
}

impl Matcher {
    fn new(constraint: Constraint, memory: MemoryHandle) -> Self {
        let history = vec![memory.start];
        Self {
            constraint,
            memory,
            history,
            steps: Vec::new(),
            finished: false,
            mask: None,
            buffered_config: None,
            hot: None,
        }
    }

    /// The constraint that it follows.
    pub fn constraint(&self) -> &Constraint {
        &self.constraint
    }

    /// The configuration of the text so far.
    pub(super) fn current(&self) -> ConfigId {
        // Never empty: `rollback` keeps the start.
        self.history[self.history.len() - 1]
    }

    /// The tokens that may come next, end tokens included where the text is complete; empty after
    /// an end token. The matcher has a buffer of its own, which is rewritten when the configuration
    /// changes. Frequently requested masks come from a cache that the constraint's matchers share;
    /// [`fill_mask`](Self::fill_mask) does not use it.
    ///
    /// Errors when a limit is reached; the matcher stays as it was.
    pub fn mask(&mut self) -> Result<&TokenMask> {
        let is_hot = self.has_hot_mask();
        if !is_hot && (self.buffered_config != Some(self.current()) || self.finished) {
            let len = self.constraint.vocabulary().len();
            let mut mask = self.mask.take().unwrap_or_else(|| TokenMask::new(len));
            let filled = self.fill_mask(mask.words_mut());
            self.mask = Some(mask);
            self.buffered_config = None;
            filled?;
            self.buffered_config = (!self.finished).then(|| self.current());
        }
        let mask =
            if is_hot { self.hot.as_ref().map(|(_, mask)| &**mask) } else { self.mask.as_ref() };
        match mask {
            Some(mask) => Ok(mask),
            // Seen or filled just above.
            None => Err(Error::new(ErrorKind::Limit, "no mask")),
        }
    }

    /// Whether the mask here is a hot one, which is then in `hot`.
    fn has_hot_mask(&mut self) -> bool {
        let here = self.current();
        if self.finished || !self.constraint.memories.keeps_hot_masks() {
            return false;
        }
        if self.hot.as_ref().is_some_and(|&(of, _)| of == here) {
            return true;
        }
        let memories = &self.constraint.memories;
        let mut memory = self.memory.lock();
        let masks = &mut memory.masks;
        let hot = match masks.hot.get(here) {
            Some(mask) => Some(mask),
            None => masks.known(here).and_then(|packed| {
                let len = memories.vocabulary().len();
                masks.hot.request(here, &packed, len, memories.hot_mask_bytes())
            }),
        };
        let Some(mask) = hot else { return false };
        self.hot = Some((here, Arc::clone(mask)));
        true
    }

    /// Writes the mask into a row of `ceil(V / 32)` words, bit `t % 32` of word `t / 32` being
    /// token `t`. Written from the packed mask each time: unlike [`mask`](Self::mask), it uses no
    /// cached rows.
    ///
    /// Errors if the row has another length, or when a limit is reached.
    pub fn fill_mask(&mut self, row: &mut [u32]) -> Result<()> {
        self.check_row(row)?;
        self.packed_mask()?.write(row);
        Ok(())
    }

    /// The mask, packed.
    pub(super) fn packed_mask(&self) -> Result<Arc<PackedMask>> {
        if self.finished {
            return Ok(Arc::default());
        }
        let memories = &self.constraint.memories;
        let mut memory = self.memory.lock();
        memories.evict(&mut memory);
        let here = self.current();
        if let Some(mask) = memory.masks.known(here) {
            return Ok(mask);
        }
        let vocabulary = memories.vocabulary();
        let _urgent = Urgent::begin();
        memories
            .timed(|| memory.mask_builder(vocabulary).mask(here))
            .map_err(|error| with_place(&memory.recognizer, here, error))
    }

    /// The mask, packed, if it was computed before.
    pub(super) fn known_packed_mask(&self) -> Option<Arc<PackedMask>> {
        if self.finished {
            return Some(Arc::default());
        }
        self.memory.lock().masks.known(self.current())
    }

    /// Computes the mask here if it is not known, for nobody who waits. Whether it was not.
    ///
    /// Errors when a limit is reached.
    pub(crate) fn learn_mask(&self) -> Result<bool> {
        if self.finished {
            return Ok(false);
        }
        self.learn_mask_of(&mut self.memory.lock(), self.current())
    }

    /// The same for the mask after a byte, if that may come next.
    pub(crate) fn learn_mask_after(&self, byte: u8) -> Result<bool> {
        if self.finished {
            return Ok(false);
        }
        let memories = &self.constraint.memories;
        let mut memory = self.memory.lock();
        let next = memories.timed(|| memory.recognizer.read(self.current(), &[byte]))?;
        next.map_or(Ok(false), |next| self.learn_mask_of(&mut memory, next))
    }

    fn learn_mask_of(&self, memory: &mut Memory, at: ConfigId) -> Result<bool> {
        let memories = &self.constraint.memories;
        memories.evict(memory);
        if memory.masks.known(at).is_some() {
            return Ok(false);
        }
        memories.timed(|| memory.mask_builder(memories.vocabulary()).mask(at))?;
        Ok(true)
    }

    /// Whether its memory has learned so much that what can wait should be left to the texts that need it.
    pub(crate) fn has_well_filled_memory(&self) -> bool {
        self.constraint.memories.is_well_filled(&self.memory)
    }

    /// An upper bound on the tokens that complete the text, the end token not counted, and whether it
    /// is exact. Some allowed token always reaches a state whose bound is lower, so a text that is
    /// begun within its budget can be kept within it by [`mask_within`](Matcher::mask_within).
    ///
    /// Computed when asked for: along the shortest text, and remembered.
    ///
    /// Errors when a limit is reached, and where every text that completes this one has more than
    /// 1 MiB left.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # let mut tokens: Vec<_> = (0..=255).map(|b| Some(vec![b])).collect();
    /// tokens.push(Some(b"true".to_vec()));
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let constraint = Compiler::new(vocabulary).regex("(true|false|no idea)!")?;
    /// let mut matcher = constraint.matcher();
    /// assert_eq!(matcher.tokens_to_finish()?.tokens, 2); // "true", "!"
    /// let within: Vec<u32> = matcher.mask_within(2)?.iter().collect();
    /// assert_eq!(within, [256]);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn tokens_to_finish(&mut self) -> Result<TokensToFinish> {
        if self.finished {
            return Ok(TokensToFinish { tokens: 0, exact: true });
        }
        let mut memory = self.memory.lock();
        let (vocabulary, here) = (self.constraint.vocabulary(), self.current());
        self.constraint
            .memories
            .timed(|| memory.planner(vocabulary).tokens_to_finish(here))
            .map_err(|error| with_place(&memory.recognizer, here, error))
    }

    /// Checks that `tokens` tokens are enough to complete the text, the end token not counted. Where
    /// no completion is found within the limits of the search, nothing is refused.
    ///
    /// What is far too long is refused by arithmetic (lengths and counts are multiplied, nothing is
    /// spelled out), so this is the first thing to ask of a constraint that somebody else wrote.
    ///
    /// Errors with [`ErrorKind::Request`] if they are not enough, and says how many would be.
    ///
    /// ```
    /// # use maskwright::{Compiler, ErrorKind, Vocabulary};
    /// # let tokens: Vec<_> = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let constraint = Compiler::new(vocabulary).regex("a{2000000000}")?;
    /// let error = constraint.matcher().check_budget(100).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Request);
    /// assert!(error.message().contains("at least 2000000000 are needed"));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn check_budget(&mut self, tokens: u32) -> Result<()> {
        if self.finished {
            return Ok(());
        }
        let mut memory = self.memory.lock();
        let (vocabulary, here) = (self.constraint.vocabulary(), self.current());
        self.constraint
            .memories
            .timed(|| memory.planner(vocabulary).check_budget(here, tokens))
            .map_err(|error| with_place(&memory.recognizer, here, error))
    }

    /// The tokens after which the text can still be completed within `tokens` tokens, the next one
    /// counted and the end token not: those of [`mask`](Matcher::mask) that leave
    /// [`tokens_to_finish`](Matcher::tokens_to_finish) below `tokens`. Where what was read decides
    /// what may follow (keys that a schema does not name, items that must differ) it may be fewer of
    /// them, never none. Lent as the mask is.
    ///
    /// Errors if more tokens are needed from here, and says how many.
    pub fn mask_within(&mut self, tokens: u32) -> Result<&TokenMask> {
        let len = self.constraint.vocabulary().len();
        let mut mask = self.mask.take().unwrap_or_else(|| TokenMask::new(len));
        let filled = self.fill_mask_within(mask.words_mut(), tokens);
        self.buffered_config = None;
        let mask = self.mask.insert(mask);
        filled.map(|()| &*mask)
    }

    /// Writes [`mask_within`](Matcher::mask_within) into a row, as
    /// [`fill_mask`](Matcher::fill_mask) does.
    pub fn fill_mask_within(&mut self, row: &mut [u32], tokens: u32) -> Result<()> {
        self.check_row(row)?;
        if self.finished {
            row.fill(0);
            return Ok(());
        }
        let memories = &self.constraint.memories;
        let mut memory = self.memory.lock();
        memories.evict(&mut memory);
        let (vocabulary, here) = (memories.vocabulary(), self.current());
        memories.timed(|| memory.budget_masks(vocabulary).write(here, tokens, row))
    }

    /// Writes what [`fill_mask`](Self::fill_mask) writes, or with a number of tokens what
    /// [`fill_mask_within`](Self::fill_mask_within) does, if nothing has to be computed for it: a matcher of
    /// the constraint was here before, the end of the budget is far away, and no other thread is at work on
    /// what these matchers have learned. Returns whether it did, after microseconds either way: for threads
    /// that no mask may hold up. If not, the row is not to be used.
    ///
    /// Errors if the row has another length.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # let tokens: Vec<_> = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let constraint = Compiler::new(vocabulary).regex("(yes|no)!")?;
    /// let (mut mask, mut again) = (vec![0; 256 / 32], vec![0; 256 / 32]);
    /// assert!(!constraint.matcher().fill_known_mask(&mut again, None)?);
    /// constraint.matcher().fill_mask(&mut mask)?;
    /// assert!(constraint.matcher().fill_known_mask(&mut again, None)?);
    /// assert_eq!(mask, again);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn fill_known_mask(&self, row: &mut [u32], tokens: Option<u32>) -> Result<bool> {
        self.check_row(row)?;
        if self.finished {
            row.fill(0);
            return Ok(true);
        }
        let Some(mut memory) = self.memory.try_lock() else { return Ok(false) };
        let here = self.current();
        let vocabulary = self.constraint.vocabulary();
        let Some(tokens) = tokens else {
            let mask = memory.masks.known(here);
            return Ok(mask.is_some_and(|mask| {
                mask.write(row);
                true
            }));
        };
        Ok(memory.budget_masks(vocabulary).write_known(here, tokens, row))
    }

    pub(super) fn check_row(&self, row: &[u32]) -> Result<()> {
        let words = self.constraint.vocabulary().len().div_ceil(32);
        if words != row.len() {
            let message = format!("a mask row of {} words where {words} fit", row.len());
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("give ceil(V / 32) words for a vocabulary of V tokens"));
        }
        Ok(())
    }

    /// Takes one token. An end token finishes the text.
    ///
    /// Errors if it is not allowed here, and then says what is; the matcher stays as it was.
    pub fn accept(&mut self, token: u32) -> Result<()> {
        if self.finished {
            return Err(Error::new(ErrorKind::Rejected, "the text is finished")
                .with_help("roll back, or start a new matcher"));
        }
        let here = self.current();
        let vocabulary = self.constraint.vocabulary();
        let mut memory = self.memory.lock();
        let Memory { recognizer, .. } = &mut *memory;
        if vocabulary.end_tokens().contains(&token) && recognizer.is_accepting(here) {
            self.finished = true;
            drop(memory);
            self.push(here, || StepText::End);
            return Ok(());
        }
        let memories = &self.constraint.memories;
        match memories.timed(|| recognizer.read_token(vocabulary, here, token))? {
            Ok(next) => {
                drop(memory);
                self.push(next, || StepText::Token(token));
                Ok(())
            }
            Err(read) => {
                let text = vocabulary.token_bytes(token).unwrap_or_default();
                let expected =
                    memories.timed(|| expected_after(recognizer, here, &text[..read]))?;
                let name = vocabulary.token_name(token);
                let message = match text.get(read) {
                    Some(&byte) if read > 0 => {
                        format!(
                            "token {token} ({name}) is not allowed here: byte {read} of it, {}",
                            show(byte)
                        )
                    }
                    _ => format!("token {token} ({name}) is not allowed here"),
                };
                Err(rejection(message, &expected))
            }
        }
    }

    /// Takes bytes of text, whatever tokens they may be made of; one step for
    /// [`rollback`](Matcher::rollback).
    ///
    /// Errors at the first byte that is not allowed, its offset within `bytes` in the error's
    /// place; the matcher stays as it was.
    pub fn accept_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if self.finished {
            return Err(Error::new(ErrorKind::Rejected, "the text is finished")
                .with_help("roll back, or start a new matcher"));
        }
        let mut memory = self.memory.lock();
        let Memory { recognizer, .. } = &mut *memory;
        let here = self.current();
        let memories = &self.constraint.memories;
        match memories.timed(|| recognizer.read(here, bytes))? {
            Ok(next) => {
                drop(memory);
                self.push(next, || StepText::Bytes(bytes.into()));
                Ok(())
            }
            Err(read) => {
                let expected =
                    memories.timed(|| expected_after(recognizer, here, &bytes[..read]))?;
                let message = format!("{} is not allowed here", show(bytes[read]));
                Err(rejection(message, &expected).at_byte(read))
            }
        }
    }

    /// The continuations that the constraint accepts next.
    pub fn expected(&mut self) -> Result<Expected> {
        if self.finished {
            return Ok(Expected::default());
        }
        let mut memory = self.memory.lock();
        let Memory { recognizer, .. } = &mut *memory;
        let here = self.current();
        self.constraint.memories.timed(|| expected_after(recognizer, here, b""))
    }

    /// Takes back the last `steps` steps. O(1).
    ///
    /// Errors if there were fewer; the matcher stays as it was.
    pub fn rollback(&mut self, steps: usize) -> Result<()> {
        let taken = self.history.len() - 1;
        if steps > taken {
            let message = format!("cannot roll back {steps} steps, only {taken} were taken");
            return Err(Error::new(ErrorKind::Request, message));
        }
        if steps > 0 {
            self.history.truncate(taken + 1 - steps);
            self.steps.truncate(taken - steps);
            self.finished = false;
        }
        Ok(())
    }

    /// Adds a step.
    #[inline]
    fn push(&mut self, next: ConfigId, text: impl FnOnce() -> StepText) {
        self.history.push(next);
        if self.constraint.captures.is_some() {
            self.steps.push(text());
        }
    }

    /// The parts of the text so far that the grammar names, in the order in which they end; of those
    /// that end at the same place the inner comes first. None where the grammar names none.
    ///
    /// A complete text is parsed as a whole; one that is not complete as the beginning of a text, in which
    /// a part that may still go on has not ended. Of several parses one counts: from left to right each part
    /// of a sequence, and each iteration of a repeat, is the longest that lets the rest be read, and of
    /// the alternatives that read such a part the first counts. Adjacent parts of a grammar's text
    /// that are regular and hold no capture are one part.
    ///
    /// The text is parsed anew by each call, in time linear in its length for most grammars
    /// (quadratic for lists written by right recursion, cubic at worst).
    ///
    /// Errors when a limit is reached.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let grammar = "start: key \"=\" value\nkey[capture]: /[a-z]+/\nvalue[capture]: /[0-9]+/";
    /// let mut matcher = Compiler::new(vocabulary).lark(grammar)?.matcher();
    /// matcher.accept_bytes(b"x=")?;
    /// assert_eq!(matcher.captures()?.len(), 1); // key
    /// matcher.accept_bytes(b"12")?;
    /// let value = &matcher.captures()?[1];
    /// assert_eq!((&*value.name, &value.bytes[..], value.range.clone()), ("value", &b"12"[..], 2..4));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn captures(&self) -> Result<Vec<Capture>> {
        let Some(parser) = &self.constraint.captures else { return Ok(Vec::new()) };
        let vocabulary = self.constraint.vocabulary();
        self.constraint.memories.timed(|| parser.captures(vocabulary, &self.steps))
    }

    /// The temperature at which the grammar wants the next token sampled: that of the innermost part
    /// with one ([`GrammarBuilder::temperature`](crate::grammar::GrammarBuilder::temperature)) that the
    /// text is in; where several ways lead on, the greatest. `None` where no such part is open. A part
    /// is open from its first byte on, or where its first byte must come next.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let grammar = "start: name \":\" /[0-9]+/\nname[temperature=0.5]: /[a-z]+/";
    /// let mut matcher = Compiler::new(vocabulary).lark(grammar)?.matcher();
    /// assert_eq!(matcher.temperature(), Some(0.5));
    /// matcher.accept_bytes(b"ab:")?;
    /// assert_eq!(matcher.temperature(), None);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn temperature(&self) -> Option<f32> {
        if self.finished {
            return None;
        }
        let memory = self.memory.lock();
        let Recognizer { program, stacks, .. } = &memory.recognizer;
        let items = memory.recognizer.items(self.current());
        temperature(program, stacks, items).map(Temperature::get)
    }

    /// Whether the text can go on.
    pub(super) fn can_go_on(&self) -> bool {
        let memory = self.memory.lock();
        memory.recognizer.items(self.current()).iter().any(|item| item.point != ACCEPT)
    }

    /// The number of steps taken.
    pub fn steps(&self) -> usize {
        self.history.len() - 1
    }

    /// Whether the text so far is complete.
    pub fn is_accepting(&self) -> bool {
        self.memory.lock().recognizer.is_accepting(self.current())
    }

    /// Whether an end token was accepted.
    pub fn is_finished(&self) -> bool {
        self.finished
    }
}

/// Adds to the error of a limit the place in the constraint that was being read.
fn with_place(recognizer: &Recognizer, here: ConfigId, error: Error) -> Error {
    recognizer.program.with_place(recognizer.items(here).iter().map(|item| item.point), error)
}
