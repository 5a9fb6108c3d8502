//! `--trace`: one line a step, of what the model did and what the mask left it.

use std::sync::Arc;

use crate::Vocabulary;
use crate::generation::Step;

use super::output;

/// Prints steps to standard error as they come.
#[derive(Debug)]
pub(super) struct Trace {
    vocabulary: Arc<Vocabulary>,
    steps: usize,
    text: Vec<u8>,
}

impl Trace {
    /// Says what the columns are. The probability is the model's own among the allowed tokens,
    /// before temperature and truncation.
    pub(super) fn start(vocabulary: Arc<Vocabulary>) -> Self {
        output::note("step  probability  allowed  nucleus  token -> text so far");
        Self { vocabulary, steps: 0, text: Vec::new() }
    }

    /// One step.
    pub(super) fn step(&mut self, step: &Step) {
        self.steps += 1;
        self.text.extend(self.vocabulary.token_bytes(step.token).unwrap_or_default());
        // Told only where the mask kept the model from what it wanted most.
        let wanted = match step.wanted.first() {
            Some(wanted) if !wanted.allowed => format!(
                "  (wanted `{}`, {:.4})",
                output::show(wanted.text.as_bytes()),
                wanted.probability
            ),
            _ => String::new(),
        };
        output::note(&format!(
            "{:>4}  {:>11.4}  {:>7}  {:>7}  `{}` -> {}{wanted}",
            self.steps,
            step.logprob.exp(),
            step.allowed,
            step.nucleus,
            output::show(step.text.as_bytes()),
            output::show(&self.text),
        ));
    }
}
