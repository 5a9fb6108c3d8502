//! The closure of program points: the items that they lead to without reading (Earley's predictor
//! and completer, 1970).
//!
//! After a byte, some points are reached with some stacks; calls, forks, repeats and returns lead
//! from there to the terminals that may be read next. An ambiguous grammar reaches one point along
//! very many paths, so the closure keeps, by *position* (point and repeat count), the union of all
//! stacks it was reached with, and goes on only with stacks that are not in the union yet. Calls
//! wait until all returns are done and then push one frame over the union: so a step ends with one
//! set of stacks per point, and highly ambiguous grammars stay polynomial.
//!
//! Example: in `list: "(" list? ")"`, after the text `((`, the starts are the point after the second
//! `(`. The fork leads to the call of `list`, which pushes a frame and reaches `(`, and to `)`.
//!
//! Where the closure needs a rule body that is not made yet, it stops with a [`Pending`] request:
//! the recognizer makes the body and runs the closure again.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::budget_counter::{SCOPE, full_budget};
use super::gss::{CALLED, ReturnStacks};
use super::item::{ACCEPT, BOTTOM, Item, PointId, RETURN, StackId};
use super::point::{CaptureTarget, Point};
use super::program::Program;
use crate::error::{Error, ErrorKind, LimitName, Result};
use crate::grammar::{RuleId, SourceTag};
use crate::regular::{Language, Languages};

/// Up to this many positions are looked up linearly, which is faster than hashing and enough for
/// nearly every step.
const LINEAR_POSITIONS: usize = 16;

/// A point, and how often it has run if it is a counted repeat.
type Position = (PointId, u32);

/// A part of the program that must be made before a closure can go on.
#[derive(Clone, Debug)]
pub(super) enum Pending {
    /// The body of a rule.
    Rule(RuleId),
    /// The point after the text of a scope.
    Capture { tag: SourceTag, text: Option<Vec<u8>> },
}

#[derive(Clone, Copy, Debug)]
struct ReachedPosition {
    position: Position,
    /// All stacks it was reached with.
    stack: StackId,
    /// The stacks below the last frame that a call or repeat has pushed here.
    pushed: Option<StackId>,
}

/// The state of a closure: its starts, and buffers that every step uses again.
#[derive(Debug, Default)]
pub(super) struct Closure {
    /// The positions to expand; taken by [`Closure::run`].
    starts: Vec<(Position, StackId)>,
    todo: Vec<(Position, StackId)>,
    reached: Vec<ReachedPosition>,
    /// Indices into `reached`, from [`LINEAR_POSITIONS`] on.
    positions: FxHashMap<Position, usize>,
    /// Stacks returned to, each by itself: their union would be as deep as the text is nested.
    returned: Vec<StackId>,
    /// The same as a set, from [`LINEAR_POSITIONS`] on.
    returns: FxHashSet<StackId>,
    /// Calls and repeats that wait, as indices into `reached`, the oldest first.
    waiting: Vec<usize>,
    accepts: bool,
    pending: Option<Pending>,
    /// The text read since the outermost open scope began; `None` in walks.
    pub(super) text: Option<Vec<u8>>,
    /// Positions and stacks that one closure may visit.
    max_visited: usize,
    /// The most sets of stacks that there may be after a run.
    max_stacks: usize,
}

/// The end of the one path from a start.
enum OnlyPathEnd {
    Item(Item),
    /// A position from which more than one path leads on.
    Branch((Position, StackId)),
    /// A call of a rule whose body is not made yet.
    Pending(RuleId),
}

/// The error that a step has more than `limit` items.
pub(super) fn too_many_states(limit: usize) -> Error {
    Error::new(ErrorKind::Limit, format!("one step needs more than {limit} parallel states"))
        .with_help("make the grammar less ambiguous, or raise the limit `states_per_step`")
        .with_limit(LimitName::StatesPerStep)
}

/// Sets of stacks that a run may make for each position that it may visit. Calls of nullable rules within each
/// other can make twice as many with each level.
const STACKS_PER_POSITION: usize = 16;

/// Follows a start as long as one path leads on, which is the common case and needs no memory.
fn follow_only_path(
    program: &Program,
    languages: &Languages,
    stacks: &mut ReturnStacks,
    ((mut point, count), mut stack): (Position, StackId),
) -> Result<OnlyPathEnd> {
    if count > 0 {
        return Ok(OnlyPathEnd::Branch(((point, count), stack)));
    }
    loop {
        let state = match program.point(point) {
            _ if point == ACCEPT => {
                stack = BOTTOM;
                Language::EPSILON
            }
            Point::Special { .. } => Language::EPSILON,
            Point::KeyChoice(_) => return Ok(OnlyPathEnd::Item(Item::key_choice(point, stack))),
            Point::Capture { language, .. } => language,
            Point::Regular { language, .. } if !languages.is_nullable(language) => language,
            Point::Call { rule, next } => {
                let Some(entry) = program.entry(rule) else {
                    return Ok(OnlyPathEnd::Pending(rule));
                };
                point = entry;
                // A tail call returns to where its caller does.
                if next != RETURN {
                    stack = stacks.push(next, CALLED, stack)?;
                }
                continue;
            }
            _ if point == RETURN => match *stacks.frames(stack) {
                // A counted repeat goes on with its counter.
                [frame]
                    if !matches!(
                        program.point(frame.point),
                        Point::Repeat { .. } | Point::Scope { .. } | Point::Budget { .. }
                    ) =>
                {
                    (point, stack) = (frame.point, frame.below);
                    continue;
                }
                _ => return Ok(OnlyPathEnd::Branch(((point, 0), stack))),
            },
            _ => return Ok(OnlyPathEnd::Branch(((point, 0), stack))),
        };
        return Ok(OnlyPathEnd::Item(Item::new(point, state, stack)));
    }
}

impl Closure {
    /// Adds a point, not run yet, with stacks to the starts of the next run.
    #[inline]
    pub(super) fn start_at(&mut self, point: PointId, stack: StackId) {
        self.starts.push(((point, 0), stack));
    }

    /// Whether a position waits to be expanded.
    #[inline]
    pub(super) fn has_starts(&self) -> bool {
        !self.starts.is_empty()
    }

    /// Drops the starts, as after a step that failed.
    #[inline]
    pub(super) fn clear_starts(&mut self) {
        self.starts.clear();
    }

    /// The starts, to restore them after a run that has met something pending.
    pub(super) fn saved_starts(&self) -> SmallVec<[(Position, StackId); 4]> {
        SmallVec::from_slice(&self.starts)
    }

    /// Starts again from saved starts.
    pub(super) fn restore_starts(&mut self, starts: &[(Position, StackId)]) {
        self.starts.clear();
        self.starts.extend_from_slice(starts);
    }

    /// Appends the items that the starts lead to; there are no starts afterwards. Returns the part of
    /// the program that must be made first, if there is one: then the items are not complete.
    ///
    /// Errors when more than `max_visited` positions are visited or a stack outgrows its depth.
    pub(super) fn run(
        &mut self,
        program: &Program,
        languages: &Languages,
        stacks: &mut ReturnStacks,
        max_visited: usize,
        items: &mut Vec<Item>,
    ) -> Result<Option<Pending>> {
        if let [start] = self.starts[..] {
            self.starts.clear();
            match follow_only_path(program, languages, stacks, start)? {
                OnlyPathEnd::Item(item) => {
                    items.push(item);
                    return Ok(None);
                }
                OnlyPathEnd::Pending(rule) => return Ok(Some(Pending::Rule(rule))),
                OnlyPathEnd::Branch(start) => self.starts.push(start),
            }
        }
        self.max_visited = max_visited;
        self.max_stacks =
            stacks.counted_sets().saturating_add(max_visited.saturating_mul(STACKS_PER_POSITION));
        self.clear();
        for i in 0..self.starts.len() {
            let (position, stack) = self.starts[i];
            self.arrive(stacks, position, stack)?;
        }
        self.starts.clear();
        let mut waited = 0;
        loop {
            while let Some((position, stack)) = self.todo.pop() {
                self.expand(program, languages, stacks, position, stack)?;
            }
            let Some(&first) = self.waiting.get(waited) else { break };
            waited += 1;
            self.push_frame(program, stacks, first)?;
        }
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        for &ReachedPosition { position: (point, _), stack, .. } in &self.reached {
            let state = match program.point(point) {
                Point::Regular { language: Language::EPSILON, .. } => continue,
                Point::Regular { language, .. } | Point::Capture { language, .. } => language,
                Point::KeyChoice(_) => {
                    items.push(Item::key_choice(point, stack));
                    continue;
                }
                Point::Special { .. } => Language::EPSILON,
                _ => continue,
            };
            items.push(Item::new(point, state, stack));
        }
        if self.accepts {
            items.push(Item::accept());
        }
        Ok(None)
    }

    fn clear(&mut self) {
        self.todo.clear();
        if self.reached.len() > LINEAR_POSITIONS {
            self.positions.clear();
        }
        self.reached.clear();
        if self.returned.len() > LINEAR_POSITIONS {
            self.returns.clear();
        }
        self.returned.clear();
        self.waiting.clear();
        self.accepts = false;
        self.pending = None;
    }

    fn index_of(&self, position: Position) -> Option<usize> {
        if self.reached.len() <= LINEAR_POSITIONS {
            self.reached.iter().position(|reached| reached.position == position)
        } else {
            self.positions.get(&position).copied()
        }
    }

    /// Notes that a path leads to this position with this stack, and schedules the position unless
    /// that is known.
    fn arrive(
        &mut self,
        stacks: &mut ReturnStacks,
        position: Position,
        stack: StackId,
    ) -> Result<()> {
        match position.0 {
            ACCEPT => self.accepts = true,
            RETURN => {
                let known = if self.returned.len() <= LINEAR_POSITIONS {
                    self.returned.contains(&stack)
                } else {
                    self.returns.contains(&stack)
                };
                if !known {
                    self.returned.push(stack);
                    match self.returned.len() {
                        ..=LINEAR_POSITIONS => {}
                        n if n == LINEAR_POSITIONS + 1 => {
                            self.returns.extend(self.returned.iter().copied())
                        }
                        _ => _ = self.returns.insert(stack),
                    }
                    self.todo.push((position, stack));
                }
            }
            _ => {
                if let Some(index) = self.index_of(position) {
                    let known = self.reached[index].stack;
                    let all = stacks.union(known, stack)?;
                    if all == known {
                        return Ok(());
                    }
                    self.reached[index].stack = all;
                } else {
                    self.reached.push(ReachedPosition { position, stack, pushed: None });
                    let positions = self.reached.iter().map(|reached| reached.position).zip(0..);
                    match self.reached.len() {
                        ..=LINEAR_POSITIONS => {}
                        n if n == LINEAR_POSITIONS + 1 => self.positions.extend(positions),
                        n => _ = self.positions.insert(position, n - 1),
                    }
                }
                self.todo.push((position, stack));
            }
        }
        if self.todo.len() + self.reached.len() + self.returned.len() > self.max_visited
            || stacks.counted_sets() > self.max_stacks
        {
            return Err(too_many_states(self.max_visited));
        }
        Ok(())
    }

    fn expand(
        &mut self,
        program: &Program,
        languages: &Languages,
        stacks: &mut ReturnStacks,
        position: Position,
        stack: StackId,
    ) -> Result<()> {
        let (point, count) = position;
        if point == RETURN {
            for i in 0..stacks.frames(stack).len() {
                let frame = stacks.frames(stack)[i];
                let count = program.count_after(frame.point, frame.count);
                self.arrive(stacks, (frame.point, count), frame.below)?;
            }
            return Ok(());
        }
        match program.point(point) {
            Point::Sentinel
            | Point::Special { .. }
            | Point::KeyChoice(_)
            | Point::Capture { .. } => {}
            Point::Regular { language, next } => {
                if languages.is_nullable(language) {
                    self.arrive(stacks, (next, 0), stack)?;
                }
            }
            // A tail call returns to where its caller does.
            Point::Call { rule, next: RETURN } => match program.entry(rule) {
                Some(entry) => self.arrive(stacks, (entry, 0), stack)?,
                None => self.pending = Some(Pending::Rule(rule)),
            },
            Point::Call { .. } => self.waiting.extend(self.index_of(position)),
            Point::Budget { next, .. } if count > 0 => self.arrive(stacks, (next, 0), stack)?,
            Point::Budget { .. } => self.waiting.extend(self.index_of(position)),
            Point::Scope { .. } if count == 0 => self.waiting.extend(self.index_of(position)),
            Point::Scope { tag, .. } => {
                let from = (count - SCOPE - 1) as usize;
                let text = self.text.as_ref().map(|text| &text[from.min(text.len())..]);
                match program.capture_target(tag, text) {
                    CaptureTarget::At(point) => self.arrive(stacks, (point, 0), stack)?,
                    CaptureTarget::Refused => {}
                    CaptureTarget::Unknown => {
                        let text = text.map(<[u8]>::to_vec);
                        self.pending = Some(Pending::Capture { tag, text });
                    }
                }
            }
            Point::Fork(branches) => {
                for branch in program.branches(branches) {
                    self.arrive(stacks, (branch, 0), stack)?;
                }
            }
            Point::Repeat { min, max, next, .. } => {
                if count >= min {
                    self.arrive(stacks, (next, 0), stack)?;
                }
                if max == u32::MAX || count < max {
                    self.waiting.extend(self.index_of(position));
                }
            }
        }
        Ok(())
    }

    /// Enters the rule that a position calls, or the body that it repeats, with one frame over all
    /// of its stacks.
    fn push_frame(
        &mut self,
        program: &Program,
        stacks: &mut ReturnStacks,
        index: usize,
    ) -> Result<()> {
        let ReachedPosition { position: (point, count), stack: below, pushed } =
            self.reached[index];
        if pushed == Some(below) {
            return Ok(());
        }
        self.reached[index].pushed = Some(below);
        let (entry, stack) = match program.point(point) {
            Point::Call { rule, next } => {
                let Some(entry) = program.entry(rule) else {
                    self.pending = Some(Pending::Rule(rule));
                    return Ok(());
                };
                (entry, stacks.push(next, CALLED, below)?)
            }
            Point::Repeat { body, .. } => (body, stacks.push(point, count, below)?),
            Point::Budget { body, max, .. } => (body, stacks.push(point, full_budget(max), below)?),
            Point::Scope { body, .. } => {
                let from = self.text.as_ref().map_or(0, Vec::len) as u32;
                (body, stacks.push(point, SCOPE | from, below)?)
            }
            _ => return Ok(()),
        };
        self.arrive(stacks, (entry, 0), stack)
    }
}
