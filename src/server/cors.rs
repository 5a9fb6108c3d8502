//! Cross-origin resource sharing (the Fetch standard, § 3.2): which web pages may use the server. None
//! unless `--cors-origin` names them.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::app::App;

/// Methods that a page may use.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");

/// Headers that a page may send where its browser does not say which it will.
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type");

/// Headers that a page may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-request-id, request-id, x-ignored-fields, retry-after, www-authenticate",
);

/// Seconds for which a browser may remember the answer to a preflight request.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Answers preflight requests of pages that may use the server, and marks responses for them.
pub(super) async fn share(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let Some(origin) = allowed(&app.cors_origins, request.headers()) else {
        let mut response = next.run(request).await;
        if !app.cors_origins.is_empty() {
            // A cache must not give this answer to a page that may use the server.
            response.headers_mut().append(VARY, HeaderValue::from_static("origin"));
        }
        return response;
    };
    let headers = request.headers();
    let is_preflight =
        request.method() == Method::OPTIONS && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let asked = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response =
        if is_preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("origin"));
    if is_preflight {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.unwrap_or(HEADERS));
        headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    } else {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// The origin of a request, if its pages may use the server.
fn allowed(origins: &[String], headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(ORIGIN)?;
    let is_named = |named: &String| named == "*" || named.as_bytes() == origin.as_bytes();
    origins.iter().any(is_named).then(|| origin.clone())
}
