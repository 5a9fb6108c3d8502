//! Routes, and the checks of all of them: API keys, the announced size of a body, JSON errors.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use serde_json::json;

use super::api_error::ApiError;
use super::app::App;
use super::{
    chat, completions, constraints, cors, decisions, messages, metrics, models, openapi,
    playground, request_id, responses, tokens,
};

/// All routes.
pub(super) fn router(app: Arc<App>) -> Router {
    let keyed = Router::new()
        .route("/v1/chat/completions", post(chat::completions))
        .route("/v1/completions", post(completions::completions))
        .route("/v1/responses", post(responses::create))
        .route("/v1/responses/input_tokens", post(responses::count_input_tokens))
        .route("/v1/responses/{id}", get(responses::get).delete(responses::delete))
        .route("/v1/responses/{id}/cancel", post(responses::cancel))
        .route("/v1/responses/{id}/input_items", get(responses::input_items))
        .route("/v1/decisions", post(decisions::decide))
        .route("/v1/constraints/check", post(constraints::check))
        .route("/v1/constraints/lint", post(constraints::lint))
        .route("/v1/constraints/mask", post(constraints::mask))
        .route("/v1/constraints/sample", post(constraints::sample))
        .route("/v1/tokenize", post(tokens::tokenize))
        .route("/v1/detokenize", post(tokens::detokenize))
        .route("/tokenize", post(tokens::tokenize))
        .route("/detokenize", post(tokens::detokenize))
        .route("/tokenizer_info", get(tokens::tokenizer_info))
        .route("/metrics", get(metrics::metrics))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*model}", get(models::get))
        .method_not_allowed_fallback(method)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), admit));
    let messages = Router::new()
        .route("/v1/messages", post(messages::create))
        .route("/v1/messages/count_tokens", post(messages::count_tokens))
        // So that what this API has besides is refused in its shape, too.
        .route("/v1/messages/{*unknown}", any(unknown))
        .method_not_allowed_fallback(method)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), admit))
        .layer(middleware::from_fn(messages::with_error_objects));
    let page = if app.has_playground { playground::routes() } else { Router::new() };
    let page = page.method_not_allowed_fallback(method);
    Router::new()
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/openapi.json", get(openapi::openapi))
        .method_not_allowed_fallback(method)
        .merge(keyed)
        .merge(messages)
        .merge(page)
        .fallback(unknown)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), cors::share))
        .layer(middleware::from_fn(request_id::return_id))
        .with_state(app)
}

async fn health() -> impl IntoResponse {
    Json(json!({ "status": "ok" }))
}

/// Whether a request would find room: for load balancers. The model is loaded before the port answers.
async fn ready(State(app): State<Arc<App>>) -> Result<impl IntoResponse, ApiError> {
    if app.shutdown.is_draining() {
        return Err(ApiError::stopping());
    }
    if app.engine.stats().waiting >= app.bounds.max_waiting {
        return Err(ApiError::not_ready());
    }
    Ok(Json(json!({ "status": "ready" })))
}

/// Checks the head of a request: its key, and the length of the body if announced. The length of any
/// other body is checked when it is read. A server that ends refuses the request, or cuts it off.
async fn admit(
    State(app): State<Arc<App>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if let Err(error) = check_head(&app, request.headers()) {
        let (head, body) = request.into_parts();
        app.bodies.drop_rest(&head.headers, body).await;
        return Err(error);
    }
    tokio::select! {
        biased;
        response = next.run(request) => Ok(response),
        () = app.shutdown.is_cut_off() => Err(ApiError::stopping()),
    }
}

fn check_head(app: &App, headers: &HeaderMap) -> Result<(), ApiError> {
    app.keys.check(headers)?;
    if app.shutdown.is_draining() {
        return Err(ApiError::stopping());
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let most = app.bounds.max_body_bytes;
    if length.is_some_and(|length: u64| length > most as u64) {
        return Err(ApiError::too_large(most));
    }
    Ok(())
}

async fn unknown(State(app): State<Arc<App>>, request: Request) -> ApiError {
    let error = ApiError::unknown_path(request.method().as_str(), request.uri().path());
    let (head, body) = request.into_parts();
    app.bodies.drop_rest(&head.headers, body).await;
    error
}

async fn method(State(app): State<Arc<App>>, request: Request) -> ApiError {
    let error = ApiError::method(request.method().as_str(), request.uri().path());
    let (head, body) = request.into_parts();
    app.bodies.drop_rest(&head.headers, body).await;
    error
}
