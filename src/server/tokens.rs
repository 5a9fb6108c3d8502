//! `POST /v1/tokenize` and `/v1/detokenize`, in the shapes of vLLM's `/tokenize` and `/detokenize`,
//! which lead here, too; and `GET /tokenizer_info`, by which evaluation harnesses find these.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::app::App;
use super::request::{Fields, check_model, read_messages, read_tools, template_variables};
use super::work::{self, PoolWork};
use crate::model::{ChatTemplate, SpecialNames};
use crate::tools::Tool;

/// `{"prompt": …}` or `{"messages": […]}` to token ids.
pub(super) async fn tokenize(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    work::answer(app, request, PoolWork::Light, tokenize_now).await
}

/// `{"tokens": […]}` to text.
pub(super) async fn detokenize(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    work::answer(app, request, PoolWork::Light, detokenize_now).await
}

/// The facts of the tokenizer by which clients prepare prompts, in the shape of vLLM's `/tokenizer_info`.
pub(super) async fn tokenizer_info(State(app): State<Arc<App>>) -> Json<Value> {
    let model = app.engine.model();
    let name = |token: Option<u32>| token.map(|token| app.vocabulary.token_name(token));
    Json(json!({
        "bos_token": name(model.config().bos_token_id),
        "eos_token": name(app.vocabulary.end_tokens().first().copied()),
        "chat_template": model.chat_template().ok().map(ChatTemplate::default_text),
        "model_max_length": app.context_length,
    }))
}

fn tokenize_now(app: &App, mut fields: Fields) -> Result<Value, ApiError> {
    check_model(&mut fields, &app.names)?;
    let prompt = fields.string("prompt")?;
    let add_special_tokens = fields.flag("add_special_tokens")?;
    let with_names = fields.flag("return_token_strs")?.unwrap_or(false);
    let model = app.engine.model();
    let encoded = match prompt {
        Some(_) if fields.has("messages") => {
            return Err(ApiError::field("messages", "stands beside `prompt`; write one"));
        }
        None if !fields.has("messages") => {
            return Err(ApiError::field("prompt", "is missing; write a text, or `messages`"));
        }
        Some(text) => {
            fields.finish()?;
            if add_special_tokens.unwrap_or(true) {
                model.encode_text(&text, SpecialNames::AsTokens)
            } else {
                model.tokenizer().encode_prompt(&text, false)
            }
        }
        None => {
            let messages = read_messages(&mut fields)?;
            let add = fields.flag("add_generation_prompt")?.unwrap_or(true);
            let variables = template_variables(&mut fields)?;
            let tools = read_tools(&mut fields)?;
            let tools: Vec<Value> = tools.iter().map(Tool::to_value).collect();
            let tools = (!tools.is_empty()).then(|| Value::from(tools));
            fields.finish()?;
            if add_special_tokens == Some(true) {
                let message = "is for a `prompt`; of messages the chat template writes them";
                return Err(ApiError::field("add_special_tokens", message));
            }
            if !add {
                let message = "is not supported; messages end where the assistant is to speak";
                return Err(ApiError::field("add_generation_prompt", message));
            }
            let names =
                if app.parse_special { SpecialNames::AsTokens } else { SpecialNames::AsText };
            model.encode_chat_with(&messages, tools.as_ref(), &variables, names)
        }
    };
    let tokens = encoded.map_err(|error| ApiError::from_engine(&error))?;
    let names = |ids: &[u32]| -> Vec<String> {
        let spelling = |&id: &u32| {
            let spelt = model.tokenizer().spelling(id);
            spelt.unwrap_or_else(|| app.vocabulary.token_name(id).into_owned())
        };
        ids.iter().map(spelling).collect()
    };
    Ok(json!({
        "count": tokens.len(),
        "max_model_len": app.context_length,
        "tokens": tokens,
        "token_strs": with_names.then(|| names(&tokens)),
    }))
}

fn detokenize_now(app: &App, mut fields: Fields) -> Result<Value, ApiError> {
    check_model(&mut fields, &app.names)?;
    let Some(tokens) = fields.token_ids("tokens")? else {
        return Err(ApiError::field("tokens", "is missing; write a list of token ids"));
    };
    fields.finish()?;
    let vocabulary = &app.vocabulary;
    if let Some(token) = tokens.iter().find(|&&token| token as usize >= vocabulary.len()) {
        let message = format!("has {token}, and the ids end at {}", vocabulary.len() - 1);
        return Err(ApiError::field("tokens", message));
    }
    let mut bytes = Vec::new();
    for &token in &tokens {
        match vocabulary.token_bytes(token) {
            Some(text) => bytes.extend_from_slice(text),
            None => bytes.extend_from_slice(vocabulary.token_name(token).as_bytes()),
        }
    }
    // Tokenizers that put a space before a text take it off again.
    let begins_with_text =
        tokens.first().is_some_and(|&token| vocabulary.token_bytes(token).is_some());
    let text = match bytes.strip_prefix(b" ") {
        Some(rest) if begins_with_text && vocabulary.strips_leading_space() => rest,
        _ => &bytes[..],
    };
    Ok(json!({ "prompt": String::from_utf8_lossy(text) }))
}
