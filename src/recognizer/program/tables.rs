//! The tables of a program: points, key choices, and what its source has answered.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::grammar::key_choice::{KeyChoice, KeyRank};
use crate::grammar::source::Source;
use crate::grammar::{NodeId, Origin, RuleId, SourceTag, Temperature};
use crate::limits::Limits;
use crate::recognizer::item::{KeyChoiceId, PointId};
use crate::recognizer::point::Point;

/// The point after a captured string, by the capture's tag and the string (`None`: any).
pub(super) type CaptureTargets = FxHashMap<(SourceTag, Option<Box<[u8]>>), Option<PointId>>;

/// The points of a program and the lists they refer to.
#[derive(Clone, Debug, Default)]
pub(super) struct PointTable {
    pub(super) points: Vec<Point>,
    /// By point: index into `origins`.
    pub(super) origin_by_point: Vec<u32>,
    /// By point: whether a JSON string is read there.
    pub(super) reads_json_string: Vec<bool>,
    /// The points of forks.
    pub(super) branches: Vec<PointId>,
    /// By fork: the branch that leads to a shortest text, where the source knows it.
    pub(super) shortest: FxHashMap<PointId, PointId>,
    /// The temperatures of unbounded budgets that have one.
    pub(super) temperatures: FxHashMap<PointId, Temperature>,
    /// The special tokens of points.
    pub(super) tokens: Vec<u32>,
    pub(super) origins: Vec<Origin>,
    pub(super) origin_ids: FxHashMap<Origin, u32>,
    /// By rule: the point where its body begins, [`UNKNOWN_BODY`] until asked for.
    pub(super) entries: Vec<PointId>,
    /// The points that nodes were compiled to, by node and continuation.
    pub(super) memo: FxHashMap<(NodeId, PointId), PointId>,
    /// Points that may be made; more are an error.
    pub(super) limit: usize,
}

/// The key choices of a program.
#[derive(Debug, Default)]
pub(super) struct KeyChoiceTable {
    pub(super) choices: Vec<Arc<KeyChoice>>,
    /// By choice and rank: the point after a key, once asked for.
    pub(super) targets: FxHashMap<(KeyChoiceId, KeyRank), PointId>,
    /// The number of a choice, by the source's tag.
    pub(super) ids: FxHashMap<SourceTag, KeyChoiceId>,
    /// The source's tag, by number.
    pub(super) tags: Vec<SourceTag>,
}

/// A source and its answers.
#[derive(Debug, Default)]
pub(super) struct SourceTable {
    pub(super) source: Option<Box<dyn Source>>,
    pub(super) capture_targets: CaptureTargets,
    /// Short texts of rules, where the source gave them.
    pub(super) completions: FxHashMap<RuleId, Option<Arc<[u8]>>>,
    /// Approximate memory of the answers.
    pub(super) memory: usize,
}

/// The parts of a program that grow as it is visited.
#[derive(Debug, Default)]
pub(super) struct ProgramTables {
    pub(super) points: PointTable,
    pub(super) key_choices: KeyChoiceTable,
    pub(super) answers: SourceTable,
}

impl PointTable {
    /// [`RETURN`](crate::recognizer::item::RETURN) and [`ACCEPT`](crate::recognizer::item::ACCEPT) alone.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            points: vec![Point::Sentinel; 2],
            origin_by_point: vec![0; 2],
            reads_json_string: vec![false; 2],
            origins: vec![Origin::Text("".into())],
            limit: limits.grammar_size,
            ..Self::default()
        }
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        fn list<T>(list: &Vec<T>) -> usize {
            list.capacity() * size_of::<T>()
        }
        // With a byte for each place, as hashbrown has it.
        fn map<K, V>(map: &FxHashMap<K, V>) -> usize {
            map.capacity() * (size_of::<(K, V)>() + 1)
        }
        list(&self.points)
            + list(&self.origin_by_point)
            + list(&self.reads_json_string)
            + list(&self.branches)
            + map(&self.shortest)
            + map(&self.temperatures)
            + list(&self.tokens)
            + list(&self.origins)
            + map(&self.origin_ids)
            + list(&self.entries)
            + map(&self.memo)
    }

    /// The origin of a point.
    pub(super) fn origin(&self, point: PointId) -> &Origin {
        &self.origins[self.origin_by_point[point as usize] as usize]
    }
}
