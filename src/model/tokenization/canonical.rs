//! Canonical tokenisations: sequences of tokens that the tokenizer itself writes for their text.

use std::sync::Arc;

use tokenizers::{Model as _, ModelWrapper, PreTokenizerWrapper};

use super::tokenizer::Tokenizer;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::Vocabulary;

/// Greatest number of tokens that are tokenised again at each step; then older ones are settled.
const MAX_OPEN_TOKENS: usize = 64;
/// Least number of tokens that stay open: what comes next never changes the border of a word so far
/// back.
const MIN_OPEN_TOKENS: usize = 24;

/// Texts that may follow white space, one for each way in which patterns split a run of it: many
/// part its last character from the rest if a word follows.
const AFTER_SPACE: [&str; 4] = ["1", "a", "!", "\n"];

/// A sequence of tokens, with the test of which token may come next if the tokenizer itself is to
/// write the sequence for its text.
///
/// Byte-pair encodings only. Within a word, a sequence is canonical if and only if each pair of
/// neighbours is (Vieira et al. 2025, "Language Models over Canonical Byte-Pair Encodings",
/// section 4), so the beginnings of canonical sequences are canonical; what is a word, the
/// tokenizer's own patterns say. A token is allowed where
///
/// - in vocabularies of bytes: the tokenizer, given the text so far with the token, writes exactly
///   the tokens so far and this one; or, after white space, whose words depend on what follows,
///   writes these tokens first if a digit, a letter, a mark or a line end comes next. While the
///   last character is incomplete, the last two tokens must be the tokenizer's for their bytes, and
///   the rest is decided when the character is whole. Bytes that can never become text are not
///   allowed;
/// - in vocabularies of characters (SentencePiece), which know no words: the last two tokens are
///   the tokenizer's for their characters. Tokens of single bytes are allowed for the characters
///   that have no token.
///
/// The text is that of the sequence alone, as if it stood at the beginning of a word.
///
/// ```no_run
/// use maskwright::model::{Canonical, Model, ModelOptions};
/// use maskwright::vocabulary::Encode as _;
/// let model = Model::load(&ModelOptions::default())?;
/// let tokens = model.tokenizer().encode("Once upon a time")?;
/// let mut canonical = Canonical::new(model.tokenizer(), model.vocabulary())?;
/// for (at, &token) in tokens.iter().enumerate() {
///     assert!(canonical.allows(&tokens[..at], token)?);
/// }
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Canonical {
    tokenizer: Arc<Tokenizer>,
    vocabulary: Arc<Vocabulary>,
    of_bytes: bool,
    /// The first open token; a word begins there.
    start: usize,
}

impl Canonical {
    /// At the beginning of a sequence. Errors if the tokenizer is no byte-pair encoding.
    pub fn new(tokenizer: &Arc<Tokenizer>, vocabulary: &Arc<Vocabulary>) -> Result<Self> {
        let text = &tokenizer.text;
        if !matches!(text.get_model(), ModelWrapper::BPE(_)) {
            let message = "canonical tokenisations are known of byte-pair encodings only";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("leave out `canonical` with this model"));
        }
        let is_byte_level =
            |p: &PreTokenizerWrapper| matches!(p, PreTokenizerWrapper::ByteLevel(_));
        let of_bytes = match text.get_pre_tokenizer() {
            Some(PreTokenizerWrapper::Sequence(all)) => all.as_ref().iter().any(is_byte_level),
            one => one.is_some_and(is_byte_level),
        };
        let (tokenizer, vocabulary) = (Arc::clone(tokenizer), Arc::clone(vocabulary));
        Ok(Self { tokenizer, vocabulary, of_bytes, start: 0 })
    }

    /// Settles the first `len` tokens: what follows is judged alone.
    pub fn restart(&mut self, len: usize) {
        self.start = len;
    }

    /// Whether this token may follow. `before` are all tokens of the sequence, each of them allowed
    /// or [taken as it is](Self::restart), and no fewer than at the last call. Special tokens are
    /// no text, and allowed.
    ///
    /// Errors if the tokenizer fails.
    pub fn allows(&mut self, before: &[u32], token: u32) -> Result<bool> {
        if self.vocabulary.token_bytes(token).is_none() {
            return Ok(true);
        }
        if self.of_bytes {
            self.writes(before, token)
        } else {
            self.writes_characters(before, token)
        }
    }

    /// The first of the tokens that are judged: after a special token another text begins.
    fn text_start(&self, tokens: &[u32]) -> usize {
        let start = self.start.min(tokens.len());
        let is_special = |&id: &u32| self.vocabulary.token_bytes(id).is_none();
        start + tokens[start..].iter().rposition(is_special).map_or(0, |at| at + 1)
    }

    fn writes(&mut self, before: &[u32], token: u32) -> Result<bool> {
        self.start = self.text_start(before);
        let mut window = before[self.start..].to_vec();
        window.push(token);
        let bytes = self.vocabulary.decode(&window);
        let text = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            // Only the end of the text may still be incomplete.
            Err(error) if error.error_len().is_some() => return Ok(false),
            Err(_) => {
                let last = before[self.start..].last().copied();
                return self.is_pair(last, token);
            }
        };
        if self.encode(text)? != window {
            if !text.ends_with(char::is_whitespace) {
                return Ok(false);
            }
            for next in AFTER_SPACE {
                if self.encode(&format!("{text}{next}"))?.starts_with(&window) {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        if window.len() > MAX_OPEN_TOKENS {
            let words = self.tokenizer.text.encode(text, false).map_err(failed)?;
            let words = words.get_word_ids();
            let begins = |&i: &usize| words[i] != words[i - 1];
            if let Some(at) = (1..window.len() - MIN_OPEN_TOKENS).rev().find(begins) {
                self.start += at;
            }
        }
        Ok(true)
    }

    /// Whether the sequence may end here: it is all that the tokenizer writes for its text.
    ///
    /// Errors if the tokenizer fails.
    pub fn allows_end(&self, tokens: &[u32]) -> Result<bool> {
        let window = &tokens[self.text_start(tokens)..];
        match std::str::from_utf8(&self.vocabulary.decode(window)) {
            Ok(text) if self.of_bytes => Ok(self.encode(text)? == window),
            Ok(_) => Ok(true),
            Err(_) => Ok(false),
        }
    }

    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.tokenizer.text.encode_fast(text, false).map_err(failed)?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Whether the tokenizer writes these two tokens for their text within a word.
    fn is_pair(&self, before: Option<u32>, token: u32) -> Result<bool> {
        let name = |id: u32| self.tokenizer.text.get_model().id_to_token(id);
        let pair: Vec<u32> = before.into_iter().chain([token]).collect();
        // An added token is no part of a word.
        let Some(names) = pair.iter().map(|&id| name(id)).collect::<Option<Vec<_>>>() else {
            return Ok(true);
        };
        let tokens = self.tokenizer.text.get_model().tokenize(&names.concat()).map_err(failed)?;
        Ok(tokens.iter().map(|token| token.id).eq(pair))
    }

    fn writes_characters(&self, before: &[u32], token: u32) -> Result<bool> {
        let before = &before[self.text_start(before)..];
        let byte = |id: u32| match self.tokenizer.text.get_model().id_to_token(id) {
            Some(name) if name.len() == 6 && name.starts_with("<0x") => {
                self.vocabulary.token_bytes(id).map(|bytes| bytes[0])
            }
            _ => None,
        };
        let Some(last) = byte(token) else {
            let before = before.last().copied().filter(|&id| byte(id).is_none());
            return self.is_pair(before, token);
        };
        // The bytes of the character so far: those after the last whole one.
        let mut bytes: Vec<u8> = before.iter().rev().map_while(|&id| byte(id)).collect();
        bytes.reverse();
        bytes.push(last);
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text.chars().next_back(),
            Err(error) => return Ok(error.error_len().is_none()),
        };
        // Spaces are written as U+2581 there.
        let has_token = |c: char| {
            let c = if c == ' ' { '\u{2581}' } else { c };
            self.tokenizer.text.token_to_id(c.encode_utf8(&mut [0; 4])).is_some()
        };
        Ok(!whole.is_some_and(has_token))
    }
}

fn failed(reason: tokenizers::Error) -> Error {
    Error::new(ErrorKind::Model, format!("the tokenizer cannot encode the text: {reason}"))
}
