//! Quotations: runs of the units of a given text, as an automaton that computes its states.
//!
//! The units (characters, words, any chunks) are the letters of a suffix automaton (Blumer,
//! Blumer, Haussler, Ehrenfeucht, Chen, Seiferas, "The smallest automaton recognizing the subwords of
//! a text", TCS 1985): for n units it has at most 2n states and 3n transitions, and is built in
//! linear time but for looking transitions up. Bytes are read along the spellings of the units that
//! may come next, which are sorted: a state of the byte automaton is a state of the suffix automaton,
//! a range of its transitions, and how many bytes of their spellings were read. Where one spelling
//! begins another both are followed, so a state is a list of those.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::languages::keyed_hash;
use crate::regular::{Language, Languages};

/// The units of a text that quotations consist of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuoteBy {
    /// Characters (code points): a quotation may begin and end within a word.
    Characters,
    /// Words of letters, digits and `_`, and every other character by itself.
    #[default]
    Words,
}

impl QuoteBy {
    /// The units of a text; together they are the text.
    pub fn units(self, text: &str) -> Vec<&str> {
        let is_word = |c: char| self == Self::Words && (c.is_alphanumeric() || c == '_');
        let mut units = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let end = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (unit, after) = rest.split_at(end);
            units.push(unit);
            rest = after;
        }
        units
    }
}

/// Runs of one or more of these units in a row; empty ones count for nothing. Linear in their
/// number and length.
///
/// Errors if there are more than 2^30 units, or as many bytes in different ones.
pub(crate) fn quotation(languages: &mut Languages, units: &[impl AsRef<[u8]>]) -> Result<Language> {
    Ok(match quotation_automaton(units)? {
        Some((text, start)) => languages.automaton(text, start),
        None => Language::EMPTY,
    })
}

/// The automaton of [`quotation`], and the state in which it starts; `None` if nothing can be
/// quoted.
pub(crate) fn quotation_automaton(
    units: &[impl AsRef<[u8]>],
) -> Result<Option<(Arc<dyn Automaton>, AutomatonState)>> {
    let text = Quotation::new(units.iter().map(AsRef::as_ref).filter(|unit| !unit.is_empty()))?;
    let (from, to) = text.transitions(ROOT);
    let start = [ROOT, from, to, 0].map(i64::from).into();
    Ok((from < to).then(|| (Arc::new(text) as Arc<dyn Automaton>, start)))
}

/// The greatest number of units, and of bytes of different units: state numbers stay within 32
/// bits.
const MAX_UNITS: usize = 1 << 30;

/// The state before any unit; no transition leads back to it.
const ROOT: u32 = 0;
/// The suffix link of the root.
const NONE: u32 = u32::MAX;

/// The suffix automaton of a text, its transitions by state and sorted by spelling.
#[derive(Debug)]
struct Quotation {
    name: String,
    /// By state: the index of its first transition; one more for the end.
    first: Box<[u32]>,
    /// By transition: its unit.
    units: Box<[u32]>,
    /// By transition: the state that it leads to.
    targets: Box<[u32]>,
    /// By unit in sorted order: where its spelling begins; one more for the end.
    begins: Box<[u32]>,
    spellings: Box<[u8]>,
}

impl Quotation {
    fn new<'t>(units: impl Iterator<Item = &'t [u8]>) -> Result<Self> {
        let units: Vec<&[u8]> = units.collect();
        let mut sorted = units.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let bytes: usize = sorted.iter().map(|unit| unit.len()).sum();
        if units.len().max(bytes) > MAX_UNITS {
            return Err(Error::new(ErrorKind::Limit, "the text to be quoted is too long")
                .with_help("quote a part of it"));
        }
        let name = format!(
            "quotation {:032x}",
            keyed_hash(|hasher| {
                use std::hash::Hash as _;
                units.hash(hasher);
            })
        );
        let ids: FxHashMap<&[u8], u32> =
            sorted.iter().enumerate().map(|(id, &unit)| (unit, id as u32)).collect();
        let mut suffixes = Suffixes::new();
        units.iter().for_each(|unit| suffixes.append(ids[unit]));
        let (mut first, mut symbols, mut targets) = (vec![0], Vec::new(), Vec::new());
        for (state, next) in suffixes.next.iter_mut().enumerate() {
            next.sort_unstable();
            for &mut unit in next {
                symbols.push(unit);
                targets.push(suffixes.targets[&(state as u32, unit)]);
            }
            first.push(symbols.len() as u32);
        }
        let mut begins = vec![0];
        let mut spellings = Vec::with_capacity(bytes);
        for unit in sorted {
            spellings.extend_from_slice(unit);
            begins.push(spellings.len() as u32);
        }
        Ok(Self {
            name,
            first: first.into(),
            units: symbols.into(),
            targets: targets.into(),
            begins: begins.into(),
            spellings: spellings.into(),
        })
    }

    /// The range of the transitions of a state.
    fn transitions(&self, state: u32) -> (u32, u32) {
        (self.first[state as usize], self.first[state as usize + 1])
    }

    /// The bytes of the unit of a transition.
    fn spelling(&self, transition: u32) -> &[u8] {
        let unit = self.units[transition as usize] as usize;
        &self.spellings[self.begins[unit] as usize..self.begins[unit + 1] as usize]
    }

    /// The first transition of a range that does not satisfy a condition which holds for those
    /// before it.
    fn partition(&self, from: u32, to: u32, holds: impl Fn(u32) -> bool) -> u32 {
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// The numbers of each part of an encoded state.
fn parts(state: &[i64]) -> impl Iterator<Item = [u32; 4]> + '_ {
    state.chunks_exact(4).map(|part| [part[0], part[1], part[2], part[3]].map(|n| n as u32))
}

impl Automaton for Quotation {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        parts(state).any(|[at, _, _, read]| read == 0 && at != ROOT)
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let mut next: SmallVec<[[u32; 4]; 4]> = SmallVec::new();
        for [at, from, to, read] in parts(state) {
            // Spellings that are longer than what was read, and begin alike.
            let byte_of = |transition| self.spelling(transition)[read as usize];
            let low = self.partition(from, to, |transition| byte_of(transition) < byte);
            let high = self.partition(low, to, |transition| byte_of(transition) == byte);
            if low == high {
                continue;
            }
            let mut rest = low;
            if self.spelling(low).len() == read as usize + 1 {
                let target = self.targets[low as usize];
                let (from, to) = self.transitions(target);
                next.push([target, from, to, 0]);
                rest += 1;
            }
            if rest < high {
                next.push([at, rest, high, read + 1]);
            }
        }
        next.sort_unstable();
        next.dedup();
        (!next.is_empty()).then(|| next.into_iter().flatten().map(i64::from).collect())
    }

    fn is_live(&self, _: &[i64]) -> Option<bool> {
        // Every state is at the end of a unit, or within one.
        Some(true)
    }
}

/// A suffix automaton under construction.
struct Suffixes {
    /// By state: the length of its longest string.
    length: Vec<u32>,
    /// By state: its suffix link.
    link: Vec<u32>,
    /// By state: the units of its transitions.
    next: Vec<SmallVec<[u32; 4]>>,
    targets: FxHashMap<(u32, u32), u32>,
    last: u32,
}

impl Suffixes {
    fn new() -> Self {
        Self {
            length: vec![0],
            link: vec![NONE],
            next: vec![SmallVec::new()],
            targets: FxHashMap::default(),
            last: ROOT,
        }
    }

    fn state(&mut self, length: u32) -> u32 {
        self.length.push(length);
        self.link.push(NONE);
        self.next.push(SmallVec::new());
        self.length.len() as u32 - 1
    }

    fn append(&mut self, unit: u32) {
        let new = self.state(self.length[self.last as usize] + 1);
        let mut at = std::mem::replace(&mut self.last, new);
        while at != NONE && !self.targets.contains_key(&(at, unit)) {
            self.targets.insert((at, unit), new);
            self.next[at as usize].push(unit);
            at = self.link[at as usize];
        }
        if at == NONE {
            self.link[new as usize] = ROOT;
            return;
        }
        let known = self.targets[&(at, unit)];
        let length = self.length[at as usize] + 1;
        if self.length[known as usize] == length {
            self.link[new as usize] = known;
            return;
        }
        let copy = self.state(length);
        self.link[copy as usize] = self.link[known as usize];
        let units = self.next[known as usize].clone();
        for &unit in &units {
            let target = self.targets[&(known, unit)];
            self.targets.insert((copy, unit), target);
        }
        self.next[copy as usize] = units;
        while at != NONE && self.targets.get(&(at, unit)) == Some(&known) {
            self.targets.insert((at, unit), copy);
            at = self.link[at as usize];
        }
        self.link[known as usize] = copy;
        self.link[new as usize] = copy;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_cut_into_units() {
        let text = "L'été, naïve_1\n 2x";
        let words = ["L", "'", "été", ",", " ", "naïve_1", "\n", " ", "2x"];
        assert_eq!(QuoteBy::Words.units(text), words);
        assert_eq!(QuoteBy::Characters.units("né"), ["n", "é"]);
        assert!(QuoteBy::Words.units("").is_empty());
    }

    #[test]
    fn a_long_text_is_quoted_in_linear_memory() {
        // Fibonacci's words have many repetitions, and so have random ones over few letters.
        let (mut a, mut b) = ("a".to_owned(), "ab".to_owned());
        while b.len() < 100_000 {
            (a, b) = (b.clone(), b + &a);
        }
        let mut random = 1u64;
        let noise: String = (0..100_000)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                char::from(b'a' + (random >> 62) as u8)
            })
            .collect();
        for text in [b, noise] {
            let units = QuoteBy::Characters.units(&text);
            let built = Quotation::new(units.iter().map(|unit| unit.as_bytes())).unwrap();
            assert!(built.first.len() <= 2 * units.len() + 1, "{}", built.first.len());
            assert!(built.units.len() <= 3 * units.len(), "{}", built.units.len());
            let mut l = Languages::new();
            let quotation = quotation(&mut l, &units).unwrap();
            let part = &text.as_bytes()[50_000..50_300];
            assert!(l.matches(quotation, part).unwrap());
            let other = [part, b"z"].concat();
            assert!(!l.matches(quotation, &other).unwrap());
        }
    }

    proptest! {
        /// Against the definition, on units that begin each other.
        #[test]
        fn quotations_are_runs_of_units(
            units in prop::collection::vec("[ab]{0,3}", 0..8),
            text in "[abc]{0,8}",
        ) {
            let mut l = Languages::new();
            let language = quotation(&mut l, &units).unwrap();
            let runs = (0..units.len()).flat_map(|i| (i + 1..=units.len()).map(move |j| (i, j)));
            let mut runs = runs.map(|(i, j)| units[i..j].concat()).filter(|run| !run.is_empty());
            prop_assert_eq!(l.matches(language, text.as_bytes()).unwrap(), runs.any(|run| run == text));
            prop_assert_eq!(l.is_live(language).unwrap(), !units.concat().is_empty());
        }

        /// Characters and words of real text, every part of it and parts with something changed.
        #[test]
        fn parts_of_texts_are_quotations(text in "[aé ,]{1,12}", from in 0usize..12, len in 0usize..12) {
            let mut l = Languages::new();
            let characters = quotation(&mut l, &QuoteBy::Characters.units(&text)).unwrap();
            let words = quotation(&mut l, &QuoteBy::Words.units(&text)).unwrap();
            let part: String = text.chars().skip(from).take(len).collect();
            prop_assert_eq!(l.matches(characters, part.as_bytes()).unwrap(), !part.is_empty());
            // A run of words begins and ends where no two letters meet.
            let is_word = |c: &char| c.is_alphanumeric();
            let all: Vec<char> = text.chars().collect();
            let whole = (0..all.len()).any(|i| {
                let j = i + part.chars().count();
                let meets = |at: usize| at > 0 && at < all.len() && is_word(&all[at - 1]) && is_word(&all[at]);
                j <= all.len() && all[i..j].iter().copied().eq(part.chars()) && !meets(i) && !meets(j)
            });
            prop_assert_eq!(l.matches(words, part.as_bytes()).unwrap(), !part.is_empty() && whole);
        }
    }
}
