//! Where in the schema it is that something is to be made.

use super::super::document::ValueId;
use super::super::emit::Emitter;
use super::super::set::Sources;
use super::{Captured, Lazy, Open};
use crate::grammar::RuleId;

impl Emitter<'_> {
    /// The body of a rule.
    pub(crate) fn place_of_rule(&self, rule: RuleId) -> Option<ValueId> {
        let lazy = &self.lazy;
        match *lazy.open.get(&rule)? {
            Open::Set(set, _) | Open::Member(_, set, _) => self.sets.place(set),
            Open::Items(array, _) => first(&lazy.whole_arrays.get(array as usize)?.sources),
            Open::Object(object, _) => lazy.object_place(object),
            Open::Array(array, _) => lazy.array_place(array),
        }
    }

    /// What follows a name.
    pub(crate) fn place_of_name(&self, tag: u32) -> Option<ValueId> {
        let lazy = &self.lazy;
        lazy.object_place(lazy.choices.get(self.numbering.index(tag))?.0)
    }

    /// What follows a captured text.
    pub(crate) fn place_of_capture(&self, tag: u32) -> Option<ValueId> {
        let lazy = &self.lazy;
        match *lazy.captures.get(self.numbering.index(tag))? {
            Captured::Key(object, ..) => lazy.object_place(object),
            Captured::Name(choice) => self.place_of_name(choice),
            Captured::Item(array, ..) => lazy.array_place(array),
        }
    }
}

impl Lazy {
    fn object_place(&self, object: u32) -> Option<ValueId> {
        first(&self.objects.get(object as usize)?.sources)
    }

    fn array_place(&self, array: u32) -> Option<ValueId> {
        first(&self.arrays.get(array as usize)?.set.sources)
    }
}

fn first(sources: &Sources) -> Option<ValueId> {
    sources.0.first().copied()
}
