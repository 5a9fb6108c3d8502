//! The vocabulary in the metadata of a GGUF file. The tensors after it are not read.

mod container;

use super::end_tokens;
use super::token_spelling::{TokenSpelling, byte_token};
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::draft::VocabularyDraft;
use crate::vocabulary::token_table::TokenKind;
#[cfg(feature = "model")]
pub(crate) use container::directory::{GgufTensor, tensors as gguf_tensors};
pub(crate) use container::{GgufMetadata, GgufValue, is_gguf};

fn error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Vocabulary, message)
}

/// The types of tokens (`llama_token_type` in llama.cpp) that are not plain text.
pub(crate) mod token_type {
    pub(crate) const NORMAL: i64 = 1;
    pub(crate) const UNKNOWN: i64 = 2;
    pub(crate) const CONTROL: i64 = 3;
    pub(crate) const USER_DEFINED: i64 = 4;
    pub(crate) const UNUSED: i64 = 5;
    pub(crate) const BYTE: i64 = 6;

    /// Tokens that begin a turn, which some files, Google's of Gemma 3 among them, give as plain text.
    const TURNS: [&str; 3] = ["<start_of_turn>", "<|im_start|>", "<|start_header_id|>"];

    /// The type of a token, which some files give wrongly: one that begins or ends a turn is no text. llama.cpp mends
    /// those that end one. (`</s>` is HTML's in Gemma.)
    pub(crate) fn corrected(stated: i64, name: &str) -> i64 {
        let is_of_turns =
            TURNS.contains(&name) || (name != "</s>" && super::end_tokens::is_well_known_end(name));
        if matches!(stated, NORMAL | USER_DEFINED) && is_of_turns { CONTROL } else { stated }
    }
}

/// The draft of a vocabulary from the bytes of a file.
pub(crate) fn read(bytes: &[u8]) -> Result<VocabularyDraft> {
    let metadata = GgufMetadata::read(bytes)?;
    let spelling = spelling(&metadata)?;
    let Some(tokens) = metadata.array("tokenizer.ggml.tokens") else {
        return Err(error("the GGUF file has no `tokenizer.ggml.tokens`"));
    };
    let mut types = metadata.array("tokenizer.ggml.token_type").map(|types| types.iter());
    let mut draft = VocabularyDraft {
        strips_leading_space: spelling.strips_leading_space,
        ..VocabularyDraft::default()
    };
    let mut control = Vec::new();
    let mut bytes = Vec::new();
    for (id, token) in (0u32..).zip(tokens.iter()) {
        let GgufValue::String(token) = token else {
            return Err(error("`tokenizer.ggml.tokens` holds other values than strings"));
        };
        let kind = match types.as_mut().map(Iterator::next) {
            Some(Some(GgufValue::Integer(kind))) => kind,
            Some(_) => {
                let message = "`tokenizer.ggml.token_type` has no integer for each token";
                return Err(error(message));
            }
            None => 1,
        };
        let Ok(token) = std::str::from_utf8(token) else {
            return Err(error(format!("token {id} is not UTF-8")));
        };
        match token_type::corrected(kind, token) {
            token_type::UNUSED => draft.table.grow(id)?,
            token_type::UNKNOWN | token_type::CONTROL => {
                draft.table.set(id, b"", TokenKind::Special)?;
                draft.names.push((id, token.to_owned()));
                control.push((id, token));
            }
            token_type::USER_DEFINED => {
                spelling.added_token(token, &mut bytes);
                draft.table.set(id, &bytes, TokenKind::Text)?;
                draft.names.push((id, token.to_owned()));
            }
            token_type::BYTE => {
                let Some(byte) = byte_token(token.as_bytes()) else {
                    return Err(error(format!("byte token {id} is {token:?}, not <0xNN>")));
                };
                draft.table.set(id, &[byte], TokenKind::Text)?;
            }
            token_type::NORMAL => {
                spelling.token(token, &mut bytes);
                draft.table.set(id, &bytes, TokenKind::Text)?;
            }
            // llama.cpp's `LLAMA_TOKEN_TYPE_UNDEFINED` (0) is not written.
            other => {
                let message = format!("token {id} is of type {other}, which is not known");
                return Err(error(message).with_help("types from 1 to 6 are read"));
            }
        }
    }
    // As llama.cpp does: the ids that the file names, and control tokens by well-known names.
    let id = |name| metadata.id(&format!("tokenizer.ggml.{name}_token_id"));
    // llama.cpp's default where a SentencePiece tokenizer says nothing.
    let is_llama = metadata.get("tokenizer.ggml.model") == Some(GgufValue::String(b"llama"));
    let eos = id("eos").or(is_llama.then_some(2));
    let ids = [eos, id("eot"), id("eom")].into_iter().flatten();
    draft.end = ids.filter(|&id| (id as usize) < draft.table.len()).collect();
    draft.end.extend(end_tokens::well_known(|name| {
        control.iter().find(|(_, token)| *token == name).map(|&(id, _)| id)
    }));
    Ok(draft)
}

fn spelling(metadata: &GgufMetadata<'_>) -> Result<TokenSpelling> {
    let model = match metadata.get("tokenizer.ggml.model") {
        Some(GgufValue::String(model)) => String::from_utf8_lossy(model),
        _ => return Err(error("the GGUF file has no tokenizer (`tokenizer.ggml.model`)")),
    };
    match &*model {
        "gpt2" => Ok(TokenSpelling::byte_level()),
        // llama.cpp adds the space unless the file says otherwise.
        "llama" => Ok(TokenSpelling::sentence_piece(
            metadata.get("tokenizer.ggml.add_space_prefix") != Some(GgufValue::Bool(false)),
        )),
        // SentencePiece's spelling with merges; without the space unless the file says otherwise.
        "gemma4" => Ok(TokenSpelling::sentence_piece(
            metadata.get("tokenizer.ggml.add_space_prefix") == Some(GgufValue::Bool(true)),
        )),
        other => {
            let message =
                format!("the GGUF tokenizer model `{other}` has no exact bytes for each token");
            Err(error(message).with_help(
                "`gpt2` (byte-level BPE), `llama` and `gemma4` (SentencePiece) are read",
            ))
        }
    }
}
