//! The split of a state that nearly every byte leads back to, from the tokens that leave the
//! self-loop.
//!
//! States of a string in which a pattern is searched for are such: in the language of
//! `[^"]*netdrv_[^"]*"`, at the start, only an `n` leads elsewhere, and after it only an `e` goes
//! on. So all tokens of whole characters are inside, but for those that have a byte or a pair of
//! bytes that leads away; only these are read, from the nodes of the pairs.

use smallvec::SmallVec;

use super::SplitDraft;
use super::SplitState;
use super::character_boundaries::{CharacterPosition, NodeMarks};
use super::derived_split::{BaseSplit, Difference, Subtree, derive_split};
use super::split_tables::SplitTables;
use crate::error::Result;
use crate::regular::{ByteSet, Language, Languages};
use crate::vocabulary::Vocabulary;

/// The least bytes that lead back to a state with a self-loop; with fewer, most tokens would be read.
const MIN_LOOP_BYTES: usize = 32;

/// A state entered from the self-loop whose row differs from the self-loop's only at `seconds`.
struct SecondState {
    state: Language,
    /// Bytes that lead from the self-loop to it.
    firsts: ByteSet,
    /// Bytes at which its row differs. None if one of them is no ASCII character: then `firsts` are
    /// among [`LoopExits::bytes`].
    seconds: ByteSet,
}

/// The transitions that lead away from a state with a self-loop.
struct LoopExits {
    /// Bytes with which it is left wherever they stand.
    bytes: ByteSet,
    second_states: Vec<SecondState>,
}

impl LoopExits {
    /// The exits of a state; `None` unless most bytes lead back to it.
    fn of(languages: &mut Languages, looping_state: Language) -> Result<Option<Self>> {
        let row = *languages.row(looping_state)?;
        let is_live = |byte: u8| row[usize::from(byte)] != Language::EMPTY;
        if languages.is_nullable(looping_state)
            || row.iter().filter(|&&next| next == looping_state).count() < MIN_LOOP_BYTES
            || (0x80..0xC2).chain(0xF5..=0xFF).any(is_live)
        {
            return Ok(None);
        }
        let mut this = Self { bytes: ByteSet::EMPTY, second_states: Vec::new() };
        for lead in 0xC2..0xF5 {
            if !leads_back(languages, row[usize::from(lead)], lead, looping_state)? {
                this.bytes.insert(lead);
            }
        }
        for byte in 0..0x80 {
            let next = row[usize::from(byte)];
            if next == looping_state {
                continue;
            }
            if next == Language::EMPTY || languages.is_nullable(next) {
                this.bytes.insert(byte);
                continue;
            }
            match this.second_states.iter_mut().find(|second| second.state == next) {
                Some(second) => second.firsts.insert(byte),
                None => this.second_states.push(SecondState {
                    state: next,
                    firsts: ByteSet::single(byte),
                    seconds: ByteSet::EMPTY,
                }),
            }
        }
        for SecondState { state, firsts, seconds } in &mut this.second_states {
            let after = languages.row(*state)?;
            let others =
                (0..=u8::MAX).filter(|&byte| after[usize::from(byte)] != row[usize::from(byte)]);
            *seconds = others.collect();
            if seconds.iter().any(|byte| byte >= 0x80) {
                this.bytes = this.bytes.union(firsts);
                *seconds = ByteSet::EMPTY;
            }
        }
        Ok(Some(this))
    }
}

/// Whether every character with this lead byte leads back to `looping_state`, and nothing else goes
/// on.
fn leads_back(
    languages: &mut Languages,
    next: Language,
    lead: u8,
    looping_state: Language,
) -> Result<bool> {
    let Some(position) = CharacterPosition::BOUNDARY.step(lead) else { return Ok(false) };
    let mut pending: SmallVec<[(Language, CharacterPosition); 8]> =
        SmallVec::from_slice(&[(next, position)]);
    let mut at = 0;
    while let Some(&(state, position)) = pending.get(at) {
        at += 1;
        if state == Language::EMPTY || languages.is_nullable(state) {
            return Ok(false);
        }
        let row = languages.row(state)?;
        for byte in 0..=u8::MAX {
            let next = row[usize::from(byte)];
            match position.step(byte) {
                None if next != Language::EMPTY => return Ok(false),
                Some(CharacterPosition::BOUNDARY) if next != looping_state => return Ok(false),
                Some(position)
                    if position != CharacterPosition::BOUNDARY
                        && !pending.contains(&(next, position)) =>
                {
                    pending.push((next, position));
                }
                _ => {}
            }
        }
    }
    Ok(true)
}

/// The split of a state with a self-loop; `None` if it is not of this kind, or if more nodes than
/// `most` are to be read.
pub(in crate::mask) fn split_of_self_loop(
    tables: &SplitTables,
    vocabulary: &Vocabulary,
    languages: &mut Languages,
    from: SplitState,
    most: usize,
) -> Result<Option<SplitDraft>> {
    let Some(exits) = LoopExits::of(languages, from.state)? else { return Ok(None) };
    let (trie, boundaries) = (vocabulary.trie(), &tables.boundaries);
    // By node: 1 + the index into `states` of the state from which it is read; 0 is no mark.
    let mut marks = NodeMarks::new(trie);
    for byte in exits.bytes.iter() {
        marks.mark(boundaries.nodes_of(byte), 1);
    }
    for (SecondState { firsts, seconds, .. }, mark) in exits.second_states.iter().zip(2..) {
        for (first, second) in firsts.iter().flat_map(|a| seconds.iter().map(move |b| (a, b))) {
            marks.mark(boundaries.nodes_of_pair(first, second), mark);
        }
    }
    let Some(nodes) = marks.uppermost(trie, most) else { return Ok(None) };
    let second_states = exits.second_states.iter().map(|second| second.state);
    let states: SmallVec<[Language; 4]> = [from.state].into_iter().chain(second_states).collect();
    let subtree = |(node, mark)| Subtree { node, before: states[usize::from(mark) - 1] };
    let difference = Difference::Subtrees(nodes.into_iter().map(subtree).collect());
    let base = BaseSplit::without_exits(boundaries.text());
    derive_split(tables, vocabulary, languages, from, base, &difference).map(Some)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::testing::{Compared, TestTokens};
    use super::*;

    #[test]
    fn reading_what_leads_away_is_a_plain_walk() {
        // Whole characters, and bytes that are none.
        let parts: [&[u8]; 16] = [
            b"a",
            b"b",
            b"c",
            b"n",
            b"e",
            b"t",
            b"0",
            b"\"",
            b"\\",
            b":",
            b"\n",
            "é".as_bytes(),
            "→".as_bytes(),
            b"\xE2\x86",
            b"\x92",
            b"\xFF",
        ];
        let mut compared = Compared::new(&TestTokens::new(5, parts), 20_000);
        let text = r#"(?:[^"\\\n]|\\.)"#;
        for pattern in [
            format!("{text}*net{text}*\""),
            format!("{text}*(net|→c|tea){text}*\"(:a*)?"),
            format!("{text}*(é|\\\\n){text}*\""),
            "([^\"\\\\\nn]|n+[^\"\\\\\nen])*n*\":".to_owned(),
            "[^a\"]*\"".to_owned(),
            "[^→\"]*\"[abc]*".to_owned(),
            "([^\"e0]|ee|0c?a)*\"".to_owned(),
        ] {
            compared.all_states(&pattern, |tables, vocabulary, l, start| {
                let from = start.split_state();
                split_of_self_loop(tables, vocabulary, l, from, usize::MAX)
            });
        }
        compared.at_least(12);
    }
}
