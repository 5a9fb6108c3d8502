//! A walk from a state to which nearly every byte leads back.
//!
//! So do states of a string in which a pattern is searched for: `netdrv_` is not seen in a token
//! without an `n` behind which an `e` stands. What stays is known of the vocabulary alone, tokens of
//! whole characters; only from the bytes that lead away, and from the pairs of bytes that go on with
//! what a first byte began, tokens are read.

use super::*;
use crate::regular::OrdinaryText;

/// The vocabulary's nodes at the borders of characters, by their byte and the one before.
#[derive(Debug)]
pub(crate) struct Pairs {
    /// The nodes of a pair are side by side, ascending; so are those of all pairs with one second
    /// byte.
    nodes: Box<[u32]>,
    /// By pair: where its nodes begin.
    starts: Box<[u32]>,
    /// Tokens of whole characters, the last of which may be begun only.
    text: TokenMask,
}

/// First bytes that are told apart: those of ASCII; all others are one, like the token's begin.
const FIRSTS: usize = 129;
const OTHER: u8 = 128;

fn pair(first: u8, second: u8) -> usize {
    usize::from(second) * FIRSTS + usize::from(first.min(OTHER))
}

/// Where in a character: the continuation bytes that are to come, and which the next one may be
/// (Unicode, table 3-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Within {
    left: u8,
    next: (u8, u8),
}

impl Within {
    /// Between two characters.
    const NONE: Self = Self::of(0, 0, 0);

    const fn of(left: u8, first: u8, last: u8) -> Self {
        Self { left, next: (first, last) }
    }

    /// Behind one more byte; `None` where no character goes on so.
    fn step(self, byte: u8) -> Option<Self> {
        let rest = |left| if left == 0 { Self::NONE } else { Self::of(left, 0x80, 0xBF) };
        if self.left > 0 {
            let (first, last) = self.next;
            return (first..=last).contains(&byte).then(|| rest(self.left - 1));
        }
        Some(match byte {
            0..0x80 => Self::NONE,
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

impl Pairs {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let trie = vocabulary.trie();
        let nodes = trie.nodes();
        let mut text = TokenMask::new(vocabulary.len());
        // By depth: where in a character its string ends, and its last byte.
        let mut path = vec![(Within::NONE, OTHER)];
        let mut found: Vec<(u16, u32)> = Vec::with_capacity(nodes.len());
        let mut node = 1;
        while node < nodes.len() {
            let at = nodes[node];
            path.truncate(at.depth.into());
            let (within, before) = path[usize::from(at.depth) - 1];
            let Some(next) = within.step(at.byte) else {
                node = at.subtree_end as usize;
                continue;
            };
            if within == Within::NONE {
                found.push((pair(before, at.byte) as u16, node as u32));
            }
            trie.tokens(node).iter().for_each(|&token| text.allow(token));
            path.push((next, at.byte));
            node += 1;
        }
        let mut starts = vec![0; 256 * FIRSTS + 1];
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

    /// The nodes of some pairs that are side by side.
    fn nodes(&self, pairs: std::ops::Range<usize>) -> &[u32] {
        &self.nodes[self.starts[pairs.start] as usize..self.starts[pairs.end] as usize]
    }
}

/// What leads away from a state that is home.
struct Exits {
    /// Bytes with which it is left wherever they stand.
    bytes: ByteSet,
    /// Other states to which single bytes lead, the pairs of these bytes with those behind which
    /// they are not where home would be.
    begun: Vec<(Language, ByteSet, ByteSet)>,
}

impl Exits {
    /// `None` unless most bytes lead back.
    fn of(languages: &mut Languages, home: Language) -> Result<Option<Self>> {
        /// Where fewer do, much is to be read.
        const LEAST: usize = 32;
        let row = *languages.row(home)?;
        let strays = |byte: u8| row[usize::from(byte)] != Language::EMPTY;
        if languages.is_nullable(home)
            || row.iter().filter(|&&next| next == home).count() < LEAST
            || (0x80..0xC2).chain(0xF5..=0xFF).any(strays)
        {
            return Ok(None);
        }
        let mut this = Self { bytes: ByteSet::EMPTY, begun: Vec::new() };
        for lead in 0xC2..0xF5 {
            if !leads_back(languages, row[usize::from(lead)], lead, home)? {
                this.bytes.insert(lead);
            }
        }
        for byte in 0..0x80 {
            match row[usize::from(byte)] {
                next if next == home => {}
                next if next == Language::EMPTY || languages.is_nullable(next) => {
                    this.bytes.insert(byte);
                }
                next => match this.begun.iter_mut().find(|(begun, ..)| *begun == next) {
                    Some((_, firsts, _)) => firsts.insert(byte),
                    None => this.begun.push((next, ByteSet::single(byte), ByteSet::EMPTY)),
                },
            }
        }
        for (begun, firsts, seconds) in &mut this.begun {
            let after = languages.row(*begun)?;
            let others =
                (0..=u8::MAX).filter(|&byte| after[usize::from(byte)] != row[usize::from(byte)]);
            *seconds = others.collect();
            if seconds.iter().any(|byte| byte >= 0x80) {
                this.bytes = this.bytes.union(firsts);
                *seconds = ByteSet::EMPTY;
            }
        }
        Ok(Some(this))
    }
}

/// Does every character with this lead byte lead back, and nothing else go on?
fn leads_back(languages: &mut Languages, next: Language, lead: u8, home: Language) -> Result<bool> {
    let Some(within) = Within::NONE.step(lead) else { return Ok(false) };
    let mut open: SmallVec<[(Language, Within); 8]> = SmallVec::from_slice(&[(next, within)]);
    let mut at = 0;
    while let Some(&(state, within)) = open.get(at) {
        at += 1;
        if state == Language::EMPTY || languages.is_nullable(state) {
            return Ok(false);
        }
        let row = languages.row(state)?;
        for byte in 0..=u8::MAX {
            let next = row[usize::from(byte)];
            match within.step(byte) {
                None if next != Language::EMPTY => return Ok(false),
                Some(Within::NONE) if next != home => return Ok(false),
                Some(within) if within != Within::NONE && !open.contains(&(next, within)) => {
                    open.push((next, within));
                }
                _ => {}
            }
        }
    }
    Ok(true)
}

impl Classes {
    /// The same as [`walk`](Self::walk) from the root, from a state to which most bytes lead back;
    /// `None` if it is not of this kind, or if more than so many nodes are to be read. `text`: the
    /// tokens that are texts of ordinary characters, where not all beyond ASCII are.
    pub(crate) fn home(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        (home, every_end): (Language, bool),
        text: Option<&TokenMask>,
        most: usize,
    ) -> Result<Option<Found>> {
        if self.strategies.has(Strategy::OrdinaryText)
            && let Some(ordinary) = languages.ordinary(home)?
        {
            let from = (home, every_end);
            return self.among_ordinary(vocabulary, languages, from, &ordinary, text);
        }
        if !self.strategies.has(Strategy::SelfLoops) {
            return Ok(None);
        }
        let Some(exits) = Exits::of(languages, home)? else { return Ok(None) };
        let (trie, pairs) = (vocabulary.trie(), &self.pairs);
        let nodes = trie.nodes();
        // By node: from which state it is read, counted from 1 on.
        let mut marks = vec![0u8; nodes.len()];
        for byte in exits.bytes.iter() {
            let all = pair(0, byte)..pair(0, byte) + FIRSTS;
            pairs.nodes(all).iter().for_each(|&node| marks[node as usize] = 1);
        }
        for ((_, firsts, seconds), mark) in exits.begun.iter().zip(2..) {
            for (first, second) in firsts.iter().flat_map(|a| seconds.iter().map(move |b| (a, b))) {
                let at = pair(first, second);
                pairs.nodes(at..at + 1).iter().for_each(|&node| marks[node as usize] = mark);
            }
        }
        let Some(read) = uppermost(trie, &marks, most) else { return Ok(None) };
        let mut walk = self.start(languages, home, every_end);
        let begun = exits.begun.iter().map(|&(state, ..)| walk.dense.number(state));
        let states: Vec<u32> = [Dense::START].into_iter().chain(begun).collect();
        let (inside, ends, words) = (pairs.text.clone(), Vec::new(), ByteSet::EMPTY);
        let mut found = Found { inside, work: usize::MAX / 2, ends, words };
        let bytes = Nodes { trie, below: &self.bytes_below };
        for (node, mark) in read {
            deadline::check()?;
            let node = node as usize;
            trie.subtree_tokens(node).iter().for_each(|&token| found.inside.deny(token));
            walk.path[usize::from(nodes[node].depth) - 1].0 = states[usize::from(mark) - 1];
            found.by_bytes(&mut walk, bytes, node)?;
            walk.ends.clear();
        }
        Ok(Some(found))
    }
}

impl Classes {
    /// The same from a state of an automaton where most characters are ordinary: what follows them
    /// is read from the state behind the last.
    fn among_ordinary(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        (state, every_end): (Language, bool),
        ordinary: &OrdinaryText,
        text: Option<&TokenMask>,
    ) -> Result<Option<Found>> {
        let text = match (ordinary.text, text) {
            (None, _) => &self.pairs.text,
            (Some(_), Some(text)) => text,
            (Some(_), None) => return Ok(None),
        };
        let (trie, pairs) = (vocabulary.trie(), &self.pairs);
        let nodes = trie.nodes();
        let mut marks = vec![0u8; nodes.len()];
        for byte in (0..0x80).filter(|&byte| !ordinary.bytes.contains(byte)) {
            let all = pair(0, byte)..pair(0, byte) + FIRSTS;
            pairs.nodes(all).iter().for_each(|&node| marks[node as usize] = 1);
        }
        trie.children(0, ordinary.later.bits()).for_each(|node| marks[node] = 1);
        // Much may stand below them, but by bytes nothing is read sooner.
        let read = uppermost(trie, &marks, usize::MAX).unwrap_or_default();
        let mut walk = self.start(languages, state, every_end);
        let base = ordinary.base.map(|base| walk.dense.number(base));
        let (inside, ends, words) = (text.clone(), Vec::new(), ByteSet::EMPTY);
        let mut found = Found { inside, work: usize::MAX / 2, ends, words };
        let bytes = Nodes { trie, below: &self.bytes_below };
        for (node, _) in read {
            deadline::check()?;
            let node = node as usize;
            let tokens = trie.subtree_tokens(node);
            tokens.iter().for_each(|&token| found.inside.deny(token));
            let depth = usize::from(nodes[node].depth) - 1;
            // Every node is on the way to a token.
            let text = tokens.first().and_then(|&token| vocabulary.token_bytes(token));
            let text = text.and_then(|text| text.get(..depth)).unwrap_or_default();
            let last = text.iter().rposition(|&byte| byte & 0xC0 != 0x80).unwrap_or(0);
            let (mut before, from) = match base {
                Some(base) if last > 0 => (base, last),
                _ => (Dense::START, 0),
            };
            for &byte in &text[from..] {
                if before != Dense::DEAD {
                    before = walk.dense.step(before, byte)?;
                }
            }
            if before != Dense::DEAD {
                walk.path[depth].0 = before;
                found.by_bytes(&mut walk, bytes, node)?;
                walk.ends.clear();
            }
        }
        Ok(Some(found))
    }
}

/// The nodes with a mark that stand below no other, with these; `None` if more than so many nodes
/// are below.
fn uppermost(trie: &Trie, marks: &[u8], most: usize) -> Option<Vec<(u32, u8)>> {
    let (mut found, mut node, mut below) = (Vec::new(), 0, 0);
    while let Some(ahead) = first_mark(&marks[node..]) {
        node += ahead;
        found.push((node as u32, marks[node]));
        let end = trie.nodes()[node].subtree_end as usize;
        below += end - node;
        node = end;
    }
    (below <= most).then_some(found)
}

/// Where the first byte is that is not 0.
fn first_mark(marks: &[u8]) -> Option<usize> {
    const LANE: usize = 64;
    let chunks =
        marks.chunks(LANE).position(|chunk| chunk.iter().fold(0, |any, m| any | m) != 0)?;
    let at = chunks * LANE;
    marks[at..].iter().position(|&mark| mark != 0).map(|ahead| at + ahead)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;
    use std::sync::Arc;

    #[test]
    fn reading_what_leads_away_is_a_walk() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        // Whole characters, and bytes that are none.
        let parts: [&[u8]; 16] = [
            b"a",
            b"b",
            b"c",
            b"n",
            b"e",
            b"t",
            b"0",
            b"\"",
            b"\\",
            b":",
            b"\n",
            "é".as_bytes(),
            "→".as_bytes(),
            b"\xE2\x86",
            b"\x92",
            b"\xFF",
        ];
        let mut token = || -> Vec<u8> {
            let parts = (0..rng.random_range(1..7)).map(|_| parts[rng.random_range(0..16)]);
            parts.flatten().copied().collect()
        };
        let tokens = (0..20_000).map(|_| Some(token())).collect();
        let vocabulary = Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
        let classes = Classes::new(&vocabulary);
        let text = r#"(?:[^"\\\n]|\\.)"#;
        let mut compared = 0;
        for pattern in [
            format!("{text}*net{text}*\""),
            format!("{text}*(net|→c|tea){text}*\"(:a*)?"),
            format!("{text}*(é|\\\\n){text}*\""),
            "([^\"\\\\\nn]|n+[^\"\\\\\nen])*n*\":".to_owned(),
            "[^a\"]*\"".to_owned(),
            "[^→\"]*\"[abc]*".to_owned(),
            "([^\"e0]|ee|0c?a)*\"".to_owned(),
        ] {
            let (mut l, states) = testing::states(&pattern);
            for (state, every_end) in states.into_iter().flat_map(|s| [(s, false), (s, true)]) {
                let home = classes
                    .home(&vocabulary, &mut l, (state, every_end), None, usize::MAX)
                    .unwrap();
                let Some(home) = home else { continue };
                let walked = classes.walk(&vocabulary, &mut l, (state, 0), every_end).unwrap();
                assert_eq!(home.words, walked.words, "{pattern}");
                assert_eq!(testing::listed(home), testing::listed(walked), "{pattern}");
                compared += 1;
            }
        }
        assert!(compared > 12, "{compared}");
    }

    #[test]
    fn reading_what_is_not_ordinary_is_a_walk() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let parts =
            "a b z 0 - - [ ] ^ ( ) * \\\\ \\\" \" \\\\u00 { } , : é é- → →- [é-é 😀".split(' ');
        let mut parts: Vec<&[u8]> = parts.map(str::as_bytes).collect();
        parts.extend([&b"\xE2\x86"[..], b"\x92", b"\xFF", b"\n", b" "]);
        let mut token = || -> Vec<u8> {
            let many = rng.random_range(1..7);
            let parts = (0..many).map(|_| parts[rng.random_range(0..parts.len())]);
            parts.flatten().copied().collect()
        };
        let tokens = (0..20_000).map(|_| Some(token())).collect();
        let vocabulary = Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
        let classes = Classes::new(&vocabulary);
        let mut compared = 0;
        for canonical in [true, false] {
            let mut l = Languages::new();
            let text = crate::regular::spelled(&mut l, Arc::new(crate::regular::Syntax), canonical);
            let quote = l.literal(b"\"");
            let start = l.concat([text, quote]);
            for text in [
                "",
                "a",
                "a*",
                "a*?",
                "^",
                "(",
                "(a",
                "(a)",
                "a|",
                r"\\0",
                r"\\1",
                "[",
                "[^",
                "[b",
                "[é",
                "[a-",
                "[é-",
                "[b-z",
                r"[\\d",
                r"[\\d-",
                r"[\\0",
                r"[\\uD83D",
                "(?<a",
                "(?<",
                "(?<aé",
                r"\\k<",
                r"\\k<b",
                "(?",
            ] {
                let state = text.bytes().try_fold(start, |state, byte| l.step(state, byte));
                let state = state.unwrap();
                assert_ne!(state, Language::EMPTY, "{text}");
                let chars = l.ordinary(state).unwrap().and_then(|ordinary| ordinary.text);
                let chars = chars.map(|text| {
                    classes.walk(&vocabulary, &mut l, (text, 0), false).unwrap().inside
                });
                let from = (state, false);
                let home = classes.home(&vocabulary, &mut l, from, chars.as_ref(), usize::MAX);
                let Some(home) = home.unwrap() else { continue };
                let walked = classes.walk(&vocabulary, &mut l, (state, 0), false).unwrap();
                assert_eq!(home.words, walked.words, "{text}");
                assert_eq!(testing::listed(home), testing::listed(walked), "{text}");
                compared += 1;
            }
        }
        // Not those in which little is ordinary.
        assert_eq!(compared, 44);
    }
}
