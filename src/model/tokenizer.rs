//! Text into tokens, by the model's own `tokenizer.json`.

use crate::error::{Error, ErrorKind, Result};
use crate::vocab::Encode;

/// A model's tokenizer. The way back from tokens to text is the
/// [`Vocabulary`](crate::vocab::Vocabulary)'s.
#[derive(Debug)]
pub struct Tokenizer {
    /// Finds special tokens in a text.
    prompts: tokenizers::Tokenizer,
    /// Takes their names for text.
    pub(super) text: tokenizers::Tokenizer,
}

impl Tokenizer {
    /// From the content of a `tokenizer.json`.
    pub fn from_bytes(json: &[u8]) -> Result<Self> {
        let prompts = tokenizers::Tokenizer::from_bytes(json).map_err(|reason| {
            Error::new(ErrorKind::Model, format!("not a tokenizer that can be used: {reason}"))
                .with_help("give the tokenizer.json that came with the model")
        })?;
        let mut text = prompts.clone();
        text.set_encode_special_tokens(true);
        Ok(Self { prompts, text })
    }

    /// The tokens of a prompt, in which names of special tokens are these tokens; with what the
    /// tokenizer puts before and after a text (such as `<s>`) if `add_special_tokens`.
    pub fn encode_prompt(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>> {
        encode(&self.prompts, text, add_special_tokens)
    }
}

impl Encode for Tokenizer {
    fn encode(&self, text: &str) -> Result<Vec<u32>> {
        encode(&self.text, text, false)
    }
}

fn encode(tokenizer: &tokenizers::Tokenizer, text: &str, special: bool) -> Result<Vec<u32>> {
    let encoding = tokenizer.encode_fast(text, special).map_err(|reason| {
        Error::new(ErrorKind::Model, format!("the tokenizer cannot encode the text: {reason}"))
    })?;
    Ok(encoding.get_ids().to_vec())
}
