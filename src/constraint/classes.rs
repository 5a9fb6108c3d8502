//! The vocabulary by the shapes of its tokens.
//!
//! Patterns rarely tell one digit from another, or one letter: they look at *classes* of bytes. So
//! tokens are grouped by the classes that they are made of, in a trie a twentieth the size of that
//! of their bytes. A walk goes over it with one byte for each class, as long as the states that it
//! meets treat the bytes of that class alike; where one does not, tokens are read by their bytes.

mod differing;

pub(super) use differing::Known;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::slices::word_bytes;
use crate::deadline;
use crate::error::Result;
use crate::regex::{ByteSet, Language, Languages};
use crate::vocab::{Reader, TokenMask, Trie, Vocabulary};

/// The trie of tokens in which each byte is replaced by the first of its class.
#[derive(Debug)]
pub(super) struct Classes {
    trie: Trie,
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

/// The first byte of a byte's class.
pub(super) fn class_of(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// The first bytes of the classes of which a state with this row treats the bytes alike.
pub(super) fn uniform_classes(row: &[Language; 256]) -> ByteSet {
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
pub(super) struct Found {
    /// Tokens that stay in the terminal from end to end.
    pub(super) inside: TokenMask,
    /// How many nodes and bytes were looked at.
    pub(super) work: usize,
    /// Tokens that pass a place where the terminal may end, with the length up to there. Unless all
    /// were asked for, without those where a word goes on.
    pub(super) ends: Vec<(u32, u16)>,
    /// The bytes of words that were found to go on.
    pub(super) words: ByteSet,
}

/// By class: where its bytes lead, and is a unit complete there?
type Steps = FxHashMap<u8, SmallVec<[(u16, bool); 2]>>;

/// A place where the terminal may end: its depth, and its state there.
type End = (u16, u32);

impl Classes {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let shape = |token: u32| -> Vec<u8> {
            let bytes = vocabulary.token_bytes(token).unwrap_or_default();
            bytes.iter().map(|&byte| CLASS[usize::from(byte)]).collect()
        };
        let ids = vocabulary.trie().ids();
        let mut shapes: Vec<(Vec<u8>, u32)> = ids.iter().map(|&id| (shape(id), id)).collect();
        shapes.sort_unstable();
        Self { trie: Trie::from_sorted(shapes.iter().map(|(shape, id)| (&shape[..], *id))) }
    }

    /// As read from an index; `None` if it is no trie of shapes of this vocabulary's tokens.
    pub(super) fn decode(from: &mut Reader<'_>, vocabulary: &Vocabulary) -> Option<Self> {
        Some(Self { trie: Trie::decode(from, vocabulary.len())? })
    }

    /// The tokens by their shapes.
    pub(super) fn trie(&self) -> &Trie {
        &self.trie
    }

    /// No token repeats a unit more often, the last time perhaps unfinished. By shapes alone, so
    /// perhaps more than a token does; [`u32::MAX`] for a unit of many states.
    pub(super) fn most_units(&self, languages: &mut Languages, unit: Language) -> Result<u32> {
        const STATES: usize = 64;
        // By state: where the bytes of each class lead, and whether a unit is complete there.
        let mut states = vec![unit];
        let mut next: Vec<Steps> = Vec::new();
        while let Some(&state) = states.get(next.len()) {
            deadline::check()?;
            let row = *languages.plain_row(state)?;
            let mut steps = Steps::default();
            for byte in 0..=u8::MAX {
                let after = row[usize::from(byte)];
                if after == Language::EMPTY {
                    continue;
                }
                let known = states.iter().position(|&state| state == after);
                let id = known.unwrap_or_else(|| {
                    states.push(after);
                    states.len() - 1
                });
                let step = (id as u16, languages.is_nullable(after));
                let steps = steps.entry(class_of(byte)).or_default();
                if !steps.contains(&step) {
                    steps.push(step);
                }
            }
            if states.len() > STATES {
                return Ok(u32::MAX);
            }
            next.push(steps);
        }
        // By depth: the states that units which begin anywhere may be in, and how many are complete.
        let mut path: Vec<SmallVec<[(u16, u32); 8]>> = vec![SmallVec::from_slice(&[(0, 0)])];
        let mut most = 0;
        for node in &self.trie.nodes()[1..] {
            let depth = usize::from(node.depth);
            path.truncate(depth);
            let mut here: SmallVec<[(u16, u32); 8]> = SmallVec::from_slice(&[(0, 0)]);
            let mut reach = |state: u16, count: u32| match here.iter_mut().find(|s| s.0 == state) {
                Some(known) => known.1 = known.1.max(count),
                None => here.push((state, count)),
            };
            for &(state, count) in &path[depth - 1] {
                for &(after, complete) in
                    next[usize::from(state)].get(&node.byte).iter().copied().flatten()
                {
                    reach(after, count);
                    if complete {
                        reach(0, count + 1);
                        most = most.max(count + 1);
                    }
                }
            }
            path.push(here);
        }
        Ok(most + 1)
    }

    /// Walks from a terminal's state at a node of the vocabulary's trie. Exact.
    pub(super) fn walk(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        (state, node): (Language, u32),
        every_end: bool,
    ) -> Result<Found> {
        let mut found = Found::new(vocabulary);
        let top = vocabulary.trie().nodes()[node as usize].depth;
        let mut walk = Walk {
            dense: Dense::new(languages, state, every_end),
            path: vec![(Dense::START, 0); usize::from(top) + 1],
            ends: Vec::new(),
        };
        let first = walk.dense.languages.first_bytes(state)?;
        let shapes = self.same_node(vocabulary, node);
        for class in (0..=u8::MAX).filter(|&byte| class_of(byte) == byte) {
            deadline::check()?;
            let bytes = first.iter().filter(|&byte| class_of(byte) == class);
            match shapes {
                Some(at) if walk.dense.is_uniform(Dense::START, class)? => {
                    if first.contains(class)
                        && let Some(child) = self.trie.child(at, class)
                    {
                        self.by_shapes(vocabulary, &mut walk, child, &mut found)?;
                    }
                }
                _ => {
                    for byte in bytes {
                        if let Some(child) = vocabulary.trie().child(node as usize, byte) {
                            found.by_bytes(vocabulary, &mut walk, child)?;
                        }
                    }
                }
            }
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
        let alone =
            |byte: u8| (0..=u8::MAX).filter(|&b| class_of(b) == class_of(byte)).count() == 1;
        if before.iter().all(|&byte| alone(byte)) { self.trie.find(before) } else { None }
    }

    /// The tokens from a node of shapes on, the class of whose byte the state before treats alike.
    fn by_shapes(
        &self,
        vocabulary: &Vocabulary,
        walk: &mut Walk<'_>,
        mut node: usize,
        found: &mut Found,
    ) -> Result<()> {
        let nodes = self.trie.nodes();
        let last = nodes[node].subtree_end as usize;
        while node < last {
            let at = nodes[node];
            let before = walk.climb(at.depth);
            if !walk.dense.is_uniform(before, at.byte)? {
                for &token in self.trie.subtree_tokens(node) {
                    found.read(vocabulary, walk, token, at.depth - 1)?;
                }
                node = at.subtree_end as usize;
                continue;
            }
            node = found.visit(walk, &self.trie, node, before)?;
        }
        walk.ends.clear();
        Ok(())
    }
}

/// The way to a node, and the depths at which the terminal may end.
struct Walk<'a> {
    dense: Dense<'a>,
    /// By depth: the state, and the byte before it.
    path: Vec<(u32, u8)>,
    ends: Vec<End>,
}

impl Walk<'_> {
    /// Goes back to before a node of this depth: the state there.
    #[inline]
    fn climb(&mut self, depth: u16) -> u32 {
        while self.ends.last().is_some_and(|&(end, _)| end >= depth) {
            self.ends.pop();
        }
        self.path.truncate(depth.into());
        self.path[usize::from(depth) - 1].0
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
            let next = walk.path.get(usize::from(end) + 1).map_or(byte, |&(_, byte)| byte);
            match word.contains(next) {
                true => self.words = self.words.union(&word),
                false => self.ends.extend(tokens.iter().map(|&token| (token, end))),
            }
        }
        Ok(())
    }

    /// Reads the byte of a node: the next one to visit.
    #[inline]
    fn visit(
        &mut self,
        walk: &mut Walk<'_>,
        trie: &Trie,
        node: usize,
        before: u32,
    ) -> Result<usize> {
        let at = trie.nodes()[node];
        let next = walk.dense.step(before, at.byte)?;
        self.work += 1;
        if next == Dense::DEAD {
            if !walk.ends.is_empty() {
                self.passed(walk, trie.subtree_tokens(node), at.byte)?;
            }
            return Ok(at.subtree_end as usize);
        }
        trie.tokens(node).iter().for_each(|&token| self.inside.allow(token));
        if at.subtree_end as usize > node + 1 {
            walk.path.push((next, at.byte));
            if walk.dense.accepts(next) {
                walk.ends.push((at.depth, next));
            }
        }
        Ok(node + 1)
    }

    /// The tokens from a node of the trie of bytes on.
    fn by_bytes(
        &mut self,
        vocabulary: &Vocabulary,
        walk: &mut Walk<'_>,
        mut node: usize,
    ) -> Result<()> {
        let trie = vocabulary.trie();
        let nodes = trie.nodes();
        let last = nodes[node].subtree_end as usize;
        while node < last {
            let before = walk.climb(nodes[node].depth);
            node = self.visit(walk, trie, node, before)?;
        }
        walk.ends.clear();
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
        let (path, ends) = (walk.path.len(), walk.ends.len());
        let mut state = walk.path[usize::from(from)].0;
        let mut left = None;
        for (i, &byte) in bytes.iter().enumerate().skip(from.into()) {
            state = walk.dense.step(state, byte)?;
            self.work += 1;
            if state == Dense::DEAD {
                left = Some(byte);
                break;
            }
            walk.path.push((state, byte));
            if walk.dense.accepts(state) && i + 1 < bytes.len() {
                walk.ends.push((i as u16 + 1, state));
            }
        }
        match left {
            Some(byte) => self.passed(walk, &[token], byte)?,
            None => self.inside.allow(token),
        }
        walk.path.truncate(path);
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
}

impl<'a> Dense<'a> {
    const START: u32 = 0;
    const DEAD: u32 = u32::MAX;
    /// Not asked for yet.
    const OPEN: u32 = u32::MAX - 1;

    fn new(languages: &'a mut Languages, start: Language, every_end: bool) -> Self {
        let (states, ids) = (Vec::new(), FxHashMap::default());
        let (next, accepts, uniform) = (Vec::new(), Vec::new(), Vec::new());
        let goings_on = Vec::new();
        let mut this =
            Self { languages, states, ids, next, accepts, every_end, goings_on, uniform };
        this.number(start);
        this
    }

    fn number(&mut self, state: Language) -> u32 {
        *self.ids.entry(state).or_insert_with(|| {
            self.accepts.push(self.languages.is_nullable(state));
            self.next.push([Self::OPEN; 256]);
            self.uniform.push(None);
            self.goings_on.push(None);
            self.states.push(state);
            self.states.len() as u32 - 1
        })
    }

    #[inline]
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

    fn accepts(&self, state: u32) -> bool {
        self.accepts[state as usize]
    }

    /// Does a state treat the bytes of a class alike?
    fn is_uniform(&mut self, state: u32, class: u8) -> Result<bool> {
        if let Some(known) = &self.uniform[state as usize] {
            return Ok(known.contains(class));
        }
        let uniform = uniform_classes(self.languages.plain_row(self.states[state as usize])?);
        self.uniform[state as usize] = Some(uniform);
        Ok(uniform.contains(class))
    }
}
