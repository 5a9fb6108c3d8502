//! The rules of an object's states: the names, keys and brackets that may come next.

use std::sync::Arc;

use crate::error::Result;
use crate::grammar::{Node, NodeId};
use crate::json_schema::emit::Emitter;
use crate::json_schema::emit::state::{Captured, ObjectState, OpenRule, Progress};
use crate::json_schema::layout::Layout;
use crate::json_schema::options::{PropertyOrder, Spelling};
use crate::json_schema::set::Set;
use crate::regular::Language;

impl Emitter<'_> {
    /// Whether an object may end in a state, if its text so far allows a closing bracket.
    pub(crate) fn may_close_object(&mut self, id: u32, state: ObjectState) -> bool {
        let left = self.required_left(id, state);
        let object = &self.objects.automata[id as usize];
        let enough = state.count >= object.min.min(object.cap);
        left == 0 && enough && self.sets.formulas.holds_at_end(state.formula)
    }

    pub(crate) fn call_object(&mut self, object: u32, state: ObjectState) -> NodeId {
        let rule = *self.objects.rules.entry((object, state)).or_insert_with(|| {
            let rule =
                self.builder.declare_from(self.objects.automata[object as usize].name.clone());
            self.open.insert(rule, OpenRule::Object(object, state));
            rule
        });
        self.builder.call(rule)
    }

    /// The body of a state's rule.
    pub(crate) fn object_state(&mut self, id: u32, state: ObjectState) -> Result<NodeId> {
        let allowed = self.next_names(id, state)?;
        let others = self.next_keys(id, state)?;
        let origins = self.objects.automata[id as usize].origins.clone();
        let closes = state.progress != Progress::AfterGap && self.may_close_object(id, state);
        let signs = self.punctuation(state.layout).object;
        // A key on the same line chooses between the styles that take one.
        let within = match state.layout {
            Layout::Undecided => ObjectState { layout: Layout::OneLine, ..state },
            _ => state,
        };
        let mut members = Vec::new();
        if !allowed.is_empty() {
            let tag = self.numbering.tag(self.objects.choices.len());
            let ranks = &self.objects.automata[id as usize].ranks;
            let ranks = allowed.iter().map(|&index| ranks[index as usize]).collect();
            self.objects.choices.push((id, within, ranks));
            let names = self.builder.add(Node::KeyChoice(tag));
            members.push(self.mark(names, &origins));
            let is_styled = matches!(state.layout, Layout::Styled(_));
            if self.sets.options.spelling != Spelling::Canonical && !is_styled {
                let names = self.escaped_keys(id, &allowed, tag)?;
                members.extend(names.map(|names| self.mark(names, &origins)));
            }
        }
        let fresh = self.objects.used.get(state.used).is_empty();
        for (class, keys) in others {
            let keys = match state.layout {
                Layout::Styled(_) => self.styled_keys(keys),
                _ if fresh => self.quoted_text(keys),
                // Used once: finishing an automaton for it would cost more than it saves.
                _ => self.between_quotes(keys),
            };
            let tag = self.numbering.tag(self.captures.len());
            self.captures.push(Captured::Key(id, within, class));
            let key = self.builder.add(Node::Capture(keys, tag));
            members.push(self.mark(key, &origins));
        }
        let mut ways = Vec::new();
        if closes {
            ways.extend(match state.progress {
                Progress::NotEmpty => signs.close,
                _ => signs.end,
            });
        }
        if !members.is_empty() {
            let member = self.builder.choice(members);
            ways.push(self.after_gap(state.progress, &signs, member));
            if state.layout == Layout::Undecided {
                for layout in Layout::STYLES {
                    let Some(gap) = self.punctuation(layout).object.first else { continue };
                    let state = ObjectState { layout, progress: Progress::AfterGap, ..state };
                    let members = self.call_object(id, state);
                    ways.push(self.builder.sequence([gap, members]));
                }
                return Ok(self.builder.choice_by_length(ways));
            }
        }
        Ok(self.builder.choice(ways))
    }

    /// The classes of keys without a name of their own that may come next, each with those of its
    /// keys that are not written.
    fn next_keys(&mut self, id: u32, state: ObjectState) -> Result<Vec<(usize, Language)>> {
        let any_order = self.sets.options.property_order == PropertyOrder::Any;
        let left = self.required_left(id, state);
        let object = &self.objects.automata[id as usize];
        if !object.fits(state.count + 1, left) || left > 0 && !any_order {
            return Ok(Vec::new());
        }
        let others = Arc::clone(&object.others);
        let used = self.objects.used.get(state.used).clone();
        let mut found = Vec::new();
        for (class, other) in others.iter().enumerate() {
            if self.other_member_values(id, state, class)?.is_empty() {
                continue;
            }
            let languages = &mut self.sets.languages;
            let written = self.sets.strings.written(languages, used.iter().map(|key| &**key));
            let keys = languages.difference(other.keys, written);
            if used.is_empty() || languages.is_live(keys)? {
                found.push((class, keys));
            }
        }
        Ok(found)
    }

    /// The rest of an object after what was written of it: a rule that ends with the closing sign.
    /// Without such a sign the object ends where the text after it begins; `None` if neither
    /// something is written nor may come.
    pub(crate) fn rest_of_object(
        &mut self,
        id: u32,
        state: ObjectState,
        before: Option<NodeId>,
    ) -> Result<Option<NodeId>> {
        let mut ways = Vec::new();
        if self.punctuation(state.layout).object.close.is_none() {
            if state.progress != Progress::AfterGap && self.may_close_object(id, state) {
                ways.extend(before);
            }
            if self.next_names(id, state)?.is_empty() && self.next_keys(id, state)?.is_empty() {
                return Ok(ways.pop());
            }
        }
        let further = self.call_object(id, state);
        ways.push(self.builder.sequence(before.into_iter().chain([further])));
        Ok(Some(self.builder.choice(ways)))
    }

    pub(crate) fn is_seen(&self, state: ObjectState, index: u32) -> bool {
        let seen = self.objects.seen.get(state.seen);
        let word = seen.get(index as usize / 64).copied().unwrap_or(0);
        word >> (index % 64) & 1 == 1
    }

    /// The number of required members still to come.
    pub(crate) fn required_left(&mut self, id: u32, state: ObjectState) -> u32 {
        let members = &self.objects.automata[id as usize].members;
        let required: Vec<u32> = (0..)
            .zip(members)
            .skip(state.at as usize)
            .filter(|(_, member)| member.required)
            .map(|(index, _)| index)
            .collect();
        required.into_iter().filter(|&index| !self.is_seen(state, index)).count() as u32
    }

    /// The named members that may come next, as indices, where they come in any order.
    pub(crate) fn names_in_any_order(&mut self, id: u32, state: ObjectState) -> Result<Vec<u32>> {
        let left = self.required_left(id, state);
        let mut allowed = Vec::new();
        for index in 0..self.objects.automata[id as usize].members.len() as u32 {
            let object = &self.objects.automata[id as usize];
            let required = object.members[index as usize].required;
            let fits = object.fits(state.count + u32::from(!required), left);
            if fits && !self.is_seen(state, index) && self.can_follow(id, state, index)? {
                allowed.push(index);
            }
        }
        Ok(allowed)
    }

    /// The named members that may come next, as indices.
    pub(crate) fn next_names(&mut self, id: u32, state: ObjectState) -> Result<Vec<u32>> {
        if self.sets.options.property_order == PropertyOrder::Any {
            return self.names_in_any_order(id, state);
        }
        let mut allowed = Vec::new();
        let mut at = state.at;
        // The same for all names up to the first that is required.
        let left = self.required_left(id, state);
        loop {
            let object = &self.objects.automata[id as usize];
            let Some(member) = object.members.get(at as usize) else { break };
            let required = member.required;
            let fits = object.fits(state.count + u32::from(!required), left);
            if fits && self.can_follow(id, state, at)? {
                allowed.push(at);
            }
            if required {
                break;
            }
            at += 1;
        }
        // With a least number of members, a name may be skipped only if enough others are left.
        let object = &self.objects.automata[id as usize];
        if object.min > state.count && object.others.is_empty() {
            let missing = object.min - state.count;
            // The last name from which on there are enough.
            let mut possible = 0;
            let mut last = self.objects.automata[id as usize].members.len() as u32;
            while possible < missing && last > state.at {
                last -= 1;
                let set = self.objects.automata[id as usize].members[last as usize].set;
                possible += u32::from(self.has_value(set)?);
            }
            let enough = possible >= missing;
            allowed.retain(|&index| enough && index <= last);
            return Ok(allowed);
        }
        Ok(allowed)
    }

    pub(crate) fn count_after(&self, id: u32, count: u32) -> u32 {
        let cap = self.objects.automata[id as usize].cap;
        (count + 1).min(cap)
    }

    /// A colon, and a value in one of these sets with the state after it. A colon on the first line
    /// decides how the text goes on.
    pub(crate) fn member(
        &mut self,
        id: u32,
        key: Option<&str>,
        ways: &[(Set, ObjectState)],
    ) -> Result<NodeId> {
        let mut members = Vec::new();
        for layout in Layout::ONE_LINE {
            let in_layout = |&(set, next): &(Set, ObjectState)| {
                (next.layout == Layout::OneLine).then_some((set, ObjectState { layout, ..next }))
            };
            let ways: Vec<(Set, ObjectState)> = ways.iter().filter_map(in_layout).collect();
            if !ways.is_empty() {
                members.push(self.member_in(id, layout, layout.inside(), &ways));
            }
        }
        match (members.is_empty(), ways.first()) {
            (true, Some(&(_, next))) => {
                let inside = self.member_layout(next.layout, key);
                Ok(self.member_in(id, next.layout, inside, ways))
            }
            _ => Ok(self.builder.choice_by_length(members)),
        }
    }

    pub(crate) fn member_in(
        &mut self,
        id: u32,
        layout: Layout,
        inside: Layout,
        ways: &[(Set, ObjectState)],
    ) -> NodeId {
        let mut values = Vec::with_capacity(ways.len());
        for &(set, next) in ways {
            let name = self.objects.automata[id as usize].name.clone();
            let rule = self.builder.declare_from(name);
            self.open.insert(rule, OpenRule::Member(id, set, inside, next));
            values.push(self.builder.call(rule));
        }
        let (colon, value) = (self.punctuation(layout).colon, self.builder.choice(values));
        self.builder.sequence(colon.into_iter().chain([value]))
    }
}
