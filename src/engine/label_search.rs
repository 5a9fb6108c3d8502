//! The texts of a decision: contexts after one prompt, of which the model reads several in a pass.
//!
//! The prompt is read once. Each context forks its blocks of the KV cache and reads its own few tokens;
//! when its logits have been taken, it lets go of them, so that memory is bounded by the contexts of one
//! pass, however many there are in all.

use super::branch::{Branch, DecodeState};
use super::label_masses::{LabelContext, LabelMasses};
use super::ranking::RankedText;
use super::response::{FinishReason, Passes, Timing};
use super::sequence::Sequence;
use crate::error::Result;

/// Greatest number of contexts that are read in one pass: a pass over a dozen positions costs little
/// more than over one, and contexts that are read too early may turn out not to be needed.
pub(crate) const CONTEXTS_PER_PASS: usize = 12;

/// The reading of labels after a prompt.
#[derive(Debug)]
pub(crate) struct LabelSearch {
    masses: LabelMasses,
    /// The prompt.
    prompt: Branch,
    /// The empty text after it.
    sequence: Sequence,
    /// The contexts that are read now; none while the prompt is.
    reading: Vec<(LabelContext, Branch)>,
}

impl LabelSearch {
    /// Begins with the prompt, whose text is empty.
    pub(crate) fn new(masses: LabelMasses, prompt: Branch, sequence: Sequence) -> Self {
        Self { masses, prompt, sequence, reading: Vec::new() }
    }

    /// The prompt and the contexts.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &Branch> {
        std::iter::once(&self.prompt).chain(self.reading.iter().map(|(_, branch)| branch))
    }

    pub(crate) fn branches_mut(&mut self) -> impl Iterator<Item = &mut Branch> {
        let reading = self.reading.iter_mut().map(|(_, branch)| branch);
        std::iter::once(&mut self.prompt).chain(reading)
    }

    /// Takes the logits of all contexts and begins the next ones. Returns whether there are none.
    ///
    /// Errors if a logit is NaN or +∞, or if all logits after a context are −∞.
    pub(crate) fn extend(&mut self) -> Result<bool> {
        let trie = self.sequence.runner.vocabulary().trie();
        if self.reading.is_empty()
            && let Some(logits) = self.prompt.logits()
        {
            self.masses.read(&LabelMasses::prompt(), &logits.to_vec()?, trie)?;
        }
        for (context, branch) in self.reading.drain(..) {
            if let Some(logits) = branch.logits() {
                self.masses.read(&context, &logits.to_vec()?, trie)?;
            }
        }
        for context in self.masses.next_batch(CONTEXTS_PER_PASS) {
            let state = DecodeState::prepared(self.sequence.clone());
            let branch = self.prompt.forked(&context.tokens, state);
            self.reading.push((context, branch));
        }
        Ok(self.reading.is_empty())
    }

    /// Ends it: the most probable label, and the decision, unless it is cancelled.
    ///
    /// Errors if there is none.
    pub(crate) fn end(
        &mut self,
        reason: FinishReason,
        timing: Timing,
        passes: Passes,
    ) -> Result<RankedText> {
        self.reading.clear();
        let sequence = self.sequence.clone();
        let mut response = sequence.end(reason, timing, passes, &mut Vec::new());
        if reason != FinishReason::Cancelled {
            let decision = self.masses.decision()?;
            response.text.clone_from(&decision.answer().name);
            response.decision = Some(decision);
        }
        Ok((response, Vec::new()))
    }
}
