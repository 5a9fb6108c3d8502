//! The walk that makes a split: through a trie of tokens with a state of the terminal.
//!
//! [`TokenWalk::read_subtree`] over the vocabulary's trie, with no strategy, is the definition of a split:
//! a token below a node is inside if the state reads all of its bytes; otherwise each end of the
//! terminal on its way is an exit.

use super::state_table::StateTable;
use super::{SplitDraft, SplitState, TokenExit};
use crate::error::Result;
use crate::mask::strategies::Strategies;
use crate::regular::Languages;
use crate::vocabulary::{TokenMask, Trie, Vocabulary};

/// Nodes of the smallest subtree that is tested for skipping; below that, the test costs as much as the
/// visit.
const MIN_SKIPPED_NODES: usize = 3;

/// A trie, and the byte groups below its nodes.
#[derive(Clone, Copy)]
pub(in crate::mask) struct GroupedTrie<'a> {
    pub(in crate::mask) trie: &'a Trie,
    /// By node: the groups of the bytes that occur below it, as bits.
    pub(in crate::mask) groups_below: &'a [u64],
}

/// An end of the terminal on the path: its depth, and its state.
type PathEnd = (u16, u32);

/// The path to a node, and what was found on the way.
pub(in crate::mask) struct TokenWalk<'a> {
    vocabulary: &'a Vocabulary,
    pub(in crate::mask) states: StateTable<'a>,
    /// By depth: the state, and the byte before it.
    path: Vec<(u32, u8)>,
    /// The depth up to which the path leads now.
    depth: u16,
    ends: Vec<PathEnd>,
    draft: SplitDraft,
}

impl<'a> TokenWalk<'a> {
    /// A walk that stands at a state before the first byte of all tokens, which have no more than
    /// `longest` bytes.
    pub(in crate::mask) fn new(
        vocabulary: &'a Vocabulary,
        languages: &'a mut Languages,
        from: SplitState,
        longest: u16,
        strategies: Strategies,
    ) -> Self {
        Self {
            vocabulary,
            states: StateTable::new(languages, from, strategies),
            path: vec![(StateTable::START, 0); usize::from(longest) + 1],
            depth: 0,
            ends: Vec::new(),
            draft: SplitDraft::empty(vocabulary),
        }
    }

    /// The same walk with something found already.
    pub(in crate::mask) fn with_draft(self, draft: SplitDraft) -> Self {
        Self { draft, ..self }
    }

    /// The split that was found.
    pub(in crate::mask) fn finish(self) -> SplitDraft {
        self.draft
    }

    /// Goes back to before a node of this depth; the state there.
    #[inline]
    pub(in crate::mask) fn return_before(&mut self, depth: u16) -> u32 {
        while self.ends.last().is_some_and(|&(end, _)| end >= depth) {
            self.ends.pop();
        }
        self.depth = depth - 1;
        self.path[usize::from(depth) - 1].0
    }

    /// Goes on to a state.
    #[inline]
    fn push(&mut self, state: u32, byte: u8) {
        self.depth += 1;
        self.path[usize::from(self.depth)] = (state, byte);
    }

    /// Reads the byte of a node after the state `before`; the next node to visit.
    #[inline(always)]
    pub(in crate::mask) fn visit(
        &mut self,
        nodes: GroupedTrie<'_>,
        node: usize,
        before: u32,
    ) -> Result<usize> {
        let trie = nodes.trie;
        let at = trie.nodes()[node];
        let next = self.states.step(before, at.byte)?;
        self.draft.work += 1;
        let last = at.subtree_end as usize;
        if next == StateTable::DEAD {
            if !self.ends.is_empty() {
                self.note_exits(trie.subtree_tokens(node), at.byte)?;
            }
            return Ok(last);
        }
        if last - node >= MIN_SKIPPED_NODES
            && self.states.self_loops(next)? & nodes.groups_below[node] == nodes.groups_below[node]
        {
            self.note_inside(trie.subtree_tokens(node));
            return Ok(last);
        }
        self.note_inside(trie.tokens(node));
        if last > node + 1 {
            self.push(next, at.byte);
            if self.states.is_accepting(next) {
                self.ends.push((at.depth, next));
            }
        }
        Ok(node + 1)
    }

    /// Reads all tokens in the subtree of `node` (the node's own byte included). The state before the
    /// node is on the path.
    pub(in crate::mask) fn read_subtree(
        &mut self,
        nodes: GroupedTrie<'_>,
        mut node: usize,
    ) -> Result<()> {
        let all = nodes.trie.nodes();
        let last = all[node].subtree_end as usize;
        while node < last {
            let before = self.return_before(all[node].depth);
            node = self.visit(nodes, node, before)?;
        }
        Ok(())
    }

    /// Reads all tokens in the subtree of `node` again, from a given state before the node and with
    /// no end before it.
    pub(in crate::mask) fn reread_subtree(
        &mut self,
        nodes: GroupedTrie<'_>,
        node: usize,
        before: u32,
    ) -> Result<()> {
        for &token in nodes.trie.subtree_tokens(node) {
            self.draft.inside.deny(token);
        }
        if before == StateTable::DEAD {
            return Ok(());
        }
        self.path[usize::from(nodes.trie.nodes()[node].depth) - 1].0 = before;
        self.read_subtree(nodes, node)?;
        self.ends.clear();
        Ok(())
    }

    /// Reads the bytes of one token from the end of the path on, before which it has `from` bytes.
    pub(in crate::mask) fn read_token(&mut self, token: u32, from: u16) -> Result<()> {
        let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
        let ends = self.ends.len();
        let mut state = self.path[usize::from(from)].0;
        let mut left = None;
        self.depth = from;
        for (i, &byte) in bytes.iter().enumerate().skip(from.into()) {
            state = self.states.step(state, byte)?;
            self.draft.work += 1;
            if state == StateTable::DEAD {
                left = Some(byte);
                break;
            }
            self.push(state, byte);
            if self.states.is_accepting(state) && i + 1 < bytes.len() {
                self.ends.push((i as u16 + 1, state));
            }
        }
        match left {
            Some(byte) => self.note_exits(&[token], byte)?,
            None => self.draft.inside.allow(token),
        }
        self.depth = from;
        self.ends.truncate(ends);
        Ok(())
    }

    /// Reads one token again from its first byte.
    pub(in crate::mask) fn reread_token(&mut self, token: u32) -> Result<()> {
        self.draft.inside.deny(token);
        self.read_token(token, 0)
    }

    /// Notes exits that are known, but those of some tokens.
    pub(in crate::mask) fn copy_exits<'t>(
        &mut self,
        exits: &[TokenExit],
        but: impl IntoIterator<Item = &'t u32>,
    ) {
        if exits.is_empty() {
            return;
        }
        let mut left_out = TokenMask::new(self.vocabulary.len());
        but.into_iter().for_each(|&token| left_out.allow(token));
        self.draft.exits.extend(exits.iter().filter(|exit| !left_out.contains(exit.token)));
    }

    /// Leaves the subtree of a child of the start.
    pub(in crate::mask) fn clear_ends(&mut self) {
        self.ends.clear();
    }

    #[inline]
    fn note_inside(&mut self, tokens: &[u32]) {
        tokens.iter().for_each(|&token| self.draft.inside.allow(token));
        self.draft.work += tokens.len();
    }

    /// Notes tokens that leave the terminal with a byte after the path, by the ends on it.
    fn note_exits(&mut self, tokens: &[u32], byte: u8) -> Result<()> {
        for i in 0..self.ends.len() {
            let (at, state) = self.ends[i];
            let word = self.states.word_bytes(state)?;
            let next = if at < self.depth { self.path[usize::from(at) + 1].1 } else { byte };
            if word.contains(next) {
                self.draft.word_bytes = self.draft.word_bytes.union(&word);
            } else {
                self.draft.exits.extend(tokens.iter().map(|&token| TokenExit { token, at }));
            }
        }
        Ok(())
    }
}

/// The split below a node by its definition: one pass over the vocabulary's trie of bytes, node by
/// node.
#[cfg(test)]
pub(in crate::mask) fn plain_split(
    vocabulary: &Vocabulary,
    languages: &mut Languages,
    start: super::SplitStart,
) -> Result<SplitDraft> {
    use super::byte_groups::{EdgeBytes, groups_below};
    let trie = vocabulary.trie();
    let from = start.split_state();
    let longest = trie.nodes().iter().map(|node| node.depth).max().unwrap_or(0);
    let mut walk = TokenWalk::new(vocabulary, languages, from, longest, Strategies::NONE);
    let nodes = GroupedTrie { trie, groups_below: &groups_below(trie, EdgeBytes::Plain) };
    for child in trie.children(start.node as usize, crate::regular::ByteSet::ALL.bits()) {
        walk.read_subtree(nodes, child)?;
        walk.clear_ends();
    }
    Ok(walk.finish())
}
