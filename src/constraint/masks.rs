//! From configurations to masks, without walking the vocabulary where that can be helped.
//!
//! A mask is the union of what its items allow, and most of what an item allows depends on its
//! terminal's state and its point alone, whatever the stack below. So an item is walked over the
//! *unknown* stack: where a walk returns to that, the place in the trie is noted instead, and the
//! walk goes on from these places with the frames that the configuration really has. Each such
//! *part* is remembered by where it starts (a point, and places in tries), so equal continuations
//! are walked once, however deep they are nested.
//!
//! Within a repeat of units ([`Runs`]) nothing is walked at all but the tails.

mod heads;
mod walk;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::machine::{ConfigId, Item, Machine, NO_TEXT};
use super::program::{ACCEPT, EXIT, Point, PointId, Program, SCOPE};
use super::runs::{Leaving, Runs, is_unit};
use super::slices::Slice;
use super::stacks::{StackId, UNKNOWN};
use crate::error::Result;
use crate::regex::{ByteSet, Language};
use crate::vocab::{TokenMask, Trie, Vocabulary};

/// A subtree of the trie with fewer nodes is walked, not looked up.
const SUBTREE: u32 = 40;

/// A trie that a machine walks: that of the vocabulary, or the tails of a slice or of runs.
#[derive(Clone, Debug)]
pub(super) enum Tails {
    Runs(Arc<Leaving>),
    Slice(Arc<Slice>),
}

impl Tails {
    fn trie(&self) -> &Trie {
        match self {
            Self::Runs(leaving) => &leaving.tails,
            Self::Slice(slice) => &slice.tails,
        }
    }
}

/// Index of a trie; 0 is the vocabulary's.
type TrieId = u32;

/// The vocabulary's trie.
const VOCABULARY: TrieId = 0;

/// What a token's run before its tail must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Condition {
    /// So many units.
    Units(u32, u32),
    /// A text of this language, which begins after so many bytes of the token.
    Text(Language, u32),
}

/// A condition on the tokens of a trie of tails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Filter {
    trie: TrieId,
    condition: Condition,
}

/// A place inside tokens: what is left of them lies below this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    trie: TrieId,
    node: u32,
    /// Index of a filter and one; 0 is none.
    filter: u32,
}

/// A set of places, by identity.
type PlacesId = u32;

/// No place.
const NOWHERE: PlacesId = 0;

/// Many tokens, by reference.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// Those that need at most so many units.
    Runs(Arc<Runs>, u32),
    Slice(Arc<Slice>),
}

impl Base {
    fn mask(&self) -> Option<&TokenMask> {
        match self {
            Self::Runs(runs, units) => runs.mask(*units),
            Self::Slice(slice) => Some(&slice.inside),
        }
    }

    /// The node of the vocabulary's trie below which its tokens stand.
    pub(super) fn node(&self) -> u32 {
        match self {
            Self::Runs(runs, _) => runs.node,
            Self::Slice(_) => 0,
        }
    }

    /// Calls `found` for each of its tokens.
    pub(super) fn each(&self, found: &mut dyn FnMut(u32)) {
        match self {
            Self::Runs(runs, units) => runs.inside(*units).iter().for_each(|&token| found(token)),
            Self::Slice(slice) => slice.inside.iter().for_each(found),
        }
    }

    /// The tokens one by one, where there is no mask of them.
    fn tokens(&self) -> &[u32] {
        match self {
            Self::Runs(runs, units) => runs.inside(*units),
            Self::Slice(_) => &[],
        }
    }
}

/// What a walk over the unknown stack has found.
#[derive(Clone, Debug, Default)]
struct Part {
    tokens: Box<[u32]>,
    bases: SmallVec<[Base; 1]>,
    /// Where it returned to the unknown stack.
    exits: PlacesId,
}

type PartId = u32;

/// The same while it is being found.
#[derive(Debug, Default)]
struct Findings {
    tokens: Vec<u32>,
    bases: SmallVec<[Base; 1]>,
    exits: Vec<Place>,
}

/// What an item allows at the start of a token.
#[derive(Clone, Debug, Default)]
pub(super) struct ItemMask {
    pub(super) base: Option<Base>,
    parts: SmallVec<[(PartId, Option<Filter>); 2]>,
}

/// A mask in few words: the union of these.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    bases: SmallVec<[Base; 2]>,
    tokens: Box<[u32]>,
}

impl Form {
    pub(super) fn bases(&self) -> &[Base] {
        &self.bases
    }

    /// The tokens that stand in no base.
    pub(super) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Writes the mask, over whatever was there.
    pub(super) fn write(&self, words: &mut [u32]) {
        let mut first = true;
        for mask in self.bases.iter().filter_map(Base::mask) {
            match first {
                true => words.copy_from_slice(mask.words()),
                false => words.iter_mut().zip(mask.words()).for_each(|(to, from)| *to |= from),
            }
            first = false;
        }
        if first {
            words.fill(0);
        }
        let few = self.bases.iter().filter(|base| base.mask().is_none()).map(Base::tokens);
        for &token in few.flatten().chain(&*self.tokens) {
            // Tokens are smaller than the vocabulary is long.
            words[token as usize / 32] |= 1 << (token % 32);
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.tokens) + 32
    }
}

/// How a terminal's state begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    /// A repeat of a unit, `min` to `max` times, then `rest`.
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

/// What a machine remembers of masks.
#[derive(Clone, Debug, Default)]
pub(super) struct Masks {
    tries: Vec<Tails>,
    filters: Vec<Filter>,
    filter_ids: FxHashMap<Filter, u32>,
    places: Vec<Box<[Place]>>,
    place_ids: FxHashMap<Box<[Place]>, PlacesId>,
    parts: Vec<Part>,
    /// By point, its counter, and places.
    resumed: FxHashMap<(PointId, u32, PlacesId), PartId>,
    /// Walks over tails, by the point, what is left of its terminal, and the trie.
    left: FxHashMap<(PointId, Language, TrieId), PartId>,
    items: FxHashMap<(PointId, Language), Arc<ItemMask>>,
    forms: FxHashMap<ConfigId, Arc<Form>>,
    heads: FxHashMap<(PointId, Language), Head>,
    total: FxHashMap<Language, bool>,
    units: FxHashMap<Language, bool>,
    runs: FxHashMap<(Language, u32), Arc<Runs>>,
    leaving: FxHashMap<(Language, u32, u8), TrieId>,
    slices: FxHashMap<Language, Option<(Arc<Slice>, TrieId)>>,
    fingerprints: FxHashMap<Language, u128>,
    spans: FxHashMap<Language, Option<u32>>,
    nears: FxHashMap<Language, Language>,
    levels: Vec<Vec<Vec<Item>>>,
    bytes: usize,
}

impl Masks {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
            + (self.items.len() + self.parts.len() + self.forms.len()) * 128
            + (self.heads.len() + self.fingerprints.len()) * 48
    }

    /// The mask of a configuration, if it was asked for before.
    pub(super) fn known(&self, id: ConfigId) -> Option<Arc<Form>> {
        self.forms.get(&id).map(Arc::clone)
    }

    /// Starts again with nothing remembered.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn trie(&mut self, tails: Tails) -> TrieId {
        self.tries.push(tails);
        self.tries.len() as TrieId
    }

    fn filter_id(&mut self, filter: Filter) -> u32 {
        *self.filter_ids.entry(filter).or_insert_with(|| {
            self.filters.push(filter);
            self.filters.len() as u32
        })
    }

    fn places_id(&mut self, mut places: Vec<Place>) -> PlacesId {
        if places.is_empty() {
            return NOWHERE;
        }
        places.sort_unstable();
        places.dedup();
        if let Some(&id) = self.place_ids.get(&places[..]) {
            return id;
        }
        let places: Box<[Place]> = places.into();
        self.bytes += 2 * size_of_val(&*places) + 64;
        self.places.push(places.clone());
        let id = self.places.len() as PlacesId;
        self.place_ids.insert(places, id);
        id
    }

    fn part(&mut self, findings: Findings) -> PartId {
        let Findings { mut tokens, bases, exits } = findings;
        tokens.sort_unstable();
        tokens.dedup();
        self.bytes += size_of_val(&tokens[..]) + size_of::<Part>();
        let exits = self.places_id(exits);
        self.parts.push(Part { tokens: tokens.into(), bases, exits });
        self.parts.len() as PartId - 1
    }
}

impl Machine {
    /// The tokens allowed in a configuration, in few words. O(1) if it was asked for before.
    pub(super) fn form(
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
        let form = Arc::new(self.checked(program, vocabulary, id, form?)?);
        self.masks.bytes += form.bytes();
        self.masks.forms.insert(id, Arc::clone(&form));
        Ok(form)
    }

    /// Takes out what a walk allows because it captures nothing: a token that ends a captured
    /// string and, further on, another one that must differ from it; and one that ends an array or
    /// object that must differ from others. The few that might are read for real.
    fn checked(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
        mut form: Form,
    ) -> Result<Form> {
        if !program.has_captures() {
            return Ok(form);
        }
        let mut wrong = Vec::new();
        let pairs = Arc::clone(self.shared_slices.pairs(vocabulary));
        let scoped = self.items(id).iter().any(|item| self.stacks.records(item.stack));
        for &token in &form.tokens {
            let ends_scope = || {
                let text = vocabulary.token_bytes(token).unwrap_or_default();
                text.iter().any(|byte| matches!(byte, b']' | b'}'))
            };
            if (pairs.contains(token) || scoped && ends_scope())
                && self.read_token(program, vocabulary, id, token)?.is_err()
            {
                wrong.push(token);
            }
        }
        if !wrong.is_empty() {
            form.tokens = form.tokens.iter().copied().filter(|t| !wrong.contains(t)).collect();
        }
        Ok(form)
    }

    /// By one walk over the whole trie, asking at each token whether it leads to a dead end.
    fn plain_form(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<Form> {
        let mut tokens = self.special_tokens(program, vocabulary, id)?;
        let trie = vocabulary.trie();
        let items = self.items(id).to_vec();
        self.walk(program, trie, &items, &mut |machine, node, items| {
            if !trie.tokens(node).is_empty() && machine.is_live(program, vocabulary, items)? {
                tokens.extend_from_slice(trie.tokens(node));
            }
            Ok(())
        })?;
        Ok(Form { bases: SmallVec::new(), tokens: tokens.into() })
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

    fn compose(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        id: ConfigId,
    ) -> Result<Form> {
        let mut tokens = self.special_tokens(program, vocabulary, id)?;
        let mut bases = SmallVec::new();
        let mut todo: Vec<(PartId, Option<Filter>, StackId)> = Vec::new();
        for i in 0..self.items(id).len() {
            let item = self.items(id)[i];
            if let Point::Regular { .. } | Point::Names(_) | Point::Capture { .. } =
                program.point(item.point)
            {
                let mask = self.item_mask(program, vocabulary, item.point, item.state)?;
                bases.extend(mask.base.iter().cloned());
                todo.extend(mask.parts.iter().map(|&(part, filter)| (part, filter, item.stack)));
            }
        }
        let mut next = 0;
        while let Some(&(part, filter, stack)) = todo.get(next) {
            next += 1;
            let Part { tokens: found, bases: large, exits } = &self.masks.parts[part as usize];
            let exits = *exits;
            bases.extend(large.iter().cloned());
            match filter {
                None => tokens.extend_from_slice(found),
                Some(filter) => {
                    let found = found.clone();
                    self.filtered(vocabulary, filter, &found, &mut tokens)?;
                }
            }
            if exits == NOWHERE {
                continue;
            }
            for i in 0..self.stacks.frames(stack).len() {
                let frame = self.stacks.frames(stack)[i];
                if frame.point == ACCEPT {
                    continue;
                }
                let count = match program.scope_tag(frame.point) {
                    // Walks capture nothing: where the text begins does not matter.
                    Some(_) => SCOPE + 1,
                    None => program.count_after(frame.point, frame.count),
                };
                let part = self.resumed(program, vocabulary, (frame.point, count), exits)?;
                let way = (part, filter, frame.below);
                // Ambiguous stacks can lead to one place many times.
                if todo.len() < 8 || !todo.contains(&way) {
                    todo.push(way);
                }
            }
        }
        if todo.len() > 1 {
            tokens.sort_unstable();
            tokens.dedup();
        }
        Ok(Form { bases, tokens: tokens.into() })
    }

    /// Appends those of some tokens that satisfy a filter.
    fn filtered(
        &mut self,
        vocabulary: &Vocabulary,
        filter: Filter,
        tokens: &[u32],
        to: &mut Vec<u32>,
    ) -> Result<()> {
        let Tails::Runs(runs) = &self.masks.tries[filter.trie as usize - 1] else { return Ok(()) };
        let runs = Arc::clone(runs);
        // A run is a text; where only some texts lack, it is enough to look for it among them.
        let lacking = match filter.condition {
            Condition::Text(text, _) => self.languages.all_but(text, self.json.unit),
            Condition::Units(..) => None,
        };
        for &token in tokens {
            let run = runs.run(token);
            let fits = match filter.condition {
                Condition::Units(min, max) => (min..=max).contains(&run.units.into()),
                Condition::Text(text, from) => {
                    let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                    let run = &bytes[from as usize..from as usize + usize::from(run.bytes)];
                    match &lacking {
                        Some(lacking) => !lacking
                            .iter()
                            .map(|&lack| self.is_in(lack, run))
                            .collect::<Result<SmallVec<[bool; 2]>>>()?
                            .contains(&true),
                        None => self.is_in(text, run)?,
                    }
                }
            };
            if fits {
                to.push(token);
            }
        }
        Ok(())
    }

    /// Is a string in a language? Stops as soon as it cannot be.
    fn is_in(&mut self, mut state: Language, string: &[u8]) -> Result<bool> {
        for &byte in string {
            state = self.languages.step(state, byte)?;
            if state == Language::EMPTY {
                return Ok(false);
            }
        }
        Ok(self.languages.is_nullable(state))
    }

    /// What a point, reached with a counter at some places of tokens, allows there.
    fn resumed(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        (point, count): (PointId, u32),
        places: PlacesId,
    ) -> Result<PartId> {
        let key = (point, count, places);
        if let Some(&part) = self.masks.resumed.get(&key) {
            return Ok(part);
        }
        let mut items = Vec::new();
        self.closure.starts.push(((point, count), UNKNOWN));
        self.close(program, &mut items)?;
        self.merge(&mut items)?;
        let mut findings = Findings::default();
        for i in 0..self.masks.places[places as usize - 1].len() {
            let place = self.masks.places[places as usize - 1][i];
            self.explore(program, vocabulary, place, &items, &mut findings)?;
        }
        let part = self.masks.part(findings);
        self.masks.resumed.insert(key, part);
        Ok(part)
    }

    /// What an item allows at the start of a token, over the unknown stack.
    pub(super) fn item_mask(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        point: PointId,
        state: Language,
    ) -> Result<Arc<ItemMask>> {
        if let Some(known) = self.masks.items.get(&(point, state)) {
            return Ok(Arc::clone(known));
        }
        let near = self.near_at(program, vocabulary, point, state)?;
        if near != state {
            let mask = self.item_mask(program, vocabulary, point, near)?;
            self.masks.items.insert((point, state), Arc::clone(&mask));
            return Ok(mask);
        }
        let mut mask = ItemMask::default();
        match self.head(program, vocabulary, point, state)? {
            Head::Repeat { unit, min, max, rest } => {
                let runs = self.runs(vocabulary, unit, 0)?;
                mask.base = Some(Base::Runs(runs, max));
                let condition =
                    (min > 1 || max < u32::MAX).then_some(Condition::Units(min.max(1), max));
                self.after_run(program, vocabulary, (point, rest), unit, condition, &mut mask)?;
                if min == 0 && rest != Language::EPSILON {
                    self.add_item(program, vocabulary, point, rest, &mut mask)?;
                }
            }
            Head::Text { text } => {
                let (unit, rest) = (self.json.unit, self.json.quote);
                let runs = self.runs(vocabulary, unit, 0)?;
                mask.base = Some(Base::Runs(runs, u32::MAX));
                let condition = Some(Condition::Text(text, 0));
                self.after_run(program, vocabulary, (point, rest), unit, condition, &mut mask)?;
                if self.languages.is_nullable(text) {
                    self.add_item(program, vocabulary, point, rest, &mut mask)?;
                }
            }
            Head::Other if let Some((slice, trie)) = self.slice(vocabulary, state)? => {
                mask.base = Some(Base::Slice(slice));
                let part = self.left(program, vocabulary, (point, Language::EPSILON, trie))?;
                mask.parts.push((part, None));
            }
            Head::Narrow | Head::Other => {
                let mut findings = Findings::default();
                let place = Place { trie: VOCABULARY, node: 0, filter: 0 };
                let item = Item { point, state, text: NO_TEXT, stack: UNKNOWN };
                self.explore(program, vocabulary, place, &[item], &mut findings)?;
                mask.parts.push((self.masks.part(findings), None));
            }
        }
        let mask = Arc::new(mask);
        self.masks.items.insert((point, state), Arc::clone(&mask));
        Ok(mask)
    }

    /// Adds what the item allows in another state.
    fn add_item(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        point: PointId,
        state: Language,
        mask: &mut ItemMask,
    ) -> Result<()> {
        let other = self.item_mask(program, vocabulary, point, state)?;
        match (&mask.base, &other.base) {
            (Some(_), Some(base)) => {
                let mut findings = Findings::default();
                findings.bases.push(base.clone());
                let part = self.masks.part(findings);
                mask.parts.push((part, None));
            }
            (None, Some(base)) => mask.base = Some(base.clone()),
            (_, None) => {}
        }
        mask.parts.extend_from_slice(&other.parts);
        Ok(())
    }

    /// The items with `rest` left of the terminal at a point; what follows the terminal, too, where
    /// that may be the empty string.
    fn items_left(&mut self, program: &Program, item: Item) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        if self.languages.is_nullable(item.state) {
            let next = self.next_of(program, item.point)?;
            self.closure.starts.push(((next, 0), item.stack));
            self.close(program, &mut items)?;
        }
        if item.state != Language::EPSILON {
            items.push(item);
        }
        self.merge(&mut items)?;
        Ok(items)
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

    /// Is it plain to see where a run of units ends that `rest` follows: may nothing that follows
    /// begin as a unit does?
    fn ends_plainly(
        &mut self,
        program: &Program,
        point: PointId,
        unit: Language,
        rest: Language,
    ) -> Result<bool> {
        let items =
            self.items_left(program, Item { point, state: rest, text: NO_TEXT, stack: UNKNOWN })?;
        if items.iter().any(|item| item.point == EXIT) {
            return Ok(false);
        }
        let units = self.languages.first_bytes(unit)?;
        let others = self.first_bytes(program, &items)?;
        Ok(units.intersection(&others).is_empty())
    }

    /// What the rest of a terminal and what follows it allow on the tails of a trie.
    fn left(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        key: (PointId, Language, TrieId),
    ) -> Result<PartId> {
        if let Some(&part) = self.masks.left.get(&key) {
            return Ok(part);
        }
        let (point, state, trie) = key;
        let items =
            self.items_left(program, Item { point, state, text: NO_TEXT, stack: UNKNOWN })?;
        let mut findings = Findings::default();
        let place = Place { trie, node: 0, filter: 0 };
        self.explore(program, vocabulary, place, &items, &mut findings)?;
        let part = self.masks.part(findings);
        self.masks.left.insert(key, part);
        Ok(part)
    }

    fn runs(&mut self, vocabulary: &Vocabulary, unit: Language, node: u32) -> Result<Arc<Runs>> {
        if let Some(runs) = self.masks.runs.get(&(unit, node)) {
            return Ok(Arc::clone(runs));
        }
        let fingerprint = self.languages.fingerprint(unit, &mut self.masks.fingerprints);
        let key = (fingerprint, node);
        let runs = self.shared_slices.runs(key, vocabulary, &mut self.languages, unit)?;
        self.masks.runs.insert((unit, node), Arc::clone(&runs));
        Ok(runs)
    }

    /// The tokens that leave a run at a byte.
    fn leaving(
        &mut self,
        vocabulary: &Vocabulary,
        (unit, node): (Language, u32),
        byte: u8,
    ) -> Result<TrieId> {
        if let Some(&trie) = self.masks.leaving.get(&(unit, node, byte)) {
            return Ok(trie);
        }
        let runs = self.runs(vocabulary, unit, node)?;
        let leaving = runs.leaving(vocabulary, self.shared_slices.classes(vocabulary), byte);
        let trie = self.masks.trie(Tails::Runs(leaving));
        self.masks.leaving.insert((unit, node, byte), trie);
        Ok(trie)
    }

    /// Adds what the rest of a terminal allows after a run at the start of a token.
    fn after_run(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        (point, rest): (PointId, Language),
        unit: Language,
        condition: Option<Condition>,
        mask: &mut ItemMask,
    ) -> Result<()> {
        let items =
            self.items_left(program, Item { point, state: rest, text: NO_TEXT, stack: UNKNOWN })?;
        for byte in self.first_bytes(program, &items)?.iter() {
            let trie = self.leaving(vocabulary, (unit, 0), byte)?;
            let part = self.left(program, vocabulary, (point, rest, trie))?;
            let part = (part, condition.map(|condition| Filter { trie, condition }));
            mask.parts.push(part);
        }
        Ok(())
    }

    fn slice(
        &mut self,
        vocabulary: &Vocabulary,
        state: Language,
    ) -> Result<Option<(Arc<Slice>, TrieId)>> {
        if let Some(slice) = self.masks.slices.get(&state) {
            return Ok(slice.clone());
        }
        let fingerprint = self.languages.fingerprint(state, &mut self.masks.fingerprints);
        let slice = self.shared_slices.get(fingerprint, vocabulary, &mut self.languages, state)?;
        let slice = slice.map(|slice| {
            let trie = self.masks.trie(Tails::Slice(Arc::clone(&slice)));
            (slice, trie)
        });
        self.masks.slices.insert(state, slice.clone());
        Ok(slice)
    }
}

/// What the machine knows of JSON's strings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Json {
    /// One character as it is spelled in a string.
    pub(super) unit: Language,
    /// The closing quote.
    pub(super) quote: Language,
}
