//! Conditions at the edges of terminals, compiled once for all terminals that have the same.

use super::marked_text::TextConditions;
use super::{Anchoring, EdgeConditions, Languages, Pattern, Utf8};
use super::{any_text, compile_pattern, compile_with_context};
use crate::error::Result;

/// The conditions that terminals share: those of every word between two `\b` are the same.
#[derive(Default)]
pub(crate) struct SharedConditions {
    known: Vec<(Pattern, EdgesOfAnyText)>,
}

/// The conditions at the edges of a terminal, of any text between them.
#[derive(Clone, Copy)]
pub(crate) struct EdgesOfAnyText {
    /// `None` if they hold everywhere.
    pub(crate) conditions: Option<TextConditions>,
    /// Whether they hold around a text that stands alone.
    pub(crate) hold_alone: bool,
}

impl SharedConditions {
    /// The conditions at the edges of a terminal.
    ///
    /// Errors if a limit is reached, or as [`compile_with_context`].
    pub(crate) fn of(
        &mut self,
        languages: &mut Languages,
        edges: &EdgeConditions,
    ) -> Result<EdgesOfAnyText> {
        let any = Pattern::greedy(Pattern::range('\0', char::MAX), 0, None);
        let around = Pattern::Concat(vec![edges.before.clone(), any, edges.after.clone()]);
        if let Some((_, known)) = self.known.iter().find(|(known, _)| *known == around) {
            return Ok(*known);
        }
        let marked_texts = compile_with_context(languages, &around, false, &Utf8)?;
        let text = any_text(languages, &Utf8);
        let conditions = TextConditions::new(languages, text, marked_texts)?;
        let alone = Pattern::Concat(vec![edges.before.clone(), edges.after.clone()]);
        let alone = compile_pattern(languages, &alone, Anchoring::Whole, &Utf8)?;
        let hold_alone = languages.is_nullable(alone);
        let found = EdgesOfAnyText { conditions, hold_alone };
        self.known.push((around, found));
        Ok(found)
    }
}
