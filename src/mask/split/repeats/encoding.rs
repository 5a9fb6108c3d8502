//! A repeat's split in a vocabulary's index, with what was asked of it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::exits::{ExitsByByte, RepeatExits};
use super::{ExitGroup, ExitTokens, RepeatRun, RepeatSplit};
use crate::mask::split::new_trie_id;
use crate::mask::split::split_tables::SplitTables;
use crate::vocabulary::{IndexReader, IndexWriter, Trie, Vocabulary};

/// Kinds of [`ExitTokens`].
const NODE: u8 = 0;
const SHAPE: u8 = 1;
const TOKEN: u8 = 2;

impl RepeatSplit {
    /// Writes the split and the tails that were asked for.
    pub(crate) fn encode(&self, to: &mut IndexWriter) {
        to.number(self.node);
        to.list(self.inside.iter().copied());
        to.list(self.upto.iter().copied());
        let mut exit_groups: Vec<_> = self.exits.exit_groups.iter().collect();
        exit_groups.sort_unstable_by_key(|&(&byte, _)| byte);
        to.list(exit_groups.iter().map(|&(&byte, _)| byte));
        for (_, list) in exit_groups {
            let kind = |group: &ExitGroup| match group.tokens {
                ExitTokens::BelowNode(_) => NODE,
                ExitTokens::BelowShape(_) => SHAPE,
                ExitTokens::Token(_) => TOKEN,
            };
            let number = |group: &ExitGroup| match group.tokens {
                ExitTokens::BelowNode(number)
                | ExitTokens::BelowShape(number)
                | ExitTokens::Token(number) => number,
            };
            to.list(list.iter().map(kind));
            to.list(list.iter().map(number));
            put_runs(to, list.iter().map(|group| group.run));
        }
        let known = self.exits.sorted();
        let mut exits: Vec<_> = known.iter().collect();
        exits.sort_unstable_by_key(|&(&byte, _)| byte);
        to.list(exits.iter().map(|&(&byte, _)| byte));
        for (_, exits) in exits {
            exits.tails.encode(to);
            put_runs(to, exits.runs.iter().copied());
        }
    }

    /// Reads a split; `None` if it cannot be one below this node of the vocabulary's trie.
    pub(crate) fn decode(
        from: &mut IndexReader<'_>,
        vocabulary: &Vocabulary,
        tables: &SplitTables,
        node: u32,
    ) -> Option<Self> {
        let top = usize::from(vocabulary.trie().nodes().get(node as usize)?.depth);
        let stored = from.number::<u32>()?;
        let inside: Box<[u32]> = from.list()?.collect();
        let upto: Box<[u32]> = from.list()?.collect();
        let sound = stored == node
            && inside.iter().all(|&token| (token as usize) < vocabulary.len())
            && upto.is_sorted()
            && upto.last().is_some_and(|&last| last as usize == inside.len());
        if !sound {
            return None;
        }
        let mut exit_groups = FxHashMap::default();
        for byte in from.list::<u8>()? {
            let (kinds, numbers) = (from.list::<u8>()?, from.list::<u32>()?);
            let runs = get_runs(from)?;
            if numbers.len() != runs.len() || kinds.len() != runs.len() {
                return None;
            }
            let group = |((kind, number), run): ((u8, u32), RepeatRun)| {
                let (tokens, count) = match kind {
                    NODE => (ExitTokens::BelowNode(number), vocabulary.trie().nodes().len()),
                    SHAPE => (ExitTokens::BelowShape(number), tables.shapes.trie().nodes().len()),
                    TOKEN => (ExitTokens::Token(number), vocabulary.len()),
                    _ => return None,
                };
                ((number as usize) < count).then_some(ExitGroup { tokens, run })
            };
            let list: Option<Vec<ExitGroup>> = kinds.zip(numbers).zip(runs).map(group).collect();
            exit_groups.insert(byte, list?);
        }
        let mut exits = FxHashMap::default();
        for byte in from.list::<u8>()? {
            let tails = Trie::decode(from, vocabulary.len())?;
            let runs: Box<[RepeatRun]> = get_runs(from)?.into();
            if runs.len() != tails.ids().len() {
                return None;
            }
            exits.insert(byte, Arc::new(RepeatExits { tails, runs, id: new_trie_id() }));
        }
        let exits = ExitsByByte::new(exit_groups, top, exits);
        Some(Self::of(inside, upto, exits, node, vocabulary))
    }
}

fn put_runs(to: &mut IndexWriter, runs: impl ExactSizeIterator<Item = RepeatRun> + Clone) {
    to.list(runs.clone().map(|run| run.units));
    to.list(runs.map(|run| run.bytes));
}

fn get_runs(from: &mut IndexReader<'_>) -> Option<Vec<RepeatRun>> {
    let (units, bytes) = (from.list::<u16>()?, from.list::<u16>()?);
    let same = units.len() == bytes.len();
    same.then(|| units.zip(bytes).map(|(units, bytes)| RepeatRun { units, bytes }).collect())
}
