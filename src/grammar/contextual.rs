//! Contextual terminals: a rewriting of a grammar, so that what a terminal reads depends on what stands around
//! it. There are two kinds:
//!
//! - *lazy* terminals: where one may begin, it alone reads the texts that begin with one of its strings;
//! - terminals that *look at the text around* them (`a(?!b)`), which is the text of other terminals.
//!
//! # Lazy terminals
//!
//! A lazy terminal is a shortest match: a language in which no string is a proper prefix of
//! another. That alone does not stop a grammar from reading its text in another way. In
//!
//! ```text
//! start: tool* tail
//! tool: head /[0-9]+/ "</tool>"
//! head[lazy]: TEXT "<tool>"
//! tail: TEXT
//! ```
//!
//! `tail` alone could read `<tool>x`. The rule of precedence: *where a lazy terminal may begin, a
//! text whose rest begins with one of its strings is read by it*. Every other way to go on from
//! there is for rests that begin with none of its strings, however far such a string would reach.
//! Of two lazy terminals the one whose string ends first is read (both, where both end there).
//!
//! A *position* lies between two terminals of one parse. The terminals that may begin there are
//! those that begin the rest of this parse before another choice is made: other alternatives,
//! another iteration of a repeat, what follows it. An iteration of a repeat that matches the empty
//! string makes no position.
//!
//! # The rewriting
//!
//! Along each parse a [`ParseState`](state::ParseState) is carried: the lazy languages that may
//! begin at the next position, and a *monitor*, the regular language that the rest of the text must
//! be in. At a position with lazy languages `H`, any other terminal turns the monitor `M` into
//! `M & ~(H .*)`; reading a text turns it into its derivative by that text. Rules are copied for
//! the states that they are entered and left in, as in the intersection of a context-free grammar
//! with a regular language. Most rules see one state only.
//!
//! In the grammar above let `H = TEXT "<tool>"`. `start` begins with the monitor `.*`, and the lazy
//! terminal `head` may begin at each of its positions:
//!
//! ```text
//! head        a lazy terminal against itself: reads H, the monitor stays .*
//! tool*       every iteration begins and ends in the same state: copied as it is
//! tail        any other terminal where `head` may begin: monitor .* & ~(H .*)
//! result      start: tool* tail   tail: TEXT & ~(TEXT "<tool>" .*), one terminal
//! ```
//!
//! # Terminals that look at the text around them
//!
//! The parse reads marks around each of their strings, and the first monitor is that of the
//! [marked texts](crate::regular::marked_text) in which each stands where its conditions hold. A mark, a string
//! of the terminal and another mark turn the monitor into its derivative, as any text does. At the end of the
//! text the monitor must have the empty string. With `A: /a(?!b)/` and `B: /b|c/`:
//!
//! ```text
//! start: A B      A leads to the monitor of the texts that do not begin with b
//! result          start: "a" "c", for B & ~(b.*) is c
//! ```
//!
//! The steps, a module each: `lazy_first` finds the lazy terminals that begin each node, `outcomes`
//! the states that each rule leads to (a least fixed point over `monitor`'s derivatives), `rewrite`
//! writes the copies; `repeats` says how repeats are unrolled for both.
//!
//! *Source:* Bar-Hillel, Perles, Shamir, "On Formal Properties of Simple Phrase Structure Grammars"
//! (1961), for the intersection with a regular language.

mod lazy_first;
mod limits;
mod monitor;
mod outcomes;
mod repeats;
mod rewrite;
mod state;

use rustc_hash::{FxHashMap, FxHashSet};

use super::form::{Grammar, Node, NodeId};
use crate::error::Result;
use crate::regular::marked_text::LookaroundTerminal;

/// The contextual terminals of a grammar.
#[derive(Default)]
pub(crate) struct ContextualTerminals {
    /// The lazy ones.
    pub(crate) lazy: Vec<NodeId>,
    /// Those that look at the text around them. Their nodes are of all strings that they read in some text.
    pub(crate) lookaround: Vec<(NodeId, LookaroundTerminal)>,
    /// Terminals that a front end has merged from several, with the sequence or choice of these, which matters
    /// where a lazy terminal may begin between two of them.
    pub(crate) unmerged: FxHashMap<NodeId, NodeId>,
}

/// Rewrites a grammar so that its contextual terminals read what they read where they stand.
///
/// The grammar comes back as it is if there are none, or if precedence takes no text from any terminal. Errors
/// if the rewritten grammar would exceed a limit.
pub(crate) fn resolve_contextual(
    grammar: Grammar,
    terminals: ContextualTerminals,
) -> Result<Grammar> {
    let ContextualTerminals { lazy: all, lookaround, unmerged } = terminals;
    let mut lazy = FxHashSet::default();
    for id in all {
        // A lazy terminal that may be empty is always empty: it takes nothing from others.
        if let Node::Regular(language) = grammar.node(id)
            && !grammar.languages.is_nullable(*language)
        {
            lazy.insert(id);
        }
    }
    if lazy.is_empty() && lookaround.is_empty() {
        return Ok(grammar);
    }
    let outcomes = outcomes::Outcomes::find(grammar, lazy, &lookaround, unmerged)?;
    if !outcomes.has_conflict() {
        return Ok(outcomes.into_grammar());
    }
    rewrite::rewrite(outcomes)
}
