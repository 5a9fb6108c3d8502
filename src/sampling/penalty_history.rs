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

    /// Adds a token of the prompt, which must come before the text.
    pub(super) fn push_prompt(&mut self, token: u32) {
        self.prompt += 1;
        self.push(token, false);
    }

    /// Adds a token. O(1).
    pub(super) fn push(&mut self, token: u32, exempt: bool) {
        self.tokens.push(token);
        self.exempt.push(exempt);
        self.count(self.tokens.len() - 1, true);
        if let Some(left) = self.window.and_then(|n| (self.tokens.len() - 1).checked_sub(n)) {
            self.count(left, false);
        }
    }

    /// Adds the token at an index to the counts, or takes it out.
    fn count(&mut self, at: usize, enters: bool) {
        if self.exempt[at] {
            return;
        }
        let (token, in_prompt) = (self.tokens[at], at < self.prompt);
        let counts = self.counts.entry(token).or_default();
        let count = if in_prompt { &mut counts.0 } else { &mut counts.1 };
        *count = if enters { *count + 1 } else { count.saturating_sub(1) };
        if *counts == (0, 0) {
            self.counts.remove(&token);
        }
    }

    /// The tokens that a penalty counts, each once, with how often; in no particular order.
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

    /// Every token that goes on as an earlier place did, with the length of the longest sequence
    /// that it would then repeat: the longest suffix of the last `window` tokens that stood before
    /// it there already. Breakers and forced tokens end a sequence, and go on with none. O(n) for n
    /// tokens.
    ///
    /// The suffix lengths at all earlier places are the Z-array of the reversed history (Gusfield
    /// 1997, "Algorithms on Strings, Trees, and Sequences", section 1.3).
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

/// At each place, the length of the longest prefix of `s` that stands there; O(n).
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
