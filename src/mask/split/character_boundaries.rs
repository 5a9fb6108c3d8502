//! Index of the boundaries of characters inside tokens: the nodes of the vocabulary's trie at which a
//! character begins, by their byte and the one before, and the tokens of whole characters.
//!
//! They are what strategies start from that read only the tokens with certain bytes.

use std::ops::Range;

use crate::vocabulary::{TokenMask, Trie, Vocabulary};

/// Bytes before a boundary that are told apart: those of ASCII. All others are one, like the token's
/// begin.
const FIRST_BYTES: usize = 129;
const OTHER_BYTE: u8 = 128;

#[derive(Debug)]
pub(in crate::mask) struct CharacterBoundaries {
    /// The nodes of a pair of bytes are side by side, ascending; so are those of all pairs with one
    /// second byte.
    nodes: Box<[u32]>,
    /// By pair: where its nodes begin.
    starts: Box<[u32]>,
    /// Tokens of whole characters, the last of which may be begun only.
    text: TokenMask,
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(second) * FIRST_BYTES + usize::from(first.min(OTHER_BYTE))
}

/// A position in a character of UTF-8: the continuation bytes that are to come, and which the next
/// one may be (Unicode, table 3-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mask) struct CharacterPosition {
    left: u8,
    next: (u8, u8),
}

impl CharacterPosition {
    /// Between two characters.
    pub(in crate::mask) const BOUNDARY: Self = Self::of(0, 0, 0);

    const fn of(left: u8, first: u8, last: u8) -> Self {
        Self { left, next: (first, last) }
    }

    /// The position after one more byte; `None` where no character goes on so.
    pub(in crate::mask) fn step(self, byte: u8) -> Option<Self> {
        let rest = |left| if left == 0 { Self::BOUNDARY } else { Self::of(left, 0x80, 0xBF) };
        if self.left > 0 {
            let (first, last) = self.next;
            return (first..=last).contains(&byte).then(|| rest(self.left - 1));
        }
        Some(match byte {
            0..0x80 => Self::BOUNDARY,
            0xC2..=0xDF => rest(1),
            0xE0 => Self::of(2, 0xA0, 0xBF),
            0xED => Self::of(2, 0x80, 0x9F),
            0xE1..=0xEF => rest(2),
            0xF0 => Self::of(3, 0x90, 0xBF),
            0xF4 => Self::of(3, 0x80, 0x8F),
            0xF1..=0xF3 => rest(3),
            0x80..0xC2 | 0xF5.. => return None,
        })
    }
}

impl CharacterBoundaries {
    pub(in crate::mask) fn new(vocabulary: &Vocabulary) -> Self {
        let trie = vocabulary.trie();
        let nodes = trie.nodes();
        let mut text = TokenMask::new(vocabulary.len());
        // By depth: where in a character its string ends, and its last byte.
        let mut path = vec![(CharacterPosition::BOUNDARY, OTHER_BYTE)];
        let mut found: Vec<(u16, u32)> = Vec::with_capacity(nodes.len());
        let mut node = 1;
        while node < nodes.len() {
            let at = nodes[node];
            path.truncate(at.depth.into());
            let (position, before) = path[usize::from(at.depth) - 1];
            let Some(next) = position.step(at.byte) else {
                node = at.subtree_end as usize;
                continue;
            };
            if position == CharacterPosition::BOUNDARY {
                found.push((pair(before, at.byte) as u16, node as u32));
            }
            trie.tokens(node).iter().for_each(|&token| text.allow(token));
            path.push((next, at.byte));
            node += 1;
        }
        let mut starts = vec![0; 256 * FIRST_BYTES + 1];
        for &(pair, _) in &found {
            starts[usize::from(pair) + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let (mut free, mut nodes) = (starts.clone(), vec![0; found.len()]);
        for (pair, node) in found {
            let at = &mut free[usize::from(pair)];
            nodes[*at as usize] = node;
            *at += 1;
        }
        Self { nodes: nodes.into(), starts: starts.into(), text }
    }

    /// Tokens of whole characters, the last of which may be begun only.
    pub(in crate::mask) fn text(&self) -> &TokenMask {
        &self.text
    }

    /// The nodes of a byte that stands at a boundary, whatever is before it.
    pub(in crate::mask) fn nodes_of(&self, byte: u8) -> &[u32] {
        self.nodes_between(pair(0, byte)..pair(0, byte) + FIRST_BYTES)
    }

    /// The nodes of a byte at a boundary after an ASCII byte.
    pub(in crate::mask) fn nodes_of_pair(&self, first: u8, second: u8) -> &[u32] {
        let pair = pair(first, second);
        self.nodes_between(pair..pair + 1)
    }

    fn nodes_between(&self, pairs: Range<usize>) -> &[u32] {
        &self.nodes[self.starts[pairs.start] as usize..self.starts[pairs.end] as usize]
    }
}

/// Nodes of the vocabulary's trie with a mark each.
pub(in crate::mask) struct NodeMarks(Vec<u8>);

impl NodeMarks {
    pub(in crate::mask) fn new(trie: &Trie) -> Self {
        Self(vec![0; trie.nodes().len()])
    }

    /// Marks nodes; 0 is no mark.
    pub(in crate::mask) fn mark(&mut self, nodes: &[u32], mark: u8) {
        nodes.iter().for_each(|&node| self.0[node as usize] = mark);
    }

    /// The nodes with a mark that stand below no other, with their marks; `None` if more nodes than
    /// `most` are below them.
    pub(in crate::mask) fn uppermost(&self, trie: &Trie, most: usize) -> Option<Vec<(u32, u8)>> {
        let (mut found, mut node, mut below) = (Vec::new(), 0, 0);
        while let Some(ahead) = first_mark(&self.0[node..]) {
            node += ahead;
            found.push((node as u32, self.0[node]));
            let end = trie.nodes()[node].subtree_end as usize;
            below += end - node;
            node = end;
        }
        (below <= most).then_some(found)
    }
}

/// The index of the first byte that is not 0, searched by chunks that the compiler turns into
/// vector instructions.
fn first_mark(marks: &[u8]) -> Option<usize> {
    const LANE_BYTES: usize = 64;
    let chunks =
        marks.chunks(LANE_BYTES).position(|chunk| chunk.iter().fold(0, |any, m| any | m) != 0)?;
    let at = chunks * LANE_BYTES;
    marks[at..].iter().position(|&mark| mark != 0).map(|ahead| at + ahead)
}
