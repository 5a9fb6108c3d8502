//! `POST /v1/messages`, Anthropic's API, for its official clients.
//!
//! ```text
//! input     the body → that of a chat completion, which is read and compiled as such
//! output    the parts of the message → content blocks, and the events of a stream
//! errors    error objects of this API, also of those that no handler made
//! ```

mod errors;
mod input;
mod output;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::api_error::ApiError;
use super::app::App;
use super::chat;
use super::generation::respond;
use super::request::{ChatRequest, Fields, ignoring_unknown};
use super::work::{JsonBody, blocking, with_ignored};
use output::MessageAnswer;

pub(super) use errors::with_error_objects;

/// Writes a message.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let fields = Fields::new("", std::mem::take(&mut body.value))?;
    let read = || {
        let chat = input::chat_body(fields)?;
        ChatRequest::read(chat, &app.names, &app.generation).map_err(input::renamed)
    };
    let (chat, ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
    let prepared = chat::prepare(&app, body, chat).await.map_err(input::renamed)?;
    let writer = MessageAnswer::new(&app, &prepared.protocol);
    respond(&app, prepared, writer, &ignored).await.map_err(input::renamed)
}

/// Counts the tokens of the prompt that a message would have.
pub(super) async fn count_tokens(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let fields = Fields::new("", std::mem::take(&mut body.value))?;
    let read = || {
        let chat = input::counted_body(fields)?;
        ChatRequest::read(chat, &app.names, &app.generation).map_err(input::renamed)
    };
    let (chat, ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
    let prepared = chat::prepare(&app, body, chat).await.map_err(input::renamed)?;
    let tokens = blocking(move || prepared.prompt_tokens(&app)).await?.map_err(input::renamed)?;
    Ok(with_ignored(Json(json!({ "input_tokens": tokens })).into_response(), &ignored))
}
