//! Tokens in which an item of a `uniqueItems` array ends as one that the array holds already.
//!
//! Items of an array that must differ are looked up where they end; their language lacks none of
//! those that were written ([`refused_texts`](crate::recognizer::refused_texts)). So a walk allows tokens that end an item as
//! one of these. They are found by going through the tokens and the texts that were written side by
//! side, and become uncertain.

use std::sync::Arc;

use super::builder::MaskBuilder;
use super::cursor_sets::CursorSetId;
use super::terminal_reader::TerminalReader;
use super::token_trie::TokenTrie;
use super::trie_cursor::TrieCursor;
use crate::error::Result;
use crate::recognizer::refused_texts::refused_texts;
use crate::recognizer::{Item, Recognizer};
use crate::regular::{Language, TextPlace, TextSets};
use crate::vocabulary::{TrieNode, Vocabulary};

impl MaskBuilder<'_> {
    /// Adds the tokens in which the text of an array item ends as one that was written before.
    pub(super) fn add_duplicate_items(
        &mut self,
        item: Item,
        cursors: CursorSetId,
        uncertain: &mut Vec<u32>,
    ) -> Result<()> {
        let Recognizer { program, texts, .. } = &*self.recognizer;
        let Some((texts, at)) = refused_texts(program, texts, item) else { return Ok(()) };
        let mut reader = self.terminals();
        for &cursor in Arc::clone(reader.cache.cursor_sets.cursors(cursors)).iter() {
            let TokenTrie::RepeatTails(repeat) = reader.cache.trie_of(cursor) else {
                reader.add_duplicates_below((&texts, at), item.state, cursor, uncertain)?;
                continue;
            };
            for byte in texts.first_bytes(at).iter() {
                let trie = reader.repeat_tails_at(&repeat, byte);
                let cursor = TrieCursor { trie, ..cursor };
                reader.add_duplicates_below((&texts, at), item.state, cursor, uncertain)?;
            }
        }
        Ok(())
    }
}

impl TerminalReader<'_> {
    /// The same below one cursor, from a state of the item.
    fn add_duplicates_below(
        &mut self,
        (texts, at): (&TextSets, TextPlace),
        state: Language,
        cursor: TrieCursor,
        uncertain: &mut Vec<u32>,
    ) -> Result<()> {
        let vocabulary: &Vocabulary = self.vocabulary;
        let tokens = self.cache.trie_of(cursor);
        let trie = tokens.trie(vocabulary);
        let mut pending = vec![(cursor.node as usize, at, state)];
        while let Some((node, at, state)) = pending.pop() {
            for child in trie.children(node, texts.first_bytes(at).bits()) {
                let TrieNode { byte, subtree_end, .. } = trie.nodes()[child];
                let (Some(at), state) =
                    (texts.advance(at, byte), self.languages.step(state, byte)?)
                else {
                    continue;
                };
                if texts.ends(at) {
                    if state == Language::EPSILON {
                        uncertain.extend_from_slice(trie.subtree_tokens(child));
                    } else {
                        // A number may go on; it ends where another byte comes.
                        let others = self.languages.first_bytes(state)?.complement();
                        for end in trie.children(child, others.bits()) {
                            uncertain.extend_from_slice(trie.subtree_tokens(end));
                        }
                    }
                }
                if state != Language::EMPTY && subtree_end as usize > child + 1 {
                    pending.push((child, at, state));
                }
            }
        }
        Ok(())
    }
}
