//! Choices of names.

use std::sync::Arc;

use crate::regular::ByteSet;
use crate::vocabulary::Trie;

/// Where a byte of a name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameStep {
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
    pub(crate) trie: Arc<Trie>,
    /// By rank: may it come?
    pub(crate) allowed: Box<[u64]>,
    /// What the source calls this choice.
    pub(crate) tag: u32,
    /// The name that brings the text nearer to its end, if one must come.
    needed: Option<u32>,
}

/// Names that are tried on the way to the end where none is needed.
const TRIED: usize = 3;

impl Names {
    /// A choice of those names in a trie whose ranks are `allowed`.
    pub(crate) fn new(trie: Arc<Trie>, allowed: impl IntoIterator<Item = u32>, tag: u32) -> Self {
        let mut bits = vec![0u64; trie.ids().len().div_ceil(64)];
        for rank in allowed {
            bits[rank as usize / 64] |= 1 << (rank % 64);
        }
        Self { trie, allowed: bits.into(), tag, needed: None }
    }

    /// The same, with the name that must come if the text is to end soon.
    pub(crate) fn needing(self, rank: Option<u32>) -> Self {
        Self { needed: rank, ..self }
    }

    /// The names worth writing from a node on if the text is to end soon, by rank, each with what
    /// is left of it: that which is needed, else the shortest.
    pub(crate) fn shortest(&self, node: u32) -> Vec<(u32, Vec<u8>)> {
        let nodes = self.trie.nodes();
        let top = nodes[node as usize];
        let depth = usize::from(top.depth);
        let mut found: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut text = Vec::new();
        if let Some(rank) = self.needed
            && self.holds(node as usize, rank)
        {
            let mut at = node as usize;
            while *self.trie.tokens(at) != [rank] {
                // The child below which it stands.
                let mut child = at + 1;
                while !self.holds(child, rank) {
                    child = nodes[child].subtree_end as usize;
                }
                text.push(nodes[child].byte);
                at = child;
            }
            return vec![(rank, text)];
        }
        let below = nodes.iter().enumerate().take(top.subtree_end as usize);
        for (index, at) in below.skip(node as usize + 1) {
            text.truncate(usize::from(at.depth) - depth - 1);
            text.push(at.byte);
            let &[rank] = self.trie.tokens(index) else { continue };
            if self.allowed[rank as usize / 64] >> (rank % 64) & 1 == 0 {
                continue;
            }
            let at = found.partition_point(|(_, known)| known.len() <= text.len());
            if at < TRIED {
                found.insert(at, (rank, text.clone()));
                found.truncate(TRIED);
            }
        }
        found
    }

    /// Does a name stand below a node?
    fn holds(&self, node: usize, rank: u32) -> bool {
        // Ranks ascend in the order of the trie.
        let ranks = self.trie.subtree_tokens(node);
        ranks.first().is_some_and(|first| first <= &rank)
            && ranks.last().is_some_and(|last| &rank <= last)
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

    pub(crate) fn step(&self, node: u32, byte: u8) -> NameStep {
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

    pub(crate) fn first(&self, node: u32) -> ByteSet {
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
