//! Memo tables of shortest texts, under the two assumptions on captured texts.

use std::mem;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::token_cost::TokenCosts;
use crate::grammar::key_choice::KeyRank;
use crate::grammar::{RuleId, SourceTag};
use crate::recognizer::{KeyChoiceId, PointId, StackId};
use crate::regular::MAX_WITNESS_BYTES;

/// Texts of up to this many bytes are planned, however small the budget.
const MIN_PLANNED_BYTES: u64 = 1 << 12;

/// The assumption of a plan on captured texts (keys without a name, items that must differ).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CaptureAssumption {
    /// The captured text restricts nothing. One plan serves all texts, but may turn out invalid.
    #[default]
    Any,
    /// The captured text is the short one that the plan spells, and restricts what follows it. Costs
    /// one rule for each captured text.
    Spelled,
}

/// A part of the program that is not made yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Unmade {
    Rule(RuleId),
    /// The point after a key, by choice and rank.
    Key(KeyChoiceId, KeyRank),
    /// The point after a captured text, by tag; `None` is any text.
    Capture(SourceTag, Option<Arc<[u8]>>),
}

/// The shortest text from a point to the end of its rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShortestText {
    pub(super) bytes: u64,
    /// Whether captured texts in it are assumed to be followed by what may follow any.
    pub(super) is_approximate: bool,
    /// At forks: the branch. At names: the name, by rank.
    pub(super) pick: u32,
}

/// A text from a point down a stack to the end, with the tokens that spell it.
#[derive(Clone, Debug)]
pub(super) struct CompletionTail {
    pub(super) costs: TokenCosts,
    /// As in [`ShortestText`].
    pub(super) is_approximate: bool,
}

/// The shortest texts under one assumption on captured texts.
#[derive(Debug, Default)]
pub(super) struct CompletionPlan {
    pub(super) shortest: FxHashMap<PointId, ShortestText>,
    /// Lower bounds, in bytes, for points whose shortest text is longer than `max_bytes`.
    pub(super) long: FxHashMap<PointId, u64>,
    /// Parts of the program that are beyond the limits of their source.
    pub(super) refused: FxHashSet<Unmade>,
    /// Bytes from a stack to the end of the text.
    pub(super) stacks: FxHashMap<StackId, Option<u64>>,
    /// Texts from a point down a stack to the end, one for each path down.
    pub(super) tails: FxHashMap<(PointId, StackId), Arc<[CompletionTail]>>,
}

impl CompletionPlan {
    /// Whether the text from a point is approximate, or not known.
    pub(super) fn is_approximate(&self, point: PointId) -> bool {
        self.shortest.get(&point).is_none_or(|text| text.is_approximate)
    }

    fn entries(&self) -> usize {
        self.shortest.len() + self.long.len() + self.stacks.len()
    }
}

/// The plans of both assumptions.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// Longer completions are not planned, only bounded by arithmetic. See [`Plans::plan_within`].
    pub(super) max_bytes: u64,
    /// The assumption of `current`.
    pub(super) assumption: CaptureAssumption,
    pub(super) current: CompletionPlan,
    other: CompletionPlan,
}

impl Plans {
    /// Raises the limit to completions that fit into `tokens` tokens of at most `longest_token` bytes.
    /// Returns whether the limit rose: then a text that was too long may be within it.
    pub(super) fn plan_within(&mut self, tokens: u32, longest_token: usize) -> bool {
        let bytes = u64::from(tokens).saturating_mul(longest_token as u64);
        let most = bytes.clamp(MIN_PLANNED_BYTES, MAX_WITNESS_BYTES).next_power_of_two();
        let is_more = most > self.max_bytes;
        if is_more {
            self.max_bytes = most;
        }
        is_more
    }

    /// Removes the bound on lengths, for callers that need only lengths and never spell the text.
    pub(crate) fn plan_lengths(&mut self) {
        self.max_bytes = u64::MAX;
    }

    /// The most bytes that a completion may have to be spelled.
    pub(super) fn max_spelled_bytes(&self) -> u64 {
        self.max_bytes.min(MAX_WITNESS_BYTES)
    }

    /// Makes the plan of an assumption the current one.
    pub(super) fn assume(&mut self, assumption: CaptureAssumption) {
        if self.assumption != assumption {
            self.assumption = assumption;
            mem::swap(&mut self.current, &mut self.other);
        }
    }

    /// Starts again with nothing planned.
    pub(super) fn forget(&mut self) {
        *self = Self { max_bytes: self.max_bytes, ..Self::default() };
    }

    /// The number of entries in the tables.
    pub(super) fn entries(&self) -> usize {
        self.current.entries() + self.other.entries()
    }
}
