//! The walk that splits the vocabulary by a repeat of a unit.

use rustc_hash::FxHashMap;

use super::{ExitGroup, ExitTokens, RepeatRun};
use crate::error::Result;
use crate::mask::split::byte_classes::{class_of, uniform_classes};
use crate::mask::split::byte_shapes::ShapeTrie;
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::Vocabulary;

/// The states of a unit beyond which it is not searched for whether it is prefix-free.
const MAX_PREFIX_STATES: usize = 48;

/// A position in a repeat: the state within a unit, the whole units before, and their bytes.
#[derive(Clone, Copy)]
struct RepeatPosition {
    state: Language,
    units: u16,
    bytes: u16,
}

/// The walk that makes a repeat's split: over the trie of shapes as long as the bytes of a class are
/// treated alike, and beyond token by token.
pub(in crate::mask) struct RepeatWalk<'a> {
    vocabulary: &'a Vocabulary,
    pub(in crate::mask) languages: &'a mut Languages,
    unit: Language,
    /// Tokens, and the units that they need.
    pub(in crate::mask) inside: Vec<(u16, u32)>,
    pub(in crate::mask) exit_groups: FxHashMap<u8, Vec<ExitGroup>>,
    /// By state within the unit: the classes of which it treats the bytes alike.
    uniform: FxHashMap<Language, ByteSet>,
    /// By depth.
    path: Vec<RepeatPosition>,
}

impl<'a> RepeatWalk<'a> {
    pub(in crate::mask) fn new(
        vocabulary: &'a Vocabulary,
        languages: &'a mut Languages,
        unit: Language,
    ) -> Self {
        Self {
            vocabulary,
            languages,
            unit,
            inside: Vec::new(),
            exit_groups: FxHashMap::default(),
            uniform: FxHashMap::default(),
            path: Vec::new(),
        }
    }

    /// Whether a state within the unit treats the bytes of a class alike.
    pub(in crate::mask) fn is_uniform(&mut self, state: Language, class: u8) -> Result<bool> {
        if let Some(known) = self.uniform.get(&state) {
            return Ok(known.contains(class));
        }
        let uniform = uniform_classes(self.languages.derivative_row(state)?);
        self.uniform.insert(state, uniform);
        Ok(uniform.contains(class))
    }

    /// The position after one byte more; `None` where the repeat ends.
    fn step(&mut self, at: RepeatPosition, byte: u8, depth: u16) -> Result<Option<RepeatPosition>> {
        Ok(match self.languages.step(at.state, byte)? {
            Language::EMPTY => None,
            Language::EPSILON => {
                Some(RepeatPosition { state: self.unit, units: at.units + 1, bytes: depth })
            }
            state => Some(RepeatPosition { state, ..at }),
        })
    }

    /// Notes tokens that leave the repeat after whole units.
    fn leave(&mut self, at: RepeatPosition, byte: u8, tokens: ExitTokens) {
        if at.state == self.unit && at.units > 0 {
            let run = RepeatRun { units: at.units, bytes: at.bytes };
            let group = ExitGroup { tokens, run };
            self.exit_groups.entry(class_of(byte)).or_default().push(group);
        }
    }

    /// One pass over the part of a trie, of shapes if these are given, that the repeat lets
    /// through from a child of a node on.
    pub(in crate::mask) fn below(
        &mut self,
        shapes: Option<&ShapeTrie>,
        node: usize,
        child: usize,
    ) -> Result<()> {
        let trie = shapes.map_or(self.vocabulary.trie(), ShapeTrie::trie);
        let nodes = trie.nodes();
        let top = nodes[node].depth;
        let end = nodes[child].subtree_end as usize;
        self.path.clear();
        self.path.push(RepeatPosition { state: self.unit, units: 0, bytes: 0 });
        let mut node = child;
        while node < end {
            let here = nodes[node];
            let depth = here.depth - top;
            self.path.truncate(usize::from(depth));
            let before = self.path[usize::from(depth) - 1];
            if shapes.is_some() && !self.is_uniform(before.state, here.byte)? {
                for &token in trie.subtree_tokens(node) {
                    self.read(token, before, depth - 1)?;
                }
                node = here.subtree_end as usize;
                continue;
            }
            let Some(next) = self.step(before, here.byte, depth)? else {
                let tokens = if shapes.is_some() {
                    ExitTokens::BelowShape(node as u32)
                } else {
                    ExitTokens::BelowNode(node as u32)
                };
                self.leave(before, here.byte, tokens);
                node = here.subtree_end as usize;
                continue;
            };
            // An unfinished unit counts.
            let needed = before.units + 1;
            self.inside.extend(trie.tokens(node).iter().map(|&token| (needed, token)));
            self.path.push(next);
            node += 1;
        }
        Ok(())
    }

    /// Reads the rest of one token, from where so many of its bytes are read.
    fn read(&mut self, token: u32, mut at: RepeatPosition, from: u16) -> Result<()> {
        let bytes = self.vocabulary.token_bytes(token).unwrap_or_default();
        let mut needed = at.units;
        for (depth, &byte) in (1..).zip(bytes).skip(from.into()) {
            let Some(next) = self.step(at, byte, depth)? else {
                self.leave(at, byte, ExitTokens::Token(token));
                return Ok(());
            };
            (needed, at) = (at.units + 1, next);
        }
        self.inside.push((needed, token));
        Ok(())
    }
}

/// Whether a unit is known to be prefix-free: no string of it is the beginning of another, nor
/// empty. No for a unit of more than a few states.
pub(crate) fn is_prefix_free(languages: &mut Languages, unit: Language) -> Result<bool> {
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
            if languages.is_nullable(after) || seen.len() > MAX_PREFIX_STATES {
                return Ok(false);
            }
            if !seen.contains(&after) {
                seen.push(after);
            }
        }
    }
    Ok(true)
}
