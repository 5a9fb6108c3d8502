//! A fixed set of strings as an automaton that computes its states.
//!
//! As an expression, a string is as many languages as it has bytes, all made at once. Questions
//! about texts that were just written (a key, an item that others must differ from) are mostly
//! decided by their first bytes, and each is asked once. Here a state is a range of the sorted
//! strings and a number of bytes, and only visited states are made.

use std::hash::Hash as _;
use std::sync::Arc;

use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::languages::keyed_hash;
use crate::regular::{ByteSet, Language, Languages};

/// Exactly these strings.
pub(crate) fn listed(languages: &mut Languages, mut texts: Vec<Vec<u8>>) -> Language {
    texts.sort_unstable();
    texts.dedup();
    if texts.is_empty() {
        return Language::EMPTY;
    }
    let name = format!("texts {:032x}", keyed_hash(|hasher| texts.hash(hasher)));
    let start = [0, texts.len() as i64, 0].into();
    languages.automaton(Arc::new(StringSet { name, texts: texts.into() }), start)
}

/// A state is the first and the end of the strings that begin as was read, and the number of bytes
/// read.
#[derive(Debug)]
struct StringSet {
    name: String,
    /// Sorted.
    texts: Box<[Vec<u8>]>,
}

impl StringSet {
    /// The index of the first string that begins as was read, these strings, and the number of
    /// bytes read.
    fn at(&self, state: &[i64]) -> (usize, &[Vec<u8>], usize) {
        match *state {
            [from, to, read] => {
                let (from, to) = (from as usize, to as usize);
                (from, self.texts.get(from..to).unwrap_or_default(), read as usize)
            }
            // Only this file encodes states of this automaton, so no other length occurs.
            _ => (0, &[], 0),
        }
    }
}

impl Automaton for StringSet {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        // The shortest comes first.
        let (_, texts, read) = self.at(state);
        texts.first().is_some_and(|text| text.len() == read)
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let (from, texts, read) = self.at(state);
        let first = texts.partition_point(|text| text.get(read).is_none_or(|&b| b < byte));
        let last = texts.partition_point(|text| text.get(read).is_none_or(|&b| b <= byte));
        let after = [(from + first) as i64, (from + last) as i64, read as i64 + 1];
        (first < last).then(|| after.into())
    }

    fn first_bytes(&self, state: &[i64]) -> Option<ByteSet> {
        let (_, mut texts, read) = self.at(state);
        let mut first = ByteSet::EMPTY;
        while let Some(text) = texts.first() {
            // The shortest may end here.
            let byte = text.get(read).copied();
            byte.into_iter().for_each(|byte| first.insert(byte));
            texts = &texts[texts.partition_point(|text| text.get(read).copied() <= byte)..];
        }
        Some(first)
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        Some(!self.at(state).1.is_empty())
    }

    fn is_finite(&self) -> bool {
        true
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        let (_, texts, read) = self.at(state);
        texts.iter().map(|text| (text.len() - read) as u32).min().unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_texts_are_accepted() {
        let mut l = Languages::new();
        let texts = ["", "a", "abc", "abd", "b\u{fc}"];
        let x = listed(&mut l, texts.iter().map(|text| text.as_bytes().to_vec()).collect());
        for text in texts {
            assert!(l.matches(x, text.as_bytes()).unwrap(), "{text}");
        }
        for (read, bytes) in [("", "ab"), ("a", "b"), ("ab", "cd"), ("abd", ""), ("b", "\u{c3}")] {
            let state = read.bytes().fold(x, |state, byte| l.step(state, byte).unwrap());
            let bytes: ByteSet = bytes.chars().map(|c| c as u8).collect();
            assert_eq!(l.first_bytes(state).unwrap(), bytes, "{read}");
        }
        for text in ["ab", "abcd", "b", "c", "\u{fc}"] {
            assert!(!l.matches(x, text.as_bytes()).unwrap(), "{text}");
        }
        let none = listed(&mut l, Vec::new());
        assert_eq!(none, Language::EMPTY);
        let others = l.difference(Language::ALL, x);
        assert!(l.is_live(others).unwrap() && !l.matches(others, b"abd").unwrap());
    }
}
