//! Tokens in which an item of a `uniqueItems` array ends as one that the array holds already.
//!
//! The language of such items does not exclude the items written before; these are *refused* where an
//! item ends ([`refused_texts`](crate::recognizer::refused_texts)). So a walk of the language allows
//! tokens that repeat an earlier item. A walk of the token trie and the set of refused texts side by side
//! finds these tokens, and they become uncertain.

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
    /// [`MaskBuilder::add_duplicate_items`] below one cursor, from a state of the item.
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
