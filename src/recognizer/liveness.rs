//! Dead ends in vocabularies that cannot spell every byte.
//!
//! Where every byte is a token by itself, every configuration can be completed: terminals are
//! never in an empty state, and no point is unproductive. Bytes that stand in no token at all are
//! taken out of the terminals when a constraint is compiled. There remain bytes that stand only
//! *inside longer tokens*: for a vocabulary with such bytes, a configuration counts as live if it
//! can be completed by single-byte tokens alone (a least fixed point over points, states and
//! stacks), and otherwise if a search over whole tokens reaches one that can.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::gss::{BOTTOM, StackId};
use super::program::{ACCEPT, Point, PointId, Program};
use super::stepping::{ConfigId, FIRST_NODE, Item, Machine};
use crate::error::{Error, ErrorKind, Result};
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::Vocabulary;

/// Configurations that one search may visit.
const SEARCH: usize = 20_000;

/// What is known of how a vocabulary spells bytes, and of what can therefore be completed.
#[derive(Clone, Debug)]
pub(crate) struct Liveness {
    /// The strings of single-byte tokens.
    spelled: Language,
    /// Can the text from a point to the end of its rule be spelled byte by byte?
    points: FxHashMap<PointId, bool>,
    stacks: FxHashMap<StackId, bool>,
    configs: FxHashMap<ConfigId, bool>,
}

/// How a vocabulary spells bytes; computed once for each compiler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spelling {
    /// The bytes that are tokens by themselves.
    pub(crate) single: ByteSet,
    /// The bytes that stand in any token.
    pub(crate) any: ByteSet,
    /// The length of the longest token, in bytes.
    pub(crate) longest: u32,
}

impl Spelling {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let mut this = Self { single: ByteSet::EMPTY, any: ByteSet::EMPTY, longest: 0 };
        for (i, node) in vocabulary.trie().nodes().iter().enumerate().skip(1) {
            this.any.insert(node.byte);
            this.longest = this.longest.max(node.depth.into());
            if node.depth == 1 && !vocabulary.trie().tokens(i).is_empty() {
                this.single.insert(node.byte);
            }
        }
        this
    }

    /// Whether every byte of UTF-8 is a token by itself.
    pub(crate) fn every_byte(&self) -> bool {
        const NEVER_IN_UTF8: [u8; 13] =
            [0xC0, 0xC1, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
        (0..=u8::MAX).all(|byte| self.single.contains(byte) || NEVER_IN_UTF8.contains(&byte))
    }
}

impl Liveness {
    /// `None` where every byte that tokens hold is a token by itself: then all is live.
    pub(crate) fn new(languages: &mut Languages, spelling: &Spelling) -> Option<Self> {
        if spelling.single == spelling.any {
            return None;
        }
        let one = languages.byte_set(spelling.single);
        let spelled = languages.repeat(one, 0, None);
        let (points, stacks, configs) =
            (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Some(Self { spelled, points, stacks, configs })
    }
}

/// Points that are looked at to find whether one can be spelled; where it takes more, the answer
/// is no, and a search decides.
const POINTS: usize = 20_000;

/// What must be spelled from a point to the end of its rule: one of these ways, each all of its
/// points.
type Ways = Vec<SmallVec<[PointId; 2]>>;

impl Machine {
    /// Can a text that is in these items be completed by further tokens? Exact.
    ///
    /// Errors when the search visits more configurations than its limit.
    pub(crate) fn is_live(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        items: &[Item],
    ) -> Result<bool> {
        let Some(mut known) = self.liveness.take() else { return Ok(true) };
        let live = self.search(program, vocabulary, items, &mut known);
        self.liveness = Some(known);
        live
    }

    fn search(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        items: &[Item],
        known: &mut Liveness,
    ) -> Result<bool> {
        if self.is_spelled(program, items, known)? {
            return Ok(true);
        }
        let start = self.intern(items);
        if let Some(&live) = known.configs.get(&start) {
            return Ok(live);
        }
        // Breadth first. If nothing live is reached, all that was visited is dead.
        let mut visited = vec![start];
        let mut seen = FxHashSet::from_iter([start]);
        let mut next = 0;
        while let Some(&at) = visited.get(next) {
            next += 1;
            for successor in self.successors(program, vocabulary, at)? {
                let live = match known.configs.get(&successor) {
                    Some(&live) => live,
                    None => {
                        let items = self.items(successor).to_vec();
                        self.is_spelled(program, &items, known)?
                    }
                };
                if live {
                    known.configs.insert(start, true);
                    return Ok(true);
                }
                if !known.configs.contains_key(&successor) && seen.insert(successor) {
                    visited.push(successor);
                }
            }
            if visited.len() > SEARCH {
                let message = format!(
                    "more than {SEARCH} states searched for a way to finish in this vocabulary, \
                     which has bytes that are no tokens by themselves"
                );
                return Err(Error::new(ErrorKind::Limit, message)
                    .with_help("use a vocabulary with all single bytes"));
            }
        }
        known.configs.extend(visited.into_iter().map(|config| (config, false)));
        Ok(false)
    }

    /// Where any one token leads.
    pub(crate) fn successors(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        from: ConfigId,
    ) -> Result<FxHashSet<ConfigId>> {
        let mut found = FxHashSet::default();
        let items = self.items(from).to_vec();
        self.walk(program, vocabulary.trie(), &items, &mut |machine, _, items| {
            found.insert(machine.intern(items));
            Ok(())
        })?;
        for i in 0..self.items(from).len() {
            if let Point::Special { tokens, .. } = program.point(self.items(from)[i].point) {
                for token in program.tokens(tokens) {
                    let items = self.read_special(program, from, token)?;
                    found.insert(self.intern(&items));
                }
            }
        }
        Ok(found)
    }

    /// Can the text from a point to the end of its rule be spelled byte by byte? A least fixed
    /// point over the points that it leads to.
    fn is_spelled_point(
        &mut self,
        program: &Program,
        point: PointId,
        known: &mut Liveness,
    ) -> Result<bool> {
        if let Some(&spelled) = known.points.get(&point) {
            return Ok(spelled);
        }
        let mut reached = vec![point];
        let mut seen = FxHashSet::from_iter([point]);
        let mut all: Vec<Ways> = Vec::new();
        while let Some(&at) = reached.get(all.len()) {
            let ways = self.spelled_ways(program, at, known.spelled)?;
            for &next in ways.iter().flatten() {
                if !known.points.contains_key(&next) && seen.insert(next) {
                    reached.push(next);
                }
            }
            all.push(ways);
            if reached.len() > POINTS {
                return Ok(false);
            }
        }
        let mut found: FxHashMap<PointId, bool> = reached.iter().map(|&at| (at, false)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (&at, ways) in reached.iter().zip(&all) {
                let holds = |next: &PointId| {
                    found.get(next).or_else(|| known.points.get(next)).copied().unwrap_or(false)
                };
                if !found[&at] && ways.iter().any(|way| way.iter().all(holds)) {
                    found.insert(at, true);
                    changed = true;
                }
            }
        }
        let spelled = found[&point];
        known.points.extend(found);
        Ok(spelled)
    }

    fn spelled_ways(
        &mut self,
        program: &Program,
        point: PointId,
        spelled: Language,
    ) -> Result<Ways> {
        let can_be_spelled = |machine: &mut Self, language: Language| {
            let both = machine.languages.intersect([language, spelled]);
            machine.languages.is_live(both)
        };
        let one = |next: PointId| SmallVec::from_slice(&[next]);
        Ok(match program.point(point) {
            Point::Border => vec![SmallVec::new()],
            Point::Regular { language, next } => match can_be_spelled(self, language)? {
                true => vec![one(next)],
                false => Vec::new(),
            },
            Point::Special { next, .. } => vec![one(next)],
            Point::Call { rule, next } => {
                if program.entry(rule).is_none() {
                    program.expand(rule, &mut self.languages)?;
                }
                program
                    .entry(rule)
                    .map(|entry| SmallVec::from_slice(&[entry, next]))
                    .into_iter()
                    .collect()
            }
            Point::Fork(ways) => program.ways(ways).into_iter().map(one).collect(),
            Point::Repeat { body, min, next, .. } => match min {
                0 => vec![one(next)],
                _ => vec![SmallVec::from_slice(&[body, next])],
            },
            Point::Names(names) => {
                let mut ways = Vec::new();
                for (rank, name) in program.allowed_names(names) {
                    let name = self.languages.literal(&name);
                    if can_be_spelled(self, name)? {
                        ways.push(one(program.after_name(names, rank, &mut self.languages)?));
                    }
                }
                ways
            }
            Point::Capture { language, tag } => match can_be_spelled(self, language)? {
                true => {
                    let next = program.after_capture(tag, None, &mut self.languages)?;
                    next.map(one).into_iter().collect()
                }
                false => Vec::new(),
            },
            Point::Scope { body, tag } => {
                let next = program.after_capture(tag, None, &mut self.languages)?;
                next.map(|next| SmallVec::from_slice(&[body, next])).into_iter().collect()
            }
        })
    }

    /// Can it be completed by single-byte tokens, or is it complete?
    fn is_spelled(
        &mut self,
        program: &Program,
        items: &[Item],
        known: &mut Liveness,
    ) -> Result<bool> {
        for item in items {
            let (state, next) = match program.point(item.point) {
                _ if item.point == ACCEPT => return Ok(true),
                Point::Regular { next, .. } => (item.state, next),
                Point::Capture { tag, .. } => {
                    match program.after_capture(tag, None, &mut self.languages)? {
                        Some(next) => (item.state, next),
                        None => continue,
                    }
                }
                Point::Special { next, .. } => (Language::EPSILON, next),
                Point::Names(_) if item.state == FIRST_NODE => (Language::EPSILON, item.point),
                _ => continue,
            };
            let both = self.languages.intersect([state, known.spelled]);
            if self.languages.is_live(both)?
                && self.is_spelled_point(program, next, known)?
                && self.is_spelled_stack(program, item.stack, known)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_spelled_stack(
        &mut self,
        program: &Program,
        stack: StackId,
        known: &mut Liveness,
    ) -> Result<bool> {
        known.stacks.insert(BOTTOM, true);
        // What lies below has smaller ids: ascending order needs no recursion.
        let mut needed = BTreeSet::new();
        let mut todo = vec![stack];
        while let Some(at) = todo.pop() {
            if !known.stacks.contains_key(&at) && needed.insert(at) {
                todo.extend(self.stacks.frames(at).iter().map(|frame| frame.below));
            }
        }
        for at in needed {
            let mut spelled = false;
            for i in 0..self.stacks.frames(at).len() {
                let frame = self.stacks.frames(at)[i];
                // Returning to a scope goes on behind it.
                let next = match program.point(frame.point) {
                    Point::Scope { tag, .. } => {
                        program.after_capture(tag, None, &mut self.languages)?
                    }
                    _ => Some(frame.point),
                };
                if let Some(next) = next {
                    spelled |= known.stacks[&frame.below]
                        && self.is_spelled_point(program, next, known)?;
                }
            }
            known.stacks.insert(at, spelled);
        }
        Ok(known.stacks[&stack])
    }
}
