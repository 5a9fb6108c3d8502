//! Children of trie nodes by their bytes.
//!
//! In preorder the siblings of a node with many children are far apart, and each one that is passed
//! over is a cache miss. So the children of such nodes are listed together besides, found by the
//! rank of their byte in a set of 256 bits.

use rustc_hash::FxHashMap;

use super::{NO_NODE, Trie, TrieNode};

/// The children of all nodes with at least [`Self::MIN_CHILDREN`] children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChildIndex {
    /// For each such node, the set of its children's bytes and the place in `children` at which
    /// they begin.
    nodes: FxHashMap<u32, ([u64; 4], u32)>,
    /// Indices of child nodes, those of one node together in the order of their bytes.
    children: Vec<u32>,
}

impl ChildIndex {
    /// Fewer children are passed over one after the other, which costs less than a hash lookup.
    const MIN_CHILDREN: u32 = 8;

    /// The index of the children of all nodes.
    pub(super) fn new(nodes: &[TrieNode]) -> Self {
        let mut this = Self::default();
        /// Largest trie, in nodes, that gets no index: all of it lies in a few cache lines.
        const MAX_UNINDEXED_NODES: usize = 128;
        if nodes.len() <= MAX_UNINDEXED_NODES {
            return this;
        }
        // By depth: the open node, and its children so far.
        let mut open_children: Vec<Vec<u32>> = vec![Vec::new()];
        let mut open = vec![0];
        for (at, node) in (0u32..).zip(nodes).skip(1) {
            let depth = usize::from(node.depth);
            while open.len() > depth {
                this.close(nodes, open.pop().unwrap_or(0), &mut open_children[open.len()]);
            }
            open_children[depth - 1].push(at);
            open.push(at);
            if open_children.len() == depth {
                open_children.push(Vec::new());
            }
        }
        while open.len() > 1 {
            this.close(nodes, open.pop().unwrap_or(0), &mut open_children[open.len()]);
        }
        this
    }

    /// Adds a node whose children are complete, and clears the list.
    fn close(&mut self, nodes: &[TrieNode], node: u32, children: &mut Vec<u32>) {
        if children.len() >= Self::MIN_CHILDREN as usize {
            let mut bytes = [0; 4];
            for &child in &*children {
                let byte = nodes[child as usize].byte;
                bytes[usize::from(byte / 64)] |= 1 << (byte % 64);
            }
            self.nodes.insert(node, (bytes, self.children.len() as u32));
            self.children.extend_from_slice(children);
        }
        children.clear();
    }

    /// The memory that the index takes, in bytes, about.
    pub(super) fn memory_bytes(&self) -> usize {
        /// Key, value and control byte of a hash table at its usual load.
        const ENTRY_BYTES: usize = 56;
        self.nodes.len() * ENTRY_BYTES + self.children.len() * size_of::<u32>()
    }
}

/// Iterator over children of a node ([`Trie::children`]).
#[derive(Clone, Debug)]
pub(crate) struct Children<'a> {
    trie: &'a Trie,
    /// The bytes whose children are still to come.
    bytes: [u64; 4],
    lookup: ChildLookup,
}

/// The way from a byte to the child.
#[derive(Clone, Copy, Debug)]
enum ChildLookup {
    /// The root's table of children.
    Roots,
    /// The rank of the byte in the set of the children's bytes, added to the place in
    /// [`ChildIndex::children`] at which they begin.
    Ranked([u64; 4], u32),
    /// One sibling after the other, from a node to the end of the parent's subtree.
    Siblings(usize, usize),
}

impl<'a> Children<'a> {
    /// The children of `node` whose bytes are in the set.
    pub(super) fn new(trie: &'a Trie, node: usize, bytes: [u64; 4]) -> Self {
        let end = trie.nodes[node].subtree_end as usize;
        // Only a subtree with more nodes can have an entry.
        let entry = (end - node > ChildIndex::MIN_CHILDREN as usize)
            .then(|| trie.child_index.nodes.get(&(node as u32)));
        let lookup = match entry.flatten() {
            _ if node == 0 => ChildLookup::Roots,
            Some(&(all, start)) => {
                let present = std::array::from_fn(|i| bytes[i] & all[i]);
                return Self { trie, bytes: present, lookup: ChildLookup::Ranked(all, start) };
            }
            None => ChildLookup::Siblings(node + 1, end),
        };
        Self { trie, bytes, lookup }
    }
}

impl Iterator for Children<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if let ChildLookup::Siblings(next, end) = &mut self.lookup {
            while *next < *end {
                let (child, at) = (*next, self.trie.nodes[*next]);
                *next = at.subtree_end as usize;
                if self.bytes[usize::from(at.byte / 64)] >> (at.byte % 64) & 1 == 1 {
                    return Some(child);
                }
            }
            return None;
        }
        loop {
            let word = self.bytes.iter().position(|&word| word != 0)?;
            let bit = self.bytes[word].trailing_zeros();
            self.bytes[word] &= self.bytes[word] - 1;
            match self.lookup {
                ChildLookup::Ranked(all, start) => {
                    let before: u32 = all[..word].iter().map(|word| word.count_ones()).sum();
                    let rank = before + (all[word] & ((1 << bit) - 1)).count_ones();
                    return Some(self.trie.child_index.children[(start + rank) as usize] as usize);
                }
                _ => match self.trie.roots[word * 64 + bit as usize] {
                    NO_NODE => {}
                    child => return Some(child as usize),
                },
            }
        }
    }
}
