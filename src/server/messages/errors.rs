//! Error objects of Anthropic's API.
//!
//! ```text
//! {"type": "error", "error": {"type": "invalid_request_error", "message": "`top_p`: must be …"}}
//! ```

use axum::Json;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// Greatest number of bytes of an error object that is read again: far more than it has.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// The error object, with the name that this API has for the status.
pub(super) fn error_object(status: StatusCode, message: &str) -> Value {
    let kind = match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::NOT_FOUND => "not_found_error",
        StatusCode::PAYLOAD_TOO_LARGE => "request_too_large",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        StatusCode::SERVICE_UNAVAILABLE => "overloaded_error",
        StatusCode::GATEWAY_TIMEOUT => "timeout_error",
        status if status.is_server_error() => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

/// Answers with this API's error objects in the place of OpenAI's, whoever refused the request.
pub(in crate::server) async fn with_error_objects(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let (head, body) = response.into_parts();
    let body = to_bytes(body, MAX_ERROR_BYTES).await.unwrap_or_default();
    let error: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = error["error"]["message"].as_str().unwrap_or("the request was refused");
    let mut response = (status, Json(error_object(status, message))).into_response();
    // The reason of the refusal is counted by it.
    *response.extensions_mut() = head.extensions;
    for (name, value) in &head.headers {
        if name != CONTENT_LENGTH && name != CONTENT_TYPE {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}
