//! The tokens that leave a repeat of a unit after whole units, by the byte at which they do.
//!
//! The continuation of a repeat begins with few bytes, mostly a quote. So the tails of each byte are
//! sorted into a trie of their own, and only when they are asked for.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::{ExitGroup, ExitTokens, RepeatRun};
use crate::mask::split::byte_classes::class_of;
use crate::mask::split::split_tables::SplitTables;
use crate::mask::split::{ExitTails, TokenExit, TrieId, new_trie_id};
use crate::mask::strategies::Strategy;
use crate::vocabulary::{Trie, Vocabulary, first_eight_bytes};

/// Tokens that leave a repeat at a certain byte.
#[derive(Debug)]
pub(crate) struct RepeatExits {
    /// The bytes after the last whole unit, from that byte on.
    pub(crate) tails: Trie,
    /// The runs before them, in the order of the trie's ids.
    pub(crate) runs: Box<[RepeatRun]>,
    pub(crate) id: TrieId,
}

/// Tokens that leave the repeat, with the runs before that, by the byte at which they do.
type TokensByByte = FxHashMap<u8, Vec<(u32, RepeatRun)>>;

/// The tokens that leave the repeat at a byte of a class.
#[derive(Debug, Default)]
struct ClassTokens {
    by_byte: TokensByByte,
    /// Nodes of the vocabulary's trie: every token that goes on from one with a byte of the class leaves.
    before: Vec<(u32, RepeatRun)>,
}

/// All tokens that leave a repeat.
#[derive(Debug)]
pub(in crate::mask) struct ExitsByByte {
    /// By the class of the byte at which they leave, in groups that leave after the same units.
    pub(in crate::mask) exit_groups: FxHashMap<u8, Vec<ExitGroup>>,
    /// The bytes of a token before the repeat.
    top: usize,
    by_byte: Mutex<FxHashMap<u8, Arc<RepeatExits>>>,
    /// By class. The tails of a byte are sorted when it is asked for, but its tokens are mostly found
    /// with those of all others of its class.
    by_class: Mutex<FxHashMap<u8, ClassTokens>>,
    /// The tails of all of them, once asked for.
    all: OnceLock<Arc<ExitTails>>,
}

impl ExitsByByte {
    pub(in crate::mask) fn new(
        exit_groups: FxHashMap<u8, Vec<ExitGroup>>,
        top: usize,
        by_byte: FxHashMap<u8, Arc<RepeatExits>>,
    ) -> Self {
        let by_byte = Mutex::new(by_byte);
        Self { exit_groups, top, by_byte, by_class: Mutex::default(), all: OnceLock::new() }
    }

    /// Those sorted already.
    pub(in crate::mask) fn sorted(&self) -> MutexGuard<'_, FxHashMap<u8, Arc<RepeatExits>>> {
        // Consistent between any two operations.
        self.by_byte.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tokens that leave at a byte.
    pub(in crate::mask) fn at(
        &self,
        vocabulary: &Vocabulary,
        tables: &SplitTables,
        byte: u8,
    ) -> Arc<RepeatExits> {
        let mut known = self.sorted();
        Arc::clone(known.entry(byte).or_insert_with(|| self.sort(vocabulary, tables, byte)))
    }

    /// The tails of all tokens that leave, after the unit at which they do; `node` is that of the repeat.
    pub(in crate::mask) fn all(
        &self,
        vocabulary: &Vocabulary,
        tables: &SplitTables,
        node: u32,
    ) -> &Arc<ExitTails> {
        self.all.get_or_init(|| {
            let mut exits = Vec::new();
            for &ExitGroup { tokens, run } in self.exit_groups.values().flatten() {
                let at = run.bytes.saturating_add(self.top as u16);
                let tokens = tokens.list(vocabulary, tables);
                exits.extend(tokens.iter().map(|&token| TokenExit { token, at }));
            }
            ExitTails::new(vocabulary, &exits, node).into()
        })
    }

    fn sort(&self, vocabulary: &Vocabulary, tables: &SplitTables, byte: u8) -> Arc<RepeatExits> {
        let mut by_class = self.by_class.lock().unwrap_or_else(PoisonError::into_inner);
        let class = class_of(byte);
        let of_class =
            by_class.entry(class).or_insert_with(|| self.of_class(vocabulary, tables, class));
        let mut tokens = of_class.by_byte.remove(&byte).unwrap_or_default();
        let trie = vocabulary.trie();
        for &(before, run) in &of_class.before {
            let node = trie.child(before as usize, byte);
            let below = node.map_or(&[][..], |node| trie.subtree_tokens(node));
            tokens.extend(below.iter().map(|&token| (token, run)));
        }
        let tail = |&(token, run): &(u32, RepeatRun)| {
            let text = vocabulary.token_bytes(token).unwrap_or_default();
            let tail = &text[self.top + usize::from(run.bytes)..];
            (first_eight_bytes(tail), tail, token, run)
        };
        let mut tails: Vec<(u64, &[u8], u32, RepeatRun)> = tokens.iter().map(tail).collect();
        // Stable, since the tokens of one group come sorted, and most have few groups.
        tails.sort_by_key(|&(head, tail, token, _)| (head, tail, token));
        let runs = tails.iter().map(|tail| tail.3).collect();
        let tails = Trie::from_sorted(tails.iter().map(|&(_, tail, token, _)| (tail, token)));
        Arc::new(RepeatExits { tails, runs, id: new_trie_id() })
    }

    /// The tokens that leave at each byte of a class, in the order of their texts within one group.
    fn of_class(&self, vocabulary: &Vocabulary, tables: &SplitTables, class: u8) -> ClassTokens {
        let mut found = ClassTokens::default();
        for &ExitGroup { tokens, run } in self.exit_groups.get(&class).into_iter().flatten() {
            let from = self.top + usize::from(run.bytes);
            if let ExitTokens::BelowShape(node) = tokens
                && tables.strategies.has(Strategy::ByteExitNodes)
                && let Some(before) = tables.shapes.same_parent(vocabulary, node)
            {
                found.before.push((before, run));
                continue;
            }
            for &token in tokens.list(vocabulary, tables) {
                let text = vocabulary.token_bytes(token).unwrap_or_default();
                if let Some(&byte) = text.get(from) {
                    found.by_byte.entry(byte).or_default().push((token, run));
                }
            }
        }
        found
    }

    pub(in crate::mask) fn memory_bytes(&self) -> usize {
        let exit_groups: usize = self.exit_groups.values().map(Vec::len).sum();
        let sorted = self.sorted();
        let sorted = sorted.values().map(|l| l.tails.memory_bytes() + size_of_val(&*l.runs));
        let by_class = self.by_class.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = by_class.values().map(|class| {
            let listed: usize = class.by_byte.values().map(Vec::capacity).sum();
            (listed + class.before.capacity()) * size_of::<(u32, RepeatRun)>()
        });
        let all = self.all.get().map_or(0, |tails| tails.memory_bytes());
        exit_groups * size_of::<ExitGroup>() + sorted.sum::<usize>() + waiting.sum::<usize>() + all
    }
}
