//! Results that arenas share, by fingerprint of the language: DFAs, spans and products.
//!
//! The constraints of one compiler mostly use the same formats and patterns; what one arena has
//! determinised the others look up. Each map is consistent between any two operations, so a poisoned
//! lock is taken as it is.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::counted_product::Product;
use super::dfa::Dfa;

/// Spans of all arenas; when there are more, all are forgotten.
const MAX_SPANS: usize = 10_000;

/// Answers by fingerprint; `None` where the answer is that there is none.
type Answers<T> = Mutex<FxHashMap<u128, Option<T>>>;

/// Results that arenas share.
#[derive(Debug, Default)]
pub(crate) struct SharedResults {
    dfas: Answers<Arc<Dfa>>,
    spans: Answers<u32>,
    products: Answers<Product>,
}

impl SharedResults {
    /// The compacted language's DFA, if any arena has tried to make it.
    pub(super) fn dfa(&self, fingerprint: u128) -> Option<Option<Arc<Dfa>>> {
        lock(&self.dfas).get(&fingerprint).cloned()
    }

    pub(super) fn note_dfa(&self, fingerprint: u128, dfa: Option<Arc<Dfa>>) {
        lock(&self.dfas).insert(fingerprint, dfa);
    }

    /// The product of a language's patterns, if any arena has tried to make it.
    pub(super) fn product(&self, fingerprint: u128) -> Option<Option<Product>> {
        lock(&self.products).get(&fingerprint).cloned()
    }

    pub(super) fn note_product(&self, fingerprint: u128, product: Option<Product>) {
        lock(&self.products).insert(fingerprint, product);
    }

    /// The span of a language, if any arena has searched for it.
    pub(super) fn span(&self, fingerprint: u128) -> Option<Option<u32>> {
        lock(&self.spans).get(&fingerprint).copied()
    }

    pub(super) fn note_span(&self, fingerprint: u128, span: Option<u32>) {
        let mut spans = lock(&self.spans);
        if spans.len() >= MAX_SPANS {
            spans.clear();
        }
        spans.insert(fingerprint, span);
    }
}

fn lock<K: Eq + Hash, V>(map: &Mutex<FxHashMap<K, V>>) -> MutexGuard<'_, FxHashMap<K, V>> {
    map.lock().unwrap_or_else(PoisonError::into_inner)
}
