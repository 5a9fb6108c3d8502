//! `GET /v1/models`: the one model that is served.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use super::App;
use super::error::ApiError;

/// All models.
pub(super) async fn list(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({ "object": "list", "data": [describe(&app)] }))
}

/// One model by its name.
pub(super) async fn get(
    State(app): State<Arc<App>>,
    Path(model): Path<String>,
) -> Result<Json<Value>, ApiError> {
    match model == app.model {
        true => Ok(Json(describe(&app))),
        false => Err(ApiError::unknown_model(&model, &app.model)),
    }
}

fn describe(app: &App) -> Value {
    json!({ "id": app.model, "object": "model", "created": app.created, "owned_by": "maskwright" })
}
