//! The split of a state of an automaton in which most characters are ordinary: they lead where any
//! ordinary character does.
//!
//! Texts with a syntax of their own inside JSON strings (`"format": "regex"`) are such automata:
//! after `[` of a character class, letters and most marks change nothing that a later byte depends
//! on. So tokens of ordinary characters are split like plain text, and only those with another byte
//! are read, from the state after the last ordinary character.

use super::SplitDraft;
use super::SplitState;
use super::character_boundaries::NodeMarks;
use super::derived_split::{BaseSplit, Difference, Subtree, derive_split};
use super::split_tables::SplitTables;
use super::state_table::StateTable;
use crate::error::Result;
#[cfg(test)]
use crate::regular::ordinary_text;
use crate::regular::{Languages, OrdinaryText};
use crate::vocabulary::{TokenMask, Vocabulary};

/// The split of a state for which most characters are ordinary. `text`: the tokens that are texts of
/// ordinary characters, where not all beyond ASCII are; `None` without them.
pub(in crate::mask) fn split_by_ordinary_text(
    tables: &SplitTables,
    vocabulary: &Vocabulary,
    languages: &mut Languages,
    from: SplitState,
    ordinary: &OrdinaryText,
    text: Option<&TokenMask>,
) -> Result<Option<SplitDraft>> {
    let text = match (ordinary.text, text) {
        (None, _) => tables.boundaries.text(),
        (Some(_), Some(text)) => text,
        (Some(_), None) => return Ok(None),
    };
    let trie = vocabulary.trie();
    let nodes = trie.nodes();
    let mut marks = NodeMarks::new(trie);
    for byte in (0..0x80).filter(|&byte| !ordinary.bytes.contains(byte)) {
        marks.mark(tables.boundaries.nodes_of(byte), 1);
    }
    let later: Vec<u32> = trie.children(0, ordinary.later.bits()).map(|node| node as u32).collect();
    marks.mark(&later, 1);
    // Much may stand below them, but by bytes nothing is read sooner.
    let read = marks.uppermost(trie, usize::MAX).unwrap_or_default();
    let mut states = StateTable::new(languages, from, tables.strategies);
    let base = ordinary.base.map(|base| states.number(base));
    let mut subtrees = Vec::with_capacity(read.len());
    for (node, _) in read {
        let depth = usize::from(nodes[node as usize].depth) - 1;
        // Every node is on the way to a token.
        let token = trie.subtree_tokens(node as usize).first();
        let text = token.and_then(|&token| vocabulary.token_bytes(token));
        let text = text.and_then(|text| text.get(..depth)).unwrap_or_default();
        let last = text.iter().rposition(|&byte| byte & 0xC0 != 0x80).unwrap_or(0);
        let (mut before, from) = match base {
            Some(base) if last > 0 => (base, last),
            _ => (StateTable::START, 0),
        };
        for &byte in &text[from..] {
            before = states.step_or_dead(before, byte)?;
        }
        subtrees.push(Subtree { node, before: states.state(before) });
    }
    let base = BaseSplit::without_exits(text);
    derive_split(tables, vocabulary, languages, from, base, &Difference::Subtrees(subtrees))
        .map(Some)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::super::testing::{Compared, TestTokens};
    use super::super::walk::plain_split;
    use super::super::{SplitEnds, SplitStart};
    use super::*;
    use crate::regular::{EcmaPatterns, Language, spelled};

    #[test]
    fn reading_what_is_not_ordinary_is_a_plain_walk() {
        let parts =
            "a b z 0 - - [ ] ^ ( ) * \\\\ \\\" \" \\\\u00 { } , : é é- → →- [é-é 😀".split(' ');
        let mut parts: Vec<&[u8]> = parts.map(str::as_bytes).collect();
        parts.extend([&b"\xE2\x86"[..], b"\x92", b"\xFF", b"\n", b" "]);
        let mut compared = Compared::new(&TestTokens::new(7, parts), 20_000);
        for canonical in [true, false] {
            let mut l = Languages::new();
            let text = spelled(&mut l, Arc::new(EcmaPatterns), canonical);
            let quote = l.literal(b"\"");
            let start = l.concat([text, quote]);
            for text in [
                "",
                "a",
                "a*",
                "a*?",
                "^",
                "(",
                "(a",
                "(a)",
                "a|",
                r"\\0",
                r"\\1",
                "[",
                "[^",
                "[b",
                "[é",
                "[a-",
                "[é-",
                "[b-z",
                r"[\\d",
                r"[\\d-",
                r"[\\0",
                r"[\\uD83D",
                "(?<a",
                "(?<",
                "(?<aé",
                r"\\k<",
                r"\\k<b",
                "(?",
            ] {
                let state = text.bytes().try_fold(start, |state, byte| l.step(state, byte));
                let state = state.unwrap();
                assert_ne!(state, Language::EMPTY, "{text}");
                let start = SplitStart { state, node: 0, ends: SplitEnds::OutsideWords };
                compared.state(text, &mut l, start, |tables, vocabulary, l, start| {
                    let Some(ordinary) = ordinary_text::ordinary_text(l, state)? else {
                        return Ok(None);
                    };
                    let chars = match ordinary.text {
                        Some(text) => {
                            let start = SplitStart { state: text, ..start };
                            Some(plain_split(vocabulary, l, start)?.inside)
                        }
                        None => None,
                    };
                    let (from, chars) = (start.split_state(), chars.as_ref());
                    split_by_ordinary_text(tables, vocabulary, l, from, &ordinary, chars)
                });
            }
        }
        compared.at_least(40);
    }
}
