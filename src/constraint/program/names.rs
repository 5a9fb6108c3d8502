//! Choices of names.

use super::*;

/// Where a byte of a name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::constraint) enum NameStep {
    Dead,
    /// Another node of the names' trie.
    Inside(u32),
    /// The end of the name with this index.
    End(u32),
}

/// Some names of which one is read, as a trie that all choices of the same names share.
#[derive(Debug)]
pub(crate) struct Names {
    /// By byte strings, none of which begins another; ids are ranks in their order.
    pub(super) trie: Arc<Trie>,
    /// By rank: may it come?
    pub(super) allowed: Box<[u64]>,
    /// What the source calls this choice.
    pub(super) tag: u32,
    /// By rank: where it leads, once asked for.
    pub(super) targets: FxHashMap<u32, PointId>,
}

impl Names {
    /// A choice of those names in a trie whose ranks are `allowed`.
    pub(crate) fn new(trie: Arc<Trie>, allowed: impl IntoIterator<Item = u32>, tag: u32) -> Self {
        let mut bits = vec![0u64; trie.ids().len().div_ceil(64)];
        for rank in allowed {
            bits[rank as usize / 64] |= 1 << (rank % 64);
        }
        Self { trie, allowed: bits.into(), tag, targets: FxHashMap::default() }
    }

    /// Is any name below this node allowed?
    fn any(&self, node: u32) -> bool {
        let ranks = self.trie.subtree_tokens(node as usize);
        let (Some(&first), Some(&last)) = (ranks.first(), ranks.last()) else { return false };
        // The words between, less the bits outside at both ends.
        (first / 64..=last / 64).any(|word| {
            let mut bits = self.allowed[word as usize];
            if word == first / 64 {
                bits &= u64::MAX << (first % 64);
            }
            if word == last / 64 {
                bits &= u64::MAX >> (63 - last % 64);
            }
            bits != 0
        })
    }

    pub(super) fn step(&self, node: u32, byte: u8) -> NameStep {
        let child = match node {
            0 => self.trie.first(byte),
            _ => self.trie.child(node as usize, byte),
        };
        match child {
            Some(child) if self.any(child as u32) => match *self.trie.tokens(child) {
                [rank] => NameStep::End(rank),
                _ => NameStep::Inside(child as u32),
            },
            _ => NameStep::Dead,
        }
    }

    pub(super) fn first(&self, node: u32) -> ByteSet {
        let nodes = self.trie.nodes();
        let end = nodes[node as usize].subtree_end as usize;
        let mut bytes = ByteSet::EMPTY;
        let mut child = node as usize + 1;
        while child < end {
            if self.any(child as u32) {
                bytes.insert(nodes[child].byte);
            }
            child = nodes[child].subtree_end as usize;
        }
        bytes
    }
}
