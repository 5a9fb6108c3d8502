//! The walk of one terminal over a trie of tokens or tails, where neither a repeat nor a split
//! applies.
//!
//! It gives the tokens that [`TokenWalk::read_subtree`](super::split::walk::TokenWalk::read_subtree) defines.
//!
//! A node costs one step of the terminal's automaton. Only children whose byte the state may begin
//! with are visited; where a subtree is large and the state there has a split of its own, the walk
//! leaves it to [`TerminalReader::read_from`].

use std::sync::Arc;

use super::split::SplitEnds;
use super::state_structure::MIN_WORDLIKE_BYTES;
use super::terminal_cache::StateStructure;
use super::terminal_reader::TerminalReader;
use super::terminal_tokens::{TerminalQuery, TerminalTokensBuilder};
use super::token_trie::TokenTrie;
use super::trie_cursor::{RepeatCondition, TrieCursor};
use crate::error::Result;
use crate::regular::structure;
use crate::regular::{ByteSet, Language};
use crate::vocabulary::{Trie, Vocabulary};

/// A node of a trie that a walk visits, with the cursor from which it came.
#[derive(Clone, Copy)]
pub(super) struct VisitedNode<'a> {
    pub(super) from: TrieCursor,
    pub(super) tokens: &'a TokenTrie,
    pub(super) trie: &'a Trie,
    pub(super) node: usize,
}

/// Nodes to be visited, each with the state there and the bytes with which it may go on.
type PendingNodes = Vec<(u32, Language, ByteSet)>;

impl TerminalReader<'_> {
    /// Adds the tokens below a cursor that the terminal lets through.
    pub(super) fn walk_below(
        &mut self,
        query: TerminalQuery,
        cursor: TrieCursor,
        found: &mut TerminalTokensBuilder,
    ) -> Result<()> {
        let first = self.languages.first_bytes(query.state)?;
        if let TokenTrie::RepeatTails(repeat) = self.cache.trie_of(cursor) {
            if cursor.condition == RepeatCondition::Any && first.len() >= MIN_WORDLIKE_BYTES {
                let tails =
                    Arc::clone(self.cache.shared.all_repeat_exits(self.vocabulary, &repeat));
                for &node in &tails.nodes {
                    let cursor = TrieCursor { node, ..TrieCursor::TOKEN_START };
                    self.read_from(query, cursor, found)?;
                }
                let trie = self.cache.add_trie(tails.id, || TokenTrie::Tails(tails));
                return self.walk_children(query, TrieCursor::root(trie), first, found);
            }
            for byte in first.iter() {
                let trie = self.repeat_tails_at(&repeat, byte);
                let cursor = TrieCursor { trie, node: 0, ..cursor };
                self.walk_children(query, cursor, first, found)?;
            }
            return Ok(());
        }
        self.walk_children(query, cursor, first, found)
    }

    fn walk_children(
        &mut self,
        query: TerminalQuery,
        cursor: TrieCursor,
        first: ByteSet,
        found: &mut TerminalTokensBuilder,
    ) -> Result<()> {
        let mut pending = self.cache.pending_buffers.pop().unwrap_or_default();
        pending.push((cursor.node, query.state, first));
        let result = self.walk_pending(query, cursor, &mut pending, found);
        pending.clear();
        self.cache.pending_buffers.push(pending);
        result
    }

    fn walk_pending(
        &mut self,
        query: TerminalQuery,
        cursor: TrieCursor,
        pending: &mut PendingNodes,
        found: &mut TerminalTokensBuilder,
    ) -> Result<()> {
        let vocabulary: &Vocabulary = self.vocabulary;
        let tokens = self.cache.trie_of(cursor);
        let trie = tokens.trie(vocabulary);
        let nodes = trie.nodes();
        while let Some((node, before, first)) = pending.pop() {
            for child in trie.children(node as usize, first.bits()) {
                if found.node_budget == 0 {
                    return Ok(());
                }
                found.node_budget -= 1;
                let at = nodes[child];
                let visited = VisitedNode { from: cursor, tokens: &tokens, trie, node: child };
                self.add_node_tokens(visited, &mut found.tokens)?;
                // Most nodes are leaves: the state after them does not matter.
                if at.subtree_end as usize == child + 1 {
                    continue;
                }
                let state = self.languages.step(before, at.byte)?;
                let here = TrieCursor { node: child as u32, ..cursor };
                if self.languages.is_nullable(state) {
                    // Within a word the terminal itself goes on.
                    let word = match query.ends {
                        SplitEnds::All => ByteSet::EMPTY,
                        SplitEnds::OutsideWords => self.word_continuation(state)?,
                    };
                    if word.is_empty() || has_child_outside(trie, child, word) {
                        found.exits.push(here);
                    } else {
                        found.word_bytes = found.word_bytes.union(&word);
                    }
                }
                if state == Language::EPSILON {
                    continue;
                }
                let has_split = self.is_wide(here)
                    && match self.structure(state, query.is_json_string)? {
                        StateStructure::UnitRepeat { .. } | StateStructure::JsonText { .. } => true,
                        StateStructure::Wide => self.is_worth_split(state, here)?,
                        StateStructure::Narrow => false,
                    };
                if has_split {
                    self.read_from(TerminalQuery { state, ..query }, here, found)?;
                    continue;
                }
                pending.push((child as u32, state, self.languages.first_bytes(state)?));
            }
        }
        Ok(())
    }

    /// Adds the tokens that end at a node, if the runs before them satisfy the cursor's condition.
    pub(super) fn add_node_tokens(
        &mut self,
        VisitedNode { from: cursor, tokens, trie, node }: VisitedNode<'_>,
        found: &mut Vec<u32>,
    ) -> Result<()> {
        let all = trie.tokens(node);
        let TokenTrie::RepeatTailsAt(exits) = tokens else {
            found.extend_from_slice(all);
            return Ok(());
        };
        if cursor.condition == RepeatCondition::Any {
            found.extend_from_slice(all);
            return Ok(());
        }
        let from = trie.nodes()[node].first_token as usize;
        for (&token, run) in all.iter().zip(&exits.runs[from..]) {
            let fits = match cursor.condition {
                RepeatCondition::Any => true,
                RepeatCondition::Units(min, max) => (min..=max).contains(&run.units.into()),
                RepeatCondition::Text(text, from) => {
                    let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
                    let run = &bytes[from as usize..from as usize + usize::from(run.bytes)];
                    self.has_text(text, run)?
                }
            };
            if fits {
                found.push(token);
            }
        }
        Ok(())
    }

    /// Whether a run of JSON characters is a string of a language of such runs.
    fn has_text(&mut self, text: Language, run: &[u8]) -> Result<bool> {
        // Where the language lists its exclusions, these are sooner read.
        match structure::excluded_strings(self.languages, text, self.cache.json.character) {
            Some(exclusions) => {
                for excluded in exclusions {
                    if self.accepts(excluded, run)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            None => self.accepts(text, run),
        }
    }

    /// Whether a string is in a language. Stops as soon as it cannot be.
    fn accepts(&mut self, mut state: Language, string: &[u8]) -> Result<bool> {
        for &byte in string {
            state = self.languages.step(state, byte)?;
            if state == Language::EMPTY {
                return Ok(false);
            }
        }
        Ok(self.languages.is_nullable(state))
    }
}

/// Whether a node has a child with a byte outside a set.
fn has_child_outside(trie: &Trie, node: usize, bytes: ByteSet) -> bool {
    trie.children(node, bytes.complement().bits()).next().is_some()
}
