//! The outermost layer of all requests: each gets its id, its event in the log, and its place among the
//! refusals if it is one.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::refusals::{Refusal, RefusalCounts};
use super::request_id::{self, REQUEST_ID};
use super::request_log::{self, RequestRecord};

/// Gives a request its id and a record that writes its log event at the end, and counts it if it is refused.
pub(super) async fn observe(
    State(refusals): State<Arc<RefusalCounts>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request_id::of(request.headers());
    if let Some(id) = &id {
        // `return_id` reads the id from the headers of the request.
        request.headers_mut().insert(REQUEST_ID, id.clone());
    }
    // Not being ready is an answer to those who ask every few seconds, and refuses nothing.
    let is_probe = request.uri().path() == "/ready";
    let record = RequestRecord::new(id.as_ref(), &request);
    let response = request_log::answered(&record, next.run(request)).await;
    if let Some(Refusal(reason)) = response.extensions().get()
        && !is_probe
    {
        refusals.count(reason);
    }
    response
}
