//! The fewest tokens that spell a text, by dynamic programming from its end: with the tokens `a`,
//! `b`, `ab`, `c`, the text `abc` costs 2 (`ab`, `c`), its tails `bc` 2 and `c` 1.

use crate::vocabulary::Vocabulary;

/// A special token as a symbol of a text; other symbols are bytes.
pub(super) fn special(token: u32) -> u32 {
    token.saturating_add(256)
}

/// The cost of a text that no tokens spell.
const NEVER: u32 = u32::MAX;

/// A text with the cost of each of its tails.
#[derive(Clone, Debug)]
pub(super) struct TokenCosts {
    /// Bytes, and special tokens as [`special`] writes them.
    pub(super) text: Vec<u32>,
    /// By offset: the fewest tokens that spell the rest.
    fewest: Vec<u32>,
}

impl TokenCosts {
    /// The empty text.
    pub(super) fn end() -> Self {
        Self { text: Vec::new(), fewest: vec![0] }
    }

    /// The costs of `rest` followed by `tail`. Those of the tail are not computed again.
    pub(super) fn before(vocabulary: &Vocabulary, rest: &[u32], tail: &Self) -> Self {
        let mut text = rest.to_vec();
        text.extend_from_slice(&tail.text);
        let mut fewest = vec![NEVER; rest.len()];
        fewest.extend_from_slice(&tail.fewest);
        for at in (0..rest.len()).rev() {
            let mut least = NEVER;
            each_token(vocabulary, &text, at, &mut |_, end| {
                least = least.min(fewest[end].saturating_add(1));
            });
            fewest[at] = least;
        }
        Self { text, fewest }
    }

    /// The fewest tokens that spell the text; [`u32::MAX`] if none do.
    pub(super) fn count(&self) -> u32 {
        self.fewest[0]
    }

    /// The fewest tokens that spell the text.
    pub(super) fn tokens(&self, vocabulary: &Vocabulary) -> Option<Vec<u32>> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while at < self.text.len() {
            let left = self.fewest[at].checked_sub(1)?;
            let mut found = None;
            each_token(vocabulary, &self.text, at, &mut |token, end| {
                if self.fewest[end] == left {
                    found = Some((token, end));
                }
            });
            let (token, end) = found?;
            tokens.push(token);
            at = end;
        }
        Some(tokens)
    }
}

/// Calls `found` with each token that spells the text from an offset on, and the offset after it.
fn each_token(vocabulary: &Vocabulary, text: &[u32], at: usize, found: &mut dyn FnMut(u32, usize)) {
    let byte = |at: usize| text.get(at).and_then(|&symbol| u8::try_from(symbol).ok());
    match byte(at) {
        Some(_) => vocabulary.trie().tokens_from(at, byte, found),
        None => found(text[at] - 256, at + 1),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_tokens_across_the_border_of_rest_and_tail() {
        let tokens = ["a", "b", "ab", "bab", "c"].map(|token| Some(token.as_bytes().to_vec()));
        let vocabulary = Vocabulary::from_tokens(tokens.into(), &[], &[]).unwrap();
        let symbols = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
        let tail = TokenCosts::before(&vocabulary, &symbols("abc"), &TokenCosts::end());
        assert_eq!(tail.tokens(&vocabulary).unwrap(), [2, 4]);
        let whole = TokenCosts::before(&vocabulary, &symbols("ab"), &tail);
        assert_eq!(whole.tokens(&vocabulary).unwrap().len(), 3);
        let special = [&symbols("b")[..], &[special(7)], &symbols("ab")].concat();
        let whole = TokenCosts::before(&vocabulary, &special, &TokenCosts::end());
        assert_eq!(whole.tokens(&vocabulary).unwrap(), [1, 7, 2]);
        let never = TokenCosts::before(&vocabulary, &symbols("x"), &tail);
        assert_eq!((never.count(), never.tokens(&vocabulary)), (NEVER, None));
    }
}
