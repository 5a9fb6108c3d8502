//! Reads terminals from cursors, without a grammar.
//!
//! A *split* sorts tokens by what a terminal's state does with them: tokens that stay inside, and
//! tokens that leave, by their tails. There are three ways to split the tokens below a cursor, the
//! cheapest that applies is taken:
//!
//! 1. [Repeats](super::split::RepeatSplit), where the state begins with a repeat of a unit (characters of a string,
//!    blanks, digits): the tokens that stay inside are known for every bound on the repeat.
//! 2. A [split](super::split::TokenSplit), where the state is wide: one pass over the vocabulary, shared by
//!    all constraints.
//! 3. A [walk](super::walk) over the nodes of the trie that the state lets through.
//!
//! All three give the same tokens, those of
//! [`TokenWalk::read_subtree`](super::split::walk::TokenWalk::read_subtree).

use std::sync::Arc;

use super::cursor_sets::CursorSetId;
use super::packed_mask::{MaskBase, TokenList};
use super::split::{RepeatSplit, TrieId};
use super::split::{SplitEnds, SplitStart, TokenSplit, word_bytes};
use super::split_cache::TerminalKey;
use super::strategies::Strategy;
use super::terminal_cache::{StateStructure, TerminalCache};
use super::terminal_tokens::{
    Continuation, TerminalQuery, TerminalTokens, TerminalTokensBuilder, TokensReadWhole,
};
use super::token_trie::TokenTrie;
use super::trie_cursor::{RepeatCondition, TrieCursor, VOCABULARY};
use crate::error::Result;
use crate::regular::structure;
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::{TrieNode, Vocabulary};

/// A subtree of the vocabulary's trie with at most so many nodes is walked: looking a split up
/// takes as long.
const MAX_WALKED_SUBTREE: u32 = 40;

/// Below this depth everything is walked, so splits nest no deeper.
const MAX_SPLIT_DEPTH: u16 = 64;

/// Where a wide state lets more nodes than this through, mostly at the start of tokens and after a blank,
/// it gets a split; fewer are walked sooner than the split is made.
const MIN_SPLIT_SUBTREE: u32 = 4_096;

/// A cursor with more nodes below it than this is read by itself, not as one of a set.
const MIN_SEPARATE_SUBTREE: u32 = 1_000;

/// Nodes that a walk may visit before a split is made instead: states that list a few texts are
/// sooner walked.
const MAX_LISTED_WALK: usize = 600;

/// Finds the tokens that terminals allow; borrows the memo tables for a while.
pub(super) struct TerminalReader<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    /// The arena of the terminals' states.
    pub(super) languages: &'a mut Languages,
    pub(super) cache: &'a mut TerminalCache,
}

/// The repeat of a unit with which a state begins.
struct LeadingRepeat {
    unit: Language,
    max: u32,
    /// The terminal after the repeat.
    rest: Language,
    /// A condition on the units of the tokens that leave the repeat.
    condition: RepeatCondition,
    /// Whether the repeat may have no unit at all.
    may_be_absent: bool,
}

impl TerminalReader<'_> {
    /// The tokens that a terminal allows from some cursors, and the set of its exits.
    pub(super) fn terminal_tokens(
        &mut self,
        query: TerminalQuery,
        cursors: CursorSetId,
    ) -> Result<(Arc<TerminalTokens>, CursorSetId)> {
        if let Some((tokens, exits)) = self.cache.tokens.get(&(query, cursors)) {
            return Ok((Arc::clone(tokens), *exits));
        }
        let from = Arc::clone(self.cache.cursor_sets.cursors(cursors));
        let is_shareable = query.is_shareable
            && self.cache.shared.strategies().has(Strategy::SharedTerminalTokens)
            && from.iter().all(TrieCursor::is_shareable);
        let key = is_shareable.then(|| {
            let TerminalQuery { state, is_json_string, continuation, ends, .. } = query;
            let state = self.languages.fingerprint(state);
            TerminalKey { state, is_json_string, continuation, ends, cursors: Arc::clone(&from) }
        });
        let tokens = match key.as_ref().and_then(|key| self.cache.shared.terminal_tokens(key)) {
            Some(tokens) => tokens,
            None => {
                let tokens = Arc::new(match self.read_in_parts(query, &from)? {
                    Some(parts) => parts,
                    None => self.read_terminal(query, &from)?,
                });
                if let Some(key) = key
                    && tokens.exits.iter().all(TrieCursor::is_shareable)
                {
                    self.cache.shared.add_terminal_tokens(key, &tokens);
                }
                tokens
            }
        };
        for (id, trie) in &tokens.tries {
            self.cache.add_trie(*id, || trie.clone());
        }
        let exits = self.cache.cursor_sets.intern(&mut tokens.exits.to_vec());
        self.cache.token_bytes += tokens.memory_bytes();
        self.cache.tokens.insert((query, cursors), (Arc::clone(&tokens), exits));
        Ok((tokens, exits))
    }

    /// The tokens that a terminal allows from several cursors, of which those with a large subtree are
    /// read each by itself: they come again in other sets. `None` where all are read at once.
    fn read_in_parts(
        &mut self,
        query: TerminalQuery,
        cursors: &[TrieCursor],
    ) -> Result<Option<TerminalTokens>> {
        let is_large = |cursor: &&TrieCursor| {
            let tokens = self.cache.trie_of(**cursor);
            let nodes = tokens.trie(self.vocabulary).nodes();
            let node = match &tokens {
                TokenTrie::RepeatTails(repeat) => repeat.node,
                _ => cursor.node,
            };
            nodes[node as usize].subtree_end - node > MIN_SEPARATE_SUBTREE
        };
        let (large, mut small): (Vec<TrieCursor>, Vec<TrieCursor>) =
            cursors.iter().partition(is_large);
        if cursors.len() == 1 || large.is_empty() {
            return Ok(None);
        }
        let sets = &mut self.cache.cursor_sets;
        let mut parts: Vec<CursorSetId> =
            large.into_iter().map(|cursor| sets.intern(&mut [cursor])).collect();
        if !small.is_empty() {
            parts.push(sets.intern(&mut small));
        }
        let mut found = Vec::with_capacity(parts.len());
        for part in parts {
            found.push(self.terminal_tokens(query, part)?.0);
        }
        Ok(Some(TerminalTokens::union(&found)))
    }

    fn read_terminal(
        &mut self,
        query: TerminalQuery,
        cursors: &[TrieCursor],
    ) -> Result<TerminalTokens> {
        let mut found = TerminalTokensBuilder::default();
        for &cursor in cursors {
            self.read_from(query, cursor, &mut found)?;
        }
        let TerminalTokensBuilder {
            mut tokens,
            bases,
            mut exits,
            unit_first_bytes,
            word_bytes,
            uncertain,
            ..
        } = found;
        if cursors != [TrieCursor::TOKEN_START] {
            // A token can stand in several tries of tails.
            tokens.sort_unstable();
            tokens.dedup();
        }
        exits.sort_unstable();
        exits.dedup();
        let read_whole = TokensReadWhole { listed: &tokens, bases: &bases };
        let exits = self.gather_cursors(exits, unit_first_bytes.union(&word_bytes), read_whole);
        let mut tries: Vec<TrieId> = exits.iter().map(|exit| exit.trie).collect();
        tries.dedup();
        let trie = |id| Some((id, self.cache.tries.get(&id)?.clone()));
        let commas = &self.cache.shared.capture_tokens(self.vocabulary).commas;
        Ok(TerminalTokens {
            with_comma: tokens.iter().copied().filter(|&token| commas.contains(token)).collect(),
            lists: TokenList::new(tokens, self.vocabulary).into_iter().collect(),
            bases,
            tries: tries.into_iter().filter_map(trie).collect(),
            exits: exits.into(),
            unit_first_bytes,
            word_bytes,
            uncertain: uncertain.into(),
        })
    }

    /// Adds the tokens that a terminal's state allows below a cursor.
    pub(super) fn read_from(
        &mut self,
        mut query: TerminalQuery,
        cursor: TrieCursor,
        found: &mut TerminalTokensBuilder,
    ) -> Result<()> {
        // One turn for each leading repeat that may be absent: the state after it may begin here, too.
        while self.is_wide(cursor) {
            let ahead = match self.structure(query.state, query.is_json_string)? {
                StateStructure::UnitRepeat { rest, .. }
                    if query.continuation == Continuation::Any
                        && self.languages.is_nullable(rest) =>
                {
                    if self.is_worth_split(query.state, cursor)?
                        && self.read_split(query, cursor, found)?
                    {
                        return Ok(());
                    }
                    break;
                }
                StateStructure::UnitRepeat { unit, min, max, rest } => {
                    let condition = match (min, max) {
                        (0..=1, u32::MAX) => RepeatCondition::Any,
                        _ => RepeatCondition::Units(min.max(1), max),
                    };
                    LeadingRepeat { unit, max, rest, condition, may_be_absent: min == 0 }
                }
                StateStructure::JsonText { text } => self.json_text_repeat(text, cursor, found)?,
                StateStructure::Wide if self.is_worth_split(query.state, cursor)? => {
                    if self.read_split(query, cursor, found)? {
                        return Ok(());
                    }
                    break;
                }
                StateStructure::Narrow | StateStructure::Wide => break,
            };
            let repeat = self.repeat_split(ahead.unit, cursor.node)?;
            found.bases.push(MaskBase::Repeat(Arc::clone(&repeat), ahead.max));
            query.state = ahead.rest;
            self.read_after_repeat(query, repeat, ahead.unit, ahead.condition, found)?;
            if !ahead.may_be_absent || ahead.rest == Language::EPSILON {
                return Ok(());
            }
        }
        self.walk_below(query, cursor, found)
    }

    /// A JSON text as a repeat of characters. Tokens that come to an end that the text excludes
    /// become uncertain, where they are few; where not, each run must be a text.
    fn json_text_repeat(
        &mut self,
        text: Language,
        cursor: TrieCursor,
        found: &mut TerminalTokensBuilder,
    ) -> Result<LeadingRepeat> {
        let tokens = if self.cache.shared.strategies().has(Strategy::Exclusions) {
            self.excluded_tokens(text, cursor)?
        } else {
            None
        };
        let condition = match tokens {
            Some(tokens) => {
                found.uncertain.extend_from_slice(&tokens);
                RepeatCondition::Any
            }
            None => {
                let from = self.vocabulary.trie().nodes()[cursor.node as usize].depth;
                RepeatCondition::Text(text, from.into())
            }
        };
        Ok(LeadingRepeat {
            unit: self.cache.json.character,
            max: u32::MAX,
            rest: self.cache.json.quote,
            condition,
            may_be_absent: self.languages.is_nullable(text),
        })
    }

    /// Adds the split of a state, or walks where that is shorter. Returns false where the state is
    /// not worth a split.
    fn read_split(
        &mut self,
        query: TerminalQuery,
        cursor: TrieCursor,
        found: &mut TerminalTokensBuilder,
    ) -> Result<bool> {
        if self.cache.shared.strategies().has(Strategy::ListWalks)
            && structure::is_string_list(self.languages, query.state)
            && self.walk_within_budget(query, cursor, found)?
        {
            return Ok(true);
        }
        let Some(split) = self.split(query.state, cursor.node, query.ends)? else {
            return Ok(false);
        };
        found.word_bytes = found.word_bytes.union(&split.word_bytes);
        let nodes = split.tails.nodes.iter();
        found.exits.extend(nodes.map(|&node| TrieCursor { node, ..TrieCursor::TOKEN_START }));
        if !split.tails.trie.ids().is_empty() {
            let tails = Arc::clone(&split.tails);
            let trie = self.cache.add_trie(tails.id, || TokenTrie::Tails(tails));
            found.exits.push(TrieCursor::root(trie));
        }
        found.bases.push(MaskBase::Split(split));
        Ok(true)
    }

    /// Walks if that takes few nodes, and says whether it did.
    fn walk_within_budget(
        &mut self,
        query: TerminalQuery,
        cursor: TrieCursor,
        found: &mut TerminalTokensBuilder,
    ) -> Result<bool> {
        let mut few = TerminalTokensBuilder::with_budget(MAX_LISTED_WALK);
        self.walk_below(query, cursor, &mut few)?;
        let is_complete = few.node_budget > 0;
        if is_complete {
            found.append(few);
        }
        Ok(is_complete)
    }

    /// Adds the tokens allowed after a repeat; the query's state is what follows it.
    fn read_after_repeat(
        &mut self,
        query: TerminalQuery,
        repeat: Arc<RepeatSplit>,
        unit: Language,
        condition: RepeatCondition,
        found: &mut TerminalTokensBuilder,
    ) -> Result<()> {
        let trie = self.cache.add_trie(repeat.id, || TokenTrie::RepeatTails(repeat));
        let cursor = TrieCursor { trie, node: 0, condition };
        if self.languages.is_nullable(query.state) {
            found.exits.push(cursor);
            found.unit_first_bytes =
                found.unit_first_bytes.union(&self.languages.first_bytes(unit)?);
        }
        if query.state == Language::EPSILON {
            return Ok(());
        }
        self.walk_below(query, cursor, found)
    }

    /// Whether the walk below a cursor is long enough to be worth avoiding.
    pub(super) fn is_wide(&self, cursor: TrieCursor) -> bool {
        let wide = |at: &TrieNode| {
            at.subtree_end - cursor.node > MAX_WALKED_SUBTREE && at.depth <= MAX_SPLIT_DEPTH
        };
        cursor.trie == VOCABULARY
            && self.vocabulary.trie().nodes().get(cursor.node as usize).is_some_and(wide)
    }

    /// Whether a split of the tokens below a wide cursor is worth its time and memory: a walk would visit
    /// many nodes below the bytes with which the state may begin.
    pub(super) fn is_worth_split(&mut self, state: Language, cursor: TrieCursor) -> Result<bool> {
        let first = self.languages.first_bytes(state)?;
        let trie = self.vocabulary.trie();
        let children = trie.children(cursor.node as usize, first.bits());
        let sizes = children.map(|child| trie.nodes()[child].subtree_end - child as u32);
        Ok(sizes.sum::<u32>() > MIN_SPLIT_SUBTREE)
    }

    fn repeat_split(&mut self, unit: Language, node: u32) -> Result<Arc<RepeatSplit>> {
        if let Some(repeat) = self.cache.splits.repeats.get(&(unit, node)) {
            return Ok(Arc::clone(repeat));
        }
        let repeat =
            self.cache.shared.repeat_split(self.vocabulary, self.languages, (unit, node))?;
        self.cache.splits.repeats.insert((unit, node), Arc::clone(&repeat));
        Ok(repeat)
    }

    /// The tails of the tokens that leave a repeat at a byte.
    pub(super) fn repeat_tails_at(&mut self, repeat: &RepeatSplit, byte: u8) -> TrieId {
        if let Some(&trie) = self.cache.splits.repeat_tails.get(&(repeat.id, byte)) {
            return trie;
        }
        let exits = self.cache.shared.repeat_exits(self.vocabulary, repeat, byte);
        let trie = self.cache.add_trie(exits.id, || TokenTrie::RepeatTailsAt(exits));
        self.cache.splits.repeat_tails.insert((repeat.id, byte), trie);
        trie
    }

    fn split(
        &mut self,
        state: Language,
        node: u32,
        ends: SplitEnds,
    ) -> Result<Option<Arc<TokenSplit>>> {
        if let Some(split) = self.cache.splits.by_state.get(&(state, node, ends)) {
            return Ok(split.clone());
        }
        if !self.cache.shared.strategies().has(Strategy::Splits) {
            return Ok(None);
        }
        let start = SplitStart { state, node, ends };
        let split = self.cache.shared.split(self.vocabulary, self.languages, start)?;
        self.cache.splits.by_state.insert((state, node, ends), split.clone());
        Ok(split)
    }

    /// The bytes with which a word goes on at a possible end of a terminal; none where the terminal
    /// reads no words.
    pub(super) fn word_continuation(&mut self, state: Language) -> Result<ByteSet> {
        if let Some(&known) = self.cache.facts.word_continuations.get(&state) {
            return Ok(known);
        }
        let bytes = word_bytes(self.languages.first_bytes(state)?);
        self.cache.facts.word_continuations.insert(state, bytes);
        Ok(bytes)
    }
}
