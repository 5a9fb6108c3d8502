//! Liveness of items in vocabularies with a byte that occurs in tokens but is no token by itself.
//!
//! Where every byte is a token by itself, every configuration can be completed: terminals are
//! never in an empty state, and no point is unproductive. Bytes that stand in no token at all are
//! taken out of the terminals when a constraint is compiled. There remain bytes that stand only
//! *inside longer tokens*. For a vocabulary with such bytes, an item is *completable by bytes* if
//! single-byte tokens alone spell some text from it to the end: a least fixed point over points,
//! states and stacks. A configuration without such an item may still be live; then a search over whole
//! tokens decides ([`Recognizer::is_live`](super::stepper::Recognizer::is_live)).
//!
//! Example: the tokens are `a`, `b` and `xy`. In `("xy" | "a") "b"` the point of `"xy"` is not
//! completable by bytes, but the token `xy` leads from it to `"b"`, which is: so it is live.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::byte_coverage::ByteCoverage;
use super::gss::ReturnStacks;
use super::item::{ACCEPT, BOTTOM, ConfigId, Item, PointId, StackId};
use super::point::Point;
use super::program::Program;
use crate::error::Result;
use crate::regular::{Language, Languages};

/// Memo tables of liveness.
#[derive(Debug)]
pub(super) struct Liveness {
    /// The strings of single-byte tokens.
    byte_strings: Language,
    /// By point: whether single-byte tokens spell some text to the end of its rule.
    points: FxHashMap<PointId, bool>,
    /// By stack: whether single-byte tokens spell some text to the end.
    stacks: FxHashMap<StackId, bool>,
    /// By configuration: whether tokens complete it, as searches have found.
    pub(super) configurations: FxHashMap<ConfigId, bool>,
}

impl Liveness {
    /// `None` where every byte that tokens hold is a token by itself: then everything is live.
    pub(super) fn new(languages: &mut Languages, coverage: &ByteCoverage) -> Option<Self> {
        if coverage.single == coverage.any {
            return None;
        }
        let one = languages.byte_set(coverage.single);
        Some(Self {
            byte_strings: languages.repeat(one, 0, None),
            points: FxHashMap::default(),
            stacks: FxHashMap::default(),
            configurations: FxHashMap::default(),
        })
    }
}

/// Points visited to find whether one is completable by bytes; beyond, the answer is no, and the
/// search over tokens decides.
const MAX_VISITED_POINTS: usize = 20_000;

/// Alternatives from a point to the end of its rule, each a list of points that must all be
/// completable.
type Alternatives = Vec<SmallVec<[PointId; 2]>>;

/// Finds out which items single-byte tokens complete.
pub(super) struct LivenessCheck<'a> {
    pub(super) program: &'a Program,
    pub(super) languages: &'a mut Languages,
    pub(super) stacks: &'a ReturnStacks,
    pub(super) known: &'a mut Liveness,
}

impl LivenessCheck<'_> {
    /// Whether single-byte tokens spell some text from a point to the end of its rule: a least fixed
    /// point over the points that it leads to.
    fn is_completable_point(&mut self, point: PointId) -> Result<bool> {
        if let Some(&spelled) = self.known.points.get(&point) {
            return Ok(spelled);
        }
        let mut reached = vec![point];
        let mut seen = FxHashSet::from_iter([point]);
        let mut all: Vec<Alternatives> = Vec::new();
        while let Some(&at) = reached.get(all.len()) {
            let alternatives = self.completable_alternatives(at)?;
            for &next in alternatives.iter().flatten() {
                if !self.known.points.contains_key(&next) && seen.insert(next) {
                    reached.push(next);
                }
            }
            all.push(alternatives);
            if reached.len() > MAX_VISITED_POINTS {
                return Ok(false);
            }
        }
        let mut found: FxHashMap<PointId, bool> = reached.iter().map(|&at| (at, false)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (&at, alternatives) in reached.iter().zip(&all) {
                let holds = |next: &PointId| {
                    found
                        .get(next)
                        .or_else(|| self.known.points.get(next))
                        .copied()
                        .unwrap_or(false)
                };
                if !found[&at] && alternatives.iter().any(|all| all.iter().all(holds)) {
                    found.insert(at, true);
                    changed = true;
                }
            }
        }
        let spelled = found[&point];
        self.known.points.extend(found);
        Ok(spelled)
    }

    /// Whether single-byte tokens spell some string of a language.
    fn has_byte_string(&mut self, language: Language) -> Result<bool> {
        let both = self.languages.intersect([language, self.known.byte_strings]);
        self.languages.is_live(both)
    }

    fn completable_alternatives(&mut self, point: PointId) -> Result<Alternatives> {
        let program = self.program;
        let one = |next: PointId| SmallVec::from_slice(&[next]);
        Ok(match program.point(point) {
            Point::Border => vec![SmallVec::new()],
            Point::Regular { language, next } => {
                if self.has_byte_string(language)? {
                    vec![one(next)]
                } else {
                    Vec::new()
                }
            }
            Point::Special { next, .. } => vec![one(next)],
            Point::Call { rule, next } => {
                if program.entry(rule).is_none() {
                    program.expand(rule, self.languages)?;
                }
                program
                    .entry(rule)
                    .map(|entry| SmallVec::from_slice(&[entry, next]))
                    .into_iter()
                    .collect()
            }
            Point::Fork(branches) => program.branches(branches).into_iter().map(one).collect(),
            Point::Repeat { body, min, next, .. } => match min {
                0 => vec![one(next)],
                _ => vec![SmallVec::from_slice(&[body, next])],
            },
            Point::Names(names) => {
                let mut alternatives = Vec::new();
                for (rank, name) in program.allowed_names(names) {
                    let name = self.languages.literal(&name);
                    if self.has_byte_string(name)? {
                        alternatives.push(one(program.after_name(names, rank, self.languages)?));
                    }
                }
                alternatives
            }
            Point::Capture { language, tag } => {
                if self.has_byte_string(language)? {
                    let next = program.after_capture(tag, None, self.languages)?;
                    next.map(one).into_iter().collect()
                } else {
                    Vec::new()
                }
            }
            Point::Scope { body, tag } => {
                let next = program.after_capture(tag, None, self.languages)?;
                next.map(|next| SmallVec::from_slice(&[body, next])).into_iter().collect()
            }
        })
    }

    /// Whether single-byte tokens complete one of the items, or one is complete.
    pub(super) fn has_completable(&mut self, items: &[Item]) -> Result<bool> {
        let program = self.program;
        for item in items {
            let (state, next) = match program.point(item.point) {
                _ if item.point == ACCEPT => return Ok(true),
                Point::Regular { next, .. } => (item.state, next),
                Point::Capture { tag, .. } => {
                    match program.after_capture(tag, None, self.languages)? {
                        Some(next) => (item.state, next),
                        None => continue,
                    }
                }
                Point::Special { next, .. } => (Language::EPSILON, next),
                Point::Names(_) if item.is_at_name_root() => (Language::EPSILON, item.point),
                _ => continue,
            };
            if self.has_byte_string(state)?
                && self.is_completable_point(next)?
                && self.is_completable_stack(item.stack)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_completable_stack(&mut self, stack: StackId) -> Result<bool> {
        let (program, stacks) = (self.program, self.stacks);
        self.known.stacks.insert(BOTTOM, true);
        // What lies below has smaller ids: ascending order needs no recursion.
        let mut needed = BTreeSet::new();
        let mut todo = vec![stack];
        while let Some(at) = todo.pop() {
            if !self.known.stacks.contains_key(&at) && needed.insert(at) {
                todo.extend(stacks.frames(at).iter().map(|frame| frame.below));
            }
        }
        for at in needed {
            let mut spelled = false;
            for frame in stacks.frames(at) {
                // Returning to a scope goes on behind it.
                let next = match program.point(frame.point) {
                    Point::Scope { tag, .. } => program.after_capture(tag, None, self.languages)?,
                    _ => Some(frame.point),
                };
                if let Some(next) = next {
                    spelled |=
                        self.known.stacks[&frame.below] && self.is_completable_point(next)?;
                }
            }
            self.known.stacks.insert(at, spelled);
        }
        Ok(self.known.stacks[&stack])
    }
}
