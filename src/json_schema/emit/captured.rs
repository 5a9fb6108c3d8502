//! Texts that decide what follows them: keys without a name of their own, and items that must differ.

use std::sync::Arc;

use super::Emitter;
use super::array::states::ArrayState;
use super::object::ObjectState;
use crate::error::Result;
use crate::grammar::NodeId;
use crate::regular::{TextSet, TextSets};

/// What a captured text is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Captured {
    /// The key of an object in a state, of one of its classes.
    Key(u32, ObjectState, usize),
    /// One of a choice of names, by its tag, in a spelling that is not canonical.
    Name(u32),
    /// An item of an array in a state, and the counts after it.
    Item(u32, ArrayState, u32),
}

impl Emitter<'_> {
    /// What follows a captured text, if it may be; `None` is any.
    pub(super) fn after_capture(
        &mut self,
        tag: u32,
        text: Option<&[u8]>,
    ) -> Result<Option<NodeId>> {
        match self.captures[self.numbering.index(tag)] {
            Captured::Key(id, state, class) => self.after_key((id, state, class), text).map(Some),
            Captured::Name(choice) => self.after_escaped_name(choice, text).map(Some),
            Captured::Item(id, state, counts) => self.after_item((id, state, counts), text),
        }
    }

    /// Whether a captured text is an item of an array.
    pub(super) fn is_item(&self, tag: u32) -> bool {
        let captured = self.captures.get(self.numbering.index(tag));
        matches!(captured, Some(Captured::Item(..)))
    }

    /// Texts that what is captured must not be, though its language holds them.
    pub(super) fn looked_up(&self, tag: u32) -> Option<(Arc<TextSets>, TextSet)> {
        let set = *self.looked_up.get(&tag)?;
        Some((Arc::clone(&self.sets.written.texts), set))
    }
}
