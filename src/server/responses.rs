//! `POST /v1/responses`, OpenAI's newer API, and the responses that were stored.
//!
//! ```text
//! input     the body → that of a chat completion, which is read and compiled as such
//! output    the parts of the message → output items, and the events of a stream
//! response_store   responses by id, for `previous_response_id` and GET: bounded, in memory
//! ```

mod input;
mod output;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, Request as HttpRequest, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::app::App;
use super::chat;
use super::generation::{PreparedRequest, respond};
use super::request::{ChatRequest, Fields, ignoring_unknown};
use super::response_store::StoredItem;
use super::work::{JsonBody, blocking, with_ignored};
use crate::error::{listed, shortened};
use input::ResponseInput;
use output::ResponseAnswer;

/// Writes a response.
pub(super) async fn create(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let (input, prepared, ignored) = prepare(&app, request).await?;
    let writer = ResponseAnswer::new(&app, input, &prepared.protocol);
    respond(&app, prepared, writer, &ignored).await.map_err(input::renamed)
}

/// Counts the tokens of the prompt that a response would have.
pub(super) async fn count_input_tokens(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let (_, prepared, ignored) = prepare(&app, request).await?;
    let tokens = blocking(move || prepared.prompt_tokens(&app)).await?.map_err(input::renamed)?;
    let counted = json!({ "object": "response.input_tokens", "input_tokens": tokens });
    Ok(with_ignored(Json(counted).into_response(), &ignored))
}

/// Reads and compiles a request for a response. Returns the names of the fields that are ignored, too.
async fn prepare(
    app: &Arc<App>,
    request: HttpRequest,
) -> Result<(ResponseInput, PreparedRequest, Vec<String>), ApiError> {
    let mut body = JsonBody::read(app, request).await?;
    // What was stored is parsed again, and may be far longer than the request that names it.
    let is_stored = |item: &Value| item["type"] == "item_reference";
    let refers = !body.value["previous_response_id"].is_null()
        || body.value["input"].as_array().is_some_and(|items| items.iter().any(is_stored));
    if refers {
        body.take_turn(app).await?;
    }
    let value = std::mem::take(&mut body.value);
    let reader = Arc::clone(app);
    let read = move || {
        let (mut input, chat) = ResponseInput::read(Fields::new("", value)?, &reader.responses)?;
        let chat = ChatRequest::read(chat, &reader.names, &reader.generation);
        let chat = chat.map_err(input::renamed)?;
        input.note_sampling(&chat.generation.sampling);
        Ok((input, chat))
    };
    let ignores = app.ignore_unknown_fields;
    let ((input, chat), ignored) = blocking(move || ignoring_unknown(ignores, read)).await??;
    let prepared = chat::prepare(app, body, chat).await.map_err(input::renamed)?;
    Ok((input, prepared, ignored))
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
) -> Result<Response, ApiError> {
    let id = response_id(id);
    // Everything that could be included is in the response.
    let known = ["stream", "include", "include[]", "include_obfuscation"];
    for (name, value) in parameters(query.as_deref(), &known)? {
        if name == "stream" && value != "false" {
            let message = "is not supported: a stored response comes as a whole; leave it out";
            return Err(ApiError::field("stream", message));
        }
    }
    let object = app.responses.object(&id).ok_or_else(|| ApiError::unknown_response(&id))?;
    Ok(json_pieces(vec![object]))
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
) -> Result<Response, ApiError> {
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
        let Some(at) = items.iter().position(|item| item.id.as_deref() == Some(after)) else {
            let message = format!("names `{}`, which is no item of this list", shortened(after));
            return Err(ApiError::field("after", message));
        };
        items.drain(..=at);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id_of = |item: Option<&StoredItem>| json!(item.and_then(|item| item.id.as_deref()));
    let head = json!({
        "object": "list",
        "first_id": id_of(items.first()),
        "last_id": id_of(items.last()),
        "has_more": has_more,
    });
    // The last member is the list, whose items are shared.
    let mut pieces = vec![Bytes::from(head.to_string().trim_end_matches('}').to_owned())];
    pieces.push(Bytes::from_static(b",\"data\":["));
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(item.json);
    }
    pieces.push(Bytes::from_static(b"]}"));
    Ok(json_pieces(pieces))
}

/// An answer in JSON of pieces that it shares with the store.
fn json_pieces(pieces: Vec<Bytes>) -> Response {
    let length: usize = pieces.iter().map(Bytes::len).sum();
    let pieces = pieces.into_iter().map(Ok::<_, Infallible>);
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (CONTENT_LENGTH, length.into()),
    ];
    (headers, Body::from_stream(tokio_stream::iter(pieces))).into_response()
}
