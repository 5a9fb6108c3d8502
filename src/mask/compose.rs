//! Composition of a mask in rounds, each of which reads one more terminal of the tokens.
//!
//! Example: the grammar `"[" word ("," word)*  "]"` after `[ab`; the vocabulary has, among others,
//! `c`, `c,`, `,d`, `,d]` and `]`:
//!
//! ```text
//! round 1   word in its state, from token starts     tokens c          exit after c of c,
//!           "," from token starts                                      exit after , of ,d and ,d]
//!           "]" from token starts                    tokens ]
//! round 2   "," from the exit of word                tokens c,
//!           word from the exit of ","                tokens ,d         exit after d of ,d]
//! round 3   "]" from the exit of word                tokens ,d]
//! ```
//!
//! The grammar only says which terminals may follow, and from which cursors; which tokens a terminal
//! allows from them is a look-up, mostly ([`terminal_tokens`](super::terminal_tokens)). Terminals
//! that are equal but for their cursors or stacks are merged before each round, so a round reads no
//! terminal twice from one set of cursors. Rounds end: each reads at least one byte of a token.

use std::mem;
use std::sync::Arc;

use super::builder::{ComposedMask, MaskBuilder, UncertainTokens};
use super::cursor_sets::{CursorSetId, NO_CURSORS, TOKEN_STARTS};
use super::packed_mask::{MaskBase, PackedMask};
use super::split::SplitEnds;
use super::strategies::Strategy;
use super::terminal_tokens::{Continuation, TerminalQuery, TerminalTokens};
use crate::error::Result;
use crate::recognizer::{ConfigId, Item, Point, PointId, StackId};
use crate::regular::ByteSet;
use crate::regular::structure;

/// A terminal to be read, and from which cursors.
type TerminalFrom = (Item, CursorSetId);

/// The cursors at which a terminal that was read may end.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalExits {
    /// For continuations that begin with none of `word_bytes`.
    cursors: CursorSetId,
    word_bytes: ByteSet,
    /// For continuations that begin with one of `word_bytes`.
    cursors_in_words: CursorSetId,
}

impl TerminalExits {
    /// The same cursors for every continuation.
    pub(super) fn for_all(cursors: CursorSetId) -> Self {
        Self { cursors, word_bytes: ByteSet::EMPTY, cursors_in_words: NO_CURSORS }
    }

    fn is_empty(&self) -> bool {
        (self.cursors, self.cursors_in_words) == (NO_CURSORS, NO_CURSORS)
    }
}

impl MaskBuilder<'_> {
    /// The mask of a configuration, in which uncertain tokens are allowed.
    pub(super) fn compose(&mut self, id: ConfigId) -> Result<ComposedMask> {
        let mut mask = PackedMask::default();
        let mut tokens = self.special_tokens(id, &mut mask)?;
        let mut uncertain = UncertainTokens::default();
        let mut round: Vec<TerminalFrom> =
            self.recognizer.items(id).iter().map(|&item| (item, TOKEN_STARTS)).collect();
        let mut next = Vec::new();
        let counts_tokens = self.recognizer.program.has_budgets();
        let mut closing_tokens = Some(0);
        while !round.is_empty() {
            for &(item, cursors) in &round {
                if counts_tokens && let Some(known) = closing_tokens {
                    let more = self.recognizer.closing_tokens(self.vocabulary, item)?;
                    closing_tokens = more.map(|more| more.max(known));
                }
                match self.recognizer.program.point(item.point) {
                    Point::KeyChoice(choice) => {
                        let at = (choice, item.key_node());
                        for (rank, cursors) in self.read_keys(at, cursors, &mut tokens)? {
                            let after = self.recognizer.after_key(choice, rank)?;
                            let exits = TerminalExits::for_all(cursors);
                            self.continue_from(after, item.stack, exits, &mut next)?;
                        }
                    }
                    Point::Regular { .. } | Point::Capture { .. } => {
                        let (terminal, exits) =
                            self.read_item(item, cursors, &mut uncertain.tokens)?;
                        mask.bases.extend(terminal.bases.iter().cloned());
                        mask.lists.extend(terminal.lists.iter().cloned());
                        uncertain.with_comma.extend_from_slice(&terminal.with_comma);
                        uncertain.tokens.extend_from_slice(&terminal.uncertain);
                        if !exits.is_empty() {
                            let after = self.after_terminal(item.point)?;
                            self.continue_from(after, item.stack, exits, &mut next)?;
                        }
                    }
                    _ => {}
                }
            }
            round.clear();
            mem::swap(&mut round, &mut next);
            self.merge_round(&mut round)?;
        }
        if self.recognizer.program.has_captures() {
            let commas = &self.cache.terminals.shared.capture_tokens(self.vocabulary).commas;
            uncertain.with_comma.extend(tokens.iter().filter(|&&token| commas.contains(token)));
        }
        mask.tokens = tokens.into();
        Ok(ComposedMask { mask, uncertain, closing_tokens })
    }

    /// Adds the terminals that a point leads to, from some exits, to a round.
    fn continue_from(
        &mut self,
        point: PointId,
        stack: StackId,
        exits: TerminalExits,
        round: &mut Vec<TerminalFrom>,
    ) -> Result<()> {
        let items = self.items_after(point, stack)?;
        if exits.word_bytes.is_empty() {
            round.extend(items.iter().map(|&item| (item, exits.cursors)));
            return Ok(());
        }
        for &item in &*items {
            let first = self.recognizer.first_bytes(&[item])?;
            let cursors = if first.intersection(&exits.word_bytes).is_empty() {
                exits.cursors
            } else {
                exits.cursors_in_words
            };
            if cursors != NO_CURSORS {
                round.push((item, cursors));
            }
        }
        Ok(())
    }

    /// The items that a point leads to, remembered.
    fn items_after(&mut self, point: PointId, stack: StackId) -> Result<Arc<[Item]>> {
        if let Some(items) = self.cache.items_after.get(&(point, stack)) {
            return Ok(Arc::clone(items));
        }
        let mut items = Vec::new();
        self.recognizer.close_from(point, stack, &mut items)?;
        let items: Arc<[Item]> = items.into();
        self.cache.entry_bytes += 64 + size_of_val(&*items);
        self.cache.items_after.insert((point, stack), Arc::clone(&items));
        Ok(items)
    }

    /// Merges terminals that differ in their cursors only, then those that differ in their stacks
    /// only.
    fn merge_round(&mut self, round: &mut Vec<TerminalFrom>) -> Result<()> {
        if round.len() > 1 {
            round.sort_unstable();
            let mut kept = 0;
            for i in 1..round.len() {
                let (item, cursors) = round[i];
                if round[kept].0 == item {
                    let sets = &mut self.cache.terminals.cursor_sets;
                    round[kept].1 = sets.union(round[kept].1, cursors);
                } else {
                    kept += 1;
                    round[kept] = round[i];
                }
            }
            round.truncate(kept + 1);
            let key = |from: &TerminalFrom| (from.0.point, from.0.state, from.0.text, from.1);
            round.sort_unstable_by_key(key);
            let mut kept = 0;
            for i in 1..round.len() {
                let from = round[i];
                if key(&round[kept]) == key(&from) {
                    let stacks = &mut self.recognizer.stacks;
                    round[kept].0.stack = stacks.union(round[kept].0.stack, from.0.stack)?;
                } else {
                    kept += 1;
                    round[kept] = from;
                }
            }
            round.truncate(kept + 1);
        }
        self.recognizer.check_states(round.len())
    }

    /// The point after a terminal, whatever text it has captured.
    fn after_terminal(&mut self, point: PointId) -> Result<PointId> {
        match self.recognizer.program.point(point) {
            Point::Regular { next, .. } => Ok(next),
            Point::Capture { tag, .. } => {
                let next = self.recognizer.after_capture(tag, None)?;
                // Some string is always allowed.
                Ok(next.unwrap_or(point))
            }
            // Other points have no terminal.
            _ => Ok(point),
        }
    }

    /// The tokens that an item's terminal allows from some cursors, and its exits, as its
    /// continuation needs them.
    fn read_item(
        &mut self,
        item: Item,
        cursors: CursorSetId,
        uncertain: &mut Vec<u32>,
    ) -> Result<(Arc<TerminalTokens>, TerminalExits)> {
        self.add_duplicate_items(item, cursors, uncertain)?;
        let is_json_string = self.recognizer.program.reads_json_string(item.point);
        let strategies = self.cache.terminals.shared.strategies();
        let mut reader = self.terminals();
        let mut state = reader.widened(item.state)?;
        if is_json_string
            && strategies.has(Strategy::Exclusions)
            && let Some(string) = reader.string_with_exclusions(state)
            && let Some(tokens) = reader.excluded_tokens_from(string, cursors)?
        {
            uncertain.extend(tokens);
            state = string.without_exclusions;
        }
        let is_shareable = match self.recognizer.program.point(item.point) {
            Point::Capture { .. } => !structure::has_exclusions(&self.recognizer.languages, state),
            _ => true,
        };
        let query = TerminalQuery {
            state,
            is_json_string,
            continuation: Continuation::UnlikeUnit,
            ends: if strategies.has(Strategy::WordEnds) {
                SplitEnds::OutsideWords
            } else {
                SplitEnds::All
            },
            is_shareable,
        };
        let (mut terminal, mut exits) = self.terminals().terminal_tokens(query, cursors)?;
        if terminal.unit_first_bytes.is_empty() && terminal.word_bytes.is_empty() {
            return Ok((terminal, TerminalExits::for_all(exits)));
        }
        let after = self.after_terminal(item.point)?;
        let items = self.items_after(after, item.stack)?;
        let first = self.recognizer.first_bytes(&items)?;
        let mut continuation = Continuation::UnlikeUnit;
        if !first.intersection(&terminal.unit_first_bytes).is_empty() {
            continuation = Continuation::Any;
            let query = TerminalQuery { continuation, ..query };
            (terminal, exits) = self.terminals().terminal_tokens(query, cursors)?;
        }
        if first.intersection(&terminal.word_bytes).is_empty() {
            return Ok((terminal, TerminalExits::for_all(exits)));
        }
        let all_ends = TerminalQuery { continuation, ends: SplitEnds::All, ..query };
        let (_, cursors_in_words) = self.terminals().terminal_tokens(all_ends, cursors)?;
        let word_bytes = terminal.word_bytes;
        Ok((terminal, TerminalExits { cursors: exits, word_bytes, cursors_in_words }))
    }

    /// Whether an item allows tokens at token starts by a base, not one by one.
    pub(crate) fn has_base(&mut self, item: Item) -> Result<bool> {
        let (terminal, _) = self.read_item(item, TOKEN_STARTS, &mut Vec::new())?;
        Ok(terminal.bases.iter().any(MaskBase::is_at_token_start))
    }
}
