//! Texts that a captured text must not be, though its terminal's language holds them.
//!
//! The items of a JSON array with `uniqueItems` must differ. Their language lacks none of those that
//! were written (a language of its own for every array would cost too much): the written ones are
//! a set of texts that is looked up where an item ends.

use std::sync::Arc;

use super::item::Item;
use super::point::Point;
use super::stepper::Recognizer;
use crate::error::Result;
use crate::regular::{ByteSet, Language, TextPlace, TextSets};

impl Recognizer {
    /// The texts that an item must not be, and the position in them to which its text so far leads;
    /// `None` if it can be none of them any more.
    pub(crate) fn refused_texts(&self, item: Item) -> Option<(Arc<TextSets>, TextPlace)> {
        let Point::Capture { tag, .. } = self.program.point(item.point) else { return None };
        let (texts, set) = self.program.refused_texts(tag)?;
        let read = self.text(item.text);
        let at = read.iter().try_fold(texts.start(set)?, |at, &byte| texts.advance(at, byte))?;
        Some((texts, at))
    }

    /// The bytes that end the text of an item as one that it must not be.
    pub(super) fn refused_bytes(&mut self, item: Item) -> Result<ByteSet> {
        let mut refused = ByteSet::EMPTY;
        let Some((texts, at)) = self.refused_texts(item) else { return Ok(refused) };
        for byte in texts.first_bytes(at).iter() {
            let ends = texts.advance(at, byte).is_some_and(|at| texts.ends(at));
            if ends && self.languages.step(item.state, byte)? == Language::EPSILON {
                refused.insert(byte);
            }
        }
        Ok(refused)
    }
}
