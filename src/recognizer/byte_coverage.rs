//! The bytes that a vocabulary's tokens can spell.

use crate::regular::ByteSet;
use crate::vocabulary::Vocabulary;

/// The bytes that a vocabulary's tokens can spell; computed once for each compiler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteCoverage {
    /// The bytes that are tokens by themselves.
    pub(crate) single: ByteSet,
    /// The bytes that stand in any token.
    pub(crate) any: ByteSet,
    /// The length of the longest token, in bytes.
    pub(crate) longest: u32,
}

impl ByteCoverage {
    /// One pass over the vocabulary's trie.
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let mut this = Self { single: ByteSet::EMPTY, any: ByteSet::EMPTY, longest: 0 };
        for (i, node) in vocabulary.trie().nodes().iter().enumerate().skip(1) {
            this.any.insert(node.byte);
            this.longest = this.longest.max(node.depth.into());
            if node.depth == 1 && !vocabulary.trie().tokens(i).is_empty() {
                this.single.insert(node.byte);
            }
        }
        this
    }

    /// Whether every byte of UTF-8 is a token by itself.
    pub(crate) fn has_every_byte(&self) -> bool {
        const NEVER_IN_UTF8: [u8; 13] =
            [0xC0, 0xC1, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];
        (0..=u8::MAX).all(|byte| self.single.contains(byte) || NEVER_IN_UTF8.contains(&byte))
    }
}
