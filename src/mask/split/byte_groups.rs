//! Sets of bytes as 64 bits: for each node of a trie, the groups of the bytes below it.
//!
//! A state returns to itself with all bytes of some groups. If the groups below a node are among
//! them, every token there stays inside, and the subtree is passed over whole.

use super::byte_classes::class_of;
use crate::regular::Language;
use crate::vocabulary::Trie;

/// A number below 64 for each byte: letters, blanks and what JSON's strings are cut by have their
/// own, others share one with bytes of their kind.
const GROUP: [u8; 256] = {
    let mut group = [0; 256];
    let mut i = 0;
    while i < 256 {
        let byte = i as u8;
        group[i] = match byte {
            b'a'..=b'z' => byte - b'a',
            b'A'..=b'Z' => 26 + byte - b'A',
            b' ' => 52,
            b'"' => 53,
            b'\\' => 54,
            b'0'..=b'9' => 55,
            b'.' | b'-' | b'_' => 56,
            b'/' | b':' | b'@' | b'#' => 57,
            0..0x20 | 0x7F => 58,
            0x80..=0xBF => 59,
            0xC2..=0xDF => 60,
            0xE0..=0xF4 => 61,
            0xC0..=0xC1 | 0xF5..=0xFF => 62,
            _ => 63,
        };
        i += 1;
    }
    group
};

fn group_bit(byte: u8) -> u64 {
    1 << GROUP[usize::from(byte)]
}

/// The bytes of a trie's edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mask) enum EdgeBytes {
    /// Bytes of tokens.
    Plain,
    /// Each stands for all bytes of its class.
    Classes,
}

/// The groups of the bytes below each node of a trie.
pub(in crate::mask) fn groups_below(trie: &Trie, edges: EdgeBytes) -> Box<[u64]> {
    let groups = |byte: u8| match edges {
        EdgeBytes::Plain => group_bit(byte),
        EdgeBytes::Classes => {
            let members = (0..=u8::MAX).filter(|&member| class_of(member) == byte);
            members.fold(0, |all, member| all | group_bit(member))
        }
    };
    let groups: [u64; 256] = std::array::from_fn(|byte| groups(byte as u8));
    let nodes = trie.nodes();
    let mut below = vec![0; nodes.len()];
    // By depth: the last node there.
    let mut path: Vec<usize> = Vec::new();
    for (node, at) in nodes.iter().enumerate() {
        let depth = usize::from(at.depth);
        while path.len() > depth {
            let child = path.pop().unwrap_or(0);
            if let Some(&parent) = path.last() {
                below[parent] |= below[child] | groups[usize::from(nodes[child].byte)];
            }
        }
        path.push(node);
    }
    while let [.., parent, child] = path[..] {
        below[parent] |= below[child] | groups[usize::from(nodes[child].byte)];
        path.pop();
    }
    below.into()
}

/// The groups of which all bytes lead from a state with this row of successors to itself.
pub(in crate::mask) fn self_loop_groups(state: Language, row: &[Language; 256]) -> u64 {
    let leaves = (0..=u8::MAX).filter(|&byte| row[usize::from(byte)] != state);
    !leaves.fold(0, |all, byte| all | group_bit(byte))
}
