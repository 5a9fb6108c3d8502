//! Log-probabilities of a prompt: of each of its tokens by the model alone, after those before it.
//!
//! A text that asks for them reads its prompt with logits at all positions, also where the prefix cache
//! has the beginning, which keeps no logits. Example: the logits after `t0 t1` give the log-probability of
//! `t2`; `t0` has none.
//!
//! *Invariant.* The numbers are those of the prompt read alone, bit for bit, in whatever pieces it is
//! read: each row of logits is measured by itself.

use crate::error::Result;
use crate::model::Logits;
use crate::sampling::{log_sum_exp, steps};

/// Greatest number of positions of one text whose logits a pass computes. A row of them takes four
/// bytes for each token of the vocabulary.
pub(crate) const SCORED_POSITIONS: usize = 64;

/// One token of a prompt, and how probable the model held it. Natural logarithms, over all tokens,
/// before temperature and penalties.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptToken {
    /// The token.
    pub token: u32,
    /// The logarithm of its probability after the tokens before it; `None` for the first.
    pub logprob: Option<f64>,
    /// Its place among all tokens by probability, from 1; `None` for the first.
    pub rank: Option<usize>,
    /// The most probable tokens in its place, best first; as many as the request asks for.
    pub top_logprobs: Vec<(u32, f64)>,
}

/// The tokens of a prompt that were measured so far.
#[derive(Debug)]
pub(crate) struct PromptScores {
    /// Number of alternatives to each token.
    top: usize,
    prompt_len: usize,
    measured: Vec<PromptToken>,
}

impl PromptScores {
    /// The scores of a prompt that is not read yet, with so many alternatives to each token.
    pub(crate) fn new(prompt: &[u32], top: usize) -> Self {
        let first =
            |&token| PromptToken { token, logprob: None, rank: None, top_logprobs: Vec::new() };
        let measured = prompt.first().map(first).into_iter().collect();
        Self { top, prompt_len: prompt.len(), measured }
    }

    /// Whether every token is measured.
    pub(crate) fn is_complete(&self) -> bool {
        self.measured.len() >= self.prompt_len
    }

    /// Measures the token after a position by the logits there, unless it was before.
    ///
    /// Errors if a logit is NaN or +∞, or if all are −∞.
    pub(crate) fn measure(&mut self, position: usize, row: &Logits, tokens: &[u32]) -> Result<()> {
        let is_next = position + 1 == self.measured.len() && !self.is_complete();
        let Some(&token) = tokens.get(position + 1).filter(|_| is_next) else { return Ok(()) };
        let logits = row.to_vec()?;
        let whole = log_sum_exp(&logits)?;
        let logprob = |token: u32| f64::from(logits[token as usize]) - whole;
        let mut best = Vec::new();
        if self.top > 0 {
            let mut candidates = Vec::new();
            steps::allow(&logits, None, &mut candidates)?;
            best = steps::top_log_probabilities(&candidates, self.top);
        }
        let own = logits[token as usize];
        self.measured.push(PromptToken {
            token,
            logprob: Some(logprob(token)),
            rank: Some(1 + logits.iter().filter(|&&logit| logit > own).count()),
            top_logprobs: best.into_iter().map(|(token, _)| (token, logprob(token))).collect(),
        });
        Ok(())
    }

    /// The tokens, if every one is measured.
    pub(crate) fn into_tokens(self) -> Option<Vec<PromptToken>> {
        self.is_complete().then_some(self.measured)
    }
}
