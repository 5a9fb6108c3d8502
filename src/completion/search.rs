//! Searches for a completion where a plan does not hold: captured texts restrict what follows, bytes are
//! not tokens by themselves, or rules have budgets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::planner::{Blanks, CompletionPlanner};
use super::remaining_text::TerminalRest;
use super::token_cost::TokenCosts;
use crate::deadline;
use crate::error::Result;
use crate::recognizer::ConfigId;

/// Configurations that a search by bytes expands.
const MAX_EXPANDED: usize = 500;

/// Configurations that a search by tokens visits.
const MAX_VISITED: usize = 20_000;

/// Bytes that a search by bytes tries of each range of adjacent allowed bytes, a heuristic: most lead to
/// texts that are equally good, and each captured text on the way costs memory.
const MAX_TRIED_OF_RANGE: u8 = 3;

impl CompletionPlanner<'_> {
    /// Few tokens to the end, by a greedy best-first search over bytes that captures texts: it expands
    /// the configuration from which the fewest bytes seem to be left.
    pub(super) fn search_by_bytes(
        &mut self,
        from: ConfigId,
        blanks: Blanks,
    ) -> Result<Option<Vec<u32>>> {
        let mut before: FxHashMap<ConfigId, Option<(ConfigId, u8)>> = FxHashMap::default();
        before.insert(from, None);
        let mut open = BinaryHeap::from([Reverse((0, 0, from))]);
        let mut order = 0u32;
        let mut expanded = 0;
        while let Some(Reverse((_, _, at))) = open.pop() {
            deadline::check()?;
            if self.recognizer.is_accepting(at) {
                let mut text = Vec::new();
                let mut at = at;
                while let Some(&Some((previous, byte))) = before.get(&at) {
                    text.push(byte.into());
                    at = previous;
                }
                text.reverse();
                return Ok(TokenCosts::before(self.vocabulary, &text, &TokenCosts::end())
                    .tokens(self.vocabulary));
            }
            expanded += 1;
            if expanded > MAX_EXPANDED {
                return Ok(None);
            }
            for byte in self.tried_bytes(at, blanks)? {
                let Ok(next) = self.recognizer.read(at, &[byte])? else { continue };
                if before.contains_key(&next) {
                    continue;
                }
                let Some(least) = self.bytes_left(next)? else { continue };
                before.insert(next, Some((at, byte)));
                order += 1;
                // Of those that are equally near, the newest.
                open.push(Reverse((least, u32::MAX - order, next)));
            }
        }
        Ok(None)
    }

    /// Bytes that are worth trying from a configuration: a few of each range of those that are allowed,
    /// and those with which its items' shortest texts go on.
    fn tried_bytes(&mut self, id: ConfigId, blanks: Blanks) -> Result<Vec<u8>> {
        let all = self.recognizer.next_bytes(id)?;
        let mut tried = Vec::new();
        let mut rank = 0;
        for byte in all.iter() {
            let continues = byte > 0 && all.contains(byte - 1);
            rank = if continues { rank + 1 } else { 0 };
            if rank < MAX_TRIED_OF_RANGE && (blanks == Blanks::Tried || !byte.is_ascii_whitespace())
            {
                tried.push(byte);
            }
        }
        for i in 0..self.recognizer.items(id).len() {
            let item = self.recognizer.items(id)[i];
            if let Some(rest) = self.derivations().item_rest(item)? {
                let TerminalRest { mut text, next, .. } = rest;
                let planned = self.cache.plans.max_spelled_bytes();
                let bytes = self.derivations().point_bytes(next)?;
                if text.is_empty() && bytes.is_some_and(|bytes| bytes <= planned) {
                    self.derivations().write(next, &mut text)?;
                }
                let byte = text.first().and_then(|&symbol| u8::try_from(symbol).ok());
                tried.extend(byte.filter(|byte| !tried.contains(byte) && all.contains(*byte)));
            }
        }
        Ok(tried)
    }

    /// The least number of tokens to the end, where not every byte is a token by itself: breadth first
    /// over configurations.
    pub(super) fn search_by_tokens(&mut self, from: ConfigId) -> Result<Option<u32>> {
        let planned = self.cache.plans.max_spelled_bytes();
        if self.bytes_left(from)?.is_some_and(|bytes| bytes > planned) {
            return Ok(None);
        }
        let mut before = FxHashMap::from_iter([(from, from)]);
        let mut queue = vec![from];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            if self.recognizer.is_accepting(at) {
                let (mut at, mut left) = (at, 0);
                while at != from {
                    self.cache.bounds.configurations.insert(at, Some(left));
                    (at, left) = (before[&at], left + 1);
                }
                self.cache.bounds.configurations.insert(from, Some(left));
                return Ok(Some(left));
            }
            for successor in self.recognizer.successors(self.vocabulary, at)? {
                before.entry(successor).or_insert_with(|| {
                    queue.push(successor);
                    at
                });
            }
            if queue.len() > MAX_VISITED {
                break;
            }
        }
        Ok(None)
    }
}
