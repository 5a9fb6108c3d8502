//! The cache of a sequence of candle-transformers: the state that its model keeps, and the tokens that it
//! has read.
//!
//! These models keep keys, values and recurrent states as they like, and none can go back. So a sequence
//! that is forked or cut has no state, and reads its tokens again when it goes on.

use std::fmt::{self, Debug};
use std::sync::Arc;

use candle_core::{Device, Result, Tensor};

use crate::model::logit_rows::LogitRows;

/// Greatest number of tokens that are read at once: the bound of our own passes.
const MAX_TOKENS_AT_ONCE: usize = 512;

/// A model of candle-transformers: weights, with which sequences begin.
pub(in crate::model) trait AdaptedModel: Send + Sync {
    /// A sequence that has read nothing. Shares the weights.
    fn begin(&self) -> Result<Box<dyn AdaptedSequence>>;

    /// The device of the weights.
    fn device(&self) -> &Device;

    /// The numbers of tokens that a sequence can read correctly in one pass.
    fn stride(&self) -> Stride;
}

impl Debug for dyn AdaptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptedModel").finish_non_exhaustive()
    }
}

/// The state of a sequence.
pub(in crate::model) trait AdaptedSequence: Send + Sync {
    /// Reads tokens after those that were read, the first of them at this position. Returns the logits after
    /// the last one, in a tensor of any shape.
    fn read(&mut self, tokens: &Tensor, position: usize) -> Result<Tensor>;
}

/// The numbers of tokens that a model can read correctly in one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum Stride {
    /// Any number.
    Any,
    /// Any number at the beginning of a sequence, and one at a time after it.
    AnyAtFirst,
    /// One.
    One,
}

/// The cache of one sequence.
pub(in crate::model) struct AdaptedCache {
    model: Arc<dyn AdaptedModel>,
    /// The tokens of the sequence.
    tokens: Vec<u32>,
    /// The state after these tokens; `None` if they are to be read.
    state: Option<Box<dyn AdaptedSequence>>,
}

impl AdaptedCache {
    pub(in crate::model) fn new(model: &Arc<dyn AdaptedModel>) -> Self {
        Self { model: Arc::clone(model), tokens: Vec::new(), state: None }
    }

    /// Whether it is a cache of this model.
    pub(in crate::model) fn is_of(&self, model: &Arc<dyn AdaptedModel>) -> bool {
        Arc::ptr_eq(&self.model, model)
    }

    /// Reads tokens. Returns the logits that are wanted, a tensor for each row.
    pub(in crate::model) fn read(
        &mut self,
        tokens: &[u32],
        wanted: LogitRows,
    ) -> Result<Vec<Tensor>> {
        // After an error there is no state.
        let mut state = match self.state.take() {
            Some(state) => state,
            None => {
                let mut state = self.model.begin()?;
                self.read_with(&mut *state, &self.tokens, 0, LogitRows::None)?;
                state
            }
        };
        let rows = self.read_with(&mut *state, tokens, self.tokens.len(), wanted)?;
        self.tokens.extend(tokens);
        self.state = Some(state);
        Ok(rows)
    }

    fn read_with(
        &self,
        state: &mut dyn AdaptedSequence,
        tokens: &[u32],
        mut position: usize,
        wanted: LogitRows,
    ) -> Result<Vec<Tensor>> {
        let (mut rows, mut rest) = (Vec::new(), tokens);
        while !rest.is_empty() {
            let most = match self.model.stride() {
                _ if wanted == LogitRows::All => 1,
                Stride::Any => MAX_TOKENS_AT_ONCE,
                Stride::AnyAtFirst if position == 0 => MAX_TOKENS_AT_ONCE,
                Stride::AnyAtFirst | Stride::One => 1,
            };
            let (piece, after) = rest.split_at(most.min(rest.len()));
            let logits = state.read(&Tensor::new(piece, self.model.device())?, position)?;
            if wanted == LogitRows::All || (wanted == LogitRows::Last && after.is_empty()) {
                rows.push(logits.flatten_all()?);
            }
            position += piece.len();
            rest = after;
        }
        Ok(rows)
    }

    /// Drops the tokens from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.tokens.len() {
            self.tokens.truncate(len);
            self.state = None;
        }
    }

    /// Keeps only these of the tokens from `from` on.
    pub(super) fn keep(&mut self, from: usize, positions: &[usize]) {
        let kept: Vec<u32> =
            positions.iter().map(|position| self.tokens[from + position]).collect();
        if kept.len() < self.tokens.len() - from {
            self.truncate(from);
            self.tokens.extend(kept);
        }
    }
}

/// The same tokens, which are to be read.
impl Clone for AdaptedCache {
    fn clone(&self) -> Self {
        Self { tokens: self.tokens.clone(), ..Self::new(&self.model) }
    }
}

impl Debug for AdaptedCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdaptedCache").field("tokens", &self.tokens.len()).finish_non_exhaustive()
    }
}
