//! A walk from a state by what it does otherwise than another state that is known.
//!
//! While a pattern searches for something, its states know how much was found, and nearly every
//! token leads all of them to the same state: the one where nothing is. So of a state's walk only
//! that is made in which the two differ.

use super::*;

/// What is known of another state.
pub(crate) struct Known<'a> {
    pub(crate) state: Language,
    pub(crate) inside: &'a TokenMask,
    pub(crate) ends: &'a [(u32, u16)],
    pub(crate) words: ByteSet,
}

impl Classes {
    /// The state to which most bytes lead from a state, if most bytes keep it there.
    pub(crate) fn usual(languages: &mut Languages, state: Language) -> Result<Option<Language>> {
        let usual = most_frequent(languages.row(state)?);
        Ok(match usual {
            Some(usual) if usual == state => None,
            Some(usual) if most_frequent(languages.row(usual)?) == Some(usual) => Some(usual),
            _ => None,
        })
    }

    /// The same as [`walk`](Self::walk), from what is known of another state; `None` if the two
    /// differ below more than so many nodes.
    pub(crate) fn differing(
        vocabulary: &Vocabulary,
        languages: &mut Languages,
        (state, every_end): (Language, bool),
        known: &Known<'_>,
        most: usize,
    ) -> Result<Option<Found>> {
        let trie = vocabulary.trie();
        let nodes = trie.nodes();
        let mut dense = Dense::new(languages, state, every_end);
        let other = dense.number(known.state);
        let mut starts = Vec::new();
        let mut differing = 0;
        for byte in 0..=u8::MAX {
            let Some(node) = trie.first(byte) else { continue };
            if dense.step(Dense::START, byte)? != dense.step(other, byte)? {
                starts.push(node);
                differing += nodes[node].subtree_end as usize - node;
            }
        }
        if differing > most {
            return Ok(None);
        }
        let (work, ends, words) = (usize::MAX, Vec::new(), known.words);
        let mut found = Found { inside: known.inside.clone(), work, ends, words };
        let mut touched = TokenMask::new(vocabulary.len());
        // By depth: the states of both.
        let mut path = vec![(Dense::START, other)];
        let (mut ends, mut known_ends): (Vec<End>, Vec<End>) = Default::default();
        for start in starts {
            let last = nodes[start].subtree_end as usize;
            let mut node = start;
            deadline::check()?;
            while node < last {
                let at = nodes[node];
                path.truncate(usize::from(at.depth));
                for ends in [&mut ends, &mut known_ends] {
                    while ends.last().is_some_and(|&(end, _)| end >= at.depth) {
                        ends.pop();
                    }
                }
                let (before, known_before) = path[usize::from(at.depth) - 1];
                let next = dense.step_on(before, at.byte)?;
                let known_next = dense.step_on(known_before, at.byte)?;
                if next == known_next && ends == known_ends {
                    node = at.subtree_end as usize;
                    continue;
                }
                if next == Dense::DEAD {
                    for &token in trie.subtree_tokens(node) {
                        touched.allow(token);
                        found.inside.deny(token);
                        passed(vocabulary, &mut dense, token, &ends, &mut found)?;
                    }
                    node = at.subtree_end as usize;
                    continue;
                }
                for &token in trie.tokens(node) {
                    touched.allow(token);
                    found.inside.allow(token);
                }
                if at.subtree_end as usize > node + 1 {
                    for (state, ends) in [(next, &mut ends), (known_next, &mut known_ends)] {
                        if state != Dense::DEAD && dense.accepts(state) {
                            ends.push((at.depth, state));
                        }
                    }
                }
                path.push((next, known_next));
                node += 1;
            }
            ends.clear();
            known_ends.clear();
        }
        let kept = known.ends.iter().filter(|&&(token, _)| !touched.contains(token));
        found.ends.extend(kept);
        Ok(Some(found))
    }
}

/// Notes a token that leaves the terminal, by the places in it where that may end.
fn passed(
    vocabulary: &Vocabulary,
    dense: &mut Dense<'_>,
    token: u32,
    ends: &[End],
    found: &mut Found,
) -> Result<()> {
    let bytes = vocabulary.token_bytes(token).unwrap_or_default();
    for &(end, state) in ends {
        let word = dense.going_on(state)?;
        match bytes.get(usize::from(end)) {
            Some(&next) if word.contains(next) => found.words = found.words.union(&word),
            _ => found.ends.push((token, end)),
        }
    }
    Ok(())
}

/// The successor of most bytes, if it has strings.
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

impl Dense<'_> {
    /// A step, also from where nothing is left.
    fn step_on(&mut self, state: u32, byte: u8) -> Result<u32> {
        match state {
            Self::DEAD => Ok(Self::DEAD),
            state => self.step(state, byte),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn a_state_is_what_it_does_otherwise() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut token = || -> Vec<u8> {
            (0..rng.random_range(1..9)).map(|_| b"aab01-\"x"[rng.random_range(0..8)]).collect()
        };
        let tokens = (0..3_000).map(|_| Some(token())).collect();
        let vocabulary = Vocabulary::from_tokens(tokens, &[], &[]).unwrap();
        let classes = Classes::new(&vocabulary);
        let patterns = [
            "[^\"]*[01]{3}[^\"]*\"",
            "([^\"01]|0[^\"1]|1)*\"?",
            "[^\"]*(a0|ab-|b+0)[^\"]*(\"x*)?",
            "(a|b[^a]|[^ab])*(-a{2}.*)?",
            "[^x]*x?[^x]*",
        ];
        let mut compared = 0;
        for pattern in patterns {
            let (mut l, states) = testing::states(pattern);
            for (state, every_end) in states.into_iter().flat_map(|s| [(s, false), (s, true)]) {
                let Some(usual) = Classes::usual(&mut l, state).unwrap() else { continue };
                let known = classes.walk(&vocabulary, &mut l, (usual, 0), every_end).unwrap();
                let Found { inside, ends, words, .. } = &known;
                let known = Known { state: usual, inside, ends, words: *words };
                let from = (state, every_end);
                let differing =
                    Classes::differing(&vocabulary, &mut l, from, &known, usize::MAX).unwrap();
                let walked = classes.walk(&vocabulary, &mut l, (state, 0), every_end).unwrap();
                let differing = testing::listed(differing.unwrap());
                assert_eq!(differing, testing::listed(walked), "{pattern}");
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
    }
}
