//! The model's own tokenizer, from its `tokenizer.json`.

use tokenizers::{
    Model as _, NormalizedString, Normalizer, NormalizerWrapper, OffsetReferential, OffsetType,
    PreTokenizer as _, Token,
};

use super::control_tokens::{ControlTokens, StandIns};
use super::length_bound::TokenCountBound;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::{Encode, Vocabulary};

/// A model's tokenizer. The way back from tokens to text is the
/// [`Vocabulary`]'s.
#[derive(Debug)]
pub struct Tokenizer {
    /// Reads names of special tokens in a text as these tokens.
    prompts: tokenizers::Tokenizer,
    /// Reads names of special tokens as text.
    pub(crate) text: tokenizers::Tokenizer,
}

impl Tokenizer {
    /// From the content of a `tokenizer.json`.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        let invalid = |reason: tokenizers::Error| {
            Error::new(ErrorKind::Model, format!("not a tokenizer that can be used: {reason}"))
                .with_help("give the tokenizer.json that came with the model")
        };
        let mut prompts = tokenizers::Tokenizer::from_bytes(json).map_err(invalid)?;
        // Settings of training: a prompt is neither cut off nor padded.
        prompts.with_truncation(None).map_err(invalid)?;
        prompts.with_padding(None);
        let mut text = prompts.clone();
        text.set_encode_special_tokens(true);
        Ok(Self { prompts, text })
    }

    /// The tokens of a prompt. Names of special tokens in it become these tokens; with
    /// `add_special_tokens`, those that the tokenizer puts before and after a text (such as `<s>`)
    /// are added.
    ///
    /// Errors if the tokenizer cannot encode the text.
    pub fn encode_prompt(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>> {
        encode(&self.prompts, text, add_special_tokens)
    }

    /// A token as the tokenizer's own vocabulary spells it, such as `Ġworld`.
    #[cfg(feature = "server")]
    pub(crate) fn spelling(&self, token: u32) -> Option<String> {
        self.prompts.id_to_token(token)
    }

    /// The tokens that only a template may write.
    pub(crate) fn control_tokens(&self, vocabulary: &Vocabulary) -> ControlTokens {
        ControlTokens::new(&self.prompts, vocabulary)
    }

    /// The lower bound on numbers of tokens, if there is a known one.
    pub(crate) fn token_bound(&self, vocabulary: &Vocabulary) -> Option<TokenCountBound> {
        TokenCountBound::new(&self.prompts, vocabulary)
    }

    /// The tokens of a prompt whose content is disguised: control tokens are found while it is, and
    /// what lies between them is tokenised as it was. Where there are no stand-ins this is
    /// [`encode_prompt`](Self::encode_prompt).
    ///
    /// Errors if the tokenizer's normalizer would make a control token of other text.
    pub(crate) fn encode_disguised(
        &self,
        text: &str,
        stand_ins: &StandIns,
        control: &ControlTokens,
        add_special_tokens: bool,
    ) -> Result<Vec<u32>> {
        let tokenizer = &self.prompts;
        let own = tokenizer.get_normalizer();
        let added = tokenizer.get_added_vocabulary();
        // Names that are looked for in normalized text must still be disguised then.
        let mut pieces = if control.are_normalized() {
            added.extract_and_normalize(own, text)
        } else {
            added.extract_and_normalize(Some(&UndisguisingNormalizer { stand_ins, own }), text)
        };
        if control.are_normalized() {
            let back = |piece: &mut NormalizedString| {
                piece.map(|c| stand_ins.original(c));
                Ok(())
            };
            pieces.normalize(back).map_err(failed)?;
        }
        for (_, (start, end), tokens) in
            pieces.get_splits(OffsetReferential::Original, OffsetType::None)
        {
            let found = tokens.as_deref().and_then(|tokens| control.name(tokens.first()?.id));
            if let Some(name) = found
                && !text.get(start..end).is_some_and(|original| original.contains(name))
            {
                let message = format!("the tokenizer's normalizer makes `{name}` of other text");
                return Err(
                    Error::new(ErrorKind::Request, message).with_help("write that text otherwise")
                );
            }
        }
        if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut pieces).map_err(failed)?;
        }
        pieces
            .tokenize(|piece| self.tokenize_text(piece.get(), control))
            .and_then(|()| pieces.into_encoding(None, 0, OffsetType::None))
            .and_then(|encoding| tokenizer.post_process(encoding, None, add_special_tokens))
            .map(|encoding| encoding.get_ids().to_vec())
            .map_err(failed)
    }

    /// The tokens of a piece between control tokens. A vocabulary that holds the names of control
    /// tokens beside the pieces of text may give one for a piece that is such a name: then its
    /// halves are tokenised.
    fn tokenize_text(
        &self,
        piece: &str,
        control: &ControlTokens,
    ) -> tokenizers::Result<Vec<Token>> {
        let tokens = self.prompts.get_model().tokenize(piece)?;
        let is_name =
            |token: &Token| control.name(token.id).is_some_and(|name| piece.contains(name));
        let half = piece.char_indices().nth(piece.chars().count() / 2).map_or(0, |(at, _)| at);
        if half == 0 || !tokens.iter().any(is_name) {
            return Ok(tokens);
        }
        let (head, tail) = piece.split_at(half);
        let mut tokens = self.tokenize_text(head, control)?;
        tokens.extend(self.tokenize_text(tail, control)?);
        Ok(tokens)
    }
}

/// Replaces stand-ins by their originals, then normalizes as the tokenizer does.
struct UndisguisingNormalizer<'a> {
    stand_ins: &'a StandIns,
    own: Option<&'a NormalizerWrapper>,
}

impl Normalizer for UndisguisingNormalizer<'_> {
    fn normalize(&self, piece: &mut NormalizedString) -> tokenizers::Result<()> {
        piece.map(|c| self.stand_ins.original(c));
        self.own.map_or(Ok(()), |own| own.normalize(piece))
    }
}

impl Encode for Tokenizer {
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        encode(&self.text, text, false)
    }
}

fn encode(tokenizer: &tokenizers::Tokenizer, text: &str, special: bool) -> Result<Vec<u32>> {
    let encoding = tokenizer.encode_fast(text, special).map_err(failed)?;
    Ok(encoding.get_ids().to_vec())
}

fn failed(reason: tokenizers::Error) -> Error {
    Error::new(ErrorKind::Model, format!("the tokenizer cannot encode the text: {reason}"))
}
