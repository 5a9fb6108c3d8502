//! Runs: the tokens of a vocabulary by how far they stay within a repeat.
//!
//! Most of what a model writes under a constraint stands in a repeat of small units: characters of
//! a string, digits, blanks. Which tokens are units from end to end, and after how many units the
//! others leave the repeat, is a matter of the vocabulary and the unit alone. So it is found out
//! once, for all bounds on the repeat, for whatever follows it, and for all constraints of a
//! compiler: a mask inside a string is a precomputed one, cut by the units that may still come,
//! and a walk over the few *tails* that leave the string.

mod stored;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::classes::{Classes, class_of, is_uniform};
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

/// Tells the tries of tokens of a process apart; 0 is the vocabulary's.
pub(super) type TrieId = u64;

/// An id that no other trie has.
pub(super) fn new_trie() -> TrieId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Tokens that leave a repeat at a certain byte.
#[derive(Debug)]
pub(super) struct Leaving {
    /// What follows the last whole unit, from that byte on.
    pub(super) tails: Trie,
    /// The runs before them, in the order of the trie's ids.
    pub(super) runs: Box<[Run]>,
    pub(super) id: TrieId,
}

/// Where tokens leave the repeat after some units: a node, of whose tokens these are all that have
/// the byte after the run.
#[derive(Clone, Copy, Debug)]
struct Border {
    node: u32,
    run: Run,
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
    /// By the byte at which the others leave, or by its class.
    borders: FxHashMap<u8, Vec<Border>>,
    /// Do the borders' nodes stand in the trie of shapes, not in that of bytes?
    by_shape: bool,
    /// The node.
    pub(super) node: u32,
    /// The length of its string, in bytes.
    top: usize,
    leaving: Mutex<FxHashMap<u8, Arc<Leaving>>>,
    words: usize,
    /// Of the tails of all tokens that leave the repeat.
    pub(super) id: TrieId,
}

impl Runs {
    /// One pass over the part of the trie below `node` that the repeat lets through.
    pub(super) fn new(
        vocabulary: &Vocabulary,
        classes: &Classes,
        languages: &mut Languages,
        unit: Language,
        node: usize,
    ) -> Result<Self> {
        // Few bytes reach little of the trie, and leave it at borders that are told apart.
        const FEW: usize = 4;
        let by_shape = node == 0
            && languages.first_bytes(unit)?.len() > FEW
            && is_unit(languages, unit, true)?;
        let trie = if by_shape { classes.trie() } else { vocabulary.trie() };
        let nodes = trie.nodes();
        let top = usize::from(nodes[node].depth);
        // By depth below `node`: the state within the unit, whole units, bytes of these.
        let mut path = vec![(unit, 0u16, 0u16)];
        let mut inside: Vec<(u16, u32)> = Vec::new();
        let mut borders: FxHashMap<u8, Vec<Border>> = FxHashMap::default();
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
                    let border = Border { node: at as u32, run: Run { units, bytes } };
                    let byte = if by_shape { class_of(here.byte) } else { here.byte };
                    borders.entry(byte).or_default().push(border);
                }
                at = here.subtree_end as usize;
                continue;
            }
            inside.extend(trie.tokens(at).iter().map(|&token| (units + 1, token)));
            path.push(match next == Language::EPSILON {
                true => (unit, units + 1, depth as u16),
                false => (next, units, bytes),
            });
            at += 1;
        }
        let most = inside.iter().map(|&(need, _)| need).max().unwrap_or(0);
        // By counting: there are few different numbers.
        let mut upto = vec![0u32; usize::from(most) + 1];
        inside.iter().for_each(|&(need, _)| upto[usize::from(need)] += 1);
        for need in 1..upto.len() {
            upto[need] += upto[need - 1];
        }
        let mut ends = upto.clone();
        let mut sorted = vec![0; inside.len()];
        for &(need, token) in inside.iter().rev() {
            let end = &mut ends[usize::from(need)];
            *end -= 1;
            sorted[*end as usize] = token;
        }
        Ok(Self {
            masks: upto.iter().map(|_| OnceLock::new()).collect(),
            upto: upto.into(),
            inside: sorted.into(),
            borders,
            by_shape,
            node: node as u32,
            top,
            leaving: Mutex::default(),
            words: vocabulary.len(),
            id: new_trie(),
        })
    }

    /// The tokens that leave the repeat, after at least one unit, at a byte that is no unit's
    /// first.
    pub(super) fn leaving(
        &self,
        vocabulary: &Vocabulary,
        classes: &Classes,
        byte: u8,
    ) -> Arc<Leaving> {
        // Consistent between any two operations.
        let mut known = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let trie = if self.by_shape { classes.trie() } else { vocabulary.trie() };
            let mut tails: Vec<(&[u8], u32, Run)> = Vec::new();
            let key = if self.by_shape { class_of(byte) } else { byte };
            for border in self.borders.get(&key).into_iter().flatten() {
                let from = self.top + usize::from(border.run.bytes);
                for &token in trie.subtree_tokens(border.node as usize) {
                    let text = vocabulary.token_bytes(token).unwrap_or_default();
                    if text.get(from) == Some(&byte) {
                        tails.push((&text[from..], token, border.run));
                    }
                }
            }
            // Stable, since the tokens of one border come sorted, and most have few borders.
            tails.sort_by_key(|&(tail, token, _)| (tail, token));
            let runs = tails.iter().map(|tail| tail.2).collect();
            let tails = Trie::from_sorted(tails.iter().map(|&(tail, token, _)| (tail, token)));
            Arc::new(Leaving { tails, runs, id: new_trie() })
        };
        Arc::clone(known.entry(byte).or_insert_with(make))
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

    pub(super) fn bytes(&self) -> usize {
        let masks = self.masks.iter().filter(|mask| mask.get().is_some()).count();
        let borders: usize = self.borders.values().map(Vec::len).sum();
        // Consistent between any two operations.
        let leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let leaving = leaving.values().map(|l| l.tails.bytes() + size_of_val(&*l.runs));
        size_of_val(&*self.inside)
            + borders * size_of::<Border>()
            + masks * self.words / 8
            + leaving.sum::<usize>()
    }
}

/// Is no string of it the beginning of another, and is it not the empty string alone? With
/// `by_shape`, are bytes of one class treated alike too? Looks at no more than a few states, and
/// says no beyond.
pub(super) fn is_unit(languages: &mut Languages, unit: Language, by_shape: bool) -> Result<bool> {
    const MOST: usize = 48;
    if languages.is_nullable(unit) {
        return Ok(false);
    }
    let mut seen = vec![unit];
    let mut next = 0;
    while let Some(&state) = seen.get(next) {
        next += 1;
        let row = *languages.row(state)?;
        if by_shape && !is_uniform(&row) {
            return Ok(false);
        }
        for after in row {
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
