//! The vocabulary by the shapes of its tokens.
//!
//! Patterns rarely tell one digit from another, or one letter: they look at *classes* of bytes. So
//! tokens are grouped by the classes that they are made of, in a trie a twentieth the size of that
//! of their bytes. A walk goes over it with one byte for each class, as long as the states that it
//! meets treat the bytes of that class alike; where one does not, tokens are read by their bytes.

mod from_neighbour;
mod max_repeats;
mod self_loop;

pub(crate) use from_neighbour::Known;

use std::cmp::Reverse;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::slices::word_bytes;
use crate::deadline;
use crate::error::Result;
use crate::mask::{Strategies, Strategy};
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::{Reader, TokenMask, Trie, Vocabulary};

/// The trie of tokens in which each byte is replaced by the first of its class.
#[derive(Debug)]
pub(crate) struct Classes {
    trie: Trie,
    /// Of each of its nodes, and of each of the vocabulary's trie, the [groups](GROUP) of the bytes
    /// below it.
    below: Box<[u64]>,
    bytes_below: Box<[u64]>,
    /// Of each of its nodes, how many bytes of shapes are below it at most.
    heights: Box<[u16]>,
    /// The length of the longest token.
    deepest: u16,
    /// The tokens of most characters, those of most first.
    longest: Box<[u32]>,
    pairs: self_loop::Pairs,
    pub(crate) strategies: Strategies,
}

/// The first byte of each byte's class: digits, lower case, upper case, the continuation bytes and
/// lead bytes of UTF-8 as far as its well-formed sequences tell them apart (Unicode, table 3-7), the
/// leads of white space being alone; all others are alone.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 256 {
        let byte = i as u8;
        class[i] = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'z' => b'a',
            b'A'..=b'Z' => b'A',
            0x80..=0x8F => 0x80,
            0x90..=0x9F => 0x90,
            0xA0..=0xBF => 0xA0,
            0xC3..=0xDF => 0xC3,
            0xE4..=0xEC | 0xEE => 0xE4,
            0xF1..=0xF3 => 0xF1,
            0xC0..=0xC1 | 0xF5..=0xFF => 0xC0,
            other => other,
        };
        i += 1;
    }
    class
};

/// By the first byte of a class: its bytes, as bits.
const MEMBERS: [[u64; 4]; 256] = {
    let mut members = [[0; 4]; 256];
    let mut byte = 0;
    while byte < 256 {
        members[CLASS[byte] as usize][byte / 64] |= 1 << (byte % 64);
        byte += 1;
    }
    members
};

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

/// The groups of the bytes below each node of a trie, those of all bytes of their classes if it is
/// one of shapes.
fn groups_below(trie: &Trie, shapes: bool) -> Box<[u64]> {
    let of = |byte: u8| match shapes {
        true => (0..=u8::MAX).filter(|&b| class_of(b) == byte).fold(0, |all, b| all | bit(b)),
        false => bit(byte),
    };
    let of: [u64; 256] = std::array::from_fn(|byte| of(byte as u8));
    let nodes = trie.nodes();
    let mut below = vec![0; nodes.len()];
    // By depth: the last node there.
    let mut path: Vec<usize> = Vec::new();
    for (node, at) in nodes.iter().enumerate() {
        let depth = usize::from(at.depth);
        while path.len() > depth {
            let child = path.pop().unwrap_or(0);
            if let Some(&parent) = path.last() {
                below[parent] |= below[child] | of[usize::from(nodes[child].byte)];
            }
        }
        path.push(node);
    }
    while let [.., parent, child] = path[..] {
        below[parent] |= below[child] | of[usize::from(nodes[child].byte)];
        path.pop();
    }
    below.into()
}

/// The tokens of most characters, those of most first.
fn longest(vocabulary: &Vocabulary) -> Box<[u32]> {
    let long = |&&token: &&u32| vocabulary.token_bytes(token).is_some_and(|b| b.len() > SHORT);
    let tokens = vocabulary.trie().ids().iter().filter(long);
    let mut tokens: Vec<(Reverse<usize>, u32)> =
        tokens.map(|&token| (Reverse(characters(vocabulary, token)), token)).collect();
    tokens.sort_unstable();
    tokens.truncate(LONGEST);
    tokens.into_iter().map(|(_, token)| token).collect()
}

/// The characters that begin in a token, or its bytes that begin one.
fn characters(vocabulary: &Vocabulary, token: u32) -> usize {
    let bytes = vocabulary.token_bytes(token).unwrap_or_default();
    bytes.iter().filter(|&&byte| !matches!(byte, 0x80..=0xBF)).count()
}

/// How far below each node of a trie its strings go on.
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

fn bit(byte: u8) -> u64 {
    1 << GROUP[usize::from(byte)]
}

/// So many tokens of one shape are read one by one.
const FEW: usize = 1_024;

/// So many of the tokens of most characters are known, of those of more bytes than `SHORT`.
const LONGEST: usize = 2_048;
const SHORT: usize = 16;

/// The first byte of a byte's class.
pub(crate) fn class_of(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// Is a byte the only one of its class?
fn is_alone(byte: u8) -> bool {
    let members = MEMBERS[usize::from(class_of(byte))];
    members.iter().map(|bits| bits.count_ones()).sum::<u32>() == 1
}

/// The first bytes of the classes of which a state with this row treats the bytes alike.
pub(crate) fn uniform_classes(row: &[Language; 256]) -> ByteSet {
    let mut uniform = ByteSet::ALL;
    for byte in 0..=u8::MAX {
        let class = class_of(byte);
        if row[usize::from(byte)] != row[usize::from(class)] {
            uniform.remove(class);
        }
    }
    uniform
}

/// What a walk from a terminal's state finds.
pub(crate) struct Found {
    /// Tokens that stay in the terminal from end to end.
    pub(crate) inside: TokenMask,
    /// How many nodes and bytes were looked at, and how many tokens were found inside.
    pub(crate) work: usize,
    /// Tokens that pass a place where the terminal may end, with the length up to there. Unless all
    /// were asked for, without those where a word goes on.
    pub(crate) ends: Vec<(u32, u16)>,
    /// The bytes of words that were found to go on.
    pub(crate) words: ByteSet,
}

/// A place where the terminal may end: its depth, and its state there.
type End = (u16, u32);

impl Classes {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let shape = |token: u32| -> Vec<u8> {
            let bytes = vocabulary.token_bytes(token).unwrap_or_default();
            bytes.iter().map(|&byte| CLASS[usize::from(byte)]).collect()
        };
        let ids = vocabulary.trie().ids();
        let mut shapes: Vec<(Vec<u8>, u32)> = ids.iter().map(|&id| (shape(id), id)).collect();
        shapes.sort_unstable();
        let shapes = shapes.iter().map(|(shape, id)| (&shape[..], *id));
        Self::of(Trie::from_sorted(shapes), vocabulary)
    }

    fn of(trie: Trie, vocabulary: &Vocabulary) -> Self {
        let (below, bytes_below) =
            (groups_below(&trie, true), groups_below(vocabulary.trie(), false));
        let deepest = trie.nodes().iter().map(|node| node.depth).max().unwrap_or(0);
        let (longest, pairs) = (longest(vocabulary), self_loop::Pairs::new(vocabulary));
        let (heights, strategies) = (heights(&trie), Strategies::ALL);
        Self { heights, trie, below, bytes_below, deepest, longest, pairs, strategies }
    }

    /// As read from an index; `None` if it is no trie of shapes of this vocabulary's tokens.
    pub(crate) fn decode(from: &mut Reader<'_>, vocabulary: &Vocabulary) -> Option<Self> {
        Some(Self::of(Trie::decode(from, vocabulary.len())?, vocabulary))
    }

    /// The same with only some strategies.
    pub(crate) fn with_strategies(self, strategies: Strategies) -> Self {
        Self { strategies, ..self }
    }

    /// The length of the longest token.
    pub(crate) fn deepest(&self) -> u16 {
        self.deepest
    }

    /// The tokens by their shapes.
    pub(crate) fn trie(&self) -> &Trie {
        &self.trie
    }

    /// The tokens of more characters than this, if they are not too many to be known.
    pub(crate) fn longer(&self, vocabulary: &Vocabulary, most: u32) -> Option<&[u32]> {
        let longer = |token: &u32| characters(vocabulary, *token) > most as usize;
        let count = self.longest.partition_point(longer);
        (count < LONGEST && most as usize >= SHORT).then(|| &self.longest[..count])
    }

    /// The begin of a walk from a state.
    fn start<'a>(
        &self,
        languages: &'a mut Languages,
        state: Language,
        every_end: bool,
    ) -> Walk<'a> {
        Walk {
            dense: Dense {
                skips: self.strategies.has(Strategy::SubtreeSkips),
                ..Dense::new(languages, state, every_end)
            },
            path: vec![(Dense::START, 0); usize::from(self.deepest) + 1],
            depth: 0,
            ends: Vec::new(),
        }
    }

    /// Walks from a terminal's state at a node of the vocabulary's trie. Exact.
    pub(crate) fn walk(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        (state, node): (Language, u32),
        every_end: bool,
    ) -> Result<Found> {
        let mut found = Found::new(vocabulary);
        let mut walk = self.start(languages, state, every_end);
        let bytes = Nodes { trie: vocabulary.trie(), below: &self.bytes_below };
        let first = walk.dense.languages.first_bytes(state)?;
        let shapes = match self.strategies.has(Strategy::ByteShapes) {
            true => self.same_node(vocabulary, node),
            false => None,
        };
        for class in (0..=u8::MAX).filter(|&byte| class_of(byte) == byte) {
            deadline::check()?;
            match shapes {
                Some(at) if walk.dense.is_uniform(Dense::START, class)? => {
                    if first.contains(class)
                        && let Some(child) = self.trie.child(at, class)
                    {
                        self.by_shapes(vocabulary, &mut walk, child, &mut found)?;
                    }
                }
                _ => {
                    let class =
                        first.intersection(&ByteSet::from_bits(MEMBERS[usize::from(class)]));
                    for child in bytes.trie.children(node as usize, class.bits()) {
                        found.by_bytes(&mut walk, bytes, child)?;
                    }
                }
            }
            walk.ends.clear();
        }
        Ok(found)
    }

    /// The same from what is known of another state that only some tokens tell apart.
    pub(crate) fn rereading(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        (state, every_end): (Language, bool),
        known: &Known<'_>,
        tokens: &[u32],
    ) -> Result<Found> {
        let words = known.words;
        let mut found = Found { inside: known.inside.clone(), work: 0, ends: Vec::new(), words };
        let mut reread = TokenMask::new(vocabulary.len());
        let mut walk = self.start(languages, state, every_end);
        for &token in tokens {
            found.inside.deny(token);
            reread.allow(token);
        }
        found.ends.extend(known.ends.iter().filter(|&&(token, _)| !reread.contains(token)));
        for &token in tokens {
            deadline::check()?;
            found.read(vocabulary, &mut walk, token, 0)?;
        }
        Ok(found)
    }

    /// The node of shapes below which the same tokens stand as below one of bytes, if there is one:
    /// if all bytes before it are alone in their classes.
    fn same_node(&self, vocabulary: &Vocabulary, node: u32) -> Option<usize> {
        let trie = vocabulary.trie();
        let depth = usize::from(trie.nodes()[node as usize].depth);
        let token = *trie.subtree_tokens(node as usize).first()?;
        let before = vocabulary.token_bytes(token)?.get(..depth)?;
        if before.iter().all(|&byte| is_alone(byte)) { self.trie.find(before) } else { None }
    }

    /// The node of bytes below which the same tokens stand as below the parent of one of shapes, if
    /// there is one.
    pub(crate) fn same_before(&self, vocabulary: &Vocabulary, node: u32) -> Option<u32> {
        let depth = usize::from(self.trie.nodes()[node as usize].depth);
        let token = *self.trie.subtree_tokens(node as usize).first()?;
        let before = vocabulary.token_bytes(token)?.get(..depth.checked_sub(1)?)?;
        let alone = before.iter().all(|&byte| is_alone(byte));
        if alone { vocabulary.trie().find(before).map(|node| node as u32) } else { None }
    }

    /// The tokens from a node of shapes on, the class of whose byte the state before treats alike.
    fn by_shapes(
        &self,
        vocabulary: &Vocabulary,
        walk: &mut Walk<'_>,
        mut node: usize,
        found: &mut Found,
    ) -> Result<()> {
        let shapes = Nodes { trie: &self.trie, below: &self.below };
        let bytes = Nodes { trie: vocabulary.trie(), below: &self.bytes_below };
        let nodes = self.trie.nodes();
        let last = nodes[node].subtree_end as usize;
        while node < last {
            let at = nodes[node];
            let before = walk.climb(at.depth);
            if !walk.dense.is_uniform(before, at.byte)? {
                match self.trie.subtree_tokens(node) {
                    tokens if tokens.len() > FEW => {
                        for child in self.same_shape(vocabulary, node) {
                            found.by_bytes(walk, bytes, child as usize)?;
                        }
                    }
                    tokens => {
                        for &token in tokens {
                            found.read(vocabulary, walk, token, at.depth - 1)?;
                        }
                    }
                }
                node = at.subtree_end as usize;
                continue;
            }
            node = found.visit(walk, shapes, node, before)?;
        }
        Ok(())
    }

    /// The nodes of bytes below which the same tokens stand as below one of shapes.
    fn same_shape(&self, vocabulary: &Vocabulary, node: usize) -> Vec<u32> {
        let depth = usize::from(self.trie.nodes()[node].depth);
        let token = self.trie.subtree_tokens(node).first();
        let bytes = token.and_then(|&token| vocabulary.token_bytes(token)).unwrap_or_default();
        let mut found = vec![0];
        for &byte in &bytes[..depth] {
            let class = &MEMBERS[usize::from(class_of(byte))];
            let (trie, before) = (vocabulary.trie(), std::mem::take(&mut found));
            for node in before {
                found.extend(trie.children(node as usize, *class).map(|child| child as u32));
            }
        }
        found
    }
}

/// A trie, and the groups of the bytes below its nodes.
#[derive(Clone, Copy)]
struct Nodes<'a> {
    trie: &'a Trie,
    below: &'a [u64],
}

/// The way to a node, and the depths at which the terminal may end.
struct Walk<'a> {
    dense: Dense<'a>,
    /// By depth: the state, and the byte before it.
    path: Vec<(u32, u8)>,
    /// The depth up to which the path leads now.
    depth: u16,
    ends: Vec<End>,
}

impl Walk<'_> {
    /// Goes back to before a node of this depth: the state there.
    #[inline]
    fn climb(&mut self, depth: u16) -> u32 {
        while self.ends.last().is_some_and(|&(end, _)| end >= depth) {
            self.ends.pop();
        }
        self.depth = depth - 1;
        self.path[usize::from(depth) - 1].0
    }

    /// Goes on to a state.
    #[inline]
    fn push(&mut self, state: u32, byte: u8) {
        self.depth += 1;
        self.path[usize::from(self.depth)] = (state, byte);
    }
}

impl Found {
    fn new(vocabulary: &Vocabulary) -> Self {
        let (ends, words) = (Vec::new(), ByteSet::EMPTY);
        Self { inside: TokenMask::new(vocabulary.len()), work: 0, ends, words }
    }

    /// Notes tokens that leave the terminal with a byte behind the path, by the places in them where
    /// it may end.
    fn passed(&mut self, walk: &mut Walk<'_>, tokens: &[u32], byte: u8) -> Result<()> {
        for i in 0..walk.ends.len() {
            let (end, state) = walk.ends[i];
            let word = walk.dense.going_on(state)?;
            let next = match end < walk.depth {
                true => walk.path[usize::from(end) + 1].1,
                false => byte,
            };
            match word.contains(next) {
                true => self.words = self.words.union(&word),
                false => self.ends.extend(tokens.iter().map(|&token| (token, end))),
            }
        }
        Ok(())
    }

    /// Reads the byte of a node: the next one to visit.
    #[inline(always)]
    fn visit(
        &mut self,
        walk: &mut Walk<'_>,
        nodes: Nodes<'_>,
        node: usize,
        before: u32,
    ) -> Result<usize> {
        let trie = nodes.trie;
        let at = trie.nodes()[node];
        let next = walk.dense.step(before, at.byte)?;
        self.work += 1;
        if next == Dense::DEAD {
            if !walk.ends.is_empty() {
                self.passed(walk, trie.subtree_tokens(node), at.byte)?;
            }
            return Ok(at.subtree_end as usize);
        }
        // All that is below may stay where it is.
        const SMALL: usize = 2;
        let last = at.subtree_end as usize;
        if last - node > SMALL && walk.dense.stays(next)? & nodes.below[node] == nodes.below[node] {
            let tokens = trie.subtree_tokens(node);
            tokens.iter().for_each(|&token| self.inside.allow(token));
            self.work += tokens.len();
            return Ok(last);
        }
        let tokens = trie.tokens(node);
        tokens.iter().for_each(|&token| self.inside.allow(token));
        self.work += tokens.len();
        if last > node + 1 {
            walk.push(next, at.byte);
            if walk.dense.accepts(next) {
                walk.ends.push((at.depth, next));
            }
        }
        Ok(node + 1)
    }

    /// The tokens from a node of the trie of bytes on.
    fn by_bytes(&mut self, walk: &mut Walk<'_>, bytes: Nodes<'_>, mut node: usize) -> Result<()> {
        let nodes = bytes.trie.nodes();
        let last = nodes[node].subtree_end as usize;
        while node < last {
            let before = walk.climb(nodes[node].depth);
            node = self.visit(walk, bytes, node, before)?;
        }
        Ok(())
    }

    /// Reads the rest of one token, from the end of the path.
    fn read(
        &mut self,
        vocabulary: &Vocabulary,
        walk: &mut Walk<'_>,
        token: u32,
        from: u16,
    ) -> Result<()> {
        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
        let ends = walk.ends.len();
        let mut state = walk.path[usize::from(from)].0;
        let mut left = None;
        for (i, &byte) in bytes.iter().enumerate().skip(from.into()) {
            state = walk.dense.step(state, byte)?;
            self.work += 1;
            if state == Dense::DEAD {
                left = Some(byte);
                break;
            }
            walk.push(state, byte);
            if walk.dense.accepts(state) && i + 1 < bytes.len() {
                walk.ends.push((i as u16 + 1, state));
            }
        }
        match left {
            Some(byte) => self.passed(walk, &[token], byte)?,
            None => self.inside.allow(token),
        }
        walk.depth = from;
        walk.ends.truncate(ends);
        Ok(())
    }
}

/// The states that one walk comes through, numbered, with their successors side by side: a step is
/// one look-up in memory that stays in the cache.
struct Dense<'a> {
    languages: &'a mut Languages,
    states: Vec<Language>,
    ids: FxHashMap<Language, u32>,
    next: Vec<[u32; 256]>,
    accepts: Vec<bool>,
    /// Is every end asked for?
    every_end: bool,
    /// The bytes of a word with which it goes on where it may end. Once asked.
    goings_on: Vec<Option<ByteSet>>,
    /// The first bytes of the classes of which it treats the bytes alike. Once asked.
    uniform: Vec<Option<ByteSet>>,
    /// The groups of the bytes that leave it where it is. Once asked.
    stays: Vec<Option<u64>>,
    /// Whether subtrees may be passed over.
    skips: bool,
}

impl<'a> Dense<'a> {
    const START: u32 = 0;
    const DEAD: u32 = u32::MAX;
    /// Not asked for yet.
    const OPEN: u32 = u32::MAX - 1;

    fn new(languages: &'a mut Languages, start: Language, every_end: bool) -> Self {
        let (states, ids) = (Vec::new(), FxHashMap::default());
        let (next, accepts, uniform) = (Vec::new(), Vec::new(), Vec::new());
        let (goings_on, stays) = (Vec::new(), Vec::new());
        let skips = true;
        let mut this = Self {
            languages,
            states,
            ids,
            next,
            accepts,
            every_end,
            goings_on,
            uniform,
            stays,
            skips,
        };
        this.number(start);
        this
    }

    fn number(&mut self, state: Language) -> u32 {
        *self.ids.entry(state).or_insert_with(|| {
            self.accepts.push(self.languages.is_nullable(state));
            self.next.push([Self::OPEN; 256]);
            self.uniform.push(None);
            self.goings_on.push(None);
            self.stays.push(None);
            self.states.push(state);
            self.states.len() as u32 - 1
        })
    }

    #[inline(always)]
    fn step(&mut self, state: u32, byte: u8) -> Result<u32> {
        match self.next[state as usize][usize::from(byte)] {
            Self::OPEN => self.open(state, byte),
            next => Ok(next),
        }
    }

    #[cold]
    fn open(&mut self, state: u32, byte: u8) -> Result<u32> {
        let next = match self.languages.step(self.states[state as usize], byte)? {
            Language::EMPTY => Self::DEAD,
            next => self.number(next),
        };
        self.next[state as usize][usize::from(byte)] = next;
        Ok(next)
    }

    /// The bytes of a word with which a state may go on; none where all ends are asked for.
    fn going_on(&mut self, state: u32) -> Result<ByteSet> {
        if self.every_end {
            return Ok(ByteSet::EMPTY);
        }
        if let Some(known) = self.goings_on[state as usize] {
            return Ok(known);
        }
        let bytes = word_bytes(self.languages.first_bytes(self.states[state as usize])?);
        self.goings_on[state as usize] = Some(bytes);
        Ok(bytes)
    }

    /// The groups of which all bytes lead from a state to itself.
    fn stays(&mut self, state: u32) -> Result<u64> {
        if let Some(known) = self.stays[state as usize] {
            return Ok(known);
        }
        let language = self.states[state as usize];
        if !self.skips || self.languages.is_computed(language) {
            self.stays[state as usize] = Some(0);
            return Ok(0);
        }
        let row = self.languages.plain_row(language)?;
        let leaves = (0..=u8::MAX).filter(|&byte| row[usize::from(byte)] != language);
        let stays = !leaves.fold(0, |all, byte| all | bit(byte));
        self.stays[state as usize] = Some(stays);
        Ok(stays)
    }

    fn accepts(&self, state: u32) -> bool {
        self.accepts[state as usize]
    }

    /// Does a state treat the bytes of a class alike?
    fn is_uniform(&mut self, state: u32, class: u8) -> Result<bool> {
        if let Some(known) = &self.uniform[state as usize] {
            return Ok(known.contains(class));
        }
        let language = self.states[state as usize];
        let uniform = match self.languages.is_computed(language) {
            true => ByteSet::EMPTY,
            false => uniform_classes(self.languages.plain_row(language)?),
        };
        self.uniform[state as usize] = Some(uniform);
        Ok(uniform.contains(class))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod testing {
    use super::*;
    use crate::regular;
    use crate::regular::Utf8;

    /// All states of a pattern that match something.
    pub(crate) fn states(pattern: &str) -> (Languages, Vec<Language>) {
        let mut l = Languages::new();
        let start = regular::parse(&mut l, pattern, regular::Options::default(), &Utf8).unwrap();
        let mut states = vec![start];
        for i in 0.. {
            let Some(&state) = states.get(i) else { break };
            for after in *l.row(state).unwrap() {
                if after != Language::EMPTY && !states.contains(&after) {
                    states.push(after);
                }
            }
        }
        (l, states)
    }

    /// What two walks must find alike.
    pub(crate) fn listed(mut found: Found) -> (Vec<u32>, Vec<(u32, u16)>) {
        found.ends.sort_unstable();
        (found.inside.iter().collect(), found.ends)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn far_from_a_bound_only_long_tokens_are_read() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let mut token = || -> Vec<u8> {
            let letters = ["a", "b", "é", "-", "\"", "aaa", "bab", "éé"];
            let parts = (0..rng.random_range(1..30)).map(|_| letters[rng.random_range(0..8)]);
            parts.collect::<String>().into_bytes()
        };
        let tokens = (0..3_000).map(|_| Some(token())).collect();
        let vocabulary = Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
        let classes = Classes::new(&vocabulary);
        let mut compared = 0;
        for pattern in [
            "(?=[^\"]{0,40}\"$)[abé]+(-[abé]+)*\"",
            "(?=[^\"]{0,30}\"$)([ab]{1,30}-?)+é*\"",
            "(?=.{3,50}$)(aaa|b|é|-)*\"{0,2}",
        ] {
            let (mut l, states) = testing::states(pattern);
            for (state, every_end) in states.into_iter().flat_map(|s| [(s, false), (s, true)]) {
                let Some((free, far)) = l.nearly(state).unwrap() else { continue };
                let Some(longer) = classes.longer(&vocabulary, far) else { continue };
                let known = classes.walk(&vocabulary, &mut l, (free, 0), every_end).unwrap();
                let Found { inside, ends, words, .. } = &known;
                let known = Known { state: free, inside, ends, words: *words };
                let from = (state, every_end);
                let read = classes.rereading(&vocabulary, &mut l, from, &known, longer).unwrap();
                let walked = classes.walk(&vocabulary, &mut l, (state, 0), every_end).unwrap();
                assert!(testing::listed(read) == testing::listed(walked), "{pattern}");
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
    }
}
