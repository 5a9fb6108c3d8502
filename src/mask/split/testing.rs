//! Vocabularies by chance, and splits compared with the plain walk.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::split_tables::SplitTables;
use super::walk::plain_split;
use super::{SplitDraft, SplitEnds, SplitStart, TokenExit};
use crate::error::Result;
use crate::mask::strategies::Strategies;
use crate::regular::{Language, Languages, Options, Utf8, parse};
use crate::vocabulary::Vocabulary;

/// Tokens of some parts, by chance.
pub(in crate::mask) struct TestTokens {
    seed: u64,
    parts: Vec<Vec<u8>>,
    /// The most parts of a token.
    pub(in crate::mask) most: usize,
}

impl TestTokens {
    pub(in crate::mask) fn new<P: AsRef<[u8]>>(
        seed: u64,
        parts: impl IntoIterator<Item = P>,
    ) -> Self {
        let parts = parts.into_iter().map(|part| part.as_ref().to_vec()).collect();
        Self { seed, parts, most: 6 }
    }

    pub(in crate::mask) fn vocabulary(&self, len: usize) -> Vocabulary {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut token = || -> Vec<u8> {
            let count = rng.random_range(1..=self.most);
            let parts = (0..count).map(|_| &self.parts[rng.random_range(0..self.parts.len())]);
            parts.flatten().copied().collect()
        };
        let tokens = (0..len).map(|_| Some(token())).collect();
        Vocabulary::from_tokens(tokens, &[], &[]).unwrap()
    }
}

/// All states of a pattern that match something.
pub(in crate::mask) fn states(pattern: &str) -> (Languages, Vec<Language>) {
    let mut l = Languages::new();
    let start = parse(&mut l, pattern, Options::default(), &Utf8).unwrap();
    let mut states = vec![start];
    for i in 0.. {
        let Some(&state) = states.get(i) else { break };
        for after in *l.row(state).unwrap() {
            if after != Language::EMPTY && !states.contains(&after) {
                states.push(after);
            }
        }
    }
    (l, states)
}

/// The parts of a split on which two walks must agree, in order.
fn listed(mut draft: SplitDraft) -> (Vec<u32>, Vec<TokenExit>) {
    draft.exits.sort_unstable();
    (draft.inside.iter().collect(), draft.exits)
}

/// A strategy compared with the plain walk.
pub(in crate::mask) struct Compared {
    pub(in crate::mask) vocabulary: Vocabulary,
    pub(in crate::mask) tables: SplitTables,
    count: usize,
}

impl Compared {
    pub(in crate::mask) fn new(tokens: &TestTokens, len: usize) -> Self {
        let vocabulary = tokens.vocabulary(len);
        let tables = SplitTables::new(&vocabulary, Strategies::ALL);
        Self { vocabulary, tables, count: 0 }
    }

    /// Compares, unless the strategy does not apply.
    pub(in crate::mask) fn state(
        &mut self,
        name: &str,
        l: &mut Languages,
        start: SplitStart,
        strategy: impl FnOnce(
            &SplitTables,
            &Vocabulary,
            &mut Languages,
            SplitStart,
        ) -> Result<Option<SplitDraft>>,
    ) {
        let Some(found) = strategy(&self.tables, &self.vocabulary, l, start).unwrap() else {
            return;
        };
        let plain = plain_split(&self.vocabulary, l, start).unwrap();
        assert_eq!(found.word_bytes.union(&plain.word_bytes), found.word_bytes, "{name}");
        assert!(listed(found) == listed(plain), "{name}");
        self.count += 1;
    }

    /// Compares from all states of a pattern, with all ends and without those inside words.
    pub(in crate::mask) fn all_states(
        &mut self,
        pattern: &str,
        mut strategy: impl FnMut(
            &SplitTables,
            &Vocabulary,
            &mut Languages,
            SplitStart,
        ) -> Result<Option<SplitDraft>>,
    ) {
        let (mut l, states) = states(pattern);
        for state in states {
            for ends in [SplitEnds::All, SplitEnds::OutsideWords] {
                self.state(pattern, &mut l, SplitStart { state, node: 0, ends }, &mut strategy);
            }
        }
    }

    /// Fails if the strategy applied less often.
    pub(in crate::mask) fn at_least(&self, count: usize) {
        assert!(self.count >= count, "{}", self.count);
    }
}
