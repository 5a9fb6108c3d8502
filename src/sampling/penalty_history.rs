//! The tokens that penalties count: prompt and text of one sequence, with counts kept up to date.

use rustc_hash::{FxHashMap, FxHashSet};

use super::PenaltyScope;

/// Prompt and text of one sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct PenaltyHistory {
    tokens: Vec<u32>,
    /// For each token, whether it was forced: no penalty counts it then.
    exempt: Vec<bool>,
    /// The number of tokens of the prompt.
    prompt: usize,
    /// The number of last tokens that count; `None` for all.
    window: Option<usize>,
    /// For each token within the window, its number of occurrences in the prompt and in the text.
    counts: FxHashMap<u32, (u32, u32)>,
    /// Tokens that end a repetition for DRY.
    breakers: FxHashSet<u32>,
}

impl PenaltyHistory {
    pub(super) fn new(window: Option<usize>) -> Self {
        Self { window, ..Self::default() }
    }

    pub(super) fn set_breakers(&mut self, tokens: impl IntoIterator<Item = u32>) {
        self.breakers = tokens.into_iter().collect();
    }

    /// Adds a token of the prompt, which must come before the text. O(1).
    pub(super) fn push_prompt(&mut self, token: u32) {
        self.prompt += 1;
        self.push(token);
    }

    /// Adds a token of the text. O(1).
    pub(super) fn push(&mut self, token: u32) {
        self.tokens.push(token);
        self.exempt.push(false);
        *self.count_of(self.tokens.len() - 1) += 1;
        self.advance_window();
    }

    /// Adds a token of the text that no penalty counts. O(1).
    pub(super) fn push_exempt(&mut self, token: u32) {
        self.tokens.push(token);
        self.exempt.push(true);
        self.advance_window();
    }

    /// Takes the token that has left the window out of the counts.
    fn advance_window(&mut self) {
        let left = self.window.and_then(|n| (self.tokens.len() - 1).checked_sub(n));
        let Some(left) = left.filter(|&at| !self.exempt[at]) else { return };
        let count = self.count_of(left);
        *count = count.saturating_sub(1);
        let token = self.tokens[left];
        if self.counts.get(&token) == Some(&(0, 0)) {
            self.counts.remove(&token);
        }
    }

    /// The count, in the prompt or in the text, of the token at an index.
    fn count_of(&mut self, at: usize) -> &mut u32 {
        let counts = self.counts.entry(self.tokens[at]).or_default();
        if at < self.prompt { &mut counts.0 } else { &mut counts.1 }
    }

    /// The tokens that a penalty counts, each once with its number of occurrences, in no particular
    /// order.
    pub(super) fn counted(&self, scope: PenaltyScope) -> impl Iterator<Item = (u32, u32)> {
        self.counts.iter().filter_map(move |(&token, &(prompt, output))| {
            let count = match scope {
                PenaltyScope::Prompt => prompt,
                PenaltyScope::Output => output,
                PenaltyScope::All | PenaltyScope::Published => prompt + output,
            };
            (count > 0).then_some((token, count))
        })
    }

    /// The tokens that would continue a repetition, each with the length of the longest one: the
    /// longest suffix of the last `window` tokens after which the token has come before.
    ///
    /// ```text
    /// history  a b c … a b        c continues a repetition of length 2
    /// ```
    ///
    /// Breakers and forced tokens end a repetition and continue none. O(n) for n tokens: the suffix
    /// lengths at all earlier positions are the Z-array of the reversed history (Gusfield 1997,
    /// "Algorithms on Strings, Trees, and Sequences", section 1.3).
    pub(super) fn repetitions(&self, window: Option<usize>) -> FxHashMap<u32, usize> {
        let start = self.tokens.len().saturating_sub(window.unwrap_or(usize::MAX));
        let breaks = |at: &usize| self.exempt[*at] || self.breakers.contains(&self.tokens[*at]);
        let limit = (start..self.tokens.len()).rev().take_while(|at| !breaks(at)).count();
        let mut longest = FxHashMap::default();
        if limit == 0 {
            return longest;
        }
        let reversed: Vec<u32> = self.tokens[start..].iter().rev().copied().collect();
        for (at, length) in z_array(&reversed).into_iter().enumerate().skip(1) {
            let length = length.min(limit);
            if length > 0 && !breaks(&(self.tokens.len() - at)) {
                let next = longest.entry(reversed[at - 1]).or_insert(0);
                *next = length.max(*next);
            }
        }
        longest
    }
}

/// At each position, the length of the longest prefix of `s` that begins there. O(n).
fn z_array(s: &[u32]) -> Vec<usize> {
    let mut z = vec![0; s.len()];
    let (mut left, mut right) = (0, 0);
    for i in 1..s.len() {
        if i < right {
            z[i] = z[i - left].min(right - i);
        }
        while i + z[i] < s.len() && s[z[i]] == s[i + z[i]] {
            z[i] += 1;
        }
        if i + z[i] > right {
            (left, right) = (i, i + z[i]);
        }
    }
    z
}
