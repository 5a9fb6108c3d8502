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

use super::machine::{ConfigId, Item, Machine};
use super::program::{ACCEPT, Point, PointId, Program};
use super::stacks::{BOTTOM, StackId};
use crate::error::{Error, ErrorKind, Result};
use crate::regex::{ByteSet, Language, Languages};
use crate::vocab::Vocabulary;

/// Configurations that one search may visit.
const SEARCH: usize = 20_000;

/// What is known of how a vocabulary spells bytes, and of what can therefore be completed.
#[derive(Clone, Debug)]
pub(super) struct Liveness {
    /// The strings of single-byte tokens.
    spelled: Language,
    /// By point: can the text up to the end of the rule be spelled byte by byte?
    points: Vec<bool>,
    stacks: FxHashMap<StackId, bool>,
    configs: FxHashMap<ConfigId, bool>,
}

/// How a vocabulary spells bytes; computed once for each compiler.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    /// The bytes that are tokens by themselves.
    pub(super) single: ByteSet,
    /// The bytes that stand in any token.
    pub(super) any: ByteSet,
    /// The length of the longest token, in bytes.
    pub(super) longest: u32,
}

impl Spelling {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
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
}

impl Liveness {
    /// `None` where every byte that tokens hold is a token by itself: then all is live.
    pub(super) fn new(
        program: &Program,
        languages: &mut Languages,
        spelling: &Spelling,
    ) -> Result<Option<Self>> {
        if spelling.single == spelling.any {
            return Ok(None);
        }
        let one = languages.byte_set(spelling.single);
        let spelled = languages.repeat(one, 0, None);
        let count = program.len();
        let mut points = vec![false; count];
        // Few points change in a pass and programs for such vocabularies are small: plain passes.
        let mut changed = true;
        while changed {
            changed = false;
            for id in 0..count as PointId {
                if points[id as usize] {
                    continue;
                }
                let holds = |id: PointId| points[id as usize];
                let now = match program.point(id) {
                    Point::Border => true,
                    // Where strings lead is asked when they are read.
                    Point::Names(_) | Point::Capture { .. } | Point::Scope { .. } => false,
                    Point::Regular { language, next } => {
                        holds(next) && {
                            let both = languages.intersect([language, spelled]);
                            languages.is_live(both)?
                        }
                    }
                    Point::Special { next, .. } => holds(next),
                    Point::Call { rule, next } => {
                        holds(next) && program.entry(rule).is_some_and(holds)
                    }
                    Point::Fork(ways) => program.ways(ways).into_iter().any(holds),
                    Point::Repeat { body, min, next, .. } => {
                        holds(next) && (min == 0 || holds(body))
                    }
                };
                points[id as usize] = now;
                changed |= now;
            }
        }
        let (stacks, configs) = (FxHashMap::default(), FxHashMap::default());
        Ok(Some(Self { spelled, points, stacks, configs }))
    }
}

impl Machine {
    /// Can a text that is in these items be completed by further tokens? Exact.
    ///
    /// Errors when the search visits more configurations than its limit.
    pub(super) fn is_live(
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
    fn successors(
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

    /// Can it be completed by single-byte tokens, or is it complete?
    fn is_spelled(
        &mut self,
        program: &Program,
        items: &[Item],
        known: &mut Liveness,
    ) -> Result<bool> {
        for item in items {
            let way = match program.point(item.point) {
                _ if item.point == ACCEPT => return Ok(true),
                Point::Regular { next, .. } => {
                    known.points[next as usize] && {
                        let both = self.languages.intersect([item.state, known.spelled]);
                        self.languages.is_live(both)?
                    }
                }
                Point::Special { next, .. } => known.points[next as usize],
                _ => false,
            };
            if way && self.is_spelled_stack(item.stack, known) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_spelled_stack(&self, stack: StackId, known: &mut Liveness) -> bool {
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
            let spelled = self
                .stacks
                .frames(at)
                .iter()
                .any(|frame| known.points[frame.point as usize] && known.stacks[&frame.below]);
            known.stacks.insert(at, spelled);
        }
        known.stacks[&stack]
    }
}
