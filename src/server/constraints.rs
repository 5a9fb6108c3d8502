//! `POST /v1/constraints/…`: the command line's `check`, `lint`, `mask` and `sample`, for constraints
//! in the fields in which requests for answers have them. None needs the model, only its vocabulary.

mod check;
mod lint;
mod mask;
mod sample;

use std::sync::Arc;

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;

use super::api_error::ApiError;
use super::app::App;
use super::work::{self, PoolWork};

/// `POST /v1/constraints/check`.
pub(super) async fn check(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    work::answer(app, request, PoolWork::Compiling, check::answer).await
}

/// `POST /v1/constraints/lint`.
pub(super) async fn lint(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    work::answer(app, request, PoolWork::Compiling, lint::answer).await
}

/// `POST /v1/constraints/mask`.
pub(super) async fn mask(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    work::answer(app, request, PoolWork::Compiling, mask::answer).await
}

/// `POST /v1/constraints/sample`.
pub(super) async fn sample(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    work::answer(app, request, PoolWork::Compiling, sample::answer).await
}
