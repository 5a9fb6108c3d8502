//! Lists of texts of any size, as minimal acyclic automata.
//!
//! As a trie of expressions, a million strings of 20 bytes take seconds and hundreds of megabytes.
//! Here they are an `fst` set (Daciuk, Mihov, Watson, Watson, "Incremental Construction of Minimal
//! Acyclic Finite-State Automata", Computational Linguistics 2000): beginnings and endings that
//! strings have in common are stored once, in fewer bytes than the text mostly. It is built in one
//! pass over the sorted strings, or mapped from a file as it is. A state of the language is the
//! address of a node, and only visited nodes become languages.
//!
//! ```text
//! ["car", "cart", "dart"]     ─ c ─► ─ a ─► ─ r ─► (ends) ─ t ─► (ends)
//!                             └ d ─► ─ a ─► ─ r ─► ─ t ─► (ends)
//! ```
//!
//! *Invariants.* A list has a string; every node leads to the end of one. The bytes of a mapped file
//! had the checksum that its builder wrote, and stay as they are.

mod lines;
mod set_file;

use std::collections::VecDeque;
use std::fmt;
use std::hash::Hash as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use fst::raw::{Builder, CompiledAddr, Fst, Node, Transition};
use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::languages::keyed_hash;
use crate::regular::{ByteSet, Language, Languages};
use set_file::SetBytes;

/// The type, in the header of a set, of those that are made here: the strings are UTF-8, and the value
/// of each is its length, so that the shortest of those that begin alike is found by the values of
/// least sum. "choices1" in ASCII.
const TEXTS_WITH_LENGTHS: u64 = u64::from_le_bytes(*b"choices1");

/// Strings up to which a trie of expressions is made sooner than a set: the table with which a set is
/// made takes as long as 300 strings, and its rows are made anew in each constraint.
const MAX_TRIE_STRINGS: usize = 1_000;

/// Nodes that are visited for a shortest string in a set without lengths. Where it is further, any
/// string serves.
const MAX_SEARCHED_NODES: usize = 10_000;

/// A list of texts of which one is to be written: hundreds to tens of millions of names, places or
/// identifiers, as a minimal automaton. Clones share it.
///
/// ```
/// use maskwright::regular::ChoiceList;
/// # use maskwright::{Compiler, Vocabulary};
/// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
/// let places = ChoiceList::from_lines("Rome\nParis\nOslo\n".as_bytes())?;
/// assert_eq!(places.len(), 3);
/// let mut matcher = compiler.choices(&places)?.matcher();
/// assert!(matcher.accept_bytes(b"Paris").is_ok() && matcher.is_accepting());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChoiceList(Arc<StringAutomaton>);

impl ChoiceList {
    /// These texts, in any order; a text that comes twice counts once. Building the
    /// automaton takes most of the time, sorting less than a tenth.
    ///
    /// Errors if there is none.
    pub fn from_texts<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Result<Self> {
        let texts: Vec<S> = texts.into_iter().collect();
        Self::from_sorted(sorted(texts.iter().map(|text| text.as_ref().as_bytes())))
    }

    /// The lines of a UTF-8 text, in any order; a line that comes twice counts once. Lines end in
    /// `\n` or `\r\n`, the last one also without; blanks are part of a text, and a byte order mark
    /// before the first line is not.
    ///
    /// Errors, naming the line, if one is empty or not UTF-8; and if there is none, or if lines that
    /// are not sorted have more than 4 GiB.
    pub fn from_lines(text: &[u8]) -> Result<Self> {
        lines::build(text)
    }

    /// The list in a file. One whose name ends in `.fst` is a set as the `fst` crate (0.4) writes it,
    /// which is mapped into memory: opening it takes as long as its checksum. Its strings are bytes
    /// of any kind, the empty string among them if it was added. Any other file has one text a line,
    /// as for [`from_lines`](Self::from_lines).
    ///
    /// A mapped file must be replaced by another file, not rewritten in place, while it is used.
    ///
    /// Errors if the file cannot be read, if a set is damaged, has no checksum (of `fst` before 0.4)
    /// or no strings, and as `from_lines` does.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        set_file::open(path.as_ref()).map_err(|error| error.in_file(path.as_ref()))
    }

    /// The set in these bytes, as the `fst` crate (0.4) writes it.
    ///
    /// Errors if it is damaged, has no checksum or no strings.
    pub fn from_fst(bytes: Vec<u8>) -> Result<Self> {
        Self::from_set(SetBytes::Owned(bytes))
    }

    /// The list as a set of the `fst` crate, to be written to a file that [`open`](Self::open) maps.
    pub fn as_fst(&self) -> &[u8] {
        self.0.set.as_bytes()
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.0.set.len()
    }

    /// Always false: a list has a text at least.
    pub fn is_empty(&self) -> bool {
        self.0.set.is_empty()
    }

    /// Whether a text is in the list.
    pub fn contains(&self, text: &[u8]) -> bool {
        self.0.set.contains_key(text)
    }

    /// UTF-8 strings in ascending order; repeated ones count once.
    pub(super) fn from_sorted<'s>(strings: impl IntoIterator<Item = &'s [u8]>) -> Result<Self> {
        let mut builder =
            Builder::new_type(Vec::new(), TEXTS_WITH_LENGTHS).map_err(|error| unusable(&error))?;
        let mut before = None;
        for string in strings {
            if before.replace(string) != Some(string) {
                builder.insert(string, string.len() as u64).map_err(|error| unusable(&error))?;
            }
        }
        let mut bytes = builder.into_inner().map_err(|error| unusable(&error))?;
        bytes.shrink_to_fit();
        let name = format!("strings {:032x}", keyed_hash(|hasher| bytes.hash(hasher)));
        Self::new(SetBytes::Owned(bytes), name)
    }

    /// A set that was made elsewhere.
    fn from_set(bytes: SetBytes) -> Result<Self> {
        /// Number of sets of the process so far.
        static SETS: AtomicU64 = AtomicU64::new(0);
        let list = Self::new(bytes, format!("set {}", SETS.fetch_add(1, Ordering::Relaxed)))?;
        set_file::check(&list.0.set)?;
        Ok(list)
    }

    fn new(bytes: SetBytes, name: String) -> Result<Self> {
        let set = Fst::new(bytes).map_err(|error| unusable(&error))?;
        if set.is_empty() {
            return Err(Error::new(ErrorKind::Request, "the list of choices has no text")
                .with_help("give one text a line"));
        }
        let is_text = OnceLock::new();
        if set.fst_type() == TEXTS_WITH_LENGTHS {
            is_text.get_or_init(|| true);
        }
        Ok(Self(Arc::new(StringAutomaton { name, set, is_text })))
    }

    /// Errors if a string is not UTF-8. Looked up once in a list that was not made of texts.
    pub(crate) fn check_utf8(&self) -> Result<()> {
        if *self.0.is_text.get_or_init(|| is_utf8(&self.0.set)) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Request, "the list of choices has strings that are not UTF-8")
            .with_help("build the set from UTF-8 text"))
    }

    /// The automaton, and the state in which it starts.
    pub(crate) fn automaton(&self) -> (Arc<dyn Automaton>, AutomatonState) {
        let start = [self.0.set.root().addr() as i64].into();
        (Arc::clone(&self.0) as Arc<dyn Automaton>, start)
    }

    /// The language of the list.
    pub(crate) fn language(&self, languages: &mut Languages) -> Language {
        let (automaton, start) = self.automaton();
        languages.automaton(automaton, start)
    }
}

/// Exactly one of these UTF-8 strings, as a trie where they are few.
pub(crate) fn any_of(languages: &mut Languages, strings: Vec<&[u8]>) -> Language {
    if strings.len() <= MAX_TRIE_STRINGS {
        return languages.literals(strings);
    }
    match ChoiceList::from_sorted(sorted(strings.iter().copied())) {
        Ok(list) => list.language(languages),
        // In memory it does not fail.
        Err(_) => languages.literals(strings),
    }
}

/// The list of these texts, unless they are few.
pub(crate) fn list_of_many(texts: &[&str]) -> Option<ChoiceList> {
    if texts.len() <= MAX_TRIE_STRINGS {
        return None;
    }
    ChoiceList::from_texts(texts).ok()
}

/// Strings in ascending order. Their first 16 bytes are compared beside the index of the others, so
/// that few comparisons visit the strings: a million names take 0.2 s instead of 0.7.
fn sorted<'s>(strings: impl Iterator<Item = &'s [u8]>) -> impl Iterator<Item = &'s [u8]> {
    let beginning = |string: &[u8]| {
        let mut bytes = [0; size_of::<u128>()];
        let len = string.len().min(bytes.len());
        bytes[..len].copy_from_slice(&string[..len]);
        u128::from_be_bytes(bytes)
    };
    let mut sorted: Vec<(u128, &[u8])> =
        strings.map(|string| (beginning(string), string)).collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, string)| string)
}

fn unusable(error: &fst::Error) -> Error {
    Error::new(ErrorKind::Io, format!("it is no set of strings: {error}"))
        .with_help("write it with `maskwright choices`, or with the `fst` crate, version 0.4")
}

/// Whether all strings of a set are UTF-8: each node is visited once for each position within a
/// character that leads to it.
fn is_utf8(set: &Fst<SetBytes>) -> bool {
    let root = set.root().addr();
    let mut seen: FxHashMap<CompiledAddr, u8> = FxHashMap::default();
    let mut open = vec![(root, Utf8Position::BETWEEN)];
    while let Some((address, position)) = open.pop() {
        let positions = seen.entry(address).or_default();
        if *positions & 1 << position.0 != 0 {
            continue;
        }
        *positions |= 1 << position.0;
        let node = set.node(address);
        if node.is_final() && position != Utf8Position::BETWEEN {
            return false;
        }
        for transition in node.transitions() {
            match position.after(transition.inp) {
                Some(next) => open.push((transition.addr, next)),
                None => return false,
            }
        }
    }
    true
}

/// A position within the UTF-8 of a character (RFC 3629, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Utf8Position(u8);

impl Utf8Position {
    const BETWEEN: Self = Self(0);

    /// Before one, two or three bytes more, the next of them in a range: the whole one, or what the
    /// first bytes E0, ED, F0 and F4 leave of it.
    const AHEAD: [(u8, std::ops::RangeInclusive<u8>); 8] = [
        (0, 0..=0),
        (1, 0x80..=0xBF),
        (2, 0x80..=0xBF),
        (3, 0x80..=0xBF),
        (2, 0xA0..=0xBF),
        (2, 0x80..=0x9F),
        (3, 0x90..=0xBF),
        (3, 0x80..=0x8F),
    ];

    fn after(self, byte: u8) -> Option<Self> {
        if self == Self::BETWEEN {
            return Some(Self(match byte {
                ..0x80 => 0,
                0xC2..=0xDF => 1,
                0xE0 => 4,
                0xED => 5,
                0xE1..=0xEF => 2,
                0xF0 => 6,
                0xF1..=0xF3 => 3,
                0xF4 => 7,
                _ => return None,
            }));
        }
        let (missing, range) = &Self::AHEAD[usize::from(self.0)];
        range.contains(&byte).then_some(Self(missing - 1))
    }
}

/// A set of strings; a state is the address of a node.
struct StringAutomaton {
    name: String,
    set: Fst<SetBytes>,
    /// Whether all strings are UTF-8. Once asked.
    is_text: OnceLock<bool>,
}

impl fmt::Debug for StringAutomaton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, set, .. } = self;
        f.debug_struct("StringAutomaton").field("name", name).field("len", &set.len()).finish()
    }
}

/// The address of a state.
fn address(state: &[i64]) -> CompiledAddr {
    // Only this file encodes states of this automaton, so no other length occurs.
    state.first().map_or(0, |&address| address as CompiledAddr)
}

impl StringAutomaton {
    /// The shortest string from a node, by the lengths.
    fn least_rest(&self, start: CompiledAddr) -> Vec<u8> {
        self.rest_by(start, |node| {
            let least = node.transitions().min_by_key(|transition| transition.out.value());
            let ends = |least: &Transition| !node.is_final() || least.out < node.final_output();
            least.filter(ends)
        })
    }

    /// The string from a node that is the first in order, of those that end no sooner than they must.
    fn first_rest(&self, start: CompiledAddr) -> Vec<u8> {
        self.rest_by(start, |node| node.transitions().next().filter(|_| !node.is_final()))
    }

    /// The string along some transitions. Each leads to a node that was written before.
    fn rest_by(
        &self,
        start: CompiledAddr,
        choose: impl Fn(Node<'_>) -> Option<Transition>,
    ) -> Vec<u8> {
        let (mut at, mut rest) = (start, Vec::new());
        while let Some(transition) = choose(self.set.node(at)) {
            rest.push(transition.inp);
            at = transition.addr;
        }
        rest
    }
}

impl Automaton for StringAutomaton {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        self.set.node(address(state)).is_final()
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let node = self.set.node(address(state));
        let next = node.transition_addr(node.find_input(byte)?);
        Some([next as i64].into())
    }

    fn first_bytes(&self, state: &[i64]) -> Option<ByteSet> {
        let node = self.set.node(address(state));
        Some(node.transitions().map(|transition| transition.inp).collect())
    }

    fn is_live(&self, _: &[i64]) -> Option<bool> {
        // A builder writes no other nodes.
        Some(true)
    }

    fn is_finite(&self) -> bool {
        true
    }

    fn is_stepwise(&self) -> bool {
        true
    }

    fn completion(&self, state: &[i64]) -> Option<Vec<u8>> {
        let start = address(state);
        if self.set.fst_type() == TEXTS_WITH_LENGTHS {
            return Some(self.least_rest(start));
        }
        // Breadth first, each node with the one before it and the byte from there.
        let mut from: FxHashMap<CompiledAddr, (CompiledAddr, u8)> = FxHashMap::default();
        let mut open = VecDeque::from([start]);
        let mut last = None;
        while let Some(at) = open.pop_front() {
            let node = self.set.node(at);
            if node.is_final() {
                last = Some(at);
                break;
            }
            if from.len() > MAX_SEARCHED_NODES {
                return Some(self.first_rest(start));
            }
            for transition in node.transitions() {
                from.entry(transition.addr).or_insert_with(|| {
                    open.push_back(transition.addr);
                    (at, transition.inp)
                });
            }
        }
        let (mut at, mut rest) = (last?, Vec::new());
        while at != start {
            let &(before, byte) = from.get(&at)?;
            rest.push(byte);
            at = before;
        }
        rest.reverse();
        Some(rest)
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        u32::from(!self.accepts(state))
    }
}
