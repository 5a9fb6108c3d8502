//! [`Source`]: a grammar whose rules are made while a text is read.
//!
//! A large JSON Schema has thousands of rules, and one text visits a few dozen. So its front end
//! hands over no [`Grammar`](super::Grammar), but a source, which the recognizer asks for a rule's
//! body when the rule is entered first, for the continuation after an object key when that key was
//! read, and for the continuation after a captured text (a key without a name of its own, an item
//! that must differ from others). State that depends on the text (keys written, items seen, counts)
//! is thereby part of the rules, and not of the recognizer.
//!
//! For `{"type": "object", "properties": {"a": …, "b": …}}` the exchange begins like this:
//!
//! ```text
//! body(start)         → "{" KeyChoice(0)         keys that may come first
//! key_choice(0)       → {a, b} and any spelling of other keys
//! after_key(0, a)     → ":" call(value of a) …   made when a text first has the key `a`
//! ```
//!
//! *Invariants* of all nodes that a source makes:
//!
//! - Every node is productive: some text completes it, so the recognizer never enters a dead end.
//! - No rule is nullable, and no rule calls itself at its left edge (the normal form of
//!   [`normal`](super::normal)).
//! - The order of calls does not matter, and neither do repeated calls: an answer depends on the
//!   arguments alone. Caches may therefore forget answers.

use std::fmt;
use std::sync::Arc;

use super::builder::GrammarBuilder;
use super::form::{NodeId, RuleId, SourceTag};
use super::key_choice::{KeyChoice, KeyRank};
use crate::error::{Error, Result};
use crate::regular::{Language, Languages, TextSet, TextSets};

/// The signs of a captured key that is no JSON string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeySigns {
    /// The bytes with which a key ends; they are part of the key.
    pub(crate) named: Box<[u8]>,
    /// The bytes with which the key's member ends. Text after them may depend on the key.
    pub(crate) end: Box<[u8]>,
}

/// Makes the rules of a grammar as they are entered; see the module's head for the contract.
pub(crate) trait Source: Send + fmt::Debug {
    /// Passes `f` the builder that holds all nodes and rules made so far. Nodes that other methods
    /// return are indices into it.
    fn with_builder(&self, f: &mut dyn FnMut(&GrammarBuilder));

    /// Swaps `languages` with the source's own arena of terminals. The recognizer steps terminals
    /// and owns the arena between calls; before it calls a method that makes nodes it lends the
    /// arena to the source by this, and takes it back by a second call.
    fn exchange(&mut self, languages: &mut Languages);

    /// The language of one character of a JSON string, in all spellings that the options allow.
    fn json_character(&mut self) -> Language;

    /// Makes the body of `rule`, which an earlier answer has declared.
    ///
    /// Errors at a limit of the schema's sets or of time.
    fn body(&mut self, rule: RuleId) -> Result<NodeId>;

    /// A lower bound on the bytes of every text of `rule`, from what is known of it
    /// before its body is made. Budget checks use it to refuse without making rules.
    fn least_bytes(&self, rule: RuleId) -> u64;

    /// The choice of keys that a node refers to by `tag`.
    fn key_choice(&mut self, tag: SourceTag) -> KeyChoice;

    /// The node that follows the key of this rank in the choice `tag`; `rank` is one that the
    /// choice allows.
    ///
    /// Errors as [`body`](Self::body).
    fn after_key(&mut self, tag: SourceTag, rank: KeyRank) -> Result<NodeId>;

    /// The node that follows the captured `text` of the capture `tag`: the bytes that its language
    /// (or the node of its scope) has read.
    ///
    /// With `text` `None` the answer is an upper bound for all texts: a node that allows whatever
    /// follows any of them. The answer is `Ok(None)` if the text of a scope is not allowed after
    /// all; that is for [`Node::Scope`](super::Node::Scope) alone, whose inner node is made before
    /// its whole text is known.
    ///
    /// Errors as [`body`](Self::body).
    fn after_capture(&mut self, tag: SourceTag, text: Option<&[u8]>) -> Result<Option<NodeId>>;

    /// The texts that the capture `tag` must not be although its language holds them, with the set
    /// table that interprets the set; `None` if there are none. A longer text that merely
    /// starts with one of them is allowed; so compare only at the end of the capture.
    fn refused_texts(&self, tag: SourceTag) -> Option<(Arc<TextSets>, TextSet)>;

    /// A short text of `rule`, where the source knows one without making the rule's body;
    /// `Ok(None)` where it does not.
    ///
    /// Errors as [`body`](Self::body).
    fn completion(&mut self, rule: RuleId) -> Result<Option<Vec<u8>>>;

    /// Whether the capture `tag` is an array item that later items are compared with.
    fn is_item(&self, tag: SourceTag) -> bool;

    /// The approximate number of bytes that the remembered texts take, for the memory limit.
    fn memory_bytes(&self) -> usize;

    /// Whether some array made so far must hold two equal items, so that its end depends on the
    /// items that were read.
    fn has_required_duplicates(&self) -> bool;

    /// The signs of captured keys that are not JSON strings.
    fn key_signs(&self) -> Vec<KeySigns> {
        Vec::new()
    }

    /// The given [`Origin::Places`](super::Origin::Places) in words: JSON pointers.
    fn places(&self, places: &[u32]) -> String;

    /// `error`, a limit reached without a place, with the first of `places` as its place.
    fn with_place(&self, places: &[u32], error: Error) -> Error;
}
