//! Many places as one: what is left of their tokens, in a trie of its own.
//!
//! A name may end in thousands of places inside tokens, before an operator, a bracket or a full
//! stop, and what is left behind all of them is a few hundred *tails*. Each terminal that may follow
//! would look at all the places; so they are gathered once, when the terminal has been read.

use super::*;

/// Fewer places are left as they are.
const FEW: usize = 24;

/// Tokens behind more places than these are not gathered.
const MANY: usize = 150_000;

impl Machine {
    /// The same places, or fewer, if what follows begins with none of `unlike`.
    pub(crate) fn gather(
        &mut self,
        vocabulary: &Vocabulary,
        places: Vec<Place>,
        unlike: ByteSet,
    ) -> Vec<Place> {
        let inside = |place: &Place| place.node != 0 && place.is_shared();
        let gathers = self.shared_slices.strategies().has(Strategy::Gather);
        if !gathers || places.iter().filter(|&place| inside(place)).count() < FEW {
            return places;
        }
        let (gathered, mut left): (Vec<Place>, Vec<Place>) =
            places.iter().partition(|&p| inside(p));
        let mut tails: Vec<(&[u8], u32)> = Vec::new();
        for place in gathered {
            let tokens = self.masks.tokens(place);
            let trie = tokens.trie(vocabulary);
            let nodes = trie.nodes();
            let top = nodes[place.node as usize];
            let mut node = place.node as usize + 1;
            while node < top.subtree_end as usize {
                let at = nodes[node];
                if at.depth == top.depth + 1 && unlike.contains(at.byte) {
                    node = at.subtree_end as usize;
                    continue;
                }
                let rest = usize::from(at.depth - top.depth);
                for (i, &token) in trie.tokens(node).iter().enumerate() {
                    if !tokens.has(place.condition, at.first_token as usize + i) {
                        continue;
                    }
                    // What is below a node is the end of the token, in tries of tails, too.
                    let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                    let tail = &bytes[bytes.len().saturating_sub(rest)..];
                    tails.push((tail, token));
                }
                node += 1;
            }
            if tails.len() > MANY {
                return places;
            }
        }
        let tails = Trie::from_unsorted(tails);
        let id = new_trie_id();
        let trie = self.masks.trie(id, || Tokens::Tails(Arc::new(tails)));
        left.push(Place { trie, ..Place::START });
        left.sort_unstable();
        left
    }
}
