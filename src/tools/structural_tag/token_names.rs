//! Texts in which names of special tokens may be written as those tokens.

use crate::grammar::{GrammarBuilder, NodeId, SpecialToken};
use crate::vocabulary::Vocabulary;

/// The special tokens of a vocabulary, by name.
pub(super) struct TokenNames {
    /// Names with ids, longer ones first.
    names: Vec<(String, u32)>,
}

/// The name of a special token in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameInText {
    /// Byte offset of its beginning.
    pub(super) from: usize,
    /// Byte offset of its end.
    pub(super) to: usize,
    pub(super) token: u32,
}

impl TokenNames {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let special = (0..vocabulary.len() as u32).filter(|&id| vocabulary.is_special(id));
        let names = special.map(|id| (vocabulary.token_name(id).into_owned(), id));
        // An id without a name is called by its number.
        let mut names: Vec<(String, u32)> =
            names.filter(|(name, id)| vocabulary.special(name) == Some(*id)).collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self { names }
    }

    /// The names in a text from left to right, the longest of those that begin at one place.
    pub(super) fn find(&self, text: &str) -> Vec<NameInText> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(c) = text[from..].chars().next() {
            let rest = &text[from..];
            match self.names.iter().find(|(name, _)| rest.starts_with(name.as_str())) {
                Some((name, token)) => {
                    found.push(NameInText { from, to: from + name.len(), token: *token });
                    from += name.len();
                }
                None => from += c.len_utf8(),
            }
        }
        found
    }

    /// Exactly a text, each name in it as its token or spelled.
    pub(super) fn text(&self, builder: &mut GrammarBuilder, text: &str) -> NodeId {
        let mut parts = Vec::new();
        let mut written = 0;
        for NameInText { from, to, token } in self.find(text) {
            if written < from {
                parts.push(builder.literal(&text.as_bytes()[written..from]));
            }
            let spelled = builder.literal(&text.as_bytes()[from..to]);
            let special = builder.special(SpecialToken::Id(token));
            parts.push(builder.choice([spelled, special]));
            written = to;
        }
        if written < text.len() {
            parts.push(builder.literal(&text.as_bytes()[written..]));
        }
        builder.sequence(parts)
    }
}
