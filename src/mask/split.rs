//! Token splits: for one state of a terminal, the tokens that stay inside the terminal, and the
//! tails of those that leave it.
//!
//! In most states nearly every token is read within the terminal from its first byte to its last, or
//! is rejected. Which ones are depends on the state and the vocabulary alone, never on the grammar
//! around. So a split is computed once and shared by all constraints of a compiler, and masks refer
//! to it. A token that passes an end of the terminal goes on with what follows; thousands of such
//! tokens have a few hundred tails, and only these are walked with the grammar at hand.
//!
//! For the state after the opening quote of the terminal `"[^"]*"`:
//!
//! ```text
//! tokens          inside        exits (token, bytes up to the end)    tails
//! ab  c",  d",    ab            c", at 2   d", at 2   "} at 1          ,  of c", and d",
//! "}                                                                  }  of "}
//! ```
//!
//! The definition of a split is [`TokenWalk::read_subtree`](walk::TokenWalk::read_subtree), a walk
//! with one terminal over the vocabulary's trie of bytes; that of a whole mask is in [`mask`](super).
//! Each of the following leaves out work and agrees with it:
//!
//! - [`byte_shapes`] walks the trie of the tokens' shapes while a state treats all bytes of a class
//!   alike, and [`byte_groups`] passes over subtrees that leave a state where it is;
//! - [`derived_split`] copies the split of a similar state and reads only tokens on which the two can
//!   differ: those that leave a self-loop ([`self_loop`]), those with a byte that is not ordinary
//!   ([`ordinary_text`]), the longest where a bound is far, those on which a state differs from its
//!   usual successor ([`common_successor`]);
//! - [`repeats`] holds the splits of all states of a repeat of units at once, by the units that each
//!   token has;
//! - [`split_cache`](super::split_cache) keeps what was computed, and reads what nearly every constraint needs from the
//!   vocabulary's index.

pub(super) mod byte_classes;
mod byte_groups;
mod byte_shapes;
mod character_boundaries;
pub(super) mod common_successor;
pub(super) mod derived_split;
mod exit_tails;
pub(super) mod max_repeats;
pub(super) mod ordinary_text;
pub(super) mod repeats;
pub(super) mod self_loop;
pub(super) mod split_tables;
mod state_table;
#[cfg(test)]
pub(super) mod testing;
pub(super) mod token_split;
pub(super) mod walk;

pub(crate) use exit_tails::{ExitTails, TokenExit, TrieId, new_trie_id};
pub(crate) use repeats::{RepeatExits, RepeatSplit, is_prefix_free};
pub(super) use token_split::SplitDraft;
pub(crate) use token_split::{SplitEnds, SplitKey, SplitStart, SplitState, TokenSplit, word_bytes};
