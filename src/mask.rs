//! Token masks: from a configuration of the recognizer to the set of allowed tokens, walking the
//! vocabulary only as a last resort.
//!
//! A token may hold several terminals of the grammar, and each terminal is read by itself. A
//! [cursor](trie_cursor) is a position inside tokens. A terminal that is read from some cursors allows
//! certain [tokens](terminal_tokens), and may end at other cursors, its *exits*. This result depends on
//! the terminal and the vocabulary alone, so all constraints of a compiler share it. A mask is
//! [composed](compose) of such results in rounds, terminal after terminal; the grammar only says
//! which terminals may follow, and from which cursors.
//!
//! Example: `{"a": [0-9]+}` with the key's closing quote next, and the tokens `"`, `":`, `": 1`, `": 12}`:
//!
//! ```text
//! round 1   `"` from token starts       tokens  "        exit: after `"` of the other tokens
//! round 2   `:` from that exit          tokens  ":       exit: after `":` of the other tokens
//! round 3   blank from that exit        no tokens        exit: after the blank of the other tokens
//! round 4   number from that exit       tokens  ": 1     exit: after the digits of `": 12}`
//! round 5   `}` from that exit          tokens  ": 12}
//! ```
//!
//! Three things keep these results cheap: within a repeat of units (characters of a string, digits,
//! blanks) tokens are looked up as repeats ([`split::repeats`]); other wide states have a [split] of the
//! vocabulary each; only what is left is [walked](walk). A mask is kept [packed](packed_mask), as references to
//! these shared sets and short lists.
//!
//! Composition captures no texts, so it may allow too much where captured texts decide. The few
//! [uncertain] tokens are read in full in the end.
//!
//! Invariant: [`MaskBuilder::mask`](builder::MaskBuilder::mask) allows exactly the tokens that the
//! recognizer can read and after which [`Recognizer::is_live`](crate::recognizer::Recognizer::is_live)
//! holds. Its definition is `MaskBuilder::mask_by_walk`, the recognizer's walk over the whole
//! vocabulary, and tests compare with it. The tokens of one terminal are defined by a smaller walk,
//! `TokenWalk::read_subtree`.

mod builder;
mod cache;
mod capture_tokens;
mod compose;
mod cursor_sets;
mod duplicate_items;
mod exclusions;
mod gather_cursors;
mod hot_masks;
mod json_captures;
mod key_choice;
mod packed_mask;
mod rule_budgets;
pub(crate) mod split;
pub(crate) mod split_cache;
mod state_structure;
mod strategies;
mod terminal_cache;
mod terminal_reader;
mod terminal_tokens;
mod token_trie;
mod trie_cursor;
mod uncertain;
mod walk;

pub(crate) use builder::MaskBuilder;
pub(crate) use cache::MaskCache;
pub(crate) use packed_mask::{MaskBase, PackedMask};
pub use strategies::{Strategies, Strategy};
