//! The split of a state from that of its *usual successor*, the one to which most bytes lead.
//!
//! The states of a pattern that searches for a string tell how much of the string was found, and nearly
//! every token leads all of them back to the state where nothing was. So a state and its usual successor
//! are walked side by side until they meet with the same ends so far: only the tokens before can differ.

use smallvec::SmallVec;

use super::SplitState;
use super::split_tables::SplitTables;
use super::state_table::StateTable;
use crate::deadline;
use crate::error::Result;
use crate::regular::{Language, Languages};
use crate::vocabulary::Vocabulary;

/// The state to which most bytes lead from a state, if most bytes keep it there.
pub(in crate::mask) fn usual_successor(
    languages: &mut Languages,
    state: Language,
) -> Result<Option<Language>> {
    let usual = most_frequent(languages.row(state)?);
    Ok(match usual {
        Some(usual) if usual == state => None,
        Some(usual) if most_frequent(languages.row(usual)?) == Some(usual) => Some(usual),
        _ => None,
    })
}

/// The live successor of most bytes.
fn most_frequent(row: &[Language; 256]) -> Option<Language> {
    let mut counts: SmallVec<[(Language, u32); 8]> = SmallVec::new();
    for &after in row {
        match counts.iter_mut().find(|(known, _)| *known == after) {
            Some((_, count)) => *count += 1,
            None => counts.push((after, 1)),
        }
    }
    let live = counts.into_iter().filter(|&(after, _)| after != Language::EMPTY);
    live.max_by_key(|&(_, count)| count).map(|(after, _)| after)
}

/// The tokens that two states may split otherwise; `None` if they differ below more nodes than
/// `most`.
pub(in crate::mask) fn differing_tokens(
    tables: &SplitTables,
    vocabulary: &Vocabulary,
    languages: &mut Languages,
    from: SplitState,
    other: Language,
    most: usize,
) -> Result<Option<Vec<u32>>> {
    let trie = vocabulary.trie();
    let nodes = trie.nodes();
    let mut states = StateTable::new(languages, from, tables.strategies);
    let other = states.number(other);
    let mut starts = Vec::new();
    let mut differing = 0;
    for byte in 0..=u8::MAX {
        let Some(node) = trie.root_child(byte) else { continue };
        if states.step(StateTable::START, byte)? != states.step(other, byte)? {
            starts.push(node);
            differing += nodes[node].subtree_end as usize - node;
        }
    }
    if differing > most {
        return Ok(None);
    }
    let mut tokens = Vec::new();
    // By depth: both states, and whether they have ended at the same places so far.
    let mut path = vec![(StateTable::START, other, true)];
    for start in starts {
        let last = nodes[start].subtree_end as usize;
        let mut node = start;
        deadline::check()?;
        while node < last {
            let at = nodes[node];
            path.truncate(usize::from(at.depth));
            let (mine, theirs, same_ends) = path[usize::from(at.depth) - 1];
            let mine = states.step_or_dead(mine, at.byte)?;
            let theirs = states.step_or_dead(theirs, at.byte)?;
            if mine == theirs && same_ends {
                node = at.subtree_end as usize;
                continue;
            }
            if mine == StateTable::DEAD {
                tokens.extend_from_slice(trie.subtree_tokens(node));
                node = at.subtree_end as usize;
                continue;
            }
            tokens.extend_from_slice(trie.tokens(node));
            let end = states.end_word_bytes(mine)? == states.end_word_bytes(theirs)?;
            path.push((mine, theirs, same_ends && end));
            node += 1;
        }
    }
    Ok(Some(tokens))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::SplitStart;
    use super::super::testing::{Compared, TestTokens};
    use super::super::walk::plain_split;
    use super::*;
    use crate::mask::split::derived_split::{BaseSplit, Difference, derive_split};

    #[test]
    fn reading_where_two_states_differ_is_a_plain_walk() {
        let mut tokens = TestTokens::new(3, "aab01-\"x".split("").filter(|part| !part.is_empty()));
        tokens.most = 8;
        let mut compared = Compared::new(&tokens, 3_000);
        let patterns = [
            "[^\"]*[01]{3}[^\"]*\"",
            "([^\"01]|0[^\"1]|1)*\"?",
            "[^\"]*(a0|ab-|b+0)[^\"]*(\"x*)?",
            "(a|b[^a]|[^ab])*(-a{2}.*)?",
            "[^x]*x?[^x]*",
        ];
        for pattern in patterns {
            compared.all_states(pattern, |tables, vocabulary, l, start| {
                let Some(usual) = usual_successor(l, start.state)? else { return Ok(None) };
                let known = plain_split(vocabulary, l, SplitStart { state: usual, ..start })?;
                let from = start.split_state();
                let tokens = differing_tokens(tables, vocabulary, l, from, usual, usize::MAX)?;
                let tokens = tokens.unwrap();
                let (inside, exits, word_bytes) =
                    (&known.inside, &known.exits[..], known.word_bytes);
                let base = BaseSplit { inside, exits, word_bytes };
                derive_split(tables, vocabulary, l, from, base, &Difference::Tokens(&tokens))
                    .map(Some)
            });
        }
        compared.at_least(20);
    }
}
