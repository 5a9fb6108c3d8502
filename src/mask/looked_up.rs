//! Tokens in which a captured text ends as one that it must not be.
//!
//! Items of an array that must differ are looked up where they end, and their language lacks none
//! of those that were written. So a walk allows tokens that end an item as one of these; they are
//! found by going through the tokens and the texts that were written side by side, and read for
//! real.

use std::sync::Arc;

use super::{Place, PlacesId, Tokens};
use crate::error::Result;
use crate::recognizer::program::{Point, Program};
use crate::recognizer::stepping::{Item, Machine};
use crate::regular::{ByteSet, Language, TextPlace, TextSets};
use crate::vocabulary::{TrieNode, Vocabulary};

impl Machine {
    /// Adds the tokens in which the text of an item ends as one that it must not be.
    pub(crate) fn refused_ends(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        item: Item,
        places: PlacesId,
        doubtful: &mut Vec<u32>,
    ) -> Result<()> {
        let Some((texts, at)) = self.refused_texts(program, item) else { return Ok(()) };
        for &place in Arc::clone(&self.masks.places[places as usize]).iter() {
            // Tails of runs are kept by the byte with which they begin.
            let Tokens::Left(runs) = self.masks.tokens(place) else {
                self.refused_below(vocabulary, (&texts, at), item.state, place, doubtful)?;
                continue;
            };
            for byte in texts.first_bytes(at).iter() {
                let trie = self.leaving(vocabulary, &runs, byte);
                let place = Place { trie, ..place };
                self.refused_below(vocabulary, (&texts, at), item.state, place, doubtful)?;
            }
        }
        Ok(())
    }

    /// The texts that an item must not be, and what it has read of them; `None` if it can be none
    /// of them any more.
    fn refused_texts(&self, program: &Program, item: Item) -> Option<(Arc<TextSets>, TextPlace)> {
        let Point::Capture { tag, .. } = program.point(item.point) else { return None };
        let (texts, set) = program.looked_up(tag)?;
        let read = self.text(item.text);
        let at = read.iter().try_fold(texts.start(set)?, |at, &byte| texts.advance(at, byte))?;
        Some((texts, at))
    }

    /// The same below one place, from where the item is in a state.
    fn refused_below(
        &mut self,
        vocabulary: &Vocabulary,
        (texts, at): (&TextSets, TextPlace),
        state: Language,
        place: Place,
        doubtful: &mut Vec<u32>,
    ) -> Result<()> {
        let tokens = self.masks.tokens(place);
        let trie = tokens.trie(vocabulary);
        let mut open = vec![(place.node as usize, at, state)];
        while let Some((node, at, state)) = open.pop() {
            for child in trie.children(node, texts.first_bytes(at).bits()) {
                let TrieNode { byte, subtree_end, .. } = trie.nodes()[child];
                let (Some(at), state) =
                    (texts.advance(at, byte), self.languages.step(state, byte)?)
                else {
                    continue;
                };
                if texts.ends(at) {
                    // A number may go on; what else follows comes after its end.
                    match state {
                        Language::EPSILON => doubtful.extend_from_slice(trie.subtree_tokens(child)),
                        _ => {
                            let others = self.languages.first_bytes(state)?.complement();
                            for end in trie.children(child, others.bits()) {
                                doubtful.extend_from_slice(trie.subtree_tokens(end));
                            }
                        }
                    }
                }
                if state != Language::EMPTY && subtree_end as usize > child + 1 {
                    open.push((child, at, state));
                }
            }
        }
        Ok(())
    }

    /// The bytes that end the text of an item as one that it must not be.
    pub(crate) fn refused_bytes(&mut self, program: &Program, item: Item) -> Result<ByteSet> {
        let mut refused = ByteSet::EMPTY;
        let Some((texts, at)) = self.refused_texts(program, item) else { return Ok(refused) };
        for byte in texts.first_bytes(at).iter() {
            let ends = texts.advance(at, byte).is_some_and(|at| texts.ends(at));
            if ends && self.languages.step(item.state, byte)? == Language::EPSILON {
                refused.insert(byte);
            }
        }
        Ok(refused)
    }
}
