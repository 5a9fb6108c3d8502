//! Runs: the tokens of a vocabulary by how far they stay within a repeat.
//!
//! Most of what a model writes under a constraint stands in a repeat of small units: characters of
//! a string, digits, blanks. Which tokens are units from end to end, and after how many units the
//! others leave the repeat, is a matter of the vocabulary and the unit alone. So it is found out
//! once, for all bounds on the repeat, for whatever follows it, and for all constraints of a
//! compiler: a mask inside a string is a precomputed one, cut by the units that may still come,
//! and a walk over the few *tails* that leave the string.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::regex::{Language, Languages};
use crate::vocab::{TokenMask, Trie, Vocabulary};

/// More tokens than this are kept as masks too.
const DENSE: usize = 400;

/// How far a token stays within the repeat, where it leaves it after at least one unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) units: u16,
    pub(super) bytes: u16,
}

/// The tokens below one node of the trie, by the repeat of a unit that begins at that node. No
/// string of the unit is the beginning of another, so there is one way to count them.
#[derive(Debug)]
pub(super) struct Runs {
    /// Tokens that never leave the repeat, by the units that they need: an unfinished one counts.
    inside: Box<[u32]>,
    /// By number of units: how many of `inside` need no more.
    upto: Box<[u32]>,
    /// By number of units: the mask of those, once asked for.
    masks: Box<[OnceLock<TokenMask>]>,
    /// What follows the last whole unit of the others, from the first byte that is no unit's.
    tails: Trie,
    /// The runs of the tokens in `tails`.
    runs: FxHashMap<u32, Run>,
    words: usize,
}

impl Runs {
    /// One pass over the part of the trie below `node` that the repeat lets through.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        unit: Language,
        node: usize,
    ) -> Result<Self> {
        let trie = vocabulary.trie();
        let nodes = trie.nodes();
        let top = usize::from(nodes[node].depth);
        // By depth below `node`: the state within the unit, whole units, bytes of these.
        let mut path = vec![(unit, 0u16, 0u16)];
        let mut inside: Vec<(u16, u32)> = Vec::new();
        let mut tails: Vec<(&[u8], u32)> = Vec::new();
        let mut runs = FxHashMap::default();
        let end = nodes[node].subtree_end as usize;
        let mut at = node + 1;
        while at < end {
            let here = nodes[at];
            let depth = usize::from(here.depth) - top;
            path.truncate(depth);
            let (state, units, bytes) = path[depth - 1];
            let next = languages.step(state, here.byte)?;
            if next == Language::EMPTY {
                if state == unit && units > 0 {
                    for &token in trie.subtree_tokens(at) {
                        let text = vocabulary.token_bytes(token).unwrap_or_default();
                        tails.push((&text[top + usize::from(bytes)..], token));
                        runs.insert(token, Run { units, bytes });
                    }
                }
                at = here.subtree_end as usize;
                continue;
            }
            let whole = next == Language::EPSILON;
            inside.extend(trie.tokens(at).iter().map(|&token| (units + 1, token)));
            path.push(match whole {
                true => (unit, units + 1, depth as u16),
                false => (next, units, bytes),
            });
            at += 1;
        }
        tails.sort_unstable();
        inside.sort_unstable();
        let most = inside.last().map_or(0, |last| usize::from(last.0));
        let upto: Box<[u32]> = (0..=most)
            .map(|n| inside.partition_point(|&(need, _)| usize::from(need) <= n) as u32)
            .collect();
        Ok(Self {
            masks: upto.iter().map(|_| OnceLock::new()).collect(),
            upto,
            inside: inside.into_iter().map(|(_, token)| token).collect(),
            tails: Trie::from_sorted(tails),
            runs,
            words: vocabulary.len(),
        })
    }

    /// The tokens that need at most so many units.
    pub(super) fn inside(&self, units: u32) -> &[u32] {
        &self.inside[..self.upto[self.index(units)] as usize]
    }

    fn index(&self, units: u32) -> usize {
        (units as usize).min(self.upto.len() - 1)
    }

    /// The same as a mask, if they are many.
    pub(super) fn mask(&self, units: u32) -> Option<&TokenMask> {
        let index = self.index(units);
        if (self.upto[index] as usize) < DENSE {
            return None;
        }
        Some(self.masks[index].get_or_init(|| {
            // From the nearest smaller one that is known.
            let known = self.masks[..index].iter().enumerate().rev();
            let below = known.filter_map(|(n, mask)| Some((n, mask.get()?))).next();
            let (done, mut mask) = match below {
                Some((n, mask)) => (self.upto[n] as usize, mask.clone()),
                None => (0, TokenMask::new(self.words)),
            };
            let upto = self.upto[index] as usize;
            self.inside[done..upto].iter().for_each(|&token| mask.allow(token));
            mask
        }))
    }

    /// Makes all masks now.
    pub(super) fn prepare(&self) {
        (0..self.upto.len() as u32).for_each(|units| _ = self.mask(units));
    }

    pub(super) fn tails(&self) -> &Trie {
        &self.tails
    }

    /// The run of a token of the tails.
    pub(super) fn run(&self, token: u32) -> Run {
        // Every token of the tails has one.
        self.runs.get(&token).copied().unwrap_or(Run { units: 0, bytes: 0 })
    }

    pub(super) fn bytes(&self) -> usize {
        let masks = self.masks.iter().filter(|mask| mask.get().is_some()).count();
        size_of_val(&*self.inside)
            + size_of_val(self.tails.nodes())
            + size_of_val(self.tails.ids())
            + self.runs.len() * 16
            + masks * self.words / 8
    }
}

/// Is no string of it the beginning of another, and is it not the empty string alone? Looks at no
/// more than a few states, and says no beyond.
pub(super) fn is_unit(languages: &mut Languages, unit: Language) -> Result<bool> {
    const MOST: usize = 48;
    if languages.is_nullable(unit) {
        return Ok(false);
    }
    let mut seen = vec![unit];
    let mut next = 0;
    while let Some(&state) = seen.get(next) {
        next += 1;
        for after in *languages.row(state)? {
            if after == Language::EPSILON || after == Language::EMPTY {
                continue;
            }
            if languages.is_nullable(after) || seen.len() > MOST {
                return Ok(false);
            }
            if !seen.contains(&after) {
                seen.push(after);
            }
        }
    }
    Ok(true)
}

/// Runs by unit and node of the trie.
pub(super) type RunsKey = (u128, u32);

/// Shared runs.
pub(super) type Known = FxHashMap<RunsKey, Arc<Runs>>;
