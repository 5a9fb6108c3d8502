//! Memo tables of completions: shortest texts, their tokens, promises, and what budget masks need.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::plan_memo::Plans;
use crate::recognizer::{ConfigId, Item, TextId};
use crate::regular::{Language, SpanMemo};

/// One item of a configuration, and the text that its open scopes have read.
pub(super) type ScopedItem = (TextId, Item);

/// Tokens that stay inside a terminal, by the state to which they lead.
pub(super) type TokensByState = Arc<[(Language, Box<[u32]>)]>;

/// A path to the end whose length was reported: some tokens, from one of them on.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) tokens: Arc<[u32]>,
    pub(super) from: usize,
}

impl Promise {
    /// The number of tokens left.
    pub(super) fn left(&self) -> u32 {
        (self.tokens.len() - self.from) as u32
    }
}

/// Bounds on the tokens from items and configurations to the end.
#[derive(Debug, Default)]
pub(super) struct TokenBounds {
    pub(super) items: FxHashMap<ScopedItem, Option<u32>>,
    /// The number of tokens by which an item's bound exceeds a plan in which captured texts restrict
    /// nothing; absent if 0.
    pub(super) excess_tokens: FxHashMap<ScopedItem, u32>,
    /// Bounds that assume that captured texts restrict nothing.
    pub(super) capture_free_bounds: FxHashMap<Item, Option<u32>>,
    pub(super) configurations: FxHashMap<ConfigId, Option<u32>>,
}

/// Tables of budget masks.
#[derive(Debug, Default)]
pub(super) struct BudgetTables {
    /// By configuration: the tokens of its mask that stand in no base, each with the number of tokens
    /// needed after it.
    pub(super) listed: FxHashMap<ConfigId, Arc<[(u32, u32)]>>,
    /// By configuration: a bound on the tokens needed after any token.
    pub(super) max_left: FxHashMap<ConfigId, u32>,
    /// By state of a terminal, the newest last.
    pub(super) by_state: Vec<(Language, TokensByState)>,
    /// The tokens in `by_state`.
    sorted_tokens: usize,
    pub(super) spans: SpanMemo,
}

impl BudgetTables {
    /// Keeps the sorted tokens of a state, and of those that were used last, up to so many tokens in all.
    pub(super) fn keep_sorted(&mut self, state: Language, tokens: &TokensByState, most: usize) {
        self.sorted_tokens += count(tokens);
        self.by_state.push((state, Arc::clone(tokens)));
        while self.sorted_tokens > most && self.by_state.len() > 1 {
            let (_, oldest) = self.by_state.remove(0);
            self.sorted_tokens -= count(&oldest);
        }
    }
}

fn count(tokens: &TokensByState) -> usize {
    tokens.iter().map(|(_, tokens)| tokens.len()).sum()
}

/// Everything that one constraint remembers of completions.
#[derive(Debug, Default)]
pub(crate) struct CompletionCache {
    pub(crate) plans: Plans,
    pub(super) bounds: TokenBounds,
    /// By configuration: the path to the end that was promised.
    pub(super) promises: FxHashMap<ConfigId, Promise>,
    pub(super) budget: BudgetTables,
    /// Bytes of the lists in the tables, those of promises aside.
    pub(super) list_bytes: usize,
    /// Bytes of the promised tokens.
    pub(super) promise_bytes: usize,
}

impl CompletionCache {
    /// Approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let bounds = &self.bounds;
        let known = bounds.items.len()
            + bounds.capture_free_bounds.len()
            + bounds.configurations.len()
            + self.promises.len()
            + self.budget.max_left.len()
            + self.budget.listed.len();
        let sorted = self.budget.sorted_tokens * size_of::<u32>();
        self.list_bytes + self.promise_bytes + sorted + 48 * (known + self.plans.entries())
    }

    /// Starts again with nothing remembered but promises, which must hold.
    pub(crate) fn forget(&mut self) {
        self.plans.forget();
        self.bounds = TokenBounds::default();
        self.budget = BudgetTables::default();
        self.list_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_that_were_used_last_are_kept() {
        let mut tables = BudgetTables::default();
        let tokens = |n: u32| -> TokensByState { [(Language::EPSILON, (0..n).collect())].into() };
        let states = [Language::EMPTY, Language::EPSILON];
        tables.keep_sorted(states[0], &tokens(60), 100);
        tables.keep_sorted(states[1], &tokens(40), 100);
        assert_eq!((tables.by_state.len(), tables.sorted_tokens), (2, 100));
        tables.keep_sorted(states[0], &tokens(1), 100);
        assert_eq!((tables.by_state[0].0, tables.sorted_tokens), (states[1], 41));
        // One is kept, however large.
        tables.keep_sorted(states[1], &tokens(500), 100);
        assert_eq!((tables.by_state.len(), tables.sorted_tokens), (1, 500));
    }
}
