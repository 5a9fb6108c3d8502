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
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request as HttpRequest, State};
use axum::response::Response;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::app::App;
use super::chat;
use super::generation::respond;
use super::request::{ChatRequest, Fields, ignoring_unknown};
use super::work::JsonBody;
use crate::error::{listed, shortened};
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
        Ok((input, ChatRequest::read(chat, &app.names, &app.generation).map_err(input::renamed)?))
    };
    let ((input, chat), ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
    let prepared = chat::prepare(&app, body, chat).await.map_err(input::renamed)?;
    let writer = ResponseAnswer::new(&app, input, &prepared.protocol);
    respond(&app, prepared, writer, &ignored).await.map_err(input::renamed)
}

/// The parameters of a URL's query, which errors for any that is not among these names.
fn parameters(query: Option<&str>, known: &[&str]) -> Result<Vec<(String, String)>, ApiError> {
    let pairs = query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let check = |(name, value): (&str, &str)| {
        let (name, value) = (percent_decoded(name), percent_decoded(value));
        if known.contains(&name.as_str()) {
            Ok((name, value))
        } else {
            let message = format!("is no parameter of this path; there are {}", listed(known));
            Err(ApiError::field(shortened(&name), message))
        }
    };
    pairs.map(check).collect()
}

/// A name or a value of a query as it was before it was written into the URL.
fn percent_decoded(text: &str) -> String {
    let (text, mut bytes) = (text.as_bytes(), Vec::with_capacity(text.len()));
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let hex = |at: usize| char::from(*text.get(at)?).to_digit(16);
        let coded =
            (byte == b'%').then(|| Some((hex(at + 1)? * 16 + hex(at + 2)?) as u8)).flatten();
        bytes.push(coded.unwrap_or(if byte == b'+' { b' ' } else { byte }));
        at += if coded.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The id in a path, unless that is not UTF-8.
type PathId = Result<Path<String>, PathRejection>;

/// The id of a response; a path that is not UTF-8 has that of none.
fn response_id(id: PathId) -> String {
    id.map_or_else(|_| "\u{fffd}".to_owned(), |Path(id)| id)
}

/// A stored response.
pub(super) async fn get(
    State(app): State<Arc<App>>,
    id: PathId,
    RawQuery(query): RawQuery,
) -> Result<Json<Box<RawValue>>, ApiError> {
    let id = response_id(id);
    // Everything that could be included is in the response.
    let known = ["stream", "include", "include[]", "include_obfuscation"];
    for (name, value) in parameters(query.as_deref(), &known)? {
        if name == "stream" && value != "false" {
            let message = "is not supported: a stored response comes as a whole; leave it out";
            return Err(ApiError::field("stream", message));
        }
    }
    app.responses.object(&id).map(Json).ok_or_else(|| ApiError::unknown_response(&id))
}

/// Forgets a stored response.
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    id: PathId,
) -> Result<Json<Value>, ApiError> {
    let id = response_id(id);
    if app.responses.remove(&id) {
        Ok(Json(json!({ "id": id, "object": "response", "deleted": true })))
    } else {
        Err(ApiError::unknown_response(&id))
    }
}

/// Cancels a response: none, since there are none in the background, and others end when their client
/// hangs up.
pub(super) async fn cancel(
    State(app): State<Arc<App>>,
    id: PathId,
) -> Result<Json<Value>, ApiError> {
    let id = response_id(id);
    match app.responses.object(&id) {
        Some(_) => Err(ApiError::bad(
            "only a response in the background can be cancelled, and this server writes none there; \
             hang up to end one that is being written",
        )),
        None => Err(ApiError::unknown_response(&id)),
    }
}

/// The items of the input of a stored response, newest first unless `order` is `asc`: those after the item
/// `after`, and at most `limit`.
pub(super) async fn input_items(
    State(app): State<Arc<App>>,
    id: PathId,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let id = response_id(id);
    let mut items = app.responses.input(&id).ok_or_else(|| ApiError::unknown_response(&id))?;
    let known = ["order", "after", "limit", "include", "include[]"];
    let (mut is_ascending, mut after, mut limit) = (false, None, usize::MAX);
    let parameters = parameters(query.as_deref(), &known)?;
    for (name, value) in &parameters {
        let (name, value) = (name.as_str(), value.as_str());
        let wrong = |wanted: &str| {
            Err(ApiError::field(name, format!("must be {wanted}, not {}", shortened(value))))
        };
        match (name, value.parse()) {
            ("order", _) if matches!(value, "asc" | "desc") => is_ascending = value == "asc",
            ("order", _) => return wrong("`asc` or `desc`"),
            ("after", _) => after = Some(value),
            ("limit", Ok(most @ 1..=100)) => limit = most,
            ("limit", _) => return wrong("an integer from 1 to 100"),
            _ => {}
        }
    }
    if !is_ascending {
        items.reverse();
    }
    if let Some(after) = after {
        let Some(at) = items.iter().position(|item| item["id"] == after) else {
            let message = format!("names `{}`, which is no item of this list", shortened(after));
            return Err(ApiError::field("after", message));
        };
        items.drain(..=at);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id_of = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    Ok(Json(json!({
        "object": "list",
        "first_id": id_of(items.first()),
        "last_id": id_of(items.last()),
        "has_more": has_more,
        "data": items,
    })))
}
