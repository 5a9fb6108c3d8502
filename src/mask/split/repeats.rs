//! The splits of all states of a repeat of a unit at once: the tokens of a vocabulary by how far
//! they stay within the repeat.
//!
//! Most of what a model writes under a constraint stands in a repeat of small units: characters of a
//! string, digits, blanks. Which tokens are units from end to end, and after how many units the
//! others leave the repeat, is a matter of the vocabulary and the unit alone. So it is found out
//! once, for all bounds on the repeat, for whatever follows it, and for all constraints of a
//! compiler: a mask inside a string is a precomputed one, cut by the units that may still come, and
//! a walk over the few tails that leave the string.
//!
//! For the unit `[0-9]`, with the tokens `7`, `2024`, `12.`, `3,4` and `x`:
//!
//! ```text
//! inside, by units needed     7: 1    2024: 4
//! exits at `.`                12. after 2 units, tail `.`
//! exits at `,`                3,4 after 1 unit, tail `,4`
//! ```
//!
//! *Invariant:* the unit is [prefix-free](is_prefix_free), so there is one way to count units.

mod encoding;
mod exits;
mod walk;

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::byte_classes::{class_of, classes};
use super::split_tables::SplitTables;
use super::{ExitTails, TrieId, new_trie_id};
use crate::error::Result;
use crate::mask::strategies::Strategy;
use crate::regular::{Language, Languages};
use crate::vocabulary::{TokenMask, Vocabulary};
use exits::ExitsByByte;
use walk::RepeatWalk;

pub(crate) use exits::RepeatExits;
pub(crate) use walk::is_prefix_free;

/// Fewest tokens that are kept as a mask, too.
const MIN_MASK_TOKENS: usize = 400;

/// A unit of no more first bytes than this reaches little of the trie, and shapes save nothing.
const MAX_UNSHAPED_FIRST_BYTES: usize = 4;

/// The units, at least one, that a token has before it leaves the repeat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepeatRun {
    pub(crate) units: u16,
    pub(crate) bytes: u16,
}

/// Tokens that leave the repeat after the same units.
#[derive(Clone, Copy, Debug)]
struct ExitGroup {
    tokens: ExitTokens,
    run: RepeatRun,
}

/// Tokens, of which those leave the repeat that have a byte after the run.
#[derive(Clone, Copy, Debug)]
enum ExitTokens {
    /// Those below a node of the vocabulary's trie.
    BelowNode(u32),
    /// Those below a node of the trie of shapes.
    BelowShape(u32),
    Token(u32),
}

impl ExitTokens {
    fn list<'a>(&'a self, vocabulary: &'a Vocabulary, tables: &'a SplitTables) -> &'a [u32] {
        match self {
            Self::BelowNode(node) => vocabulary.trie().subtree_tokens(*node as usize),
            Self::BelowShape(node) => tables.shapes.trie().subtree_tokens(*node as usize),
            Self::Token(token) => std::slice::from_ref(token),
        }
    }
}

/// The key of a repeat's split in the cache that all constraints of a compiler share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RepeatKey {
    /// The fingerprint of the unit.
    pub(crate) unit: u128,
    /// The node of the vocabulary's trie below which tokens are split.
    pub(crate) node: u32,
}

/// The tokens below one node of the trie, by the repeat of a unit that begins at that node.
#[derive(Debug)]
pub(crate) struct RepeatSplit {
    /// Tokens that never leave the repeat, by the units that they need: an unfinished one counts.
    inside: Box<[u32]>,
    /// By number of units: how many of `inside` need no more.
    upto: Box<[u32]>,
    /// By number of units: the mask of those, once asked for.
    masks: Box<[OnceLock<TokenMask>]>,
    exits: ExitsByByte,
    /// The node.
    pub(crate) node: u32,
    /// The number of the vocabulary's token ids.
    vocabulary_len: usize,
    /// Of the tails of all tokens that leave the repeat.
    pub(crate) id: TrieId,
}

impl RepeatSplit {
    /// Splits by one pass over what the repeat lets through below `node`.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        tables: &SplitTables,
        languages: &mut Languages,
        unit: Language,
        node: usize,
    ) -> Result<Self> {
        let mut walk = RepeatWalk::new(vocabulary, languages, unit);
        let first = walk.languages.first_bytes(unit)?;
        let shapes = tables.strategies.has(Strategy::ByteShapes);
        if shapes && node == 0 && first.len() > MAX_UNSHAPED_FIRST_BYTES {
            for class in classes() {
                if walk.is_uniform(unit, class)? {
                    if first.contains(class)
                        && let Some(at) = tables.shapes.trie().root_child(class)
                    {
                        walk.below(Some(&tables.shapes), 0, at)?;
                    }
                    continue;
                }
                for byte in first.iter().filter(|&byte| class_of(byte) == class) {
                    if let Some(at) = vocabulary.trie().root_child(byte) {
                        walk.below(None, 0, at)?;
                    }
                }
            }
        } else {
            for at in vocabulary.trie().children(node, first.bits()) {
                walk.below(None, node, at)?;
            }
        }
        let RepeatWalk { inside, exit_groups, .. } = walk;
        let (inside, upto) = sorted_by_units(&inside);
        let top = usize::from(vocabulary.trie().nodes()[node].depth);
        let exits = ExitsByByte::new(exit_groups, top, FxHashMap::default());
        Ok(Self::of(inside, upto, exits, node as u32, vocabulary))
    }

    fn of(
        inside: Box<[u32]>,
        upto: Box<[u32]>,
        exits: ExitsByByte,
        node: u32,
        vocabulary: &Vocabulary,
    ) -> Self {
        Self {
            masks: upto.iter().map(|_| OnceLock::new()).collect(),
            upto,
            inside,
            exits,
            node,
            vocabulary_len: vocabulary.len(),
            id: new_trie_id(),
        }
    }

    /// The tokens that leave the repeat, after at least one unit, at a byte that is no unit's first.
    pub(crate) fn exits_at(
        &self,
        vocabulary: &Vocabulary,
        tables: &SplitTables,
        byte: u8,
    ) -> Arc<RepeatExits> {
        self.exits.at(vocabulary, tables, byte)
    }

    /// All tokens that leave the repeat, after at least one unit.
    pub(crate) fn all_exits(
        &self,
        vocabulary: &Vocabulary,
        tables: &SplitTables,
    ) -> &Arc<ExitTails> {
        self.exits.all(vocabulary, tables, self.node)
    }

    /// The tokens that need at most so many units.
    pub(crate) fn inside(&self, units: u32) -> &[u32] {
        &self.inside[..self.upto[self.index(units)] as usize]
    }

    fn index(&self, units: u32) -> usize {
        (units as usize).min(self.upto.len() - 1)
    }

    /// The same as a mask, if they are many.
    pub(crate) fn mask(&self, units: u32) -> Option<&TokenMask> {
        let index = self.index(units);
        if (self.upto[index] as usize) < MIN_MASK_TOKENS {
            return None;
        }
        Some(self.masks[index].get_or_init(|| {
            // From the nearest smaller one that is known.
            let known = self.masks[..index].iter().enumerate().rev();
            let below = known.filter_map(|(n, mask)| Some((n, mask.get()?))).next();
            let (done, mut mask) = match below {
                Some((n, mask)) => (self.upto[n] as usize, mask.clone()),
                None => (0, TokenMask::new(self.vocabulary_len)),
            };
            let upto = self.upto[index] as usize;
            self.inside[done..upto].iter().for_each(|&token| mask.allow(token));
            mask
        }))
    }

    /// Makes all masks now.
    pub(crate) fn make_masks(&self) {
        (0..self.upto.len() as u32).for_each(|units| _ = self.mask(units));
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let masks = self.masks.iter().filter(|mask| mask.get().is_some()).count();
        size_of_val(&*self.inside) + masks * self.vocabulary_len / 8 + self.exits.memory_bytes()
    }
}

/// Tokens in the order of the units that they need, and by number of units how many need no more.
/// Sorted by counting: there are few different numbers.
fn sorted_by_units(tokens: &[(u16, u32)]) -> (Box<[u32]>, Box<[u32]>) {
    let most = tokens.iter().map(|&(need, _)| need).max().unwrap_or(0);
    let mut upto = vec![0u32; usize::from(most) + 1];
    tokens.iter().for_each(|&(need, _)| upto[usize::from(need)] += 1);
    for need in 1..upto.len() {
        upto[need] += upto[need - 1];
    }
    let mut ends = upto.clone();
    let mut sorted = vec![0; tokens.len()];
    for &(need, token) in tokens.iter().rev() {
        let end = &mut ends[usize::from(need)];
        *end -= 1;
        sorted[*end as usize] = token;
    }
    (sorted.into(), upto.into())
}
