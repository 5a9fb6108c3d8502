//! Many cursors as one: the tails of their tokens in a trie of its own.
//!
//! A name may end at thousands of cursors, before an operator, a bracket or a full stop, and the
//! tails after all of them are a few hundred different ones. Each terminal that may follow would
//! visit all the cursors; so their tails are gathered once, when the terminal has been read:
//!
//! ```text
//! cursors after  foo|(x   bar|(x   foo|.     become one trie with the tails  (x (two tokens)   .
//! ```
//!
//! A token that the terminal reads to its last byte is allowed, whatever follows at an end of the
//! terminal within the token; its tails are left out. Where words may touch, these are nearly all.

use std::sync::Arc;

use super::split::new_trie_id;
use super::strategies::Strategy;
use super::terminal_reader::TerminalReader;
use super::terminal_tokens::TokensReadWhole;
use super::token_trie::TokenTrie;
use super::trie_cursor::TrieCursor;
use crate::regular::ByteSet;
use crate::vocabulary::{TokenMask, Trie, Vocabulary};

/// Fewer cursors are visited one by one.
const MIN_GATHERED_CURSORS: usize = 24;

/// A cursor with more tails than this stays, unless most of them are read whole: copies of them would take
/// memory, and it has been read for other terminals.
const MAX_COPIED_TAILS: usize = 1_000;

/// With more tails than this, building the trie takes longer than visiting the cursors.
const MAX_GATHERED_TAILS: usize = 150_000;

impl<'a> TerminalReader<'a> {
    /// The same cursors, or fewer with the same tails, for continuations that begin with none of
    /// `excluded_first`; without the tails of tokens that are read whole.
    pub(super) fn gather_cursors(
        &mut self,
        cursors: Vec<TrieCursor>,
        excluded_first: ByteSet,
        read_whole: TokensReadWhole<'_>,
    ) -> Vec<TrieCursor> {
        let inside = |cursor: &TrieCursor| cursor.node != 0 && cursor.is_shareable();
        let gathers = self.cache.shared.strategies().has(Strategy::GatheredCursors);
        if !gathers
            || cursors.iter().filter(|&cursor| inside(cursor)).count() < MIN_GATHERED_CURSORS
        {
            return cursors;
        }
        let (gathered, mut left): (Vec<TrieCursor>, Vec<TrieCursor>) =
            cursors.iter().partition(|&cursor| inside(cursor));
        let vocabulary: &Vocabulary = self.vocabulary;
        let read_whole = read_whole.mask(vocabulary);
        let mut tails: Vec<(&[u8], u32)> = Vec::new();
        for cursor in gathered {
            let before = tails.len();
            let all = self.add_tails(cursor, excluded_first, &read_whole, &mut tails);
            if all > MAX_COPIED_TAILS && tails.len() - before > all / 2 {
                tails.truncate(before);
                left.push(cursor);
            }
            if tails.len() > MAX_GATHERED_TAILS {
                return cursors;
            }
        }
        left.sort_unstable();
        if tails.is_empty() {
            return left;
        }
        let tails = Trie::from_unsorted(tails);
        let trie = self.cache.add_trie(new_trie_id(), || TokenTrie::Gathered(Arc::new(tails)));
        left.push(TrieCursor::root(trie));
        left.sort_unstable();
        left
    }

    /// Adds the tails below a cursor that are not read whole and begin with none of some bytes; the number
    /// of all of them, those read whole included.
    fn add_tails(
        &self,
        cursor: TrieCursor,
        excluded_first: ByteSet,
        read_whole: &TokenMask,
        tails: &mut Vec<(&'a [u8], u32)>,
    ) -> usize {
        let tokens = self.cache.trie_of(cursor);
        let trie = tokens.trie(self.vocabulary);
        let nodes = trie.nodes();
        let top = nodes[cursor.node as usize];
        let mut all = 0;
        let mut node = cursor.node as usize + 1;
        while node < top.subtree_end as usize {
            let at = nodes[node];
            if at.depth == top.depth + 1 && excluded_first.contains(at.byte) {
                node = at.subtree_end as usize;
                continue;
            }
            let rest = usize::from(at.depth - top.depth);
            for (i, &token) in trie.tokens(node).iter().enumerate() {
                if !tokens.satisfies(cursor.condition, at.first_token as usize + i) {
                    continue;
                }
                all += 1;
                if !read_whole.contains(token) {
                    // Below a node stand the last bytes of the token, in tries of tails, too.
                    let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
                    tails.push((&bytes[bytes.len().saturating_sub(rest)..], token));
                }
            }
            node += 1;
        }
        all
    }
}
