//! `x-request-id`: taken from the request or made, and returned, so that a client's log and that of a
//! proxy speak of the same request.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use super::response::unique_id;

/// The header.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id that is taken from a request, in bytes.
const MAX_TAKEN_BYTES: usize = 128;

/// The id of a request with these headers.
pub(super) fn of(headers: &HeaderMap) -> Option<HeaderValue> {
    let given = headers.get(&REQUEST_ID).filter(|id| {
        let bytes = id.as_bytes();
        bytes.len() <= MAX_TAKEN_BYTES
            && !bytes.is_empty()
            && bytes.iter().all(u8::is_ascii_graphic)
    });
    let made = || HeaderValue::from_str(&unique_id("req_")).ok();
    given.cloned().or_else(made)
}

/// Puts the id of a request into its response; Anthropic's clients look for `request-id`.
pub(super) async fn return_id(request: Request, next: Next) -> Response {
    let id = of(request.headers());
    let is_of_anthropic = request.uri().path().starts_with("/v1/messages");
    let mut response = next.run(request).await;
    if let Some(id) = id {
        if is_of_anthropic {
            response.headers_mut().insert("request-id", id.clone());
        }
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}
