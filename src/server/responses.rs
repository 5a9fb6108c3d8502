//! `POST /v1/responses`, OpenAI's newer API, and the responses that were stored.
//!
//! ```text
//! input     the body → that of a chat completion, which is read and compiled as such
//! output    the parts of the message → output items, and the events of a stream
//! response_store   responses by id, for `previous_response_id` and GET: bounded, in memory
//! ```

mod input;
mod output;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::app::App;
use super::chat;
use super::generation::{first_of_stream, first_reply};
use super::request::{ChatRequest, Fields, ignoring_unknown};
use super::response::EventStream;
use super::work::{JsonBody, blocking, with_ignored};
use super::worker::{Replies, WorkerReply};
use input::ResponseInput;
use output::ResponseAnswer;

/// Writes a response.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let fields = Fields::new("", std::mem::take(&mut body.value))?;
    let read = || {
        let (input, chat) = ResponseInput::read(fields, &app.responses)?;
        Ok((input, ChatRequest::read(chat, &app.names, &app.defaults).map_err(input::renamed)?))
    };
    let ((input, mut chat), ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
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
        .await?
        .map_err(input::renamed)?
    };
    let (budget, stream) = (prepared.budget, prepared.stream);
    let answer = ResponseAnswer::new(&app, input, &prepared.protocol);
    let submitted = prepared.submit(&app).await;
    let mut replies = submitted.map_err(input::renamed)?;
    if stream {
        let first = first_of_stream(&mut replies, &app, budget).await.map_err(input::renamed)?;
        let stream = EventStream::new((app, budget), answer, first, replies);
        return Ok(with_ignored(stream.into_response(), &ignored));
    }
    let first = first_reply(replies.recv().await, &app, budget).map_err(input::renamed)?;
    let whole = whole(&app, answer, budget.field, first, replies).await?;
    Ok(with_ignored(Json(whole).into_response(), &ignored))
}

/// The whole response.
async fn whole(
    app: &App,
    mut answer: ResponseAnswer,
    max_tokens_field: Option<&'static str>,
    first: WorkerReply,
    mut replies: Replies,
) -> Result<Value, ApiError> {
    let mut next = first;
    loop {
        match next {
            WorkerReply::Finished => return Ok(answer.finish()),
            WorkerReply::Failed(error) => {
                let error = ApiError::from_generation(&error, max_tokens_field);
                return Err(input::renamed(error));
            }
            WorkerReply::OutOfTime => return Err(app.out_of_time()),
            reply => answer.add(reply),
        }
        next = replies.recv().await.ok_or_else(ApiError::gone)?;
    }
}

/// A stored response.
pub(super) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    app.responses.object(&id).map(Json).ok_or_else(|| ApiError::unknown_response(&id))
}

/// Forgets a stored response.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    match app.responses.remove(&id) {
        true => Ok(Json(json!({ "id": id, "object": "response", "deleted": true }))),
        false => Err(ApiError::unknown_response(&id)),
    }
}

/// Cancels a response: none, since there are none in the background, and others end when their client
/// hangs up.
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    match app.responses.object(&id) {
        Some(_) => Err(ApiError::bad(
            "only a response in the background can be cancelled, and this server writes none there; \
             hang up to end one that is being written",
        )),
        None => Err(ApiError::unknown_response(&id)),
    }
}

/// The items of the input of a stored response, newest first.
pub(super) async fn input_items(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let mut items = app.responses.input(&id).ok_or_else(|| ApiError::unknown_response(&id))?;
    items.reverse();
    let id_of = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    Ok(Json(json!({
        "object": "list",
        "first_id": id_of(items.first()),
        "last_id": id_of(items.last()),
        "has_more": false,
        "data": items,
    })))
}
