//! The place in the schema that a rule or captured text comes from, for errors.

use super::Emitter;
use super::state::{Captured, OpenRule};
use crate::grammar::RuleId;
use crate::json_schema::document::ValueId;
use crate::json_schema::set::KeywordOrigins;

impl Emitter<'_> {
    /// The place of a rule.
    pub(crate) fn place_of_rule(&self, rule: RuleId) -> Option<ValueId> {
        match *self.open.get(&rule)? {
            OpenRule::Set(set, _) | OpenRule::Member(_, set, ..) => self.sets.place(set),
            OpenRule::Items(array, _) => first(&self.arrays.whole.get(array as usize)?.origins),
            OpenRule::Object(object, _) => self.object_place(object),
            OpenRule::Array(array, _) => self.array_place(array),
        }
    }

    /// The place of the object whose keys a choice offers.
    pub(crate) fn place_of_key_choice(&self, tag: u32) -> Option<ValueId> {
        self.object_place(self.objects.choices.get(self.numbering.index(tag))?.0)
    }

    /// The place of the array or object that a captured text stands in.
    pub(crate) fn place_of_capture(&self, tag: u32) -> Option<ValueId> {
        match *self.captures.get(self.numbering.index(tag))? {
            Captured::Key(object, ..) => self.object_place(object),
            Captured::EscapedKey(choice) => self.place_of_key_choice(choice),
            Captured::Item(array, ..) => self.array_place(array),
        }
    }

    fn object_place(&self, object: u32) -> Option<ValueId> {
        first(&self.objects.automata.get(object as usize)?.origins)
    }

    fn array_place(&self, array: u32) -> Option<ValueId> {
        first(&self.arrays.automata.get(array as usize)?.set.origins)
    }
}

fn first(origins: &KeywordOrigins) -> Option<ValueId> {
    origins.0.first().copied()
}
