//! The members that keys begin: the sets that their values may be in, and the states after them.

use std::sync::Arc;

use crate::error::Result;
use crate::grammar::key_choice::KeyChoice;
use crate::grammar::{Node, NodeId};
use crate::json_schema::emit::Emitter;
use crate::json_schema::emit::state::{Captured, ObjectState, Progress};
use crate::json_schema::options::PropertyOrder;
use crate::json_schema::set::Set;
use crate::json_schema::set::keys::MemberKey;
use crate::json_schema::string::written::writable_texts;
use crate::regular::Language;

/// A key of the key choice with the tag `choice`, in all its spellings but the canonical one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpelledKey {
    pub(crate) choice: u32,
    pub(crate) rank: u32,
    pub(crate) spelled: Language,
}

impl Emitter<'_> {
    /// A key choice.
    pub(crate) fn key_choice(&mut self, tag: u32) -> KeyChoice {
        let (id, state, ranks) = self.objects.choices[self.numbering.index(tag)].clone();
        let object = &self.objects.automata[id as usize];
        // Allowed names are not written yet. Those that are not required bring no end nearer,
        // unless members are too few, or something else is asked of them.
        let member = |rank: u32| &object.members[object.by_rank[rank as usize] as usize];
        let required = ranks.iter().copied().find(|&rank| member(rank).required);
        let choice = KeyChoice::new(Arc::clone(&object.trie), ranks.iter().copied(), tag);
        let needed = match required {
            None if !self.sets.formulas.holds_at_end(state.formula) => {
                // Found when the state was entered, within the limits.
                let met = self.meet_formula(id, state, None).ok().flatten();
                let object = &self.objects.automata[id as usize];
                let by = met.and_then(|met| met.by).map(|index| object.ranks[index as usize]);
                by.filter(|rank| ranks.contains(rank))
            }
            required => required,
        };
        choice.needing(needed)
    }

    /// The keys of a choice by rank, as they are written.
    pub(crate) fn choice_keys(&self, tag: u32) -> Vec<(u32, Vec<u8>)> {
        let (id, state, ranks) = &self.objects.choices[self.numbering.index(tag)];
        let object = &self.objects.automata[*id as usize];
        let name = |&rank: &u32| {
            let member = &object.members[object.by_rank[rank as usize] as usize];
            (rank, self.written_key(state.layout, &member.key, &member.spelled))
        };
        ranks.iter().map(name).collect()
    }

    /// Every key of the key choice, if the capture with this tag reads a name in a spelling that is
    /// not canonical; `None` for other captures.
    pub(crate) fn spelled_keys(&mut self, tag: u32) -> Option<Vec<SpelledKey>> {
        let Captured::EscapedKey(choice) = self.captures[self.numbering.index(tag)] else {
            return None;
        };
        let (id, _, ranks) = self.objects.choices[self.numbering.index(choice)].clone();
        let mut names = Vec::with_capacity(ranks.len());
        for rank in ranks {
            let object = &self.objects.automata[id as usize];
            let key = Arc::clone(&object.members[object.by_rank[rank as usize] as usize].key);
            let Ok(spelled) = self.escaped(&[&*key]) else { continue };
            let spelled = self.between_quotes(spelled);
            names.push(SpelledKey { choice, rank, spelled });
        }
        Some(names)
    }

    /// Whether the capture with this tag reads a key without a name in an object that may require
    /// more than one member, so that the number of keys matters.
    pub(crate) fn counts_keys(&mut self, tag: u32) -> bool {
        match self.captures[self.numbering.index(tag)] {
            Captured::Key(id, state, _) => {
                let least = self.objects.automata[id as usize].min;
                least > 1 || self.sets.formulas.count_cap(state.formula) > 1
            }
            Captured::EscapedKey(_) | Captured::Item(..) => false,
        }
    }

    /// Names as they may be spelled otherwise than canonically.
    fn escaped(&mut self, names: &[&str]) -> Result<Language> {
        let escaped = self.sets.strings.escaped(&mut self.sets.languages, names);
        if !self.sets.options.restricts_texts() {
            return Ok(escaped);
        }
        writable_texts(&mut self.sets.languages, escaped, self.sets.options)
    }

    /// The names of a choice as they may be spelled otherwise than canonically, if they may.
    pub(crate) fn escaped_keys(
        &mut self,
        id: u32,
        allowed: &[u32],
        choice: u32,
    ) -> Result<Option<NodeId>> {
        let members = &self.objects.automata[id as usize].members;
        let keys = allowed.iter().map(|&index| Arc::clone(&members[index as usize].key));
        let keys: Vec<Arc<str>> = keys.collect();
        let names = self.escaped(&keys.iter().map(|key| &**key).collect::<Vec<_>>())?;
        if !self.sets.languages.is_live(names)? {
            return Ok(None);
        }
        let tag = self.numbering.tag(self.captures.len());
        self.captures.push(Captured::EscapedKey(choice));
        let names = self.between_quotes(names);
        Ok(Some(self.builder.add(Node::Capture(names, tag))))
    }

    pub(crate) fn between_quotes(&mut self, text: Language) -> Language {
        let languages = &mut self.sets.languages;
        let quote = languages.literal(b"\"");
        languages.concat([quote, text, quote])
    }

    /// The state after a named member, but for what its value decides.
    pub(crate) fn state_after_named(
        &mut self,
        id: u32,
        state: ObjectState,
        index: u32,
    ) -> ObjectState {
        let count = self.count_after(id, state.count);
        match self.sets.options.property_order {
            PropertyOrder::Any => {
                let mut seen = self.objects.seen.get(state.seen).to_vec();
                seen.resize(self.objects.automata[id as usize].members.len().div_ceil(64), 0);
                seen[index as usize / 64] |= 1 << (index % 64);
                let seen = self.objects.seen.id(seen.into());
                ObjectState { seen, count, progress: Progress::NotEmpty, ..state }
            }
            PropertyOrder::Schema => {
                // What was passed over will not come any more.
                let formula = self.without(id, state.formula, state.at..index);
                ObjectState { at: index + 1, count, progress: Progress::NotEmpty, formula, ..state }
            }
        }
    }

    /// The part after a name: colon, value, and the rest of the object.
    pub(crate) fn after_key(&mut self, tag: u32, rank: u32) -> Result<NodeId> {
        let (id, state) = (
            self.objects.choices[self.numbering.index(tag)].0,
            self.objects.choices[self.numbering.index(tag)].1,
        );
        let index = self.objects.automata[id as usize].by_rank[rank as usize];
        let ways = self.named_member_values(id, state, index)?;
        let key = Arc::clone(&self.objects.automata[id as usize].members[index as usize].key);
        self.member(id, Some(&key), &ways)
    }

    /// The part after a name that is not spelled canonically; without a text, after any of its
    /// choice.
    pub(crate) fn after_escaped_key(&mut self, choice: u32, name: Option<&[u8]>) -> Result<NodeId> {
        // A text that the terminal has accepted is a JSON string.
        let name = name.and_then(|name| serde_json::from_slice::<String>(name).ok());
        let (id, _, mut ranks) = self.objects.choices[self.numbering.index(choice)].clone();
        let object = &self.objects.automata[id as usize];
        ranks.retain(|&rank| {
            let index = object.by_rank[rank as usize];
            name.as_ref().is_none_or(|name| *object.members[index as usize].key == **name)
        });
        let ways: Result<Vec<NodeId>> =
            ranks.into_iter().map(|rank| self.after_key(choice, rank)).collect();
        Ok(self.builder.choice(ways?))
    }

    /// The part after a key without a name of its own; without a text, after any.
    pub(crate) fn after_captured_key(
        &mut self,
        (id, state, class): (u32, ObjectState, usize),
        key: Option<&[u8]>,
    ) -> Result<NodeId> {
        let mut ways = self.other_member_values(id, state, class)?;
        let key = key.and_then(|key| self.read_key(state.layout, key));
        let used = match &key {
            Some(key) => {
                let mut used = self.objects.used.get(state.used).clone();
                used.push(Arc::clone(key));
                used.sort_unstable();
                self.objects.used.id(used)
            }
            None => state.used,
        };
        ways.iter_mut().for_each(|(_, next)| next.used = used);
        self.member(id, key.as_deref(), &ways)
    }

    /// The sets that the value of a member without a name may be in, each with the state after it
    /// but for its key.
    pub(crate) fn other_member_values(
        &mut self,
        id: u32,
        state: ObjectState,
        class: usize,
    ) -> Result<Vec<(Set, ObjectState)>> {
        let object = &self.objects.automata[id as usize];
        let (end, other) = (object.members.len() as u32, object.others[class].clone());
        let count = self.count_after(id, state.count);
        let mut after = ObjectState { count, progress: Progress::NotEmpty, ..state };
        if self.sets.options.property_order == PropertyOrder::Schema {
            // Named members do not come any more.
            after.formula = self.without(id, state.formula, state.at..end);
            after.at = end;
        }
        let key = MemberKey::Other(&other.inside);
        let alternatives = self.sets.member_alternatives(after.formula, key, other.set)?;
        self.completable(id, after, alternatives, Some(class))
    }

    /// The sets that the value of a named member may be in, each with the state after it.
    pub(crate) fn named_member_values(
        &mut self,
        id: u32,
        state: ObjectState,
        index: u32,
    ) -> Result<Vec<(Set, ObjectState)>> {
        let after = self.state_after_named(id, state, index);
        let member = &self.objects.automata[id as usize].members[index as usize];
        let key = MemberKey::Named(&member.key, &member.spelled);
        let alternatives = self.sets.member_alternatives(after.formula, key, member.set)?;
        self.completable(id, after, alternatives, None)
    }
}
