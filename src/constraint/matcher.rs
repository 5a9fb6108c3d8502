//! One sequence under a constraint.

use std::sync::Arc;

use super::compiler::{Cell, Constraint, Memory};
use crate::completion::TokensToFinish;
use crate::error::{Error, ErrorKind, Result};
use crate::mask::Form;
use crate::recognizer::program::{ACCEPT, Point, Program};
use crate::recognizer::stepping::{ConfigId, Machine};
use crate::regular::ByteSet;
use crate::vocabulary::TokenMask;

/// What the constraint accepts at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The bytes that may come next.
    pub bytes: ByteSet,
    /// The special tokens that may come next, ascending, end tokens not counted.
    pub special_tokens: Vec<u32>,
    /// May the text end here?
    pub end: bool,
    /// The rules, or the JSON pointers of the schema keywords, that are being read.
    pub sources: Vec<String>,
}

impl Expected {
    /// In words: ``one of [0-9] or the end``. Of characters beyond ASCII only the first byte is
    /// known, so they are not listed.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        let ascii = self.bytes.intersection(&ByteSet::range(0, 0x7F));
        let beyond = self.bytes.intersection(&ByteSet::range(0x80, 0xFF));
        match ascii.len() {
            _ if self.bytes == ByteSet::ALL => parts.push("any byte".into()),
            0 => {}
            1 => parts.extend(ascii.iter().next().map(show)),
            128 => parts.push("any character of ASCII".into()),
            _ => parts.push(format!("one of {ascii:?}")),
        }
        if !beyond.is_empty() && self.bytes != ByteSet::ALL {
            let what = if beyond == ByteSet::range(0xC2, 0xF4) {
                "any character beyond ASCII"
            } else if beyond.iter().all(|byte| byte < 0xC0) {
                "another character beyond ASCII"
            } else {
                "some characters beyond ASCII"
            };
            parts.push(what.into());
        }
        if !self.special_tokens.is_empty() {
            parts.push(format!("special token {:?}", self.special_tokens));
        }
        if self.end {
            parts.push("the end".into());
        }
        parts.join(" or ")
    }
}

/// One sequence under a constraint: cheap to make, and a fork is a clone.
///
/// Every accepted token, and every call of [`accept_bytes`](Matcher::accept_bytes), is one step
/// that [`rollback`](Matcher::rollback) can take back in O(1).
#[derive(Debug)]
pub struct Matcher {
    pub(super) constraint: Constraint,
    pub(super) cell: Cell,
    /// The configuration before any step, and after each.
    history: Vec<ConfigId>,
    pub(super) finished: bool,
    mask: Option<TokenMask>,
    /// The configuration whose mask is in `mask`.
    written: Option<ConfigId>,
    /// A mask that its memory keeps whole, and the configuration that it is of.
    lent: Option<(ConfigId, Arc<TokenMask>)>,
}

impl Clone for Matcher {
    /// A fork, without the buffer of the mask, which may never be asked for again.
    fn clone(&self) -> Self {
        Self {
            constraint: self.constraint.clone(),
            cell: self.cell.clone(),
            history: self.history.clone(),
            finished: self.finished,
            mask: None,
            written: None,
            lent: None,
        }
    }
}

impl Matcher {
    pub(super) fn new(constraint: Constraint, cell: Cell) -> Self {
        let history = vec![cell.start];
        Self { constraint, cell, history, finished: false, mask: None, written: None, lent: None }
    }

    /// The constraint that it follows.
    pub fn constraint(&self) -> &Constraint {
        &self.constraint
    }

    pub(super) fn here(&self) -> ConfigId {
        // Never empty: `rollback` keeps the start.
        self.history[self.history.len() - 1]
    }

    /// The tokens that may come next, end tokens included where the text is complete; empty after
    /// an end token. Lent from a buffer of the matcher's own, which is written again only when the
    /// configuration is another, or, where the constraint has been there many times, from one that
    /// its matchers share.
    ///
    /// Errors when a limit is reached; the matcher stays as it was.
    pub fn mask(&mut self) -> Result<&TokenMask> {
        let lent = self.is_lent();
        if !lent && (self.written != Some(self.here()) || self.finished) {
            let len = self.constraint.vocabulary().len();
            let mut mask = self.mask.take().unwrap_or_else(|| TokenMask::new(len));
            let filled = self.fill_mask(mask.words_mut());
            self.mask = Some(mask);
            self.written = None;
            filled?;
            self.written = (!self.finished).then(|| self.here());
        }
        let mask = match lent {
            true => self.lent.as_ref().map(|(_, mask)| &**mask),
            false => self.mask.as_ref(),
        };
        match mask {
            Some(mask) => Ok(mask),
            // Seen or filled just above.
            None => Err(Error::new(ErrorKind::Limit, "no mask")),
        }
    }

    /// Is there a whole mask to be lent here?
    fn is_lent(&mut self) -> bool {
        let here = self.here();
        if self.finished || !self.constraint.shared.keeps_hot_masks() {
            return false;
        }
        if self.lent.as_ref().is_some_and(|&(lent, _)| lent == here) {
            return true;
        }
        let shared = &self.constraint.shared;
        let mut memory = self.cell.lock();
        let machine = &mut memory.machine;
        let whole = match machine.lent.get(here) {
            Some(mask) => Some(mask),
            None => machine.masks.known(here).and_then(|form| {
                let len = shared.vocabulary().len();
                machine.lent.ask(here, &form, len, shared.lent_bytes())
            }),
        };
        let Some(mask) = whole else { return false };
        self.lent = Some((here, Arc::clone(mask)));
        true
    }

    /// Writes the mask into a row of `ceil(V / 32)` words, bit `t % 32` of word `t / 32` being
    /// token `t`.
    ///
    /// Errors if the row has another length, or when a limit is reached.
    pub fn fill_mask(&mut self, row: &mut [u32]) -> Result<()> {
        self.check_row(row)?;
        self.form()?.write(row);
        Ok(())
    }

    /// The mask in few words.
    pub(super) fn form(&self) -> Result<Arc<Form>> {
        if self.finished {
            return Ok(Arc::default());
        }
        let shared = &self.constraint.shared;
        let mut memory = self.cell.lock();
        shared.relieve(&mut memory);
        let Memory { program, machine } = &mut *memory;
        let here = self.here();
        match machine.masks.known(here) {
            Some(form) => Ok(form),
            None => shared
                .timed(|| machine.form(program, shared.vocabulary(), here))
                .map_err(|error| placed(machine, program, here, error)),
        }
    }

    /// How few tokens complete the text, the end token not counted: exact, or a bound, and which.
    /// Some allowed token always leads to where it says less, so a text that is begun within its
    /// budget can be kept within it by [`mask_within`](Matcher::mask_within).
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
        let mut memory = self.cell.lock();
        let Memory { program, machine } = &mut *memory;
        let (vocabulary, here) = (self.constraint.vocabulary(), self.here());
        self.constraint
            .shared
            .timed(|| machine.tokens_to_finish(program, vocabulary, here))
            .map_err(|error| placed(machine, program, here, error))
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
        let mut memory = self.cell.lock();
        let Memory { program, machine } = &mut *memory;
        let (vocabulary, here) = (self.constraint.vocabulary(), self.here());
        self.constraint
            .shared
            .timed(|| machine.check_budget(program, vocabulary, here, tokens))
            .map_err(|error| placed(machine, program, here, error))
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
        self.written = None;
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
        let shared = &self.constraint.shared;
        let mut memory = self.cell.lock();
        shared.relieve(&mut memory);
        let Memory { program, machine } = &mut *memory;
        let here = self.here();
        shared.timed(|| machine.write_within(program, shared.vocabulary(), here, tokens, row))
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
        let here = self.here();
        let vocabulary = self.constraint.vocabulary();
        let mut memory = self.cell.lock();
        let Memory { program, machine } = &mut *memory;
        if vocabulary.end_tokens().contains(&token) && machine.is_accepting(here) {
            self.finished = true;
            drop(memory);
            self.history.push(here);
            return Ok(());
        }
        let shared = &self.constraint.shared;
        match shared.timed(|| machine.read_token(program, vocabulary, here, token))? {
            Ok(next) => {
                drop(memory);
                self.history.push(next);
                Ok(())
            }
            Err(read) => {
                let text = vocabulary.token_bytes(token).unwrap_or_default();
                let expected =
                    shared.timed(|| expected_after(machine, program, here, &text[..read]))?;
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
        let mut memory = self.cell.lock();
        let Memory { program, machine } = &mut *memory;
        let here = self.here();
        let shared = &self.constraint.shared;
        match shared.timed(|| machine.read(program, here, bytes))? {
            Ok(next) => {
                drop(memory);
                self.history.push(next);
                Ok(())
            }
            Err(read) => {
                let expected =
                    shared.timed(|| expected_after(machine, program, here, &bytes[..read]))?;
                let message = format!("{} is not allowed here", show(bytes[read]));
                Err(rejection(message, &expected).at_byte(read))
            }
        }
    }

    /// What the constraint accepts next.
    pub fn expected(&mut self) -> Result<Expected> {
        if self.finished {
            return Ok(Expected::default());
        }
        let mut memory = self.cell.lock();
        let Memory { program, machine } = &mut *memory;
        let here = self.here();
        self.constraint.shared.timed(|| expected_after(machine, program, here, b""))
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
            self.finished = false;
        }
        Ok(())
    }

    /// The number of steps taken.
    pub fn steps(&self) -> usize {
        self.history.len() - 1
    }

    /// Is the text so far complete?
    pub fn is_accepting(&self) -> bool {
        self.cell.lock().machine.is_accepting(self.here())
    }

    /// Was an end token accepted?
    pub fn is_finished(&self) -> bool {
        self.finished
    }
}

/// A limit that was reached in going on from here: what was being read.
fn placed(machine: &Machine, program: &Program, here: ConfigId, error: Error) -> Error {
    program.placed(machine.items(here).iter().map(|item| item.point), error)
}

pub(super) fn show(byte: u8) -> String {
    format!("`{}`", std::ascii::escape_default(byte))
}

fn rejection(message: String, expected: &Expected) -> Error {
    let error = Error::new(ErrorKind::Rejected, message)
        .with_help(format!("expected {}", expected.describe()));
    // JSON pointers begin with a slash; rules of grammars are named in words.
    match expected.sources.iter().find(|source| source.starts_with('/')) {
        Some(pointer) => error.at_pointer(pointer.as_str()),
        None => error,
    }
}

fn expected_after(
    machine: &mut Machine,
    program: &Program,
    from: ConfigId,
    bytes: &[u8],
) -> Result<Expected> {
    let at = machine.read(program, from, bytes)?.unwrap_or(from);
    expected(machine, program, at)
}

pub(super) fn expected(machine: &mut Machine, program: &Program, at: ConfigId) -> Result<Expected> {
    let mut expected = Expected { bytes: machine.next_bytes(program, at)?, ..Expected::default() };
    for item in machine.items(at) {
        match program.point(item.point) {
            Point::Special { tokens, .. } => expected.special_tokens.extend(program.tokens(tokens)),
            _ if item.point == ACCEPT => expected.end = true,
            _ => {}
        }
        for source in program.sources(item.point) {
            if !source.is_empty() && !expected.sources.contains(&source) {
                expected.sources.push(source);
            }
        }
    }
    expected.special_tokens.sort_unstable();
    expected.special_tokens.dedup();
    Ok(expected)
}
