//! The vocabulary by the shapes of its tokens.
//!
//! Patterns rarely tell one digit from another, or one letter: they distinguish *classes* of bytes.
//! The shape of a token has the representative of each byte's class in its place (`Ab12` has the
//! shape `Aa00`), and the trie of shapes is a twentieth the size of that of bytes. A walk goes over
//! it as long as the states that it meets treat all bytes of the next class alike; where one does
//! not, the tokens below are read by their bytes.

use super::byte_classes::{class_of, classes, is_alone, members};
use super::byte_groups::{EdgeBytes, groups_below};
use super::state_table::StateTable;
use super::walk::{GroupedTrie, TokenWalk};
use crate::deadline;
use crate::error::Result;
use crate::regular::ByteSet;
use crate::vocabulary::{Trie, Vocabulary};

/// No more tokens below one node of shapes than this are read one by one; more are walked in the
/// trie of bytes.
const TOKENS_READ_SINGLY: usize = 1_024;

/// The trie of tokens in which each byte is replaced by the representative of its class.
#[derive(Debug)]
pub(in crate::mask) struct ShapeTrie {
    trie: Trie,
    /// Of each node, the groups of all bytes of the classes below it.
    groups_below: Box<[u64]>,
    /// Of each node, the length of the longest shape below it.
    heights: Box<[u16]>,
}

impl ShapeTrie {
    pub(in crate::mask) fn new(vocabulary: &Vocabulary) -> Self {
        let shape = |token: u32| -> Vec<u8> {
            let bytes = vocabulary.token_bytes(token).unwrap_or_default();
            bytes.iter().map(|&byte| class_of(byte)).collect()
        };
        let ids = vocabulary.trie().ids();
        let mut shapes: Vec<(Vec<u8>, u32)> = ids.iter().map(|&id| (shape(id), id)).collect();
        shapes.sort_unstable();
        let shapes = shapes.iter().map(|(shape, id)| (&shape[..], *id));
        Self::of(Trie::from_sorted(shapes))
    }

    pub(in crate::mask) fn of(trie: Trie) -> Self {
        let groups_below = groups_below(&trie, EdgeBytes::Classes);
        Self { heights: heights(&trie), trie, groups_below }
    }

    pub(in crate::mask) fn trie(&self) -> &Trie {
        &self.trie
    }

    /// The length of the longest shape below a node.
    pub(in crate::mask) fn height(&self, node: usize) -> u16 {
        self.heights[node]
    }

    /// The node of shapes below which the same tokens stand as below one of bytes, if there is one:
    /// if all bytes before it are alone in their classes.
    pub(in crate::mask) fn same_node(&self, vocabulary: &Vocabulary, node: u32) -> Option<usize> {
        let trie = vocabulary.trie();
        let depth = usize::from(trie.nodes()[node as usize].depth);
        let token = *trie.subtree_tokens(node as usize).first()?;
        let before = vocabulary.token_bytes(token)?.get(..depth)?;
        if before.iter().all(|&byte| is_alone(byte)) { self.trie.find(before) } else { None }
    }

    /// The node of bytes below which the same tokens stand as below the parent of one of shapes, if
    /// there is one.
    pub(in crate::mask) fn same_parent(&self, vocabulary: &Vocabulary, node: u32) -> Option<u32> {
        let depth = usize::from(self.trie.nodes()[node as usize].depth);
        let token = *self.trie.subtree_tokens(node as usize).first()?;
        let before = vocabulary.token_bytes(token)?.get(..depth.checked_sub(1)?)?;
        let alone = before.iter().all(|&byte| is_alone(byte));
        if alone { vocabulary.trie().find(before).map(|node| node as u32) } else { None }
    }

    /// Reads all tokens below a node of shapes that begin with `first` after it; `shape_node` is
    /// that node, and below `byte_node` of the trie `bytes` stand the same tokens.
    pub(in crate::mask) fn walk_children(
        &self,
        vocabulary: &Vocabulary,
        walk: &mut TokenWalk<'_>,
        shape_node: usize,
        bytes: GroupedTrie<'_>,
        byte_node: u32,
        first: ByteSet,
    ) -> Result<()> {
        for class in classes() {
            deadline::check()?;
            if walk.states.is_uniform(StateTable::START, class)? {
                if first.contains(class)
                    && let Some(child) = self.trie.child(shape_node, class)
                {
                    self.walk_below(vocabulary, walk, child, bytes)?;
                }
            } else {
                let first = first.intersection(&members(class));
                for child in bytes.trie.children(byte_node as usize, first.bits()) {
                    walk.read_subtree(bytes, child)?;
                }
            }
            walk.clear_ends();
        }
        Ok(())
    }

    /// Reads all tokens from a node of shapes on, the class of whose byte the state before treats
    /// alike.
    fn walk_below(
        &self,
        vocabulary: &Vocabulary,
        walk: &mut TokenWalk<'_>,
        mut node: usize,
        bytes: GroupedTrie<'_>,
    ) -> Result<()> {
        let shapes = GroupedTrie { trie: &self.trie, groups_below: &self.groups_below };
        let nodes = self.trie.nodes();
        let last = nodes[node].subtree_end as usize;
        while node < last {
            let at = nodes[node];
            let before = walk.return_before(at.depth);
            if walk.states.is_uniform(before, at.byte)? {
                node = walk.visit(shapes, node, before)?;
                continue;
            }
            let tokens = self.trie.subtree_tokens(node);
            if tokens.len() > TOKENS_READ_SINGLY {
                for child in self.nodes_of_shape(vocabulary, node) {
                    walk.read_subtree(bytes, child as usize)?;
                }
            } else {
                for &token in tokens {
                    walk.read_token(token, at.depth - 1)?;
                }
            }
            node = at.subtree_end as usize;
        }
        Ok(())
    }

    /// The nodes of bytes below which the same tokens stand as below one of shapes.
    fn nodes_of_shape(&self, vocabulary: &Vocabulary, node: usize) -> Vec<u32> {
        let depth = usize::from(self.trie.nodes()[node].depth);
        let token = self.trie.subtree_tokens(node).first();
        let bytes = token.and_then(|&token| vocabulary.token_bytes(token)).unwrap_or_default();
        let mut found = vec![0];
        for &byte in &bytes[..depth] {
            let class = members(class_of(byte));
            let (trie, before) = (vocabulary.trie(), std::mem::take(&mut found));
            for node in before {
                found.extend(trie.children(node as usize, class.bits()).map(|child| child as u32));
            }
        }
        found
    }
}

/// For each node of a trie, the length of the longest string below it.
fn heights(trie: &Trie) -> Box<[u16]> {
    // By depth: the longest string that is below the nodes there which are not done yet.
    let mut deepest: Vec<u16> = Vec::new();
    let mut heights = vec![0; trie.nodes().len()];
    for (node, at) in trie.nodes().iter().enumerate().rev() {
        let depth = usize::from(at.depth);
        if deepest.len() <= depth + 1 {
            deepest.resize(depth + 2, 0);
        }
        let below = std::mem::take(&mut deepest[depth + 1]).max(at.depth);
        heights[node] = below - at.depth;
        deepest[depth] = deepest[depth].max(below);
    }
    heights.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{Compared, TestTokens};

    #[test]
    fn a_walk_by_shapes_is_a_plain_walk() {
        let tokens = TestTokens::new(9, ["a", "b", "Z", "0", "7", "é", "→", "-", "\"", "aa", "00"]);
        let mut compared = Compared::new(&tokens, 5_000);
        for pattern in [
            "[a-zé]+[0-9]{2,5}(-[A-Z])?",
            "[^\"]*\"[a0]*",
            "(a|7|é)+([b0]-?)*",
            "(?:[^\"7→]|7[a-z])*\"?",
        ] {
            compared.all_states(pattern, |tables, vocabulary, l, start| {
                tables.split_below(vocabulary, l, start).map(Some)
            });
        }
        compared.at_least(20);
    }
}
