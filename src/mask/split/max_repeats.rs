//! The most repeats of a unit in any token: a token cannot reach the bound of a repeat that has at least
//! so many repeats left.
//!
//! For the unit `[0-9a-f]{2}` and a vocabulary whose longest token of hexadecimal digits has eight,
//! that is four, and one more for a unit that the token only begins. Tokens are read by their shapes,
//! which may count too many: a class can hold bytes that the unit tells apart. The bytes of a token are
//! read only if its shape could have more repeats than any token before.

use smallvec::SmallVec;

use super::byte_classes::{self, members};
use super::split_tables::SplitTables;
use crate::deadline;
use crate::error::Result;
use crate::mask::strategies::Strategy;
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::{Trie, Vocabulary};

/// The states of a unit beyond which its repeats are not counted.
const MAX_UNIT_STATES: usize = 64;

/// The most repeats of a unit in any token, the last of which may be unfinished; [`u32::MAX`] for a
/// unit of many states.
pub(in crate::mask) fn max_repeats(
    tables: &SplitTables,
    vocabulary: &Vocabulary,
    languages: &mut Languages,
    unit: Language,
) -> Result<u32> {
    if !tables.strategies.has(Strategy::MaxRepeats) {
        return Ok(u32::MAX);
    }
    let Some(units) = UnitAutomaton::new(languages, unit)? else { return Ok(u32::MAX) };
    let trie = tables.shapes.trie();
    let nodes = trie.nodes();
    let mut most = 0;
    let mut node = 1;
    let mut path = vec![RepeatCounts::default(); usize::from(tables.longest()) + 1];
    let (mut before, mut after) = (RepeatCounts::default(), RepeatCounts::default());
    while let Some(at) = nodes.get(node) {
        let [.., above, here] = &mut path[..=usize::from(at.depth)] else { break };
        here.read(above, |state| units.steps_of_class(state, at.byte));
        if here.most > most {
            deadline::check()?;
            for &token in trie.tokens(node) {
                let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                if !units.may_repeat(bytes, most + 1) {
                    continue;
                }
                before.clear();
                for &byte in bytes {
                    after.read(&before, |state| units.step(state, byte));
                    std::mem::swap(&mut before, &mut after);
                }
                most = most.max(before.most);
            }
        }
        // Below the node, the unit that is open may end, and each further unit takes at least `least` bytes.
        let further = 1 + u32::from(tables.shapes.height(node)) / units.least;
        let few = here.most <= most && here.highest() + further <= most;
        node = if few { at.subtree_end as usize } else { node + 1 };
    }
    Ok(most + 1)
}

/// Of each set, the most bytes that stand side by side in a string of a trie.
pub(in crate::mask) fn longest_runs<const N: usize>(trie: &Trie, sets: &[ByteSet; N]) -> [u32; N] {
    let members: Vec<[u16; N]> =
        (0..=u8::MAX).map(|byte| sets.map(|set| u16::from(set.contains(byte)))).collect();
    // By depth: how many bytes of each set end the node's string.
    let mut ending = vec![[0u16; N]];
    let mut longest = [0u16; N];
    for node in &trie.nodes()[1..] {
        let depth = usize::from(node.depth);
        ending.truncate(depth);
        let mut run = ending[depth - 1];
        let members = &members[usize::from(node.byte)];
        for i in 0..N {
            run[i] = (run[i] + 1) * members[i];
            longest[i] = longest[i].max(run[i]);
        }
        ending.push(run);
    }
    longest.map(u32::from)
}

/// The automaton of a unit.
struct UnitAutomaton {
    /// By state: whether the unit is complete.
    complete: Vec<bool>,
    /// By state: where each byte leads.
    bytes: Vec<[u16; 256]>,
    /// By state, by class: where its bytes lead, as a range of `targets`.
    classes: Vec<[(u16, u16); 256]>,
    targets: Vec<u16>,
    /// The bytes that occur in it.
    alphabet: ByteSet,
    /// The least number of bytes that it takes.
    least: u32,
}

impl UnitAutomaton {
    const DEAD: u16 = u16::MAX;

    /// The automaton of a unit; `None` if it has many states.
    fn new(languages: &mut Languages, unit: Language) -> Result<Option<Self>> {
        let mut states = vec![unit];
        // By state: the bytes that lead there at first.
        let mut depths = vec![0];
        let mut this = Self {
            complete: vec![false],
            bytes: Vec::new(),
            classes: Vec::new(),
            targets: Vec::new(),
            alphabet: ByteSet::EMPTY,
            least: u32::MAX,
        };
        while let Some(&state) = states.get(this.bytes.len()) {
            deadline::check()?;
            let row = *languages.derivative_row(state)?;
            let depth = depths[this.bytes.len()] + 1;
            let mut bytes = [Self::DEAD; 256];
            for byte in 0..=u8::MAX {
                let after = row[usize::from(byte)];
                if after == Language::EMPTY {
                    continue;
                }
                this.alphabet.insert(byte);
                let known = states.iter().position(|&state| state == after);
                let id = known.unwrap_or_else(|| {
                    let complete = languages.is_nullable(after);
                    states.push(after);
                    depths.push(depth);
                    this.complete.push(complete);
                    states.len() - 1
                });
                if this.complete[id] {
                    this.least = this.least.min(depth);
                }
                bytes[usize::from(byte)] = id as u16;
            }
            if states.len() > MAX_UNIT_STATES {
                return Ok(None);
            }
            let mut classes = [(0, 0); 256];
            for class in byte_classes::classes() {
                let from = this.targets.len();
                for byte in members(class).iter() {
                    let target = bytes[usize::from(byte)];
                    if target != Self::DEAD && !this.targets[from..].contains(&target) {
                        this.targets.push(target);
                    }
                }
                classes[usize::from(class)] = (from as u16, this.targets.len() as u16);
            }
            this.bytes.push(bytes);
            this.classes.push(classes);
        }
        Ok(Some(this))
    }

    fn with_ends<'a>(&'a self, targets: &'a [u16]) -> impl Iterator<Item = (u16, bool)> + 'a {
        targets.iter().map(|&state| (state, self.complete[usize::from(state)]))
    }

    /// The state after a byte, if any, and whether a unit is complete there.
    fn step(&self, state: u16, byte: u8) -> impl Iterator<Item = (u16, bool)> {
        let target = &self.bytes[usize::from(state)][usize::from(byte)];
        self.with_ends(if *target == Self::DEAD { &[] } else { std::slice::from_ref(target) })
    }

    /// The same for all bytes of a class.
    fn steps_of_class(&self, state: u16, class: u8) -> impl Iterator<Item = (u16, bool)> {
        let (from, to) = self.classes[usize::from(state)][usize::from(class)];
        self.with_ends(&self.targets[usize::from(from)..usize::from(to)])
    }

    /// Whether a string has as many bytes of the unit's alphabet side by side as `count` units take
    /// at least.
    fn may_repeat(&self, bytes: &[u8], count: u32) -> bool {
        let enough = count.saturating_mul(self.least);
        let run = |run, &byte: &u8| {
            if self.alphabet.contains(byte) {
                Some(run + 1).filter(|&run| run < enough)
            } else {
                Some(0)
            }
        };
        bytes.iter().try_fold(0, run).is_none()
    }
}

/// The states after some bytes of units that begin anywhere, and how many units are complete
/// before.
#[derive(Clone, Default)]
struct RepeatCounts {
    states: SmallVec<[(u16, u32); 8]>,
    /// The most that were ever complete.
    most: u32,
}

impl RepeatCounts {
    /// Becomes the counts after one byte more, by where it leads from each state.
    fn read<S: Iterator<Item = (u16, bool)>>(&mut self, before: &Self, steps: impl Fn(u16) -> S) {
        self.most = before.most;
        self.states.clear();
        // A unit may begin anywhere.
        for &(state, count) in before.states.iter().chain([&(0, 0)]) {
            for (next, complete) in steps(state) {
                self.reach(next, count);
                if complete {
                    self.reach(0, count + 1);
                    self.most = self.most.max(count + 1);
                }
            }
        }
    }

    fn clear(&mut self) {
        self.states.clear();
        self.most = 0;
    }

    fn reach(&mut self, state: u16, count: u32) {
        match self.states.iter_mut().find(|known| known.0 == state) {
            Some(known) => known.1 = known.1.max(count),
            None => self.states.push((state, count)),
        }
    }

    /// The most that are complete in units that may go on.
    fn highest(&self) -> u32 {
        self.states.iter().map(|&(_, count)| count).max().unwrap_or(0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::mask::strategies::Strategies;
    use crate::regular::{Options, Utf8, parse};
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    /// The most units that stand side by side in a string, from its start on.
    fn most_from(l: &mut Languages, unit: Language, bytes: &[u8]) -> u32 {
        let (mut state, mut most) = (unit, 0);
        for (i, &byte) in bytes.iter().enumerate() {
            state = l.step(state, byte).unwrap();
            if l.is_nullable(state) {
                most = most.max(1 + most_from(l, unit, &bytes[i + 1..]));
            }
        }
        most
    }

    #[test]
    fn no_token_holds_more_units_than_one_does() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let units =
            ["[0-9a-f]{2}", "\\S+\\s+", "a|bc|c0", "[^a]*a", "(ab?)+-", "x", "é|\u{2003}", "q0"];
        for round in 0..20 {
            let mut token = || -> Vec<u8> {
                let parts: [&str; 9] = ["a", "b", "c", "0", "-", " ", "é", "\u{2003}", "x"];
                let bytes: Vec<u8> =
                    (0..9).flat_map(|_| parts[rng.random_range(0..9)].bytes()).collect();
                let from = rng.random_range(0..3);
                bytes[from..rng.random_range(from + 1..=bytes.len())].to_vec()
            };
            let tokens = (0..1 + 30 * round).map(|_| Some(token())).collect();
            let vocabulary = Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
            let tables = SplitTables::new(&vocabulary, Strategies::ALL);
            for pattern in units {
                let mut l = Languages::new();
                let unit = parse(&mut l, pattern, Options::default(), &Utf8).unwrap();
                let all = vocabulary.trie().ids().iter();
                let bytes = all.map(|&id| vocabulary.token_bytes(id).unwrap());
                let starts = bytes.flat_map(|bytes| (0..bytes.len()).map(|from| &bytes[from..]));
                let most = starts.map(|bytes| most_from(&mut l, unit, bytes)).max().unwrap();
                let found = max_repeats(&tables, &vocabulary, &mut l, unit).unwrap();
                assert_eq!(found, most + 1, "{pattern} in {} tokens", vocabulary.len());
            }
        }
    }
}
