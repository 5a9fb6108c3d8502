//! Slices of the vocabulary by terminal state.
//!
//! In most states of most terminals nearly every token either stays inside the terminal from its
//! first byte to its last, or is rejected. Which ones do depends on the terminal's state and the
//! vocabulary alone, never on the grammar around it. So that part of a mask is computed once and
//! shared by all constraints of a compiler. What leaves the terminal on the way (a quote and what
//! follows it) is grouped by its *tail*, the bytes after the terminal's end: a few hundred tails
//! stand for thousands of tokens, and only they are walked with the grammar at hand.

mod clock_cache;
mod prebuilt;

use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::runs::{Runs, RunsKey, TrieId, new_trie};
use super::shapes;
use super::shapes::{Classes, Found, class_of};
use crate::error::Result;
use crate::limits::Limits;
use crate::mask::{Ends, Place, Reading, Strategies, Strategy, depends_on_capture};
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::{TokenMask, Trie, Vocabulary};
use clock_cache::Known;

/// The tokens that a terminal state allows by itself, and the ways out of it.
#[derive(Debug)]
pub(crate) struct Slice {
    /// Tokens that can be read within the terminal, whole.
    pub(crate) inside: TokenMask,
    /// For every other token and every place inside it where the terminal may end: what follows
    /// that place, with the token's id.
    pub(crate) tails: Arc<Trie>,
    /// The tokens of the tails, each with where in it these begin.
    ends: Arc<[(u32, u16)]>,
    /// It holds if what follows the terminal begins with none of these bytes.
    pub(crate) words: ByteSet,
    /// The node of the vocabulary's trie below which the tokens stand.
    pub(crate) node: u32,
    pub(crate) id: TrieId,
}

/// The fingerprint of a terminal's state, the node of the vocabulary's trie at which it stands, and:
/// with every end, or only with those behind which a word does not go on?
type SliceKey = (u128, u32, bool);

/// Of the bytes with which a terminal may go on where it may end, those of words, if it reads
/// words: what follows a name seldom begins with a letter, and most places where a name may end
/// stand before one.
pub(crate) fn word_bytes(bytes: ByteSet) -> ByteSet {
    /// Fewer are letters of a suffix or of a keyword.
    const FEW: usize = 10;
    let word = (0..=u8::MAX).filter(|&b| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80);
    let word: ByteSet = word.filter(|&byte| bytes.contains(byte)).collect();
    if word.len() < FEW { ByteSet::EMPTY } else { word }
}

/// The slices of one vocabulary, by fingerprint of the terminal state; bounded in bytes.
#[derive(Debug)]
pub(crate) struct Slices {
    /// Read far more often than written, by many threads at once.
    known: RwLock<Known>,
    classes: OnceLock<Arc<Classes>>,
    pairs: OnceLock<Pairs>,
    limit: usize,
    worthwhile: usize,
    strategies: Strategies,
}

/// Tokens in which a second text may depend on a captured one.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    pub(crate) pairs: TokenMask,
    /// All tokens with a comma.
    pub(crate) commas: TokenMask,
    /// All tokens with a comma or the end of an array or object.
    pub(crate) ends: TokenMask,
    /// By [`Ends`], those with a comma behind which something depends on a captured text.
    pub(crate) depending: [TokenMask; Ends::ALL.len()],
}

/// The fingerprint of a terminal's state, how it is read, and from where.
pub(crate) type ReadingKey = (u128, [bool; 3], Arc<[Place]>);

/// What patterns repeat most: digits, blanks, hexadecimal digits, letters, names.
const COMMON: [&[(u8, u8)]; 13] = [
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

/// Of each set, the most bytes that stand side by side in a token.
fn longest_runs<const N: usize>(trie: &Trie, sets: &[ByteSet; N]) -> [u32; N] {
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

impl Slices {
    pub(crate) fn new(limits: &Limits, strategies: Strategies) -> Self {
        let (limit, worthwhile) = (limits.slice_bytes, limits.slice_nodes);
        Self {
            known: RwLock::default(),
            classes: OnceLock::new(),
            pairs: OnceLock::new(),
            limit,
            worthwhile,
            strategies,
        }
    }

    /// The strategies by which masks are made.
    pub(crate) fn strategies(&self) -> Strategies {
        self.strategies
    }

    /// The slice of a terminal state; `None` if the state is not worth one.
    pub(crate) fn get(
        &self,
        key: SliceKey,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
    ) -> Result<Option<Arc<Slice>>> {
        if let Some(known) = self.read().slice(&key) {
            return Ok(known.clone());
        }
        // Of states without end so many are met that they are not kept; a slice knows none of them.
        let mark = languages.is_computed(state).then(|| languages.mark());
        let slice = self.make(key, vocabulary, languages, state);
        mark.into_iter().for_each(|mark| languages.release(mark));
        let slice = slice?.map(Arc::new);
        self.write().add_slice(key, slice.clone(), self.limit);
        Ok(slice)
    }

    /// Made without the lock: two threads may make the same slice, which is harmless.
    fn make(
        &self,
        key: SliceKey,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
    ) -> Result<Option<Slice>> {
        let from = (key.1, key.2);
        let known = match self.bounded(vocabulary, languages, state, from)? {
            Some(slice) => Some(slice),
            None => self.differing(vocabulary, languages, state, from)?,
        };
        Ok(match known {
            Some(slice) => Some(slice),
            None => {
                let text = match languages.ordinary(state)?.and_then(|ordinary| ordinary.text) {
                    Some(text) if self.strategies.has(Strategy::OrdinaryText) => {
                        let key = (languages.fingerprint(text), 0, false);
                        self.get(key, vocabulary, languages, text)?
                    }
                    _ => None,
                };
                let text = text.as_ref().map(|text| &text.inside);
                let (classes, from) = (self.classes(vocabulary), (state, key.1, key.2));
                Slice::new(vocabulary, classes, languages, from, text, self.worthwhile)?
            }
        })
    }

    /// The slice of a state by that of one without its bounds, from which few tokens tell it apart.
    fn bounded(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
        (node, every_end): (u32, bool),
    ) -> Result<Option<Slice>> {
        if node != 0 || !self.strategies.has(Strategy::FarBounds) {
            return Ok(None);
        }
        let Some((free, far)) = languages.nearly(state)? else { return Ok(None) };
        let Some(longer) = self.classes(vocabulary).longer(vocabulary, far) else {
            return Ok(None);
        };
        let fingerprint = languages.fingerprint(free);
        let known = self.get((fingerprint, node, every_end), vocabulary, languages, free)?;
        let Some(known) = known else { return Ok(None) };
        let (inside, ends) = (&known.inside, &known.ends);
        let other = shapes::Known { state: free, inside, ends, words: known.words };
        let from = (state, every_end);
        let found =
            self.classes(vocabulary).rereading(vocabulary, languages, from, &other, longer)?;
        Ok(Some(match found.ends[..] == known.ends[..] {
            // Mostly what differs comes to no end.
            true => {
                let (tails, ends) = (Arc::clone(&known.tails), Arc::clone(&known.ends));
                Slice { inside: found.inside, tails, ends, words: found.words, ..*known }
            }
            false => Slice::of(vocabulary, found, node),
        }))
    }

    /// The slice of a state by that of another to which most tokens lead, if there is one.
    fn differing(
        &self,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        state: Language,
        (node, every_end): (u32, bool),
    ) -> Result<Option<Slice>> {
        if node != 0 || !self.strategies.has(Strategy::CommonSuccessor) {
            return Ok(None);
        }
        let Some(usual) = Classes::usual(languages, state)? else { return Ok(None) };
        let fingerprint = languages.fingerprint(usual);
        let Some(known) = self.get((fingerprint, node, every_end), vocabulary, languages, usual)?
        else {
            return Ok(None);
        };
        // Laying out many tails takes as long as the walk.
        const MANY: usize = 4_096;
        if known.ends.len() > MANY {
            return Ok(None);
        }
        let (inside, ends) = (&known.inside, &known.ends);
        let known = shapes::Known { state: usual, inside, ends, words: known.words };
        // More would be walked sooner by shapes.
        let most = vocabulary.trie().nodes().len() / 8;
        let from = (state, every_end);
        let found = Classes::differing(vocabulary, languages, from, &known, most)?;
        Ok(found.map(|found| Slice::of(vocabulary, found, node)))
    }

    /// No more bytes of a set than this stand side by side in a token: as many as do, or as do of a
    /// set known already that holds it and is not much in tokens either, or of all bytes of the same
    /// classes.
    pub(crate) fn longest_run(&self, vocabulary: &Vocabulary, set: ByteSet) -> u32 {
        const LITTLE: u32 = 16;
        if !self.strategies.has(Strategy::MaxRepeats) {
            return u32::from(self.classes(vocabulary).deepest());
        }
        {
            let known = self.read();
            if let Some(longest) = known.longest(&set) {
                return longest;
            }
            let wider = known.all_longest().filter(|(wide, _)| set.intersection(wide) == set);
            if let Some(longest) = wider.map(|(_, longest)| longest).min()
                && longest <= LITTLE
            {
                return longest;
            }
        }
        let classes: ByteSet = set.iter().map(class_of).collect();
        let [longest] = longest_runs(self.classes(vocabulary).trie(), &[classes]);
        self.write().add_longest(set, longest, self.limit);
        longest
    }

    /// How many of a unit begin in a token at most.
    pub(crate) fn most_units(
        &self,
        fingerprint: u128,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        unit: Language,
    ) -> Result<u32> {
        if let Some(known) = self.read().units(fingerprint) {
            return Ok(known);
        }
        let most = self.classes(vocabulary).most_units(vocabulary, languages, unit)?;
        self.write().add_units(fingerprint, most, self.limit);
        Ok(most)
    }

    /// The vocabulary by the shapes of its tokens.
    pub(crate) fn classes(&self, vocabulary: &Vocabulary) -> &Classes {
        self.classes
            .get_or_init(|| Arc::new(Classes::new(vocabulary).with_strategies(self.strategies)))
    }

    /// The tokens in which one captured text may end and another one, too: keys of an object or
    /// items of an array, with a comma between them.
    pub(crate) fn pairs(&self, vocabulary: &Vocabulary) -> &Pairs {
        self.pairs.get_or_init(|| {
            let mut pairs = TokenMask::new(vocabulary.len());
            let mut commas = TokenMask::new(vocabulary.len());
            let mut ends = TokenMask::new(vocabulary.len());
            let mut depending = Ends::ALL.map(|_| TokenMask::new(vocabulary.len()));
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
                    for (depending, ends) in depending.iter_mut().zip(Ends::ALL) {
                        if depends_on_capture(bytes, ends) {
                            depending.allow(id);
                        }
                    }
                }
                if bytes.iter().any(|byte| matches!(byte, b',' | b']' | b'}')) {
                    ends.allow(id);
                }
                if (0..bytes.len()).any(|i| bytes[i] == b',' && (around(i) || inside(i))) {
                    pairs.allow(id);
                }
            }
            Pairs { pairs, commas, ends, depending }
        })
    }

    /// What a terminal allows from some places, if any constraint has asked for it.
    pub(crate) fn reading(&self, key: &ReadingKey) -> Option<Arc<Reading>> {
        self.read().reading(key).map(Arc::clone)
    }

    /// Shares a reading with all constraints.
    pub(crate) fn share(&self, key: ReadingKey, reading: &Arc<Reading>) {
        self.write().add_reading(key, Arc::clone(reading), self.limit);
    }

    /// The runs of a unit below a node of the trie.
    pub(crate) fn runs(
        &self,
        key: RunsKey,
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        unit: Language,
    ) -> Result<Arc<Runs>> {
        if let Some(known) = self.read().runs(&key) {
            return Ok(Arc::clone(known));
        }
        let classes = self.classes(vocabulary);
        let runs = Arc::new(Runs::new(vocabulary, classes, languages, unit, key.1 as usize)?);
        self.write().add_runs(key, Arc::clone(&runs), self.limit);
        Ok(runs)
    }

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        // Consistent between any two operations.
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slice {
    /// One pass over the shapes of the vocabulary's tokens, without a grammar.
    fn new(
        vocabulary: &Vocabulary,
        classes: &Classes,
        languages: &mut Languages,
        (state, node, every_end): (Language, u32, bool),
        text: Option<&TokenMask>,
        worthwhile: usize,
    ) -> Result<Option<Self>> {
        // More is walked sooner by shapes.
        let most = vocabulary.trie().nodes().len() / 3;
        let home = match node {
            0 => classes.home(vocabulary, languages, (state, every_end), text, most)?,
            _ => None,
        };
        let found = match home {
            Some(found) => found,
            None => classes.walk(vocabulary, languages, (state, node), every_end)?,
        };
        Ok((found.work > worthwhile).then(|| Self::of(vocabulary, found, node)))
    }

    fn of(vocabulary: &Vocabulary, found: Found, node: u32) -> Self {
        let Found { inside, ends, words, .. } = found;
        let tails = ends.iter().filter_map(|&(token, end)| {
            Some((vocabulary.token_bytes(token)?.get(usize::from(end)..)?, token))
        });
        let tails = Trie::from_unsorted(tails);
        Self { inside, tails: tails.into(), ends: ends.into(), words, node, id: new_trie() }
    }

    fn bytes(&self) -> usize {
        size_of_val(self.inside.words()) + self.tails.bytes() + size_of_val(&*self.ends)
    }
}
