//! Key choices, such as the keys of a JSON object: the trie of keys and the trie of tokens are walked
//! side by side.

use smallvec::SmallVec;

use super::builder::MaskBuilder;
use super::cursor_sets::CursorSetId;
use super::terminal_reader::TerminalReader;
use super::token_trie::TokenTrie;
use super::trie_cursor::TrieCursor;
use super::walk::VisitedNode;
use crate::error::Result;
use crate::grammar::key_choice::{KeyChoice, KeyRank, KeyStep};
use crate::recognizer::KeyChoiceId;
use crate::regular::ByteSet;
use crate::vocabulary::Vocabulary;

/// Keys that end inside tokens, by rank, and the cursors after them.
type KeyExits = SmallVec<[(KeyRank, CursorSetId); 2]>;

impl MaskBuilder<'_> {
    /// Adds the tokens that stay within the keys below a node of a choice, from some cursors.
    pub(super) fn read_keys(
        &mut self,
        (choice, node): (KeyChoiceId, u32),
        cursors: CursorSetId,
        tokens: &mut Vec<u32>,
    ) -> Result<KeyExits> {
        let choice = self.recognizer.program.key_choice(choice);
        let first = choice.first(node);
        let mut reader = self.terminals();
        let mut ends: Vec<(KeyRank, TrieCursor)> = Vec::new();
        for i in 0..reader.cache.cursor_sets.cursors(cursors).len() {
            let cursor = reader.cache.cursor_sets.cursors(cursors)[i];
            let TokenTrie::RepeatTails(repeat) = reader.cache.trie_of(cursor) else {
                reader.walk_keys(&choice, (node, first), cursor, tokens, &mut ends)?;
                continue;
            };
            for byte in first.iter() {
                let trie = reader.repeat_tails_at(&repeat, byte);
                let cursor = TrieCursor { trie, node: 0, ..cursor };
                reader.walk_keys(&choice, (node, first), cursor, tokens, &mut ends)?;
            }
        }
        ends.sort_unstable();
        let mut exits = KeyExits::new();
        for group in ends.chunk_by(|a, b| a.0 == b.0) {
            let mut cursors: Vec<TrieCursor> = group.iter().map(|end| end.1).collect();
            exits.push((group[0].0, reader.cache.cursor_sets.intern(&mut cursors)));
        }
        Ok(exits)
    }
}

impl TerminalReader<'_> {
    fn walk_keys(
        &mut self,
        choice: &KeyChoice,
        (key_node, first): (u32, ByteSet),
        cursor: TrieCursor,
        found: &mut Vec<u32>,
        ends: &mut Vec<(KeyRank, TrieCursor)>,
    ) -> Result<()> {
        let vocabulary: &Vocabulary = self.vocabulary;
        let tokens = self.cache.trie_of(cursor);
        let trie = tokens.trie(vocabulary);
        let nodes = trie.nodes();
        // A node of the trie of tokens and one of the trie of keys, with the first bytes of the latter.
        let mut pending: SmallVec<[(usize, u32, ByteSet); 16]> = SmallVec::new();
        pending.push((cursor.node as usize, key_node, first));
        while let Some((node, key, first)) = pending.pop() {
            for child in trie.children(node, first.bits()) {
                let at = nodes[child];
                let step = choice.step(key, at.byte);
                if step != KeyStep::Dead {
                    let visited = VisitedNode { from: cursor, tokens: &tokens, trie, node: child };
                    self.add_node_tokens(visited, found)?;
                }
                let is_leaf = at.subtree_end as usize == child + 1;
                match step {
                    KeyStep::Inside(key) if !is_leaf => {
                        pending.push((child, key, choice.first(key)));
                    }
                    KeyStep::End(rank) if !is_leaf => {
                        ends.push((rank, TrieCursor { node: child as u32, ..cursor }));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
