//! The result of reading a vocabulary file.

use super::token_table::TokenTable;

/// A vocabulary as a loader has read it, before its end tokens are set aside and its trie is built
/// (`Vocabulary::build`). The only type that a loader must produce.
#[derive(Clone, Debug, Default)]
pub(crate) struct VocabularyDraft {
    /// The bytes and the kind of each id.
    pub(crate) table: TokenTable,
    /// Names of special and added tokens, in the file's order; of several ids with one name the
    /// first is found by it.
    pub(crate) names: Vec<(u32, String)>,
    /// End tokens, the most important one first; duplicates are dropped later.
    pub(crate) end: Vec<u32>,
    /// Whether the tokenizer takes one leading space off a decoded text.
    pub(crate) strips_leading_space: bool,
}
