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
use serde_json::Value;

use super::api_error::ApiError;
use super::app::App;
use super::chat;
use super::generation::{first_of_stream, first_reply};
use super::request::{ChatRequest, Fields, ignoring_unknown};
use super::response::EventStream;
use super::work::{JsonBody, blocking, with_ignored};
use super::worker::{Replies, WorkerReply};
use output::MessageAnswer;

pub(super) use errors::with_error_objects;

/// Writes a message.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    answer(app, request).await.map_err(input::renamed)
}

async fn answer(app: Arc<App>, request: HttpRequest) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let fields = Fields::new("", std::mem::take(&mut body.value))?;
    let read = || ChatRequest::read(input::chat_body(fields)?, &app.names, &app.defaults);
    let (mut chat, ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
    chat.think_by_template(&app.engine);
    if let Some(error) = &app.no_chat {
        return Err(ApiError::no_chat_template(error));
    }
    let turn = if chat.is_constrained() { Some(body.turn(&app).await?) } else { None };
    let prepared = {
        let app = Arc::clone(&app);
        blocking(move || {
            let prepared = chat::compile(&app, chat, body.permit.take());
            drop((turn, body));
            prepared
        })
        .await??
    };
    let (budget, stream) = (prepared.budget, prepared.stream);
    let answer = MessageAnswer::new(&app, &prepared.protocol);
    let mut replies = prepared.submit(&app).await?;
    if stream {
        let first = first_of_stream(&mut replies, &app, budget).await?;
        let stream = EventStream::new((app, budget), answer, first, replies);
        return Ok(with_ignored(stream.into_response(), &ignored));
    }
    let first = first_reply(replies.recv().await, &app, budget)?;
    let whole = whole(&app, answer, budget.field, first, replies).await?;
    Ok(with_ignored(Json(whole).into_response(), &ignored))
}

/// The whole message.
async fn whole(
    app: &App,
    mut answer: MessageAnswer,
    max_tokens_field: Option<&'static str>,
    first: WorkerReply,
    mut replies: Replies,
) -> Result<Value, ApiError> {
    let mut next = first;
    loop {
        match next {
            WorkerReply::Finished => return Ok(answer.finish()),
            WorkerReply::Failed(error) => {
                return Err(ApiError::from_generation(&error, max_tokens_field));
            }
            WorkerReply::OutOfTime => return Err(app.out_of_time()),
            reply => answer.add(reply),
        }
        next = replies.recv().await.ok_or_else(ApiError::gone)?;
    }
}
