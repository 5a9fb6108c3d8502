//! Choices of names, from places inside tokens.

use super::*;
use crate::grammar::names::{NameStep, Names};

/// Names that end inside tokens, by rank, and where.
type Ends = SmallVec<[(u32, PlacesId); 2]>;

impl Machine {
    /// Notes the tokens that stay within the names from a node of theirs on.
    pub(crate) fn read_names(
        &mut self,
        program: &Program,
        vocabulary: &Vocabulary,
        (names, from): (u32, u32),
        places: PlacesId,
        tokens: &mut Vec<u32>,
    ) -> Result<Ends> {
        let mut found = Findings::default();
        let mut ends: Vec<(u32, Place)> = Vec::new();
        for i in 0..self.masks.places[places as usize].len() {
            let place = self.masks.places[places as usize][i];
            let first = program.name_first(names, from);
            let mut places: SmallVec<[Place; 1]> = SmallVec::new();
            match self.masks.tokens(place) {
                Tokens::Left(runs) => {
                    for byte in first.iter() {
                        let trie = self.leaving(vocabulary, &runs, byte);
                        places.push(Place { trie, node: 0, ..place });
                    }
                }
                _ => places.push(place),
            }
            for place in places {
                program.with_names(names, |names| {
                    self.walk_names(vocabulary, names, (from, first), place, &mut found, &mut ends)
                })?;
            }
        }
        tokens.append(&mut found.tokens);
        ends.sort_unstable();
        let mut by_rank = Ends::new();
        for group in ends.chunk_by(|a, b| a.0 == b.0) {
            let mut places: Vec<Place> = group.iter().map(|end| end.1).collect();
            by_rank.push((group[0].0, self.masks.places_id(&mut places)));
        }
        Ok(by_rank)
    }

    fn walk_names(
        &mut self,
        vocabulary: &Vocabulary,
        names: &Names,
        (from, first): (u32, ByteSet),
        place: Place,
        found: &mut Findings,
        ends: &mut Vec<(u32, Place)>,
    ) -> Result<()> {
        let tokens = self.masks.tokens(place);
        let trie = tokens.trie(vocabulary);
        let nodes = trie.nodes();
        // Nodes of tokens and of names, and the bytes that both may go on with.
        let mut open: SmallVec<[(usize, u32, ByteSet); 16]> = SmallVec::new();
        open.push((place.node as usize, from, first));
        while let Some((node, name, first)) = open.pop() {
            for child in trie.children(node, first.bits()) {
                let at = nodes[child];
                let step = names.step(name, at.byte);
                if step != NameStep::Dead {
                    self.note(vocabulary, (place, &tokens, trie, child), found)?;
                }
                let leaf = at.subtree_end as usize == child + 1;
                match step {
                    NameStep::Inside(name) if !leaf => open.push((child, name, names.first(name))),
                    NameStep::End(rank) if !leaf => {
                        ends.push((rank, Place { node: child as u32, ..place }));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}
