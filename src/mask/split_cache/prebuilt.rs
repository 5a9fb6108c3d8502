//! Results that nearly every constraint needs: computed when a compiler is made, or read from the
//! vocabulary's index, so that no first mask waits for them.

use std::sync::{Arc, RwLock};

use rustc_hash::FxHashMap;

use super::SplitCache;
use super::clock_cache::ClockCache;
use crate::limits::Limits;
use crate::mask::capture_tokens::CaptureTokens;
use crate::mask::split::max_repeats::longest_runs;
use crate::mask::split::repeats::{RepeatKey, RepeatSplit};
use crate::mask::split::split_tables::SplitTables;
use crate::mask::strategies::Strategy;
use crate::regular::{ByteSet, CodePoints, JsonString, Language, Languages};
use crate::vocabulary::{IndexPart, IndexReader, IndexWriter, Vocabulary};

/// Byte sets that patterns repeat most: digits, blanks, hexadecimal digits, letters, names.
const COMMON_SETS: [&[(u8, u8)]; 13] = [
    &[(b'0', b'9')],
    &[(b' ', b' '), (b'\t', b'\t')],
    &[(b'0', b'9'), (b'a', b'f')],
    &[(b'0', b'9'), (b'A', b'F')],
    &[(b'0', b'9'), (b'A', b'F'), (b'a', b'f')],
    &[(b'a', b'z')],
    &[(b'A', b'Z')],
    &[(b'A', b'Z'), (b'a', b'z')],
    &[(b'0', b'9'), (b'a', b'z')],
    &[(b'0', b'9'), (b'A', b'Z')],
    &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')],
    &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z'), (b'_', b'_')],
    &[(b'0', b'9'), (b'A', b'Z'), (b'a', b'z'), (b'-', b'-')],
];

/// A repeat split that is made in advance: of a unit, below a node of the trie, with the tails that
/// begin with these bytes.
struct PrebuiltRepeat {
    unit: Language,
    node: u32,
    after: &'static [u8],
}

/// The sets whose longest runs are counted in advance.
fn common_sets() -> [ByteSet; COMMON_SETS.len()] {
    COMMON_SETS.map(|ranges| {
        let sets = ranges.iter().map(|&(first, last)| ByteSet::range(first, last));
        sets.fold(ByteSet::EMPTY, |all, set| all.union(&set))
    })
}

fn blanks() -> ByteSet {
    [b' ', b'\t'].into_iter().collect()
}

/// Repeats of the characters of strings, from the start of a token and after a quote, and of white
/// space.
fn prebuilt_repeats(languages: &mut Languages, vocabulary: &Vocabulary) -> Vec<PrebuiltRepeat> {
    let character = JsonString.class(languages, &[(0, 0x10_FFFF)]);
    let blank = languages.byte_set(blanks());
    let node = |text: &[u8]| vocabulary.trie().find(text).unwrap_or(0) as u32;
    let strings = [0, node(b"\""), node(b" \"")].map(|node| PrebuiltRepeat {
        unit: character,
        node,
        after: b"\"",
    });
    // What follows white space in JSON.
    let after = b"\"{}[],:0123456789-tfn\n\r";
    let blanks = [0, node(b"\n")].map(|node| PrebuiltRepeat { unit: blank, node, after });
    strings.into_iter().chain(blanks).collect()
}

fn key(languages: &Languages, repeat: &PrebuiltRepeat) -> RepeatKey {
    let unit = languages.fingerprint_beside(repeat.unit, &mut FxHashMap::default());
    RepeatKey { unit, node: repeat.node }
}

impl SplitCache {
    /// Computes what nearly every constraint needs, or finds it in the vocabulary's index. What
    /// cannot be written there only takes time again.
    pub(crate) fn prepare(&self, vocabulary: &Vocabulary) {
        if !self.strategies.has(Strategy::Prebuilt) {
            return;
        }
        let mut languages = Languages::new();
        let all = prebuilt_repeats(&mut languages, vocabulary);
        let Some(index) = vocabulary.index() else {
            return self.compute(&mut languages, vocabulary, &all);
        };
        let known =
            index.read(IndexPart::Splits, |from| self.decode(from, &languages, vocabulary, &all));
        if known.is_none() {
            self.compute(&mut languages, vocabulary, &all);
            let _ =
                index.write(IndexPart::Splits, |to| self.encode(to, &languages, vocabulary, &all));
        }
    }

    fn compute(&self, languages: &mut Languages, vocabulary: &Vocabulary, all: &[PrebuiltRepeat]) {
        self.capture_tokens(vocabulary);
        let sets = common_sets();
        let longest = longest_runs(vocabulary.trie(), &sets);
        for (set, longest) in sets.into_iter().zip(longest) {
            self.write().add_max_run(set, longest, self.limit);
        }
        for repeat in all {
            let key = key(languages, repeat);
            // Only speed is lost if it fails.
            if let Ok(split) = self.repeat_split_by(key, vocabulary, languages, repeat.unit) {
                split.make_masks();
                for &byte in repeat.after {
                    split.exits_at(vocabulary, self.tables(vocabulary), byte);
                }
            }
        }
    }

    fn encode(
        &self,
        to: &mut IndexWriter,
        languages: &Languages,
        vocabulary: &Vocabulary,
        all: &[PrebuiltRepeat],
    ) {
        self.capture_tokens(vocabulary).encode(to);
        for set in common_sets() {
            to.number(self.max_run(vocabulary, set));
        }
        self.tables(vocabulary).shapes.trie().encode(to);
        for repeat in all {
            let split = self.read().repeat_split(&key(languages, repeat)).map(Arc::clone);
            to.number(u8::from(split.is_some()));
            if let Some(split) = split {
                split.encode(to);
            }
        }
    }

    fn decode(
        &self,
        from: &mut IndexReader<'_>,
        languages: &Languages,
        vocabulary: &Vocabulary,
        all: &[PrebuiltRepeat],
    ) -> Option<()> {
        let capture_tokens = CaptureTokens::decode(from, vocabulary)?;
        let mut known = ClockCache::default();
        for set in common_sets() {
            known.add_max_run(set, from.number()?, self.limit);
        }
        let tables = SplitTables::decode(from, vocabulary, self.strategies)?;
        for repeat in all {
            if from.number::<u8>()? == 0 {
                continue;
            }
            let split = RepeatSplit::decode(from, vocabulary, &tables, repeat.node)?;
            split.make_masks();
            known.add_repeat_split(key(languages, repeat), Arc::new(split), self.limit);
        }
        *self.write() = known;
        // Not yet known: nothing was asked for before.
        let _ = self.tables.set(Arc::new(tables));
        let _ = self.capture_tokens.set(capture_tokens);
        Some(())
    }

    /// The same with other limits, less what was learned since.
    pub(crate) fn with_limits(&self, limits: &Limits) -> Self {
        let fresh = Self::new(limits, self.strategies);
        let kept = self.read().lasting();
        Self {
            known: RwLock::new(kept),
            tables: self.tables.clone(),
            capture_tokens: self.capture_tokens.clone(),
            ..fresh
        }
    }
}
