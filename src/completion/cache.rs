//! Memo tables of completions: shortest texts, their tokens, promises, and what budget masks need.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::plan_memo::Plans;
use crate::recognizer::{ConfigId, Item, TextId};
use crate::regular::Language;

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
}

/// Everything that one constraint remembers of completions.
#[derive(Debug, Default)]
pub(crate) struct CompletionCache {
    pub(crate) plans: Plans,
    pub(super) bounds: TokenBounds,
    /// By configuration: the path to the end that was promised.
    pub(super) promises: FxHashMap<ConfigId, Promise>,
    pub(super) budget: BudgetTables,
    /// Bytes of the lists in the tables.
    pub(super) list_bytes: usize,
}

impl CompletionCache {
    /// Approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let bounds = &self.bounds;
        let known = bounds.items.len()
            + bounds.capture_free_bounds.len()
            + bounds.configurations.len()
            + self.promises.len();
        self.list_bytes + 48 * (known + self.plans.entries())
    }

    /// Starts again with nothing remembered but promises, which must hold.
    pub(crate) fn forget(&mut self) {
        self.plans.forget();
        self.bounds = TokenBounds::default();
        self.budget = BudgetTables::default();
        self.list_bytes = 0;
    }
}
