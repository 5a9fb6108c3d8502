//! [`KeyChoice`]: a choice of object keys, as a prefix trie with a bit set of the keys that are
//! allowed.
//!
//! An object of a schema offers the same keys again and again, less those that are written already.
//! All these choices share one trie, which is walked byte by byte like a DFA, and differ in their
//! bit sets. A schema of 1,000 properties costs one trie and 125 bytes a choice.
//!
//! ```text
//! keys (spelled as JSON, with the closing quote): `id"` rank 0, `ip"` rank 1, `name"` rank 2
//! allowed {0, 2}:   step(root, i) = Inside(i)   step(i, d) = Inside(id)   step(i, p) = Dead
//!                   step(id, ") = End(0)        first(root) = {i, n}
//! ```
//!
//! *Invariant:* no key is a prefix of another, since each ends with its quote; so a node either
//! ends one key or lies inside keys.

use std::sync::Arc;

use super::form::SourceTag;
use crate::regular::ByteSet;
use crate::vocabulary::Trie;

/// The position of a key in the byte order of all keys of its trie, from 0.
pub(crate) type KeyRank = u32;

/// The transition of a choice by one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyStep {
    /// No allowed key goes on with this byte.
    Dead,
    /// Another node of the trie.
    Inside(u32),
    /// The end of the key of this rank.
    End(KeyRank),
}

/// A choice of one of some object keys; see the module's head.
#[derive(Debug)]
pub(crate) struct KeyChoice {
    /// All keys of the object, as bytes; the ids of its tokens are ranks.
    pub(crate) trie: Arc<Trie>,
    /// The bit set of the allowed keys, by rank.
    pub(crate) allowed: Box<[u64]>,
    /// The number of this choice in its source.
    pub(crate) tag: SourceTag,
    /// A key that must come before the object can end, if there is one.
    needed: Option<KeyRank>,
}

/// Candidate keys that [`KeyChoice::shortest`] returns where none is needed: a search for the shortest
/// completion makes a rule for each.
const MAX_SHORTEST_KEYS: usize = 3;

impl KeyChoice {
    /// The choice `tag` of the keys of `trie` whose ranks are `allowed`.
    pub(crate) fn new(
        trie: Arc<Trie>,
        allowed: impl IntoIterator<Item = KeyRank>,
        tag: SourceTag,
    ) -> Self {
        let mut bits = vec![0u64; trie.ids().len().div_ceil(64)];
        for rank in allowed {
            bits[rank as usize / 64] |= 1 << (rank % 64);
        }
        Self { trie, allowed: bits.into(), tag, needed: None }
    }

    /// The same choice, with a key that must come before the object can end.
    pub(crate) fn needing(self, rank: Option<KeyRank>) -> Self {
        Self { needed: rank, ..self }
    }

    /// The keys below a trie node that a short completion writes, by rank, each with its remaining
    /// bytes: the needed one, else the [`MAX_SHORTEST_KEYS`] shortest, ascending by length.
    pub(crate) fn shortest(&self, node: u32) -> Vec<(KeyRank, Vec<u8>)> {
        let nodes = self.trie.nodes();
        let top = nodes[node as usize];
        let depth = usize::from(top.depth);
        let mut found: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut text = Vec::new();
        if let Some(rank) = self.needed
            && self.has_below(node as usize, rank)
        {
            let mut at = node as usize;
            while *self.trie.tokens(at) != [rank] {
                let mut child = at + 1;
                while !self.has_below(child, rank) {
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
            if at < MAX_SHORTEST_KEYS {
                found.insert(at, (rank, text.clone()));
                found.truncate(MAX_SHORTEST_KEYS);
            }
        }
        found
    }

    /// Whether the key of a rank is in the subtree of a node.
    fn has_below(&self, node: usize, rank: KeyRank) -> bool {
        // Ranks ascend in the order of the trie.
        let ranks = self.trie.subtree_tokens(node);
        ranks.first().is_some_and(|first| first <= &rank)
            && ranks.last().is_some_and(|last| &rank <= last)
    }

    /// Whether some key in the subtree of a node is allowed.
    fn has_allowed_below(&self, node: u32) -> bool {
        let ranks = self.trie.subtree_tokens(node as usize);
        let (Some(&first), Some(&last)) = (ranks.first(), ranks.last()) else { return false };
        // Words from the first rank to the last; bits outside that range are cleared.
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

    /// The transition from a trie node by one byte.
    pub(crate) fn step(&self, node: u32, byte: u8) -> KeyStep {
        let child = match node {
            0 => self.trie.root_child(byte),
            _ => self.trie.child(node as usize, byte),
        };
        match child {
            Some(child) if self.has_allowed_below(child as u32) => match *self.trie.tokens(child) {
                [rank] => KeyStep::End(rank),
                _ => KeyStep::Inside(child as u32),
            },
            _ => KeyStep::Dead,
        }
    }

    /// The bytes that some allowed key has after a trie node.
    pub(crate) fn first(&self, node: u32) -> ByteSet {
        let nodes = self.trie.nodes();
        let end = nodes[node as usize].subtree_end as usize;
        let mut bytes = ByteSet::EMPTY;
        let mut child = node as usize + 1;
        while child < end {
            if self.has_allowed_below(child as u32) {
                bytes.insert(nodes[child].byte);
            }
            child = nodes[child].subtree_end as usize;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the module's head.
    #[test]
    fn a_choice_walks_allowed_keys_alone() {
        let keys: [&[u8]; 3] = [b"id\"", b"ip\"", b"name\""];
        let trie = Arc::new(Trie::from_sorted(keys.into_iter().zip(0..)));
        let choice = KeyChoice::new(trie, [0, 2], 7);
        assert_eq!(choice.first(0).iter().collect::<Vec<u8>>(), b"in");
        let KeyStep::Inside(i) = choice.step(0, b'i') else { panic!() };
        assert_eq!(choice.step(i, b'p'), KeyStep::Dead);
        let KeyStep::Inside(id) = choice.step(i, b'd') else { panic!() };
        assert_eq!(choice.step(id, b'"'), KeyStep::End(0));
        assert_eq!(choice.shortest(0), [(0, b"id\"".to_vec()), (2, b"name\"".to_vec())]);
        let needed = choice.needing(Some(2));
        assert_eq!(needed.shortest(0), [(2, b"name\"".to_vec())]);
    }
}
