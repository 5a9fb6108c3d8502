//! Rules that are made when they are entered, and depend on what was read.
//!
//! An object is a machine whose states know which names may still come, how many members are
//! written, and which keys without a name of their own were used. A state's rule is made when the
//! state is reached for the first time: so an object costs what a text visits of it, and no key
//! comes twice. Arrays whose items are counted or must differ are such machines, too.

mod array;
mod complete;
mod places;

use std::ops::Range;
use std::sync::Arc;
use std::sync::Arc as Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::array::{ArraySet, Repeats};
use super::condition::{Condition, Found, Key, MANY, Other, Part, Place};
use super::emit::{Emitter, Signs};
use super::layout::Layout;
use super::object::{Class, Named, ObjectSet};
use super::options::{PropertyOrder, Spelling};
use super::set::{Set, Sets, Sources};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::names::Names;
use crate::grammar::{Node, NodeId, Origin, RuleId};
use crate::regular::{Language, TextSet, TextSets};
use crate::vocabulary::Trie;

/// What stands for a rule until its body is made.
#[derive(Clone, Copy, Debug)]
enum Open {
    Set(Set, Layout),
    /// The items of an array that is the whole text, and its closing bracket: an index into
    /// [`Lazy::whole_arrays`].
    Items(u32, Layout),
    Array(u32, ArrayState),
    Object(u32, ObjectState),
    /// A value and the state after it.
    Member(u32, Set, ObjectState),
}

/// How far an array or object is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Phase {
    /// Its opening bracket.
    #[default]
    Opened,
    /// The gap after its opening bracket, too: it is not empty.
    Begun,
    /// Some of its members or items.
    Going,
}

/// What is known of an object after some of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ObjectState {
    /// The next of the named members, in the schema's order.
    at: u32,
    /// The named members that are written, in any order: an index into [`Lazy::seen`].
    seen: u32,
    /// Members written, as far as that matters.
    count: u32,
    phase: Phase,
    layout: Layout,
    /// Keys without a name of their own that are written: an index into [`Lazy::used`].
    used: u32,
    /// What is asked of members that still come.
    condition: Condition,
}

/// An object whose rules are made one by one.
#[derive(Debug)]
struct Object {
    members: Vec<Member>,
    /// By key, where a condition asks for them: the index.
    indices: FxHashMap<Rc<str>, u32>,
    /// Names by rank.
    trie: Arc<Trie>,
    /// By rank: the index of the member.
    by_rank: Vec<u32>,
    /// By index: the rank.
    ranks: Vec<u32>,
    /// Keys without a name.
    others: Rc<[Other]>,
    /// How many of each class there are, where conditions ask.
    keys: Rc<[u32]>,
    min: u32,
    max: Option<u32>,
    /// Counts from here on are the same.
    cap: u32,
    name: Origin,
    sources: Sources,
}

#[derive(Debug)]
struct Member {
    key: Rc<str>,
    /// The key as it is written.
    spelled: Vec<u8>,
    set: Set,
    required: bool,
}

/// What is left to be made, and what it will need.
#[derive(Debug, Default)]
pub(crate) struct Lazy {
    open: FxHashMap<RuleId, Open>,
    objects: Vec<Object>,
    states: FxHashMap<(u32, ObjectState), RuleId>,
    /// Can what is asked of an object still be met by those of its members of which it is asked?
    met: FxHashMap<Asked, Option<Met>>,
    /// Sets of named members that are written, in any order, as bits.
    seen: Interned<Box<[u64]>>,
    /// Sets of other keys that are written, sorted.
    used: Interned<Vec<Arc<str>>>,
    /// Choices of names, by tag.
    choices: Vec<(u32, ObjectState, Vec<u32>)>,
    /// What is captured, by tag.
    captures: Vec<Captured>,
    /// By tag, if there are any: texts that what is captured must not be, though its language holds
    /// them.
    looked_up: FxHashMap<u32, TextSet>,
    arrays: Vec<Array>,
    array_states: FxHashMap<(u32, ArrayState), RuleId>,
    /// The arrays and objects of sets of items that must differ.
    structures: FxHashMap<(Set, Layout), Vec<NodeId>>,
    /// Arrays that are whole texts in any style.
    whole_arrays: Vec<ArraySet>,
    /// The objects and arrays that were met in indented texts: each depth meets them again.
    known_objects: FxHashMap<ObjectSet, Option<(u32, ObjectState)>>,
    known_arrays: FxHashMap<ArraySet, Option<(u32, ArrayState)>>,
    /// How many items of each counted kind are written.
    counts: Interned<SmallVec<[u32; 4]>>,
}

/// What is asked of an object in a state: from where a search begins, those of the members that
/// still come of which something is asked, and how many keys of each class are left.
type Asked = (u32, Place, Box<[u32]>, Rc<[u32]>);

/// What is asked of the members of an object can be met.
#[derive(Clone, Copy, Debug)]
struct Met {
    /// The named member that is one of those which meet it, by index: the one to write first.
    by: Option<u32>,
}

/// What a captured text is.
#[derive(Clone, Copy, Debug)]
enum Captured {
    /// The key of an object in a state, of one of its classes.
    Key(u32, ObjectState, usize),
    /// One of a choice of names, by its tag, in a spelling that is not canonical.
    Name(u32),
    /// An item of an array in a state, and the counts after it.
    Item(u32, ArrayState, u32),
}

/// One of a choice of names, by its tag, in all spellings but the canonical one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpelledName {
    pub(crate) choice: u32,
    pub(crate) rank: u32,
    pub(crate) spelled: Language,
}

/// What is known of an array after some of its items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ArrayState {
    /// Items written, as far as that matters.
    at: u32,
    phase: Phase,
    layout: Layout,
    /// An index into [`Lazy::counts`].
    counts: u32,
    /// Items that others must differ from.
    used: TextSet,
    /// Were two equal items found?
    repeated: bool,
    /// Was an item written of which nothing is known? Then it may have been any.
    unknown: bool,
}

/// An array whose rules are made one by one.
#[derive(Debug)]
struct Array {
    set: ArraySet,
    /// Places from here on are the same.
    cap: u32,
    /// Places and counts from which the array can be completed, where items are counted.
    alive: FxHashSet<(u32, u32)>,
    name: Origin,
}

/// The most bytes of a name as it is written: a trie counts its depth in 16 bits.
const MOST_NAME_BYTES: usize = u16::MAX as usize;

/// Places and counts that an array may go through.
const ARRAY_STATES: usize = 20_000;

/// Values by index; 0 is the default.
#[derive(Debug)]
struct Interned<T> {
    values: Vec<T>,
    ids: FxHashMap<T, u32>,
}

impl<T: Default + Clone + Eq + std::hash::Hash> Default for Interned<T> {
    fn default() -> Self {
        let mut this = Self { values: Vec::new(), ids: FxHashMap::default() };
        this.id(T::default());
        this
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    fn id(&mut self, value: T) -> u32 {
        *self.ids.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            self.values.len() as u32 - 1
        })
    }

    fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }
}

impl Lazy {
    pub(crate) fn set_rule(&mut self, rule: RuleId, set: Set, layout: Layout) {
        self.open.insert(rule, Open::Set(set, layout));
    }
}

/// A lower bound on the bytes of so many texts that all differ: one is empty, and of each length
/// there are no more than bytes can tell apart.
fn least_bytes_of_distinct(texts: u32) -> u64 {
    let (mut left, mut bytes, mut length, mut of_length) = (u64::from(texts), 0, 0, 1u64);
    while left > 0 {
        let taken = left.min(of_length);
        bytes += taken * length;
        left -= taken;
        (length, of_length) = (length + 1, of_length * 256);
    }
    bytes
}

impl Object {
    /// Can `count` members be completed to a whole object if so many required ones are left?
    fn fits(&self, count: u32, required: u32) -> bool {
        self.max.is_none_or(|max| count + required <= max)
    }
}

impl<'d> Emitter<'d> {
    /// The body of a rule.
    pub(crate) fn body(&mut self, rule: RuleId) -> Result<NodeId> {
        match self.lazy.open.get(&rule).copied() {
            Some(Open::Set(set, layout)) => self.rule(set, layout),
            Some(Open::Items(array, layout)) => self.items_of_whole(array, layout),
            Some(Open::Object(object, state)) => self.object_state(object, state),
            Some(Open::Array(array, state)) => self.array_state(array, state),
            Some(Open::Member(object, set, next)) => {
                let value = match self.value(set, next.layout.inside())? {
                    Some(value) => value,
                    // Only names whose sets have values are allowed.
                    None => self.builder.choice([]),
                };
                let further = self.call_state(object, next);
                Ok(self.builder.sequence([value, further]))
            }
            None => Ok(self.builder.body(rule)),
        }
    }

    /// A lower bound on the bytes of each text of a rule whose body is not made: what the members
    /// and items that must still come take at least, by arithmetic.
    pub(crate) fn least_bytes(&self, rule: RuleId) -> u64 {
        let lazy = &self.lazy;
        match lazy.open.get(&rule) {
            Some(&Open::Object(id, state)) => self.least_object_bytes(lazy, id, state),
            // A colon, or the quote before it, and a value.
            Some(&Open::Member(id, _, next)) => 1 + self.least_object_bytes(lazy, id, next),
            Some(&Open::Array(id, state)) => {
                let missing = lazy.arrays[id as usize].set.min.saturating_sub(state.at);
                // Each item and what stands before the next or after the last.
                1 + 2 * u64::from(missing)
            }
            Some(Open::Set(..) | Open::Items(..)) | None => 1,
        }
    }

    fn least_object_bytes(&self, lazy: &Lazy, id: u32, state: ObjectState) -> u64 {
        /// `"":0` and a comma.
        const LEAST_MEMBER: u64 = 5;
        let object = &lazy.objects[id as usize];
        let required = (state.at..object.members.len() as u32).filter(|&index| {
            object.members[index as usize].required && !self.is_seen(state, index)
        });
        let (mut bytes, mut members) = (1, 0);
        for index in required {
            bytes += LEAST_MEMBER + object.members[index as usize].spelled.len() as u64;
            members += 1;
        }
        let missing = object.min.saturating_sub(state.count).saturating_sub(members);
        bytes += LEAST_MEMBER * u64::from(missing) + least_bytes_of_distinct(missing);
        // The first member has no comma before it.
        bytes - u64::from(state.phase != Phase::Going && bytes > 1)
    }

    /// Is there an array of which two items must be equal?
    pub(crate) fn has_repeats(&self) -> bool {
        let must = |array: &Array| array.set.repeats == Repeats::Must;
        self.lazy.arrays.iter().any(must)
    }

    /// Has a set any value?
    fn has_value(&mut self, set: Set) -> Result<bool> {
        Ok(set == Set::ANY || !self.sets.is_empty(set)?)
    }

    pub(crate) fn object(
        &mut self,
        object: &ObjectSet,
        name: &Origin,
        layout: Layout,
    ) -> Result<Option<NodeId>> {
        let known = match layout {
            Layout::Indented(..) => self.lazy.known_objects.get(object).copied(),
            _ => None,
        };
        let declared = match known {
            Some(known) => known,
            None => {
                let declared = self.declare_object(object, name)?;
                if let Layout::Indented(..) = layout {
                    self.lazy.known_objects.insert(object.clone(), declared);
                }
                declared
            }
        };
        let Some((id, start)) = declared else { return Ok(None) };
        let start = ObjectState { layout, ..start };
        let signs = self.signs(layout);
        let (open, phase) = match signs.first.is_some() && !self.may_close(id, start) {
            true => (signs.begin_object, Phase::Begun),
            false => (signs.open_object, Phase::Opened),
        };
        let further = self.call_state(id, ObjectState { phase, ..start });
        let node = self.builder.sequence([open, further]);
        Ok(Some(self.mark(node, &object.sources)))
    }

    fn name_is_too_long(&self, object: &ObjectSet, key: &str) -> Error {
        let message = format!(
            "the name of a property has {} bytes, and {MOST_NAME_BYTES} with its quotes and escapes \
             are the most",
            key.len()
        );
        let document = self.sets.document;
        let place = object.sources.0.first().copied().unwrap_or_else(|| document.root());
        document.error(ErrorKind::Limit, place, message).with_help("shorten the name")
    }

    /// An object whose rules are to be made, and the state in which it begins; `None` if it is
    /// empty.
    fn declare_object(
        &mut self,
        object: &ObjectSet,
        name: &Origin,
    ) -> Result<Option<(u32, ObjectState)>> {
        if self.sets.object_is_empty(object)? {
            return Ok(None);
        }
        let mut condition = object.condition;
        let mut members = Vec::with_capacity(object.named.len());
        let mut spelled: Vec<(Vec<u8>, u32)> = Vec::with_capacity(object.named.len());
        for member in &object.named {
            if member.set == Set::NEVER {
                if member.required {
                    return Ok(None);
                }
                condition = self.sets.conditions.without(condition, |key| *key == *member.key);
                continue;
            }
            let mut text = vec![b'"'];
            let key = self.sets.strings.spell(&member.key);
            text.extend(&key);
            text.push(b'"');
            if text.len() > MOST_NAME_BYTES {
                return Err(self.name_is_too_long(object, &member.key));
            }
            spelled.push((text, members.len() as u32));
            members.push(Member {
                key: member.key.clone(),
                spelled: key,
                set: member.set,
                required: member.required,
            });
        }
        spelled.sort_unstable();
        let trie =
            Trie::from_sorted((0..).zip(&spelled).map(|(rank, (text, _))| (&text[..], rank)));
        let by_rank: Vec<u32> = spelled.iter().map(|&(_, index)| index).collect();
        let mut ranks = vec![0; members.len()];
        (0..).zip(&by_rank).for_each(|(rank, &index)| ranks[index as usize] = rank);
        let mut others = Vec::new();
        for other in self.sets.other_keys(object)? {
            if other.set != Set::NEVER && self.has_value(other.set)? {
                others.push(other);
            }
        }
        let required = object.required() as u32;
        let mut min = if object.min <= required { 0 } else { object.min };
        if min > 0 && (condition != Condition::HOLDS || self.are_few(&others, min)?) {
            // It is asked for together with all else.
            let least = self.sets.conditions.of(Part::AtLeast(min));
            condition = self.sets.conditions.and([condition, least]);
            min = 0;
        }
        let (others, keys) = match condition == Condition::HOLDS {
            true => (others.into(), Rc::from([])),
            false => self.sets.with_counts(others)?,
        };
        let counts = self.sets.conditions.count_cap(condition);
        let cap = object.max.unwrap_or(min).max(min).max(counts);
        let condition = self.sets.conditions.counted(condition, 0);
        let indices = match condition == Condition::HOLDS {
            true => FxHashMap::default(),
            false => (0..).zip(&members).map(|(at, member)| (member.key.clone(), at)).collect(),
        };
        let this = Object {
            members,
            indices,
            trie: Arc::new(trie),
            by_rank,
            ranks,
            others,
            keys,
            min,
            max: object.max,
            cap,
            name: name.clone(),
            sources: object.sources.clone(),
        };
        if !this.fits(0, required) {
            return Ok(None);
        }
        let lazy = &mut self.lazy;
        let id = lazy.objects.len() as u32;
        lazy.objects.push(this);
        let (phase, layout) = <(Phase, Layout)>::default();
        let state = ObjectState { at: 0, seen: 0, count: 0, phase, layout, used: 0, condition };
        Ok(self.can_meet(id, state, None)?.then_some((id, state)))
    }

    /// Whether an object may end in a state, if its text so far allows a closing bracket.
    fn may_close(&mut self, id: u32, state: ObjectState) -> bool {
        let left = self.required_left(id, state);
        let object = &self.lazy.objects[id as usize];
        let enough = state.count >= object.min.min(object.cap);
        left == 0 && enough && self.sets.conditions.at_end(state.condition)
    }

    /// Are these some keys, and fewer than so many?
    fn are_few(&mut self, others: &[Other], many: u32) -> Result<bool> {
        let mut all = 0u32;
        for other in others {
            all = all.saturating_add(self.sets.count_keys(other.keys, many)?);
        }
        Ok(all > 0 && all < many)
    }

    fn call_state(&mut self, object: u32, state: ObjectState) -> NodeId {
        let lazy = &mut self.lazy;
        let rule = *lazy.states.entry((object, state)).or_insert_with(|| {
            let rule = self.builder.declare_from(lazy.objects[object as usize].name.clone());
            lazy.open.insert(rule, Open::Object(object, state));
            rule
        });
        self.builder.call(rule)
    }

    /// What may follow in a state.
    fn object_state(&mut self, id: u32, state: ObjectState) -> Result<NodeId> {
        let any_order = self.sets.options.property_order == PropertyOrder::Any;
        let allowed = self.names_at(id, state)?;
        let left = self.required_left(id, state);
        let object = &self.lazy.objects[id as usize];
        let more = object.fits(state.count + 1, left);
        let others = match more && (left == 0 || any_order) {
            true => object.others.clone(),
            false => Rc::from([]),
        };
        let sources = object.sources.clone();
        let closes = state.phase != Phase::Begun && self.may_close(id, state);
        let signs = self.signs(state.layout);
        // A key on the same line chooses between the styles that take one.
        let within = match state.layout {
            Layout::Undecided => ObjectState { layout: Layout::OneLine, ..state },
            _ => state,
        };
        let used = self.lazy.used.get(state.used).clone();
        let mut members = Vec::new();
        if !allowed.is_empty() {
            let lazy = &mut self.lazy;
            let tag = self.numbering.tag(lazy.choices.len());
            let ranks = &lazy.objects[id as usize].ranks;
            let ranks = allowed.iter().map(|&index| ranks[index as usize]).collect();
            lazy.choices.push((id, within, ranks));
            let names = self.builder.add(Node::Names(tag));
            members.push(self.mark(names, &sources));
            if self.sets.options.spelling == Spelling::Any {
                let names = self.escaped_names(id, &allowed, tag);
                members.push(self.mark(names, &sources));
            }
        }
        for (class, other) in others.iter().enumerate() {
            if self.other_ways(id, state, class)?.is_empty() {
                continue;
            }
            let keys = other.keys;
            let languages = &mut self.sets.languages;
            let written = self.sets.strings.written(languages, used.iter().map(|key| &**key));
            let keys = languages.difference(keys, written);
            if !used.is_empty() && !languages.is_live(keys)? {
                continue;
            }
            let keys = match used.is_empty() {
                true => self.quoted_text(keys),
                // Used once: finishing an automaton for it would cost more than it saves.
                false => self.between_quotes(keys),
            };
            let lazy = &mut self.lazy;
            let tag = self.numbering.tag(lazy.captures.len());
            lazy.captures.push(Captured::Key(id, within, class));
            let key = self.builder.add(Node::Capture(keys, tag));
            members.push(self.mark(key, &sources));
        }
        let mut ways = Vec::new();
        if closes {
            ways.push(match state.phase {
                Phase::Going => signs.close_object,
                _ => signs.end_object,
            });
        }
        if !members.is_empty() {
            let member = self.builder.choice(members);
            ways.push(self.behind_gap(state.phase, &signs, member));
            if state.layout == Layout::Undecided {
                for layout in Layout::STYLES {
                    let Some(gap) = self.signs(layout).first else { continue };
                    let state = ObjectState { layout, phase: Phase::Begun, ..state };
                    let members = self.call_state(id, state);
                    ways.push(self.builder.sequence([gap, members]));
                }
                return Ok(self.builder.choice_by_length(ways));
            }
        }
        Ok(self.builder.choice(ways))
    }

    /// A member or item with what stands between it and the text before.
    fn behind_gap(&mut self, phase: Phase, signs: &Signs, next: NodeId) -> NodeId {
        let gap = match phase {
            Phase::Opened => signs.first,
            Phase::Begun => None,
            Phase::Going => Some(signs.comma),
        };
        match gap {
            Some(gap) => self.builder.sequence([gap, next]),
            None => next,
        }
    }

    fn between_quotes(&mut self, text: Language) -> Language {
        let languages = &mut self.sets.languages;
        let quote = languages.literal(b"\"");
        languages.concat([quote, text, quote])
    }

    /// The names of a choice as they can be spelled otherwise than canonically.
    fn escaped_names(&mut self, id: u32, allowed: &[u32], choice: u32) -> NodeId {
        let lazy = &mut self.lazy;
        let members = &lazy.objects[id as usize].members;
        let names: Vec<&str> = allowed.iter().map(|&index| &*members[index as usize].key).collect();
        let names = self.sets.strings.escaped(&mut self.sets.languages, &names);
        let tag = self.numbering.tag(lazy.captures.len());
        lazy.captures.push(Captured::Name(choice));
        let names = self.between_quotes(names);
        self.builder.add(Node::Capture(names, tag))
    }

    /// The sets that the value of a member without a name may be in, each with the state after it
    /// but for its key.
    fn other_ways(
        &mut self,
        id: u32,
        state: ObjectState,
        class: usize,
    ) -> Result<Vec<(Set, ObjectState)>> {
        let object = &self.lazy.objects[id as usize];
        let (end, other) = (object.members.len() as u32, object.others[class].clone());
        let count = self.counted(id, state.count);
        let mut after = ObjectState { count, phase: Phase::Going, ..state };
        if self.sets.options.property_order == PropertyOrder::Schema {
            // Named members do not come any more.
            after.condition = self.without(id, state.condition, state.at..end);
            after.at = end;
        }
        let ways = self.sets.ways(after.condition, Key::Other(&other.inside), other.set)?;
        self.alive(id, after, ways, Some(class))
    }

    /// The sets that the value of a named member may be in, each with the state after it.
    fn named_ways(
        &mut self,
        id: u32,
        state: ObjectState,
        index: u32,
    ) -> Result<Vec<(Set, ObjectState)>> {
        let after = self.after_named(id, state, index);
        let member = &self.lazy.objects[id as usize].members[index as usize];
        let key = Key::Named(&member.key, &member.spelled);
        let ways = self.sets.ways(after.condition, key, member.set)?;
        self.alive(id, after, ways, None)
    }

    /// Those ways that have values and lead on, after a key of this class if it has no name.
    fn alive(
        &mut self,
        id: u32,
        after: ObjectState,
        ways: Vec<(Set, Condition)>,
        class: Option<usize>,
    ) -> Result<Vec<(Set, ObjectState)>> {
        let mut alive = Vec::new();
        for (set, condition) in ways {
            let condition = self.sets.conditions.counted(condition, after.count);
            let next = ObjectState { condition, ..after };
            if self.has_value(set)? && self.can_meet(id, next, class)? {
                alive.push((set, next));
            }
        }
        Ok(alive)
    }

    /// The condition once some of the named members do not come any more.
    fn without(&mut self, id: u32, condition: Condition, passed: Range<u32>) -> Condition {
        if condition == Condition::HOLDS {
            return condition;
        }
        let indices = &self.lazy.objects[id as usize].indices;
        let passed = |key: &str| indices.get(key).is_some_and(|index| passed.contains(index));
        self.sets.conditions.without(condition, passed)
    }

    /// How many keys of each class are left, once one more of a class is written.
    fn keys_left(
        &mut self,
        id: u32,
        state: ObjectState,
        class: Option<usize>,
    ) -> Result<Rc<[u32]>> {
        let object = &self.lazy.objects[id as usize];
        if object.keys.iter().all(|&keys| keys >= MANY) {
            return Ok(Rc::clone(&object.keys));
        }
        let (others, mut left) = (Rc::clone(&object.others), object.keys.to_vec());
        let used = self.lazy.used.get(state.used).clone();
        for (i, left) in left.iter_mut().enumerate().filter(|(_, left)| **left < MANY) {
            for key in &used {
                let spelled = self.sets.strings.spell(key);
                let written = self.sets.languages.matches(others[i].keys, &spelled)?;
                *left = left.saturating_sub(u32::from(written));
            }
            *left = left.saturating_sub(u32::from(class == Some(i)));
        }
        Ok(left.into())
    }

    /// Can what is asked of members still be met, within the most members, after a key of this
    /// class?
    fn can_meet(&mut self, id: u32, state: ObjectState, class: Option<usize>) -> Result<bool> {
        match state.condition {
            Condition::HOLDS => Ok(true),
            Condition::FAILS => Ok(false),
            _ => Ok(self.met(id, state, class)?.is_some()),
        }
    }

    fn met(&mut self, id: u32, state: ObjectState, class: Option<usize>) -> Result<Option<Met>> {
        // Which other keys are written does not matter, only how many are left.
        let keys = self.keys_left(id, state, class)?;
        let object = &self.lazy.objects[id as usize];
        let (max, others) = (object.max, object.others.clone());
        let left = (state.at..object.members.len() as u32).filter(|&i| !self.is_seen(state, i));
        let left: Vec<u32> = left.collect();
        let members = &self.lazy.objects[id as usize].members;
        let each = left.iter().map(|&i| &members[i as usize]);
        let each = each.map(|member| (&member.key, member.set, member.required));
        let counted = (others.clone(), Rc::clone(&keys));
        let (search, start) = self.sets.search(state.condition, state.count, max, each, counted)?;
        // Nor do names that nothing is asked of.
        let lazy = &mut self.lazy;
        let indices = &lazy.objects[id as usize].indices;
        let asked = search.names().filter_map(|name| indices.get(name).copied());
        let asked: Box<[u32]> = asked.collect();
        let key = (id, start, asked.clone(), keys);
        if let Some(&known) = lazy.met.get(&key) {
            return Ok(known);
        }
        let has_value = &mut |sets: &mut Sets<'d>, set| Ok(!sets.is_empty(set)?);
        let met = match self.sets.find(&search, start, has_value)? {
            Some(Found::Nothing) => None,
            Some(Found::Members(written)) => {
                let written = written.into_iter().filter_map(|at| asked.get(at).copied());
                // What most hangs on was looked at first.
                let by = match self.sets.options.property_order {
                    PropertyOrder::Any => written.into_iter().next(),
                    PropertyOrder::Schema => written.min(),
                };
                Some(Met { by })
            }
            None => {
                let members = &self.lazy.objects[id as usize].members;
                let named = left.iter().map(|&index| {
                    let Member { key, set, required, .. } = &members[index as usize];
                    Named { key: key.clone(), set: *set, required: *required }
                });
                let classes = others.iter().map(|o| Class { keys: o.keys, set: o.set });
                let object = ObjectSet {
                    named: named.collect(),
                    classes: classes.collect(),
                    condition: self.sets.conditions.after(state.condition, state.count),
                    max: max.map(|max| max.saturating_sub(state.count)),
                    ..ObjectSet::any(Language::EMPTY)
                };
                let any = self.sets.finds_any(object, has_value, &mut 0)?;
                any.then_some(Met { by: None })
            }
        };
        self.lazy.met.insert(key, met);
        Ok(met)
    }

    /// Can the object still be completed after this named member?
    fn leads_on(&mut self, id: u32, state: ObjectState, index: u32) -> Result<bool> {
        let member = &self.lazy.objects[id as usize].members[index as usize];
        if state.condition == Condition::HOLDS {
            let set = member.set;
            return self.has_value(set);
        }
        // One way is enough: what others hold is looked at once the name is written.
        let after = self.after_named(id, state, index);
        let mut passed: FxHashSet<(Set, Condition)> = FxHashSet::default();
        loop {
            let member = &self.lazy.objects[id as usize].members[index as usize];
            let key = Key::Named(&member.key, &member.spelled);
            let mut found = None;
            self.sets.ways_until(after.condition, key, member.set, &mut |sets, set, left| {
                let is_new = !passed.contains(&(set, left));
                let leads = is_new && (set == Set::ANY || !sets.is_empty(set)?);
                if leads {
                    found = Some((set, left));
                }
                Ok(leads)
            })?;
            let Some(way) = found else { return Ok(false) };
            passed.insert(way);
            if !self.alive(id, after, vec![way], None)?.is_empty() {
                return Ok(true);
            }
        }
    }

    fn is_seen(&self, state: ObjectState, index: u32) -> bool {
        let seen = self.lazy.seen.get(state.seen);
        let word = seen.get(index as usize / 64).copied().unwrap_or(0);
        word >> (index % 64) & 1 == 1
    }

    /// How many required members are still to come.
    fn required_left(&mut self, id: u32, state: ObjectState) -> u32 {
        let members = &self.lazy.objects[id as usize].members;
        let required: Vec<u32> = (0..)
            .zip(members)
            .skip(state.at as usize)
            .filter(|(_, member)| member.required)
            .map(|(index, _)| index)
            .collect();
        required.into_iter().filter(|&index| !self.is_seen(state, index)).count() as u32
    }

    /// The named members that may come next, as indices, where they come in any order.
    fn names_in_any_order(&mut self, id: u32, state: ObjectState) -> Result<Vec<u32>> {
        let left = self.required_left(id, state);
        let mut allowed = Vec::new();
        for index in 0..self.lazy.objects[id as usize].members.len() as u32 {
            let object = &self.lazy.objects[id as usize];
            let required = object.members[index as usize].required;
            let fits = object.fits(state.count + u32::from(!required), left);
            if fits && !self.is_seen(state, index) && self.leads_on(id, state, index)? {
                allowed.push(index);
            }
        }
        Ok(allowed)
    }

    /// The named members that may come next, as indices.
    fn names_at(&mut self, id: u32, state: ObjectState) -> Result<Vec<u32>> {
        if self.sets.options.property_order == PropertyOrder::Any {
            return self.names_in_any_order(id, state);
        }
        let mut allowed = Vec::new();
        let mut at = state.at;
        // The same for all names up to the first that is required.
        let left = self.required_left(id, state);
        loop {
            let object = &self.lazy.objects[id as usize];
            let Some(member) = object.members.get(at as usize) else { break };
            let required = member.required;
            let fits = object.fits(state.count + u32::from(!required), left);
            if fits && self.leads_on(id, state, at)? {
                allowed.push(at);
            }
            if required {
                break;
            }
            at += 1;
        }
        // With a least number of members, a name may be skipped only if enough others are left.
        let object = &self.lazy.objects[id as usize];
        if object.min > state.count && object.others.is_empty() {
            let missing = object.min - state.count;
            // The last name from which on there are enough.
            let mut possible = 0;
            let mut last = self.lazy.objects[id as usize].members.len() as u32;
            while possible < missing && last > state.at {
                last -= 1;
                let set = self.lazy.objects[id as usize].members[last as usize].set;
                possible += u32::from(self.has_value(set)?);
            }
            let enough = possible >= missing;
            allowed.retain(|&index| enough && index <= last);
            return Ok(allowed);
        }
        Ok(allowed)
    }

    fn counted(&self, id: u32, count: u32) -> u32 {
        let cap = self.lazy.objects[id as usize].cap;
        (count + 1).min(cap)
    }

    /// A choice of names.
    pub(crate) fn names(&mut self, tag: u32) -> Names {
        let lazy = &mut self.lazy;
        let (id, state, ranks) = lazy.choices[self.numbering.index(tag)].clone();
        let object = &lazy.objects[id as usize];
        // Allowed names are not written yet. Those that are not required bring no end nearer,
        // unless members are too few, or something else is asked of them.
        let member = |rank: u32| &object.members[object.by_rank[rank as usize] as usize];
        let required = ranks.iter().copied().find(|&rank| member(rank).required);
        let names = Names::new(Arc::clone(&object.trie), ranks.iter().copied(), tag);
        let needed = match required {
            None if !self.sets.conditions.at_end(state.condition) => {
                // Found when the state was entered, within the limits.
                let met = self.met(id, state, None).ok().flatten();
                let object = &self.lazy.objects[id as usize];
                let by = met.and_then(|met| met.by).map(|index| object.ranks[index as usize]);
                by.filter(|rank| ranks.contains(rank))
            }
            required => required,
        };
        names.needing(needed)
    }

    /// The names of a choice by rank, as they are written.
    pub(crate) fn choice_of_names(&self, tag: u32) -> Vec<(u32, Vec<u8>)> {
        let (id, _, ranks) = &self.lazy.choices[self.numbering.index(tag)];
        let object = &self.lazy.objects[*id as usize];
        let name = |&rank: &u32| {
            let member = &object.members[object.by_rank[rank as usize] as usize];
            (rank, [b"\"", &member.spelled[..], b"\""].concat())
        };
        ranks.iter().map(name).collect()
    }

    /// If what is captured is a name in a spelling that is not canonical: each of its choice.
    pub(crate) fn spelled_names(&mut self, tag: u32) -> Option<Vec<SpelledName>> {
        let Captured::Name(choice) = self.lazy.captures[self.numbering.index(tag)] else {
            return None;
        };
        let (id, _, ranks) = self.lazy.choices[self.numbering.index(choice)].clone();
        let mut names = Vec::with_capacity(ranks.len());
        for rank in ranks {
            let object = &self.lazy.objects[id as usize];
            let key = Rc::clone(&object.members[object.by_rank[rank as usize] as usize].key);
            let spelled = self.sets.strings.escaped(&mut self.sets.languages, &[&*key]);
            let spelled = self.between_quotes(spelled);
            names.push(SpelledName { choice, rank, spelled });
        }
        Some(names)
    }

    /// Whether what is captured is a key that counts: more than one of its kind must come.
    pub(crate) fn counts_keys(&mut self, tag: u32) -> bool {
        match self.lazy.captures[self.numbering.index(tag)] {
            Captured::Key(id, state, _) => {
                let least = self.lazy.objects[id as usize].min;
                least > 1 || self.sets.conditions.count_cap(state.condition) > 1
            }
            Captured::Name(_) | Captured::Item(..) => false,
        }
    }

    /// The state after a named member, but for what its value decides.
    fn after_named(&mut self, id: u32, state: ObjectState, index: u32) -> ObjectState {
        let count = self.counted(id, state.count);
        match self.sets.options.property_order {
            PropertyOrder::Any => {
                let lazy = &mut self.lazy;
                let mut seen = lazy.seen.get(state.seen).to_vec();
                seen.resize(lazy.objects[id as usize].members.len().div_ceil(64), 0);
                seen[index as usize / 64] |= 1 << (index % 64);
                let seen = lazy.seen.id(seen.into());
                ObjectState { seen, count, phase: Phase::Going, ..state }
            }
            PropertyOrder::Schema => {
                // What was passed over will not come any more.
                let condition = self.without(id, state.condition, state.at..index);
                ObjectState { at: index + 1, count, phase: Phase::Going, condition, ..state }
            }
        }
    }

    /// What follows a name.
    pub(crate) fn after_name(&mut self, tag: u32, rank: u32) -> Result<NodeId> {
        let lazy = &mut self.lazy;
        let (id, state) =
            (lazy.choices[self.numbering.index(tag)].0, lazy.choices[self.numbering.index(tag)].1);
        let index = lazy.objects[id as usize].by_rank[rank as usize];
        let ways = self.named_ways(id, state, index)?;
        self.member(id, &ways)
    }

    /// What follows a captured text, if it may be; `None` is any.
    pub(crate) fn after_capture(
        &mut self,
        tag: u32,
        text: Option<&[u8]>,
    ) -> Result<Option<NodeId>> {
        match self.lazy.captures[self.numbering.index(tag)] {
            Captured::Key(id, state, class) => self.after_key((id, state, class), text).map(Some),
            Captured::Name(choice) => self.after_escaped(choice, text).map(Some),
            Captured::Item(id, state, counts) => self.after_item((id, state, counts), text),
        }
    }

    /// Whether a captured text is an item of an array.
    pub(crate) fn is_item(&self, tag: u32) -> bool {
        let captured = self.lazy.captures.get(self.numbering.index(tag));
        matches!(captured, Some(Captured::Item(..)))
    }

    /// Texts that what is captured must not be, though its language holds them.
    pub(crate) fn looked_up(&self, tag: u32) -> Option<(Arc<TextSets>, TextSet)> {
        let set = *self.lazy.looked_up.get(&tag)?;
        Some((Arc::clone(&self.sets.written.texts), set))
    }

    /// What follows a name that is not spelled canonically; `None` is any of the choice.
    fn after_escaped(&mut self, choice: u32, name: Option<&[u8]>) -> Result<NodeId> {
        // A text that the terminal has accepted is a JSON string.
        let name = name.and_then(|name| serde_json::from_slice::<String>(name).ok());
        let lazy = &mut self.lazy;
        let (id, _, mut ranks) = lazy.choices[self.numbering.index(choice)].clone();
        let object = &lazy.objects[id as usize];
        ranks.retain(|&rank| {
            let index = object.by_rank[rank as usize];
            name.as_ref().is_none_or(|name| *object.members[index as usize].key == **name)
        });
        let ways: Result<Vec<NodeId>> =
            ranks.into_iter().map(|rank| self.after_name(choice, rank)).collect();
        Ok(self.builder.choice(ways?))
    }

    /// What follows a key without a name of its own; `None` is any.
    fn after_key(
        &mut self,
        (id, state, class): (u32, ObjectState, usize),
        key: Option<&[u8]>,
    ) -> Result<NodeId> {
        let mut ways = self.other_ways(id, state, class)?;
        let lazy = &mut self.lazy;
        let used = match key {
            // A text that the terminal has accepted is a JSON string.
            Some(key) => match serde_json::from_slice::<String>(key) {
                Ok(key) => {
                    let mut used = lazy.used.get(state.used).clone();
                    used.push(key.into());
                    used.sort_unstable();
                    lazy.used.id(used)
                }
                Err(_) => state.used,
            },
            None => state.used,
        };
        ways.iter_mut().for_each(|(_, next)| next.used = used);
        self.member(id, &ways)
    }

    /// A colon, and a value in one of these sets with the state after it. A colon on the first line
    /// decides how the text goes on.
    fn member(&mut self, id: u32, ways: &[(Set, ObjectState)]) -> Result<NodeId> {
        let mut members = Vec::new();
        for layout in Layout::ONE_LINE {
            let in_layout = |&(set, next): &(Set, ObjectState)| {
                (next.layout == Layout::OneLine).then_some((set, ObjectState { layout, ..next }))
            };
            let ways: Vec<(Set, ObjectState)> = ways.iter().filter_map(in_layout).collect();
            if !ways.is_empty() {
                members.push(self.member_in(id, layout, &ways));
            }
        }
        match (members.is_empty(), ways.first()) {
            (true, Some(&(_, next))) => Ok(self.member_in(id, next.layout, ways)),
            _ => Ok(self.builder.choice_by_length(members)),
        }
    }

    fn member_in(&mut self, id: u32, layout: Layout, ways: &[(Set, ObjectState)]) -> NodeId {
        let mut values = Vec::with_capacity(ways.len());
        for &(set, next) in ways {
            let name = self.lazy.objects[id as usize].name.clone();
            let rule = self.builder.declare_from(name);
            self.lazy.open.insert(rule, Open::Member(id, set, next));
            values.push(self.builder.call(rule));
        }
        let (colon, value) = (self.signs(layout).colon, self.builder.choice(values));
        self.builder.sequence([colon, value])
    }
}

#[cfg(test)]
mod tests {
    use super::least_bytes_of_distinct;

    #[test]
    fn texts_that_differ_are_longer_than_texts_that_need_not() {
        assert_eq!(least_bytes_of_distinct(0), 0);
        assert_eq!(least_bytes_of_distinct(1), 0);
        assert_eq!(least_bytes_of_distinct(257), 256);
        assert_eq!(least_bytes_of_distinct(1_000), 256 + 2 * 743);
        assert!(least_bytes_of_distinct(u32::MAX) > 3 * u64::from(u32::MAX));
    }
}
