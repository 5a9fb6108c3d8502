//! The batch of a forward pass: what each of several sequences reads in it.

use super::kv_cache::KvCache;
use super::logit_rows::LogitRows;

/// The tokens that one sequence reads in a forward pass.
#[derive(Debug)]
pub struct Chunk<'a> {
    /// The tokens; at least one.
    pub tokens: &'a [u32],
    /// If the tokens are a tree, the parent of each token but the first, an index of an earlier
    /// token. Empty if each token follows the one before.
    pub parents: &'a [usize],
    /// The cache that holds the earlier tokens of the sequence.
    pub cache: &'a mut KvCache,
    /// The tokens after which logits are wanted.
    pub logits: LogitRows,
}

impl<'a> Chunk<'a> {
    /// Tokens that follow each other, and the logits after the last one.
    pub fn new(tokens: &'a [u32], cache: &'a mut KvCache) -> Self {
        Self { tokens, parents: &[], cache, logits: LogitRows::Last }
    }

    /// The same with logits after other tokens.
    #[must_use]
    pub fn with_logits(self, logits: LogitRows) -> Self {
        Self { logits, ..self }
    }

    /// The number of rows of logits that are wanted.
    pub(super) fn wanted(&self) -> usize {
        match self.logits {
            LogitRows::None => 0,
            LogitRows::Last => 1,
            LogitRows::All => self.tokens.len(),
        }
    }
}
