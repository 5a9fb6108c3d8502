//! Texts that decide what follows them: keys without a name of their own, and items that must differ.

use std::sync::Arc;

use super::Emitter;
use super::state::Captured;
use crate::error::Result;
use crate::grammar::NodeId;
use crate::regular::{TextSet, TextSets};

impl Emitter<'_> {
    /// The part after a captured text, if the text may stand there; without a text, after any.
    pub(super) fn after_capture(
        &mut self,
        tag: u32,
        text: Option<&[u8]>,
    ) -> Result<Option<NodeId>> {
        match self.captures[self.numbering.index(tag)] {
            Captured::Key(id, state, class) => {
                self.after_captured_key((id, state, class), text).map(Some)
            }
            Captured::EscapedKey(choice) => self.after_escaped_key(choice, text).map(Some),
            Captured::Item(id, state, counts) => self.after_item((id, state, counts), text),
        }
    }

    /// Whether a captured text is an item of an array.
    pub(super) fn is_item(&self, tag: u32) -> bool {
        let captured = self.captures.get(self.numbering.index(tag));
        matches!(captured, Some(Captured::Item(..)))
    }

    /// Texts that what is captured must not be, though its language holds them.
    pub(super) fn refused_texts(&self, tag: u32) -> Option<(Arc<TextSets>, TextSet)> {
        let set = *self.refused_texts.get(&tag)?;
        Some((Arc::clone(&self.sets.written.texts), set))
    }
}
