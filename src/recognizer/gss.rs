//! The graph-structured stack: hash-consed sets of return stacks.
//!
//! A set of stacks is a set of frames, each a return point, a counter, and the set of stacks below
//! it. Two frames with the same point and counter become one frame over the union of the sets below
//! (Tomita 1985, made immutable). So twenty levels of ambiguous nesting take twenty sets instead of
//! a million stacks, and equal sets have equal ids:
//!
//! ```text
//! {20 over {10}} ∪ {20 over {11}}  =  {20 over {10, 11}}
//! {20 over {10}} ∪ {21 over {10}}  =  {20 over {10}, 21 over {10}}
//! ```
//!
//! Invariants: the frames of a set are sorted by point and counter, which no two of them share; a
//! set has a greater id than the sets below it.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::budget_counter::{BudgetChanges, SCOPE, counts_tokens};
use super::item::{ACCEPT, BOTTOM, PointId, StackId};
use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};

/// The counter of a frame that a call has pushed: a counted repeat at its point has not run yet.
pub(super) const CALLED: u32 = u32::MAX;

/// One frame: on return go on at `point`, with `below` as the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StackFrame {
    pub(crate) point: PointId,
    /// A packed counter, told apart by its high bits (`budget_counter`): [`CALLED`] for a plain call;
    /// `SCOPE | offset` for a scope; `BUDGET | CHARGED? | tokens left` for a rule budget; else the
    /// completed runs of a counted repeat. On return, [`Program::count_after`] adds 1: [`CALLED`] becomes
    /// 0, which means that the point is not entered yet, and no other counter does.
    ///
    /// [`Program::count_after`]: super::program::Program::count_after
    pub(crate) count: u32,
    pub(crate) below: StackId,
}

impl StackFrame {
    /// Whether both have the same point and counter.
    fn continues_like(&self, other: &Self) -> bool {
        (self.point, self.count) == (other.point, other.count)
    }
}

pub(super) type Frames = SmallVec<[StackFrame; 1]>;

/// All sets of return stacks of a recognizer.
#[derive(Debug)]
pub(crate) struct ReturnStacks {
    sets: Vec<Frames>,
    depths: Vec<u32>,
    /// By set: whether a scope stands in it, whose text must be recorded.
    has_scope: Vec<bool>,
    /// By set: whether a budget that counts tokens stands in it.
    has_budget: Vec<bool>,
    pub(super) changes: BudgetChanges,
    ids: FxHashMap<Frames, StackId>,
    unions: FxHashMap<(StackId, StackId), StackId>,
    max_depth: u32,
    /// The frames of all sets of more than one.
    shared_frames: usize,
}

/// Number of frames of large sets that count as one more set where the number of sets is limited.
const FRAMES_PER_COUNTED_SET: usize = 32;

impl ReturnStacks {
    /// [`BOTTOM`] alone. Stacks of more than `depth` frames are errors.
    pub(super) fn new(depth: usize) -> Self {
        let mut this = Self {
            sets: Vec::new(),
            depths: Vec::new(),
            has_scope: Vec::new(),
            has_budget: Vec::new(),
            changes: BudgetChanges::default(),
            ids: FxHashMap::default(),
            unions: FxHashMap::default(),
            max_depth: u32::try_from(depth).unwrap_or(u32::MAX),
            shared_frames: 0,
        };
        let frames =
            Frames::from_slice(&[StackFrame { point: ACCEPT, count: CALLED, below: BOTTOM }]);
        this.sets.push(frames.clone());
        this.depths.push(0);
        this.has_scope.push(false);
        this.has_budget.push(false);
        this.ids.insert(frames, BOTTOM);
        this
    }

    /// The frames of a set; that of [`BOTTOM`] leads to [`ACCEPT`].
    #[inline]
    pub(crate) fn frames(&self, id: StackId) -> &[StackFrame] {
        &self.sets[id.0 as usize]
    }

    /// The size for limits: the number of sets so far, large ones counted several times.
    #[inline]
    pub(super) fn counted_sets(&self) -> usize {
        self.sets.len() + self.shared_frames / FRAMES_PER_COUNTED_SET
    }

    pub(super) fn intern(&mut self, frames: Frames) -> Result<StackId> {
        if let Some(&id) = self.ids.get(&frames) {
            return Ok(id);
        }
        let below =
            frames.iter().filter(|f| f.point > ACCEPT).map(|f| self.depths[f.below.0 as usize]);
        let depth = below.max().unwrap_or(0) + 1;
        if depth > self.max_depth {
            let message = format!("the text nests more than {} levels deep", self.max_depth);
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("raise the limit `depth`")
                .with_limit(LimitName::Depth));
        }
        let id = StackId(self.sets.len() as u32);
        let scope = |f: &StackFrame| f.count & SCOPE != 0 && f.count != CALLED;
        self.has_scope.push(frames.iter().any(|f| scope(f) || self.has_scope[f.below.0 as usize]));
        let budget = |f: &StackFrame| counts_tokens(f.count);
        self.has_budget
            .push(frames.iter().any(|f| budget(f) || self.has_budget[f.below.0 as usize]));
        if frames.spilled() {
            self.shared_frames += frames.len();
        }
        self.sets.push(frames.clone());
        self.depths.push(depth);
        self.ids.insert(frames, id);
        Ok(id)
    }

    /// Whether a scope stands in a set, so that the text being read must be recorded.
    #[inline]
    pub(crate) fn has_scope(&self, id: StackId) -> bool {
        self.has_scope[id.0 as usize]
    }

    /// Whether a budget that counts tokens stands in a set.
    #[inline]
    pub(crate) fn has_budget(&self, id: StackId) -> bool {
        self.has_budget[id.0 as usize]
    }

    /// One frame on top of a stack.
    pub(super) fn push(&mut self, point: PointId, count: u32, below: StackId) -> Result<StackId> {
        self.intern(Frames::from_slice(&[StackFrame { point, count, below }]))
    }

    /// The union of two sets.
    pub(crate) fn union(&mut self, a: StackId, b: StackId) -> Result<StackId> {
        if let Some(known) = self.known_union(a, b) {
            return Ok(known);
        }
        deadline::check()?;
        // The sets below are merged first; by a stack of its own, since sets may be as deep as the
        // limit allows.
        let mut todo = vec![(a, b)];
        while let Some(&(a, b)) = todo.last() {
            let before = todo.len();
            if self.known_union(a, b).is_none() {
                for x in self.frames(a) {
                    let same = self.frames(b).iter().find(|y| x.continues_like(y));
                    if let Some(y) = same
                        && self.known_union(x.below, y.below).is_none()
                    {
                        todo.push((x.below, y.below));
                    }
                }
                if todo.len() > before {
                    continue;
                }
                self.union_with_known_below(a, b)?;
            }
            todo.pop();
        }
        // Computed above.
        Ok(self.known_union(a, b).unwrap_or(a))
    }

    fn known_union(&self, a: StackId, b: StackId) -> Option<StackId> {
        if a == b { Some(a) } else { self.unions.get(&(a.min(b), a.max(b))).copied() }
    }

    /// Computes the union of two sets. The unions of the sets below frames that both have must be known.
    fn union_with_known_below(&mut self, a: StackId, b: StackId) -> Result<()> {
        let (left, right) = (self.sets[a.0 as usize].clone(), self.sets[b.0 as usize].clone());
        let mut frames = Frames::new();
        let (mut i, mut j) = (0, 0);
        loop {
            let at = |f: &StackFrame| (f.point, f.count);
            frames.push(match (left.get(i), right.get(j)) {
                (Some(x), Some(y)) if x.continues_like(y) => {
                    i += 1;
                    j += 1;
                    StackFrame {
                        below: self.known_union(x.below, y.below).unwrap_or(x.below),
                        ..*x
                    }
                }
                (Some(x), Some(y)) if at(x) > at(y) => {
                    j += 1;
                    *y
                }
                (Some(x), _) => {
                    i += 1;
                    *x
                }
                (None, Some(y)) => {
                    j += 1;
                    *y
                }
                (None, None) => break,
            });
        }
        let union = self.intern(frames)?;
        self.unions.insert((a.min(b), a.max(b)), union);
        Ok(())
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let frames = 2 * (size_of::<Frames>() + 16) + 4;
        let shared = 2 * self.shared_frames * size_of::<StackFrame>();
        self.sets.len() * frames + shared + self.unions.len() * 24
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_merge_below_equal_frames() {
        let mut s = ReturnStacks::new(100);
        let (a, b) = (s.push(10, 0, BOTTOM).unwrap(), s.push(11, 0, BOTTOM).unwrap());
        let (xa, xb) = (s.push(20, 0, a).unwrap(), s.push(20, 0, b).unwrap());
        let ab = s.union(a, b).unwrap();
        assert_eq!(s.union(xa, xb).unwrap(), s.push(20, 0, ab).unwrap());
        assert_eq!(s.union(ab, a).unwrap(), ab);
        let other = s.push(20, 1, a).unwrap();
        let both = s.union(xa, other).unwrap();
        assert_eq!(s.frames(both).len(), 2);
    }

    #[test]
    fn depth_is_bounded() {
        let mut s = ReturnStacks::new(2);
        let one = s.push(9, 0, BOTTOM).unwrap();
        let two = s.push(9, 0, one).unwrap();
        assert_eq!(s.push(9, 0, two).unwrap_err().kind(), ErrorKind::Limit);
    }
}
