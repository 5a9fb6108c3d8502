//! From configurations to masks, without walking the vocabulary where that can be helped.
//!
//! A token may hold several terminals of the grammar, and each of them is read by itself: from
//! *places* inside tokens a terminal's state allows some tokens, and may end at other places. That
//! is a matter of the terminal, the places and the vocabulary alone, so such a [`Reading`] is
//! remembered, and a mask is put together from readings, terminal after terminal: what the grammar
//! says is only which terminals may follow, and from where.
//!
//! Within a repeat of units ([`RepeatSplit`]) nothing is walked at all: what is left of the tokens that
//! leave it is one place, the *tails* of the runs.

pub(crate) mod capture_tokens;
pub(crate) mod classify;
pub(crate) mod gather;
pub(crate) mod hot_masks;
pub(crate) mod key_choice;
pub(crate) mod looked_up;
pub(crate) mod packed_mask;
pub(crate) mod split;
pub(crate) mod strategies;
pub(crate) mod terminal_tokens;
pub(crate) mod uncertain;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use packed_mask::List;
pub(crate) use packed_mask::{Base, Form};
pub use strategies::{Strategies, Strategy};
use uncertain::Suspects;
pub(crate) use uncertain::{Ends, depends_on_capture};

use crate::error::Result;
use crate::mask::split::{
    LeavingTokens, RepeatSplit, SplitEnds, SplitStart, TokenSplit, TrieId, new_trie_id, word_bytes,
};
use crate::recognizer::gss::StackId;
use crate::recognizer::program::{ACCEPT, Point, PointId, Program};
use crate::recognizer::stepping::{ConfigId, Item, Machine, too_many};
use crate::regular::{ByteSet, Language, Spans};
use crate::vocabulary::{TokenMask, Trie, Vocabulary};

/// A trie whose tokens are read.
#[derive(Clone, Debug)]
pub(crate) enum Tokens {
    /// The vocabulary's.
    All,
    /// The tails of the tokens that leave a unit's runs, by the byte where they do.
    Left(Arc<RepeatSplit>),
    /// Those that leave at one byte.
    Leaving(Arc<LeavingTokens>),
    Slice(Arc<TokenSplit>),
    /// What is left of tokens behind many places.
    Tails(Arc<Trie>),
}

impl Tokens {
    fn trie<'a>(&'a self, vocabulary: &'a Vocabulary) -> &'a Trie {
        match self {
            Self::Leaving(leaving) => &leaving.tails,
            Self::Slice(slice) => &slice.tails,
            Self::Tails(tails) => tails,
            Self::All | Self::Left(..) => vocabulary.trie(),
        }
    }

    /// Does a token, by its index in the trie, satisfy a condition that is not of a text?
    fn has(&self, condition: Condition, index: usize) -> bool {
        match (self, condition) {
            (Self::Leaving(leaving), Condition::Units(min, max)) => {
                (min..=max).contains(&leaving.runs[index].units.into())
            }
            _ => true,
        }
    }
}

/// The vocabulary's trie.
const VOCABULARY: TrieId = 0;

/// What a token's run before its tail must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Condition {
    Any,
    /// So many units.
    Units(u32, u32),
    /// A text of this language, which begins after so many bytes of the token.
    Text(Language, u32),
}

/// A place inside tokens: what is left of them lies below this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    trie: TrieId,
    node: u32,
    /// On the runs of a trie of tails.
    condition: Condition,
}

impl Place {
    const START: Self = Self { trie: VOCABULARY, node: 0, condition: Condition::Any };

    /// Does it mean the same to all constraints?
    fn is_shared(&self) -> bool {
        !matches!(self.condition, Condition::Text(..))
    }
}

/// A set of places, by identity.
type PlacesId = u32;

/// No place.
const NOWHERE: PlacesId = 0;

/// The starts of all tokens.
const START: PlacesId = 1;

/// What a terminal is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Terminal {
    state: Language,
    /// Is it a JSON string?
    text: bool,
    /// May what follows it begin as a unit of its last repeat does? Then nothing is left out.
    plain: bool,
    /// Is it asked for the ends within words, too?
    every_end: bool,
    /// May other constraints have the same? Not where it depends on what was written before.
    shared: bool,
}

/// What is found when a terminal is read from some places; the same for all constraints.
#[derive(Debug)]
pub(crate) struct Reading {
    tokens: List,
    /// Those of them with a comma.
    commas: Box<[u32]>,
    bases: SmallVec<[Base; 1]>,
    /// Where it may end, with something left of a token.
    exits: Box<[Place]>,
    /// The tries in which these are.
    tries: Box<[(TrieId, Tokens)]>,
    /// It holds if what follows the terminal begins with none of these bytes.
    unlike: ByteSet,
    /// Before these bytes it may end elsewhere, too, within words.
    words: ByteSet,
    /// Tokens that it may seem to allow and does not.
    doubtful: Box<[u32]>,
}

impl Reading {
    pub(crate) fn bytes(&self) -> usize {
        let gathered = self.tries.iter().map(|(_, tokens)| match tokens {
            Tokens::Tails(trie) => trie.bytes(),
            // Of the vocabulary, or shared by readings.
            _ => size_of::<(TrieId, Tokens)>(),
        });
        let places = self.exits.len() * size_of::<Place>() + gathered.sum::<usize>();
        let lists = self.tokens.bytes() + size_of_val(&*self.commas);
        size_of::<Self>() + lists + size_of_val(&*self.doubtful) + places
    }
}

/// The same while it is being found.
#[derive(Debug)]
pub(crate) struct Findings {
    tokens: Vec<u32>,
    bases: SmallVec<[Base; 1]>,
    exits: Vec<Place>,
    unlike: ByteSet,
    words: ByteSet,
    doubtful: Vec<u32>,
    /// How many nodes may still be looked at.
    nodes: usize,
}

impl Default for Findings {
    fn default() -> Self {
        let (tokens, bases, exits, doubtful) = Default::default();
        let (unlike, words) = (ByteSet::EMPTY, ByteSet::EMPTY);
        Self { tokens, bases, exits, unlike, words, doubtful, nodes: usize::MAX }
    }
}

/// Where a terminal that was read may end.
#[derive(Clone, Copy, Debug)]
struct Exits {
    /// For what begins with none of `words`.
    places: PlacesId,
    words: ByteSet,
    /// For what begins with one of them.
    within_words: PlacesId,
}

/// How a terminal's state begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// A repeat of a unit, `min` to `max` times, then `rest`, which begins unlike it.
    Repeat {
        unit: Language,
        min: u32,
        max: u32,
        rest: Language,
    },
    /// A text of JSON characters, every beginning of which can be completed to one of `text`,
    /// then a quote.
    Text {
        text: Language,
    },
    /// Bytes of a literal, or few enough others.
    Narrow,
    Other,
}

/// Tokens, where these are few.
type Few = Option<Arc<[u32]>>;

/// A terminal that reads a JSON string of which it lacks some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lacking {
    /// The same that lacks none.
    whole: Language,
    /// What is between the quotes.
    text: Language,
    /// Does the first quote still come?
    quoted: bool,
}

/// What a machine remembers of masks.
#[derive(Clone, Debug)]
pub(crate) struct Masks {
    tries: FxHashMap<TrieId, Tokens>,
    places: Vec<Arc<[Place]>>,
    place_ids: FxHashMap<Arc<[Place]>, PlacesId>,
    unions: FxHashMap<(PlacesId, PlacesId), PlacesId>,
    /// With the exits.
    readings: FxHashMap<(Terminal, PlacesId), (Arc<Reading>, PlacesId)>,
    forms: FxHashMap<ConfigId, Arc<Form>>,
    heads: FxHashMap<(Language, bool), Head>,
    total: FxHashMap<Language, bool>,
    units: FxHashMap<Language, bool>,
    runs: FxHashMap<(Language, u32), Arc<RepeatSplit>>,
    leaving: FxHashMap<(TrieId, u8), TrieId>,
    /// With the node below which their tokens stand, and: with every end?
    slices: FxHashMap<(Language, u32, bool), Option<Arc<TokenSplit>>>,
    goings_on: FxHashMap<Language, ByteSet>,
    /// What points lead to, with their stacks.
    after: FxHashMap<(PointId, StackId), Arc<[Item]>>,
    /// By text and place, the tokens that end in what the text lacks, where these are few.
    lacking: FxHashMap<(Language, TrieId, u32), Few>,
    /// Of texts that lack some, between quotes or before the last: the same that lack none, and what
    /// is lacking.
    whole: FxHashMap<(Language, bool), Option<Lacking>>,
    spans: Spans,
    nears: FxHashMap<Language, Language>,
    most_units: FxHashMap<Language, u32>,
    /// Buffers of walks: what is left to be walked.
    stacks: Vec<Vec<(u32, Language, ByteSet)>>,
    bytes: usize,
}

impl Default for Masks {
    fn default() -> Self {
        let (nowhere, start): (Arc<[Place]>, Arc<[Place]>) = ([].into(), [Place::START].into());
        let places = vec![Arc::clone(&nowhere), Arc::clone(&start)];
        Self {
            tries: FxHashMap::from_iter([(VOCABULARY, Tokens::All)]),
            place_ids: FxHashMap::from_iter([(nowhere, NOWHERE), (start, START)]),
            places,
            unions: FxHashMap::default(),
            readings: FxHashMap::default(),
            forms: FxHashMap::default(),
            heads: FxHashMap::default(),
            total: FxHashMap::default(),
            units: FxHashMap::default(),
            runs: FxHashMap::default(),
            leaving: FxHashMap::default(),
            after: FxHashMap::default(),
            lacking: FxHashMap::default(),
            whole: FxHashMap::default(),
            slices: FxHashMap::default(),
            goings_on: FxHashMap::default(),
            spans: Spans::default(),
            nears: FxHashMap::default(),
            most_units: FxHashMap::default(),
            stacks: Vec::new(),
            bytes: 0,
        }
    }
}

impl Masks {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
            + (self.readings.len() + self.forms.len()) * 128
            + (self.heads.len() + self.unions.len()) * 48
            + (self.goings_on.len() + self.slices.len() + self.runs.len() + self.nears.len()) * 48
            + (self.total.len() + self.units.len() + self.spans.len() + self.tries.len()) * 32
    }

    /// The mask of a configuration, if it was asked for before.
    pub(crate) fn known(&self, id: ConfigId) -> Option<Arc<Form>> {
        self.forms.get(&id).map(Arc::clone)
    }

    /// Starts again with nothing remembered.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    fn trie(&mut self, id: TrieId, tokens: impl FnOnce() -> Tokens) -> TrieId {
        self.tries.entry(id).or_insert_with(tokens);
        id
    }

    /// The tokens that a place is about.
    fn tokens(&self, place: Place) -> Tokens {
        // Known before any place of them is.
        self.tries.get(&place.trie).cloned().unwrap_or(Tokens::All)
    }

    fn places_id(&mut self, places: &mut [Place]) -> PlacesId {
        places.sort_unstable();
        if let Some(&id) = self.place_ids.get(&*places) {
            return id;
        }
        let places: Arc<[Place]> = (&*places).into();
        self.bytes += size_of_val(&*places) + 96;
        self.places.push(Arc::clone(&places));
        let id = self.places.len() as PlacesId - 1;
        self.place_ids.insert(places, id);
        id
    }

    /// The places of both.
    fn union(&mut self, a: PlacesId, b: PlacesId) -> PlacesId {
        if a == b {
            return a;
        }
        if let Some(&known) = self.unions.get(&(a, b)) {
            return known;
        }
        let mut places = self.places[a as usize].to_vec();
        places.extend_from_slice(&self.places[b as usize]);
        // Of two that are sorted: stable sorting merges them.
        places.sort();
        places.dedup();
        let both = self.places_id(&mut places);
        self.unions.insert((a, b), both);
        both
    }
}

/// A terminal to be read, and from where.
type Way = (Item, PlacesId);

impl Machine {
    /// The tokens allowed in a configuration, in few words. O(1) if it was asked for before.
    pub(crate) fn form(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<Arc<Form>> {
        if let Some(form) = self.masks.forms.get(&id) {
            return Ok(Arc::clone(form));
        }
        self.walking = true;
        let form = match self.liveness.is_some() {
            true => self.plain_form(program, vocabulary, id),
            false => self.compose(program, vocabulary, id),
        };
        self.walking = false;
        let (form, suspects) = form?;
        let form = Arc::new(self.checked(program, vocabulary, id, form, suspects)?);
        self.masks.bytes += form.bytes();
        self.masks.forms.insert(id, Arc::clone(&form));
        Ok(form)
    }

    /// By one walk over the whole trie, asking at each token whether it leads to a dead end.
    fn plain_form(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<(Form, Suspects)> {
        let mut tokens = self.special_tokens(program, vocabulary, id)?;
        let trie = vocabulary.trie();
        let items = self.items(id).to_vec();
        self.walk(program, trie, &items, &mut |machine, node, items| {
            if !trie.tokens(node).is_empty() && machine.is_live(program, vocabulary, items)? {
                tokens.extend_from_slice(trie.tokens(node));
            }
            Ok(())
        })?;
        let known = &self.shared_slices.capture_tokens(vocabulary).commas;
        let commas = tokens.iter().copied().filter(|&token| known.contains(token)).collect();
        let suspects = Suspects { commas, doubtful: Vec::new() };
        Ok((Form { tokens: tokens.into(), ..Form::default() }, suspects))
    }

    /// Special tokens that the grammar names here, and end tokens where the text is complete.
    fn special_tokens(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<Vec<u32>> {
        let mut allowed = Vec::new();
        for i in 0..self.items(id).len() {
            match program.point(self.items(id)[i].point) {
                Point::Special { tokens, .. } => {
                    for token in program.tokens(tokens) {
                        let items = self.read_special(program, id, token)?;
                        if self.is_live(program, vocabulary, &items)? {
                            allowed.push(token);
                        }
                    }
                }
                _ if self.items(id)[i].point == ACCEPT => {
                    allowed.extend_from_slice(vocabulary.end_tokens());
                }
                _ => {}
            }
        }
        Ok(allowed)
    }

    /// By rounds: each reads one terminal more of the tokens than the one before.
    fn compose(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<(Form, Suspects)> {
        let mut form = Form::default();
        let mut tokens = self.special_tokens(program, vocabulary, id)?;
        let Suspects { mut commas, mut doubtful } = Suspects::default();
        let mut ways: Vec<Way> = self.items(id).iter().map(|&item| (item, START)).collect();
        let mut next = Vec::new();
        while !ways.is_empty() {
            for &(item, places) in &ways {
                match program.point(item.point) {
                    Point::Names(names) => {
                        let name = (names, item.state.number());
                        let ends =
                            self.read_names(program, vocabulary, name, places, &mut tokens)?;
                        for (rank, places) in ends {
                            let exits =
                                Exits { places, words: ByteSet::EMPTY, within_words: NOWHERE };
                            let after = program.after_name(names, rank, &mut self.languages)?;
                            self.follow(program, after, item.stack, exits, &mut next)?;
                        }
                    }
                    Point::Regular { .. } | Point::Capture { .. } => {
                        let (reading, exits) =
                            self.read_item(program, vocabulary, item, places, &mut doubtful)?;
                        form.bases.extend(reading.bases.iter().cloned());
                        if !reading.tokens.tokens.is_empty() {
                            form.lists.push(reading.tokens.clone());
                        }
                        commas.extend_from_slice(&reading.commas);
                        doubtful.extend_from_slice(&reading.doubtful);
                        if (exits.places, exits.within_words) != (NOWHERE, NOWHERE) {
                            let after = self.next_of(program, item.point)?;
                            self.follow(program, after, item.stack, exits, &mut next)?;
                        }
                    }
                    _ => {}
                }
            }
            ways.clear();
            std::mem::swap(&mut ways, &mut next);
            self.merge_ways(&mut ways)?;
        }
        if program.has_captures() {
            let known = &self.shared_slices.capture_tokens(vocabulary).commas;
            commas.extend(tokens.iter().filter(|&&token| known.contains(token)));
        }
        form.tokens = tokens.into();
        Ok((form, Suspects { commas, doubtful }))
    }

    /// What may be read after a point was reached, from where it was.
    fn follow(
        &mut self,
        program: &Program,
        point: PointId,
        stack: StackId,
        exits: Exits,
        ways: &mut Vec<Way>,
    ) -> Result<()> {
        let items = self.items_after(program, point, stack)?;
        if exits.words.is_empty() {
            ways.extend(items.iter().map(|&item| (item, exits.places)));
            return Ok(());
        }
        for &item in &*items {
            let first = self.first_bytes(program, &[item])?;
            let places = match first.intersection(&exits.words).is_empty() {
                true => exits.places,
                false => exits.within_words,
            };
            if places != NOWHERE {
                ways.push((item, places));
            }
        }
        Ok(())
    }

    /// The items that a point leads to.
    fn items_after(
        &mut self,
        program: &Program,
        point: PointId,
        stack: StackId,
    ) -> Result<Arc<[Item]>> {
        if let Some(items) = self.masks.after.get(&(point, stack)) {
            return Ok(Arc::clone(items));
        }
        let mut items = Vec::new();
        self.closure.starts.push(((point, 0), stack));
        self.close(program, &mut items)?;
        let items: Arc<[Item]> = items.into();
        self.masks.bytes += 64 + size_of_val(&*items);
        self.masks.after.insert((point, stack), Arc::clone(&items));
        Ok(items)
    }

    /// Merges ways that differ in their places only, then those that differ in their stacks only.
    fn merge_ways(&mut self, ways: &mut Vec<Way>) -> Result<()> {
        if ways.len() > 1 {
            ways.sort_unstable();
            let mut kept = 0;
            for i in 1..ways.len() {
                let (item, places) = ways[i];
                if ways[kept].0 == item {
                    ways[kept].1 = self.masks.union(ways[kept].1, places);
                } else {
                    kept += 1;
                    ways[kept] = ways[i];
                }
            }
            ways.truncate(kept + 1);
            let key = |way: &Way| (way.0.point, way.0.state, way.0.text, way.1);
            ways.sort_unstable_by_key(key);
            let mut kept = 0;
            for i in 1..ways.len() {
                let way = ways[i];
                if key(&ways[kept]) == key(&way) {
                    ways[kept].0.stack = self.stacks.union(ways[kept].0.stack, way.0.stack)?;
                } else {
                    kept += 1;
                    ways[kept] = way;
                }
            }
            ways.truncate(kept + 1);
        }
        match ways.len() > self.states_per_step {
            true => Err(too_many(self.states_per_step)),
            false => Ok(()),
        }
    }

    /// What follows a terminal in a walk.
    fn next_of(&mut self, program: &Program, point: PointId) -> Result<PointId> {
        match program.point(point) {
            Point::Regular { next, .. } => Ok(next),
            Point::Capture { tag, .. } => {
                let next = program.after_capture(tag, None, &mut self.languages)?;
                // Any string leads somewhere.
                Ok(next.unwrap_or(point))
            }
            // Other points have no terminal.
            _ => Ok(point),
        }
    }

    /// What an item allows from some places; `doubtful` are tokens that it may only seem to allow.
    fn read_item(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        item: Item,
        places: PlacesId,
        doubtful: &mut Vec<u32>,
    ) -> Result<(Arc<Reading>, Exits)> {
        self.refused_ends(program, vocabulary, item, places, doubtful)?;
        let text = program.is_json_text(item.point);
        let mut state = self.near(vocabulary, item.state)?;
        let strategies = self.shared_slices.strategies();
        if text
            && strategies.has(Strategy::Exclusions)
            && let Some(lacking) = self.without_lacks(state)
            && let Some(tokens) = self.lacking_from(vocabulary, lacking, places)?
        {
            doubtful.extend(tokens);
            state = lacking.whole;
        }
        let shared = match program.point(item.point) {
            Point::Capture { .. } => !self.languages.lacks_some(state),
            _ => true,
        };
        let every_end = !strategies.has(Strategy::WordEnds);
        let terminal = Terminal { state, text, plain: false, every_end, shared };
        let (mut reading, mut exits) = self.reading(vocabulary, terminal, places)?;
        let all = |places| Exits { places, words: ByteSet::EMPTY, within_words: NOWHERE };
        if reading.unlike.is_empty() && reading.words.is_empty() {
            return Ok((reading, all(exits)));
        }
        let after = self.next_of(program, item.point)?;
        let items = self.items_after(program, after, item.stack)?;
        let first = self.first_bytes(program, &items)?;
        let plain = !first.intersection(&reading.unlike).is_empty();
        if plain {
            (reading, exits) = self.reading(vocabulary, Terminal { plain, ..terminal }, places)?;
        }
        if first.intersection(&reading.words).is_empty() {
            return Ok((reading, all(exits)));
        }
        let every_end = Terminal { plain, every_end: true, ..terminal };
        let (_, within_words) = self.reading(vocabulary, every_end, places)?;
        Ok((Arc::clone(&reading), Exits { places: exits, words: reading.words, within_words }))
    }

    /// Are tokens allowed at the start of a token by reference, not one by one?
    pub(crate) fn has_base(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        item: Item,
    ) -> Result<bool> {
        let (reading, _) = self.read_item(program, vocabulary, item, START, &mut Vec::new())?;
        Ok(reading.bases.iter().any(|base| base.node() == 0))
    }

    fn runs(
        &mut self,
        vocabulary: &Vocabulary,
        unit: Language,
        node: u32,
    ) -> Result<Arc<RepeatSplit>> {
        if let Some(runs) = self.masks.runs.get(&(unit, node)) {
            return Ok(Arc::clone(runs));
        }
        let runs =
            self.shared_slices.repeat_split(vocabulary, &mut self.languages, (unit, node))?;
        self.masks.runs.insert((unit, node), Arc::clone(&runs));
        Ok(runs)
    }

    /// The tails of the tokens that leave some runs at a byte.
    fn leaving(&mut self, vocabulary: &Vocabulary, runs: &RepeatSplit, byte: u8) -> TrieId {
        if let Some(&trie) = self.masks.leaving.get(&(runs.id, byte)) {
            return trie;
        }
        let leaving = self.shared_slices.leaving(vocabulary, runs, byte);
        let trie = self.masks.trie(leaving.id, || Tokens::Leaving(leaving));
        self.masks.leaving.insert((runs.id, byte), trie);
        trie
    }

    fn slice(
        &mut self,
        vocabulary: &Vocabulary,
        state: Language,
        node: u32,
        every_end: bool,
    ) -> Result<Option<Arc<TokenSplit>>> {
        if let Some(slice) = self.masks.slices.get(&(state, node, every_end)) {
            return Ok(slice.clone());
        }
        if !self.shared_slices.strategies().has(Strategy::Splits) {
            return Ok(None);
        }
        let ends = if every_end { SplitEnds::All } else { SplitEnds::OutsideWords };
        let start = SplitStart { state, node, ends };
        let slice = self.shared_slices.split(vocabulary, &mut self.languages, start)?;
        self.masks.slices.insert((state, node, every_end), slice.clone());
        Ok(slice)
    }

    /// Where a terminal may end, the bytes with which it may as well go on, if they are those of a
    /// word.
    fn going_on(&mut self, state: Language) -> Result<ByteSet> {
        if let Some(&known) = self.masks.goings_on.get(&state) {
            return Ok(known);
        }
        let bytes = word_bytes(self.languages.first_bytes(state)?);
        self.masks.goings_on.insert(state, bytes);
        Ok(bytes)
    }
}

/// What the machine knows of JSON's strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json {
    /// One character as it is spelled in a string.
    pub(crate) unit: Language,
    /// The closing quote.
    pub(crate) quote: Language,
}
