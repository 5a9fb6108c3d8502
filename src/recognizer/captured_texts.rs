//! Captured strings, hash-consed: each is stored as the string without its last byte, and that byte.

use rustc_hash::FxHashMap;

use super::item::{NO_TEXT, TextId};

/// The strings that a recognizer has captured.
#[derive(Debug, Default)]
pub(crate) struct CapturedTexts {
    /// By id, less one: the string before the last byte, and that byte.
    texts: Vec<(TextId, u8)>,
    ids: FxHashMap<(TextId, u8), TextId>,
}

impl CapturedTexts {
    /// The string with one byte more.
    pub(super) fn push(&mut self, text: TextId, byte: u8) -> TextId {
        *self.ids.entry((text, byte)).or_insert_with(|| {
            self.texts.push((text, byte));
            self.texts.len() as TextId
        })
    }

    /// The string's bytes. O(length).
    pub(super) fn bytes_of(&self, mut text: TextId) -> Vec<u8> {
        let mut bytes = Vec::new();
        while text != NO_TEXT {
            let (before, byte) = self.texts[text as usize - 1];
            bytes.push(byte);
            text = before;
        }
        bytes.reverse();
        bytes
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.texts.len() * (2 * size_of::<(TextId, u8)>() + 8)
    }
}
