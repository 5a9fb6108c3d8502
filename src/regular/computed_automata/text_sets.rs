//! Persistent sets of texts: hash-consed radix tries that are automata, too.
//!
//! A text that is written item by item (a JSON array whose items must differ) asks after each item
//! for the set of all items so far. As a list, the n-th set costs n copies, and as an expression as
//! many states as it has bytes. Here a set is the root of a radix trie: adding a text makes the
//! nodes along its path anew and shares all others, so n texts take O(n) nodes, whatever the number
//! of sets. Nodes are interned by content, so equal sets are equal handles, whatever order their
//! texts were added in.
//!
//! A set is also a [`Language`]. A state is a node and how many bytes of its label are read; sets
//! that differ elsewhere share their states below.
//!
//! ```text
//! {"ab", "abcd", "x"}:   ""  ─ a ─► "b" (ends) ─ c ─► "d" (ends)
//!                            └ x ─► ""  (ends)
//! ```
//!
//! *Invariant:* a node ends a text, or has at least two children; so a set has one trie.

use std::hash::Hash as _;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustc_hash::FxHashMap;

use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::languages::keyed_hash;
use crate::regular::{ByteSet, Language, Languages};

/// A set of texts, as a node of the [`TextSets`] that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TextSet(u32);

impl TextSet {
    /// No text.
    pub(crate) const EMPTY: Self = Self(0);
}

/// A position in a trie: a node, and the number of bytes read of its label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextPlace {
    node: u32,
    read: u32,
}

/// A node of a radix trie.
#[derive(Clone, Debug)]
struct RadixNode {
    /// Bytes that all texts below begin with; the byte that leads to the node is not among them.
    label: RadixLabel,
    /// Whether the label alone is one of the texts.
    ends: bool,
    /// Sorted by byte.
    children: Box<[(u8, u32)]>,
    /// Length of the shortest text from here, the label included.
    shortest: u32,
    /// Number of texts from here.
    count: u32,
    fingerprint: u128,
}

/// A part of a text.
#[derive(Clone, Debug)]
struct RadixLabel {
    text: Arc<[u8]>,
    from: u32,
    to: u32,
}

impl RadixLabel {
    /// The bytes of the label.
    fn bytes(&self) -> &[u8] {
        &self.text[self.from as usize..self.to as usize]
    }

    /// A part of the label.
    fn part(&self, from: usize, to: usize) -> Self {
        let (from, to) = (self.from + from as u32, self.from + to as u32);
        Self { text: Arc::clone(&self.text), from, to }
    }
}

/// All nodes, interned by content.
#[derive(Debug)]
struct RadixNodes {
    /// The first stands for no text.
    nodes: Vec<RadixNode>,
    ids: FxHashMap<u128, u32>,
    /// About how many bytes the nodes take.
    bytes: usize,
}

impl RadixNodes {
    fn intern(&mut self, label: RadixLabel, ends: bool, children: Box<[(u8, u32)]>) -> u32 {
        let fingerprint = keyed_hash(|hasher| {
            label.bytes().hash(hasher);
            ends.hash(hasher);
            for &(byte, child) in &children {
                (byte, self.nodes[child as usize].fingerprint).hash(hasher);
            }
        });
        if let Some(&known) = self.ids.get(&fingerprint) {
            return known;
        }
        let below = children.iter().map(|&(_, child)| &self.nodes[child as usize]);
        let count = u32::from(ends) + below.clone().map(|node| node.count).sum::<u32>();
        let rest = if ends { 0 } else { below.map(|node| node.shortest + 1).min().unwrap_or(0) };
        let shortest = label.to - label.from + rest;
        let id = self.nodes.len() as u32;
        self.bytes +=
            size_of::<RadixNode>() + size_of_val(&*children) + 2 * size_of::<(u128, u32)>();
        self.nodes.push(RadixNode { label, ends, children, shortest, count, fingerprint });
        self.ids.insert(fingerprint, id);
        id
    }

    /// The root of the texts of `root` and one more.
    fn with(&mut self, root: u32, text: &Arc<[u8]>) -> u32 {
        let rest = |from: usize| RadixLabel {
            text: Arc::clone(text),
            from: from.min(text.len()) as u32,
            to: text.len() as u32,
        };
        if root == TextSet::EMPTY.0 {
            self.bytes += text.len();
            return self.intern(rest(0), true, Box::default());
        }
        // Down to the node that changes.
        let (mut path, mut at, mut read) = (Vec::new(), root, 0);
        let mut new = loop {
            let node = self.nodes[at as usize].clone();
            let label = node.label.bytes();
            let left = &text[read..];
            let common = label.iter().zip(left).take_while(|(a, b)| a == b).count();
            if common < label.len() {
                let end = label.len();
                let below = self.intern(node.label.part(common + 1, end), node.ends, node.children);
                let mut children = vec![(label[common], below)];
                if let Some(&byte) = left.get(common) {
                    let leaf = self.intern(rest(read + common + 1), true, Box::default());
                    children.push((byte, leaf));
                    children.sort_unstable();
                }
                let ends = left.len() == common;
                break self.intern(node.label.part(0, common), ends, children.into());
            }
            read += common;
            let Some(&byte) = text.get(read) else {
                if node.ends {
                    return root;
                }
                break self.intern(node.label, true, node.children);
            };
            read += 1;
            match node.children.binary_search_by_key(&byte, |child| child.0) {
                Ok(child) => {
                    path.push((at, child));
                    at = node.children[child].1;
                }
                Err(child) => {
                    let leaf = self.intern(rest(read), true, Box::default());
                    let mut children = node.children.to_vec();
                    children.insert(child, (byte, leaf));
                    break self.intern(node.label, node.ends, children.into());
                }
            }
        };
        self.bytes += text.len();
        // Back up, with the new node in the place of the old one.
        for (at, child) in path.into_iter().rev() {
            let RadixNode { label, ends, mut children, .. } = self.nodes[at as usize].clone();
            children[child].1 = new;
            new = self.intern(label, ends, children);
        }
        new
    }

    /// The place after one more byte.
    fn advance(&self, TextPlace { node, read }: TextPlace, byte: u8) -> Option<TextPlace> {
        let at = &self.nodes[node as usize];
        match at.label.bytes().get(read as usize) {
            Some(&next) => (next == byte).then_some(TextPlace { node, read: read + 1 }),
            None => {
                let child = at.children.binary_search_by_key(&byte, |child| child.0).ok()?;
                Some(TextPlace { node: at.children[child].1, read: 0 })
            }
        }
    }

    /// The bytes with which the texts go on.
    fn first_bytes(&self, TextPlace { node, read }: TextPlace) -> ByteSet {
        let node = &self.nodes[node as usize];
        match node.label.bytes().get(read as usize) {
            Some(&byte) => ByteSet::single(byte),
            None => node.children.iter().map(|child| child.0).collect(),
        }
    }

    /// Whether a text ends here.
    fn ends(&self, TextPlace { node, read }: TextPlace) -> bool {
        let node = &self.nodes[node as usize];
        node.ends && node.label.bytes().len() == read as usize
    }
}

/// Sets of texts that share their nodes.
#[derive(Debug)]
pub(crate) struct TextSets {
    nodes: RwLock<RadixNodes>,
}

impl TextSets {
    pub(crate) fn new() -> Arc<Self> {
        let label = RadixLabel { text: [].into(), from: 0, to: 0 };
        let (ends, children) = (false, Box::default());
        let none = RadixNode { label, ends, children, shortest: 0, count: 0, fingerprint: 0 };
        let nodes = RadixNodes { nodes: vec![none], ids: FxHashMap::default(), bytes: 0 };
        Arc::new(Self { nodes: RwLock::new(nodes) })
    }

    fn read(&self) -> RwLockReadGuard<'_, RadixNodes> {
        // Nothing is left half done by a panic that matters to readers.
        self.nodes.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The texts of a set, and one more.
    pub(crate) fn with(&self, set: TextSet, text: &[u8]) -> TextSet {
        let mut nodes = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        TextSet(nodes.with(set.0, &text.into()))
    }

    /// Whether a text is in a set.
    pub(crate) fn contains(&self, set: TextSet, text: &[u8]) -> bool {
        let (nodes, start) = (self.read(), TextPlace { node: set.0, read: 0 });
        let end = text.iter().try_fold(start, |at, &byte| nodes.advance(at, byte));
        end.is_some_and(|end| nodes.ends(end))
    }

    /// The position before any byte, if the set has texts.
    pub(crate) fn start(&self, set: TextSet) -> Option<TextPlace> {
        (set != TextSet::EMPTY).then_some(TextPlace { node: set.0, read: 0 })
    }

    /// The place after one more byte, if texts go on with it.
    pub(crate) fn advance(&self, at: TextPlace, byte: u8) -> Option<TextPlace> {
        self.read().advance(at, byte)
    }

    /// The bytes with which texts go on.
    pub(crate) fn first_bytes(&self, at: TextPlace) -> ByteSet {
        self.read().first_bytes(at)
    }

    /// Whether a text ends here.
    pub(crate) fn ends(&self, at: TextPlace) -> bool {
        self.read().ends(at)
    }

    /// Number of texts of a set.
    pub(crate) fn len(&self, set: TextSet) -> u32 {
        self.read().nodes[set.0 as usize].count
    }

    /// About how many bytes all sets take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.read().bytes
    }

    /// Exactly the texts of a set.
    pub(crate) fn language(self: &Arc<Self>, languages: &mut Languages, set: TextSet) -> Language {
        if set == TextSet::EMPTY {
            return Language::EMPTY;
        }
        let state = state(self.read().nodes[set.0 as usize].fingerprint, 0);
        languages.automaton(Arc::clone(self) as Arc<dyn Automaton>, state)
    }

    /// Applies `look` to the position of an encoded state.
    fn look<T>(&self, state: &[i64], look: impl FnOnce(&RadixNodes, TextPlace) -> T) -> Option<T> {
        let nodes = self.read();
        let &[high, low, read] = state else { return None };
        let fingerprint = u128::from(high as u64) << 64 | u128::from(low as u64);
        let node = *nodes.ids.get(&fingerprint)?;
        Some(look(&nodes, TextPlace { node, read: read as u32 }))
    }
}

/// A state names its node by content, so that it means the same in every arena of languages.
fn state(fingerprint: u128, read: u32) -> AutomatonState {
    [(fingerprint >> 64) as i64, fingerprint as i64, read as i64].into()
}

impl Automaton for TextSets {
    fn name(&self) -> &str {
        "texts by content"
    }

    fn accepts(&self, state: &[i64]) -> bool {
        self.look(state, RadixNodes::ends).unwrap_or(false)
    }

    fn step(&self, from: &[i64], byte: u8) -> Option<AutomatonState> {
        self.look(from, |nodes, at| {
            let TextPlace { node, read } = nodes.advance(at, byte)?;
            Some(state(nodes.nodes[node as usize].fingerprint, read))
        })?
    }

    fn first_bytes(&self, state: &[i64]) -> Option<ByteSet> {
        self.look(state, RadixNodes::first_bytes)
    }

    fn is_live(&self, _state: &[i64]) -> Option<bool> {
        Some(true)
    }

    fn is_finite(&self) -> bool {
        true
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        let left = self.look(state, |nodes, TextPlace { node, read }| {
            nodes.nodes[node as usize].shortest - read
        });
        left.unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_added() {
        let sets = TextSets::new();
        let texts = ["abcd", "ab", "x", "", "abce", "ab\u{fc}", "b"];
        let mut l = Languages::new();
        let mut set = TextSet::EMPTY;
        for (i, text) in texts.iter().enumerate() {
            assert!(!sets.contains(set, text.as_bytes()), "{text}");
            let before = set;
            set = sets.with(set, text.as_bytes());
            assert_eq!(sets.with(set, text.as_bytes()), set, "{text}");
            assert_eq!((sets.len(before), sets.len(set)), (i as u32, i as u32 + 1));
            let x = sets.language(&mut l, set);
            for (j, text) in texts.iter().enumerate() {
                assert_eq!(sets.contains(set, text.as_bytes()), j <= i, "{text}");
                assert_eq!(l.matches(x, text.as_bytes()).unwrap(), j <= i, "{text}");
            }
            for other in ["a", "abc", "abcde", "\u{fc}"] {
                assert!(!sets.contains(set, other.as_bytes()));
                assert!(!l.matches(x, other.as_bytes()).unwrap());
            }
        }
        let others = texts.iter().rev();
        let again = others.fold(TextSet::EMPTY, |set, text| sets.with(set, text.as_bytes()));
        assert_eq!(again, set);
        let x = sets.language(&mut l, set);
        for (read, bytes) in [("", "abx"), ("a", "b"), ("ab", "c\u{fc}"), ("abc", "de")] {
            let state = read.bytes().fold(x, |state, byte| l.step(state, byte).unwrap());
            let bytes: ByteSet =
                bytes.chars().map(|c| if c == '\u{fc}' { 0xc3 } else { c as u8 }).collect();
            assert_eq!(l.first_bytes(state).unwrap(), bytes, "{read}");
        }
    }

    #[test]
    fn many_texts_share_their_nodes() {
        let sets = TextSets::new();
        let mut set = TextSet::EMPTY;
        for i in 0..10_000 {
            set = sets.with(set, format!("text {i}").as_bytes());
        }
        assert_eq!(sets.len(set), 10_000);
        assert!(sets.memory_bytes() < 20_000_000, "{} bytes", sets.memory_bytes());
    }
}
