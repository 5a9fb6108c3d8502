//! A lower bound on the number of tokens of a text, without tokenising it.
//!
//! Tokenising takes memory and time in proportion to a text's length, even if it is far longer than
//! the model's context. No token has more bytes than the longest one, so a text of n bytes takes at
//! least n divided by that many tokens. The longest tokens of real vocabularies are runs of blanks
//! or dashes, so the same is computed for two kinds of bytes alone: those that are no white space,
//! and those of letters and digits.
//!
//! Example: the longest token of Qwen2.5 has 128 bytes, its longest word 32, so 15 MB of words take
//! more than 300,000 tokens.
//!
//! A tokenizer's normalizer can shorten a text before it is tokenised. Each known step has its
//! worst case in [`TokenCountBound::weight`]; with any other step there is no bound.

use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::tokenizer::normalizer::SplitDelimiterBehavior;
use tokenizers::{ModelWrapper, PreTokenizerWrapper};

use crate::vocabulary::Vocabulary;

/// SentencePiece's mark for a space.
const SPACE_MARK: char = '\u{2581}';

/// Parts of a byte in which weights are counted: a composed character may have fewer bytes than
/// what it is composed of: by a factor of 3 at most, as Unicode's annex 15 has it, and 1 to spare.
const PARTS: usize = 4;

/// Bytes that an added token may take beside its name: the space that a normalizer puts before it.
const SLACK: usize = 4;

/// Kinds of bytes that are counted: all, no white space, letters and digits.
const KINDS: [fn(u8) -> bool; 3] =
    [|_| true, |byte| !byte.is_ascii_whitespace(), |b| b.is_ascii_alphanumeric() || b >= 0x80];

/// Upper bounds of what one token holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenCountBound {
    /// Greatest number of bytes of each of the [`KINDS`] in one token.
    most: [usize; KINDS.len()],
    /// Whether characters may be composed.
    composes: bool,
    /// Whether added tokens take the white space beside them.
    strips: bool,
}

impl TokenCountBound {
    /// `None` if the tokenizer has a step whose worst case is not known, or drops what it has no
    /// token for.
    pub(crate) fn new(tokenizer: &tokenizers::Tokenizer, vocabulary: &Vocabulary) -> Option<Self> {
        let mut composes = false;
        let normalizer = tokenizer.get_normalizer();
        let is_known = normalizer.is_none_or(|n| keeps_length(n, &mut composes))
            && tokenizer.get_pre_tokenizer().is_none_or(keeps_all)
            && matches!(tokenizer.get_model(), ModelWrapper::BPE(_) | ModelWrapper::Unigram(_))
            && has_every_byte(vocabulary);
        if !is_known {
            return None;
        }
        let mut most = [1; KINDS.len()];
        // Vocabularies are far smaller than u32::MAX.
        for id in 0..vocabulary.len() as u32 {
            match vocabulary.token_bytes(id) {
                Some(bytes) => widen(&mut most, bytes, 0),
                None if vocabulary.is_special(id) => {
                    widen(&mut most, vocabulary.token_name(id).as_bytes(), SLACK);
                }
                None => {}
            }
        }
        let added = tokenizer.get_added_tokens_decoder();
        for token in added.values() {
            widen(&mut most, token.content.as_bytes(), SLACK);
        }
        let strips = added.values().any(|token| token.lstrip || token.rstrip);
        Some(Self { most, composes, strips })
    }

    /// A lower bound of the number of tokens of the text. O(n).
    pub(crate) fn at_least(&self, text: &str) -> usize {
        let mut sums = [0; KINDS.len()];
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            for (sum, kind) in sums.iter_mut().zip(KINDS) {
                *sum += self.weight(c, next, kind);
            }
        }
        let tokens = sums.iter().zip(self.most).map(|(sum, most)| sum.div_ceil(most * PARTS));
        tokens.max().unwrap_or_default()
    }

    /// A lower bound of the bytes of a kind that a character has after normalization, in [`PARTS`]
    /// of a byte. `next` is the character after `c`.
    fn weight(&self, c: char, next: Option<char>, kind: fn(u8) -> bool) -> usize {
        if self.strips && c.is_whitespace() {
            return 0;
        }
        // As the tokens of such vocabularies are counted: a mark is a space.
        if c == SPACE_MARK {
            return if kind(b' ') { 1 } else { 0 };
        }
        if self.composes {
            return if !c.is_ascii() {
                // Some that are no letters become ASCII punctuation.
                if c.is_alphanumeric() { c.len_utf8() } else { 0 }
            } else if next.is_some_and(|next| !next.is_ascii()) {
                // A combining mark after it would make it another character.
                0
            } else if kind(c as u8) {
                PARTS
            } else {
                0
            };
        }
        let mut bytes = [0; 4];
        c.encode_utf8(&mut bytes).bytes().filter(|&byte| kind(byte)).count() * PARTS
    }
}

/// Raises the bounds to a token's bytes.
fn widen(most: &mut [usize; KINDS.len()], bytes: &[u8], slack: usize) {
    for (most, kind) in most.iter_mut().zip(KINDS) {
        *most = (*most).max(bytes.iter().filter(|&&byte| kind(byte)).count() + slack);
    }
}

/// Whether a normalizer makes no text shorter but by composing characters.
fn keeps_length(normalizer: &NormalizerWrapper, composes: &mut bool) -> bool {
    match normalizer {
        NormalizerWrapper::Sequence(steps) => {
            steps.as_ref().iter().all(|step| keeps_length(step, composes))
        }
        NormalizerWrapper::NFC(_) => {
            *composes = true;
            true
        }
        NormalizerWrapper::Prepend(_) => true,
        // The one replacement that is counted above: a space by its mark.
        NormalizerWrapper::Replace(_) => serde_json::to_value(normalizer).is_ok_and(|step| {
            step["pattern"]["String"] == " " && step["content"] == SPACE_MARK.to_string()
        }),
        _ => false,
    }
}

/// Whether a pre-tokenizer leaves nothing out.
fn keeps_all(step: &PreTokenizerWrapper) -> bool {
    match step {
        PreTokenizerWrapper::Sequence(steps) => steps.as_ref().iter().all(keeps_all),
        PreTokenizerWrapper::Split(split) => {
            !matches!(split.behavior, SplitDelimiterBehavior::Removed)
        }
        PreTokenizerWrapper::Metaspace(step) => step.get_replacement() == SPACE_MARK,
        PreTokenizerWrapper::ByteLevel(_) | PreTokenizerWrapper::Digits(_) => true,
        _ => false,
    }
}

/// Whether every byte of UTF-8 is a token, so that nothing is left out or unknown.
fn has_every_byte(vocabulary: &Vocabulary) -> bool {
    let trie = vocabulary.trie();
    let is_in_utf8 = |byte: &u8| !matches!(byte, 0xC0 | 0xC1 | 0xF5..);
    (0..=u8::MAX)
        .filter(is_in_utf8)
        .all(|byte| trie.child(0, byte).is_some_and(|node| !trie.tokens(node).is_empty()))
}
