//! From a request's prompt to the tokens that the model reads.

use std::borrow::Cow;

use super::request::{Prompt, Request};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Message, Model};

/// The tokens of the prompt, at least one, with room for one more in the model's context.
pub(super) fn tokens(model: &Model, request: &Request) -> Result<Vec<u32>> {
    let (text, templated) = text(model, request)?;
    // A template writes the special tokens itself, so the tokenizer adds none.
    let mut tokens = model.tokenizer().encode_prompt(&text, !templated)?;
    if tokens.is_empty() && !templated {
        tokens.extend(model.config().bos_token_id);
    }
    if tokens.is_empty() {
        let message = "the prompt is empty, and the model has no token to begin a text with";
        return Err(Error::new(ErrorKind::Request, message).with_help("write a prompt"));
    }
    let (len, context) = (tokens.len(), model.context_length());
    if len >= context {
        let message = format!("a prompt of {len} tokens fills the model's context of {context}");
        let help = format!("shorten it to at most {} tokens", context - 1);
        return Err(Error::new(ErrorKind::Context, message).with_help(help));
    }
    Ok(tokens)
}

/// The prompt as text, and whether the chat template made it.
pub(super) fn text<'r>(model: &Model, request: &'r Request) -> Result<(Cow<'r, str>, bool)> {
    let chat = |messages: &[Message]| {
        let prompt = model.chat_template()?.render(messages, true, request.tools.as_ref())?;
        Ok((Cow::Owned(prompt), true))
    };
    match &request.prompt {
        Prompt::Chat(messages) => chat(messages),
        Prompt::Text(text) if model.has_chat_template() && !request.raw => {
            chat(&[Message::new("user", text)])
        }
        Prompt::Text(text) => Ok((Cow::Borrowed(text), false)),
    }
}

/// Does the text begin where the prompt has nothing, so that a space which the tokenizer puts
/// before every text is not the model's?
pub(super) fn is_empty(request: &Request, model: &Model) -> bool {
    matches!(&request.prompt, Prompt::Text(text) if text.is_empty())
        && (request.raw || !model.has_chat_template())
}
