//! Slices of the vocabulary by terminal state.
//!
//! In most states of most terminals nearly every token either stays inside the terminal from its
//! first byte to its last, or is rejected. Which ones do depends on the terminal's state and the
//! vocabulary alone, never on the grammar around it. So that part of a mask is computed once and
//! shared by all constraints of a compiler. What leaves the terminal on the way (a quote and what
//! follows it) is grouped by its *tail*, the bytes after the terminal's end: a few hundred tails
//! stand for thousands of tokens, and only they are walked with the grammar at hand.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::classes::{Classes, Found};
use super::limits::Limits;
use super::masks::{Place, Reading};
use super::runs::{self, Runs, RunsKey, TrieId, new_trie};
use crate::error::Result;
use crate::regex::{ByteSet, CodePoints, JsonString, Language, Languages};
use crate::vocab::{TokenMask, Trie, Vocabulary};

/// The tokens that a terminal state allows by itself, and the ways out of it.
#[derive(Debug)]
pub(super) struct Slice {
    /// Tokens that can be read within the terminal, whole.
    pub(super) inside: TokenMask,
    /// For every other token and every place inside it where the terminal may end: what follows
    /// that place, with the token's id.
    pub(super) tails: Trie,
    /// It holds if what follows the terminal begins with none of these bytes.
    pub(super) words: ByteSet,
    pub(super) id: TrieId,
}

/// The fingerprint of a terminal's state, and: with every end, or only with those behind which a
/// word does not go on?
type SliceKey = (u128, bool);

/// Of the bytes with which a terminal may go on where it may end, those of words, if it reads
/// words: what follows a name seldom begins with a letter, and most places where a name may end
/// stand before one.
pub(super) fn word_bytes(bytes: ByteSet) -> ByteSet {
    /// Fewer are letters of a suffix or of a keyword.
    const FEW: usize = 10;
    let word = (0..=u8::MAX).filter(|&b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80);
    let word: ByteSet = word.filter(|&byte| bytes.contains(byte)).collect();
    if word.len() < FEW { ByteSet::EMPTY } else { word }
}

/// The slices of one vocabulary, by fingerprint of the terminal state; bounded in bytes.
#[derive(Debug)]
pub(super) struct Slices {
    known: Mutex<Known>,
    classes: OnceLock<Classes>,
    pairs: OnceLock<Pairs>,
    limit: usize,
    worthwhile: usize,
}

/// Tokens in which a second text may depend on a captured one.
#[derive(Debug)]
pub(super) struct Pairs {
    pub(super) pairs: TokenMask,
    /// All tokens with a comma.
    pub(super) commas: TokenMask,
}

#[derive(Debug, Default)]
struct Known {
    slices: FxHashMap<SliceKey, Option<Arc<Slice>>>,
    runs: runs::Known,
    longest: FxHashMap<ByteSet, u32>,
    readings: FxHashMap<ReadingKey, Arc<Reading>>,
    bytes: usize,
}

/// The fingerprint of a terminal's state, how it is read, and from where.
pub(super) type ReadingKey = (u128, [bool; 3], Arc<[Place]>);

impl Slices {
    pub(super) fn new(limits: &Limits) -> Self {
        let (limit, worthwhile) = (limits.slice_bytes, limits.slice_nodes);
        Self {
            known: Mutex::default(),
            classes: OnceLock::new(),
            pairs: OnceLock::new(),
            limit,
            worthwhile,
        }
    }

    /// Computes what nearly every constraint needs.
    pub(super) fn prepare(&self, vocabulary: &Vocabulary) {
        let mut languages = Languages::new();
        let character = JsonString.class(&mut languages, &[(0, 0x10_FFFF)]);
        let blank = languages.byte_set([b' ', b'\t'].into_iter().collect());
        let node = |text: &[u8]| vocabulary.trie().find(text).unwrap_or(0) as u32;
        self.pairs(vocabulary);
        self.longest_run(vocabulary, ByteSet::range(b'0', b'9'));
        self.longest_run(vocabulary, [b' ', b'\t'].into_iter().collect());
        let strings = [0, node(b"\""), node(b" \"")].map(|node| (character, node, &b"\""[..]));
        // What follows white space in JSON.
        let after = &b"\"{}[],:0123456789-tfn\n\r"[..];
        let blanks = [0, node(b"\n")].map(|node| (blank, node, after));
        for (unit, node, after) in strings.into_iter().chain(blanks) {
            let fingerprint = languages.fingerprint(unit, &mut FxHashMap::default());
            // Only speed is lost if it fails.
            if let Ok(runs) = self.runs((fingerprint, node), vocabulary, &mut languages, unit) {
                runs.prepare();
                for &byte in after {
                    runs.leaving(vocabulary, self.classes(vocabulary), byte);
                }
            }
        }
    }

    /// The slice of a terminal state; `None` if the state is not worth one.
    pub(super) fn get(
        &self,
        key: SliceKey,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
    ) -> Result<Option<Arc<Slice>>> {
        if let Some(known) = self.lock().slices.get(&key) {
            return Ok(known.clone());
        }
        // Made without the lock: two threads may make the same slice, which is harmless.
        let classes = self.classes(vocabulary);
        let from = (state, key.1);
        let slice = Slice::new(vocabulary, classes, languages, from, self.worthwhile)?;
        let slice = slice.map(Arc::new);
        let bytes = 64 + slice.as_ref().map_or(0, |slice| slice.bytes());
        let mut known = self.lock();
        if known.bytes + bytes > self.limit {
            *known = Known::default();
        }
        known.bytes += bytes;
        known.slices.insert(key, slice.clone());
        Ok(slice)
    }

    /// The most bytes of a set that stand side by side in a token.
    pub(super) fn longest_run(&self, vocabulary: &Vocabulary, set: ByteSet) -> u32 {
        if let Some(&known) = self.lock().longest.get(&set) {
            return known;
        }
        // By depth: how many bytes of the set end the node's string.
        let mut ending = vec![0u32];
        let mut longest = 0;
        for node in &vocabulary.trie().nodes()[1..] {
            let depth = usize::from(node.depth);
            ending.truncate(depth);
            let run = if set.contains(node.byte) { ending[depth - 1] + 1 } else { 0 };
            longest = longest.max(run);
            ending.push(run);
        }
        self.lock().longest.insert(set, longest);
        longest
    }

    /// The vocabulary by the shapes of its tokens.
    pub(super) fn classes(&self, vocabulary: &Vocabulary) -> &Classes {
        self.classes.get_or_init(|| Classes::new(vocabulary))
    }

    /// The tokens in which one captured text may end and another one, too: keys of an object or
    /// items of an array, with a comma between them.
    pub(super) fn pairs(&self, vocabulary: &Vocabulary) -> &Pairs {
        self.pairs.get_or_init(|| {
            let mut pairs = TokenMask::new(vocabulary.len());
            let mut commas = TokenMask::new(vocabulary.len());
            for &id in vocabulary.trie().ids() {
                let bytes = vocabulary.token_bytes(id).unwrap_or_default();
                let around = |comma: usize| {
                    let (left, right) = (&bytes[..comma], &bytes[comma + 1..]);
                    let ends = left.trim_ascii_end().last().is_some_and(|b| !b",[{:".contains(b));
                    let quotes = right.iter().filter(|&&byte| byte == b'"').count();
                    ends && match right.trim_ascii_start().first() {
                        // A number ends with any of its digits, a string with its second quote.
                        Some(b'"') => quotes > 1,
                        Some(byte) => byte.is_ascii_alphanumeric() || *byte == b'-',
                        None => false,
                    }
                };
                // What begins and ends in the token: a key, or the first item of an array.
                let inside = |comma: usize| {
                    let left = &bytes[..comma];
                    let key = left.rsplitn(3, |&byte| byte == b'"').count() == 3
                        && left
                            .rsplit(|&byte| byte == b'"')
                            .next()
                            .is_some_and(|v| v.contains(&b':'));
                    let item = |at: usize| {
                        let first = left[at + 1..].trim_ascii_start().first();
                        left[at] == b'[' && first.is_some_and(|&byte| byte != b']')
                    };
                    key || (0..comma).any(item)
                };
                if bytes.contains(&b',') {
                    commas.allow(id);
                }
                if (0..bytes.len()).any(|i| bytes[i] == b',' && (around(i) || inside(i))) {
                    pairs.allow(id);
                }
            }
            Pairs { pairs, commas }
        })
    }

    /// What a terminal allows from some places, if any constraint has asked for it.
    pub(super) fn reading(&self, key: &ReadingKey) -> Option<Arc<Reading>> {
        self.lock().readings.get(key).map(Arc::clone)
    }

    /// Shares a reading with all constraints.
    pub(super) fn share(&self, key: ReadingKey, reading: &Arc<Reading>) {
        let bytes = reading.bytes() + size_of_val(&*key.2) + 64;
        let mut known = self.lock();
        if known.bytes + bytes > self.limit {
            *known = Known::default();
        }
        known.bytes += bytes;
        known.readings.insert(key, Arc::clone(reading));
    }

    /// The runs of a unit below a node of the trie.
    pub(super) fn runs(
        &self,
        key: RunsKey,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        unit: Language,
    ) -> Result<Arc<Runs>> {
        if let Some(known) = self.lock().runs.get(&key) {
            return Ok(Arc::clone(known));
        }
        let classes = self.classes(vocabulary);
        let runs = Arc::new(Runs::new(vocabulary, classes, languages, unit, key.1 as usize)?);
        let mut known = self.lock();
        if known.bytes + runs.bytes() > self.limit {
            *known = Known::default();
        }
        known.bytes += runs.bytes();
        known.runs.insert(key, Arc::clone(&runs));
        Ok(runs)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        // Consistent between any two operations.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slice {
    /// One pass over the shapes of the vocabulary's tokens, without a grammar.
    fn new(
        vocabulary: &Vocabulary,
        classes: &Classes,
        languages: &mut Languages,
        (state, every_end): (Language, bool),
        worthwhile: usize,
    ) -> Result<Option<Self>> {
        let found = classes.walk(vocabulary, languages, state, every_end)?;
        let Found { inside, work, ends, words } = found;
        if work <= worthwhile {
            return Ok(None);
        }
        let tails = ends.into_iter().filter_map(|(token, end)| {
            Some((vocabulary.token_bytes(token)?.get(usize::from(end)..)?, token))
        });
        let tails = Trie::from_unsorted(tails);
        Ok(Some(Self { inside, tails, words, id: new_trie() }))
    }

    fn bytes(&self) -> usize {
        size_of_val(self.inside.words())
            + size_of_val(self.tails.nodes())
            + size_of_val(self.tails.ids())
    }
}
