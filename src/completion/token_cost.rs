//! Texts and the fewest tokens that spell them.

use crate::vocabulary::Vocabulary;

/// A special token as a symbol of a text; other symbols are bytes.
pub(crate) fn special(token: u32) -> u32 {
    token.saturating_add(256)
}

/// No tokens spell it.
const NEVER: u32 = u32::MAX;

/// A text, and for each place in it the fewest tokens that spell what follows.
#[derive(Clone, Debug)]
pub(crate) struct Spelled {
    /// Bytes, and special tokens as [`special`] writes them.
    pub(crate) text: Vec<u32>,
    fewest: Vec<u32>,
}

impl Spelled {
    /// The empty text.
    pub(crate) fn end() -> Self {
        Self { text: Vec::new(), fewest: vec![0] }
    }

    /// `rest`, then `tail`. What is known of the tail is not looked for again.
    pub(crate) fn before(vocabulary: &Vocabulary, rest: &[u32], tail: &Self) -> Self {
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

    /// How many tokens spell it, [`u32::MAX`] if none do.
    pub(crate) fn count(&self) -> u32 {
        self.fewest[0]
    }

    /// These tokens.
    pub(crate) fn tokens(&self, vocabulary: &Vocabulary) -> Option<Vec<u32>> {
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

/// Calls `found` with each token that spells what stands at a place, and where it ends.
fn each_token(vocabulary: &Vocabulary, text: &[u32], at: usize, found: &mut dyn FnMut(u32, usize)) {
    let trie = vocabulary.trie();
    let byte = |at: usize| text.get(at).and_then(|&symbol| u8::try_from(symbol).ok());
    let Some(first) = byte(at) else {
        found(text[at] - 256, at + 1);
        return;
    };
    let mut node = trie.first(first);
    let mut end = at + 1;
    while let Some(here) = node {
        if let Some(&token) = trie.tokens(here).first() {
            found(token, end);
        }
        node = byte(end).and_then(|byte| trie.child(here, byte));
        end += 1;
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
        let tail = Spelled::before(&vocabulary, &symbols("abc"), &Spelled::end());
        assert_eq!(tail.tokens(&vocabulary).unwrap(), [2, 4]);
        let whole = Spelled::before(&vocabulary, &symbols("ab"), &tail);
        assert_eq!(whole.tokens(&vocabulary).unwrap().len(), 3);
        let special = [&symbols("b")[..], &[special(7)], &symbols("ab")].concat();
        let whole = Spelled::before(&vocabulary, &special, &Spelled::end());
        assert_eq!(whole.tokens(&vocabulary).unwrap(), [1, 7, 2]);
        let never = Spelled::before(&vocabulary, &symbols("x"), &tail);
        assert_eq!((never.count(), never.tokens(&vocabulary)), (NEVER, None));
    }
}
