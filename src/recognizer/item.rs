//! Items and the ids that the recognizer's parts share.
//!
//! An *item* is one live way to go on: a terminal that is being read, the state of its automaton,
//! and the set of stacks to return to after it. A *configuration* is a sorted set of items. In the
//! grammar `list: "[" (word ("," word)*)? "]"`, after the text `[ab`, the items are:
//!
//! ```text
//! point           state          stack
//! word            what may       {back into list, after the first word}
//!                 follow "ab"
//! ","             the comma      {bottom}       (the word may end here)
//! "]"             the bracket    {bottom}
//! ```
//!
//! This file imports none of the recognizer's other files; they all import it.

use crate::regular::Language;

/// Index of a point in its program.
pub(crate) type PointId = u32;

/// The end of a rule's body: go on at the frames on top of the stack.
pub(crate) const RETURN: PointId = 0;

/// The end of the whole text.
pub(crate) const ACCEPT: PointId = 1;

/// A hash-consed set of return stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StackId(pub(super) u32);

/// The stack under the start rule: returning to it accepts.
pub(crate) const BOTTOM: StackId = StackId(0);

/// A hash-consed configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ConfigId(pub(super) u32);

/// Index of a key choice in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KeyChoiceId(pub(super) u32);

/// A hash-consed captured string.
pub(crate) type TextId = u32;

/// The empty string, and any string where it does not matter which.
pub(crate) const NO_TEXT: TextId = 0;

/// The root of a trie of keys.
const KEY_ROOT: u32 = 0;

/// One live way to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Item {
    /// A point that reads a terminal, or [`ACCEPT`]; [`RETURN`] in an [`Item::scope_text`].
    pub(crate) point: PointId,
    /// The rest of the terminal: the language of the strings that may still come of it.
    /// [`Language::EPSILON`] at points that read no string. At a key choice the number of a
    /// trie node is stored here (four more bytes an item make steps slower): see
    /// [`Item::key_node`].
    pub(crate) state: Language,
    /// The string read so far, at points that capture it; [`NO_TEXT`] in walks.
    pub(crate) text: TextId,
    /// The stacks to return to after the terminal.
    pub(crate) stack: StackId,
}

impl Item {
    /// A terminal at its start, or in a state of it, nothing captured yet.
    #[inline]
    pub(super) fn new(point: PointId, state: Language, stack: StackId) -> Self {
        Self { point, state, text: NO_TEXT, stack }
    }

    /// A key choice of which nothing is read yet.
    #[inline]
    pub(super) fn key_choice(point: PointId, stack: StackId) -> Self {
        Self::new(point, Language::from_number(KEY_ROOT), stack)
    }

    /// An item that reads nothing more: the text is complete.
    pub(super) fn accept() -> Self {
        Self::new(ACCEPT, Language::EPSILON, BOTTOM)
    }

    /// A pseudo item, the first of its configuration, with the text that open scopes have read: so
    /// configurations differ where these texts do.
    pub(crate) fn scope_text(text: TextId) -> Self {
        Self { point: RETURN, state: Language::EPSILON, text, stack: BOTTOM }
    }

    /// Whether it is the pseudo item of [`Item::scope_text`].
    #[inline]
    pub(crate) fn is_scope_text(&self) -> bool {
        self.point == RETURN
    }

    /// The node of the trie of keys to which the text read so far leads, at a key choice.
    #[inline]
    pub(crate) fn key_node(&self) -> u32 {
        self.state.number()
    }

    /// The same key choice at another node.
    #[inline]
    pub(super) fn with_key_node(self, node: u32) -> Self {
        Self { state: Language::from_number(node), ..self }
    }

    /// Whether nothing is read yet of the key, at a key choice.
    pub(super) fn is_at_key_root(&self) -> bool {
        self.key_node() == KEY_ROOT
    }
}
