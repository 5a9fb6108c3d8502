//! The bytes of token strings: a tokenizer's decoder, as far as it acts on each token by itself.
//!
//! A tokenizer.json defines by its decoder, a chain of steps, how token strings become text. Two
//! families are exact in bytes; they are told apart by their steps, never by a model's name:
//!
//! | family | string | bytes |
//! |---|---|---|
//! | byte-level BPE: GPT-2's alphabet of 256 printable characters | `Ġhi` | ` hi` |
//! | SentencePiece: `▁` for a space, `<0xNN>` for one byte | `▁hi`, `<0x0A>` | ` hi`, `\n` |
//!
//! A decoder with a step that works across tokens (WordPiece, CTC) gives tokens no bytes of their
//! own and is refused.

use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};

/// The map from a token's string to its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenSpelling {
    /// Strings are written in GPT-2's byte alphabet.
    byte_level: bool,
    /// Replacements in each string, in order.
    replacements: Vec<(String, String)>,
    /// `<0xNN>` is one byte.
    byte_fallback: bool,
    /// One space is taken off the start of the decoded text.
    pub(crate) strips_leading_space: bool,
}

/// One step of a normalizer, pre-tokenizer or decoder. Fields that a step does not have are empty.
#[derive(Debug, Deserialize)]
struct DecoderStep {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, alias = "normalizers", alias = "pretokenizers")]
    decoders: Vec<DecoderStep>,
    #[serde(default)]
    pattern: Value,
    #[serde(default)]
    content: String,
    #[serde(default)]
    start: usize,
    #[serde(default)]
    stop: usize,
    #[serde(default)]
    replacement: Option<String>,
    #[serde(default)]
    prepend_scheme: Option<String>,
    #[serde(default)]
    add_prefix_space: Option<bool>,
}

impl TokenSpelling {
    /// GPT-2's byte alphabet.
    pub(crate) fn byte_level() -> Self {
        Self { byte_level: true, ..Self::default() }
    }

    /// SentencePiece: `▁` is a space and `<0xNN>` one byte.
    pub(crate) fn sentence_piece(strips_leading_space: bool) -> Self {
        let replacements = vec![("▁".to_owned(), " ".to_owned())];
        Self { byte_level: false, replacements, byte_fallback: true, strips_leading_space }
    }

    /// The spelling that a tokenizer.json's decoder defines; without a decoder, the one that its
    /// pre-tokenizer or normalizer implies.
    ///
    /// Errors, with JSON pointer, on steps that work across tokens.
    pub(crate) fn from_parts(
        decoder: &Value,
        pre_tokenizer: &Value,
        normalizer: &Value,
        byte_fallback: bool,
    ) -> Result<Self> {
        let mut spelling = Self { byte_fallback, ..Self::default() };
        if decoder.is_null() {
            let mut before = steps(pre_tokenizer, "/pre_tokenizer")?;
            before.extend(steps(normalizer, "/normalizer")?);
            let implied = before.iter().find_map(|step| match step.kind.as_str() {
                "ByteLevel" => Some(Self::byte_level()),
                "Metaspace" => Some(Self::sentence_piece(metaspace_strips(step))),
                _ => None,
            });
            return implied.ok_or_else(|| {
                let message = "the tokenizer has no decoder, so its tokens have no exact bytes";
                refused(message, "/decoder")
            });
        }
        let mut fused = false;
        for step in steps(decoder, "/decoder")? {
            spelling.add(&step, &mut fused)?;
        }
        Ok(spelling)
    }

    fn add(&mut self, step: &DecoderStep, fused: &mut bool) -> Result<()> {
        match step.kind.as_str() {
            "ByteLevel" => self.byte_level = true,
            "ByteFallback" => self.byte_fallback = true,
            "Fuse" => *fused = true,
            "Metaspace" => {
                let mark = step.replacement.clone().unwrap_or_else(|| "▁".to_owned());
                self.replacements.push((mark, " ".to_owned()));
                self.strips_leading_space = metaspace_strips(step);
            }
            // A pattern of one character never reaches from one token into the next.
            "Replace" => match step.pattern.get("String").and_then(Value::as_str) {
                Some(from) if !from.is_empty() && (!*fused || from.chars().count() == 1) => {
                    self.replacements.push((from.to_owned(), step.content.clone()));
                }
                _ => return Err(beyond_tokens(step)),
            },
            "Strip" if *fused && step.content == " " && step.stop == 0 => {
                self.strips_leading_space |= step.start > 0;
            }
            _ => return Err(beyond_tokens(step)),
        }
        Ok(())
    }

    /// Whether the tokenizer writes `<0xNN>` for bytes that no other token has.
    pub(crate) fn has_byte_fallback(&self) -> bool {
        self.byte_fallback
    }

    /// Puts the bytes of a token of the model into `out`, which is cleared first.
    pub(crate) fn token(&self, string: &str, out: &mut Vec<u8>) {
        self.added_token(string, out);
        if !self.byte_level {
            return;
        }
        // A string with a character outside of the alphabet is literal text as a whole, as it is
        // to the decoders that define this format.
        let len = out.len();
        if string.chars().all(|c| alphabet_byte(c).is_some()) {
            out.extend(string.chars().filter_map(alphabet_byte));
            out.drain(..len);
        }
    }

    /// Puts the bytes of an added token into `out`, which is cleared first. An added token stands
    /// for its literal text.
    pub(crate) fn added_token(&self, string: &str, out: &mut Vec<u8>) {
        out.clear();
        if self.byte_fallback
            && let Some(byte) = byte_token(string.as_bytes())
        {
            out.push(byte);
            return;
        }
        match &self.replacements[..] {
            [(from, to)] => push_replaced(string, from, to, out),
            replacements => {
                let text = replacements
                    .iter()
                    .fold(string.to_owned(), |text, (from, to)| text.replace(from, to));
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Appends `string` with one replacement made, without a string in between.
fn push_replaced(string: &str, from: &str, to: &str, out: &mut Vec<u8>) {
    let mut parts = string.split(from);
    out.extend_from_slice(parts.next().unwrap_or_default().as_bytes());
    for part in parts {
        out.extend_from_slice(to.as_bytes());
        out.extend_from_slice(part.as_bytes());
    }
}

/// The steps of a normalizer, pre-tokenizer or decoder, sequences flattened.
fn steps(value: &Value, pointer: &str) -> Result<Vec<DecoderStep>> {
    fn flatten(step: DecoderStep, into: &mut Vec<DecoderStep>) {
        match step.kind.as_str() {
            "Sequence" => step.decoders.into_iter().for_each(|step| flatten(step, into)),
            _ => into.push(step),
        }
    }
    let mut steps = Vec::new();
    if !value.is_null() {
        let step = DecoderStep::deserialize(value)
            .map_err(|e| Error::new(ErrorKind::Vocabulary, e.to_string()).at_pointer(pointer))?;
        flatten(step, &mut steps);
    }
    Ok(steps)
}

/// Whether a Metaspace step puts a space before every text, which its decoder then takes off.
fn metaspace_strips(step: &DecoderStep) -> bool {
    step.prepend_scheme.as_deref() != Some("never") && step.add_prefix_space != Some(false)
}

fn beyond_tokens(step: &DecoderStep) -> Error {
    let message = format!(
        "the tokenizer's decoder has the step `{}`, which does not map each token to exact bytes \
         by itself",
        step.kind
    );
    refused(&message, "/decoder")
}

fn refused(message: &str, pointer: &str) -> Error {
    Error::new(ErrorKind::Vocabulary, message)
        .at_pointer(pointer)
        .with_help("byte-level BPE and SentencePiece BPE with byte fallback are exact")
}

/// The byte of a token `<0xNN>`.
pub(crate) fn byte_token(string: &[u8]) -> Option<u8> {
    let [b'<', b'0', b'x', high, low, b'>'] = *string else { return None };
    let digit = |c: u8| char::from(c).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

/// The byte that a character of GPT-2's alphabet stands for. Printable Latin-1 characters stand
/// for themselves; the 68 other bytes, in ascending order, are written from U+0100 on (GPT-2's
/// `bytes_to_unicode`).
fn alphabet_byte(c: char) -> Option<u8> {
    match u32::from(c) {
        c @ (0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF) => Some(c as u8),
        c @ 0x100..=0x120 => Some((c - 0x100) as u8),
        c @ 0x121..=0x142 => Some((c - 0x121 + 0x7F) as u8),
        0x143 => Some(0xAD),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spelling(decoder: Value) -> Result<TokenSpelling> {
        TokenSpelling::from_parts(&decoder, &Value::Null, &Value::Null, false)
    }

    fn bytes(spelling: &TokenSpelling, string: &str) -> Vec<u8> {
        let mut out = vec![1, 2, 3];
        spelling.token(string, &mut out);
        out
    }

    #[test]
    fn the_alphabet_has_each_byte_once() {
        let mut bytes: Vec<u8> = ('\0'..'\u{500}').filter_map(alphabet_byte).collect();
        bytes.sort_unstable();
        assert!(bytes.into_iter().eq(0..=255));
        let space_newline_delete = ['Ġ', 'Ċ', 'ġ'].map(alphabet_byte);
        assert_eq!(space_newline_delete, [Some(b' '), Some(b'\n'), Some(0x7F)]);
    }

    #[test]
    fn byte_level_strings_map_back() {
        let s = spelling(json!({"type": "ByteLevel", "add_prefix_space": true})).unwrap();
        assert_eq!(s, TokenSpelling::byte_level());
        assert_eq!(bytes(&s, "Ġhi"), b" hi");
        assert_eq!(bytes(&s, "Ã©"), "é".as_bytes());
        // Not in the alphabet: literal.
        assert_eq!(bytes(&s, "a b"), b"a b");
        let mut out = vec![];
        s.added_token("é", &mut out);
        assert_eq!(out, "é".as_bytes());
    }

    #[test]
    fn sentence_piece_strings_map_back() {
        let s = spelling(json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]}));
        let s = s.unwrap();
        assert_eq!(s, TokenSpelling::sentence_piece(true));
        assert_eq!(bytes(&s, "▁▁a▁"), b"  a ");
        assert_eq!(bytes(&s, "<0xfF>"), [0xFF]);
        for text in ["<0x+F>", "<0xF>", "<0xFFF>", "a<0xFF>"] {
            assert_eq!(bytes(&s, text), text.as_bytes());
        }
        let never = json!({"type": "Metaspace", "replacement": "_", "prepend_scheme": "never"});
        let s = spelling(never).unwrap();
        assert!(!s.strips_leading_space && !s.has_byte_fallback());
        assert_eq!(bytes(&s, "_a▁<0x41>"), " a▁<0x41>".as_bytes());
    }

    #[test]
    fn steps_across_tokens_are_refused() {
        for step in [
            json!({"type": "WordPiece", "prefix": "##", "cleanup": true}),
            json!({"type": "BPEDecoder", "suffix": "</w>"}),
            json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}),
            json!({"type": "Replace", "pattern": {"Regex": "a+"}, "content": " "}),
            json!({"type": "Replace", "pattern": {"String": ""}, "content": " "}),
        ] {
            let error = spelling(step.clone()).unwrap_err();
            let kind = step["type"].as_str().unwrap();
            assert!(error.message().contains(&format!("`{kind}`")), "{error}");
        }
        assert!(spelling(Value::Null).is_err());
        assert!(spelling(json!({"no": "type"})).is_err());
    }

    #[test]
    fn without_a_decoder_the_pre_tokenizer_tells() {
        let pre = json!({"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel"},
        ]});
        let s = TokenSpelling::from_parts(&Value::Null, &pre, &Value::Null, false).unwrap();
        assert_eq!(s, TokenSpelling::byte_level());
    }
}
