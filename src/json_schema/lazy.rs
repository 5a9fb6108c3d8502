//! Rules that are made when they are entered, and depend on what was read.
//!
//! An object is a machine whose states know which names may still come, how many members are
//! written, and which keys without a name of their own were used. A state's rule is made when the
//! state is reached for the first time: so an object costs what a text visits of it, and no key
//! comes twice.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::emit::Emitter;
use super::object::ObjectSet;
use super::set::{Set, Sources};
use crate::constraint::Names;
use crate::error::Result;
use crate::grammar::{Node, NodeId, RuleId};
use crate::regex::Language;
use crate::vocab::Trie;

/// What stands for a rule until its body is made.
#[derive(Clone, Copy, Debug)]
enum Open {
    Set(Set),
    Object(u32, ObjectState),
    /// A value and the state after it.
    Member(u32, Set, ObjectState),
}

/// What is known of an object after some of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ObjectState {
    /// The next of the named members, in the schema's order; in any order, an index into
    /// [`Lazy::seen`].
    at: u32,
    /// Members written, as far as that matters.
    count: u32,
    /// Is anything written?
    any: bool,
    /// Keys without a name of their own that are written: an index into [`Lazy::used`].
    used: u32,
}

/// An object whose rules are made one by one.
#[derive(Debug)]
struct Object {
    members: Vec<Member>,
    /// Names by rank.
    trie: Arc<Trie>,
    /// By rank: the index of the member.
    by_rank: Vec<u32>,
    /// By index: the rank.
    ranks: Vec<u32>,
    /// Keys without a name, and the sets of their values.
    others: Vec<(Language, Set)>,
    min: u32,
    max: Option<u32>,
    /// Counts from here on are the same.
    cap: u32,
    required: u32,
    name: String,
    sources: Sources,
}

#[derive(Debug)]
struct Member {
    set: Set,
    required: bool,
}

/// What is left to be made, and what it will need.
#[derive(Debug, Default)]
pub(super) struct Lazy {
    open: FxHashMap<RuleId, Open>,
    objects: Vec<Object>,
    states: FxHashMap<(u32, ObjectState), RuleId>,
    /// Sets of named members that are written, in any order, as bits.
    seen: Interned<Box<[u64]>>,
    /// Sets of other keys that are written, sorted.
    used: Interned<Vec<Arc<str>>>,
    /// Choices of names, by tag.
    choices: Vec<(u32, ObjectState, Vec<u32>)>,
    /// Captured keys, by tag: the object, its state, and the class of the key.
    keys: Vec<(u32, ObjectState, usize)>,
}

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
    pub(super) fn set_rule(&mut self, rule: RuleId, set: Set) {
        self.open.insert(rule, Open::Set(set));
    }
}

impl Object {
    /// Can `count` members be completed to a whole object if so many required ones are left?
    fn fits(&self, count: u32, required: u32) -> bool {
        self.max.is_none_or(|max| count + required <= max)
    }
}

impl Emitter<'_> {
    /// Only lazy emitters are asked for what is lazy.
    fn pending(&mut self) -> &mut Lazy {
        self.lazy.get_or_insert_default()
    }

    /// The body of a rule.
    pub(super) fn body(&mut self, rule: RuleId) -> Result<NodeId> {
        match self.pending().open.remove(&rule) {
            Some(Open::Set(set)) => self.rule(set),
            Some(Open::Object(object, state)) => self.object_state(object, state),
            Some(Open::Member(object, set, next)) => {
                let value = match self.value(set)? {
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

    /// Is it plain to see that a set has a value?
    fn has_value(&mut self, set: Set) -> Result<bool> {
        Ok(set == Set::ANY || !self.sets.is_empty(set)?)
    }

    pub(super) fn lazy_object(&mut self, object: &ObjectSet, name: &str) -> Result<Option<NodeId>> {
        let mut members = Vec::with_capacity(object.named.len());
        let mut spelled: Vec<(Vec<u8>, u32)> = Vec::with_capacity(object.named.len());
        let mut named = Vec::with_capacity(object.named.len());
        for member in &object.named {
            named.push(&*member.key);
            if member.set == Set::NEVER {
                if member.required {
                    return Ok(None);
                }
                continue;
            }
            let mut text = vec![b'"'];
            text.extend(self.sets.strings.spell(&member.key));
            text.push(b'"');
            spelled.push((text, members.len() as u32));
            members.push(Member { set: member.set, required: member.required });
        }
        spelled.sort_unstable();
        let trie = Trie::from_sorted((0..).zip(&spelled).map(|(rank, (text, _))| (&text[..], rank)));
        let by_rank: Vec<u32> = spelled.iter().map(|&(_, index)| index).collect();
        let mut ranks = vec![0; members.len()];
        (0..).zip(&by_rank).for_each(|(rank, &index)| ranks[index as usize] = rank);
        let mut others = Vec::new();
        for class in &object.classes {
            if class.set == Set::NEVER || !self.has_value(class.set)? {
                continue;
            }
            let languages = &mut self.sets.languages;
            let names = self.sets.strings.texts(languages, named.iter().copied());
            let keys = languages.difference(class.keys, names);
            if languages.is_live(keys)? {
                others.push((keys, class.set));
            }
        }
        let required = object.required() as u32;
        let min = if object.min <= required { 0 } else { object.min };
        let cap = object.max.unwrap_or(min).max(min);
        let this = Object {
            members,
            trie: Arc::new(trie),
            by_rank,
            ranks,
            others,
            min,
            max: object.max,
            cap,
            required,
            name: name.to_owned(),
            sources: object.sources.clone(),
        };
        if !this.fits(0, required) {
            return Ok(None);
        }
        let lazy = self.pending();
        let id = lazy.objects.len() as u32;
        lazy.objects.push(this);
        let state = ObjectState { at: 0, count: 0, any: false, used: 0 };
        let first = self.call_state(id, state);
        let node = self.builder.sequence([self.open_object, first]);
        Ok(Some(self.mark(node, &object.sources)))
    }

    fn call_state(&mut self, object: u32, state: ObjectState) -> NodeId {
        let lazy = self.lazy.get_or_insert_default();
        let rule = *lazy.states.entry((object, state)).or_insert_with(|| {
            let rule = self.builder.declare(lazy.objects[object as usize].name.clone());
            lazy.open.insert(rule, Open::Object(object, state));
            rule
        });
        self.builder.call(rule)
    }

    /// What may follow in a state.
    fn object_state(&mut self, id: u32, state: ObjectState) -> Result<NodeId> {
        let allowed = self.names_at(id, state)?;
        let object = &self.pending().objects[id as usize];
        let left = object.members[state.at as usize..].iter();
        let left = left.filter(|member| member.required).count() as u32;
        let more = object.fits(state.count + 1, left);
        let closes = left == 0 && state.count >= object.min.min(object.cap);
        let others = if more && left == 0 { object.others.clone() } else { Vec::new() };
        let sources = object.sources.clone();
        let used = self.pending().used.get(state.used).clone();
        let mut members = Vec::new();
        if !allowed.is_empty() {
            let lazy = self.pending();
            let tag = lazy.choices.len() as u32;
            let ranks = &lazy.objects[id as usize].ranks;
            let ranks = allowed.into_iter().map(|index| ranks[index as usize]).collect();
            lazy.choices.push((id, state, ranks));
            let names = self.builder.add(Node::Names(tag));
            members.push(self.mark(names, &sources));
        }
        for (class, (keys, _)) in others.into_iter().enumerate() {
            let languages = &mut self.sets.languages;
            let written = self.sets.strings.texts(languages, used.iter().map(|key| &**key));
            let keys = languages.difference(keys, written);
            if !used.is_empty() && !languages.is_live(keys)? {
                continue;
            }
            let keys = match used.is_empty() {
                true => self.quoted_text(keys),
                // Used once: finishing an automaton for it would cost more than it saves.
                false => {
                    let languages = &mut self.sets.languages;
                    let quote = languages.literal(b"\"");
                    languages.concat([quote, keys, quote])
                }
            };
            let lazy = self.pending();
            let tag = lazy.keys.len() as u32;
            lazy.keys.push((id, state, class));
            let key = self.builder.add(Node::Capture(keys, tag));
            members.push(self.mark(key, &sources));
        }
        let mut ways = Vec::new();
        if closes {
            ways.push(if state.any { self.close_object } else { self.end_object });
        }
        if !members.is_empty() {
            let member = self.builder.choice(members);
            ways.push(match state.any {
                true => self.builder.sequence([self.comma, member]),
                false => member,
            });
        }
        Ok(self.builder.choice(ways))
    }

    /// The named members that may come next, as indices.
    fn names_at(&mut self, id: u32, state: ObjectState) -> Result<Vec<u32>> {
        let mut allowed = Vec::new();
        let mut at = state.at;
        loop {
            let object = &self.pending().objects[id as usize];
            let Some(member) = object.members.get(at as usize) else { break };
            let (set, required) = (member.set, member.required);
            let left = object.members[at as usize..].iter();
            let left = left.filter(|member| member.required).count() as u32;
            let fits = object.fits(state.count + u32::from(!required), left);
            if fits && self.has_value(set)? {
                allowed.push(at);
            }
            if required {
                break;
            }
            at += 1;
        }
        // With a least number of members, a name may be skipped only if enough others are left.
        let object = &self.pending().objects[id as usize];
        if object.min > state.count && object.others.is_empty() {
            let missing = object.min - state.count;
            let mut kept = Vec::new();
            for index in allowed {
                let mut possible = 0;
                for later in index..self.pending().objects[id as usize].members.len() as u32 {
                    let set = self.pending().objects[id as usize].members[later as usize].set;
                    possible += u32::from(self.has_value(set)?);
                }
                if possible >= missing {
                    kept.push(index);
                }
            }
            return Ok(kept);
        }
        Ok(allowed)
    }

    fn counted(&self, id: u32, count: u32) -> u32 {
        let cap = self.lazy.as_ref().map_or(0, |lazy| lazy.objects[id as usize].cap);
        (count + 1).min(cap)
    }

    /// A choice of names.
    pub(super) fn names(&mut self, tag: u32) -> Names {
        let lazy = self.pending();
        let (id, _, ranks) = &lazy.choices[tag as usize];
        let trie = Arc::clone(&lazy.objects[*id as usize].trie);
        Names::new(trie, ranks.iter().copied(), tag)
    }

    /// What follows a name.
    pub(super) fn after_name(&mut self, tag: u32, rank: u32) -> Result<NodeId> {
        let lazy = self.pending();
        let (id, state) = (lazy.choices[tag as usize].0, lazy.choices[tag as usize].1);
        let object = &lazy.objects[id as usize];
        let index = object.by_rank[rank as usize];
        let set = object.members[index as usize].set;
        let count = self.counted(id, state.count);
        let next = ObjectState { at: index + 1, count, any: true, ..state };
        self.member(id, set, next)
    }

    /// What follows a key without a name of its own; `None` is any.
    pub(super) fn after_key(&mut self, tag: u32, key: Option<&[u8]>) -> Result<NodeId> {
        let lazy = self.pending();
        let (id, state, class) = lazy.keys[tag as usize];
        let object = &lazy.objects[id as usize];
        let (set, end) = (object.others[class].1, object.members.len() as u32);
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
        let count = self.counted(id, state.count);
        let next = ObjectState { at: end, count, any: true, used };
        self.member(id, set, next)
    }

    fn member(&mut self, id: u32, set: Set, next: ObjectState) -> Result<NodeId> {
        let name = self.pending().objects[id as usize].name.clone();
        let rule = self.builder.declare(name);
        self.pending().open.insert(rule, Open::Member(id, set, next));
        let value = self.builder.call(rule);
        Ok(self.builder.sequence([self.colon, value]))
    }
}
