//! From a request's prompt to the tokens that the model reads.

use std::borrow::Cow;

use super::request::{Prompt, Request};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Message, Model, PromptPart, SpecialNames};

/// The tokens of the prompt: at least one, and the model's context has room for one more.
///
/// Errors if the prompt is empty or too long, if the chat template refuses it, or if it names a special token that the
/// model cannot read.
pub(crate) fn tokens(model: &Model, request: &Request) -> Result<Vec<u32>> {
    let tokens = tokens_of_any_length(model, request)?;
    model.check_room(&tokens)?;
    check_embeddings(model, request, &tokens)?;
    Ok(tokens)
}

/// Errors on a token beyond the model's embedding, such as the placeholder of an image in a tokenizer that a model of
/// text alone shares with others.
fn check_embeddings(model: &Model, request: &Request, tokens: &[u32]) -> Result<()> {
    let width = model.config().vocab_size;
    let Some(token) = tokens.iter().find(|&&token| token as usize >= width) else { return Ok(()) };
    let field = match request.prompt {
        Prompt::Chat(_) => "messages",
        Prompt::Text(_) | Prompt::Tokens(_) => "prompt",
    };
    let message =
        format!("the prompt names special token {token}, and the model reads tokens below {width}");
    Err(Error::new(ErrorKind::Request, message)
        .with_help("take its name out of the prompt: the tokenizer has it for other models")
        .at_field(field))
}

/// The tokens of the prompt, at least one.
///
/// Errors if the prompt is empty, if its bytes alone say that it is far too long, or if the chat template refuses
/// it.
pub(crate) fn tokens_of_any_length(model: &Model, request: &Request) -> Result<Vec<u32>> {
    let names = if request.parse_special { SpecialNames::AsTokens } else { SpecialNames::AsText };
    let chat = |messages: &[Message]| {
        let (tools, variables) = (request.tools.as_ref(), &request.template_variables);
        model.encode_begun_chat(messages, tools, variables, names, &request.beginning())
    };
    let (mut tokens, templated) = match &request.prompt {
        Prompt::Chat(messages) => (chat(messages)?, true),
        Prompt::Text(text) if request.raw => {
            (model.encode_text(text, SpecialNames::AsTokens)?, false)
        }
        Prompt::Text(text) if model.has_chat_template() => {
            (chat(&[Message::new("user", text)])?, true)
        }
        Prompt::Text(text) => (model.encode_text(text, names)?, false),
        Prompt::Tokens(tokens) => (tokens.clone(), false),
    };
    if !request.beginning().is_empty() && !templated {
        let message = "`prefill` begins the answer to a conversation, and there is none";
        return Err(Error::new(ErrorKind::Request, message)
            .with_help("write it at the prompt's end")
            .at_field("prefill"));
    }
    if tokens.is_empty() && !templated {
        tokens.extend(model.config().bos_token_id);
    }
    if tokens.is_empty() {
        let message = "the prompt is empty, and the model has no token to begin a text with";
        return Err(Error::new(ErrorKind::Request, message).with_help("write a prompt"));
    }
    Ok(tokens)
}

/// The prompt as the text that the model reads.
pub(crate) fn text<'r>(model: &Model, request: &'r Request) -> Result<Cow<'r, str>> {
    let chat = |messages: &[Message]| {
        let (template, tools) = (model.chat_template()?, request.tools.as_ref());
        let mut prompt =
            template.render_with(messages, true, tools, &request.template_variables)?;
        prompt.extend(request.beginning().iter().map(PromptPart::text));
        Ok(Cow::Owned(prompt))
    };
    match &request.prompt {
        Prompt::Chat(messages) => chat(messages),
        Prompt::Text(text) if model.has_chat_template() && !request.raw => {
            chat(&[Message::new("user", text)])
        }
        Prompt::Text(text) => Ok(Cow::Borrowed(text)),
        Prompt::Tokens(tokens) => {
            let bytes = model.vocabulary().decode(tokens);
            Ok(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
        }
    }
}

/// Whether the prompt is empty, so that the text begins where the tokenizer puts a space of its
/// own.
pub(crate) fn is_empty(request: &Request, model: &Model) -> bool {
    matches!(&request.prompt, Prompt::Text(text) if text.is_empty())
        && (request.raw || !model.has_chat_template())
}
