//! Errors as OpenAI's error object, with their HTTP status.
//!
//! ```text
//! {"error": {"message": "`top_p`: must be …", "type": "invalid_request_error",
//!            "param": "top_p", "code": null}}
//! ```
//!
//! `param` is a field of the request wherever one is at fault: of those that this server reads it
//! knows the name, and errors of the engine carry it as [`Place::field`](crate::error::Place) or as
//! the limit that was reached.

use std::time::Duration;

use axum::Json;
use axum::http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::refusals::Refusal;
use crate::error::LimitName;
use crate::error::{Error, ErrorKind, shortened};

/// Value of `Retry-After` for a client that found no room.
const RETRY_AFTER_SECONDS: &str = "1";

/// The words for a client that finds the queue full, and for a load balancer that asks.
const QUEUE_FULL: &str = "too many requests are waiting for the model; try again in a moment";

/// Refusal of a request: status, message, field and code.
#[derive(Debug)]
pub(super) struct ApiError {
    status: StatusCode,
    message: String,
    param: Option<String>,
    /// Another field that the message names.
    other_param: Option<String>,
    code: Option<&'static str>,
    /// The reason that is counted, where status and code do not tell it.
    reason: Option<&'static str>,
}

impl ApiError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, message, param: None, other_param: None, code: None, reason: None }
    }

    /// A field that cannot be used, by its name.
    pub(super) fn field(name: impl Into<String>, message: impl std::fmt::Display) -> Self {
        let name = shortened(&name.into()).into_owned();
        let mut error = Self::new(StatusCode::BAD_REQUEST, format!("`{name}`: {message}"));
        error.param = Some(name);
        error
    }

    /// A field that cannot stand beside another one, which the message names in backquotes.
    pub(super) fn conflict(
        name: impl Into<String>,
        other: &str,
        message: impl std::fmt::Display,
    ) -> Self {
        Self { other_param: Some(other.to_owned()), ..Self::field(name, message) }
    }

    /// Text that is not JSON, has a number that would be rounded, or a key twice, which is then named. `field` is the field whose value
    /// the text is; `None` for the body.
    pub(super) fn json(field: Option<&str>, error: &Error) -> Self {
        let Some(pointer) = &error.place().pointer else {
            return match field {
                Some(field) => Self::field(field, format!("its text is no JSON: {error}")),
                None => Self::bad(format!("the body cannot be read as JSON: {error}")),
            };
        };
        let name = field_of_pointer(field.unwrap_or_default(), pointer);
        Self::field(name, "is written twice; write it once")
    }

    /// A request that cannot be read, or cannot be answered by this model.
    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn unauthorized(message: &str) -> Self {
        Self { code: Some("invalid_api_key"), ..Self::new(StatusCode::UNAUTHORIZED, message) }
    }

    pub(super) fn unknown_model(asked: &str, served: &str) -> Self {
        let asked = shortened(asked);
        let message =
            format!("the model `{asked}` does not exist here; this server has `{served}`");
        let mut error = Self::new(StatusCode::NOT_FOUND, message);
        (error.param, error.code) = (Some("model".to_owned()), Some("model_not_found"));
        error
    }

    pub(super) fn unknown_path(method: &str, path: &str) -> Self {
        let path = shortened(path);
        let message = format!(
            "there is no {method} {path} here; there are POST /v1/chat/completions, \
             GET /v1/models, GET /health and others that docs/http.md lists"
        );
        Self { code: Some("unknown_url"), ..Self::new(StatusCode::NOT_FOUND, message) }
    }

    pub(super) fn method(method: &str, path: &str) -> Self {
        let path = shortened(path);
        let message =
            format!("{path} does not answer {method}; the header `Allow` says what it does");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    pub(super) fn media_type() -> Self {
        let message = "the body must be JSON; send the header `Content-Type: application/json`";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// The body is compressed.
    pub(super) fn content_encoding(coding: &str) -> Self {
        let coding = shortened(coding);
        let message =
            format!("the body is encoded as `{coding}`; send it without `Content-Encoding`");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    /// The body is longer than `limit` bytes.
    pub(super) fn too_large(limit: usize) -> Self {
        let message = match limit >> 20 {
            0 => format!("the body is larger than {limit} bytes"),
            megabytes => format!("the body is larger than {megabytes} MiB"),
        };
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// The texts of a request hold so many bytes together, and `limit` are the most.
    pub(super) fn copies_too_large(bytes: usize, limit: usize) -> Self {
        let message = format!(
            "the texts of this request would take about {} MiB together, each with its prompt and lists, and {} are \
             the most; ask for fewer texts at once, or send less with each",
            bytes.div_ceil(1 << 20),
            limit >> 20
        );
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    /// The body did not arrive in time.
    pub(super) fn slow_body(limit: Duration) -> Self {
        let message = format!("the body did not arrive within {limit:?}");
        Self::new(StatusCode::REQUEST_TIMEOUT, message)
    }

    /// The body ended before its end.
    pub(super) fn unreadable_body(error: &axum::Error) -> Self {
        Self::bad(format!("the body cannot be read: {error}"))
    }

    fn overloaded(reason: &'static str, message: &str) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, message);
        Self { code: Some("overloaded"), reason: Some(reason), ..error }
    }

    /// The queue is full: the request is told to come back, with OpenAI's code for one too many.
    pub(super) fn queue_full() -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, QUEUE_FULL);
        Self { code: Some("rate_limit_exceeded"), reason: Some("queue_full"), ..error }
    }

    /// The queue is full, for a load balancer that asks before it sends a request.
    pub(super) fn not_ready() -> Self {
        Self::overloaded("queue_full", QUEUE_FULL)
    }

    /// The server was told to stop.
    pub(super) fn stopping() -> Self {
        Self::overloaded(
            "stopping",
            "the server is stopping; try another one, or again in a moment",
        )
    }

    /// Other large bodies are being read.
    pub(super) fn no_room_for_body() -> Self {
        Self::overloaded(
            "no_room_for_body",
            "too many large requests are being read; try again in a moment",
        )
    }

    /// There is no room for another connection.
    pub(super) fn too_many_connections() -> Self {
        Self::overloaded(
            "too_many_connections",
            "too many connections are open; try again in a moment",
        )
    }

    /// The model worked on the request for too long.
    pub(super) fn out_of_time(limit: Duration) -> Self {
        let message = format!(
            "the model worked on the request for more than {limit:?}; ask for less, or have the \
             server started with a higher --request-timeout"
        );
        Self { code: Some("timeout"), ..Self::new(StatusCode::GATEWAY_TIMEOUT, message) }
    }

    /// The model has no chat template, and there is nothing else to answer.
    pub(super) fn no_chat_template(error: &Error) -> Self {
        let cure = "put its chat_template.jinja into the model folder and start the server again";
        Self::new(StatusCode::BAD_REQUEST, format!("{}; {cure}", error.message()))
    }

    pub(super) fn gone() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the engine failed, and gave up the request; send it again, and see the server's log",
        )
    }

    /// An error of compiling or generating. Errors of the model or the machine are the server's fault
    /// (500), all others the request's (400).
    pub(super) fn from_engine(error: &Error) -> Self {
        let status = match error.kind() {
            ErrorKind::Io | ErrorKind::Model => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        let mut this = Self::new(status, with_cure(error));
        // OpenAI's code, by which clients know that they must shorten a conversation.
        if error.kind() == ErrorKind::Context {
            (this.param, this.code) =
                (Some("messages".to_owned()), Some("context_length_exceeded"));
        } else {
            // The beginning of an answer is the last of the messages.
            let field = error.place().field;
            let field = field.map(|field| if field == "prefill" { "messages" } else { field });
            this.param = field.map(str::to_owned);
        }
        this
    }

    /// The same, where `max_tokens_field` is the field that bounds the tokens of the answer: it is
    /// named if they are too few for the constraint. Without one a default or the context is the bound.
    pub(super) fn from_generation(error: &Error, max_tokens_field: Option<&str>) -> Self {
        let mut this = Self::from_engine(error);
        if error.limit() == Some(LimitName::MaxTokens) {
            let cure = match max_tokens_field {
                Some(field) => format!(
                    "raise `{field}`, shorten the prompt if it leaves no more of the context, or \
                     write `\"budget\": false`"
                ),
                None => "ask for more tokens, shorten the prompt, or write `\"budget\": false`"
                    .to_owned(),
            };
            this.message = format!("{}; {cure}", error.message());
            this.param = max_tokens_field.map(str::to_owned);
        }
        this
    }

    /// A response that was not stored, or not for so long.
    pub(super) fn unknown_response(id: &str) -> Self {
        let id = shortened(id);
        let message = format!(
            "there is no response `{id}` here: it was not stored, was deleted, or gave way to newer ones"
        );
        let mut error = Self::new(StatusCode::NOT_FOUND, message);
        error.param = Some("id".to_owned());
        error
    }

    /// A response that a request goes on from, and that is not here. Clients know it by its code, and send the
    /// conversation itself.
    pub(super) fn unknown_previous_response(id: &str) -> Self {
        let id = shortened(id);
        let message = format!(
            "there is no response `{id}` here: it was not stored, was deleted, or gave way to newer ones; send the \
             conversation itself"
        );
        let mut error = Self::field("previous_response_id", message);
        error.code = Some("previous_response_not_found");
        error
    }

    /// The same error where the field has another name; `rename` gives it, if it has one.
    pub(super) fn renamed(mut self, rename: impl Fn(&str) -> Option<String>) -> Self {
        let Self { param, other_param, message, .. } = &mut self;
        for param in [param, other_param].into_iter().flatten() {
            if let Some(new) = rename(param) {
                *message = message.replace(&format!("`{param}`"), &format!("`{new}`"));
                *param = new;
            }
        }
        self
    }

    /// The code and the words of the error, for events that have no room for the object.
    pub(super) fn code_and_message(&self) -> (&str, &str) {
        (self.code.unwrap_or("server_error"), &self.message)
    }

    /// The reason of the refusal, by which it is counted.
    pub(super) fn reason(&self) -> &'static str {
        let by_status = match self.status {
            StatusCode::NOT_FOUND => "not_found",
            StatusCode::METHOD_NOT_ALLOWED => "method_not_allowed",
            StatusCode::REQUEST_TIMEOUT => "slow_body",
            StatusCode::PAYLOAD_TOO_LARGE => "body_too_large",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        self.reason.or(self.code.filter(|code| *code != "unknown_url")).unwrap_or(by_status)
    }

    /// The status of the answer.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The error object, as it also stands in a stream that has begun.
    pub(super) fn object(&self) -> serde_json::Value {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "requests",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        json!({ "error": {
            "message": self.message,
            "type": kind,
            "param": self.param,
            "code": self.code,
        }})
    }
}

/// The name of the field at a JSON pointer from `field`, which is empty for the body.
pub(super) fn field_of_pointer(field: &str, pointer: &str) -> String {
    let mut name = field.to_owned();
    for token in pointer.split('/').skip(1) {
        let token = token.replace("~1", "/").replace("~0", "~");
        if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit()) {
            name.push_str(&format!("[{token}]"));
        } else if name.is_empty() {
            name = token;
        } else {
            name.push_str(&format!(".{token}"));
        }
    }
    name
}

/// An error in words, with the option of the server that raises the limit that was reached.
pub(super) fn with_cure(error: &Error) -> String {
    match error.limit() {
        // The request's own limit, not one of the server.
        None | Some(LimitName::MaxTokens) => error.to_string(),
        Some(limit) => format!("{error} (`maskwright serve --limit {limit}=…`)"),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.object())).into_response();
        response.extensions_mut().insert(Refusal(self.reason()));
        let header = match self.status {
            StatusCode::UNAUTHORIZED => (WWW_AUTHENTICATE, "Bearer"),
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                (RETRY_AFTER, RETRY_AFTER_SECONDS)
            }
            // What is left of the body is not waited for.
            StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT => (CONNECTION, "close"),
            _ => return response,
        };
        response.headers_mut().insert(header.0, HeaderValue::from_static(header.1));
        response
    }
}
