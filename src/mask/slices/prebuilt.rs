//! What nearly every constraint needs of a vocabulary: computed when a compiler is made, or read
//! from the vocabulary's index.

use std::sync::{Arc, RwLock};

use super::{COMMON, Known, Pairs, Slices, longest_runs};
use rustc_hash::FxHashMap;

use crate::limits::Limits;
use crate::mask::runs::{Runs, RunsKey};
use crate::mask::shapes::Classes;
use crate::mask::{Ends, Strategy};
use crate::regular::{ByteSet, CodePoints, JsonString, Language, Languages};
use crate::vocabulary::{Part, Reader, TokenMask, Vocabulary, Writer};

/// Runs that are made in advance: of a unit, below a node of the trie, with the tails that begin
/// with these bytes.
struct Prepared {
    unit: Language,
    node: u32,
    after: &'static [u8],
}

/// Sets whose longest runs are counted in advance.
fn sets() -> [ByteSet; COMMON.len()] {
    COMMON.map(|ranges| {
        let sets = ranges.iter().map(|&(first, last)| ByteSet::range(first, last));
        sets.fold(ByteSet::EMPTY, |all, set| all.union(&set))
    })
}

fn blanks() -> ByteSet {
    [b' ', b'\t'].into_iter().collect()
}

/// Characters of strings, from the start of a token and after a quote, and white space.
fn prepared(languages: &mut Languages, vocabulary: &Vocabulary) -> Vec<Prepared> {
    let character = JsonString.class(languages, &[(0, 0x10_FFFF)]);
    let blank = languages.byte_set(blanks());
    let node = |text: &[u8]| vocabulary.trie().find(text).unwrap_or(0) as u32;
    let strings =
        [0, node(b"\""), node(b" \"")].map(|node| Prepared { unit: character, node, after: b"\"" });
    // What follows white space in JSON.
    let after = b"\"{}[],:0123456789-tfn\n\r";
    let blanks = [0, node(b"\n")].map(|node| Prepared { unit: blank, node, after });
    strings.into_iter().chain(blanks).collect()
}

fn key(languages: &Languages, prepared: &Prepared) -> RunsKey {
    (languages.fingerprint_beside(prepared.unit, &mut FxHashMap::default()), prepared.node)
}

impl Slices {
    /// Computes what nearly every constraint needs, or finds it in the vocabulary's index. What
    /// cannot be written there only takes time again.
    pub(crate) fn prepare(&self, vocabulary: &Vocabulary) {
        if !self.strategies.has(Strategy::Prebuilt) {
            return;
        }
        let mut languages = Languages::new();
        let all = prepared(&mut languages, vocabulary);
        let Some(index) = vocabulary.index() else {
            return self.compute(&mut languages, vocabulary, &all);
        };
        let known =
            index.read(Part::Slices, |from| self.decode(from, &languages, vocabulary, &all));
        if known.is_none() {
            self.compute(&mut languages, vocabulary, &all);
            let _ = index.write(Part::Slices, |to| self.encode(to, &languages, vocabulary, &all));
        }
    }

    fn compute(&self, languages: &mut Languages, vocabulary: &Vocabulary, all: &[Prepared]) {
        self.pairs(vocabulary);
        let sets = sets();
        let longest = longest_runs(vocabulary.trie(), &sets);
        for (set, longest) in sets.into_iter().zip(longest) {
            self.write().add_longest(set, longest, self.limit);
        }
        for prepared in all {
            let key = key(languages, prepared);
            // Only speed is lost if it fails.
            if let Ok(runs) = self.runs(key, vocabulary, languages, prepared.unit) {
                runs.prepare();
                for &byte in prepared.after {
                    runs.leaving(vocabulary, self.classes(vocabulary), byte);
                }
            }
        }
    }

    fn encode(
        &self,
        to: &mut Writer,
        languages: &Languages,
        vocabulary: &Vocabulary,
        all: &[Prepared],
    ) {
        let Pairs { pairs, commas, ends, depending } = self.pairs(vocabulary);
        for mask in [pairs, commas, ends].into_iter().chain(depending) {
            to.list(mask.words().iter().copied());
        }
        for set in sets() {
            to.number(self.longest_run(vocabulary, set));
        }
        self.classes(vocabulary).trie().encode(to);
        for prepared in all {
            let runs = self.read().runs(&key(languages, prepared)).map(Arc::clone);
            to.number(u8::from(runs.is_some()));
            if let Some(runs) = runs {
                runs.encode(to);
            }
        }
    }

    fn decode(
        &self,
        from: &mut Reader<'_>,
        languages: &Languages,
        vocabulary: &Vocabulary,
        all: &[Prepared],
    ) -> Option<()> {
        let mut mask = || -> Option<TokenMask> {
            let mut mask = TokenMask::new(vocabulary.len());
            let (words, to) = (from.list::<u32>()?, mask.words_mut());
            if words.len() != to.len() {
                return None;
            }
            to.iter_mut().zip(words).for_each(|(to, from)| *to = from);
            Some(mask)
        };
        let (pairs, commas, ends) = (mask()?, mask()?, mask()?);
        let depending: Option<Vec<TokenMask>> = Ends::ALL.iter().map(|_| mask()).collect();
        let pairs = Pairs { pairs, commas, ends, depending: depending?.try_into().ok()? };
        let mut known = Known::default();
        for set in sets() {
            known.add_longest(set, from.number()?, self.limit);
        }
        let classes = Classes::decode(from, vocabulary)?.with_strategies(self.strategies);
        for prepared in all {
            if from.number::<u8>()? == 0 {
                continue;
            }
            let runs = Runs::decode(from, vocabulary, &classes, prepared.node)?;
            runs.prepare();
            known.add_runs(key(languages, prepared), Arc::new(runs), self.limit);
        }
        *self.write() = known;
        // Not yet known: nothing was asked for before.
        let _ = self.classes.set(Arc::new(classes));
        let _ = self.pairs.set(pairs);
        Some(())
    }

    /// The same with other limits, less what was learned since.
    pub(crate) fn with_limits(&self, limits: &Limits) -> Self {
        let fresh = Self::new(limits, self.strategies);
        let kept = self.read().lasting();
        Self {
            known: RwLock::new(kept),
            classes: self.classes.clone(),
            pairs: self.pairs.clone(),
            ..fresh
        }
    }
}
