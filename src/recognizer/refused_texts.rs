//! Texts that a captured text must not be, though its terminal's language holds them.
//!
//! The items of a JSON array with `uniqueItems` must differ. Their language lacks none of those that
//! were written (a language of its own for every array would cost too much): the written ones are
//! a set of texts that is looked up where an item ends.

use std::sync::Arc;

use super::captured_texts::CapturedTexts;
use super::item::Item;
use super::point::Point;
use super::program::Program;
use crate::error::Result;
use crate::regular::{ByteSet, Language, Languages, TextPlace, TextSets};

/// The texts that an item must not be, and the position in them to which its text so far leads;
/// `None` if it can be none of them any more.
pub(crate) fn refused_texts(
    program: &Program,
    texts: &CapturedTexts,
    item: Item,
) -> Option<(Arc<TextSets>, TextPlace)> {
    let Point::Capture { tag, .. } = program.point(item.point) else { return None };
    let (refused, set) = program.refused_texts(tag)?;
    let read = texts.bytes_of(item.text);
    let at = read.iter().try_fold(refused.start(set)?, |at, &byte| refused.advance(at, byte))?;
    Some((refused, at))
}

/// The bytes that end the text of an item as one that it must not be.
pub(super) fn refused_bytes(
    program: &Program,
    languages: &mut Languages,
    texts: &CapturedTexts,
    item: Item,
) -> Result<ByteSet> {
    let mut refused = ByteSet::EMPTY;
    let Some((texts, at)) = refused_texts(program, texts, item) else { return Ok(refused) };
    for byte in texts.first_bytes(at).iter() {
        let ends = texts.advance(at, byte).is_some_and(|at| texts.ends(at));
        if ends && languages.step(item.state, byte)? == Language::EPSILON {
            refused.insert(byte);
        }
    }
    Ok(refused)
}
