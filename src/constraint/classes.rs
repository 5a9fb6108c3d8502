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
    /// Of the longest shape, in bytes.
    longest: usize,
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

/// A place where the terminal may end: its depth, and the bytes of a word that may go on there.
type End = (u16, ByteSet);

impl Classes {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let shape = |token: u32| -> Vec<u8> {
            let bytes = vocabulary.token_bytes(token).unwrap_or_default();
            bytes.iter().map(|&byte| CLASS[usize::from(byte)]).collect()
        };
        let ids = vocabulary.trie().ids();
        let mut shapes: Vec<(Vec<u8>, u32)> = ids.iter().map(|&id| (shape(id), id)).collect();
        shapes.sort_unstable();
        Self::of(Trie::from_sorted(shapes.iter().map(|(shape, id)| (&shape[..], *id))))
    }

    /// As read from an index; `None` if it is no trie of shapes of this vocabulary's tokens.
    pub(super) fn decode(from: &mut Reader<'_>, vocabulary: &Vocabulary) -> Option<Self> {
        Some(Self::of(Trie::decode(from, vocabulary.len())?))
    }

    fn of(trie: Trie) -> Self {
        let longest = trie.nodes().iter().map(|node| node.depth.into()).max().unwrap_or(0);
        Self { trie, longest }
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
        let mut next: Vec<FxHashMap<u8, SmallVec<[(u16, bool); 2]>>> = Vec::new();
        while let Some(&state) = states.get(next.len()) {
            deadline::check()?;
            let row = *languages.plain_row(state)?;
            let mut steps: FxHashMap<u8, SmallVec<[(u16, bool); 2]>> = FxHashMap::default();
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

    /// Walks from a terminal's state. Exact.
    pub(super) fn walk(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
        every_end: bool,
    ) -> Result<Found> {
        let mut found = Found::new(vocabulary);
        let mut walk = Walk {
            dense: Dense::new(languages, state, every_end),
            path: vec![Dense::START; self.longest + 1],
            ends: Vec::new(),
        };
        let first = walk.dense.languages.first_bytes(state)?;
        for class in (0..=u8::MAX).filter(|&byte| class_of(byte) == byte) {
            deadline::check()?;
            match walk.dense.is_uniform(Dense::START, class)? {
                true if first.contains(class) => {
                    self.by_shapes(vocabulary, &mut walk, class, &mut found)?
                }
                true => {}
                false => {
                    let bytes = first.iter().filter(|&byte| class_of(byte) == class);
                    for byte in bytes {
                        found.by_bytes(vocabulary, &mut walk, byte)?;
                    }
                }
            }
        }
        Ok(found)
    }

    /// The tokens whose first byte is of a class that the state treats alike.
    fn by_shapes(
        &self,
        vocabulary: &Vocabulary,
        walk: &mut Walk<'_>,
        class: u8,
        found: &mut Found,
    ) -> Result<()> {
        let Walk { dense, path, ends } = walk;
        let nodes = self.trie.nodes();
        let Some(mut node) = self.trie.first(class) else { return Ok(()) };
        let last = nodes[node].subtree_end as usize;
        while node < last {
            let at = nodes[node];
            while ends.last().is_some_and(|&(end, _)| end >= at.depth) {
                ends.pop();
            }
            let before = path[usize::from(at.depth) - 1];
            if !dense.is_uniform(before, at.byte)? {
                for &token in self.trie.subtree_tokens(node) {
                    found.read(vocabulary, dense, token, before, at.depth - 1, ends)?;
                }
                node = at.subtree_end as usize;
                continue;
            }
            let next = dense.step(before, at.byte)?;
            found.work += 1;
            if next == Dense::DEAD {
                for &token in if ends.is_empty() { &[] } else { self.trie.subtree_tokens(node) } {
                    found.passed(vocabulary, token, ends);
                }
                node = at.subtree_end as usize;
                continue;
            }
            self.trie.tokens(node).iter().for_each(|&token| found.inside.allow(token));
            if at.subtree_end as usize > node + 1 && dense.accepts(next) {
                ends.push((at.depth, dense.going_on(next)?));
            }
            path[usize::from(at.depth)] = next;
            node += 1;
        }
        ends.clear();
        Ok(())
    }
}

/// The states along the way to a node, and the depths at which the terminal may end.
struct Walk<'a> {
    dense: Dense<'a>,
    /// By depth.
    path: Vec<u32>,
    ends: Vec<End>,
}

impl Found {
    fn new(vocabulary: &Vocabulary) -> Self {
        let (ends, words) = (Vec::new(), ByteSet::EMPTY);
        Self { inside: TokenMask::new(vocabulary.len()), work: 0, ends, words }
    }

    /// Notes a token that leaves the terminal, by the places in it where that may end.
    fn passed(&mut self, vocabulary: &Vocabulary, token: u32, ends: &[End]) {
        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
        for &(end, word) in ends {
            match bytes.get(usize::from(end)) {
                Some(&next) if word.contains(next) => self.words = self.words.union(&word),
                _ => self.ends.push((token, end)),
            }
        }
    }

    /// The tokens that begin with a byte, over the trie of bytes.
    fn by_bytes(&mut self, vocabulary: &Vocabulary, walk: &mut Walk<'_>, byte: u8) -> Result<()> {
        let Walk { dense, path, ends } = walk;
        let trie = vocabulary.trie();
        let nodes = trie.nodes();
        let Some(mut node) = trie.first(byte) else { return Ok(()) };
        let last = nodes[node].subtree_end as usize;
        while node < last {
            let at = nodes[node];
            while ends.last().is_some_and(|&(end, _)| end >= at.depth) {
                ends.pop();
            }
            let next = dense.step(path[usize::from(at.depth) - 1], at.byte)?;
            self.work += 1;
            if next == Dense::DEAD {
                for &token in if ends.is_empty() { &[] } else { trie.subtree_tokens(node) } {
                    self.passed(vocabulary, token, ends);
                }
                node = at.subtree_end as usize;
                continue;
            }
            path[usize::from(at.depth)] = next;
            trie.tokens(node).iter().for_each(|&token| self.inside.allow(token));
            if at.subtree_end as usize > node + 1 && dense.accepts(next) {
                ends.push((at.depth, dense.going_on(next)?));
            }
            node += 1;
        }
        ends.clear();
        Ok(())
    }

    /// Reads the rest of one token from a state on.
    fn read(
        &mut self,
        vocabulary: &Vocabulary,
        dense: &mut Dense<'_>,
        token: u32,
        mut state: u32,
        from: u16,
        ends: &[End],
    ) -> Result<()> {
        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
        let mut here: Vec<End> = Vec::new();
        for (i, &byte) in bytes.iter().enumerate().skip(from.into()) {
            state = dense.step(state, byte)?;
            self.work += 1;
            if state == Dense::DEAD {
                self.passed(vocabulary, token, ends);
                self.passed(vocabulary, token, &here);
                return Ok(());
            }
            if dense.accepts(state) && i + 1 < bytes.len() {
                here.push((i as u16 + 1, dense.going_on(state)?));
            }
        }
        self.inside.allow(token);
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
