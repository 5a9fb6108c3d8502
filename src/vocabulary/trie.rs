//! The prefix trie of all text tokens, as a flat array of nodes in preorder.
//!
//! A walk over the trie is one forward pass over the array: from a node that the walker accepts it
//! goes on to the next node, which is the first child; from a node that it rejects it jumps to
//! [`TrieNode::subtree_end`]. The tokens `a` (id 0), `ab` (1), `b` (2) and `ba` (3) are
//!
//! ```text
//! node  string  byte  depth  subtree_end  first_token      ids: 0 1 2 3
//!    0  ""             0           5            0
//!    1  "a"      a     1           3            0
//!    2  "ab"     b     2           3            1
//!    3  "b"      b     1           5            2
//!    4  "ba"     a     2           5            3
//!    5  (sentinel)                 6            4
//! ```
//!
//! # Invariants
//!
//! - Node 0 is the root, the empty string. Siblings are in ascending order of their bytes, so
//!   strings are in strictly ascending order of node indices.
//! - The ids in trie order are sorted by their tokens' bytes, equal ones by id. The tokens at a
//!   node are `ids[first_token .. next node's first_token]`, those in its subtree `ids[first_token
//!   .. first_token of subtree_end]`.
//! - The root has no tokens: an empty token is in no mask.
//!
//! The index stores bytes, depths and first tokens of all nodes but the root, and the ids; ends of
//! subtrees follow from depths.

mod child_index;

use super::index::{IndexReader, IndexWriter};
use super::token_table::TokenTable;
use child_index::{ChildIndex, Children};

/// One node: the string of bytes on the path from the root to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrieNode {
    /// Index of the first node after this one's subtree.
    pub subtree_end: u32,
    /// Index into the ids in trie order ([`Trie::ids`]) of the first token at or below this node.
    pub first_token: u32,
    /// Length of the string in bytes; 0 for the root.
    pub depth: u16,
    /// The last byte of the string; 0 for the root, which has none.
    pub byte: u8,
}

/// The text tokens of a vocabulary as a prefix trie: nodes in preorder, siblings in the order of
/// their bytes. Node 0 is the root, the empty string, which never has tokens. Several ids may share
/// a node.
///
/// From a node that a walk accepts it goes on to the next node, the first child; from one that it
/// rejects it jumps to [`TrieNode::subtree_end`].
///
/// ```
/// use maskwright::Vocabulary;
/// // Count the tokens made of `a` and `b` only, without looking below a rejected byte.
/// let tokens = ["a", "ab", "abc", "b", "cab", "ca"].map(|t| Some(t.as_bytes().to_vec()));
/// let vocab = Vocabulary::from_tokens(tokens.to_vec(), &[], &[])?;
/// let trie = vocab.trie();
/// let (mut node, mut found) = (1, 0);
/// while let Some(n) = trie.nodes().get(node) {
///     if n.byte == b'c' {
///         node = n.subtree_end as usize;
///         continue;
///     }
///     found += trie.tokens(node).len();
///     node += 1;
/// }
/// assert_eq!(found, 3);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trie {
    /// The nodes, and after them a sentinel whose `first_token` is the number of ids.
    nodes: Vec<TrieNode>,
    ids: Vec<u32>,
    /// The root's children by byte, [`NO_NODE`] where there is none.
    roots: Box<[u32; 256]>,
    child_index: ChildIndex,
    /// The depth of the deepest node: the length of the longest token in bytes.
    longest: u16,
}

/// An index that is no node's.
const NO_NODE: u32 = u32::MAX;

impl Trie {
    /// The trie of a table's text tokens without the end tokens. O(n log n) for n tokens.
    pub(crate) fn new(table: &TokenTable, end: &[u32]) -> Self {
        // The first eight bytes beside the id decide nearly every comparison without following
        // the token into memory.
        let mut sorted: Vec<(u64, u32)> = (0..table.len() as u32)
            .filter(|id| !end.contains(id))
            .filter_map(|id| match table.text(id)? {
                [] => None,
                bytes => Some((first_eight_bytes(bytes), id)),
            })
            .collect();
        let text = |id| table.text(id).unwrap_or_default();
        sorted.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1))).then(a.1.cmp(&b.1))
        });

        Self::from_sorted(sorted.into_iter().map(|(_, id)| (text(id), id)))
    }

    /// The trie of non-empty strings in any order, each with its id; duplicates count once.
    pub(crate) fn from_unsorted<'a>(texts: impl IntoIterator<Item = (&'a [u8], u32)>) -> Self {
        let texts = texts.into_iter();
        let mut sorted: Vec<_> =
            texts.map(|(text, id)| (first_eight_bytes(text), text, id)).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Self::from_sorted(sorted.into_iter().map(|(_, text, id)| (text, id)))
    }

    /// The trie of non-empty strings that are sorted by their bytes, each with its id. Strings have
    /// at most `u16::MAX` bytes, as tokens do.
    pub(crate) fn from_sorted<'a>(sorted: impl IntoIterator<Item = (&'a [u8], u32)>) -> Self {
        let mut nodes = vec![TrieNode { subtree_end: 0, first_token: 0, depth: 0, byte: 0 }];
        let mut ids = Vec::new();
        let mut path = vec![0usize];
        let mut previous: &[u8] = b"";
        let mut roots = [NO_NODE; 256];
        for (bytes, id) in sorted {
            let shared = previous.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            for closed in path.drain(shared + 1..) {
                nodes[closed].subtree_end = nodes.len() as u32;
            }
            for (depth, &byte) in bytes.iter().enumerate().skip(shared) {
                if depth == 0 {
                    roots[usize::from(byte)] = nodes.len() as u32;
                }
                path.push(nodes.len());
                let (first_token, depth) = (ids.len() as u32, depth as u16 + 1);
                nodes.push(TrieNode { subtree_end: 0, first_token, depth, byte });
            }
            ids.push(id);
            previous = bytes;
        }
        let end = nodes.len() as u32;
        for open in path {
            nodes[open].subtree_end = end;
        }
        let first_token = ids.len() as u32;
        nodes.push(TrieNode { subtree_end: end + 1, first_token, depth: 0, byte: 0 });
        let child_index = ChildIndex::new(&nodes[..end as usize]);
        let longest = deepest(&nodes);
        Self { nodes, ids, roots: Box::new(roots), child_index, longest }
    }

    /// Writes the trie into an index: bytes, depths and first tokens of all nodes but the root,
    /// then the ids.
    pub(crate) fn encode(&self, to: &mut IndexWriter) {
        to.list(self.nodes()[1..].iter().map(|node| node.byte));
        to.list(self.nodes()[1..].iter().map(|node| node.depth));
        to.list(self.nodes()[1..].iter().map(|node| node.first_token));
        to.list(self.ids.iter().copied());
    }

    /// Reads a trie from an index; `None` if the data is no trie of ids below `limit`.
    pub(crate) fn decode(from: &mut IndexReader<'_>, limit: usize) -> Option<Self> {
        let (bytes, depths) = (from.list::<u8>()?, from.list::<u16>()?);
        let firsts = from.list::<u32>()?;
        let ids: Vec<u32> = from.list()?.collect();
        let count = bytes.len();
        if depths.len() != count || firsts.len() != count || u32::try_from(count + 2).is_err() {
            return None;
        }
        let mut nodes = Vec::with_capacity(count + 2);
        nodes.push(TrieNode { subtree_end: 0, first_token: 0, depth: 0, byte: 0 });
        let mut roots = [NO_NODE; 256];
        // The open nodes, by depth.
        let mut path = vec![0usize];
        let mut last = 0;
        for ((byte, depth), first_token) in bytes.zip(depths).zip(firsts) {
            let at = nodes.len();
            if depth == 0 || usize::from(depth) > path.len() || first_token < last {
                return None;
            }
            for closed in path.drain(usize::from(depth)..) {
                nodes[closed].subtree_end = at as u32;
            }
            if depth == 1 {
                roots[usize::from(byte)] = at as u32;
            }
            path.push(at);
            last = first_token;
            nodes.push(TrieNode { subtree_end: 0, first_token, depth, byte });
        }
        let end = nodes.len() as u32;
        for open in path {
            nodes[open].subtree_end = end;
        }
        let first_token = u32::try_from(ids.len()).ok()?;
        nodes.push(TrieNode { subtree_end: end + 1, first_token, depth: 0, byte: 0 });
        let sound = last <= first_token && ids.iter().all(|&id| (id as usize) < limit);
        sound.then(|| {
            let child_index = ChildIndex::new(&nodes[..end as usize]);
            let longest = deepest(&nodes);
            Self { nodes, ids, roots: Box::new(roots), child_index, longest }
        })
    }

    /// The length of the longest string in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.longest.into()
    }

    /// The memory that the trie takes, in bytes, about.
    pub(crate) fn memory_bytes(&self) -> usize {
        let nodes = self.nodes.capacity() * size_of::<TrieNode>();
        nodes
            + self.ids.capacity() * size_of::<u32>()
            + size_of_val(&*self.roots)
            + self.child_index.memory_bytes()
    }

    /// The nodes in preorder; node 0 is the root.
    pub fn nodes(&self) -> &[TrieNode] {
        &self.nodes[..self.nodes.len() - 1]
    }

    /// The ids of all text tokens, sorted by their bytes.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The ids whose bytes are exactly this node's string, ascending.
    ///
    /// # Panics
    /// If `node` is not an index into [`nodes`](Self::nodes).
    pub fn tokens(&self, node: usize) -> &[u32] {
        self.ids_between(node, node + 1)
    }

    /// The ids of the tokens that start with this node's string, itself included, sorted by their
    /// bytes.
    ///
    /// # Panics
    /// If `node` is not an index into [`nodes`](Self::nodes).
    pub fn subtree_tokens(&self, node: usize) -> &[u32] {
        self.ids_between(node, self.nodes[node].subtree_end as usize)
    }

    /// The ids whose tokens lie at the nodes from `node` up to `end`, exclusive.
    fn ids_between(&self, node: usize, end: usize) -> &[u32] {
        &self.ids[self.nodes[node].first_token as usize..self.nodes[end].first_token as usize]
    }

    /// The child of the root with this byte. O(1).
    pub fn root_child(&self, byte: u8) -> Option<usize> {
        match self.roots[usize::from(byte)] {
            NO_NODE => None,
            node => Some(node as usize),
        }
    }

    /// The children of a node whose bytes are in the set `bytes` (256 bits, byte `b` is bit `b %
    /// 64` of word `b / 64`), in ascending order of their bytes. Visits no other children where a
    /// node has many.
    pub(crate) fn children(&self, node: usize, bytes: [u64; 4]) -> Children<'_> {
        Children::new(self, node, bytes)
    }

    /// Calls `found` with each token that spells a text from an offset on, and the offset after it. `byte` gives
    /// the bytes of the text; `None` ends it.
    pub(crate) fn tokens_from(
        &self,
        at: usize,
        byte: impl Fn(usize) -> Option<u8>,
        found: &mut dyn FnMut(u32, usize),
    ) {
        let mut node = byte(at).and_then(|first| self.root_child(first));
        let mut end = at + 1;
        while let Some(here) = node {
            if let Some(&token) = self.tokens(here).first() {
                found(token, end);
            }
            node = byte(end).and_then(|byte| self.child(here, byte));
            end += 1;
        }
    }

    /// The fewest tokens that spell each tail of a text, by its offset; [`u32::MAX`] where none do. O(n * longest).
    pub(crate) fn fewest_tokens(&self, text: &[u8]) -> Vec<u32> {
        let mut fewest = vec![u32::MAX; text.len() + 1];
        fewest[text.len()] = 0;
        for at in (0..text.len()).rev() {
            let mut least = u32::MAX;
            self.tokens_from(at, |at| text.get(at).copied(), &mut |_, end| {
                least = least.min(fewest[end].saturating_add(1));
            });
            fewest[at] = least;
        }
        fewest
    }

    /// The child of a node with this byte. O(1), at most seven siblings are passed over.
    ///
    /// # Panics
    /// If `node` is not an index into [`nodes`](Self::nodes).
    pub fn child(&self, node: usize, byte: u8) -> Option<usize> {
        let mut bytes = [0; 4];
        bytes[usize::from(byte / 64)] = 1 << (byte % 64);
        self.children(node, bytes).next()
    }

    /// The node of a string, if some token starts with it. O(length of the string).
    pub fn find(&self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().try_fold(0, |node, &byte| self.child(node, byte))
    }
}

/// The depth of the deepest node.
fn deepest(nodes: &[TrieNode]) -> u16 {
    nodes.iter().map(|node| node.depth).max().unwrap_or(0)
}

impl Default for Trie {
    fn default() -> Self {
        Self::from_sorted([])
    }
}

/// The first eight bytes as a big-endian number, padded with zeros. Numbers that differ are in the
/// order of the strings; equal ones decide nothing.
pub(crate) fn first_eight_bytes(bytes: &[u8]) -> u64 {
    let mut head = [0; 8];
    let n = bytes.len().min(8);
    head[..n].copy_from_slice(&bytes[..n]);
    u64::from_be_bytes(head)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::vocabulary::token_table::TokenKind;
    use proptest::prelude::*;

    fn trie_of(tokens: &[Vec<u8>]) -> Trie {
        let mut table = TokenTable::default();
        for (id, bytes) in (0..).zip(tokens) {
            table.set(id, bytes, TokenKind::Text).unwrap();
        }
        Trie::new(&table, &[])
    }

    /// The string of each node, read off the bytes and depths alone.
    fn strings(trie: &Trie) -> Vec<Vec<u8>> {
        let mut path = vec![];
        trie.nodes()
            .iter()
            .map(|node| {
                path.truncate(usize::from(node.depth).saturating_sub(1));
                path.extend((node.depth > 0).then_some(node.byte));
                path.clone()
            })
            .collect()
    }

    #[test]
    fn no_token_is_a_root_alone() {
        let trie = trie_of(&[vec![]]);
        assert_eq!(trie.nodes().len(), 1);
        assert_eq!(trie.nodes()[0].subtree_end, 1);
        assert!(trie.tokens(0).is_empty() && trie.subtree_tokens(0).is_empty());
        assert_eq!(trie.child(0, b'a'), None);
        assert_eq!(trie.find(b""), Some(0));
    }

    #[test]
    fn ids_with_equal_bytes_share_a_node() {
        let trie = trie_of(&[b"ab".to_vec(), b"a".to_vec(), b"ab".to_vec(), vec![0], vec![0, 0]]);
        let ab = trie.find(b"ab").unwrap();
        assert_eq!(trie.tokens(ab), [0, 2]);
        assert_eq!(trie.subtree_tokens(trie.find(b"a").unwrap()), [1, 0, 2]);
        assert_eq!(trie.tokens(trie.find(b"\0").unwrap()), [3]);
        assert_eq!(trie.ids(), [3, 4, 1, 0, 2]);
    }

    proptest! {
        #[test]
        fn is_in_preorder(tokens in prop::collection::vec(prop::collection::vec(0u8..4, 0..12), 0..60)) {
            let trie = trie_of(&tokens);
            let strings = strings(&trie);
            // Strictly ascending: preorder with sorted siblings, and no string twice.
            prop_assert!(strings.is_sorted_by(|a, b| a < b));
            for (node, string) in strings.iter().enumerate() {
                let n = trie.nodes()[node];
                prop_assert_eq!(usize::from(n.depth), string.len());
                prop_assert_eq!(trie.find(string), Some(node));
                let inside = strings.iter().filter(|s| s.starts_with(string)).count();
                prop_assert_eq!(n.subtree_end as usize, node + inside);
                let ids = |keep: &dyn Fn(&[u8]) -> bool| -> Vec<u32> {
                    (0..).zip(&tokens).filter(|(_, t)| !t.is_empty() && keep(t)).map(|(id, _)| id).collect()
                };
                prop_assert_eq!(trie.tokens(node), ids(&|t| t == &string[..]));
                let mut below = trie.subtree_tokens(node).to_vec();
                below.sort_unstable();
                prop_assert_eq!(below, ids(&|t| t.starts_with(string)));
            }
            for token in &tokens {
                prop_assert!(trie.find(token).is_some());
            }
            let (limit, mut writer) = (tokens.len(), IndexWriter::default());
            trie.encode(&mut writer);
            let mut reader = writer.reader();
            prop_assert_eq!(Trie::decode(&mut reader, limit), Some(trie.clone()));
            // The highest id is beyond the limit.
            let beyond = trie.ids().iter().max().map_or(0, |&id| id as usize);
            let read = Trie::decode(&mut writer.reader(), beyond);
            prop_assert_eq!(read.is_none(), !trie.ids().is_empty());
        }
    }
}
