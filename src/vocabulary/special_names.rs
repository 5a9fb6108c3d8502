//! Names of special tokens in texts.
//!
//! A tokenizer takes the name of a special token out of a text before it looks at anything else, so
//! a tag of a chat format may be text in one vocabulary and hold tokens in another:
//!
//! ```text
//! <|close|>argument<|sep|>     text, or the tokens `<|close|>` and `<|sep|>` with text between them
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use super::Vocabulary;

/// The special tokens of a vocabulary, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpecialTokenNames {
    names: FxHashMap<Box<str>, u32>,
    /// Lengths of names in bytes, longer ones first.
    lengths: Vec<usize>,
    /// First characters of names.
    firsts: FxHashSet<char>,
}

/// The name of a special token in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NameInText {
    /// Byte offset of its beginning.
    pub(crate) from: usize,
    /// Byte offset of its end.
    pub(crate) to: usize,
    pub(crate) token: u32,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextPart<'t> {
    Text(&'t str),
    /// A special token by its name, with its id.
    Token(&'t str, u32),
}

impl SpecialTokenNames {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let special = vocabulary.ids.iter().filter(|&(_, &id)| vocabulary.is_special(id));
        let names: FxHashMap<Box<str>, u32> = special
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, &id)| (name.clone(), id))
            .collect();
        let mut lengths: Vec<usize> = names.keys().map(|name| name.len()).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        lengths.dedup();
        let firsts = names.keys().filter_map(|name| name.chars().next()).collect();
        Self { names, lengths, firsts }
    }

    /// The names in a text from left to right, the longest of those that begin at one place.
    pub(crate) fn find(&self, text: &str) -> Vec<NameInText> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(c) = text[from..].chars().next() {
            let lengths = if self.firsts.contains(&c) { &self.lengths[..] } else { &[] };
            let named = lengths.iter().find_map(|&length| {
                let name = text.get(from..from + length)?;
                self.names.get(name).map(|&token| NameInText { from, to: from + length, token })
            });
            from += named.map_or(c.len_utf8(), |named| named.to - named.from);
            found.extend(named);
        }
        found
    }

    /// Whether a text holds a name.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        !self.find(text).is_empty()
    }

    /// A text with its names as tokens.
    pub(crate) fn parts<'t>(&self, text: &'t str) -> Vec<TextPart<'t>> {
        let mut parts = Vec::new();
        let mut written = 0;
        for NameInText { from, to, token } in self.find(text) {
            if written < from {
                parts.push(TextPart::Text(&text[written..from]));
            }
            parts.push(TextPart::Token(&text[from..to], token));
            written = to;
        }
        if written < text.len() {
            parts.push(TextPart::Text(&text[written..]));
        }
        parts
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_at_each_place() {
        let tokens = vec![Some(b"a".to_vec())];
        let special = [(1, "<|a|>"), (2, "<|a|>b"), (3, "é")];
        let vocabulary = Vocabulary::from_tokens(tokens, &special, &[]).unwrap();
        let names = SpecialTokenNames::new(&vocabulary);
        let parts = names.parts("x<|a|><|a|>bé<|a");
        let [x, rest] = ["x", "<|a"].map(TextPart::Text);
        let [a, b, e] = [("<|a|>", 1), ("<|a|>b", 2), ("é", 3)];
        let [a, b, e] = [a, b, e].map(|(name, id)| TextPart::Token(name, id));
        assert_eq!(parts, [x, a, b, e, rest]);
        assert!(!names.is_in("<|a") && names.parts("").is_empty());
    }
}
