//! Least derivations: the shortest text from a point to the end of its rule.
//!
//! Shortest texts satisfy `bytes(point) = min over alternatives of (own bytes + sum of the points it goes
//! through)`, a least fixed point (Knuth, "A generalization of Dijkstra's algorithm", 1977). It is
//! computed over the rules that are made already; a rule that is not made counts with a lower bound on
//! its bytes until the shortest text leads through it, and only then is it made. So only rules that
//! could be part of a shortest text are ever made:
//!
//! ```text
//! value: object | "null"      bytes(value) = min(least(object) = 2, 4): object is made
//! object: "{" … 9 bytes "}"   bytes(value) = min(11, 4) = 4, by "null"
//! ```
//!
//! `recognizer/liveness.rs` solves the same equations over points in tokens, counted terminal by terminal
//! and without a text. A new kind of [`Point`] needs a case in both.
//!
//! Invariant: a point is *settled* (remembered for good) only if its shortest text leads through
//! settled points alone, none of which is unmade.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::plan_memo::{CaptureAssumption, Plans, ShortestText, Unmade};
use super::token_cost::special;
use crate::deadline;
use crate::error::{ErrorKind, Result};
use crate::recognizer::{CaptureTarget, KeySuffix, Point, PointId, Program, RETURN, Recognizer};
use crate::regular::Language;
use crate::regular::lengths;
use crate::regular::witness;
use crate::regular::witness_length;

/// Points visited in one search for a shortest text.
const MAX_VISITED_POINTS: usize = 2_000_000;

/// No text is known.
const INFINITE: u64 = u64::MAX;

/// The factor on the lower bound of an unmade rule where captured texts are spelled. Each text makes
/// rules of its own there, and with the bound itself all ways to choose a row of texts would be tried
/// before one is followed to its end: fifty items that differ took 5^50. Texts that differ are
/// seldom longer than this multiple of the shortest.
const SPELLED_BOUND_FACTOR: u64 = 4;

/// Points, each with a number of times.
pub(super) type Points = SmallVec<[(PointId, u32); 2]>;

/// One alternative to go on at a point.
#[derive(Clone, Debug, Default)]
struct ByteAlternative {
    /// Its own bytes.
    fixed: u64,
    /// The points it goes through.
    then: Points,
    unmade: Option<Unmade>,
    /// Whether it captures a text that is assumed to restrict nothing.
    is_approximate: bool,
    /// As in [`ShortestText`].
    pick: u32,
}

impl ByteAlternative {
    fn new(fixed: u64, then: &[(PointId, u32)]) -> Self {
        Self { fixed, then: SmallVec::from_slice(then), ..Self::default() }
    }
}

/// The points known to be reached from one, each with its alternatives and least bytes.
struct Derivation {
    points: Vec<PointId>,
    ids: FxHashMap<PointId, usize>,
    alternatives: Vec<Vec<ByteAlternative>>,
    bytes: Vec<u64>,
}

/// The outcome of one round of making unmade parts.
struct MadeAhead {
    /// The number of points visited.
    work: usize,
    /// The parts that seem to come next.
    next: FxHashSet<Unmade>,
}

/// The state of a point while the settled ones are found.
#[derive(Clone, Copy, PartialEq)]
enum Settling {
    NotVisited,
    /// Its points are visited first; a point met again in this state is part of a cycle.
    OnStack,
    NotSettled,
    Settled,
}

/// Finds shortest texts in bytes; borrows a constraint's memory for a while.
pub(crate) struct LeastDerivations<'a> {
    pub(super) recognizer: &'a mut Recognizer,
    pub(super) plans: &'a mut Plans,
}

impl<'a> LeastDerivations<'a> {
    pub(crate) fn new(recognizer: &'a mut Recognizer, plans: &'a mut Plans) -> Self {
        Self { recognizer, plans }
    }

    /// The length of the shortest text from a point to the end of its rule, in bytes; `None` if
    /// none was found. An answer above what is [worth planning](Plans::plan_within) is a lower
    /// bound.
    ///
    /// A rule that is not made yet counts with a lower bound on its length until the shortest text
    /// leads through it. Where it leads through one such rule after another (an object of many
    /// members), each round makes twice as many of them ahead as the one before, so that the rounds
    /// together look at no more than a few times the points of the last one. A round whose text leads
    /// elsewhere makes one ahead, for what was made before may be far from the shortest. Of the rules
    /// that other texts of the same length lead through, each round makes twice as many, too: most
    /// turn out longer, one after the other.
    pub(crate) fn point_bytes(&mut self, start: PointId) -> Result<Option<u64>> {
        if let Some(text) = self.plans.current.shortest.get(&start) {
            return Ok(Some(text.bytes));
        }
        let most = self.plans.max_bytes;
        if let Some(&bytes) = self.plans.current.long.get(&start) {
            return Ok(Some(bytes));
        }
        let (mut work, mut ahead, mut next, mut tied) = (0, 1, FxHashSet::default(), 1);
        loop {
            let derivation = self.derivation(start)?;
            let bytes = derivation.bytes[0];
            work += derivation.points.len();
            if bytes == INFINITE || work > MAX_VISITED_POINTS {
                return Ok(None);
            }
            // With captured texts spelled, an unmade rule counts for more than its lower bound.
            if bytes > most && self.plans.assumption == CaptureAssumption::Any {
                self.plans.current.long.insert(start, bytes);
                return Ok(Some(bytes));
            }
            let mut unmade = self.settle(&derivation);
            if unmade.is_empty() {
                return Ok(Some(bytes));
            }
            self.add_tied(&derivation, tied, &mut unmade);
            tied = 2usize.saturating_mul(tied);
            let goes_on = unmade.iter().any(|part| next.contains(part));
            ahead = if goes_on { 2usize.saturating_mul(ahead) } else { 1 };
            let made = self.make_ahead(unmade, ahead)?;
            (work, next) = (work + made.work, made.next);
        }
    }

    /// Makes the parts that a shortest text leads through, and then what seems to come next, up to so
    /// many more.
    fn make_ahead(&mut self, unmade: Vec<Unmade>, ahead: usize) -> Result<MadeAhead> {
        let most = unmade.len().saturating_add(ahead);
        let (mut made, mut work, mut todo) = (0, 0, VecDeque::from(unmade));
        while made < most && work <= MAX_VISITED_POINTS {
            let Some(unmade) = todo.pop_front() else { break };
            made += 1;
            let Some(entry) = self.make(unmade)? else { continue };
            if self.plans.current.shortest.contains_key(&entry) {
                continue;
            }
            let derivation = self.derivation(entry)?;
            work += derivation.points.len();
            if derivation.bytes[0] < INFINITE {
                todo.extend(self.settle(&derivation));
            }
        }
        Ok(MadeAhead { work, next: todo.into_iter().collect() })
    }

    /// Remembers the shortest texts of all points that are settled now. Returns the unmade parts that
    /// the shortest text from the first point leads through, in the order of their discovery.
    fn settle(&mut self, derivation: &Derivation) -> Vec<Unmade> {
        let Derivation { points, ids, alternatives, bytes } = derivation;
        // The first of the least: the same each time.
        let best: Vec<Option<&ByteAlternative>> = alternatives
            .iter()
            .map(|all| all.iter().min_by_key(|one| self.cost(one, ids, bytes)))
            .collect();
        let mut known = vec![Settling::NotVisited; points.len()];
        let mut is_approximate = vec![false; points.len()];
        let mut found: FxHashSet<&Unmade> = FxHashSet::default();
        let mut order = Vec::new();
        for start in 0..points.len() {
            let mut todo = vec![start];
            while let Some(&at) = todo.last() {
                let Some(alternative) = best[at].filter(|_| bytes[at] < INFINITE) else {
                    known[at] = Settling::NotSettled;
                    todo.pop();
                    continue;
                };
                let then =
                    || alternative.then.iter().filter_map(|(point, _)| ids.get(point).copied());
                match known[at] {
                    Settling::NotVisited => {
                        known[at] = Settling::OnStack;
                        todo.extend(then().filter(|&next| known[next] == Settling::NotVisited));
                    }
                    Settling::OnStack => {
                        let settled = alternative.unmade.is_none()
                            && then().all(|next| known[next] == Settling::Settled);
                        known[at] = if settled { Settling::Settled } else { Settling::NotSettled };
                        let shortest = &self.plans.current.shortest;
                        is_approximate[at] = alternative.is_approximate
                            || alternative.then.iter().any(|(next, _)| match ids.get(next) {
                                Some(&next) => is_approximate[next],
                                None => shortest.get(next).is_some_and(|text| text.is_approximate),
                            });
                        if start == 0 {
                            order.extend(
                                alternative.unmade.as_ref().filter(|unmade| found.insert(unmade)),
                            );
                        }
                        todo.pop();
                    }
                    Settling::NotSettled | Settling::Settled => {
                        todo.pop();
                    }
                }
            }
        }
        for (at, &point) in points.iter().enumerate() {
            if let (Settling::Settled, Some(alternative)) = (known[at], best[at]) {
                let (bytes, is_approximate) = (bytes[at], is_approximate[at]);
                let text = ShortestText { bytes, is_approximate, pick: alternative.pick };
                self.plans.current.shortest.insert(point, text);
            }
        }
        order.into_iter().cloned().collect()
    }

    /// Adds up to `most` unmade parts that other texts as short as the shortest one lead through.
    fn add_tied(&self, derivation: &Derivation, most: usize, unmade: &mut Vec<Unmade>) {
        let Derivation { ids, alternatives, bytes, .. } = derivation;
        let most = unmade.len().saturating_add(most);
        let mut found: FxHashSet<Unmade> = unmade.iter().cloned().collect();
        let (mut todo, mut seen) = (vec![0], vec![false; bytes.len()]);
        while let Some(at) = todo.pop() {
            let shortest = alternatives[at]
                .iter()
                .filter(|one| bytes[at] < INFINITE && self.cost(one, ids, bytes) == bytes[at]);
            for alternative in shortest {
                if let Some(part) = &alternative.unmade
                    && found.insert(part.clone())
                {
                    unmade.push(part.clone());
                    if unmade.len() == most {
                        return;
                    }
                }
                let then = alternative.then.iter().filter_map(|(point, _)| ids.get(point));
                todo.extend(then.filter(|&&next| !std::mem::replace(&mut seen[next], true)));
            }
        }
    }

    /// Makes an unmade part; the point where it goes on. A part beyond the limits of its source is no
    /// way to the end.
    fn make(&mut self, unmade: Unmade) -> Result<Option<PointId>> {
        let recognizer = &mut *self.recognizer;
        let made = match &unmade {
            &Unmade::Rule(rule) => recognizer.entry(rule),
            &Unmade::Key(choice, rank) => recognizer.after_key(choice, rank).map(Some),
            Unmade::Capture(tag, text) => recognizer.after_capture(*tag, text.as_deref()),
        };
        match made {
            Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => {
                self.plans.current.refused.insert(unmade);
                Ok(None)
            }
            made => made,
        }
    }

    fn cost(
        &self,
        alternative: &ByteAlternative,
        ids: &FxHashMap<PointId, usize>,
        bytes: &[u64],
    ) -> u64 {
        alternative.then.iter().fold(alternative.fixed, |sum, &(point, times)| {
            let one = match (ids.get(&point), self.plans.current.shortest.get(&point)) {
                (Some(&id), _) => bytes[id],
                (None, Some(text)) => text.bytes,
                (None, None) => INFINITE,
            };
            sum.saturating_add(one.saturating_mul(times.into()))
        })
    }

    /// The points known to be reached from a point, with their least bytes.
    fn derivation(&mut self, start: PointId) -> Result<Derivation> {
        let mut points = vec![start];
        let mut ids = FxHashMap::from_iter([(start, 0)]);
        let mut alternatives: Vec<Vec<ByteAlternative>> = Vec::new();
        // The alternatives that go through a point, each by its own point and its index there.
        let mut users: Vec<SmallVec<[(usize, usize); 4]>> = vec![SmallVec::new()];
        while let Some(&point) = points.get(alternatives.len()) {
            deadline::check()?;
            let mut here = self.alternatives(point)?;
            let refused = &self.plans.current.refused;
            here.retain(|alternative| {
                alternative.unmade.as_ref().is_none_or(|unmade| !refused.contains(unmade))
            });
            for (index, alternative) in here.iter().enumerate() {
                for &(next, _) in &alternative.then {
                    if self.plans.current.shortest.contains_key(&next) {
                        continue;
                    }
                    let id = *ids.entry(next).or_insert_with(|| {
                        points.push(next);
                        users.push(SmallVec::new());
                        points.len() - 1
                    });
                    users[id].push((alternatives.len(), index));
                }
            }
            alternatives.push(here);
        }
        let bytes = vec![INFINITE; points.len()];
        let mut this = Derivation { points, ids, alternatives, bytes };
        // An alternative costs at least as much as each point that it goes through, so points are
        // final in the order of their bytes.
        let mut queue = BinaryHeap::new();
        for (at, all) in this.alternatives.iter().enumerate() {
            let costs = all.iter().map(|one| self.cost(one, &this.ids, &this.bytes));
            queue.extend(costs.min().map(|cost| Reverse((cost, at))));
        }
        while let Some(Reverse((cost, at))) = queue.pop() {
            if this.bytes[at] < INFINITE || cost == INFINITE {
                continue;
            }
            this.bytes[at] = cost;
            for &(user, index) in &users[at] {
                if this.bytes[user] == INFINITE {
                    let alternative = &this.alternatives[user][index];
                    let cost = self.cost(alternative, &this.ids, &this.bytes);
                    queue.push(Reverse((cost, user)));
                }
            }
        }
        Ok(this)
    }

    fn alternatives(&mut self, point: PointId) -> Result<Vec<ByteAlternative>> {
        Ok(match self.recognizer.program.point(point) {
            Point::Sentinel => vec![ByteAlternative::default()],
            Point::Regular { language, next } => {
                match witness_length::short_length(
                    &mut self.recognizer.languages,
                    language,
                    self.plans.max_bytes,
                )? {
                    Some(bytes) => vec![ByteAlternative::new(bytes, &[(next, 1)])],
                    None => Vec::new(),
                }
            }
            Point::Special { next, .. } => vec![ByteAlternative::new(1, &[(next, 1)])],
            Point::Call { rule, next } => {
                let text = self.completion(rule)?;
                vec![match (text, self.recognizer.program.entry(rule)) {
                    (Some(text), _) => ByteAlternative::new(text.len() as u64, &[(next, 1)]),
                    (None, Some(entry)) => ByteAlternative::new(0, &[(entry, 1), (next, 1)]),
                    (None, None) => {
                        let least = self.recognizer.program.least_bytes(rule);
                        let bytes = match self.plans.assumption {
                            CaptureAssumption::Any => least,
                            CaptureAssumption::Spelled => {
                                least.saturating_mul(SPELLED_BOUND_FACTOR)
                            }
                        };
                        ByteAlternative {
                            unmade: Some(Unmade::Rule(rule)),
                            ..ByteAlternative::new(bytes, &[(next, 1)])
                        }
                    }
                }]
            }
            Point::Fork(branches) => {
                let branches = self.recognizer.program.branches_to_shortest(point, branches);
                let to = |branch| ByteAlternative {
                    pick: branch,
                    ..ByteAlternative::new(0, &[(branch, 1)])
                };
                branches.into_iter().map(to).collect()
            }
            Point::Repeat { body, min, next, .. } => match min {
                0 => vec![ByteAlternative::new(0, &[(next, 1)])],
                _ => vec![ByteAlternative::new(0, &[(body, min), (next, 1)])],
            },
            Point::Budget { body, next, .. } => {
                vec![ByteAlternative::new(0, &[(body, 1), (next, 1)])]
            }
            Point::KeyChoice(choice) => {
                let keys_left = self.recognizer.program.shortest_keys(choice, 0).into_iter();
                keys_left
                    .map(|KeySuffix { rank, bytes: text, target }| match target {
                        Some(point) => ByteAlternative {
                            pick: rank,
                            ..ByteAlternative::new(text.len() as u64, &[(point, 1)])
                        },
                        None => ByteAlternative {
                            pick: rank,
                            unmade: Some(Unmade::Key(choice, rank)),
                            ..ByteAlternative::new(text.len() as u64 + 1, &[])
                        },
                    })
                    .collect()
            }
            Point::Capture { language, tag } if self.recognizer.program.is_item(tag) => {
                if lengths::min_length_bound(&mut self.recognizer.languages, language)
                    > self.plans.max_spelled_bytes()
                {
                    let bytes = lengths::min_length_bound(&mut self.recognizer.languages, language);
                    return Ok(captured(&self.recognizer.program, tag, None, bytes, &[]));
                }
                let item = self.item_that_differs(tag, (language, &[]))?;
                let item = item
                    .map(|item| ByteAlternative::new(item.text.len() as u64, &[(item.next, 1)]));
                item.into_iter().collect()
            }
            Point::Capture { language, tag } => {
                let most = self.plans.max_bytes;
                match (
                    witness_length::short_length(&mut self.recognizer.languages, language, most)?,
                    self.plans.assumption,
                ) {
                    (None, _) => Vec::new(),
                    (Some(bytes), CaptureAssumption::Spelled)
                        if bytes <= self.plans.max_spelled_bytes() =>
                    {
                        let text = witness::short(&mut self.recognizer.languages, language)?;
                        captured(&self.recognizer.program, tag, text, bytes, &[])
                    }
                    (Some(bytes), _) => captured(&self.recognizer.program, tag, None, bytes, &[]),
                }
            }
            Point::Scope { body, tag } => {
                captured(&self.recognizer.program, tag, None, 0, &[(body, 1)])
            }
        })
    }

    /// Appends the shortest text from a point to the end of its rule, which is known.
    pub(super) fn write(&mut self, start: PointId, to: &mut Vec<u32>) -> Result<()> {
        let mut todo = vec![start];
        while let Some(point) = todo.pop() {
            if to.len() as u64 > self.plans.max_spelled_bytes() {
                return Ok(());
            }
            let pick = match self.plans.current.shortest.get(&point) {
                Some(text) => text.pick,
                // Settled with the point that leads to it.
                None => self.pick(point)?,
            };
            match self.recognizer.program.point(point) {
                Point::Sentinel => {}
                Point::Regular { language, next } => {
                    self.write_shortest(language, to)?;
                    todo.push(next);
                }
                Point::Special { tokens, next } => {
                    to.extend(self.recognizer.program.first_token(tokens).map(special));
                    todo.push(next);
                }
                Point::Call { rule, next } => {
                    todo.push(next);
                    match self.completion(rule)? {
                        Some(text) => to.extend(text.iter().map(|&byte| u32::from(byte))),
                        None => todo.extend(self.recognizer.program.entry(rule)),
                    }
                }
                Point::Fork(_) => todo.push(pick),
                Point::Repeat { body, min, next, .. } => {
                    todo.push(next);
                    todo.extend((0..min).map(|_| body));
                }
                Point::Budget { body, next, .. } => todo.extend([next, body]),
                Point::KeyChoice(choice) => {
                    let program = &self.recognizer.program;
                    let mut keys = program.shortest_keys(choice, 0).into_iter();
                    if let Some(KeySuffix { bytes: text, target, .. }) =
                        keys.find(|key| key.rank == pick)
                    {
                        to.extend(text.into_iter().map(u32::from));
                        todo.extend(target);
                    }
                }
                Point::Capture { language, tag } if self.recognizer.program.is_item(tag) => {
                    if let Some(item) = self.item_that_differs(tag, (language, &[]))? {
                        to.extend_from_slice(&item.text);
                        todo.push(item.next);
                    }
                }
                Point::Capture { language, tag } => {
                    let text = witness::short(&mut self.recognizer.languages, language)?
                        .unwrap_or_default();
                    to.extend(text.iter().map(|&byte| u32::from(byte)));
                    todo.extend(self.after_captured(tag, &text)?);
                }
                Point::Scope { body, tag } => {
                    todo.extend(self.recognizer.after_capture(tag, None)?);
                    todo.push(body);
                }
            }
        }
        Ok(())
    }

    fn write_shortest(&mut self, language: Language, to: &mut Vec<u32>) -> Result<()> {
        let text = witness::short(&mut self.recognizer.languages, language)?.unwrap_or_default();
        to.extend(text.iter().map(|&byte| u32::from(byte)));
        Ok(())
    }

    /// The point after a text that a plan captures.
    pub(super) fn after_captured(&mut self, tag: u32, text: &[u8]) -> Result<Option<PointId>> {
        let text = match self.plans.assumption {
            CaptureAssumption::Any => None,
            CaptureAssumption::Spelled => Some(text),
        };
        self.recognizer.after_capture(tag, text)
    }

    fn pick(&mut self, point: PointId) -> Result<u32> {
        self.point_bytes(point)?;
        Ok(self.plans.current.shortest.get(&point).map_or(RETURN, |text| text.pick))
    }
}

/// The alternatives after a captured text (`None`: any).
fn captured(
    program: &Program,
    tag: u32,
    text: Option<Arc<[u8]>>,
    fixed: u64,
    body: &[(PointId, u32)],
) -> Vec<ByteAlternative> {
    let is_approximate = text.is_none();
    let mut alternative = ByteAlternative { is_approximate, ..ByteAlternative::new(fixed, body) };
    match program.capture_target(tag, text.as_deref()) {
        CaptureTarget::At(point) => alternative.then.push((point, 1)),
        CaptureTarget::Refused => return Vec::new(),
        CaptureTarget::Unknown => alternative.unmade = Some(Unmade::Capture(tag, text)),
    }
    vec![alternative]
}
