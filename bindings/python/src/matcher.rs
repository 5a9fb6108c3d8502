//! `Matcher`: one text under a constraint, as hosts drive it.
//!
//! Hosts that speculate go on after the end of a text: a token after the end is a step without an effect,
//! which `rollback` takes back like any other.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard};

use maskwright::{DraftToken, Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{NativeError, poisoned, request};
use crate::rows::Rows;
use crate::tokenizer::{token_id, token_ids};

/// A matcher and the tokens that came after the end.
pub(crate) struct State {
    pub(crate) native: maskwright::Matcher,
    after_end: usize,
}

impl State {
    /// Takes a token; whether it is allowed. After the end every token is.
    fn accept(&mut self, token: u32) -> Result<bool, Error> {
        if self.native.is_finished() {
            self.after_end += 1;
            return Ok(true);
        }
        allowed(self.native.accept(token))
    }

    /// The tokens of a text taken one after the other, and whether the last one was allowed.
    fn accept_until_refused(&mut self, tokens: &[u32]) -> Result<(usize, bool), Error> {
        for (taken, &token) in tokens.iter().enumerate() {
            match self.accept(token) {
                Ok(true) => {}
                Ok(false) => return Ok((taken, false)),
                Err(error) => {
                    self.rollback(taken)?;
                    return Err(error);
                }
            }
        }
        Ok((tokens.len(), true))
    }

    fn steps(&self) -> usize {
        self.native.steps() + self.after_end
    }

    fn rollback(&mut self, steps: usize) -> Result<(), Error> {
        let before = self.after_end.min(steps);
        self.native.rollback(steps - before)?;
        self.after_end -= before;
        Ok(())
    }

    /// Writes the mask. After the end only tokens that end a text are allowed, so that a host which samples
    /// once more has something to sample.
    pub(crate) fn fill(&mut self, row: &mut [u32]) -> Result<(), Error> {
        self.native.fill_mask(row)?;
        if self.native.is_finished() {
            end_tokens(&self.native, row);
        }
        Ok(())
    }
}

/// Writes the mask of a finished text.
pub(crate) fn end_tokens(matcher: &maskwright::Matcher, row: &mut [u32]) {
    row.fill(0);
    for &token in matcher.constraint().vocabulary().end_tokens() {
        if let Some(word) = row.get_mut(token as usize / 32) {
            *word |= 1 << (token % 32);
        }
    }
}

/// Whether a step was allowed; errors of limits stay errors.
fn allowed(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Rejected => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the mask leaves out any token of the vocabulary.
fn restricts(row: &[u32], width: usize) -> bool {
    let (whole, rest) = (width / 32, width % 32);
    row[..whole].iter().any(|&word| word != u32::MAX) || rest > 0 && row[whole] != (1 << rest) - 1
}

/// A part of a text that the grammar names: name, bytes, begin and end.
type CaptureRow<'py> = (String, Bound<'py, PyBytes>, usize, usize);

/// One text under a constraint.
#[pyclass(frozen, module = "maskwright._native")]
pub(crate) struct Matcher {
    state: Mutex<State>,
    /// The tokens of the vocabulary, padding included.
    pub(crate) width: usize,
}

impl Matcher {
    pub(crate) fn new(native: maskwright::Matcher) -> Self {
        let width = native.constraint().vocabulary().len();
        Self { state: Mutex::new(State { native, after_end: 0 }), width }
    }

    /// The words of a mask row.
    pub(crate) fn words(&self) -> usize {
        self.width.div_ceil(32)
    }

    pub(crate) fn lock(&self) -> PyResult<MutexGuard<'_, State>> {
        self.state.lock().map_err(|_| poisoned())
    }

    /// Runs something on the matcher without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut State) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        // An error becomes an exception, which calls Python, after the lock is given back.
        let result = py.detach(|| -> PyResult<_> { Ok(run(&mut *self.lock()?)) })?;
        Ok(result.map_err(NativeError)?)
    }
}

#[pymethods]
impl Matcher {
    /// Takes a token; whether it is allowed. A token that is not leaves the matcher as it was. Tokens after
    /// the end change nothing and are `True`.
    fn accept(&self, py: Python<'_>, token: i64) -> PyResult<bool> {
        let token = token_id(token, self.width)?;
        self.with(py, |state| state.accept(token))
    }

    /// Takes tokens, all or none; whether all are allowed.
    fn accept_tokens(&self, py: Python<'_>, tokens: Vec<i64>) -> PyResult<bool> {
        let tokens = token_ids(&tokens, self.width)?;
        self.with(py, |state| {
            let (taken, all) = state.accept_until_refused(&tokens)?;
            if !all {
                state.rollback(taken)?;
            }
            Ok(all)
        })
    }

    /// Takes text, whatever tokens it may be made of, as one step; whether it is allowed.
    fn accept_bytes(&self, py: Python<'_>, text: Cow<'_, [u8]>) -> PyResult<bool> {
        self.with(py, |state| {
            if state.native.is_finished() {
                return Ok(text.is_empty());
            }
            allowed(state.native.accept_bytes(&text))
        })
    }

    /// The number of tokens, from the first, that could be accepted, up to the end of the text. The matcher
    /// stays as it was.
    fn validate(&self, py: Python<'_>, tokens: Vec<i64>) -> PyResult<usize> {
        let tokens = token_ids(&tokens, self.width)?;
        self.with(py, |state| {
            let mut taken = 0;
            let mut result = Ok(());
            for &token in &tokens {
                if state.native.is_finished() {
                    break;
                }
                match state.accept(token) {
                    Ok(true) => taken += 1,
                    Ok(false) => break,
                    Err(error) => {
                        result = Err(error);
                        break;
                    }
                }
            }
            state.rollback(taken)?;
            result.map(|()| taken)
        })
    }

    /// Writes the mask into a row of a bitmask; whether it leaves out any token.
    #[pyo3(signature = (bitmask, index=0))]
    fn fill(&self, py: Python<'_>, bitmask: &Bound<'_, PyAny>, index: usize) -> PyResult<bool> {
        let (width, words) = (self.width, self.words());
        let mut rows = Rows::of(bitmask, words)?;
        rows.check(index)?;
        self.with(py, |state| {
            let row = rows.row(index);
            state.fill(row)?;
            Ok(restricts(row, width))
        })
    }

    /// Writes the mask to an address: `words` words of 32 bits, which the caller must own.
    #[allow(unsafe_code)]
    fn fill_pointer(&self, py: Python<'_>, address: usize, words: usize) -> PyResult<bool> {
        let (width, needed) = (self.width, self.words());
        if words != needed {
            let message = format!("a mask row of {words} words where {needed} fit");
            return Err(request(message, "give ceil(width / 32) words").into());
        }
        // SAFETY: the caller of this method answers for the memory, as its documentation says; nothing in
        // Python can tell more of an address.
        let mut rows = unsafe { Rows::at(address, words, py)? };
        self.with(py, |state| {
            let row = rows.row(0);
            state.fill(row)?;
            Ok(restricts(row, width))
        })
    }

    /// Writes the mask after which the text can still be completed within `tokens` tokens, the next one
    /// counted and the end token not.
    #[pyo3(signature = (bitmask, tokens, index=0))]
    fn fill_within(
        &self,
        py: Python<'_>,
        bitmask: &Bound<'_, PyAny>,
        tokens: u32,
        index: usize,
    ) -> PyResult<()> {
        let words = self.words();
        let mut rows = Rows::of(bitmask, words)?;
        rows.check(index)?;
        self.with(py, |state| {
            let row = rows.row(index);
            if state.native.is_finished() {
                end_tokens(&state.native, row);
                return Ok(());
            }
            state.native.fill_mask_within(row, tokens)
        })
    }

    /// Writes the masks along a tree of draft tokens: the first row is the mask here, row `i + 1` that after
    /// token `i`, whose predecessor is `parents[i]` (-1: the text so far). Rows of tokens that are not
    /// allowed, as negative ones are (padding), are empty; that of an allowed end token has the end
    /// tokens. The matcher stays as it was.
    #[pyo3(signature = (tokens, parents, bitmask, index=0))]
    fn fill_tree(
        &self,
        py: Python<'_>,
        tokens: Vec<i64>,
        parents: Vec<i64>,
        bitmask: &Bound<'_, PyAny>,
        index: usize,
    ) -> PyResult<()> {
        if tokens.len() != parents.len() {
            let message = format!("{} tokens with {} parents", tokens.len(), parents.len());
            return Err(request(message, "give each token its parent, or -1").into());
        }
        let words = self.words();
        let mut rows = Rows::of(bitmask, words)?;
        rows.check(index.saturating_add(tokens.len()))?;
        let mut draft: Vec<DraftToken> = Vec::with_capacity(tokens.len());
        for (&token, &parent) in tokens.iter().zip(&parents) {
            let parent = match parent {
                -1 => None,
                parent => Some(usize::try_from(parent).map_err(|_| {
                    request(
                        format!("a parent of {parent}"),
                        "give the index of an earlier token, or -1",
                    )
                })?),
            };
            // No vocabulary has so great an id.
            let token = u32::try_from(token).unwrap_or(u32::MAX);
            draft.push(DraftToken { token, parent });
        }
        self.with(py, |state| {
            let mut filled = vec![0; words * (draft.len() + 1)];
            state.native.fill_tree(&draft, &mut filled)?;
            if state.native.is_finished() {
                end_tokens(&state.native, &mut filled[..words]);
            }
            // After an end token that is allowed, as when it is accepted: end tokens alone.
            let ends = state.native.constraint().vocabulary().end_tokens().to_vec();
            for (node, &DraftToken { token, parent }) in (1..).zip(&draft) {
                let before = parent.map_or(0, |parent| parent + 1) * words;
                let word = token as usize / 32;
                let is_allowed = word < words && filled[before + word] >> (token % 32) & 1 == 1;
                // One that the grammar names itself has something after it.
                let has_ended = filled[node * words..][..words].iter().all(|&word| word == 0);
                if is_allowed && has_ended && ends.contains(&token) {
                    end_tokens(&state.native, &mut filled[node * words..][..words]);
                }
            }
            for (offset, row) in filled.chunks_exact(words.max(1)).enumerate() {
                rows.row(index + offset).copy_from_slice(row);
            }
            Ok(())
        })
    }

    /// The mask as bytes: `ceil(width / 32)` words of 32 bits, little-endian.
    fn mask_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let words = self.words();
        let mut row = vec![0; words];
        self.with(py, |state| state.fill(&mut row))?;
        let bytes: Vec<u8> = row.iter().flat_map(|word| word.to_le_bytes()).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// The tokens that may come next, ascending.
    fn allowed_tokens(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        let (width, words) = (self.width, self.words());
        let mut row = vec![0; words];
        self.with(py, |state| state.fill(&mut row))?;
        let is_allowed = |&token: &u32| row[token as usize / 32] >> (token % 32) & 1 == 1;
        // Ids are below 2^24.
        Ok((0..width as u32).filter(is_allowed).collect())
    }

    /// Takes back the last steps.
    #[pyo3(signature = (steps=1))]
    fn rollback(&self, py: Python<'_>, steps: usize) -> PyResult<()> {
        self.with(py, |state| {
            let taken = state.steps();
            if steps > taken {
                let message = format!("cannot roll back {steps} steps, only {taken} were taken");
                return Err(Error::new(ErrorKind::Request, message));
            }
            state.rollback(steps)
        })
    }

    /// Goes back to the start of the text.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |state| state.rollback(state.steps()))
    }

    /// Another matcher at the same place.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        let state = self.with(py, |state| {
            Ok(State { native: state.native.clone(), after_end: state.after_end })
        })?;
        Ok(Self { state: Mutex::new(state), width: self.width })
    }

    /// The bytes about which the constraint leaves no choice.
    #[pyo3(signature = (limit=4096))]
    fn forced_bytes<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |state| state.native.forced_bytes(limit))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The tokens about which the constraint leaves no choice, as `encode` (bytes to token ids) cuts the
    /// text; they are not accepted yet.
    #[pyo3(signature = (encode, limit=4096))]
    fn forced_tokens(
        &self,
        py: Python<'_>,
        encode: &Bound<'_, PyAny>,
        limit: usize,
    ) -> PyResult<Vec<u32>> {
        // The function is called before anything is locked: it may switch threads.
        let forced = self.with(py, |state| state.native.forced_bytes(limit))?;
        if forced.is_empty() {
            return Ok(Vec::new());
        }
        let encoded: Vec<u32> = encode.call1((PyBytes::new(py, &forced),))?.extract()?;
        self.with(py, |state| state.native.forced_tokens(limit, |_| encoded))
    }

    /// Whether an end token was taken.
    #[getter]
    fn is_terminated(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |state| Ok(state.native.is_finished()))
    }

    /// Whether the text is complete as it is.
    #[getter]
    fn is_accepting(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |state| Ok(state.native.is_accepting()))
    }

    /// The number of steps taken.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |state| Ok(state.steps()))
    }

    /// The temperature that the grammar wants for the next token, if it says one.
    #[getter]
    fn temperature(&self, py: Python<'_>) -> PyResult<Option<f32>> {
        self.with(py, |state| Ok(state.native.temperature()))
    }

    /// The tokens that end a text.
    #[getter]
    fn stop_token_ids(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.with(py, |state| Ok(state.native.constraint().vocabulary().end_tokens().to_vec()))
    }

    /// The words of a mask row.
    #[getter(words)]
    fn row_words(&self) -> usize {
        self.words()
    }

    /// An upper bound on the tokens that complete the text, the end token not counted, and whether it is
    /// exact.
    fn tokens_to_finish(&self, py: Python<'_>) -> PyResult<(u32, bool)> {
        let needed = self.with(py, |state| state.native.tokens_to_finish())?;
        Ok((needed.tokens, needed.exact))
    }

    /// Raises an error if so many tokens are not enough to complete the text.
    fn check_budget(&self, py: Python<'_>, tokens: u32) -> PyResult<()> {
        self.with(py, |state| state.native.check_budget(tokens))
    }

    /// Why a token is allowed here or not.
    fn explain<'py>(&self, py: Python<'py>, token: i64) -> PyResult<Bound<'py, PyAny>> {
        static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let token = token_id(token, self.width)?;
        let (why, ends_again) = self.with(py, |state| {
            let ends = state.native.constraint().vocabulary().end_tokens().contains(&token);
            Ok((state.native.explain(token)?, ends && state.native.is_finished()))
        })?;
        let answer = PyDict::new(py);
        answer.set_item("token", why.token)?;
        answer.set_item("name", &why.name)?;
        answer.set_item("expected", why.expected.describe())?;
        if ends_again {
            // After the end, masks allow stop tokens, which change nothing.
            answer.set_item("allowed", true)?;
            answer.set_item("fits", 0)?;
            answer.set_item("failed", py.None())?;
            answer.set_item("decided_by", Vec::<&str>::new())?;
            let message = format!(
                "token {} ({}) is allowed: the text has ended, and it ends it again",
                why.token, why.name
            );
            answer.set_item("message", message)?;
            return CLASS.import(py, "maskwright._results", "Explanation")?.call((), Some(&answer));
        }
        answer.set_item("allowed", why.allowed)?;
        answer.set_item("fits", why.fits)?;
        answer.set_item("failed", why.failed)?;
        let parts: Vec<&str> = why.decided_by().iter().map(|part| part.as_str()).collect();
        answer.set_item("decided_by", parts)?;
        answer.set_item("message", why.to_string())?;
        CLASS.import(py, "maskwright._results", "Explanation")?.call((), Some(&answer))
    }

    /// The continuations that are allowed next, in words.
    fn expected(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state| Ok(state.native.expected()?.describe()))
    }

    /// The parts of the text that the grammar names: name, bytes, begin and end.
    fn captures<'py>(&self, py: Python<'py>) -> PyResult<Vec<CaptureRow<'py>>> {
        let captures = self.with(py, |state| state.native.captures())?;
        let made = captures.iter().map(|capture| {
            let bytes = PyBytes::new(py, &capture.bytes);
            (capture.name.to_string(), bytes, capture.range.start, capture.range.end)
        });
        Ok(made.collect())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |state| {
            let steps = state.steps();
            let end = if state.native.is_finished() { ", terminated" } else { "" };
            Ok(format!("<maskwright.Matcher after {steps} steps{end}>"))
        })
    }
}
