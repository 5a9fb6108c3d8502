//! Copies the split of a similar state and reads again only the tokens on which the two states can
//! differ.
//!
//! Every strategy of this kind names a base split and a [`Difference`]; reading again is the same
//! for all. For `(?=.{0,900}$)[a-z]+` and `[a-z]+` only tokens of more than 900 characters differ;
//! for the state of `[^"]*net[^"]*"` where nothing is found yet, and plain text, those with an `n`
//! before an `e`, or with a quote.
//!
//! *Invariant:* all tokens that the two states split otherwise are in the difference. It may have
//! more.

use super::split_tables::SplitTables;
use super::{SplitDraft, SplitState, TokenExit};
use crate::deadline;
use crate::error::Result;
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::{TokenMask, Vocabulary};

/// The split that another one is derived from.
#[derive(Clone, Copy)]
pub(in crate::mask) struct BaseSplit<'a> {
    pub(in crate::mask) inside: &'a TokenMask,
    pub(in crate::mask) exits: &'a [TokenExit],
    pub(in crate::mask) word_bytes: ByteSet,
}

impl<'a> BaseSplit<'a> {
    /// The split of a state that never ends, with these tokens inside.
    pub(in crate::mask) fn without_exits(inside: &'a TokenMask) -> Self {
        Self { inside, exits: &[], word_bytes: ByteSet::EMPTY }
    }
}

/// The tokens below a node, and the state before the node.
#[derive(Clone, Copy)]
pub(in crate::mask) struct Subtree {
    pub(in crate::mask) node: u32,
    pub(in crate::mask) before: Language,
}

/// Tokens on which two states can differ.
pub(in crate::mask) enum Difference<'a> {
    Tokens(&'a [u32]),
    /// Those below nodes, none of which is below another, and no end of the terminal before them.
    Subtrees(Vec<Subtree>),
}

/// The split of a state at the root of the trie, from that of a base.
pub(in crate::mask) fn derive_split(
    tables: &SplitTables,
    vocabulary: &Vocabulary,
    languages: &mut Languages,
    from: SplitState,
    base: BaseSplit<'_>,
    difference: &Difference<'_>,
) -> Result<SplitDraft> {
    let BaseSplit { inside, word_bytes, .. } = base;
    let trie = vocabulary.trie();
    // The split that this one is derived from was worth keeping, so this one is: its work is above any
    // `Limits::split_nodes`.
    let work = usize::MAX / 2;
    let draft = SplitDraft { inside: inside.clone(), exits: Vec::new(), word_bytes, work };
    let mut walk = tables.walk(vocabulary, languages, from).with_draft(draft);
    match difference {
        Difference::Tokens(tokens) => {
            walk.copy_exits(base.exits, tokens.iter());
            for &token in tokens.iter() {
                deadline::check()?;
                walk.reread_token(token)?;
            }
        }
        Difference::Subtrees(subtrees) => {
            let tokens = subtrees.iter().map(|tree| trie.subtree_tokens(tree.node as usize));
            walk.copy_exits(base.exits, tokens.flatten());
            let bytes = tables.bytes(vocabulary);
            for &Subtree { node, before } in subtrees {
                deadline::check()?;
                let before = walk.states.number_or_dead(before);
                walk.reread_subtree(bytes, node as usize, before)?;
            }
        }
    }
    Ok(walk.finish())
}
