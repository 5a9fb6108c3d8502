//! Grammars whose rules are made while a text is read.

use std::fmt;
use std::sync::Arc;

use super::names::Names;
use super::{GrammarBuilder, NodeId, RuleId};
use crate::error::{Error, Result};
use crate::regular::{Language, Languages, TextSet, TextSets};

/// Makes the rules of a grammar as they are entered. What it makes is productive, no rule calls
/// itself at its left edge, and the order of calls does not matter.
pub(crate) trait Source: Send + fmt::Debug {
    /// Shows all that was declared and made so far.
    fn with_builder(&self, f: &mut dyn FnMut(&GrammarBuilder));

    /// Exchanges the arena in which terminals are made: whoever steps them owns it meanwhile.
    fn exchange(&mut self, languages: &mut Languages);

    /// One character of a JSON string, in all spellings that count.
    fn text_unit(&mut self) -> Language;

    /// The body of a declared rule.
    fn body(&mut self, rule: RuleId) -> Result<NodeId>;

    /// A lower bound on the bytes of each text of a declared rule, from what is known of it before
    /// its body is made.
    fn least_bytes(&self, rule: RuleId) -> u64;

    /// A choice of names that a node has mentioned by its tag.
    fn names(&mut self, tag: u32) -> Names;

    /// What follows the name of this rank in a choice.
    fn after_name(&mut self, tag: u32, rank: u32) -> Result<NodeId>;

    /// What follows a captured string; `None` asks for what follows any, which must allow all that
    /// follows one of them. The answer is `None` if the text of a scope is not allowed.
    fn after_capture(&mut self, tag: u32, text: Option<&[u8]>) -> Result<Option<NodeId>>;

    /// Texts that what is captured must not be, though its language holds them: whatever begins as
    /// one of them can become another.
    fn looked_up(&self, tag: u32) -> Option<(Arc<TextSets>, TextSet)>;

    /// A short text of a rule, if it is known without the rule's body.
    fn completion(&mut self, rule: RuleId) -> Result<Option<Vec<u8>>>;

    /// Whether a captured string is an item that others may have to differ from.
    fn is_item(&self, tag: u32) -> bool;

    /// About how many bytes it takes to remember what was written.
    fn bytes(&self) -> usize;

    /// Does the end of an array depend on its items?
    fn has_repeats(&self) -> bool;

    /// Places in words.
    fn places(&self, places: &[u32]) -> String;

    /// A limit that was reached without a place was reached at these.
    fn placed(&self, places: &[u32], error: Error) -> Error;
}
