//! The tails of the tokens that leave a terminal: what is left of each after an end of the terminal.
//!
//! After some bytes, such as a blank, most tokens that begin with them leave. These are not copied: the
//! node of the vocabulary's trie stands for them, which other terminals refer to as well.
//!
//! ```text
//! exits   " |foo"   " |foot"   " |)"   "  |if"       node of " ", and the tail  if
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use crate::regular::ByteSet;
use crate::vocabulary::{Trie, Vocabulary};

/// A node with fewer exits after it does not stand for them: copies of their tails cost little.
const MIN_EXITS_AFTER_NODE: usize = 1_000;

/// Tells the tries of tokens of a process apart; 0 is the vocabulary's.
pub(crate) type TrieId = u64;

/// An id that no other trie has.
pub(crate) fn new_trie_id() -> TrieId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A token that passes an end of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenExit {
    pub(in crate::mask) token: u32,
    /// Bytes of the token up to the end.
    pub(in crate::mask) at: u16,
}

/// The tails of the tokens that leave a terminal.
#[derive(Debug)]
pub(crate) struct ExitTails {
    /// Nodes of the vocabulary's trie. The terminal may end there, so all tokens below have an exit
    /// there; of those that also stay inside, it is of no use.
    pub(crate) nodes: Box<[u32]>,
    /// For every other exit the bytes after it, with the token's id.
    pub(crate) trie: Trie,
    pub(crate) id: TrieId,
}

impl ExitTails {
    /// The tails of exits from a terminal that is read below a node of the vocabulary's trie.
    pub(in crate::mask) fn new(vocabulary: &Vocabulary, exits: &[TokenExit], node: u32) -> Self {
        let from = vocabulary.trie().nodes()[node as usize].depth;
        let first_byte = |&TokenExit { token, at }: &TokenExit| {
            let bytes = vocabulary.token_bytes(token)?;
            if at == from + 1 { bytes.get(usize::from(from)).copied() } else { None }
        };
        let nodes = exit_nodes(vocabulary, exits.iter().filter_map(first_byte), node);
        let by_node: ByteSet = nodes.iter().map(|&(byte, _)| byte).collect();
        let rest = exits.iter().filter_map(|exit| {
            let tail = vocabulary.token_bytes(exit.token)?.get(usize::from(exit.at)..)?;
            let is_below_node = first_byte(exit).is_some_and(|byte| by_node.contains(byte));
            (!is_below_node).then_some((tail, exit.token))
        });
        Self {
            nodes: nodes.iter().map(|&(_, node)| node).collect(),
            trie: Trie::from_unsorted(rest),
            id: new_trie_id(),
        }
    }

    pub(in crate::mask) fn memory_bytes(&self) -> usize {
        self.trie.memory_bytes() + size_of_val(&*self.nodes)
    }
}

/// The children of `node` that stand for the exits right after their byte, with that byte: those where
/// many tokens, and most of the tokens below, leave there. `first_bytes` has one byte for each token
/// that leaves after its first byte below `node`.
fn exit_nodes(
    vocabulary: &Vocabulary,
    first_bytes: impl Iterator<Item = u8>,
    node: u32,
) -> Vec<(u8, u32)> {
    let mut counts = [0; 256];
    first_bytes.for_each(|byte| counts[usize::from(byte)] += 1);
    let trie = vocabulary.trie();
    let children = trie.children(node as usize, ByteSet::ALL.bits()).map(|child| {
        let byte = trie.nodes()[child].byte;
        (byte, child, counts[usize::from(byte)])
    });
    let large = children.filter(|&(_, child, exits)| {
        exits >= MIN_EXITS_AFTER_NODE && exits > trie.subtree_tokens(child).len() / 2
    });
    large.map(|(byte, child, _)| (byte, child as u32)).collect()
}
